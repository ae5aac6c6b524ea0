//! Exact search: every row is looked at.
//!
//! The scan multiplies 8-bit rows with the question's 8-bit form, sixteen or more at a time (the processor's widest
//! instructions are chosen as the program runs), and keeps the best four times as many as are wanted, two hundred at
//! least. Those are scored with their 16-bit rows. What a row's rounding adds to a score is far less than what lies
//! between the best and the two hundredth, so the answer is that of a search with full precision; a test and the
//! benchmark compare the two.

use pulp::Arch;

use super::segment::quantised;
use super::{Row, Vectors};

/// How many more candidates than wanted are scored, and how many at least.
const WIDER: usize = 4;
const FEWEST: usize = 200;

/// Rows that are multiplied at once.
const TILE: usize = 256;

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
    pub fn scan(&self, question: &Question<'_>, mut pass: impl FnMut(Row) -> bool) -> Vec<Found> {
        if question.vector.len() != self.form.dimensions || question.count == 0 {
            return Vec::new();
        }
        let wanted = question.count.saturating_mul(WIDER).max(FEWEST);
        let mut best = Best { wanted, heap: Vec::new(), least: f32::NEG_INFINITY };
        let (step, bytes) = quantised(question.vector);
        let bytes: Vec<i16> = bytes.into_iter().map(i16::from).collect();
        let arch = Arch::new();
        let mut products = [0i32; TILE];
        for (segment, base) in self.segments.iter().zip(&self.bases) {
            let tiles = segment.all_bytes().chunks(TILE * bytes.len());
            for (at, tile) in tiles.enumerate() {
                let first = at * TILE;
                let count = tile.len() / bytes.len();
                let out = &mut products[..count];
                arch.dispatch(
                    #[inline(always)]
                    || multiply(&bytes, tile, out),
                );
                let scales = &segment.scales[first..first + count];
                let scripts = &segment.scripts()[first..first + count];
                for (at, (product, scale)) in out.iter().zip(scales).enumerate() {
                    let offset = question.offsets[usize::from(scripts[at]).min(1)];
                    let score = *product as f32 * (scale * step) + offset;
                    if score > best.least {
                        let row = Row(base + (first + at) as u32);
                        if !self.is_dead(row) && pass(row) {
                            best.take(Found { row, score });
                        }
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

/// The product of two vectors.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
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
