//! The names of a view, for link resolution.

use rusqlite::params;

use super::{Catalog, Side};
use crate::model::link::Names;
use crate::model::path::VaultPath;

/// The names of one view of the catalog. A catalog that cannot be read names nothing: the sync that every command
/// runs first has reported it.
#[derive(Debug)]
pub struct ViewNames<'c> {
    catalog: &'c Catalog,
    side: Side,
}

/// Whether a row `d` of `docs` is in the view of tree `?1` (0: main).
pub(super) const VISIBLE: &str =
    "((d.main = 1 AND NOT EXISTS (SELECT 1 FROM overlay o WHERE o.tree = ?1 AND o.path = d.path))
  OR EXISTS (SELECT 1 FROM overlay o WHERE o.tree = ?1 AND o.doc = d.id))";

impl Side {
    /// The view's number in a query; no work tree has 0, so main has no overlay.
    pub(super) fn number(self) -> i64 {
        match self {
            Side::Main => 0,
            Side::Tree(tree) | Side::Revision(tree) => tree.0,
        }
    }
}

impl Catalog {
    /// The names of a view.
    #[must_use]
    pub fn names(&self, side: Side) -> ViewNames<'_> {
        ViewNames { catalog: self, side }
    }
}

impl ViewNames<'_> {
    fn exists(&self, condition: &str, from: &str, to: &str) -> bool {
        let sql = format!("SELECT 1 FROM docs d WHERE {condition} AND {VISIBLE} LIMIT 1");
        let conn = &self.catalog.conn;
        conn.prepare_cached(&sql)
            .and_then(|mut s| s.exists(params![self.side.number(), from, to]))
            .unwrap_or(false)
    }

    fn paths(&self, sql: &str, key: &str) -> Vec<VaultPath> {
        let query = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.catalog.conn.prepare_cached(sql)?;
            statement.query_map(params![self.side.number(), key], |row| row.get(0))?.collect()
        };
        let texts = query().unwrap_or_default();
        texts.iter().filter_map(|text| VaultPath::from_disk(text.as_bytes())).collect()
    }
}

impl ViewNames<'_> {
    /// All memories that have this `id`.
    #[must_use]
    pub fn files_with_id(&self, id: &str) -> Vec<VaultPath> {
        let sql = format!("SELECT d.path FROM docs d WHERE d.uid = ?2 AND {VISIBLE} ORDER BY d.path");
        self.paths(&sql, id)
    }
}

impl Names for ViewNames<'_> {
    fn has_file(&self, path: &VaultPath) -> bool {
        self.exists("d.path = ?2 AND ?3 = ''", path.as_str(), "")
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        // `0` follows `/` in the order of bytes.
        path.is_root()
            || self.exists(
                "d.path > ?2 AND d.path < ?3",
                &format!("{}/", path.as_str()),
                &format!("{}0", path.as_str()),
            )
    }

    fn files_named(&self, name_key: &str) -> Vec<VaultPath> {
        let sql = format!("SELECT d.path FROM docs d WHERE d.name_key = ?2 AND {VISIBLE} ORDER BY d.path");
        self.paths(&sql, name_key)
    }

    fn files_with_alias(&self, name_key: &str) -> Vec<VaultPath> {
        let sql = format!(
            "SELECT DISTINCT d.path FROM aliases a JOIN docs d ON d.id = a.doc
             WHERE a.key = ?2 AND {VISIBLE} ORDER BY d.path"
        );
        self.paths(&sql, name_key)
    }
}
