//! What stands around a chunk: the other chunks of its memory, and for small memories that follow one another in a
//! directory (the turns of a conversation, the notes of days) the memories before and behind.
//!
//! Both are looked up when a question is asked. So a view that has another neighbour scores by that one, a memory that
//! a reader may not see lends its words to nobody, and a change costs what it changes.

use std::collections::{BTreeMap, HashMap};

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, TERMINATED, Term};

use super::text::Facts;
use super::text_filter::Filter;
use super::text_view::View;

/// How far the surroundings reach, in memories to each side.
const REACH: usize = 2;
/// How many that do not pass the filters are stepped over on one side, in one segment.
const PATIENCE: usize = 16;

/// How many chunks of one memory are looked at.
const MOST_CHUNKS: usize = 32;

/// Where a chunk is: its segment and its number there.
pub(super) type Place = (usize, u32);

/// What stands around some memories of one chunk each.
#[derive(Debug, Default)]
pub(super) struct Near {
    /// The chunks around each chunk that can be found, nearest or not; in the order in which they stand.
    pub(super) around: BTreeMap<Place, Vec<Place>>,
    /// The memory of each chunk in them.
    pub(super) memories: HashMap<Place, u64>,
}

/// The key by which the memories of a directory stand in their order, if this one is of a row: an event, or a note with
/// a day in its name. Numbers in names are compared as numbers. A number alone makes no row: what a program numbered
/// need not have to do with what it numbered next.
pub(super) fn order_key(path: &str, episodic: bool) -> Option<String> {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    if !episodic && !has_day(name) {
        return None;
    }
    let mut key = format!("{dir}\u{1}");
    let mut digits = 0;
    for (at, c) in name.char_indices() {
        if c.is_ascii_digit() && digits == 0 {
            digits = name[at..].bytes().take_while(u8::is_ascii_digit).count();
            key.extend(std::iter::repeat_n('0', 12usize.saturating_sub(digits)));
        }
        digits = digits.saturating_sub(1);
        key.push(c);
    }
    // A longer one does not fit into the index; nothing that long is a row.
    (key.len() < 2_000).then_some(key)
}

/// Whether a name holds a day: `2026-11-28`, `20261128`, `2026年11月28日`.
fn has_day(name: &str) -> bool {
    let digits: Vec<char> = name.chars().collect();
    let number = |at: usize, count: usize| {
        digits.get(at..at + count).is_some_and(|part| part.iter().all(char::is_ascii_digit))
    };
    (0..digits.len()).any(|at| {
        let gap = usize::from(digits.get(at + 4).is_some_and(|c| !c.is_ascii_digit()));
        number(at, 4) && number(at + 4 + gap, 2) && number(at + 6 + 2 * gap, 2)
    })
}

