//! Reviewing: what waits, what a proposal changes and on what evidence, and what a reviewer says of it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Branch;
use super::decide::Decision;
use super::difference::{FileDiff, files};
use super::events::{self, Draft};
use super::evidence::{Evidence, cited, excerpt};
use super::gate::people::{makers, same_principal};
use super::listed::{Listed, line};
use super::proposals::{Assessed, Told, assess, open_ones, open_tip, told};
use super::sight::Sight;
use super::vault::Vault;
use crate::model::access::{Access, Reach, View};
use crate::model::actor::{Actor, Actors, Role};
use crate::model::change::mode;
use crate::model::event::{EventKind, Remark, Verdict};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::Finding;
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::proposal::State;
use crate::model::uri::Uri;

/// The longest text of a file before the change that an answer holds, in bytes.
const MAX_BEFORE: usize = 64 << 10;

/// Why a verdict is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The actor does not have the role.
    #[error("`{actor}` does not have the role {role}, so it cannot review {id}")]
    NoRole {
        /// The actor.
        actor: ActorId,
        /// The proposal.
        id: ProposalId,
        /// The role that is missing.
        role: &'static str,
    },
    /// The actor stands behind the proposal.
    #[error("`{actor}` cannot review {id}: {why}")]
    OwnWork {
        /// The actor.
        actor: ActorId,
        /// The proposal.
        id: ProposalId,
        /// How.
        why: String,
    },
    /// A path is outside of what the actor reviews.
    #[error("`{actor}` cannot review {id}: {path} is outside of what it may review")]
    OutOfReach {
        /// The actor.
        actor: ActorId,
        /// The proposal.
        id: ProposalId,
        /// The path.
        path: VaultPath,
    },
    /// Some of it is hidden from the actor.
    #[error("`{actor}` cannot review {id}: it changes files that `{actor}` may not read")]
    Unseen {
        /// The actor.
        actor: ActorId,
        /// The proposal.
        id: ProposalId,
    },
    /// Nothing was submitted yet.
    #[error("proposal {0} is a draft: what stands on its branch was not submitted for review")]
    Draft(ProposalId),
    /// It is not what the reviewer was shown.
    #[error("proposal {id} changed since it was shown: the digest was {}, now it is {}", shown.short(), now.short())]
    Changed {
        /// The proposal.
        id: ProposalId,
        /// The digest that was shown.
        shown: Digest,
        /// The digest now.
        now: Digest,
    },
    /// No digest was given.
    #[error("an approval of {0} must name the digest of what was looked at")]
    NoDigest(ProposalId),
    /// The actor has no verdict there that could be lifted.
    #[error("`{actor}` has no standing veto on {id}")]
    NothingToLift {
        /// The actor.
        actor: ActorId,
        /// The proposal.
        id: ProposalId,
    },
    /// A comment names a file that is not part of the change.
    #[error("proposal {id} does not change `{path}`, so nothing can be said of its lines")]
    ForeignFile {
        /// The proposal.
        id: ProposalId,
        /// The file that was named.
        path: String,
    },
    /// Nothing is said.
    #[error("a comment needs words: --message, --comment or --evidence")]
    Silent,
}

