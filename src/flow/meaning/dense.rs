//! The arm of a search that goes by meaning.

use std::collections::{HashMap, HashSet};

use super::Meaning;
use crate::catalog::DocId;
use crate::flow::sync::Pair;
use crate::index::search::{self, Address};
use crate::index::vectors::{Found, Question, Row, Scores, Script, wider};
use crate::model::fault::Fault;

/// What is looked for by meaning.
#[derive(Debug, Clone)]
pub struct Dense<'q> {
    /// The question's vector, of length one.
    pub vector: &'q [f32],
    /// What it has in common with every text, where that is known already (see [`crate::index::vectors::Vectors::scores`]).
    pub scores: Option<&'q Scores>,
    /// Only texts of one script: a model of several languages puts texts of one language near each other, whatever
    /// they say, so answers in the other language are candidates only by themselves.
    pub only: Option<Script>,
    /// What is added to the scores by script (see [`Question::offsets`]); zeros for plain cosines.
    pub offsets: [f32; 2],
    /// How many memories are wanted.
    pub count: usize,
}

/// A memory that was found by meaning, with its best chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DenseHit {
    /// The document.
    pub doc: DocId,
    /// The chunk's number within it.
    pub ord: u64,
    /// The cosine between question and chunk, with the offset that was asked for.
    pub score: f32,
    /// The main script of the chunk.
    pub script: Script,
}

/// The most rows that one search asks for: beyond that, memories of very many chunks hide others.
const MOST_ROWS: usize = 20_000;

impl Meaning {
    /// The memories nearest to a question among those whose chunks pass the filters of a request, best first, equal
    /// ones in the order of their paths. The filters are the text search's, and hold before anything is ranked.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(in crate::flow) fn nearest(
        &self,
        pair: &Pair,
        dense: &Dense<'_>,
        request: &search::Request<'_>,
    ) -> Result<Vec<DenseHit>, Fault> {
        let made = if dense.scores.is_none() { self.store.scores(dense.vector) } else { Default::default() };
        let scores = dense.scores.unwrap_or(&made);
        let mut offsets = dense.offsets;
        for script in Script::ALL.iter().filter(|script| dense.only.is_some_and(|only| only != **script)) {
            offsets[script.index()] = f32::NEG_INFINITY;
        }
        let wanted = wider(dense.count);
        let mut hits = pair.text.sieve(request, |pass| {
            let mut count = wanted.saturating_add(wanted / 2);
            loop {
                let question = Question { vector: dense.vector, offsets, count };
                let sketch = self.store.sketch(&question, scores, |row| self.passes(row, pass));
                let rows = self.rows_of_first(&sketch, wanted, pass);
                // Memories with many chunks may have taken the places of others.
                if rows < sketch.len() || sketch.len() < count || count >= MOST_ROWS {
                    return self.best(&self.store.scored(&question, &sketch[..rows]), pass);
                }
                count *= 3;
            }
        })?;
        let path_of = |doc: DocId| pair.catalog.doc(doc).ok().flatten().map(|row| row.path);
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        if let Some(last) = hits.get(dense.count.saturating_sub(1)).map(|hit| hit.score) {
            hits.truncate(hits.partition_point(|hit| hit.score >= last));
        }
        let tied = hits.windows(2).any(|pair| pair[0].score == pair[1].score);
        if tied {
            hits.sort_by_cached_key(|hit| path_of(hit.doc));
            hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        hits.truncate(dense.count);
        Ok(hits)
    }

    fn passes(&self, row: Row, pass: &mut dyn FnMut(Address) -> bool) -> bool {
        self.owners(row).any(|(_, _, address)| pass(address))
    }

    /// How many of the first rows so many memories have between them; all rows where they are fewer.
    fn rows_of_first(
        &self,
        sketch: &[Found],
        memories: usize,
        pass: &mut dyn FnMut(Address) -> bool,
    ) -> usize {
        let mut seen = HashSet::new();
        for (at, found) in sketch.iter().enumerate() {
            seen.extend(self.owners(found.row).filter(|owner| pass(owner.2)).map(|owner| owner.0));
            if seen.len() >= memories {
                return at + 1;
            }
        }
        sketch.len()
    }

    /// The best chunk of each memory.
    fn best(&self, found: &[Found], pass: &mut dyn FnMut(Address) -> bool) -> Vec<DenseHit> {
        let mut best: HashMap<u64, DenseHit> = HashMap::new();
        for found in found {
            let script = self.store.script(found.row);
            for (doc, ord, _) in self.owners(found.row).filter(|(_, _, address)| pass(*address)) {
                let hit = DenseHit { doc: DocId(doc), ord: u64::from(ord), score: found.score, script };
                // Rows come best first.
                best.entry(doc).or_insert(hit);
            }
        }
        best.into_values().collect()
    }
}
