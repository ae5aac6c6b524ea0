//! The front matter of a file: finding the block, reading its fields, naming its slips.

use std::collections::BTreeMap;
use std::ops::Range;

use super::lines::Lines;
use super::yaml::{self, Entry, Kind, Node};
use crate::model::actor::Sensitivity;
use crate::model::day;
use crate::model::finding::{Finding, Severity};
use crate::model::front_matter::{DATED, FrontMatter, MemoryType, SOURCES, STATUSES, TRUSTS};
use crate::model::memory::Tag;

/// A block over this many bytes is served as text.
const MAX_BYTES: usize = 1 << 20;
/// How many lines of a head that cannot be read are searched for what must not be missed.
const MAX_LINES: usize = 200;

/// In which form a head is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// YAML between `---`; also of a file that has no head.
    #[default]
    Yaml,
    /// TOML between `+++`.
    Toml,
    /// JSON.
    Json,
    /// Logseq's lines `key:: value`, which are part of the body too.
    Lines,
}

/// What stands at a file's head.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub(super) fields: FrontMatter,
    /// Its form.
    pub(super) form: Form,
    /// The values of its properties, where it could be read.
    pub(super) properties: Vec<Entry>,
    pub(super) tags: Vec<Tag>,
    pub(super) problems: Vec<Finding>,
    /// The bytes of the block with its fences; empty where there is none.
    pub(super) block: Range<usize>,
    /// Whether its values are known.
    pub(super) readable: bool,
    /// Where the YAML itself begins.
    pub(super) yaml_start: usize,
}

/// The end of the line that begins at `at`, without and with its line end.
fn line_at(text: &str, at: usize) -> (usize, usize) {
    let bytes = &text.as_bytes()[at..];
    let end = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(bytes.len());
    let with_end = match bytes.get(end..) {
        Some([b'\r', b'\n', ..]) => end + 2,
        Some([_, ..]) => end + 1,
        _ => end,
    };
    (at + end, at + with_end)
}

/// The bytes of the YAML and of the whole block, if the text begins with a closed one.
fn block(text: &str) -> Option<(Range<usize>, Range<usize>)> {
    let (end, start) = line_at(text, 0);
    if text[..end].trim_end() != "---" || start == end {
        return None;
    }
    let mut at = start;
    while at < text.len() {
        let (end, next) = line_at(text, at);
        let line = &text[at..end];
        if line.starts_with(['-', '.']) && matches!(line.trim_end(), "---" | "...") {
            return Some((start..at, 0..next));
        }
        at = next;
    }
    None
}

/// Reads what stands at the head of a text.
pub(super) fn read(text: &str, names: &BTreeMap<String, String>) -> Front {
    let Some((yaml, block)) = block(text) else {
        return super::other::read(text, names).unwrap_or_else(|| unclosed(text, names));
    };
    let mut front = Front { block, yaml_start: yaml.start, ..Front::default() };
    let source = &text[yaml.clone()];
    front.fields.present = true;
    if source.len() > MAX_BYTES {
        let why = format!("the front matter has {} bytes; {MAX_BYTES} are read", source.len());
        front.problems.push(error("schema.yaml", 1, why));
        front.fields.sensitivity = by_eye(source, names);
        return front;
    }
    let wide = full_width_colons(source);
    let read = yaml::read(source);
    match read {
        Ok((Node { kind: Kind::Map(entries), .. }, twice)) => {
            front.readable = true;
            front.problems.extend(twice.into_iter().map(|twice| {
                let message = format!("the key `{}` stands twice; the first one counts", twice.key);
                error("schema.duplicate-key", twice.line + 1, message)
                    .with_fix("keep one of them, or give the other another name")
            }));
            take(&mut front, &entries, names);
            front.properties = entries;
        }
        // An empty block says nothing, and is none.
        Ok((Node { kind: Kind::Scalar(text, true), .. }, _)) if text.is_empty() => front.readable = true,
        Ok((Node { kind: Kind::Scalar(..), .. }, _)) if wide.is_empty() => {
            // Words between two rules are a text that begins with a rule.
            front = Front::default();
        }
        Ok(_) if !wide.is_empty() => {}
        Ok(_) => {
            let why = "the front matter is a list; it must be `key: value` lines";
            front.problems.push(error("schema.yaml", 2, why));
        }
        // The full-width colon is the reason, and its finding says how to mend it.
        Err(_) if !wide.is_empty() => {}
        Err(broken) => front.problems.push(no_yaml(source, &broken)),
    }
    front.problems.extend(wide);
    if front.fields.present && !front.readable {
        front.fields.sensitivity = by_eye(source, names);
    }
    let lines = Lines::of(source);
    for entry in &front.properties {
        cut_at_hash(source, &lines, &entry.value, &mut front.problems);
    }
    front
}

