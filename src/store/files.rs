//! Writing files of a vault: whole or not at all, and never outside of it.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::model::fault::{Explain, Kind};
use crate::model::path::VaultPath;
use crate::store::plain;

/// Why a file cannot be read, written or moved.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system refuses.
    #[error("{doing} {}: {why}", path.display())]
    Io {
        /// What was being done, as a participle: `writing`, `reading`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A symbolic link on the way leads out of the vault.
    #[error("`{path}` leaves the vault: {} is a symbolic link that leads out of it", link.display())]
    Leaves {
        /// The path that was asked for.
        path: VaultPath,
        /// The link.
        link: PathBuf,
    },
    /// Something stands there already.
    #[error("`{0}` exists already")]
    Exists(VaultPath),
}

impl Explain for FileError {
    fn kind(&self) -> Kind {
        match self {
            FileError::Io { why, .. } if why.kind() == io::ErrorKind::NotFound => Kind::Nothing,
            FileError::Io { .. } => Kind::Failed,
            FileError::Leaves { .. } => Kind::Usage,
            FileError::Exists(_) => Kind::Conflict,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            FileError::Io { doing, why, .. } => match why.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(
                    "the disk is full; the old file is untouched: make room and run this again".to_owned(),
                ),
                io::ErrorKind::PermissionDenied if matches!(*doing, "reading" | "looking at") => {
                    Some("give yourself the right to read it (`chmod u+rX`), then run this again".to_owned())
                }
                io::ErrorKind::PermissionDenied => {
                    Some("give yourself the right to write there, then run this again".to_owned())
                }
                io::ErrorKind::ReadOnlyFilesystem => Some("the file system is read-only".to_owned()),
                _ => None,
            },
            FileError::Leaves { .. } => Some("name a file inside the vault, or remove the link".to_owned()),
            FileError::Exists(path) => {
                Some(format!("choose another name, or change it with `runebook edit {path}`"))
            }
        }
    }
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |why| FileError::Io { doing, path, why }
}

/// Where a vault path stands on disk, with every directory on the way looked at: none may be a symbolic link that
/// leaves the vault. The last segment may be anything, or missing.
///
/// # Errors
/// [`FileError::Leaves`].
pub fn place(root: &Path, path: &VaultPath) -> Result<PathBuf, FileError> {
    let mut at = root.to_owned();
    let mut segments = path.as_str().split('/').filter(|segment| !segment.is_empty()).peekable();
    while let Some(segment) = segments.next() {
        at.push(segment);
        let is_link = at.symlink_metadata().is_ok_and(|data| data.file_type().is_symlink());
        if is_link && segments.peek().is_some() {
            stays(root, path, &at)?;
        }
    }
    Ok(at)
}

/// As [`place`], and the last segment itself may not be a link that leaves the vault: for reading.
///
/// # Errors
/// [`FileError::Leaves`].
pub fn place_to_read(root: &Path, path: &VaultPath) -> Result<PathBuf, FileError> {
    let at = place(root, path)?;
    if at.symlink_metadata().is_ok_and(|data| data.file_type().is_symlink()) {
        stays(root, path, &at)?;
    }
    Ok(at)
}

/// As [`place_to_read`], through a link at the last segment to the file that it leads to.
fn place_to_write(root: &Path, path: &VaultPath) -> Result<PathBuf, FileError> {
    let at = place(root, path)?;
    if !at.symlink_metadata().is_ok_and(|data| data.file_type().is_symlink()) {
        return Ok(at);
    }
    stays(root, path, &at)?;
    Ok(at.canonicalize().unwrap_or(at))
}

fn stays(root: &Path, path: &VaultPath, link: &Path) -> Result<(), FileError> {
    let leaves = || FileError::Leaves { path: path.clone(), link: link.to_owned() };
    let root = root.canonicalize().map_err(io_error("looking at", root))?;
    // A link that leads nowhere could lead anywhere by the time it is used.
    let target = link.canonicalize().map_err(|_| leaves())?;
    let inside = target.strip_prefix(&root).map_err(|_| leaves())?;
    if inside.starts_with(".git") { Err(leaves()) } else { Ok(()) }
}

