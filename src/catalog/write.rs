//! Changes to the catalog: one transaction, committed whole or not at all.

use rusqlite::params;
use sha2::{Digest as _, Sha256};

use super::read::{ChunkRow, HeadingRow, form_code, sensitivity_code};
use super::{Catalog, CatalogError, DocId, FileKind, State, TreeId};
use crate::model::finding::Finding;
use crate::model::id::{Oid, TextKey};
use crate::model::link::name_key;
use crate::model::memory::{Chunk, Memory};
use crate::model::path::VaultPath;

/// A document that the catalog does not have yet.
#[derive(Debug)]
pub struct NewDoc<'a> {
    /// Its number.
    pub id: DocId,
    /// Its blob.
    pub oid: Oid,
    /// Whether main has it; only for filling an empty catalog, else [`Writer::set_main`] says so.
    pub main: bool,
    /// What kind of file it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// What reading it gave.
    pub memory: &'a Memory,
    /// Its chunks.
    pub chunks: &'a [Chunk],
    /// The time that it is about, in seconds since 1970.
    pub date: Option<i64>,
    /// Our estimate of its tokens.
    pub tokens: u32,
    /// What is wrong with it.
    pub problems: &'a [Finding],
    /// The names of its texts that are embedded, one a chunk.
    pub passages: &'a [TextKey],
    /// The generation in which it comes.
    pub born: u64,
}

/// An open transaction. Dropped without [`Writer::commit`] it leaves the catalog as it was.
#[derive(Debug)]
pub struct Writer<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) done: bool,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.catalog.thaw();
        }
    }
}

/// The key by which a link's target is looked up: its last segment without `.md`.
#[must_use]
pub(crate) fn link_key(target: &str) -> String {
    // A link to a directory may end in a slash.
    let target = target.trim_end_matches('/');
    let last = target.rsplit('/').next().unwrap_or(target);
    let key = name_key(last);
    key.strip_suffix(".md").map_or(key.clone(), str::to_owned)
}

fn json(value: &impl serde::Serialize) -> String {
    // Lists of texts and numbers always have a JSON form.
    serde_json::to_string(value).unwrap_or_else(|_| "[]".to_owned())
}

impl Catalog {
    /// Begins a transaction.
    ///
    /// # Errors
    /// When another process writes for longer than we wait.
    pub fn write(&self) -> Result<Writer<'_>, CatalogError> {
        self.check(|| self.conn.execute_batch("BEGIN IMMEDIATE"))?;
        Ok(Writer { catalog: self, done: false })
    }
}

