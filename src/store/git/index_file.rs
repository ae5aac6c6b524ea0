//! A person's own commit: the index is held while the branch moves, and changed only where it is meant, so that
//! staged work stays staged.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;

use super::intent::{Intent, Plan};
use super::{Checkout, GitError, Head, IndexLock, RefUpdate, Repo, WorkTree, other};
use crate::model::change::{Change, ChangeSet, Entry, mode};
use crate::model::commit::{Commit, Ident};
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::plain;

/// A commit that a person makes on the branch that is checked out.
#[derive(Debug)]
pub struct OwnCommit<'a> {
    /// What it changes, as it stands in the work tree already.
    pub changes: &'a ChangeSet,
    /// Author and committer.
    pub ident: Ident,
    /// The message.
    pub message: String,
}

impl Repo {
    /// The name that git gives to a new repository's branch on this machine.
    #[must_use]
    pub fn default_branch() -> String {
        let config = git2::Config::open_default().and_then(|mut config| config.snapshot());
        let name = config.ok().and_then(|c| c.get_str("init.defaultBranch").ok().map(str::to_owned));
        name.filter(|name| git2::Branch::name_is_valid(name).unwrap_or(false))
            .unwrap_or_else(|| "main".to_owned())
    }

    /// A text of git's configuration for this person on this machine, outside any repository.
    #[must_use]
    pub fn personal_config(key: &str) -> Option<String> {
        let config = git2::Config::open_default().ok()?.snapshot().ok()?;
        config.get_str(key).ok().map(str::to_owned).filter(|value| !value.trim().is_empty())
    }

    /// Stores a file of the work tree as the blob that `git add` would make of it (line ends as the attributes
    /// say). `None`: no file stands there.
    ///
    /// # Errors
    /// When it cannot be read, is no file, or an attribute gives it to a program (see [`Repo::own_form`]).
    pub fn add_file(&self, root: &Path, path: &VaultPath) -> Result<Option<Entry>, GitError> {
        let entry = self.stored(root, path)?;
        if entry.is_some_and(|entry| entry.mode != mode::LINK) {
            self.own_form(path)?;
        }
        Ok(entry)
    }

