//! The one place that names git2. Everything goes in and out as our own types.
//!
//! Objects are read raw and their hashes are checked, so no replace ref, graft, commit graph or mailmap has a say
//! in what a commit is.

mod broken;
mod checkout;
mod entries;
mod hooked;
mod index_file;
mod intent;
mod merging;
mod names;
mod objects;
mod refs;
mod special;
mod text;
mod unseen;
mod worktree_status;
mod worktrees;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::model::commit::Commit;
use crate::model::fault::{Explain, Kind};
use crate::model::id::Oid;
use crate::model::path::VaultPath;

pub use checkout::{Checkout, Found, Staged};
pub use index_file::OwnCommit;
pub use intent::Settled;
pub use refs::{Head, RefUpdate};
pub use text::{Edited, Hunk, Merged, hunks, merge};
pub use unseen::Unseen;
pub use worktree_status::{Differs, WorkChange};
pub use worktrees::{IndexLock, WorkTree};

/// What can go wrong in git.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no repository here or above.
    #[error("there is no git repository at {} or above it", .0.display())]
    NoRepository(PathBuf),
    /// There is something of a repository, and it is none.
    #[error("{} is no git repository: {why}", path.display())]
    Broken {
        /// The `.git` that is there.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do.
        hint: String,
    },
    /// The repository is of a kind that cannot be handled safely.
    #[error("the repository at {} cannot be used: {why}", path.display())]
    Unsupported {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// An attribute gives a file to a program that changes its form.
    #[error("`{path}` goes through the filter `{filter}` of .gitattributes, which only git itself runs")]
    Filtered {
        /// The file.
        path: VaultPath,
        /// The filter's name.
        filter: String,
    },
    /// A revision names nothing.
    #[error("`{0}` names no commit")]
    NoCommit(String),
    /// A short name that several objects have.
    #[error("`{0}` is the beginning of several objects' names")]
    Ambiguous(String),
    /// An object is missing or damaged.
    #[error("object {oid} in {} cannot be read: {why}", path.display())]
    Object {
        /// The repository.
        path: PathBuf,
        /// The object.
        oid: Oid,
        /// Why.
        why: String,
    },
    /// A reference is not what it was when the operation began.
    #[error("`{name}` moved while this was being done")]
    RefMoved {
        /// The reference.
        name: String,
    },
    /// Something would have to stand below a file.
    #[error("`{0}` is a file, so nothing can stand below it")]
    BelowFile(String),
    /// Where git reads a file, something else stands.
    #[error("{} is {what}, not a file", path.display())]
    Special {
        /// The place.
        path: PathBuf,
        /// What stands there: `a named pipe`.
        what: &'static str,
    },
    /// A file of git's is locked by another process, or was left by one that died.
    #[error("{} is locked", .0.display())]
    Locked(PathBuf),
    /// A path that git's index does not take.
    #[error("no commit can hold `{path}`: {why}")]
    Refused {
        /// The path.
        path: VaultPath,
        /// Why.
        why: String,
    },
    /// Anything else that libgit2 reports.
    #[error("{doing}: {why}")]
    Other {
        /// What was being done.
        doing: String,
        /// What libgit2 says.
        why: String,
    },
}

