//! Evidence that memories cite, as far as a review shows it.

use schemars::JsonSchema;
use serde::Serialize;

use super::vault::Vault;
use crate::model::change::mode;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::uri::{Fragment, Uri};

/// The most lines of evidence that are shown.
const MAX_EVIDENCE_LINES: usize = 12;

/// Evidence that a footnote cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// The footnote's name.
    pub footnote: String,
    /// The line of the file that cites it, counted from 1.
    pub line: u32,
    /// What it points at.
    pub uri: String,
    /// The cited lines as they stand in the tree of the merge; absent when there is no such file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// The evidence that the footnotes of a text cite: `[^name]: <viking://evidence/…> …`, on one line.
#[must_use]
pub fn cited(text: &str) -> Vec<Evidence> {
    let mut out = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let Some((name, rest)) = content.strip_prefix("[^").and_then(|rest| rest.split_once("]:")) else {
            continue;
        };
        let rest = rest.trim_start();
        let uri = match rest.strip_prefix('<') {
            Some(rest) => rest.split('>').next().unwrap_or_default(),
            None => rest.split_whitespace().next().unwrap_or_default(),
        };
        if uri.starts_with("viking://evidence/") {
            out.push(Evidence { footnote: name.to_owned(), line, uri: uri.to_owned(), excerpt: None });
        }
    }
    out
}

/// The lines that a URI of evidence names, as they stand in a tree; `None` when there are none.
///
/// # Errors
/// When an object cannot be read.
pub fn excerpt(vault: &Vault<'_>, tree: Option<Oid>, uri: &str) -> Result<Option<String>, Fault> {
    let (Some(tree), Ok(uri)) = (tree, Uri::parse(uri)) else { return Ok(None) };
    let Some(entry) = vault.repo.entry_at(tree, &uri.path)? else { return Ok(None) };
    if !matches!(entry.mode, mode::FILE | mode::EXECUTABLE) || vault.repo.blob_size(entry.oid)? > 4 << 20 {
        return Ok(None);
    }
    let bytes = vault.repo.blob(entry.oid)?;
    let text = String::from_utf8_lossy(&bytes);
    let (from, to) = match uri.fragment {
        Some(Fragment::Lines(from, to)) => (from as usize, to as usize),
        _ => (1, MAX_EVIDENCE_LINES),
    };
    let count = (to + 1).saturating_sub(from).min(MAX_EVIDENCE_LINES);
    Ok(Some(text.lines().skip(from - 1).take(count).collect::<Vec<_>>().join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footnotes_name_evidence() {
        let text = "# T\nClaim.[^e1]\n\n[^e1]: <viking://evidence/2026/chat a.jsonl#L1-L2> sha256:9c \"q\"\n[^x]: plain\n[^2]: viking://evidence/b.md more\n";
        let found = cited(text);
        let uris: Vec<&str> = found.iter().map(|e| e.uri.as_str()).collect();
        assert_eq!(uris, ["viking://evidence/2026/chat a.jsonl#L1-L2", "viking://evidence/b.md"]);
        assert_eq!((found[0].footnote.as_str(), found[0].line), ("e1", 4));
    }
}
