//! The two ways in which a text's words go into the index, behind tantivy's trait: the words themselves, and how they
//! begin.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

use super::query::{is_stop_character, is_stop_word};
use super::tokenizer::{self, Analyzer, EXACT, Kind};

/// The words with their stems and exact forms: see [`super::tokenizer`].
pub(super) const WORDS: &str = "runebook";
/// The same of a text whose words' beginnings are asked for next.
pub(super) const BODY: &str = "runebook-body";
/// How the words begin: see [`starts`].
pub(super) const STARTS: &str = "runebook-starts";

/// With how many letters a word begins.
const LETTERS: usize = 4;

/// All three, and tantivy's own.
pub(super) fn known() -> TokenizerManager {
    let known = TokenizerManager::default();
    for (name, role) in [(WORDS, Role::Words), (BODY, Role::Body), (STARTS, Role::Starts)] {
        known.register(name, TextAnalyzer::from(Words { role, ..Words::default() }));
    }
    known
}

/// What a text begins its words with: the first four letters of each Latin word that is no stop word, and each
/// Chinese character that says something. So related words meet that have no stem in common (*polymer* and
/// *polymerase*, 个体户 and 个体工商户), at one term a word.
pub(super) fn starts<'a>(
    analyzer: &'a Analyzer,
    tokens: &'a [tokenizer::Token],
) -> impl Iterator<Item = (&'a str, u32)> + 'a {
    tokens.iter().enumerate().filter_map(move |(at, token)| {
        let term = analyzer.term(token);
        let start = match token.kind {
            Kind::Whole => return None,
            Kind::Plain if has_exact(tokens, at) => return None,
            Kind::Plain | Kind::Exact => latin(term.trim_start_matches(EXACT))?,
            Kind::Pair | Kind::Last => {
                let length = term.chars().next()?.len_utf8();
                Some(&term[..length]).filter(|c| !is_stop_character(c))?
            }
        };
        Some((start, token.position))
    })
}

/// Whether the word at a place has its exact form behind it.
pub(super) fn has_exact(tokens: &[tokenizer::Token], at: usize) -> bool {
    tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Exact && next.position == tokens[at].position)
}

fn latin(word: &str) -> Option<&str> {
    let mut letters = word.char_indices();
    letters.nth(2)?;
    if is_stop_word(word) {
        return None;
    }
    Some(word.char_indices().nth(LETTERS).map_or(word, |(end, _)| &word[..end]))
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Words,
    Body,
    Starts,
}

/// How the words of a text begin.
#[derive(Clone, Default)]
struct Begun {
    /// The text.
    of: String,
    /// The beginnings, one behind the other.
    text: String,
    /// Where each stands in `text`, and its position.
    starts: Vec<(Range<usize>, u32)>,
}

impl Begun {
    fn fill(&mut self, of: &str, analyzer: &Analyzer) {
        self.of.clear();
        self.of.push_str(of);
        self.text.clear();
        self.starts.clear();
        for (start, position) in starts(analyzer, analyzer.tokens()) {
            let from = self.text.len();
            self.text.push_str(start);
            self.starts.push((from..self.text.len(), position));
        }
    }
}

/// How many texts' beginnings are kept for the second field. A chunk has a few: its body, its title and headings.
const KEPT: usize = 16;

thread_local! {
    /// What was cut last in this thread. Tantivy has the texts of a chunk cut field by field, and the second field's
    /// texts are those of the first: cutting them once is a sixth of the work of an index.
    static CUT: RefCell<VecDeque<Begun>> = const { RefCell::new(VecDeque::new()) };
}

/// Keeps how the words of the analyser's last text begin.
fn keep(text: &str, analyzer: &Analyzer) {
    CUT.with_borrow_mut(|cut| {
        let mut begun = if cut.len() < KEPT { None } else { cut.pop_front() }.unwrap_or_default();
        begun.fill(text, analyzer);
        cut.push_back(begun);
    });
}

/// Puts what was kept of a text in the place of `begun`, if it was.
fn take(text: &str, begun: &mut Begun) -> bool {
    CUT.with_borrow_mut(|cut| {
        let Some(found) = cut.iter_mut().find(|kept| kept.of == text) else { return false };
        std::mem::swap(found, begun);
        true
    })
}

#[derive(Clone, Default)]
struct Words {
    analyzer: Analyzer,
    role: Role,
    begun: Begun,
    token: Token,
}

struct WordStream<'a> {
    words: &'a mut Words,
    next: usize,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        match self.role {
            Role::Words => {
                self.analyzer.analyze(text);
            }
            Role::Body => {
                self.analyzer.analyze(text);
                keep(text, &self.analyzer);
            }
            Role::Starts => {
                if !take(text, &mut self.begun) {
                    self.analyzer.analyze(text);
                    self.begun.fill(text, &self.analyzer);
                }
            }
        }
        WordStream { words: self, next: 0 }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Words { analyzer, role, begun, token } = &mut *self.words;
        token.text.clear();
        if *role == Role::Starts {
            let Some((range, position)) = begun.starts.get(self.next) else { return false };
            token.text.push_str(&begun.text[range.clone()]);
            token.position = *position as usize;
        } else {
            let Some(found) = analyzer.tokens().get(self.next) else { return false };
            token.text.push_str(analyzer.term(found));
            token.offset_from = found.from as usize;
            token.offset_to = found.to as usize;
            token.position = found.position as usize;
        }
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.words.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.words.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(text: &str) -> Vec<String> {
        let mut analyzer = Analyzer::default();
        analyzer.analyze(text);
        starts(&analyzer, analyzer.tokens()).map(|(start, _)| start.to_owned()).collect()
    }

    #[test]
    fn how_words_begin() {
        assert_eq!(begin("The polymerases of it, cats and DNA"), ["poly", "cats", "dna"]);
        assert_eq!(begin("靠窗的座位"), ["靠", "窗", "座", "位"]);
        assert_eq!(begin("猫 HTTP-403"), ["猫", "http", "403"]);
        assert!(begin("").is_empty());
    }

    #[test]
    fn beginnings_are_the_same_whether_the_words_were_cut_before_or_not() {
        let cut = |name: &str, text: &str| {
            let mut analyzer = known().get(name).unwrap();
            let mut stream = analyzer.token_stream(text);
            let mut found = Vec::new();
            stream.process(&mut |token| found.push((token.text.clone(), token.position)));
            found
        };
        let texts: Vec<String> =
            (0..40).map(|n| format!("Polymerases {n} of the cats 靠窗 num{n}")).collect();
        let alone: Vec<_> = texts.iter().map(|text| cut(STARTS, text)).collect();
        // More than are kept, then each twice in its turn.
        texts.iter().for_each(|text| drop(cut(BODY, text)));
        let after: Vec<_> = texts.iter().map(|text| cut(STARTS, text)).collect();
        let in_turn: Vec<_> = texts.iter().map(|text| (cut(BODY, text), cut(STARTS, text)).1).collect();
        assert_eq!(alone, after);
        assert_eq!(alone, in_turn);
        assert_eq!(alone[3][0], ("poly".to_owned(), 0));
    }
}
