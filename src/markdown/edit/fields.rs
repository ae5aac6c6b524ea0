//! One field of the front matter.

use std::ops::Range;

use serde_json::Value;

use super::entries::{Entry, Item, Written, entries};
use super::{EditError, Page, line_end, read};
use crate::markdown::compose::{Place, inline, is_plain, quoted, scalar};
use crate::markdown::front::{self, Form};
use crate::markdown::yaml;

/// The front matter as it can be edited.
struct Head {
    page: Page,
    /// The YAML's bytes in the text; none where there is no front matter.
    yaml: Option<Range<usize>>,
    entries: Vec<Entry>,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Head, EditError> {
        let page = Page::read(bytes)?;
        let text = page.text();
        let front = front::read(text, &std::collections::BTreeMap::new());
        let first = text.lines().next().unwrap_or_default().trim_end();
        match front.form {
            Form::Toml => return Err(EditError::Foreign("TOML")),
            Form::Json => return Err(EditError::Foreign("JSON")),
            Form::Lines => return Err(EditError::Foreign("lines `key:: value`")),
            Form::Yaml => {}
        }
        if front.block.is_empty() {
            return match first {
                // A rule, or front matter that is not closed: a block before it would be a second one.
                "---" => Err(EditError::Unreadable(1)),
                "+++" => Err(EditError::Foreign("TOML")),
                // A block before a head of another form would be a second one.
                "---json" | ";;;" => Err(EditError::Foreign("JSON")),
                _ => Ok(Head { page, yaml: None, entries: Vec::new() }),
            };
        }
        let broken =
            front.problems.iter().find(|p| p.rule == "schema.yaml" || p.rule == "schema.full-width-colon");
        if !front.readable {
            return Err(EditError::Unreadable(broken.and_then(|p| p.line).unwrap_or(1)));
        }
        if page.memory.template {
            return Err(EditError::Foreign("a template's"));
        }
        let fence = line_start_before(text, front.block.end);
        let yaml = front.yaml_start..fence.max(front.yaml_start);
        let entries = if front.properties.is_empty() {
            Vec::new()
        } else {
            entries(&text[yaml.clone()]).ok_or(EditError::Foreign("written in another form"))?
        };
        Ok(Head { page, yaml: Some(yaml), entries })
    }

    fn source(&self) -> &str {
        self.yaml.clone().map_or("", |yaml| &self.page.text()[yaml])
    }

    fn entry(&self, key: &str) -> Result<Option<&Entry>, EditError> {
        let mut named = self.entries.iter().filter(|entry| entry.key == key);
        let first = named.next();
        match named.next() {
            Some(second) => {
                let line = 2 + line_of(self.source(), second.line);
                Err(EditError::Twice { key: key.to_owned(), line })
            }
            None => Ok(first),
        }
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.page.memory.front.all.get(key)
    }

    /// The bytes with a range of the YAML replaced, if what comes out says `expected` for the key and the same as
    /// before for everything else.
    fn attempt(
        &self,
        bytes: &[u8],
        range: Range<usize>,
        new: &str,
        key: &str,
        expected: Option<&Value>,
    ) -> Option<Vec<u8>> {
        let start = self.yaml.as_ref()?.start;
        let out = self.page.with(bytes, start + range.start..start + range.end, new);
        self.holds(&out, key, expected).then_some(out)
    }

    fn holds(&self, out: &[u8], key: &str, expected: Option<&Value>) -> bool {
        let (old, new) = (&self.page.memory, read(out));
        let mut wanted = old.front.all.clone();
        match expected {
            Some(value) => drop(wanted.insert(key.to_owned(), value.clone())),
            None => drop(wanted.remove(key)),
        }
        let kept = |memory: &crate::model::memory::Memory| -> Vec<String> {
            memory.front.lines.iter().map(|(name, _)| name.clone()).filter(|name| name != key).collect()
        };
        // A value such as `<% x %>` would make a template of the file, which is left alone from then on.
        new.template == old.template
            && new.front.all == wanted
            && new.body() == old.body()
            && kept(&new) == kept(old)
    }
}

