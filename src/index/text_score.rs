//! What memories score, exactly: in double precision, term by term in one order, so that an answer does not depend on
//! how the index is laid out.
//!
//! A score is a sum of BM25 over the fields. What the body says is scored twice, in the whole memory and in its best
//! chunk, and the two are mixed: a question about a memory as a whole finds its words in several chunks, one about a
//! detail of a long one in a single chunk. A small memory that stands in a row (see [`super::text_near`]) has what
//! stands around it as one more field, at a lower weight.

use std::collections::{BTreeMap, HashMap};

use tantivy::postings::Postings as _;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, SegmentReader, Term};

use super::text::{BODY, FIELDS, STARTS};
use super::text_near::{Near, Place};
use super::text_prefix::Prefix;
use super::text_terms::Sought;
use super::text_view::View;

/// BM25's constants (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, 3.2),
/// the same as tantivy's.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// The weight of what stands around a memory.
const AROUND: f64 = 0.8;
/// How many stand around one at most: the mean length of surroundings is that many mean bodies.
const MOST_AROUND: f64 = 4.0;
/// The share of the best chunk in what the body scores; the rest is the whole memory's.
const CHUNK: f64 = 0.3;

/// A term in a field, with its weight.
pub(super) struct Unit {
    pub(super) field: usize,
    pub(super) term: String,
    pub(super) boost: f64,
    pub(super) what: What,
    frequency: u64,
}

/// What a unit looks up.
pub(super) enum What {
    Term(Term),
    Prefix(Prefix),
}

/// What a query's terms look up in each field; those that no chunk of the view has are left out.
pub(super) fn units(view: &View, sought: &Sought) -> tantivy::Result<Vec<Unit>> {
    let mut units = Vec::new();
    for (field, (name, weight)) in FIELDS.iter().enumerate().filter(|(field, _)| *field != STARTS) {
        for term in &sought.terms {
            if term.bodies_only && !matches!(*name, "title" | "body") {
                continue;
            }
            let boost = weight * term.weight;
            if term.prefix {
                let prefix = Prefix::find(view, field, &term.text)?;
                let frequency = prefix.frequency;
                units.push(Unit {
                    field,
                    term: term.text.clone(),
                    boost,
                    what: What::Prefix(prefix),
                    frequency,
                });
            } else {
                units.push(unit(view, field, &term.text, boost)?);
            }
        }
    }
    for (start, weight) in &sought.starts {
        units.push(unit(view, STARTS, start, FIELDS[STARTS].1 * weight)?);
    }
    units.retain(|unit| unit.frequency > 0);
    Ok(units)
}

fn unit(view: &View, field: usize, text: &str, boost: f64) -> tantivy::Result<Unit> {
    let term = Term::from_field_text(view.fields.searched[field], text);
    let frequency = view.frequency(&term)?;
    Ok(Unit { field, term: text.to_owned(), boost, what: What::Term(term), frequency })
}

/// What one chunk scores.
#[derive(Debug, Clone)]
pub(super) struct Scored {
    pub(super) place: Place,
    pub(super) memory: u64,
    /// Its number in the memory.
    pub(super) ord: u64,
    /// By the words of all fields, which is how candidates are found.
    pub(super) words: f64,
    /// By all.
    pub(super) score: f64,
    /// The part of the body and of how its words begin.
    body: f64,
    parts: Vec<(usize, f64)>,
    /// How often the chunk has the term of each unit of those two, in their order, and how long they are.
    counts: Vec<u32>,
    lengths: [u32; 2],
}

fn rarity(view: &View, unit: &Unit) -> f64 {
    rare(view, unit.frequency)
}

/// How rare a term is in the view.
pub(super) fn rarity_of(view: &View, term: &Term) -> tantivy::Result<f64> {
    Ok(rare(view, view.frequency(term)?))
}

fn rare(view: &View, frequency: u64) -> f64 {
    let (total, has) = (view.totals.chunks as f64, frequency as f64);
    (1.0 + (total - has + 0.5) / (has + 0.5)).ln()
}

fn bm25(rarity: f64, count: f64, length: f64, mean: f64) -> f64 {
    rarity * (K1 + 1.0) * count / (count + K1 * (1.0 - B + B * length / mean.max(1e-9)))
}

/// The two fields that hold what the body says, by their place in [`Scored::lengths`].
const TEXT: [usize; 2] = [BODY, STARTS];

fn is_text(unit: &Unit) -> bool {
    TEXT.contains(&unit.field)
}

