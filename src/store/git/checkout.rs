//! A work tree opened for a careful update.
//!
//! libgit2's own checkout is not used on a person's files: with `index.lock` present it fails after it has changed
//! them, and it overwrites ignored ones. It only makes the checked-out form of a file (line ends, filters) in a
//! scratch directory; what is placed, and where, is decided by the caller, file by file.

use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use fs4::fs_std::FileExt;

use super::worktrees::WorkTree;
use super::{GitError, Repo, from_git, other, to_git};
use crate::model::change::{Change, ChangeSet, Entry, mode};
use crate::model::id::Oid;
use crate::model::path::VaultPath;

pub(super) fn io_error(doing: &str, path: &Path, error: &io::Error) -> GitError {
    GitError::Other { doing: format!("{doing} {}", path.display()), why: error.to_string() }
}

/// What git's index says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Staged {
    /// It has no entry.
    Absent,
    /// It has this one.
    Entry(Entry),
    /// It has one that is no plain entry: intent to add, or left out of the work tree.
    Odd,
}

impl Staged {
    /// Whether the index has exactly this.
    #[must_use]
    pub fn is(self, entry: Option<Entry>) -> bool {
        match (self, entry) {
            (Staged::Absent, None) => true,
            (Staged::Entry(a), Some(b)) => a == b,
            _ => false,
        }
    }
}

/// What stands at a path of the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A file or symbolic link, as the entry that git would store for it.
    Entry(Entry),
    /// A directory.
    Directory,
    /// Something on the way to it is no directory: this.
    Blocked(VaultPath),
    /// Something that git does not store: a socket, a device.
    Other,
}

impl Found {
    /// Whether exactly this is found.
    #[must_use]
    pub fn is(&self, entry: Option<Entry>) -> bool {
        match (self, entry) {
            (Found::Absent | Found::Blocked(_), None) => true,
            (Found::Entry(a), Some(b)) => *a == b,
            _ => false,
        }
    }
}

/// A work tree opened for an update: its index as a copy in a scratch directory, and the means to look at files.
pub struct Checkout {
    /// The work tree.
    pub work_tree: WorkTree,
    repo: git2::Repository,
    index: git2::Index,
    scratch: tempfile::TempDir,
    trust_mode: bool,
}

impl std::fmt::Debug for Checkout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkout").field("work_tree", &self.work_tree).finish()
    }
}

/// For how long a scratch directory may be of a run that goes on: none takes as long.
const YOUNG: std::time::Duration = std::time::Duration::from_secs(3600);

/// Where scratch directories of a work tree are made.
fn scratch_home(work_tree: &WorkTree) -> PathBuf {
    work_tree.git_dir.join("runebook").join("scratch")
}

/// A path and what the index is to hold there; `None`: no entry.
type IndexUpdate = (VaultPath, Option<(Entry, Option<Metadata>)>);

impl Checkout {
    /// Opens a work tree. The caller holds its index lock, so that the copy of the index stays true.
    ///
    /// # Errors
    /// When its files are gone, or its index is split, sparse, unmerged or damaged.
    pub fn open(work_tree: &WorkTree) -> Result<Checkout, GitError> {
        let refuse = |why, hint| Err(GitError::Unsupported { path: work_tree.root.clone(), why, hint });
        if !work_tree.root.is_dir() {
            return refuse(
                "the files of this work tree are gone",
                "run `git worktree prune`, or bring them back",
            );
        }
        let repo = git2::Repository::open(&work_tree.root)
            .or_else(|_| git2::Repository::open(&work_tree.git_dir))
            .map_err(other(format!("opening {}", work_tree.root.display())))?;
        let flag = |key: &str| repo.config().and_then(|c| c.get_bool(key));
        if flag("core.sparsecheckout").unwrap_or(false) {
            return refuse("it is a sparse checkout", "run `git sparse-checkout disable` in it");
        }
        let trust_mode = flag("core.filemode").unwrap_or(true);
        let home = scratch_home(work_tree);
        fs::create_dir_all(&home).map_err(|e| io_error("making", &home, &e))?;
        let scratch =
            tempfile::TempDir::new_in(&home).map_err(|e| io_error("making a directory in", &home, &e))?;
        let copy = scratch.path().join("index");
        copy_index(&work_tree.git_dir.join("index"), &copy)?;
        let mut index = match git2::Index::open(&copy) {
            Ok(index) => index,
            Err(error) if error.message().contains("extension") => {
                return refuse(
                    "its index is split or sparse",
                    "run `git update-index --no-split-index` (or `git sparse-checkout disable`) in it",
                );
            }
            Err(error) => {
                return Err(other(format!("reading the index of {}", work_tree.root.display()))(error));
            }
        };
        if index.has_conflicts() {
            return refuse(
                "its index has unmerged files",
                "finish or abort that merge first; `git status` shows it",
            );
        }
        repo.set_index(&mut index).map_err(other("setting the index"))?;
        Ok(Checkout { work_tree: work_tree.clone(), repo, index, scratch, trust_mode })
    }

