//! What stands in a work tree and stops libgit2's look at all of it: a file that may not be read, a directory that lies too
//! deep. Here they are found, and the look goes around them, so that one of them does not hide the rest.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{GitError, Repo, index_error};
use crate::model::change::mode;
use crate::model::path::VaultPath;
use crate::store::plain;

/// How many directories libgit2 follows into each other, the work tree's root among them.
const MOST_LEVELS: usize = 100;

/// ELOOP, for which the standard library has no stable name yet.
const LINKS_IN_A_RING: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 40 } else { 62 };

/// Why something of the work tree cannot be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// The system refuses, in its words.
    Refused(String),
    /// The system cannot reach it now, in its words: a mount that died, a disk that fails.
    Away(String),
    /// It is a directory below too many others.
    TooDeep,
    /// Git keeps its name for itself.
    Reserved,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unseen::Refused(why) => write!(f, "it cannot be read: {why}"),
            Unseen::Away(why) => write!(f, "it cannot be reached: {why}"),
            Unseen::TooDeep => {
                write!(f, "it lies {MOST_LEVELS} directories deep, and none deeper is looked into")
            }
            Unseen::Reserved => f.write_str("git keeps this name for itself, and no commit can hold it"),
        }
    }
}

impl Unseen {
    /// Why a file cannot be read, if that is because the system refuses.
    #[must_use]
    pub fn of(root: &Path, path: &VaultPath) -> Option<Unseen> {
        refused(&root.join(path.as_str()))
    }

    /// Whether a file of that path would lie in a directory into which nothing looks.
    #[must_use]
    pub fn is_too_deep(path: &VaultPath) -> bool {
        path.as_str().split('/').count() > MOST_LEVELS
    }

    /// The same with the uppermost directory that cannot be looked at itself, where that is the reason: a mount that died
    /// is one thing, not its thousand files.
    #[must_use]
    pub fn above(root: &Path, path: &VaultPath) -> Option<(VaultPath, Unseen)> {
        let why = Unseen::of(root, path)?;
        let looks = |above: &VaultPath| {
            let at = root.join(above.as_str());
            let Err(why) = at.symlink_metadata() else {
                // What is remembered of a directory may be told when nothing in it is any more.
                let why = Unseen::by(at.read_dir().err()?);
                return why.filter(|why| matches!(why, Unseen::Away(_)));
            };
            Unseen::by(why)
        };
        let directories: Vec<VaultPath> = path.ancestors().filter(|above| !above.is_root()).collect();
        let upmost = directories.iter().rev().find_map(|above| Some((above.clone(), looks(above)?)));
        Some(upmost.unwrap_or_else(|| (path.clone(), why)))
    }

    /// What an error of the system's means for what was looked at: `None` where it says that nothing stands there.
    fn by(why: std::io::Error) -> Option<Unseen> {
        match why.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => None,
            ErrorKind::PermissionDenied => Some(Unseen::Refused(why.to_string())),
            // Links that lead to each other on the way: nothing can stand behind them.
            _ if why.raw_os_error() == Some(LINKS_IN_A_RING) => None,
            _ => Some(Unseen::Away(why.to_string())),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Unseen::Refused(_) => {
                "give yourself the right to read it (`chmod u+rX`), or name it in .gitignore if git does not know it"
            }
            Unseen::Away(_) => {
                "nothing of it is taken for removed: mount it again, or see what `dmesg` says of the disk, then run this again"
            }
            Unseen::TooDeep => "move it up, or name it in .gitignore",
            Unseen::Reserved => "give it another name, or name it in .gitignore",
        }
    }
}

/// What may not be looked at, by its path as git writes it.
pub(super) type Obstacles = BTreeMap<Vec<u8>, Unseen>;

fn refused(at: &Path) -> Option<Unseen> {
    let why = match at.symlink_metadata() {
        Ok(data) if data.is_file() => plain::open(at).err()?,
        Ok(_) => return None,
        Err(why) => why,
    };
    Unseen::by(why)
}

