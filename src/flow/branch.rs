//! The branch of a proposal, read from its commits and held to its shape.
//!
//! Nothing here trusts a name, a date or a stored state: every event is parsed in its canonical form and compared
//! with what is computed at its parent. The cost follows the branch; of main's history only the distance to BASE
//! is walked.

use std::collections::HashMap;
use std::rc::Rc;

use super::gate::history::History;
use super::root;
use crate::model::change::DiffRecord;
use crate::model::commit::Commit;
use crate::model::event::{Data, Event, EventError};
use crate::model::fault::{Explain, Kind};
use crate::model::id::{Digest, Oid, ProposalId};
use crate::store::git::{GitError, Repo};

/// The most commits that a branch may have.
pub const MAX_COMMITS: usize = 4096;
/// The most entries that differ over all comparisons that reading a branch makes.
pub const MAX_COMPARED: usize = 1_000_000;
/// The longest message of a commit on a branch, in bytes.
pub const MAX_MESSAGE: usize = 1 << 20;

/// Why a branch is no proposal.
#[derive(Debug, thiserror::Error)]
pub enum BranchError {
    /// A commit has a shape that no proposal has.
    #[error("proposal {id}: commit {} {why}", commit.short())]
    Shape {
        /// The proposal, or `?` before its name is known.
        id: String,
        /// The commit.
        commit: Oid,
        /// What is wrong with it.
        why: String,
    },
    /// A commit claims to be an event and is none.
    #[error("proposal {id}: commit {} changes nothing and is no event: {why}", commit.short())]
    Event {
        /// The proposal.
        id: String,
        /// The commit.
        commit: Oid,
        /// What is wrong with it.
        why: EventError,
    },
    /// A line of an event is not what its place on the branch gives.
    #[error("proposal {id}: event {} says {line} {says}, but its place on the branch gives {found}", commit.short())]
    Mismatch {
        /// The proposal.
        id: String,
        /// The event.
        commit: Oid,
        /// The line.
        line: &'static str,
        /// What it says.
        says: String,
        /// What it should say.
        found: String,
    },
    /// The branch does not begin with `open`.
    #[error("proposal {id}: the branch has no event `open` on its first-parent line")]
    NoOpen {
        /// The proposal.
        id: String,
    },
    /// BASE is no ancestor of main.
    #[error("proposal {id} is detached: its base {} is no ancestor of the approved branch", base.short())]
    Detached {
        /// The proposal.
        id: String,
        /// BASE.
        base: Oid,
    },
    /// The branch no longer holds the tip that was seen before.
    #[error("proposal {id} was rewritten: {} was its tip, and {} does not descend from it", seen.short(), tip.short())]
    Rewritten {
        /// The proposal.
        id: String,
        /// The tip seen before.
        seen: Oid,
        /// The tip now.
        tip: Oid,
    },
    /// The branch is longer than any proposal.
    #[error("proposal {id}: the branch has {what}")]
    TooLarge {
        /// The proposal.
        id: String,
        /// What there is too much of.
        what: String,
    },
    /// There is no such branch.
    #[error("there is no proposal {0}")]
    Missing(ProposalId),
    /// Git could not read it.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Explain for BranchError {
    fn kind(&self) -> Kind {
        match self {
            BranchError::Git(error) => error.kind(),
            BranchError::Missing(_) => Kind::Nothing,
            BranchError::Detached { .. } => Kind::Conflict,
            _ => Kind::NotAllowed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            BranchError::Git(error) => error.hint(),
            BranchError::Missing(_) => Some("`runebook propose list` shows the open ones".to_owned()),
            BranchError::Detached { id, .. } => {
                Some(format!("cut it anew from today's approved branch with `runebook propose new --from {id}`"))
            }
            BranchError::Rewritten { id, seen, .. } => {
                Some(format!("a proposal only grows; the tip that was reviewed is kept: `git log {seen}` (refs/runebook/seen/{id})"))
            }
            _ => Some("a proposal's branch holds only changes, events and merges of the approved branch; begin a new one with `runebook propose new`".to_owned()),
        }
    }
}

/// What a commit of a branch is.
#[derive(Debug, Clone)]
pub enum Shape {
    /// It changes the tree. Holds what it changes against its parent, layers included.
    Content(Vec<DiffRecord>),
    /// It says something.
    Event(Box<Event>),
    /// It merges main. Holds what of the proposal it changes: the paths whose part in the difference to BASE is not
    /// what it was before. Empty for a clean merge.
    Update(Vec<DiffRecord>),
    /// It joins two tips of the proposal.
    Join,
}

