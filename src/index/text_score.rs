//! What memories score, exactly: in double precision, term by term in one order, so that an answer does not depend on
//! how the index is laid out.
//!
//! A score is a sum of BM25 over the fields of a memory's best chunk. A small memory that stands in a row (see
//! [`super::text_near`]) has what stands around it as one more field, at a lower weight.

use std::collections::BTreeMap;

use tantivy::postings::Postings as _;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, SegmentReader, Term};

use super::text::{BODY, FIELDS, STARTS};
use super::text_near::{Near, Place};
use super::text_prefix::Prefix;
use super::text_terms::Sought;
use super::text_view::View;
use super::weights::Weights;

/// How many stand around one at most: the mean length of surroundings is that many mean bodies.
const MOST_AROUND: f64 = 4.0;

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
pub(super) fn units(view: &View, sought: &Sought, weights: &Weights) -> tantivy::Result<Vec<Unit>> {
    let mut units = Vec::new();
    let counts = of_fields(weights);
    for (field, name) in FIELDS.iter().enumerate().filter(|(field, _)| *field != STARTS) {
        for term in &sought.terms {
            if term.bodies_only && !matches!(*name, "title" | "body") {
                continue;
            }
            let boost = counts[field] * term.weight;
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
        units.push(unit(view, STARTS, start, counts[STARTS] * weight)?);
    }
    units.retain(|unit| unit.frequency > 0 && unit.boost > 0.0);
    Ok(units)
}

/// The weights of the fields, in the order of [`FIELDS`].
fn of_fields(weights: &Weights) -> [f64; FIELDS.len()] {
    let Weights { title, headings, tags, aliases, path, starts, .. } = *weights;
    [title, headings, tags, aliases, 1.0, path, starts]
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
    parts: Vec<(usize, f64)>,
    /// How often its body has the term of each unit of the body, in their order, and how long that is.
    counts: Vec<u32>,
    length: u32,
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

fn bm25(weights: &Weights, rarity: f64, count: f64, length: f64, mean: f64) -> f64 {
    let Weights { k1, b, .. } = *weights;
    rarity * (k1 + 1.0) * count / (count + k1 * (1.0 - b + b * length / mean.max(1e-9)))
}

/// Scores chunks by themselves. They come in no order and each once.
pub(super) fn score(
    (view, weights): (&View, &Weights),
    units: &[Unit],
    mut chunks: Vec<(Place, u64)>,
) -> tantivy::Result<Vec<Scored>> {
    chunks.sort_unstable();
    let new = |(place, memory): &(Place, u64)| Scored {
        place: *place,
        memory: *memory,
        ord: 0,
        words: 0.0,
        score: 0.0,
        parts: Vec::new(),
        counts: Vec::new(),
        length: 0,
    };
    let mut scored: Vec<Scored> = chunks.iter().map(new).collect();
    for group in scored.chunk_by_mut(|a, b| a.place.0 == b.place.0) {
        let reader = &view.searcher.segment_readers()[group[0].place.0];
        let ords = view.ords(group[0].place.0);
        for one in group.iter_mut() {
            one.ord = ords.first(one.place.1).unwrap_or(0);
        }
        let lengths = reader.get_fieldnorms_reader(view.fields.searched[BODY])?;
        for one in group.iter_mut() {
            one.length = lengths.fieldnorm(one.place.1);
        }
        for (number, unit) in units.iter().enumerate() {
            let lengths = reader.get_fieldnorms_reader(view.fields.searched[unit.field])?;
            let (rarity, mean) = (rarity(view, unit), view.mean(unit.field));
            let counts = counts(reader, unit, group)?;
            for (one, count) in group.iter_mut().zip(counts) {
                if unit.field == BODY {
                    one.counts.push(count);
                }
                if count > 0 {
                    let length = f64::from(lengths.fieldnorm(one.place.1));
                    let score = unit.boost * bm25(weights, rarity, f64::from(count), length, mean);
                    one.score += score;
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
    pub(super) weights: &'a Weights,
    pub(super) units: &'a [Unit],
    /// The chunks that were scored.
    pub(super) chunks: &'a BTreeMap<Place, Scored>,
    pub(super) near: &'a Near,
}

impl Memories<'_> {
    /// What a memory scores of which this is the best chunk, and the parts by unit.
    pub(super) fn score(&self, best: &Scored) -> (f64, Vec<(&'static str, usize, f64)>) {
        let field = |number: usize| FIELDS[self.units[number].field];
        let parts = best.parts.iter().map(|(number, score)| (field(*number), *number, *score));
        let around = self.near.around.get(&best.place).map_or(Vec::new(), |around| self.around(around));
        let around =
            around.into_iter().map(|(number, score)| ("around", number, self.weights.around * score));
        let parts: Vec<(&'static str, usize, f64)> = parts.chain(around).collect();
        (parts.iter().map(|part| part.2).sum(), parts)
    }

    /// What the bodies of some chunks score as one text, by unit. How words begin tells too little there.
    fn around(&self, places: &[Place]) -> Vec<(usize, f64)> {
        let units = || self.units.iter().enumerate().filter(|(_, unit)| unit.field == BODY);
        let mut counts = vec![0.0; units().count()];
        let mut length = 0.0;
        for one in places.iter().filter_map(|place| self.chunks.get(place)) {
            length += f64::from(one.length);
            for (sum, count) in counts.iter_mut().zip(&one.counts) {
                *sum += f64::from(*count);
            }
        }
        let mean = self.view.mean(BODY) * MOST_AROUND;
        let scores = units().zip(counts).filter(|(_, count)| *count > 0.0).map(|((number, unit), count)| {
            let score = bm25(self.weights, rarity(self.view, unit), count, length, mean);
            (number, unit.boost * score)
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
