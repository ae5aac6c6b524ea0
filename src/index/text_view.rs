//! What one view sees of the index, and the statistics of exactly that.
//!
//! tantivy counts deleted documents, and knows nothing of views. Here a document counts if it is alive and the view
//! sees it; so scores are those of an index built anew with nothing else in it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use tantivy::columnar::Column;
use tantivy::postings::Postings as _;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet as _, Searcher, SegmentReader, TERMINATED, Term};

use super::text::{Fields, TextIndex, Totals};
use super::text_near::Place;

/// A set of documents of one segment.
#[derive(Debug, Clone)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn none(count: u32) -> Bits {
        Bits(vec![0; count as usize / 64 + 1])
    }

    pub(super) fn set(&mut self, doc: DocId) {
        if let Some(word) = self.0.get_mut(doc as usize / 64) {
            *word |= 1 << (doc % 64);
        }
    }

    pub(super) fn has(&self, doc: DocId) -> bool {
        self.0.get(doc as usize / 64).is_some_and(|word| word & 1 << (doc % 64) != 0)
    }

    pub(super) fn keep(&mut self, other: &Bits) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }
}

/// The documents of one segment that the view does not see: as a list in order, and as a set.
pub(super) struct Unseen {
    pub(super) list: Vec<DocId>,
    pub(super) bits: Bits,
}

/// Numbers of the chunks of one segment.
struct Columns {
    memory: Column<u64>,
    ord: Column<u64>,
}

impl Columns {
    fn of(segment: &SegmentReader) -> tantivy::Result<Columns> {
        let fast = segment.fast_fields();
        Ok(Columns { memory: fast.u64("doc")?, ord: fast.u64("ord")? })
    }

    /// The chunks of some memories, found by reading all numbers.
    fn of_memories(&self, segment: &SegmentReader, memories: &HashSet<u64>) -> Vec<DocId> {
        let is_one = |chunk: &DocId| self.memory.first(*chunk).is_some_and(|n| memories.contains(&n));
        (0..segment.max_doc()).filter(is_one).collect()
    }
}

/// One view of the index at one moment.
pub(super) struct View {
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    pub(super) unseen: Vec<Unseen>,
    pub(super) totals: Totals,
    columns: Vec<Columns>,
    frequencies: RefCell<HashMap<Term, u64>>,
}

/// Up to this many hidden documents are looked up one by one; more are found by reading all numbers.
const FEW: usize = 2_000;

impl View {
    /// The view without the documents of these numbers. `totals` are those of everything alive.
    pub(super) fn open(index: &TextIndex, hidden: &[u64], totals: &Totals) -> tantivy::Result<View> {
        let searcher = index.reader.searcher();
        let fields = index.fields.clone();
        let mut totals = totals.clone();
        let many: Option<HashSet<u64>> = (hidden.len() > FEW).then(|| hidden.iter().copied().collect());
        let columns: Vec<Columns> =
            searcher.segment_readers().iter().map(Columns::of).collect::<tantivy::Result<_>>()?;
        let mut unseen = Vec::new();
        for (segment, columns) in searcher.segment_readers().iter().zip(&columns) {
            let mut list = match &many {
                Some(many) => columns.of_memories(segment, many),
                None => hidden_in(segment, &fields, hidden)?,
            };
            list.retain(|doc| !segment.is_deleted(*doc));
            totals.chunks = totals.chunks.saturating_sub(list.len() as u64);
            for (field, sum) in fields.searched.iter().zip(&mut totals.tokens) {
                if !list.is_empty() {
                    let lengths = segment.get_fieldnorms_reader(*field)?;
                    let hidden: u64 = list.iter().map(|doc| u64::from(lengths.fieldnorm(*doc))).sum();
                    *sum = sum.saturating_sub(hidden);
                }
            }
            if segment.has_deletes() {
                list.extend((0..segment.max_doc()).filter(|doc| segment.is_deleted(*doc)));
            }
            list.sort_unstable();
            list.dedup();
            let mut bits = Bits::none(segment.max_doc());
            list.iter().for_each(|doc| bits.set(*doc));
            unseen.push(Unseen { list, bits });
        }
        Ok(View { searcher, fields, unseen, totals, columns, frequencies: RefCell::default() })
    }

    /// The numbers of the memories of a segment's chunks.
    pub(super) fn memories(&self, segment: usize) -> &Column<u64> {
        &self.columns[segment].memory
    }

    /// The place of each chunk of a segment in its memory, from 0.
    pub(super) fn ords(&self, segment: usize) -> &Column<u64> {
        &self.columns[segment].ord
    }

    /// The mean length of a field.
    pub(super) fn mean(&self, field: usize) -> f64 {
        self.totals.tokens[field] as f64 / self.totals.chunks.max(1) as f64
    }

    /// How many documents of the view have a term.
    pub(super) fn frequency(&self, term: &Term) -> tantivy::Result<u64> {
        if let Some(known) = self.frequencies.borrow().get(term) {
            return Ok(*known);
        }
        let mut count = 0;
        for (segment, unseen) in self.searcher.segment_readers().iter().zip(&self.unseen) {
            let inverted = segment.inverted_index(term.field())?;
            let Some(info) = inverted.get_term_info(term)? else { continue };
            let has = u64::from(info.doc_freq);
            if unseen.list.is_empty() {
                count += has;
                continue;
            }
            let mut postings = inverted.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
            let mut away = 0;
            if (unseen.list.len() as u64) < has / 8 {
                for doc in &unseen.list {
                    if postings.doc() > *doc {
                        continue;
                    }
                    match postings.seek(*doc) {
                        TERMINATED => break,
                        found => away += u64::from(found == *doc),
                    }
                }
            } else {
                while postings.doc() != TERMINATED {
                    away += u64::from(unseen.bits.has(postings.doc()));
                    postings.advance();
                }
            }
            count += has - away;
        }
        self.frequencies.borrow_mut().insert(term.clone(), count);
        Ok(count)
    }
}

fn hidden_in(segment: &SegmentReader, fields: &Fields, hidden: &[u64]) -> tantivy::Result<Vec<DocId>> {
    let mut list = Vec::new();
    if hidden.is_empty() {
        return Ok(list);
    }
    let inverted = segment.inverted_index(fields.doc)?;
    for number in hidden {
        let term = Term::from_field_u64(fields.doc, *number);
        if let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? {
            while postings.doc() != TERMINATED {
                list.push(postings.doc());
                postings.advance();
            }
        }
    }
    Ok(list)
}

impl Bm25StatisticsProvider for View {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let at = self.fields.searched.iter().position(|searched| *searched == field);
        Ok(at.map_or(0, |at| self.totals.tokens[at]))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.totals.chunks)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.frequency(term)?.min(self.totals.chunks))
    }
}

/// Where a term stands in some chunks of one segment, which come in their order: `each` is called with the number of each
/// chunk that has it, and the positions there.
pub(super) fn stands(
    reader: &SegmentReader,
    term: &Term,
    chunks: &[Place],
    mut each: impl FnMut(usize, &[u32]),
) -> tantivy::Result<()> {
    let inverted = reader.inverted_index(term.field())?;
    let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::WithFreqsAndPositions)? else {
        return Ok(());
    };
    let mut positions = Vec::new();
    for (number, (_, chunk)) in chunks.iter().enumerate() {
        if postings.doc() < *chunk {
            postings.seek(*chunk);
        }
        if postings.doc() == *chunk {
            postings.positions(&mut positions);
            each(number, &positions);
        }
    }
    Ok(())
}
