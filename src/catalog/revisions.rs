//! Views of older states: a commit's tree, or main with what a proposal changes. Each is a work tree that has no files:
//! its differences from main stand in `overlay`, so it goes on seeing what it saw when main moves.

use rusqlite::{OptionalExtension as _, params};

use super::read::{path_of, sensitivity_from};
use super::{Catalog, CatalogError, DocId, TreeId, Writer};
use crate::model::actor::Sensitivity;
use crate::model::id::Oid;
use crate::model::path::VaultPath;

/// How the keys of such views begin; the key of a work tree is a path, which never does.
const PREFIX: &str = "rev:";

fn key_of(tree: Oid) -> String {
    format!("{PREFIX}{tree}")
}

/// Whether the key of a view is that of an older state.
#[must_use]
pub fn is_revision(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// A document of an older state, as main has it today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Today {
    /// Where it stood.
    pub path: VaultPath,
    /// Where main has something of that path or of that `id`.
    pub now: VaultPath,
    /// How sensitive that is.
    pub sensitivity: Sensitivity,
}

/// A document in which an older state differs from main.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// Where it stands.
    pub path: VaultPath,
    /// Its blob.
    pub oid: Oid,
    /// Its `id`.
    pub uid: Option<String>,
}

impl Catalog {
    /// The view of a tree, and whether it is the one that was asked for last.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn revision(&self, tree: Oid) -> Result<Option<(TreeId, bool)>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare_cached(
                "SELECT id, scanned >= (SELECT MAX(scanned) FROM trees WHERE key GLOB 'rev:*')
                 FROM trees WHERE key = ?1",
            )?;
            statement.query_row([key_of(tree)], |row| Ok((TreeId(row.get(0)?), row.get(1)?))).optional()
        })
    }

    /// The views of older states with the number of paths in which each differs from main, the last asked for first.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn revisions(&self) -> Result<Vec<(TreeId, u64)>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare_cached(
                "SELECT t.id, (SELECT COUNT(*) FROM overlay o WHERE o.tree = t.id)
                 FROM trees t WHERE t.key GLOB 'rev:*' ORDER BY t.scanned DESC",
            )?;
            statement.query_map([], |row| Ok((TreeId(row.get(0)?), row.get(1)?)))?.collect()
        })
    }

    /// What main has today of the documents in which an older state differs from it.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn today(&self, revision: TreeId) -> Result<Vec<Today>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare_cached(
                "SELECT d.path, m.path, m.sensitivity FROM overlay o JOIN docs d ON d.id = o.doc
                   JOIN docs m ON m.path = d.path AND m.main = 1 WHERE o.tree = ?1
                 UNION ALL
                 SELECT d.path, m.path, m.sensitivity FROM overlay o JOIN docs d ON d.id = o.doc
                   JOIN docs m ON m.uid = d.uid AND m.main = 1 WHERE o.tree = ?1 AND d.uid IS NOT NULL",
            )?;
            let rows = statement.query_map([revision.0], |row| {
                Ok(Today {
                    path: path_of(row, 0)?,
                    now: path_of(row, 1)?,
                    sensitivity: sensitivity_from(row.get(2)?),
                })
            })?;
            rows.collect()
        })
    }

    /// The documents in which an older state differs from main.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn differing(&self, revision: TreeId) -> Result<Vec<Differing>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare_cached(
                "SELECT d.path, d.oid, d.uid FROM overlay o JOIN docs d ON d.id = o.doc WHERE o.tree = ?1",
            )?;
            let rows = statement.query_map([revision.0], |row| {
                Ok(Differing { path: path_of(row, 0)?, oid: Oid(row.get(1)?), uid: row.get(2)? })
            })?;
            rows.collect()
        })
    }
}

impl Writer<'_> {
    /// A new view of a tree, which sees what main has until its differences are put down; the last asked for.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn new_revision(&self, tree: Oid) -> Result<TreeId, CatalogError> {
        let id = self.tree_id(&key_of(tree))?;
        self.touch_revision(id)?;
        Ok(id)
    }

    /// Puts down that a view was asked for last.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn touch_revision(&self, revision: TreeId) -> Result<(), CatalogError> {
        // Its files are never looked at, so the column counts the questions: a clock may stand still.
        self.run(
            "UPDATE trees SET scanned = 1 + (SELECT MAX(scanned) FROM trees WHERE key GLOB 'rev:*') WHERE id = ?1",
            params![revision.0],
        )?;
        Ok(())
    }

    /// Puts down the files of a view that could not be taken in, and why.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn put_pending(&self, revision: TreeId, pending: &[(VaultPath, String)]) -> Result<(), CatalogError> {
        for (path, why) in pending {
            self.run(
                "INSERT OR REPLACE INTO pending VALUES (?1, ?2, ?3)",
                params![revision.0, path.as_str(), why],
            )?;
        }
        Ok(())
    }

    /// Forgets the views of older states but the first `most` of those asked for last, and as many of these as it takes
    /// until at most `paths` differ in all. The last one stays in any case. Returns the documents that the forgotten
    /// ones alone may have seen.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn trim_revisions(&self, most: usize, paths: u64) -> Result<Vec<DocId>, CatalogError> {
        let (mut docs, mut sum) = (Vec::new(), 0);
        for (at, (revision, count)) in self.catalog.revisions()?.into_iter().enumerate() {
            sum += count;
            if at >= most || (at > 0 && sum > paths) {
                docs.extend(self.drop_tree(revision)?);
            }
        }
        Ok(docs)
    }
}
