//! Bringing the layer files of a branch to what its tree generates, from within git's hooks.

use crate::flow::acting;
use crate::flow::layers::files::{is_free, place, regenerated};
use crate::flow::vault::Vault;
use crate::model::change::{Change, ChangeSet, DiffRecord, Entry, mode};
use crate::model::commit::Ident;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::git::{Head, OwnCommit, Repo};
use crate::store::lock::{self, Lock};

/// A hook of git's with what it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hook {
    /// Before a commit is made from the index.
    PreCommit,
    /// After a commit.
    PostCommit,
    /// After a merge or pull; whether it only staged the changes.
    PostMerge {
        /// `--squash` was given.
        squash: bool,
    },
    /// After a rebase (and, with nothing to do, after `--amend`): the old and new commits.
    PostRewrite {
        /// The new commits.
        rebased: Vec<Oid>,
    },
}

impl Hook {
    /// Reads a hook's name, arguments and input; `None` of one that is not ours.
    #[must_use]
    pub fn of(name: &str, args: &[String], input: &str) -> Option<Hook> {
        Some(match name {
            "pre-commit" => Hook::PreCommit,
            "post-commit" => Hook::PostCommit,
            "post-merge" => Hook::PostMerge { squash: args.first().is_some_and(|flag| flag == "1") },
            "post-rewrite" => {
                let told = input.lines().filter(|_| args.first().is_some_and(|by| by == "rebase"));
                let rebased = told.filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect();
                Hook::PostRewrite { rebased }
            }
            _ => return None,
        })
    }
}

/// What a hook did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// The layer files that were made anew.
    pub files: Vec<VaultPath>,
    /// The commit that holds them, where one was made or changed.
    pub commit: Option<Oid>,
}

/// Does what a hook is for. Nothing on other branches than main (there, layers are left to the merge), and nothing
/// where the vault has no layer files.
///
/// # Errors
/// When an object is missing, or a file or the index cannot be written. No hook lets that stop git.
pub fn run(vault: &Vault<'_>, hook: &Hook) -> Result<Settled, Fault> {
    if vault.repo.work_dir().is_none() {
        return Ok(Settled::default());
    }
    match hook {
        Hook::PreCommit => before_commit(vault),
        Hook::PostCommit => after_commit(vault),
        Hook::PostMerge { squash: true } => Ok(Settled::default()),
        Hook::PostMerge { squash: false } => after_merge(vault),
        Hook::PostRewrite { rebased } => after_rebase(vault, rebased),
    }
}

/// HEAD's commit, if main is what is being committed to (also while it is rebased).
fn on_main(vault: &Vault<'_>) -> Result<Option<Oid>, Fault> {
    Ok(match vault.repo.head()? {
        Head::Branch(branch, oid) if branch == vault.config.main_branch => oid,
        Head::Detached(oid) if vault.repo.rebased_branch() == Some(vault.main_ref()) => Some(oid),
        _ => None,
    })
}

/// The layers that a change between two trees asks for.
fn wanted(vault: &Vault<'_>, old: Oid, new: Oid) -> Result<ChangeSet, Fault> {
    let records = vault.repo.diff(Some(old), Some(new))?;
    let paths: Vec<VaultPath> = records.iter().filter_map(DiffRecord::vault_path).collect();
    if paths.is_empty() { Ok(ChangeSet::default()) } else { regenerated(vault, new, &paths) }
}

fn before_commit(vault: &Vault<'_>) -> Result<Settled, Fault> {
    let Some(head) = on_main(vault)? else { return Ok(Settled::default()) };
    // With conflicts git itself refuses.
    let Some(tree) = vault.repo.staged_tree()? else { return Ok(Settled::default()) };
    let mut changes = wanted(vault, vault.repo.tree_of(head)?, tree)?;
    let root = vault.root()?;
    changes.changes.retain(|path, _| is_free(root, path));
    let entries: Vec<(VaultPath, Option<Entry>)> = changes
        .changes
        .iter()
        .map(|(path, change)| Ok((path.clone(), entry(&vault.repo, change)?)))
        .collect::<Result<_, Fault>>()?;
    if entries.is_empty() {
        return Ok(Settled::default());
    }
    place(root, &changes)?;
    vault.repo.stage(&entries)?;
    Ok(Settled { files: changes.changes.into_keys().collect(), commit: None })
}

