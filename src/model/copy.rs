//! Copies that a program for synchronising files leaves beside a file when two devices changed it.

use std::collections::HashMap;

use super::path::VaultPath;

/// A file that is a copy of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The other file.
    pub of: VaultPath,
    /// Whether the other is there.
    pub there: bool,
    /// Whether both say the same, byte for byte.
    pub same: bool,
}

/// The share of lines that two files must have in common, in hundredths, where the name alone proves nothing.
const PROOF: usize = 70;
/// The shortest text that proves anything, in bytes.
const SHORTEST: usize = 40;

/// What a name says by itself: the stem of the original, where it was made by a program for certain.
fn named(stem: &str) -> Option<&str> {
    if let Some((before, tag)) = stem.rsplit_once(".sync-conflict-") {
        return is_tag(tag, &[8, 6, 7]).then_some(before);
    }
    for mark in ["_conflict-", ".conflict-"] {
        if let Some((before, tag)) = stem.rsplit_once(mark) {
            return is_tag(tag, &[8, 6]).then_some(before);
        }
    }
    let (before, inner) = stem.strip_suffix([')', '）'])?.rsplit_once(['(', '（'])?;
    let inner = inner.to_lowercase();
    let said = ["conflicted copy", "conflict copy", "case conflict", "冲突副本", "冲突的副本", "衝突的複本"];
    said.iter().any(|words| inner.contains(words)).then(|| before.trim_end())
}

/// Whether a text is parts of such lengths with `-` between them, of digits and capitals.
fn is_tag(tag: &str, lengths: &[usize]) -> bool {
    let parts: Vec<&str> = tag.split('-').collect();
    let right = |(part, length): (&&str, &usize)| {
        part.len() == *length && part.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    };
    parts.len() == lengths.len() && parts.iter().zip(lengths).all(right)
}

/// The stems of which this may be a copy, by the habits of systems: `note (1)`, `note 2`, `note copy`, `note-LAPTOP`.
fn maybe(stem: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let number = |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((before, inner)) = stem.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        out.extend(number(inner).then_some(before));
    }
    if let Some((before, last)) = stem.rsplit_once(' ') {
        out.extend(number(last).then_some(before));
    }
    for tail in [" copy", " - Copy", " - 副本", " 副本", " 拷贝"] {
        out.extend(stem.strip_suffix(tail));
    }
    let host = |tail: &str| {
        (2..=40).contains(&tail.len()) && tail.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    out.extend(
        stem.match_indices('-').take(8).map(|(at, _)| &stem[..at]).filter(|p| host(&stem[p.len() + 1..])),
    );
    out.retain(|before| !before.trim().is_empty());
    out
}

/// Whether a file is a copy of another, by its name, or by its name together with what both say. `is_file` tells
/// whether a file stands somewhere, `read` gives its bytes.
pub fn original(
    path: &VaultPath,
    is_file: impl Fn(&VaultPath) -> bool,
    read: impl Fn(&VaultPath) -> Option<Vec<u8>>,
) -> Option<Copy> {
    let beside = |stem: &str| {
        let ending = path.extension().map_or(String::new(), |ending| format!(".{ending}"));
        path.parent().join(&format!("{stem}{ending}")).ok()
    };
    if let Some(of) = named(path.stem()).and_then(beside) {
        let there = is_file(&of);
        let same = there && read(path).is_some_and(|bytes| read(&of) == Some(bytes));
        return Some(Copy { of, there, same });
    }
    let of = maybe(path.stem()).into_iter().filter_map(beside).find(&is_file)?;
    let (this, other) = (read(path)?, read(&of)?);
    let same = this == other;
    (this.len() >= SHORTEST && (same || alike(&this, &other))).then_some(Copy { of, there: true, same })
}

/// Whether most lines of both texts are the same.
fn alike(a: &[u8], b: &[u8]) -> bool {
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        let lines = text.split(|b| *b == b'\n').map(|line| line.trim_ascii().to_vec());
        lines.filter(|line| !line.is_empty()).collect()
    };
    let (a, b) = (lines(a), lines(b));
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    for line in &a {
        *counts.entry(line).or_default() += 1;
    }
    let common = b.iter().filter(|line| {
        counts
            .get_mut(line.as_slice())
            .is_some_and(|left| *left > 0 && std::mem::replace(left, *left - 1) > 0)
    });
    // Two lines in common are a greeting, not a proof.
    let common = common.count();
    common >= 2 && common * 100 >= a.len().max(b.len()) * PROOF
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, files: &[(&str, &str)]) -> Option<(String, bool, bool)> {
        let path = VaultPath::parse(name).unwrap();
        let get =
            |p: &VaultPath| files.iter().find(|(n, _)| *n == p.as_str()).map(|(_, t)| t.as_bytes().to_vec());
        original(&path, |p| get(p).is_some(), get).map(|c| (c.of.to_string(), c.there, c.same))
    }

    const LONG: &str = "one line of the note\nanother line of it\nthe third line of all\nand a fourth\n";

    #[test]
    fn names_that_programs_give() {
        for name in [
            "a/note (conflicted copy 2024-01-01).md",
            "a/note (Bob's conflicted copy 2024-01-01).md",
            "a/note (Conflicted copy iPhone 202401011200).md",
            "a/note.sync-conflict-20240101-120000-ABCDEFG.md",
            "a/note_conflict-20240101-120000.md",
            "a/note (Case Conflict 1).md",
            "a/note (Mei 的冲突副本 2024-01-01).md",
        ] {
            assert_eq!(of(name, &[]), Some(("a/note.md".to_owned(), false, false)), "{name}");
            let files = [("a/note.md", "x"), (name, "x")];
            assert_eq!(of(name, &files), Some(("a/note.md".to_owned(), true, true)), "{name}");
        }
        assert_eq!(of("on sync-conflict-resolution.md", &[]), None);
        assert_eq!(of("a.sync-conflict-x.md", &[]), None);
    }

    #[test]
    fn other_names_prove_nothing_without_the_text() {
        let changed = LONG.replace("another", "one more");
        for name in ["note (1).md", "note 2.md", "note copy.md", "note-LAPTOP-7AB.md", "note-Meis-MacBook.md"]
        {
            let at = |text: &str| of(name, &[("note.md", LONG), (name, text)]);
            assert_eq!(at(LONG), Some(("note.md".to_owned(), true, true)), "{name}");
            assert_eq!(at(&changed), Some(("note.md".to_owned(), true, false)), "{name}");
            assert_eq!(at("quite another thing, which only has\nsuch a name\nby chance\n"), None, "{name}");
            assert_eq!(of(name, &[(name, LONG)]), None, "{name}");
        }
        assert_eq!(of("note (1).md", &[("note.md", ""), ("note (1).md", "")]), None);
    }
}
