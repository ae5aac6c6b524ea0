//! Heads that are no YAML: TOML between `+++`, JSON, and Logseq's lines `key:: value`. They are read and never
//! written.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::front::{self, Form, Front};
use super::noise::property;
use super::yaml::{Entry, Kind, Node};
use crate::model::finding::{Finding, Severity};

/// A head over this many bytes is served as text.
const MAX_BYTES: usize = 1 << 20;
/// How many lines of properties are read.
const MAX_LINES: usize = 200;

/// What stands at the head of a text that begins with no `---` of YAML; `None` where it is just text.
pub(super) fn read(text: &str, names: &BTreeMap<String, String>) -> Option<Front> {
    let first = text.lines().next().unwrap_or_default().trim_end();
    match first {
        "+++" => toml(text, names),
        "---json" | ";;;" => json(text, first),
        _ if text.starts_with('{') => object(text),
        _ => properties(text, names),
    }
}

/// The content and the whole of a block whose first line is `open` and whose last is `close`.
fn fenced(text: &str, close: &str) -> Option<(Range<usize>, Range<usize>)> {
    let mut at = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match start {
            None => start = Some(end),
            Some(start) if line.trim_end() == close => return Some((start..at, 0..end)),
            Some(_) => {}
        }
        at = end;
    }
    None
}

fn head(form: Form, block: Range<usize>) -> Front {
    let mut front = Front { form, block, ..Front::default() };
    front.fields.present = true;
    front
}

/// JSON is another program's: it is no text, and not looked into.
fn json(text: &str, fence: &str) -> Option<Front> {
    let (_, block) = fenced(text, if fence == ";;;" { fence } else { "---" })?;
    Some(head(Form::Json, block))
}

/// An object at the very beginning, as Hugo takes it.
fn object(text: &str) -> Option<Front> {
    let limit = text.floor_char_boundary(MAX_BYTES);
    let mut values = serde_json::Deserializer::from_str(&text[..limit]).into_iter::<serde_json::Value>();
    let is_object = matches!(values.next(), Some(Ok(serde_json::Value::Object(_))));
    let end = values.byte_offset();
    let rest = &text[end..];
    let alone = rest.is_empty() || rest.starts_with(['\n', '\r']);
    (is_object && alone).then(|| head(Form::Json, 0..end))
}

fn toml(text: &str, names: &BTreeMap<String, String>) -> Option<Front> {
    let Some((inner, block)) = fenced(text, "+++") else {
        // A file of `+++` and prose is text; one whose second line is a field was meant as a head.
        let mut front = Front { form: Form::Toml, ..Front::default() };
        let second = text.lines().nth(1).unwrap_or_default();
        second
            .split_once('=')
            .filter(|(key, _)| key.trim().chars().all(|c| c.is_alphanumeric() || c == '_'))?;
        front.fields.sensitivity = front::by_eye(text, names);
        let why = "the front matter has no closing `+++`, so it is read as text";
        front.problems.push(slip(1, why.to_owned()).with_fix("write `+++` on a line of its own behind it"));
        return Some(front);
    };
    let source = &text[inner];
    let mut front = head(Form::Toml, block);
    let table = match source.len() {
        0..=MAX_BYTES => source.parse::<toml::Table>(),
        bytes => {
            front.problems.push(slip(1, format!("the front matter has {bytes} bytes; {MAX_BYTES} are read")));
            front.fields.sensitivity = front::by_eye(source, names);
            return Some(front);
        }
    };
    match table {
        Ok(table) => {
            front.readable = true;
            let lines = lines_of_keys(source);
            let entry = |key: &str, value: &toml::Value| {
                let line = lines.get(key).copied().unwrap_or(1);
                Entry { key: key.to_owned(), line, value: node(value) }
            };
            let mut entries: Vec<Entry> = table.iter().map(|(key, value)| entry(key, value)).collect();
            // Zola keeps tags one level down.
            if let Some(tags) = table.get("taxonomies").and_then(|inner| inner.get("tags"))
                && !table.contains_key("tags")
            {
                let tags = entry("tags", tags);
                front.fields.tags = front::list(&tags.value, &[',']);
                front.tags = front.fields.tags.iter().map(|name| front::tag(name, tags.line + 1)).collect();
            }
            let kept = (std::mem::take(&mut front.fields.tags), std::mem::take(&mut front.tags));
            entries.sort_by_key(|entry| entry.line);
            front::take(&mut front, &entries, names);
            if front.tags.is_empty() {
                (front.fields.tags, front.tags) = kept;
            }
        }
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start.min(source.len()));
            let before = source.get(..at).unwrap_or_default();
            let line = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX).saturating_add(2);
            let why = error.message().lines().next().unwrap_or_default();
            front.problems.push(
                slip(line, format!("the front matter is no TOML: {why}"))
                    .with_fix("mend the line; until then the file is served as text"),
            );
            front.fields.sensitivity = front::by_eye(source, names);
        }
    }
    Some(front)
}

