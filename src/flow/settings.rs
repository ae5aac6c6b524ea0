//! Settings as people read them: a name and a value each, no braces.

use serde_json::Value;

/// The settings below a value, each with its full name (`index.threads`) and its value in words. An empty list or map
/// is `none`.
#[must_use]
pub fn leaves(value: &Value) -> Vec<(String, String)> {
    let mut out = Vec::new();
    collect(String::new(), value, &mut out);
    out
}

fn collect(name: String, value: &Value, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, below) in map {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                collect(name, below, out);
            }
        }
        // Settings are typed, so what nests in a list is small.
        _ => out.push((name, words(value))),
    }
}

/// A value as it is written in the settings, a list with commas.
fn words(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Object(map) if map.is_empty() => "none".to_owned(),
        Value::Object(map) => {
            map.iter().map(|(key, value)| format!("{key} {}", words(value))).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_setting_and_no_braces() {
        let value = serde_json::json!({
            "index": { "threads": 0 }, "ignore": ["a/**", "b"], "fields": {}, "layers": { "files": "off" },
            "model": null, "open": true
        });
        let lines: Vec<String> =
            leaves(&value).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            lines,
            [
                "fields=none",
                "ignore=a/**, b",
                "index.threads=0",
                "layers.files=off",
                "model=not set",
                "open=true"
            ]
        );
    }
}
