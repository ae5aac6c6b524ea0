//! Layers as files: a head that says what made them, and the hash of what follows.

use super::GENERATOR;
use crate::model::id::Digest;

/// What a file with a layer's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamped {
    /// Made by this version, and as it was made.
    Ours,
    /// Made by another version of the generator, and as it was made.
    Other,
    /// Somebody's own file.
    Foreign,
}

/// The bytes of a layer's file; a text that ends without a newline gets one.
#[must_use]
pub fn stamp(text: &str) -> Vec<u8> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let body = format!("{text}{end}");
    format!("---\ngenerated: {GENERATOR}\nbody: {}\n---\n{body}", Digest::of(body.as_bytes())).into_bytes()
}

/// Whether a file was made by a generator and nobody changed it since. Line ends as git's `autocrlf` writes them
/// make no difference.
#[must_use]
pub fn stamped(bytes: &[u8]) -> Stamped {
    let Ok(text) = std::str::from_utf8(bytes) else { return Stamped::Foreign };
    let text = text.replace("\r\n", "\n");
    let parts = text
        .strip_prefix("---\ngenerated: ")
        .and_then(|rest| rest.split_once("\nbody: "))
        .and_then(|(made, rest)| Some((made, rest.split_once("\n---\n")?)));
    match parts {
        Some((made, (hash, body))) if hash == Digest::of(body.as_bytes()).to_string() => {
            match made.strip_prefix("layers/").map(|version| version.bytes().all(|b| b.is_ascii_digit())) {
                Some(true) if made == GENERATOR => Stamped::Ours,
                Some(true) => Stamped::Other,
                _ => Stamped::Foreign,
            }
        }
        _ => Stamped::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_makes_it_somebodys() {
        let made = stamp("words");
        assert_eq!(stamped(&made), Stamped::Ours);
        let text = String::from_utf8(made).unwrap();
        assert_eq!(stamped(text.replace('\n', "\r\n").as_bytes()), Stamped::Ours);
        assert_eq!(stamped(text.replace(GENERATOR, "layers/1").as_bytes()), Stamped::Other);
        assert_eq!(stamped(text.replace("words", "word").as_bytes()), Stamped::Foreign);
        assert_eq!(stamped(text.replace(GENERATOR, "me").as_bytes()), Stamped::Foreign);
        assert_eq!(stamped(b"# mine\n"), Stamped::Foreign);
    }
}
