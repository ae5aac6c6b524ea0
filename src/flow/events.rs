//! Writing events: the commit of an event, and the references that follow it.

use super::acting::ident;
use super::branch::{Branch, BranchError};
use super::root;
use super::undo;
use super::vault::Vault;
use crate::model::actor::Actor;
use crate::model::change::digest;
use crate::model::commit::Commit;
use crate::model::event::{
    Data, Decide, Escalate, Event, EventKind, Lift, Open, Remark, Remarks, Supersede, Verdict, policy_hash,
};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::{ActorId, Oid, ProposalId};
use crate::store::git::{RefUpdate, Repo};
use crate::store::operations::Effect;

/// Why an event is not written.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// An agent says no without saying where or why.
    #[error("proposal {id}: an agent's {verdict} must name lines or evidence")]
    Ungrounded {
        /// The proposal.
        id: ProposalId,
        /// The verdict.
        verdict: Verdict,
    },
    /// Nothing differs from BASE.
    #[error("proposal {0} changes nothing, so there is nothing to submit")]
    Empty(ProposalId),
    /// An actor with keys must sign.
    #[error(
        "{0} has keys in .runebook/actors.yaml, so its events must be signed, and this version cannot sign"
    )]
    MustSign(ActorId),
    /// Kind, verdict and data do not belong together.
    #[error("an event `{0}` cannot carry that verdict or those data")]
    Inconsistent(EventKind),
    /// The event that is to be lifted is no verdict on this branch.
    #[error("proposal {id}: {} is no verdict on its branch", event.short())]
    NoVerdict {
        /// The proposal.
        id: ProposalId,
        /// What was named.
        event: Oid,
    },
    /// Chance gave names that were used before, or none at all.
    #[error("no new name for a proposal was found: {0}")]
    NoName(String),
}

impl Explain for EventsError {
    fn kind(&self) -> Kind {
        match self {
            EventsError::NoName(_) => Kind::Failed,
            EventsError::MustSign(_) => Kind::NotAllowed,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            EventsError::Ungrounded { .. } => {
                "name a line and say what is wrong there, or name evidence".to_owned()
            }
            EventsError::Empty(id) => format!("change something first: `runebook propose write {id} …`"),
            EventsError::MustSign(_) => {
                "an admin removes `keys` of that actor until signatures are supported".to_owned()
            }
            EventsError::Inconsistent(_) => "this is a defect of the program; please report it".to_owned(),
            EventsError::NoVerdict { id, .. } => format!("`runebook propose show {id}` lists the verdicts"),
            EventsError::NoName(_) => "run the command again".to_owned(),
        })
    }
}

/// What somebody wants to say; the rest of the event follows from its place.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What kind of event.
    pub kind: EventKind,
    /// The message's first line; absent: made from kind, revision and title.
    pub subject: Option<String>,
    /// Free text.
    pub text: Option<String>,
    /// The verdict of a review.
    pub verdict: Option<Verdict>,
    /// What it carries.
    pub data: Data,
}

impl Draft {
    fn of(kind: EventKind, data: Data) -> Draft {
        Draft { kind, subject: None, text: None, verdict: None, data }
    }

    /// The same with free text; white space alone is none.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Draft {
        self.text = Some(text.into()).filter(|text| !text.trim().is_empty());
        self
    }

    /// The branch's state is a revision.
    #[must_use]
    pub fn submit() -> Draft {
        Draft::of(EventKind::Submit, Data::None {})
    }

    /// The checks were run; the text says how they went.
    #[must_use]
    pub fn check() -> Draft {
        Draft::of(EventKind::Check, Data::None {})
    }

    /// Comments without a verdict.
    #[must_use]
    pub fn comment(comments: Vec<Remark>) -> Draft {
        Draft::of(EventKind::Comment, Data::Remarks(Remarks { comments }))
    }

    /// A verdict.
    #[must_use]
    pub fn review(verdict: Verdict, comments: Vec<Remark>) -> Draft {
        Draft { verdict: Some(verdict), ..Draft::of(EventKind::Review, Data::Remarks(Remarks { comments })) }
    }

    /// A verdict is taken back.
    #[must_use]
    pub fn lift(event: Oid) -> Draft {
        Draft::of(EventKind::Lift, Data::Lift(Lift { event }))
    }

    /// The proposal ends.
    #[must_use]
    pub fn withdraw() -> Draft {
        Draft::of(EventKind::Withdraw, Data::None {})
    }

    /// Another proposal takes its place.
    #[must_use]
    pub fn supersede(by: ProposalId) -> Draft {
        Draft::of(EventKind::Supersede, Data::Supersede(Supersede { by }))
    }

    /// A person must look.
    #[must_use]
    pub fn escalate(reason: impl Into<String>) -> Draft {
        Draft::of(EventKind::Escalate, Data::Escalate(Escalate { reason: reason.into() }))
    }

    /// It merges.
    #[must_use]
    pub fn decide(decide: Decide) -> Draft {
        Draft::of(EventKind::Decide, Data::Decide(decide))
    }
}

