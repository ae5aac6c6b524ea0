//! What changes: the content that a flow is about to write, and the difference between two trees.

use std::collections::BTreeMap;

use super::id::{Digest, Oid};
use super::path::VaultPath;

/// The modes that git stores for a tree's entries.
pub mod mode {
    /// No entry.
    pub const NONE: u32 = 0;
    /// A directory.
    pub const TREE: u32 = 0o040_000;
    /// A plain file.
    pub const FILE: u32 = 0o100_644;
    /// A file that can be executed.
    pub const EXECUTABLE: u32 = 0o100_755;
    /// A symbolic link.
    pub const LINK: u32 = 0o120_000;
    /// A submodule.
    pub const SUBMODULE: u32 = 0o160_000;
}

/// An entry of a git tree, at its full path or by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// One of [`mode`].
    pub mode: u32,
    /// The object.
    pub oid: Oid,
}

/// One file's part in a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file has these bytes afterwards (mode 100644).
    Write(Vec<u8>),
    /// The file has this entry afterwards: its blob is in the repository already.
    Put(Entry),
    /// The file is gone afterwards.
    Delete,
}

/// Everything that one operation changes, by path. Applied whole or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The changes in the order of their paths.
    pub changes: BTreeMap<VaultPath, Change>,
}

impl ChangeSet {
    /// Adds a file's new bytes.
    pub fn write(&mut self, path: VaultPath, bytes: Vec<u8>) {
        self.changes.insert(path, Change::Write(bytes));
    }

    /// Adds a deletion.
    pub fn delete(&mut self, path: VaultPath) {
        self.changes.insert(path, Change::Delete);
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// One path that differs between two trees, as `git diff-tree --raw --no-renames` gives it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiffRecord {
    /// The path's bytes; not every path in a tree is UTF-8.
    pub path: Vec<u8>,
    /// The mode before; [`mode::NONE`] when it was added.
    pub old_mode: u32,
    /// The mode afterwards; [`mode::NONE`] when it was deleted.
    pub new_mode: u32,
    /// The object before; zero when it was added.
    pub old_oid: Oid,
    /// The object afterwards; zero when it was deleted.
    pub new_oid: Oid,
}

impl DiffRecord {
    /// Git's letter: `A` added, `D` deleted, `T` type changed, `M` modified.
    #[must_use]
    pub fn status(&self) -> char {
        const TYPE: u32 = 0o170_000;
        match (self.old_mode, self.new_mode) {
            (mode::NONE, _) => 'A',
            (_, mode::NONE) => 'D',
            (old, new) if old & TYPE != new & TYPE => 'T',
            _ => 'M',
        }
    }

    /// Whether its last segment is a layer's name, which the digest leaves out.
    #[must_use]
    pub fn is_layer(&self) -> bool {
        let name = self.path.rsplit(|b| *b == b'/').next().unwrap_or_default();
        name == b".abstract.md" || name == b".overview.md"
    }

    /// The path, where it can be one of a vault.
    #[must_use]
    pub fn vault_path(&self) -> Option<VaultPath> {
        VaultPath::from_disk(&self.path)
    }
}

/// The digest of a revision: SHA-256 over `:oldmode newmode oldoid newoid status NUL path NUL` for each record,
/// sorted by the path's bytes, layers left out. `git diff-tree -r --raw --no-renames --full-index -z` prints the
/// same bytes.
#[must_use]
pub fn digest(records: &[DiffRecord]) -> Digest {
    let mut sorted: Vec<&DiffRecord> = records.iter().filter(|record| !record.is_layer()).collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    let mut bytes = Vec::new();
    for r in sorted {
        let head =
            format!(":{:06o} {:06o} {} {} {}", r.old_mode, r.new_mode, r.old_oid, r.new_oid, r.status());
        bytes.extend_from_slice(head.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&r.path);
        bytes.push(0);
    }
    Digest::of(&bytes)
}