/// A commit of a branch.
#[derive(Debug, Clone)]
pub struct BranchCommit {
    /// Its name.
    pub oid: Oid,
    /// Its content.
    pub commit: Rc<Commit>,
    /// What it is.
    pub shape: Shape,
    /// BASE at this commit.
    pub base: Oid,
    /// The digest of the difference between BASE and its tree.
    pub digest: Digest,
    /// How many `submit` events there are up to it.
    pub revision: u32,
    /// The places of its parents in [`Branch::commits`]; one that stands on main has none.
    pub parents: Vec<usize>,
}

impl BranchCommit {
    /// The event, if it is one.
    #[must_use]
    pub fn event(&self) -> Option<&Event> {
        match &self.shape {
            Shape::Event(event) => Some(event),
            _ => None,
        }
    }

    /// What it adds to the proposal's content, layers included; empty for events, joins and clean updates.
    #[must_use]
    pub fn changes(&self) -> &[DiffRecord] {
        match &self.shape {
            Shape::Content(records) | Shape::Update(records) => records,
            _ => &[],
        }
    }

    /// Whether approvals must come after it: a content commit, or an update that changed more than a merge does.
    #[must_use]
    pub fn is_content(&self) -> bool {
        match &self.shape {
            Shape::Content(_) => true,
            Shape::Update(records) => !records.is_empty(),
            _ => false,
        }
    }
}

/// A proposal's branch, well formed from BASE to its tip.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The proposal.
    pub id: ProposalId,
    /// The vault's root commit.
    pub vault: Oid,
    /// The last commit.
    pub tip: Oid,
    /// The commit of main against which it was read.
    pub main: Oid,
    /// BASE at the tip.
    pub base: Oid,
    /// The digest at the tip.
    pub digest: Digest,
    /// What differs between BASE and the tip, sorted by path, without layers: what the digest is made from.
    pub records: Vec<DiffRecord>,
    /// How many revisions were submitted.
    pub revision: u32,
    /// The tree of the tip.
    pub tree: Oid,
    /// All commits, parents before their children.
    pub commits: Vec<BranchCommit>,
    /// For each commit the set of its ancestors on the branch, itself included, as bits.
    pub(super) ancestors: Vec<Vec<u64>>,
    pub(super) places: HashMap<Oid, usize>,
}

/// What a branch is read against.
#[derive(Debug)]
pub struct Against<'h, 'r> {
    /// Main and its ancestors.
    pub history: &'h mut History<'r>,
    /// The vault's root commit.
    pub root: Oid,
    /// Whether the tip last seen must be on the branch.
    pub seen: bool,
}

impl Branch {
    /// Reads the branch of `id` whose last commit is `tip` against the commit `main`; one that was merged already
    /// against the main that it merged into, since its own commits are on main now.
    ///
    /// # Errors
    /// When the branch is not of the one allowed shape: see [`BranchError`].
    pub fn read(repo: &Repo, id: &ProposalId, tip: Oid, main: Oid) -> Result<Branch, BranchError> {
        let root = root::pinned_in(repo, main).map_err(|fault| BranchError::Shape {
            id: id.to_string(),
            commit: main,
            why: format!("gives no root of the vault: {fault}"),
        })?;
        let mut history = History::of(repo, main);
        if let Some(before) = Branch::merged_into(repo, tip, &mut history)? {
            history = History::of(repo, before);
        }
        Branch::read_against(repo, Some(id), tip, &mut Against { history: &mut history, root, seen: true })
    }

    /// The main into which a tip was merged, if it is a `decide` event that stands on main.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn merged_into(repo: &Repo, tip: Oid, history: &mut History<'_>) -> Result<Option<Oid>, GitError> {
        let event = Event::parse(&repo.commit(tip)?.message).ok();
        match event.map(|event| event.data) {
            Some(Data::Decide(decide)) if history.contains(tip)? => Ok(Some(decide.main)),
            _ => Ok(None),
        }
    }

    /// The open or closed branch of a proposal by its name: its tip and whether it is closed.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(repo: &Repo, id: &ProposalId) -> Result<(Oid, bool), BranchError> {
        if let Some(tip) = repo.ref_oid(&id.open_ref())? {
            return Ok((tip, false));
        }
        repo.ref_oid(&id.closed_ref())?.map(|tip| (tip, true)).ok_or_else(|| BranchError::Missing(id.clone()))
    }
}
