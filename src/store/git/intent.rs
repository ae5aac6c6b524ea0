//! What is about to happen to references and to an index, on disk before it does.
//!
//! libgit2 sets the references of a transaction one after the other, and a process that is killed meanwhile leaves
//! their lock files for ever. So each transaction first writes down what it will do, in a file that it keeps locked:
//! the operating system lets go of that lock when the process dies, and whoever comes next completes what had begun,
//! and removes the locks that nobody holds any more.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::checkout::io_error;
use super::{Checkout, GitError, IndexLock, RefUpdate, Repo};
use crate::model::change::{Entry, mode};
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::plain;

/// How long git itself may hold a reference; a lock that is still there afterwards, and whose maker is dead, is left
/// over.
const GIT_HOLDS: Duration = Duration::from_secs(1);

/// What a process is about to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The references that it sets together.
    pub(super) updates: Vec<RefUpdate>,
    /// The git directory of the work tree whose index follows the first of them, if one does.
    pub(super) index: Option<PathBuf>,
}

/// A plan on disk, as long as its process is at work on it.
#[derive(Debug)]
pub(super) struct Intent {
    file: File,
    path: PathBuf,
    leave: bool,
}

impl Intent {
    /// Writes a plan down.
    pub(super) fn begin(repo: &Repo, plan: &Plan) -> Result<Intent, GitError> {
        let directory = place(repo);
        let failed = |error| io_error("writing what will be done into", &directory, &error);
        fs::create_dir_all(&directory).map_err(failed)?;
        // It gets its name after it is locked, so that nobody takes it for a dead one's.
        let file = tempfile::Builder::new().prefix("new-").tempfile_in(&directory).map_err(failed)?;
        file.as_file().lock().map_err(failed)?;
        let name = file.path().file_name().unwrap_or_default().to_owned();
        let path = directory.join(name).with_extension("json");
        let file = file.persist(&path).map_err(|error| failed(error.error))?;
        let mut intent = Intent { file, path, leave: false };
        intent.write(plan)?;
        Ok(intent)
    }

    /// Replaces the plan; nothing of it may have been done yet.
    pub(super) fn write(&mut self, plan: &Plan) -> Result<(), GitError> {
        let text = serde_json::to_vec(plan)
            .map_err(|e| GitError::Other { doing: "writing a plan".to_owned(), why: e.to_string() })?;
        let written = self.file.set_len(0).and_then(|()| self.file.rewind());
        written
            .and_then(|()| self.file.write_all(&text))
            .map_err(|error| io_error("writing", &self.path, &error))
    }

    /// Lets it stand: the next command completes it.
    pub(super) fn leave(mut self) {
        self.leave = true;
    }
}

