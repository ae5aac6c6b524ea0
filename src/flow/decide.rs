//! What may merge, and why: one pure function over objects. Merge, audit and the server's hook call it, so that they
//! can never disagree.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::{Against, Branch};
use super::gate::governance::Governances;
use super::gate::history::History;
use super::gate::judge::judge;
use super::root;
use crate::model::actor::{Actor, Role};
use crate::model::event::Verdict;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::Finding;
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::policy::Identities;
use crate::model::proposal::State;
use crate::store::git::Repo;

/// Why nothing can be decided.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// The branch has no event `open`.
    #[error("proposal {0} has no event `open`")]
    NoOpen(ProposalId),
}

impl Explain for DecideError {
    fn kind(&self) -> Kind {
        Kind::NotAllowed
    }
}

/// A verdict that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Voice {
    /// The event.
    pub event: Oid,
    /// Who gave it.
    pub actor: ActorId,
    /// Who is behind the actor.
    pub principal: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The revision that it was given to.
    pub revision: u32,
}

/// What may be done with a proposal, and why.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Decision {
    /// The proposal.
    pub proposal: ProposalId,
    /// Where it stands. [`State::Approved`] is the only one that merges.
    pub state: State,
    /// Why it does not merge, or why it does, as sentences for people; the exact reasons, all of them.
    pub reasons: Vec<String>,
    /// What else is worth knowing: verdicts that count for nothing, and why.
    pub notes: Vec<String>,
    /// What is still needed, as sentences for people. Empty when it is approved.
    pub missing: Vec<String>,
    /// BASE.
    pub base: Oid,
    /// The present digest.
    pub digest: Digest,
    /// How many revisions were submitted.
    pub revision: u32,
    /// Who opened it.
    pub proposer: ActorId,
    /// What it is about.
    pub title: String,
    /// The approvals that count: independent, and of exactly this content.
    pub approvals: Vec<Voice>,
    /// The vetoes that stand.
    pub vetoes: Vec<Voice>,
    /// The policy's rules that apply, by number, with the paths for which each holds.
    pub rules: BTreeMap<u32, Vec<VaultPath>>,
    /// The merge that it takes back exactly, in which case a person may merge it without an approval.
    pub exact_rollback: Option<Oid>,
    /// Whether only a person may merge it: it has no approvals and is an exact rollback.
    pub person_merges: bool,
    /// Whether the identities are proved. This version verifies no signature, so they are recorded.
    pub identities: Identities,
    /// The paths that main changed since BASE as well.
    pub conflicts: Vec<String>,
}

impl Decision {
    /// Why this actor may not merge it although it is approved; `None` when it may.
    #[must_use]
    pub fn refuses_merger(&self, actor: &Actor) -> Option<String> {
        if !actor.has(Role::Merge) {
            return Some(format!("`{}` does not have the role merge", actor.id));
        }
        (self.person_merges && !actor.is_person()).then(|| {
            format!(
                "it has no approval and takes back a merge exactly: a person must merge it, and `{}` is none",
                actor.id
            )
        })
    }
}

/// Decides on the branch whose last commit is `tip`, against the commit `main` of the approved branch, with the
/// findings of the required checks.
///
/// A tip that is on main already is [`State::Merged`], judged against the main that it merged into.
///
/// # Errors
/// When the branch is not of the one allowed shape (see [`super::branch::BranchError`]), was rewritten or detached,
/// or an object is missing.
pub fn decide(repo: &Repo, main: Oid, tip: Oid, findings: &[Finding]) -> Result<Decision, Fault> {
    let mut history = History::of(repo, main);
    let merged_into = Branch::merged_into(repo, tip, &mut history)?;
    if let Some(before) = merged_into {
        history = History::of(repo, before);
    }
    let root = root::pinned_in(repo, main)?;
    let seen = merged_into.is_none();
    let branch = Branch::read_against(repo, None, tip, &mut Against { history: &mut history, root, seen })?;
    let standing = Governances::default().at(repo, branch.main)?;
    let mut decision = judge(repo, &branch, &standing, &mut history, findings)?;
    if merged_into.is_some() {
        decision.state = State::Merged;
        decision.reasons = vec!["it is on the approved branch".to_owned()];
        decision.missing.clear();
    }
    Ok(decision)
}

/// As [`decide`], for a branch that was read already ([`Branch::read`]).
///
/// # Errors
/// When an object is missing, or main has no settings that can be used.
pub fn decide_on(repo: &Repo, branch: &Branch, findings: &[Finding]) -> Result<Decision, Fault> {
    let standing = Governances::default().at(repo, branch.main)?;
    judge(repo, branch, &standing, &mut History::of(repo, branch.main), findings)
}
