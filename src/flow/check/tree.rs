//! States of the vault as checks ask about them.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::snapshot::Extra;
use crate::catalog::{Catalog, Side, StoredLink};
use crate::check::{Nearest, Tree};
use crate::markdown;
use crate::model::change::{Entry, mode};
use crate::model::config::Config;
use crate::model::id::Oid;
use crate::model::link::{Link, Names, Resolution, name_key, resolve};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;
use crate::store::git::{GitError, Repo};

/// A tree's entries by their names.
type Entries = Rc<HashMap<Vec<u8>, Entry>>;

/// A git tree, read as far as it is asked about: what the catalog knows of main, and over it what differs between
/// the tree that the catalog was made from and this one. So the answers are those of this tree however old the
/// catalog is, and the cost follows the difference.
pub(in crate::flow) struct GitTree<'r> {
    repo: &'r Repo,
    root: Oid,
    config: &'r Config,
    /// The catalog and the tree that its view of main was made from.
    catalog: Option<(Catalog, Oid)>,
    /// The first thing that could not be read; the answers from then on are empty.
    error: RefCell<Option<GitError>>,
    trees: RefCell<HashMap<Oid, Entries>>,
    changed: OnceCell<Changed>,
    changed_extras: OnceCell<Extras>,
    nearest: OnceCell<Nearest>,
}

/// What differs from the catalog's main.
#[derive(Default)]
struct Changed {
    /// Every path that differs, also what is gone.
    paths: HashSet<VaultPath>,
    /// Files of this tree among them, by [`name_key`] of their last segment.
    by_name: HashMap<String, Vec<VaultPath>>,
}

/// What the changed memories say.
#[derive(Default)]
struct Extras {
    by_alias: HashMap<String, Vec<VaultPath>>,
    by_id: HashMap<String, Vec<VaultPath>>,
    /// The links, with the memory that each stands in.
    links: Vec<(VaultPath, Link)>,
}

fn is_file(of: u32) -> bool {
    matches!(of, mode::FILE | mode::EXECUTABLE)
}

