//! `similar`: the memories that say what one says.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use super::fuse::Candidate;
use super::hybrid::Meant;
use super::{Asked, FindHit, FindRequest, Finder, name_of, request, shown, state, text_of, totals};
use crate::catalog::{ChunkRow, DocId, DocRow, Side};
use crate::flow::asof;
use crate::flow::browse::{CatError, no_part};
use crate::flow::meaning::form_of;
use crate::flow::models::{self, Choice};
use crate::flow::progress::Progress;
use crate::flow::sync::{self, Freshness};
use crate::flow::vault::Vault;
use crate::index::query::{Item, Query};
use crate::index::search;
use crate::index::vectors::Script;
use crate::markdown;
use crate::model::access::Access;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::path::VaultPath;
use crate::model::uri::{Fragment, Uri};

/// How many of a memory's words are looked for where there is no model.
const WORDS: usize = 24;

/// What is asked of `similar`.
#[derive(Debug, Clone)]
pub struct SimilarRequest {
    /// The memory.
    pub path: VaultPath,
    /// The part of it that is meant; all of it if none is.
    pub fragment: Option<Fragment>,
    /// How many at most.
    pub limit: usize,
    /// Whether to look in main though the work tree is there.
    pub main: bool,
}

/// What `similar` answers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SimilarAnswer {
    /// The memory, or the part of it.
    pub uri: String,
    /// Where it was looked: `main`, `worktree`, or for an address with `?rev=` `rev` or `proposal`.
    pub view: String,
    /// By what: `meaning`, or `words` where there is no model.
    pub mode: String,
    /// The model, where it was by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// From which state of the vault.
    pub freshness: Freshness,
    /// The memories, most similar first. The score is the cosine of the two memories' vectors, each seen from the mean of
    /// its language, or that of a search for its most telling words.
    pub hits: Vec<FindHit>,
    /// What the asker should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Why similar memories cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum SimilarError {
    /// The file has no text that is searched.
    #[error("`{0}` has no text that is searched")]
    NoText(VaultPath),
}

impl Explain for SimilarError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some("name a memory, or a text file".to_owned())
    }
}

/// Finds what is similar to a memory that the asker may see. Needs no model to run, only the vectors that one made;
/// where there are none, the memory's most telling words are searched. Of a part of it the vectors are those of the texts
/// that it stands in, and the words its own. Changes nothing but the index.
///
/// # Errors
/// When the memory has no text or no such part, or there is no index and it cannot be built.
pub fn similar(
    vault: &Vault<'_>,
    access: &Access,
    request: &SimilarRequest,
    progress: &dyn Progress,
) -> Result<SimilarAnswer, Fault> {
    let freshness = sync::ensure(vault, progress)?;
    state::prepare(vault, access, progress)?;
    let choice = models::choose(vault.env, Some(&vault.config));
    let run = |freshness: Freshness| -> Result<SimilarAnswer, Fault> {
        match &choice {
            Ok(choice) => {
                let model = choice.fingerprint();
                let finder = Finder::with_meaning(vault, &form_of(choice), model.as_str())?;
                finder.similar(vault, access, request, Ok(choice), freshness)
            }
            Err(why) => Finder::open(vault)?.similar(vault, access, request, Err(why.to_string()), freshness),
        }
    };
    run(freshness).or_else(|error| {
        let why = error.as_error();
        if why.is::<SimilarError>() || why.is::<CatError>() || why.is::<state::StateError>() {
            return Err(error);
        }
        // Damage that only reading showed.
        run(sync::rebuild(vault, progress, error)?)
    })
}

