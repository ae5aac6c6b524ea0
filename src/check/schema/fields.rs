//! The fields that we know: which values they can have.

use std::collections::BTreeMap;

use serde_json::Value;

use super::line_of;
use crate::check::runner::Sink;
use crate::model::memory::Memory;
use crate::model::near;

/// What a field can hold.
enum Kind {
    /// One of some words.
    Word(&'static [&'static str]),
    /// A number from 0 to 1.
    Share,
    /// A whole number above 0.
    Count,
    /// A date or a time.
    Date,
    /// A date, a time, or two with a `/` between.
    Interval,
    /// Text.
    Text,
    /// A text or a list of texts.
    Texts,
    /// Anything.
    Any,
}

static FIELDS: &[(&str, Kind)] = &[
    ("id", Kind::Any),
    ("type", Kind::Word(&["profile", "semantic", "episodic", "procedural", "skill", "resource"])),
    ("title", Kind::Text),
    ("summary", Kind::Text),
    ("subject", Kind::Text),
    ("created", Kind::Date),
    ("updated", Kind::Date),
    ("occurred", Kind::Interval),
    (
        "source",
        Kind::Word(&[
            "user_message",
            "tool_trace",
            "episode_summary",
            "admin_policy",
            "document",
            "web",
            "person",
        ]),
    ),
    ("trust", Kind::Word(&["stated", "observed", "inferred", "external"])),
    ("confidence", Kind::Share),
    ("importance", Kind::Share),
    ("sensitivity", Kind::Word(&["normal", "personal", "confidential", "restricted"])),
    ("valid_from", Kind::Date),
    ("valid_until", Kind::Date),
    ("ttl_days", Kind::Count),
    ("review_by", Kind::Date),
    ("status", Kind::Word(&["active", "pending", "demoted", "archived"])),
    ("supersedes", Kind::Texts),
    ("conflicts_with", Kind::Texts),
    ("applies_to", Kind::Any),
    ("part_of", Kind::Texts),
    ("tags", Kind::Texts),
    ("aliases", Kind::Texts),
    ("value", Kind::Any),
    ("value_evidence", Kind::Any),
    ("schema", Kind::Text),
    ("describes", Kind::Any),
    ("generated", Kind::Any),
    ("body", Kind::Any),
];

/// Keys of other programs that happen to be near to ours.
static FOREIGN: &[&str] =
    &["tag", "alias", "date", "update", "sources", "types", "subjects", "titles", "create"];

/// Whether a text is a ULID in its canonical form.
pub(super) fn is_ulid(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        && ulid::Ulid::from_string(text).is_ok()
}

/// A value that a field could have, for a fix.
pub(super) fn example(key: &str) -> &'static str {
    match FIELDS.iter().find(|(name, _)| *name == key).map(|(_, kind)| kind) {
        Some(Kind::Word(words)) => words.get(1).copied().unwrap_or_default(),
        Some(Kind::Share) => "0.7",
        Some(Kind::Count) => "30",
        Some(Kind::Date | Kind::Interval) => "2026-11-29",
        _ if key == "id" => "01JDM3Z8Q6W5T9V2R4K7X1B0CE",
        _ => "…",
    }
}

/// Judges every known field, and keys that are nearly known.
pub(super) fn judge(memory: &Memory, strict: bool, names: &BTreeMap<String, String>, sink: &mut Sink<'_>) {
    let known =
        |key: &str| FIELDS.iter().any(|(name, _)| *name == key) || names.values().any(|other| other == key);
    for (key, value) in &memory.front.all {
        if !known(key)
            && !FOREIGN.contains(&key.as_str())
            && let Some(near) = near::word(key, FIELDS.iter().map(|(name, _)| *name))
            && !memory.front.all.contains_key(near)
        {
            let message = format!("`{key}` is none of our fields");
            sink.add("near-key", line_of(memory, key), message, Some(format!("did you mean `{near}`?")));
        }
        let ours = names.iter().find(|(_, other)| *other == key).map_or(key.as_str(), |(ours, _)| ours);
        // A name of ours that the settings map elsewhere belongs to another program here.
        if ours == key && names.get(key).is_some_and(|other| other != key) {
            continue;
        }
        if let Some((_, kind)) = FIELDS.iter().find(|(name, _)| *name == ours) {
            field(memory, key, value, kind, strict, sink);
        }
    }
}

