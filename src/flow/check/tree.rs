//! States of the vault as checks ask about them.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use crate::check::Tree;
use crate::model::change::{Entry, mode};
use crate::model::id::Oid;
use crate::model::link::{Names, name_key};
use crate::model::path::VaultPath;
use crate::store::git::{GitError, Repo};

/// A git tree, read as far as it is asked about.
pub(super) struct GitTree<'r> {
    repo: &'r Repo,
    root: Oid,
    /// The first thing that could not be read; the answers from then on are empty.
    error: RefCell<Option<GitError>>,
    /// Files by [`name_key`] of their last segment; needs a walk of all trees, so only when a link asks.
    by_name: OnceCell<HashMap<String, Vec<VaultPath>>>,
}

impl<'r> GitTree<'r> {
    pub(super) fn new(repo: &'r Repo, root: Oid) -> GitTree<'r> {
        GitTree { repo, root, error: RefCell::default(), by_name: OnceCell::new() }
    }

    /// The error that stood in the way of an answer, if there was one.
    pub(super) fn finish(self) -> Result<(), GitError> {
        self.error.into_inner().map_or(Ok(()), Err)
    }

    fn kept<V: Default>(&self, result: Result<V, GitError>) -> V {
        result.unwrap_or_else(|error| {
            self.error.borrow_mut().get_or_insert(error);
            V::default()
        })
    }

    fn entry(&self, path: &VaultPath) -> Option<Entry> {
        self.kept(self.repo.entry_at(self.root, path))
    }

    fn by_name(&self) -> &HashMap<String, Vec<VaultPath>> {
        self.by_name.get_or_init(|| {
            let mut names: HashMap<String, Vec<VaultPath>> = HashMap::new();
            for (path, entry) in self.kept(self.repo.files(self.root)) {
                if let Some(path) = VaultPath::from_disk(&path)
                    && matches!(entry.mode, mode::FILE | mode::EXECUTABLE)
                {
                    names.entry(name_key(path.name())).or_default().push(path);
                }
            }
            names
        })
    }

    /// Collects what stands below `tree` under the folded path `key`.
    fn twins_below(&self, tree: Oid, prefix: &str, key: &str, out: &mut Vec<VaultPath>) {
        for (name, entry) in self.kept(self.repo.tree(tree)) {
            let Some(name) = VaultPath::from_disk(&name) else { continue };
            let folded = name.collision_key();
            let Some(rest) = key.strip_prefix(folded.as_str()) else { continue };
            let full = if prefix.is_empty() { name.to_string() } else { format!("{prefix}/{name}") };
            if rest.is_empty() {
                out.extend(VaultPath::from_disk(full.as_bytes()));
            } else if let (Some(rest), mode::TREE) = (rest.strip_prefix('/'), entry.mode) {
                self.twins_below(entry.oid, &full, rest, out);
            }
        }
    }
}

impl Names for GitTree<'_> {
    fn has_file(&self, path: &VaultPath) -> bool {
        self.entry(path).is_some_and(|e| matches!(e.mode, mode::FILE | mode::EXECUTABLE))
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        self.entry(path).is_some_and(|e| e.mode == mode::TREE)
    }

    fn files_named(&self, name_key: &str) -> Vec<VaultPath> {
        self.by_name().get(name_key).cloned().unwrap_or_default()
    }

    fn files_with_alias(&self, _name_key: &str) -> Vec<VaultPath> {
        Vec::new()
    }
}

impl Tree for GitTree<'_> {
    fn names(&self) -> &dyn Names {
        self
    }

    fn read(&self, path: &VaultPath) -> Option<Vec<u8>> {
        self.kept(self.repo.file_at(self.root, path))
    }

    fn twins(&self, collision_key: &str) -> Vec<VaultPath> {
        let mut out = Vec::new();
        self.twins_below(self.root, "", collision_key, &mut out);
        out
    }

    fn files_with_id(&self, _id: &str) -> Vec<VaultPath> {
        Vec::new()
    }

    fn has_backlink(&self, _path: &VaultPath) -> bool {
        false
    }

    fn nearest(&self, _name: &str) -> Vec<VaultPath> {
        Vec::new()
    }
}

/// No state at all, for checks that look at a blob by itself.
pub(super) struct Nothing;

impl Names for Nothing {
    fn has_file(&self, _path: &VaultPath) -> bool {
        false
    }

    fn has_directory(&self, _path: &VaultPath) -> bool {
        false
    }

    fn files_named(&self, _name_key: &str) -> Vec<VaultPath> {
        Vec::new()
    }

    fn files_with_alias(&self, _name_key: &str) -> Vec<VaultPath> {
        Vec::new()
    }
}

impl Tree for Nothing {
    fn names(&self) -> &dyn Names {
        self
    }

    fn read(&self, _path: &VaultPath) -> Option<Vec<u8>> {
        None
    }

    fn twins(&self, _collision_key: &str) -> Vec<VaultPath> {
        Vec::new()
    }

    fn files_with_id(&self, _id: &str) -> Vec<VaultPath> {
        Vec::new()
    }

    fn has_backlink(&self, _path: &VaultPath) -> bool {
        false
    }

    fn nearest(&self, _name: &str) -> Vec<VaultPath> {
        Vec::new()
    }
}