impl Explain for ReviewError {
    fn kind(&self) -> Kind {
        match self {
            ReviewError::NoRole { .. }
            | ReviewError::OwnWork { .. }
            | ReviewError::OutOfReach { .. }
            | ReviewError::Unseen { .. } => Kind::NotAllowed,
            ReviewError::Draft(_) | ReviewError::Changed { .. } => Kind::Conflict,
            ReviewError::NothingToLift { .. } => Kind::Nothing,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            ReviewError::NoRole { .. } | ReviewError::OutOfReach { .. } => {
                "`runebook actor list` shows who may review; an admin changes roles in .runebook/actors.yaml"
                    .to_owned()
            }
            ReviewError::Unseen { .. } => "somebody who may read all of it must look at it".to_owned(),
            ReviewError::OwnWork { id, .. } => {
                format!("somebody else must look at it; `runebook review comment {id}` is open to everybody")
            }
            ReviewError::Draft(id) => format!("its proposer runs `runebook propose submit {id}`"),
            ReviewError::Changed { id, .. } => format!("look at it again: `runebook review show {id}`"),
            ReviewError::NoDigest(id) => {
                format!("`runebook review show {id}` ends with the digest; approve with `--digest` and that")
            }
            ReviewError::NothingToLift { id, .. } => {
                format!("`runebook propose show {id}` lists the verdicts")
            }
            ReviewError::ForeignFile { id, .. } => {
                format!("`runebook review diff {id}` shows the files; write a comment as PATH:LINE:TEXT")
            }
            ReviewError::Silent => "for instance `--message \"Please cite the chat\"`".to_owned(),
        })
    }
}

/// The submitted proposals that `actor` may review and has not approved as they stand; longest waiting first.
///
/// # Errors
/// When main or the references cannot be read.
pub fn queue(vault: &Vault<'_>, actor: &Actor) -> Result<Vec<Listed>, Fault> {
    let main = vault.main()?;
    let actors = vault.governance(main)?.actors;
    let mut out = Vec::new();
    for (id, tip) in open_ones(&vault.repo)? {
        let Ok(assessed) = assess(vault, main, &id, tip) else { continue };
        let waits = matches!(
            assessed.decision.state,
            State::Open | State::NeedsHuman | State::ChangesRequested | State::Rejected
        );
        let said = assessed.decision.approvals.iter().any(|voice| voice.actor == actor.id);
        if waits && !said && may_review(&assessed.branch, &actors, actor).is_ok() {
            out.push(line(&id, assessed));
        }
    }
    out.sort_by(|a, b| a.opened.cmp(&b.opened).then_with(|| a.id.cmp(&b.id)));
    Ok(out)
}

/// A file of a proposal with what a reviewer needs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Shown {
    /// What differs.
    #[serde(flatten)]
    pub diff: FileDiff,
    /// The text before; absent when the file is new, no text or over 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The evidence that it cites afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// A proposal as a reviewer sees it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Review {
    /// What may be done with it, and why.
    pub decision: Decision,
    /// What the checks report.
    pub findings: Vec<Finding>,
    /// The files.
    pub files: Vec<Shown>,
    /// What was said, oldest first.
    pub events: Vec<Told>,
}

/// Everything that a reviewer needs to see of an open proposal.
///
/// # Errors
/// When it is not open, or its branch cannot be read.
pub fn show(vault: &Vault<'_>, access: &Access, id: &ProposalId) -> Result<Review, Fault> {
    let main = vault.main()?;
    let tip = open_tip(vault, id)?;
    let assessed = assess(vault, main, id, tip)?;
    let sight = Sight::of(vault, access)?;
    let seen = sight.seen(&assessed.branch.records)?;
    let files = shown(vault, access, &sight, &assessed)?;
    let events = told(&assessed.branch);
    let findings = sight.findings(&seen, assessed.findings)?;
    Ok(Review { decision: Sight::decision(&seen, assessed.decision), findings, files, events })
}

fn shown(
    vault: &Vault<'_>,
    access: &Access,
    sight: &Sight<'_, '_>,
    assessed: &Assessed,
) -> Result<Vec<Shown>, Fault> {
    let repo = &vault.repo;
    let text = |of: u32, oid: Oid| -> Result<Option<String>, Fault> {
        if !matches!(of, mode::FILE | mode::EXECUTABLE) || repo.blob_size(oid)? > MAX_BEFORE as u64 {
            return Ok(None);
        }
        Ok(String::from_utf8(repo.blob(oid)?).ok())
    };
    let mut out = Vec::new();
    for (record, diff) in assessed.branch.records.iter().zip(files(repo, &assessed.branch.records)?) {
        let Some(diff) = sight.files(vec![diff])?.pop() else { continue };
        let before = text(record.old_mode, record.old_oid)?;
        let after = text(record.new_mode, record.new_oid)?.unwrap_or_default();
        let mut evidence = cited(&after);
        for one in &mut evidence {
            let readable = Uri::parse(&one.uri).is_ok_and(|uri| access.may_read(&uri.path));
            one.excerpt = if readable { excerpt(vault, assessed.result, &one.uri)? } else { None };
        }
        out.push(Shown { diff, before, evidence });
    }
    Ok(out)
}

