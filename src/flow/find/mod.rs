//! `find`: words in, memories out. Filters hold before anything is scored; the index is brought up to date first.

mod answer;
mod ask;
mod beside;
mod fuse;
mod hybrid;
mod missing;
mod request;
mod similar;
mod snippet;
mod state;
mod weights;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::asof;
use super::meaning::{self, Dense, DenseHit, FEW, Meaning, form_of};
use super::models::{self, Choice};
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

pub use answer::{FindAnswer, FindHit, TermScore};
use ask::{Asker, Lexical};
pub use beside::Attachment;
use hybrid::Meant;
pub use hybrid::{ArmScore, Arms};
pub use missing::Missing;
use request::PathTest;
pub use request::{Arm, FindError, FindRequest, Status};
pub use similar::{SimilarAnswer, SimilarError, SimilarRequest, similar};
pub use snippet::Snippet;
pub use state::StateError;
use state::name_of;
pub use weights::{Fusion, Weights};

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
    let choice = chosen(vault, request, &asked);
    let asker = choice.as_ref().ok().map(|choice| Arc::new(Mutex::new(Asker::new(choice))));
    std::thread::scope(|scope| {
        if let (Ok(choice), Some(asker), Some(question)) = (&choice, &asker, &asked.question)
            && meaning::begun(vault, &form_of(choice))
        {
            // The model takes as long to load as everything else; who asks first waits for the rest of it.
            let (asker, question) = (Arc::clone(asker), question.clone());
            scope.spawn(move || locked(&asker).vector(&question).is_ok());
        }
        let open = || match (&choice, &asker) {
            (Ok(choice), Some(asker)) => {
                let finder = Finder::of(vault, choice, Arc::clone(asker))?;
                finder.caught_up(vault, choice, progress)
            }
            _ => Finder::open(vault),
        };
        let freshness = sync::ensure(vault, progress)?;
        let lexical = choice.as_ref().err().cloned();
        let search = |freshness: &Freshness| {
            state::prepare(vault, access, progress)?;
            open()?.search(vault, access, request, &asked, freshness, lexical.clone())
        };
        search(&freshness).or_else(|error| {
            if error.as_error().is::<StateError>() {
                return search(&freshness);
            }
            // Damage that only reading showed.
            search(&sync::rebuild(vault, progress, error)?)
        })
    })
}

/// The model by which a request is answered, or why none is.
fn chosen(vault: &Vault<'_>, request: &FindRequest, asked: &Asked) -> Result<Choice, Lexical> {
    if request.arm == Arm::Text {
        return Err(Lexical::by("it was asked for"));
    }
    if asked.question.is_none() {
        return Err(Lexical::by("the query has no free words, and what it asks for is there or is not"));
    }
    models::choose(vault.env, Some(&vault.config)).map_err(|reason| Lexical::from(&reason))
}

fn locked(asker: &Mutex<Asker>) -> MutexGuard<'_, Asker> {
    asker.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The index as it stood at one moment, for many searches: what runs for long keeps one until the index moves on.
#[derive(Debug)]
pub struct Finder {
    pair: Pair,
    meaning: Option<Meaning>,
    asker: Option<Arc<Mutex<Asker>>>,
    weights: Weights,
}

