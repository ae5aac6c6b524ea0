//! References: read, resolved, moved together.

use super::{GitError, Repo, from_git, other, to_git};
use crate::model::id::Oid;

/// Where HEAD points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// To a branch (its short name), with its commit unless it is unborn.
    Branch(String, Option<Oid>),
    /// To a commit.
    Detached(Oid),
}

/// One reference's part in a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let missing = |_| GitError::NoCommit(rev.to_owned());
        let object = self.inner.revparse_single(rev).map_err(missing)?;
        object.peel_to_commit().map(|commit| from_git(commit.id())).map_err(missing)
    }

    /// Moves several references together: all are locked, compared with what they must be, then set.
    ///
    /// # Errors
    /// [`GitError::RefMoved`] when one is not what it must be, and nothing has changed then.
    pub fn update_refs(&self, updates: &[RefUpdate]) -> Result<(), GitError> {
        let mut transaction = self.inner.transaction().map_err(other("opening a reference transaction"))?;
        for update in updates {
            transaction.lock_ref(&update.name).map_err(|error| match error.code() {
                git2::ErrorCode::Locked => GitError::RefMoved { name: update.name.clone() },
                _ => other(format!("locking {}", update.name))(error),
            })?;
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
        transaction.commit().map_err(other("committing the reference transaction"))
    }
}
