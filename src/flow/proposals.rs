//! Finding a proposal by what somebody typed, and judging it as it stands.

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::{Branch, BranchError};
use super::check;
use super::decide::{Decision, decide_on};
use super::vault::Vault;
use crate::model::actor::Actor;
use crate::model::change::{Change, ChangeSet, DiffRecord, Entry, mode};
use crate::model::commit::GitTime;
use crate::model::event::{Event, EventKind, Remark, Verdict};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::Finding;
use crate::model::id::{ActorId, Oid, ProposalId};
use crate::model::proposal::State;
use crate::store::git::{GitError, Repo};

/// Why a proposal is not found, or not open.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    /// Nothing has that name.
    #[error("there is no proposal `{0}`")]
    NoSuch(String),
    /// It stands at a remote only.
    #[error("proposal {id} was fetched from {remote}, but is no branch here yet")]
    Remote {
        /// The proposal.
        id: ProposalId,
        /// The remote.
        remote: String,
    },
    /// A beginning that several names have.
    #[error("`{text}` is the beginning of several proposals' names: {}", list(ids))]
    Ambiguous {
        /// What was typed.
        text: String,
        /// The names.
        ids: Vec<ProposalId>,
    },
    /// None was named and the actor has none open.
    #[error("which proposal? {0} has none open")]
    NoneOpen(ActorId),
    /// None was named and the actor has several open.
    #[error("which proposal? {actor} has several open: {}", list(ids))]
    SeveralOpen {
        /// The actor.
        actor: ActorId,
        /// The names.
        ids: Vec<ProposalId>,
    },
    /// It is over.
    #[error("proposal {id} is {state}, and nothing more can happen to it")]
    Closed {
        /// The proposal.
        id: ProposalId,
        /// How it ended.
        state: State,
    },
}

fn list(ids: &[ProposalId]) -> String {
    ids.iter().map(ProposalId::as_str).collect::<Vec<_>>().join(", ")
}

impl Explain for ProposalError {
    fn kind(&self) -> Kind {
        match self {
            ProposalError::NoSuch(_) | ProposalError::Remote { .. } => Kind::Nothing,
            ProposalError::Closed { .. } => Kind::Conflict,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            ProposalError::NoSuch(_) => {
                "`runebook propose list` shows the open ones, `propose list --all` those that ended too"
                    .to_owned()
            }
            ProposalError::Remote { id, remote } => {
                format!("take it in with `git branch proposal/{id} {remote}/proposal/{id}`")
            }
            ProposalError::Ambiguous { .. } => "type more of its name".to_owned(),
            ProposalError::NoneOpen(_) => {
                "begin one with `runebook propose new \"What it is about\"`".to_owned()
            }
            ProposalError::SeveralOpen { .. } => "name one of them".to_owned(),
            ProposalError::Closed { id, state: State::Merged } => {
                format!(
                    "take it back with `runebook rollback {id}`, or begin another with `runebook propose new`"
                )
            }
            ProposalError::Closed { id, .. } => {
                format!("cut it anew as another proposal with `runebook propose new --from {id}`")
            }
        })
    }
}

/// The open proposals with their tips, by name.
///
/// # Errors
/// When the references cannot be read.
pub fn open_ones(repo: &Repo) -> Result<Vec<(ProposalId, Oid)>, GitError> {
    named(repo, "refs/heads/proposal/")
}

/// The proposals that ended, with their tips, by name.
///
/// # Errors
/// When the references cannot be read.
pub fn closed_ones(repo: &Repo) -> Result<Vec<(ProposalId, Oid)>, GitError> {
    named(repo, "refs/heads/closed/")
}

fn named(repo: &Repo, prefix: &str) -> Result<Vec<(ProposalId, Oid)>, GitError> {
    let refs = repo.refs(prefix)?;
    Ok(refs
        .into_iter()
        .filter_map(|(name, tip)| Some((name.strip_prefix(prefix)?.parse().ok()?, tip)))
        .collect())
}

