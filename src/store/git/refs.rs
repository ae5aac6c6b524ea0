//! References: read, resolved, moved together.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::intent::{Intent, Plan};
use super::{GitError, Repo, from_git, other, to_git};
use crate::model::commit::GitTime;
use crate::model::id::Oid;

/// A lock of a reference that is older was left by somebody who died: git holds one for milliseconds.
const LEFT_OVER: Duration = Duration::from_secs(10);

/// Where HEAD points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// To a branch (its short name), with its commit unless it is unborn.
    Branch(String, Option<Oid>),
    /// To a commit.
    Detached(Oid),
}

/// One reference's part in a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefUpdate {
    /// The full name.
    pub name: String,
    /// What it must be now; `None`: it must not exist.
    pub old: Option<Oid>,
    /// What it shall be; `None`: it is removed.
    pub new: Option<Oid>,
    /// The line for the reference's log.
    pub message: String,
}

impl Repo {
    /// Where HEAD points.
    ///
    /// # Errors
    /// When HEAD cannot be read.
    pub fn head(&self) -> Result<Head, GitError> {
        let head = self.inner.find_reference("HEAD").map_err(other("reading HEAD"))?;
        match head.symbolic_target() {
            Ok(Some(target)) => {
                let oid = self.ref_oid(target)?;
                Ok(Head::Branch(target.strip_prefix("refs/heads/").unwrap_or(target).to_owned(), oid))
            }
            _ => match head.target() {
                Some(oid) => Ok(Head::Detached(from_git(oid))),
                None => Err(GitError::Other {
                    doing: "reading HEAD".to_owned(),
                    why: "it is malformed".to_owned(),
                }),
            },
        }
    }

    /// The commit that a reference (full name) names, if it exists.
    ///
    /// # Errors
    /// When it exists and cannot be read.
    pub fn ref_oid(&self, name: &str) -> Result<Option<Oid>, GitError> {
        match self.inner.refname_to_id(name) {
            Ok(oid) => Ok(Some(from_git(oid))),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(other(format!("reading {name}"))(error)),
        }
    }

    /// All references whose full name begins with `prefix`, sorted.
    ///
    /// # Errors
    /// When the references cannot be read.
    pub fn refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>, GitError> {
        let all = self.inner.references_glob(&format!("{prefix}*")).map_err(other("listing references"))?;
        let mut out = Vec::new();
        for reference in all.flatten() {
            if let (Ok(name), Some(oid)) = (reference.name(), reference.target()) {
                out.push((name.to_owned(), from_git(oid)));
            }
        }
        out.sort();
        Ok(out)
    }

    /// The commit that a revision of git's syntax names.
    ///
    /// # Errors
    /// When it names none.
    pub fn resolve(&self, rev: &str) -> Result<Oid, GitError> {
        let missing = |error: git2::Error| match error.code() {
            git2::ErrorCode::Ambiguous => GitError::Ambiguous(rev.to_owned()),
            _ => GitError::NoCommit(rev.to_owned()),
        };
        let object = self.inner.revparse_single(rev).map_err(missing)?;
        object.peel_to_commit().map(|commit| from_git(commit.id())).map_err(missing)
    }

    /// When a commit was made, by its committer.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub fn time_of(&self, commit: Oid) -> Result<GitTime, GitError> {
        let found = self.inner.find_commit(to_git(commit)).map_err(other(format!("reading {commit}")))?;
        let time = found.time();
        Ok(GitTime { seconds: time.seconds(), offset_minutes: time.offset_minutes() })
    }

    /// Moves several references together: all are locked, compared with what they must be, then set. A process that
    /// is killed meanwhile leaves a plan, which the next one completes.
    ///
    /// # Errors
    /// [`GitError::RefMoved`] when one is not what it must be, and nothing has changed then. [`GitError::Locked`]
    /// when somebody else left a lock.
    pub fn update_refs(&self, updates: &[RefUpdate]) -> Result<(), GitError> {
        if updates.is_empty() {
            return Ok(());
        }
        let intent = Intent::begin(self, &Plan { updates: updates.to_vec(), index: None })?;
        let done = self.transact(updates);
        if done.is_err() && self.has_begun(updates) {
            intent.leave();
        }
        done
    }

    fn has_begun(&self, updates: &[RefUpdate]) -> bool {
        updates.iter().any(|u| u.new != u.old && self.ref_oid(&u.name).is_ok_and(|now| now == u.new))
    }

    /// As [`Repo::update_refs`], without a plan on disk.
    pub(super) fn transact(&self, updates: &[RefUpdate]) -> Result<(), GitError> {
        match self.attempt(updates) {
            Err(GitError::Locked(_)) if self.settle(false)?.any => self.attempt(updates),
            done => done,
        }
        .map_err(|error| match error {
            // Somebody is at work on it in this moment.
            GitError::Locked(lock) if !is_left_over(&lock) => GitError::RefMoved {
                name: lock
                    .strip_prefix(self.common_dir())
                    .unwrap_or(&lock)
                    .with_extension("")
                    .display()
                    .to_string(),
            },
            error => error,
        })
    }

    fn attempt(&self, updates: &[RefUpdate]) -> Result<(), GitError> {
        let mut transaction = self.inner.transaction().map_err(other("opening a reference transaction"))?;
        let failed = |name: &str, doing: String| {
            let lock = self.ref_lock(name);
            move |error: git2::Error| match error.code() {
                git2::ErrorCode::Locked => GitError::Locked(lock),
                _ => other(doing)(error),
            }
        };
        for update in updates {
            let name = &update.name;
            transaction.lock_ref(name).map_err(failed(name, format!("locking {name}")))?;
        }
        for update in updates {
            if self.ref_oid(&update.name)? != update.old {
                return Err(GitError::RefMoved { name: update.name.clone() });
            }
        }
        for update in updates {
            let doing = || other(format!("setting {}", update.name));
            match update.new {
                Some(oid) => {
                    transaction
                        .set_target(&update.name, to_git(oid), None, &update.message)
                        .map_err(doing())?;
                }
                None if update.old.is_some() => transaction.remove(&update.name).map_err(doing())?,
                None => {}
            }
        }
        let doing = "committing the reference transaction".to_owned();
        transaction.commit().map_err(failed("packed-refs", doing))
    }
}

fn is_left_over(lock: &Path) -> bool {
    let age = std::fs::metadata(lock).and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > LEFT_OVER)
}