fn on_disk(root: &Path, path: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        Some(root.join(std::ffi::OsStr::from_bytes(path)))
    }
    #[cfg(not(unix))]
    std::str::from_utf8(path).ok().map(|path| root.join(path))
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// A path's beginnings that end with a whole name, the shortest first; itself the last.
fn beginnings(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    ends.chain(std::iter::once(path.len())).map(|end| &path[..end])
}

impl Repo {
    /// git's status of some paths and what stands below them (all, if there are none), and what it goes around, without
    /// what is ignored.
    pub(super) fn seen(
        &self,
        options: fn() -> git2::StatusOptions,
        below: &[VaultPath],
        doing: &str,
    ) -> Result<(Option<git2::Statuses<'_>>, Obstacles), GitError> {
        let whole = below.is_empty() || below.iter().any(VaultPath::is_root);
        let below: BTreeSet<Vec<u8>> =
            below.iter().filter(|_| !whole).map(|path| path.as_str().as_bytes().to_vec()).collect();
        let look = |paths: &mut dyn Iterator<Item = Vec<u8>>| {
            let mut options = options();
            options.disable_pathspec_match(true);
            paths.for_each(|path| {
                options.pathspec(path);
            });
            self.inner.statuses(Some(&mut options))
        };
        let error = match look(&mut below.iter().cloned()) {
            Ok(statuses) => return Ok((Some(statuses), Obstacles::new())),
            Err(error) => error,
        };
        let mut obstacles = self.obstacles(&below)?;
        if obstacles.is_empty() {
            return Err(index_error(self.git_dir(), doing)(error));
        }
        let around = self.around(&below, &obstacles)?;
        // No path at all would mean everything.
        let statuses = (!around.is_empty()).then(|| look(&mut around.into_iter())).transpose();
        let statuses = statuses.map_err(index_error(self.git_dir(), doing))?;
        let index = self.inner.index().map_err(index_error(self.git_dir(), "reading the index"))?;
        obstacles.retain(|path, _| {
            let known =
                index.find_prefix(joined(path, b"")).is_ok() || index.find_prefix(path.clone()).is_ok();
            known
                || !std::str::from_utf8(path)
                    .is_ok_and(|path| self.inner.is_path_ignored(path).unwrap_or(false))
        });
        Ok((statuses, obstacles))
    }

    /// What stops libgit2 at and below some paths.
    fn obstacles(&self, below: &BTreeSet<Vec<u8>>) -> Result<Obstacles, GitError> {
        let mut out = Obstacles::new();
        let Some(root) = self.work_dir() else { return Ok(out) };
        let everything = BTreeSet::from([Vec::new()]);
        for start in if below.is_empty() { &everything } else { below } {
            self.beyond(root, start, &mut out);
        }
        let index = self.inner.index().map_err(index_error(self.git_dir(), "reading the index"))?;
        for entry in index.iter().filter(|entry| entry.mode != mode::LINK) {
            let asked = below.is_empty() || beginnings(&entry.path).any(|path| below.contains(path));
            let known = || beginnings(&entry.path).any(|path| out.contains_key(path));
            if !asked || known() {
                continue;
            }
            if let Some((above, why)) =
                VaultPath::from_disk(&entry.path).and_then(|path| Unseen::above(root, &path))
            {
                out.insert(above.as_str().as_bytes().to_vec(), why);
            } else if let Some(why) = on_disk(root, &entry.path).and_then(|at| refused(&at)) {
                out.insert(entry.path, why);
            }
        }
        Ok(out)
    }

