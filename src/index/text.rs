//! The text index: one document a chunk, in tantivy. `text*.rs` are the only files that name it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::indexer::{LogMergePolicy, NoMergePolicy};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};

use super::text_near::order_key;
use super::text_still::Still;
use super::text_words;
use crate::model::fault::{Explain, Kind};

/// What can go wrong in the text index.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// It cannot be used: missing, of another form, or damaged. Thrown away and rebuilt by the sync.
    #[error("the text index at {} cannot be used: {why}", path.display())]
    Unusable {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The disk is full.
    #[error("the disk is full: the text index at {} cannot grow", .0.display())]
    Full(PathBuf),
    /// Anything else.
    #[error("using the text index at {}: {why}", path.display())]
    Other {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Explain for TextError {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            TextError::Full(_) => "make room, then run `runebook reindex`; nothing was lost".to_owned(),
            TextError::Unusable { .. } => {
                "run `runebook reindex --full`; the index holds nothing that cannot be rebuilt".to_owned()
            }
            TextError::Other { why, .. } if why.contains("Read-only file system") => {
                "the index needs a file system that can be written: copy the vault to one, or use `runebook grep`"
                    .to_owned()
            }
            TextError::Other { why, .. } if why.contains("Permission denied") => {
                "give yourself the right to write there, or use `runebook grep`".to_owned()
            }
            TextError::Other { .. } => {
                "see whether the disk is full, then run `runebook reindex`; nothing was lost".to_owned()
            }
        })
    }
}

impl TextError {
    /// Whether throwing the index away and rebuilding it would help.
    #[must_use]
    pub fn is_unusable(&self) -> bool {
        matches!(self, TextError::Unusable { .. })
    }

    pub(super) fn of(path: &Path, error: &TantivyError) -> TextError {
        let (path, why) = (path.to_owned(), error.to_string());
        let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
        // tantivy wraps the system's errors several layers deep, so its words are what there is to tell them by.
        if says(&["No space left", "StorageFull"]) {
            TextError::Full(path)
        } else if says(&[
            "LockBusy",
            "Permission denied",
            "Read-only file system",
            "Too many open",
            "allocate",
        ]) {
            TextError::Other { path, why }
        } else {
            // Whatever else is wrong with its files: it holds nothing that cannot be rebuilt.
            TextError::Unusable { path, why }
        }
    }
}

thread_local! {
    static GUARDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether this thread is at work in a library where a panic means that files are damaged, and is dealt with.
#[must_use]
pub fn is_guarded() -> bool {
    let thread = std::thread::current();
    let names = ["thrd-tantivy", "segment_updater", "merge_thread"];
    GUARDED.get() || thread.name().is_some_and(|name| names.iter().any(|known| name.starts_with(known)))
}

/// Runs something that may panic over files that it cannot use; nothing is said of it.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    let before = GUARDED.replace(true);
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    GUARDED.set(before);
    done
}

/// Runs something of tantivy's. It checks no checksum as it reads, and panics over files with wrong bytes: that is a
/// damaged index, to be rebuilt like any other.
pub(super) fn guarded<T>(path: &Path, work: impl FnOnce() -> tantivy::Result<T>) -> Result<T, TextError> {
    match caught(work) {
        Ok(result) => result.map_err(|error| TextError::of(path, &error)),
        Err(_) => {
            let why = "its files are damaged".to_owned();
            Err(TextError::Unusable { path: path.to_owned(), why })
        }
    }
}

/// The searched fields, in the order in which their numbers are kept. The body has its place (names, title and
/// headings) in front, so that what stands there and what stands below counts as one text; what the title says counts
/// once more. The last one holds no words but how they begin, and only tells between chunks that have words.
pub const FIELDS: [&str; 7] = ["title", "headings", "tags", "aliases", "body", "path", "starts"];
/// The number of the title among the fields.
pub(super) const TITLE: usize = 0;
/// The number of the body.
pub(super) const BODY: usize = 4;
/// The number of the field that holds how words begin.
pub(super) const STARTS: usize = 6;

/// What a chunk brings along for filters, the same in every chunk of a memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The type: 0 none, else 1 to 6 in the order of [`crate::model::front_matter::MemoryType`].
    pub kind: u8,
    /// 0 active or none, 1 pending, 2 demoted, 3 archived.
    pub status: u8,
    /// The sensitivity, 0 to 3.
    pub sensitivity: u8,
    /// The time it is about, in seconds since 1970.
    pub date: Option<i64>,
    /// Whether the memory has several chunks.
    pub several: bool,
}

impl Facts {
    pub(super) fn packed(&self, in_row: bool) -> u64 {
        u64::from(self.kind)
            | u64::from(self.status) << 8
            | u64::from(self.sensitivity) << 16
            | u64::from(self.several) << 24
            | u64::from(in_row) << 25
    }

    pub(super) fn is_one_of_several(packed: u64) -> bool {
        packed >> 24 & 1 == 1
    }

    pub(super) fn is_in_row(packed: u64) -> bool {
        packed >> 25 & 1 == 1
    }

