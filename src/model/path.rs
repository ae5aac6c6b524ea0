//! Where a file stands in the vault.

use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::fault::{Explain, Kind};

/// A place in the vault: segments with `/` between, no leading or trailing slash; the root is the empty text.
///
/// A value of this type never leaves the vault by its text (no empty, `.` or `..` segment, no NUL). It may hold
/// what is legal on a disk and not in a URI (control characters, `\`); [`VaultPath::parse`] is the strict door for
/// what people and agents type, [`VaultPath::from_disk`] the lenient one for what is there already.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct VaultPath(String);

/// Why a text is no path in a vault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no path in a vault: {reason}", text.escape_debug())]
pub struct PathError {
    /// What was read.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Explain for PathError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }
}

/// The longest name that common file systems hold, in bytes.
pub const MAX_SEGMENT: usize = 255;

impl VaultPath {
    /// The root of the vault.
    #[must_use]
    pub fn root() -> VaultPath {
        VaultPath::default()
    }

    /// Reads what somebody typed. A single trailing `/` is accepted.
    ///
    /// # Errors
    /// Refuses empty, `.` and `..` segments, control characters, `\` and segments over 255 bytes.
    pub fn parse(text: &str) -> Result<VaultPath, PathError> {
        let err = |reason| PathError { text: text.to_owned(), reason };
        let trimmed = text.strip_suffix('/').unwrap_or(text);
        if text.starts_with('/') {
            return Err(err("it begins with `/`"));
        }
        if trimmed.is_empty() {
            return Ok(VaultPath::root());
        }
        for segment in trimmed.split('/') {
            match segment {
                "" => return Err(err("it has an empty segment")),
                "." | ".." => return Err(err("`.` and `..` are no names")),
                _ if segment.len() > MAX_SEGMENT => return Err(err("a name is longer than 255 bytes")),
                _ if segment.contains('\\') => return Err(err("a name has a `\\`")),
                _ if segment.chars().any(char::is_control) => {
                    return Err(err("a name has a control character"));
                }
                _ => {}
            }
        }
        Ok(VaultPath(trimmed.to_owned()))
    }

    /// Takes what a directory walk or a git tree gave; `None` if it is not UTF-8 or could leave the vault.
    #[must_use]
    pub fn from_disk(bytes: &[u8]) -> Option<VaultPath> {
        let text = std::str::from_utf8(bytes).ok()?;
        let safe = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains('\0');
        (text.is_empty() || text.split('/').all(safe)).then(|| VaultPath(text.to_owned()))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The directory that holds it; the root is its own.
    #[must_use]
    pub fn parent(&self) -> VaultPath {
        VaultPath(self.0.rfind('/').map_or("", |at| &self.0[..at]).to_owned())
    }

    /// The directories above it, nearest first, the root last. The root has none.
    pub fn ancestors(&self) -> impl Iterator<Item = VaultPath> + use<> {
        let mut next = (!self.is_root()).then(|| self.parent());
        std::iter::from_fn(move || {
            let now = next.take()?;
            next = (!now.is_root()).then(|| now.parent());
            Some(now)
        })
    }

    /// The last segment.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rfind('/').map_or(&self.0, |at| &self.0[at + 1..])
    }

    /// The last segment without its ending: `a/b.c.md` gives `b.c`, `.hidden` stays.
    #[must_use]
    pub fn stem(&self) -> &str {
        let name = self.name();
        match name.rfind('.') {
            Some(at) if at > 0 => &name[..at],
            _ => name,
        }
    }

    /// What follows the last dot of the last segment, if anything does.
    #[must_use]
    pub fn extension(&self) -> Option<&str> {
        let name = self.name();
        name.rfind('.').filter(|at| *at > 0).map(|at| &name[at + 1..])
    }

    /// Whether it is a Markdown file by its ending (`.md` or `.markdown`, in either case).
    #[must_use]
    pub fn is_markdown(&self) -> bool {
        self.extension().is_some_and(|e| e.eq_ignore_ascii_case("md") || e.eq_ignore_ascii_case("markdown"))
    }

    /// Whether it is a canvas of Obsidian's by its ending.
    #[must_use]
    pub fn is_canvas(&self) -> bool {
        self.extension().is_some_and(|e| e.eq_ignore_ascii_case("canvas"))
    }

    /// Whether it is a layer file (`.abstract.md` or `.overview.md`) by its name.
    #[must_use]
    pub fn is_layer(&self) -> bool {
        matches!(self.name(), ".abstract.md" | ".overview.md")
    }

