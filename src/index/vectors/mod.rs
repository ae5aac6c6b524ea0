//! The vectors of texts: exact search over files that are mapped into memory.
//!
//! A store holds the vectors of one model (its [`Form`]: fingerprint and dimensions), each under the [`TextKey`] of
//! the text that was embedded. It knows nothing of documents: a text that stands in ten of them has one row, one
//! that was renamed has the one it had. Since a row is named by what it is the vector of, none can ever belong to
//! the wrong text, whatever order catalog and store were written in; what the catalog names and the store does not
//! hold is *pending*, and that is all that a crash can cause.
//!
//! - Rows lie in *segments* (`segment`), files that are written whole and never change: 8-bit rows for the scan,
//!   16-bit floats for scoring what the scan found.
//! - A *manifest* (`manifest`) says which segments and which of their rows hold, and counts *generations*. It is
//!   replaced last, so that a process killed at any moment leaves the old state or the new one; readers keep the
//!   files they have mapped.
//! - A segment that is missing, cut short, damaged or of another form is left out, and so its texts are pending
//!   again. A manifest that is damaged is made anew from the segments that are whole.
//! - Rows whose texts are in no document any more are *dead*: they are never found, come alive again for nothing
//!   when their text does, and are dropped when segments are merged.

mod change;
mod manifest;
mod map;
mod scan;
mod script;
mod segment;
mod table;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use manifest::{Listed, Manifest, is_segment};
use segment::{Rows, Segment};
use table::Table;

use crate::model::fault::{Explain, Kind};
use crate::model::id::{Digest, TextKey};

pub use scan::{Found, Question, Scores, dot, wider};
pub use script::Script;

/// The steps of a change at which a test can kill the process, in order.
pub const STEPS: [&str; 3] = ["vectors-begun", "vectors-written", "vectors-listed"];

/// What a store holds the vectors of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    fingerprint: [u8; 32],
    dimensions: usize,
}

impl Form {
    /// The form of a model's vectors: its fingerprint, whatever text that is, and how many numbers a vector has.
    #[must_use]
    pub fn of(fingerprint: &str, dimensions: usize) -> Form {
        Form { fingerprint: Digest::of(fingerprint.as_bytes()).0, dimensions }
    }

    /// How many numbers a vector has.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// A name for a directory that holds such a store.
    #[must_use]
    pub fn name(&self) -> String {
        let digits: String = self.fingerprint[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{digits}-{}", self.dimensions)
    }
}

/// What can go wrong with a store. Damage is no error: what is damaged counts as not there.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The disk is full.
    #[error("the disk is full: the vectors in {} cannot grow", .0.display())]
    Full(PathBuf),
    /// The system refuses.
    #[error("using the vectors in {}: {why}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A vector that is none of the form.
    #[error("a vector of {got} numbers was given, or one that is no number, where {wanted} are kept")]
    Shape {
        /// How many it had.
        got: usize,
        /// How many it should have.
        wanted: usize,
    },
}

impl Explain for VectorError {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            VectorError::Full(_) => {
                "make room, then run `runebook reindex`; what was embedded is kept".to_owned()
            }
            VectorError::Io { why, .. } if why.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                "the index needs a file system that can be written; searching goes on with what there is"
                    .to_owned()
            }
            VectorError::Io { .. } => {
                "look at the disk's space and rights, then run `runebook reindex`; what was embedded is kept"
                    .to_owned()
            }
            VectorError::Shape { .. } => "the model does not fit its description: import it anew".to_owned(),
        })
    }
}

/// A row of an open store. It means nothing in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub u32);

/// A vector to be taken in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRow {
    /// The text's name.
    pub key: TextKey,
    /// Its main script.
    pub script: Script,
    /// Its vector, of length 1.
    pub vector: Vec<f32>,
}

/// What is to change in a store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// Vectors to be taken in; a text that has one keeps it.
    pub add: Vec<NewRow>,
    /// Texts that are there again: their rows come alive, if there are any.
    pub wake: Vec<TextKey>,
    /// Texts that are gone.
    pub remove: Vec<TextKey>,
}

