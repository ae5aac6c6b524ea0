//! `undo`: the last thing that somebody did here, taken back.
//!
//! Every verb that changes something notes what it does (`note`): work on files before it is done, with what it takes
//! to take it back, so that a run that was killed half-way can be undone too; work on git when it is done. All notes of
//! one command are one operation. Nothing is taken back over somebody's later edit: the file is named, and nothing is
//! done.

mod branches;
mod files;
mod kept;
mod whole;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use self::whole::Whole;
use super::acting::{self, ActingError};
use super::vault::Vault;
use crate::model::actor::Actor;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::ProposalId;
use crate::model::path::VaultPath;
use crate::store::lock::{self, Lock};
use crate::store::operations::{Effect, Operation, Operations};

/// Why nothing is undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is nothing of this person's or agent's to undo.
    #[error("nothing that {who} did here can be {}", if *redo { "done again" } else { "undone" })]
    Nothing {
        /// Who asked.
        who: String,
        /// Whether it was to be done again.
        redo: bool,
    },
    /// A file is no longer as the operation left it.
    #[error("nothing was done about `{what}`: {path} {why}")]
    Changed {
        /// The operation.
        what: String,
        /// The file.
        path: VaultPath,
        /// What is the matter with it.
        why: &'static str,
    },
    /// What was put away is gone.
    #[error("`{what}` is not undone: {} is gone, and it was the only copy", kept.display())]
    Lost {
        /// The operation.
        what: String,
        /// Where it was kept.
        kept: std::path::PathBuf,
    },
    /// It cannot be taken back by its nature.
    #[error("`{what}` cannot be undone: {why}")]
    Final {
        /// The operation.
        what: String,
        /// Why.
        why: String,
        /// What to do instead.
        hint: String,
    },
    /// The file system refuses.
    #[error("undoing `{what}`: {path}: {why}; nothing was changed")]
    Io {
        /// The operation.
        what: String,
        /// The file.
        path: VaultPath,
        /// Why.
        why: std::io::Error,
    },
    /// It failed, and so did putting the files back.
    #[error(
        "undoing `{what}`: {why}; then some files could not be put back, and may be changed or missing: {}",
        named(left)
    )]
    Half {
        /// The operation.
        what: String,
        /// Why it failed.
        why: String,
        /// The files that are not as they were.
        left: Vec<VaultPath>,
        /// Where what was taken away lies.
        kept: Option<std::path::PathBuf>,
    },
}

fn named(paths: &[VaultPath]) -> String {
    paths.iter().map(VaultPath::as_str).collect::<Vec<_>>().join(", ")
}

impl Explain for UndoError {
    fn kind(&self) -> Kind {
        match self {
            UndoError::Nothing { .. } => Kind::Nothing,
            UndoError::Changed { .. } => Kind::Conflict,
            UndoError::Lost { .. } | UndoError::Io { .. } | UndoError::Half { .. } => Kind::Failed,
            UndoError::Final { .. } => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            UndoError::Nothing { redo: false, .. } => Some(
                "`runebook undo --list` shows what is known; edits made in an editor are undone there, or with git"
                    .to_owned(),
            ),
            UndoError::Nothing { redo: true, .. } => {
                Some("only what `runebook undo` took back last can be done again".to_owned())
            }
            UndoError::Changed { .. } => Some(
                "no edit is written over: keep it elsewhere, or do the rest by hand (`runebook undo --list` shows what it was)"
                    .to_owned(),
            ),
            UndoError::Final { hint, .. } => Some(hint.clone()),
            UndoError::Io { why, .. } if why.kind() == std::io::ErrorKind::PermissionDenied => {
                Some("give yourself the right to it, then run this again".to_owned())
            }
            UndoError::Half { kept: Some(kept), .. } => Some(format!(
                "mend that and run this again before you commit; what was taken away lies in {}",
                kept.display()
            )),
            UndoError::Half { .. } => Some("mend that and run this again before you commit".to_owned()),
            UndoError::Lost { .. } | UndoError::Io { .. } => None,
        }
    }
}

/// What is asked of `undo`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request {
    /// Whether what was undone last is done again.
    pub redo: bool,
    /// Whether it is only shown what would be done.
    pub dry_run: bool,
    /// Whether a person gave their word that a merge is taken back at once; without it the inverse is proposed.
    pub confirmed: bool,
}

