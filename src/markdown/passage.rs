//! What of a memory a model is given: each chunk with its place in front, since a paragraph says less by itself than
//! under its title and headings.

use super::noise::blanked;
use super::tokens::quarters;
use crate::model::id::TextKey;
use crate::model::memory::{Chunk, Memory};

/// The most tokens (see [`super::tokens`]) of the place: with a chunk of 400 they stay within the 512 that models take.
const PLACE_TOKENS: u32 = 64;

/// The texts of a memory that are embedded, one a chunk; a memory without words is its title.
#[must_use]
pub fn passages(memory: &Memory, chunks: &[Chunk]) -> Vec<String> {
    if chunks.is_empty() {
        return vec![place(&memory.title, &[])];
    }
    let body = |chunk: &Chunk| blanked(memory.text.get(chunk.range.clone()).unwrap_or_default());
    let text = |chunk: &Chunk| format!("{}\n{}", place(&memory.title, &chunk.headings), body(chunk).trim());
    chunks.iter().map(text).collect()
}

/// Their names, in the same order.
#[must_use]
pub fn keys(memory: &Memory, chunks: &[Chunk]) -> Vec<TextKey> {
    passages(memory, chunks).iter().map(|text| TextKey::of(text)).collect()
}

/// The title and the headings, outermost first, cut at the limit.
fn place(title: &str, headings: &[String]) -> String {
    let mut out = String::new();
    let mut room = PLACE_TOKENS * 4;
    let parts =
        std::iter::once(title).chain(headings.iter().map(String::as_str).filter(|text| *text != title));
    for (at, part) in parts.enumerate() {
        if at > 0 {
            out.push_str(" › ");
        }
        for c in part.chars() {
            let Some(left) = room.checked_sub(quarters(c)) else { return out };
            room = left;
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::{chunk, read};
    use crate::model::config::Config;
    use crate::model::path::VaultPath;

    fn passages_of(text: &str) -> Vec<String> {
        let path = VaultPath::parse("notes/seats.md").unwrap();
        let memory = read(&path, text.as_bytes(), &Config::default());
        passages(&memory, &chunk::chunks(&memory, 400))
    }

    #[test]
    fn a_chunk_stands_under_its_title_and_headings() {
        let found = passages_of("# Seats\n\nBy the window.\n\n## Trains\n\n靠窗。\n");
        assert_eq!(found, ["Seats\n# Seats\n\nBy the window.", "Seats › Trains\n## Trains\n\n靠窗。"]);
        assert_eq!(passages_of(""), ["seats"]);
    }

    #[test]
    fn a_long_title_leaves_room_for_the_chunk() {
        let found = passages_of(&format!("# {}\n\nBy the window.\n", "靠窗".repeat(500)));
        assert!(found[0].starts_with(&format!("{}\n# 靠窗", "靠窗".repeat(32))));
    }
}
