//! The vault on disk and in git.

pub mod files;
pub mod git;
pub mod journal;
pub mod lock;
pub mod selection;
pub mod walk;
