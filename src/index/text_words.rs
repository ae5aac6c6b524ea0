//! The two ways in which a text's words go into the index, behind tantivy's trait: the words themselves, and how they
//! begin.

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

use super::query::{is_stop_character, is_stop_word};
use super::tokenizer::{self, Analyzer, EXACT, Kind};

/// The words with their stems and exact forms: see [`super::tokenizer`].
pub(super) const WORDS: &str = "runebook";
/// How the words begin: see [`starts`].
pub(super) const STARTS: &str = "runebook-starts";

/// With how many letters a word begins.
const LETTERS: usize = 4;

/// Both, and tantivy's own.
pub(super) fn known() -> TokenizerManager {
    let known = TokenizerManager::default();
    known.register(WORDS, TextAnalyzer::from(Words::default()));
    known.register(STARTS, TextAnalyzer::from(Words { starts: true, ..Words::default() }));
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

#[derive(Clone, Default)]
struct Words {
    analyzer: Analyzer,
    starts: bool,
    begun: Vec<(std::ops::Range<usize>, u32)>,
    text: String,
    token: Token,
}

struct WordStream<'a> {
    words: &'a mut Words,
    next: usize,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.analyzer.analyze(text);
        self.token.reset();
        if self.starts {
            self.begun.clear();
            self.text.clear();
            for (start, position) in starts(&self.analyzer, self.analyzer.tokens()) {
                let from = self.text.len();
                self.text.push_str(start);
                self.begun.push((from..self.text.len(), position));
            }
        }
        WordStream { words: self, next: 0 }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Words { analyzer, starts, begun, text, token } = &mut *self.words;
        token.text.clear();
        if *starts {
            let Some((range, position)) = begun.get(self.next) else { return false };
            token.text.push_str(&text[range.clone()]);
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
}
