//! Questions to the catalog.

use rusqlite::{OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::names::VISIBLE;
use super::{Catalog, CatalogError, DocId, FileKind, Side, TreeId};
use crate::model::actor::Sensitivity;
use crate::model::finding::Finding;
use crate::model::id::Oid;
use crate::model::link::{Link, LinkForm};
use crate::model::path::VaultPath;

/// A heading as the catalog keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadingRow {
    /// 1 to 6.
    pub level: u8,
    /// Its words.
    pub text: String,
    /// The line, counted from 1.
    pub line: u32,
}

/// A chunk as the catalog keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRow {
    /// The headings above it, outermost first.
    pub headings: Vec<String>,
    /// Where it begins in the memory's text, in bytes.
    pub start: usize,
    /// Where it ends in the memory's text, in bytes.
    pub end: usize,
    /// The first line, counted from 1.
    pub line: u32,
}

/// One document.
#[derive(Debug, Clone, PartialEq)]
pub struct DocRow {
    /// Its number.
    pub id: DocId,
    /// Where it stands.
    pub path: VaultPath,
    /// Its blob.
    pub oid: Oid,
    /// Whether main has it.
    pub main: bool,
    /// What kind of file it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// Its title.
    pub title: String,
    /// `id` of the front matter.
    pub uid: Option<String>,
    /// `type` of the front matter, where it is one of ours.
    pub memory_type: Option<String>,
    /// `status` of the front matter.
    pub status: Option<String>,
    /// `sensitivity` of the front matter, else normal.
    pub sensitivity: Sensitivity,
    /// The time the memory is about, in seconds since 1970: a field's, else the file name's.
    pub date: Option<i64>,
    /// `summary` of the front matter.
    pub summary: Option<String>,
    /// `subject` of the front matter.
    pub subject: Option<String>,
    /// The whole front matter as JSON.
    pub front: Option<String>,
    /// All tags, each once.
    pub tags: Vec<String>,
    /// The headings in order.
    pub headings: Vec<HeadingRow>,
    /// The ids of blocks.
    pub blocks: Vec<String>,
    /// The chunks in order.
    pub chunks: Vec<ChunkRow>,
    /// Our estimate of its tokens.
    pub tokens: u32,
}

/// What reading a file found wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: VaultPath,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// A link of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLink {
    /// The document that holds it.
    pub from: VaultPath,
    /// Its form.
    pub form: LinkForm,
    /// What it names (see [`crate::model::link::Link::target`]).
    pub target: String,
    /// The fragment without its `#`.
    pub fragment: Option<String>,
    /// Whether it embeds.
    pub embed: bool,
    /// The property whose value it is.
    pub relation: Option<String>,
    /// The line, counted from 1.
    pub line: u32,
}

impl StoredLink {
    /// The document that holds it, and the link as far as it is stored: without its text and its place in bytes.
    #[must_use]
    pub fn into_link(self) -> (VaultPath, Link) {
        let link = Link {
            form: self.form,
            target: self.target,
            fragment: self.fragment,
            text: None,
            embed: self.embed,
            relation: self.relation,
            line: self.line,
            range: 0..0,
        };
        (self.from, link)
    }
}

/// A work tree as the catalog knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeRow {
    /// Its number.
    pub id: TreeId,
    /// How many files differ from main.
    pub changed: u64,
    /// How many files could not be taken in.
    pub pending: u64,
    /// When its files were last taken in, in milliseconds since 1970.
    pub scanned_ms: i64,
}

const COLUMNS: &str =
    "d.id, d.path, d.oid, d.main, d.kind, d.size, d.title, d.uid, d.type, d.status, d.sensitivity,
  d.date, d.summary, d.subject, d.front, d.tags, d.headings, d.blocks, d.chunks, d.tokens";

pub(super) fn path_of(row: &Row<'_>, column: usize) -> rusqlite::Result<VaultPath> {
    let text: String = row.get(column)?;
    Ok(VaultPath::from_disk(text.as_bytes()).unwrap_or_default())
}

fn list<T: for<'de> Deserialize<'de>>(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<T>> {
    let text = row.get_ref(column)?.as_str().map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(e))
    })?;
    serde_json::from_str(text).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(e))
    })
}

pub(super) fn sensitivity_code(sensitivity: Sensitivity) -> i64 {
    match sensitivity {
        Sensitivity::Normal => 0,
        Sensitivity::Personal => 1,
        Sensitivity::Confidential => 2,
        Sensitivity::Restricted => 3,
    }
}

pub(super) fn sensitivity_from(code: i64) -> Sensitivity {
    match code {
        0 => Sensitivity::Normal,
        1 => Sensitivity::Personal,
        2 => Sensitivity::Confidential,
        _ => Sensitivity::Restricted,
    }
}

pub(super) fn form_code(form: LinkForm) -> i64 {
    match form {
        LinkForm::Wiki => 0,
        LinkForm::Markdown => 1,
        LinkForm::Uri => 2,
    }
}

fn form_from(code: i64) -> LinkForm {
    match code {
        0 => LinkForm::Wiki,
        1 => LinkForm::Markdown,
        _ => LinkForm::Uri,
    }
}

