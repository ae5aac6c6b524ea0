//! What happened on main, and by whose word: the log, one commit, one event.

use schemars::JsonSchema;
use serde::Serialize;

use super::asof::{self, RevisionError};
use super::difference::{FileDiff, files, record};
use super::locate::missing;
use super::proposals::{Told, named_by, when};
use super::propose::{Story, story};
use super::reader::Reader;
use super::sight::Sight;
use super::vault::Vault;
use crate::model::access::{Access, View};
use crate::model::change::{DiffRecord, Entry, mode};
use crate::model::commit::Commit;
use crate::model::event::{Event, EventKind, Verdict};
use crate::model::fault::Fault;
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::store::git::{GitError, Head, Repo};

/// The most commits of a proposal's branch that the log looks at.
const MAX_BRANCH: usize = 4096;

/// One commit of main.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Entered {
    /// The commit.
    pub commit: Oid,
    /// When, RFC 3339.
    pub when: String,
    /// Who committed it, as the commit says.
    pub by: String,
    /// The message's first line.
    pub subject: String,
    /// The proposal that it merged; absent for a direct commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalId>,
    /// Who proposed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposer: Option<ActorId>,
    /// Who approved what was merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approved_by: Vec<ActorId>,
    /// The digest that was merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// The merge on main's first-parent line whose second parent is `decide`, if there is one.
///
/// # Errors
/// When a commit is missing or damaged.
pub fn merge_of(vault: &Vault<'_>, main: Oid, decide: Oid) -> Result<Option<Oid>, GitError> {
    let mut at = Some(main);
    while let Some(commit) = at {
        let parents = vault.repo.parents(commit)?;
        if parents.get(1) == Some(&decide) {
            return Ok(Some(commit));
        }
        at = parents.first().copied();
    }
    Ok(None)
}

/// The newest commits of main's first-parent line, at most `most`; with a path only those that change something at or
/// below it. Of a path that the reader may not see nothing is told.
///
/// # Errors
/// When a commit is missing or damaged.
pub fn log(
    vault: &Vault<'_>,
    access: &Access,
    path: Option<&VaultPath>,
    most: usize,
) -> Result<Vec<Entered>, Fault> {
    let repo = &vault.repo;
    let sight = Sight::of(vault, access)?;
    let mut out = Vec::new();
    let mut at = Some(vault.main()?);
    while let Some(commit) = at.filter(|_| out.len() < most) {
        let before = repo.parents(commit)?.first().copied();
        if changes(repo, &sight, path, commit, before)? {
            out.push(entered(repo, commit)?);
        }
        at = before;
    }
    Ok(out)
}

fn changes(
    repo: &Repo,
    sight: &Sight<'_, '_>,
    path: Option<&VaultPath>,
    commit: Oid,
    before: Option<Oid>,
) -> Result<bool, Fault> {
    let Some(path) = path.filter(|path| !path.is_root()) else { return Ok(true) };
    let at = |commit: Oid| -> Result<Option<Entry>, GitError> { repo.entry_at(repo.tree_of(commit)?, path) };
    let old = match before {
        Some(before) => at(before)?,
        None => None,
    };
    let new = at(commit)?;
    match record(path, old, new) {
        None => Ok(false),
        Some(one) if one.old_mode == mode::TREE || one.new_mode == mode::TREE => Ok(true),
        Some(one) => Ok(sight.seen(&[one])?.whole),
    }
}

/// One commit of main with what its branch tells.
fn entered(repo: &Repo, oid: Oid) -> Result<Entered, Fault> {
    // A commit that is not of the strict form (somebody's old history) has no part in any proposal.
    let Ok(commit) = repo.commit(oid) else {
        return Ok(Entered {
            commit: oid,
            when: String::new(),
            by: String::new(),
            subject: "(not a commit in strict form)".to_owned(),
            proposal: None,
            proposer: None,
            approved_by: Vec::new(),
            digest: None,
        });
    };
    let mut out = Entered {
        commit: oid,
        when: when(commit.committer.time),
        by: format!("{} <{}>", commit.author.name, commit.author.email),
        subject: commit.subject().to_owned(),
        proposal: None,
        proposer: None,
        approved_by: Vec::new(),
        digest: None,
    };
    if let [_, second] = commit.parents.as_slice() {
        tell_of_branch(repo, *second, &mut out)?;
    }
    Ok(out)
}