impl Explain for GitError {
    fn kind(&self) -> Kind {
        match self {
            GitError::NoRepository(_) | GitError::BelowFile(_) | GitError::Ambiguous(_) => Kind::Usage,
            GitError::NoCommit(_) => Kind::Nothing,
            GitError::RefMoved { .. } | GitError::Locked(_) => Kind::Conflict,
            GitError::Unsupported { .. }
            | GitError::Broken { .. }
            | GitError::Filtered { .. }
            | GitError::Object { .. }
            | GitError::Special { .. }
            | GitError::Refused { .. }
            | GitError::Other { .. } => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            GitError::NoRepository(_) => Some("run `runebook init` to make a vault here".to_owned()),
            GitError::Unsupported { hint, .. } => Some((*hint).to_owned()),
            GitError::Broken { hint, .. } => Some(hint.clone()),
            GitError::Refused { .. } => Some("nothing was changed; give it another name".to_owned()),
            GitError::BelowFile(_) => Some("choose another place, or remove the file first".to_owned()),
            GitError::Filtered { filter, .. } if filter == "lfs" => {
                Some("commit it with `git commit`; memories need no LFS".to_owned())
            }
            GitError::Filtered { .. } => Some("commit it with `git commit`".to_owned()),
            GitError::Ambiguous(_) => Some("type more of it".to_owned()),
            GitError::NoCommit(_) => Some("see `git log --oneline` for what there is".to_owned()),
            GitError::RefMoved { .. } => Some("run the command again".to_owned()),
            GitError::Locked(path) => Some(format!(
                "if no other git command is running, a crash left it: remove {} and run this again",
                path.display()
            )),
            GitError::Special { path, .. } => {
                Some(format!("move it away, or remove it: `rm '{}'`", path.display()))
            }
            GitError::Object { .. } => Some("run `git fsck` to see how far the damage goes".to_owned()),
            GitError::Other { why, .. } if why.contains("No space left") => {
                Some("the disk is full: make room and run this again; nothing was lost".to_owned())
            }
            GitError::Other { why, .. } if why.contains("Read-only file system") => Some(
                "the file system is read-only: make it writable, or copy the vault to one that is".to_owned(),
            ),
            GitError::Other { why, .. } => broken::hint(why),
        }
    }
}

/// Puts into words why libgit2 cannot read an index.
fn index_error(at: &Path, doing: &str) -> impl FnOnce(git2::Error) -> GitError {
    let (at, doing) = (at.to_owned(), doing.to_owned());
    move |error| match error.message() {
        text if text.contains("mandatory extension") => GitError::Unsupported {
            path: at,
            why: "its index is split or sparse",
            hint: "run `git update-index --no-split-index` (or `git sparse-checkout disable`) in it",
        },
        text if text.contains("nesting too deep") => GitError::Unsupported {
            path: at,
            why: "a directory of its work tree stands more than 100 levels deep",
            hint: "`find . -mindepth 100 -type d` shows it: move it up, or name it in .gitignore",
        },
        text if text.contains("failed to read index") || text.contains("invalid data in index") => {
            GitError::Unsupported {
                path: at,
                why: "its index is damaged",
                hint: "make it anew: `rm -r .git/index`, then `git reset`; no file is touched by that",
            }
        }
        // A file that may not be opened is "locked" to libgit2.
        text => {
            match text.strip_prefix("failed open - '").and_then(|rest| rest.split_once("' is locked: ")) {
                Some((path, why)) => GitError::Other { doing, why: format!("reading {path}: {why}") },
                None => other(doing)(error),
            }
        }
    }
}

/// Whether objects may be missing because a remote promises them.
fn has_promisor(config: &git2::Config) -> bool {
    let Ok(mut entries) = config.entries(Some(r"^remote\..*\.promisor$")) else { return false };
    let mut any = false;
    while let Some(Ok(entry)) = entries.next() {
        any |= entry.value().is_ok_and(|value| matches!(value, "true" | "yes" | "on" | "1"));
    }
    any
}

fn other(doing: impl Into<String>) -> impl FnOnce(git2::Error) -> GitError {
    let doing = doing.into();
    move |error| {
        let why = match error.message() {
            // libgit2 has no words where a write failed without a word of the system's.
            "" | "no error" => "it could not be written; the disk may be full".to_owned(),
            text => text.to_owned(),
        };
        GitError::Other { doing, why }
    }
}

fn to_git(oid: Oid) -> git2::Oid {
    // Twenty bytes are always an object name.
    git2::Oid::from_bytes(&oid.0).unwrap_or(git2::Oid::ZERO_SHA1)
}

fn from_git(oid: git2::Oid) -> Oid {
    let mut bytes = [0; 20];
    bytes.copy_from_slice(oid.as_bytes());
    Oid(bytes)
}

/// A git repository.
pub struct Repo {
    inner: git2::Repository,
    commits: RefCell<HashMap<Oid, std::rc::Rc<Commit>>>,
    asked: entries::Asked,
}

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo").field("path", &self.inner.path()).finish()
    }
}