impl Finder {
    fn similar(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        request: &SimilarRequest,
        choice: Result<&Choice, String>,
        mut freshness: Freshness,
    ) -> Result<SimilarAnswer, Fault> {
        let side = self.side(vault, access, request.main)?;
        let none = || SimilarError::NoText(request.path.clone());
        let row = self.pair.catalog.doc_at(side, &request.path)?.ok_or_else(none)?;
        let mut keys = self.pair.catalog.passages_of(row.id)?;
        if keys.is_empty() {
            return Err(none().into());
        }
        let (text, range) = meant(vault, side, &row, request.fragment.as_ref())?;
        if request.fragment.is_some() {
            let within = |chunk: &ChunkRow| chunk.start < range.end && range.start < chunk.end;
            let chosen = keys.iter().zip(&row.chunks).filter(|(_, chunk)| within(chunk));
            keys = chosen.map(|(key, _)| *key).collect();
        }
        let plain = FindRequest {
            limit: request.limit.saturating_add(1),
            main: request.main,
            ..FindRequest::default()
        };
        let mut asked = request::read(vault, &plain)?;
        let mut notes = Vec::new();
        let vector = self.meaning.as_ref().and_then(|meaning| meaning.together(&keys));
        freshness.unembedded = self.meaning.as_ref().map_or(0, |meaning| meaning.told_to(access));
        let found = match (&self.meaning, &vector) {
            (Some(meaning), Some(vector)) => {
                let script = meaning.script_of(row.id).unwrap_or(Script::Latin);
                let meant = Meant::seen(meaning, script, vector, 1.0);
                let (mut alike, _) =
                    self.narrowed(vault, access, &plain, &asked, |_, narrowed| self.alike(&meant, narrowed))?;
                alike.truncate(plain.limit);
                let hit =
                    |one: &Candidate| search::Hit::plain(one.doc, one.ord, one.cosine.unwrap_or_default());
                search::Found { hits: alike.iter().map(hit).collect(), ..search::Found::default() }
            }
            _ => {
                notes.push(match &choice {
                    Ok(_) if keys.is_empty() => "nothing of that part is embedded, so this is by its words alone".to_owned(),
                    Ok(_) => "its vector is not made yet, so this is by its words alone (`runebook reindex` makes it)".to_owned(),
                    Err(why) => format!("by its words alone: {why}"),
                });
                let text = text.get(range).unwrap_or_default();
                self.by_words(vault, access, &plain, &mut asked, side, text)?
            }
        };
        let revision = asof::told(vault, &access.view, "")?;
        let mut hits = Vec::new();
        for hit in found.hits.iter().filter(|hit| hit.doc != row.id.0).take(request.limit) {
            let Some(other) = self.pair.catalog.doc(DocId(hit.doc))? else { continue };
            // What a memory shows is told where words were sought.
            let mut hit = FindHit {
                attachments: Vec::new(),
                ..shown(vault, side, &self.pair.catalog.names(side), hit, other, &found.terms)
            };
            if let Some(revision) = &revision {
                state::of_revision(&mut hit, access, revision);
            }
            hits.push(hit);
        }
        let model = choice.ok().filter(|_| vector.is_some());
        Ok(SimilarAnswer {
            uri: Uri {
                rev: asof::address(&access.view),
                fragment: request.fragment.clone(),
                ..Uri::file(request.path.clone())
            }
            .to_string(),
            view: name_of(side, access).to_owned(),
            mode: if model.is_some() { "meaning" } else { "words" }.to_owned(),
            model: model.map(|choice| choice.directory.description.name.to_string()),
            freshness,
            hits,
            notes,
        })
    }

    /// What a search for a memory's most telling words finds.
    fn by_words(
        &self,
        vault: &Vault<'_>,
        access: &Access,
        plain: &FindRequest,
        asked: &mut Asked,
        side: Side,
        text: &str,
    ) -> Result<search::Found, Fault> {
        let hidden = self.pair.catalog.hidden(side)?;
        let words = self.pair.text.telling(text, &hidden, &totals(vault, &self.pair.state)?, WORDS)?;
        if words.is_empty() {
            return Ok(search::Found::default());
        }
        asked.query = Query { wanted: vec![Item::Words(words.join(" "))], ..Query::default() };
        let path_of = |doc: u64| {
            let row = self.pair.catalog.doc(DocId(doc)).ok().flatten();
            row.map(|row| row.path.as_str().to_owned()).unwrap_or_default()
        };
        let (found, _) = self.narrowed(vault, access, plain, asked, |_, narrowed| {
            Ok(self.pair.text.search(narrowed, &path_of)?)
        })?;
        Ok(found)
    }
}

/// What a memory says, with its title, and where in that the part stands which is meant.
fn meant(
    vault: &Vault<'_>,
    side: Side,
    row: &DocRow,
    fragment: Option<&Fragment>,
) -> Result<(String, Range<usize>), Fault> {
    let text = text_of(vault, side, row);
    let Some(fragment) = fragment else {
        // Behind the front matter, which says of what kind it is rather than what it says.
        let begin = row.chunks.first().map_or(0, |chunk| chunk.start);
        let text = format!("{}\n{}", row.title, text.get(begin..).unwrap_or_default());
        let range = 0..text.len();
        return Ok((text, range));
    };
    let memory = markdown::read(&row.path, text.as_bytes(), &vault.config);
    match markdown::sections::locate(&memory, fragment) {
        Some(range) => Ok((memory.text, range)),
        None => Err(no_part(&memory, fragment).into()),
    }
}
