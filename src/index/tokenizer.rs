//! Words of a text, for the index and for the query alike.
//!
//! | text | tokens |
//! | --- | --- |
//! | `Meetings` | `meet` (its stem) and `meetings` as the exact form |
//! | `HTTP-403`, `snake_case`, `camelCase`, `src/main.rs` | each part as a word, and the whole |
//! | `café` | `cafe`, and `café` as the exact form |
//! | `机器学习` | every pair of characters, and the last character alone |
//! | 🚀 | itself |
//!
//! No dictionary cuts Chinese into words: beside pairs and single characters its words found nothing more (nDCG@10 of
//! STARD .493 without, .494 with them), and it takes a tenth of a second to load.
//!
//! Everything is compared in NFKC, case folded, so that full-width letters find plain ones. A word stands at one
//! position, a Chinese, Japanese or Korean character at one each; so a phrase of characters is found whatever the
//! words are taken to be, and a single character is found as the beginning of a pair.

use std::collections::HashMap;
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Before the exact form of a word that is indexed by its stem.
pub const EXACT: char = '\u{2}';
/// Longer wholes are indexed by their parts only, in bytes.
const MAX_WHOLE: usize = 80;
/// Longer words are cut, in bytes: a term must fit into the index.
const MAX_TERM: usize = 200;
/// How many stems one analyser remembers.
const MAX_STEMS: usize = 1 << 16;

/// What a token is, and so what finding it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word, by its stem where it has another one.
    Plain,
    /// The exact form of a word that differs from its stem, behind [`EXACT`].
    Exact,
    /// A whole that has parts.
    Whole,
    /// Two CJK characters.
    Pair,
    /// The last CJK character of a run.
    Last,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    start: u32,
    end: u32,
    /// Where it stands in the text: its first byte.
    pub from: u32,
    /// Where it stands in the text: the byte after its last.
    pub to: u32,
    /// Its position, counted in words and CJK characters.
    pub position: u32,
    /// What it is.
    pub kind: Kind,
}

/// Cuts texts into tokens. Keeps its buffers and what it learned about stems between texts.
pub struct Analyzer {
    stemmer: Stemmer,
    stems: HashMap<String, Option<Box<str>>>,
    terms: String,
    tokens: Vec<Token>,
    position: u32,
    scratch: String,
}

impl Default for Analyzer {
    fn default() -> Self {
        Analyzer {
            stemmer: Stemmer::create(Algorithm::English),
            stems: HashMap::new(),
            terms: String::new(),
            tokens: Vec::new(),
            position: 0,
            scratch: String::new(),
        }
    }
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analyzer").field("tokens", &self.tokens.len()).finish_non_exhaustive()
    }
}

impl Clone for Analyzer {
    fn clone(&self) -> Self {
        Analyzer::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Join,
    Cjk,
    Symbol,
    Space,
}

/// Han, Kana, Bopomofo and Hangul: written without spaces, or with such long words that pairs find them better.
#[must_use]
pub fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}'
        | '\u{3105}'..='\u{312F}' | '\u{3131}'..='\u{318E}' | '\u{31A0}'..='\u{31BF}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9D}' | '\u{20000}'..='\u{3FFFF}')
}

fn is_symbol(c: char) -> bool {
    matches!(c,
        '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{25A0}'..='\u{27BF}' | '\u{2900}'..='\u{297F}'
        | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}' | '€' | '£' | '¥' | '°' | '§' | '©' | '®' | '™')
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Word,
            '-' | '_' | '.' | '/' | '@' | '\'' | ':' | '+' | '#' => Class::Join,
            _ => Class::Space,
        };
    }
    if is_cjk(c) {
        Class::Cjk
    } else if c.is_alphanumeric() || is_combining_mark(c) {
        Class::Word
    } else if matches!(c, '’' | '·' | '\u{2010}' | '\u{2011}') {
        Class::Join
    } else if matches!(c, '\u{AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}' | '\u{FE00}'..='\u{FE0F}')
    {
        // Invisible: part of the word around it.
        Class::Word
    } else if is_symbol(c) {
        Class::Symbol
    } else {
        Class::Space
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}' | '\u{FE00}'..='\u{FE0F}')
}