/// Scores chunks by themselves. They come in no order and each once. `text` is for chunks of which only the body counts.
pub(super) fn score(
    view: &View,
    units: &[Unit],
    mut chunks: Vec<(Place, u64)>,
    text: bool,
) -> tantivy::Result<Vec<Scored>> {
    chunks.sort_unstable();
    let new = |(place, memory): &(Place, u64)| Scored {
        place: *place,
        memory: *memory,
        ord: 0,
        words: 0.0,
        score: 0.0,
        body: 0.0,
        parts: Vec::new(),
        counts: Vec::new(),
        lengths: [0; 2],
    };
    let mut scored: Vec<Scored> = chunks.iter().map(new).collect();
    for group in scored.chunk_by_mut(|a, b| a.place.0 == b.place.0) {
        let reader = &view.searcher.segment_readers()[group[0].place.0];
        let ords = view.ords(group[0].place.0);
        for one in group.iter_mut() {
            one.ord = ords.first(one.place.1).unwrap_or(0);
        }
        for (at, field) in TEXT.iter().enumerate() {
            let lengths = reader.get_fieldnorms_reader(view.fields.searched[*field])?;
            for one in group.iter_mut() {
                one.lengths[at] = lengths.fieldnorm(one.place.1);
            }
        }
        for (number, unit) in units.iter().enumerate().filter(|(_, unit)| !text || is_text(unit)) {
            let lengths = reader.get_fieldnorms_reader(view.fields.searched[unit.field])?;
            let (rarity, mean) = (rarity(view, unit), view.mean(unit.field));
            let counts = counts(reader, unit, group)?;
            for (one, count) in group.iter_mut().zip(counts) {
                if is_text(unit) {
                    one.counts.push(count);
                }
                if count > 0 {
                    let length = f64::from(lengths.fieldnorm(one.place.1));
                    let score = unit.boost * bm25(rarity, f64::from(count), length, mean);
                    one.score += score;
                    one.body += if is_text(unit) { score } else { 0.0 };
                    one.words += if unit.field == STARTS { 0.0 } else { score };
                    one.parts.push((number, score));
                }
            }
        }
    }
    Ok(scored)
}

/// Chunks with what else is known of them.
pub(super) struct Memories<'a> {
    pub(super) view: &'a View,
    pub(super) units: &'a [Unit],
    /// The chunks that were scored.
    pub(super) chunks: &'a BTreeMap<Place, Scored>,
    pub(super) near: &'a Near,
    /// The chunks of memories that have several.
    pub(super) several: &'a HashMap<u64, Vec<Place>>,
}

impl Memories<'_> {
    /// What a memory scores of which this is the best chunk, and the parts by unit.
    pub(super) fn score(&self, best: &Scored) -> (f64, Vec<(&'static str, usize, f64)>) {
        let alone = [best.place];
        let all = self.several.get(&best.memory).map_or(&alone[..], Vec::as_slice);
        let whole = self.body(all, |field| self.view.mean_of_memories(field));
        let around = match self.near.around.get(&best.place) {
            Some(around) => self.body(around, |field| self.view.mean(field) * MOST_AROUND),
            None => Vec::new(),
        };
        let field = |number: usize| FIELDS[self.units[number].field].0;
        let mut parts: Vec<(&'static str, usize, f64)> = Vec::new();
        for (number, score) in &best.parts {
            let share = if is_text(&self.units[*number]) { CHUNK } else { 1.0 };
            parts.push((field(*number), *number, share * score));
        }
        for (number, score) in whole {
            let score = (1.0 - CHUNK) * score;
            match parts.iter_mut().find(|part| part.1 == number) {
                Some(part) => part.2 += score,
                None => parts.push((field(number), number, score)),
            }
        }
        // How words begin tells too little of what only stands around.
        let around = around.into_iter().filter(|(number, _)| self.units[*number].field == BODY);
        parts.extend(around.map(|(number, score)| ("around", number, AROUND * score)));
        (parts.iter().map(|part| part.2).sum(), parts)
    }

    /// What the bodies of some chunks score as one text, by unit.
    fn body(&self, places: &[Place], mean: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
        let units = || self.units.iter().enumerate().filter(|(_, unit)| is_text(unit));
        let mut counts = vec![0.0; units().count()];
        let mut lengths = [0.0; 2];
        for one in places.iter().filter_map(|place| self.chunks.get(place)) {
            for (sum, length) in lengths.iter_mut().zip(one.lengths) {
                *sum += f64::from(length);
            }
            for (sum, count) in counts.iter_mut().zip(&one.counts) {
                *sum += f64::from(*count);
            }
        }
        let scores = units().zip(counts).filter(|(_, count)| *count > 0.0).map(|((number, unit), count)| {
            let length = lengths[usize::from(unit.field == STARTS)];
            (number, unit.boost * bm25(rarity(self.view, unit), count, length, mean(unit.field)))
        });
        scores.collect()
    }
}

/// How often each chunk of one segment has the unit's term.
fn counts(reader: &SegmentReader, unit: &Unit, group: &[Scored]) -> tantivy::Result<Vec<u32>> {
    let term = match &unit.what {
        What::Prefix(prefix) => {
            return Ok(group.iter().map(|one| prefix.count(one.place.0, one.place.1)).collect());
        }
        What::Term(term) => term,
    };
    let inverted = reader.inverted_index(term.field())?;
    let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::WithFreqs)? else {
        return Ok(vec![0; group.len()]);
    };
    let count = group.iter().map(|one| {
        let (at, chunk) = (postings.doc(), one.place.1);
        let at = if at < chunk { postings.seek(chunk) } else { at };
        if at == chunk { postings.term_freq() } else { 0 }
    });
    Ok(count.collect())
}
