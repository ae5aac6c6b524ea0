//! The merge driver of layer files.

use crate::layers::{Stamped, stamped};
use crate::model::fault::Fault;
use crate::store::git::{Merged, merge};

/// What a merged layer file becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// Ours stays as it is; it is made anew once everything is merged.
    Ours,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Two persons' words that do not fit together: git shows the conflict.
    Conflict,
}

/// Decides about a layer file that both sides changed. What a generator made says nothing that could not be made
/// again, so a person's file wins over it; two persons' files are merged like any text.
///
/// # Errors
/// When libgit2 fails.
pub fn merge_layer(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Side, Fault> {
    let own = |bytes: &[u8]| stamped(bytes) == Stamped::Foreign;
    Ok(match (own(ours), own(theirs)) {
        (_, false) => Side::Ours,
        (false, true) => Side::Bytes(theirs.to_vec()),
        (true, true) => {
            // Of a base that a generator made nothing is left that either side would miss.
            let base: &[u8] = if own(base) { base } else { b"" };
            match merge(base, ours, theirs)? {
                Merged::Clean(bytes) => Side::Bytes(bytes),
                Merged::Conflict(_) => Side::Conflict,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::stamp;

    #[test]
    fn a_persons_words_win_over_a_generators() {
        let (a, b) = (stamp("one\n"), stamp("two\n"));
        assert_eq!(merge_layer(&stamp("x\n"), &a, &b).unwrap(), Side::Ours);
        assert_eq!(merge_layer(&a, b"mine\n", &b).unwrap(), Side::Ours);
        assert_eq!(merge_layer(&a, &b, b"theirs\n").unwrap(), Side::Bytes(b"theirs\n".to_vec()));
        assert_eq!(merge_layer(&a, b"mine\n", b"theirs\n").unwrap(), Side::Conflict);
        let both = merge_layer(b"1\n2\n3\n4\n5\n", b"0\n2\n3\n4\n5\n", b"1\n2\n3\n4\n6\n").unwrap();
        assert_eq!(both, Side::Bytes(b"0\n2\n3\n4\n6\n".to_vec()));
    }
}