    /// Removes what killed runs left in the scratch directory. The caller holds the vault's lock, but another machine
    /// that shares the directory may be at work: locks do not reach it, so what is young stays.
    pub fn sweep(work_tree: &WorkTree) {
        let home = scratch_home(work_tree);
        // The time is that of the file system, whose clock may be another machine's.
        let now = tempfile::TempDir::new_in(&home).and_then(|new| new.path().metadata()?.modified());
        let Ok(now) = now else { return };
        for entry in fs::read_dir(&home).into_iter().flatten().flatten() {
            let at = entry.path();
            let age =
                at.symlink_metadata().and_then(|data| data.modified()).map(|was| now.duration_since(was));
            if matches!(age, Ok(Ok(age)) if age >= YOUNG) {
                // What cannot be removed lies in the git directory and harms nobody.
                let _ = fs::remove_dir_all(&at);
            }
        }
        let _ = fs::remove_dir(&home);
    }

    /// What the index has at a path.
    #[must_use]
    pub fn staged(&self, path: &VaultPath) -> Staged {
        const EXTENDED: u16 = 0x4000;
        const INTENT_TO_ADD: u16 = 0x2000;
        const SKIP_WORKTREE: u16 = 0x4000;
        match self.index.get_path(Path::new(path.as_str()), 0) {
            None => Staged::Absent,
            Some(e) if e.flags & EXTENDED != 0 && e.flags_extended & (INTENT_TO_ADD | SKIP_WORKTREE) != 0 => {
                Staged::Odd
            }
            Some(e) => Staged::Entry(Entry { mode: e.mode, oid: from_git(e.id) }),
        }
    }

    /// The file of a path.
    #[must_use]
    pub fn file(&self, path: &VaultPath) -> PathBuf {
        self.work_tree.root.join(path.as_str())
    }

