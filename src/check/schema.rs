//! `schema`: front matter that can be read, and that says what the path's policy asks for.

mod fields;
mod value;

use super::runner::{Sink, Subject};
use super::{Case, Check};
use crate::model::finding::Severity;
use crate::model::memory::Memory;

pub(super) use value::Schema;

const fn case(name: &'static str, severity: Severity, about: &'static str) -> Case {
    Case { name, severity, standing: severity, about }
}

pub(super) static CHECK: Check = Check {
    name: "schema",
    about: "front matter that can be read and that fits",
    cases: &[
        case("required", Severity::Error, "a field that the policy asks for is missing"),
        case("value", Severity::Error, "a field has a value that it cannot have"),
        case("date", Severity::Error, "a date that is none"),
        case("id", Severity::Error, "an id that is no ULID"),
        case("duplicate-id", Severity::Error, "two memories have one id"),
        case("shape", Severity::Error, "`value` does not fit its JSON Schema"),
        case("broken-schema", Severity::Error, "the JSON Schema itself cannot be used"),
        case("yaml", Severity::Error, "front matter that cannot be read"),
        case("toml", Severity::Error, "front matter between `+++` that cannot be read"),
        case("near-key", Severity::Info, "a key that is nearly one of ours"),
    ],
    of_blobs: false,
    run,
};

/// Severe slips are errors where the policy asks for front matter or the memory is plainly ours (it has an id of
/// ours); elsewhere other programs' fields are none of our business.
fn is_ours(memory: &Memory, subject: &Subject<'_>) -> bool {
    !subject.held.require.is_empty() || memory.front.id.as_deref().is_some_and(fields::is_ulid)
}

fn run(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let Some(memory) = subject.memory() else { return };
    if memory.template {
        return;
    }
    for problem in &memory.problems {
        sink.pass_on(problem);
    }
    if memory.path.is_hidden() {
        return;
    }
    let strict = is_ours(memory, subject);
    required(memory, subject, sink);
    fields::judge(memory, strict, &subject.settings.config.fields, sink);
    identity(memory, strict, subject, sink);
    value::judge(memory, subject, sink);
}

/// The line of a key in the front matter, for pointing at it.
fn line_of(memory: &Memory, key: &str) -> Option<u32> {
    let head = memory.text.get(..memory.body_start)?;
    let is_key = |line: &str| {
        let rest = line.trim_start_matches(['"', '\'']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    };
    (1..).zip(head.lines()).find(|(_, line)| is_key(line)).map(|(number, _)| number)
}

fn required(memory: &Memory, subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let fields = &subject.settings.config.fields;
    let missing: Vec<&str> = subject
        .held
        .require
        .iter()
        .map(String::as_str)
        .filter(|key| {
            let written = fields.get(*key).map_or(*key, String::as_str);
            !memory.front.all.get(written).is_some_and(is_filled)
        })
        .collect();
    // One finding for all of them: they are mended in one go.
    if let Some(first) = missing.first() {
        let named = missing.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let (is, line) = (if missing.len() == 1 { "is" } else { "are" }, memory.front.present.then_some(1));
        let message = format!("{named} {is} missing; the policy of this path asks for it");
        let example = fields::example(first);
        let fix = match memory.front.present {
            true => format!("add to the front matter, for example `{first}: {example}`"),
            false => format!(
                "begin the file with front matter between two lines `---`, for example `{first}: {example}`"
            ),
        };
        sink.add("required", line, message, Some(fix));
    }
}

fn is_filled(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => false,
        serde_json::Value::String(text) => !text.trim().is_empty(),
        _ => true,
    }
}

fn identity(memory: &Memory, strict: bool, subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let written = subject.settings.config.fields.get("id").map_or("id", String::as_str);
    let Some(id) = memory.front.all.get(written) else { return };
    let line = line_of(memory, written);
    match id.as_str() {
        Some(id) if fields::is_ulid(id) => {
            let others = subject.tree.files_with_id(id);
            if let Some(other) = others.iter().find(|other| **other != memory.path) {
                let message = format!("`id: {id}` is also the id of {other}");
                let fix =
                    "a copy is a memory of its own: remove the id, `runebook new` gives another".to_owned();
                sink.add_naming("duplicate-id", line, message, Some(fix), std::slice::from_ref(other));
            }
        }
        text if strict => {
            let shown: String = text.unwrap_or("a value that is no text").chars().take(60).collect();
            let message = format!("`id` is no ULID: {shown}");
            let fix = "an id has 26 characters of 0-9 and A-Z without I, L, O, U; `runebook new` gives one"
                .to_owned();
            sink.add("id", line, message, Some(fix));
        }
        _ => {}
    }
}
