//! The catalog: what is derived from the vault, in SQLite.
