//! The piece of a text that shows why it was found.

use std::collections::HashSet;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::index::tokenizer::{Analyzer, is_cjk};
use crate::markdown::noise;

/// A piece of a memory's text on one line, with what matched in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snippet {
    /// The text; white space and line ends are single spaces.
    pub text: String,
    /// Where the query's terms stand in it: begin and end in bytes.
    pub marks: Vec<(usize, usize)>,
}

/// How wide a snippet is: a Latin character counts one, a CJK character two.
const WIDTH: usize = 180;

/// Cuts the best piece out of a range of a text; also how many lines below the range's begin it stands. Headings that
/// the range begins with are told elsewhere and left out where something follows them.
pub(super) fn cut(text: &str, range: Range<usize>, terms: &HashSet<String>) -> (Snippet, u32) {
    let (from, to) = (floor(text, range.start), floor(text, range.end));
    let body = noise::blanked(text.get(from..to).unwrap_or_default());
    let body = body.as_ref();
    let marks = marked(body, terms);
    let start = window(body, &marks);
    let below = body[..start].matches('\n').count();
    let first = behind_headings(body);
    (write(body, first, start.max(first), &marks), u32::try_from(below).unwrap_or(0))
}

/// Where the text begins behind the headings at its top; 0 where nothing follows them.
fn behind_headings(body: &str) -> usize {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let shown = line.trim();
        let marks = shown.bytes().take_while(|byte| *byte == b'#').count();
        let heading = (1..=6).contains(&marks) && shown[marks..].starts_with([' ', '\t']);
        if !heading && !shown.is_empty() {
            return at;
        }
        at += line.len();
    }
    0
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether a text has one of the terms.
pub(super) fn holds(text: &str, terms: &HashSet<String>) -> bool {
    !marked(text, terms).is_empty()
}

/// The places of the terms, in order, overlapping ones joined, each with its term.
fn marked(body: &str, terms: &HashSet<String>) -> Vec<(Range<usize>, String)> {
    let mut analyzer = Analyzer::default();
    let tokens = analyzer.analyze(body).to_vec();
    let mut marks: Vec<(Range<usize>, String)> = tokens
        .iter()
        .filter(|token| terms.contains(analyzer.term(token)))
        .map(|token| (token.from as usize..token.to as usize, analyzer.term(token).to_owned()))
        .collect();
    // A single character is sought within pairs.
    let alone: Vec<char> = terms
        .iter()
        .filter_map(|term| {
            let mut chars = term.chars();
            chars.next().filter(|c| is_cjk(*c) && chars.next().is_none())
        })
        .collect();
    if !alone.is_empty() {
        let places = body.char_indices().filter(|(_, c)| alone.contains(c));
        marks.extend(places.map(|(at, c)| (at..at + c.len_utf8(), c.to_string())));
    }
    marks.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    marks
}

fn width(c: char) -> usize {
    if is_cjk(c) { 2 } else { 1 }
}

/// Where the window begins that shows the most different terms; the first of several.
fn window(body: &str, marks: &[(Range<usize>, String)]) -> usize {
    let mut best = (0, 0);
    for (at, (range, _)) in marks.iter().enumerate() {
        let mut seen: HashSet<&str> = HashSet::new();
        for (other, term) in &marks[at..] {
            // Bytes are a fair measure: three of a CJK character stand for two columns.
            if other.end - range.start > WIDTH {
                break;
            }
            seen.insert(term);
        }
        if seen.len() > best.0 {
            best = (seen.len(), range.start);
        }
        if at > 2_000 {
            break;
        }
    }
    let mut start = best.1;
    // Some words before it, from the beginning of a line or sentence if one is near, else of a word.
    let before: Vec<(usize, char)> = body[..start].char_indices().rev().take(60).collect();
    for (at, c) in &before {
        if matches!(c, '\n' | '。' | '！' | '？') {
            return at + c.len_utf8();
        }
    }
    if before.len() < 40 {
        start = 0;
    } else if let Some((at, _)) = before.iter().take(40).rfind(|(_, c)| c.is_whitespace() || is_cjk(*c)) {
        start = *at;
    } else if before.len() < 60 {
        start = 0;
    }
    start
}

