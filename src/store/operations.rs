//! The journal of operations: what was done by our commands in one work tree, the newest last, each with what it takes
//! to take it back. One file an operation, under the git directory of the work tree; the oldest go.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::git::Repo;
use crate::model::event::Verdict;
use crate::model::fault::{Explain, Kind};
use crate::model::id::{Oid, ProposalId};
use crate::model::path::VaultPath;

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

/// Bytes of a file: text as it is, anything else as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bytes {
    /// UTF-8.
    Text(String),
    /// Two digits a byte.
    Hex(String),
}

impl Bytes {
    /// The bytes in the form that they are kept in.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Bytes {
        match std::str::from_utf8(bytes) {
            Ok(text) => Bytes::Text(text.to_owned()),
            Err(_) => Bytes::Hex(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        }
    }

    /// The bytes; `None` when the digits are none.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Bytes::Text(text) => Some(text.clone().into_bytes()),
            Bytes::Hex(digits) => {
                let digits = digits.as_bytes();
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let pair = |pair: &[u8]| Some((digit(pair.first()?)? * 16 + digit(pair.get(1)?)?) as u8);
                digits.chunks(2).map(pair).collect()
            }
        }
    }
}

/// How the bytes of one file changed: behind the first `at` bytes, `old` gave way to `new`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// How many bytes before are the same.
    pub at: u64,
    /// What stood there.
    pub old: Bytes,
    /// What stands there.
    pub new: Bytes,
}

impl Patch {
    /// The least that differs.
    #[must_use]
    pub fn between(old: &[u8], new: &[u8]) -> Patch {
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        Patch {
            at: head as u64,
            old: Bytes::of(&old[head..old.len() - tail]),
            new: Bytes::of(&new[head..new.len() - tail]),
        }
    }

    /// The bytes before the change, from those after it.
    #[must_use]
    pub fn unapply(&self, new: &[u8]) -> Option<Vec<u8>> {
        let (old, there) = (self.old.bytes()?, self.new.bytes()?);
        let at = usize::try_from(self.at).ok()?;
        let rest = new.get(at..)?.strip_prefix(there.as_slice())?;
        Some([&new[..at], &old, rest].concat())
    }

    fn reversed(&self) -> Patch {
        Patch { at: self.at, old: self.new.clone(), new: self.old.clone() }
    }
}

/// One thing that an operation did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum Effect {
    /// A file or directory got another name.
    Moved {
        /// Where it stood.
        from: VaultPath,
        /// Where it stands.
        to: VaultPath,
    },
    /// A file was written, made or removed.
    File {
        /// The file.
        path: VaultPath,
        /// What it was, as a blob's name; none if it was not there.
        before: Option<Oid>,
        /// What it is; none if it is gone.
        after: Option<Oid>,
        /// How its bytes differ.
        patch: Patch,
    },
    /// A file or directory was removed of which a commit has every byte.
    Removed {
        /// What was removed.
        path: VaultPath,
        /// The commit that has it.
        commit: Oid,
    },
    /// A file or directory was removed and kept elsewhere.
    PutAway {
        /// What was removed.
        path: VaultPath,
        /// Where it is.
        kept: PathBuf,
    },
    /// What had been removed was put back.
    Restored {
        /// What was put back.
        path: VaultPath,
    },
    /// A commit on the approved branch.
    Committed {
        /// The commit.
        commit: Oid,
    },
    /// A proposal was merged.
    Merged {
        /// The proposal.
        proposal: ProposalId,
    },
    /// A proposal was begun.
    Opened {
        /// The proposal.
        proposal: ProposalId,
    },
    /// A content commit on a proposal's branch.
    Wrote {
        /// The proposal.
        proposal: ProposalId,
        /// The commit.
        commit: Oid,
    },
    /// A proposal was submitted.
    Submitted {
        /// The proposal.
        proposal: ProposalId,
    },
    /// A proposal was withdrawn.
    Withdrawn {
        /// The proposal.
        proposal: ProposalId,
    },
    /// A verdict was given.
    Judged {
        /// The proposal.
        proposal: ProposalId,
        /// The event.
        event: Oid,
        /// The verdict.
        verdict: Verdict,
    },
}

impl Effect {
    /// A file that was written, made or removed; `None` where nothing differs.
    #[must_use]
    pub fn file(path: &VaultPath, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<Effect> {
        (before != after).then(|| Effect::File {
            path: path.clone(),
            before: before.map(Repo::hash_blob),
            after: after.map(Repo::hash_blob),
            patch: Patch::between(before.unwrap_or_default(), after.unwrap_or_default()),
        })
    }

    /// The effect of taking this one back, as far as it is one on files that needs nothing but itself.
    #[must_use]
    pub fn reversed(&self) -> Option<Effect> {
        match self {
            Effect::Moved { from, to } => Some(Effect::Moved { from: to.clone(), to: from.clone() }),
            Effect::File { path, before, after, patch } => Some(Effect::File {
                path: path.clone(),
                before: *after,
                after: *before,
                patch: patch.reversed(),
            }),
            _ => None,
        }
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
        let bytes = fs::read(&path).map_err(io)?;
        let operation: Operation = serde_json::from_slice(&bytes).map_err(|why| form(why.to_string()))?;
        if operation.version != 1 {
            return Err(form(format!("version {} is not known", operation.version)));
        }
        if operation.number != number {
            return Err(form(format!("it says that it is number {}", operation.number)));
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
        let text = serde_json::to_vec(operation)
            .map_err(|why| OperationsError::Form { path: path.clone(), why: why.to_string() })?;
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
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn a_patch_gives_the_bytes_before_it(
            old in proptest::collection::vec(0u8..4, 0..12),
            new in proptest::collection::vec(0u8..4, 0..12),
        ) {
            let patch = Patch::between(&old, &new);
            prop_assert_eq!(patch.unapply(&new).unwrap(), old.clone());
            prop_assert_eq!(patch.reversed().unapply(&old).unwrap(), new);
        }

        #[test]
        fn bytes_come_back_as_they_were(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(Bytes::of(&bytes).bytes().unwrap(), bytes);
        }
    }
}
