//! Words that stand in a memory as they stand in the query: whoever types a sentence looks for the place that says it.
//!
//! Each two neighbouring words of a query are a link, which weighs what its words weigh (D. Metzler and W. B. Croft, "A
//! Markov Random Field Model for Term Dependencies", SIGIR 2005: the sequential dependence model's ordered pairs). A
//! run is a chain of words in the query's order that stand near each other (the spans of R. Song and others, "Viewing
//! Term Proximity from a Different Perspective", ECIR 2008); what stands between them breaks a link and not the run, as
//! a link's target does in its text. The share of the links that the best run of a memory keeps is 1 where the whole
//! query stands there.
//!
//! Only the best are looked at. What the share adds is bounded by what the best of them scores, and grows so late that
//! a few words that happen to meet add next to nothing.

use std::collections::HashMap;

use tantivy::postings::Postings as _;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, Term};

use super::query::Query;
use super::text::BODY;
use super::text_near::Place;
use super::text_score::{Memories, rarity_of};
use super::text_search::{Hit, Part};
use super::text_terms::in_order;

/// How many memories are looked at.
const BEST: usize = 50;
/// How many chunks.
const MOST_CHUNKS: usize = 200;
/// How many words of a query.
const MOST_WORDS: usize = 64;
/// How often a word is looked at in one chunk.
const MOST_TIMES: usize = 256;
/// A run ends where so much of the memory stands between two words…
const GAP: u32 = 12;
/// …or so many words of the query are left out.
const SKIP: usize = 4;
/// How late the share counts.
const POWER: f64 = 4.0;

/// How much a share of the links counts: from 0 to 1.
#[must_use]
pub fn strength(share: f64) -> f64 {
    share.clamp(0.0, 1.0).powf(POWER)
}

/// The words of a query in their order.
struct Words {
    /// Each with its position.
    words: Vec<(u32, Term)>,
    /// What the link from each word to the next weighs, as a share of all.
    links: Vec<f64>,
}

impl Words {
    fn of(memories: &Memories<'_>, query: &Query) -> tantivy::Result<Option<Words>> {
        let mut said = in_order(&query.text(), false);
        said.retain(|(_, _, prefix)| !prefix);
        said.truncate(MOST_WORDS);
        if said.len() < 2 {
            return Ok(None);
        }
        let field = memories.view.fields.searched[BODY];
        let words: Vec<(u32, Term)> =
            said.iter().map(|(position, term, _)| (*position, Term::from_field_text(field, term))).collect();
        let weights: Vec<f64> =
            words.iter().map(|(_, term)| rarity_of(memories.view, term)).collect::<tantivy::Result<_>>()?;
        let links: Vec<f64> = weights.windows(2).map(|pair| pair[0] + pair[1]).collect();
        let all: f64 = links.iter().sum();
        Ok(Some(Words { words, links: links.into_iter().map(|link| link / all.max(1e-9)).collect() }))
    }

    /// The share of the links that the best run of each chunk keeps. The chunks come in no order.
    fn shares(&self, memories: &Memories<'_>, places: &[Place]) -> tantivy::Result<HashMap<Place, f64>> {
        let mut places = places.to_vec();
        places.sort_unstable();
        places.dedup();
        let mut shares = HashMap::new();
        let mut at = Vec::new();
        for group in places.chunk_by(|a, b| a.0 == b.0) {
            let reader = &memories.view.searcher.segment_readers()[group[0].0];
            // Where in each chunk which word stands.
            let mut stands: Vec<Vec<(u32, usize)>> = vec![Vec::new(); group.len()];
            for (number, (_, term)) in self.words.iter().enumerate() {
                let inverted = reader.inverted_index(term.field())?;
                let option = IndexRecordOption::WithFreqsAndPositions;
                let Some(mut postings) = inverted.read_postings(term, option)? else { continue };
                for ((_, chunk), stands) in group.iter().zip(&mut stands) {
                    if postings.doc() < *chunk {
                        postings.seek(*chunk);
                    }
                    if postings.doc() == *chunk {
                        postings.positions(&mut at);
                        stands.extend(at.iter().take(MOST_TIMES).map(|at| (*at, number)));
                    }
                }
            }
            for (place, mut stands) in group.iter().zip(stands) {
                stands.sort_unstable();
                shares.insert(*place, self.best_run(&stands));
            }
        }
        Ok(shares)
    }

    /// What the best run weighs of words that stand somewhere, in the order of their places.
    fn best_run(&self, stands: &[(u32, usize)]) -> f64 {
        let mut best = vec![0f64; stands.len()];
        for (here, (at, word)) in stands.iter().enumerate() {
            for (there, (before, other)) in stands[..here].iter().enumerate().rev() {
                if at - before > GAP {
                    break;
                }
                if before == at || other >= word || word - other > SKIP {
                    continue;
                }
                let linked = other + 1 == *word && at - before == self.words[*word].0 - self.words[*other].0;
                best[here] = best[here].max(best[there] + if linked { self.links[*other] } else { 0.0 });
            }
        }
        best.into_iter().fold(0.0, f64::max)
    }
}

/// Favours, among memories with the place of their best chunk, those in which the query stands as it was typed.
pub(super) fn favour(
    memories: &Memories<'_>,
    query: &Query,
    hits: &mut [(Place, Hit)],
    explain: bool,
) -> tantivy::Result<()> {
    let Some(words) = Words::of(memories, query)? else { return Ok(()) };
    let by = |(place, hit): &(Place, Hit)| (hit.score, std::cmp::Reverse(*place));
    hits.sort_by(|a, b| by(b).0.total_cmp(&by(a).0).then(by(b).1.cmp(&by(a).1)));
    let top = hits.first().map_or(0.0, |(_, hit)| hit.score);
    let count = hits.len().min(BEST);
    let best = &mut hits[..count];
    let mut places: Vec<Place> = best.iter().map(|(place, _)| *place).collect();
    let others = best.iter().filter_map(|(_, hit)| memories.several.get(&hit.doc)).flatten();
    places.extend(others.take(MOST_CHUNKS));
    let shares = words.shares(memories, &places)?;
    let share_of = |place: &Place| shares.get(place).copied().unwrap_or(0.0);
    for (place, hit) in best {
        hit.run = share_of(place);
        for other in memories.several.get(&hit.doc).into_iter().flatten() {
            if share_of(other) > hit.run {
                hit.run = share_of(other);
                hit.ord = memories.chunks.get(other).map_or(hit.ord, |chunk| chunk.ord);
            }
        }
        hit.bonus = strength(hit.run) * top;
        hit.score += hit.bonus;
        if explain && hit.bonus > 0.0 {
            hit.parts
                .insert(0, Part { field: "run", term: format!("{:.0}%", hit.run * 100.0), score: hit.bonus });
        }
    }
    Ok(())
}