fn slip(line: u32, message: String) -> Finding {
    Finding::new("schema.toml", Severity::Error, message).at_line(line)
}

/// The first line of each key, counted from 1, found in one pass: a head may have tens of thousands.
fn lines_of_keys(source: &str) -> HashMap<&str, u32> {
    let mut out = HashMap::new();
    for (number, line) in (1..).zip(source.lines()) {
        if let Some((name, _)) = line.split_once('=') {
            let name = name.trim_start().trim_start_matches(['"', '\'']).trim_end_matches(['"', '\'', ' ']);
            out.entry(name).or_insert(number);
        }
    }
    out
}

fn scalar(text: String, plain: bool) -> Node {
    Node { kind: Kind::Scalar(text, plain), range: 0..0 }
}

/// A value of TOML; the parser bounds its depth.
fn node(value: &toml::Value) -> Node {
    let kind = match value {
        toml::Value::String(text) => return scalar(text.clone(), false),
        toml::Value::Datetime(at) => return scalar(at.to_string(), false),
        toml::Value::Integer(number) => return scalar(number.to_string(), true),
        toml::Value::Float(number) => return scalar(number.to_string(), true),
        toml::Value::Boolean(is) => return scalar(is.to_string(), true),
        toml::Value::Array(items) => Kind::List(items.iter().map(node).collect()),
        toml::Value::Table(table) => Kind::Map(
            table
                .iter()
                .map(|(key, value)| Entry { key: key.clone(), line: 1, value: node(value) })
                .collect(),
        ),
    };
    Node { kind, range: 0..0 }
}

/// Logseq's properties of a page: its first block, when that is nothing but lines `key:: value`.
fn properties(text: &str, names: &BTreeMap<String, String>) -> Option<Front> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut end = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let item = line.starts_with("- ") || line.starts_with("* ");
        match property(line).filter(|_| number == 0 || !item) {
            Some((key, value)) if number < MAX_LINES => {
                end += line.len();
                let key = key.to_lowercase();
                if entries.iter().all(|entry| entry.key != key) {
                    let line = u32::try_from(number).unwrap_or(u32::MAX);
                    entries.push(Entry { value: words(&key, value), key, line });
                }
            }
            // The block ends with an empty line or the next item; words right under it are a paragraph's.
            _ if line.trim().is_empty() || item => break,
            _ => return None,
        }
    }
    (!entries.is_empty()).then_some(())?;
    let mut front = Front { form: Form::Lines, block: 0..0, readable: true, ..Front::default() };
    front.fields.present = true;
    front::take(&mut front, &entries, names);
    front.block = 0..end;
    Some(front)
}

/// The value of a property: of tags and other names a list, each without brackets and `#`.
fn words(key: &str, value: &str) -> Node {
    if !matches!(key, "tags" | "tag" | "alias" | "aliases") {
        return scalar(value.to_owned(), true);
    }
    let mut items = Vec::new();
    for item in value.split([',', '，']) {
        let item = item.trim().trim_start_matches('#');
        let item = item.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")).unwrap_or(item).trim();
        if !item.is_empty() {
            items.push(scalar(item.to_owned(), false));
        }
    }
    Node { kind: Kind::List(items), range: 0..0 }
}
