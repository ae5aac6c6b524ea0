//! From the words of a query to the terms that are looked up.

use std::collections::{HashMap, HashSet};

use tantivy::Term;

use super::query::{Item, Query, is_stop_word};
use super::text_view::View;
use super::tokenizer::{Analyzer, EXACT, Kind, Token, WORD};

/// The most terms of one query.
const MAX_TERMS: usize = 256;
/// The longest CJK word that is looked for, in characters.
const LONGEST_WORD: usize = 6;

/// One term to look for in every field.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SoughtTerm {
    pub(super) text: String,
    pub(super) weight: f64,
    /// Whether it is the beginning of terms.
    pub(super) prefix: bool,
    /// Whether it is looked for in titles and bodies only.
    pub(super) bodies_only: bool,
}

/// What a query looks for.
#[derive(Debug, Default)]
pub(super) struct Sought {
    /// Whether it has words at all, and not filters alone.
    pub(super) asked: bool,
    pub(super) terms: Vec<SoughtTerm>,
    /// The terms to mark in a text.
    pub(super) marks: HashSet<String>,
    pub(super) notes: Vec<String>,
}

/// The terms of a query's words and phrases.
pub(super) fn sought(view: &View, query: &Query) -> tantivy::Result<Sought> {
    let mut sought = Sought { notes: query.notes.clone(), ..Sought::default() };
    // The dictionary is not needed for a query: the words of the index are known.
    let mut analyzer = Analyzer::new(false);
    let mut weights: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<SoughtTerm> = Vec::new();
    for item in &query.wanted {
        let (Item::Words(text) | Item::Phrase(text)) = item else { continue };
        sought.asked = true;
        let tokens = analyzer.analyze(text).to_vec();
        for (at, token) in tokens.iter().enumerate() {
            let Some(term) = term_of(&analyzer, &tokens, at, token) else { continue };
            if !weights.contains_key(&term.text) {
                weights.insert(term.text.clone(), all.len());
                all.push(term);
            }
        }
        for word in words_of_index(view, &tokens, text)? {
            if !weights.contains_key(&word) {
                weights.insert(word.clone(), all.len());
                all.push(SoughtTerm { text: word, weight: 0.6, prefix: false, bodies_only: true });
            }
        }
    }
    let stop = |term: &SoughtTerm| is_stop_word(term.text.trim_start_matches(EXACT));
    if all.iter().any(|term| !stop(term) && !term.text.starts_with(EXACT)) {
        all.retain(|term| !stop(term));
    }
    if all.len() > MAX_TERMS {
        sought.notes.push(format!("the query has {} terms; only its first {MAX_TERMS} were used", all.len()));
        all.truncate(MAX_TERMS);
    }
    sought.marks = all.iter().map(|term| term.text.clone()).collect();
    sought.terms = all;
    Ok(sought)
}

fn term_of(analyzer: &Analyzer, tokens: &[Token], at: usize, token: &Token) -> Option<SoughtTerm> {
    let text = analyzer.term(token).to_owned();
    let term = |weight, bodies_only| SoughtTerm { text: text.clone(), weight, prefix: false, bodies_only };
    Some(match token.kind {
        Kind::Plain | Kind::Whole => term(1.0, false),
        // The form as it was typed counts a little more than another one of the same stem.
        Kind::Exact => term(0.2, true),
        Kind::Pair => term(0.7, false),
        Kind::Word => term(0.6, true),
        Kind::Last => {
            if ends_a_pair(tokens, at) {
                return None;
            }
            SoughtTerm { text, weight: 1.0, prefix: true, bodies_only: false }
        }
    })
}

/// Whether the last character of a run was in a pair before.
fn ends_a_pair(tokens: &[Token], at: usize) -> bool {
    let before = tokens[..at].iter().rev().find(|token| token.kind != Kind::Word);
    before.is_some_and(|token| token.kind == Kind::Pair && token.to == tokens[at].to)
}

/// The words of three and more CJK characters that stand in the query and in the index.
fn words_of_index(view: &View, tokens: &[Token], text: &str) -> tantivy::Result<Vec<String>> {
    let mut words = Vec::new();
    let body = view.fields.searched[4];
    let pairs: Vec<&Token> = tokens.iter().filter(|token| matches!(token.kind, Kind::Pair)).collect();
    let mut tried = 0;
    for run in pairs.chunk_by(|a, b| a.position + 1 == b.position && b.from < a.to) {
        let Some((first, last)) = run.first().zip(run.last()) else { continue };
        let chars: Vec<char> =
            text.get(first.from as usize..last.to as usize).unwrap_or_default().chars().collect();
        for from in 0..chars.len() {
            for to in from + 3..=(from + LONGEST_WORD).min(chars.len()) {
                tried += 1;
                if tried > 2_000 || words.len() >= 64 {
                    return Ok(words);
                }
                let word: String = std::iter::once(WORD).chain(chars[from..to].iter().copied()).collect();
                if view.frequency(&Term::from_field_text(body, &word))? > 0 {
                    words.push(word);
                }
            }
        }
    }
    Ok(words)
}

/// The terms of words that stand one behind the other: position from the first, term, and whether it is only the
/// beginning of one. `exact` takes words as they stand, else by their stems.
pub(super) fn in_order(text: &str, exact: bool) -> Vec<(u32, String, bool)> {
    let mut analyzer = Analyzer::new(false);
    let tokens = analyzer.analyze(text).to_vec();
    let first = tokens.first().map_or(0, |token| token.position);
    let mut terms = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let has_exact = tokens
            .iter()
            .skip(at + 1)
            .take(1)
            .any(|next| next.kind == Kind::Exact && next.position == token.position);
        let takes = match token.kind {
            Kind::Plain => !(exact && has_exact),
            Kind::Exact => exact,
            Kind::Pair => true,
            Kind::Last => !ends_a_pair(&tokens, at),
            Kind::Whole | Kind::Word => false,
        };
        if takes {
            let prefix = token.kind == Kind::Last;
            terms.push((token.position - first, analyzer.term(token).to_owned(), prefix));
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_in_order() {
        let terms = |text, exact| -> Vec<(u32, String)> {
            in_order(text, exact).into_iter().map(|(at, term, _)| (at, term)).collect()
        };
        assert_eq!(terms("window seats", true), [(0, "window".to_owned()), (1, "\u{2}seats".to_owned())]);
        assert_eq!(terms("window seats", false), [(0, "window".to_owned()), (1, "seat".to_owned())]);
        assert_eq!(terms("靠窗座", true), [(0, "靠窗".to_owned()), (1, "窗座".to_owned())]);
        assert_eq!(terms("靠窗 tokio", true), [(0, "靠窗".to_owned()), (2, "tokio".to_owned())]);
        assert!(in_order("猫", true)[0].2);
    }
}
