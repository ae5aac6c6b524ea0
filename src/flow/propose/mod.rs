//! Proposing: a branch of its own for a change, written without touching a work tree.

mod anew;
mod content;
mod moved;
mod story;
mod taken;

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Branch;
use super::events::{self, Draft};
use super::gate::governance::is_settings;
use super::gate::people::{may_not_propose, same_principal};
use super::listed::{Listed, listed, listed_closed};
use super::locate::did_you_mean;
use super::proposals::{assess, closed_ones, open_ones, open_tip};
use super::review::retried;
use super::sight::Sight;
use super::undo;
use super::vault::{Governance, Vault};
use crate::model::access::{Access, Reach, View};
use crate::model::actor::{Actor, Role};
use crate::model::change::{Change, ChangeSet};
use crate::model::event::{EventKind, Open};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::{Finding, Severity};
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::proposal::State;
use crate::model::uri::Uri;
use crate::store::git::RefUpdate;
use crate::store::operations::Effect;

pub(super) use anew::begin;
pub use anew::{Clash, Combined, anew, combine};
pub use content::{Edit, Parts, Written, change, edit, edit_parts, rm, write};
pub use moved::{MovedIn, mv};
pub use story::{Story, story};
pub use taken::{Taken, from_worktree};

/// Why something is not proposed.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    /// The actor does not have the role, or the policy reserves a path.
    #[error("`{actor}` may not propose a change of {uri}: {why}")]
    NotAllowed {
        /// The actor.
        actor: ActorId,
        /// The place.
        uri: String,
        /// Why.
        why: String,
    },
    /// The actor may not propose at all.
    #[error("`{0}` does not have the role propose")]
    NoRole(ActorId),
    /// It is somebody else's.
    #[error("proposal {id} is {proposer}'s, and `{actor}` may not change it")]
    NotYours {
        /// The proposal.
        id: ProposalId,
        /// Whose it is.
        proposer: ActorId,
        /// Who tried.
        actor: ActorId,
    },
    /// Layers are generated.
    #[error("{0} is a generated summary, and nobody proposes one")]
    Layer(String),
    /// Nothing is there.
    #[error("there is nothing at {uri} in proposal {id}")]
    Missing {
        /// The place.
        uri: String,
        /// The proposal.
        id: ProposalId,
        /// What has a name like it.
        near: Vec<String>,
    },
    /// It came to main after the proposal began.
    #[error("proposal {id} began before {uri} stood on the approved branch, and does not have it")]
    Later {
        /// The place.
        uri: String,
        /// The proposal.
        id: ProposalId,
    },
    /// Something is there.
    #[error("there is something at {uri} already")]
    Exists {
        /// The place.
        uri: String,
    },
    /// A directory where a file was meant.
    #[error("{0} is a directory")]
    Directory(String),
    /// The text to replace is not there.
    #[error("{uri} does not hold that text{}", nearest.as_ref().map(|n| format!("; the nearest is {n}")).unwrap_or_default())]
    NoMatch {
        /// The file.
        uri: String,
        /// A line that is nearly it.
        nearest: Option<String>,
    },
    /// The text to replace is there several times.
    #[error("{uri} holds that text {} times, in the lines {}", lines.len(), lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))]
    ManyMatches {
        /// The file.
        uri: String,
        /// Where.
        lines: Vec<u32>,
    },
    /// The text to replace is empty.
    #[error("the text to replace is empty")]
    EmptyOld,
    /// The change makes no difference.
    #[error("that changes nothing: {0}")]
    Nothing(String),
    /// Main and the change do not fit together.
    #[error("{}", clashes(.0))]
    Clash(Vec<Clash>),
    /// The work tree stands on something else than main.
    #[error("this work tree has {0} checked out, not the approved branch, so its edits are no edits of that")]
    NotOnMain(String),
    /// A URI that names more than a place.
    #[error("{0} names a revision or a part of a file; a whole file is needed")]
    NotAFile(String),
}