    pub(super) fn kind_of(packed: u64) -> u8 {
        (packed & 255) as u8
    }

    pub(super) fn status_of(packed: u64) -> u8 {
        (packed >> 8 & 255) as u8
    }

    pub(super) fn sensitivity_of(packed: u64) -> u8 {
        (packed >> 16 & 255) as u8
    }
}

/// One chunk of a memory.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The memory's document number in the catalog.
    pub doc: u64,
    /// The chunk's number within it, from 0.
    pub ord: u64,
    /// The path.
    pub path: &'a str,
    /// The title.
    pub title: &'a str,
    /// The headings above the chunk.
    pub headings: &'a [String],
    /// The tags.
    pub tags: &'a [String],
    /// The aliases.
    pub aliases: &'a [String],
    /// The chunk's text.
    pub body: &'a str,
    /// For filters.
    pub facts: &'a Facts,
}

/// The live numbers that BM25 needs: chunks, and tokens by field (as the index keeps lengths, which it rounds).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// How many chunks.
    pub chunks: u64,
    /// How many tokens in each of [`FIELDS`].
    pub tokens: [u64; 7],
}

#[derive(Debug, Clone)]
pub(super) struct Fields {
    pub(super) doc: Field,
    pub(super) tag: Field,
    /// Of small memories that follow one another in a directory: see [`order_key`].
    pub(super) order: Field,
    pub(super) searched: [Field; 7],
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let doc = builder.add_u64_field("doc", INDEXED | FAST);
    builder.add_u64_field("ord", FAST);
    builder.add_u64_field("facts", FAST);
    builder.add_i64_field("date", FAST);
    builder.add_text_field("place", TextOptions::default().set_fast("raw"));
    let tag = builder.add_text_field("tag", STRING);
    let order = builder.add_text_field("order", STRING);
    let indexed = |tokenizer: &str, option| {
        let indexing = TextFieldIndexing::default().set_tokenizer(tokenizer).set_index_option(option);
        TextOptions::default().set_indexing_options(indexing)
    };
    let words = indexed(text_words::WORDS, IndexRecordOption::WithFreqsAndPositions);
    let body = indexed(text_words::BODY, IndexRecordOption::WithFreqsAndPositions);
    let starts = indexed(text_words::STARTS, IndexRecordOption::WithFreqs);
    let mut searched = [doc; 7];
    for (at, name) in FIELDS.iter().enumerate() {
        let options = match at {
            BODY => &body,
            STARTS => &starts,
            _ => &words,
        };
        searched[at] = builder.add_text_field(name, options.clone());
    }
    (builder.build(), Fields { doc, tag, order, searched })
}

/// An open text index, as it stood when it was opened.
pub struct TextIndex {
    pub(super) index: Index,
    pub(super) reader: IndexReader,
    pub(super) fields: Fields,
    pub(super) path: PathBuf,
}

impl std::fmt::Debug for TextIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextIndex").field("path", &self.path).finish_non_exhaustive()
    }
}

impl TextIndex {
    /// Makes an empty index in an empty directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path) -> Result<TextIndex, TextError> {
        let (schema, _) = schema();
        let index = Index::create_in_dir(path, schema).map_err(|e| TextError::of(path, &e))?;
        TextIndex::ready(index, path)
    }

    /// Opens the index in a directory.
    ///
    /// # Errors
    /// When there is none, it has another form, or it is damaged.
    pub fn open(path: &Path) -> Result<TextIndex, TextError> {
        let index = guarded(path, || Index::open(Still(MmapDirectory::open(path)?)))?;
        if index.schema() != schema().0 {
            let why = "it was made by another version of this program".to_owned();
            return Err(TextError::Unusable { path: path.to_owned(), why });
        }
        TextIndex::ready(index, path)
    }

    fn ready(mut index: Index, path: &Path) -> Result<TextIndex, TextError> {
        index.set_tokenizers(text_words::known());
        let builder = index.reader_builder().reload_policy(ReloadPolicy::Manual).num_warming_threads(0);
        let reader = guarded(path, || builder.try_into())?;
        Ok(TextIndex { index, reader, fields: schema().1, path: path.to_owned() })
    }

    /// The generation that the index was last committed as.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn generation(&self) -> Result<u64, TextError> {
        let metas = guarded(&self.path, || self.index.load_metas())?;
        Ok(metas.payload.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// Counts anew what BM25 needs, over all that is alive.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn totals(&self) -> Result<Totals, TextError> {
        guarded(&self.path, || self.count_totals())
    }

    fn count_totals(&self) -> tantivy::Result<Totals> {
        self.reader.reload()?;
        let mut totals = Totals::default();
        for segment in self.reader.searcher().segment_readers() {
            totals.chunks += u64::from(segment.num_docs());
            for (field, sum) in self.fields.searched.iter().zip(&mut totals.tokens) {
                let lengths = segment.get_fieldnorms_reader(*field)?;
                *sum += segment.doc_ids_alive().map(|doc| u64::from(lengths.fieldnorm(doc))).sum::<u64>();
            }
        }
        Ok(totals)
    }

    /// The numbers of all documents in the index, in order, each once.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn docs(&self) -> Result<Vec<u64>, TextError> {
        let collect = || -> tantivy::Result<Vec<u64>> {
            self.reader.reload()?;
            let mut docs = Vec::new();
            for segment in self.reader.searcher().segment_readers() {
                let numbers = segment.fast_fields().u64("doc")?;
                docs.extend(segment.doc_ids_alive().filter_map(|doc| numbers.first(doc)));
            }
            docs.sort_unstable();
            docs.dedup();
            Ok(docs)
        };
        guarded(&self.path, collect)
    }

    /// Begins to change the index; `bulk` is for filling an empty one, with two threads and more memory.
    ///
    /// # Errors
    /// When another process changes it, or it cannot be written.
    pub fn write(&self, bulk: bool) -> Result<TextWriter<'_>, TextError> {
        let (threads, budget) = if bulk { (2, 320 << 20) } else { (1, 64 << 20) };
        let mut tries = 0;
        let writer: IndexWriter = loop {
            let opened = guarded(&self.path, || self.index.writer_with_num_threads(threads, budget));
            match opened {
                // Who changes the index holds the vault's own lock, so this one is free, or will be in a moment: a
                // process that is just being started has its parent's open files until it runs its own program.
                Err(TextError::Other { why, .. }) if why.contains("LockBusy") && tries < 100 => {
                    tries += 1;
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                opened => break opened?,
            }
        };
        if bulk {
            writer.set_merge_policy(Box::new(NoMergePolicy));
        } else {
            // What a run left that died or found the disk full; it is in the way at worst.
            let _ = writer.garbage_collect_files().wait();
            writer.set_merge_policy(Box::new(LogMergePolicy::default()));
        }
        Ok(TextWriter { writer, index: self })
    }
}

