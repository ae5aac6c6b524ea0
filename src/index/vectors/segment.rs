//! One file of vectors: written whole, renamed into place, never changed.
//!
//! All numbers are little-endian, every section begins at a multiple of 64 bytes:
//!
//! | section | size | what |
//! | --- | --- | --- |
//! | header | 128 | `RBVECTOR`, version, dimensions, rows, sum of the scanned part, SHA-256 of the model's fingerprint, sum of the header |
//! | keys | 16 a row | [`TextKey`]s |
//! | scripts | 1 a row | [`Script`]s |
//! | checks | 4 a row | CRC-32 of the row's key and halves |
//! | scales | 4 a row | f32: one step of the row's bytes |
//! | bytes | dimensions a row | i8: what is scanned |
//! | sums | 8 a dimension and script | f64: the sum of the rows of each script, for means |
//! | halves | 2 × dimensions a row | f16: what candidates are scored with |
//!
//! The sum of the scanned part (CRC-32 over everything between header and halves) is looked at when the file is
//! opened, a row's check whenever its halves are read: so opening reads a third of the file, and nothing that was
//! flipped on the disk is ever taken for a vector.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use half::f16;
use half::slice::HalfFloatSliceExt as _;
use memmap2::Mmap;

use super::Form;
use super::map::map;
use super::script::Script;
use crate::model::id::TextKey;

const MAGIC: &[u8; 8] = b"RBVECTOR";
const VERSION: u32 = 1;
const HEADER: usize = 128;

/// Rows that a file is made of.
pub(super) trait Rows {
    fn count(&self) -> usize;
    fn key(&self, row: usize) -> TextKey;
    fn script(&self, row: usize) -> Script;
    fn check(&self, row: usize) -> u32;
    fn scale(&self, row: usize) -> f32;
    fn bytes(&self, row: usize) -> &[u8];
    fn halves(&self, row: usize) -> &[u8];
}

/// Rows that were just computed.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    dimensions: usize,
    keys: Vec<TextKey>,
    scripts: Vec<Script>,
    checks: Vec<u32>,
    scales: Vec<f32>,
    bytes: Vec<u8>,
    halves: Vec<u8>,
}

impl Fresh {
    pub(super) fn new(dimensions: usize) -> Fresh {
        Fresh { dimensions, ..Fresh::default() }
    }

    pub(super) fn push(&mut self, key: TextKey, script: Script, vector: &[f32]) {
        let (scale, bytes) = quantised(vector);
        self.keys.push(key);
        self.scripts.push(script);
        self.scales.push(scale);
        self.bytes.extend(bytes.iter().map(|byte| byte.cast_unsigned()));
        let from = self.halves.len();
        self.halves.extend(vector.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()));
        self.checks.push(check_of(key, &self.halves[from..]));
    }
}

impl Rows for Fresh {
    fn count(&self) -> usize {
        self.keys.len()
    }

    fn key(&self, row: usize) -> TextKey {
        self.keys[row]
    }

    fn script(&self, row: usize) -> Script {
        self.scripts[row]
    }

    fn check(&self, row: usize) -> u32 {
        self.checks[row]
    }

    fn scale(&self, row: usize) -> f32 {
        self.scales[row]
    }

    fn bytes(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.dimensions..][..self.dimensions]
    }

    fn halves(&self, row: usize) -> &[u8] {
        &self.halves[row * 2 * self.dimensions..][..2 * self.dimensions]
    }
}

/// A vector in steps of its largest part over 127, and that step.
pub(super) fn quantised(vector: &[f32]) -> (f32, Vec<i8>) {
    let largest = vector.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let scale = largest / 127.0;
    let step = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    (scale, vector.iter().map(|value| (value * step).round() as i8).collect())
}

fn check_of(key: TextKey, halves: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&key.0);
    sum.update(halves);
    sum.finalize()
}

/// Where the sections of a file begin.
#[derive(Debug, Clone, Copy)]
struct Layout {
    scripts: usize,
    checks: usize,
    scales: usize,
    bytes: usize,
    sums: usize,
    halves: usize,
    end: usize,
}