impl<'r> GitTree<'r> {
    pub(in crate::flow) fn new(
        repo: &'r Repo,
        root: Oid,
        config: &'r Config,
        catalog: Option<Catalog>,
    ) -> GitTree<'r> {
        // A catalog whose tree is gone (main was rewritten and collected) is as good as none.
        let of_tree = |catalog: Catalog| {
            let tree = catalog.state().ok()?.tree.filter(|tree| repo.has_object(*tree))?;
            Some((catalog, tree))
        };
        GitTree {
            repo,
            root,
            config,
            catalog: catalog.and_then(of_tree),
            error: RefCell::default(),
            trees: RefCell::default(),
            changed: OnceCell::new(),
            changed_extras: OnceCell::new(),
            nearest: OnceCell::new(),
        }
    }

    /// The error that stood in the way of an answer, if there was one.
    pub(in crate::flow) fn finish(self) -> Result<(), GitError> {
        self.error.into_inner().map_or(Ok(()), Err)
    }

    fn kept<V: Default>(&self, result: Result<V, GitError>) -> V {
        result.unwrap_or_else(|error| {
            self.error.borrow_mut().get_or_insert(error);
            V::default()
        })
    }

    fn entries(&self, tree: Oid) -> Entries {
        if let Some(known) = self.trees.borrow().get(&tree) {
            return Rc::clone(known);
        }
        let entries: Entries = Rc::new(self.kept(self.repo.tree(tree)).into_iter().collect());
        self.trees.borrow_mut().insert(tree, Rc::clone(&entries));
        entries
    }

    fn entry(&self, path: &VaultPath) -> Option<Entry> {
        let mut at = Entry { mode: mode::TREE, oid: self.root };
        for segment in path.as_str().split('/').filter(|_| !path.is_root()) {
            if at.mode != mode::TREE {
                return None;
            }
            at = *self.entries(at.oid).get(segment.as_bytes())?;
        }
        Some(at)
    }

    fn changed(&self) -> &Changed {
        self.changed.get_or_init(|| {
            let before = self.catalog.as_ref().map(|(_, tree)| *tree);
            let mut changed = Changed::default();
            for record in self.kept(self.repo.diff(before, Some(self.root))) {
                let Some(path) = record.vault_path() else { continue };
                if is_file(record.new_mode) {
                    changed.by_name.entry(name_key(path.name())).or_default().push(path.clone());
                }
                changed.paths.insert(path);
            }
            changed
        })
    }

    fn extras(&self) -> &Extras {
        self.changed_extras.get_or_init(|| {
            let mut extras = Extras::default();
            let mut paths: Vec<&VaultPath> = self.changed().by_name.values().flatten().collect();
            paths.sort();
            for path in paths.into_iter().filter(|path| path.is_markdown() && !path.is_hidden()) {
                let Some(bytes) = self.read(path) else { continue };
                let memory: Memory = markdown::read(path, &bytes, self.config);
                if memory.template {
                    continue;
                }
                let extra = Extra::of(&memory);
                for alias in extra.aliases {
                    extras.by_alias.entry(alias).or_default().push(path.clone());
                }
                if let Some(id) = extra.id {
                    extras.by_id.entry(id).or_default().push(path.clone());
                }
                extras.links.extend(memory.links.into_iter().map(|link| (path.clone(), link)));
            }
            extras
        })
    }

    /// What the catalog says of main, without what differs here, and what stands here instead.
    fn merged(&self, of_main: Vec<VaultPath>, of_changed: Option<&Vec<VaultPath>>) -> Vec<VaultPath> {
        let changed = &self.changed().paths;
        let mut all: Vec<VaultPath> = of_main.into_iter().filter(|path| !changed.contains(path)).collect();
        all.extend(of_changed.into_iter().flatten().cloned());
        all.sort();
        all.dedup();
        all
    }

    fn of_main(&self, ask: impl FnOnce(&Catalog) -> Vec<VaultPath>) -> Vec<VaultPath> {
        self.catalog.as_ref().map(|(catalog, _)| ask(catalog)).unwrap_or_default()
    }

    /// The links of main's memories that did not change and that may lead to this file, by its name.
    fn stored_links(&self, path: &VaultPath) -> Vec<(VaultPath, Link)> {
        let Some((catalog, _)) = &self.catalog else { return Vec::new() };
        let stored = catalog.links_named(Side::Main, &name_key(path.stem())).unwrap_or_default();
        let unchanged = stored.into_iter().filter(|link| !self.changed().paths.contains(&link.from));
        unchanged.map(StoredLink::into_link).collect()
    }

    /// The memories with a link whose last name, without `.md`, has this [`name_key`].
    pub(in crate::flow) fn referrers(&self, key: &str) -> Vec<VaultPath> {
        let of_main =
            |(catalog, _): &(Catalog, Oid)| catalog.links_named(Side::Main, key).unwrap_or_default();
        let stored = self.catalog.as_ref().map(of_main).unwrap_or_default().into_iter().map(|link| link.from);
        let mut out: Vec<VaultPath> = stored.filter(|from| !self.changed().paths.contains(from)).collect();
        let named = |link: &Link| {
            let name = name_key(link.target.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
            name == key || name.strip_suffix(".md") == Some(key)
        };
        let changed = self.extras().links.iter().filter(|(_, link)| named(link));
        out.extend(changed.map(|(from, _)| from.clone()));
        out
    }

    /// Collects what stands below `tree` under the folded path `key`.
    fn twins_below(&self, tree: Oid, prefix: &str, key: &str, out: &mut Vec<VaultPath>) {
        for (name, entry) in self.entries(tree).iter() {
            let Some(name) = VaultPath::from_disk(name) else { continue };
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

/// Some names and one file more.
struct With<'a> {
    names: &'a dyn Names,
    file: &'a VaultPath,
}

impl Names for With<'_> {
    fn has_file(&self, path: &VaultPath) -> bool {
        path == self.file || self.names.has_file(path)
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        self.names.has_directory(path)
    }

    fn files_named(&self, key: &str) -> Vec<VaultPath> {
        let mut files = self.names.files_named(key);
        if name_key(self.file.name()) == key {
            files.push(self.file.clone());
        }
        files
    }

    fn files_with_alias(&self, key: &str) -> Vec<VaultPath> {
        self.names.files_with_alias(key)
    }
}

impl Names for GitTree<'_> {
    fn has_file(&self, path: &VaultPath) -> bool {
        self.entry(path).is_some_and(|e| is_file(e.mode))
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        self.entry(path).is_some_and(|e| e.mode == mode::TREE)
    }

    fn files_named(&self, name_key: &str) -> Vec<VaultPath> {
        let of_main = self.of_main(|catalog| catalog.names(Side::Main).files_named(name_key));
        self.merged(of_main, self.changed().by_name.get(name_key))
    }

    fn files_with_alias(&self, name_key: &str) -> Vec<VaultPath> {
        let of_main = self.of_main(|catalog| catalog.names(Side::Main).files_with_alias(name_key));
        self.merged(of_main, self.extras().by_alias.get(name_key))
    }
}

