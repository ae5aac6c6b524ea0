//! The layers of a directory, from what is known of its children.

use std::collections::HashSet;

use super::extract::{Candidate, budget, choose, cost, join, list};
use super::leaf::{Leaf, link_name};
use super::rows;
use super::sentences::sentences;
use super::terms::terms;
use super::{ABSTRACT_TOKENS, OVERVIEW_TOKENS};
use crate::markdown::prose::one_line;
use crate::markdown::tokens::{estimate, is_cjk};
use crate::model::memory::Memory;

/// A file of a directory, `index.md` left out.
#[derive(Debug, Clone, Copy)]
pub struct Child<'a> {
    /// The file's name.
    pub name: &'a str,
    /// What is known of it.
    pub leaf: &'a Leaf,
}

/// A directory in a directory whose subtree has memories.
#[derive(Debug, Clone, Copy)]
pub struct Below<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its abstract.
    pub l0: &'a str,
}

/// Both layers of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// The abstract, one line.
    pub l0: String,
    /// The overview, Markdown.
    pub l1: String,
}

/// The most tokens of `index.md`'s words in an overview.
const OPENING: u32 = 600;
/// The most tokens of the sentence in an abstract that is made from the children.
const SENTENCE: u32 = 45;

/// The layers of the directory `name` (empty for the root) from its `index.md`, its files and its directories, in any
/// order; those that are not to be seen are left out by the caller. `None`: there is nothing in it.
#[must_use]
pub fn directory(
    name: &str,
    index: Option<&Leaf>,
    children: &[Child<'_>],
    below: &[Below<'_>],
) -> Option<Layers> {
    let l0 = directory_abstract(name, index, children, below)?;
    let (children, below) = ordered(children, below);
    let title = match index.map(|leaf| leaf.title.as_str()).filter(|title| *title != "index") {
        Some(title) => title,
        None if name.is_empty() => "viking://",
        None => name,
    };
    let mut head = format!("# {}\n", escaped(title));
    match index.and_then(|leaf| leaf.opening.as_deref()).filter(|text| !text.is_empty()) {
        Some(opening) => head.push_str(&format!("\n{opening}\n")),
        None if !l0.is_empty() => head.push_str(&format!("\n{}\n", escaped(&l0))),
        None => {}
    }
    let foot = leaving(index, &children, &below);
    let words = Words::of(&l0, &children, &below);
    // Headings, the two lines that say how many are not shown, and empty lines.
    let mut room = budget(OVERVIEW_TOKENS).saturating_sub(cost(&head) + budget(48));
    let directories: Vec<(String, String)> = below
        .iter()
        .map(|below| {
            (format!("- [{}/]({})", escaped(below.name), address(below.name, true)), escaped(below.l0))
        })
        .collect();
    let files: Vec<(String, String)> = children
        .iter()
        .map(|child| {
            let date = child.leaf.date.as_ref().map(|date| format!(" ({date})")).unwrap_or_default();
            let link = format!("- [{}]({}){date}", escaped(&child.leaf.title), address(child.name, false));
            (link, escaped(&child.leaf.l0))
        })
        .collect();
    // Where both are many, directories get two thirds: they lead on.
    let files_want = wanted(&files);
    let share = if files_want < room / 3 { room - files_want } else { room / 3 * 2 };
    let directories = section(&words.directories, &directories, &words, share.min(room));
    room = room.saturating_sub(cost(&directories));
    let files = section(&words.files, &files, &words, room);
    let foot = if foot == 0 { String::new() } else { format!("\n{}\n", (words.leaving)(foot)) };
    Some(Layers { l0, l1: format!("{head}{files}{directories}{foot}") })
}

fn wanted(rows: &[(String, String)]) -> u32 {
    rows.iter().fold(0, |sum, (head, words)| sum.saturating_add(cost(head) + cost(words) + 3))
}

fn section(title: &str, rows: &[(String, String)], words: &Words, room: u32) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<(String, &str)> = rows.iter().map(|(head, text)| (head.clone(), text.as_str())).collect();
    let fitted = rows::fit(&rows, ": ", room);
    let mut out = format!("\n## {title}\n\n");
    for row in &fitted {
        out.push_str(row);
        out.push('\n');
    }
    if fitted.len() < rows.len() {
        out.push_str(&format!("- {}\n", (words.more)(rows.len() - fitted.len())));
    }
    out
}

/// The abstract of a directory.
#[must_use]
pub fn directory_abstract(
    name: &str,
    index: Option<&Leaf>,
    children: &[Child<'_>],
    below: &[Below<'_>],
) -> Option<String> {
    if index.is_none() && children.is_empty() && below.is_empty() {
        return None;
    }
    if let Some(l0) = index.map(|leaf| &leaf.l0).filter(|l0| !l0.is_empty()) {
        return Some(l0.clone());
    }
    let (children, below) = ordered(children, below);
    if let ([], [only]) = (children.as_slice(), below.as_slice())
        && !only.l0.is_empty()
    {
        return Some(only.l0.to_owned());
    }
    let sentence = speaking(name, &children, below.is_empty());
    let room = budget(ABSTRACT_TOKENS).saturating_sub(cost(&sentence) + cost(DASH));
    let names = contents(&below, &spread(&children), room);
    Some(match (sentence.is_empty(), names.is_empty()) {
        (false, false) => format!("{sentence}{DASH}{names}"),
        (false, true) => sentence,
        (true, _) => names,
    })
}

/// What stands between the sentence and the names in an abstract.
const DASH: &str = " — ";
/// What stands between names.
const DOT: &str = " · ";
/// How many children are looked at for the names: more never fit.
const MOST_NAMES: usize = 200;

/// The sentence that speaks for the whole directory: of a file that is named like it or introduces it, or is the only
/// one. A sentence about one of many things would mislead.
fn speaking(name: &str, children: &[&Child<'_>], alone: bool) -> String {
    const INTRODUCES: &str = "introduction intro overview about start here home readme welcome guide help \
         简介 介绍 概述 概览 关于 从这里开始 首页 入门";
    let focus = terms(name);
    let introduces = terms(INTRODUCES);
    let mut all: Vec<Candidate<'_>> = Vec::new();
    for child in children {
        let title = terms(&child.leaf.title);
        let says = |term: &u64| introduces.contains(term);
        let other = title.iter().filter(|term| !focus.contains(term) && !says(term)).count() as u64;
        let named = !focus.is_empty() && focus.iter().all(|term| title.contains(term));
        let file = terms(child.name.trim_end_matches(".md"));
        let opens = !file.is_empty() && file.iter().all(says);
        let few = alone && children.len() == 1;
        let close = other == 0 || other == 1 && focus.len() == 1;
        if named && close || opens || few {
            let place = if opens { 400 } else { 400 / (1 + other) };
            all.extend(sentences(&child.leaf.l0).into_iter().map(|text| Candidate { text, place }));
        }
    }
    let chosen = choose(&all, &focus, budget(SENTENCE), 1);
    join(chosen.into_iter().map(|at| all[at].text))
}

/// The names of what a directory holds: its directories, then its files' titles. Where there is room for it, each
/// directory with the first of its own names, `skills (Weekly review · 出差准备)`, or where there are files only, each
/// with its first sentence.
fn contents(below: &[&Below<'_>], files: &[(&str, &str)], room: u32) -> String {
    let titles = || files.iter().map(|(title, _)| *title);
    let plain = list(below.iter().map(|below| below.name).chain(titles()), DOT, room);
    let rich: Vec<(&str, &str)> = match below {
        [] => files.to_vec(),
        below => below.iter().map(|below| (below.name, below.l0)).collect(),
    };
    let left = room.saturating_sub(cost(&plain));
    let each = left / u32::try_from(rich.len().max(1)).unwrap_or(u32::MAX);
    if each < budget(8) || files.len() == 1 && below.is_empty() {
        return plain;
    }
    let named = rich.iter().map(|(name, l0)| {
        let inner = list(names_in(l0), DOT, each.saturating_sub(cost(" ()")));
        if inner.is_empty() { (*name).to_owned() } else { format!("{name} ({inner})") }
    });
    let named: Vec<String> = named.collect();
    let rest = if below.is_empty() { Vec::new() } else { titles().collect() };
    list(named.iter().map(String::as_str).chain(rest), DOT, room)
}

/// The names that an abstract lists, without what stands in parentheses behind them; of one that lists none, its
/// sentences.
fn names_in(l0: &str) -> Vec<&str> {
    let names = l0.rsplit_once(DASH).map_or(l0, |(_, names)| names);
    if !names.contains(DOT) {
        return sentences(l0);
    }
    let (mut out, mut depth, mut start) = (Vec::new(), 0u32, 0);
    for (at, c) in names.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '·' if depth == 0 && names[..at].ends_with(' ') && names[at..].starts_with("· ") => {
                out.push(&names[start..at - 1]);
                start = at + "· ".len();
            }
            _ => {}
        }
    }
    out.push(&names[start..]);
    let bare =
        |name: &&str| if name.ends_with(')') { name.find(" (").unwrap_or(name.len()) } else { name.len() };
    out.into_iter().map(|name| &name[..bare(&name)]).collect()
}

/// The titles of the children with their abstracts, those first whose titles bring in new words.
fn spread<'a>(children: &[&Child<'a>]) -> Vec<(&'a str, &'a str)> {
    let mut seen: HashSet<u64> = HashSet::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for child in children.iter().take(MOST_NAMES) {
        let terms = terms(&child.leaf.title);
        let known = terms.iter().filter(|term| seen.contains(term)).count();
        let into = if known * 2 > terms.len() { &mut later } else { &mut first };
        into.push((child.leaf.title.as_str(), child.leaf.l0.as_str()));
        seen.extend(terms);
    }
    first.extend(later);
    first
}

/// Files by importance, date and name; directories by name.
fn ordered<'a, 'b>(
    children: &'b [Child<'a>],
    below: &'b [Below<'a>],
) -> (Vec<&'b Child<'a>>, Vec<&'b Below<'a>>) {
    let mut children: Vec<&Child<'_>> = children.iter().collect();
    children.sort_by(|a, b| {
        (b.leaf.importance, &b.leaf.date, a.name).cmp(&(a.leaf.importance, &a.leaf.date, b.name))
    });
    let mut below: Vec<&Below<'_>> = below.iter().collect();
    below.sort_by_key(|below| below.name);
    (children, below)
}