/// The number of line ends before an offset.
fn line_of(text: &str, at: usize) -> u32 {
    u32::try_from(text[..at].replace("\r\n", "\n").matches(['\n', '\r']).count()).unwrap_or(u32::MAX)
}

/// Where the line begins that ends at `end`.
fn line_start_before(text: &str, end: usize) -> usize {
    let line = text[..end].trim_end_matches(['\n', '\r']);
    // Only the line end of the fence itself was cut: a fence has content.
    line.rfind(['\n', '\r']).map_or(0, |at| at + 1)
}

/// The end of the line that holds `at`, with its line end.
fn line_after(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    match rest.find(['\n', '\r']) {
        Some(end) if rest[end..].starts_with("\r\n") => at + end + 2,
        Some(end) => at + end + 1,
        None => text.len(),
    }
}

/// The value that somebody typed: a list or mapping in brackets, a number, `true`, `false`, else a text as it is.
#[must_use]
pub fn value(text: &str) -> Value {
    let trimmed = text.trim();
    let brackets = (trimmed.starts_with('[') && !trimmed.starts_with("[[")) || trimmed.starts_with('{');
    match yaml::read(trimmed) {
        Ok((node, _)) if brackets => node.json(),
        _ => yaml::plain_scalar(trimmed),
    }
}

/// Gives a field a value. A field that is not there is added at the end of the front matter, and front matter at the
/// head of a file that has none.
///
/// # Errors
/// When the front matter cannot be read or the field cannot be changed by itself.
pub fn set_field(bytes: &[u8], key: &str, value: &Value) -> Result<Vec<u8>, EditError> {
    let head = Head::read(bytes)?;
    let Some(entry) = head.entry(key)? else { return added(&head, bytes, key, value) };
    let old = head.value(key);
    if old == Some(value) {
        return Ok(bytes.to_vec());
    }
    if let (Some(Value::Array(old)), Value::Array(new)) = (old, value)
        && let Some(out) = items_changed(bytes, key, old, new)
    {
        return Ok(out);
    }
    let source = head.source();
    let styled = styled(source, entry, value);
    let whole = entry.colon..entry.value.end;
    let nl = line_end(&source[entry.line..], head.page.text());
    let ways = [
        styled.map(|text| (entry.value.clone(), text)),
        Some((whole.clone(), anew(value, entry, nl))),
        Some((whole, format!(" {}", inline(value, Place::Block)))),
    ];
    ways.into_iter()
        .flatten()
        .find_map(|(range, text)| head.attempt(bytes, range, &text, key, Some(value)))
        .ok_or_else(|| EditError::NotAlone(format!("the field `{key}`")))
}

/// The value in the form in which the old one is written, where that can hold it.
fn styled(source: &str, entry: &Entry, value: &Value) -> Option<String> {
    let old = &source[entry.value.clone()];
    let text = match value {
        Value::Array(_) | Value::Object(_) => {
            return (entry.written == Written::FlowList).then(|| inline(value, Place::Block));
        }
        Value::String(text) => text,
        other if matches!(entry.written, Written::Plain | Written::Single | Written::Double) => {
            return Some(inline(other, Place::Block));
        }
        _ => return None,
    };
    let one_line = !text.contains(char::is_control);
    match entry.written {
        Written::Plain => Some(scalar(text, Place::Block)),
        Written::Single if one_line => Some(format!("'{}'", text.replace('\'', "''"))),
        Written::Single | Written::Double => Some(quoted(text)),
        Written::Block => block(old, text),
        _ => None,
    }
}

/// A text as a `|` block with the indentation of the old one.
fn block(old: &str, text: &str) -> Option<String> {
    let (header, rest) = old.split_at(old.find(['\n', '\r'])?);
    let nl = line_end(rest, rest);
    let first = rest.lines().find(|line| !line.trim().is_empty())?;
    let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
    let ends = text.len() - text.trim_end_matches('\n').len();
    let fits = !header.contains(|c: char| c.is_ascii_digit())
        && ends <= 1
        && !text.trim_end_matches('\n').is_empty()
        && !text.starts_with([' ', '\n', '\t'])
        && !text.contains(|c: char| c.is_control() && c != '\n');
    let chomp = if ends == 0 { "-" } else { "" };
    // A comment behind the mark stays.
    let comment = header.find('#').map_or("", |at| &header[at..]);
    let space = if comment.is_empty() { "" } else { " " };
    let lines = text
        .trim_end_matches('\n')
        .split('\n')
        .map(|line| if line.is_empty() { nl.to_owned() } else { format!("{nl}{indent}{line}") });
    fits.then(|| format!("|{chomp}{space}{comment}{}", lines.collect::<String>()))
}

