//! Words of a query that no memory has, and words of the index that may have been meant: those that begin so, and those
//! that are an edit or two away (a letter too many, too few, another or two changed about).
//!
//! All is counted under the filters of a request. A word that stands only in memories which a reader may not see is
//! neither there nor proposed.

use std::collections::{BTreeMap, HashMap, HashSet};

use tantivy::query::FuzzyTermQuery;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, TERMINATED, Term};

use super::query::is_stop_word;
use super::text::{BODY, TextError, TextIndex, guarded};
use super::text_filter::Filter;
use super::text_near::Place;
use super::text_search::Request;
use super::text_view::View;
use super::text_words::has_exact;
use super::tokenizer::{Analyzer, EXACT, Kind};

/// Words shorter than this are near too many others.
const SHORTEST: usize = 4;
/// From so many letters on a word may be two edits away.
const LONG: usize = 6;
/// How many missing words are looked at.
const MOST_WORDS: usize = 4;
/// How many terms of the dictionary are looked at for one word, in one segment.
const MOST_TERMS: usize = 512;
/// How many of them are counted under the filters.
const MOST_COUNTED: usize = 24;
/// How far they are counted.
const ENOUGH: usize = 500;
/// In how many chunks another form of a word is looked for.
const MOST_PLACES: usize = 5_000;
/// How many are proposed for one word.
const MOST: usize = 3;

/// A word that no memory has, as it was typed, with words that may have been meant, the likeliest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The word.
    pub word: String,
    /// What may have been meant.
    pub nearest: Vec<String>,
}

impl TextIndex {
    /// The words of a text that no chunk has which passes the filters of a request; those for which nothing can be
    /// proposed are among them.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn missing(&self, request: &Request<'_>, text: &str) -> Result<Vec<Missing>, TextError> {
        guarded(&self.path, || {
            let view = View::open(self, request.hidden, request.totals)?;
            let filters = self.filters(&view, request)?;
            let mut guess = Guess { view: &view, filters, analyzer: Analyzer::default() };
            let mut missing: Vec<Missing> = Vec::new();
            for (word, term, folded) in words(text) {
                if missing.len() == MOST_WORDS {
                    break;
                }
                if missing.iter().any(|one| one.word == word) || guess.stands(&term)? {
                    continue;
                }
                let nearest = guess.nearest(&folded)?;
                missing.push(Missing { word, nearest });
            }
            Ok(missing)
        })
    }
}

/// The words of a text that can be guessed at: as typed, as it is looked up, and folded.
fn words(text: &str) -> Vec<(String, String, String)> {
    let mut analyzer = Analyzer::default();
    let tokens = analyzer.analyze(text).to_vec();
    let mut words = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Plain) {
        let term = analyzer.term(token).to_owned();
        let folded = match has_exact(&tokens, at) {
            true => analyzer.term(&tokens[at + 1]).trim_start_matches(EXACT).to_owned(),
            false => term.clone(),
        };
        let typed = text.get(token.from as usize..token.to as usize).unwrap_or_default().to_owned();
        let letters = folded.chars().all(char::is_alphabetic);
        if letters && folded.chars().count() >= SHORTEST && !is_stop_word(&folded) {
            words.push((typed, term, folded));
        }
    }
    words
}

struct Guess<'a> {
    view: &'a View,
    filters: Vec<Filter<'a>>,
    analyzer: Analyzer,
}

