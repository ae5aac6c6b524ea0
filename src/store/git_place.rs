//! Where the git directories of a work tree are, found without opening the repository.

use std::path::{Path, PathBuf};

use super::plain;

/// The most bytes that a file with a path in it may have.
const MOST: u64 = 1 << 16;

/// The git directory of the work tree whose root this is: `.git`, or where a file of that name says.
pub(super) fn git_dir(root: &Path) -> Option<PathBuf> {
    let at = root.join(".git");
    if at.is_dir() {
        return Some(at);
    }
    let text = plain::read_small(&at, MOST).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The git directory that all its work trees share.
pub(super) fn common_dir(root: &Path) -> Option<PathBuf> {
    let own = git_dir(root)?;
    match plain::read_small(own.join("commondir"), MOST) {
        Ok(text) => Some(own.join(text.trim())),
        Err(_) => Some(own),
    }
}
