//! What stands at a path below a tree.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::{GitError, Repo};
use crate::model::change::{Entry, mode};
use crate::model::id::Oid;
use crate::model::path::VaultPath;

/// From how many entries on a tree is remembered.
const WIDE: usize = 512;

/// How many trees are remembered.
const KEPT: usize = 4;

type ByName = Rc<HashMap<Vec<u8>, Entry>>;

/// The wide trees that were asked last, the last one behind. Whoever asks for each file of a directory would read its
/// tree once a file, and with tens of thousands of files in it that takes minutes. A tree never changes.
#[derive(Default)]
pub(super) struct Wide(RefCell<Vec<(Oid, ByName)>>);

impl Wide {
    fn get(&self, tree: Oid) -> Option<ByName> {
        let mut kept = self.0.borrow_mut();
        let at = kept.iter().position(|(oid, _)| *oid == tree)?;
        let one = kept.remove(at);
        let entries = Rc::clone(&one.1);
        kept.push(one);
        Some(entries)
    }

    fn keep(&self, tree: Oid, entries: ByName) {
        let mut kept = self.0.borrow_mut();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((tree, entries));
    }
}

impl Repo {
    /// The entry at a path below a tree.
    ///
    /// # Errors
    /// When a tree on the way is missing or damaged; a path that leads nowhere is `None`.
    pub fn entry_at(&self, tree: Oid, path: &VaultPath) -> Result<Option<Entry>, GitError> {
        let mut at = Entry { mode: mode::TREE, oid: tree };
        if path.is_root() {
            return Ok(Some(at));
        }
        for segment in path.as_str().split('/') {
            if at.mode != mode::TREE {
                return Ok(None);
            }
            match self.entry_in(at.oid, segment.as_bytes())? {
                Some(entry) => at = entry,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The entry of a tree that has a name.
    fn entry_in(&self, tree: Oid, name: &[u8]) -> Result<Option<Entry>, GitError> {
        if let Some(entries) = self.wide.get(tree) {
            return Ok(entries.get(name).copied());
        }
        let entries = self.tree(tree)?;
        if entries.len() < WIDE {
            return Ok(entries.into_iter().find(|(own, _)| own == name).map(|(_, entry)| entry));
        }
        let entries: ByName = Rc::new(entries.into_iter().collect());
        let found = entries.get(name).copied();
        self.wide.keep(tree, entries);
        Ok(found)
    }

    /// The bytes of the file at a path below a tree, if a file (plain or executable) stands there.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn file_at(&self, tree: Oid, path: &VaultPath) -> Result<Option<Vec<u8>>, GitError> {
        match self.entry_at(tree, path)? {
            Some(entry) if matches!(entry.mode, mode::FILE | mode::EXECUTABLE) => {
                self.blob(entry.oid).map(Some)
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_tree_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path(), "main").unwrap();
        let oid = repo.write_blob(b"x").unwrap();
        let path = |at: usize| VaultPath::parse(&format!("a/{at}.md")).unwrap();
        let file = Entry { mode: mode::FILE, oid };
        let mut changes = crate::model::change::ChangeSet::default();
        (0..WIDE).for_each(|at| changes.write(path(at), b"x".to_vec()));
        let root = repo.write_tree(None, &changes).unwrap();
        let wide = repo.entry_at(root, &VaultPath::parse("a").unwrap()).unwrap().unwrap().oid;
        assert_eq!(repo.entry_at(root, &path(0)).unwrap(), Some(file));
        let hex = wide.to_string();
        let object = dir.path().join(".git/objects").join(&hex[..2]).join(&hex[2..]);
        std::fs::remove_file(object).unwrap();
        assert_eq!(repo.entry_at(root, &path(WIDE - 1)).unwrap(), Some(file));
        assert_eq!(repo.entry_at(root, &path(WIDE)).unwrap(), None);
        assert!(repo.files(wide).is_err(), "the object is gone");
        // What is not asked for is let go of.
        for at in 0..KEPT {
            repo.wide.keep(Oid([u8::try_from(at).unwrap(); 20]), Rc::default());
        }
        assert!(repo.entry_at(root, &path(0)).is_err());
    }
}