/// Changes to the text index. Nothing shows before [`TextWriter::commit`].
pub struct TextWriter<'i> {
    writer: IndexWriter,
    index: &'i TextIndex,
}

impl std::fmt::Debug for TextWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextWriter").field("index", self.index).finish_non_exhaustive()
    }
}

impl TextWriter<'_> {
    /// Adds a chunk.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn add(&self, entry: &Entry<'_>) -> Result<(), TextError> {
        let schema = self.index.index.schema();
        let field = |name: &str| schema.get_field(name);
        let fill = || -> tantivy::Result<TantivyDocument> {
            let mut doc = TantivyDocument::new();
            doc.add_u64(field("doc")?, entry.doc);
            doc.add_u64(field("ord")?, entry.ord);
            let order =
                (!entry.facts.several).then(|| order_key(entry.path, entry.facts.kind == 3)).flatten();
            doc.add_u64(field("facts")?, entry.facts.packed(order.is_some()));
            if let Some(order) = order {
                doc.add_text(self.index.fields.order, order);
            }
            if let Some(date) = entry.facts.date {
                doc.add_i64(field("date")?, date);
            }
            doc.add_text(field("place")?, entry.path);
            for tag in entry.tags {
                for (at, _) in tag.match_indices('/') {
                    doc.add_text(field("tag")?, tag_key(&tag[..at]));
                }
                doc.add_text(field("tag")?, tag_key(tag));
            }
            let joined = |list: &[String]| list.join("\n");
            let [title, headings, tags, aliases, body, path, starts] = self.index.fields.searched;
            doc.add_text(title, entry.title);
            doc.add_text(headings, joined(entry.headings));
            doc.add_text(tags, joined(entry.tags));
            doc.add_text(aliases, joined(entry.aliases));
            // A memory's other names say what all of it is about, once.
            let names = if entry.ord == 0 { entry.aliases } else { &[] };
            let above = names.iter().chain(entry.headings).map(String::as_str).chain([entry.title]);
            for text in above.filter(|text| !entry.body.contains(text)).chain([entry.body]) {
                doc.add_text(body, text);
                doc.add_text(starts, text);
            }
            doc.add_text(path, entry.path);
            Ok(doc)
        };
        let doc = fill().map_err(|e| TextError::of(&self.index.path, &e))?;
        self.writer.add_document(doc).map_err(|e| TextError::of(&self.index.path, &e))?;
        Ok(())
    }

    /// Removes all chunks of a document.
    pub fn remove(&self, doc: u64) {
        self.writer.delete_term(Term::from_field_u64(self.index.fields.doc, doc));
    }

    /// Commits everything as a generation, and waits for merges that this begins.
    ///
    /// # Errors
    /// When the index cannot be written; it is as it was before then.
    pub fn commit(mut self, generation: u64) -> Result<(), TextError> {
        let mut commit = || -> tantivy::Result<()> {
            let mut prepared = self.writer.prepare_commit()?;
            prepared.set_payload(&generation.to_string());
            prepared.commit()?;
            Ok(())
        };
        guarded(&self.index.path, &mut commit)?;
        guarded(&self.index.path, || self.writer.wait_merging_threads())
    }
}

/// The form in which tags are compared.
#[must_use]
pub(super) fn tag_key(tag: &str) -> String {
    crate::model::link::name_key(tag.trim_start_matches('#'))
}