impl Analyzer {
    /// The term of a token of the last text.
    #[must_use]
    pub fn term(&self, token: &Token) -> &str {
        &self.terms[token.start as usize..token.end as usize]
    }

    /// The tokens of the last text, in the order of their positions.
    #[must_use]
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Cuts a text (at most 4 GiB) into tokens, in the order of their positions.
    pub fn analyze(&mut self, text: &str) -> &[Token] {
        self.terms.clear();
        self.tokens.clear();
        self.position = 0;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            at = match class(c) {
                Class::Space | Class::Join => at + c.len_utf8(),
                Class::Symbol => {
                    let end = at + c.len_utf8();
                    let start = self.terms.len();
                    self.terms.push(c);
                    self.push(start, at..end, self.position, Kind::Plain);
                    self.position += 1;
                    end
                }
                Class::Cjk => {
                    let end = end_of(text, at, |class| class == Class::Cjk);
                    self.cjk(text, at..end);
                    end
                }
                Class::Word => match plain_end(text.as_bytes(), at) {
                    Some(end) => {
                        self.part(&text[at..end], 0..end - at, at);
                        end
                    }
                    None => {
                        let end = self.run_end(text, at);
                        self.word_run(text, at..end);
                        end
                    }
                },
            };
        }
        &self.tokens
    }

    fn push(&mut self, start: usize, from: Range<usize>, position: u32, kind: Kind) {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let end = self.terms.len();
        if start < end && end - start <= MAX_TERM + 4 {
            self.tokens.push(Token {
                start: small(start),
                end: small(end),
                from: small(from.start),
                to: small(from.end),
                position,
                kind,
            });
        } else {
            self.terms.truncate(start);
        }
    }

    /// Where a run of words and single joining characters between them ends.
    fn run_end(&self, text: &str, from: usize) -> usize {
        let mut end = from;
        let mut chars = text[from..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match class(c) {
                Class::Word => end = from + at + c.len_utf8(),
                Class::Join
                    if chars.peek().is_some_and(|(_, next)| {
                        class(*next) == Class::Word || (c == '_' && *next == '_')
                    }) => {}
                _ => break,
            }
        }
        // `C++` and `C#` are names.
        let rest = &text[end..];
        if rest.starts_with("++") {
            end + 2
        } else if rest.starts_with('#') && end - from == 1 && !rest[1..].starts_with(char::is_alphanumeric) {
            end + 1
        } else {
            end
        }
    }

    fn word_run(&mut self, text: &str, run: Range<usize>) {
        let raw = &text[run.clone()];
        let first = self.position;
        let (mut parts, mut from) = (0, 0);
        let mut before: Option<char> = None;
        let mut chars = raw.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let cut = match before {
                // HTTPServer is HTTP and Server; camelCase is camel and Case.
                Some(b) if c.is_ascii_uppercase() => {
                    b.is_ascii_lowercase()
                        || (b.is_ascii_uppercase()
                            && chars.peek().is_some_and(|(_, next)| next.is_ascii_lowercase()))
                }
                _ => false,
            };
            let join = class(c) == Class::Join && !matches!(c, '\'' | '’');
            if (cut || join) && at > from {
                parts += u32::from(self.part(raw, from..at, run.start));
                from = at;
            }
            if join {
                from = at + c.len_utf8();
            }
            before = Some(c);
        }
        if from < raw.len() {
            parts += u32::from(self.part(raw, from..raw.len(), run.start));
        }
        let named = raw.ends_with(['+', '#']);
        if (parts > 1 || named) && raw.len() <= MAX_WHOLE {
            let start = self.terms.len();
            self.fold_onto_terms(raw);
            // A plural in camelCase (`URLs`) or a capital in mid-word must not hide the word itself.
            self.push(start, run, first, Kind::Whole);
        }
    }

    fn fold_onto_terms(&mut self, raw: &str) {
        if raw.is_ascii() {
            let start = self.terms.len();
            self.terms.push_str(raw);
            self.terms[start..].make_ascii_lowercase();
        } else {
            let seen = raw.chars().filter(|c| !is_invisible(*c)).map(|c| if c == '’' { '\'' } else { c });
            let folded = caseless::default_case_fold_str(&seen.nfkc().collect::<String>());
            self.terms.extend(folded.nfkc());
        }
    }

    /// One part of a run as a word. Whether anything came of it.
    fn part(&mut self, raw: &str, part: Range<usize>, base: usize) -> bool {
        let mut word = std::mem::take(&mut self.scratch);
        word.clear();
        let start = self.terms.len();
        self.fold_onto_terms(&raw[part.clone()]);
        word.push_str(self.terms[start..].trim_matches('\''));
        self.terms.truncate(start);
        cut_at(&mut word, MAX_TERM);
        let known = !word.is_empty();
        if known {
            let place = base + part.start..base + part.end;
            let differs = self.stem_onto_terms(&word);
            self.push(start, place.clone(), self.position, Kind::Plain);
            if differs {
                let start = self.terms.len();
                self.terms.push(EXACT);
                self.terms.push_str(&word);
                self.push(start, place, self.position, Kind::Exact);
            }
            self.position += 1;
        }
        self.scratch = word;
        known
    }

    /// Appends the form that a folded word is looked up by. Whether it is another than the word.
    fn stem_onto_terms(&mut self, word: &str) -> bool {
        if word.len() < 3 || word.bytes().all(|b| b.is_ascii_digit()) {
            self.terms.push_str(word);
            return false;
        }
        if let Some(known) = self.stems.get(word) {
            self.terms.push_str(known.as_deref().unwrap_or(word));
            return known.is_some();
        }
        let found = self.stem(word);
        self.terms.push_str(found.as_deref().unwrap_or(word));
        let differs = found.is_some();
        if self.stems.len() >= MAX_STEMS {
            self.stems.clear();
        }
        self.stems.insert(word.to_owned(), found);
        differs
    }

    fn stem(&self, word: &str) -> Option<Box<str>> {
        if word.is_ascii() {
            let stem = self.stemmer.stem(word);
            return (stem != word && !stem.is_empty()).then(|| stem.as_ref().into());
        }
        // Without its accents; other scripts keep their marks, which are letters there.
        let bare: String = word.nfd().filter(|c| !matches!(c, '\u{300}'..='\u{36F}')).collect();
        let stem = if bare.is_ascii() { self.stemmer.stem(&bare).into_owned() } else { bare.nfc().collect() };
        (stem != word && !stem.is_empty()).then(|| stem.into())
    }

    fn cjk(&mut self, text: &str, run: Range<usize>) {
        let raw = &text[run.clone()];
        // Each character in its folded form; one that folds to several (a compatibility form) keeps them together.
        let mut offsets = Vec::with_capacity(raw.len() / 3 + 1);
        let mut folded = std::mem::take(&mut self.scratch);
        folded.clear();
        for (at, c) in raw.char_indices() {
            offsets.push((folded.len(), run.start + at));
            if matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}') {
                folded.push(c);
            } else {
                folded.extend(c.nfkc());
            }
        }
        let count = offsets.len();
        offsets.push((folded.len(), run.end));
        let first = self.position;
        for i in 0..count {
            let position = first + i as u32;
            let (to, kind) = if i + 1 < count { (i + 2, Kind::Pair) } else { (i + 1, Kind::Last) };
            let start = self.terms.len();
            self.terms.push_str(&folded[offsets[i].0..offsets[to].0]);
            self.push(start, offsets[i].1..offsets[to].1, position, kind);
        }
        self.position += count as u32;
        self.scratch = folded;
    }
}

