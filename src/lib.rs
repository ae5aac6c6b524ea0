//! Runebook: the long-term memory of people and AI agents, kept as linked Markdown in git.
//!
//! # The map
//! Each layer uses only what stands above it. Modules of one rank do not know each other.
//!
//! | rank | module | what it holds |
//! | --- | --- | --- |
//! | 1 | [`model`] | the nouns: URIs, memories, actors, policies, proposals, events, findings, changes |
//! | 2 | [`markdown`] | reading Markdown: front matter, headings, links, chunks |
//! | 3 | [`store`] | the vault on disk, and git |
//! | 3 | [`catalog`] | what is derived, in SQLite |
//! | 3 | [`index`] | text search, and the vectors of texts |
//! | 3 | [`layers`] | the short (L0) and the longer (L1) summary of files and directories |
//! | 3 | [`check`] | one file a check, one runner |
//! | 4 | [`flow`] | everything that changes something or brings the others together |
//! | 5 | [`watch`] | watching the files, so that the index follows them |
//! | 6 | [`cli`] | the command line: parses, prints |
//!
//! # Invariants
//! - Files and git are the truth: all that stands under `<gitdir>/runebook/` can be thrown away and rebuilt.
//! - Only [`flow`] changes anything, and every change is a [`model::change::ChangeSet`].
//! - Every read goes through a [`model::access::Access`].
//! - Nothing prints outside [`cli`].
//! - No clock, source of chance or environment is read outside [`model::clock`] and the program's `main`.
//! - A type of git2, tantivy, rusqlite, notify or fastembed never leaves its module.

pub mod catalog;
pub mod check;
pub mod cli;
pub mod flow;
pub mod index;
pub mod layers;
pub mod markdown;
pub mod model;
pub mod store;
pub mod watch;
