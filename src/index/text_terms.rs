//! From the words of a query to the terms that are looked up.

use std::collections::{HashMap, HashSet};

use super::query::{Query, is_stop_character, is_stop_word};
use super::text_words::{has_exact, starts};
use super::tokenizer::{Analyzer, EXACT, Kind, Token};
use super::weights::Weights;

/// The most terms of one query.
const MAX_TERMS: usize = 256;
/// How often a term counts at most that the query has several times.
const MOST: f64 = 3.0;

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
    /// How the words begin, with how often each is in the query.
    pub(super) starts: Vec<(String, f64)>,
    /// The terms to mark in a text.
    pub(super) marks: HashSet<String>,
    pub(super) notes: Vec<String>,
}

/// The terms of a query's words and phrases.
pub(super) fn sought(query: &Query, weights: &Weights) -> Sought {
    let mut sought = Sought { notes: query.notes.clone(), ..Sought::default() };
    let mut analyzer = Analyzer::default();
    let (mut terms, mut stops, mut begun) = (Terms::default(), Terms::default(), Terms::default());
    for text in query.texts() {
        sought.asked = true;
        let tokens = analyzer.analyze(text).to_vec();
        for at in 0..tokens.len() {
            let Some(term) = term_of(&analyzer, &tokens, at, weights) else { continue };
            if says_nothing(&analyzer, &tokens, at) { stops.take(term) } else { terms.take(term) }
        }
        for (start, _) in starts(&analyzer, &tokens) {
            begun.take(SoughtTerm { text: start.to_owned(), weight: 1.0, prefix: false, bodies_only: true });
        }
    }
    let mut all = if terms.list.is_empty() { stops.list } else { terms.list };
    if all.len() > MAX_TERMS {
        sought.notes.push(format!("the query has {} terms; only its first {MAX_TERMS} were used", all.len()));
        all.truncate(MAX_TERMS);
    }
    begun.list.truncate(MAX_TERMS);
    sought.starts = begun.list.into_iter().map(|term| (term.text, term.weight)).collect();
    sought.marks = all.iter().map(|term| term.text.clone()).collect();
    sought.terms = all;
    sought
}

/// Terms in the order in which they come first, each once; one that comes again counts more.
#[derive(Default)]
struct Terms {
    list: Vec<SoughtTerm>,
    places: HashMap<String, usize>,
}

impl Terms {
    fn take(&mut self, term: SoughtTerm) {
        match self.places.get(&term.text) {
            Some(at) => {
                let known = &mut self.list[*at];
                // The first weight is in the term that comes again, since equal terms weigh alike.
                known.weight = (known.weight + term.weight).min(term.weight * MOST);
            }
            None => {
                self.places.insert(term.text.clone(), self.list.len());
                self.list.push(term);
            }
        }
    }
}

/// Whether a token is of a word, or of two Chinese characters, that alone say nothing.
fn says_nothing(analyzer: &Analyzer, tokens: &[Token], at: usize) -> bool {
    let exact = if has_exact(tokens, at) { at + 1 } else { at };
    let term = analyzer.term(&tokens[exact]).trim_start_matches(EXACT);
    match tokens[at].kind {
        Kind::Plain | Kind::Exact => is_stop_word(term),
        Kind::Pair => {
            let mut characters = term.split("").filter(|c| !c.is_empty());
            characters.all(is_stop_character)
        }
        Kind::Last | Kind::Whole => false,
    }
}

fn term_of(analyzer: &Analyzer, tokens: &[Token], at: usize, weights: &Weights) -> Option<SoughtTerm> {
    let token = &tokens[at];
    let text = analyzer.term(token).to_owned();
    let term = |weight, bodies_only| SoughtTerm { text: text.clone(), weight, prefix: false, bodies_only };
    Some(match token.kind {
        Kind::Plain | Kind::Whole => term(1.0, false),
        // The form as it was typed counts a little more than another one of the same stem.
        Kind::Exact => term(weights.exact, true),
        Kind::Pair => term(1.0, false),
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
    tokens[..at].last().is_some_and(|token| token.kind == Kind::Pair && token.to == tokens[at].to)
}

/// The terms of words that stand one behind the other: position from the first, term, and whether it is only the
/// beginning of one. `exact` takes words as they stand, else by their stems.
pub(super) fn in_order(text: &str, exact: bool) -> Vec<(u32, String, bool)> {
    let mut analyzer = Analyzer::default();
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
            Kind::Whole => false,
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