    /// What stands at a path. `likely` are entries that it may be: they are compared by raw bytes first, and only
    /// when none fits does the file go through git's filters.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn found(&self, path: &VaultPath, likely: &[Entry]) -> Result<Found, GitError> {
        for above in path.ancestors().filter(|above| !above.is_root()) {
            match fs::symlink_metadata(self.file(&above)) {
                Ok(meta) if meta.is_dir() => break,
                Ok(_) => return Ok(Found::Blocked(above)),
                Err(_) => {}
            }
        }
        let file = self.file(path);
        let meta = match fs::symlink_metadata(&file) {
            Ok(meta) => meta,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Found::Absent);
            }
            Err(error) => return Err(io_error("looking at", &file, &error)),
        };
        if meta.is_dir() {
            return Ok(Found::Directory);
        }
        if meta.is_symlink() {
            let target = fs::read_link(&file).map_err(|e| io_error("reading", &file, &e))?;
            let oid = Repo::hash_blob(target.as_os_str().as_encoded_bytes());
            return Ok(Found::Entry(Entry { mode: mode::LINK, oid }));
        }
        if !meta.is_file() {
            return Ok(Found::Other);
        }
        let raw = git2::Oid::hash_file(git2::ObjectType::Blob, &file)
            .map_err(other(format!("reading {}", file.display())))?;
        let raw = from_git(raw);
        let oid = if likely.iter().any(|entry| entry.oid == raw) {
            raw
        } else {
            let cleaned = self.repo.blob_path(&file);
            from_git(cleaned.map_err(other(format!("reading {}", file.display())))?)
        };
        Ok(Found::Entry(Entry { mode: self.file_mode(&meta, oid, likely), oid }))
    }

    /// Where the file system does not know what can be executed, the mode is the one that git knows.
    fn file_mode(&self, meta: &Metadata, oid: Oid, likely: &[Entry]) -> u32 {
        if self.trust_mode && cfg!(unix) {
            return if is_executable(meta) { mode::EXECUTABLE } else { mode::FILE };
        }
        likely.iter().find(|entry| entry.oid == oid).map_or(mode::FILE, |entry| entry.mode)
    }

    /// Makes the checked-out forms of some entries in the scratch directory; returns the directory under which each
    /// stands at its path.
    ///
    /// # Errors
    /// When an object is missing, a filter fails or the disk is full.
    pub fn make_forms(&self, store: &Repo, entries: &[(VaultPath, Entry)]) -> Result<PathBuf, GitError> {
        let forms = self.scratch.path().join("files");
        fs::create_dir_all(&forms).map_err(|e| io_error("making", &forms, &e))?;
        if entries.is_empty() {
            return Ok(forms);
        }
        let mut changes = ChangeSet::default();
        let mut options = git2::build::CheckoutBuilder::new();
        options
            .force()
            .recreate_missing(true)
            .update_index(false)
            .target_dir(&forms)
            .disable_pathspec_match(true);
        for (path, entry) in entries {
            changes.changes.insert(path.clone(), Change::Put(*entry));
            options.path(path.as_str());
        }
        let tree = store.write_tree(None, &changes)?;
        let object =
            self.repo.find_object(to_git(tree), None).map_err(other("reading the tree to check out"))?;
        self.repo
            .checkout_tree(&object, Some(&mut options))
            .map_err(other("making the checked-out form of the files"))?;
        for (path, entry) in entries {
            let form = forms.join(path.as_str());
            // libgit2 makes none where HEAD has a directory of that name; git itself does.
            if fs::symlink_metadata(&form).is_err() {
                self.form_by_git(path, *entry, &form)?;
            }
        }
        Ok(forms)
    }

    fn form_by_git(&self, path: &VaultPath, entry: Entry, form: &Path) -> Result<(), GitError> {
        let failed =
            |why: String| GitError::Other { doing: format!("making the checked-out form of {path}"), why };
        if !matches!(entry.mode, mode::FILE | mode::EXECUTABLE) {
            return Err(failed("it is no file".to_owned()));
        }
        let output = std::process::Command::new("git")
            .arg("-C")
            .arg(&self.work_tree.root)
            .args(["cat-file", "--filters", &format!("--path={path}"), &entry.oid.to_string()])
            .output()
            .map_err(|error| failed(format!("running git: {error}")))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let written = fs::create_dir_all(form.parent().unwrap_or(form)).and_then(|()| {
            fs::write(form, &output.stdout)?;
            if entry.mode == mode::EXECUTABLE { make_executable(form) } else { Ok(()) }
        });
        written.map_err(|error| io_error("writing", form, &error))
    }

    /// Occupies as much disk as the new index will need, so that a full disk shows before anything has changed.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn reserve(&self) -> Result<(), GitError> {
        let copy = self.scratch.path().join("index");
        let ballast = self.scratch.path().join("reserve");
        let size = fs::metadata(&copy).map_or(0, |m| m.len());
        let reserve = || -> io::Result<()> {
            let mut file = fs::File::create(&ballast)?;
            match FileExt::allocate(&file, size + 1) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                done => return done,
            }
            let block = vec![0x5A; 1 << 16];
            for _ in 0..=(size >> 16) {
                file.write_all(&block)?;
            }
            Ok(())
        };
        reserve().map_err(|e| io_error("reserving room for the index in", self.scratch.path(), &e))
    }

    /// Puts the new state of some paths into the index and makes it the work tree's. `None`: no entry. With an
    /// entry goes what the file system says of the file that holds it, if one does.
    ///
    /// # Errors
    /// When it cannot be written; the work tree's index is the old one then.
    pub fn write_index(&mut self, updates: &[IndexUpdate]) -> Result<(), GitError> {
        let doing = || other("changing the index");
        for (path, update) in updates {
            match update {
                None => match self.index.remove(Path::new(path.as_str()), 0) {
                    Err(error) if error.code() != git2::ErrorCode::NotFound => return Err(doing()(error)),
                    _ => {}
                },
                Some((entry, meta)) => {
                    self.index.add(&index_entry(path, *entry, meta.as_ref())).map_err(doing())?;
                }
            }
        }
        let _ = fs::remove_file(self.scratch.path().join("reserve"));
        self.index.write().map_err(other("writing the index"))?;
        let (copy, index) = (self.scratch.path().join("index"), self.work_tree.git_dir.join("index"));
        if let Ok(meta) = fs::metadata(&index) {
            let _ = fs::set_permissions(&copy, meta.permissions());
        }
        fs::rename(&copy, &index).map_err(|e| io_error("replacing", &index, &e))
    }
}

