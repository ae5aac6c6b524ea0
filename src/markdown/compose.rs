//! Writing a new memory.

use std::fmt::Write as _;

use serde_json::Value;

/// The text of a new file: front matter with these fields in this order, an empty one left out, then the body.
///
/// What is written reads back equal, here and in other YAML readers: a string that any of them would take for
/// something else (`no`, `0012`, `12:30`, `2026-11-29`, `a: b`, `a #b`) is quoted. Dates are written without quotes,
/// since a date is what they are. A list is written one item a line, a mapping in one line.
#[must_use]
pub fn memory(fields: &[(&str, Value)], body: &str) -> String {
    let mut out = String::new();
    if !fields.is_empty() {
        out.push_str("---\n");
        for (key, value) in fields {
            field(&mut out, key, value);
        }
        out.push_str("---\n");
    }
    out.push_str(body);
    if !body.is_empty() && !body.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn field(out: &mut String, key: &str, value: &Value) {
    out.push_str(&scalar(key, Place::Flow));
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push_str(":\n");
            for item in items {
                let _ = writeln!(out, "  - {}", inline(item, Place::Block));
            }
        }
        _ => {
            let _ = writeln!(out, ": {}", inline(value, Place::Block));
        }
    }
}

/// Where a scalar stands: within brackets more characters mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Block,
    Flow,
}

pub(super) fn inline(value: &Value, place: Place) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => scalar(text, place),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(item, Place::Flow)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(k, v)| format!("{}: {}", scalar(k, Place::Flow), inline(v, Place::Flow)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn scalar(text: &str, place: Place) -> String {
    if is_plain(text, place) { text.to_owned() } else { quoted(text) }
}

/// Whether a string needs no quotes in any YAML reader.
pub(super) fn is_plain(text: &str, place: Place) -> bool {
    let Some(first) = text.chars().next() else { return false };
    if is_date(text) {
        return true;
    }
    let begins_word = first.is_alphabetic() || first == '_' || (first == '/' && place == Place::Block);
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];
    begins_word
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !reserved.contains(&text.to_lowercase().as_str())
        && text.chars().all(|c| {
            // A colon may be anywhere in a word but before white space; in brackets it is safer quoted.
            let mark = if place == Place::Flow { ",[]{}:#&*!|>'\"%@`" } else { "\"'`" };
            (c == ' ' || !c.is_whitespace()) && !c.is_control() && !mark.contains(c) && is_printable(c)
        })
}

/// Whether a text is a date or a time as the front matter has them, and so stands without quotes.
fn is_date(text: &str) -> bool {
    let (date, time) = text.split_once('T').map_or((text, None), |(date, time)| (date, Some(time)));
    let digits = |text: &str, form: &str| {
        text.len() == form.len()
            && text
                .bytes()
                .zip(form.bytes())
                .all(|(b, f)| if f == b'0' { b.is_ascii_digit() } else { b == f })
    };
    let whole = |time: &str| {
        let (clock, zone) = match time.find(['Z', '+', '-']) {
            Some(at) => time.split_at(at),
            None => return false,
        };
        digits(clock, "00:00:00") && (zone == "Z" || digits(&zone[1..], "00:00"))
    };
    digits(date, "0000-00-00") && time.is_none_or(whole)
}

/// What YAML allows to stand unescaped, without what it normalises or editors do not show.
fn is_printable(c: char) -> bool {
    !matches!(c, '\u{85}' | '\u{A0}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
        && !crate::model::path::is_ignorable(c)
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || !is_printable(c) => {
                let code = u32::from(c);
                let _ =
                    if code <= 0xFFFF { write!(out, "\\u{code:04X}") } else { write!(out, "\\U{code:08X}") };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
