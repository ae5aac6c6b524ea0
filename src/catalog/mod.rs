//! The catalog: what is derived from the vault, in SQLite. The only place that names rusqlite.
//!
//! One row a *document*: a path together with a blob. A document is seen by main, by work trees, or by both: main
//! sees those whose `main` is 1, a work tree sees main's with its own `overlay` over it (a path leads to another
//! document, or to none). So the views share all they have in common, and what a view costs is what differs.
//!
//! Everything here can be thrown away and rebuilt; a database of another schema or a damaged one is.

mod graph;
mod layers;
mod names;
mod passages;
mod read;
mod revisions;
mod schema;
mod stat;
mod write;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use serde::{Deserialize, Serialize};

use crate::model::fault::{Explain, Kind};
use crate::model::id::Oid;

pub use graph::PathRow;
pub use layers::{LAYERS_FILE, LayerCache};
pub use names::ViewNames;
pub use passages::Passages;
pub use read::{ChunkRow, DocRow, HeadingRow, Problem, StoredLink, TreeRow};
pub use revisions::{Differing, Today, is_revision};
pub use stat::{Known, StatRow};
pub(crate) use write::link_key;
pub use write::{NewDoc, Writer};

/// The name of the database's file.
pub const FILE: &str = "catalog.db";

/// What can go wrong in the catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// There is none yet.
    #[error("there is no catalog at {}", .0.display())]
    Missing(PathBuf),
    /// It cannot be used: another schema, or damage. Thrown away and rebuilt by the sync.
    #[error("the catalog at {} cannot be used: {why}", path.display())]
    Unusable {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The disk is full.
    #[error("the disk is full: {} cannot grow", .0.display())]
    Full(PathBuf),
    /// Nothing can be written where it is.
    #[error("{} cannot be written: {why}", path.display())]
    Unwritable {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Another process holds it for longer than we wait.
    #[error("the catalog at {} is held by another process", .0.display())]
    Busy(PathBuf),
    /// Anything else.
    #[error("using the catalog at {}: {why}", path.display())]
    Other {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Explain for CatalogError {
    fn kind(&self) -> Kind {
        match self {
            CatalogError::Busy(_) => Kind::Conflict,
            _ => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            CatalogError::Missing(_) => "run `runebook reindex`".to_owned(),
            CatalogError::Unusable { .. } | CatalogError::Other { .. } => {
                "run `runebook reindex --full`; the catalog holds nothing that cannot be rebuilt".to_owned()
            }
            CatalogError::Full(_) => "make room, then run `runebook reindex`; nothing was lost".to_owned(),
            CatalogError::Unwritable { .. } => {
                "give yourself the right to write there, then run `runebook reindex`; what is there is read"
                    .to_owned()
            }
            CatalogError::Busy(_) => "wait for the other command to end, then run this again".to_owned(),
        })
    }
}

impl CatalogError {
    /// Whether throwing the catalog away and rebuilding it would help.
    #[must_use]
    pub fn is_unusable(&self) -> bool {
        matches!(self, CatalogError::Missing(_) | CatalogError::Unusable { .. })
    }
}

/// A document's number. Never given twice within one catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u64);

/// A work tree's number within the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub i64);

/// Which state of the vault is read from the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The approved branch.
    Main,
    /// The files of a work tree.
    Tree(TreeId),
    /// An older state, or main with what a proposal changes.
    Revision(TreeId),
}

/// What kind of file a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A Markdown memory.
    Memory,
    /// Other text that is searched: evidence.
    Text,
    /// A file that is known by its name only: an attachment.
    Other,
}

impl FileKind {
    fn code(self) -> i64 {
        match self {
            FileKind::Memory => 0,
            FileKind::Text => 1,
            FileKind::Other => 2,
        }
    }

    fn from_code(code: i64) -> FileKind {
        match code {
            0 => FileKind::Memory,
            1 => FileKind::Text,
            _ => FileKind::Other,
        }
    }
}

/// What the catalog is a picture of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Counts the commits of the index; the text index carries the same number.
    pub generation: u64,
    /// The commit of main, if it had one.
    pub commit: Option<Oid>,
    /// The tree of that commit.
    pub tree: Option<Oid>,
    /// The next document's number.
    pub next_doc: u64,
    /// The settings that the content depends on, as a hash.
    pub settings: String,
    /// The text index's own numbers, as it gave them.
    pub text: String,
    /// Counts the commits of the catalog, so that somebody who waited for the lock knows whether what he saw before
    /// still holds.
    #[serde(default)]
    pub writes: u64,
}

/// An open catalog.
pub struct Catalog {
    conn: Connection,
    path: PathBuf,
}

/// Whether there is a write-ahead log whose content the file itself may not have yet.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(Path::new(&log)).is_ok_and(|meta| meta.len() > 0)
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").field("path", &self.path).finish()
    }
}

impl Catalog {
    /// Opens the catalog in a directory.
    ///
    /// # Errors
    /// When there is none, it has another schema, or it is damaged.
    pub fn open(dir: &Path) -> Result<Catalog, CatalogError> {
        let path = dir.join(FILE);
        if !path.is_file() {
            return Err(CatalogError::Missing(path));
        }
        let catalog = match Catalog::open_to_write(&path) {
            Err(CatalogError::Other { .. } | CatalogError::Unwritable { .. } | CatalogError::Full(_))
                if !has_log(&path) =>
            {
                Catalog::open_to_read(&path)?
            }
            opened => opened?,
        };
        let version: i64 =
            catalog.check(|| catalog.conn.query_row("PRAGMA user_version", [], |row| row.get(0)))?;
        if version != schema::VERSION {
            let why = format!("it has schema {version}, this program uses {}", schema::VERSION);
            return Err(CatalogError::Unusable { path: catalog.path, why });
        }
        catalog.state()?;
        Ok(catalog)
    }

