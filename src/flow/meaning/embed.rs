//! Giving texts their vectors: in small parts, each durable, so that it can be stopped or killed at any moment and goes
//! on where it was.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::{Survey, Waiting, store_at, stores, survey, unit};
use crate::catalog::Catalog;
use crate::flow::progress::Progress;
use crate::flow::sync;
use crate::flow::vault::Vault;
use crate::index::embed::{self as model, Embedder, Lazy};
use crate::index::vectors::{Change, Form, NewRow, Script, Vectors};
use crate::model::clock::Stopwatch;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::TextKey;
use crate::store::lock::{Lock, LockError};

/// Why embedding cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model takes nothing any more.
    #[error("the model failed on {texts} texts one after the other, the last time with: {why}")]
    KeepsFailing {
        /// How many.
        texts: u64,
        /// What it said last.
        why: String,
    },
}

impl Explain for EmbedError {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        Some("see whether the machine has memory to spare and `runebook model list` is content; what was embedded is kept".to_owned())
    }
}

/// How far one call goes.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For how long; none until everything is done.
    pub budget: Option<Duration>,
    /// With more texts than this pending nothing is done; none for any number.
    pub most: Option<u64>,
    /// How long to wait for another process that embeds.
    pub patience: Duration,
    /// Whether to try again what the model could not take, and to look at the sums of everything that is there.
    pub thorough: bool,
}

/// What one call did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EmbedStep {
    /// How many texts got their vector.
    pub done: u64,
    /// How many still wait, those that failed among them.
    pub left: u64,
    /// How many of them the model could not take; they are not tried again by themselves.
    pub failed: u64,
    /// How many texts a second; 0 where none was done.
    pub rate: f64,
    /// What a reader should know: that the model is another one than before, that another process is at it.
    pub notes: Vec<String>,
}

/// Texts whose vectors are written together: a killed process loses the work on so many at most…
const PART: usize = 64;
/// …or of so long.
const PART_TIME: Duration = Duration::from_secs(5);
/// How many texts a search embeds at most, and for how long.
pub const FEW: u64 = 8;
const FEW_TIME: Duration = Duration::from_millis(200);
/// After so many failures in a row it is the model that is broken, not the texts.
const FAILURES: u64 = 8;
/// A text is halved so many times at most until the model takes it whole.
const HALVINGS: u32 = 7;

/// Embeds for about so long, or until `enough` says so after a text: for somebody who does it again and again in the background. Returns at once when nothing
/// waits. With `done` 0 there is nothing more that this process could do now.
///
/// # Errors
/// As [`embed`].
pub fn embed_some(
    vault: &Vault<'_>,
    lazy: &mut Lazy,
    budget: Duration,
    enough: &dyn Fn() -> bool,
    progress: &dyn Progress,
) -> Result<EmbedStep, Fault> {
    let limits = Limits { budget: Some(budget), most: None, patience: Duration::ZERO, thorough: false };
    embed(vault, lazy, limits, enough, progress)
}

/// Embeds what was just edited, if it is little: for a search that has the model loaded anyway and should find what was
/// saved a moment ago. Waits for nobody; with more than a few texts pending it does nothing.
///
/// # Errors
/// As [`embed`].
pub fn embed_few(vault: &Vault<'_>, lazy: &mut Lazy, progress: &dyn Progress) -> Result<EmbedStep, Fault> {
    let limits =
        Limits { budget: Some(FEW_TIME), most: Some(FEW), patience: Duration::ZERO, thorough: false };
    embed(vault, lazy, limits, &|| false, progress)
}