/// The value from the colon on, as a new field has it.
fn anew(value: &Value, entry: &Entry, nl: &str) -> String {
    let Value::Array(items) = value else { return format!(" {}", inline(value, Place::Block)) };
    if items.is_empty() || entry.written == Written::FlowList {
        return format!(" {}", inline(value, Place::Block));
    }
    items.iter().map(|item| format!("{nl}  - {}", inline(item, Place::Block))).collect()
}

/// A new field at the end of the front matter.
fn added(head: &Head, bytes: &[u8], key: &str, value: &Value) -> Result<Vec<u8>, EditError> {
    if key.is_empty() || !is_plain(key, Place::Flow) {
        return Err(EditError::Key(key.to_owned()));
    }
    let text = head.page.text();
    let source = head.source();
    let empty = Entry {
        key: key.to_owned(),
        line: 0,
        colon: 0,
        value: 0..0,
        written: Written::Empty,
        items: Vec::new(),
    };
    let not_alone = || EditError::NotAlone(format!("the field `{key}`"));
    let Some(yaml) = &head.yaml else {
        let nl = line_end(text, text);
        let field = format!("---{nl}{key}:{}{nl}---{nl}", anew(value, &empty, nl));
        let out = head.page.with(bytes, 0..0, &field);
        let read = read(&out);
        let alone = !read.template
            && read.front.all.len() == 1
            && read.front.all.get(key) == Some(value)
            && read.body() == text;
        return if alone { Ok(out) } else { Err(not_alone()) };
    };
    let last = head.entries.last().map_or(source, |entry| &source[entry.line..]);
    let nl = line_end(last, text);
    let indent = head.entries.last().map_or("", |entry| {
        let line = &source[entry.line..];
        &line[..line.len() - line.trim_start_matches(' ').len()]
    });
    let field = format!("{indent}{key}:{}{nl}", anew(value, &empty, nl));
    let end = yaml.len();
    // Behind the last value where what follows it (empty lines, a block's end) would change by the new line.
    let behind = head.entries.last().map(|entry| line_after(source, entry.value.end.max(entry.colon)));
    [Some(end), behind]
        .into_iter()
        .flatten()
        .find_map(|at| head.attempt(bytes, at..at, &field, key, Some(value)))
        .ok_or_else(not_alone)
}

/// Removes a field with its lines. Comments above and below it stay.
///
/// # Errors
/// When there is no such field, the front matter cannot be read, or the field cannot be removed by itself.
pub fn unset_field(bytes: &[u8], key: &str) -> Result<Vec<u8>, EditError> {
    let head = Head::read(bytes)?;
    let entry = head.entry(key)?.ok_or_else(|| EditError::NoField(key.to_owned()))?;
    let end = line_after(head.source(), entry.value.end.max(entry.colon));
    head.attempt(bytes, entry.line..end, "", key, None)
        .ok_or_else(|| EditError::NotAlone(format!("the field `{key}`")))
}

/// The items of a list one by one, where only some go and some come at the end.
fn items_changed(bytes: &[u8], key: &str, old: &[Value], new: &[Value]) -> Option<Vec<u8>> {
    let kept: Vec<&Value> = old.iter().filter(|item| new.contains(item)).collect();
    let in_order = new.len() >= kept.len() && new.iter().zip(&kept).all(|(new, kept)| new == *kept);
    if !in_order || kept.is_empty() {
        return None;
    }
    let mut out = bytes.to_vec();
    for item in old.iter().filter(|item| !new.contains(item)) {
        out = remove_item(&out, key, item).ok()?;
    }
    for item in &new[kept.len()..] {
        out = add_item(&out, key, item).ok()?;
    }
    let done = read(&out).front.all.get(key) == Some(&Value::Array(new.to_vec()));
    done.then_some(out)
}

