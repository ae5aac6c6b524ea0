//! Where a watcher in the background writes what it would say.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::store::plain;

/// The size at which a log begins anew; the one before is kept beside it.
const MOST_BYTES: u64 = 1 << 20;

/// A file of lines that takes at most twice a megabyte.
#[derive(Debug)]
pub struct Log {
    at: PathBuf,
    most: u64,
    file: Option<File>,
}

impl Log {
    /// The log at a place; it is made with the first line.
    #[must_use]
    pub fn at(at: &Path) -> Log {
        Log { at: at.to_owned(), most: MOST_BYTES, file: None }
    }

    /// Adds a line. One that cannot be written is lost: the watcher has better to do than to fail for it.
    pub fn line(&mut self, line: &str) {
        let size = self.at.metadata().map_or(0, |data| data.len());
        if size >= self.most {
            self.file = None;
            let _ = std::fs::rename(&self.at, self.at.with_extension("log.1"));
        }
        if (self.file.is_none() || size == 0) && plain::special_at(&self.at).is_none() {
            self.file = OpenOptions::new().create(true).append(true).open(&self.at).ok();
        }
        if let Some(file) = &mut self.file {
            let _ = writeln!(file, "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("watch.log");
        let mut log = Log { most: 100, ..Log::at(&at) };
        for line in 0..200 {
            log.line(&format!("line {line}"));
        }
        let text = std::fs::read_to_string(&at).unwrap();
        assert!(text.ends_with("line 199\n"), "{text}");
        let sizes: u64 =
            std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
        assert!(sizes <= 220, "{sizes}");
    }
}
