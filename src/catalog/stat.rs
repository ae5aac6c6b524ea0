//! What the file system said about files when they were last read, packed a directory to a row: a hundred thousand
//! rows of their own would take longer to load than the files to stat.

use std::collections::HashMap;

use rusqlite::{OptionalExtension as _, params};

use super::{Catalog, CatalogError, TreeId};
use crate::model::id::Oid;
use crate::model::path::VaultPath;

/// What the file system says of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatRow {
    /// Its size in bytes.
    pub size: u64,
    /// When its content last changed, in nanoseconds since 1970; 0 where that could not be trusted.
    pub mtime_ns: i64,
    /// When its entry last changed, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// Its number on the file system.
    pub inode: u64,
}

/// The files of a work tree as they were last read, by directory and name.
#[derive(Debug, Default)]
pub struct Known {
    dirs: HashMap<String, Vec<u8>>,
}

const FIXED: usize = 2 + 4 * 8;

impl Known {
    /// The files of a directory (path without trailing slash), in the order of their names. A damaged row gives
    /// what can be read: the rest counts as unknown and is read anew.
    pub fn files(&self, dir: &str) -> impl Iterator<Item = (&str, StatRow)> {
        let mut rest = self.dirs.get(dir).map_or(&[][..], Vec::as_slice);
        std::iter::from_fn(move || {
            let (head, tail) = rest.split_at_checked(FIXED)?;
            let length = usize::from(u16::from_le_bytes([head[0], head[1]]));
            let (name, next) = tail.split_at_checked(length)?;
            let number = |at: usize| head[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
            rest = next;
            let row = StatRow {
                size: number(2),
                mtime_ns: number(10).cast_signed(),
                ctime_ns: number(18).cast_signed(),
                inode: number(26),
            };
            Some((std::str::from_utf8(name).unwrap_or_default(), row))
        })
    }

    /// The directories.
    pub fn dirs(&self) -> impl Iterator<Item = &str> {
        self.dirs.keys().map(String::as_str)
    }
}

fn pack(files: &[(&str, StatRow)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(files.iter().map(|(name, _)| name.len() + FIXED).sum());
    for (name, row) in files {
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        for number in [row.size, row.mtime_ns.cast_unsigned(), row.ctime_ns.cast_unsigned(), row.inode] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&name.as_bytes()[..usize::from(length)]);
    }
    out
}

impl Catalog {
    /// The files of a work tree as they were last read.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn known(&self, tree: TreeId) -> Result<Known, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare("SELECT dir, entries FROM stats WHERE tree = ?1")?;
            let rows = statement.query_map([tree.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Known { dirs: rows.collect::<rusqlite::Result<_>>()? })
        })
    }

    /// The same for a part of the work tree: the directories of these paths, and those at and below them.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn known_around<'a>(
        &self,
        tree: TreeId,
        paths: impl Iterator<Item = &'a str>,
    ) -> Result<Known, CatalogError> {
        let mut dirs = HashMap::new();
        self.check(|| {
            let mut one =
                self.conn.prepare_cached("SELECT entries FROM stats WHERE tree = ?1 AND dir = ?2")?;
            // `0` follows `/`, so this is all that begins with the path and a `/`.
            let mut below = self.conn.prepare_cached(
                "SELECT dir, entries FROM stats WHERE tree = ?1 AND dir > ?2 || '/' AND dir < ?2 || '0'",
            )?;
            for path in paths {
                for dir in [path, path.rsplit_once('/').map_or("", |(dir, _)| dir)] {
                    if !dirs.contains_key(dir)
                        && let Some(entries) =
                            one.query_row(params![tree.0, dir], |row| row.get(0)).optional()?
                    {
                        dirs.insert(dir.to_owned(), entries);
                    }
                }
                let mut rows = below.query(params![tree.0, path])?;
                while let Some(row) = rows.next()? {
                    dirs.insert(row.get(0)?, row.get(1)?);
                }
            }
            Ok(())
        })?;
        Ok(Known { dirs })
    }

    /// The directories of a work tree in which files were read.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn known_dirs(&self, tree: TreeId) -> Result<Vec<VaultPath>, CatalogError> {
        self.check(|| {
            let mut statement = self.conn.prepare("SELECT dir FROM stats WHERE tree = ?1")?;
            let rows = statement.query_map([tree.0], |row| row.get::<_, String>(0))?;
            rows.filter_map(|dir| dir.map(|dir| VaultPath::from_disk(dir.as_bytes())).transpose()).collect()
        })
    }

    /// The paths that main has and a work tree has not.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn absent_paths(&self, tree: TreeId) -> Result<Vec<VaultPath>, CatalogError> {
        self.check(|| {
            let mut statement =
                self.conn.prepare_cached("SELECT path FROM overlay WHERE tree = ?1 AND doc IS NULL")?;
            let rows = statement.query_map([tree.0], |row| row.get::<_, String>(0))?;
            rows.filter_map(|path| path.map(|path| VaultPath::from_disk(path.as_bytes())).transpose())
                .collect()
        })
    }

    /// The blob that a work tree has at a path.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn tree_oid(&self, tree: TreeId, path: &VaultPath) -> Result<Option<Oid>, CatalogError> {
        self.check(|| {
            let mut own = self.conn.prepare_cached(
                "SELECT d.oid FROM overlay o LEFT JOIN docs d ON d.id = o.doc WHERE o.tree = ?1 AND o.path = ?2",
            )?;
            let row = own.query_row(params![tree.0, path.as_str()], |row| row.get::<_, Option<[u8; 20]>>(0));
            match row.optional()? {
                Some(oid) => Ok(oid.map(Oid)),
                None => {
                    let mut main =
                        self.conn.prepare_cached("SELECT oid FROM docs WHERE path = ?1 AND main = 1")?;
                    main.query_row([path.as_str()], |row| row.get(0).map(Oid)).optional()
                }
            }
        })
    }

    /// Puts down what the file system says of all files of a directory; none means that it is gone.
    ///
    /// # Errors
    /// When the catalog cannot be written.
    pub(super) fn put_known(
        &self,
        tree: TreeId,
        dir: &str,
        files: &[(&str, StatRow)],
    ) -> Result<(), CatalogError> {
        self.check(|| {
            if files.is_empty() {
                let mut statement =
                    self.conn.prepare_cached("DELETE FROM stats WHERE tree = ?1 AND dir = ?2")?;
                statement.execute(params![tree.0, dir])
            } else {
                let mut statement =
                    self.conn.prepare_cached("INSERT OR REPLACE INTO stats VALUES (?1, ?2, ?3)")?;
                statement.execute(params![tree.0, dir, pack(files)])
            }
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rows_come_back() {
        let row = |n: u64| StatRow { size: n, mtime_ns: -3, ctime_ns: 7, inode: u64::MAX - n };
        let packed = pack(&[("a.md", row(1)), ("日记.md", row(2))]);
        let known = Known { dirs: HashMap::from([("x".to_owned(), packed.clone())]) };
        let back: Vec<_> = known.files("x").collect();
        assert_eq!(back, [("a.md", row(1)), ("日记.md", row(2))]);
        let cut = Known { dirs: HashMap::from([("x".to_owned(), packed[..packed.len() - 1].to_vec())]) };
        assert_eq!(cut.files("x").count(), 1);
        assert_eq!(known.files("y").count(), 0);
    }
}
