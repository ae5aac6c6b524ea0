//! Whether the root of the files is what it was: there, the same directory, readable.

use std::path::{Path, PathBuf};

/// The root as it was when the watcher began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    at: PathBuf,
    device: Option<u64>,
}

/// What is wrong with the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Nothing stands there, though what is above it is as it was: it was moved or removed.
    Missing,
    /// It may come back as it was: it is not mounted, or may not be read.
    Away(String),
}

impl Root {
    pub(super) fn of(at: &Path) -> Root {
        Root { at: at.to_owned(), device: device(at) }
    }

    /// Whether its files can be looked at now.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let away = |why: String| Err(Wrong::Away(why));
        match std::fs::read_dir(&self.at) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // Where the disk is not mounted, what is above belongs to another one.
                let above = self.at.ancestors().skip(1).find(|above| above.is_dir());
                let same = above.is_some_and(|above| device(above) == self.device);
                return if same { Err(Wrong::Missing) } else { away("it is not mounted".to_owned()) };
            }
            Err(error) => return away(error.to_string()),
        }
        if self.at.join(".git").symlink_metadata().is_err() {
            return away("there is no `.git` in it, as in a directory where nothing is mounted".to_owned());
        }
        Ok(())
    }

    /// Whether something stands there; less than [`Root::check`], and no more than a look.
    pub(super) fn is_there(&self) -> bool {
        self.at.is_dir() && self.at.join(".git").symlink_metadata().is_ok()
    }

    pub(super) fn path(&self) -> &Path {
        &self.at
    }
}

fn device(at: &Path) -> Option<u64> {
    let data = at.metadata().ok()?;
    #[cfg(unix)]
    return Some(std::os::unix::fs::MetadataExt::dev(&data));
    #[cfg(not(unix))]
    return Some(u64::from(data.is_dir()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_there_missing_or_away() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("vault");
        std::fs::create_dir_all(at.join(".git")).unwrap();
        let root = Root::of(&at);
        assert_eq!(root.check(), Ok(()));
        std::fs::remove_dir(at.join(".git")).unwrap();
        assert!(matches!(root.check(), Err(Wrong::Away(_))));
        std::fs::remove_dir(&at).unwrap();
        assert_eq!(root.check(), Err(Wrong::Missing));
        let elsewhere = Root { at, device: Some(u64::MAX) };
        assert!(matches!(elsewhere.check(), Err(Wrong::Away(_))));
    }
}
