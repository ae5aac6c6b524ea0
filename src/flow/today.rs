//! Today's rules over an older state: what is confidential today, stands today where the reader may not read, or was
//! forgotten, is not shown as it once was either.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::schema::Tombstone;
use super::sync;
use super::vault::Vault;
use crate::catalog::{Catalog, Side};
use crate::markdown;
use crate::model::access::{Access, Reach, View};
use crate::model::actor::Sensitivity;
use crate::model::fault::Fault;
use crate::model::id::{Digest, Oid};
use crate::model::path::VaultPath;
use crate::store::git::GitError;

/// Where the tombstones stand.
const TOMBSTONES: &str = ".runebook/tombstones";

/// What was forgotten.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    ids: HashSet<String>,
    paths: HashSet<VaultPath>,
    bodies: HashSet<Digest>,
}

impl Forgotten {
    /// What main says was forgotten. A stone that cannot be read still names its path, if any line does.
    pub(super) fn of(vault: &Vault<'_>, main: Oid) -> Result<Forgotten, Fault> {
        let mut out = Forgotten::default();
        let at = VaultPath::parse(TOMBSTONES)?;
        let tree = vault.repo.tree_of(main)?;
        let Some(entry) =
            vault.repo.entry_at(tree, &at)?.filter(|e| e.mode == crate::model::change::mode::TREE)
        else {
            return Ok(out);
        };
        for (_, entry) in vault.repo.files(entry.oid)? {
            let bytes = vault.repo.blob(entry.oid)?;
            let Ok(stone) = serde_yaml::from_slice::<Tombstone>(&bytes) else {
                let text = String::from_utf8_lossy(&bytes);
                let path = |line: &str| {
                    let said = line.trim().strip_prefix("path:")?.trim().trim_matches(['"', '\'']);
                    VaultPath::parse(said).ok()
                };
                out.paths.extend(text.lines().filter_map(path));
                continue;
            };
            out.ids.extend(stone.id);
            out.paths.insert(stone.path);
            out.bodies.insert(stone.body);
        }
        Ok(out)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether what an older state has at a path is what was forgotten.
    pub(super) fn holds(&self, path: &VaultPath, id: Option<&str>, body: &[u8]) -> bool {
        self.paths.contains(path)
            || id.is_some_and(|id| self.ids.contains(id))
            || (!self.bodies.is_empty() && self.bodies.contains(&Digest::of(body)))
    }
}

/// Where memories stand and how sensitive they are, by their `id`.
type ById = HashMap<String, Vec<(VaultPath, Sensitivity)>>;

/// Today's rules for one reader.
pub(super) struct Today<'v, 'e> {
    vault: &'v Vault<'e>,
    access: Access,
    reads: Reach,
    /// Main's tree.
    tree: Oid,
    narrow: bool,
    forgotten: Forgotten,
    catalog: OnceCell<Option<Catalog>>,
    /// The memories of main by their `id`, where the index cannot tell.
    by_id: OnceCell<ById>,
}

impl<'v, 'e> Today<'v, 'e> {
    /// The rules, where a reader reads an older state and they can hide something from it.
    pub(super) fn over(vault: &'v Vault<'e>, access: &Access) -> Result<Option<Today<'v, 'e>>, Fault> {
        if !matches!(access.view, View::Revision(_) | View::Proposal(_)) {
            return Ok(None);
        }
        let main = vault.main()?;
        let forgotten = Forgotten::of(vault, main)?;
        let narrow = access.is_narrow();
        if !narrow && forgotten.is_empty() {
            return Ok(None);
        }
        Ok(Some(Today {
            vault,
            access: access.clone(),
            reads: access.reads(),
            tree: vault.repo.tree_of(main)?,
            narrow,
            forgotten,
            catalog: OnceCell::new(),
            by_id: OnceCell::new(),
        }))
    }

    /// Whether main has exactly this content at a path, so that its own rules are today's.
    pub(super) fn has(&self, path: &VaultPath, blob: Oid) -> Result<bool, GitError> {
        Ok(self.vault.repo.entry_at(self.tree, path)?.is_some_and(|now| now.oid == blob))
    }

    /// Whether what an older state has at a path is hidden by what main says today.
    pub(super) fn hides(&self, path: &VaultPath, blob: Oid, bytes: &[u8]) -> Result<bool, Fault> {
        let now = self.vault.repo.entry_at(self.tree, path)?;
        if now.is_some_and(|now| now.oid == blob) {
            return Ok(false);
        }
        if let Some(now) = now.filter(|_| self.narrow && path.is_markdown())
            && !self.access.may_see(self.sensitivity(now.oid)?)
        {
            return Ok(true);
        }
        let (id, body) = match path.is_markdown() {
            true => markdown::identity(bytes, &self.vault.config),
            false => (None, 0),
        };
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        if self.forgotten.holds(path, id.as_deref(), text.get(body..).unwrap_or_default()) {
            return Ok(true);
        }
        let Some(id) = id.filter(|_| self.narrow) else { return Ok(false) };
        let hidden = |(at, sensitivity): &(VaultPath, Sensitivity)| {
            !self.reads.holds(at) || !self.access.may_see(*sensitivity)
        };
        match self.indexed(&id) {
            Some(places) => Ok(places.iter().any(hidden)),
            None => Ok(self.by_id()?.get(&id).is_some_and(|places| places.iter().any(hidden))),
        }
    }

    /// The memories of main that have an `id`, where the index knows them and is of today's main.
    fn indexed(&self, id: &str) -> Option<Vec<(VaultPath, Sensitivity)>> {
        let catalog = self.catalog.get_or_init(|| {
            sync::open(self.vault).ok().filter(|c| c.state().is_ok_and(|state| state.tree == Some(self.tree)))
        });
        let catalog = catalog.as_ref()?;
        let row = |path: VaultPath| {
            let doc = catalog.doc_at(Side::Main, &path).ok().flatten()?;
            Some((path, doc.sensitivity))
        };
        catalog.names(Side::Main).files_with_id(id).into_iter().map(row).collect()
    }

    fn sensitivity(&self, blob: Oid) -> Result<Sensitivity, GitError> {
        let bytes = self.vault.repo.blob(blob)?;
        Ok(markdown::sensitivity(&bytes, &self.vault.config).unwrap_or_default())
    }

    fn by_id(&self) -> Result<&ById, Fault> {
        if let Some(known) = self.by_id.get() {
            return Ok(known);
        }
        let mut all = ById::new();
        for (path, entry) in self.vault.repo.files(self.tree)? {
            let Some(path) = VaultPath::from_disk(&path).filter(VaultPath::is_markdown) else { continue };
            self.vault.env.go_on()?;
            let bytes = self.vault.repo.blob(entry.oid)?;
            if let (Some(id), _) = markdown::identity(&bytes, &self.vault.config) {
                let said = markdown::sensitivity(&bytes, &self.vault.config).unwrap_or_default();
                all.entry(id).or_default().push((path, said));
            }
        }
        Ok(self.by_id.get_or_init(|| all))
    }
}