fn field(memory: &Memory, key: &str, value: &Value, kind: &Kind, strict: bool, sink: &mut Sink<'_>) {
    if value.is_null() {
        return;
    }
    let shown = short(value);
    let mut wrong = |case: &str, why: &str, fix: Option<String>| {
        sink.add(case, line_of(memory, key), format!("`{key}: {shown}` {why}"), fix);
    };
    match kind {
        Kind::Any => {}
        Kind::Word(words) => {
            let Some(text) = value.as_str() else {
                if strict {
                    wrong("value", "is no word", Some(one_of(words)));
                }
                return;
            };
            if words.contains(&text) {
                return;
            }
            // Foreign words (`type: book`) are left alone where nothing is asked for; a slip of ours is not.
            match near::word(text, words.iter().copied()) {
                Some(near) => wrong("value", "is none of ours", Some(format!("did you mean `{near}`?"))),
                None if strict => wrong("value", "is none of ours", Some(one_of(words))),
                None => {}
            }
        }
        Kind::Share => match value.as_f64() {
            Some(share) if (0.0..=1.0).contains(&share) => {}
            _ if strict => wrong("value", "is no number from 0 to 1", Some(format!("write `{key}: 0.7`"))),
            _ => {}
        },
        Kind::Count => match value.as_u64() {
            Some(count) if count > 0 => {}
            _ if strict => wrong("value", "is no whole number above 0", Some(format!("write `{key}: 30`"))),
            _ => {}
        },
        Kind::Date | Kind::Interval => {
            let text = value.as_str();
            let interval = matches!(kind, Kind::Interval);
            let good = text.is_some_and(|text| is_date(text) || (interval && is_interval(text)));
            if !good && (strict || text.is_some_and(looks_like_date)) {
                let form = "write 2026-11-29 or 2026-11-29T10:00:00+08:00".to_owned();
                let form = if interval { form + ", or two of them with `/` between" } else { form };
                wrong("date", "is no date", Some(form));
            }
        }
        Kind::Text if strict && !value.is_string() => {
            wrong("value", "is no text", Some("put it in quotes".to_owned()));
        }
        Kind::Texts if strict && !is_texts(value) => {
            wrong("value", "is no text and no list of texts", Some(format!("write `{key}: [one, two]`")));
        }
        Kind::Text | Kind::Texts => {}
    }
}

fn is_texts(value: &Value) -> bool {
    let plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    value.as_array().map_or_else(|| plain(value), |all| all.iter().all(plain))
}

fn one_of(words: &[&str]) -> String {
    format!("write one of {}", words.join(", "))
}

/// A value in one short line.
fn short(value: &Value) -> String {
    let whole = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cut: String = whole.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if cut.len() < whole.len() { format!("{cut}…") } else { cut }
}

/// A date, or a time with or without an offset; seconds may be absent and a space stand for the `T`.
fn is_date(text: &str) -> bool {
    let text = text.trim();
    text.len() <= 64
        && (text.parse::<jiff::civil::Date>().is_ok() && text.len() <= 10
            || text.parse::<jiff::Timestamp>().is_ok()
            || text.parse::<jiff::civil::DateTime>().is_ok())
}

fn is_interval(text: &str) -> bool {
    let open = |text: &str| is_date(text) || text.trim() == "..";
    text.split_once('/').is_some_and(|(from, to)| open(from) && open(to))
}

/// Whether a text is meant as a date: four digits, a dash, digits.
fn looks_like_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8
        && bytes.len() <= 32
        && bytes.iter().take(4).all(u8::is_ascii_digit)
        && bytes.get(4) == Some(&b'-')
        && bytes.get(5).is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates() {
        for good in [
            "2026-11-29",
            "2026-11-29T10:00:00+08:00",
            "2026-11-29T10:00:00Z",
            "2026-11-29T10:00",
            "2026-11-29 10:00",
        ] {
            assert!(is_date(good), "{good}");
        }
        for bad in ["2026-13-29", "2026-02-30", "29.11.2026", "soon", "", "2026"] {
            assert!(!is_date(bad), "{bad}");
        }
        assert!(is_interval("2026-11-01/2026-11-29") && is_interval("2026-11-01/.."));
        assert!(looks_like_date("2026-13-29") && !looks_like_date("November 2026"));
    }

    #[test]
    fn ulids() {
        assert!(is_ulid("01JDM3Z8Q6W5T9V2R4K7X1B0CE"));
        for bad in [
            "01jdm3z8q6w5t9v2r4k7x1b0ce",
            "01JDM3Z8Q6W5T9V2R4K7X1B0C",
            "81JDM3Z8Q6W5T9V2R4K7X1B0CEX",
            "note-7",
        ] {
            assert!(!is_ulid(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_judged(text in "\\PC{0,80}") {
            let _ = (is_date(&text), is_interval(&text), looks_like_date(&text), is_ulid(&text));
        }
    }
}
