//! What may merge, and why: one pure function over objects. Merge, audit and the server's hook call it, so that they
//! can never disagree.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::event::Verdict;
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::policy::Identities;
use crate::model::proposal::State;

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
