//! The part of a memory that a fragment names.

use std::ops::Range;

use crate::model::memory::Memory;
use crate::model::uri::Fragment;

/// The bytes of [`Memory::text`] that a fragment names: a heading with all that stands below it up to the next
/// heading of its level, the block with an id, or lines. `None` where the memory has no such part.
#[must_use]
pub fn locate(memory: &Memory, fragment: &Fragment) -> Option<Range<usize>> {
    match fragment {
        Fragment::Lines(from, to) => {
            let mut at = 0;
            let mut start = None;
            for (line, text) in (1u32..).zip(memory.text.split_inclusive('\n')) {
                if line == *from {
                    start = Some(at);
                }
                at += text.len();
                if line == *to {
                    break;
                }
            }
            start.map(|start| start..at)
        }
        Fragment::Heading(_) | Fragment::Block(_) => None,
    }
}
