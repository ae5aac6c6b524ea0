//! What libgit2 must not open: it waits for a named pipe, as git itself does, wherever one stands in the place of a file
//! that it reads. So those places are looked at first.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{GitError, Repo, index_error, other};
use crate::model::path::VaultPath;
use crate::store::git_place;
use crate::store::plain;

/// What git reads of its own directory to open a repository.
const OWN: [&str; 3] = ["HEAD", "index", "commondir"];

/// What it reads of the directory that all work trees share.
const COMMON: [&str; 5] = ["config", "packed-refs", "shallow", "objects/info/alternates", "HEAD"];

/// What it reads there of files to leave out, and of attributes.
const RULES: [&str; 2] = ["info/exclude", "info/attributes"];

/// The settings that name another such file.
const NAMED: [&str; 2] = ["core.excludesFile", "core.attributesFile"];

/// The files of a directory of the work tree that say how git takes the others.
const IN_DIRECTORIES: [&str; 2] = [".gitignore", ".gitattributes"];

fn plain_or_refused(at: PathBuf) -> Result<(), GitError> {
    match plain::special_at(&at) {
        Some(what) => Err(GitError::Special { path: at, what }),
        None => Ok(()),
    }
}

/// That a repository at or above a directory can be opened without waiting for something.
///
/// # Errors
/// [`GitError::Special`].
pub(super) fn opens(from: &Path) -> Result<(), GitError> {
    for level in [git2::Config::find_global(), git2::Config::find_xdg(), git2::Config::find_system()] {
        level.map_or(Ok(()), plain_or_refused)?;
    }
    let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
    for above in from.ancestors() {
        plain_or_refused(above.join(".git"))?;
        let bare = || above.join("objects").is_dir() && above.join("refs").is_dir();
        let (own, common) = match (git_place::git_dir(above), git_place::common_dir(above)) {
            (Some(own), Some(common)) => (own, common),
            _ if bare() => (above.to_owned(), above.to_owned()),
            _ => continue,
        };
        OWN.iter().try_for_each(|name| plain_or_refused(own.join(name)))?;
        COMMON.iter().try_for_each(|name| plain_or_refused(common.join(name)))?;
        let head = plain::read_small(own.join("HEAD"), 1 << 12).unwrap_or_default();
        return head.strip_prefix("ref:").map_or(Ok(()), |name| plain_or_refused(common.join(name.trim())));
    }
    Ok(())
}

impl Repo {
    /// That git's rules of what is left out, and how files are taken, can be read for some paths and what stands below
    /// them; none of them means the whole work tree.
    ///
    /// # Errors
    /// [`GitError::Special`].
    pub(super) fn rules_open(&self, below: &[VaultPath]) -> Result<(), GitError> {
        self.shared_rules_open()?;
        let Some(root) = self.work_dir() else { return Ok(()) };
        let whole = below.is_empty() || below.iter().any(VaultPath::is_root);
        if whole {
            return all_open(root);
        }
        // Many files share their directories.
        let above: HashSet<VaultPath> = below.iter().flat_map(VaultPath::ancestors).collect();
        above.iter().try_for_each(|above| directory_opens(&root.join(above.as_str())))?;
        for path in below {
            let at = root.join(path.as_str());
            if at.symlink_metadata().is_ok_and(|data| data.is_dir()) {
                all_open(&at)?;
            }
        }
        Ok(())
    }

    /// Those of some paths, of files that may not be there yet, which git's rules leave out. What git has in its index is
    /// left out by none.
    ///
    /// # Errors
    /// When something of git's cannot be read; [`GitError::Special`].
    pub fn ignored(&self, paths: &[VaultPath]) -> Result<Vec<VaultPath>, GitError> {
        let mut out = Vec::new();
        let Some(root) = self.work_dir() else { return Ok(out) };
        self.shared_rules_open()?;
        let above: HashSet<VaultPath> = paths.iter().flat_map(VaultPath::ancestors).collect();
        above.iter().try_for_each(|above| directory_opens(&root.join(above.as_str())))?;
        let index = self.inner.index().map_err(index_error(self.git_dir(), "reading the index"))?;
        for path in paths {
            let at = Path::new(path.as_str());
            let ignored = self.inner.is_path_ignored(at).map_err(other("reading .gitignore"))?;
            if ignored && index.get_path(at, 0).is_none() {
                out.push(path.clone());
            }
        }
        Ok(out)
    }

    fn shared_rules_open(&self) -> Result<(), GitError> {
        RULES.iter().try_for_each(|name| plain_or_refused(self.common_dir().join(name)))?;
        let config = self.inner.config().map_err(other("reading git's configuration"))?;
        NAMED.iter().filter_map(|key| config.get_path(key).ok()).try_for_each(plain_or_refused)
    }
}

/// That what decides how one file is taken can be read.
///
/// # Errors
/// [`GitError::Special`].
pub(super) fn attributes_open(root: &Path, path: &VaultPath) -> Result<(), GitError> {
    path.ancestors().try_for_each(|above| plain_or_refused(root.join(above.as_str()).join(".gitattributes")))
}

fn directory_opens(directory: &Path) -> Result<(), GitError> {
    IN_DIRECTORIES.iter().try_for_each(|name| plain_or_refused(directory.join(name)))
}

/// Looks into every directory from one on; what cannot be listed is git's to complain of.
fn all_open(from: &Path) -> Result<(), GitError> {
    let entries = walkdir::WalkDir::new(from).into_iter().filter_entry(|entry| entry.file_name() != ".git");
    for entry in entries.flatten() {
        // What kind it is comes with the name: nothing is asked about the many that are none of these.
        let ours = IN_DIRECTORIES.iter().any(|name| entry.file_name() == *name);
        if ours && !entry.file_type().is_file() {
            plain_or_refused(entry.into_path())?;
        }
    }
    Ok(())
}