/// An open store, as it stood when it was opened or last changed by this process.
#[derive(Debug)]
pub struct Vectors {
    dir: PathBuf,
    form: Form,
    generation: u64,
    segments: Vec<Segment>,
    /// The first row of each segment.
    bases: Vec<u32>,
    /// A bit a row: dead.
    dead: Vec<u64>,
    live: usize,
    table: Table,
    damage: Vec<String>,
}

fn has(bits: &[u64], at: usize) -> bool {
    bits.get(at / 64).is_some_and(|word| word & 1 << (at % 64) != 0)
}

fn set(bits: &mut Vec<u64>, at: usize, value: bool) {
    if bits.len() <= at / 64 {
        bits.resize(at / 64 + 1, 0);
    }
    if value {
        bits[at / 64] |= 1 << (at % 64);
    } else {
        bits[at / 64] &= !(1 << (at % 64));
    }
}

impl Vectors {
    /// Opens the store of a form in a directory, which need not exist: then it is empty. Nothing is written.
    ///
    /// # Errors
    /// When the directory or a file in it cannot be read. Damage is no error ([`Vectors::damage`]).
    pub fn open(dir: &Path, form: &Form) -> Result<Vectors, VectorError> {
        let mut last = None;
        for _ in 0..20 {
            let (manifest, mut damage) = match Manifest::read(dir, form) {
                Ok(manifest) => (manifest.unwrap_or_default(), Vec::new()),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => salvaged(dir, form),
                Err(error) => return Err(failed(dir, error)),
            };
            let (mut segments, mut lists, mut gone) = (Vec::new(), Vec::new(), false);
            for listed in &manifest.listed {
                match Segment::open(dir, &listed.name, form) {
                    Ok(one) if one.rows == listed.rows as usize && one.sum == listed.sum => {
                        segments.push(one);
                        lists.push(listed.dead.as_slice());
                    }
                    Ok(_) => damage.push(format!("{} is not the file that it was", listed.name)),
                    Err(error) => {
                        gone |= error.kind() == io::ErrorKind::NotFound;
                        let about = matches!(
                            error.kind(),
                            io::ErrorKind::NotFound
                                | io::ErrorKind::InvalidData
                                | io::ErrorKind::UnexpectedEof
                        );
                        if !about {
                            return Err(failed(dir, error));
                        }
                        damage.push(format!("{}: {error}", listed.name));
                    }
                }
            }
            // Another process may have merged the files away between the two reads.
            if gone && last != Some(manifest.generation) {
                last = Some(manifest.generation);
                continue;
            }
            return Ok(Vectors::of(dir, form, manifest.generation, segments, &lists, damage));
        }
        let why = io::Error::other("it changes faster than it can be read");
        Err(VectorError::Io { path: dir.to_owned(), why })
    }

    fn of(
        dir: &Path,
        form: &Form,
        generation: u64,
        segments: Vec<Segment>,
        lists: &[&[u64]],
        damage: Vec<String>,
    ) -> Vectors {
        let mut store = Vectors {
            dir: dir.to_owned(),
            form: form.clone(),
            generation,
            table: Table::with_room(segments.iter().map(|segment| segment.rows).sum()),
            segments: Vec::new(),
            bases: Vec::new(),
            dead: Vec::new(),
            live: 0,
            damage,
        };
        for (segment, dead) in segments.into_iter().zip(lists) {
            store.attach(segment, dead);
        }
        store
    }

    /// Adds a segment behind the others. Of several rows of one text one is alive at most.
    fn attach(&mut self, segment: Segment, dead: &[u64]) {
        let base = self.rows();
        self.bases.push(base as u32);
        self.segments.push(segment);
        let at = self.segments.len() - 1;
        for row in 0..self.segments[at].rows {
            let key = self.segments[at].key(row);
            let new = Row((base + row) as u32);
            let mut is_dead = has(dead, row);
            match self.get(key) {
                None => self.table.put(key, new),
                Some(old) if !self.is_dead(old) => is_dead = true,
                Some(_) if is_dead => {}
                Some(old) => self.table.replace(key, old, new),
            }
            set(&mut self.dead, base + row, is_dead);
            self.live += usize::from(!is_dead);
        }
    }

    /// Where a row is.
    fn place(&self, row: Row) -> (&Segment, usize) {
        let at = self.bases.partition_point(|base| *base <= row.0).saturating_sub(1);
        (&self.segments[at], (row.0 - self.bases[at]) as usize)
    }