fn clashes(all: &[Clash]) -> String {
    let what = "later edits are in conflict with that change, and nothing was done";
    match all {
        [one] => format!("{what}: {one}"),
        _ => what.to_owned(),
    }
}

impl Explain for ProposeError {
    fn kind(&self) -> Kind {
        match self {
            ProposeError::NotAllowed { .. }
            | ProposeError::NoRole(_)
            | ProposeError::NotYours { .. }
            | ProposeError::Layer(_) => Kind::NotAllowed,
            ProposeError::Missing { .. } | ProposeError::Nothing(_) | ProposeError::NoMatch { .. } => {
                Kind::Nothing
            }
            ProposeError::Clash(_) | ProposeError::Exists { .. } | ProposeError::Later { .. } => {
                Kind::Conflict
            }
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            ProposeError::NotAllowed { uri, actor, .. } => {
                format!(
                    "`runebook doctor {uri} --as {actor}` explains which rule of .runebook/policy.yaml holds"
                )
            }
            ProposeError::NoRole(_) => "an admin gives roles in .runebook/actors.yaml".to_owned(),
            ProposeError::NotYours { id, .. } => {
                format!(
                    "say what should change with `runebook review comment {id}`, or take it up with `runebook propose new --from {id}`"
                )
            }
            ProposeError::Layer(_) => {
                "change the memories that it sums up, or the directory's index.md".to_owned()
            }
            ProposeError::Missing { near, .. } if !near.is_empty() => did_you_mean(near),
            ProposeError::Missing { id, .. } => {
                format!("`runebook propose diff {id}` shows what the proposal changes")
            }
            ProposeError::Later { id, .. } => format!(
                "begin another one with `runebook propose new`, or cut this one anew from today's approved branch with `runebook propose new --from {id}`"
            ),
            ProposeError::Exists { .. } => "choose another name, or remove that first".to_owned(),
            ProposeError::Directory(_) => {
                "name a file in it; to remove a directory add `--recursive`".to_owned()
            }
            ProposeError::NoMatch { .. } => {
                "the text must stand there exactly, with its line breaks; `runebook cat` prints it".to_owned()
            }
            ProposeError::ManyMatches { .. } => {
                "add text around it until it is unique, or use `--all`".to_owned()
            }
            ProposeError::EmptyOld => {
                "give a text that the file holds; `--append` adds to its end".to_owned()
            }
            ProposeError::Nothing(_) => {
                "see what differs with `runebook diff`, or with `runebook propose diff ID`".to_owned()
            }
            ProposeError::Clash(_) => {
                "edit those files by hand on a proposal of your own: `runebook propose new`".to_owned()
            }
            ProposeError::NotOnMain(_) => {
                "switch to the approved branch, or commit on a proposal's branch with git".to_owned()
            }
            ProposeError::NotAFile(_) => "leave `?rev=` and `#…` out".to_owned(),
        })
    }

    fn details(&self) -> Vec<String> {
        match self {
            ProposeError::Clash(all) if all.len() > 1 => all.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        }
    }
}

/// A proposal that was begun.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct New {
    /// Its name.
    pub id: ProposalId,
    /// Its branch.
    pub branch: String,
    /// What it is about.
    pub title: String,
    /// The commit of main on which it begins.
    pub base: Oid,
    /// The proposal that it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<ProposalId>,
    /// The files that it changes already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// Begins a proposal on today's main.
///
/// # Errors
/// When the actor may not propose, or git cannot be written.
pub fn new(vault: &Vault<'_>, actor: &Actor, title: &str) -> Result<New, Fault> {
    may_propose_at_all(actor)?;
    let base = vault.main()?;
    let title = one_line(title);
    let opened =
        events::open(vault, actor, Open { base, from: None, rollback_of: None, title: title.clone() })?;
    let branch = format!("proposal/{}", opened.id);
    Ok(New { branch, id: opened.id, title, base, from: None, files: Vec::new() })
}

/// A title as one line without control characters, `Untitled` when nothing is left.
fn one_line(title: &str) -> String {
    let words: Vec<&str> =
        title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    if words.is_empty() { "Untitled".to_owned() } else { words.join(" ") }
}

