//! Taking back what was done to branches: commits, merges, proposals, verdicts. History only grows: what is taken back
//! is followed by its inverse.

use std::collections::BTreeSet;

use super::whole::{Step as Did, Whole};
use super::{UndoError, Undone};
use crate::flow::acting;
use crate::flow::commit::{self, may_commit};
use crate::flow::merge;
use crate::flow::propose::{self, ProposeError, combine};
use crate::flow::review;
use crate::flow::rollback;
use crate::flow::vault::Vault;
use crate::model::actor::{Actor, Role};
use crate::model::change::{Change, ChangeSet, DiffRecord, Entry, mode};
use crate::model::fault::Fault;
use crate::model::id::{Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::proposal::State;
use crate::store::files;
use crate::store::git::Checkout;
use crate::store::operations::Effect;
use crate::store::plain;

/// What takes back the effects on branches, in the order in which it is done.
enum Step<'e> {
    Revert(Oid),
    RollBack(&'e ProposalId),
    Withdraw(&'e ProposalId),
    Unwrite(&'e ProposalId, Oid),
    TakeUp(&'e ProposalId),
    Lift(&'e ProposalId, Oid),
}

fn steps<'e>(what: &str, effects: &'e [Effect]) -> Result<Vec<Step<'e>>, UndoError> {
    let mut out = Vec::new();
    let begun =
        |id: &ProposalId| effects.iter().any(|e| matches!(e, Effect::Opened { proposal } if proposal == id));
    let merged =
        |id: &ProposalId| effects.iter().any(|e| matches!(e, Effect::Merged { proposal } if proposal == id));
    let wrote = |id: &ProposalId| {
        effects.iter().any(|e| matches!(e, Effect::Wrote { proposal, .. } if proposal == id))
    };
    for effect in effects.iter().rev() {
        match effect {
            Effect::Committed { commit } => out.push(Step::Revert(*commit)),
            Effect::Merged { proposal } => out.push(Step::RollBack(proposal)),
            // What was begun and merged by one command is taken back as a merge.
            Effect::Opened { proposal } if !merged(proposal) => out.push(Step::Withdraw(proposal)),
            Effect::Wrote { proposal, commit } if !begun(proposal) => {
                out.push(Step::Unwrite(proposal, *commit));
            }
            Effect::Withdrawn { proposal } => out.push(Step::TakeUp(proposal)),
            Effect::Judged { proposal, event, .. } => out.push(Step::Lift(proposal, *event)),
            Effect::Submitted { proposal } if !begun(proposal) && !wrote(proposal) => {
                return Err(UndoError::Final {
                    what: what.to_owned(),
                    why: "reviewers may have seen the revision".to_owned(),
                    hint: format!(
                        "change it and submit again, or end it with `runebook propose withdraw {proposal}`"
                    ),
                });
            }
            _ => {}
        }
    }
    Ok(out)
}

/// The proposal that effects begin and do not merge.
pub(super) fn only_proposed(effects: &[Effect]) -> Option<&ProposalId> {
    let merged = effects.iter().any(|effect| matches!(effect, Effect::Merged { .. }));
    effects.iter().find_map(|effect| match effect {
        Effect::Opened { proposal } if !merged => Some(proposal),
        _ => None,
    })
}

/// What the inverse of a commit means for the files: people expect the words to stay there and only the commit to go.
fn as_before(vault: &Vault<'_>, commit: Oid, be: [&str; 2]) -> String {
    let records = backwards(vault, "", commit).unwrap_or_default();
    let (added, others): (Vec<_>, Vec<_>) = records.iter().partition(|record| record.new_mode == mode::NONE);
    let named = |records: &[&DiffRecord], verb: &str| {
        let mut names: Vec<String> =
            records.iter().take(3).map(|record| String::from_utf8_lossy(&record.path).into_owned()).collect();
        if records.len() > 3 {
            names.push(format!("{} more", records.len() - 3));
        }
        let last = names.pop().unwrap_or_default();
        let all = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
        format!("{all} {verb}")
    };
    let [are, go] = be;
    let mut out = Vec::new();
    if !others.is_empty() {
        out.push(named(&others, are));
    }
    if !added.is_empty() {
        out.push(named(&added, go));
    }
    format!("{}; the text is kept in commit {}", out.join(", "), commit.short())
}

/// What would be done, a sentence each.
pub(super) fn would(vault: &Vault<'_>, effects: &[Effect], redo: bool) -> Vec<String> {
    let sentence = |step: Step<'_>| match step {
        Step::Revert(commit) => {
            let inverse = format!("the inverse of commit {} would be committed", commit.short());
            match redo {
                true => inverse,
                false => format!(
                    "{inverse}: {}, and `runebook undo --redo` brings it back",
                    as_before(vault, commit, ["would be as before the commit", "would be removed"])
                ),
            }
        }
        Step::RollBack(id) => {
            format!("the inverse of proposal {id} would be proposed, and merged where you may")
        }
        Step::Withdraw(id) => format!("proposal {id} would be withdrawn"),
        Step::Unwrite(id, commit) => {
            format!("commit {} of proposal {id} would be reverted there", commit.short())
        }
        Step::TakeUp(id) => format!("the change of proposal {id} would be proposed again"),
        Step::Lift(id, _) => format!("your verdict on proposal {id} would be lifted"),
    };
    steps("", effects).map(|steps| steps.into_iter().map(sentence).collect()).unwrap_or_default()
}

/// Whether it can be taken back at all.
pub(super) fn possible(vault: &Vault<'_>, what: &str, effects: &[Effect]) -> Result<(), Fault> {
    for step in steps(what, effects)? {
        if let Step::Revert(commit) = step {
            inverse(vault, what, commit)?;
        }
    }
    Ok(())
}

/// Takes it back.
pub(super) fn take_back(
    vault: &Vault<'_>,
    what: &str,
    effects: &[Effect],
    confirmed: bool,
    undone: &mut Undone,
) -> Result<(), Fault> {
    let steps = steps(what, effects)?;
    if steps.is_empty() {
        return Ok(());
    }
    let governance = vault.governance(vault.main()?)?;
    let actor = acting::acting(vault, &governance, vault.asked.as_deref())?;
    for step in steps {
        match step {
            Step::Revert(commit) => revert(vault, what, commit, undone)?,
            Step::RollBack(id) => roll_back(vault, &actor, id, confirmed, undone)?,
            Step::Withdraw(id) => {
                let ended = propose::withdraw(vault, &actor, id, Some("Undone."))?;
                undone
                    .also
                    .push(format!("proposal {id} is withdrawn; its branch is kept as {}", ended.branch));
            }
            Step::Unwrite(id, commit) => unwrite(vault, &actor, id, commit, undone)?,
            Step::TakeUp(id) => {
                let new = propose::anew(vault, &actor, id, None)?;
                undone.also.push(format!("the change of {id} is proposal {} now, not submitted yet", new.id));
            }
            Step::Lift(id, event) => {
                let recorded = review::lift(vault, &actor, id, Some(event), None)?;
                undone.also.push(format!("the verdict on {id} is lifted; it is {} now", recorded.state));
            }
        }
    }
    Ok(())
}

fn roll_back(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    confirmed: bool,
    undone: &mut Undone,
) -> Result<(), Fault> {
    let mut rolled = rollback::rollback(vault, actor, id)?;
    if confirmed && rolled.decision.state == State::Approved && actor.is_person() && actor.has(Role::Merge) {
        rolled = rollback::merge_at_once(vault, actor, rolled)?;
    }
    if let Some(merged) = rolled.merged.as_ref().map(|merged: &merge::Merged| merged.commit) {
        undone.also.push(format!("proposal {id} is taken back by the merge {}", merged.short()));
    } else {
        undone.also.push(format!("proposal {} is opened, which takes back {id}", rolled.id));
        undone.approved = rolled.decision.state == State::Approved;
        undone.proposal = Some(rolled.id);
    }
    Ok(())
}

/// What a commit changed, backwards, without the generated files.
fn backwards(vault: &Vault<'_>, what: &str, commit: Oid) -> Result<Vec<DiffRecord>, Fault> {
    let repo = &vault.repo;
    let gone = || UndoError::Final {
        what: what.to_owned(),
        why: "it is the first commit".to_owned(),
        hint: "remove the files yourself, then `runebook commit`".to_owned(),
    };
    let before = repo.parents(commit)?.first().copied().ok_or_else(gone)?;
    let records = repo.diff(Some(repo.tree_of(commit)?), Some(repo.tree_of(before)?))?;
    Ok(records.into_iter().filter(|record| !record.is_layer()).collect())
}

/// The inverse of a commit on today's main, if nothing of it is edited and the policy lets it be committed.
fn inverse(vault: &Vault<'_>, what: &str, commit: Oid) -> Result<ChangeSet, Fault> {
    commit::on_main(vault)?;
    let repo = &vault.repo;
    let combined = combine(repo, repo.tree_of(vault.main()?)?, &backwards(vault, what, commit)?)?;
    if !combined.clashes.is_empty() {
        return Err(ProposeError::Clash(combined.clashes).into());
    }
    let paths: Vec<VaultPath> = combined.changes.changes.keys().cloned().collect();
    if paths.is_empty() {
        let why = "the approved branch has nothing left of it".to_owned();
        let hint = "`runebook log` shows what came since".to_owned();
        return Err(UndoError::Final { what: what.to_owned(), why, hint }.into());
    }
    let is_file = |entry: &Entry| matches!(entry.mode, mode::FILE | mode::EXECUTABLE);
    if combined.changes.changes.values().any(|c| matches!(c, Change::Put(entry) if !is_file(entry))) {
        let why = "it concerns a symbolic link or a repository of its own".to_owned();
        let hint = format!("`git revert {}` takes it back", commit.short());
        return Err(UndoError::Final { what: what.to_owned(), why, hint }.into());
    }
    unedited(vault, what, &combined.changes)?;
    let governance = vault.governance(vault.main()?)?;
    let actor = acting::acting(vault, &governance, vault.asked.as_deref())?;
    for path in &paths {
        if let Err(direct) = may_commit(&governance, &actor, path) {
            let reserved =
                commit::CommitError::Reserved { actor: actor.id, paths: vec![(path.clone(), direct)] };
            return Err(reserved.into());
        }
    }
    Ok(combined.changes)
}

/// Fails where a file has changes that are not committed, other than those that a run made which was killed before it
/// committed them.
fn unedited(vault: &Vault<'_>, what: &str, changes: &ChangeSet) -> Result<(), Fault> {
    let root = vault.root()?;
    let paths: Vec<VaultPath> = changes.changes.keys().cloned().collect();
    for edited in vault.repo.edited(&paths)? {
        if edited.unseen.is_some() {
            let why = "cannot be looked at";
            return Err(UndoError::Changed { what: what.to_owned(), path: edited.path, why }.into());
        }
        let stands = vault.repo.add_file(root, &edited.path)?;
        let wanted = match changes.changes.get(&edited.path) {
            Some(Change::Put(entry)) => Some(*entry),
            _ => None,
        };
        if stands != wanted {
            let why = "has uncommitted changes";
            return Err(UndoError::Changed { what: what.to_owned(), path: edited.path, why }.into());
        }
    }
    Ok(())
}

/// Commits the inverse of a commit; the files follow.
fn revert(vault: &Vault<'_>, what: &str, commit: Oid, undone: &mut Undone) -> Result<(), Fault> {
    let changes = inverse(vault, what, commit)?;
    let whole = place(vault, what, &changes)?;
    let subject = vault.repo.commit(commit)?.message.lines().next().unwrap_or_default().to_owned();
    let message = format!("Take back {}: {subject}", commit.short());
    let paths: Vec<VaultPath> = changes.changes.keys().cloned().collect();
    undone.files.extend(paths.clone());
    let request = commit::Request { message: Some(message), paths, all: false };
    let failed = match commit::commit(vault, vault.asked.as_deref(), &request) {
        Ok(commit::Answer { commit: Some(new), .. }) => {
            whole.done();
            undone.also.push(format!("commit {} is taken back by {}", commit.short(), new.short()));
            if !undone.redo {
                undone.also.push(as_before(vault, commit, ["again as before the commit", "removed"]));
            }
            return Ok(());
        }
        Ok(_) => UndoError::Final {
            what: what.to_owned(),
            why: "it changed no bytes of a file".to_owned(),
            hint: format!("take it back with `git revert {}`", commit.short()),
        }
        .into(),
        Err(fault) => fault,
    };
    // The files follow the history: without the commit they are as they were.
    Err(whole.failed(failed))
}

/// Puts the files of a change in the work tree, in the form in which git checks them out.
fn place<'v, 'r>(vault: &'v Vault<'r>, what: &'v str, changes: &ChangeSet) -> Result<Whole<'v, 'r>, Fault> {
    let root = vault.root()?;
    let entries: Vec<(VaultPath, Entry)> = changes
        .changes
        .iter()
        .filter_map(|(path, change)| match change {
            Change::Put(entry) => Some((path.clone(), *entry)),
            _ => None,
        })
        .collect();
    let trees = vault.repo.work_trees()?;
    let here = trees.into_iter().find(|tree| tree.git_dir == vault.repo.git_dir());
    let checkout = here.as_ref().map(Checkout::open).transpose()?;
    let forms = checkout.as_ref().map(|c| c.make_forms(&vault.repo, &entries)).transpose()?;
    // A link gives way itself, whatever it leads to.
    let is_link = |path: &VaultPath| {
        let data = files::place(root, path).ok().and_then(|at| at.symlink_metadata().ok());
        data.is_some_and(|data| data.file_type().is_symlink())
    };
    let links: BTreeSet<VaultPath> = changes.changes.keys().filter(|path| is_link(path)).cloned().collect();
    // Read first and then looked at once more: whatever somebody saves from here on is noticed when it gives way.
    let mut effects = Vec::new();
    for (path, change) in &changes.changes {
        let io = |why| UndoError::Io { what: what.to_owned(), path: path.clone(), why };
        let link = links.contains(path) || path.ancestors().any(|above| links.contains(&above));
        let there = !link && files::place(root, path)?.symlink_metadata().is_ok();
        let old = if there { Some(files::read(root, path)?) } else { None };
        let new = match (change, &forms) {
            (Change::Put(_), Some(forms)) => Some(plain::read(forms.join(path.as_str())).map_err(io)?),
            (Change::Put(entry), None) => Some(vault.repo.blob(entry.oid)?),
            _ => None,
        };
        effects
            .extend(Effect::file(path, old.as_deref(), new.as_deref()).and_then(|effect| effect.reversed()));
    }
    unedited(vault, what, changes)?;
    let mut whole = Whole::new(vault, what);
    let put = |whole: &mut Whole<'_, '_>| -> Result<(), Fault> {
        for link in &links {
            whole.take_away(link)?;
        }
        super::files::take_back(whole, &effects)?;
        for (path, entry) in entries {
            let (at, wanted) = (files::place(root, &path)?, entry.mode == mode::EXECUTABLE);
            if files::set_executable(&at, wanted).map_err(whole.io(&path))? {
                whole.did(Did::Mode { path, was: !wanted });
            }
        }
        Ok(())
    };
    match put(&mut whole) {
        Ok(()) => Ok(whole),
        Err(fault) => Err(whole.failed(fault)),
    }
}

/// Reverts one content commit of a proposal on its branch.
fn unwrite(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    commit: Oid,
    undone: &mut Undone,
) -> Result<(), Fault> {
    let what = format!("commit {} of {id}", commit.short());
    let records = backwards(vault, &what, commit)?;
    let written = propose::change(vault, actor, id, |branch| {
        let combined = combine(&vault.repo, branch.tree, &records)?;
        if !combined.clashes.is_empty() {
            return Err(ProposeError::Clash(combined.clashes).into());
        }
        Ok((combined.changes, format!("Take back {}", commit.short())))
    })?;
    undone.also.push(format!("{what} is reverted there by {}", written.commit.short()));
    Ok(())
}
