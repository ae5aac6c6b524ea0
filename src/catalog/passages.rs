//! Which texts of which documents are embedded, and which a model could not take.

use rusqlite::params;

use super::{Catalog, CatalogError, DocId, Writer};
use crate::model::id::TextKey;

/// The texts of a document.
#[derive(Debug, Clone, Copy)]
pub struct Passages<'r> {
    /// The document.
    pub doc: DocId,
    /// The generation in which it came.
    pub born: u64,
    keys: &'r [u8],
}

impl Passages<'_> {
    /// The names of the texts, one a chunk.
    pub fn keys(&self) -> impl Iterator<Item = TextKey> {
        self.keys.chunks_exact(16).map(|bytes| {
            let mut key = [0; 16];
            key.copy_from_slice(bytes);
            TextKey(key)
        })
    }
}

impl Catalog {
    /// Calls `each` with the texts of every document of whichever view, in the order of the documents' numbers.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn each_passages(&self, mut each: impl FnMut(Passages<'_>)) -> Result<(), CatalogError> {
        self.check(|| {
            let mut statement =
                self.conn.prepare_cached("SELECT doc, born, keys FROM passages ORDER BY doc")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let keys = row.get_ref(2)?.as_blob().map_err(|e| {
                    rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Blob, Box::new(e))
                })?;
                each(Passages { doc: DocId(row.get(0)?), born: row.get(1)?, keys });
            }
            Ok(())
        })
    }

    /// Calls `each` with every document that has texts: its number, the time that it is about, and its path.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn each_place(&self, mut each: impl FnMut(DocId, Option<i64>, &str)) -> Result<(), CatalogError> {
        self.check(|| {
            let mut statement = self
                .conn
                .prepare_cached("SELECT d.id, d.date, d.path FROM docs d WHERE d.kind < 2 ORDER BY d.id")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let path = row.get_ref(2)?.as_str().map_err(|e| {
                    rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, Box::new(e))
                })?;
                each(DocId(row.get(0)?), row.get(1)?, path);
            }
            Ok(())
        })
    }

    /// The names of the texts of one document, one a chunk.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn passages_of(&self, doc: DocId) -> Result<Vec<TextKey>, CatalogError> {
        let keys: Vec<u8> = self.check(|| {
            let mut statement = self.conn.prepare_cached("SELECT keys FROM passages WHERE doc = ?1")?;
            let mut rows = statement.query([doc.0])?;
            Ok(match rows.next()? {
                Some(row) => row.get(0)?,
                None => Vec::new(),
            })
        })?;
        Ok(Passages { doc, born: 0, keys: &keys }.keys().collect())
    }

    /// The texts that a model (by its fingerprint) could not take, and why.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn unembedded(&self, model: &str) -> Result<Vec<(TextKey, String)>, CatalogError> {
        self.check(|| {
            let mut statement =
                self.conn.prepare_cached("SELECT key, why FROM unembedded WHERE model = ?1 ORDER BY key")?;
            statement.query_map([model], |row| Ok((TextKey(row.get(0)?), row.get(1)?)))?.collect()
        })
    }
}

impl Writer<'_> {
    /// Puts down that a model could not take a text, and why.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn put_unembedded(&self, model: &str, key: TextKey, why: &str) -> Result<(), CatalogError> {
        self.run("INSERT OR REPLACE INTO unembedded VALUES (?1, ?2, ?3)", params![key.0, model, why])?;
        Ok(())
    }

    /// Forgets what models could not take: it is tried again.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub fn forget_unembedded(&self) -> Result<(), CatalogError> {
        self.run("DELETE FROM unembedded", [])?;
        Ok(())
    }

    /// Commits what changes nothing of what the catalog is a picture of.
    ///
    /// # Errors
    /// When the catalog cannot be written; it is as it was before then.
    pub fn commit_aside(mut self) -> Result<(), CatalogError> {
        self.catalog.check(|| self.catalog.conn.execute_batch("COMMIT"))?;
        self.done = true;
        Ok(())
    }
}