    /// The directories at, above and below a path at which libgit2 ends its descent. No deeper one is looked at.
    fn beyond(&self, root: &Path, start: &[u8], out: &mut Obstacles) {
        let above = if start.is_empty() { 0 } else { beginnings(start).count() };
        if above >= MOST_LEVELS {
            let at = beginnings(start).nth(MOST_LEVELS - 1).unwrap_or(start);
            if on_disk(root, at).is_some_and(|at| at.is_dir()) {
                out.insert(at.to_vec(), Unseen::TooDeep);
            }
            return;
        }
        let Some(from) = on_disk(root, start) else { return };
        let levels = MOST_LEVELS - above;
        let entries = walkdir::WalkDir::new(from).max_depth(levels).into_iter();
        for entry in entries.filter_entry(|entry| entry.file_name() != ".git") {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = error.path().and_then(|at| at.strip_prefix(root).ok()).map(Path::to_owned);
                    let why = error.into_io_error().and_then(Unseen::by);
                    // git goes around a directory without the right to read it by itself.
                    if let (Some(path), Some(why @ Unseen::Away(_))) = (path, why) {
                        out.insert(path.as_os_str().as_encoded_bytes().to_vec(), why);
                    }
                    continue;
                }
            };
            if entry.depth() < levels || !entry.file_type().is_dir() {
                continue;
            }
            let Some(path) = entry.path().strip_prefix(root).ok() else { continue };
            out.insert(path.as_os_str().as_encoded_bytes().to_vec(), Unseen::TooDeep);
        }
    }

    /// The fewest paths that, with all below them, are what was asked for without the obstacles: what stands beside these
    /// in the work tree, the index and the commit.
    fn around(
        &self,
        below: &BTreeSet<Vec<u8>>,
        obstacles: &Obstacles,
    ) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let mut above: HashSet<&[u8]> = HashSet::from([&b""[..]]);
        for path in obstacles.keys() {
            above.extend(beginnings(path).filter(|beginning| beginning.len() < path.len()));
        }
        let mut out = BTreeSet::new();
        let mut beside = |path: &[u8]| {
            let Some(first) = beginnings(path).find(|beginning| !above.contains(beginning)) else { return };
            if obstacles.contains_key(first) {
                return;
            }
            if below.is_empty() || beginnings(first).any(|path| below.contains(path)) {
                out.insert(first.to_vec());
                return;
            }
            let within = joined(first, b"");
            out.extend(below.range(within.clone()..).take_while(|path| path.starts_with(&within)).cloned());
        };
        let index = self.inner.index().map_err(index_error(self.git_dir(), "reading the index"))?;
        index.iter().for_each(|entry| beside(&entry.path));
        let commit = match self.head()? {
            super::Head::Branch(_, commit) => commit,
            super::Head::Detached(commit) => Some(commit),
        };
        let tree = commit.map(|commit| self.tree_of(commit)).transpose()?;
        for directory in &above {
            let at = self.work_dir().and_then(|root| on_disk(root, directory));
            for entry in at.and_then(|at| at.read_dir().ok()).into_iter().flatten().flatten() {
                beside(&joined(directory, entry.file_name().as_encoded_bytes()));
            }
            let (Some(tree), Some(path)) = (tree, VaultPath::from_disk(directory)) else { continue };
            let entry = self.entry_at(tree, &path)?.filter(|entry| entry.mode == mode::TREE);
            for (name, _) in entry.map_or(Ok(Vec::new()), |entry| self.tree(entry.oid))? {
                beside(&joined(directory, &name));
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_there_is_taken_for_gone() {
        let by = |number| Unseen::by(std::io::Error::from_raw_os_error(number));
        if cfg!(target_os = "linux") {
            // ENOENT, ENOTDIR, ELOOP
            assert_eq!([2, 20, 40].map(by), [None, None, None]);
            assert!(matches!(by(13), Some(Unseen::Refused(_))), "EACCES");
            // EIO, ENODEV, ETIMEDOUT, EHOSTDOWN, ESTALE, ENOTCONN
            for number in [5, 19, 110, 112, 116, 107] {
                assert!(matches!(by(number), Some(Unseen::Away(_))), "{number}");
            }
        }
    }
}
