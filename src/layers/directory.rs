//! The layers of a directory, from what is known of its children.

use std::collections::HashSet;

use super::OVERVIEW_TOKENS;
use super::extract::{budget, cost};
use super::leaf::{Leaf, link_name};
use super::naming::Parts;
use super::rows;
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

/// The layers of the directory `name` (empty for the root) from its `index.md`, its files and its directories, in any
/// order; those that are not to be seen are left out by the caller. `None`: there is nothing in it.
#[must_use]
pub fn directory(
    name: &str,
    index: Option<&Leaf>,
    children: &[Child<'_>],
    below: &[Below<'_>],
) -> Option<Layers> {
    if index.is_none() && children.is_empty() && below.is_empty() {
        return None;
    }
    let parts = Parts::of(name, index, children, below);
    let l0 = parts.whole();
    let (children, below) = ordered(children, below);
    let title = match index.map(|leaf| leaf.title.as_str()).filter(|title| *title != "index") {
        Some(title) => title,
        None if name.is_empty() => "viking://",
        None => name,
    };
    let mut head = format!("# {}\n", escaped(title));
    match index.and_then(|leaf| leaf.opening.as_deref()).filter(|text| !text.is_empty()) {
        Some(opening) => head.push_str(&format!("\n{opening}\n")),
        // The names stand in the rows, so they are not said twice.
        None if !parts.words.is_empty() => head.push_str(&format!("\n{}\n", escaped(&parts.words))),
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

/// Files by importance, date and name; directories by name.
pub(super) fn ordered<'a, 'b>(
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