/// The proposal that was meant: its name, a unique beginning of it (open ones first), or none where the actor has
/// exactly one open.
///
/// # Errors
/// When nothing or more than one thing fits.
pub fn named_by(vault: &Vault<'_>, actor: Option<&Actor>, text: Option<&str>) -> Result<ProposalId, Fault> {
    let Some(text) = text else { return only_open_one(vault, actor) };
    let text = text.trim().to_lowercase();
    let text = text.strip_prefix("proposal/").or(text.strip_prefix("closed/")).unwrap_or(&text);
    if let Ok(id) = text.parse::<ProposalId>() {
        return match Branch::find(&vault.repo, &id) {
            Ok(_) => Ok(id),
            Err(BranchError::Missing(_)) => Err(nowhere(vault, id).into()),
            Err(error) => Err(error.into()),
        };
    }
    if text.is_empty() {
        return Err(ProposalError::NoSuch(text.to_owned()).into());
    }
    for all in [open_ones(&vault.repo)?, closed_ones(&vault.repo)?] {
        let mut ids: Vec<ProposalId> =
            all.into_iter().map(|(id, _)| id).filter(|id| id.as_str().starts_with(text)).collect();
        match ids.len() {
            0 => {}
            1 => return Ok(ids.remove(0)),
            _ => return Err(ProposalError::Ambiguous { text: text.to_owned(), ids }.into()),
        }
    }
    Err(ProposalError::NoSuch(text.to_owned()).into())
}

/// The error for a whole name that no branch here has.
fn nowhere(vault: &Vault<'_>, id: ProposalId) -> ProposalError {
    let behind = format!("/proposal/{id}");
    let refs = vault.repo.refs("refs/remotes/").unwrap_or_default();
    let remote = refs.iter().find_map(|(name, _)| {
        name.strip_prefix("refs/remotes/")?.strip_suffix(behind.as_str()).map(str::to_owned)
    });
    match remote {
        Some(remote) => ProposalError::Remote { id, remote },
        None => ProposalError::NoSuch(id.to_string()),
    }
}

fn only_open_one(vault: &Vault<'_>, actor: Option<&Actor>) -> Result<ProposalId, Fault> {
    let main = vault.main()?;
    let mut ids = Vec::new();
    for (id, tip) in open_ones(&vault.repo)? {
        // A branch that is no proposal is nobody's.
        let Ok(branch) = Branch::read(&vault.repo, &id, tip, main) else { continue };
        if actor.is_none_or(|actor| branch.open().is_some_and(|(_, event, _)| event.actor == actor.id)) {
            ids.push(id);
        }
    }
    let who = || actor.map(|actor| actor.id.clone());
    match (ids.len(), who()) {
        (1, _) => Ok(ids.remove(0)),
        (0, Some(actor)) => Err(ProposalError::NoneOpen(actor).into()),
        (_, Some(actor)) => Err(ProposalError::SeveralOpen { actor, ids }.into()),
        (_, None) => Err(ProposalError::NoSuch(String::new()).into()),
    }
}

/// The tip of an open proposal.
///
/// # Errors
/// [`ProposalError::Closed`] with how it ended when it is over.
pub fn open_tip(vault: &Vault<'_>, id: &ProposalId) -> Result<Oid, Fault> {
    match Branch::find(&vault.repo, id)? {
        (tip, false) => Ok(tip),
        (tip, true) => {
            let state = closed_state(&vault.repo, tip)?;
            Err(ProposalError::Closed { id: id.clone(), state }.into())
        }
    }
}

/// How a closed proposal ended, by its last event.
///
/// # Errors
/// When the commit cannot be read.
pub fn closed_state(repo: &Repo, tip: Oid) -> Result<State, GitError> {
    let commit = repo.commit(tip)?;
    Ok(match Event::parse(&commit.message).map(|event| event.kind) {
        Ok(EventKind::Decide) => State::Merged,
        Ok(EventKind::Supersede) => State::Superseded,
        _ => State::Withdrawn,
    })
}

/// A proposal, judged as it stands.
#[derive(Debug)]
pub struct Assessed {
    /// The commit of main.
    pub main: Oid,
    /// The branch.
    pub branch: Branch,
    /// The tree that the merge would make; none where main's and the proposal's files cannot stand together.
    pub result: Option<Oid>,
    /// What the checks report.
    pub findings: Vec<Finding>,
    /// What may be done with it.
    pub decision: Decision,
}

