//! `find`: words in, memories out. Filters hold before anything is scored; the index is brought up to date first.

mod beside;
mod request;
mod similar;
mod snippet;
mod state;

use schemars::JsonSchema;
use serde::Serialize;

use super::asof::{self, Revision};
use super::meaning::{Dense, DenseHit, Meaning};
use super::progress::Progress;
use super::sync::{self, Freshness, Pair};
use super::vault::Vault;
use crate::catalog::{CatalogError, DocId, DocRow, Side, State};
use crate::index::query::{self, Item, Query};
use crate::index::search;
use crate::index::text::Totals;
use crate::index::vectors::Form;
use crate::model::access::Access;
use crate::model::actor::Sensitivity;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::link::Names;
use crate::model::path::VaultPath;
use crate::model::uri::Uri;
use crate::store::files;

pub use beside::Attachment;
pub use request::{Arm, FindError, FindRequest, Status};
pub use similar::{SimilarAnswer, SimilarError, SimilarRequest, similar};
pub use snippet::Snippet;
pub use state::StateError;
use state::name_of;

/// One memory that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindHit {
    /// Its address.
    pub uri: String,
    /// Its path.
    pub path: VaultPath,
    /// Its title.
    pub title: String,
    /// The headings above the place that matched best, outermost first.
    pub headings: Vec<String>,
    /// The line of the snippet, counted from 1.
    pub line: u32,
    /// The place that matched best.
    pub snippet: Snippet,
    /// The day that the memory is about (`2026-11-28`), where it says one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The type, where it has one.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub memory_type: Option<String>,
    /// The status, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether main has exactly this content, or with `--rev` had it then; if not, nobody approved it yet.
    pub approved: bool,
    /// With `--rev`: whether main has exactly this content at this path today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<bool>,
    /// The blob of the content.
    pub oid: Oid,
    /// The score: BM25 over all fields, comparable within one answer only.
    pub score: f64,
    /// The attachments which that place shows and whose words match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The memory beside it of which a sync program made this copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<VaultPath>,
    /// What each term in each field adds to the score, with `--explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explain: Vec<TermScore>,
}

/// One term's part in a score.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TermScore {
    /// The field.
    pub field: String,
    /// The term; `=word` is a word in its exact form, `word*` all that begin with it.
    pub term: String,
    /// What it adds.
    pub score: f64,
}

/// What `find` answers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindAnswer {
    /// The query.
    pub query: String,
    /// What was searched: `main` or `worktree`; with `--rev` `rev` or `proposal`.
    pub view: String,
    /// The older or proposed state that was searched, with `--rev`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rev: Option<Revision>,
    /// How it was searched: `lexical`.
    pub mode: String,
    /// From which state of the vault.
    pub freshness: Freshness,
    /// The memories, best first.
    pub hits: Vec<FindHit>,
    /// What the asker should know about the query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Searches. Changes nothing but the index.
///
/// # Errors
/// When a filter cannot be understood, or there is no index and it cannot be built.
pub fn find(
    vault: &Vault<'_>,
    access: &Access,
    request: &FindRequest,
    progress: &dyn Progress,
) -> Result<FindAnswer, Fault> {
    let asked = request::read(vault, request)?;
    let freshness = sync::ensure(vault, progress)?;
    let search = |freshness: &Freshness| {
        state::prepare(vault, access, progress)?;
        Finder::open(vault)?.search(vault, access, request, &asked, freshness)
    };
    search(&freshness).or_else(|error| {
        if error.as_error().is::<StateError>() {
            return search(&freshness);
        }
        // Damage that only reading showed.
        search(&sync::rebuild(vault, progress, error)?)
    })
}

/// The index as it stood at one moment, for many searches: what runs for long keeps one until the index moves on.
#[derive(Debug)]
pub struct Finder {
    pair: Pair,
    meaning: Option<Meaning>,
}