/// The bytes of a file of the vault.
///
/// # Errors
/// When it is missing, cannot be read or stands outside the vault.
pub fn read(root: &Path, path: &VaultPath) -> Result<Vec<u8>, FileError> {
    let at = place_to_read(root, path)?;
    plain::read(&at).map_err(io_error("reading", &at))
}

/// Writes a file of the vault: whole or not at all, with the old file's permissions. Missing directories are made.
/// A symbolic link at the place is written through if it stays within the vault.
///
/// # Errors
/// When it cannot be written (the old file is untouched then) or stands outside the vault.
pub fn write(root: &Path, path: &VaultPath, bytes: &[u8]) -> Result<(), FileError> {
    let at = place_to_write(root, path)?;
    make_parent(&at)?;
    write_at(&at, bytes)
}

/// Writes a new file of the vault, whole or not at all.
///
/// # Errors
/// As [`write()`], and [`FileError::Exists`] if anything stands there.
pub fn create(root: &Path, path: &VaultPath, bytes: &[u8]) -> Result<(), FileError> {
    sync_directory(&put_new(root, path, bytes)?)
}

/// Writes any file by its place on disk: whole or not at all, with the old file's permissions. Its directory must
/// exist.
///
/// # Errors
/// When it cannot be written; the old file is untouched then.
pub fn write_at(at: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let directory = at.parent().unwrap_or(Path::new(".")).to_owned();
    let temporary = fill(&directory, at, bytes)?;
    temporary.persist(at).map_err(|error| io_error("writing", at)(error.error))?;
    sync_directory(&directory)
}

/// Whether two places on disk are one and the same file or directory.
#[must_use]
pub fn is_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let id = |path: &Path| path.symlink_metadata().ok().map(|data| (data.dev(), data.ino()));
        id(a).is_some() && id(a) == id(b)
    }
    #[cfg(not(unix))]
    {
        a.canonicalize().ok().is_some_and(|a| b.canonicalize().ok() == Some(a))
    }
}

/// Whether a file is there that somebody may run.
#[must_use]
pub fn is_executable(at: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(at).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    }
    // Elsewhere git runs whatever is there.
    #[cfg(not(unix))]
    {
        at.is_file()
    }
}

/// Lets a file be run, by whoever may read it as git has it, or by nobody. `false`: that was so already, or the system
/// knows no such thing.
///
/// # Errors
/// When the file system refuses.
pub fn set_executable(at: &Path, wanted: bool) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mut permissions = std::fs::metadata(at)?.permissions();
        let mode = permissions.mode();
        // Git looks at the owner's bit.
        if (mode & 0o100 != 0) == wanted {
            return Ok(false);
        }
        permissions.set_mode(if wanted { mode | (mode & 0o444) >> 2 } else { mode & !0o111 });
        std::fs::set_permissions(at, permissions)?;
        Ok(true)
    }
    #[cfg(not(unix))]
    {
        let _ = (at, wanted);
        Ok(false)
    }
}

/// Whether two places are two names of one file, as a move leaves them that was killed half-way. Where case is ignored
/// one name can be written in two ways; that is no second one.
#[must_use]
pub fn are_two_names(a: &Path, b: &Path) -> bool {
    let stands = |at: &Path| {
        let entries = at.parent().and_then(|directory| std::fs::read_dir(directory).ok());
        entries.is_some_and(|entries| {
            entries.flatten().any(|entry| Some(entry.file_name().as_os_str()) == at.file_name())
        })
    };
    a != b && is_same(a, b) && stands(a) && stands(b)
}

/// How many files are written at the same time. A file system makes durable at once what waits at the same time, so
/// with more writers each waits for fewer turns of the disk.
const WRITERS: usize = 64;

/// A file whose bytes are to be replaced.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    /// The file.
    pub path: &'a VaultPath,
    /// The bytes that it must still have.
    pub old: &'a [u8],
    /// The bytes that it shall have.
    pub new: &'a [u8],
}

