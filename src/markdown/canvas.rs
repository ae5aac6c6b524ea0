//! Obsidian's canvases (`.canvas`, JSON Canvas): the links in their nodes, by their bytes in the file.
//!
//! A node shows a file by its path from the root (`file`, with a heading in `subpath`; `background` of a group), or
//! holds Markdown (`text`). A canvas is read as a memory that has links and nothing else, so that all that is done
//! with links is done with these. Only bytes within a JSON string change; other escapes in it stay as they are.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::lines::Lines;
use super::read::read as read_note;
use super::relink::TextEdit;
use crate::model::config::Config;
use crate::model::finding::{Finding, Severity};
use crate::model::front_matter::FrontMatter;
use crate::model::link::{Link, LinkForm};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;
use crate::model::uri::Fragment;

/// The rule of a canvas that cannot be read.
pub const UNREAD: &str = "format.canvas";

/// Reads a canvas. One that is no JSON has no links and a problem that says so.
pub(super) fn read(path: &VaultPath, text: String, config: &Config) -> Memory {
    let (mut links, mut problems) = (Vec::new(), Vec::new());
    // Obsidian makes empty files of new canvases.
    match serde_json::from_str::<IgnoredAny>(&text) {
        Ok(_) => links = links_of(&text, config),
        Err(_) if text.trim().is_empty() => {}
        Err(error) => {
            let message = format!("it is no JSON, so its links do not follow what moves: {error}");
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX).max(1);
            problems.push(Finding::new(UNREAD, Severity::Warning, message).in_file(path).at_line(line));
        }
    }
    Memory {
        path: path.clone(),
        text,
        body_start: 0,
        front: FrontMatter::default(),
        title: path.name().to_owned(),
        headings: Vec::new(),
        links,
        tags: Vec::new(),
        blocks: Vec::new(),
        footnotes: Vec::new(),
        problems,
        template: false,
    }
}

fn links_of(text: &str, config: &Config) -> Vec<Link> {
    let lines = Lines::of(text);
    let mut links = Vec::new();
    for node in nodes(text) {
        let mut fragment = node.subpath.and_then(|raw| decoded(&text[raw])).map(|(subpath, _)| match subpath
            .trim_start_matches('#')
            .split_once('^')
        {
            Some(("", id)) => Fragment::Block(id.to_owned()).to_string(),
            _ => Fragment::Heading(subpath.split('#').filter(|n| !n.is_empty()).map(str::to_owned).collect())
                .to_string(),
        });
        for raw in [node.file, node.background] {
            let fragment = fragment.take();
            let Some(raw) = raw else { continue };
            let Some((target, _)) = decoded(&text[raw.clone()]).filter(|(target, _)| !target.is_empty())
            else {
                continue;
            };
            links.push(Link {
                form: LinkForm::Uri,
                target,
                fragment: fragment.filter(|fragment| !fragment.is_empty()),
                text: None,
                embed: true,
                relation: None,
                line: lines.line(raw.start),
                range: raw.start - 1..raw.end + 1,
            });
        }
        if let Some(raw) = node.text
            && let Some((inner, jumps)) = decoded(&text[raw.clone()])
        {
            let note = note(&inner, config);
            let place = |at: usize| raw.start + jumps.raw(at);
            let placed = |link: Link| Link {
                line: lines.line(raw.start),
                range: place(link.range.start)..place(link.range.end),
                ..link
            };
            links.extend(note.links.into_iter().filter(|_| !note.template).map(placed));
        }
    }
    links.sort_by_key(|link| link.range.start);
    links
}

/// The Markdown of a node.
fn note(text: &str, config: &Config) -> Memory {
    let path = VaultPath::parse("node.md").unwrap_or_else(|_| VaultPath::root());
    read_note(&path, text.as_bytes(), config)
}

/// The changes that give a link of a canvas another target; `None` where it cannot be written.
pub(super) fn retarget(memory: &Memory, link: &Link, new: &str) -> Option<Vec<TextEdit>> {
    if shows_file(memory, link) {
        return Some(vec![in_string(memory, link.range.start + 1..link.range.end - 1, new)?]);
    }
    inside(memory, link, |note, link| super::relink::retarget(note, link, new))
}

/// The same for the heading or block that it names.
pub(super) fn refragment(memory: &Memory, link: &Link, new: &str) -> Option<Vec<TextEdit>> {
    if !shows_file(memory, link) {
        return inside(memory, link, |note, link| super::relink::refragment(note, link, new));
    }
    let subpath = subpath_behind(&memory.text, link.range.end)?;
    Some(vec![in_string(memory, subpath, &format!("#{new}"))?])
}

