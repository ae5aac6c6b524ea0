//! Searching: filters first, then BM25 with live statistics, grouped by memory, best chunk first.
//!
//! tantivy finds the candidates (in single precision, with a margin); they are scored again here in double
//! precision, term by term in one order, so that the answer does not depend on how the index is laid out.

use std::collections::{HashMap, HashSet};

use tantivy::postings::Postings as _;
use tantivy::query::{BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query as _, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, Score, SegmentReader, Term};

use super::query::{Item, Query};
use super::text::{FIELDS, TextError, TextIndex, Totals, guarded, tag_key};
use super::text_filter::{Candidate, Filter, Top};
use super::text_prefix::Prefix;
use super::text_terms::{self, Sought};
use super::text_view::{Bits, View};

/// BM25's constants (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, 3.2),
/// the same as tantivy's.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What is asked of the index.
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
    /// Whether a path is wanted and may be seen.
    pub path: &'a dyn Fn(&str) -> bool,
    /// Whether to tell the parts of the scores.
    pub explain: bool,
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
    /// The parts of the score, if they were asked for.
    pub parts: Vec<Part>,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// The memories, best first; equal scores by their document's path.
    pub hits: Vec<Hit>,
    /// The terms that were looked for, to mark them in the text.
    pub terms: HashSet<String>,
    /// What was done to the query that its writer should know.
    pub notes: Vec<String>,
}

/// A term in a field, with its weight.
struct Unit {
    field: usize,
    term: String,
    boost: f64,
    what: What,
    frequency: u64,
}