fn error(rule: &str, line: u32, message: impl Into<String>) -> Finding {
    Finding::new(rule, Severity::Error, message).at_line(line)
}

/// The finding about a block that no parser reads, at the line where a person mends it.
fn no_yaml(source: &str, broken: &yaml::Broken) -> Finding {
    let why = format!("the front matter is no YAML: {}", broken.why);
    if broken.why.contains("tab") {
        let tab =
            (2u32..).zip(lines(source)).find(|(_, line)| line.trim_start_matches(' ').starts_with('\t'));
        if let Some((line, _)) = tab {
            return error("schema.yaml", line, why).with_fix("indent with spaces");
        }
    }
    // What is not closed is missed at the end, which is a line of the block still.
    let count = lines(source).count();
    let line = usize::try_from(broken.line).unwrap_or(count).clamp(1, count.max(1));
    let content = lines(source).nth(line - 1).unwrap_or_default();
    let value = content.split_once(": ").filter(|(_, value)| {
        // A line of which nobody could see the end is no advice.
        value.contains(": ") && !value.contains('"') && value.len() < 200
    });
    let fix = match value {
        Some((key, value)) => format!("quote the value: write `{key}: \"{}\"`", value.trim()),
        None => "quote the value, or mend the line".to_owned(),
    };
    let line = u32::try_from(line + 1).unwrap_or(u32::MAX);
    error("schema.yaml", line, why).with_fix(format!("{fix}; until then the file is served as text"))
}

fn unclosed(text: &str, names: &BTreeMap<String, String>) -> Front {
    let (end, next) = line_at(text, 0);
    let mut front = Front::default();
    if text[..end].trim_end() == "---" && next < text.len() {
        let (end, _) = line_at(text, next);
        let key = text[next..end].split_once(':').map(|(key, _)| key);
        if key.is_some_and(|key| {
            !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
        }) {
            front.fields.sensitivity = by_eye(&text[next..], names);
            let why = "the front matter has no closing `---`, so it is read as text";
            front
                .problems
                .push(error("schema.yaml", 1, why).with_fix("write `---` on a line of its own behind it"));
        }
    }
    front
}

/// The lines that look like `key：value` with a full-width colon.
fn full_width_colons(source: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, content) in (2u32..).zip(lines(source)) {
        let Some((key, value)) = content.split_once('：') else { continue };
        let is_key = !key.is_empty()
            && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
            && !key.starts_with([' ', '-']);
        if is_key {
            let message = format!("`{}：` has a full-width colon, which YAML does not know", key.trim());
            let fix = format!("write `{}: {}`", key.trim(), value.trim());
            found.push(error("schema.full-width-colon", line, message).with_fix(fix));
        }
    }
    found
}

fn lines(source: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (end, next) = (at < source.len()).then(|| line_at(source, at))?;
        let line = &source[at..end];
        at = next;
        Some(line)
    })
}

/// Names the unquoted values that ` #` cuts where no comment was meant: a comment has a space behind its `#`.
fn cut_at_hash(source: &str, lines: &Lines, node: &Node, found: &mut Vec<Finding>) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| cut_at_hash(source, lines, item, found)),
        Kind::Map(entries) => entries.iter().for_each(|e| cut_at_hash(source, lines, &e.value, found)),
        Kind::Scalar(kept, true) if !kept.is_empty() => {
            let rest = source.get(node.range.end..).unwrap_or_default();
            // Looked at before the end of the line is sought: very many values may stand in one.
            if !rest.trim_start_matches([' ', '\t']).starts_with('#') {
                return;
            }
            let rest = self::lines(rest).next().unwrap_or_default();
            let Some(comment) = rest.trim_start().strip_prefix('#') else { return };
            if comment.is_empty() || comment.starts_with([' ', '#', '\t']) {
                return;
            }
            let message = format!("YAML reads ` #` as a comment, so only `{kept}` is left of the value");
            let fix = format!("quote it: \"{kept}{}\"", rest.trim_end());
            let finding = Finding::new("schema.cut-at-hash", Severity::Warning, message);
            found.push(finding.at_line(lines.line(node.range.start) + 1).with_fix(fix));
        }
        Kind::Scalar(..) => {}
    }
}

/// Takes the entries of a head in.
pub(super) fn take(front: &mut Front, entries: &[Entry], names: &BTreeMap<String, String>) {
    front.fields.lines = entries.iter().map(|e| (e.key.clone(), e.line + 1)).collect();
    front.fields.all = entries.iter().map(|e| (e.key.clone(), e.value.json())).collect();
    typed(front, entries, names);
}

