//! Search by meaning: the vectors of the documents' texts, what waits for one, and bringing them up to date.
//!
//! The catalog names the texts of each document by their content; the store has vectors by those names. So nothing has
//! to be kept in step: a text that the store does not have is *pending*, a row that no document names is never found
//! and is put aside when vectors are next brought up to date. Stores of different models lie beside each other, and a
//! search is of one.

mod dense;
mod embed;
mod state;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use dense::{Dense, DenseHit};
pub use embed::{EmbedError, EmbedStep, FEW, Limits, embed, embed_few, embed_some};
pub use state::{Embedded, Failed, MeaningState, catch_up, state};

use super::models::Choice;
use super::vault::Vault;
use crate::catalog::{Catalog, DocId};
use crate::index::search::Address;
use crate::index::vectors::{Form, Row, Scores, Script, Vectors};
use crate::model::access::Access;
use crate::model::fault::Fault;
use crate::model::id::TextKey;

/// The form of the vectors of a model.
#[must_use]
pub fn form_of(choice: &Choice) -> Form {
    Form::of(choice.fingerprint().as_str(), choice.directory.description.dimensions)
}

/// Where the stores of a vault lie. Not in the directory of an index: an index that is built anew has the same texts.
fn stores(vault: &Vault<'_>) -> PathBuf {
    vault.derived_dir().join("vectors")
}

/// The directory of the vectors of a model. Whoever changes them puts a file into it or takes one out.
#[must_use]
pub fn store_of(vault: &Vault<'_>, form: &Form) -> PathBuf {
    store_at(&stores(vault), form)
}

fn store_at(stores: &Path, form: &Form) -> PathBuf {
    stores.join(form.name())
}

/// A document with texts that have no vector yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    doc: DocId,
    /// The generation in which it came: the higher, the later it was edited.
    born: u64,
}

/// What the catalog says of a store.
#[derive(Debug, Default)]
struct Survey {
    /// The documents that wait, in the order of their numbers.
    waiting: Vec<Waiting>,
    /// How many different texts wait.
    pending: u64,
    /// How many of them the model could not take: nothing is to be done about these.
    barred: u64,
    /// The chunks that have a vector: document, number of the chunk in it, row. In order.
    rows: Vec<(u64, u32, Row)>,
    /// Texts that documents name again, though their rows are dead.
    wake: Vec<TextKey>,
    /// Texts that live in the store, and that no document names.
    gone: Vec<TextKey>,
}

/// `model` is the fingerprint of the model whose failures are known.
fn survey(catalog: &Catalog, store: &Vectors, model: &str) -> Result<Survey, Fault> {
    let mut found = Survey::default();
    let mut missing: HashSet<TextKey> = HashSet::new();
    let mut named = vec![false; store.row_count()];
    catalog.each_passages(|passages| {
        let mut waits = false;
        for (ord, key) in passages.keys().enumerate() {
            match store.row(key) {
                Some(row) => {
                    if !named[row.0 as usize] && !store.holds(key) {
                        found.wake.push(key);
                    }
                    named[row.0 as usize] = true;
                    found.rows.push((passages.doc.0, ord as u32, row));
                }
                None => {
                    waits = true;
                    missing.insert(key);
                }
            }
        }
        if waits {
            found.waiting.push(Waiting { doc: passages.doc, born: passages.born });
        }
    })?;
    found.gone =
        store.keys().filter(|key| store.row(*key).is_some_and(|row| !named[row.0 as usize])).collect();
    // A row that is put aside is found again as soon as the vectors are brought up to date, without the model.
    found.pending = (missing.len() + found.wake.len()) as u64;
    if !missing.is_empty() {
        let failed = catalog.unembedded(model)?;
        found.barred = failed.iter().filter(|(key, _)| missing.contains(key)).count() as u64;
    }
    Ok(found)
}

/// How many chunks of one document are compared with a question beyond those that a scan found.
const MOST_CHUNKS: usize = 64;

/// Whether vectors of a form were ever made for a vault; costs one look.
pub(super) fn begun(vault: &Vault<'_>, form: &Form) -> bool {
    store_at(&stores(vault), form).is_dir()
}

/// The vectors of one model over the documents of one index, at one moment.
#[derive(Debug)]
pub struct Meaning {
    store: Vectors,
    /// The chunks that have a vector: document, number of the chunk in it, row. In order.
    rows: Vec<(u64, u32, Row)>,
    /// Where each of `rows` is in the text index.
    places: Vec<Option<Address>>,
    /// Which of `rows` each row of the store is the vector of: `owners[starts[row]..starts[row + 1]]`.
    owners: Vec<u32>,
    starts: Vec<u32>,
    pending: u64,
    barred: u64,
}

