//! Which attachments the texts of a vault name.

use std::collections::HashSet;
use std::path::Path;

use rayon::prelude::*;
use regex::bytes::{Regex, RegexBuilder};

use crate::check::is_attachment;
use crate::model::clock::Cancel;
use crate::model::link::name_key;
use crate::model::path::VaultPath;
use crate::model::uri::percent_leniently;
use crate::store::files;
use crate::store::walk::FileStat;

/// The longest name of a file, in bytes.
const LONGEST: usize = 255;
/// The most words and marks that a name is sought behind.
const WORDS: usize = 64;
/// The largest file that is looked through, in bytes.
const MOST: u64 = 16 << 20;

/// Whether a file's text may name an attachment.
fn is_text(path: &VaultPath) -> bool {
    const ENDINGS: &[&str] =
        &["canvas", "base", "html", "htm", "css", "json", "txt", "tex", "org", "edn", "excalidraw"];
    let ending = path.extension().unwrap_or_default();
    path.is_markdown() || ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// The attachments whose names no text of the vault has. A name counts wherever it stands, in a link, in a field, in a
/// canvas: what is called unused may be thrown away by somebody.
pub(super) fn unnamed(root: &Path, found: &[FileStat], cancel: &Cancel) -> HashSet<VaultPath> {
    let attachments: Vec<&VaultPath> =
        found.iter().map(|file| &file.path).filter(|p| is_attachment(p)).collect();
    let endings: HashSet<String> =
        attachments.iter().filter_map(|path| path.extension()).map(str::to_ascii_lowercase).collect();
    let Some(pattern) = pattern(&endings) else { return HashSet::new() };
    let keys: HashSet<String> = attachments.iter().map(|path| name_key(path.name())).collect();
    let texts =
        found.par_iter().filter(|file| is_text(&file.path) && file.size <= MOST && !cancel.is_cancelled());
    let named: HashSet<String> = texts
        .flat_map_iter(|file| {
            let bytes = files::read(root, &file.path).unwrap_or_default();
            names_in(&bytes, &pattern, &keys)
        })
        .collect();
    attachments.into_iter().filter(|path| !named.contains(&name_key(path.name()))).cloned().collect()
}

/// Finds the ends of names.
fn pattern(endings: &HashSet<String>) -> Option<Regex> {
    if endings.is_empty() {
        return None;
    }
    let mut endings: Vec<String> = endings.iter().map(|ending| regex::escape(ending)).collect();
    endings.sort_by_key(|ending| std::cmp::Reverse(ending.len()));
    RegexBuilder::new(&format!(r"\.(?:{})", endings.join("|")))
        .case_insensitive(true)
        .unicode(false)
        .build()
        .ok()
}

/// Which of some names a text has. Of what stands before an ending every beginning of a word is tried, since names have
/// spaces and brackets.
fn names_in(bytes: &[u8], pattern: &Regex, keys: &HashSet<String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut before = 0;
    for end in pattern.find_iter(bytes).map(|found| found.end()) {
        // A name does not reach over the one before it.
        let from = before.max(end.saturating_sub(3 * LONGEST));
        before = end;
        let window = String::from_utf8_lossy(&bytes[from..end]);
        let line = window.rsplit(['\n', '\r', '/', '\\']).next().unwrap_or_default();
        out.extend(known(line, keys));
        if line.contains('%') {
            out.extend(known(&String::from_utf8_lossy(&percent_leniently(line)), keys));
        }
    }
    out
}

fn known(line: &str, keys: &HashSet<String>) -> Option<String> {
    let key = name_key(line);
    let marks = key.char_indices().rev().filter(|(_, c)| !c.is_alphanumeric()).take(WORDS);
    let starts = marks.flat_map(|(at, c)| [at + c.len_utf8(), at]);
    starts.chain([0]).map(|at| &key[at..]).find(|name| keys.contains(*name)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_form() {
        let keys: HashSet<String> = ["photo (1).png", "my face.png", "图 一.pdf", "a.png", "b.png", "é.png"]
            .iter()
            .map(|n| name_key(n))
            .collect();
        let pattern = pattern(&HashSet::from(["png".to_owned(), "pdf".to_owned()])).unwrap();
        for (text, name) in [
            ("![x](img/photo%20(1).png)", "photo (1).png"),
            ("![[My Face.PNG|300]]", "my face.png"),
            ("cover: see 图 一.pdf", "图 一.pdf"),
            ("![](%E5%9B%BE%20%E4%B8%80.pdf)", "图 一.pdf"),
            ("{\"file\":\"x/a.png\"}", "a.png"),
            ("<img src=b.png>", "b.png"),
            ("![[e\u{301}.png]]", "é.png"),
        ] {
            assert_eq!(names_in(text.as_bytes(), &pattern, &keys), [name_key(name)], "{text}");
        }
        assert!(names_in(b"ba.png a.pngx? \xff.pdf", &pattern, &keys).iter().all(|name| name == "a.png"));
    }
}
