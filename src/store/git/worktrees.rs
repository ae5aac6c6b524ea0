//! The repository's work trees: where they are, what is checked out, and the lock of their index.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::checkout::io_error;
use super::{GitError, Repo, other};
use crate::store::plain;

/// How a lock file of ours begins, so that one that a killed run left is told from git's own.
const LOCK_MARK: &str = "runebook ";

/// One work tree of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkTree {
    /// The root of its files.
    pub root: PathBuf,
    /// Its own git directory: where its HEAD and index are.
    pub git_dir: PathBuf,
    /// The full name of the branch that is checked out; `None` when HEAD is detached.
    pub branch: Option<String>,
}

impl Repo {
    /// All work trees of the repository, the main one first. A bare repository may have linked ones.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn work_trees(&self) -> Result<Vec<WorkTree>, GitError> {
        let common = self.common_dir().to_owned();
        let mut out = Vec::new();
        let main = git2::Repository::open(&common).map_err(other(format!("opening {}", common.display())))?;
        if let Some(root) = main.workdir() {
            out.push(WorkTree {
                root: root.to_owned(),
                branch: head_branch(&common),
                git_dir: common.clone(),
            });
        }
        let linked = common.join("worktrees");
        let names = match fs::read_dir(&linked) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(out),
            Err(error) => return Err(io_error("listing", &linked, &error)),
        };
        let mut git_dirs: Vec<PathBuf> = names.flatten().map(|entry| entry.path()).collect();
        git_dirs.sort();
        for git_dir in git_dirs {
            // The file `gitdir` names the `.git` file in the work tree's root.
            let Ok(text) = plain::read_text(git_dir.join("gitdir")) else { continue };
            let Some(root) = git_dir.join(text.trim_end()).parent().map(Path::to_owned) else { continue };
            out.push(WorkTree { branch: head_branch(&git_dir), root, git_dir });
        }
        Ok(out)
    }
}

fn head_branch(git_dir: &Path) -> Option<String> {
    let head = plain::read_text(git_dir.join("HEAD")).ok()?;
    head.trim_end().strip_prefix("ref: ").map(str::to_owned)
}

impl WorkTree {
    /// What git operation is half done here and concerns `branch` (full name), in words.
    #[must_use]
    pub fn busy(&self, branch: &str) -> Option<&'static str> {
        let has = |name: &str| self.git_dir.join(name).exists();
        let head_name = |dir: &str| {
            plain::read_text(self.git_dir.join(dir).join("head-name"))
                .is_ok_and(|name| name.trim_end() == branch)
        };
        if head_name("rebase-merge") || head_name("rebase-apply") {
            return Some("a rebase");
        }
        if self.branch.as_deref() != Some(branch) {
            return None;
        }
        [
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase"),
        ]
        .into_iter()
        .find_map(|(name, words)| has(name).then_some(words))
    }

    /// Whether its index is locked by a run of ours, alive or killed.
    #[must_use]
    pub fn has_our_lock(&self) -> bool {
        let path = self.git_dir.join("index.lock");
        fs::metadata(&path).is_ok_and(|m| m.len() < 64)
            && plain::read_text(&path).is_ok_and(|text| text.starts_with(LOCK_MARK))
    }

    /// Points HEAD at a branch (full name) without touching index or files.
    ///
    /// # Errors
    /// When HEAD cannot be written.
    pub fn point_head_at(&self, branch: &str) -> Result<(), GitError> {
        let head = self.git_dir.join("HEAD");
        let lock = self.git_dir.join("HEAD.lock");
        let written = fs::OpenOptions::new().write(true).create_new(true).open(&lock).and_then(|mut file| {
            let moved = file
                .write_all(format!("ref: {branch}\n").as_bytes())
                .and_then(|()| file.sync_all())
                .and_then(|()| fs::rename(&lock, &head));
            if moved.is_err() {
                // It is ours: left behind it would stop every later command. The reason is told below.
                let _ = fs::remove_file(&lock);
            }
            moved
        });
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(GitError::Locked(lock)),
            Err(error) => Err(io_error("writing", &head, &error)),
        }
    }
}

/// The `index.lock` of a work tree, held. Plain git commits nothing there meanwhile. Dropping it lets go.
#[derive(Debug)]
pub struct IndexLock {
    path: PathBuf,
    keep: bool,
}

impl IndexLock {
    /// Takes the lock. One that a killed run of ours left is taken over: the caller holds the vault's lock, so that
    /// no other run of ours can be alive.
    ///
    /// # Errors
    /// [`GitError::Locked`] when git holds it.
    pub fn hold(work_tree: &WorkTree) -> Result<IndexLock, GitError> {
        let path = work_tree.git_dir.join("index.lock");
        IndexLock::release_left_over(work_tree)?;
        match make_lock(&path) {
            Ok(()) => Ok(IndexLock { path, keep: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(GitError::Locked(path)),
            Err(error) => Err(io_error("making", &path, &error)),
        }
    }

    /// Lets it stand beyond the end of the process: the next run takes it over.
    pub fn leave(mut self) {
        self.keep = true;
    }

    /// Removes a lock that a killed run of ours left; leaves git's own alone. The caller holds the vault's lock.
    ///
    /// # Errors
    /// When it is there and cannot be removed.
    pub fn release_left_over(work_tree: &WorkTree) -> Result<(), GitError> {
        let path = work_tree.git_dir.join("index.lock");
        if work_tree.has_our_lock() {
            fs::remove_file(&path).map_err(|e| io_error("removing", &path, &e))
        } else {
            Ok(())
        }
    }
}

/// Makes the lock with its mark in one step: a run that is killed in between must not leave a lock that nobody knows.
fn make_lock(path: &Path) -> io::Result<()> {
    let mark = format!("{LOCK_MARK}{}\n", std::process::id());
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.write_all(mark.as_bytes())?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.error),
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing can be done when it fails, and the next run takes it over.
            let _ = fs::remove_file(&self.path);
        }
    }
}