impl Guess<'_> {
    /// Whether a term stands anywhere.
    fn stands(&mut self, term: &str) -> tantivy::Result<bool> {
        // Titles and headings are part of the body, and how words begin is no word.
        for (name, field) in super::text::FIELDS.iter().zip(self.view.fields.searched) {
            if matches!(*name, "body" | "tags" | "aliases" | "path")
                && self.count(&Term::from_field_text(field, term), 1)? > 0
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many chunks that pass have a term; no more than so many are counted.
    fn count(&mut self, term: &Term, enough: usize) -> tantivy::Result<u64> {
        Ok(self.places(term, enough)?.len() as u64)
    }

    /// The chunks that pass and have a term, so many at most.
    fn places(&mut self, term: &Term, enough: usize) -> tantivy::Result<HashSet<Place>> {
        let mut places = HashSet::new();
        for (at, segment) in self.view.searcher.segment_readers().iter().enumerate() {
            let inverted = segment.inverted_index(term.field())?;
            let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::Basic)? else {
                continue;
            };
            while postings.doc() != TERMINATED && places.len() < enough {
                if self.filters[at].pass(postings.doc()).is_some() {
                    places.insert((at, postings.doc()));
                }
                postings.advance();
            }
        }
        Ok(places)
    }

    /// The words that may have been meant.
    fn nearest(&mut self, word: &str) -> tantivy::Result<Vec<String>> {
        let length = word.chars().count();
        let mut found: BTreeMap<String, (usize, u64)> = BTreeMap::new();
        self.begun(word, &mut found)?;
        for edits in 1..=if length >= LONG { 2 } else { 1 } {
            // One edit away is nearer than two, so these are not looked for then.
            if found.is_empty() {
                self.near(word, edits, &mut found)?;
            }
        }
        let mut ranked: Vec<(String, usize, u64)> =
            found.into_iter().map(|(word, (edits, count))| (word, edits, count)).collect();
        ranked.sort_by(|a, b| (a.1, std::cmp::Reverse(a.2), &a.0).cmp(&(b.1, std::cmp::Reverse(b.2), &b.0)));
        ranked.truncate(MOST_COUNTED);
        let mut counted = Vec::new();
        for (word, edits, _) in ranked {
            let Some((shown, count)) = self.shown(&word)? else { continue };
            counted.push((edits, std::cmp::Reverse(count), shown));
        }
        counted.sort();
        // One form of a word says it: the others are found by it too.
        let mut stems = HashSet::new();
        let words = counted.into_iter().map(|(_, _, word)| word);
        Ok(words.filter(|word| stems.insert(self.stem(word))).take(MOST).collect())
    }

    /// The terms that begin with a word.
    fn begun(&self, word: &str, found: &mut BTreeMap<String, (usize, u64)>) -> tantivy::Result<()> {
        for prefix in [word.to_owned(), format!("{EXACT}{word}")] {
            for (term, count) in self.range(&prefix)? {
                take(found, &term, 0, count);
            }
        }
        Ok(())
    }

    /// The terms of the body with a beginning, and in how many chunks they are, whoever may see them.
    fn range(&self, prefix: &str) -> tantivy::Result<HashMap<String, u64>> {
        let mut end = prefix.to_owned();
        end.push(char::MAX);
        let mut terms: HashMap<String, u64> = HashMap::new();
        for segment in self.view.searcher.segment_readers() {
            let inverted = segment.inverted_index(self.view.fields.searched[BODY])?;
            let mut stream = inverted.terms().range().ge(prefix).lt(&end).into_stream()?;
            let mut looked = 0;
            while looked < MOST_TERMS && stream.advance() {
                looked += 1;
                if let Ok(term) = std::str::from_utf8(stream.key()) {
                    *terms.entry(term.to_owned()).or_default() += u64::from(stream.value().doc_freq);
                }
            }
        }
        Ok(terms)
    }

    /// The terms that are so many edits away from a word, or fewer.
    fn near(
        &self,
        word: &str,
        edits: usize,
        found: &mut BTreeMap<String, (usize, u64)>,
    ) -> tantivy::Result<()> {
        let field = self.view.fields.searched[BODY];
        let first = word.chars().next();
        for word in [word.to_owned(), format!("{EXACT}{word}")] {
            let query = FuzzyTermQuery::new(Term::from_field_text(field, &word), edits as u8, true);
            for segment in self.view.searcher.segment_readers() {
                let inverted = segment.inverted_index(field)?;
                let mut stream = inverted.terms().search(query.automaton()?).into_stream()?;
                let mut looked = 0;
                while looked < MOST_TERMS && stream.advance() {
                    looked += 1;
                    let Ok(term) = std::str::from_utf8(stream.key()) else { continue };
                    // Two edits from a word that also begins otherwise is another word.
                    let begins = term.trim_start_matches(EXACT).chars().next() == first;
                    if term.starts_with(EXACT) == word.starts_with(EXACT) && (edits == 1 || begins) {
                        take(found, term, edits, u64::from(stream.value().doc_freq));
                    }
                }
            }
        }
        Ok(())
    }

    /// The word that a term stands for, and in how many chunks that pass: a stem is told by the most frequent word that
    /// has it. None where no chunk passes.
    fn shown(&mut self, term: &str) -> tantivy::Result<Option<(String, u64)>> {
        let field = self.view.fields.searched[BODY];
        let text = |term: &str| Term::from_field_text(field, term);
        if let Some(word) = term.strip_prefix(EXACT) {
            let count = self.count(&text(term), ENOUGH)?;
            return Ok((count > 0).then(|| (word.to_owned(), count)));
        }
        let mut places = self.places(&text(term), ENOUGH)?;
        let all = places.len() as u64;
        if all == 0 {
            return Ok(None);
        }
        // Stemming changes the last letters.
        let letters = term.chars().count();
        let beginning: String = term.chars().take(letters.saturating_sub(1).max(1)).collect();
        let mut best = (0, String::new());
        for other in self.range(&format!("{EXACT}{beginning}"))?.into_keys() {
            let word = other.trim_start_matches(EXACT);
            if self.stem(word) == term {
                let others = self.places(&text(&other), MOST_PLACES)?;
                best = best.max((others.len(), word.to_owned()));
                places.retain(|place| !others.contains(place));
            }
        }
        // Where no other form stands, it does itself.
        Ok(Some((if places.is_empty() { best.1 } else { term.to_owned() }, all)))
    }

    fn stem(&mut self, word: &str) -> String {
        let tokens = self.analyzer.analyze(word).to_vec();
        tokens.first().map(|token| self.analyzer.term(token).to_owned()).unwrap_or_default()
    }
}

fn take(found: &mut BTreeMap<String, (usize, u64)>, term: &str, edits: usize, count: u64) {
    // Parts of names, numbers and the like are not what a word was meant to be.
    if !term.trim_start_matches(EXACT).chars().all(char::is_alphabetic) {
        return;
    }
    let known = found.entry(term.to_owned()).or_insert((edits, 0));
    known.1 += count;
}
