//! Who reads, and which state of the vault.

use super::actor::{Actor, Sensitivity};
use super::id::ProposalId;
use super::path::VaultPath;
use super::policy::compile_glob;

/// Which state of the vault is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// The approved branch.
    Main,
    /// The files of this work tree, committed or not.
    WorkTree,
    /// A commit, a date or another revision of git's.
    Revision(String),
    /// An open proposal over main.
    Proposal(ProposalId),
}

/// Every read goes through one: who reads, and what of the vault.
#[derive(Debug, Clone)]
pub struct Access {
    /// The reader, where it is in `actors.yaml`; a person without an entry reads as one with every clearance.
    pub actor: Option<Actor>,
    /// The state that is read.
    pub view: View,
}

impl Access {
    /// Whether the reader may see a path at all.
    #[must_use]
    pub fn may_read(&self, path: &VaultPath) -> bool {
        let Some(globs) = self.actor.as_ref().and_then(|actor| actor.reads.as_ref()) else { return true };
        globs.iter().any(|glob| compile_glob(glob).is_ok_and(|g| g.is_match(path.as_str())))
    }

    /// Whether the reader may see a memory of that sensitivity.
    #[must_use]
    pub fn may_see(&self, sensitivity: Sensitivity) -> bool {
        self.actor.as_ref().is_none_or(|actor| sensitivity <= actor.clearance())
    }
}
