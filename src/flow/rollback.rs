//! Taking back a merged proposal: the inverse change as a new proposal that names the old one.

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Branch;
use super::decide::Decision;
use super::events::{self, Draft};
use super::history::merge_of;
use super::merge::{self, Merged};
use super::proposals::{assess, closed_state, open_ones};
use super::propose::{Combined, begin, combine, may_propose_at_all};
use super::vault::Vault;
use crate::model::actor::Actor;
use crate::model::change::digest;
use crate::model::event::Open;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::Finding;
use crate::model::id::{Digest, Oid, ProposalId};
use crate::model::proposal::State;

/// Why a proposal is not taken back.
#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    /// It is not on main.
    #[error("proposal {id} is not on the approved branch, so there is nothing to take back")]
    NotMerged {
        /// The proposal.
        id: ProposalId,
        /// Whether it is over.
        closed: bool,
    },
    /// It was taken back before.
    #[error("the approved branch has nothing left of proposal {0}")]
    Already(ProposalId),
}

impl Explain for RollbackError {
    fn kind(&self) -> Kind {
        match self {
            RollbackError::NotMerged { .. } => Kind::Usage,
            RollbackError::Already(_) => Kind::Nothing,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            RollbackError::NotMerged { id, closed: false } => {
                format!("`runebook propose withdraw {id}` ends a proposal that is not merged")
            }
            RollbackError::NotMerged { .. } | RollbackError::Already(_) => {
                "`runebook log` shows what was merged".to_owned()
            }
        })
    }
}

/// The inverse of a proposal, as another one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RolledBack {
    /// The new proposal.
    pub id: ProposalId,
    /// The proposal that it takes back.
    pub of: ProposalId,
    /// The merge that it takes back.
    pub merge: Oid,
    /// Whether it is the exact inverse, which a person may merge at once.
    pub exact: bool,
    /// The files that it changes.
    pub files: Vec<String>,
    /// Where it stands.
    pub decision: Decision,
    /// What the checks report.
    pub findings: Vec<Finding>,
    /// The merge, when it was merged at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merged>,
}

/// Proposes and submits the inverse of a merged proposal. Later edits of other lines are kept.
///
/// # Errors
/// When it is not merged; [`super::propose::ProposeError::Clash`] where the same lines were edited since.
pub fn rollback(vault: &Vault<'_>, actor: &Actor, of: &ProposalId) -> Result<RolledBack, Fault> {
    may_propose_at_all(actor)?;
    let repo = &vault.repo;
    let (tip, closed) = Branch::find(repo, of)?;
    let not_merged = || RollbackError::NotMerged { id: of.clone(), closed };
    if !closed || closed_state(repo, tip)? != State::Merged {
        return Err(not_merged().into());
    }
    let main = vault.main()?;
    let merge = merge_of(vault, main, tip)?.ok_or_else(not_merged)?;
    let before = repo.parents(merge)?.first().copied().ok_or_else(not_merged)?;
    let records: Vec<_> = repo.diff(Some(repo.tree_of(merge)?), Some(repo.tree_of(before)?))?;
    let records: Vec<_> = records.into_iter().filter(|record| !record.is_layer()).collect();
    let combined = combine(repo, repo.tree_of(main)?, &records)?;
    if combined.clashes.is_empty() && combined.changes.is_empty() {
        return Err(RollbackError::Already(of.clone()).into());
    }
    let exact = digest(&records);
    if let Some((id, tip)) = proposed_already(vault, main, merge, &combined)? {
        return answer(vault, main, (id, tip), of, merge, exact);
    }
    let branch = Branch::read(repo, of, tip, main)?;
    let title = branch.open().map(|(_, _, open)| open.title.clone()).unwrap_or_default();
    let open =
        Open { base: main, from: None, rollback_of: Some(merge), title: format!("Roll back {of}: {title}") };
    let new = begin(vault, actor, open, combined, &format!("Take back {of}"))?;
    let tip = super::proposals::open_tip(vault, &new.id)?;
    let branch = Branch::read(repo, &new.id, tip, main)?;
    let tip = events::append(vault, &branch, actor, Draft::submit())?;
    answer(vault, main, (new.id, tip), of, merge, exact)
}

/// An open proposal that takes back the same merge by the same change, so that asking twice gives no second one.
fn proposed_already(
    vault: &Vault<'_>,
    main: Oid,
    merge: Oid,
    combined: &Combined,
) -> Result<Option<(ProposalId, Oid)>, Fault> {
    if !combined.clashes.is_empty() {
        return Ok(None);
    }
    let repo = &vault.repo;
    let before = repo.tree_of(main)?;
    let wanted = digest(&repo.diff(Some(before), Some(repo.write_tree(Some(before), &combined.changes)?))?);
    for (id, tip) in open_ones(repo)? {
        let Ok(branch) = Branch::read(repo, &id, tip, main) else { continue };
        let is_it = branch.open().is_some_and(|(_, _, open)| open.rollback_of == Some(merge));
        if is_it && branch.base == main && branch.digest == wanted && branch.revision > 0 {
            return Ok(Some((id, tip)));
        }
    }
    Ok(None)
}

fn answer(
    vault: &Vault<'_>,
    main: Oid,
    (id, tip): (ProposalId, Oid),
    of: &ProposalId,
    merge: Oid,
    exact: Digest,
) -> Result<RolledBack, Fault> {
    let assessed = assess(vault, main, &id, tip)?;
    let records = &assessed.branch.records;
    Ok(RolledBack {
        id,
        of: of.clone(),
        merge,
        exact: assessed.branch.digest == exact,
        files: records.iter().map(|record| String::from_utf8_lossy(&record.path).into_owned()).collect(),
        decision: assessed.decision,
        findings: assessed.findings,
        merged: None,
    })
}

/// Merges a rollback that was just proposed.
///
/// # Errors
/// As [`merge::merge`].
pub fn merge_at_once(vault: &Vault<'_>, actor: &Actor, mut rolled: RolledBack) -> Result<RolledBack, Fault> {
    let request = merge::Request { id: rolled.id.clone(), shown: Some(rolled.decision.digest) };
    rolled.merged = Some(merge::merge(vault, actor, &request)?);
    rolled.decision.state = State::Merged;
    Ok(rolled)
}