/// Whether the actor has the role.
///
/// # Errors
/// When it has not.
pub fn may_propose_at_all(actor: &Actor) -> Result<(), ProposeError> {
    if actor.has(Role::Propose) { Ok(()) } else { Err(ProposeError::NoRole(actor.id.clone())) }
}

/// Whether the policy of main lets the actor propose a change to each path; `decide` asks the same later.
///
/// # Errors
/// The first path that it may not, with the reason.
pub fn may_propose(governance: &Governance, actor: &Actor, changes: &ChangeSet) -> Result<(), ProposeError> {
    let reach = Reach::of(actor.proposes.as_ref());
    for path in changes.changes.keys() {
        let uri = Uri::file(path.clone()).to_string();
        if path.is_layer() {
            return Err(ProposeError::Layer(uri));
        }
        let held = governance.rules.for_path(path);
        if let Some(why) = may_not_propose(actor, &reach, &held, path) {
            return Err(ProposeError::NotAllowed { actor: actor.id.clone(), uri, why });
        }
        if !actor.is_person() && path.is_hidden() && !is_settings(path) {
            let why = "paths that begin with a dot are for people".to_owned();
            return Err(ProposeError::NotAllowed { actor: actor.id.clone(), uri, why });
        }
    }
    Ok(())
}

/// Whether the actor may change a proposal: its proposer, whoever shares the principal, and any person.
fn may_change(governance: &Governance, actor: &Actor, branch: &Branch) -> Result<(), ProposeError> {
    may_propose_at_all(actor)?;
    let Some((_, event, _)) = branch.open() else { return Ok(()) };
    let shares = governance.actors.get(&event.actor).is_some_and(|proposer| same_principal(proposer, actor));
    if event.actor == actor.id || shares || actor.is_person() {
        return Ok(());
    }
    Err(ProposeError::NotYours {
        id: branch.id.clone(),
        proposer: event.actor.clone(),
        actor: actor.id.clone(),
    })
}

/// What was submitted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Submitted {
    /// The proposal.
    pub id: ProposalId,
    /// Its revision now.
    pub revision: u32,
    /// The digest of the revision.
    pub digest: Digest,
    /// Whether nothing had changed since the last submission, so that nothing was recorded.
    pub already: bool,
    /// Where it stands.
    pub state: State,
    /// Why, and what keeps it from merging.
    pub reasons: Vec<String>,
    /// What is still needed.
    pub missing: Vec<String>,
    /// What the checks report.
    pub findings: Vec<Finding>,
    /// Whether a finding stops it.
    #[serde(skip)]
    pub stopped: bool,
}

/// Makes what stands on the branch a revision, and runs the checks on it.
///
/// # Errors
/// When nothing differs from main, or the proposal is somebody else's.
pub fn submit(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    message: Option<&str>,
) -> Result<Submitted, Fault> {
    let (main, tip, already) = retried(|| {
        let main = vault.main()?;
        let tip = open_tip(vault, id)?;
        let branch = Branch::read(&vault.repo, id, tip, main)?;
        may_change(&vault.governance(main)?, actor, &branch)?;
        let content = branch.commits.iter().rposition(super::branch::BranchCommit::is_content);
        let last = branch
            .events()
            .filter(|(_, _, event)| event.kind == EventKind::Submit)
            .map(|(at, _, _)| at)
            .last();
        let already = last.is_some() && last > content;
        if already {
            return Ok((main, tip, already));
        }
        let draft = Draft::submit().with_text(message.unwrap_or_default());
        Ok((main, events::append(vault, &branch, actor, draft)?, already))
    })?;
    let assessed = assess(vault, main, id, tip)?;
    let sight = Sight::of(vault, &Access { actor: Some(actor.clone()), view: View::Main })?;
    let seen = sight.seen(&assessed.branch.records)?;
    let stopped = assessed.findings.iter().any(|finding| finding.severity == Severity::Error);
    let decision = Sight::decision(&seen, assessed.decision);
    Ok(Submitted {
        id: id.clone(),
        revision: decision.revision,
        digest: decision.digest,
        already,
        state: decision.state,
        reasons: decision.reasons,
        missing: decision.missing,
        findings: sight.findings(&seen, assessed.findings)?,
        stopped,
    })
}

