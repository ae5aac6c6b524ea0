//! What the search is held against: a count of words as `grep` gives it, and plain BM25. Neither knows stems, stop
//! words, fields, neighbours or filters.

use std::collections::HashMap;

use crate::index::tokenizer::{Analyzer, Kind};

/// BM25's constants as they are given most often (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
/// and Beyond", 2009, section 3.2).
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// One document: how often it has each word that any of the questions has.
struct Document {
    path: String,
    length: u32,
    counts: HashMap<u32, u32>,
}

/// All documents, counted for a set of questions.
pub struct Baseline {
    /// The words of the questions and their numbers.
    words: HashMap<String, u32>,
    documents: Vec<Document>,
    /// In how many documents each word is.
    frequencies: Vec<u32>,
    analyzer: Analyzer,
}

impl std::fmt::Debug for Baseline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Baseline").field("documents", &self.documents.len()).finish_non_exhaustive()
    }
}

impl Baseline {
    /// Ready to count documents for these questions.
    pub fn new<'q>(questions: impl Iterator<Item = &'q str>) -> Baseline {
        let mut analyzer = Analyzer::default();
        let mut words = HashMap::new();
        for question in questions {
            for word in words_of(&mut analyzer, question) {
                let next = u32::try_from(words.len()).unwrap_or(u32::MAX);
                words.entry(word).or_insert(next);
            }
        }
        let frequencies = vec![0; words.len()];
        Baseline { words, documents: Vec::new(), frequencies, analyzer }
    }

    /// Counts a document: its title and all that it says.
    pub fn add(&mut self, path: String, text: &str) {
        let (mut counts, mut length) = (HashMap::new(), 0);
        for word in words_of(&mut self.analyzer, text) {
            length += 1;
            if let Some(number) = self.words.get(&word) {
                *counts.entry(*number).or_insert(0) += 1;
            }
        }
        for number in counts.keys() {
            self.frequencies[*number as usize] += 1;
        }
        self.documents.push(Document { path, length, counts });
    }

    /// Documents by how many different words of the question they have; equal ones by their paths.
    pub fn grep(&mut self, question: &str, limit: usize) -> Vec<String> {
        let words = self.numbers(question);
        self.ranked(limit, |document| {
            words.iter().filter(|word| document.counts.contains_key(word)).count() as f64
        })
    }

    /// Documents by BM25 over title and text as one; equal ones by their paths.
    pub fn bm25(&mut self, question: &str, limit: usize) -> Vec<String> {
        let words = self.numbers(question);
        let total = self.documents.len() as f64;
        let length: f64 = self.documents.iter().map(|document| f64::from(document.length)).sum();
        let mean = (length / total.max(1.0)).max(1.0);
        let rarity: HashMap<u32, f64> = (words.iter())
            .map(|word| {
                let has = f64::from(self.frequencies[*word as usize]);
                (*word, (1.0 + (total - has + 0.5) / (has + 0.5)).ln())
            })
            .collect();
        self.ranked(limit, |document| {
            let norm = K1 * (1.0 - B + B * f64::from(document.length) / mean);
            let part = |word: &u32| {
                let count = f64::from(document.counts.get(word).copied().unwrap_or(0));
                rarity[word] * (K1 + 1.0) * count / (count + norm)
            };
            words.iter().map(part).sum()
        })
    }

    /// The different words of a question, by their numbers.
    fn numbers(&mut self, question: &str) -> Vec<u32> {
        let words = words_of(&mut self.analyzer, question);
        let mut numbers: Vec<u32> = words.iter().filter_map(|word| self.words.get(word).copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn ranked(&self, limit: usize, score: impl Fn(&Document) -> f64) -> Vec<String> {
        let scored = self.documents.iter().map(|document| (score(document), document.path.as_str()));
        let mut all: Vec<(f64, &str)> = scored.filter(|(score, _)| *score > 0.0).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        all.truncate(limit);
        all.into_iter().map(|(_, path)| path.to_owned()).collect()
    }
}

/// The words as they are written, in lower case; Chinese in pairs of characters.
fn words_of(analyzer: &mut Analyzer, text: &str) -> Vec<String> {
    let tokens = analyzer.analyze(text).to_vec();
    let mut words: Vec<String> = Vec::with_capacity(tokens.len());
    let mut run: Option<u32> = None;
    for token in &tokens {
        match token.kind {
            // Behind each word that has a stem stands its exact form.
            Kind::Exact => {
                words.pop();
                words.push(analyzer.term(token)[1..].to_owned());
            }
            Kind::Plain => words.push(analyzer.term(token).to_owned()),
            Kind::Pair => {
                words.push(analyzer.term(token).to_owned());
                run = Some(token.position + 1);
            }
            Kind::Last if run != Some(token.position) => words.push(analyzer.term(token).to_owned()),
            Kind::Last | Kind::Whole => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(questions: &[&str], documents: &[(&str, &str)]) -> Baseline {
        let mut baseline = Baseline::new(questions.iter().copied());
        for (path, text) in documents {
            baseline.add((*path).to_owned(), text);
        }
        baseline
    }

    #[test]
    fn words_as_they_are_written() {
        let mut analyzer = Analyzer::default();
        assert_eq!(words_of(&mut analyzer, "Meetings, the HTTP-403"), ["meetings", "the", "http", "403"]);
        assert_eq!(words_of(&mut analyzer, "靠窗座 位"), ["靠窗", "窗座", "位"]);
    }

    #[test]
    fn grep_counts_different_words() {
        let documents =
            [("b", "seat seat seat seat"), ("c", "a window seat"), ("a", "one seat"), ("d", "nothing")];
        let mut baseline = made(&["window seat"], &documents);
        assert_eq!(baseline.grep("window seat", 10), ["c", "a", "b"]);
        assert_eq!(baseline.grep("window seat", 1), ["c"]);
    }

    #[test]
    fn bm25_prefers_the_rare_and_the_short() {
        let documents =
            [("long", "rare word word word word word"), ("short", "rare word"), ("common", "word word")];
        let mut baseline = made(&["rare word"], &documents);
        assert_eq!(baseline.bm25("rare word", 10), ["short", "long", "common"]);
        assert_eq!(baseline.bm25("words", 10), Vec::<String>::new(), "no stems");
    }
}
