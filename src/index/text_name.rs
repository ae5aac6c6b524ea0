//! Memories whose title is the query, word by word: whoever types a title wants what is called that.

use std::collections::HashSet;

use tantivy::Term;

use super::query::Query;
use super::text::TITLE;
use super::text_near::Place;
use super::text_view::{View, stands};
use super::tokenizer::Analyzer;

/// How many terms a title has at most that is looked at: the lengths of longer ones are not kept exactly.
const MOST_TERMS: usize = 40;

/// Which of some chunks are of a memory that is called what the query says. The chunks come in no order.
pub(super) fn named(view: &View, query: &Query, places: &[Place]) -> tantivy::Result<HashSet<Place>> {
    let mut analyzer = Analyzer::default();
    let tokens = analyzer.analyze(&query.text()).to_vec();
    if tokens.is_empty() || tokens.len() > MOST_TERMS {
        return Ok(HashSet::new());
    }
    let field = view.fields.searched[TITLE];
    let mut places = places.to_vec();
    places.sort_unstable();
    places.dedup();
    let mut left = Vec::new();
    for group in places.chunk_by(|a, b| a.0 == b.0) {
        let reader = &view.searcher.segment_readers()[group[0].0];
        let lengths = reader.get_fieldnorms_reader(field)?;
        let as_long = |(_, chunk): &&Place| lengths.fieldnorm(*chunk) as usize == tokens.len();
        let mut group: Vec<Place> = group.iter().filter(as_long).copied().collect();
        for token in &tokens {
            let term = Term::from_field_text(field, analyzer.term(token));
            let mut there = vec![false; group.len()];
            stands(reader, &term, &group, |chunk, at| there[chunk] = at.contains(&token.position))?;
            let mut there = there.into_iter();
            group.retain(|_| there.next() == Some(true));
            if group.is_empty() {
                break;
            }
        }
        left.extend(group);
    }
    Ok(left.into_iter().collect())
}
