//! Known notes: whether a note is found by its title, and by a run of words that stands in it and in no other. As
//! `benches/peers` draws its questions, but one of each for every note, without chance.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use runebook::index::tokenizer::is_cjk;
use runebook::model::id::Digest;

use crate::eval::{Collection, Memory, Question};
use crate::support::Result;

/// The most words of a sentence that are asked for, and the most characters of a Chinese one.
const MOST: [usize; 2] = [12, 16];
/// The fewest.
const FEWEST: [usize; 2] = [6, 10];

/// Reads the notes below a directory as a collection.
pub(crate) fn read(dir: &Path) -> Result<Collection> {
    let mut memories = Vec::new();
    walk(dir, dir, &mut memories)?;
    memories.sort_by(|a, b| a.path.cmp(&b.path));
    let lines: Vec<Vec<String>> = memories.iter().map(|memory| prose(&memory.text)).collect();
    let bodies: Vec<String> = lines.iter().map(|lines| plain(&lines.join("\n"))).collect();
    let mut by_title: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for memory in &memories {
        by_title.entry(plain(stem(&memory.path))).or_default().push(&memory.path);
    }
    let mut questions = Vec::new();
    for (title, paths) in &by_title {
        let kind = format!("{} title", language(title));
        questions.push(question(&format!("title {title}"), title, paths, &kind));
    }
    for (memory, lines) in memories.iter().zip(&lines) {
        let mut parts: Vec<String> = lines.iter().flat_map(|line| sentences(line)).collect();
        // Which one is asked for follows from what it says, so that it is another place in each note.
        parts.sort_by_cached_key(|part| Digest::of(part.as_bytes()).0);
        let alone = |part: &&String| bodies.iter().filter(|body| body.contains(part.as_str())).count() <= 1;
        if let Some(part) = parts.iter().find(alone) {
            let kind = format!("{} sentence", language(part));
            questions.push(question(&memory.path, part, &[&memory.path], &kind));
        }
    }
    questions.retain(|question| !question.text.is_empty());
    Ok(Collection { name: "known".to_owned(), memories, questions })
}

fn question(id: &str, text: &str, paths: &[&str], kind: &str) -> Question {
    let relevant = paths.iter().map(|path| ((*path).to_owned(), 1)).collect();
    Question {
        id: id.to_owned(),
        text: text.to_owned(),
        relevant,
        ignored: HashSet::new(),
        kind: Some(kind.to_owned()),
    }
}

fn walk(root: &Path, dir: &Path, memories: &mut Vec<Memory>) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, memories)?;
        } else if name.ends_with(".md") {
            let place = path.strip_prefix(root)?.to_string_lossy().into_owned();
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            memories.push(Memory { path: place, text });
        }
    }
    Ok(())
}

fn stem(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md")
}

fn language(text: &str) -> &'static str {
    let cjk = text.chars().filter(|c| is_cjk(*c)).count();
    if cjk * 5 > text.chars().count() { "zh" } else { "en" }
}

/// The lines that are prose, without front matter, code, tables and what marks links.
fn prose(text: &str) -> Vec<String> {
    let body = match text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")) {
        Some((_, body)) => body,
        None => text,
    };
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in body.lines() {
        let shown = line.trim();
        fenced ^= shown.starts_with("```");
        if !fenced && !shown.is_empty() && !shown.starts_with(['#', '|', '>', '!', '`']) {
            lines.push(unlinked(shown));
        }
    }
    lines
}

/// A line with what links show instead of where they lead, and without comments and tags of HTML.
fn unlinked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['[', '<', '%']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (shown, length) =
            if let Some((inner, _)) = rest.strip_prefix("[[").and_then(|r| r.split_once("]]")) {
                (inner.rsplit('|').next().unwrap_or_default(), inner.len() + 4)
            } else if let Some((inner, behind)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
                let target = behind.strip_prefix('(').and_then(|r| r.split_once(')'));
                (inner, inner.len() + 2 + target.map_or(0, |(target, _)| target.len() + 2))
            } else if let Some((inner, _)) = rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
                ("", inner.len() + 2)
            } else if let Some((inner, _)) = rest.strip_prefix("%%").and_then(|r| r.split_once("%%")) {
                ("", inner.len() + 4)
            } else {
                (&rest[..1], 1)
            };
        out.push_str(shown);
        out.push(' ');
        rest = &rest[length..];
    }
    out + rest
}

/// Words alone, in one line.
fn plain(text: &str) -> String {
    let words: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginnings of the sentences of a line that are long enough to be asked for.
fn sentences(line: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut from = 0;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if (c == ' ' && matches!(before, '.' | '?' | '!')) || matches!(c, '。' | '？' | '！' | '；') {
            parts.push(&line[from..at]);
            from = at + c.len_utf8();
        }
        before = c;
    }
    parts.push(&line[from..]);
    parts.into_iter().filter_map(|part| beginning(&plain(part))).collect()
}

fn beginning(sentence: &str) -> Option<String> {
    if language(sentence) == "zh" {
        let cut: String = sentence.chars().take(MOST[1]).collect();
        let enough = cut.chars().filter(|c| is_cjk(*c)).count() >= FEWEST[1];
        return enough.then(|| cut.trim().to_owned());
    }
    let words: Vec<&str> = sentence.split(' ').take(MOST[0]).collect();
    (words.len() >= FEWEST[0]).then(|| words.join(" "))
}
