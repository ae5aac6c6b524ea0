//! Searching: filters first, then BM25 with live statistics, grouped by memory, best chunk first.
//!
//! tantivy finds the candidates by their words (in single precision, with a margin); they are scored again exactly, the
//! best of them with what stands around them, so that the answer does not depend on how the index is laid out.

use std::collections::{BTreeMap, HashMap, HashSet};

use tantivy::query::{BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query as _, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Score, Term};

use super::query::{Item, Query};
use super::text::{STARTS, TextError, TextIndex, Totals, guarded, tag_key};
use super::text_filter::{Candidate, Filter, Top};
use super::text_near::{Near, Place};
use super::text_prefix::Prefix;
use super::text_run;
use super::text_score::{self, Memories, Scored, Unit, What};
use super::text_terms::{self, Sought};
use super::text_view::{Bits, View};
use super::weights::Weights;

/// How many memories are looked at closely at least.
const DEPTH: usize = 100;
/// The surroundings of how many chunks are looked at.
const CENTRES: usize = 32;

/// What is asked of the index.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The query; its `type:` and `path:` are the caller's to turn into the filters below.
    pub query: &'a Query,
    /// The documents that the view does not see.
    pub hidden: &'a [u64],
    /// The live numbers of the whole index.
    pub totals: &'a Totals,
    /// How many memories at most.
    pub limit: usize,
    /// The types that are wanted (see `Facts::kind`); none for all.
    pub kinds: &'a [u8],
    /// The types that are not wanted.
    pub not_kinds: &'a [u8],
    /// The states that are wanted (see `Facts::status`).
    pub statuses: &'a [u8],
    /// The highest sensitivity that may be seen.
    pub clearance: u8,
    /// Tags that are wanted besides the query's.
    pub tags: &'a [String],
    /// Only what is dated from this second on, and to that one.
    pub dates: Option<(i64, i64)>,
    /// Whether a path is wanted and may be seen; all are where it is left out, and none needs to be read then.
    pub path: Option<&'a dyn Fn(&str) -> bool>,
    /// Whether to tell the parts of the scores.
    pub explain: bool,
    /// How much each thing counts.
    pub weights: &'a Weights,
}

/// One term's part in a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The field.
    pub field: &'static str,
    /// The term.
    pub term: String,
    /// What it adds.
    pub score: f64,
}

/// One memory that was found, with its best chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The document's number in the catalog.
    pub doc: u64,
    /// The chunk's number within it.
    pub ord: u64,
    /// The score; 0 where the query only filters.
    pub score: f64,
    /// How much of the query stands there as it was typed, from 0 to 1: see `text_run.rs`.
    pub run: f64,
    /// Whether the query is its title.
    pub named: bool,
    /// What of the score is for that.
    pub bonus: f64,
    /// The parts of the score, if they were asked for.
    pub parts: Vec<Part>,
}

impl Hit {
    /// A hit of which nothing else is known.
    #[must_use]
    pub fn plain(doc: u64, ord: u64, score: f64) -> Hit {
        Hit { doc, ord, score, run: 0.0, named: false, bonus: 0.0, parts: Vec::new() }
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// The memories, best first; equal scores by their document's path.
    pub hits: Vec<Hit>,
    /// The terms that were looked for, to mark them in the text.
    pub terms: HashSet<String>,
    /// Whether some word of the query stands nowhere in the view, so that [`TextIndex::missing`] has something to say.
    pub lacks: bool,
    /// What was done to the query that its writer should know.
    pub notes: Vec<String>,
}

impl TextIndex {
    /// Searches. `path_of` gives a document's path, by which equal scores are ordered.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn search(&self, request: &Request<'_>, path_of: &dyn Fn(u64) -> String) -> Result<Found, TextError> {
        guarded(&self.path, || self.search_within(request, path_of))
    }