/// Reads a branch, runs the checks on the tree that its merge would make, and decides.
///
/// # Errors
/// When the branch is no proposal, or an object cannot be read.
pub fn assess(vault: &Vault<'_>, main: Oid, id: &ProposalId, tip: Oid) -> Result<Assessed, Fault> {
    let repo = &vault.repo;
    let branch = Branch::read(repo, id, tip, main)?;
    let result = result_tree(repo, main, &branch.records)?;
    let tree = match result {
        Some(tree) => tree,
        None => repo.tree_of(main)?,
    };
    let rollback_of = branch.open().and_then(|(_, _, open)| open.rollback_of);
    let mut findings = check::for_proposal(vault, main, tree, &branch.records, rollback_of)?;
    // What was added and taken away again stays in the history that a merge brings in.
    let introduced: Vec<DiffRecord> = branch.commits.iter().flat_map(|c| c.changes().to_vec()).collect();
    let blobs = check::blob_checks(repo, &vault.governance(main)?, &introduced)?;
    let new: Vec<Finding> = blobs.into_iter().filter(|finding| !findings.contains(finding)).collect();
    findings.extend(new);
    let decision = decide_on(repo, &branch, &findings)?;
    Ok(Assessed { main, branch, result, findings, decision })
}

/// Where an open proposal stands, and whether a person may merge it without an approval; `None` where that cannot be
/// told.
#[must_use]
pub fn standing(vault: &Vault<'_>, main: Oid, id: &ProposalId) -> Option<(State, bool)> {
    let tip = open_tip(vault, id).ok()?;
    let decision = assess(vault, main, id, tip).ok()?.decision;
    Some((decision.state, decision.person_merges))
}

/// Main's tree with the changed paths of a proposal; `None` where a file would have to be a directory or the
/// reverse, or a name is none that a vault can have.
///
/// # Errors
/// When an object cannot be read or written.
pub fn result_tree(repo: &Repo, main: Oid, records: &[DiffRecord]) -> Result<Option<Oid>, GitError> {
    let Some(changes) = changes(records) else { return Ok(None) };
    let tree = repo.tree_of(main)?;
    match repo.write_tree(Some(tree), &changes) {
        Ok(tree) => Ok(Some(tree)),
        Err(GitError::Other { doing, .. }) if doing == "building a tree" => Ok(None),
        Err(error) => Err(error),
    }
}

/// The change that some records describe; `None` when a name is none that a vault can have.
#[must_use]
pub fn changes(records: &[DiffRecord]) -> Option<ChangeSet> {
    let mut changes = ChangeSet::default();
    for record in records {
        let change = match record.new_mode {
            mode::NONE => Change::Delete,
            _ => Change::Put(Entry { mode: record.new_mode, oid: record.new_oid }),
        };
        changes.changes.insert(record.vault_path()?, change);
    }
    Some(changes)
}

/// A time of git's as people and programs read it: RFC 3339 with its own offset.
#[must_use]
pub fn when(time: GitTime) -> String {
    let offset = jiff::tz::Offset::from_seconds(time.offset_minutes.saturating_mul(60));
    match (jiff::Timestamp::from_second(time.seconds), offset) {
        (Ok(at), Ok(offset)) => {
            at.to_zoned_datetime(offset.to_time_zone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
        }
        _ => time.to_string(),
    }
}

/// One event of a proposal, for showing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Told {
    /// Its commit.
    pub event: Oid,
    /// What kind.
    pub kind: EventKind,
    /// Who.
    pub actor: ActorId,
    /// When, RFC 3339.
    pub when: String,
    /// The revision it stands at.
    pub revision: u32,
    /// The verdict of a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its comments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Remark>,
}

/// The events of a branch, oldest first.
#[must_use]
pub fn told(branch: &Branch) -> Vec<Told> {
    branch
        .events()
        .map(|(_, commit, event)| Told {
            event: commit.oid,
            kind: event.kind,
            actor: event.actor.clone(),
            when: when(commit.commit.author.time),
            revision: event.revision,
            verdict: event.verdict,
            text: event.text.clone(),
            comments: event.remarks().to_vec(),
        })
        .collect()
}
