//! The words of a text, for weighing.

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
];

/// Characters of the same kind.
const EMPTY_CJK: &str = "的了是在和与或及并也都就而但之其此这那哪您你我他她它们有为以于对从到被把将让会可能要请则若如何什么怎样吗呢吧个";

/// The words of a text as numbers, in their order, with repetitions: Latin words in lower case without a plural `s`,
/// pairs of neighbouring CJK characters; empty words left out. The same word has the same number everywhere.
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
    if !word.is_empty() && !EMPTY.contains(&word.as_str()) {
        let stem = word.strip_suffix("ies").filter(|stem| stem.len() > 2).map(|stem| format!("{stem}y"));
        let stem = stem.unwrap_or_else(|| match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
            _ => word.clone(),
        });
        out.push(number(stem.chars()));
    }
    word.clear();
}

fn end_cjk(run: &mut Vec<char>, out: &mut Vec<u64>) {
    let empty = |c: &char| EMPTY_CJK.contains(*c);
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
        assert!(terms("what is the").is_empty());
    }
}
