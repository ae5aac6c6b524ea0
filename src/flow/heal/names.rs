//! Names of a state that is not there yet, and names that are asked for often.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::transplant;
use crate::model::link::{Names, name_key};
use crate::model::path::VaultPath;

/// Names that remember what they were asked.
pub(in crate::flow) struct Kept<N> {
    names: N,
    named: RefCell<HashMap<String, Vec<VaultPath>>>,
    aliases: RefCell<HashMap<String, Vec<VaultPath>>>,
    directories: RefCell<HashMap<VaultPath, bool>>,
}

impl<N: Names> Kept<N> {
    pub(in crate::flow) fn new(names: N) -> Kept<N> {
        Kept {
            names,
            named: RefCell::default(),
            aliases: RefCell::default(),
            directories: RefCell::default(),
        }
    }
}

fn kept<K: std::hash::Hash + Eq, V: Clone>(
    memory: &RefCell<HashMap<K, V>>,
    key: K,
    ask: impl FnOnce(&K) -> V,
) -> V {
    if let Some(known) = memory.borrow().get(&key) {
        return known.clone();
    }
    let answer = ask(&key);
    memory.borrow_mut().insert(key, answer.clone());
    answer
}

impl<N: Names> Names for Kept<N> {
    fn has_file(&self, path: &VaultPath) -> bool {
        self.files_named(&name_key(path.name())).contains(path)
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        kept(&self.directories, path.clone(), |path| self.names.has_directory(path))
    }

    fn files_named(&self, key: &str) -> Vec<VaultPath> {
        kept(&self.named, key.to_owned(), |key| self.names.files_named(key))
    }

    fn files_with_alias(&self, key: &str) -> Vec<VaultPath> {
        kept(&self.aliases, key.to_owned(), |key| self.names.files_with_alias(key))
    }
}

/// The names as they will be after a file or directory moved.
pub(in crate::flow) struct Moved<'n> {
    names: &'n dyn Names,
    old: VaultPath,
    new: VaultPath,
    /// The new places by the key of their last segment.
    added: BTreeMap<String, Vec<VaultPath>>,
    directories: BTreeSet<VaultPath>,
}

impl<'n> Moved<'n> {
    /// `files` are the files that move, by where they stand before.
    pub(in crate::flow) fn new(
        names: &'n dyn Names,
        (old, new): (&VaultPath, &VaultPath),
        files: &[VaultPath],
    ) -> Moved<'n> {
        let mut added: BTreeMap<String, Vec<VaultPath>> = BTreeMap::new();
        let mut directories = BTreeSet::new();
        for path in files.iter().filter_map(|path| transplant(path, old, new)) {
            directories.extend(path.ancestors());
            added.entry(name_key(path.name())).or_default().push(path);
        }
        Moved { names, old: old.clone(), new: new.clone(), added, directories }
    }
}

impl Names for Moved<'_> {
    fn has_file(&self, path: &VaultPath) -> bool {
        let here = self.added.get(&name_key(path.name())).is_some_and(|added| added.contains(path));
        here || (!path.is_within(&self.old) && self.names.has_file(path))
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        self.directories.contains(path) || (!path.is_within(&self.old) && self.names.has_directory(path))
    }

    fn files_named(&self, key: &str) -> Vec<VaultPath> {
        let mut files = self.names.files_named(key);
        files.retain(|file| !file.is_within(&self.old));
        files.extend(self.added.get(key).into_iter().flatten().cloned());
        files.sort();
        files
    }

    fn files_with_alias(&self, key: &str) -> Vec<VaultPath> {
        let mut files = self.names.files_with_alias(key);
        for file in &mut files {
            if let Some(there) = transplant(file, &self.old, &self.new) {
                *file = there;
            }
        }
        files.sort();
        files
    }
}

/// The names as they were before some files moved: what is there now, with each of those at its old place.
pub(in crate::flow) struct Shifted<'n> {
    names: &'n dyn Names,
    /// Where the files stand now.
    now: BTreeSet<VaultPath>,
    /// The old places by the key of their last segment.
    before: BTreeMap<String, Vec<VaultPath>>,
    /// The old place of each.
    came: BTreeMap<VaultPath, VaultPath>,
    directories: BTreeSet<VaultPath>,
}

impl<'n> Shifted<'n> {
    /// `moves` says for each old place the new one.
    pub(in crate::flow) fn new(names: &'n dyn Names, moves: &BTreeMap<VaultPath, VaultPath>) -> Shifted<'n> {
        let mut before: BTreeMap<String, Vec<VaultPath>> = BTreeMap::new();
        for path in moves.keys() {
            before.entry(name_key(path.name())).or_default().push(path.clone());
        }
        Shifted {
            names,
            now: moves.values().filter(|to| !moves.contains_key(*to)).cloned().collect(),
            before,
            came: moves.iter().map(|(from, to)| (to.clone(), from.clone())).collect(),
            directories: moves.keys().flat_map(VaultPath::ancestors).collect(),
        }
    }
}

impl Names for Shifted<'_> {
    fn has_file(&self, path: &VaultPath) -> bool {
        let before = self.before.get(&name_key(path.name())).is_some_and(|before| before.contains(path));
        before || (!self.now.contains(path) && self.names.has_file(path))
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        self.directories.contains(path) || self.names.has_directory(path)
    }

    fn files_named(&self, key: &str) -> Vec<VaultPath> {
        let mut files = self.names.files_named(key);
        files.retain(|file| !self.now.contains(file));
        files.extend(self.before.get(key).into_iter().flatten().cloned());
        files.sort();
        files.dedup();
        files
    }

    fn files_with_alias(&self, key: &str) -> Vec<VaultPath> {
        let mut files = self.names.files_with_alias(key);
        for file in &mut files {
            if let Some(from) = self.came.get(file) {
                *file = from.clone();
            }
        }
        files.sort();
        files
    }
}
