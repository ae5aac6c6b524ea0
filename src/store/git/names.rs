//! Whether git's index holds a path: asked before a branch moves to a tree with it.

use super::checkout::index_entry;
use super::{GitError, Repo, other};
use crate::model::change::Entry;
use crate::model::path::VaultPath;

impl Repo {
    /// That git's index takes some entries: a branch that moved to a tree which it refuses would be stuck there.
    ///
    /// # Errors
    /// [`GitError::Refused`] for the first one that it does not take.
    pub fn index_takes<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a VaultPath, Entry)>,
    ) -> Result<(), GitError> {
        match self.index_refuses(entries)?.into_iter().next() {
            Some((path, why)) => Err(GitError::Refused { path, why }),
            None => Ok(()),
        }
    }

    /// What git's index does not take of some entries, and why.
    ///
    /// # Errors
    /// When the repository cannot be opened.
    pub fn index_refuses<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a VaultPath, Entry)>,
    ) -> Result<Vec<(VaultPath, String)>, GitError> {
        // An index of its own, in memory, under this repository's rules.
        let doing = || other("asking git about names");
        let repo = git2::Repository::open(self.git_dir()).map_err(doing())?;
        let mut index = git2::Index::new().map_err(doing())?;
        repo.set_index(&mut index).map_err(doing())?;
        let refused = |(path, entry): (&VaultPath, Entry)| {
            // Whatever a repository allows, on another system it is its git directory.
            if path.gits_own().is_some() {
                return Some((path.clone(), "git keeps this name for itself".to_owned()));
            }
            let error = index.add(&index_entry(path, entry, None)).err()?;
            Some((path.clone(), error.message().to_owned()))
        };
        Ok(entries.into_iter().filter_map(refused).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::change::{Change, ChangeSet, mode};
    use crate::model::commit::{GitTime, Ident};
    use crate::model::id::Oid;
    use crate::store::git::{Head, OwnCommit};

    fn path(text: &str) -> VaultPath {
        VaultPath::from_disk(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_branch_does_not_move_to_what_the_index_refuses() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path(), "main").unwrap();
        let oid = repo.write_blob(b"x").unwrap();
        let file = Entry { mode: mode::FILE, oid };
        let good = path("a.md");
        repo.index_takes([(&good, file)]).unwrap();
        // What git's library itself refuses is refused too.
        assert!(repo.index_takes([(&good, Entry { mode: mode::FILE, oid: Oid([7; 20]) })]).is_err());
        for bad in [path("GIT~1/a.md"), path("a/.git. /b.md")] {
            let mut changes = ChangeSet::default();
            changes.changes.insert(good.clone(), Change::Put(file));
            changes.changes.insert(bad.clone(), Change::Put(file));
            let time = GitTime { seconds: 0, offset_minutes: 0 };
            let ident = Ident { name: "Mei".to_owned(), email: "mei@example.org".to_owned(), time };
            let error = repo.commit_own(&OwnCommit { changes: &changes, ident, message: "x\n".to_owned() });
            assert!(matches!(error, Err(GitError::Refused { path, .. }) if path == bad), "{bad}");
            assert_eq!(repo.head().unwrap(), Head::Branch("main".to_owned(), None));
            assert!(!dir.path().join(".git/index.lock").exists() && !repo.has_plans());
        }
    }
}
