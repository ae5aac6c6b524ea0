//! What of the files could not be looked at: told beside an answer about the rest.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::path::VaultPath;
use crate::store::git::{Unseen, WorkChange};

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