impl Tree for GitTree<'_> {
    fn names(&self) -> &dyn Names {
        self
    }

    fn read(&self, path: &VaultPath) -> Option<Vec<u8>> {
        let entry = self.entry(path).filter(|e| is_file(e.mode))?;
        self.kept(self.repo.blob(entry.oid).map(Some))
    }

    fn twins(&self, collision_key: &str) -> Vec<VaultPath> {
        let mut out = Vec::new();
        self.twins_below(self.root, "", collision_key, &mut out);
        out.sort();
        out
    }

    fn files_with_id(&self, id: &str) -> Vec<VaultPath> {
        let of_main = self.of_main(|catalog| catalog.names(Side::Main).files_with_id(id));
        self.merged(of_main, self.extras().by_id.get(id))
    }

    fn has_backlink(&self, path: &VaultPath) -> bool {
        let leads_here = |from: &VaultPath, link: &Link| match resolve(link, from, self) {
            Resolution::File(file) | Resolution::Alias(file) => file == *path,
            Resolution::Ambiguous(files) => files.contains(path),
            _ => false,
        };
        if self.extras().links.iter().any(|(from, link)| from != path && leads_here(from, link)) {
            return true;
        }
        self.stored_links(path).iter().any(|(from, link)| leads_here(from, link))
    }

    fn lost_links(&self, path: &VaultPath) -> usize {
        let before = With { names: self, file: path };
        let is_lost = |(from, link): &&(VaultPath, Link)| {
            from != path
                && resolve(link, from, self) == Resolution::Broken
                && resolve(link, from, &before) == Resolution::File(path.clone())
        };
        let stored = self.stored_links(path);
        self.extras().links.iter().filter(is_lost).count() + stored.iter().filter(is_lost).count()
    }

    fn nearest(&self, name: &str) -> Vec<VaultPath> {
        let all = || {
            let files = self.kept(self.repo.files(self.root));
            let files: Vec<VaultPath> = files
                .iter()
                .filter(|(_, entry)| is_file(entry.mode))
                .filter_map(|(path, _)| VaultPath::from_disk(path).filter(|path| !path.is_hidden()))
                .collect();
            Nearest::new(files.iter())
        };
        self.nearest.get_or_init(all).find(name)
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

    fn lost_links(&self, _path: &VaultPath) -> usize {
        0
    }

    fn nearest(&self, _name: &str) -> Vec<VaultPath> {
        Vec::new()
    }
}