    fn search_within(
        &self,
        request: &Request<'_>,
        path_of: &dyn Fn(u64) -> String,
    ) -> tantivy::Result<Found> {
        let view = View::open(self, request.hidden, request.totals)?;
        let sought = text_terms::sought(request.query, request.weights);
        let mut found =
            Found { notes: sought.notes.clone(), terms: sought.marks.clone(), ..Found::default() };
        if view.totals.chunks == 0 {
            return Ok(found);
        }
        let mut filters = self.filters(&view, request)?;
        if !sought.asked {
            found.hits = list(&view, filters, request)?;
            sort(&mut found.hits, request.limit, path_of);
            return Ok(found);
        }
        let units = text_score::units(&view, &sought, request.weights)?;
        found.lacks = lacks(&sought, &units);
        if units.iter().all(|unit| unit.field == STARTS) {
            return Ok(found);
        }
        let depth = request.limit.max(DEPTH);
        let candidates = candidates(&view, &units, &mut filters, depth)?;
        let scored = text_score::score((&view, request.weights), &units, candidates)?;
        let best = cut(scored, depth, |one| one.words, &filters);
        found.hits = memories(&view, &units, best, &mut filters, request)?;
        sort(&mut found.hits, request.limit, path_of);
        Ok(found)
    }

    pub(super) fn filters<'a>(
        &self,
        view: &'a View,
        request: &'a Request<'a>,
    ) -> tantivy::Result<Vec<Filter<'a>>> {
        let mut excluded = HashSet::new();
        for item in &request.query.unwanted {
            for (at, bits) in matching(view, item)?.into_iter().flatten().enumerate() {
                let segment = &view.searcher.segment_readers()[at];
                let numbers = view.memories(at);
                let docs = (0..segment.max_doc()).filter(|doc| bits.has(*doc));
                excluded.extend(docs.filter_map(|doc| numbers.first(doc)));
            }
        }
        let tags = request.tags.iter().map(|tag| Item::Tag(tag.clone()));
        let musts = request.query.wanted.iter().filter(|item| !matches!(item, Item::Words(_)));
        let mut allowed: Vec<Option<Bits>> = view.unseen.iter().map(|_| None).collect();
        for item in musts.cloned().chain(tags) {
            let Some(bits) = matching(view, &item)? else { continue };
            for (all, bits) in allowed.iter_mut().zip(bits) {
                match all {
                    Some(all) => all.keep(&bits),
                    None => *all = Some(bits),
                }
            }
        }
        let segments = view.searcher.segment_readers().iter().zip(&view.unseen).zip(allowed);
        segments
            .enumerate()
            .map(|(at, ((segment, unseen), allowed))| {
                let fast = segment.fast_fields();
                Ok(Filter {
                    request,
                    unseen: &unseen.bits,
                    allowed,
                    excluded: excluded.clone(),
                    memory: view.memories(at).clone(),
                    facts: fast.u64("facts")?,
                    date: fast.i64("date").ok(),
                    places: fast.str("place")?,
                    seen: HashMap::new(),
                })
            })
            .collect()
    }
}

/// Whether some term that is sought in every field stands in none.
fn lacks(sought: &Sought, units: &[Unit]) -> bool {
    let there: HashSet<&str> = units.iter().map(|unit| unit.term.as_str()).collect();
    sought.terms.iter().any(|term| !term.bodies_only && !term.prefix && !there.contains(term.text.as_str()))
}

/// Which chunks match an item that is no free word, by segment; `None` for an item that is the caller's.
fn matching(view: &View, item: &Item) -> tantivy::Result<Option<Vec<Bits>>> {
    let queries = match item {
        Item::Tag(tag) => {
            let term = Term::from_field_text(view.fields.tag, &tag_key(tag));
            vec![Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as Box<dyn tantivy::query::Query>]
        }
        Item::Phrase(text) => phrase(view, text, true)?,
        Item::Words(text) => phrase(view, text, false)?,
        Item::Type(_) | Item::Path(_) => return Ok(None),
    };
    let mut all = Vec::new();
    let weights: Vec<_> = queries
        .iter()
        .map(|query| query.weight(EnableScoring::disabled_from_searcher(&view.searcher)))
        .collect::<tantivy::Result<_>>()?;
    for segment in view.searcher.segment_readers() {
        let mut bits = Bits::none(segment.max_doc());
        for weight in &weights {
            weight.for_each_no_score(segment, &mut |docs| docs.iter().for_each(|doc| bits.set(*doc)))?;
        }
        all.push(bits);
    }
    Ok(Some(all))
}

