//! Exact search: every row is looked at.
//!
//! The scan multiplies 8-bit rows with the question's 8-bit form, sixteen or more at a time (the processor's widest
//! instructions are chosen as the program runs) and on all processors, and keeps a quarter more than are wanted, two
//! hundred at least. Those are scored with their 16-bit rows. What a row's rounding adds to a score is far less than what
//! lies between the last that is wanted and the last that is kept, so the answer is that of a search with full precision;
//! a test and the benchmark compare the two.

use pulp::Arch;
use rayon::prelude::*;

use super::segment::quantised;
use super::{Row, Vectors};

/// One in how many candidates is scored beyond those that are wanted, and how many are scored at least.
const WIDER: usize = 4;
const FEWEST: usize = 200;

/// Rows that are multiplied at once.
const TILE: usize = 256;

/// What the 8-bit forms say of every row, in the order of the rows.
#[derive(Debug, Clone, Default)]
pub struct Scores(Vec<f32>);

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Question<'q> {
    /// The vector, of length 1 where scores are to be cosines.
    pub vector: &'q [f32],
    /// What is added to the score of every row of a script, in the order of [`super::Script::ALL`]. Zero for plain cosines;
    /// with `-vector · mean` of each script, rows compare as their distances from their own script's mean do.
    pub offsets: [f32; 2],
    /// How many rows are wanted.
    pub count: usize,
}

impl<'q> Question<'q> {
    /// The rows nearest to a vector.
    #[must_use]
    pub fn nearest(vector: &'q [f32], count: usize) -> Question<'q> {
        Question { vector, offsets: [0.0; 2], count }
    }
}

/// A row that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The row.
    pub row: Row,
    /// Its score: the cosine where no offset was added.
    pub score: f32,
}

impl Vectors {
    /// The best rows among those that `pass`, best first, equal ones in the order of their rows. A row is asked about
    /// only when its score could be among the best, and at most once; dead rows are not found. Rows that turn out to
    /// be damaged are left out.
    ///
    /// A vector of another length finds nothing.
    pub fn scan(&self, question: &Question<'_>, pass: impl FnMut(Row) -> bool) -> Vec<Found> {
        self.pick(question, &self.scores(question.vector), pass)
    }

    /// Multiplies every row with a vector: the part of a scan that is the same for all questions with that vector.
    #[must_use]
    pub fn scores(&self, vector: &[f32]) -> Scores {
        if vector.len() != self.form.dimensions {
            return Scores::default();
        }
        let (step, bytes) = quantised(vector);
        let bytes: Vec<i16> = bytes.into_iter().map(i16::from).collect();
        let mut scores = vec![0f32; self.row_count()];
        let mut rest = scores.as_mut_slice();
        for segment in &self.segments {
            let (these, others) = rest.split_at_mut(segment.scales.len().min(rest.len()));
            rest = others;
            let tiles = segment.all_bytes().par_chunks(TILE * bytes.len());
            tiles.zip(segment.scales.par_chunks(TILE)).zip(these.par_chunks_mut(TILE)).for_each(
                |((tile, scales), scores)| {
                    let mut products = [0i32; TILE];
                    let products = &mut products[..scores.len()];
                    Arch::new().dispatch(
                        #[inline(always)]
                        || multiply(&bytes, tile, products),
                    );
                    for ((score, product), scale) in scores.iter_mut().zip(&*products).zip(scales) {
                        *score = *product as f32 * (scale * step);
                    }
                },
            );
        }
        Scores(scores)
    }

    /// As [`Vectors::scan`], with the scores of the question's vector.
    pub fn pick(
        &self,
        question: &Question<'_>,
        scores: &Scores,
        mut pass: impl FnMut(Row) -> bool,
    ) -> Vec<Found> {
        if question.count == 0 || scores.0.len() != self.row_count() {
            return Vec::new();
        }
        let wanted = question.count.saturating_add(question.count / WIDER).max(FEWEST);
        let mut best = Best { wanted, heap: Vec::new(), least: f32::NEG_INFINITY };
        for (segment, base) in self.segments.iter().zip(&self.bases) {
            let scores = scores.0.get(*base as usize..).unwrap_or_default();
            for (at, (score, script)) in scores.iter().zip(segment.scripts()).enumerate() {
                let score = score + question.offsets[usize::from(*script).min(1)];
                if score > best.least {
                    let row = Row(base + at as u32);
                    if !self.is_dead(row) && pass(row) {
                        best.take(Found { row, score });
                    }
                }
            }
        }
        self.rescored(question, best.heap)
    }

    fn rescored(&self, question: &Question<'_>, candidates: Vec<Found>) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let Some(vector) = self.vector(candidate.row) else { continue };
            let offset = question.offsets[self.script(candidate.row).index()];
            found.push(Found { row: candidate.row, score: dot(question.vector, &vector) + offset });
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
        found.truncate(question.count);
        found
    }
}

/// The product of two vectors of one length: of vectors of length one their cosine.
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// The products of a question with the rows of a tile. Written so that the compiler makes vector instructions of it.
#[inline(always)]
fn multiply(question: &[i16], rows: &[u8], out: &mut [i32]) {
    for (row, out) in rows.chunks_exact(question.len()).zip(out) {
        let mut sum = 0i32;
        for (byte, other) in row.iter().zip(question) {
            sum += i32::from(i16::from(byte.cast_signed())) * i32::from(*other);
        }
        *out = sum;
    }
}

/// The best rows so far: a heap with the worst at its root.
struct Best {
    wanted: usize,
    heap: Vec<Found>,
    /// What a score must exceed to be among them.
    least: f32,
}

impl Best {
    fn take(&mut self, found: Found) {
        if self.heap.len() < self.wanted {
            self.heap.push(found);
            let mut at = self.heap.len() - 1;
            while at > 0 && self.heap[at].score < self.heap[(at - 1) / 2].score {
                self.heap.swap(at, (at - 1) / 2);
                at = (at - 1) / 2;
            }
        } else {
            self.heap[0] = found;
            let mut at = 0;
            loop {
                let child = (2 * at + 1..2 * at + 3).filter(|child| *child < self.heap.len());
                let Some(child) = child.min_by(|a, b| self.heap[*a].score.total_cmp(&self.heap[*b].score))
                else {
                    break;
                };
                if self.heap[child].score >= self.heap[at].score {
                    break;
                }
                self.heap.swap(at, child);
                at = child;
            }
        }
        if self.heap.len() == self.wanted {
            self.least = self.heap[0].score;
        }
    }
}