/// What a reviewer says.
#[derive(Debug, Clone)]
pub struct Request {
    /// The proposal.
    pub id: ProposalId,
    /// The verdict; none: only a comment.
    pub verdict: Option<Verdict>,
    /// The digest that was shown.
    pub digest: Option<Digest>,
    /// Words.
    pub message: Option<String>,
    /// Comments on lines, files, or in general, with evidence.
    pub comments: Vec<Remark>,
}

/// What was recorded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Recorded {
    /// The proposal.
    pub proposal: ProposalId,
    /// The event.
    pub event: Oid,
    /// Where the proposal stands now.
    pub state: State,
    /// Why, and what is still needed.
    pub reasons: Vec<String>,
    /// What is still needed.
    pub missing: Vec<String>,
    /// The digest that the event is about.
    pub digest: Digest,
}

/// Records a verdict or a comment. When somebody else's event came in between it is recorded behind that one; when
/// the content changed, it is not.
///
/// # Errors
/// [`ReviewError`]; nothing is recorded then.
pub fn say(vault: &Vault<'_>, actor: &Actor, request: &Request) -> Result<Recorded, Fault> {
    let (main, event) = retried(|| {
        let main = vault.main()?;
        let tip = open_tip(vault, &request.id)?;
        let branch = Branch::read(&vault.repo, &request.id, tip, main)?;
        let comments = remarks(&branch, request)?;
        let draft = match request.verdict {
            Some(verdict) => {
                let actors = vault.governance(main)?.actors;
                may_review(&branch, &actors, actor)?;
                fits(&branch, request, verdict)?;
                let access = Access { actor: Some(actor.clone()), view: View::Main };
                if !Sight::of(vault, &access)?.seen(&branch.records)?.whole {
                    return Err(ReviewError::Unseen { actor: actor.id.clone(), id: branch.id }.into());
                }
                Draft::review(verdict, comments)
            }
            None if comments.is_empty() && request.message.is_none() => {
                return Err(ReviewError::Silent.into());
            }
            None => Draft::comment(comments),
        };
        let draft = match &request.message {
            Some(message) => draft.with_text(message.clone()),
            None => draft,
        };
        Ok((main, events::append(vault, &branch, actor, draft)?))
    })?;
    recorded(vault, main, actor, &request.id, event)
}

/// Tries again when somebody else's event came in between. What is tried ends with the step that it records: whatever
/// failed behind that would record it twice.
pub(super) fn retried<T>(mut attempt: impl FnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    use crate::store::git::GitError;
    for _ in 0..20 {
        match attempt() {
            Err(fault) if matches!(fault.as_error().downcast_ref(), Some(GitError::RefMoved { .. })) => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            other => return other,
        }
    }
    attempt()
}

/// What stands after an event, read against the main at which it was made: somebody may have merged it since.
fn recorded(
    vault: &Vault<'_>,
    main: Oid,
    actor: &Actor,
    id: &ProposalId,
    event: Oid,
) -> Result<Recorded, Fault> {
    let assessed = assess(vault, main, id, event)?;
    let access = Access { actor: Some(actor.clone()), view: View::Main };
    let seen = Sight::of(vault, &access)?.seen(&assessed.branch.records)?;
    let decision = Sight::decision(&seen, assessed.decision);
    Ok(Recorded {
        proposal: id.clone(),
        event,
        state: decision.state,
        reasons: decision.reasons,
        missing: decision.missing,
        digest: decision.digest,
    })
}

