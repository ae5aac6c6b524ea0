//! The vault on disk and in git.

pub mod files;
pub mod git;
mod git_place;
mod ignored;
pub mod journal;
pub mod lock;
pub mod operations;
pub mod plain;
pub mod selection;
mod symlink;
pub mod walk;
pub mod writable;