/// Queries for words one behind the other, one a field; `exact`: as they stand, else by their stems.
fn phrase(view: &View, text: &str, exact: bool) -> tantivy::Result<Vec<Box<dyn tantivy::query::Query>>> {
    let terms = text_terms::in_order(text, exact);
    let mut queries: Vec<Box<dyn tantivy::query::Query>> = Vec::new();
    for (at, field) in view.fields.searched.iter().enumerate().filter(|(at, _)| *at != STARTS) {
        match terms.as_slice() {
            [] => {}
            [(_, only, true)] => queries.push(Box::new(Prefix::find(view, at, only)?)),
            [(_, only, false)] => {
                let term = Term::from_field_text(*field, only);
                queries.push(Box::new(TermQuery::new(term, IndexRecordOption::Basic)));
            }
            several => {
                // A single character among words is found by its pair with a neighbour or not at all.
                let terms = several.iter().filter(|(_, _, prefix)| !prefix);
                let terms: Vec<_> = terms
                    .map(|(position, term, _)| (*position as usize, Term::from_field_text(*field, term)))
                    .collect();
                match terms.as_slice() {
                    [] => {}
                    [(_, only)] => {
                        queries.push(Box::new(TermQuery::new(only.clone(), IndexRecordOption::Basic)))
                    }
                    _ => queries.push(Box::new(PhraseQuery::new_with_offset(terms))),
                }
            }
        }
    }
    Ok(queries)
}