/// The changes that make a link by an alias one by a name, which shows what it showed.
pub(super) fn show_as(memory: &Memory, link: &Link, new: &str) -> Option<Vec<TextEdit>> {
    inside(memory, link, |note, link| super::relink::show_as(note, link, new))
}

/// Whether a link is a node's whole string.
fn shows_file(memory: &Memory, link: &Link) -> bool {
    link.form == LinkForm::Uri
        && memory.text.get(link.range.clone()).is_some_and(|source| source.starts_with('"'))
}

/// Changes a link of a text by reading it alone.
fn inside(
    memory: &Memory,
    link: &Link,
    change: impl Fn(&Memory, &Link) -> Option<Vec<TextEdit>>,
) -> Option<Vec<TextEdit>> {
    let (source, jumps) = decoded(memory.text.get(link.range.clone())?)?;
    let note = note(&source, &Config::default());
    let [alone] = note.links.as_slice() else { return None };
    if alone.range != (0..source.len()) || (&alone.target, alone.form) != (&link.target, link.form) {
        return None;
    }
    let place = |at: usize| link.range.start + jumps.raw(at);
    let edits = change(&note, alone)?.into_iter();
    let edit = |edit: TextEdit| TextEdit {
        range: place(edit.range.start)..place(edit.range.end),
        new: escaped(&edit.new),
    };
    Some(edits.map(edit).collect())
}

/// Gives a string another text; what both have at the beginning and at the end stays as it is written.
fn in_string(memory: &Memory, raw: Range<usize>, new: &str) -> Option<TextEdit> {
    let (old, jumps) = decoded(memory.text.get(raw.clone())?)?;
    let same = |(a, b): &(char, char)| a == b;
    let head: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(same);
    let tail: usize = tail.map(|(c, _)| c.len_utf8()).sum();
    let place = |at: usize| raw.start + jumps.raw(at);
    let range = place(head)..place(old.len() - tail);
    Some(TextEdit { range, new: escaped(&new_rest[..new_rest.len() - tail]) })
}

/// A text as it stands in a JSON string, without the quotes.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// Where the bytes of a decoded string stand in its source: behind each escape the two differ by more.
struct Jumps(Vec<(usize, usize)>);

impl Jumps {
    /// The place in the source of a place in the text, which must not be within a character.
    fn raw(&self, at: usize) -> usize {
        let last = self.0.partition_point(|(text, _)| *text <= at);
        last.checked_sub(1).and_then(|last| self.0.get(last)).map_or(at, |(text, raw)| raw + (at - text))
    }
}

/// The text of a JSON string's source; `None` for half a surrogate pair and what is no escape.
fn decoded(raw: &str) -> Option<(String, Jumps)> {
    let (mut out, mut jumps, mut at) = (String::with_capacity(raw.len()), Vec::new(), 0);
    while let Some(found) = raw[at..].find('\\') {
        out.push_str(&raw[at..at + found]);
        at += found;
        let (c, length) = match raw.as_bytes().get(at + 1)? {
            b'n' => ('\n', 2),
            b't' => ('\t', 2),
            b'r' => ('\r', 2),
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            b'u' => unicode(raw, at)?,
            c @ (b'"' | b'\\' | b'/') => (char::from(*c), 2),
            _ => return None,
        };
        out.push(c);
        at += length;
        jumps.push((out.len(), at));
    }
    out.push_str(&raw[at..]);
    Some((out, Jumps(jumps)))
}

/// The character of a `\uXXXX` or of a pair of them, and their length.
fn unicode(raw: &str, at: usize) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = raw.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let first = unit(at)?;
    match char::decode_utf16([first]).next()? {
        Ok(c) => Some((c, 6)),
        Err(_) => Some((char::decode_utf16([first, unit(at + 6)?]).next()?.ok()?, 12)),
    }
}

/// The strings of a node that hold links, each without its quotes.
#[derive(Debug, Default)]
struct Node {
    file: Option<Range<usize>>,
    subpath: Option<Range<usize>>,
    background: Option<Range<usize>>,
    text: Option<Range<usize>>,
}

/// The nodes of a canvas that is known to be JSON.
fn nodes(text: &str) -> Vec<Node> {
    const NODE: &[u8] = b"{[{";
    let bytes = text.as_bytes();
    let (mut found, mut node) = (Vec::new(), Node::default());
    let (mut open, mut is_key, mut in_nodes, mut key) = (Vec::new(), false, false, "");
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let raw = at + 1..string_end(bytes, at);
                at = raw.end;
                match (open.as_slice(), is_key) {
                    (b"{", true) => in_nodes = &text[raw] == "nodes",
                    (NODE, true) => key = &text[raw],
                    (NODE, false) if in_nodes => match key {
                        "file" => node.file = Some(raw),
                        "subpath" => node.subpath = Some(raw),
                        "background" => node.background = Some(raw),
                        "text" => node.text = Some(raw),
                        _ => {}
                    },
                    _ => {}
                }
            }
            b'{' | b'[' => {
                open.push(*byte);
                is_key = *byte == b'{';
            }
            b'}' | b']' => {
                if open == NODE && in_nodes {
                    found.push(std::mem::take(&mut node));
                }
                open.pop();
                is_key = false;
            }
            b':' => is_key = false,
            b',' => is_key = open.last() == Some(&b'{'),
            _ => {}
        }
        at += 1;
    }
    found
}

