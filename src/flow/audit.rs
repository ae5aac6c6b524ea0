//! Whether everything on main was allowed: each commit of the first-parent line from the vault's root on.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::MAX_COMMITS;
use super::gate::examine::Examiner;
use super::gate::governance::Governances;
use super::gate::history::History;
use super::progress::Progress;
use super::root;
use super::vault::Vault;
use crate::model::change::mode;
use crate::model::event::{Event, EventKind};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::{Digest, Oid, ProposalId};
use crate::store::git::Repo;

/// Why there is nothing to audit.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The revision is not on the line that is audited.
    #[error("`{rev}` ({}) is not on the approved branch's first-parent line behind the vault's root", oid.short())]
    NotOnMain {
        /// What was asked for.
        rev: String,
        /// The commit that it names.
        oid: Oid,
    },
}

impl Explain for AuditError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some("`git log --first-parent` on the approved branch shows the commits that can be named".to_owned())
    }
}

/// One thing that was not allowed, or is worth a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Violation {
    /// The commit of main.
    pub commit: Oid,
    /// The rule that it breaks.
    pub rule: String,
    /// The proposal, where one is concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalId>,
    /// What is wrong, as a sentence.
    pub message: String,
}

/// How an audit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All was allowed, and every identity is proved by a signature. This version verifies none, so it never says so.
    HeldProved,
    /// All was allowed, by identities as they were recorded.
    HeldRecorded,
    /// Something was not allowed.
    Broken,
}

/// What an audit found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    /// How it ended.
    pub verdict: Outcome,
    /// The vault's root commit.
    pub root: Oid,
    /// The commit behind which it began.
    pub from: Oid,
    /// The commit of main that it reached.
    pub to: Oid,
    /// How many commits were examined.
    pub commits: u64,
    /// How many of them merge a proposal.
    pub merges: u64,
    /// How many of them are direct commits.
    pub direct: u64,
    /// How many of them merge another clone's main.
    pub pulls: u64,
    /// What was not allowed, oldest first.
    pub violations: Vec<Violation>,
    /// What is worth a look, oldest first.
    pub warnings: Vec<Violation>,
    /// What the verdict rests on.
    pub notes: Vec<String>,
}

/// Audits main's first-parent line from the root, or from behind the revision `from`.
///
/// # Errors
/// When an object is missing or damaged, or `from` is not on the line. What is not allowed is no error: it is in the
/// report.
pub fn audit(vault: &Vault<'_>, from: Option<&str>, progress: &dyn Progress) -> Result<Report, Fault> {
    let repo = &vault.repo;
    let main = vault.main()?;
    let found = root::computed(repo, main)?;
    let pinned = root::pinned_in(repo, main)?;
    let line = line_from(repo, found, main)?;
    let start = match from {
        None => found,
        Some(rev) => {
            let oid = repo.resolve(rev)?;
            if oid != found && !line.contains(&oid) {
                return Err(AuditError::NotOnMain { rev: rev.to_owned(), oid }.into());
            }
            oid
        }
    };
    let todo: Vec<Oid> = match line.iter().position(|oid| *oid == start) {
        Some(at) => line[at + 1..].to_vec(),
        None => line,
    };
    let governances = Governances::default();
    let mut report = Report {
        verdict: Outcome::HeldRecorded,
        root: found,
        from: start,
        to: main,
        commits: 0,
        merges: 0,
        direct: 0,
        pulls: 0,
        violations: Vec::new(),
        warnings: Vec::new(),
        notes: vec![
            "identities are recorded: this version verifies no signatures, so an actor is who the commit says"
                .to_owned(),
        ],
    };
    if pinned != found {
        report.violations.push(Violation {
            commit: found,
            rule: "root".to_owned(),
            proposal: None,
            message: format!(
                "this clone pinned {} as the vault's root, and the history of the approved branch begins with {}: it was rewritten",
                pinned.short(),
                found.short()
            ),
        });
    }
    let mut examiner = Examiner {
        repo,
        root: pinned,
        governances: &governances,
        refs: proposal_refs(repo)?,
        submitted: None,
        layers: super::layers::files::Verifier::default(),
        sound_settings: HashSet::new(),
    };
    let mut history = History::of(repo, start);
    progress.begin("audit", Some(todo.len() as u64));
    for commit in todo {
        vault.env.go_on()?;
        examiner.examine(commit, &mut history, None, &mut report)?;
        history.advance(commit);
        report.commits += 1;
        progress.advance(1);
    }
    progress.end();
    if !report.violations.is_empty() {
        report.verdict = Outcome::Broken;
    }
    Ok(report)
}

/// The commits of the first-parent line behind `root`, oldest first.
fn line_from(repo: &Repo, root: Oid, main: Oid) -> Result<Vec<Oid>, Fault> {
    let mut line = Vec::new();
    let mut at = Some(main);
    while let Some(commit) = at.filter(|commit| *commit != root) {
        line.push(commit);
        at = repo.parents(commit)?.first().copied();
    }
    line.reverse();
    Ok(line)
}

/// Every reference that holds a tip of a proposal, by the proposal's name, also those fetched from a remote.
fn proposal_refs(repo: &Repo) -> Result<HashMap<ProposalId, Vec<(String, Oid)>>, Fault> {
    let mut out: HashMap<ProposalId, Vec<(String, Oid)>> = HashMap::new();
    for prefix in ["refs/heads/proposal/", "refs/heads/closed/", "refs/runebook/seen/", "refs/remotes/"] {
        for (name, oid) in repo.refs(prefix)? {
            let mut parts = name.rsplit('/');
            let id = parts.next().and_then(|id| id.parse::<ProposalId>().ok());
            let of_proposal = matches!(parts.next(), Some("proposal" | "closed" | "seen"));
            if let Some(id) = id.filter(|_| of_proposal) {
                out.entry(id).or_default().push((name, oid));
            }
        }
    }
    Ok(out)
}

/// The revisions that were ever submitted and are still to be seen on some reference, by their digest: the event that
/// submitted each, and the proposal.
pub(super) type Submitted = HashMap<Digest, Vec<(Oid, ProposalId)>>;

/// Finds them.
pub(super) fn submitted(repo: &Repo, refs: &HashMap<ProposalId, Vec<(String, Oid)>>) -> Submitted {
    let mut out = Submitted::new();
    // More than one reference may hold a revision.
    let mut seen = HashSet::new();
    for (id, tips) in refs {
        for (_, tip) in tips {
            let mut at = Some(*tip);
            for _ in 0..MAX_COMMITS {
                let Some(oid) = at else { break };
                let Ok(commit) = repo.commit(oid) else { break };
                let event = Event::parse(&commit.message).ok().filter(|event| event.proposal == *id);
                match event.map(|event| (event.kind, event.digest)) {
                    Some((EventKind::Submit, digest)) if seen.insert(oid) => {
                        out.entry(digest).or_default().push((oid, id.clone()));
                    }
                    Some((EventKind::Open, _)) => break,
                    _ => {}
                }
                at = commit.parents.first().copied();
            }
        }
    }
    out
}

/// What in the settings' tree is no plain file; `None` when all is.
pub(super) fn odd_setting(repo: &Repo, tree: Oid) -> Result<Option<String>, Fault> {
    let odd = repo.files(tree)?.into_iter().find(|(_, entry)| entry.mode != mode::FILE);
    Ok(odd.map(|(name, entry)| {
        format!(".runebook/{} has mode {:06o}", String::from_utf8_lossy(&name), entry.mode)
    }))
}
