//! Changing a store: a new generation beside the old one, listed last.

use std::collections::HashSet;

use super::manifest::{Manifest, is_segment, sync_dir, temporary};
use super::segment::{self, Fresh, Rows, Segment};
use super::{Change, Row, STEPS, Script, VectorError, Vectors, failed, has, listed, names, set};
use crate::model::id::TextKey;

/// As many segments of one size (within a factor of eight) are merged into one.
pub(super) const SIZES: usize = 8;

/// A store in which more than this share of the rows is dead is rewritten.
const DEAD_SHARE: f64 = 0.25;

/// Stores with fewer rows than this are not worth rewriting for the dead in them.
const SMALL: usize = 256;

/// Rows of a store that go into a new segment.
struct Kept<'a> {
    store: &'a Vectors,
    rows: Vec<Row>,
}

impl Kept<'_> {
    fn at(&self, row: usize) -> (&Segment, usize) {
        self.store.place(self.rows[row])
    }
}

impl Rows for Kept<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn key(&self, row: usize) -> TextKey {
        let (segment, at) = self.at(row);
        segment.key(at)
    }

    fn script(&self, row: usize) -> Script {
        let (segment, at) = self.at(row);
        segment.script(at)
    }

    fn check(&self, row: usize) -> u32 {
        let (segment, at) = self.at(row);
        segment.check(at)
    }

    fn scale(&self, row: usize) -> f32 {
        let (segment, at) = self.at(row);
        segment.scale(at)
    }

    fn bytes(&self, row: usize) -> &[u8] {
        let (segment, at) = self.at(row);
        segment.bytes(at)
    }

    fn halves(&self, row: usize) -> &[u8] {
        let (segment, at) = self.at(row);
        segment.halves(at)
    }
}

impl Vectors {
    /// Makes a change (what goes first, then what comes), as one generation, durable when this returns. Only one
    /// process may change a store at a time: the caller holds a lock. `step` is told the [`STEPS`] as they are done.
    ///
    /// # Errors
    /// When a vector is not of the form, or the files cannot be written; the store is as it was before then.
    pub fn change(&mut self, change: &Change, step: &dyn Fn(&str)) -> Result<(), VectorError> {
        let wanted = self.form.dimensions;
        for new in &change.add {
            if new.vector.len() != wanted || !new.vector.iter().all(|value| value.is_finite()) {
                return Err(VectorError::Shape { got: new.vector.len(), wanted });
            }
        }
        self.catch_up()?;
        let mut dead = self.dead.clone();
        for (keys, value) in [(&change.remove, true), (&change.wake, false)] {
            for row in keys.iter().filter_map(|key| self.get(*key)) {
                set(&mut dead, row.0 as usize, value);
            }
        }
        let mut fresh = Fresh::new(wanted);
        let mut taken = HashSet::new();
        for new in &change.add {
            match self.get(new.key) {
                // A damaged one is replaced, not woken.
                Some(row) if self.vector(row).is_some() => set(&mut dead, row.0 as usize, false),
                Some(row) => {
                    set(&mut dead, row.0 as usize, true);
                    if taken.insert(new.key) {
                        fresh.push(new.key, new.script, &new.vector);
                    }
                }
                None if taken.insert(new.key) => fresh.push(new.key, new.script, &new.vector),
                None => {}
            }
        }
        let unchanged = fresh.count() == 0 && dead == self.dead && self.damage.is_empty();
        if unchanged {
            return Ok(());
        }
        let new = if fresh.count() == 0 { None } else { Some(self.write(&fresh, step)?) };
        let keep: Vec<usize> = (0..self.segments.len()).collect();
        self.commit(&keep, new, &dead, step)?;
        self.tidy(step)
    }

    /// Merges what has become many small segments, and rewrites the whole when too much of it is dead.
    fn tidy(&mut self, step: &dyn Fn(&str)) -> Result<(), VectorError> {
        let rows = self.rows();
        if rows >= SMALL && (rows - self.live) as f64 > DEAD_SHARE * rows as f64 {
            return self.compact(step);
        }
        let size = |segment: &Segment| segment.rows.max(1).ilog(SIZES);
        for class in 0..=rows.max(1).ilog(SIZES) {
            let alike = |at: &usize| size(&self.segments[*at]) <= class;
            let group: Vec<usize> = (0..self.segments.len()).filter(alike).collect();
            if group.len() >= SIZES {
                self.merge(&group, step)?;
            }
        }
        Ok(())
    }