/// A new proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its name.
    pub id: ProposalId,
    /// The event `open`: the tip of its branch.
    pub tip: Oid,
}

/// Writes the commit of an event on the branch's tip. No reference moves: merge needs it unreferenced.
///
/// # Errors
/// When the event says something that would count for nothing, or the object store cannot be written.
pub fn prepare(vault: &Vault<'_>, branch: &Branch, actor: &Actor, draft: Draft) -> Result<Oid, Fault> {
    sensible(branch, actor, &draft)?;
    let revision = branch.revision + u32::from(draft.kind == EventKind::Submit);
    let event = Event {
        kind: draft.kind,
        vault: branch.vault,
        proposal: branch.id.clone(),
        revision,
        base: branch.base,
        digest: branch.digest,
        policy: policy_now(vault)?,
        actor: actor.id.clone(),
        prev: branch.prev_at_tip(&actor.id),
        verdict: draft.verdict,
        data: draft.data,
        subject: draft.subject.unwrap_or_else(|| subject(branch, draft.kind, draft.verdict, revision)),
        text: draft.text,
    };
    write(vault, actor, &event, branch.tree, branch.tip)
}

/// Writes an event and moves the proposal's branch and the reference of the tip last seen to it, together and only
/// if nobody else moved them. Returns the new tip.
///
/// # Errors
/// As [`prepare`]; [`crate::store::git::GitError::RefMoved`] when the branch is no longer where it was read.
pub fn append(vault: &Vault<'_>, branch: &Branch, actor: &Actor, draft: Draft) -> Result<Oid, Fault> {
    let (draft_kind, verdict) = (draft.kind, draft.verdict);
    let message = format!("runebook: {draft_kind} {}", branch.id);
    let tip = prepare(vault, branch, actor, draft)?;
    let effect = match (draft_kind, verdict) {
        (EventKind::Submit, _) => Some(Effect::Submitted { proposal: branch.id.clone() }),
        (EventKind::Review, Some(verdict)) => {
            Some(Effect::Judged { proposal: branch.id.clone(), event: tip, verdict })
        }
        _ => None,
    };
    advance(&vault.repo, &branch.id, branch.tip, tip, &message)?;
    if let Some(effect) = effect {
        undo::note_done(vault, &format!("{draft_kind} {}", branch.id), effect);
    }
    Ok(tip)
}

/// Moves a proposal's branch and the reference of the tip last seen from `old` to `new`.
///
/// # Errors
/// [`crate::store::git::GitError::RefMoved`] when the branch is not at `old`.
pub fn advance(repo: &Repo, id: &ProposalId, old: Oid, new: Oid, message: &str) -> Result<(), Fault> {
    let seen = repo.ref_oid(&id.seen_ref())?;
    let update =
        |name: String, old: Option<Oid>| RefUpdate { name, old, new: Some(new), message: message.to_owned() };
    Ok(repo.update_refs(&[update(id.open_ref(), Some(old)), update(id.seen_ref(), seen)])?)
}