impl Drop for Intent {
    fn drop(&mut self) {
        if !self.leave {
            // One that stays is completed by the next command, which finds nothing to do.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What came of completing what killed processes had begun.
#[derive(Debug, Default)]
pub struct Settled {
    /// Whether there was anything.
    pub(super) any: bool,
    /// Paths that a branch has and its work tree's index does not take.
    pub refused: Vec<VaultPath>,
}

fn place(repo: &Repo) -> PathBuf {
    repo.common_dir().join("runebook").join("refs")
}

/// Whether a file has a plan's name already. One without is being made, and its lock may not be held yet: taking it for
/// a dead process's would take it from under a live one.
fn is_plan(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

impl Repo {
    /// Whether a process left a plan, or is at work on one. Costs one look at the file system.
    #[must_use]
    pub fn has_plans(&self) -> bool {
        fs::read_dir(place(self)).is_ok_and(|names| names.flatten().any(|name| is_plan(&name.path())))
    }

    /// Completes what killed processes had begun, and removes the locks that they left. A plan with an index waits
    /// for a caller that holds the vault's lock (`index`).
    ///
    /// # Errors
    /// When a reference or the index cannot be written; the plan stays, and the next command tries again.
    pub fn settle(&self, index: bool) -> Result<Settled, GitError> {
        let mut settled = Settled::default();
        let Ok(names) = fs::read_dir(place(self)) else { return Ok(settled) };
        for path in names.flatten().map(|entry| entry.path()).filter(|path| is_plan(path)) {
            let Ok(mut file) = plain::open(&path) else { continue };
            if file.try_lock().is_err() {
                continue;
            }
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            // One that cannot be read was killed while it was written, before anything happened.
            let plan: Plan = serde_json::from_str(&text).unwrap_or_default();
            if plan.index.is_some() && !index {
                continue;
            }
            settled.refused.extend(self.complete(&plan, &path)?);
            let _ = fs::remove_file(&path);
            settled.any = true;
        }
        Ok(settled)
    }

    fn complete(&self, plan: &Plan, written: &Path) -> Result<Vec<VaultPath>, GitError> {
        self.release_ref_locks(&plan.updates, written)?;
        let mut begun = false;
        let mut rest = Vec::new();
        for update in &plan.updates {
            let now = self.ref_oid(&update.name)?;
            begun |= now == update.new;
            if now == update.old && now != update.new {
                rest.push(update.clone());
            }
        }
        if begun && !rest.is_empty() {
            self.transact(&rest)?;
        }
        let mut refused = Vec::new();
        let Some(git_dir) = &plan.index else { return Ok(refused) };
        for work_tree in self.work_trees()?.iter().filter(|tree| same(&tree.git_dir, git_dir)) {
            let ours = work_tree.has_our_lock();
            match plan.updates.first() {
                Some(update) if begun && work_tree.branch.as_ref() == Some(&update.name) => {
                    let lock = IndexLock::hold(work_tree)?;
                    match self.follow(&mut Checkout::open(work_tree)?, update, ours) {
                        Ok(paths) => refused.extend(paths),
                        Err(error) => {
                            lock.leave();
                            return Err(error);
                        }
                    }
                }
                _ => IndexLock::release_left_over(work_tree)?,
            }
            Checkout::sweep(work_tree);
        }
        Ok(refused)
    }

    /// Gives the index the entries of a commit that moved its branch. Where somebody may have changed the index
    /// since (`held` is false), only entries that are still the old ones. What the index does not take it goes without:
    /// these paths are returned.
    fn follow(
        &self,
        checkout: &mut Checkout,
        update: &RefUpdate,
        held: bool,
    ) -> Result<Vec<VaultPath>, GitError> {
        let tree = |oid: Option<Oid>| oid.map(|oid| self.tree_of(oid)).transpose();
        if self.ref_oid(&update.name)? != update.new {
            return Ok(Vec::new());
        }
        let mut entries = Vec::new();
        for record in self.diff(tree(update.old)?, tree(update.new)?)? {
            let entry = |of: u32, oid: Oid| (of != mode::NONE).then_some(Entry { mode: of, oid });
            let Some(path) = record.vault_path() else { continue };
            if held || checkout.staged(&path).is(entry(record.old_mode, record.old_oid)) {
                entries.push((path, entry(record.new_mode, record.new_oid).map(|new| (new, None))));
            }
        }
        let new = entries.iter().filter_map(|(path, new)| Some((path, new.as_ref()?.0)));
        let refused: Vec<VaultPath> = self.index_refuses(new)?.into_iter().map(|(path, _)| path).collect();
        entries.retain(|(path, _)| !refused.contains(path));
        checkout.write_index(&entries)?;
        Ok(refused)
    }

    /// Removes the locks of references that a dead process left. `written` is the plan's file: a lock that is older
    /// is somebody else's.
    fn release_ref_locks(&self, updates: &[RefUpdate], written: &Path) -> Result<(), GitError> {
        let names = updates.iter().map(|update| update.name.as_str()).chain(["packed-refs"]);
        let mut locks: Vec<PathBuf> = names.map(|name| self.ref_lock(name)).collect();
        let step = Duration::from_millis(50);
        let mut waited = Duration::ZERO;
        loop {
            locks.retain(|lock| lock.exists());
            if locks.is_empty() {
                return Ok(());
            }
            if waited >= GIT_HOLDS {
                break;
            }
            std::thread::sleep(step);
            waited += step;
        }
        let modified = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
        for lock in locks {
            if modified(&lock) < modified(written) {
                return Err(GitError::Locked(lock));
            }
            // Somebody else may have removed it; then there is nothing to do.
            let _ = fs::remove_file(&lock);
        }
        Ok(())
    }

    /// The file by which git locks a reference.
    pub(super) fn ref_lock(&self, name: &str) -> PathBuf {
        self.common_dir().join(format!("{name}.lock"))
    }
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().ok().is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}