impl Writer<'_> {
    pub(super) fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize, CatalogError> {
        self.catalog.check(|| self.catalog.conn.prepare_cached(sql)?.execute(values))
    }

    /// Adds a document that no work tree sees as its own yet.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn add(&self, new: &NewDoc<'_>) -> Result<(), CatalogError> {
        let memory = new.memory;
        let front = &memory.front;
        let path = &memory.path;
        let tags: Vec<&str> = memory.tags.iter().map(|tag| tag.name.as_str()).collect();
        let headings: Vec<HeadingRow> = (memory.headings.iter())
            .map(|h| HeadingRow { level: h.level, text: h.text.clone(), line: h.line })
            .collect();
        let blocks: Vec<&str> = memory.blocks.iter().map(|block| block.id.as_str()).collect();
        let chunks: Vec<ChunkRow> = (new.chunks.iter())
            .map(|c| ChunkRow {
                headings: c.headings.clone(),
                start: c.range.start,
                end: c.range.end,
                line: c.line,
            })
            .collect();
        let kind = front.kind.and_then(|kind| serde_json::to_value(kind).ok());
        self.run(
            "INSERT INTO docs VALUES (?1,?2,?3,?24,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23)",
            params![
                new.id.0,
                path.as_str(),
                new.oid.0,
                new.kind.code(),
                new.size,
                name_key(path.name()),
                memory.title,
                front.id,
                kind.as_ref().and_then(|kind| kind.as_str()),
                front.status,
                sensitivity_code(front.sensitivity.unwrap_or_default()),
                new.date,
                front.summary,
                front.subject,
                front.importance,
                front.confidence,
                front.present.then(|| json(&front.all)),
                json(&tags),
                json(&headings),
                json(&blocks),
                json(&chunks),
                new.tokens,
                (!new.problems.is_empty()).then(|| json(&new.problems)),
                new.main,
            ],
        )?;
        if !new.passages.is_empty() {
            let keys: Vec<u8> = new.passages.iter().flat_map(|key| key.0).collect();
            self.run("INSERT INTO passages VALUES (?1, ?2, ?3)", params![new.id.0, new.born, keys])?;
        }
        for alias in &front.aliases {
            self.run(
                "INSERT OR IGNORE INTO aliases VALUES (?1, ?2, ?3)",
                params![name_key(alias), new.id.0, alias],
            )?;
        }
        for (ord, link) in memory.links.iter().enumerate() {
            self.run(
                "INSERT INTO links VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
                params![
                    new.id.0,
                    ord,
                    form_code(link.form),
                    link_key(&link.target),
                    link.target,
                    link.fragment,
                    link.text,
                    link.embed,
                    link.relation,
                    link.line,
                    link.range.start,
                    link.range.end
                ],
            )?;
        }
        Ok(())
    }

    /// Removes a document that no view sees.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn remove(&self, id: DocId) -> Result<(), CatalogError> {
        self.run("DELETE FROM links WHERE doc = ?1", [id.0])?;
        self.run("DELETE FROM aliases WHERE doc = ?1", [id.0])?;
        self.run("DELETE FROM passages WHERE doc = ?1", [id.0])?;
        self.run("DELETE FROM docs WHERE id = ?1", [id.0])?;
        Ok(())
    }

    /// Forgets a document whose text is lost, and that its directory was ever read: the next comparison finds the
    /// files anew.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn forget(&self, path: &VaultPath, id: DocId) -> Result<(), CatalogError> {
        self.run("DELETE FROM stats WHERE dir = ?1", [path.parent().as_str()])?;
        self.run("DELETE FROM overlay WHERE doc = ?1", [id.0])?;
        self.remove(id)
    }

    /// As the catalog's own function of that name.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn put_known(
        &self,
        tree: TreeId,
        dir: &str,
        files: &[(&str, super::StatRow)],
    ) -> Result<(), CatalogError> {
        self.catalog.put_known(tree, dir, files)
    }

    /// Whether any view sees a document.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn is_seen(&self, id: DocId) -> Result<bool, CatalogError> {
        self.catalog.check(|| {
            let mut statement = self.catalog.conn.prepare_cached(
                "SELECT 1 FROM docs WHERE id = ?1 AND main = 1 UNION ALL SELECT 1 FROM overlay WHERE doc = ?1",
            )?;
            statement.exists([id.0])
        })
    }

    /// The documents at a path, in whichever view.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn docs_at(&self, path: &VaultPath) -> Result<Vec<DocId>, CatalogError> {
        self.catalog.check(|| {
            let mut statement = self.catalog.conn.prepare_cached("SELECT id FROM docs WHERE path = ?1")?;
            statement.query_map([path.as_str()], |row| row.get(0).map(DocId))?.collect()
        })
    }

    /// Main now has this document at this path (`None`: nothing). Every work tree goes on seeing what it saw.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn set_main(&self, path: &VaultPath, doc: Option<DocId>) -> Result<(), CatalogError> {
        // What a tree saw through main so far becomes its own difference.
        self.run(
            "INSERT OR IGNORE INTO overlay
             SELECT t.id, ?1, (SELECT d.id FROM docs d WHERE d.path = ?1 AND d.main = 1) FROM trees t",
            [path.as_str()],
        )?;
        self.run("UPDATE docs SET main = 0 WHERE path = ?1 AND main = 1", [path.as_str()])?;
        if let Some(doc) = doc {
            self.run("UPDATE docs SET main = 1 WHERE id = ?1", [doc.0])?;
        }
        self.run(
            "DELETE FROM overlay WHERE path = ?1 AND doc IS ?2",
            params![path.as_str(), doc.map(|doc| doc.0)],
        )?;
        Ok(())
    }

    /// Puts down that a work tree has this document at a path and main another one or none, without looking. For
    /// filling an empty catalog.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn put_difference(
        &self,
        tree: TreeId,
        path: &VaultPath,
        doc: Option<DocId>,
    ) -> Result<(), CatalogError> {
        self.run(
            "INSERT INTO overlay VALUES (?1, ?2, ?3)",
            params![tree.0, path.as_str(), doc.map(|doc| doc.0)],
        )?;
        Ok(())
    }

    /// A work tree now has this document at this path (`None`: nothing).
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn set_tree(&self, tree: TreeId, path: &VaultPath, doc: Option<DocId>) -> Result<(), CatalogError> {
        self.run(
            "INSERT OR REPLACE INTO overlay VALUES (?1, ?2, ?3)",
            params![tree.0, path.as_str(), doc.map(|doc| doc.0)],
        )?;
        self.run(
            "DELETE FROM overlay WHERE tree = ?1 AND path = ?2
             AND doc IS (SELECT d.id FROM docs d WHERE d.path = ?2 AND d.main = 1)",
            params![tree.0, path.as_str()],
        )?;
        Ok(())
    }

    /// The number of the work tree with this key, which is new if the catalog did not know it: it sees what main
    /// has until its files are taken in.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn tree_id(&self, key: &str) -> Result<TreeId, CatalogError> {
        if let Some(row) = self.catalog.tree(key)? {
            return Ok(row.id);
        }
        self.run(
            "INSERT INTO trees VALUES (COALESCE((SELECT MAX(id) FROM trees), 0) + 1, ?1, x'', 0, 0)",
            [key],
        )?;
        Ok(TreeId(self.catalog.conn.last_insert_rowid()))
    }

    /// Forgets a work tree that is gone. Returns the documents that it alone may have seen.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn drop_tree(&self, tree: TreeId) -> Result<Vec<DocId>, CatalogError> {
        let docs = self.catalog.check(|| {
            let mut statement =
                self.catalog.conn.prepare("SELECT doc FROM overlay WHERE tree = ?1 AND doc IS NOT NULL")?;
            statement.query_map([tree.0], |row| row.get(0).map(DocId))?.collect()
        })?;
        for table in ["overlay", "stats", "pending"] {
            self.run(&format!("DELETE FROM {table} WHERE tree = ?1"), [tree.0])?;
        }
        self.run("DELETE FROM trees WHERE id = ?1", [tree.0])?;
        Ok(docs)
    }

    /// Stamps a work tree: how many files differ from main and a hash of the differences, with the time in
    /// milliseconds since 1970. The files that could not be taken in replace those of before.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn stamp(
        &self,
        tree: TreeId,
        now_ms: i64,
        pending: &[(VaultPath, String)],
    ) -> Result<(), CatalogError> {
        let (changed, digest) = self.differences(tree)?;
        self.run(
            "UPDATE trees SET digest = ?2, changed = ?3, scanned = ?4 WHERE id = ?1",
            params![tree.0, digest, changed, now_ms],
        )?;
        self.run("DELETE FROM pending WHERE tree = ?1", [tree.0])?;
        for (path, why) in pending {
            self.run(
                "INSERT OR REPLACE INTO pending VALUES (?1, ?2, ?3)",
                params![tree.0, path.as_str(), why],
            )?;
        }
        Ok(())
    }

    fn differences(&self, tree: TreeId) -> Result<(u64, Vec<u8>), CatalogError> {
        self.catalog.check(|| {
            let mut statement = self.catalog.conn.prepare_cached(
                "SELECT o.path, d.oid FROM overlay o LEFT JOIN docs d ON d.id = o.doc WHERE o.tree = ?1 ORDER BY o.path",
            )?;
            let mut rows = statement.query([tree.0])?;
            let (mut count, mut sum) = (0, Sha256::new());
            while let Some(row) = rows.next()? {
                let path: String = row.get(0)?;
                let oid: Option<[u8; 20]> = row.get(1)?;
                sum.update(path.as_bytes());
                sum.update([0]);
                sum.update(oid.unwrap_or_default());
                count += 1;
            }
            Ok((count, sum.finalize().to_vec()))
        })
    }

    /// Commits everything together with the state that it makes.
    ///
    /// # Errors
    /// When the catalog cannot be written; it is as it was before then.
    pub fn commit(mut self, state: &State) -> Result<(), CatalogError> {
        let state = State { writes: self.catalog.state()?.writes + 1, ..state.clone() };
        self.catalog.put_state(&state)?;
        self.catalog.check(|| self.catalog.conn.execute_batch("COMMIT"))?;
        self.done = true;
        Ok(())
    }
}
