//! `value:` against the vault's own JSON Schema.
//!
//! A schema comes with the vault and so may be hostile. It is used only when its cost is bounded: no reference
//! leaves the file, none leads back to itself, and written out in full it stays small. Patterns run on an engine
//! that is linear in its input.

use std::collections::BTreeMap;

use serde_json::Value;

use super::line_of;
use crate::check::runner::{Sink, Subject};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;

/// The largest schema in bytes.
const MAX_BYTES: usize = 256 << 10;
/// The most parts of a schema when every reference is written out.
const MAX_PARTS: u64 = 20_000;
/// The most parts of a `value`.
const MAX_VALUE_PARTS: usize = 2_000;

/// A schema that is ready, or why it cannot be used.
pub(crate) type Schema = Result<jsonschema::Validator, String>;

/// Reads a schema.
pub(super) fn compile(bytes: &[u8]) -> Schema {
    if bytes.len() > MAX_BYTES {
        return Err(format!("it has {} bytes; {MAX_BYTES} are allowed", bytes.len()));
    }
    let schema: Value = serde_json::from_slice(bytes).map_err(|e| format!("it is no JSON: {e}"))?;
    Bounds { root: &schema, known: BTreeMap::new() }.parts(&schema, "", 0)?;
    jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(&schema)
        .map_err(|e| cut(&e.to_string()))
}

/// Counts a schema's parts with every reference written out.
struct Bounds<'s> {
    root: &'s Value,
    /// The parts behind a reference; `None` while it is being counted.
    known: BTreeMap<String, Option<u64>>,
}

impl Bounds<'_> {
    fn parts(&mut self, at: &Value, key: &str, depth: u32) -> Result<u64, String> {
        if depth > 200 {
            return Err("it is nested too deeply".to_owned());
        }
        let mut parts: u64 = 1;
        match at {
            Value::Object(members) => {
                for (name, member) in members {
                    // Names below these are names of a value's fields, not keywords.
                    let keyword =
                        !matches!(key, "properties" | "patternProperties" | "$defs" | "definitions");
                    parts = parts.saturating_add(match (name.as_str(), member) {
                        ("$ref", Value::String(to)) if keyword => self.behind(to, depth)?,
                        ("$dynamicRef" | "$recursiveRef" | "$ref" | "$anchor" | "$dynamicAnchor", _)
                            if keyword =>
                        {
                            return Err(format!(
                                "it uses `{name}`; only `$ref` to a part of the same file works here"
                            ));
                        }
                        ("$id", _) if keyword && depth > 0 => {
                            return Err("it gives an `$id` to one of its parts".to_owned());
                        }
                        _ => self.parts(member, name, depth + 1)?,
                    });
                }
            }
            Value::Array(all) => {
                for one in all {
                    parts = parts.saturating_add(self.parts(one, "", depth + 1)?);
                }
            }
            _ => {}
        }
        if parts > MAX_PARTS {
            Err("it is too large when its references are followed".to_owned())
        } else {
            Ok(parts)
        }
    }

    fn behind(&mut self, to: &str, depth: u32) -> Result<u64, String> {
        match self.known.get(to) {
            Some(Some(parts)) => return Ok(*parts),
            Some(None) => return Err(format!("its reference `{}` leads back to itself", cut(to))),
            None => {}
        }
        let pointer = to.strip_prefix('#').filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
        let there = pointer.and_then(|pointer| self.root.pointer(pointer));
        let there =
            there.ok_or_else(|| format!("its reference `{}` leads to nothing in the file", cut(to)))?;
        if pointer == Some("") {
            return Err("its reference `#` leads back to itself".to_owned());
        }
        self.known.insert(to.to_owned(), None);
        let parts = self.parts(there, "", depth + 1)?;
        self.known.insert(to.to_owned(), Some(parts));
        Ok(parts)
    }
}

fn cut(text: &str) -> String {
    text.chars().take(200).collect()
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.values().map(size).sum::<usize>() + 1,
        Value::Array(all) => all.iter().map(size).sum::<usize>() + 1,
        _ => 1,
    }
}

/// Where the schema of a name stands.
fn place(name: &str) -> Option<VaultPath> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain = !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(fits);
    plain.then(|| VaultPath::parse(&format!(".runebook/schema/{name}.json")).ok()).flatten()
}

/// Judges a memory's `value`.
pub(super) fn judge(memory: &Memory, subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let (Some(value), Some(Value::String(name))) =
        (memory.front.all.get("value"), memory.front.all.get("schema"))
    else {
        return;
    };
    let line = line_of(memory, "schema");
    let shown: String = name.chars().take(100).collect();
    let schema = match place(name) {
        Some(path) => subject.schema(&path, compile),
        None => return, // `schema: https://…` and the like is another program's.
    };
    match schema.as_deref() {
        None => {
            let message = format!("`schema: {shown}` names no file .runebook/schema/{shown}.json");
            sink.add(
                "broken-schema",
                line,
                message,
                Some("correct the name, or have an admin add it".to_owned()),
            );
        }
        Some(Err(why)) => {
            let message = format!(".runebook/schema/{shown}.json cannot be used: {why}");
            sink.add("broken-schema", line, message, Some("an admin mends the schema".to_owned()));
        }
        Some(Ok(_)) if size(value) > MAX_VALUE_PARTS => {
            let message = format!("`value` has more than {MAX_VALUE_PARTS} parts");
            sink.add(
                "shape",
                line_of(memory, "value"),
                message,
                Some("keep to what can be compared".to_owned()),
            );
        }
        Some(Ok(validator)) => {
            for error in validator.iter_errors(value).take(5) {
                let at = error.instance_path().to_string();
                let at = if at.is_empty() { String::new() } else { format!(" at {}", cut(&at)) };
                let message = format!("`value`{at}: {}", cut(&error.to_string()));
                let fix = format!("see .runebook/schema/{shown}.json");
                sink.add("shape", line_of(memory, "value"), message, Some(fix));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_schema_is_used_only_when_its_cost_is_bounded() {
        let good = br##"{"type":"object","properties":{"seat":{"$ref":"#/$defs/seat"}},"$defs":{"seat":{"enum":["window"]}}}"##;
        let validator = compile(good).unwrap();
        assert!(validator.is_valid(&serde_json::json!({"seat": "window"})));
        assert!(!validator.is_valid(&serde_json::json!({"seat": "aisle"})));
        for (bad, why) in [
            (r##"{"$ref":"#"}"##, "itself"),
            (
                r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##,
                "itself",
            ),
            (r##"{"$ref":"https://example.org/x.json"}"##, "nothing in the file"),
            (r##"{"$ref":"file:///etc/passwd"}"##, "nothing in the file"),
            ("{", "no JSON"),
            (r##"{"type":"nonsense"}"##, ""),
        ] {
            let error = compile(bad.as_bytes()).map(|_| ()).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
        assert!(compile("[".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn references_that_double_are_refused() {
        let mut defs = serde_json::Map::new();
        for i in 0..40 {
            let next = serde_json::json!({ "$ref": format!("#/$defs/d{}", i + 1) });
            defs.insert(format!("d{i}"), serde_json::json!({ "anyOf": [next, next] }));
        }
        defs.insert("d40".to_owned(), serde_json::json!({ "type": "string" }));
        let schema = serde_json::json!({ "$defs": defs, "$ref": "#/$defs/d0" });
        assert!(compile(schema.to_string().as_bytes()).map(|_| ()).unwrap_err().contains("too large"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = compile(&bytes);
        }
    }
}