/// Reads back from a `decide` event to `open`.
fn tell_of_branch(repo: &Repo, decide: Oid, out: &mut Entered) -> Result<(), Fault> {
    let read = |commit: &Commit| Event::parse(&commit.message).ok();
    let Ok(commit) = repo.commit(decide) else { return Ok(()) };
    let Some(last) = read(&commit).filter(|event| event.kind == EventKind::Decide) else { return Ok(()) };
    out.proposal = Some(last.proposal.clone());
    out.digest = Some(last.digest);
    let mut at = commit.parents.first().copied();
    for _ in 0..MAX_BRANCH {
        let Some(oid) = at else { break };
        let Ok(commit) = repo.commit(oid) else { break };
        if let Some(event) = read(&commit).filter(|event| event.proposal == last.proposal) {
            let approves = event.verdict == Some(Verdict::Approve) && event.digest == last.digest;
            if approves && !out.approved_by.contains(&event.actor) {
                out.approved_by.insert(0, event.actor.clone());
            }
            if event.kind == EventKind::Open {
                out.proposer = Some(event.actor);
                break;
            }
        }
        at = commit.parents.first().copied();
    }
    Ok(())
}

/// What a name or revision is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Thing {
    /// A proposal: its whole story.
    Proposal(Box<Story>),
    /// An event of a proposal.
    Event(Box<OneEvent>),
    /// A commit.
    Commit(Box<OneCommit>),
}

/// An event of a proposal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OneEvent {
    /// The proposal.
    pub proposal: ProposalId,
    /// The digest that it is about.
    pub digest: Digest,
    /// The commit of main on which the proposal rested.
    pub base: Oid,
    /// What was said.
    #[serde(flatten)]
    pub told: Told,
}

/// A commit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OneCommit {
    /// Who, when, which proposal.
    #[serde(flatten)]
    pub entered: Entered,
    /// The whole message.
    pub message: String,
    /// What it changes against its first parent.
    pub files: Vec<FileDiff>,
}

/// What a proposal's name (or a unique beginning), an event's commit or another revision of git's names.
///
/// # Errors
/// When it names nothing.
pub fn show(vault: &Vault<'_>, access: &Access, text: &str) -> Result<Thing, Fault> {
    let id = named_by(vault, None, Some(text));
    let fault = match id {
        Ok(id) => return Ok(Thing::Proposal(Box::new(story(vault, access, &id)?))),
        Err(fault) => fault,
    };
    let repo = &vault.repo;
    let Ok(oid) = repo.resolve(text) else {
        let ambiguous = fault.kind() == crate::model::fault::Kind::Usage;
        return Err(if ambiguous { fault } else { GitError::NoCommit(text.to_owned()).into() });
    };
    let commit = repo.commit(oid).ok();
    if let Some(commit) = &commit
        && let Ok(event) = Event::parse(&commit.message)
    {
        let told = Told {
            event: oid,
            kind: event.kind,
            actor: event.actor.clone(),
            when: when(commit.author.time),
            revision: event.revision,
            verdict: event.verdict,
            text: event.text.clone(),
            comments: event.remarks().to_vec(),
        };
        let one = OneEvent { proposal: event.proposal, digest: event.digest, base: event.base, told };
        return Ok(Thing::Event(Box::new(one)));
    }
    let oid = asof::commit(vault, access, &oid.to_string())?;
    let before = repo.parents(oid)?.first().copied();
    let before = before.map(|before| repo.tree_of(before)).transpose()?;
    let records = repo.diff(before, Some(repo.tree_of(oid)?))?;
    let message = commit.map(|commit| commit.message.clone()).unwrap_or_default();
    let one = OneCommit {
        entered: entered(repo, oid)?,
        message,
        files: Sight::of(vault, access)?.files(files(repo, &records)?)?,
    };
    Ok(Thing::Commit(Box::new(one)))
}