    /// Rewrites everything that lives into one segment.
    ///
    /// # Errors
    /// When it cannot be written; the store is as it was before then.
    pub fn compact(&mut self, step: &dyn Fn(&str)) -> Result<(), VectorError> {
        self.catch_up()?;
        if self.segments.len() <= 1 && self.live == self.rows() && self.damage.is_empty() {
            self.sweep();
            return Ok(());
        }
        let all: Vec<usize> = (0..self.segments.len()).collect();
        self.merge(&all, step)
    }

    /// Puts the living rows of some segments into a new one.
    fn merge(&mut self, group: &[usize], step: &dyn Fn(&str)) -> Result<(), VectorError> {
        let mut rows = Vec::new();
        for at in group {
            let base = self.bases[*at];
            let all = (base..base + self.segments[*at].rows as u32).map(Row);
            rows.extend(all.filter(|row| !self.is_dead(*row)));
        }
        let kept = Kept { store: self, rows };
        let new = if kept.rows.is_empty() { None } else { Some(self.write(&kept, step)?) };
        let keep: Vec<usize> = (0..self.segments.len()).filter(|at| !group.contains(at)).collect();
        let dead = self.dead.clone();
        self.commit(&keep, new, &dead, step)
    }

    /// Writes a segment that the manifest does not name yet.
    fn write(&self, rows: &dyn Rows, step: &dyn Fn(&str)) -> Result<Segment, VectorError> {
        let fail = |error| failed(&self.dir, error);
        std::fs::create_dir_all(&self.dir).map_err(fail)?;
        step(STEPS[0]);
        let mut file = temporary(&self.dir).map_err(fail)?;
        segment::write(file.as_file_mut(), &self.form, rows).map_err(fail)?;
        // A number that no file has, so that a name never means another content than it did.
        let taken =
            self.files().iter().filter_map(|name| name.strip_prefix("rows-")?.parse::<u64>().ok()).max();
        let name = format!("rows-{}", taken.unwrap_or(0).max(self.generation * 16) + 1);
        file.persist(self.dir.join(&name)).map_err(|error| fail(error.error))?;
        sync_dir(&self.dir).map_err(fail)?;
        step(STEPS[1]);
        Segment::open(&self.dir, &name, &self.form).map_err(fail)
    }

    /// Makes the next generation of some of the segments, with these of all rows dead, and a new one.
    fn commit(
        &mut self,
        keep: &[usize],
        new: Option<Segment>,
        dead: &[u64],
        step: &dyn Fn(&str),
    ) -> Result<(), VectorError> {
        let fail = |error| failed(&self.dir, error);
        let mut manifest = Manifest { generation: self.generation + 1, listed: Vec::new() };
        for at in keep {
            let (segment, base) = (&self.segments[*at], self.bases[*at] as usize);
            let mut own = Vec::new();
            for row in (0..segment.rows).filter(|row| has(dead, base + row)) {
                set(&mut own, row, true);
            }
            manifest.listed.push(listed(segment, own));
        }
        manifest.listed.extend(new.as_ref().map(|segment| listed(segment, Vec::new())));
        std::fs::create_dir_all(&self.dir).map_err(fail)?;
        manifest.write(&self.dir, &self.form).map_err(fail)?;
        step(STEPS[2]);
        let mut old: Vec<Option<Segment>> = self.segments.drain(..).map(Some).collect();
        let mut segments: Vec<Segment> = keep.iter().filter_map(|at| old[*at].take()).collect();
        segments.extend(new);
        let lists: Vec<&[u64]> = manifest.listed.iter().map(|listed| listed.dead.as_slice()).collect();
        *self = Vectors::of(&self.dir, &self.form, manifest.generation, segments, &lists, Vec::new());
        self.sweep();
        Ok(())
    }

    /// Removes what nobody lists any more: merged away, or left by a process that was killed.
    fn sweep(&self) {
        for name in self.files() {
            if !self.segments.iter().any(|segment| segment.name == name) {
                // It is in the way at worst; the next change tries again.
                let _ = std::fs::remove_file(self.dir.join(name));
            }
        }
    }

    /// The files of the directory that are segments or were to become something.
    fn files(&self) -> Vec<String> {
        names(&self.dir).into_iter().filter(|name| is_segment(name) || name.starts_with(".new-")).collect()
    }

    /// Reads the store again if another process changed it since.
    fn catch_up(&mut self) -> Result<(), VectorError> {
        let there = Manifest::read(&self.dir, &self.form);
        let same = matches!(&there, Ok(manifest)
            if manifest.as_ref().map_or(0, |manifest| manifest.generation) == self.generation);
        if !same {
            *self = Vectors::open(&self.dir, &self.form)?;
        }
        Ok(())
    }
}