/// The chunks of the memories that have the best words, and some more.
fn candidates(
    view: &View,
    units: &[Unit],
    filters: &mut [Filter<'_>],
    depth: usize,
) -> tantivy::Result<Vec<(Place, u64)>> {
    let clauses = units.iter().filter(|unit| unit.field != STARTS).map(|unit| {
        let query: Box<dyn tantivy::query::Query> = match &unit.what {
            What::Term(term) => Box::new(TermQuery::new(term.clone(), IndexRecordOption::WithFreqs)),
            What::Prefix(prefix) => Box::new(prefix.clone()),
        };
        let boosted: Box<dyn tantivy::query::Query> = Box::new(BoostQuery::new(query, unit.boost as Score));
        (Occur::Should, boosted)
    });
    let query = BooleanQuery::new(clauses.collect());
    let weight = query.weight(EnableScoring::enabled_from_statistics_provider(view, &view.searcher))?;
    let mut top = Top { limit: depth, best: Vec::new(), candidates: Vec::new() };
    for (at, reader) in view.searcher.segment_readers().iter().enumerate() {
        let filter = &mut filters[at];
        weight.for_each_pruning(top.threshold(), reader, &mut |chunk, score| {
            if let Some(memory) = filter.pass(chunk) {
                top.take(Candidate { segment: at, chunk, memory, score });
            }
            top.threshold()
        })?;
    }
    let threshold = top.threshold();
    top.candidates.retain(|candidate| candidate.score >= threshold);
    Ok(top.candidates.into_iter().map(|one| ((one.segment, one.chunk), one.memory)).collect())
}

/// The chunks of the memories whose best chunk is among the best, ordered; of equal ones those whose path comes first.
fn cut(
    mut scored: Vec<Scored>,
    memories: usize,
    by: impl Fn(&Scored) -> f64,
    filters: &[Filter<'_>],
) -> Vec<Scored> {
    scored.sort_by(|a, b| by(b).total_cmp(&by(a)).then_with(|| a.place.cmp(&b.place)));
    let last = {
        let mut seen = HashSet::new();
        let mut firsts = scored.iter().filter(|one| seen.insert(one.memory));
        match firsts.nth(memories.saturating_sub(1)) {
            Some(last) if firsts.next().is_some() => by(last),
            _ => return scored,
        }
    };
    let from = scored.partition_point(|one| by(one) > last);
    let to = scored.partition_point(|one| by(one) >= last);
    scored.truncate(to);
    scored[from..].sort_by_cached_key(|one| filters[one.place.0].path_of(one.place.1));
    let mut seen = HashSet::new();
    scored.retain(|one| seen.contains(&one.memory) || (seen.len() < memories && seen.insert(one.memory)));
    scored
}

/// The memories of the best chunks, and of what stands around those, each with its best chunk.
fn memories(
    view: &View,
    units: &[Unit],
    best: Vec<Scored>,
    filters: &mut [Filter<'_>],
    request: &Request<'_>,
) -> tantivy::Result<Vec<Hit>> {
    let centres = cut(best.clone(), CENTRES, |one| one.score, filters);
    let centres: Vec<(Place, u64)> = centres.iter().map(|one| (one.place, one.memory)).collect();
    let near = Near::of(view, &centres, filters)?;
    let mut chunks: BTreeMap<Place, Scored> = best.into_iter().map(|one| (one.place, one)).collect();
    let more = near.memories.iter().map(|(place, memory)| (*place, *memory));
    let more: Vec<(Place, u64)> = more.filter(|(place, _)| !chunks.contains_key(place)).collect();
    let around = text_score::score((view, request.weights), units, more)?;
    chunks.extend(around.into_iter().map(|one| (one.place, one)));
    let mut firsts: HashMap<u64, &Scored> = HashMap::new();
    // A memory is found by its words; how they begin, and what stands around it, only add to that.
    for one in chunks.values().filter(|one| one.words > 0.0) {
        let first = firsts.entry(one.memory).or_insert(one);
        if (one.score, first.ord) > (first.score, one.ord) {
            *first = one;
        }
    }
    let firsts: Vec<Scored> = firsts.into_values().cloned().collect();
    let memories = Memories { view, weights: request.weights, units, chunks: &chunks, near: &near };
    let mut hits: Vec<(Place, Hit)> =
        firsts.iter().map(|one| (one.place, hit(&memories, one, request.explain))).collect();
    text_run::favour(&memories, request, &mut hits, filters)?;
    Ok(hits.into_iter().map(|(_, hit)| hit).collect())
}

fn hit(memories: &Memories<'_>, best: &Scored, explain: bool) -> Hit {
    let (score, mut parts) = memories.score(best);
    parts.sort_by(|a, b| b.2.total_cmp(&a.2));
    let part = |(field, unit, score): (&'static str, usize, f64)| Part {
        field,
        term: memories.units[unit].term.clone(),
        score,
    };
    let parts = if explain { parts.into_iter().map(part).collect() } else { Vec::new() };
    Hit { parts, ..Hit::plain(best.memory, best.ord, score) }
}

/// The memories that pass the filters, where nothing else is asked.
fn list(view: &View, filters: Vec<Filter<'_>>, request: &Request<'_>) -> tantivy::Result<Vec<Hit>> {
    if request.query.wanted.is_empty()
        && request.query.unwanted.is_empty()
        && request.tags.is_empty()
        && request.kinds.is_empty()
        && request.dates.is_none()
    {
        return Ok(Vec::new());
    }
    let mut hits = Vec::new();
    for (at, (reader, mut filter)) in view.searcher.segment_readers().iter().zip(filters).enumerate() {
        let ords = view.ords(at);
        for chunk in (0..reader.max_doc()).filter(|chunk| ords.first(*chunk) == Some(0)) {
            if let Some(doc) = filter.pass(chunk) {
                hits.push(Hit::plain(doc, 0, 0.0));
            }
        }
    }
    Ok(hits)
}

/// Best first, equal ones by their path.
fn sort(hits: &mut Vec<Hit>, limit: usize, path_of: &dyn Fn(u64) -> String) {
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    // Only what can end up within the limit needs its path.
    let last = hits.get(limit.saturating_sub(1)).map(|hit| hit.score);
    if let Some(last) = last {
        hits.truncate(hits.partition_point(|hit| hit.score >= last));
    }
    for equal in hits.chunk_by_mut(|a, b| a.score == b.score).filter(|equal| equal.len() > 1) {
        equal.sort_by_cached_key(|hit| path_of(hit.doc));
    }
    hits.truncate(limit);
}
