//! What differs between two states, file by file, as people and programs read it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::change::{DiffRecord, Entry, mode};
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::model::uri::Uri;
use crate::store::git::{GitError, Hunk, Repo, hunks};

/// Files over this many bytes are not shown line by line.
const MAX_SHOWN: u64 = 4 << 20;

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content or mode changed.
    Modified,
    /// It became something else than a file, or the reverse.
    Retyped,
}

impl FileStatus {
    /// Git's letter.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            FileStatus::Added => 'A',
            FileStatus::Deleted => 'D',
            FileStatus::Modified => 'M',
            FileStatus::Retyped => 'T',
        }
    }
}

/// One file that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileDiff {
    /// Its URI.
    pub uri: String,
    /// Its path relative to the vault; bytes that are no UTF-8 are replaced.
    pub path: String,
    /// What happened to it.
    pub status: FileStatus,
    /// The blob before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Oid>,
    /// The blob afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Oid>,
    /// How many lines were added.
    pub added: u32,
    /// How many lines were removed.
    pub removed: u32,
    /// Why there are no hunks, where there are none: it is no text, or too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<String>,
    /// What differs.
    pub hunks: Vec<Hunk>,
}

/// The files of some records.
///
/// # Errors
/// When a blob cannot be read.
pub fn files(repo: &Repo, records: &[DiffRecord]) -> Result<Vec<FileDiff>, Fault> {
    records.iter().map(|record| Ok(file(repo, record)?)).collect()
}

/// The record of one path; `None` when nothing differs.
#[must_use]
pub fn record(path: &VaultPath, old: Option<Entry>, new: Option<Entry>) -> Option<DiffRecord> {
    let of = |entry: Option<Entry>| entry.map_or((mode::NONE, Oid::ZERO), |e| (e.mode, e.oid));
    let ((old_mode, old_oid), (new_mode, new_oid)) = (of(old), of(new));
    let path = path.as_str().as_bytes().to_vec();
    (old != new).then_some(DiffRecord { path, old_mode, new_mode, old_oid, new_oid })
}

fn file(repo: &Repo, record: &DiffRecord) -> Result<FileDiff, GitError> {
    let path = record.vault_path();
    let shown = String::from_utf8_lossy(&record.path).into_owned();
    let mut out = FileDiff {
        uri: path.map_or_else(|| format!("viking://{shown}"), |path| Uri::file(path).to_string()),
        path: shown,
        status: match record.status() {
            'A' => FileStatus::Added,
            'D' => FileStatus::Deleted,
            'T' => FileStatus::Retyped,
            _ => FileStatus::Modified,
        },
        old: (record.old_mode != mode::NONE).then_some(record.old_oid),
        new: (record.new_mode != mode::NONE).then_some(record.new_oid),
        added: 0,
        removed: 0,
        omitted: None,
        hunks: Vec::new(),
    };
    let (Some(old), Some(new)) =
        (text(repo, record.old_mode, record.old_oid)?, text(repo, record.new_mode, record.new_oid)?)
    else {
        out.omitted = Some("too large to show".to_owned());
        return Ok(out);
    };
    match hunks(&old, &new)? {
        Some(hunks) => {
            let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
            for line in lines {
                out.added += u32::from(line.starts_with('+'));
                out.removed += u32::from(line.starts_with('-'));
            }
            out.hunks = hunks;
        }
        None => out.omitted = Some("no text".to_owned()),
    }
    if out.hunks.is_empty() && record.old_mode != record.new_mode && out.omitted.is_none() {
        out.omitted = Some(format!("mode {:06o} → {:06o}", record.old_mode, record.new_mode));
    }
    Ok(out)
}

/// The bytes of a side; nothing for what is not there or is no blob; `None` when it is too large.
fn text(repo: &Repo, of: u32, oid: Oid) -> Result<Option<Vec<u8>>, GitError> {
    match of {
        mode::FILE | mode::EXECUTABLE | mode::LINK => {
            if repo.blob_size(oid)? > MAX_SHOWN {
                Ok(None)
            } else {
                repo.blob(oid).map(Some)
            }
        }
        _ => Ok(Some(Vec::new())),
    }
}
