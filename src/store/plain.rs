//! Opening what is a plain file, and nothing else. A named pipe would be waited for, a device may never end, and a vault
//! that somebody else made may have either where a file is expected: under a note's name, as `.gitignore`, in
//! `.runebook/`. So files that may be of a vault are opened here.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// What stands at a place that is neither a file nor a directory, in words: `a named pipe`. `None`: it is one of the two,
/// or a symbolic link that was not followed.
#[must_use]
pub fn special(data: &Metadata) -> Option<&'static str> {
    let kind = data.file_type();
    if kind.is_file() || kind.is_dir() || kind.is_symlink() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let known = [
            (kind.is_fifo(), "a named pipe"),
            (kind.is_socket(), "a socket"),
            (kind.is_char_device() || kind.is_block_device(), "a device"),
        ];
        if let Some((_, name)) = known.into_iter().find(|(is, _)| *is) {
            return Some(name);
        }
    }
    Some("something of the system's")
}

/// What stands at a place, links followed, if that is neither a file nor a directory.
#[must_use]
pub fn special_at(at: impl AsRef<Path>) -> Option<&'static str> {
    std::fs::metadata(at.as_ref()).ok().and_then(|data| special(&data))
}

/// The first that is neither file nor directory of what stands below a directory, so many levels down; what is called
/// as one of `but` is passed over with all that it holds. Links are not followed.
#[must_use]
pub fn special_below(directory: &Path, levels: usize, but: &[&str]) -> Option<(PathBuf, &'static str)> {
    let passed = |name: &std::ffi::OsStr| but.iter().any(|other| name == *other);
    walkdir::WalkDir::new(directory)
        .max_depth(levels)
        .into_iter()
        .filter_entry(|entry| !passed(entry.file_name()))
        .flatten()
        .filter(|entry| !entry.file_type().is_file() && !entry.file_type().is_dir())
        .find_map(|entry| special(&entry.metadata().ok()?).map(|what| (entry.into_path(), what)))
}

/// Says of something special that it is no file: `it is a named pipe, not a file`.
#[must_use]
pub fn no_file(what: &str) -> String {
    format!("it is {what}, not a file")
}

/// Opens a file for reading.
///
/// # Errors
/// When it cannot be opened, or it is no plain file; then the error says what it is.
pub fn open(at: impl AsRef<Path>) -> io::Result<File> {
    // Asked before it is opened: opening a pipe waits for whoever writes into it.
    let at = at.as_ref();
    match special(&std::fs::metadata(at)?) {
        Some(what) => Err(io::Error::new(io::ErrorKind::InvalidInput, no_file(what))),
        None => File::open(at),
    }
}

/// The bytes of a file.
///
/// # Errors
/// As [`open`], and when it cannot be read.
pub fn read(at: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut file = open(at)?;
    let size = file.metadata().map_or(0, |data| data.len());
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file.
///
/// # Errors
/// As [`read`], and when it is not UTF-8.
pub fn read_text(at: impl AsRef<Path>) -> io::Result<String> {
    utf8(read(at)?)
}

/// As [`read`], of a file that has no reason to be large.
///
/// # Errors
/// As [`read`], and when it is larger than `most` bytes.
pub fn read_bounded(at: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    bounded(open(at)?, most)
}

fn bounded(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    no_more_than(bytes, most)
}

/// The bytes, unless there are more than `most`.
///
/// # Errors
/// When there are.
pub fn no_more_than(bytes: Vec<u8>, most: u64) -> io::Result<Vec<u8>> {
    if bytes.len() as u64 > most {
        let why = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(bytes)
}

/// As [`read_bounded`], of a file that a person named on the command line: what the shell has opened for this program is
/// read whatever it is. `<(…)` is that, under a name like `/dev/fd/63`.
///
/// # Errors
/// As [`read_bounded`].
pub fn read_given(at: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let at = at.as_ref();
    let directory = at.parent().unwrap_or(at);
    let opened = ["/dev/fd", "/proc/self/fd"].iter().any(|fds| directory == Path::new(fds));
    if opened || at == Path::new("/dev/stdin") {
        return bounded(File::open(at)?, most);
    }
    read_bounded(at, most)
}

/// As [`read_bounded`], as text.
///
/// # Errors
/// As [`read_bounded`], and when it is not UTF-8.
pub fn read_small(at: impl AsRef<Path>, most: u64) -> io::Result<String> {
    utf8(read_bounded(at, most)?)
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("x");
        let _socket = std::os::unix::net::UnixListener::bind(&at).unwrap();
        assert_eq!(read(&at).unwrap_err().to_string(), "it is a socket, not a file");
        assert_eq!(read(Path::new("/dev/zero")).unwrap_err().to_string(), "it is a device, not a file");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert_eq!(read_small(&link, 10).unwrap_err().to_string(), "it is a device, not a file");
        assert_eq!(special(&link.symlink_metadata().unwrap()), None);
        std::fs::write(dir.path().join("long"), "long text").unwrap();
        assert!(read_small(dir.path().join("long"), 4).is_err());
        assert_eq!(read_text(dir.path().join("long")).unwrap(), "long text");
        assert_eq!(read(dir.path().join("gone")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
