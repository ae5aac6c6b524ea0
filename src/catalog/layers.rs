//! What is known of each directory's layers, kept so that only what changed is made again.
//!
//! A database of its own: it is filled when somebody asks for layers, whatever the state of the index, and losing it
//! costs time only. So nothing here is an error: what cannot be read is not known, what cannot be kept is made again.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _};

/// The name of the database's file.
pub const LAYERS_FILE: &str = "layers.db";

/// What is kept of directories, by their paths: one record each, the last one.
#[derive(Debug)]
pub struct LayerCache(Connection);

impl LayerCache {
    /// Opens the one in a directory, which is made if it is missing; one that is damaged is thrown away. `None` where
    /// nothing can be kept.
    #[must_use]
    pub fn open(dir: &Path) -> Option<LayerCache> {
        std::fs::create_dir_all(dir).ok()?;
        let path = dir.join(LAYERS_FILE);
        open(&path)
            .or_else(|_| {
                let _ = std::fs::remove_file(&path);
                open(&path)
            })
            .ok()
    }

    /// The record of a directory that was kept under this key.
    #[must_use]
    pub fn get(&self, directory: &str, settings: &str) -> Option<Vec<u8>> {
        let sql = "SELECT data FROM directories WHERE path=?1 AND settings=?2";
        let mut statement = self.0.prepare_cached(sql).ok()?;
        statement.query_row((directory, settings), |row| row.get(0)).optional().ok()?
    }

    /// Keeps records of directories.
    pub fn put(&self, records: &[(String, Vec<u8>)], settings: &str) {
        let keep = || -> rusqlite::Result<()> {
            let transaction = self.0.unchecked_transaction()?;
            for (path, data) in records {
                let sql = "INSERT OR REPLACE INTO directories VALUES (?1, ?2, ?3)";
                transaction.prepare_cached(sql)?.execute((path, settings, data))?;
            }
            transaction.commit()
        };
        // What is not kept is made again.
        let _ = keep();
    }
}

fn open(path: &Path) -> rusqlite::Result<LayerCache> {
    let conn = Connection::open(path)?;
    conn.busy_timeout(std::time::Duration::from_secs(1))?;
    conn.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;
         CREATE TABLE IF NOT EXISTS directories (path TEXT PRIMARY KEY, settings TEXT NOT NULL, data BLOB NOT NULL)
           WITHOUT ROWID;",
    )?;
    Ok(LayerCache(conn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_per_settings_and_damage_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let cache = LayerCache::open(dir.path()).unwrap();
        cache.put(&[("a".to_owned(), b"1".to_vec())], "s");
        assert_eq!(cache.get("a", "s").as_deref(), Some(b"1".as_slice()));
        assert_eq!(cache.get("a", "other"), None);
        drop(cache);
        std::fs::write(
            dir.path().join(LAYERS_FILE),
            "no database, but long enough to be looked at".repeat(9),
        )
        .unwrap();
        assert_eq!(LayerCache::open(dir.path()).unwrap().get("a", "s"), None);
    }
}
