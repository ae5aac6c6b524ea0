//! The names of the index as one reader may see them.

use globset::{GlobSet, GlobSetBuilder};

use crate::catalog::{Catalog, Side, ViewNames};
use crate::flow::reader::ReadError;
use crate::model::access::Access;
use crate::model::actor::Sensitivity;
use crate::model::fault::Fault;
use crate::model::link::Names;
use crate::model::path::VaultPath;
use crate::model::policy::compile_glob;

/// What a reader may see of a view: what it may not is not there, also for resolving links.
pub(super) struct Seen<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) side: Side,
    names: ViewNames<'c>,
    reads: Option<GlobSet>,
    clearance: Sensitivity,
}

impl<'c> Seen<'c> {
    pub(super) fn new(catalog: &'c Catalog, side: Side, access: &Access) -> Result<Seen<'c>, Fault> {
        let reads = match access.actor.as_ref().and_then(|actor| actor.reads.as_ref()) {
            Some(globs) => {
                let mut set = GlobSetBuilder::new();
                for glob in globs {
                    let bad = |why: String| ReadError::Reads(format!("`{glob}`: {why}"));
                    set.add(compile_glob(glob).map_err(|why| bad(why.to_string()))?.glob().clone());
                }
                Some(set.build().map_err(|why| ReadError::Reads(why.to_string()))?)
            }
            None => None,
        };
        let clearance = access.actor.as_ref().map_or(Sensitivity::Restricted, |actor| actor.clearance());
        Ok(Seen { catalog, side, names: catalog.names(side), reads, clearance })
    }

    /// Whether the reader sees everything.
    fn all(&self) -> bool {
        self.reads.is_none() && self.clearance == Sensitivity::Restricted
    }

    /// Whether the reader may see a file of the view, by what is known of it.
    pub(super) fn admits(&self, path: &VaultPath, sensitivity: Sensitivity) -> bool {
        self.reads.as_ref().is_none_or(|reads| reads.is_match(path.as_str())) && sensitivity <= self.clearance
    }

    /// Whether the reader may see a file of the view.
    pub(super) fn sees(&self, path: &VaultPath) -> bool {
        self.all()
            || (self.admits(path, Sensitivity::Normal)
                && matches!(self.catalog.doc_at(self.side, path), Ok(Some(row)) if self.admits(path, row.sensitivity)))
    }

    fn filtered(&self, mut paths: Vec<VaultPath>) -> Vec<VaultPath> {
        paths.retain(|path| self.sees(path));
        paths
    }
}

impl Names for Seen<'_> {
    fn has_file(&self, path: &VaultPath) -> bool {
        self.names.has_file(path) && self.sees(path)
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        if self.all() || path.is_root() {
            return self.names.has_directory(path);
        }
        let below = self.catalog.paths_within(self.side, path).unwrap_or_default();
        below.iter().any(|row| row.path != *path && self.admits(&row.path, row.sensitivity))
    }

    fn files_named(&self, key: &str) -> Vec<VaultPath> {
        self.filtered(self.names.files_named(key))
    }

    fn files_with_alias(&self, key: &str) -> Vec<VaultPath> {
        self.filtered(self.names.files_with_alias(key))
    }
}