/// Adds an item to the end of a list. A field that is not there or empty becomes a list, one with a single value a
/// list of two.
///
/// # Errors
/// When the front matter cannot be read or the field cannot be changed by itself.
pub fn add_item(bytes: &[u8], key: &str, item: &Value) -> Result<Vec<u8>, EditError> {
    let head = Head::read(bytes)?;
    let list = |items: Vec<Value>| Value::Array(items);
    let Some(entry) = head.entry(key)? else {
        return set_field(bytes, key, &list(vec![item.clone()]));
    };
    let old = match head.value(key) {
        Some(Value::Array(old)) if !old.is_empty() => old.clone(),
        Some(Value::Array(_) | Value::Null) | None => {
            return set_field(bytes, key, &list(vec![item.clone()]));
        }
        Some(Value::Object(_)) => return Err(EditError::NoList(key.to_owned())),
        Some(one) => return set_field(bytes, key, &list(vec![one.clone(), item.clone()])),
    };
    let source = head.source();
    let not_alone = || EditError::NotAlone(format!("the field `{key}`"));
    let last = entry.items.last().ok_or_else(not_alone)?;
    let (at, text) = match entry.written {
        Written::FlowList => (last.range.end, format!(", {}", inline(item, Place::Flow))),
        Written::BlockList => {
            let line = source[..last.range.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
            let dash = dash(source, last).ok_or_else(not_alone)?;
            let nl = line_end(&source[line..], head.page.text());
            let end = line_after(source, last.range.end);
            let closed = source[..end].ends_with(['\n', '\r']);
            let new = format!("{dash}{}", inline(item, Place::Block));
            (end, if closed { format!("{new}{nl}") } else { format!("{nl}{new}") })
        }
        _ => return Err(not_alone()),
    };
    let new = list(old.into_iter().chain([item.clone()]).collect());
    head.attempt(bytes, at..at, &text, key, Some(&new)).ok_or_else(not_alone)
}

/// What stands before an item on its line: white space, the dash, white space.
fn dash<'s>(source: &'s str, item: &Item) -> Option<&'s str> {
    let line = source[..item.range.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let before = &source[line..item.range.start];
    (before.trim() == "-").then_some(before)
}

/// Removes the items of a list that are equal to one. A list that becomes empty stays, as `[]`.
///
/// # Errors
/// When there is no such item, the front matter cannot be read, or the field cannot be changed by itself.
pub fn remove_item(bytes: &[u8], key: &str, item: &Value) -> Result<Vec<u8>, EditError> {
    let mut out = bytes.to_vec();
    let mut removed = false;
    loop {
        let head = Head::read(&out)?;
        let entry = head.entry(key)?.ok_or_else(|| EditError::NoField(key.to_owned()))?;
        let not_alone = || EditError::NotAlone(format!("the field `{key}`"));
        let old = match head.value(key) {
            Some(Value::Array(old)) => old.clone(),
            _ => return Err(EditError::NoList(key.to_owned())),
        };
        let Some(index) = old.iter().position(|value| value == item) else {
            let shown = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            let missing = EditError::NoItem { key: key.to_owned(), item: shown };
            return if removed { Ok(out) } else { Err(missing) };
        };
        let mut new = old;
        new.remove(index);
        let place = entry.items.get(index).ok_or_else(not_alone)?;
        let source = head.source();
        let (range, text) = if new.is_empty() {
            (entry.colon..entry.value.end, " []")
        } else if entry.written == Written::BlockList {
            dash(source, place).ok_or_else(not_alone)?;
            let line = source[..place.range.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
            (line..line_after(source, place.range.end), "")
        } else if index + 1 < entry.items.len() {
            (place.range.start..entry.items[index + 1].range.start, "")
        } else {
            (entry.items[index - 1].range.end..place.range.end, "")
        };
        let new = Value::Array(new);
        let done = head.attempt(&out, range, text, key, Some(&new)).ok_or_else(not_alone)?;
        out = done;
        removed = true;
    }
}