impl Finder {
    /// Opens the index as it stands.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn open(vault: &Vault<'_>) -> Result<Finder, Fault> {
        Ok(Finder { pair: sync::open_pair(vault)?, meaning: None })
    }

    /// Opens the index as it stands together with the vectors of a model.
    ///
    /// # Errors
    /// As [`Finder::open`], and when the vectors cannot be read.
    pub fn with_meaning(vault: &Vault<'_>, form: &Form) -> Result<Finder, Fault> {
        let pair = sync::open_pair(vault)?;
        let meaning = Some(Meaning::open(vault, &pair, form)?);
        Ok(Finder { pair, meaning })
    }

    /// The vectors, where they were opened.
    #[must_use]
    pub fn meaning(&self) -> Option<&Meaning> {
        self.meaning.as_ref()
    }

    /// Searches by meaning alone, under the filters of a request (its words filter nothing): the best chunk of each
    /// memory, best first. Nothing where no vectors were opened.
    ///
    /// # Errors
    /// As [`Finder::find`].
    pub fn dense(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &FindRequest,
        dense: &Dense<'_>,
    ) -> Result<Vec<DenseHit>, Fault> {
        let asked = request::read(vault, request)?;
        let Some(meaning) = &self.meaning else { return Ok(Vec::new()) };
        self.narrowed(vault, access, request, &asked, |_, narrowed| {
            meaning.nearest(&self.pair, dense, narrowed)
        })
    }

    /// Whether a search goes by meaning too, and not by words alone.
    #[must_use]
    pub fn has_meaning(&self) -> bool {
        false
    }

    /// Searches without looking at the files first.
    ///
    /// # Errors
    /// When a filter cannot be understood, or the index cannot be read.
    pub fn find(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &FindRequest,
    ) -> Result<FindAnswer, Fault> {
        let asked = request::read(vault, request)?;
        let freshness = sync::stored(vault, &self.pair.catalog, Vec::new())?;
        self.search(vault, access, request, &asked, &freshness)
    }

    fn search(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &FindRequest,
        asked: &Asked,
        freshness: &Freshness,
    ) -> Result<FindAnswer, Fault> {
        let pair = &self.pair;
        let path_of = |doc: u64| {
            let row = pair.catalog.doc(DocId(doc)).ok().flatten();
            row.map(|row| row.path.as_str().to_owned()).unwrap_or_default()
        };
        let (side, found) = self.narrowed(vault, access, request, asked, |side, narrowed| {
            Ok((side, pair.text.search(narrowed, &path_of)?))
        })?;
        let (names, reads) = (pair.catalog.names(side), access.reads());
        let mut hits = Vec::with_capacity(found.hits.len());
        for hit in &found.hits {
            let Some(row) = pair.catalog.doc(DocId(hit.doc))? else { continue };
            let mut shown = shown(vault, side, &names, hit, row, &found.terms);
            shown.attachments.retain(|shown| reads.holds(&shown.path));
            hits.push(shown);
        }
        let mut notes = found.notes;
        let same = beside::settle(&mut hits, |hit| bytes_of(vault, side, &hit.path, hit.oid));
        if same > 0 {
            notes.push(format!(
                "{same} copies that say the same are not shown; `runebook check --rule copy` names them"
            ));
        }
        let rev = asof::told(vault, &access.view, request.rev.as_deref().unwrap_or_default())?;
        if let Some(rev) = &rev {
            hits.iter_mut().for_each(|hit| state::of_revision(hit, access, rev));
        }
        Ok(FindAnswer {
            query: request.query.clone(),
            view: name_of(side, access).to_owned(),
            rev,
            mode: "lexical".to_owned(),
            freshness: self.freshness_of(side, freshness)?,
            hits,
            notes,
        })
    }

    /// Runs a search under the filters of a request: whoever scores, what may be found is the same.
    fn narrowed<T>(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &FindRequest,
        asked: &Asked,
        run: impl FnOnce(Side, &search::Request<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let pair = &self.pair;
        let side = self.side(vault, access, request.main)?;
        let veiled = state::hidden_today(vault, access, &pair.catalog, side)?;
        let hidden = pair.catalog.hidden(side)?;
        let totals = totals(vault, &pair.state)?;
        let reads = access.reads();
        let path = |path: &str| {
            reads.holds_text(path)
                && !veiled.contains(path)
                && (asked.paths.is_empty() || asked.paths.iter().any(|test| test.holds(path)))
                && !asked.not_paths.iter().any(|test| test.holds(path))
        };
        let clearance = access.actor.as_ref().map_or(Sensitivity::Restricted, |actor| actor.clearance());
        run(
            side,
            &search::Request {
                query: &asked.query,
                hidden: &hidden,
                totals: &totals,
                limit: request.limit,
                kinds: &asked.kinds,
                not_kinds: &asked.not_kinds,
                statuses: &asked.statuses,
                clearance: clearance as u8,
                tags: &request.tags,
                dates: asked.dates,
                path: &path,
                explain: request.explain,
            },
        )
    }
}