fn entry(repo: &Repo, change: &Change) -> Result<Option<Entry>, Fault> {
    Ok(match change {
        Change::Write(bytes) => Some(Entry { mode: mode::FILE, oid: repo.write_blob(bytes)? }),
        Change::Put(entry) => Some(*entry),
        Change::Delete => None,
    })
}

/// `git commit PATH` commits from an index of its own: the layers that went into it are put into the standing one.
fn after_commit(vault: &Vault<'_>) -> Result<Settled, Fault> {
    let Some(head) = on_main(vault)? else { return Ok(Settled::default()) };
    let repo = &vault.repo;
    let Some(parent) = repo.parents(head)?.first().copied() else { return Ok(Settled::default()) };
    let mut entries = Vec::new();
    for record in repo.diff(Some(repo.tree_of(parent)?), Some(repo.tree_of(head)?))? {
        let Some(path) = record.vault_path().filter(VaultPath::is_layer) else { continue };
        let committed =
            (record.new_mode != mode::NONE).then_some(Entry { mode: record.new_mode, oid: record.new_oid });
        let old =
            (record.old_mode != mode::NONE).then_some(Entry { mode: record.old_mode, oid: record.old_oid });
        let staged = repo.index_entry(&path);
        if staged != committed && staged == old {
            entries.push((path, committed));
        }
    }
    if !entries.is_empty() {
        repo.stage(&entries)?;
    }
    if moved_by(repo, &["cherry-pick", "revert"]) {
        return settle(vault, parent, head, false);
    }
    Ok(Settled::default())
}

/// Whether HEAD came to where it is by one of these commands.
fn moved_by(repo: &Repo, commands: &[&str]) -> bool {
    repo.last_move().is_some_and(|(_, by)| commands.iter().any(|command| by.starts_with(command)))
}

fn after_merge(vault: &Vault<'_>) -> Result<Settled, Fault> {
    let Some(head) = on_main(vault)? else { return Ok(Settled::default()) };
    let parents = vault.repo.parents(head)?;
    let Some((before, by)) = vault.repo.last_move() else { return Ok(Settled::default()) };
    // A merge that others made, and have, may stand on our commit too.
    let made_here = !by.ends_with("Fast-forward");
    match parents.as_slice() {
        // The merge was made a moment ago, here: its layers belong into it.
        [first, _] if *first == before && made_here => settle(vault, before, head, true),
        _ => settle(vault, before, head, false),
    }
}

fn after_rebase(vault: &Vault<'_>, rebased: &[Oid]) -> Result<Settled, Fault> {
    let (Some(head), Some(first)) = (on_main(vault)?, rebased.first()) else {
        return Ok(Settled::default());
    };
    match vault.repo.parents(*first)?.first() {
        Some(onto) => settle(vault, *onto, head, false),
        None => Ok(Settled::default()),
    }
}

/// Makes the layers anew that the change from a commit to HEAD asks for: in HEAD's commit itself if it may be changed,
/// else in a commit of their own.
fn settle(vault: &Vault<'_>, before: Oid, head: Oid, amend: bool) -> Result<Settled, Fault> {
    let repo = &vault.repo;
    let _lock = Lock::take(&vault.derived_dir().join("lock"), "hook", lock::PATIENCE)?;
    let mut changes = wanted(vault, repo.tree_of(before)?, repo.tree_of(head)?)?;
    let root = vault.root()?;
    changes.changes.retain(|path, _| is_free(root, path));
    if changes.is_empty() || vault.main()? != head {
        return Ok(Settled::default());
    }
    place(root, &changes)?;
    let amended = if amend { repo.amend_own(&changes).ok().flatten() } else { None };
    let commit = match amended {
        Some(oid) => Some(oid),
        None => {
            let (name, email) = acting::git_person(vault)?;
            let ident = Ident { name, email, time: vault.clock.git_time() };
            let message = "Make the layers anew\n".to_owned();
            repo.commit_own(&OwnCommit { changes: &changes, ident, message })?
        }
    };
    Ok(Settled { files: changes.changes.into_keys().collect(), commit })
}
