//! The journal of a merge: what is about to happen, on disk before it does, so that a run that was killed can be
//! finished or taken back by the next one.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::change::Entry;
use crate::model::fault::{Explain, Kind};
use crate::model::id::{Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::store::plain;

/// Why the journal cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Reading or writing failed.
    #[error("the journal of merges {}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// It is not of the form.
    #[error("the journal of merges {} cannot be read: {why}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Explain for JournalError {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        match self {
            JournalError::Io { .. } => None,
            JournalError::Form { path, .. } => Some(format!(
                "compare `git status` and `git log` with what was merged last, remove {} and any index.lock, and run this again",
                path.display()
            )),
        }
    }
}

/// A tree's entry as it stands in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The mode.
    pub mode: u32,
    /// The object.
    pub oid: Oid,
}

impl From<Entry> for Kept {
    fn from(entry: Entry) -> Kept {
        Kept { mode: entry.mode, oid: entry.oid }
    }
}

impl From<Kept> for Entry {
    fn from(kept: Kept) -> Entry {
        Entry { mode: kept.mode, oid: kept.oid }
    }
}

/// One path that the merge changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// The path, as its bytes stand in the tree (they are UTF-8).
    pub path: String,
    /// What main has there.
    pub old: Option<Kept>,
    /// What main will have there.
    pub new: Option<Kept>,
    /// What earlier revisions of the proposal had there; `None` in it: nothing.
    pub earlier: Vec<Option<Kept>>,
}

impl Touched {
    /// The path.
    #[must_use]
    pub fn vault_path(&self) -> Option<VaultPath> {
        VaultPath::from_disk(self.path.as_bytes())
    }

    /// What main has there.
    #[must_use]
    pub fn old(&self) -> Option<Entry> {
        self.old.map(Entry::from)
    }

    /// What main will have there.
    #[must_use]
    pub fn wanted(&self) -> Option<Entry> {
        self.new.map(Entry::from)
    }
}

/// A merge under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The version of the form: 1.
    pub version: u32,
    /// The full name of the approved branch.
    pub main_ref: String,
    /// Its commit before.
    pub old_main: Oid,
    /// The merge commit.
    pub merge: Oid,
    /// The proposal.
    pub proposal: ProposalId,
    /// The tip of its branch before.
    pub tip: Oid,
    /// The `decide` event on top of it.
    pub decide: Oid,
    /// What `refs/runebook/seen/<id>` was.
    pub seen: Option<Oid>,
    /// The git directories of the work trees whose index is locked and whose files change.
    pub work_trees: Vec<PathBuf>,
    /// The paths that change.
    pub touched: Vec<Touched>,
}

/// Where the journal of a vault is kept.
#[must_use]
pub fn place(derived_dir: &Path) -> PathBuf {
    derived_dir.join("journal.json")
}

/// The mark of a merge that may hold locks and has no journal yet.
fn mark(derived_dir: &Path) -> PathBuf {
    derived_dir.join("merging")
}

impl Journal {
    /// Whether there is one, or the mark of a merge that had none yet. Costs two looks at the file system.
    #[must_use]
    pub fn exists(derived_dir: &Path) -> bool {
        place(derived_dir).exists() || mark(derived_dir).exists()
    }

    /// Leaves the mark of a merge that is about to take locks.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn announce(derived_dir: &Path) -> Result<(), JournalError> {
        let path = mark(derived_dir);
        fs::create_dir_all(derived_dir)
            .and_then(|()| fs::write(&path, ""))
            .map_err(|why| JournalError::Io { path, why })
    }

    /// Removes the mark: the merge holds no lock any more, or has a journal.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn retract(derived_dir: &Path) -> Result<(), JournalError> {
        let path = mark(derived_dir);
        match fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(JournalError::Io { path, why }),
            _ => Ok(()),
        }
    }

    /// Reads it, if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(derived_dir: &Path) -> Result<Option<Journal>, JournalError> {
        let path = place(derived_dir);
        let text = match plain::read_text(&path) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(JournalError::Io { path, why }),
        };
        let form = |why: String| JournalError::Form { path: path.clone(), why };
        let journal: Journal = serde_json::from_str(&text).map_err(|e| form(e.to_string()))?;
        if journal.version != 1 {
            return Err(form(format!("version {} is not known", journal.version)));
        }
        Ok(Some(journal))
    }

    /// Writes it and waits until the disk has it.
    ///
    /// # Errors
    /// When that fails; there is no journal then.
    pub fn write(&self, derived_dir: &Path) -> Result<(), JournalError> {
        let path = place(derived_dir);
        let io = |why| JournalError::Io { path: path.clone(), why };
        let text = serde_json::to_vec(self)
            .map_err(|e| JournalError::Form { path: path.clone(), why: e.to_string() })?;
        fs::create_dir_all(derived_dir).map_err(io)?;
        let mut file = tempfile::NamedTempFile::new_in(derived_dir).map_err(io)?;
        file.write_all(&text).map_err(io)?;
        file.as_file().sync_all().map_err(io)?;
        file.persist(&path).map_err(|e| io(e.error))?;
        sync_directory(derived_dir).map_err(io)
    }

    /// Removes it: the merge is done or taken back.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn clear(derived_dir: &Path) -> Result<(), JournalError> {
        let path = place(derived_dir);
        match fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(JournalError::Io { path, why }),
            _ => Ok(()),
        }
    }
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_a_broken_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Journal::read(dir.path()).unwrap(), None);
        let journal = Journal {
            version: 1,
            main_ref: "refs/heads/main".to_owned(),
            old_main: Oid([1; 20]),
            merge: Oid([2; 20]),
            proposal: "7k3qm2xd".parse().unwrap(),
            tip: Oid([3; 20]),
            decide: Oid([4; 20]),
            seen: None,
            work_trees: vec![dir.path().to_owned()],
            touched: vec![Touched {
                path: "日记/a\n.md".to_owned(),
                old: None,
                new: Some(Kept { mode: 0o100_644, oid: Oid([5; 20]) }),
                earlier: vec![None, Some(Kept { mode: 0o100_644, oid: Oid([6; 20]) })],
            }],
        };
        journal.write(dir.path()).unwrap();
        assert!(Journal::exists(dir.path()));
        assert_eq!(Journal::read(dir.path()).unwrap(), Some(journal));
        fs::write(place(dir.path()), "{").unwrap();
        let error = Journal::read(dir.path()).unwrap_err();
        assert!(error.hint().unwrap().contains("journal.json"));
        Journal::clear(dir.path()).unwrap();
        Journal::clear(dir.path()).unwrap();
        assert!(!Journal::exists(dir.path()));
    }
}
