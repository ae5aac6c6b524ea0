//! Finishing or taking back a merge that was killed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::{after, place, repoint, transaction};
use crate::flow::vault::Vault;
use crate::flow::worktree;
use crate::model::change::Entry;
use crate::model::fault::Fault;
use crate::model::id::{Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::store::git::{Checkout, GitError, IndexLock, RefUpdate, WorkTree};
use crate::store::journal::{self, Journal, Touched};
use crate::store::lock::Lock;

/// What was done about a killed merge or commit, where somebody should know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Recovered {
    /// The proposal; absent where no merge was killed.
    pub proposal: Option<ProposalId>,
    /// Whether the merge was finished; otherwise it was taken back.
    pub finished: bool,
    /// Files that a person had changed: left as they are.
    pub kept: Vec<PathBuf>,
    /// Paths of the approved branch that git's index does not take: it goes without them.
    pub refused: Vec<VaultPath>,
}

impl std::fmt::Display for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.finished { "finished" } else { "taken back" };
        if let Some(proposal) = &self.proposal {
            write!(f, "the merge of {proposal} had been interrupted and was {what}")?;
        } else {
            write!(f, "a commit had been interrupted and was {what}")?;
        }
        for file in &self.kept {
            write!(f, "; {} was edited meanwhile and was left as it is", file.display())?;
        }
        for path in &self.refused {
            let name = path.as_str().escape_debug();
            write!(
                f,
                "; `{name}` has a name that git's index refuses: rename the file, then `runebook commit` takes the old name from the approved branch"
            )?;
        }
        Ok(())
    }
}

/// As [`recover`], for a command that does not hold the vault's lock. Costs three looks at the file system when
/// nothing was killed. While another process holds the lock the journal is that one's, and nothing is done.
///
/// # Errors
/// As [`recover`].
pub fn recover_if_killed(vault: &Vault<'_>) -> Result<Option<Recovered>, Fault> {
    let derived = vault.derived_dir();
    if !Journal::exists(&derived) && !vault.repo.has_plans() {
        return Ok(None);
    }
    match Lock::take(&derived.join("lock"), "finish a merge", Duration::ZERO) {
        Ok(_lock) => recover(vault),
        Err(_) => Ok(None),
    }
}

/// Finishes a merge that was killed after main had moved, takes back one that was killed before, and completes what
/// other killed commands had begun with references and the index. The caller holds the
/// vault's lock.
///
/// # Errors
/// When that fails; the journal stays, and the next command tries again.
pub fn recover(vault: &Vault<'_>) -> Result<Option<Recovered>, Fault> {
    let derived = vault.derived_dir();
    let mut refused = vault.repo.settle(true)?.refused;
    let Some(journal) = Journal::read(&derived)? else {
        without_journal(vault)?;
        let told = Recovered { proposal: None, finished: true, kept: Vec::new(), refused };
        return Ok(Some(told).filter(|told| !told.refused.is_empty()));
    };
    unlock_references(vault, &journal, &derived)?;
    let finished = has_happened(vault, &journal)?;
    let kept = if finished { forward(vault, &journal, &mut refused)? } else { back(vault, &journal)? };
    Journal::clear(&derived)?;
    Journal::retract(&derived)?;
    Ok(Some(Recovered { proposal: Some(journal.proposal), finished, kept, refused }))
}

/// A run that was killed before it wrote the journal has changed nothing, but may hold locks.
fn without_journal(vault: &Vault<'_>) -> Result<(), Fault> {
    for tree in vault.repo.work_trees()? {
        IndexLock::release_left_over(&tree)?;
        Checkout::sweep(&tree);
    }
    Ok(Journal::retract(&vault.derived_dir())?)
}

/// Whether the transaction was begun with effect. libgit2 sets the references one after the other, so that a kill may
/// leave some of them set; then it is completed.
fn has_happened(vault: &Vault<'_>, journal: &Journal) -> Result<bool, Fault> {
    let repo = &vault.repo;
    let Some(main) = repo.ref_oid(&journal.main_ref)? else { return Ok(false) };
    if main == journal.merge || repo.is_ancestor(journal.merge, main)? {
        return Ok(true);
    }
    let id = &journal.proposal;
    let begun = repo.ref_oid(&id.closed_ref())? == Some(journal.decide)
        || repo.ref_oid(&id.seen_ref())? == Some(journal.decide)
        || repo.ref_oid(&id.open_ref())?.is_none();
    Ok(begun && main == journal.old_main)
}

