//! Sentences, and which of them belong together.

use crate::markdown::prose::closes_sentence;
use crate::markdown::tokens::is_cjk;

/// Abbreviations whose point ends no sentence.
const SHORT: &[&str] = &[
    "e.g", "i.e", "etc", "vs", "mr", "mrs", "ms", "dr", "st", "no", "fig", "cf", "approx", "a.m", "p.m",
    "inc",
];

/// Words with which a sentence begins that restricts or turns the one before it.
const TURNS: &[&str] =
    &["but ", "however", "unless ", "except ", "only ", "otherwise", "provided ", "instead", "not "];
const TURNS_CJK: &[&str] =
    &["但", "不过", "然而", "除非", "仅", "只有", "只要", "否则", "除了", "前提", "不能", "不要"];

/// The sentences of a passage, each with what restricts it: a sentence that begins with a contrast or condition
/// (`However`, `Unless`, `但`, `除非`) stays with the one before. Together they are the passage.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    let mut start = 0;
    let mut begins: Vec<usize> = Vec::new();
    for end in ends(text) {
        let sentence = &text[start..end];
        if !begins.is_empty() && turns(sentence) {
            // It continues the one before.
        } else if !sentence.trim().is_empty() {
            begins.push(start);
        }
        start = end;
    }
    begins.push(text.len());
    out.extend(begins.windows(2).map(|pair| text[pair[0]..pair[1]].trim()));
    out
}

fn turns(sentence: &str) -> bool {
    let sentence = sentence.trim_start();
    let head: String = sentence.chars().take(12).flat_map(char::to_lowercase).collect();
    TURNS.iter().any(|word| head.starts_with(word)) || TURNS_CJK.iter().any(|word| sentence.starts_with(word))
}

/// Where sentences end, white space behind them left to the next; the last is the text's end.
fn ends(text: &str) -> Vec<usize> {
    let mut out = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let latin = matches!(c, '.' | '!' | '?');
        if !latin && !matches!(c, '。' | '！' | '？') {
            continue;
        }
        let mut behind = at + c.len_utf8();
        while let Some((at, closing)) = chars.next_if(|(_, c)| closes_sentence(*c)) {
            behind = at + closing.len_utf8();
        }
        match chars.peek() {
            None => {}
            Some((_, next)) if latin => {
                let short = c == '.' && is_short(&text[..at]);
                let opens = next.is_whitespace() && !short && {
                    let after = text[behind..].trim_start().chars().next();
                    after.is_none_or(|c| !c.is_lowercase())
                };
                if opens || is_cjk(*next) && !short && c != '.' {
                    out.push(behind);
                }
            }
            Some(_) => out.push(behind),
        }
    }
    out.push(text.len());
    out
}

/// Whether a text ends in a word whose point ends no sentence. No longer word is looked at: a text may be one.
fn is_short(text: &str) -> bool {
    const LONGEST: usize = 16;
    let from = text.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let word = text[from..].rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    SHORT.contains(&word.to_lowercase().as_str()) || is_number(word)
}

/// `1` in `1. Open`: the number of a step.
fn is_number(word: &str) -> bool {
    !word.is_empty() && word.len() < 3 && word.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_keeps_what_restricts_it() {
        assert_eq!(sentences("One. Two (e.g. this). Three!"), ["One.", "Two (e.g. this).", "Three!"]);
        assert_eq!(
            sentences("It works. However, not on phones. Next."),
            ["It works. However, not on phones.", "Next."]
        );
        assert_eq!(
            sentences("可以同步。但手机上不行。下一步！“好。”完"),
            ["可以同步。但手机上不行。", "下一步！", "“好。”", "完"]
        );
        assert_eq!(sentences("Version 1.5 of a.md is here"), ["Version 1.5 of a.md is here"]);
        assert_eq!(sentences("  "), Vec::<&str>::new());
    }
}
