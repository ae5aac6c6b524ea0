//! The vault's lock: one process at a time changes main, the work tree or the derived state.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::fault::{Explain, Kind};
use crate::store::plain;

/// How long a command waits for another one to finish.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("another runebook is at work in this vault: {holder}")]
    Held {
        /// What the holder wrote about itself: its process number and what it does.
        holder: String,
    },
    /// The file cannot be opened or locked.
    #[error("locking {}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
}

impl Explain for LockError {
    fn kind(&self) -> Kind {
        match self {
            LockError::Held { .. } => Kind::Conflict,
            LockError::Io { .. } => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            LockError::Held { .. } => Some("wait until it is done, then run this again".to_owned()),
            LockError::Io { path, why } => Some(match why.kind() {
                std::io::ErrorKind::StorageFull => {
                    "the disk is full: make room and run this again".to_owned()
                }
                std::io::ErrorKind::ReadOnlyFilesystem => {
                    "the file system is read-only: make it writable, or copy the vault to one that is"
                        .to_owned()
                }
                std::io::ErrorKind::PermissionDenied => {
                    "give yourself the right to write there, then run this again".to_owned()
                }
                _ => format!("remove {}; it is made again", path.display()),
            }),
        }
    }
}

/// The lock, held until it is dropped. The operating system lets go of it when the process dies, however it dies:
/// a lock is never stale.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// How long a lock that nobody holds, but others keep looking at, is tried for.
const LOOKED_AT: Duration = Duration::from_secs(10);

impl Lock {
    /// Takes the lock file `at`, waiting up to `patience`. `what` says for others what is done (`merge 7k3qm2xd`).
    ///
    /// # Errors
    /// [`LockError::Held`] when another process keeps it for longer.
    pub fn take(at: &Path, what: &str, patience: Duration) -> Result<Lock, LockError> {
        let io = |why| LockError::Io { path: at.to_owned(), why };
        if let Some(directory) = at.parent() {
            std::fs::create_dir_all(directory).map_err(io)?;
        }
        if let Some(what) = plain::special_at(at) {
            return Err(io(std::io::Error::other(plain::no_file(what))));
        }
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(at).map_err(io)?;
        let step = Duration::from_millis(20);
        let (mut waited, mut looked_at) = (Duration::ZERO, Duration::ZERO);
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Whoever looks by `is_held` shares it for a moment, and may be put to sleep just then: it holds nothing.
                Err(TryLockError::WouldBlock) if looked_at < LOOKED_AT && file.try_lock_shared().is_ok() => {
                    file.unlock().map_err(io)?;
                    std::thread::sleep(step / 10);
                    looked_at += step / 10;
                }
                Err(TryLockError::WouldBlock) if waited < patience => {
                    std::thread::sleep(step);
                    waited += step;
                }
                Err(TryLockError::WouldBlock) => return Err(LockError::Held { holder: holder(&mut file) }),
                Err(TryLockError::Error(why)) => return Err(io(why)),
            }
        }
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        writeln!(file, "process {}, {what}", std::process::id()).map_err(io)?;
        Ok(Lock { file })
    }

    /// Whether the file of this lock still is the one at its place: where it was removed, another process may hold a new
    /// one there.
    #[must_use]
    pub fn stands_at(&self, at: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let (Ok(mine), Ok(there)) = (self.file.metadata(), at.symlink_metadata()) else { return false };
            (mine.dev(), mine.ino()) == (there.dev(), there.ino())
        }
        #[cfg(not(unix))]
        {
            self.file.metadata().is_ok() && at.exists()
        }
    }

    /// Whether a living process holds the lock file `at`, without waiting.
    #[must_use]
    pub fn is_held(at: &Path) -> bool {
        let Ok(file) = plain::open(at) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // What it says is only for people; an empty or strange file still is a held lock.
    let _ = file.rewind().and_then(|()| file.take(200).read_to_string(&mut text));
    let text = text.trim();
    if text.is_empty() { "it does not say what it does".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("runebook/lock");
        let first = Lock::take(&at, "merge 7k3qm2xd", Duration::ZERO).unwrap();
        let second = Lock::take(&at, "commit", Duration::from_millis(40)).unwrap_err();
        assert!(second.to_string().ends_with("merge 7k3qm2xd"), "{second}");
        assert_eq!(second.kind(), Kind::Conflict);
        assert!(Lock::is_held(&at));
        drop(first);
        assert!(!Lock::is_held(&at) && !Lock::is_held(&at.with_file_name("nothing")));
        Lock::take(&at, "commit", Duration::ZERO).unwrap();
    }

    #[test]
    fn whoever_only_looks_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("lock");
        std::fs::write(&at, "process 1, watching\n").unwrap();
        let looks = File::open(&at).unwrap();
        looks.lock_shared().unwrap();
        let (begun, begins) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| {
                begun.send(()).unwrap();
                Lock::take(&at, "watching", Duration::ZERO).map(drop)
            });
            begins.recv().unwrap();
            // Without patience it would have given up at the first look.
            std::thread::sleep(Duration::from_millis(50));
            assert!(!taking.is_finished());
            drop(looks);
            taking.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_lock_whose_file_was_removed_stands_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("lock");
        let first = Lock::take(&at, "watching", Duration::ZERO).unwrap();
        assert!(first.stands_at(&at));
        std::fs::remove_file(&at).unwrap();
        assert!(!first.stands_at(&at));
        let second = Lock::take(&at, "watching", Duration::ZERO).unwrap();
        assert!(!first.stands_at(&at) && second.stands_at(&at));
    }
}
