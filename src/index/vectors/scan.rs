//! Exact search: every row is looked at.
//!
//! The scan multiplies 8-bit rows with the question's 8-bit form, sixteen or more at a time (the processor's widest
//! instructions are chosen as the program runs) and on all processors, notes the best of every few rows, so that most
//! rows need not be looked at again, and keeps a quarter more than are wanted, two hundred at least. Those are scored
//! with their 16-bit rows. What a row's rounding adds to a score is far less than what
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

/// Of how many rows the best is noted.
const BLOCK: usize = 32;

/// What the 8-bit forms say of every row, in the order of the rows.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    scores: Vec<f32>,
    /// The best score of each script among [`BLOCK`] rows of a segment, by segment.
    peaks: Vec<Vec<[f32; 2]>>,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Question<'q> {
    /// The vector, of length 1 where scores are to be cosines.
    pub vector: &'q [f32],
    /// What is added to the score of every row of a script, in the order of [`super::Script::ALL`]. Zero for plain cosines;
    /// with `-vector · mean` of each script, rows compare as their distances from their own script's mean do. Negative
    /// infinity leaves a script out.
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
        let close = Question { count: wider(question.count), ..question.clone() };
        let mut found = self.scored(question, &self.sketch(&close, &self.scores(question.vector), pass));
        found.truncate(question.count);
        found
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
        let mut peaks = Vec::with_capacity(self.segments.len());
        let mut rest = scores.as_mut_slice();
        for segment in &self.segments {
            let (these, others) = rest.split_at_mut(segment.scales.len().min(rest.len()));
            rest = others;
            let mut best = vec![[f32::NEG_INFINITY; 2]; these.len().div_ceil(BLOCK)];
            let rows = segment.scales.par_chunks(TILE).zip(segment.scripts().par_chunks(TILE));
            let out = these.par_chunks_mut(TILE).zip(best.par_chunks_mut(TILE / BLOCK));
            segment.all_bytes().par_chunks(TILE * bytes.len()).zip(rows).zip(out).for_each(
                |((tile, (scales, scripts)), (scores, peaks))| {
                    let mut products = [0i32; TILE];
                    let products = &mut products[..scores.len()];
                    Arch::new().dispatch(
                        #[inline(always)]
                        || multiply(&bytes, tile, products),
                    );
                    for ((score, product), scale) in scores.iter_mut().zip(&*products).zip(scales) {
                        *score = *product as f32 * (scale * step);
                    }
                    let blocks = scores.chunks(BLOCK).zip(scripts.chunks(BLOCK));
                    for (peak, (scores, scripts)) in peaks.iter_mut().zip(blocks) {
                        for (score, script) in scores.iter().zip(scripts) {
                            let peak = &mut peak[usize::from(*script).min(1)];
                            *peak = peak.max(*score);
                        }
                    }
                },
            );
            peaks.push(best);
        }
        Scores { scores, peaks }
    }

    /// The best rows by what the 8-bit forms say, as many as are wanted, in that order: what a scan for fewer (see
    /// [`wider`]) looks at closely. `scores` are those of the question's vector.
    pub fn sketch(
        &self,
        question: &Question<'_>,
        scores: &Scores,
        mut pass: impl FnMut(Row) -> bool,
    ) -> Vec<Found> {
        if question.count == 0 || scores.scores.len() != self.row_count() {
            return Vec::new();
        }
        // Blocks with the best rows first: soon none of the others can have one that is wanted.
        let highest = |peak: &[f32; 2]| (peak[0] + question.offsets[0]).max(peak[1] + question.offsets[1]);
        let mut blocks: Vec<(f32, u32, u32)> = Vec::new();
        for (segment, peaks) in scores.peaks.iter().enumerate() {
            blocks.extend(
                peaks.iter().enumerate().map(|(at, peak)| (highest(peak), segment as u32, at as u32)),
            );
        }
        blocks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut best = Best { wanted: question.count, heap: Vec::new(), least: f32::NEG_INFINITY };
        for (peak, segment, block) in blocks {
            if peak <= best.least {
                break;
            }
            let (base, first) = (self.bases[segment as usize], block as usize * BLOCK);
            let scripts = self.segments[segment as usize].scripts().get(first..).unwrap_or_default();
            let scores = scores.scores.get(base as usize + first..).unwrap_or_default();
            for (at, (score, script)) in scores.iter().zip(scripts).take(BLOCK).enumerate() {
                let score = score + question.offsets[usize::from(*script).min(1)];
                if score > best.least {
                    let row = Row(base + (first + at) as u32);
                    if !self.is_dead(row) && pass(row) {
                        best.take(Found { row, score });
                    }
                }
            }
        }
        best.heap.sort_by(in_order);
        best.heap
    }

    /// Rows with the scores of their 16-bit forms, best first, equal ones in their order. Damaged ones are left out.
    #[must_use]
    pub fn scored(&self, question: &Question<'_>, rows: &[Found]) -> Vec<Found> {
        let mut found: Vec<Found> = rows
            .par_iter()
            .with_min_len(64)
            .map_init(Vec::new, |vector, candidate| {
                if !self.read(candidate.row, vector) {
                    return None;
                }
                let offset = question.offsets[self.script(candidate.row).index()];
                Some(Found { row: candidate.row, score: dot(question.vector, vector) + offset })
            })
            .flatten()
            .collect();
        found.sort_by(in_order);
        found
    }
}

/// How many of the best by their 8-bit forms are looked at closely for so many that are wanted.
#[must_use]
pub fn wider(count: usize) -> usize {
    if count == 0 { 0 } else { count.saturating_add(count / WIDER).max(FEWEST) }
}

fn in_order(a: &Found, b: &Found) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.row.cmp(&b.row))
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
