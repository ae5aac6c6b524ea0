//! How far the vectors are, for `status` and whoever else tells it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Limits, embed, form_of, knows_all, store_at, stores, survey};
use crate::flow::models::{self, ChosenBy, Unavailable};
use crate::flow::progress::Progress;
use crate::flow::sync;
use crate::flow::vault::Vault;
use crate::index::vectors::Vectors;
use crate::model::access::Access;
use crate::model::fault::{Explain as _, Fault};

/// A reason why texts could not be embedded, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failed {
    /// The reason.
    pub why: String,
    /// How many texts.
    pub texts: u64,
}

/// How far search by meaning is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MeaningState {
    /// The model; absent where search is by words alone.
    pub model: Option<String>,
    /// Who chose it.
    pub chosen_by: Option<ChosenBy>,
    /// Why there is none, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How many texts have a vector of that model. Absent, as the next two are, for an agent and for who may not see
    /// all: they are of all that there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedded: Option<u64>,
    /// How many wait for theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u64>,
    /// Which of those the model could not take, by the reason. `runebook reindex` tries them again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
}

impl MeaningState {
    pub(super) fn without(reason: &Unavailable) -> MeaningState {
        MeaningState {
            model: None,
            chosen_by: None,
            unavailable: Some(reason.to_string()),
            hint: reason.hint(),
            embedded: Some(0),
            pending: Some(0),
            failed: Vec::new(),
        }
    }

    /// What a reader is told of it.
    #[must_use]
    pub fn told_to(self, access: &Access) -> MeaningState {
        if knows_all(access) {
            return self;
        }
        MeaningState { embedded: None, pending: None, failed: Vec::new(), ..self }
    }
}

/// What bringing the vectors up to date did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Embedded {
    /// The model; absent where search is by words alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// How many texts got their vector. Absent, as the next two are, for an agent and for who may not see all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// How many wait for theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u64>,
    /// How many of them the model could not take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// What a reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Embedded {
    /// What a reader is told of it.
    #[must_use]
    pub fn told_to(self, access: &Access) -> Embedded {
        if knows_all(access) {
            return self;
        }
        Embedded { done: None, pending: None, failed: None, ..self }
    }
}

/// Brings the vectors up to date with the index, however long it takes, what failed before among them. Does nothing
/// where no model is in use.
///
/// # Errors
/// As [`super::embed`].
pub fn catch_up(vault: &Vault<'_>, progress: &dyn Progress) -> Result<Embedded, Fault> {
    let choice = match models::choose(vault.env, Some(&vault.config)) {
        Ok(choice) => choice,
        Err(reason) => {
            // What somebody chose and cannot be had is told; that nobody chose one is no news.
            let chosen = matches!(
                reason,
                Unavailable::BadName { .. } | Unavailable::NotInstalled { .. } | Unavailable::Broken(_)
            );
            let hint = reason.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            let notes = chosen.then(|| format!("search is by words alone: {reason}{hint}"));
            return Ok(Embedded {
                unavailable: Some(reason.to_string()),
                notes: notes.into_iter().collect(),
                done: Some(0),
                pending: Some(0),
                failed: Some(0),
                ..Embedded::default()
            });
        }
    };
    let limits = Limits { budget: None, most: None, patience: Duration::from_secs(600), thorough: true };
    let step = embed(vault, &mut choice.lazy(), limits, &|| false, progress)?;
    Ok(Embedded {
        model: Some(choice.directory.description.name.to_string()),
        unavailable: None,
        done: Some(step.done),
        pending: Some(step.left),
        failed: Some(step.failed),
        notes: step.notes,
    })
}

/// Looks. Loads no model.
///
/// # Errors
/// When the index or the vectors cannot be read.
pub fn state(vault: &Vault<'_>) -> Result<MeaningState, Fault> {
    let chosen = models::choose(vault.env, Some(&vault.config));
    let choice = match chosen.and_then(|choice| choice.seems_whole().map(|()| choice)) {
        Ok(choice) => choice,
        Err(reason) => return Ok(MeaningState::without(&reason)),
    };
    let form = form_of(&choice);
    let catalog = sync::open(vault)?;
    let store = Vectors::open(&store_at(&stores(vault), &form), &form)?;
    let found = survey(&catalog, &store, choice.fingerprint().as_str())?;
    let mut failed: Vec<Failed> = Vec::new();
    for (key, why) in catalog.unembedded(choice.fingerprint().as_str())? {
        if store.row(key).is_some() {
            continue;
        }
        match failed.iter_mut().find(|one| one.why == why) {
            Some(one) => one.texts += 1,
            None => failed.push(Failed { why, texts: 1 }),
        }
    }
    Ok(MeaningState {
        model: Some(choice.directory.description.name.to_string()),
        chosen_by: Some(choice.by),
        unavailable: None,
        hint: None,
        embedded: Some(store.len() as u64),
        pending: Some(found.pending),
        failed,
    })
}
