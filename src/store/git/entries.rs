//! What stands at a path below a tree.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::{GitError, Repo};
use crate::model::change::{Entry, mode};
use crate::model::id::Oid;
use crate::model::path::VaultPath;

/// How many entries make a tree wide.
const WIDE: usize = 512;

/// How many wide trees are remembered.
const KEPT_WIDE: usize = 4;

/// How many trees are remembered in all: those on the way to a file, mostly.
const KEPT: usize = 16;

type ByName = Rc<HashMap<Vec<u8>, Entry>>;

/// The trees that were asked last, the last one behind. Whoever asks for each file of a vault, in the order of their
/// paths, would read and take apart every tree on the way once a file, and with tens of thousands of files that takes
/// minutes. A tree never changes.
#[derive(Default)]
pub(super) struct Asked(RefCell<Vec<(Oid, ByName)>>);

impl Asked {
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
        let is_wide = |entries: &ByName| entries.len() >= WIDE;
        if is_wide(&entries) && kept.iter().filter(|(_, kept)| is_wide(kept)).count() >= KEPT_WIDE {
            let oldest = kept.iter().position(|(_, kept)| is_wide(kept));
            oldest.map(|at| kept.remove(at));
        }
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
        if let Some(entries) = self.asked.get(tree) {
            return Ok(entries.get(name).copied());
        }
        let entries: ByName = Rc::new(self.tree(tree)?.into_iter().collect());
        let found = entries.get(name).copied();
        self.asked.keep(tree, entries);
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
    fn a_tree_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path(), "main").unwrap();
        let oid = repo.write_blob(b"x").unwrap();
        let path = |directory: &str, at: usize| VaultPath::parse(&format!("{directory}/{at}.md")).unwrap();
        let file = Entry { mode: mode::FILE, oid };
        let mut changes = crate::model::change::ChangeSet::default();
        (0..WIDE).for_each(|at| changes.write(path("a", at), b"x".to_vec()));
        (0..3).for_each(|at| changes.write(path("b", at), b"x".to_vec()));
        let root = repo.write_tree(None, &changes).unwrap();
        let tree_at =
            |name: &str| repo.entry_at(root, &VaultPath::parse(name).unwrap()).unwrap().unwrap().oid;
        let (wide, narrow) = (tree_at("a"), tree_at("b"));
        assert_eq!(repo.entry_at(root, &path("b", 0)).unwrap(), Some(file));
        assert_eq!(repo.entry_at(root, &path("a", 0)).unwrap(), Some(file));
        let hex = wide.to_string();
        let object = dir.path().join(".git/objects").join(&hex[..2]).join(&hex[2..]);
        std::fs::remove_file(object).unwrap();
        assert_eq!(repo.entry_at(root, &path("a", WIDE - 1)).unwrap(), Some(file));
        assert_eq!(repo.entry_at(root, &path("a", WIDE)).unwrap(), None);
        assert!(repo.files(wide).is_err(), "the object is gone");
        // What is not asked for is let go of: wide ones early, all at some time. Small ones libgit2 itself keeps.
        let fill = |entries: ByName, trees: std::ops::Range<usize>| {
            for at in trees {
                repo.asked.keep(Oid([u8::try_from(at).unwrap(); 20]), Rc::clone(&entries));
            }
        };
        let many = (0..WIDE).map(|at| (at.to_string().into_bytes(), file)).collect();
        fill(Rc::new(many), 0..KEPT_WIDE);
        assert!(repo.entry_at(root, &path("a", 0)).is_err());
        assert!(repo.asked.get(narrow).is_some_and(|entries| entries.len() == 3));
        fill(Rc::default(), KEPT_WIDE..KEPT_WIDE + KEPT);
        assert!(repo.asked.get(narrow).is_none());
    }
}
