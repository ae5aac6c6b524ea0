//! Identifiers, each of its own type, so that a commit cannot be taken for a digest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A text that is no valid identifier of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct IdError {
    /// What was read.
    pub text: String,
    /// What it should have been, with its article.
    pub expected: &'static str,
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]])
        .map(char::from)
        .collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let value = |b: u8| if b.is_ascii_digit() { b - b'0' } else { b - b'a' + 10 };
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    Some(out)
}

macro_rules! text_forms {
    ($name:ident) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $name::PATTERN })
            }
        }
    };
}

/// The SHA-1 name of a git object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid(pub [u8; 20]);

impl Oid {
    const PATTERN: &str = "^[0-9a-f]{40}$";

    /// The name that git uses for "no object".
    pub const ZERO: Oid = Oid([0; 20]);

    /// The first eight digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        hex(&self.0[..4])
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for Oid {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        unhex(text).map(Oid).ok_or_else(|| IdError {
            text: text.to_owned(),
            expected: "an object name (40 hexadecimal digits in lower case)",
        })
    }
}

text_forms!(Oid);

/// A SHA-256 sum, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    const PATTERN: &str = "^sha256:[0-9a-f]{64}$";

    /// The sum of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// `sha256:` and the first twelve digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        format!("sha256:{}", hex(&self.0[..6]))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}

impl FromStr for Digest {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.strip_prefix("sha256:").and_then(unhex).map(Digest).ok_or_else(|| IdError {
            text: text.to_owned(),
            expected: "a digest (`sha256:` and 64 hexadecimal digits in lower case)",
        })
    }
}

text_forms!(Digest);

/// The name of a text that is embedded, by its content: the first half of its SHA-256 sum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey(pub [u8; 16]);

impl TextKey {
    /// The name of a text.
    #[must_use]
    pub fn of(text: &str) -> TextKey {
        let sum: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let mut key = [0; 16];
        key.copy_from_slice(&sum[..16]);
        TextKey(key)
    }
}

impl fmt::Debug for TextKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// The digits of Crockford's base32 in lower case (no `i`, `l`, `o`, `u`).
const CROCKFORD: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The name of a proposal: eight characters of lower-case Crockford base32.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProposalId(String);

impl ProposalId {
    const PATTERN: &str = "^[0-9a-hjkmnp-tv-z]{8}$";

    /// The name that five random bytes give (40 bits, five a character).
    #[must_use]
    pub fn from_random(bytes: [u8; 5]) -> ProposalId {
        let bits = bytes.iter().fold(0u64, |bits, b| bits << 8 | u64::from(*b));
        ProposalId((0..8).rev().map(|i| char::from(CROCKFORD[(bits >> (5 * i) & 31) as usize])).collect())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The branch of an open proposal.
    #[must_use]
    pub fn open_ref(&self) -> String {
        format!("refs/heads/proposal/{self}")
    }

    /// The branch of a closed proposal, merged or not.
    #[must_use]
    pub fn closed_ref(&self) -> String {
        format!("refs/heads/closed/{self}")
    }

    /// The reference that keeps the tip last seen.
    #[must_use]
    pub fn seen_ref(&self) -> String {
        format!("refs/runebook/seen/{self}")
    }
}

impl fmt::Display for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProposalId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.len() == 8 && text.bytes().all(|b| CROCKFORD.contains(&b)) {
            Ok(ProposalId(text.to_owned()))
        } else {
            Err(IdError {
                text: text.to_owned(),
                expected: "a proposal's name (8 characters of 0-9 and a-z without i, l, o, u)",
            })
        }
    }
}

text_forms!(ProposalId);

/// The name of an actor: 1 to 64 of `a-z 0-9 . _ -`, beginning with a letter or digit.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorId(String);

impl ActorId {
    const PATTERN: &str = "^[a-z0-9][a-z0-9._-]{0,63}$";

    /// The name of a vault's only person when nothing better is known.
    #[must_use]
    pub fn owner() -> ActorId {
        ActorId("owner".to_owned())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ActorId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
        let first = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if first && text.len() <= 64 && text.bytes().all(fits) {
            Ok(ActorId(text.to_owned()))
        } else {
            Err(IdError {
                text: text.to_owned(),
                expected: "an actor's name (1 to 64 of a-z, 0-9, `.`, `_`, `-`, beginning with a letter or digit)",
            })
        }
    }
}

text_forms!(ActorId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_back() {
        let oid: Oid = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
        assert_eq!(oid.to_string().parse::<Oid>().unwrap(), oid);
        assert_eq!(oid.short(), "01234567");
        assert!("0123456789ABCDEF0123456789abcdef01234567".parse::<Oid>().is_err());
        let digest = Digest::of(b"");
        assert_eq!(
            digest.to_string(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    }

    #[test]
    fn proposal_names_use_all_forty_bits() {
        assert_eq!(ProposalId::from_random([0; 5]).as_str(), "00000000");
        assert_eq!(ProposalId::from_random([255; 5]).as_str(), "zzzzzzzz");
        assert_eq!(ProposalId::from_random([0, 0, 0, 0, 1]).as_str(), "00000001");
        assert!("7k3qm2xd".parse::<ProposalId>().is_ok());
        assert!("7k3qm2xi".parse::<ProposalId>().is_err());
        assert!("7K3QM2XD".parse::<ProposalId>().is_err());
    }

    #[test]
    fn actor_names_are_safe_in_a_commit_line() {
        assert!("reviewer-gpt".parse::<ActorId>().is_ok());
        for bad in ["", "-x", "a b", "a<b", "A", "名"] {
            assert!(bad.parse::<ActorId>().is_err(), "{bad}");
        }
    }
}
