//! The journal of operations: what was done by our commands in one work tree, the newest last, each with what it takes
//! to take it back. One file an operation, under the git directory of the work tree; the oldest go.
//!
//! The first line of a file is the operation as it was begun, each further one a list of effects that came later. A last
//! line without its end was being written when the run was killed: what it says was not begun.

mod effect;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::fault::{Explain, Kind};
use crate::store::plain;
pub use effect::{Bytes, Effect, Patch};

/// How many operations are kept.
pub const KEPT: usize = 200;
/// How much room they may take, in bytes; the newest one is always kept.
pub const ROOM: u64 = 64 << 20;

/// Why the journal cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum OperationsError {
    /// Reading or writing failed.
    #[error("the journal of operations {}: {why}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// It is not of the form.
    #[error("the operation {} cannot be read: {why}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Explain for OperationsError {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            OperationsError::Io { why, .. } if why.kind() == io::ErrorKind::StorageFull => {
                "the disk is full: make room and run this again".to_owned()
            }
            OperationsError::Io { path, .. } => {
                format!("make {} writable; without the journal nothing could be undone", path.display())
            }
            OperationsError::Form { path, .. } => {
                format!("remove {}: that operation can no longer be undone then", path.display())
            }
        })
    }
}

/// One operation: what one command did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The version of the form: 1.
    pub version: u32,
    /// Its number; later ones have greater numbers.
    pub number: u64,
    /// When.
    pub at: String,
    /// Who: an actor's id, or the address of a person whom the vault does not know.
    pub who: String,
    /// What, in words, as an imperative (`move a.md to b.md`).
    pub what: String,
    /// The operation that it took back, if it is an `undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// Whether it was taken back.
    #[serde(default)]
    pub undone: bool,
    /// What it did, in order.
    pub effects: Vec<Effect>,
}

/// The journal of one work tree.
#[derive(Debug, Clone)]
pub struct Operations {
    directory: PathBuf,
}

impl Operations {
    /// The journal of the work tree with a git directory.
    #[must_use]
    pub fn of(git_dir: &Path) -> Operations {
        Operations { directory: git_dir.join("runebook/operations") }
    }