impl Near {
    /// What stands around some memories of one chunk each, and passes the filters.
    pub(super) fn of(
        view: &View,
        centres: &[(Place, u64)],
        filters: &mut [Filter<'_>],
    ) -> tantivy::Result<Near> {
        let mut near = Near::default();
        for centre in centres {
            let (segment, chunk) = centre.0;
            let facts = filters[segment].facts.first(chunk).unwrap_or(0);
            if !Facts::is_in_row(facts) || near.around.contains_key(&centre.0) {
                continue;
            }
            let Some(path) = filters[segment].path_of(chunk) else { continue };
            let row = row_around(view, &path, Facts::kind_of(facts) == 3, *centre, filters)?;
            near.take(&row, centre.0);
        }
        Ok(near)
    }

    /// Takes up the middle of a row: `centre` and what stands within reach of it, each with its own surroundings.
    fn take(&mut self, line: &[(Place, u64)], centre: Place) {
        let Some(middle) = line.iter().position(|(place, _)| *place == centre) else { return };
        let within = |at: usize| at.saturating_sub(REACH)..=(at + REACH).min(line.len() - 1);
        for at in within(middle) {
            let around = within(at).filter(|other| *other != at).map(|other| line[other].0).collect();
            self.around.entry(line[at].0).or_insert(around);
            for other in within(at) {
                self.memories.insert(line[other].0, line[other].1);
            }
        }
    }
}

/// The chunks of a memory in their order; of a memory of very many the nearest to one of them.
pub(super) fn chunks(view: &View, memory: u64, nearest: Place) -> tantivy::Result<Vec<Place>> {
    let term = Term::from_field_u64(view.fields.doc, memory);
    let mut found = Vec::new();
    for (at, segment) in view.searcher.segment_readers().iter().enumerate() {
        let inverted = segment.inverted_index(view.fields.doc)?;
        let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else { continue };
        let ords = view.ords(at);
        while postings.doc() != TERMINATED {
            if !view.unseen[at].bits.has(postings.doc()) {
                found.push((ords.first(postings.doc()).unwrap_or(0), (at, postings.doc())));
            }
            postings.advance();
        }
    }
    found.sort_unstable();
    let middle = found.iter().position(|(_, place)| *place == nearest).unwrap_or(0);
    let from = middle.saturating_sub(MOST_CHUNKS / 2);
    Ok(found.into_iter().skip(from).take(MOST_CHUNKS).map(|(_, place)| place).collect())
}

/// The memories of a row around one of them, it among them, twice as far as the surroundings reach.
fn row_around(
    view: &View,
    path: &str,
    episodic: bool,
    centre: (Place, u64),
    filters: &mut [Filter<'_>],
) -> tantivy::Result<Vec<(Place, u64)>> {
    let Some(key) = order_key(path, episodic) else { return Ok(vec![centre]) };
    let before = one_side(view, &key, false, filters)?;
    let behind = one_side(view, &key, true, filters)?;
    Ok(before.into_iter().rev().chain([centre]).chain(behind).collect())
}

/// The nearest on one side, nearest first.
fn one_side(
    view: &View,
    key: &str,
    behind: bool,
    filters: &mut [Filter<'_>],
) -> tantivy::Result<Vec<(Place, u64)>> {
    let dir = key.split('\u{1}').next().unwrap_or_default();
    let mut found: Vec<(Vec<u8>, Place, u64)> = Vec::new();
    for (at, segment) in view.searcher.segment_readers().iter().enumerate() {
        let inverted = segment.inverted_index(view.fields.order)?;
        let range = inverted.terms().range();
        let mut terms = if behind {
            range.gt(key).lt(format!("{dir}\u{2}")).into_stream()?
        } else {
            range.ge(format!("{dir}\u{1}")).lt(key).backward().into_stream()?
        };
        let (mut taken, mut tried) = (0, 0);
        while taken < 2 * REACH && tried < PATIENCE && terms.advance() {
            let name = terms.key().to_vec();
            let mut postings =
                inverted.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
            while postings.doc() != TERMINATED {
                // What the view does not see does not count: it would not be there in an index built anew.
                if let Some(memory) = filters[at].pass(postings.doc()) {
                    found.push((name.clone(), (at, postings.doc()), memory));
                    taken += 1;
                } else if !filters[at].unseen.has(postings.doc()) {
                    tried += 1;
                }
                postings.advance();
            }
        }
    }
    found.sort_unstable();
    if !behind {
        found.reverse();
    }
    found.truncate(2 * REACH);
    Ok(found.into_iter().map(|(_, place, memory)| (place, memory)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_stand_in_the_order_of_the_numbers() {
        let key = |name: &str| order_key(&format!("a/{name}"), true).unwrap();
        assert!(key("turn-2.md") < key("turn-10.md"));
        assert!(key("2026-11-28.md") < key("2026-12-01.md"));
        assert!(key("2026-11-28 b.md") > key("2026-11-28 a.md"));
        assert_eq!(order_key("a/notes.md", false), None);
        assert!(order_key("a/notes.md", true).is_some());
        assert_eq!(order_key("00017.md", false), None, "a number is no day");
        for name in ["2026-11-28.md", "20261128 x.md", "日记2026年11月28日.md"] {
            assert!(order_key(name, false).is_some(), "{name}");
        }
        assert_eq!(order_key("7.md", true).unwrap(), "\u{1}000000000007.md");
    }
}