/// Replaces many files, each whole or not at all, and only where it has the old bytes still: `false` where it has
/// not. All new bytes are on disk before the first file gives way, and many go there at the same time.
pub fn replace_all(root: &Path, jobs: &[Replacement<'_>]) -> Vec<Result<bool, FileError>> {
    let prepare = |job: &Replacement<'_>| {
        let at = place_to_write(root, job.path)?;
        let directory = at.parent().unwrap_or(Path::new(".")).to_owned();
        let temporary = fill(&directory, &at, job.new)?;
        Ok((at, temporary))
    };
    let ready = at_once(jobs.iter().collect(), prepare);
    let steps: Vec<_> = ready.into_iter().zip(jobs).collect();
    let results = at_once(steps, |(ready, job)| {
        let (at, temporary) = ready??;
        if plain::read(&at).map_err(io_error("reading", &at))? != job.old {
            return Ok(None);
        }
        temporary.persist(&at).map_err(|error| io_error("writing", &at)(error.error))?;
        Ok(Some(at))
    });
    let results: Vec<Result<Option<PathBuf>, FileError>> =
        results.into_iter().map(|result| result.and_then(|result| result)).collect();
    let placed = results.iter().flatten().flatten();
    let directories: std::collections::BTreeSet<&Path> = placed.filter_map(|at| at.parent()).collect();
    // The new names are there already; a directory that cannot be synced only may lose them in a power cut.
    directories.iter().for_each(|directory| drop(sync_directory(directory)));
    results.into_iter().map(|result| result.map(|placed| placed.is_some())).collect()
}

/// Writes many new files, each whole or not at all and over nothing, many at the same time. The answers stand in the
/// order of the jobs.
pub fn create_all(root: &Path, jobs: &[(&VaultPath, &[u8])]) -> Vec<Result<(), FileError>> {
    let results = at_once(jobs.iter().collect(), |(path, bytes)| put_new(root, path, bytes));
    let results: Vec<Result<PathBuf, FileError>> =
        results.into_iter().map(|result| result.and_then(|result| result)).collect();
    let directories: std::collections::BTreeSet<&PathBuf> = results.iter().flatten().collect();
    directories.iter().for_each(|directory| drop(sync_directory(directory)));
    results.into_iter().map(|result| result.map(drop)).collect()
}

/// Writes a new file over nothing. Gives its directory, which has yet to be synced.
fn put_new(root: &Path, path: &VaultPath, bytes: &[u8]) -> Result<PathBuf, FileError> {
    let at = place(root, path)?;
    if at.symlink_metadata().is_ok() {
        return Err(FileError::Exists(path.clone()));
    }
    let directory = make_parent(&at)?;
    fill(&directory, &at, bytes)?.persist_noclobber(&at).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists(path.clone()),
        _ => io_error("writing", &at)(error.error),
    })?;
    Ok(directory)
}

/// Does something to each, many at the same time: waiting for the disk is what takes long, and it takes as long for
/// many as for one.
fn at_once<T: Send, R: Send>(jobs: Vec<T>, run: impl Fn(T) -> R + Sync) -> Vec<Result<R, FileError>> {
    let lost = |_| io_error("writing", Path::new("files"))(io::Error::other("a thread failed"));
    let count = jobs.len();
    let share = count.div_ceil(WRITERS).max(1);
    let mut jobs = jobs.into_iter();
    std::thread::scope(|scope| {
        let run = &run;
        let mut threads = Vec::new();
        loop {
            let chunk: Vec<T> = jobs.by_ref().take(share).collect();
            if chunk.is_empty() {
                break;
            }
            let length = chunk.len();
            threads.push((length, scope.spawn(move || chunk.into_iter().map(run).collect::<Vec<R>>())));
        }
        let results = threads.into_iter().flat_map(|(length, thread)| match thread.join() {
            Ok(results) => results.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(_) => (0..length).map(|at| Err(lost(at))).collect(),
        });
        results.collect()
    })
}