fn doc(row: &Row<'_>) -> rusqlite::Result<DocRow> {
    Ok(DocRow {
        id: DocId(row.get(0)?),
        path: path_of(row, 1)?,
        oid: Oid(row.get(2)?),
        main: row.get(3)?,
        kind: FileKind::from_code(row.get(4)?),
        size: row.get(5)?,
        title: row.get(6)?,
        uid: row.get(7)?,
        memory_type: row.get(8)?,
        status: row.get(9)?,
        sensitivity: sensitivity_from(row.get(10)?),
        date: row.get(11)?,
        summary: row.get(12)?,
        subject: row.get(13)?,
        front: row.get(14)?,
        tags: list(row, 15)?,
        headings: list(row, 16)?,
        blocks: list(row, 17)?,
        chunks: list(row, 18)?,
        tokens: row.get(19)?,
    })
}

pub(super) fn link(row: &Row<'_>) -> rusqlite::Result<StoredLink> {
    Ok(StoredLink {
        from: path_of(row, 0)?,
        form: form_from(row.get(1)?),
        target: row.get(2)?,
        fragment: row.get(3)?,
        embed: row.get(4)?,
        relation: row.get(5)?,
        line: row.get(6)?,
    })
}

impl Catalog {
    /// A document by its number.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn doc(&self, id: DocId) -> Result<Option<DocRow>, CatalogError> {
        self.check(|| {
            let sql = format!("SELECT {COLUMNS} FROM docs d WHERE d.id = ?1");
            self.conn.prepare_cached(&sql)?.query_row([id.0], doc).optional()
        })
    }

    /// The document at a path of a view.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn doc_at(&self, side: Side, path: &VaultPath) -> Result<Option<DocRow>, CatalogError> {
        self.check(|| {
            let sql = format!("SELECT {COLUMNS} FROM docs d WHERE d.path = ?2 AND {VISIBLE}");
            self.conn.prepare_cached(&sql)?.query_row(params![side.number(), path.as_str()], doc).optional()
        })
    }

    /// Calls `each` with every document of a view, in the order of the paths.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn each_doc(&self, side: Side, mut each: impl FnMut(DocRow)) -> Result<(), CatalogError> {
        self.check(|| {
            let sql = format!("SELECT {COLUMNS} FROM docs d WHERE {VISIBLE} ORDER BY d.path");
            let mut statement = self.conn.prepare(&sql)?;
            let mut rows = statement.query([side.number()])?;
            while let Some(row) = rows.next()? {
                each(doc(row)?);
            }
            Ok(())
        })
    }

    /// The numbers of the documents that a view does not see.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn hidden(&self, side: Side) -> Result<Vec<u64>, CatalogError> {
        self.check(|| {
            let sql = match side {
                Side::Main => "SELECT id FROM docs WHERE main = 0 AND ?1 = 0",
                Side::Tree(_) | Side::Revision(_) => {
                    "SELECT d.id FROM docs d WHERE d.main = 0
                       AND NOT EXISTS (SELECT 1 FROM overlay o WHERE o.doc = d.id AND o.tree = ?1)
                     UNION ALL
                     SELECT d.id FROM overlay o JOIN docs d ON d.path = o.path AND d.main = 1 WHERE o.tree = ?1"
                }
            };
            let mut statement = self.conn.prepare_cached(sql)?;
            statement.query_map([side.number()], |row| row.get(0))?.collect()
        })
    }

    /// How many documents of each kind a view sees: memories, other text, other files.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn counts(&self, side: Side) -> Result<[u64; 3], CatalogError> {
        self.check(|| {
            let sql = format!("SELECT d.kind, COUNT(*) FROM docs d WHERE {VISIBLE} GROUP BY d.kind");
            let mut statement = self.conn.prepare(&sql)?;
            let mut rows = statement.query([side.number()])?;
            let mut counts = [0; 3];
            while let Some(row) = rows.next()? {
                let kind: usize = row.get(0)?;
                if let Some(count) = counts.get_mut(kind) {
                    *count = row.get(1)?;
                }
            }
            Ok(counts)
        })
    }

    /// What reading the files of a view found wrong, in the order of their paths.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn problems(&self, side: Side) -> Result<Vec<Problem>, CatalogError> {
        self.check(|| {
            let sql = format!(
                "SELECT d.path, d.problems FROM docs d WHERE d.problems IS NOT NULL AND {VISIBLE} ORDER BY d.path"
            );
            let mut statement = self.conn.prepare(&sql)?;
            let rows = statement.query_map([side.number()], |row| {
                Ok(Problem { path: path_of(row, 0)?, findings: list(row, 1)? })
            })?;
            rows.collect()
        })
    }

    /// The files of a view with a problem of one rule, in the order of their paths.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn with_problem(&self, side: Side, rule: &str) -> Result<Vec<VaultPath>, CatalogError> {
        self.check(|| {
            let sql = format!(
                "SELECT d.path FROM docs d
                 WHERE d.problems IS NOT NULL AND instr(d.problems, ?2) > 0 AND {VISIBLE} ORDER BY d.path"
            );
            let mut statement = self.conn.prepare(&sql)?;
            let rows =
                statement.query_map(params![side.number(), format!("\"{rule}\"")], |row| path_of(row, 0))?;
            rows.collect()
        })
    }

    /// The files of a work tree that could not be taken in, and why.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn pending(&self, tree: TreeId) -> Result<Vec<(VaultPath, String)>, CatalogError> {
        self.check(|| {
            let mut statement =
                self.conn.prepare("SELECT path, why FROM pending WHERE tree = ?1 ORDER BY path")?;
            statement.query_map([tree.0], |row| Ok((path_of(row, 0)?, row.get(1)?)))?.collect()
        })
    }

    /// The links of the document at a path of a view, in their order.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn links_of(&self, side: Side, path: &VaultPath) -> Result<Vec<StoredLink>, CatalogError> {
        self.links("d.path = ?2", side, path.as_str())
    }

    /// The links of a view whose last segment, without `.md`, has this [`crate::model::link::name_key`]: the
    /// candidates for the backlinks of a file of that name or alias.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn links_named(&self, side: Side, key: &str) -> Result<Vec<StoredLink>, CatalogError> {
        self.links("l.key = ?2", side, key)
    }

    fn links(&self, condition: &str, side: Side, value: &str) -> Result<Vec<StoredLink>, CatalogError> {
        self.check(|| {
            let sql = format!(
                "SELECT d.path, l.form, l.target, l.fragment, l.embed, l.relation, l.line
                 FROM links l JOIN docs d ON d.id = l.doc WHERE {condition} AND {VISIBLE} ORDER BY d.path, l.ord"
            );
            let mut statement = self.conn.prepare_cached(&sql)?;
            statement.query_map(params![side.number(), value], link)?.collect()
        })
    }

    /// A work tree by its key.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn tree(&self, key: &str) -> Result<Option<TreeRow>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare_cached(
                "SELECT id, changed, (SELECT COUNT(*) FROM pending p WHERE p.tree = t.id), scanned
                 FROM trees t WHERE key = ?1",
            )?;
            let row = statement.query_row([key], |row| {
                Ok(TreeRow {
                    id: TreeId(row.get(0)?),
                    changed: row.get(1)?,
                    pending: row.get(2)?,
                    scanned_ms: row.get(3)?,
                })
            });
            row.optional()
        })
    }

    /// The keys of all work trees, with their numbers.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn trees(&self) -> Result<Vec<(TreeId, String)>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare("SELECT id, key FROM trees ORDER BY id")?;
            statement.query_map([], |row| Ok((TreeId(row.get(0)?), row.get(1)?)))?.collect()
        })
    }

    /// The paths at which a work tree differs from main, in order.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn changed_paths(&self, tree: TreeId) -> Result<Vec<VaultPath>, CatalogError> {
        self.check(|| {
            let mut statement =
                self.conn.prepare_cached("SELECT path FROM overlay WHERE tree = ?1 ORDER BY path")?;
            statement.query_map([tree.0], |row| path_of(row, 0))?.collect()
        })
    }

    /// The blob that main has at a path.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn main_oid(&self, path: &VaultPath) -> Result<Option<Oid>, CatalogError> {
        self.check(|| {
            let mut statement =
                self.conn.prepare_cached("SELECT oid FROM docs WHERE path = ?1 AND main = 1")?;
            statement.query_row([path.as_str()], |row| row.get(0).map(Oid)).optional()
        })
    }

    /// All blobs with which a path is in the catalog, in whichever view.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn oids_at(&self, path: &VaultPath) -> Result<Vec<Oid>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare_cached("SELECT oid FROM docs WHERE path = ?1")?;
            statement.query_map([path.as_str()], |row| row.get(0).map(Oid))?.collect()
        })
    }

    /// The document of a path with a blob, in whichever view.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn doc_of(&self, path: &VaultPath, oid: Oid) -> Result<Option<DocId>, CatalogError> {
        self.check(|| {
            let mut statement =
                self.conn.prepare_cached("SELECT id FROM docs WHERE path = ?1 AND oid = ?2")?;
            statement.query_row(params![path.as_str(), oid.0], |row| row.get(0).map(DocId)).optional()
        })
    }

    /// The sensitivity of a path's content, if the catalog has it in whichever view.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn sensitivity_of(&self, path: &VaultPath, oid: Oid) -> Result<Option<Sensitivity>, CatalogError> {
        self.check(|| {
            let mut statement =
                self.conn.prepare_cached("SELECT sensitivity FROM docs WHERE path = ?1 AND oid = ?2")?;
            let row = statement.query_row(params![path.as_str(), oid.0], |row| row.get(0));
            Ok(row.optional()?.map(sensitivity_from))
        })
    }

    /// The numbers of all documents whose text is searched, in order.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn searched_docs(&self) -> Result<Vec<u64>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare("SELECT id FROM docs WHERE kind < 2 ORDER BY id")?;
            statement.query_map([], |row| row.get(0))?.collect()
        })
    }
}
