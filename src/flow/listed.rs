//! Proposals as lines of a list.

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Branch;
use super::proposals::{Assessed, assess, closed_state, when};
use super::vault::Vault;
use crate::model::fault::Fault;
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::proposal::State;

/// A proposal in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    pub id: ProposalId,
    /// What it is about.
    pub title: String,
    /// Where it stands; absent when the branch cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Whether that is without an approval: it takes back a merge exactly, and a person may merge it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub person_merges: bool,
    /// Who opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposer: Option<ActorId>,
    /// How many revisions were submitted.
    pub revision: u32,
    /// How many files it changes.
    pub files: u32,
    /// The present digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// When it was opened, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<String>,
    /// What is still needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Why the branch cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One open proposal as a line of a list; a branch that cannot be read is a line too.
#[must_use]
pub fn listed(vault: &Vault<'_>, main: Oid, id: &ProposalId, tip: Oid) -> Listed {
    assess(vault, main, id, tip).map_or_else(|fault| unreadable(id, &fault), |assessed| line(id, assessed))
}

/// One proposal that ended: what its branch says, without judging anew what is over.
#[must_use]
pub fn listed_closed(vault: &Vault<'_>, main: Oid, id: &ProposalId, tip: Oid) -> Listed {
    let read = || -> Result<Listed, Fault> {
        let branch = Branch::read(&vault.repo, id, tip, main)?;
        Ok(Listed { state: Some(closed_state(&vault.repo, tip)?), ..of_branch(id, &branch) })
    };
    read().unwrap_or_else(|fault| unreadable(id, &fault))
}

/// The line of a proposal that was judged already.
#[must_use]
pub fn line(id: &ProposalId, assessed: Assessed) -> Listed {
    let listed = of_branch(id, &assessed.branch);
    let decision = assessed.decision;
    let (state, person_merges) = (Some(decision.state), decision.person_merges);
    Listed { state, person_merges, missing: decision.missing, ..listed }
}

fn of_branch(id: &ProposalId, branch: &Branch) -> Listed {
    let opened = branch.open();
    Listed {
        id: id.clone(),
        title: opened.map(|(_, _, open)| open.title.clone()).unwrap_or_default(),
        state: None,
        person_merges: false,
        proposer: opened.map(|(_, event, _)| event.actor.clone()),
        revision: branch.revision,
        files: u32::try_from(branch.records.len()).unwrap_or(u32::MAX),
        digest: Some(branch.digest),
        opened: opened.map(|(commit, _, _)| when(commit.commit.author.time)),
        missing: Vec::new(),
        problem: None,
    }
}

fn unreadable(id: &ProposalId, fault: &Fault) -> Listed {
    Listed {
        id: id.clone(),
        title: String::new(),
        state: None,
        person_merges: false,
        proposer: None,
        revision: 0,
        files: 0,
        digest: None,
        opened: None,
        missing: Vec::new(),
        problem: Some(fault.to_string()),
    }
}