/// Fills the fields that Runebook knows. A value that means something else under our name leaves its field empty.
fn typed(front: &mut Front, entries: &[Entry], names: &BTreeMap<String, String>) {
    let get = |name: &str| -> Option<&Node> {
        let key = names.get(name).map_or(name, String::as_str);
        entries.iter().find(|e| e.key == key).map(|e| &e.value)
    };
    let text = |name: &str| {
        get(name).and_then(Node::text).map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned)
    };
    let one_of = |name: &str, allowed: &[&str]| {
        text(name).map(|t| t.to_lowercase()).filter(|t| allowed.contains(&t.as_str()))
    };
    let date = |name: &str| text(name).filter(|t| looks_like_date(t));
    let share = |name: &str| {
        get(name).and_then(|node| node.json().as_f64()).filter(|share| (0.0..=1.0).contains(share))
    };
    let words = |name: &str, old: &str| get(name).or_else(|| get(old));
    let fields = &mut front.fields;
    fields.id = text("id").map(|id| id.to_ascii_uppercase()).filter(|id| ulid::Ulid::from_string(id).is_ok());
    fields.kind = text("type").and_then(|t| MemoryType::parse(&t.to_lowercase()));
    fields.title = text("title");
    fields.summary = text("summary");
    fields.subject = text("subject");
    fields.created = date("created");
    fields.updated = date("updated");
    fields.occurred = date("occurred");
    fields.dated = DATED.iter().find_map(|key| {
        let said = entries.iter().find(|e| e.key.eq_ignore_ascii_case(key))?.value.text()?;
        Some(said.trim().to_owned()).filter(|text| looks_like_date(text))
    });
    fields.source = one_of("source", SOURCES);
    fields.trust = one_of("trust", TRUSTS);
    fields.confidence = share("confidence");
    fields.importance = share("importance");
    // A name of the vault's own for it stands beside ours, not in its place: settings that nobody approved yet lay
    // nothing open.
    let ours = entries.iter().find(|entry| entry.key == "sensitivity").map(|entry| &entry.value);
    let said = [get("sensitivity"), ours].into_iter().flatten().filter(|node| !node.json().is_null());
    fields.sensitivity = said.map(|node| sensitivity(node.text())).max();
    fields.status = one_of("status", STATUSES);
    fields.aliases = words("aliases", "alias").map(|node| list(node, &[','])).unwrap_or_default();
    if let Some(node) = words("tags", "tag") {
        let named = list(node, &[',', ' ']).into_iter();
        fields.tags =
            named.map(|tag| tag.trim_start_matches('#').to_owned()).filter(|t| !t.is_empty()).collect();
        let line = entries.iter().find(|e| std::ptr::eq(&e.value, node)).map_or(1, |e| e.line + 1);
        front.tags = fields.tags.iter().map(|name| tag(name, line)).collect();
    }
}

pub(super) fn tag(name: &str, line: u32) -> Tag {
    Tag { name: name.to_owned(), line }
}

/// What a value says of the sensitivity. One that is none of our words hides the memory from everybody who is not
/// cleared for all: a slip of the pen must not lay open what was to be kept.
fn sensitivity(value: Option<&str>) -> Sensitivity {
    match value.map(|text| text.trim().to_lowercase()).as_deref() {
        Some("normal") => Sensitivity::Normal,
        Some("personal") => Sensitivity::Personal,
        Some("confidential") => Sensitivity::Confidential,
        _ => Sensitivity::Restricted,
    }
}

/// What a head that no parser reads says of its sensitivity, line by line.
pub(super) fn by_eye(head: &str, names: &BTreeMap<String, String>) -> Option<Sensitivity> {
    let said = |wanted: &str| {
        lines(head).take(MAX_LINES).find_map(|line| {
            let (key, value) = line.split_once([':', '：', '='])?;
            if key.trim().trim_matches(['"', '\'']) != wanted {
                return None;
            }
            let value = value.split('#').next().unwrap_or_default().trim();
            Some(sensitivity(Some(value.trim_matches(['"', '\'']))))
        })
    };
    said("sensitivity").max(names.get("sensitivity").and_then(|own| said(own)))
}

/// Whether a text begins as `2026-11` does, or with a whole date in another form.
fn looks_like_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let month = bytes.len() >= 7
        && bytes
            .iter()
            .take(7)
            .enumerate()
            .all(|(at, b)| if at == 4 { *b == b'-' } else { b.is_ascii_digit() });
    month || day::leading(text).is_some()
}

/// A list of words: a YAML list, or a text with separators between them.
pub(super) fn list(node: &Node, separators: &[char]) -> Vec<String> {
    let words: Vec<&str> = match &node.kind {
        Kind::List(items) => items.iter().filter_map(Node::text).collect(),
        Kind::Scalar(..) => node.text().map(|text| text.split(separators).collect()).unwrap_or_default(),
        Kind::Map(_) => Vec::new(),
    };
    words.into_iter().map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