    fn rows(&self) -> usize {
        self.segments.iter().map(|segment| segment.rows).sum()
    }

    fn get(&self, key: TextKey) -> Option<Row> {
        self.table.find(key, |row| {
            let (segment, at) = self.place(row);
            segment.key(at) == key
        })
    }

    fn is_dead(&self, row: Row) -> bool {
        has(&self.dead, row.0 as usize)
    }

    /// Counts the changes of the store.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// How many texts have a vector.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether no text has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many rows there are, dead ones included: every [`Row`] is below.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows()
    }

    /// What was found damaged and left out, as sentences for people.
    #[must_use]
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// The row of a text, dead or alive: for who knows that the text is there.
    #[must_use]
    pub fn row(&self, key: TextKey) -> Option<Row> {
        self.get(key)
    }

    /// Whether a text has a vector that lives.
    #[must_use]
    pub fn holds(&self, key: TextKey) -> bool {
        self.get(key).is_some_and(|row| !self.is_dead(row))
    }

    /// The texts that have a vector that lives.
    pub fn keys(&self) -> impl Iterator<Item = TextKey> {
        let rows = (0..self.rows() as u32).map(Row).filter(|row| !self.is_dead(*row));
        rows.map(|row| {
            let (segment, at) = self.place(row);
            segment.key(at)
        })
    }

    /// The main script of a row's text.
    #[must_use]
    pub fn script(&self, row: Row) -> Script {
        let (segment, at) = self.place(row);
        segment.script(at)
    }

    /// A row's vector, with the precision of 16-bit floats; none if it is damaged.
    #[must_use]
    pub fn vector(&self, row: Row) -> Option<Vec<f32>> {
        let mut vector = Vec::new();
        self.read(row, &mut vector).then_some(vector)
    }

    /// As [`Vectors::vector`], into a vector that is there already. Says whether the row is whole.
    pub fn read(&self, row: Row, into: &mut Vec<f32>) -> bool {
        let (segment, at) = self.place(row);
        segment.read(at, into)
    }

    /// The mean of the vectors of a script, and of how many. Rows that died since their segment was written still
    /// count in it, until segments are merged.
    #[must_use]
    pub fn mean(&self, script: Script) -> (Vec<f32>, usize) {
        let mut sums = vec![0f64; self.form.dimensions];
        let mut count = 0;
        for segment in &self.segments {
            count += segment.scripts().iter().filter(|code| **code == script as u8).count();
            for (sum, more) in sums.iter_mut().zip(segment.sum_of(script)) {
                *sum += more;
            }
        }
        (sums.iter().map(|sum| (sum / count.max(1) as f64) as f32).collect(), count)
    }

    /// The texts whose vectors are damaged in the part that is read for candidates alone. Reads all of it.
    #[must_use]
    pub fn damaged(&self) -> Vec<TextKey> {
        let mut found = Vec::new();
        for row in (0..self.rows() as u32).map(Row).filter(|row| !self.is_dead(*row)) {
            let (segment, at) = self.place(row);
            if !segment.is_whole(at) {
                found.push(segment.key(at));
            }
        }
        found
    }
}

fn listed(segment: &Segment, dead: Vec<u64>) -> Listed {
    Listed { name: segment.name.clone(), rows: segment.rows as u32, sum: segment.sum, dead }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// A manifest of all segments that are whole, where the one that was there is damaged. Rows that were dead live
/// again, which costs room and nothing else.
fn salvaged(dir: &Path, form: &Form) -> (Manifest, Vec<String>) {
    let whole = names(dir).into_iter().filter(|name| is_segment(name));
    let listed: Vec<Listed> = whole
        .filter_map(|name| Segment::open(dir, &name, form).ok())
        .map(|segment| listed(&segment, Vec::new()))
        .collect();
    let damage = vec!["the list of the files was damaged and was made anew from the files".to_owned()];
    (Manifest { generation: 0, listed }, damage)
}

fn failed(dir: &Path, why: io::Error) -> VectorError {
    let path = dir.to_owned();
    match why.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            VectorError::Full(path)
        }
        _ => VectorError::Io { path, why },
    }
}
