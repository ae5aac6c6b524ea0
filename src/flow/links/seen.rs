//! The names of the index as one reader may see them.

use crate::catalog::{Catalog, Side, ViewNames};
use crate::model::access::{Access, Reach};
use crate::model::actor::Sensitivity;
use crate::model::link::Names;
use crate::model::path::VaultPath;

/// What a reader may see of a view: what it may not is not there, also for resolving links.
pub(super) struct Seen<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) side: Side,
    names: ViewNames<'c>,
    reads: Reach,
    access: &'c Access,
}

impl<'c> Seen<'c> {
    pub(super) fn new(catalog: &'c Catalog, side: Side, access: &'c Access) -> Seen<'c> {
        Seen { catalog, side, names: catalog.names(side), reads: access.reads(), access }
    }

    /// Whether the reader may see a file of the view, by what is known of it.
    pub(super) fn admits(&self, path: &VaultPath, sensitivity: Sensitivity) -> bool {
        self.reads.holds(path) && self.access.may_see(sensitivity)
    }

    /// Whether the reader may see a file of the view.
    pub(super) fn sees(&self, path: &VaultPath) -> bool {
        !self.access.is_narrow()
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
        if !self.access.is_narrow() || path.is_root() {
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
