//! Choosing the sentences that say what a text is about. Whole numbers only, so that every machine chooses the same.

use std::collections::HashMap;

use super::terms::terms;
use crate::markdown::tokens::{is_cjk, quarters};

/// A sentence that may be chosen.
#[derive(Debug, Clone)]
pub(super) struct Candidate<'a> {
    /// Its words.
    pub(super) text: &'a str,
    /// What its place is worth, in percent.
    pub(super) place: u64,
}

/// What a text takes, in quarters of a token.
pub(super) fn cost(text: &str) -> u32 {
    text.chars().fold(0u32, |sum, c| sum.saturating_add(quarters(c)))
}

/// Quarters of a token in so many tokens.
pub(super) const fn budget(tokens: u32) -> u32 {
    tokens * 4
}

/// The best sentences that together take at most `room` quarters of a token, at most `most`, in the order of the
/// candidates. `focus` are the terms that the text is about by its title; they count double.
pub(super) fn choose(candidates: &[Candidate<'_>], focus: &[u64], room: u32, most: usize) -> Vec<usize> {
    let terms: Vec<Vec<u64>> = candidates
        .iter()
        .map(|candidate| {
            let mut terms = terms(candidate.text);
            terms.sort_unstable();
            terms.dedup();
            terms
        })
        .collect();
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for term in terms.iter().flatten() {
        *counts.entry(*term).or_default() += 1;
    }
    // How often a word occurs, by powers of two; a word that occurs everywhere is worth a few times one that occurs once.
    let weight = |term: &u64| {
        let count = counts.get(term).copied().unwrap_or(1);
        let level = 2 + 2 * u64::from(count.ilog2()).min(3);
        if focus.contains(term) { level * 2 } else { level }
    };
    let manners: Vec<u64> = candidates.iter().map(|candidate| manner(candidate.text)).collect();
    let costs: Vec<u32> = candidates.iter().map(|candidate| cost(candidate.text) + 4).collect();
    let mut covered: Vec<u64> = Vec::new();
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = room;
    let mut first = 0;
    while chosen.len() < most {
        let score = |at: usize| {
            let sum: u64 = terms[at]
                .iter()
                .map(|term| if covered.contains(term) { weight(term) } else { weight(term) * 4 })
                .sum();
            // Long sentences hold more words; the eight keep two-word ones from winning.
            sum * 100 * candidates[at].place * manners[at] / (terms[at].len() as u64 + 8)
        };
        let fits = |at: &usize| !chosen.contains(at) && costs[*at] <= left;
        // Of equals the first.
        let best = (0..candidates.len()).filter(fits).map(|at| (score(at), std::cmp::Reverse(at))).max();
        let Some((score, std::cmp::Reverse(at))) = best else { break };
        if score == 0 || score * 2 < first {
            break;
        }
        first = first.max(score);
        left -= costs[at];
        covered.extend(&terms[at]);
        chosen.push(at);
    }
    chosen.sort_unstable();
    chosen
}

/// What the way a sentence is made is worth, in percent: one that leans on others, leads to a list or only points
/// elsewhere says little by itself.
pub(super) fn manner(text: &str) -> u64 {
    let head: String = text.chars().take(24).flat_map(char::to_lowercase).collect();
    let begins = |words: &[&str]| words.iter().any(|word| head.starts_with(word));
    let mut worth = 100;
    if text.ends_with([':', '：']) {
        worth = 30;
    }
    if begins(&[
        "see ",
        "for more ",
        "to learn more",
        "learn more",
        "for information",
        "refer to",
        "read more",
        "check out",
        "visit ",
        "click ",
        "参见",
        "参阅",
        "请参阅",
        "请参考",
        "更多",
        "了解更多",
        "关于更多",
        "另见",
        "详见",
    ]) {
        worth = worth * 35 / 100;
    }
    if begins(&[
        "this ",
        "these ",
        "it ",
        "they ",
        "that ",
        "also",
        "then ",
        "in addition",
        "such ",
        "here ",
        "note ",
        "这",
        "它",
        "此外",
        "另外",
        "然后",
        "同时",
        "因此",
        "所以",
        "该",
        "上述",
        "注意",
    ]) {
        worth = worth * 60 / 100;
    }
    // Greetings and cheers.
    if begins(&[
        "hi,",
        "hi!",
        "hello",
        "great,",
        "congratulations",
        "thank",
        "welcome!",
        "你好",
        "恭喜",
        "感谢",
    ]) {
        worth = worth * 35 / 100;
    }
    if text.ends_with(['?', '？']) {
        worth = worth * 60 / 100;
    }
    if text.starts_with(['-', '→', '>', '=', '|', '/', '&', '+', '*', '✓', '#']) {
        worth = worth * 20 / 100;
    }
    if text.contains("http://") || text.contains("https://") {
        worth = worth * 50 / 100;
    }
    worth
}

/// Sentences one behind the other: a space between, none between CJK.
pub(super) fn join<'a>(sentences: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for sentence in sentences {
        let touches = out.chars().next_back().is_some_and(is_cjk) && sentence.starts_with(is_cjk);
        if !out.is_empty() && !touches {
            out.push(' ');
        }
        out.push_str(sentence);
    }
    out
}

/// As many of these, in their order, as fit into `room` quarters of a token with `between` them.
pub(super) fn list<'a>(items: impl IntoIterator<Item = &'a str>, between: &str, room: u32) -> String {
    let mut out = String::new();
    let mut left = room;
    for item in items {
        let more = cost(item) + if out.is_empty() { 0 } else { cost(between) };
        if item.is_empty() || more > left {
            continue;
        }
        left -= more;
        if !out.is_empty() {
            out.push_str(between);
        }
        out.push_str(item);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_central_sentence_wins_and_repetition_does_not() {
        let of = |text| Candidate { text, place: 100 };
        let all = [
            of("See the appendix."),
            of("Notes sync between devices over an encrypted line."),
            of("Sync keeps notes equal on all devices, encrypted."),
            of("Prices are in euro."),
        ];
        assert_eq!(choose(&all, &terms("Sync"), budget(100), 1), [2]);
        assert_eq!(choose(&all, &terms("Sync"), budget(6), 1), [3]);
        assert_eq!(choose(&all, &[], budget(1), 3), Vec::<usize>::new());
    }

    #[test]
    fn joined_as_each_script_does() {
        assert_eq!(join(["One.", "Two."]), "One. Two.");
        assert_eq!(join(["一。", "二。", "Three."]), "一。二。 Three.");
        assert_eq!(list(["a", "a very long one", "b"], " · ", budget(2)), "a · b");
    }
}