impl Repo {
    /// Opens the repository that holds a directory, looking upwards.
    ///
    /// # Errors
    /// When there is none, or it is one that cannot be handled safely (reftable, SHA-256, shallow, partial clone).
    pub fn discover(from: &Path) -> Result<Repo, GitError> {
        special::opens(from)?;
        match git2::Repository::discover(from) {
            Ok(inner) => Repo::checked(inner),
            Err(error) if error.code() == git2::ErrorCode::NotFound => {
                Err(broken::broken(from).unwrap_or_else(|| GitError::NoRepository(from.to_owned())))
            }
            Err(error) => Err(Repo::unsupported(from, &error)),
        }
    }

    /// Makes a new repository whose unborn branch is `branch`.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn init(at: &Path, branch: &str) -> Result<Repo, GitError> {
        let mut options = git2::RepositoryInitOptions::new();
        options.initial_head(branch).no_reinit(true).external_template(false);
        let inner = git2::Repository::init_opts(at, &options)
            .map_err(other(format!("making a git repository in {}", at.display())))?;
        Repo::checked(inner)
    }

    /// Puts into words why libgit2 refuses a repository.
    fn unsupported(at: &Path, error: &git2::Error) -> GitError {
        let text = error.message().to_lowercase();
        let (why, hint) = if text.contains("reftable") || text.contains("refstorage") {
            (
                "it keeps its references as a reftable, which libgit2 cannot open",
                "run `git refs migrate --ref-format=files` in it, then try again",
            )
        } else if text.contains("object format") || text.contains("objectformat") || text.contains("sha256") {
            (
                "its objects are named by SHA-256, which libgit2 cannot open",
                "clone its content into a repository made with `git init --object-format=sha1`",
            )
        } else if text.contains("owned by") {
            (
                "it belongs to another user of this machine",
                "if you trust it, run `git config --global --add safe.directory` with its path",
            )
        } else if text.contains("extension") {
            (
                "it uses an extension of git's that libgit2 does not know",
                "see `git config --get-regexp ^extensions` for which one; clone it into a plain repository",
            )
        } else {
            return GitError::Other {
                doing: format!("opening the git repository at {}", at.display()),
                why: error.message().to_owned(),
            };
        };
        GitError::Unsupported { path: at.to_owned(), why, hint }
    }

    fn checked(inner: git2::Repository) -> Result<Repo, GitError> {
        let path = inner.path().to_owned();
        let refuse = |why, hint| Err(GitError::Unsupported { path: path.clone(), why, hint });
        let config =
            inner.config().and_then(|mut c| c.snapshot()).map_err(other("reading git's configuration"))?;
        if config.get_str("extensions.refstorage").is_ok_and(|v| !v.eq_ignore_ascii_case("files")) {
            return refuse(
                "it keeps its references as a reftable, which libgit2 cannot open",
                "run `git refs migrate --ref-format=files` in it, then try again",
            );
        }
        if config.get_str("extensions.objectformat").is_ok_and(|v| !v.eq_ignore_ascii_case("sha1")) {
            return refuse(
                "its objects are named by SHA-256, which libgit2 cannot open",
                "clone its content into a repository made with `git init --object-format=sha1`",
            );
        }
        if config.get_str("extensions.partialclone").is_ok() || has_promisor(&config) {
            return refuse(
                "it is a partial clone, so parts of its history are missing",
                "run `git fetch --refetch --no-filter`, then `git config --unset remote.origin.promisor` and `git config --unset extensions.partialclone`",
            );
        }
        if inner.is_shallow() {
            return refuse(
                "it is a shallow clone, so its history cannot be verified",
                "run `git fetch --unshallow`",
            );
        }
        Ok(Repo { inner, commits: RefCell::default(), asked: entries::Asked::default() })
    }

    /// The git directory of this work tree.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        self.inner.path()
    }

    /// The git directory that all work trees share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        self.inner.commondir()
    }

    /// The root of the work tree; none in a bare repository.
    #[must_use]
    pub fn work_dir(&self) -> Option<&Path> {
        self.inner.workdir()
    }

    /// A text of git's configuration, if it is set and not empty.
    #[must_use]
    pub fn config(&self, key: &str) -> Option<String> {
        let config = self.inner.config().ok()?.snapshot().ok()?;
        config.get_str(key).ok().map(str::to_owned).filter(|value| !value.trim().is_empty())
    }
}