fn forward(
    vault: &Vault<'_>,
    journal: &Journal,
    refused: &mut Vec<VaultPath>,
) -> Result<Vec<PathBuf>, Fault> {
    let repo = &vault.repo;
    let mut rest = Vec::new();
    for update in transaction(journal) {
        let now = repo.ref_oid(&update.name)?;
        let main_went_on = update.name == journal.main_ref && now != update.old;
        if now != update.new && !main_went_on && now == update.old {
            rest.push(update);
        }
    }
    repo.update_refs(&rest)?;
    repoint(vault, journal)?;
    let main = vault.main()?;
    let mut touched = still_so(vault, journal, main)?;
    let new: Vec<(VaultPath, Entry)> =
        touched.iter().filter_map(|one| Some((one.vault_path()?, one.wanted()?))).collect();
    let without = repo.index_refuses(new.iter().map(|(path, entry)| (path, *entry)))?;
    refused.extend(without.into_iter().map(|(path, _)| path));
    touched.retain(|one| one.vault_path().is_none_or(|path| !refused.contains(&path)));
    let mut kept = Vec::new();
    for tree in repo.work_trees()? {
        let ours = journal.work_trees.iter().any(|git_dir| same(git_dir, &tree.git_dir));
        if !ours || tree.branch.as_deref() != Some(journal.main_ref.as_str()) || !tree.root.is_dir() {
            IndexLock::release_left_over(&tree)?;
            continue;
        }
        kept.extend(forward_in(vault, &tree, &touched)?);
    }
    Ok(kept)
}

fn forward_in(vault: &Vault<'_>, tree: &WorkTree, touched: &[Touched]) -> Result<Vec<PathBuf>, Fault> {
    let lock = IndexLock::hold(tree)?;
    let done = (|| {
        Checkout::sweep(tree);
        let mut checkout = Checkout::open(tree)?;
        let forms = worktree::prepare(&checkout, &vault.repo, touched)?;
        place(vault, &mut checkout, &forms, touched)
    })();
    match done {
        Ok(placed) => Ok(placed.kept),
        Err(fault) => {
            lock.leave();
            Err(fault)
        }
    }
}

/// The touched paths that main still has as the merge made them: if somebody went on meanwhile, what he did stands.
fn still_so(vault: &Vault<'_>, journal: &Journal, main: Oid) -> Result<Vec<Touched>, Fault> {
    let tree = vault.repo.tree_of(main)?;
    let mut out = Vec::new();
    for one in &journal.touched {
        if after(vault, tree, one)? == one.wanted() {
            out.push(one.clone());
        }
    }
    Ok(out)
}

fn back(vault: &Vault<'_>, journal: &Journal) -> Result<Vec<PathBuf>, Fault> {
    let (repo, id) = (&vault.repo, &journal.proposal);
    let mut updates = Vec::new();
    let mut undo = |name: String, now: Option<Oid>, to: Option<Oid>| {
        updates.push(RefUpdate {
            name,
            old: now,
            new: to,
            message: format!("runebook: take back the merge of {id}"),
        });
    };
    if repo.ref_oid(&id.closed_ref())? == Some(journal.decide) {
        undo(id.closed_ref(), Some(journal.decide), None);
    }
    if repo.ref_oid(&id.open_ref())?.is_none() {
        undo(id.open_ref(), None, Some(journal.tip));
    }
    if repo.ref_oid(&id.seen_ref())? == Some(journal.decide) {
        undo(id.seen_ref(), Some(journal.decide), journal.seen);
    }
    repo.update_refs(&updates)?;
    without_journal(vault)?;
    Ok(Vec::new())
}

/// A process that was killed within the reference transaction leaves lock files, which no other process removes. One
/// that is still there after a second, and is not older than the journal, is such a one: git itself holds a reference
/// for milliseconds.
fn unlock_references(vault: &Vault<'_>, journal: &Journal, derived: &Path) -> Result<(), Fault> {
    let id = &journal.proposal;
    let names =
        [journal.main_ref.clone(), id.closed_ref(), id.seen_ref(), id.open_ref(), "packed-refs".to_owned()];
    let locks: Vec<PathBuf> =
        names.iter().map(|name| vault.repo.common_dir().join(format!("{name}.lock"))).collect();
    for _ in 0..20 {
        if !locks.iter().any(|lock| lock.exists()) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let modified = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let written = modified(&journal::place(derived));
    for lock in locks.into_iter().filter(|lock| lock.exists()) {
        if modified(&lock) < written {
            return Err(GitError::Locked(lock).into());
        }
        // Somebody else may have removed it; then there is nothing to do.
        let _ = std::fs::remove_file(&lock);
    }
    Ok(())
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