/// Brings the vectors up to date with the index: texts that are new get theirs, the latest edited first; rows of texts
/// that are gone are put aside. Stores of other models are removed when nothing is left to do.
///
/// # Errors
/// When the model cannot be loaded or keeps failing, the index cannot be read, the vectors cannot be written, or the
/// person stopped it. What was done by then is kept.
pub fn embed(
    vault: &Vault<'_>,
    lazy: &mut Lazy,
    limits: Limits,
    enough: &dyn Fn() -> bool,
    progress: &dyn Progress,
) -> Result<EmbedStep, Fault> {
    let description = &lazy.directory().description;
    let form = Form::of(description.fingerprint().as_str(), description.dimensions);
    let (name, fingerprint) = (description.name.to_string(), description.fingerprint());
    let catalog = sync::open(vault)?;
    let dir = store_at(&stores(vault), &form);
    let mut store = Vectors::open(&dir, &form)?;
    let found = survey(&catalog, &store, fingerprint.as_str())?;
    // What the model cannot take waits for somebody who asks for it.
    let settled = found.pending == found.barred && (found.barred == 0 || others(vault, &form).is_empty());
    let idle = settled && found.gone.is_empty() && store.damage().is_empty() && !limits.thorough;
    let many = limits.most.is_some_and(|most| found.pending - found.barred > most);
    if idle || many {
        return Ok(EmbedStep { left: found.pending, failed: found.barred, ..EmbedStep::default() });
    }
    let lock = Lock::take(&vault.derived_dir().join("vectors.lock"), "embedding", limits.patience);
    let _lock = match lock {
        Ok(lock) => lock,
        Err(LockError::Held { holder }) if !limits.thorough => {
            let notes = vec![format!("another runebook is embedding ({holder})")];
            return Ok(EmbedStep { left: found.pending, notes, ..EmbedStep::default() });
        }
        Err(error) => return Err(error.into()),
    };
    // What another process did while this one waited.
    store = Vectors::open(&dir, &form)?;
    let mut work = Work {
        vault,
        catalog: &catalog,
        model: fingerprint.as_str(),
        store,
        failed: HashSet::new(),
        part: Vec::new(),
        since: Stopwatch::start(),
        step: EmbedStep::default(),
    };
    work.step.notes.extend(news(vault, &form, &work.store, &name));
    let found = work.settle(limits.thorough)?;
    let watch = Stopwatch::start();
    let over = || limits.budget.is_some_and(|budget| watch.elapsed() >= budget) || enough();
    progress.begin("embedding", Some(found.pending));
    let ended = work.run(&found, lazy, progress, &over);
    progress.end();
    // Also what was done before it was stopped or failed.
    let kept = work.keep();
    let took = watch.elapsed().as_secs_f64();
    ended?;
    kept?;
    let mut step = work.step;
    step.left = found.pending - step.done.min(found.pending);
    step.rate = if step.done > 0 { step.done as f64 / took.max(1e-9) } else { 0.0 };
    // A text that this model can never take is no reason to keep what another made of it.
    if step.left <= step.failed {
        drop_others(vault, &form);
    }
    Ok(step)
}

/// What is to be said when a store is begun: that it takes the place of another model's.
fn news(vault: &Vault<'_>, form: &Form, store: &Vectors, name: &str) -> Option<String> {
    let begun = store.generation() == 0 && store.is_empty();
    (begun && !others(vault, form).is_empty()).then(|| {
        format!("the model is another one than before: the vectors are made anew with {name}, and until then those texts are found by their words")
    })
}

/// The stores of other models.
fn others(vault: &Vault<'_>, form: &Form) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(stores(vault)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.ends_with(form.name())).collect()
}

fn drop_others(vault: &Vault<'_>, form: &Form) {
    for path in others(vault, form) {
        // In the way at worst; the next call tries again.
        let _ = std::fs::remove_dir_all(path);
    }
}

/// Embedding under way.
struct Work<'a> {
    vault: &'a Vault<'a>,
    catalog: &'a Catalog,
    model: &'a str,
    store: Vectors,
    /// What the model could not take; it is left alone.
    failed: HashSet<TextKey>,
    /// Vectors that are not written yet.
    part: Vec<NewRow>,
    since: Stopwatch,
    step: EmbedStep,
}