/// Opens a proposal on a commit of main: a name never used before, its branch, its first event.
///
/// # Errors
/// When no name is free or git cannot be written.
pub fn open(vault: &Vault<'_>, actor: &Actor, data: Open) -> Result<Opened, Fault> {
    if !actor.keys.is_empty() {
        return Err(EventsError::MustSign(actor.id.clone()).into());
    }
    for _ in 0..16 {
        let bytes = vault.env.entropy.bytes().map_err(|e| EventsError::NoName(e.to_string()))?;
        let id = ProposalId::from_random(bytes);
        if is_used(&vault.repo, &id)? {
            continue;
        }
        let base = data.base;
        let event = Event {
            kind: EventKind::Open,
            vault: root::pinned(vault)?,
            proposal: id.clone(),
            revision: 0,
            base,
            digest: digest(&[]),
            policy: policy_now(vault)?,
            actor: actor.id.clone(),
            prev: Vec::new(),
            verdict: None,
            subject: format!("open {id}: {}", data.title),
            data: Data::Open(data.clone()),
            text: None,
        };
        let tip = write(vault, actor, &event, vault.repo.tree_of(base)?, base)?;
        let set =
            |name| RefUpdate { name, old: None, new: Some(tip), message: format!("runebook: open {id}") };
        match vault.repo.update_refs(&[set(id.open_ref()), set(id.seen_ref())]) {
            Ok(()) => {
                let effect = Effect::Opened { proposal: id.clone() };
                undo::note_done(vault, &format!("begin proposal {id}: {}", data.title), effect);
                return Ok(Opened { id, tip });
            }
            // Somebody drew the same name in this very moment.
            Err(crate::store::git::GitError::RefMoved { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(EventsError::NoName("sixteen in a row were taken".to_owned()).into())
}

/// Whether a name was ever used here: an open, closed or seen reference has it, also one of a remote.
fn is_used(repo: &Repo, id: &ProposalId) -> Result<bool, Fault> {
    for name in [id.open_ref(), id.closed_ref(), id.seen_ref()] {
        if repo.ref_oid(&name)?.is_some() {
            return Ok(true);
        }
    }
    let (open, closed) = (format!("/proposal/{id}"), format!("/closed/{id}"));
    let remotes = repo.refs("refs/remotes/")?;
    Ok(remotes.iter().any(|(name, _)| name.ends_with(&open) || name.ends_with(&closed)))
}

fn policy_now(vault: &Vault<'_>) -> Result<crate::model::id::Digest, Fault> {
    let tree = vault.repo.tree_of(vault.main()?)?;
    let blob = |path: &str| -> Result<Oid, Fault> {
        let path = crate::model::path::VaultPath::parse(path)?;
        Ok(vault.repo.entry_at(tree, &path)?.map_or(Oid::ZERO, |entry| entry.oid))
    };
    Ok(policy_hash(blob(super::vault::POLICY)?, blob(super::vault::ACTORS)?))
}

fn subject(branch: &Branch, kind: EventKind, verdict: Option<Verdict>, revision: u32) -> String {
    let id = &branch.id;
    match (kind, verdict) {
        (EventKind::Review, Some(verdict)) => format!("review: {verdict} revision {revision} of {id}"),
        (EventKind::Submit, _) => format!("submit: revision {revision} of {id}"),
        (kind, _) => format!("{kind}: {id}"),
    }
}

fn sensible(branch: &Branch, actor: &Actor, draft: &Draft) -> Result<(), Fault> {
    let id = || branch.id.clone();
    if !actor.keys.is_empty() {
        return Err(EventsError::MustSign(actor.id.clone()).into());
    }
    if draft.kind == EventKind::Open {
        return Err(BranchError::Shape {
            id: id().to_string(),
            commit: branch.tip,
            why: "would be followed by a second `open`".to_owned(),
        }
        .into());
    }
    let veto = draft.verdict.filter(|verdict| verdict.is_veto());
    if let (Some(verdict), false, Data::Remarks(remarks)) = (veto, actor.is_person(), &draft.data)
        && !remarks.comments.iter().any(Remark::is_grounded)
    {
        return Err(EventsError::Ungrounded { id: id(), verdict }.into());
    }
    if draft.kind == EventKind::Submit && branch.is_empty() {
        return Err(EventsError::Empty(id()).into());
    }
    if let Data::Lift(lift) = &draft.data
        && !branch.events().any(|(_, commit, event)| commit.oid == lift.event && event.verdict.is_some())
    {
        return Err(EventsError::NoVerdict { id: id(), event: lift.event }.into());
    }
    Ok(())
}

fn write(vault: &Vault<'_>, actor: &Actor, event: &Event, tree: Oid, parent: Oid) -> Result<Oid, Fault> {
    let message = event.to_message();
    // What is written must be read back as it is: a program that writes what it cannot read breaks the branch.
    if !event.is_consistent() || Event::parse(&message).is_err() {
        return Err(EventsError::Inconsistent(event.kind).into());
    }
    let ident = ident(vault, actor);
    let commit = Commit {
        tree,
        parents: vec![parent],
        author: ident.clone(),
        committer: ident,
        signature: None,
        message,
    };
    Ok(vault.repo.write_commit(&commit)?)
}
