//! What differs in a work tree from the commit under it, for its layers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::generator::Rules;
use crate::flow::unread::Unread;
use crate::flow::vault::Vault;
use crate::layers::{Leaf, leaf};
use crate::markdown;
use crate::model::fault::Fault;
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::git::Unseen;

/// The differences below one directory.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// What stands at a path instead: nothing, a file that is no memory, or a memory.
    files: HashMap<VaultPath, Option<Leaf>>,
    /// The names of changed files and of directories that hold some, by directory.
    below: BTreeMap<VaultPath, BTreeSet<String>>,
    /// What could not be looked at: it is as the commit has it.
    pub(super) unread: Vec<Unread>,
}

impl Overlay {
    /// What git says differs at and below a path, read from the files.
    pub(super) fn of(vault: &Vault<'_>, rules: &Rules, below: &VaultPath) -> Result<Overlay, Fault> {
        let root = vault.root()?;
        let mut out = Overlay::default();
        for change in vault.repo.changes(std::slice::from_ref(below))? {
            vault.env.go_on()?;
            if change.unseen.is_some() {
                out.unread.extend(Unread::of(&change));
                continue;
            }
            let Some(path) = change.path.filter(|path| rules.takes(path)) else { continue };
            let at = root.join(path.as_str());
            let is_file = at.symlink_metadata().is_ok_and(|data| data.is_file());
            let bytes = if is_file { files::read(root, &path).ok() } else { None };
            let unseen = if bytes.is_none() { Unseen::of(root, &path) } else { None };
            if let Some(unseen) = unseen {
                out.unread.push(Unread::new(path, &unseen));
                continue;
            }
            let now = bytes.and_then(|bytes| leaf(&markdown::read(&path, &bytes, &rules.config)));
            out.insert(path, now);
        }
        Ok(out)
    }

    fn insert(&mut self, path: VaultPath, now: Option<Leaf>) {
        for (name, above) in std::iter::once(path.clone()).chain(path.ancestors()).zip(path.ancestors()) {
            self.below.entry(above).or_default().insert(name.name().to_owned());
        }
        self.files.insert(path, now);
    }

    /// Whether anything in a directory differs.
    pub(super) fn touches(&self, directory: &VaultPath) -> bool {
        self.below.contains_key(directory)
    }

    /// The names in a directory of changed files and of directories that hold some.
    pub(super) fn names(&self, directory: &VaultPath) -> impl Iterator<Item = &String> {
        self.below.get(directory).into_iter().flatten()
    }

    /// What stands at a path instead; `None`: it does not differ.
    pub(super) fn file(&self, path: &VaultPath) -> Option<&Option<Leaf>> {
        self.files.get(path)
    }
}
