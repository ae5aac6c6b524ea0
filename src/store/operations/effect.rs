//! What one operation did, with what it takes to take it back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::event::Verdict;
use crate::model::id::{Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::store::git::Repo;

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
        /// The commit that has every byte of it, if one has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<Oid>,
        /// Otherwise what its names and bytes come to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Oid>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
