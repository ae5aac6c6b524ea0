//! The vault on disk and in git.

pub mod git;
pub mod journal;
