//! Who reads, and which state of the vault.

use globset::GlobMatcher;

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
    /// The paths that the reader may see, compiled once for many questions.
    #[must_use]
    pub fn reads(&self) -> Reach {
        Reach::of(self.actor.as_ref().and_then(|actor| actor.reads.as_ref()))
    }

    /// Whether the reader may see a path at all.
    #[must_use]
    pub fn may_read(&self, path: &VaultPath) -> bool {
        self.reads().holds(path)
    }

    /// Whether the reader may see a memory of that sensitivity.
    #[must_use]
    pub fn may_see(&self, sensitivity: Sensitivity) -> bool {
        self.actor.as_ref().is_none_or(|actor| sensitivity <= actor.clearance())
    }

    /// Whether an agent reads, which sees approved states only.
    #[must_use]
    pub fn is_agent(&self) -> bool {
        self.actor.as_ref().is_some_and(|actor| !actor.is_person())
    }

    /// Whether there may be something that the reader does not see.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.actor.as_ref().is_some_and(|actor| actor.reads.is_some())
            || !self.may_see(Sensitivity::Restricted)
    }
}

/// An actor's globs (`reads`, `proposes`, `reviews`), compiled.
#[derive(Debug)]
pub struct Reach(Option<Vec<GlobMatcher>>);

impl Reach {
    /// Compiles a list of globs; no list reaches everything, a malformed glob nothing.
    #[must_use]
    pub fn of(globs: Option<&Vec<String>>) -> Reach {
        Reach(globs.map(|globs| globs.iter().filter_map(|glob| compile_glob(glob).ok()).collect()))
    }

    /// Whether every path is within it.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a path is within it.
    #[must_use]
    pub fn holds(&self, path: &VaultPath) -> bool {
        self.holds_text(path.as_str())
    }

    /// Whether the path of a text is within it.
    #[must_use]
    pub fn holds_text(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|globs| globs.iter().any(|glob| glob.is_match(path)))
    }
}
