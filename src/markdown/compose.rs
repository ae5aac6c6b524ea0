//! Writing a new memory.

/// The text of a new file: front matter with these fields in this order, then the body.
///
/// What is written reads back equal: a string that YAML would take for something else is quoted.
#[must_use]
pub fn memory(fields: &[(&str, serde_json::Value)], body: &str) -> String {
    let mut out = String::from("---\n");
    for (key, value) in fields {
        out.push_str(&format!("{key}: {value}\n"));
    }
    out.push_str("---\n");
    out.push_str(body);
    out
}
