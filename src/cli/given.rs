//! What a person gives a command to read: a file by its name, or standard input. Never more than so many bytes, and
//! Ctrl-C ends the program at once while it waits: nothing is half done then.

use std::io::{self, Read as _};
use std::path::Path;

use super::Session;
use super::ask::waiting;
use crate::model::fault::{Explain, Fault, Kind};
use crate::store::plain;

/// How much is taken where nothing else sets a limit.
pub(crate) const MOST: u64 = 256 << 20;

/// It cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("reading {from}: {why}")]
struct GivenError {
    from: String,
    why: io::Error,
}

impl Explain for GivenError {
    fn kind(&self) -> Kind {
        match self.why.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::IsADirectory => Kind::Usage,
            _ => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self.why.kind() {
            io::ErrorKind::InvalidInput => format!("use `-` and standard input: `- < {}`", self.from),
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => {
                "name a file, or `-` for standard input".to_owned()
            }
            _ => return None,
        })
    }
}

/// The bytes of a file that was named, or of standard input for `-` and where none was.
///
/// # Errors
/// When it cannot be read, is a pipe or a device that this program would have to open itself, or has more than `most`
/// bytes.
pub(crate) fn bytes(file: Option<&Path>, session: &Session<'_>, most: u64) -> Result<Vec<u8>, Fault> {
    let file = file.filter(|file| file.as_os_str() != "-");
    waiting(|| {
        // A Ctrl-C that came just before this waits is not lost.
        session.env.go_on()?;
        let read = match file {
            Some(file) => plain::read_given(session.directory().join(file), most),
            None => standard_input(most),
        };
        Ok(read.map_err(|why| GivenError { from: called(file), why })?)
    })
}

/// As [`bytes`], as text.
///
/// # Errors
/// As [`bytes`], and when it is not UTF-8.
pub(crate) fn text(file: Option<&Path>, session: &Session<'_>, most: u64) -> Result<String, Fault> {
    let bytes = bytes(file, session, most)?;
    let wrong =
        |why: std::string::FromUtf8Error| io::Error::new(io::ErrorKind::InvalidData, why.utf8_error());
    let read = String::from_utf8(bytes).map_err(wrong);
    Ok(read.map_err(|why| GivenError { from: called(file), why })?)
}

/// What it is called in errors.
pub(crate) fn called(file: Option<&Path>) -> String {
    let file = file.filter(|file| file.as_os_str() != "-");
    file.map_or("standard input".to_owned(), |file| file.display().to_string())
}

fn standard_input(most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    plain::no_more_than(bytes, most)
}
