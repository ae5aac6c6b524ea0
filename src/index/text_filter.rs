//! Which chunks pass, and which of those are the best so far.

use std::collections::{HashMap, HashSet};

use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, Score};

use super::text::Facts;
use super::text_search::Request;
use super::text_view::Bits;

/// Candidates within this share of the last wanted one are scored exactly: the bounds by which tantivy skips blocks
/// are computed with each segment's own mean lengths, and its scores are of single precision.
const MARGIN: Score = 0.97;

/// A chunk that passed.
pub(super) struct Candidate {
    pub(super) segment: usize,
    pub(super) chunk: DocId,
    pub(super) memory: u64,
    pub(super) score: Score,
}

/// The filters of one segment.
pub(super) struct Filter<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) unseen: &'a Bits,
    pub(super) allowed: Option<Bits>,
    pub(super) excluded: HashSet<u64>,
    pub(super) memory: Column<u64>,
    pub(super) facts: Column<u64>,
    pub(super) date: Option<Column<i64>>,
    pub(super) places: Option<StrColumn>,
    /// Whether a path passes, by its number in the segment.
    pub(super) seen: HashMap<u64, bool>,
}

impl Filter<'_> {
    /// The memory of a chunk, if it passes.
    pub(super) fn pass(&mut self, chunk: DocId) -> Option<u64> {
        if self.unseen.has(chunk) || self.allowed.as_ref().is_some_and(|allowed| !allowed.has(chunk)) {
            return None;
        }
        let request = self.request;
        let memory = self.memory.first(chunk)?;
        if self.excluded.contains(&memory) {
            return None;
        }
        let facts = self.facts.first(chunk).unwrap_or(0);
        let kind = Facts::kind_of(facts);
        let wanted = (request.kinds.is_empty() || request.kinds.contains(&kind))
            && !request.not_kinds.contains(&kind)
            && request.statuses.contains(&Facts::status_of(facts))
            && Facts::sensitivity_of(facts) <= request.clearance;
        if !wanted {
            return None;
        }
        if let Some((since, until)) = request.dates {
            let date = self.date.as_ref().and_then(|date| date.first(chunk))?;
            if date < since || date > until {
                return None;
            }
        }
        self.path(chunk).then_some(memory)
    }

    /// The path of a chunk.
    pub(super) fn path_of(&self, chunk: DocId) -> Option<String> {
        let places = self.places.as_ref()?;
        let mut path = String::new();
        places.ord_to_str(places.ords().first(chunk)?, &mut path).ok()?.then_some(path)
    }

    fn path(&mut self, chunk: DocId) -> bool {
        let Some(passes) = self.request.path else { return true };
        let Some(places) = &self.places else { return false };
        let Some(ord) = places.ords().first(chunk) else { return false };
        *self.seen.entry(ord).or_insert_with(|| {
            let mut path = String::new();
            places.ord_to_str(ord, &mut path).unwrap_or(false) && passes(&path)
        })
    }
}

/// The best memories so far.
pub(super) struct Top {
    pub(super) limit: usize,
    pub(super) best: Vec<(Score, u64)>,
    pub(super) candidates: Vec<Candidate>,
}

impl Top {
    pub(super) fn threshold(&self) -> Score {
        match self.best.last() {
            Some((last, _)) if self.best.len() >= self.limit => last * MARGIN,
            _ => Score::MIN,
        }
    }

    pub(super) fn take(&mut self, candidate: Candidate) {
        let (score, memory) = (candidate.score, candidate.memory);
        self.candidates.push(candidate);
        let known = self.best.iter().position(|(_, known)| *known == memory);
        match known {
            Some(at) if self.best[at].0 >= score => {}
            _ => {
                if let Some(at) = known {
                    self.best.remove(at);
                }
                let at = self.best.partition_point(|(other, _)| *other >= score);
                self.best.insert(at, (score, memory));
                self.best.truncate(self.limit);
            }
        }
        if self.candidates.len() > 64 * self.limit.max(64) {
            let threshold = self.threshold();
            self.candidates.retain(|candidate| candidate.score >= threshold);
        }
    }
}