/// Where a word of ASCII letters and digits ends that nothing joins to another and in which nothing begins anew: most
/// words of most texts, for which one look is enough.
fn plain_end(text: &[u8], from: usize) -> Option<usize> {
    let length = text[from..].iter().position(|byte| !byte.is_ascii_alphanumeric());
    let end = length.map_or(text.len(), |length| from + length);
    // Anything else may be part of the word, also what is no ASCII; a space or a comma is not.
    let ends = text.get(end).is_none_or(|next| {
        next.is_ascii_whitespace()
            || matches!(next, b',' | b';' | b'!' | b'?' | b')' | b']' | b'"' | b'(' | b'[' | b'*' | b'|')
            || (matches!(next, b'.' | b':') && text.get(end + 1).is_none_or(u8::is_ascii_whitespace))
    });
    let rest = text.get(from + 1..end)?;
    (ends && !rest.iter().any(u8::is_ascii_uppercase)).then_some(end)
}

fn end_of(text: &str, from: usize, inside: impl Fn(Class) -> bool) -> usize {
    text[from..].char_indices().find(|(_, c)| !inside(class(*c))).map_or(text.len(), |(at, _)| from + at)
}

fn cut_at(text: &mut String, limit: usize) {
    if text.len() > limit {
        let mut end = limit;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut analyzer = Analyzer::default();
        let tokens = analyzer.analyze(text).to_vec();
        tokens.iter().map(|t| format!("{}@{}", analyzer.term(t), t.position)).collect()
    }

    #[test]
    fn latin_words_have_a_stem_and_an_exact_form() {
        assert_eq!(terms("The Meetings"), ["the@0", "meet@1", "\u{2}meetings@1"]);
        assert_eq!(terms("café"), ["cafe@0", "\u{2}café@0"]);
        assert_eq!(terms("ＡＢＣ１２"), ["abc12@0"]);
        assert_eq!(terms("don’t"), terms("don't"));
    }

    #[test]
    fn identifiers_are_found_whole_and_in_parts() {
        assert_eq!(terms("HTTP-403"), ["http@0", "403@1", "http-403@0"]);
        assert_eq!(terms("snake_case"), ["snake@0", "case@1", "snake_case@0"]);
        assert!(terms("camelCase").contains(&"camelcase@0".to_owned()));
        assert!(terms("HTTPServer").contains(&"http@0".to_owned()));
        assert!(terms("src/main.rs").contains(&"src/main.rs@0".to_owned()));
        assert!(terms("C++ and C#").contains(&"c++@0".to_owned()));
        assert!(terms("C++ and C#").contains(&"c#@2".to_owned()));
        assert_eq!(terms("end. Next"), ["end@0", "next@1"]);
    }

    #[test]
    fn chinese_is_found_by_pairs_and_its_last_character() {
        assert_eq!(terms("靠窗"), ["靠窗@0", "窗@1"]);
        assert_eq!(terms("猫"), ["猫@0"]);
        let all = terms("用Rust写程序员手册");
        assert!(all.contains(&"rust@1".to_owned()), "{all:?}");
        assert!(all.contains(&"写程@2".to_owned()), "{all:?}");
        assert!(all.contains(&"册@7".to_owned()), "{all:?}");
    }

    #[test]
    fn odd_text_is_survived() {
        assert_eq!(terms(""), Vec::<String>::new());
        assert_eq!(terms("-_./@' ++ ## \u{200D}\u{FE0F}"), Vec::<String>::new());
        assert_eq!(terms("🚀🚀"), ["🚀@0", "🚀@1"]);
        assert_eq!(terms(&"x".repeat(100_000)).len(), 1);
        assert!(terms(&"a-".repeat(5_000)).len() < 5_002);
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_tokens_that_point_into_it(text in "\\PC{0,60}|[a-zA-Z'_/.+#一-龥ー가-힣 ]{0,60}") {
            let mut analyzer = Analyzer::default();
            let tokens = analyzer.analyze(&text).to_vec();
            let mut last = 0;
            for token in &tokens {
                proptest::prop_assert!(text.get(token.from as usize..token.to as usize).is_some());
                proptest::prop_assert!(!analyzer.term(token).is_empty());
                proptest::prop_assert!(token.kind == Kind::Whole || token.position >= last);
                if token.kind != Kind::Whole { last = token.position; }
            }
        }
    }
}
