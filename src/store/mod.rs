//! The vault on disk and in git.

pub mod files;
pub mod git;
pub mod journal;
pub mod lock;
pub mod operations;
pub mod selection;
mod symlink;
pub mod walk;
