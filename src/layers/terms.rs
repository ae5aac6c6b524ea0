//! The words of a text, for weighing.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::markdown::tokens::is_cjk;

/// Words that say nothing about what a text is about.
const EMPTY: &[&str] = &[
    "a",
    "about",
    "after",
    "all",
    "also",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "between",
    "but",
    "by",
    "can",
    "could",
    "do",
    "does",
    "for",
    "from",
    "get",
    "has",
    "have",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "like",
    "may",
    "more",
    "most",
    "my",
    "no",
    "not",
    "of",
    "on",
    "one",
    "only",
    "or",
    "other",
    "our",
    "out",
    "over",
    "own",
    "should",
    "so",
    "some",
    "such",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "to",
    "up",
    "use",
    "used",
    "using",
    "want",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
    "s",
    "t",
    "e",
    "g",
    "following",
    "example",
    "another",
    "within",
];

/// Characters of the same kind.
const EMPTY_CJK: &str = "的了是在和与或及并也都就而但之其此这那哪您你我他她它们有为以于对从到被把将让会可能要请则若如何什么怎样吗呢吧个";

/// Both for looking up.
static EMPTY_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| EMPTY.iter().copied().collect());
static EMPTY_CHARACTERS: LazyLock<HashSet<char>> = LazyLock::new(|| EMPTY_CJK.chars().collect());

/// The words of a text as numbers, in their order, with repetitions: Latin words in lower case without endings, pairs of neighbouring CJK characters; empty words left out. The same word has the same number everywhere.
#[must_use]
pub fn terms(text: &str) -> Vec<u64> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut cjk: Vec<char> = Vec::new();
    for c in text.chars().chain(std::iter::once(' ')) {
        let letter = c.is_alphanumeric();
        if letter && is_cjk(c) {
            end_word(&mut word, &mut out);
            cjk.push(c);
            continue;
        }
        end_cjk(&mut cjk, &mut out);
        if letter {
            word.extend(c.to_lowercase());
        } else if !matches!(c, '\'' | '’') {
            end_word(&mut word, &mut out);
        }
    }
    out
}

fn end_word(word: &mut String, out: &mut Vec<u64>) {
    if !word.is_empty() && !EMPTY_WORDS.contains(word.as_str()) {
        out.push(number(stem(word).chars()));
    }
    word.clear();
}

/// The word without its commonest endings: `notes`, `linked`, `linking`, `translation` are `not`, `link`, `link`,
/// `translat`. It need not be a word, only the same for words that belong together.
fn stem(word: &str) -> &str {
    let cut = |word: &'_ str, ending: &str, least: usize| -> usize {
        let left = word.strip_suffix(ending).map_or(0, str::len);
        if left >= least { left } else { word.len() }
    };
    let mut word = if word.ends_with("ss") { word } else { &word[..cut(word, "s", 3)] };
    for (ending, least) in [("ing", 4), ("ed", 4), ("ion", 4)] {
        let left = cut(word, ending, least);
        if left < word.len() {
            word = &word[..left];
            break;
        }
    }
    let word = &word[..cut(word, "e", 3)];
    &word[..cut(word, "i", 3)]
}

fn end_cjk(run: &mut Vec<char>, out: &mut Vec<u64>) {
    let empty = |c: &char| EMPTY_CHARACTERS.contains(c);
    match run.as_slice() {
        [one] if !empty(one) => out.push(number([*one].into_iter())),
        _ => {
            let pairs = run.windows(2).filter(|pair| !pair.iter().any(empty));
            out.extend(pairs.map(|pair| number(pair.iter().copied())));
        }
    }
    run.clear();
}

/// FNV-1a over the characters.
fn number(chars: impl Iterator<Item = char>) -> u64 {
    chars.fold(0xcbf2_9ce4_8422_2325, |hash, c| {
        (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_both_scripts() {
        assert_eq!(terms("The Notes, the note's!"), [terms("note")[0], terms("notes")[0]]);
        assert_eq!(terms("靠窗座位").len(), 3);
        assert_eq!(terms("的座位").len(), 1);
        assert_eq!(terms("Obsidian同步").len(), 2);
        assert_eq!(terms("linking"), terms("Links"));
        assert_eq!(terms("translations"), terms("translate"));
        assert!(terms("what is the").is_empty());
    }
}