/// What of the request is about the index.
struct Asked {
    query: Query,
    kinds: Vec<u8>,
    not_kinds: Vec<u8>,
    statuses: Vec<u8>,
    dates: Option<(i64, i64)>,
    paths: Vec<PathTest>,
    not_paths: Vec<PathTest>,
}

enum PathTest {
    Begins(String),
    Glob(globset::GlobMatcher),
}

impl PathTest {
    fn holds(&self, path: &str) -> bool {
        match self {
            PathTest::Begins(prefix) => path.starts_with(prefix.as_str()),
            PathTest::Glob(glob) => glob.is_match(path),
        }
    }
}

/// The numbers that scores need, as the index left them. An index that says none is as good as none: every search of it
/// would find nothing.
fn totals(vault: &Vault<'_>, state: &State) -> Result<Totals, Fault> {
    if state.text.is_empty() {
        return Ok(Totals::default());
    }
    let path = vault.derived_dir();
    let unusable = |why: serde_json::Error| CatalogError::Unusable { path, why: why.to_string() };
    Ok(serde_json::from_str(&state.text).map_err(unusable)?)
}

fn shown(
    vault: &Vault<'_>,
    side: Side,
    names: &dyn Names,
    hit: &search::Hit,
    row: DocRow,
    terms: &std::collections::HashSet<String>,
) -> FindHit {
    let text = text_of(vault, side, &row);
    let chunk = usize::try_from(hit.ord).ok().and_then(|ord| row.chunks.get(ord));
    let (headings, range, line) = match chunk {
        Some(chunk) => (chunk.headings.clone(), chunk.start..chunk.end, chunk.line),
        None => (Vec::new(), 0..0, 1),
    };
    let piece = text.get(range.clone()).unwrap_or_default();
    let attachments = beside::shown(piece, &row.path, names, terms);
    let (snippet, below) = snippet::cut(&text, range, terms);
    let zone = vault.config.zone().unwrap_or(jiff::tz::TimeZone::UTC);
    let date = row.date.and_then(|date| jiff::Timestamp::from_second(date).ok());
    FindHit {
        uri: Uri::file(row.path.clone()).to_string(),
        title: row.title,
        headings,
        line: line + below,
        snippet,
        date: date.map(|at| at.to_zoned_datetime(zone).strftime("%Y-%m-%d").to_string()),
        memory_type: row.memory_type,
        status: row.status,
        approved: row.main,
        current: None,
        oid: row.oid,
        score: (hit.score * 1e6).round() / 1e6,
        attachments,
        copy_of: None,
        explain: hit.parts.iter().map(term_score).collect(),
        path: row.path,
    }
}

fn term_score(part: &search::Part) -> TermScore {
    use crate::index::tokenizer::{EXACT, is_cjk};
    let term = match part.term.strip_prefix(EXACT) {
        Some(word) => format!("={word}"),
        None => part.term.clone(),
    };
    let alone = term.chars().count() == 1 && term.starts_with(is_cjk);
    TermScore {
        field: part.field.to_owned(),
        term: if alone { format!("{term}*") } else { term },
        score: (part.score * 1e6).round() / 1e6,
    }
}

/// The bytes of a document in a view.
fn bytes_of(vault: &Vault<'_>, side: Side, path: &VaultPath, oid: Oid) -> Option<Vec<u8>> {
    let work = match side {
        Side::Tree(_) => vault.repo.work_dir().and_then(|root| files::read(root, path).ok()),
        Side::Main | Side::Revision(_) => None,
    };
    work.or_else(|| vault.repo.blob(oid).ok())
}

/// The text that a document's chunks point into; what can no longer be read gives no snippet.
pub(super) fn text_of(vault: &Vault<'_>, side: Side, row: &DocRow) -> String {
    let bytes = bytes_of(vault, side, &row.path, row.oid).unwrap_or_default();
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    String::from_utf8_lossy(bytes).into_owned()
}

/// The items of a query that filter types and paths.
fn filters(items: &[Item]) -> impl Iterator<Item = (&str, &str)> {
    items.iter().filter_map(|item| match item {
        Item::Type(name) => Some(("type", name.as_str())),
        Item::Path(path) => Some(("path", path.as_str())),
        _ => None,
    })
}

pub(super) fn parse(text: &str) -> Query {
    query::parse(text)
}
