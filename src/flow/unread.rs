//! What of the files could not be looked at: told beside an answer about the rest.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::change::{Change, ChangeSet};
use crate::model::fault::Fault;
use crate::model::path::VaultPath;
use crate::store::git::{Repo, Unseen, WorkChange};

/// A file, or a directory with all that it holds, that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unread {
    /// Where it stands.
    pub path: VaultPath,
    /// Why.
    pub why: String,
    /// What to do about it.
    pub hint: String,
}

impl Unread {
    /// One at a path.
    #[must_use]
    pub fn new(path: VaultPath, unseen: &Unseen) -> Unread {
        Unread { path, why: unseen.to_string(), hint: unseen.hint().to_owned() }
    }

    /// What a change says that cannot be looked at.
    #[must_use]
    pub fn of(change: &WorkChange) -> Option<Unread> {
        Some(Unread::new(change.path.clone()?, change.unseen.as_ref()?))
    }
}

/// Takes notes of a folder into a commit. Gives those that no commit can hold or that cannot be read.
///
/// # Errors
/// When one is there, can be read, and cannot be stored.
pub(super) fn take(
    repo: &Repo,
    root: &Path,
    notes: &[VaultPath],
    changes: &mut ChangeSet,
) -> Result<Vec<Unread>, Fault> {
    let mut unread = Vec::new();
    for path in notes {
        if path.gits_own().is_some() {
            unread.push(Unread::new(path.clone(), &Unseen::Reserved));
            continue;
        }
        match repo.add_file(root, path) {
            Ok(Some(entry)) => {
                changes.changes.insert(path.clone(), Change::Put(entry));
            }
            Ok(None) => {}
            Err(error) => match Unseen::of(root, path) {
                Some(why) => unread.push(Unread::new(path.clone(), &why)),
                None => return Err(error.into()),
            },
        }
    }
    Ok(unread)
}