/// The open proposals, or all; the closed ones behind, by how they ended.
///
/// # Errors
/// When main or the references cannot be read.
pub fn list(vault: &Vault<'_>, all: bool) -> Result<Vec<Listed>, Fault> {
    let main = vault.main()?;
    let mut out: Vec<Listed> =
        open_ones(&vault.repo)?.iter().map(|(id, tip)| listed(vault, main, id, *tip)).collect();
    out.sort_by(|a, b| a.opened.cmp(&b.opened).then_with(|| a.id.cmp(&b.id)));
    if all {
        for (id, tip) in closed_ones(&vault.repo)? {
            out.push(listed_closed(vault, main, &id, tip));
        }
    }
    Ok(out)
}

/// A proposal that was ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Ended {
    /// Its name.
    pub id: ProposalId,
    /// The event.
    pub event: Oid,
    /// Where its branch is kept.
    pub branch: String,
}

/// Ends a proposal unmerged: its proposer, whoever shares the principal, or an admin. Its branch is kept as closed.
///
/// # Errors
/// When it is somebody else's or over already.
pub fn withdraw(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    message: Option<&str>,
) -> Result<Ended, Fault> {
    retried(|| {
        let main = vault.main()?;
        let tip = open_tip(vault, id)?;
        let branch = Branch::read(&vault.repo, id, tip, main)?;
        let governance = vault.governance(main)?;
        let proposer = branch.open().map(|(_, event, _)| event.actor.clone());
        let shares = proposer.as_ref().and_then(|proposer| governance.actors.get(proposer));
        let shares = shares.is_some_and(|proposer| same_principal(proposer, actor));
        if let Some(proposer) = proposer
            && proposer != actor.id
            && !shares
            && !actor.has(Role::Admin)
        {
            return Err(ProposeError::NotYours { id: id.clone(), proposer, actor: actor.id.clone() }.into());
        }
        let draft = Draft::withdraw().with_text(message.unwrap_or_default());
        let event = events::prepare(vault, &branch, actor, draft)?;
        close(vault, id, tip, event)?;
        undo::note_done(vault, &format!("withdraw {id}"), Effect::Withdrawn { proposal: id.clone() });
        Ok(Ended { id: id.clone(), event, branch: format!("closed/{id}") })
    })
}

/// Moves a proposal's branch among the closed ones, with `event` as its new tip.
fn close(vault: &Vault<'_>, id: &ProposalId, tip: Oid, event: Oid) -> Result<(), Fault> {
    let repo = &vault.repo;
    let update = |name: String, old: Option<Oid>, new: Option<Oid>| RefUpdate {
        name,
        old,
        new,
        message: format!("runebook: withdraw {id}"),
    };
    repo.update_refs(&[
        update(id.closed_ref(), None, Some(event)),
        update(id.seen_ref(), repo.ref_oid(&id.seen_ref())?, Some(event)),
        update(id.open_ref(), Some(tip), None),
    ])?;
    for tree in repo.work_trees()? {
        if tree.branch.as_deref() == Some(id.open_ref().as_str()) {
            tree.point_head_at(&id.closed_ref())?;
        }
    }
    Ok(())
}

/// A file's path from its URI.
fn whole_file(uri: &Uri) -> Result<VaultPath, ProposeError> {
    if uri.rev.is_some() || uri.fragment.is_some() {
        return Err(ProposeError::NotAFile(uri.to_string()));
    }
    if uri.path.is_root() {
        return Err(ProposeError::Directory(uri.to_string()));
    }
    Ok(uri.path.clone())
}

/// The change that puts one entry at a path.
fn putting(path: VaultPath, change: Change) -> ChangeSet {
    let mut changes = ChangeSet::default();
    changes.changes.insert(path, change);
    changes
}