/// What is compared.
#[derive(Debug, Clone, Default)]
pub struct Compare {
    /// The state before: a revision or a proposal; main when absent.
    pub from: Option<String>,
    /// The state afterwards: a revision or a proposal; the work tree when absent.
    pub to: Option<String>,
    /// Only what is at or below this.
    pub below: Option<VaultPath>,
}

/// What differs between two states of the vault.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Difference {
    /// What was compared, in words.
    pub from: String,
    /// With what, in words.
    pub to: String,
    /// The files that differ.
    pub files: Vec<FileDiff>,
}

/// Compares two states: by default the work tree with main.
///
/// # Errors
/// When a revision names nothing, or the work tree is asked for in a bare repository.
pub fn diff(vault: &Vault<'_>, access: &Access, compare: &Compare) -> Result<Difference, Fault> {
    let repo = &vault.repo;
    let (from, from_words) = match &compare.from {
        Some(text) => side(vault, access, text)?,
        None => (vault.main()?, vault.config.main_branch.clone()),
    };
    let (records, to) = match &compare.to {
        Some(text) => {
            let (to, words) = side(vault, access, text)?;
            (repo.diff(Some(repo.tree_of(from)?), Some(repo.tree_of(to)?))?, words)
        }
        None if access.is_agent() => {
            return Err(RevisionError::Unapproved("the work tree".to_owned()).into());
        }
        None => (with_work_tree(vault, from, compare.below.as_ref())?, "the work tree".to_owned()),
    };
    let within = |record: &DiffRecord| match (&compare.below, record.vault_path()) {
        (Some(below), Some(path)) => path.is_within(below),
        (Some(_), None) => false,
        (None, _) => true,
    };
    let records: Vec<DiffRecord> = records.into_iter().filter(within).collect();
    if records.is_empty()
        && let Some(below) = compare.below.as_ref().filter(|below| !below.is_root())
    {
        let reader = Reader::new(vault, Access { actor: access.actor.clone(), view: View::Main })?;
        let here = || repo.work_dir().is_some_and(|root| root.join(below.as_str()).exists());
        // Who does not see all must not learn from this what there is.
        if !access.is_narrow() && repo.entry_at(repo.tree_of(from)?, below)?.is_none() && !here() {
            return Err(missing(&reader, below.as_str(), below)?.into());
        }
    }
    let files = Sight::of(vault, access)?.files(files(repo, &records)?)?;
    Ok(Difference { from: from_words, to, files })
}

/// A revision or a proposal's name.
fn side(vault: &Vault<'_>, access: &Access, text: &str) -> Result<(Oid, String), Fault> {
    if let Ok(id) = named_by(vault, None, Some(text)) {
        let (tip, _) = super::branch::Branch::find(&vault.repo, &id)?;
        return Ok((tip, format!("proposal {id}")));
    }
    Ok((asof::commit(vault, access, text)?, text.to_owned()))
}

/// The work tree's files against a commit: what HEAD has in common with it is compared as trees, the rest as files.
fn with_work_tree(vault: &Vault<'_>, from: Oid, below: Option<&VaultPath>) -> Result<Vec<DiffRecord>, Fault> {
    vault.root()?;
    let repo = &vault.repo;
    let head = match repo.head()? {
        Head::Branch(_, oid) => oid,
        Head::Detached(oid) => Some(oid),
    };
    let from = repo.tree_of(from)?;
    let head = head.map(|head| repo.tree_of(head)).transpose()?;
    let mut records: std::collections::BTreeMap<Vec<u8>, DiffRecord> =
        repo.diff(Some(from), head)?.into_iter().map(|record| (record.path.clone(), record)).collect();
    let below: Vec<VaultPath> = below.cloned().into_iter().collect();
    for one in repo.edited(&below)? {
        if one.unseen.is_some() {
            continue;
        }
        // A file that was never tracked is no part of the vault yet, unless it is a memory.
        if !one.tracked && !one.path.is_markdown() {
            continue;
        }
        let old = repo.entry_at(from, &one.path)?.filter(|entry| entry.mode != mode::TREE);
        let path = one.path.as_str().as_bytes().to_vec();
        match record(&one.path, old, one.new) {
            Some(record) => records.insert(path, record),
            None => records.remove(&path),
        };
    }
    Ok(records.into_values().collect())
}