fn fits(branch: &Branch, request: &Request, verdict: Verdict) -> Result<(), ReviewError> {
    let id = request.id.clone();
    let content = branch.commits.iter().rposition(super::branch::BranchCommit::is_content);
    let submitted =
        branch.events().filter(|(_, _, event)| event.kind == EventKind::Submit).map(|(at, _, _)| at).last();
    if submitted.is_none() || content > submitted {
        return Err(ReviewError::Draft(id));
    }
    match request.digest {
        Some(shown) if shown != branch.digest => Err(ReviewError::Changed { id, shown, now: branch.digest }),
        None if verdict == Verdict::Approve => Err(ReviewError::NoDigest(id)),
        _ => Ok(()),
    }
}

fn remarks(branch: &Branch, request: &Request) -> Result<Vec<Remark>, ReviewError> {
    let changed: BTreeSet<&[u8]> = branch.records.iter().map(|record| record.path.as_slice()).collect();
    for path in request.comments.iter().filter_map(|remark| remark.path.as_ref()) {
        if !changed.contains(path.as_bytes()) {
            return Err(ReviewError::ForeignFile { id: request.id.clone(), path: path.clone() });
        }
    }
    Ok(request.comments.clone())
}

/// Whether an actor may give a verdict: it has the role, stands behind no part of the proposal, and reviews all of
/// its paths. What `decide` would ignore is refused here with the reason.
///
/// # Errors
/// The reason.
pub fn may_review(branch: &Branch, actors: &Actors, actor: &Actor) -> Result<(), ReviewError> {
    let id = || branch.id.clone();
    if !actor.has(Role::Review) {
        return Err(ReviewError::NoRole { actor: actor.id.clone(), id: id(), role: "review" });
    }
    let own = |why: String| ReviewError::OwnWork { actor: actor.id.clone(), id: id(), why };
    if let Some((_, event, _)) = branch.open() {
        if event.actor == actor.id {
            return Err(own("it is its own proposal, and nobody reviews his own".to_owned()));
        }
        if actors.get(&event.actor).is_some_and(|proposer| same_principal(proposer, actor)) {
            let why =
                format!("`{}`, who proposed it, has the same principal `{}`", event.actor, actor.principal());
            return Err(own(why));
        }
    }
    let paths: BTreeSet<VaultPath> = branch.records.iter().filter_map(|record| record.vault_path()).collect();
    for maker in makers(branch, actors, &paths) {
        if maker.actor.as_ref().is_some_and(|maker| same_principal(maker, actor)) {
            return Err(own(format!("{} wrote part of it", maker.shown)));
        }
    }
    let reach = Reach::of(actor.reviews.as_ref());
    match paths.into_iter().find(|path| !reach.holds(path)) {
        Some(path) => Err(ReviewError::OutOfReach { actor: actor.id.clone(), id: id(), path }),
        None => Ok(()),
    }
}

/// Takes back a verdict: the one that is named, or the actor's own standing veto.
///
/// # Errors
/// When there is none.
pub fn lift(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    event: Option<Oid>,
    message: Option<&str>,
) -> Result<Recorded, Fault> {
    let (main, event) = retried(|| {
        let main = vault.main()?;
        let tip = open_tip(vault, id)?;
        let assessed = assess(vault, main, id, tip)?;
        let own = || {
            let mine = assessed.decision.vetoes.iter().rev().find(|voice| voice.actor == actor.id);
            mine.map(|voice| voice.event)
        };
        let event = event
            .or_else(own)
            .ok_or_else(|| ReviewError::NothingToLift { actor: actor.id.clone(), id: id.clone() })?;
        let draft = Draft::lift(event).with_text(message.unwrap_or_default());
        Ok((main, events::append(vault, &assessed.branch, actor, draft)?))
    })?;
    recorded(vault, main, actor, id, event)
}