impl Finder {
    /// Opens the index as it stands.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn open(vault: &Vault<'_>) -> Result<Finder, Fault> {
        let pair = sync::open_pair(vault)?;
        Ok(Finder { pair, meaning: None, asker: None, weights: Weights::DEFAULT })
    }

    /// Opens the index as it stands, to be searched by meaning too: with the vectors of a model, which is loaded for
    /// the first question and kept.
    ///
    /// # Errors
    /// As [`Finder::with_meaning`].
    pub fn with_model(vault: &Vault<'_>, choice: &Choice) -> Result<Finder, Fault> {
        Finder::of(vault, choice, Arc::new(Mutex::new(Asker::new(choice))))
    }

    fn of(vault: &Vault<'_>, choice: &Choice, asker: Arc<Mutex<Asker>>) -> Result<Finder, Fault> {
        Ok(Finder {
            asker: Some(asker),
            ..Finder::with_meaning(vault, &form_of(choice), choice.fingerprint().as_str())?
        })
    }

    /// Embeds what was just saved, if that is little, and opens the vectors anew then.
    fn caught_up(self, vault: &Vault<'_>, choice: &Choice, progress: &dyn Progress) -> Result<Finder, Fault> {
        let few = self.meaning.as_ref().is_some_and(|meaning| (1..=FEW).contains(&meaning.waiting()));
        let Some(asker) = self.asker.clone().filter(|_| few) else { return Ok(self) };
        // What cannot be embedded now is found by its words; a model that does not load says so when it is asked.
        let done = meaning::embed_few(vault, &mut locked(&asker).lazy, progress).map_or(0, |step| step.done);
        if done == 0 {
            return Ok(self);
        }
        Finder::of(vault, choice, asker)
    }

    /// Opens the index as it stands together with the vectors of a model, which is named by its fingerprint.
    ///
    /// # Errors
    /// As [`Finder::open`], and when the vectors cannot be read.
    pub fn with_meaning(vault: &Vault<'_>, form: &Form, model: &str) -> Result<Finder, Fault> {
        let pair = sync::open_pair(vault)?;
        let meaning = Some(Meaning::open(vault, &pair, form, model)?);
        Ok(Finder { pair, meaning, asker: None, weights: Weights::DEFAULT })
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
        let run = |_, narrowed: &search::Request<'_>| meaning.nearest(&self.pair, dense, narrowed);
        Ok(self.narrowed(vault, access, request, &asked, run)?.0)
    }

    /// Whether a search goes by meaning too, and not by words alone.
    #[must_use]
    pub fn has_meaning(&self) -> bool {
        self.asker.is_some() && self.meaning.as_ref().is_some_and(|meaning| meaning.embedded() > 0)
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
        let lexical = match request.arm {
            Arm::Text => Some(Lexical::by("it was asked for")),
            _ => None,
        };
        self.search(vault, access, request, &asked, &freshness, lexical)
    }

    /// Searches for just what was asked; also says what its words found.
    fn search_once(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &FindRequest,
        asked: &Asked,
        freshness: &Freshness,
        lexical: Option<Lexical>,
    ) -> Result<(FindAnswer, Words), Fault> {
        let (pair, weights) = (&self.pair, &self.weights.fusion);
        let path_of = |doc: u64| {
            let row = pair.catalog.doc(DocId(doc)).ok().flatten();
            row.map(|row| row.path.as_str().to_owned()).unwrap_or_default()
        };
        let hybrid = lexical.is_none() && self.has_meaning() && asked.question.is_some();
        let ((side, mut found, fused), veiled) =
            self.narrowed(vault, access, request, asked, |side, narrowed| {
                let depth = if hybrid { narrowed.limit.max(fuse::DEPTH) } else { narrowed.limit };
                let by_words = || pair.text.search(&search::Request { limit: depth, ..*narrowed }, &path_of);
                // The question is understood while its words are looked for: the model may still be loading.
                let arms = self.meaning.as_ref().zip(self.asker.as_deref());
                let (meant, found) =
                    ask::beside(hybrid, || heard(arms, asked, lexical.as_ref(), weights), by_words);
                let found = found?;
                let fused = meant.map(|meant| self.fused(&meant, request.arm, narrowed, &found));
                Ok((side, found, fused))
            })?;
        let words = Words { lacks: found.lacks, found: !found.hits.is_empty() };
        let mode = match (&fused, request.arm) {
            (Err(_), _) => "lexical",
            (Ok(_), Arm::Dense) => "dense",
            (Ok(_), _) => "hybrid",
        };
        let (mut arms, mut lexical_because) = (Vec::new(), None);
        match fused {
            Ok(candidates) => {
                let mut candidates = candidates?;
                candidates.truncate(request.limit);
                arms = candidates.iter().map(hybrid::arms).collect();
                found.hits = candidates.iter().map(|one| hybrid::hit(one, &found)).collect();
            }
            Err(lexical) => {
                found.hits.truncate(request.limit);
                if lexical.news {
                    found.notes.push(format!("lexical only: {}", lexical.why));
                }
                lexical_because = Some(lexical.why);
            }
        }
        let (names, reads) = (pair.catalog.names(side), access.reads());
        let mut hits = Vec::with_capacity(found.hits.len());
        for (at, hit) in found.hits.iter().enumerate() {
            let Some(row) = pair.catalog.doc(DocId(hit.doc))? else { continue };
            let mut shown = shown(vault, side, &names, hit, row, &found.terms);
            // A file that stands beside a hit is held against the same rules as the hit.
            let holds = |path: &VaultPath| reads.holds(path) && !veiled.contains(path.as_str());
            shown.attachments.retain(|shown| holds(&shown.path));
            shown.arms = arms.get(at).filter(|_| request.explain).cloned();
            hits.push(shown);
        }
        let mut notes = found.notes;
        let same = beside::settle(&mut hits, |hit| bytes_of(vault, side, &hit.path, hit.oid));
        if same > 0 {
            notes.push(format!(
                "{same} copies that say the same are not shown; `runebook check --rule copy` names them"
            ));
        }
        let waits = self.meaning.as_ref().filter(|_| mode != "lexical" || self.asker.is_some());
        let unembedded = waits.map_or(0, |meaning| meaning.told_to(access));
        let rev = asof::told(vault, &access.view, request.rev.as_deref().unwrap_or_default())?;
        if let Some(rev) = &rev {
            hits.iter_mut().for_each(|hit| state::of_revision(hit, access, rev));
        }
        let answer = FindAnswer {
            query: request.query.clone(),
            instead: None,
            missing: Vec::new(),
            view: name_of(side, access).to_owned(),
            rev,
            mode: mode.to_owned(),
            lexical_because,
            freshness: Freshness { unembedded, ..self.freshness_of(side, freshness)? },
            hits,
            notes,
        };
        Ok((answer, words))
    }

    /// Runs a search under the filters of a request: whoever scores, what may be found is the same. Also gives the
    /// paths of an older state that are hidden today.
    fn narrowed<T>(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &FindRequest,
        asked: &Asked,
        run: impl FnOnce(Side, &search::Request<'_>) -> Result<T, Fault>,
    ) -> Result<(T, HashSet<String>), Fault> {
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
        let any = reads.is_everything()
            && veiled.is_empty()
            && asked.paths.is_empty()
            && asked.not_paths.is_empty();
        let clearance = access.actor.as_ref().map_or(Sensitivity::Restricted, |actor| actor.clearance());
        let done = run(
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
                path: (!any).then_some(&path as &dyn Fn(&str) -> bool),
                explain: request.explain,
                weights: &self.weights.text,
            },
        )?;
        Ok((done, veiled))
    }
}