    fn open_to_write(path: &Path) -> Result<Catalog, CatalogError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(|e| wrap(path, &e))?;
        let catalog = Catalog { conn, path: path.to_owned() };
        catalog.check(|| {
            plan_once(&catalog.conn)?;
            catalog.conn.busy_timeout(std::time::Duration::from_secs(5))?;
            catalog.conn.execute_batch(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=268435456;
                 PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF;",
            )
        })?;
        Ok(catalog)
    }

    /// Where not even the files can be made by which readers and writers keep apart (a full disk, a file system that
    /// is read-only), nobody can write either, and the file is read as it is.
    fn open_to_read(path: &Path) -> Result<Catalog, CatalogError> {
        let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
            .map_err(|e| wrap(path, &e))?;
        let catalog = Catalog { conn, path: path.to_owned() };
        catalog.check(|| {
            plan_once(&catalog.conn)?;
            catalog.conn.execute_batch("PRAGMA temp_store=MEMORY;")
        })?;
        Ok(catalog)
    }

    /// Makes an empty catalog in a directory that holds none. Until [`Catalog::settle`] it is fast and not safe
    /// against a crash, so build it where nobody looks yet.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(dir: &Path) -> Result<Catalog, CatalogError> {
        let path = dir.join(FILE);
        let conn = Connection::open(&path).map_err(|e| wrap(&path, &e))?;
        let catalog = Catalog { conn, path };
        catalog.check(|| {
            catalog.conn.execute_batch(
                "PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
                 PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;",
            )?;
            catalog.conn.execute_batch(schema::TABLES)
        })?;
        catalog.put_state(&State { next_doc: 1, ..State::default() })?;
        Ok(catalog)
    }

    /// Ends the building of a new catalog: builds what is built faster at the end and makes it durable.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn settle(self) -> Result<(), CatalogError> {
        self.check(|| {
            self.conn.execute_batch(schema::INDEXES)?;
            self.conn.execute_batch("ANALYZE")?;
            self.conn.pragma_update(None, "user_version", schema::VERSION)
        })?;
        let path = self.path.clone();
        self.conn.close().map_err(|(_, e)| wrap(&path, &e))?;
        let synced = std::fs::File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(|e| CatalogError::Other { path, why: e.to_string() })
    }

    /// What the catalog is a picture of.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn state(&self) -> Result<State, CatalogError> {
        let text: Option<String> = self.check(|| {
            self.conn.query_row("SELECT value FROM meta WHERE key='state'", [], |row| row.get(0)).optional()
        })?;
        let unusable = |why: String| CatalogError::Unusable { path: self.path.clone(), why };
        let text = text.ok_or_else(|| unusable("it says nothing about its state".to_owned()))?;
        serde_json::from_str(&text).map_err(|e| unusable(e.to_string()))
    }

    fn put_state(&self, state: &State) -> Result<(), CatalogError> {
        let text = serde_json::to_string(state).map_err(|e| self.other(&e))?;
        self.check(|| self.conn.execute("INSERT OR REPLACE INTO meta VALUES ('state', ?1)", [&text]))?;
        Ok(())
    }

    /// Freezes what this connection sees until [`Catalog::thaw`]: answers that belong together come from one
    /// state.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn freeze(&self) -> Result<State, CatalogError> {
        self.check(|| self.conn.execute_batch("BEGIN"))?;
        self.state()
    }

    /// Ends [`Catalog::freeze`].
    pub fn thaw(&self) {
        // It fails only when nothing is frozen.
        let _ = self.conn.execute_batch("ROLLBACK");
    }

    fn check<T>(&self, run: impl FnOnce() -> rusqlite::Result<T>) -> Result<T, CatalogError> {
        run().map_err(|e| wrap(&self.path, &e))
    }

    fn other(&self, why: &dyn std::fmt::Display) -> CatalogError {
        CatalogError::Other { path: self.path.clone(), why: why.to_string() }
    }
}

/// A statement is planned once and not anew for each value that it is given: a lookup by an index has one good plan, and
/// planning takes many times as long as the lookup.
fn plan_once(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Puts an error of SQLite's into our words.
fn wrap(path: &Path, error: &rusqlite::Error) -> CatalogError {
    use rusqlite::ErrorCode;
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => CatalogError::Full(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => CatalogError::Busy(path),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SchemaChanged) => {
            CatalogError::Unusable { path, why: error.to_string() }
        }
        // A table or column that is missing, a value of another type: the file is not what we wrote.
        None | Some(ErrorCode::Unknown) => CatalogError::Unusable { path, why: error.to_string() },
        Some(_) => match room(&path) {
            Ok(()) => CatalogError::Other { path, why: error.to_string() },
            Err(why) if full(&why) => CatalogError::Full(path),
            Err(why) => CatalogError::Unwritable { path, why: why.to_string() },
        },
    }
}

/// Whether something can be written beside a catalog. SQLite takes a disk without room for its log, and a directory that
/// cannot be written, for a database that may only be read.
fn room(path: &Path) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(&[0; 1 << 16])
}

fn full(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(why.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalog_that_cannot_be_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("a %3f #b?");
        std::fs::create_dir(&odd).unwrap();
        Catalog::create(&odd).unwrap().settle().unwrap();
        let path = odd.join(FILE);
        assert!(!has_log(&path));
        let read = Catalog::open_to_read(&path).unwrap();
        assert_eq!(read.state().unwrap(), Catalog::open(&odd).unwrap().state().unwrap());
        assert!(read.conn.execute_batch("CREATE TABLE x (y)").is_err());
        assert!(!odd.join(format!("{FILE}-shm")).exists());
    }
}
