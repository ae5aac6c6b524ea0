//! All names of a vault in memory: what a check of the whole vault asks about, from many threads.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::check::{Nearest, Tree};
use crate::model::id::Oid;
use crate::model::link::{Names, name_key};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::git::Repo;

/// What one file adds to the names besides its own.
#[derive(Debug, Default)]
pub(super) struct Extra {
    pub(super) aliases: Vec<String>,
    pub(super) id: Option<String>,
}

impl Extra {
    pub(super) fn of(memory: &Memory) -> Extra {
        if memory.template {
            return Extra::default();
        }
        let aliases = memory.front.aliases.iter().map(|alias| name_key(alias)).collect();
        Extra { aliases, id: memory.front.id.clone() }
    }
}

/// The names of a work tree, and its files.
#[derive(Debug)]
pub(super) struct Snapshot {
    root: PathBuf,
    files: BTreeSet<VaultPath>,
    directories: BTreeSet<VaultPath>,
    by_name: HashMap<String, Vec<VaultPath>>,
    by_alias: HashMap<String, Vec<VaultPath>>,
    by_id: HashMap<String, Vec<VaultPath>>,
    /// Only the keys that more than one file or directory has.
    twins: HashMap<String, Vec<VaultPath>>,
    nearest: OnceLock<Nearest>,
    /// The attachments that no text names.
    unnamed: HashSet<VaultPath>,
    /// The tree of the last commit.
    head: Option<Oid>,
}

impl Snapshot {
    /// The same, knowing which attachments no text names.
    pub(super) fn with_unnamed(self, unnamed: HashSet<VaultPath>) -> Snapshot {
        Snapshot { unnamed, ..self }
    }

    /// Takes the files in the order of their paths.
    pub(super) fn new(root: PathBuf, files: Vec<(VaultPath, Extra)>) -> Snapshot {
        let mut by_name: HashMap<String, Vec<VaultPath>> = HashMap::new();
        let mut by_alias: HashMap<String, Vec<VaultPath>> = HashMap::new();
        let mut by_id: HashMap<String, Vec<VaultPath>> = HashMap::new();
        let mut directories = BTreeSet::new();
        for (path, extra) in &files {
            by_name.entry(name_key(path.name())).or_default().push(path.clone());
            for alias in &extra.aliases {
                by_alias.entry(alias.clone()).or_default().push(path.clone());
            }
            if let Some(id) = &extra.id {
                by_id.entry(id.clone()).or_default().push(path.clone());
            }
            for above in path.ancestors() {
                if !directories.insert(above) {
                    break;
                }
            }
        }
        by_alias.values_mut().for_each(Vec::dedup);
        let files: BTreeSet<VaultPath> = files.into_iter().map(|(path, _)| path).collect();
        let mut twins: HashMap<String, Vec<VaultPath>> = HashMap::new();
        for place in files.iter().chain(&directories) {
            twins.entry(place.collision_key()).or_default().push(place.clone());
        }
        twins.retain(|_, places| places.len() > 1);
        twins.values_mut().for_each(|places| places.sort());
        Snapshot {
            root,
            files,
            directories,
            by_name,
            by_alias,
            by_id,
            twins,
            nearest: OnceLock::new(),
            unnamed: HashSet::new(),
            head: None,
        }
    }
}

impl Snapshot {
    /// With the tree of the last commit, for what was renamed since.
    pub(super) fn since(self, head: Option<Oid>) -> Snapshot {
        Snapshot { head, ..self }
    }
}

impl Names for Snapshot {
    fn has_file(&self, path: &VaultPath) -> bool {
        self.files.contains(path)
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        path.is_root() || self.directories.contains(path)
    }

    fn files_named(&self, name_key: &str) -> Vec<VaultPath> {
        self.by_name.get(name_key).cloned().unwrap_or_default()
    }

    fn files_with_alias(&self, name_key: &str) -> Vec<VaultPath> {
        self.by_alias.get(name_key).cloned().unwrap_or_default()
    }
}

impl Tree for Snapshot {
    fn names(&self) -> &dyn Names {
        self
    }

    fn read(&self, path: &VaultPath) -> Option<Vec<u8>> {
        files::read(&self.root, path).ok()
    }

    fn twins(&self, collision_key: &str) -> Vec<VaultPath> {
        self.twins.get(collision_key).cloned().unwrap_or_default()
    }

    fn files_with_id(&self, id: &str) -> Vec<VaultPath> {
        self.by_id.get(id).cloned().unwrap_or_default()
    }

    /// Not asked about files as they stand: only a new memory of a proposal can be an orphan.
    fn has_backlink(&self, _path: &VaultPath) -> bool {
        true
    }

    fn lost_links(&self, _path: &VaultPath) -> usize {
        0 // Nothing is taken away from files as they stand.
    }

    fn before(&self, path: &VaultPath) -> Option<Vec<u8>> {
        // Asked about few files, from many threads, which no repository's handle is for.
        Repo::discover(&self.root).ok()?.file_at(self.head?, path).ok()?
    }

    fn is_named(&self, path: &VaultPath) -> bool {
        !self.unnamed.contains(path)
    }

    fn nearest(&self, name: &str) -> Vec<VaultPath> {
        self.nearest.get_or_init(|| Nearest::new(self.files.iter())).find(name)
    }
}