    /// Whether a segment begins with a dot (`.runebook`, `.obsidian`, `.git`, a layer).
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.0.split('/').any(|segment| segment.starts_with('.'))
    }

    /// The first of its names that git keeps for itself, in whatever disguise: no commit can hold it.
    #[must_use]
    pub fn gits_own(&self) -> Option<&str> {
        self.0.split('/').find(|name| is_gits(name))
    }

    /// One segment further down. The segment is checked as [`VaultPath::parse`] does.
    ///
    /// # Errors
    /// As [`VaultPath::parse`].
    pub fn join(&self, tail: &str) -> Result<VaultPath, PathError> {
        if self.is_root() { VaultPath::parse(tail) } else { VaultPath::parse(&format!("{}/{tail}", self.0)) }
    }

    /// Whether it is `directory` or stands below it.
    #[must_use]
    pub fn is_within(&self, directory: &VaultPath) -> bool {
        directory.is_root()
            || self.0.strip_prefix(&directory.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The first segment: the scope. A file at the root has none.
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.0.split_once('/').map(|(scope, _)| scope)
    }

    /// The text under which two paths count as the same name on some system: NFKC, case folded, without
    /// ignorable characters.
    #[must_use]
    pub fn collision_key(&self) -> String {
        if self.0.is_ascii() {
            // All that folding, normal form and ignorable characters come to there, at a fraction of the cost.
            return self.0.to_ascii_lowercase();
        }
        let shown = self.0.chars().filter(|c| !is_ignorable(*c));
        let folded = caseless::default_case_fold_str(&shown.nfkc().collect::<String>());
        folded.nfkc().collect()
    }
}

/// A name as the most forgiving file system would read it: folded, without ignorable characters, without a stream's
/// name behind a colon, without trailing dots and spaces.
#[must_use]
pub fn bare(name: &str) -> String {
    let Some(one) = VaultPath::from_disk(name.as_bytes()) else { return String::new() };
    let key = one.collision_key();
    key.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']).to_owned()
}

/// Whether a name is git's own, or becomes it on some system. `\` separates names on Windows, so what stands between
/// counts too.
#[must_use]
pub fn is_gits(name: &str) -> bool {
    name.split('\\').any(|part| matches!(bare(part).as_str(), ".git" | "git~1"))
}

/// Characters that a file system or an eye may skip: joiners, marks of direction, variation selectors, soft hyphen.
#[must_use]
pub fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{E0000}'..='\u{E0FFF}')
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl<'de> Deserialize<'de> for VaultPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        VaultPath::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for VaultPath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "VaultPath".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "path relative to the vault, `/` between segments" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_vault_is_refused() {
        for bad in ["/etc", "a//b", "../a", "a/./b", "a/..", "a\\b", "a\nb", &"x".repeat(256)] {
            assert!(VaultPath::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(VaultPath::parse("a/b/").unwrap().as_str(), "a/b");
        assert!(VaultPath::from_disk(b"a/../b").is_none());
        assert!(VaultPath::from_disk(b"\xff").is_none());
        assert!(VaultPath::from_disk(b"a\nb.md").is_some());
    }

    #[test]
    fn parts() {
        let path = VaultPath::parse("user/日记/2026.11.md").unwrap();
        assert_eq!((path.name(), path.stem(), path.extension()), ("2026.11.md", "2026.11", Some("md")));
        assert_eq!(path.scope(), Some("user"));
        let above: Vec<String> = path.ancestors().map(|p| p.to_string()).collect();
        assert_eq!(above, ["user/日记", "user", ""]);
        assert!(path.is_within(&VaultPath::parse("user").unwrap()));
        assert!(!path.is_within(&VaultPath::parse("use").unwrap()));
    }

    #[test]
    fn names_that_git_keeps_for_itself() {
        let of = |text: &str| VaultPath::from_disk(text.as_bytes()).unwrap().gits_own().map(str::to_owned);
        for name in [
            ".git",
            ".GIT",
            "git~1",
            "GIT~1",
            ".git.",
            ".git ",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
        ] {
            assert_eq!(of(name).as_deref(), Some(name));
            assert_eq!(of(&format!("a/{name}/x.md")).as_deref(), Some(name));
        }
        assert_eq!(of("a/.git\\x.md").as_deref(), Some(".git\\x.md"));
        assert_eq!(of(".g\u{200C}it/x.md").as_deref(), Some(".g\u{200C}it"));
        for name in [".gitignore", "git", "git~2", "a.git", "x:.git", ".git-notes", "git~1.md"] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn twins_have_one_key() {
        let key = |t: &str| VaultPath::from_disk(t.as_bytes()).unwrap().collision_key();
        assert_eq!(key("Cafe\u{301}.md"), key("CAFÉ.md"));
        assert_eq!(key("a\u{200B}b.md"), key("ab.md"));
        assert_eq!(key("ﬁle.md"), key("file.md"));
        assert_ne!(key("a.md"), key("b.md"));
    }
}