/// Where the string that begins at a quote ends: at its closing quote.
fn string_end(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The `subpath` that stands in a node behind its `file`, as programs write it.
fn subpath_behind(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut at, mut key, mut is_key) = (from, "", false);
    loop {
        match bytes.get(at)? {
            b'"' => {
                let raw = at + 1..string_end(bytes, at);
                at = raw.end;
                match is_key {
                    true => key = &text[raw],
                    false if key == "subpath" => return Some(raw),
                    false => {}
                }
            }
            b',' => is_key = true,
            b':' => is_key = false,
            b'{' | b'}' | b'[' | b']' => return None,
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD: &str = r##"{
  "edges": [{"id": "e", "file": "no.md"}],
  "nodes": [
    {"id":"1", "type":"file","file":"a\/b c.md","subpath":"#Top","x":0},
    {"type":"text","text":"see [[b c|\"b\"]]\nand \u65e5 [x](..\/o.md) ![[p.png]]", "styles":{"file":"no.md"}},
    {"type":"group","background":"art/\ud83d\ude00.png"}]
}"##;

    fn canvas(text: &str) -> Memory {
        read(&VaultPath::parse("d/x.canvas").unwrap(), text.to_owned(), &Config::default())
    }

    fn told(memory: &Memory) -> Vec<(&str, Option<&str>, &str)> {
        let one = |link: &Link| &memory.text[link.range.clone()];
        let told =
            memory.links.iter().map(|link| (link.target.as_str(), link.fragment.as_deref(), one(link)));
        told.collect()
    }

    #[test]
    fn finds_the_links_of_nodes_and_nothing_else() {
        let memory = canvas(BOARD);
        assert_eq!(
            told(&memory),
            [
                ("a/b c.md", Some("Top"), r#""a\/b c.md""#),
                ("b c", None, r#"[[b c|\"b\"]]"#),
                ("../o.md", None, r"[x](..\/o.md)"),
                ("p.png", None, "![[p.png]]"),
                ("art/😀.png", None, r#""art/\ud83d\ude00.png""#),
            ]
        );
        assert_eq!(memory.links.iter().map(|link| link.line).collect::<Vec<_>>(), [4, 5, 5, 5, 6]);
        assert!(memory.problems.is_empty());
    }

    #[test]
    fn only_what_must_changes_and_other_escapes_stay() {
        let memory = canvas(BOARD);
        let changed = |at: usize, new: &str| {
            let edits = retarget(&memory, &memory.links[at], new).unwrap();
            super::super::relink::apply(&memory.text, &edits).unwrap()
        };
        assert_eq!(changed(0, "a/n \"c.md"), BOARD.replace(r"a\/b c.md", r#"a\/n \"c.md"#));
        assert_eq!(changed(1, "n"), BOARD.replace("[[b c|", "[[n|"));
        assert_eq!(changed(2, "../d/o.md"), BOARD.replace(r"..\/o.md", "../d/o.md"));
        assert_eq!(changed(4, "kunst/😀.png"), BOARD.replace("art/", "kunst/"));
        let edits = refragment(&memory, &memory.links[0], "Neu").unwrap();
        let new = super::super::relink::apply(&memory.text, &edits).unwrap();
        assert_eq!(new, BOARD.replace("#Top", "#Neu"));
    }

    #[test]
    fn what_is_no_canvas_has_no_links() {
        assert!(canvas("").problems.is_empty());
        for text in ["{", "nodes", "{\"nodes\": [{\"file\": \"a.md\"}"] {
            let memory = canvas(text);
            assert_eq!((memory.links.len(), memory.problems.len()), (0, 1), "{text}");
        }
        for text in
            ["[]", "{\"nodes\":{\"file\":\"a.md\"}}", "{\"nodes\":[[{\"file\":\"a\"}],\"file\"]}", "1"]
        {
            assert_eq!(told(&canvas(text)), [], "{text}");
        }
        let deep = "[".repeat(200_000);
        assert_eq!(canvas(&deep).links.len(), 0);
        assert_eq!(canvas(&format!("{deep}{}", "]".repeat(200_000))).links.len(), 0);
    }
}