impl Layout {
    /// None where the numbers are beyond what this machine can address.
    fn of(dimensions: usize, rows: usize) -> Option<Layout> {
        let after = |start: usize, each: usize, count: usize| {
            start.checked_add(each.checked_mul(count)?)?.checked_next_multiple_of(64)
        };
        let scripts = after(HEADER, 16, rows)?;
        let checks = after(scripts, 1, rows)?;
        let scales = after(checks, 4, rows)?;
        let bytes = after(scales, 4, rows)?;
        let sums = after(bytes, dimensions, rows)?;
        let halves = after(sums, 8 * Script::ALL.len(), dimensions)?;
        let end = after(halves, dimensions.checked_mul(2)?, rows)?;
        Some(Layout { scripts, checks, scales, bytes, sums, halves, end })
    }
}

/// Writes what goes through it on, and sums it.
struct Summing<W> {
    to: W,
    at: usize,
    sum: crc32fast::Hasher,
}

impl<W: Write> Summing<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.at += bytes.len();
        self.to.write_all(bytes)
    }

    fn pad_to(&mut self, at: usize) -> io::Result<()> {
        let missing = at.saturating_sub(self.at);
        self.put(&[0; 64][..missing.min(64)])
    }
}

/// Writes rows into an empty file. Returns the sum of the scanned part.
pub(super) fn write(file: &mut File, form: &Form, rows: &dyn Rows) -> io::Result<u32> {
    let (dimensions, count) = (form.dimensions, rows.count());
    let layout = Layout::of(dimensions, count).ok_or_else(|| io::Error::other("too many vectors"))?;
    file.write_all(&[0; HEADER])?;
    let mut out =
        Summing { to: io::BufWriter::with_capacity(1 << 20, file), at: HEADER, sum: Default::default() };
    for row in 0..count {
        out.put(&rows.key(row).0)?;
    }
    out.pad_to(layout.scripts)?;
    for row in 0..count {
        out.put(&[rows.script(row) as u8])?;
    }
    out.pad_to(layout.checks)?;
    for row in 0..count {
        out.put(&rows.check(row).to_le_bytes())?;
    }
    out.pad_to(layout.scales)?;
    for row in 0..count {
        out.put(&rows.scale(row).to_le_bytes())?;
    }
    out.pad_to(layout.bytes)?;
    let mut sums = vec![0f64; Script::ALL.len() * dimensions];
    for row in 0..count {
        let bytes = rows.bytes(row);
        let (scale, from) = (f64::from(rows.scale(row)), rows.script(row).index() * dimensions);
        for (sum, byte) in sums[from..from + dimensions].iter_mut().zip(bytes) {
            *sum += f64::from(byte.cast_signed()) * scale;
        }
        out.put(bytes)?;
    }
    out.pad_to(layout.sums)?;
    for sum in sums {
        out.put(&sum.to_le_bytes())?;
    }
    out.pad_to(layout.halves)?;
    let sum = out.sum.clone().finalize();
    for row in 0..count {
        out.put(rows.halves(row))?;
    }
    out.pad_to(layout.end)?;
    let file = out.to.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header(form, count, sum))?;
    file.sync_all()?;
    Ok(sum)
}