/// The index under a name of its own. It keeps the time, by which git tells which entries may have changed unseen in the
/// same tick. Whoever changes an index puts a new file in its place, so a link serves where the file system has links.
fn copy_index(from: &Path, to: &Path) -> Result<(), GitError> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let copied = fs::copy(from, to).and_then(|_| {
        let modified = fs::metadata(from)?.modified()?;
        fs::OpenOptions::new().write(true).open(to)?.set_modified(modified)
    });
    match copied {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("copying", from, &error)),
        _ => Ok(()),
    }
}

#[cfg(unix)]
pub(super) fn is_executable(meta: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o100 != 0
}

#[cfg(unix)]
fn make_executable(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(file)?.permissions().mode();
    // Whoever may read it may run it, as git does.
    fs::set_permissions(file, fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &Metadata) -> bool {
    false
}

/// An entry for the index. Without what the file system says of the file, git looks into it the next time.
pub(super) fn index_entry(path: &VaultPath, entry: Entry, meta: Option<&Metadata>) -> git2::IndexEntry {
    let zero = git2::IndexTime::new(0, 0);
    let mut out = git2::IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode: entry.mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: to_git(entry.oid),
        flags: 0,
        flags_extended: 0,
        path: path.as_str().as_bytes().to_vec(),
    };
    #[cfg(unix)]
    if let Some(meta) = meta {
        use std::os::unix::fs::MetadataExt as _;
        // Git keeps the lower 32 bits of each of these.
        out.ctime = git2::IndexTime::new(meta.ctime() as i32, meta.ctime_nsec() as u32);
        out.mtime = git2::IndexTime::new(meta.mtime() as i32, meta.mtime_nsec() as u32);
        (out.dev, out.ino) = (meta.dev() as u32, meta.ino() as u32);
        (out.uid, out.gid) = (meta.uid(), meta.gid());
        out.file_size = meta.len() as u32;
    }
    #[cfg(not(unix))]
    let _ = meta;
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_young_scratch_may_be_somebodys() {
        let dir = tempfile::tempdir().unwrap();
        let (root, git_dir) = (dir.path().to_owned(), dir.path().join(".git"));
        let tree = WorkTree { root, git_dir, branch: None };
        let home = scratch_home(&tree);
        let (young, old) = (home.join(".tmpyoung"), home.join(".tmpold"));
        for at in [&young, &old] {
            fs::create_dir_all(at).unwrap();
            fs::write(at.join("index"), "").unwrap();
        }
        let long_ago = young.metadata().unwrap().modified().unwrap() - YOUNG * 2;
        fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
        Checkout::sweep(&tree);
        assert!(young.join("index").exists() && !old.exists());
        assert_eq!(home.read_dir().unwrap().count(), 1);
        fs::remove_dir_all(&young).unwrap();
        Checkout::sweep(&tree);
        assert!(!home.exists());
    }
}