/// What `undo` did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Undone {
    /// The number of the operation.
    pub operation: u64,
    /// What it was.
    pub what: String,
    /// When it was.
    pub at: String,
    /// Whether it was done again instead of undone.
    pub redo: bool,
    /// Whether nothing was done, only shown.
    pub dry_run: bool,
    /// The files of the work tree that changed. Where nothing else was done either, they stood as before already.
    pub files: Vec<VaultPath>,
    /// What else was done, a sentence each.
    pub also: Vec<String>,
    /// A proposal that takes it back once it is merged: until then nothing is undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalId>,
    /// Whether that proposal needs nobody's approval any more, only a person who merges it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
}

/// One operation of the journal. `runebook undo --list` gives these.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Listed {
    /// Its number.
    pub number: u64,
    /// When.
    pub at: String,
    /// Who.
    pub who: String,
    /// What.
    pub what: String,
    /// Whether it was taken back.
    pub undone: bool,
    /// The proposal that takes it back once it is merged, where that is how it was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalId>,
    /// The operation that it took back, if it is an `undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The files of the work tree that it changed.
    pub files: Vec<VaultPath>,
}

/// Who acts, by the name under which the journal knows them.
fn who(vault: &Vault<'_>) -> String {
    match actor(vault) {
        Ok(actor) => actor.id.to_string(),
        // A person whom the vault does not know works with the files all the same.
        Err(_) => acting::git_person(vault).map_or_else(|_| "somebody".to_owned(), |(_, email)| email),
    }
}

fn actor(vault: &Vault<'_>) -> Result<Actor, Fault> {
    let governance = vault.governance(vault.main()?)?;
    acting::acting(vault, &governance, vault.asked.as_deref())
}

/// Who asks. Whoever claims to be an actor that the vault does not know, or no longer, is not taken for git's person:
/// what that person did is not theirs.
fn asks(vault: &Vault<'_>) -> Result<(String, Option<Actor>), Fault> {
    match actor(vault) {
        Ok(actor) => Ok((actor.id.to_string(), Some(actor))),
        Err(fault) => match fault.as_error().downcast_ref() {
            Some(ActingError::Stranger { .. } | ActingError::Nobody) => Ok((who(vault), None)),
            _ => Err(fault),
        },
    }
}

/// One undoing at a time: of two at once both would take back the same operation.
fn alone(vault: &Vault<'_>) -> Result<Lock, Fault> {
    Ok(Lock::take(&vault.repo.git_dir().join("runebook/undo.lock"), "undo", lock::PATIENCE)?)
}

fn journal(vault: &Vault<'_>) -> Operations {
    Operations::of(vault.repo.git_dir())
}

/// Notes what the running command does; a second note of the same command is part of the same operation. `what` is it
/// in words, as an imperative.
///
/// # Errors
/// When the journal cannot be written.
pub(super) fn note(vault: &Vault<'_>, what: &str, effects: Vec<Effect>) -> Result<(), Fault> {
    if effects.is_empty() {
        return Ok(());
    }
    let journal = journal(vault);
    if let Some(number) = vault.operation.get() {
        return Ok(journal.extend(number, &effects)?);
    }
    let number = journal.append(begun(vault, what, None, effects))?;
    vault.operation.set(Some(number));
    Ok(())
}

/// Takes back what the running command noted: it did not happen after all.
pub(super) fn forget(vault: &Vault<'_>) {
    if let Some(number) = vault.operation.take() {
        journal(vault).forget(number);
    }
}

/// The same for what git has already: the verb did what was asked, and whether `undo` knows of it changes nothing about
/// that. Every one of these has a command of its own that takes it back.
pub(super) fn note_done(vault: &Vault<'_>, what: &str, effect: Effect) {
    let _ = note(vault, what, vec![effect]);
}

fn begun(vault: &Vault<'_>, what: &str, undoes: Option<u64>, effects: Vec<Effect>) -> Operation {
    let what = what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let (at, who) = (vault.clock.stamp(), who(vault));
    Operation { version: 1, number: 0, at, who, what, undoes, undone: false, effects }
}

/// The journal of this work tree, the newest first; to an agent only what it did itself, since what a person does with
/// the files nobody approved.
///
/// # Errors
/// When it cannot be read.
pub fn list(vault: &Vault<'_>) -> Result<Vec<Listed>, Fault> {
    let journal = journal(vault);
    let (who, actor) = asks(vault)?;
    let narrow = actor.is_some_and(|actor| !actor.is_person());
    let mut out = Vec::new();
    // What takes an operation back comes behind it, so it was read before.
    let mut proposed: HashMap<u64, ProposalId> = HashMap::new();
    for number in journal.numbers()?.into_iter().rev() {
        // One that cannot be read hides no other.
        let Ok(operation) = journal.read(number) else { continue };
        if let (Some(of), Some(proposal)) = (operation.undoes, branches::only_proposed(&operation.effects)) {
            proposed.entry(of).or_insert_with(|| proposal.clone());
        }
        if narrow && operation.who != who {
            continue;
        }
        out.push(Listed {
            number,
            proposal: proposed.remove(&number).filter(|_| operation.undone),
            files: files::touched(&operation.effects),
            at: operation.at,
            who: operation.who,
            what: operation.what,
            undone: operation.undone,
            undoes: operation.undoes,
        });
    }
    Ok(out)
}

