//! Questions about many links at once.

use rusqlite::params;

use super::names::VISIBLE;
use super::read::{StoredLink, link, path_of, sensitivity_from};
use super::{Catalog, CatalogError, FileKind, Side};
use crate::model::actor::Sensitivity;
use crate::model::path::VaultPath;

/// A file of a view, as a graph of links needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRow {
    /// Where it stands.
    pub path: VaultPath,
    /// What kind of file it is.
    pub kind: FileKind,
    /// `sensitivity` of the front matter, else normal.
    pub sensitivity: Sensitivity,
    /// `id` of the front matter.
    pub uid: Option<String>,
}

impl Catalog {
    /// The files at or below a path of a view, in the order of their paths.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn paths_within(&self, side: Side, below: &VaultPath) -> Result<Vec<PathRow>, CatalogError> {
        self.check(|| {
            // `0` follows `/` in the order of bytes.
            let sql = format!(
                "SELECT d.path, d.kind, d.sensitivity, d.uid FROM docs d
                 WHERE (?2 = '' OR d.path = ?2 OR (d.path > ?2 || '/' AND d.path < ?2 || '0')) AND {VISIBLE}
                 ORDER BY d.path"
            );
            let mut statement = self.conn.prepare_cached(&sql)?;
            let rows = statement.query_map(params![side.number(), below.as_str()], |row| {
                Ok(PathRow {
                    path: path_of(row, 0)?,
                    kind: FileKind::from_code(row.get(1)?),
                    sensitivity: sensitivity_from(row.get(2)?),
                    uid: row.get(3)?,
                })
            })?;
            rows.collect()
        })
    }

    /// The aliases of a view's memories: the [`crate::model::link::name_key`] of each with the memory.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn each_alias(
        &self,
        side: Side,
        mut each: impl FnMut(String, VaultPath),
    ) -> Result<(), CatalogError> {
        self.check(|| {
            let sql = format!(
                "SELECT a.key, d.path FROM aliases a JOIN docs d ON d.id = a.doc WHERE {VISIBLE} ORDER BY d.path"
            );
            let mut statement = self.conn.prepare(&sql)?;
            let mut rows = statement.query([side.number()])?;
            while let Some(row) = rows.next()? {
                each(row.get(0)?, path_of(row, 1)?);
            }
            Ok(())
        })
    }

    /// Every link of a view, in the order of the memories' paths and of the links in them.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn each_link(&self, side: Side, mut each: impl FnMut(StoredLink)) -> Result<(), CatalogError> {
        self.check(|| {
            let sql = format!(
                "SELECT d.path, l.form, l.target, l.fragment, l.embed, l.relation, l.line
                 FROM docs d CROSS JOIN links l ON l.doc = d.id WHERE {VISIBLE} ORDER BY d.path, l.ord"
            );
            let mut statement = self.conn.prepare(&sql)?;
            let mut rows = statement.query([side.number()])?;
            while let Some(row) = rows.next()? {
                each(link(row)?);
            }
            Ok(())
        })
    }

    /// The keys of the aliases of the memory at a path of a view.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn alias_keys(&self, side: Side, path: &VaultPath) -> Result<Vec<String>, CatalogError> {
        self.check(|| {
            let sql = format!(
                "SELECT a.key FROM docs d JOIN aliases a ON a.doc = d.id WHERE d.path = ?2 AND {VISIBLE}"
            );
            let mut statement = self.conn.prepare_cached(&sql)?;
            statement.query_map(params![side.number(), path.as_str()], |row| row.get(0))?.collect()
        })
    }
}