fn header(form: &Form, rows: usize, sum: u32) -> [u8; HEADER] {
    let mut out = [0; HEADER];
    out[..8].copy_from_slice(MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..16].copy_from_slice(&(form.dimensions as u32).to_le_bytes());
    out[16..24].copy_from_slice(&(rows as u64).to_le_bytes());
    out[24..28].copy_from_slice(&sum.to_le_bytes());
    out[32..64].copy_from_slice(&form.fingerprint);
    let own = crc32fast::hash(&out[..HEADER - 4]);
    out[HEADER - 4..].copy_from_slice(&own.to_le_bytes());
    out
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// An open file of vectors.
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) sum: u32,
    dimensions: usize,
    layout: Layout,
    map: Mmap,
    pub(super) scales: Vec<f32>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("name", &self.name).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Segment {
    /// Opens a file of a form. A file that is longer than its header says is used as far as that says.
    ///
    /// # Errors
    /// `NotFound` when there is none; any other when it cannot be used, with the reason.
    pub(super) fn open(dir: &Path, name: &str, form: &Form) -> io::Result<Segment> {
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let mut file = File::open(dir.join(name))?;
        let mut head = [0; HEADER];
        file.read_exact(&mut head).map_err(|_| wrong("it is cut short"))?;
        let own = crc32fast::hash(&head[..HEADER - 4]);
        if &head[..8] != MAGIC || u32_at(&head, HEADER - 4) != own {
            return Err(wrong("its header is damaged"));
        }
        if u32_at(&head, 8) != VERSION {
            return Err(wrong("it has the form of another version of this program"));
        }
        if u32_at(&head, 12) as usize != form.dimensions {
            return Err(wrong("its vectors have another number of dimensions"));
        }
        if head[32..64] != form.fingerprint {
            return Err(wrong("it is of another model"));
        }
        let rows = head[16..24].try_into().map_or(0, u64::from_le_bytes);
        let rows = u32::try_from(rows).map_err(|_| wrong("its header is damaged"))? as usize;
        let layout = Layout::of(form.dimensions, rows).ok_or_else(|| wrong("its header is damaged"))?;
        let map = map(&file, layout.end)?;
        let sum = u32_at(&head, 24);
        if crc32fast::hash(&map[HEADER..layout.halves]) != sum {
            return Err(wrong("its content is damaged"));
        }
        let scales = map[layout.scales..][..4 * rows].chunks_exact(4);
        let scales = scales.map(|four| four.try_into().map_or(0.0, f32::from_le_bytes)).collect();
        Ok(Segment { name: name.to_owned(), rows, sum, dimensions: form.dimensions, layout, map, scales })
    }

    /// All bytes that are scanned, row after row.
    pub(super) fn all_bytes(&self) -> &[u8] {
        &self.map[self.layout.bytes..][..self.rows * self.dimensions]
    }

    /// The scripts' numbers of all rows.
    pub(super) fn scripts(&self) -> &[u8] {
        &self.map[self.layout.scripts..][..self.rows]
    }

    /// Whether a row's halves are as they were written.
    pub(super) fn is_whole(&self, row: usize) -> bool {
        check_of(self.key(row), self.halves(row)) == self.check(row)
    }

    /// Reads a row's vector. Says whether it is whole; what is read then is nothing.
    pub(super) fn read(&self, row: usize, into: &mut Vec<f32>) -> bool {
        into.clear();
        if !self.is_whole(row) {
            return false;
        }
        into.resize(self.dimensions, 0.0);
        let mut halves = [f16::ZERO; 64];
        for (part, out) in self.halves(row).chunks(2 * halves.len()).zip(into.chunks_mut(halves.len())) {
            let halves = &mut halves[..out.len()];
            for (half, two) in halves.iter_mut().zip(part.chunks_exact(2)) {
                *half = f16::from_le_bytes([two[0], two[1]]);
            }
            halves.convert_to_f32_slice(out);
        }
        true
    }

    /// The sum of the rows of a script.
    pub(super) fn sum_of(&self, script: Script) -> impl Iterator<Item = f64> {
        let from = self.layout.sums + script.index() * self.dimensions * 8;
        let parts = self.map[from..][..8 * self.dimensions].chunks_exact(8);
        parts.map(|eight| eight.try_into().map_or(0.0, f64::from_le_bytes))
    }
}

impl Rows for Segment {
    fn count(&self) -> usize {
        self.rows
    }

    fn key(&self, row: usize) -> TextKey {
        let mut key = [0; 16];
        key.copy_from_slice(&self.map[HEADER + 16 * row..][..16]);
        TextKey(key)
    }

    fn script(&self, row: usize) -> Script {
        Script::from_code(self.scripts()[row])
    }

    fn check(&self, row: usize) -> u32 {
        u32_at(&self.map, self.layout.checks + 4 * row)
    }

    fn scale(&self, row: usize) -> f32 {
        self.scales[row]
    }

    fn bytes(&self, row: usize) -> &[u8] {
        &self.map[self.layout.bytes + row * self.dimensions..][..self.dimensions]
    }

    fn halves(&self, row: usize) -> &[u8] {
        let size = 2 * self.dimensions;
        &self.map[self.layout.halves + row * size..][..size]
    }
}
