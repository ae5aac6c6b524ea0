//! The whole story of a proposal.

use schemars::JsonSchema;
use serde::Serialize;

use crate::flow::branch::Branch;
use crate::flow::difference::{FileDiff, files};
use crate::flow::proposals::{Told, assess, closed_state, told, when};
use crate::flow::sight::Sight;
use crate::flow::vault::Vault;
use crate::model::access::Access;
use crate::model::fault::Fault;
use crate::model::finding::Finding;
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::proposal::State;

/// The whole story of a proposal, open or not.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Story {
    /// Its name.
    pub id: ProposalId,
    /// What it is about.
    pub title: String,
    /// Where it stands.
    pub state: State,
    /// Whether that is without an approval: it takes back a merge exactly, and a person may merge it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub person_merges: bool,
    /// Who opened it.
    pub proposer: ActorId,
    /// When, RFC 3339.
    pub opened: String,
    /// The commit of main on which it rests.
    pub base: Oid,
    /// Its last commit.
    pub tip: Oid,
    /// How many revisions were submitted.
    pub revision: u32,
    /// The present digest.
    pub digest: Digest,
    /// The merge that brought it to main.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<Oid>,
    /// Why it stands where it stands.
    pub reasons: Vec<String>,
    /// What is still needed.
    pub missing: Vec<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// What the checks report; empty for one that ended.
    pub findings: Vec<Finding>,
    /// The files that it changes.
    pub files: Vec<FileDiff>,
    /// What happened, oldest first.
    pub events: Vec<Told>,
}

/// The whole story of a proposal, with the files that the reader may see.
///
/// # Errors
/// When its branch cannot be read.
pub fn story(vault: &Vault<'_>, access: &Access, id: &ProposalId) -> Result<Story, Fault> {
    let repo = &vault.repo;
    let main = vault.main()?;
    let (tip, closed) = Branch::find(repo, id)?;
    let (branch, decision, findings) = if closed {
        // How it was judged at its end is history; only what it says is read again.
        let branch = Branch::read(repo, id, tip, main)?;
        let decision = crate::flow::decide::decide(repo, main, tip, &[])?;
        (branch, decision, Vec::new())
    } else {
        let assessed = assess(vault, main, id, tip)?;
        (assessed.branch, assessed.decision, assessed.findings)
    };
    let state = if closed { closed_state(repo, tip)? } else { decision.state };
    let (reasons, missing) = if closed && state != State::Merged {
        (vec![format!("it was {state}")], Vec::new())
    } else {
        (decision.reasons, decision.missing)
    };
    let sight = Sight::of(vault, access)?;
    let seen = sight.seen(&branch.records)?;
    let opened = branch.open().map(|(commit, _, _)| when(commit.commit.author.time)).unwrap_or_default();
    Ok(Story {
        id: id.clone(),
        title: decision.title,
        state,
        person_merges: !closed && decision.person_merges,
        proposer: decision.proposer,
        opened,
        base: branch.base,
        tip,
        revision: branch.revision,
        digest: branch.digest,
        merge: if closed { crate::flow::history::merge_of(vault, main, tip)? } else { None },
        reasons: Sight::reasons(&seen, reasons),
        missing: Sight::reasons(&seen, missing),
        notes: decision.notes,
        findings: sight.findings(&seen, findings)?,
        files: sight.files(files(repo, &branch.records)?)?,
        events: told(&branch),
    })
}
