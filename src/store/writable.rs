//! Whether files can be made, replaced and removed in a directory: asked before the first of many is changed.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

/// Whether the directory that holds a place lets files be made and removed; where it is missing, the nearest one above it
/// that is there. The system is asked by doing it: rights, a read-only file system and a full disk all show.
///
/// # Errors
/// What the system says.
pub fn holds(at: &Path) -> io::Result<()> {
    let directory = at.ancestors().skip(1).find(|above| above.is_dir()).unwrap_or(Path::new("."));
    let probe = directory.join(format!(".runebook-{}.tmp", std::process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        // One that was killed left it, so it could be made.
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
        _ => {}
    }
    fs::remove_file(&probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_asked_and_left_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        holds(&dir.path().join("a.md")).unwrap();
        holds(&dir.path().join("not/there/a.md")).unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        holds(&file.join("below.md")).unwrap();
    }
}