/// How many different names the links of the directory's own files have that are none of its children.
fn leaving(index: Option<&Leaf>, children: &[&Child<'_>], below: &[&Below<'_>]) -> usize {
    let own: HashSet<String> = children
        .iter()
        .map(|child| link_name(child.name))
        .chain(below.iter().map(|below| link_name(below.name)))
        .chain(index.map(|_| "index".to_owned()))
        .collect();
    let mut out: Vec<&String> = children
        .iter()
        .map(|child| child.leaf)
        .chain(index)
        .flat_map(|leaf| &leaf.links)
        .filter(|link| !own.contains(*link))
        .collect();
    out.sort();
    out.dedup();
    out.len()
}

/// The words between, in the directory's language.
struct Words {
    files: String,
    directories: String,
    more: fn(usize) -> String,
    leaving: fn(usize) -> String,
}

impl Words {
    fn of(l0: &str, children: &[&Child<'_>], below: &[&Below<'_>]) -> Words {
        let texts =
            children.iter().map(|child| child.leaf.title.as_str()).chain(below.iter().map(|b| b.name));
        let texts: Vec<&str> = texts.chain(std::iter::once(l0)).collect();
        let chinese = texts.iter().filter(|text| text.chars().any(is_cjk)).count() * 2 > texts.len();
        if chinese {
            Words {
                files: "文件".to_owned(),
                directories: "目录".to_owned(),
                more: |n| format!("… 另有 {n} 项"),
                leaving: |n| format!("有 {n} 个链接指向此目录之外。"),
            }
        } else {
            Words {
                files: "Files".to_owned(),
                directories: "Directories".to_owned(),
                more: |n| format!("… and {n} more"),
                leaving: |n| match n {
                    1 => "1 link leads out of this directory.".to_owned(),
                    n => format!("{n} links lead out of this directory."),
                },
            }
        }
    }
}