impl Meaning {
    /// Opens the vectors of a form over an index; `model` is the fingerprint of the model that they are of.
    ///
    /// # Errors
    /// When the store or the index cannot be read. Damage is no error: what is damaged is pending.
    pub(super) fn open(
        vault: &Vault<'_>,
        pair: &super::sync::Pair,
        form: &Form,
        model: &str,
    ) -> Result<Meaning, Fault> {
        let store = Vectors::open(&store_at(&stores(vault), form), form)?;
        let Survey { rows, pending, barred, .. } = survey(&pair.catalog, &store, model)?;
        let places = pair.text.addresses()?.of(rows.iter().map(|(doc, ord, _)| (*doc, *ord)));
        let mut starts = vec![0u32; store.row_count() + 1];
        rows.iter().for_each(|(_, _, row)| starts[row.0 as usize + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let (mut next, mut owners) = (starts.clone(), vec![0; rows.len()]);
        for (at, (_, _, row)) in (0..).zip(&rows) {
            let place = &mut next[row.0 as usize];
            owners[*place as usize] = at;
            *place += 1;
        }
        Ok(Meaning { store, rows, places, owners, starts, pending, barred })
    }

    /// Calls `each` with the vectors of a document's chunks: of one that has very many, the first ones. `vector` is
    /// where they are read into.
    pub(super) fn each_of(&self, doc: DocId, vector: &mut Vec<f32>, mut each: impl FnMut(&[f32])) {
        for (_, row) in self.rows_at(doc).take(MOST_CHUNKS) {
            if self.store.read(row, vector) {
                each(vector);
            }
        }
    }

    /// The direction of a document as a whole: of length one; none where it has none.
    pub(super) fn direction(&self, doc: DocId) -> Option<Vec<f32>> {
        let mut sum: Vec<f32> = Vec::new();
        self.each_of(doc, &mut Vec::new(), |vector| add(&mut sum, vector));
        unit(sum)
    }

    /// Reads the vector of a chunk. Says whether it has one.
    pub(super) fn read(&self, doc: DocId, ord: u64, into: &mut Vec<f32>) -> bool {
        self.rows_at(doc).find(|(at, _)| *at == ord).is_some_and(|(_, row)| self.store.read(row, into))
    }

    /// The main script of a document; none where none of its chunks has a vector.
    pub(super) fn script_of(&self, doc: DocId) -> Option<Script> {
        self.rows_at(doc).next().map(|(_, row)| self.store.script(row))
    }

    fn rows_at(&self, doc: DocId) -> impl Iterator<Item = (u64, Row)> {
        let from = self.rows.partition_point(|row| row.0 < doc.0);
        self.rows[from..].iter().take_while(move |row| row.0 == doc.0).map(|row| (u64::from(row.1), row.2))
    }

    /// How many texts wait for their vectors.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// How many texts wait, as a reader is told it. They are of all views and of whatever is confidential, so an agent,
    /// and who may not see all, is told none.
    pub(super) fn told_to(&self, access: &Access) -> u64 {
        if knows_all(access) { self.pending } else { 0 }
    }

    /// How many of those the model may take.
    pub(super) fn waiting(&self) -> u64 {
        self.pending - self.barred.min(self.pending)
    }

    /// How many texts have one.
    #[must_use]
    pub fn embedded(&self) -> u64 {
        self.store.len() as u64
    }

    /// The mean of the vectors of a script, and of how many texts it is.
    #[must_use]
    pub fn mean(&self, script: Script) -> (Vec<f32>, usize) {
        self.store.mean(script)
    }

    /// The chunks that a row is the vector of: document, number within it, and where that is in the text index.
    fn owners(&self, row: Row) -> impl Iterator<Item = (u64, u32, Address)> {
        let start = |at: usize| self.starts.get(at).map_or(0, |start| *start as usize);
        let owners = self.owners.get(start(row.0 as usize)..start(row.0 as usize + 1)).unwrap_or_default();
        owners.iter().filter_map(|at| {
            let (doc, ord, _) = self.rows.get(*at as usize)?;
            Some((*doc, *ord, (*self.places.get(*at as usize)?)?))
        })
    }

    /// What a question's vector has in common with every text: computed once for all that is asked with it.
    pub(super) fn scores(&self, vector: &[f32]) -> Scores {
        self.store.scores(vector)
    }

    /// The vector of some texts together: the mean of theirs, of length one; none where none of them has one.
    pub(super) fn together(&self, keys: &[TextKey]) -> Option<Vec<f32>> {
        let rows = keys.iter().filter(|key| self.store.holds(**key)).filter_map(|key| self.store.row(*key));
        let mut sum: Vec<f32> = Vec::new();
        for vector in rows.filter_map(|row| self.store.vector(row)) {
            add(&mut sum, &vector);
        }
        unit(sum)
    }
}

/// Whether a reader may know how many texts there are, whoever's they be.
pub(super) fn knows_all(access: &Access) -> bool {
    !access.is_agent() && !access.is_narrow()
}

fn add(sum: &mut Vec<f32>, vector: &[f32]) {
    sum.resize(vector.len(), 0.0);
    sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
}

/// A vector made of length one; none where it has no direction.
pub(super) fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    if length < 1e-6 {
        return None;
    }
    vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    Some(vector)
}