    fn place(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:010}.json"))
    }

    /// The numbers of the operations that are kept, oldest first.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn numbers(&self) -> Result<Vec<u64>, OperationsError> {
        let io = |why| OperationsError::Io { path: self.directory.clone(), why };
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(io(why)),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.map_err(io)?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".json")?.parse::<u64>().ok());
            // A name that this program would not give is nobody's operation.
            numbers.extend(number.filter(|number| self.place(*number).file_name() == Some(&name)));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// One operation.
    ///
    /// # Errors
    /// When it is not there or cannot be read.
    pub fn read(&self, number: u64) -> Result<Operation, OperationsError> {
        let path = self.place(number);
        let io = |why| OperationsError::Io { path: path.clone(), why };
        let form = |why: String| OperationsError::Form { path: path.clone(), why };
        // A link or a pipe that somebody put there is not followed and not waited for.
        if !path.symlink_metadata().map_err(io)?.is_file() {
            return Err(form("it is no file".to_owned()));
        }
        let bytes = plain::read(&path).map_err(io)?;
        let (first, more) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&bytes[..end], &bytes[end + 1..]),
            None => (&bytes[..], &[][..]),
        };
        let mut operation: Operation = serde_json::from_slice(first).map_err(|why| form(why.to_string()))?;
        if operation.version != 1 {
            return Err(form(format!("version {} is not known", operation.version)));
        }
        if operation.number != number {
            return Err(form(format!("it says that it is number {}", operation.number)));
        }
        for line in more.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            let effects: Vec<Effect> = serde_json::from_slice(line).map_err(|why| form(why.to_string()))?;
            operation.effects.extend(effects);
        }
        Ok(operation)
    }

    /// Writes an operation anew, or one that is there with other contents: whole or not at all. It does not wait for the
    /// disk: what a power cut takes is the undoing of the last command, not its work.
    ///
    /// # Errors
    /// When that fails; the old one stays then.
    pub fn write(&self, operation: &Operation) -> Result<(), OperationsError> {
        let path = self.place(operation.number);
        let filled = self.fill(operation)?;
        filled.persist(&path).map_err(|error| OperationsError::Io { path, why: error.error })?;
        Ok(())
    }

    /// Adds effects to an operation that is there. It costs what they are, however many stand there already.
    ///
    /// # Errors
    /// When that fails; what stands there is whole still.
    pub fn extend(&self, number: u64, effects: &[Effect]) -> Result<(), OperationsError> {
        let path = self.place(number);
        let io = |why| OperationsError::Io { path: path.clone(), why };
        let form = |why: String| OperationsError::Form { path: path.clone(), why };
        if !path.symlink_metadata().map_err(io)?.is_file() {
            return Err(form("it is no file".to_owned()));
        }
        let mut line = serde_json::to_vec(effects).map_err(|why| form(why.to_string()))?;
        line.push(b'\n');
        fs::OpenOptions::new().append(true).open(&path).and_then(|mut file| file.write_all(&line)).map_err(io)
    }

    /// Writes a new operation behind the others, with the next number, and lets the oldest go. Of two processes at once
    /// neither takes the other's number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&self, mut operation: Operation) -> Result<u64, OperationsError> {
        loop {
            let numbers = self.numbers()?;
            let last = numbers.last().copied().unwrap_or_default();
            operation.number = last.checked_add(1).ok_or_else(|| OperationsError::Form {
                path: self.place(last),
                why: "there is no number behind it".to_owned(),
            })?;
            let path = self.place(operation.number);
            match self.fill(&operation)?.persist_noclobber(&path) {
                Ok(_) => {
                    self.shed(&numbers);
                    return Ok(operation.number);
                }
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(OperationsError::Io { path, why: error.error }),
            }
        }
    }

    /// A file with an operation that has no name yet.
    fn fill(&self, operation: &Operation) -> Result<tempfile::NamedTempFile, OperationsError> {
        let path = self.place(operation.number);
        let io = |why| OperationsError::Io { path: path.clone(), why };
        let mut text = serde_json::to_vec(operation)
            .map_err(|why| OperationsError::Form { path: path.clone(), why: why.to_string() })?;
        text.push(b'\n');
        fs::create_dir_all(&self.directory).map_err(io)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.directory).map_err(io)?;
        file.write_all(&text).map_err(io)?;
        Ok(file)
    }

    /// Removes one: it did not happen.
    pub fn forget(&self, number: u64) {
        // What cannot be removed is harmless: undoing it finds nothing as it would have left it.
        let _ = fs::remove_file(self.place(number));
    }

    /// Lets the oldest go where there are too many or they take too much room.
    fn shed(&self, numbers: &[u64]) {
        let mut room = 0;
        for (behind, number) in numbers.iter().rev().enumerate() {
            let path = self.place(*number);
            room += path.metadata().map_or(0, |data| data.len());
            if behind + 1 >= KEPT || room > ROOM {
                let _ = fs::remove_file(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::Oid;
    use crate::model::path::VaultPath;

    fn operation(effects: Vec<Effect>) -> Operation {
        Operation {
            version: 1,
            number: 0,
            at: "2026-11-29T10:00:00+08:00".to_owned(),
            who: "mei".to_owned(),
            what: "move a.md to b.md".to_owned(),
            undoes: None,
            undone: false,
            effects,
        }
    }

    #[test]
    fn what_was_written_is_read_in_order_and_the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Operations::of(dir.path());
        assert!(journal.numbers().unwrap().is_empty());
        let path = VaultPath::parse("日记/a.md").unwrap();
        let effects = vec![
            Effect::file(&path, Some(b"\xFF old"), Some("新".as_bytes())).unwrap(),
            Effect::Removed { path: path.clone(), commit: Oid([7; 20]) },
        ];
        let first = journal.append(operation(effects.clone())).unwrap();
        assert_eq!(journal.read(first).unwrap().effects, effects);
        for _ in 0..KEPT + 5 {
            journal.append(operation(Vec::new())).unwrap();
        }
        let numbers = journal.numbers().unwrap();
        assert_eq!(numbers.len(), KEPT);
        assert_eq!(*numbers.last().unwrap(), KEPT as u64 + 6);
        fs::write(journal.place(numbers[0]), "{").unwrap();
        assert!(journal.read(numbers[0]).unwrap_err().hint().unwrap().contains("remove"));
        assert!(Effect::file(&path, Some(b"a"), Some(b"a")).is_none());
    }

    #[test]
    fn what_comes_later_is_added_and_a_torn_line_was_not_begun() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Operations::of(dir.path());
        let removed = |name: &str| {
            vec![Effect::Removed { path: VaultPath::parse(name).unwrap(), commit: Oid([7; 20]) }]
        };
        let number = journal.append(operation(removed("a\u{2028}.md"))).unwrap();
        journal.extend(number, &removed("b.md")).unwrap();
        journal.extend(number, &removed("c.md")).unwrap();
        let all = journal.read(number).unwrap();
        assert_eq!(all.effects, [removed("a\u{2028}.md"), removed("b.md"), removed("c.md")].concat());
        let whole = fs::read(journal.place(number)).unwrap();
        fs::write(journal.place(number), &whole[..whole.len() - 9]).unwrap();
        assert_eq!(journal.read(number).unwrap().effects.len(), 2);
        fs::write(journal.place(number), [&whole[..], b"[{\n"].concat()).unwrap();
        assert!(journal.read(number).is_err(), "a whole line that is none is damage");
        // One that says it all in one line, as it is written anew.
        fs::write(journal.place(number), &whole).unwrap();
        journal.write(&all).unwrap();
        assert_eq!(journal.read(number).unwrap(), all);
        assert!(journal.extend(number + 1, &removed("d.md")).is_err());
    }

    #[test]
    fn what_others_put_there_is_no_operation_and_stops_none() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Operations::of(dir.path());
        let first = journal.append(operation(Vec::new())).unwrap();
        for name in ["7.json", "+0000000008.json", "99999999999999999999999.json", "0000000009.json.json"] {
            fs::write(journal.directory.join(name), "{}").unwrap();
        }
        assert_eq!(journal.append(operation(Vec::new())).unwrap(), first + 1);
        fs::copy(journal.place(first), journal.place(40)).unwrap();
        assert!(journal.read(40).unwrap_err().to_string().contains("number 1"));
        fs::create_dir(journal.place(41)).unwrap();
        assert!(journal.read(41).unwrap_err().to_string().contains("no file"));
        assert_eq!(journal.append(operation(Vec::new())).unwrap(), 42);
        fs::write(journal.place(u64::MAX), "{}").unwrap();
        assert!(journal.append(operation(Vec::new())).unwrap_err().hint().unwrap().contains("remove"));
    }

    #[test]
    fn operations_noted_at_once_all_stay() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Operations::of(dir.path());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..12 {
                        journal.append(operation(Vec::new())).unwrap();
                    }
                });
            }
        });
        assert_eq!(journal.numbers().unwrap().len(), 96);
    }
}