impl Work<'_> {
    /// Puts aside what no document names, takes back what one names again, and says what waits then.
    fn settle(&mut self, thorough: bool) -> Result<Survey, Fault> {
        if thorough {
            let damaged = self.store.damaged();
            let count = self.store.damage().len() + damaged.len();
            if count > 0 {
                self.step
                    .notes
                    .push("some vectors were damaged on the disk; their texts are embedded again".to_owned());
            }
            if !damaged.is_empty() {
                // A row that is put aside could be taken back: these are dropped.
                self.change(Change { remove: damaged, ..Change::default() })?;
                let vault = self.vault;
                self.store.compact(&|step| sync::kill_at(vault, step))?;
            }
            if !self.catalog.unembedded(self.model)?.is_empty() {
                let writer = self.catalog.write()?;
                writer.forget_unembedded()?;
                writer.commit_aside()?;
            }
        }
        let found = survey(self.catalog, &self.store, self.model)?;
        self.change(Change { wake: found.wake, remove: found.gone, ..Change::default() })?;
        self.failed = self.catalog.unembedded(self.model)?.into_iter().map(|(key, _)| key).collect();
        survey(self.catalog, &self.store, self.model)
    }

    fn change(&mut self, change: Change) -> Result<(), Fault> {
        let vault = self.vault;
        Ok(self.store.change(&change, &|step| sync::kill_at(vault, step))?)
    }

    /// Writes down what was computed.
    fn keep(&mut self) -> Result<(), Fault> {
        let add = std::mem::take(&mut self.part);
        if !add.is_empty() {
            self.change(Change { add, ..Change::default() })?;
        }
        self.since = Stopwatch::start();
        Ok(())
    }

    fn run(
        &mut self,
        found: &Survey,
        lazy: &mut Lazy,
        progress: &dyn Progress,
        over: &dyn Fn() -> bool,
    ) -> Result<(), Fault> {
        let (mut taken, mut in_a_row) = (HashSet::new(), 0);
        for waiting in self.in_order(&found.waiting)? {
            let keys = self.catalog.passages_of(waiting.doc)?;
            let Some(row) = self.catalog.doc(waiting.doc)? else { continue };
            // What was edited since waits for the next sync, what another work tree has for somebody there.
            let Some(texts) = sync::passages_of(self.vault, &row.path, row.oid, &keys)? else { continue };
            for (key, text) in keys.into_iter().zip(&texts) {
                if self.store.holds(key) || !taken.insert(key) {
                    continue;
                }
                if self.failed.contains(&key) {
                    self.step.failed += 1;
                    continue;
                }
                match vector_of(lazy.get()?, text) {
                    Ok(vector) => {
                        self.part.push(NewRow { key, script: Script::of(text), vector });
                        self.step.done += 1;
                        in_a_row = 0;
                    }
                    Err(error) if !about_the_text(&error) => return Err(error.into()),
                    Err(error) => {
                        in_a_row += 1;
                        self.step.failed += 1;
                        self.put_failed(key, &error)?;
                        if in_a_row >= FAILURES {
                            return Err(
                                EmbedError::KeepsFailing { texts: in_a_row, why: error.to_string() }.into()
                            );
                        }
                    }
                }
                progress.advance(1);
                if self.part.len() >= PART || self.since.elapsed() >= PART_TIME {
                    self.keep()?;
                }
                self.vault.env.go_on()?;
                if over() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn put_failed(&self, key: TextKey, error: &model::EmbedError) -> Result<(), Fault> {
        let writer = self.catalog.write()?;
        writer.put_unembedded(self.model, key, &error.to_string())?;
        writer.commit_aside()?;
        Ok(())
    }

    /// The latest edited first, then the latest dated, then by path.
    fn in_order(&self, waiting: &[Waiting]) -> Result<Vec<Waiting>, Fault> {
        let wanted: HashMap<u64, Waiting> = waiting.iter().map(|one| (one.doc.0, *one)).collect();
        let mut rows = Vec::with_capacity(waiting.len());
        self.catalog.each_place(|doc, date, path| {
            if let Some(one) = wanted.get(&doc.0) {
                rows.push((std::cmp::Reverse((one.born, date)), path.to_owned(), *one));
            }
        })?;
        rows.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        Ok(rows.into_iter().map(|row| row.2).collect())
    }
}

/// Whether an error can be of one text alone, so that others may do better.
fn about_the_text(error: &model::EmbedError) -> bool {
    matches!(error, model::EmbedError::Run { .. } | model::EmbedError::NoVector { .. })
}

/// A text's vector. One with more tokens than the model takes is halved until the parts fit, and has the mean of their
/// vectors: nothing of it is left out.
fn vector_of(embedder: &mut Embedder, text: &str) -> Result<Vec<f32>, model::EmbedError> {
    let most = embedder.max_tokens();
    let mut parts = Vec::new();
    let (place, body) = text.split_once('\n').unwrap_or(("", text));
    split(embedder, place, body, most, HALVINGS, &mut parts)?;
    let mut sum: Vec<f32> = Vec::new();
    for part in &parts {
        for vector in embedder.passages(&[part.as_str()])? {
            if parts.len() == 1 {
                return Ok(vector);
            }
            sum.resize(vector.len(), 0.0);
            sum.iter_mut().zip(&vector).for_each(|(sum, value)| *sum += value);
        }
    }
    match unit(sum) {
        Some(vector) => Ok(vector),
        // Parts that say the opposite of each other: the beginning speaks for the whole.
        None => Ok(embedder.passages(&[text])?.pop().unwrap_or_default()),
    }
}

fn split(
    embedder: &Embedder,
    place: &str,
    body: &str,
    most: usize,
    halvings: u32,
    parts: &mut Vec<String>,
) -> Result<(), model::EmbedError> {
    let whole = if place.is_empty() { body.to_owned() } else { format!("{place}\n{body}") };
    if halvings == 0 || embedder.count_tokens(&whole)? <= most {
        parts.push(whole);
        return Ok(());
    }
    let mut middle = body.len() / 2;
    while !body.is_char_boundary(middle) {
        middle -= 1;
    }
    split(embedder, place, &body[..middle], most, halvings - 1, parts)?;
    split(embedder, place, &body[middle..], most, halvings - 1, parts)
}