/// A temporary file beside `at` that holds the bytes on disk; it removes itself unless it is persisted. It is closed: a
/// process may have a thousand files open, or fewer, and tens of thousands of notes may wait for their new bytes.
fn fill(directory: &Path, at: &Path, bytes: &[u8]) -> Result<tempfile::TempPath, FileError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".runebook-").suffix(".tmp");
    // A temporary file is private by default; a new memory is an ordinary file under the person's umask.
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666))
    };
    let mut temporary = builder.tempfile_in(directory).map_err(io_error("writing", at))?;
    if let Ok(data) = at.metadata() {
        temporary.as_file().set_permissions(data.permissions()).map_err(io_error("writing", at))?;
    }
    temporary.write_all(bytes).map_err(io_error("writing", at))?;
    temporary.as_file().sync_all().map_err(io_error("writing", at))?;
    Ok(temporary.into_temp_path())
}

fn make_parent(at: &Path) -> Result<PathBuf, FileError> {
    let directory = at.parent().unwrap_or(Path::new(".")).to_owned();
    std::fs::create_dir_all(&directory).map_err(io_error("making the directory", &directory))?;
    Ok(directory)
}

/// The rename itself must reach the disk too, or a crash brings the old file back.
fn sync_directory(directory: &Path) -> Result<(), FileError> {
    if cfg!(unix) {
        let open = File::open(directory).map_err(io_error("writing", directory))?;
        open.sync_all().map_err(io_error("writing", directory))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[test]
    fn writes_whole_and_never_over_something_new() {
        let dir = tempfile::tempdir().unwrap();
        create(dir.path(), &path("a/b.md"), b"one").unwrap();
        assert!(matches!(create(dir.path(), &path("a/b.md"), b"two"), Err(FileError::Exists(_))));
        assert_eq!(read(dir.path(), &path("a/b.md")).unwrap(), b"one");
        write(dir.path(), &path("a/b.md"), b"two").unwrap();
        assert_eq!(read(dir.path(), &path("a/b.md")).unwrap(), b"two");
        let left: Vec<_> = std::fs::read_dir(dir.path().join("a")).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "no temporary file stays");
    }

    #[test]
    fn many_new_files_and_never_over_something() {
        let dir = tempfile::tempdir().unwrap();
        create(dir.path(), &path("a/7.md"), b"mine").unwrap();
        let paths: Vec<VaultPath> = (0..100).map(|at| path(&format!("a/{at}.md"))).collect();
        let jobs: Vec<(&VaultPath, &[u8])> =
            paths.iter().map(|path| (path, path.as_str().as_bytes())).collect();
        let results = create_all(dir.path(), &jobs);
        for (at, result) in results.iter().enumerate() {
            let bytes = read(dir.path(), &paths[at]).unwrap();
            match at {
                7 => assert!(matches!(result, Err(FileError::Exists(_))) && bytes == b"mine"),
                _ => assert!(result.is_ok() && bytes == paths[at].as_str().as_bytes()),
            }
        }
        assert_eq!(std::fs::read_dir(dir.path().join("a")).unwrap().count(), 100, "no temporary file stays");
    }

    #[cfg(unix)]
    #[test]
    fn keeps_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("a.md");
        std::fs::write(&at, "x").unwrap();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o640)).unwrap();
        write(dir.path(), &path("a.md"), b"y").unwrap();
        assert_eq!(at.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leaves_the_vault_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("vault");
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        link("..", "up");
        link("../secret", "s.md");
        link("inner", "ok");
        link(".git", "git");
        link("nowhere", "dangling");
        for bad in ["up/x.md", "s.md", "git/config", "dangling/x.md", "dangling"] {
            assert!(matches!(write(&root, &path(bad), b"x"), Err(FileError::Leaves { .. })), "{bad}");
            assert!(matches!(read(&root, &path(bad)), Err(FileError::Leaves { .. })), "{bad}");
        }
        write(&root, &path("ok/x.md"), b"x").unwrap();
        assert!(root.join("inner/x.md").exists());
        assert_eq!(std::fs::read(dir.path().join("secret")).unwrap(), b"s");
    }
}