enum What {
    Term(Term),
    Prefix(Prefix),
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
        let sought = text_terms::sought(&view, request.query)?;
        let mut found =
            Found { notes: sought.notes.clone(), terms: sought.marks.clone(), ..Found::default() };
        if view.totals.chunks == 0 {
            return Ok(found);
        }
        let filters = self.filters(&view, request)?;
        if !sought.asked {
            found.hits = list(&view, filters, request)?;
            sort(&mut found.hits, request.limit, path_of);
            return Ok(found);
        }
        let units = units(&view, &sought)?;
        if units.is_empty() {
            return Ok(found);
        }
        let candidates = candidates(&view, &units, filters, request.limit)?;
        found.hits = rescore(&view, &units, candidates, request.explain)?;
        sort(&mut found.hits, request.limit, path_of);
        Ok(found)
    }

    fn filters<'a>(&self, view: &'a View, request: &'a Request<'a>) -> tantivy::Result<Vec<Filter<'a>>> {
        let mut excluded = HashSet::new();
        for item in &request.query.unwanted {
            for (at, bits) in matching(view, item)?.into_iter().flatten().enumerate() {
                let segment = &view.searcher.segment_readers()[at];
                let numbers = segment.fast_fields().u64("doc")?;
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
            .map(|((segment, unseen), allowed)| {
                let fast = segment.fast_fields();
                Ok(Filter {
                    request,
                    unseen: &unseen.bits,
                    allowed,
                    excluded: excluded.clone(),
                    memory: fast.u64("doc")?,
                    facts: fast.u64("facts")?,
                    date: fast.i64("date").ok(),
                    places: fast.str("place")?,
                    seen: HashMap::new(),
                })
            })
            .collect()
    }
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
    for (at, field) in view.fields.searched.iter().enumerate() {
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

fn units(view: &View, sought: &Sought) -> tantivy::Result<Vec<Unit>> {
    let mut units = Vec::new();
    for (field, (name, weight)) in FIELDS.iter().enumerate() {
        for term in &sought.terms {
            if term.bodies_only && !matches!(*name, "title" | "body") {
                continue;
            }
            let (what, frequency) = if term.prefix {
                let prefix = Prefix::find(view, field, &term.text)?;
                let frequency = prefix.frequency;
                (What::Prefix(prefix), frequency)
            } else {
                let tantivy_term = Term::from_field_text(view.fields.searched[field], &term.text);
                let frequency = view.frequency(&tantivy_term)?;
                (What::Term(tantivy_term), frequency)
            };
            if frequency > 0 {
                units.push(Unit {
                    field,
                    term: term.text.clone(),
                    boost: weight * term.weight,
                    what,
                    frequency,
                });
            }
        }
    }
    Ok(units)
}

fn candidates(
    view: &View,
    units: &[Unit],
    mut filters: Vec<Filter<'_>>,
    limit: usize,
) -> tantivy::Result<Vec<Candidate>> {
    let clauses = units.iter().map(|unit| {
        let query: Box<dyn tantivy::query::Query> = match &unit.what {
            What::Term(term) => Box::new(TermQuery::new(term.clone(), IndexRecordOption::WithFreqs)),
            What::Prefix(prefix) => Box::new(prefix.clone()),
        };
        let boosted: Box<dyn tantivy::query::Query> = Box::new(BoostQuery::new(query, unit.boost as Score));
        (Occur::Should, boosted)
    });
    let query = BooleanQuery::new(clauses.collect());
    let weight = query.weight(EnableScoring::enabled_from_statistics_provider(view, &view.searcher))?;
    let mut top = Top { limit: limit.max(1), best: Vec::new(), candidates: Vec::new() };
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
    Ok(top.candidates)
}

/// Scores the candidates exactly and keeps the best chunk of each memory.
fn rescore(
    view: &View,
    units: &[Unit],
    mut candidates: Vec<Candidate>,
    explain: bool,
) -> tantivy::Result<Vec<Hit>> {
    candidates.sort_unstable_by_key(|candidate| (candidate.segment, candidate.chunk));
    let mut scored: Vec<(f64, Vec<Part>)> = candidates.iter().map(|_| (0.0, Vec::new())).collect();
    for unit in units {
        let (total, has) = (view.totals.chunks as f64, unit.frequency as f64);
        let rarity = (1.0 + (total - has + 0.5) / (has + 0.5)).ln();
        let mean = view.mean(unit.field);
        let mut from = 0;
        for group in candidates.chunk_by(|a, b| a.segment == b.segment) {
            let reader = &view.searcher.segment_readers()[group[0].segment];
            let lengths = reader.get_fieldnorms_reader(view.fields.searched[unit.field])?;
            let counts = counts(reader, unit, group)?;
            for (at, (candidate, count)) in group.iter().zip(counts).enumerate() {
                if count == 0 {
                    continue;
                }
                let length = f64::from(lengths.fieldnorm(candidate.chunk));
                let count = f64::from(count);
                let score =
                    unit.boost * rarity * (K1 + 1.0) * count / (count + K1 * (1.0 - B + B * length / mean));
                let (sum, parts) = &mut scored[from + at];
                *sum += score;
                if explain {
                    parts.push(Part { field: FIELDS[unit.field].0, term: unit.term.clone(), score });
                }
            }
            from += group.len();
        }
    }
    let mut best: HashMap<u64, Hit> = HashMap::new();
    for (candidate, (score, mut parts)) in candidates.iter().zip(scored) {
        let reader = &view.searcher.segment_readers()[candidate.segment];
        let ord = reader.fast_fields().u64("ord")?.first(candidate.chunk).unwrap_or(0);
        parts.sort_by(|a, b| b.score.total_cmp(&a.score));
        let hit = Hit { doc: candidate.memory, ord, score, parts };
        let better = best
            .get(&hit.doc)
            .is_none_or(|old| (score, std::cmp::Reverse(ord)) > (old.score, std::cmp::Reverse(old.ord)));
        if better {
            best.insert(hit.doc, hit);
        }
    }
    Ok(best.into_values().collect())
}

/// How often each candidate of one segment has the unit's term.
fn counts(reader: &SegmentReader, unit: &Unit, group: &[Candidate]) -> tantivy::Result<Vec<u32>> {
    let term = match &unit.what {
        What::Prefix(prefix) => {
            return Ok(group.iter().map(|c| prefix.count(c.segment, c.chunk)).collect());
        }
        What::Term(term) => term,
    };
    let inverted = reader.inverted_index(term.field())?;
    let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::WithFreqs)? else {
        return Ok(vec![0; group.len()]);
    };
    let count = group.iter().map(|candidate| {
        let at = postings.doc();
        let at = if at < candidate.chunk { postings.seek(candidate.chunk) } else { at };
        if at == candidate.chunk { postings.term_freq() } else { 0 }
    });
    Ok(count.collect())
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
    for (reader, mut filter) in view.searcher.segment_readers().iter().zip(filters) {
        let ords = reader.fast_fields().u64("ord")?;
        for chunk in (0..reader.max_doc()).filter(|chunk| ords.first(*chunk) == Some(0)) {
            if let Some(doc) = filter.pass(chunk) {
                hits.push(Hit { doc, ord: 0, score: 0.0, parts: Vec::new() });
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
    hits.sort_by_cached_key(|hit| path_of(hit.doc));
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(limit);
}