fn write(body: &str, first: usize, start: usize, marks: &[(Range<usize>, String)]) -> Snippet {
    let mut snippet = Snippet::default();
    if start > first && !body[first..start].trim().is_empty() {
        snippet.text.push('…');
    }
    let mut used = 0;
    let mut next = marks.partition_point(|(range, _)| range.end <= start);
    let mut until = 0;
    for (at, c) in body[start..].char_indices().map(|(at, c)| (start + at, c)) {
        if used >= WIDTH {
            snippet.text.push('…');
            break;
        }
        let shown = if c.is_whitespace() || c.is_control() { ' ' } else { c };
        if shown == ' ' && (snippet.text.ends_with(' ') || snippet.text.is_empty()) {
            continue;
        }
        while let Some((range, _)) = marks.get(next).filter(|(range, _)| range.start <= at) {
            until = until.max(range.end);
            next += 1;
        }
        let from = snippet.text.len();
        snippet.text.push(shown);
        if at < until {
            match snippet.marks.last_mut() {
                Some((_, end)) if *end == from => *end = snippet.text.len(),
                _ => snippet.marks.push((from, snippet.text.len())),
            }
        }
        used += width(c);
    }
    let kept = snippet.text.trim_end().len();
    snippet.text.truncate(kept);
    snippet.marks.retain_mut(|(from, to)| {
        *to = (*to).min(kept);
        from < to
    });
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(list: &[&str]) -> HashSet<String> {
        list.iter().map(|t| (*t).to_owned()).collect()
    }

    fn shown(text: &str, list: &[&str]) -> (String, Vec<String>, u32) {
        let (snippet, line) = cut(text, 0..text.len(), &terms(list));
        let marks = snippet.marks.iter().map(|(a, b)| snippet.text[*a..*b].to_owned()).collect();
        (snippet.text, marks, line)
    }

    #[test]
    fn the_best_place_is_shown_with_its_line() {
        let text = format!("{}\n\nHe asks for\na window seat.\n", "filler words here. ".repeat(40));
        let (snippet, marks, line) = shown(&text, &["window", "seat"]);
        assert_eq!(marks, ["window", "seat"]);
        assert!(snippet.contains("window seat."), "{snippet}");
        assert_eq!(line, 3);
    }

    #[test]
    fn chinese_is_marked_and_cut_at_characters() {
        let text = format!("{}。他要靠窗座位。", "很长的一段话".repeat(60));
        let (snippet, marks, _) = shown(&text, &["靠窗", "窗座", "座位"]);
        assert_eq!(marks, ["靠窗座位"]);
        assert!(snippet.starts_with("…他要靠窗"), "{snippet}");
        assert_eq!(shown("一只猫在家", &["猫"]).1, ["猫"]);
    }

    #[test]
    fn headings_at_the_top_are_not_repeated() {
        let text = "# Seats\n\n## On flights\n\nBy the window.\n";
        assert_eq!(
            shown(text, &["seats", "window"]),
            ("By the window.".to_owned(), vec!["window".to_owned()], 4)
        );
        assert_eq!(shown(text, &["seats"]).0, "By the window.", "also where only the heading matches");
        assert_eq!(shown("# Seats\n", &["seats"]).0, "# Seats", "a heading alone is better than nothing");
        assert_eq!(shown("#tag first", &["first"]).0, "#tag first");
    }

    #[test]
    fn nothing_to_mark_shows_the_beginning() {
        assert_eq!(shown("One.\n\nTwo.", &["x"]), ("One. Two.".to_owned(), vec![], 0));
        assert_eq!(cut("é", 1..9, &terms(&["x"])).0.text, "é");
    }
}