/// What is asked of the meaning; else why it is not asked.
fn heard<'m>(
    arms: Option<(&'m Meaning, &Mutex<Asker>)>,
    asked: &Asked,
    lexical: Option<&Lexical>,
    weights: &Fusion,
) -> Result<Meant<'m>, Lexical> {
    if let Some(lexical) = lexical {
        return Err(lexical.clone());
    }
    let (meaning, asker) = arms.ok_or_else(|| Lexical::by("the index was opened without a model"))?;
    let question = asked.question.as_deref().ok_or_else(|| Lexical::by("the query has no free words"))?;
    if meaning.embedded() == 0 {
        if meaning.pending() <= FEW {
            // Little waits, and was not embedded: the model may say why.
            locked(asker).vector(question)?;
        }
        return Err(Lexical::by("nothing is embedded yet (`runebook reindex` does it)"));
    }
    let vector = locked(asker).vector(question)?;
    Ok(Meant::of(meaning, question, &vector, weights))
}

/// What the words of a query found.
#[derive(Debug, Clone, Copy)]
struct Words {
    /// Whether one of them stands nowhere.
    lacks: bool,
    /// Whether they found anything.
    found: bool,
}

/// What of the request is about the index.
struct Asked {
    query: Query,
    /// What is asked of a model; see [`ask::question`].
    question: Option<String>,
    kinds: Vec<u8>,
    not_kinds: Vec<u8>,
    statuses: Vec<u8>,
    dates: Option<(i64, i64)>,
    paths: Vec<PathTest>,
    not_paths: Vec<PathTest>,
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
    terms: &HashSet<String>,
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
        arms: None,
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
