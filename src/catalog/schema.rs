//! The tables.

/// The schema's number. Another one in a database means that it is thrown away and rebuilt.
pub(super) const VERSION: i64 = 2;

/// Every table. Times are seconds since 1970, sizes bytes, object names 20 bytes.
///
/// - `docs`: a path with a blob; `main` is 1 where the approved tree has it. `date` is the day the memory is
///   about, for ranking and filters. Lists are JSON.
/// - `aliases`, `links`: of a document; `key` is what a name is looked up by.
/// - `trees`: the work trees that were seen; `overlay`: what differs in them from main (`doc` NULL: not there).
/// - `stats`: what the file system said when a directory's files were last read, packed (see `stat.rs`).
/// - `passages`: the names of the texts of a document that are embedded, 16 bytes each, and the generation in which the
///   document came. `unembedded`: texts that a model could not take, by name and model, and why.
/// - `pending`: files of a work tree that could not be taken in, and why.
pub(super) const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE docs (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, oid BLOB NOT NULL, main INTEGER NOT NULL, kind INTEGER NOT NULL,
  size INTEGER NOT NULL, name_key TEXT NOT NULL, title TEXT NOT NULL, uid TEXT, type TEXT, status TEXT,
  sensitivity INTEGER NOT NULL, date INTEGER, summary TEXT, subject TEXT, importance REAL, confidence REAL,
  front TEXT, tags TEXT NOT NULL, headings TEXT NOT NULL, blocks TEXT NOT NULL, chunks TEXT NOT NULL,
  tokens INTEGER NOT NULL, problems TEXT
);
CREATE TABLE aliases (key TEXT NOT NULL, doc INTEGER NOT NULL, alias TEXT NOT NULL, PRIMARY KEY (key, doc, alias))
  WITHOUT ROWID;
CREATE TABLE links (
  doc INTEGER NOT NULL, ord INTEGER NOT NULL, form INTEGER NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL,
  fragment TEXT, text TEXT, embed INTEGER NOT NULL, relation TEXT, line INTEGER NOT NULL, start INTEGER NOT NULL,
  stop INTEGER NOT NULL, PRIMARY KEY (doc, ord)
) WITHOUT ROWID;
CREATE TABLE trees (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, digest BLOB NOT NULL, changed INTEGER NOT NULL,
  scanned INTEGER NOT NULL
);
CREATE TABLE overlay (tree INTEGER NOT NULL, path TEXT NOT NULL, doc INTEGER, PRIMARY KEY (tree, path))
  WITHOUT ROWID;
CREATE TABLE stats (tree INTEGER NOT NULL, dir TEXT NOT NULL, entries BLOB NOT NULL, UNIQUE (tree, dir));
CREATE TABLE passages (doc INTEGER PRIMARY KEY, born INTEGER NOT NULL, keys BLOB NOT NULL);
CREATE TABLE unembedded (key BLOB NOT NULL, model TEXT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (key, model))
  WITHOUT ROWID;
CREATE TABLE pending (tree INTEGER NOT NULL, path TEXT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (tree, path))
  WITHOUT ROWID;
";

/// The indexes: made after the first filling, which is faster than during it.
pub(super) const INDEXES: &str = "
CREATE UNIQUE INDEX docs_path ON docs (path, oid);
CREATE INDEX docs_name ON docs (name_key);
CREATE INDEX docs_uid ON docs (uid) WHERE uid IS NOT NULL;
CREATE INDEX docs_side ON docs (id) WHERE main = 0;
CREATE INDEX docs_problems ON docs (id) WHERE problems IS NOT NULL;
CREATE INDEX aliases_doc ON aliases (doc);
CREATE INDEX links_key ON links (key);
CREATE INDEX overlay_doc ON overlay (doc);
";
