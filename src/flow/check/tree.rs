//! States of the vault as checks ask about them.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::snapshot::Extra;
use crate::catalog::{Catalog, Side, StoredLink, link_key};
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

/// A tree's entries by their folded names, under which twins meet.
type Folded = Rc<HashMap<String, Vec<(VaultPath, Entry)>>>;

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
    folded: RefCell<HashMap<Oid, Folded>>,
    changed: OnceCell<Changed>,
    changed_extras: OnceCell<Extras>,
    changed_backlinks: OnceCell<HashMap<VaultPath, Vec<VaultPath>>>,
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
    /// The links by the last name that they give (see [`link_key`]), with the memory that each stands in.
    links: HashMap<String, Vec<(VaultPath, Link)>>,
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
            folded: RefCell::default(),
            changed: OnceCell::new(),
            changed_extras: OnceCell::new(),
            changed_backlinks: OnceCell::new(),
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
                for link in memory.links {
                    extras.links.entry(link_key(&link.target)).or_default().push((path.clone(), link));
                }
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
        out.extend(self.extras().links.get(key).into_iter().flatten().map(|(from, _)| from.clone()));
        out
    }

    /// Of each file, which changed memories lead to it.
    fn backlinks(&self) -> &HashMap<VaultPath, Vec<VaultPath>> {
        self.changed_backlinks.get_or_init(|| {
            let mut to: HashMap<VaultPath, Vec<VaultPath>> = HashMap::new();
            for (from, link) in self.extras().links.values().flatten() {
                for file in leads_to(link, from, self) {
                    to.entry(file).or_default().push(from.clone());
                }
            }
            to
        })
    }

    /// Collects what stands below `tree` under the folded path `key`.
    fn twins_below(&self, tree: Oid, prefix: &str, key: &str, out: &mut Vec<VaultPath>) {
        let (first, rest) = key.split_once('/').map_or((key, None), |(first, rest)| (first, Some(rest)));
        for (name, entry) in self.folded(tree).get(first).into_iter().flatten() {
            let full = if prefix.is_empty() { name.to_string() } else { format!("{prefix}/{name}") };
            match rest {
                None => out.extend(VaultPath::from_disk(full.as_bytes())),
                Some(rest) if entry.mode == mode::TREE => self.twins_below(entry.oid, &full, rest, out),
                Some(_) => {}
            }
        }
    }

    /// The entries of a tree by their folded names: a change may ask for the twins of all of them.
    fn folded(&self, tree: Oid) -> Folded {
        if let Some(known) = self.folded.borrow().get(&tree) {
            return Rc::clone(known);
        }
        let mut folded: HashMap<String, Vec<(VaultPath, Entry)>> = HashMap::new();
        for (name, entry) in self.entries(tree).iter() {
            if let Some(name) = VaultPath::from_disk(name) {
                folded.entry(name.collision_key()).or_default().push((name, *entry));
            }
        }
        let folded: Folded = Rc::new(folded);
        self.folded.borrow_mut().insert(tree, Rc::clone(&folded));
        folded
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
        let of_changed = self.backlinks().get(path).is_some_and(|all| all.iter().any(|from| from != path));
        of_changed
            || self.stored_links(path).iter().any(|(from, link)| leads_to(link, from, self).contains(path))
    }

    fn lost_links(&self, path: &VaultPath) -> usize {
        let before = With { names: self, file: path };
        let is_lost = |(from, link): &&(VaultPath, Link)| {
            from != path
                && resolve(link, from, self) == Resolution::Broken
                && resolve(link, from, &before) == Resolution::File(path.clone())
        };
        let changed = self.extras().links.get(&link_key(path.name()));
        let stored = self.stored_links(path);
        changed.into_iter().flatten().filter(is_lost).count() + stored.iter().filter(is_lost).count()
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

/// The files that a link may mean.
fn leads_to(link: &Link, from: &VaultPath, names: &dyn Names) -> Vec<VaultPath> {
    match resolve(link, from, names) {
        Resolution::File(file) | Resolution::Alias(file) => vec![file],
        Resolution::Ambiguous(files) => files,
        _ => Vec::new(),
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
