//! From the bytes of a file to a [`Memory`].

use std::borrow::Cow;
use std::collections::HashSet;

use super::front::Form;
use super::lines::Lines;
use super::{body, front, links, place};
use crate::model::actor::Sensitivity;
use crate::model::config::Config;
use crate::model::finding::{Finding, Severity};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;

/// The most findings about one file's form: whoever mends these sees the next ones.
const MAX_PROBLEMS: usize = 50;

/// Reads a file, a canvas ([`super::canvas`]) or a memory. It never fails: what cannot be understood is kept as text and named in [`Memory::problems`].
///
/// `config` says how this vault writes: which key it uses for a name of ours (`type` → `memory_type`), where its
/// templates and daily notes stand. The time is linear in the length of `bytes`.
#[must_use]
pub fn read(path: &VaultPath, bytes: &[u8], config: &Config) -> Memory {
    let (text, broken) = decode(bytes);
    if path.is_canvas() {
        return super::canvas::read(path, text, config);
    }
    let lines = Lines::of(&text);
    let head = front::read(&text, &config.fields);
    let written = head.form != Form::Lines;
    let structure = if written { head.block.end } else { 0 };
    let body_start = if head.readable && written { head.block.end } else { 0 };
    let body = body::read(&text, structure, &lines);
    let (mut found, slips) = links::of_properties(&text, head.yaml_start, &head.properties, &lines);
    found.extend(body.links);
    let template = body.template || is_template(&text[head.block.clone()]) || config.is_template(path);
    // UTF-16 of ASCII alone, without a mark, is UTF-8 too by its bytes.
    let broken = broken.or_else(|| utf16(bytes).map(|_| 0));
    let mut problems: Vec<Finding> =
        broken.map(|at| broken_utf8(path, bytes, lines.line(at))).into_iter().collect();
    if body.dense {
        let message = "the file has too many marks to be a note; it is served and searched as plain text";
        problems.push(Finding::new("format.dense", Severity::Warning, message).at_line(1));
    }
    if !template {
        problems.extend(head.problems);
        problems.extend(slips);
    }
    problems.sort_by_key(|finding| finding.line);
    problems.truncate(MAX_PROBLEMS);
    let title = head.fields.title.clone().or_else(|| {
        body.headings.iter().find(|h| h.level == 1 && !h.text.is_empty()).map(|h| h.text.clone())
    });
    let mut seen = HashSet::new();
    let mut fields = head.fields;
    let title = title.unwrap_or_else(|| place::title(path, config));
    place::read(path, config, &title, &mut fields);
    let tags = head.tags.into_iter().chain(body.tags).filter(|tag| seen.insert(tag.name.clone())).collect();
    Memory {
        path: path.clone(),
        body_start,
        title,
        front: fields,
        headings: body.headings,
        links: found,
        tags,
        blocks: body.blocks,
        footnotes: body.footnotes,
        problems: problems.into_iter().map(|finding| finding.in_file(path)).collect(),
        template,
        text,
    }
}

/// Reads what a file is called: of a memory the front matter alone, as long as nothing behind it can make it a template.
/// The names, the id and whether it is a template are those that [`read`] gives.
#[must_use]
pub fn names(path: &VaultPath, bytes: &[u8], config: &Config) -> Memory {
    let plain = !path.is_canvas() && !config.foreign.logseq;
    let head = std::str::from_utf8(bytes).ok().filter(|_| plain).and_then(|text| {
        let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
        let front = front::read(&text[start..], &config.fields);
        let block = if front.form == Form::Lines { 0..0 } else { front.block };
        let rest = &text[start + block.end..];
        let marks = rest.contains("{{") || rest.contains("<%");
        (!marks && block.end > 0).then_some(start + block.end)
    });
    read(path, &bytes[..head.unwrap_or(bytes.len())], config)
}

/// What a file's front matter says of its sensitivity, read or only looked at where no parser reads it; `None` where it
/// says nothing. Much less work than [`read`].
#[must_use]
pub fn sensitivity(bytes: &[u8], config: &Config) -> Option<Sensitivity> {
    if !may_have_head(bytes) {
        return None;
    }
    front::read(&decode(bytes).0, &config.fields).fields.sensitivity
}

/// The `id` of a file's front matter and where its body begins, in bytes behind a byte order mark. Much less work than
/// [`read`].
#[must_use]
pub fn identity(bytes: &[u8], config: &Config) -> (Option<String>, usize) {
    if !may_have_head(bytes) {
        return (None, 0);
    }
    let head = front::read(&decode(bytes).0, &config.fields);
    let body = if head.readable && head.form != Form::Lines { head.block.end } else { 0 };
    (head.fields.id, body)
}

/// Whether a file may begin with fields: with a fence, or with a line `key:: value`. A look at the first line only.
#[must_use]
pub fn may_have_head(bytes: &[u8]) -> bool {
    let head = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let first = head.split(|b| matches!(b, b'\n' | b'\r')).next().unwrap_or_default();
    first.starts_with(b"---") || first.starts_with(b"+++") || first.windows(2).any(|pair| pair == b"::")
}

/// The text of some bytes, and where the first ones are that are no UTF-8.
fn decode(bytes: &[u8]) -> (String, Option<usize>) {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => (text.to_owned(), None),
        Cow::Owned(text) => {
            let valid = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
            (text, Some(valid))
        }
    }
}

fn broken_utf8(path: &VaultPath, bytes: &[u8], line: u32) -> Finding {
    let (message, from) = match utf16(bytes) {
        Some(name) => (format!("the file is {name}, not UTF-8, and cannot be read as text"), name),
        None => (
            "the file is not UTF-8; what cannot be read is shown as `\u{FFFD}`".to_owned(),
            if bytes.windows(2).any(|pair| pair.iter().all(|b| *b >= 0xA1)) {
                "GB18030"
            } else {
                "WINDOWS-1252"
            },
        ),
    };
    let maybe = if utf16(bytes).is_some() { "" } else { " (if that is what it was written in)" };
    let name = path.as_str().replace('\'', "'\\''");
    Finding::new("format.utf8", Severity::Error, message).at_line(line).with_fix(format!(
        "save it as UTF-8 in your editor, or: `iconv -f {from} -t UTF-8 '{name}' > converted.md`{maybe}, look at it, and put it in its place"
    ))
}

/// The name of the form of UTF-16 that some bytes are in: by their mark, or by every second one of the first letters
/// being zero, as it is in a text that has ASCII in it.
#[must_use]
pub fn utf16(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        // The mark says which of both it is, and programs take it away when they are told only this.
        return Some("UTF-16");
    }
    let head = &bytes[..bytes.len().min(512) & !1];
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), head.len() / 2);
    match () {
        () if head.len() < 4 => None,
        () if even == 0 && odd * 2 > half => Some("UTF-16LE"),
        () if odd == 0 && even * 2 > half => Some("UTF-16BE"),
        () => None,
    }
}

/// Whether a block of front matter waits for an engine that fills it in.
fn is_template(block: &str) -> bool {
    block.contains("{{") && block.contains("}}") || block.contains("<%")
}