    /// That git stores a file in a form that this program can make too.
    ///
    /// # Errors
    /// When an attribute gives it to a program (`filter=lfs`, `filter=git-crypt`) that only git itself runs.
    pub fn own_form(&self, path: &VaultPath) -> Result<(), GitError> {
        if let Some(root) = self.work_dir() {
            super::special::attributes_open(root, path)?;
        }
        let filter = self
            .inner
            .get_attr(Path::new(path.as_str()), "filter", git2::AttrCheckFlags::FILE_THEN_INDEX)
            .map_err(other("reading .gitattributes"))?;
        match git2::AttrValue::from_string(filter) {
            git2::AttrValue::String(filter) => {
                Err(GitError::Filtered { path: path.clone(), filter: filter.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// What the work tree has at a path, stored: a file with its line ends as the attributes say, a link as its target.
    /// Neither what stands behind a link nor a directory is a file of that path.
    ///
    /// # Errors
    /// When it is there and cannot be read: taken for gone, it would be committed as a deletion.
    pub(super) fn stored(&self, root: &Path, path: &VaultPath) -> Result<Option<Entry>, GitError> {
        let at = root.join(path.as_str());
        let fail = |why: String| GitError::Other { doing: format!("adding {path}"), why };
        let is_link = |above: &VaultPath| root.join(above.as_str()).is_symlink();
        if path.ancestors().filter(|above| !above.is_root()).any(|above| is_link(&above)) {
            return Ok(None);
        }
        let data = match at.symlink_metadata() {
            Ok(data) => data,
            Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(why) => return Err(fail(why.to_string())),
        };
        if data.is_symlink() {
            let target = std::fs::read_link(&at).map_err(|why| fail(why.to_string()))?;
            let oid = self.write_blob(target.as_os_str().as_encoded_bytes())?;
            return Ok(Some(Entry { mode: mode::LINK, oid }));
        }
        if data.is_dir() {
            return Ok(None);
        }
        if let Some(what) = plain::special(&data) {
            return Err(GitError::Special { path: at, what });
        }
        super::special::attributes_open(root, path)?;
        let oid = self.inner.blob_path(&at).map(super::from_git).map_err(other(format!("adding {path}")))?;
        Ok(Some(Entry { mode: self.file_mode(&data, path), oid }))
    }

    fn file_mode(&self, data: &Metadata, path: &VaultPath) -> u32 {
        let trusted = self.inner.config().and_then(|c| c.get_bool("core.filemode")).unwrap_or(true);
        if cfg!(unix) && trusted {
            return if super::checkout::is_executable(data) { mode::EXECUTABLE } else { mode::FILE };
        }
        #[cfg(not(unix))]
        let _ = data;
        // Where the file system keeps no such bit, what git knows stays.
        let known =
            self.inner.index().ok().and_then(|i| i.get_path(Path::new(path.as_str()), 0)).map(|e| e.mode);
        if known == Some(mode::EXECUTABLE) { mode::EXECUTABLE } else { mode::FILE }
    }

    /// Commits changes that stand in the work tree already on the branch that is checked out, also an unborn one.
    /// Whatever else is staged stays staged and is not committed. `None`: nothing differs.
    ///
    /// The caller holds the vault's lock.
    ///
    /// # Errors
    /// When HEAD is detached, the index is locked, the branch moves meanwhile, or git cannot be written. Nothing
    /// has changed then.
    pub fn commit_own(&self, commit: &OwnCommit<'_>) -> Result<Option<Oid>, GitError> {
        let make = |tree: Oid, parent: Option<Oid>| {
            let made = Commit {
                tree,
                parents: parent.into_iter().collect(),
                author: commit.ident.clone(),
                committer: commit.ident.clone(),
                signature: None,
                message: commit.message.clone(),
            };
            Ok((made, format!("commit: {}", commit.message.lines().next().unwrap_or_default())))
        };
        self.move_branch(commit.changes, &make)
    }

    /// Puts changes, which stand in the work tree already, into the commit that is checked out: a commit like it takes
    /// its place. `None`: nothing differs.
    ///
    /// # Errors
    /// As [`Repo::commit_own`], and when the commit is signed or not of the strict form.
    pub fn amend_own(&self, changes: &ChangeSet) -> Result<Option<Oid>, GitError> {
        let make = |tree: Oid, head: Option<Oid>| {
            let refuse = |why: &str| GitError::Other {
                doing: "changing the last commit".to_owned(),
                why: why.to_owned(),
            };
            let old = self.commit(head.ok_or_else(|| refuse("there is none"))?)?;
            if old.signature.is_some() {
                return Err(refuse("it is signed"));
            }
            let reflog = format!("commit (amend): {}", old.message.lines().next().unwrap_or_default());
            Ok((Commit { tree, ..(*old).clone() }, reflog))
        };
        self.move_branch(changes, &make)
    }

    /// Moves the branch that is checked out to a commit that is made of a tree and the old commit, and the index with
    /// it.
    fn move_branch(
        &self,
        changes: &ChangeSet,
        make: &dyn Fn(Oid, Option<Oid>) -> Result<(Commit, String), GitError>,
    ) -> Result<Option<Oid>, GitError> {
        let Head::Branch(branch, parent) = self.head()? else {
            return Err(GitError::Other {
                doing: "committing".to_owned(),
                why: "HEAD is detached".to_owned(),
            });
        };
        let Some(root) = self.work_dir() else {
            return Err(GitError::Other {
                doing: "committing".to_owned(),
                why: "there are no files".to_owned(),
            });
        };
        let name = format!("refs/heads/{branch}");
        let work_tree = WorkTree {
            root: root.to_owned(),
            git_dir: self.git_dir().to_owned(),
            branch: Some(name.clone()),
        };
        let mut plan = Plan { updates: Vec::new(), index: Some(work_tree.git_dir.clone()) };
        let mut intent = Intent::begin(self, &plan)?;
        let held = IndexLock::hold(&work_tree)?;
        let mut checkout = Checkout::open(&work_tree)?;
        let base = parent.map(|oid| self.tree_of(oid)).transpose()?;
        let tree = self.write_tree(base, changes)?;
        if base == Some(tree) {
            return Ok(None);
        }
        let updates: Vec<_> = changes
            .changes
            .iter()
            .map(|(path, change)| {
                let entry = match change {
                    Change::Write(bytes) => Entry { mode: mode::FILE, oid: Repo::hash_blob(bytes) },
                    Change::Put(entry) => *entry,
                    Change::Delete => return (path.clone(), None),
                };
                (path.clone(), Some((entry, root.join(path.as_str()).symlink_metadata().ok())))
            })
            .collect();
        let new = updates.iter().filter_map(|(path, update)| Some((path, update.as_ref()?.0)));
        self.index_takes(new)?;
        checkout.reserve()?;
        let (commit, message) = make(tree, parent)?;
        let made = self.write_commit(&commit)?;
        plan.updates = vec![RefUpdate { name, old: parent, new: Some(made), message }];
        intent.write(&plan)?;
        self.transact(&plan.updates)?;
        if let Err(error) = checkout.write_index(&updates) {
            // The branch has moved: the lock keeps plain git from taking it back, until the index has followed.
            held.leave();
            intent.leave();
            return Err(error);
        }
        Ok(Some(made))
    }
}