/// The operation that is meant: the last one of the acting person or agent that was not taken back, or for `redo` the
/// last `undo`, if nothing was done since.
fn meant(vault: &Vault<'_>, redo: bool) -> Result<Operation, Fault> {
    let (journal, (who, _)) = (journal(vault), asks(vault)?);
    for number in journal.numbers()?.into_iter().rev() {
        let Ok(operation) = journal.read(number) else { continue };
        if operation.who != who || operation.undone {
            continue;
        }
        let took_back = operation.undoes.map(|number| journal.read(number));
        match took_back {
            None if redo => break,
            None => return Ok(operation),
            // What was done again counts through the operation itself.
            Some(Ok(of)) if redo && of.undoes.is_none() => return Ok(operation),
            Some(_) => {}
        }
    }
    Err(UndoError::Nothing { who, redo }.into())
}

/// What a person is asked before it is done: the operation that is meant, and what would be done, if it concerns
/// branches. What concerns files alone is done again as easily as it is undone.
///
/// # Errors
/// When there is none.
pub fn question(vault: &Vault<'_>, redo: bool) -> Result<Option<(String, Vec<String>)>, Fault> {
    let operation = meant(vault, redo)?;
    let would = branches::would(vault, &operation.effects, redo);
    Ok((!would.is_empty()).then_some((operation.what, would)))
}

/// Takes back the last operation, or does again what was taken back last.
///
/// # Errors
/// [`UndoError`]; nothing has changed then.
pub fn undo(vault: &Vault<'_>, request: Request) -> Result<Undone, Fault> {
    let journal = journal(vault);
    let _alone = if request.dry_run { None } else { Some(alone(vault)?) };
    let mut operation = meant(vault, request.redo)?;
    // When something is done again, what people know is what they did, not that it was undone.
    let original = operation.undoes.map(|number| journal.read(number)).transpose()?;
    let what = original.as_ref().unwrap_or(&operation).what.clone();
    let mut undone = Undone {
        operation: operation.number,
        what: what.clone(),
        at: operation.at.clone(),
        redo: request.redo,
        dry_run: request.dry_run,
        files: Vec::new(),
        also: Vec::new(),
        proposal: None,
        approved: false,
    };
    files::possible(vault, &what, &operation.effects)?;
    branches::possible(vault, &what, &operation.effects)?;
    undone.files = files::left(vault, &operation.effects)?;
    if request.dry_run {
        undone.also = branches::would(vault, &operation.effects, request.redo);
        return Ok(undone);
    }
    let verb = if request.redo { "redo" } else { "undo" };
    let reversed = operation.effects.iter().rev().filter_map(Effect::reversed).collect();
    let note = begun(vault, &format!("{verb}: {what}"), Some(operation.number), reversed);
    vault.operation.set(Some(journal.append(note)?));
    if let Err(fault) = take_back(vault, &what, &operation.effects, request.confirmed, &mut undone) {
        // What was done before it failed stays noted, so that it can be finished: both are idempotent.
        let half = matches!(fault.as_error().downcast_ref(), Some(UndoError::Half { .. }));
        if !half && (undone.also.is_empty() || !files::any(&operation.effects)) {
            forget(vault);
        }
        return Err(fault);
    }
    operation.undone = true;
    journal.write(&operation)?;
    if let Some(mut original) = original {
        original.undone = false;
        // What was done again stands elsewhere than at first: another commit, another place for what was put away.
        if let Some(again) = vault.operation.get() {
            original.effects = journal.read(again)?.effects;
        }
        journal.write(&original)?;
    }
    Ok(undone)
}

/// Takes everything back, or nothing of the files where no branch has moved yet.
fn take_back(
    vault: &Vault<'_>,
    what: &str,
    effects: &[Effect],
    confirmed: bool,
    undone: &mut Undone,
) -> Result<(), Fault> {
    let mut whole = Whole::new(vault, what);
    let taken = files::take_back(&mut whole, effects)
        .and_then(|()| branches::take_back(vault, what, effects, confirmed, undone));
    match taken {
        Err(fault) if undone.also.is_empty() => Err(whole.failed(fault)),
        taken => {
            whole.done();
            taken
        }
    }
}
