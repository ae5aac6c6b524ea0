//! Which files of a model were found to be those of its description, so that they are not hashed again each time.
//!
//! A record stands beside each file: its SHA-256, and what the system said of it then (device, inode, size, times). As
//! long as the system says the same, the content is the same: the time of the last change of the inode cannot be set by
//! whoever writes the file, unlike its modification time. Who can write a record can write the description beside it
//! too, so the record asks for no more trust than that. It counts only where the file had not been touched for a while
//! when the record was written: two changes within one tick of the clock look alike.

use std::path::{Path, PathBuf};

use crate::model::embedding::ModelFile;

/// How much older than its record a file must be, in nanoseconds.
#[cfg(unix)]
const SETTLED: i128 = 2_000_000_000;

fn record_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".verified");
    file.with_file_name(name)
}

/// What the system says of a file, and the time of its last change.
#[cfg(unix)]
fn looks(file: &Path) -> Option<(String, i128)> {
    use std::os::unix::fs::MetadataExt as _;
    let data = std::fs::symlink_metadata(file).ok()?;
    // A link can be made to lead elsewhere.
    if !data.is_file() {
        return None;
    }
    let changed = i128::from(data.ctime()) * 1_000_000_000 + i128::from(data.ctime_nsec());
    let (device, inode) = (data.dev(), data.ino());
    Some((
        format!("{device} {inode} {} {}.{:09} {changed}", data.len(), data.mtime(), data.mtime_nsec()),
        changed,
    ))
}

/// Other systems tell no time that cannot be set: there every file is hashed each time.
#[cfg(not(unix))]
fn looks(_: &Path) -> Option<(String, i128)> {
    None
}

/// How a file looks to the system: as long as that is the same, its content is. None where the system does not tell.
#[must_use]
pub fn looks_of(file: &Path) -> Option<String> {
    looks(file).map(|(looks, _)| looks)
}

/// A file as it looked before it was read.
#[derive(Debug)]
pub(super) struct Looks(Option<String>);

impl Looks {
    /// Looks at a file.
    pub(super) fn of(file: &Path) -> Looks {
        Looks(looks_of(file))
    }

    /// Whether the file was found to have this content when it looked like this.
    #[cfg(unix)]
    pub(super) fn verified(&self, file: &Path, said: &ModelFile) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let Some((now, changed)) = looks(file).filter(|(now, _)| Some(now) == self.0.as_ref()) else {
            return false;
        };
        let record = record_of(file);
        let Ok(data) = std::fs::symlink_metadata(&record) else { return false };
        let written = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
        let owner = file.parent().and_then(|dir| dir.metadata().ok()).map(|dir| dir.uid());
        data.is_file()
            && (owner == Some(data.uid()) || data.uid() == 0)
            && changed + SETTLED <= written
            && std::fs::read_to_string(&record).is_ok_and(|text| text == line(said, &now))
    }

    #[cfg(not(unix))]
    pub(super) fn verified(&self, _: &Path, _: &ModelFile) -> bool {
        false
    }

    /// Puts down that the file, which looked like this before it was read, had this content. That it cannot be put down
    /// costs time and nothing else.
    pub(super) fn put(&self, file: &Path, said: &ModelFile) {
        let (Some(before), Some(dir)) = (&self.0, file.parent()) else { return };
        if looks(file).is_none_or(|(now, _)| now != *before) {
            return;
        }
        let write = || -> std::io::Result<()> {
            let fresh = tempfile::NamedTempFile::new_in(dir)?;
            std::fs::write(fresh.path(), line(said, before))?;
            fresh.persist(record_of(file)).map_err(|error| error.error)?;
            Ok(())
        };
        let _ = write();
    }
}

fn line(said: &ModelFile, looks: &str) -> String {
    format!("{} {looks}\n", said.sha256)
}
