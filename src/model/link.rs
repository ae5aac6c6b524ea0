//! Links between memories, and how a name finds its file.

use std::ops::Range;

use serde::Serialize;

use super::path::VaultPath;

/// In which form a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkForm {
    /// `[[name]]`, `[[path/name#Heading|alias]]`.
    Wiki,
    /// `[text](relative/path.md)`.
    Markdown,
    /// `[text](viking://…)` or `<viking://…>`.
    Uri,
}

/// One link of a memory, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its form.
    pub form: LinkForm,
    /// What it names, decoded and without fragment or alias: `name`, `path/name`, `../a.md`, a URI's path. Empty
    /// for a link within the same file.
    pub target: String,
    /// The fragment without its `#`: a heading, `A#B`, or `^block`.
    pub fragment: Option<String>,
    /// The text that is shown in its place.
    pub text: Option<String>,
    /// Whether it embeds (`![[…]]`, `![…](…)`).
    pub embed: bool,
    /// The front-matter property whose value it is: a typed relation of that name.
    pub relation: Option<String>,
    /// The line, counted from 1.
    pub line: u32,
    /// Its bytes in [`super::memory::Memory::text`].
    pub range: Range<usize>,
}

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// One file, by the rules of exact names.
    File(VaultPath),
    /// Several files have the name; the first is taken, the rest are named in the finding.
    Ambiguous(Vec<VaultPath>),
    /// Only an alias has the name.
    Alias(VaultPath),
    /// A directory.
    Directory(VaultPath),
    /// Something outside the vault (`https://…`, `mailto:…`).
    External,
    /// Nothing.
    Broken,
}

/// The names of a state of the vault, as link resolution asks for them. Answers are in the order of their paths.
pub trait Names {
    /// Whether a file stands there.
    fn has_file(&self, path: &VaultPath) -> bool;
    /// Whether a directory stands there.
    fn has_directory(&self, path: &VaultPath) -> bool;
    /// All files whose last segment equals `name` after NFC and case folding ([`name_key`]).
    fn files_named(&self, name_key: &str) -> Vec<VaultPath>;
    /// All memories with this alias, after NFC and case folding ([`name_key`]).
    fn files_with_alias(&self, name_key: &str) -> Vec<VaultPath>;
}

/// What a link of the memory at `from` leads to.
#[must_use]
pub fn resolve(link: &Link, from: &VaultPath, names: &dyn Names) -> Resolution {
    if link.target.is_empty() {
        return Resolution::File(from.clone());
    }
    match VaultPath::parse(&link.target) {
        Ok(path) if names.has_file(&path) => Resolution::File(path),
        Ok(path) if names.has_directory(&path) => Resolution::Directory(path),
        _ => Resolution::Broken,
    }
}

/// The text under which names are looked up without regard to case or normal form.
#[must_use]
pub fn name_key(name: &str) -> String {
    use unicode_normalization::UnicodeNormalization as _;
    caseless::default_case_fold_str(&name.nfc().collect::<String>()).nfc().collect()
}