/// The words of an `index.md` for the overview: its blocks without the title and the footnotes' definitions, whole
/// ones up to the limit.
pub(super) fn opening(memory: &Memory) -> String {
    let body = memory.body();
    let end = body.floor_char_boundary(super::leaf::HEAD.min(body.len()));
    let mut blocks: Vec<String> = Vec::new();
    let (mut fenced, mut gap) = (false, true);
    for line in body[..end].lines() {
        let line = line.trim_end();
        let mark = line.trim_start();
        let title = blocks.is_empty() && mark.starts_with("# ");
        let note = mark.starts_with("[^") && mark.contains("]:");
        if !fenced && (line.is_empty() || title || note) {
            gap = true;
            continue;
        }
        fenced ^= mark.starts_with("```") || mark.starts_with("~~~");
        match blocks.last_mut().filter(|_| !gap) {
            Some(block) => {
                block.push('\n');
                block.push_str(line);
            }
            None => blocks.push(line.to_owned()),
        }
        gap = false;
    }
    let mut out = String::new();
    for block in blocks {
        if estimate(&out) + estimate(&block) + 1 > OPENING {
            break;
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&block);
    }
    out
}

/// A text that is shown as it is within Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        if matches!(c, '[' | ']' | '<' | '*' | '`' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The relative address of a child.
fn address(name: &str, directory: bool) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if " %#?()<>\\".contains(c) || c.is_control() {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
        } else {
            out.push(c);
        }
    }
    if directory { format!("{out}/") } else { out }
}
