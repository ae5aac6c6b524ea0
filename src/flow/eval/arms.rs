//! The ways to answer a question that are compared.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::baseline::Baseline;
use crate::catalog::{FileKind, Side};
use crate::flow::find::{self, FindRequest, Finder};
use crate::flow::models;
use crate::flow::sync;
use crate::flow::vault::Vault;
use crate::model::access::{Access, View};
use crate::model::clock::Stopwatch;
use crate::model::fault::Fault;
use crate::model::id::ActorId;

/// One way to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// A baseline: how many words of the question a memory has.
    Grep,
    /// A baseline: plain BM25 over words as they are written.
    Bm25,
    /// The text index alone.
    Text,
    /// The vectors alone.
    Dense,
    /// What `find` does: both, where there are vectors.
    Fused,
}

impl Arm {
    /// All of them, the baselines first.
    pub const ALL: [Arm; 5] = [Arm::Grep, Arm::Bm25, Arm::Text, Arm::Dense, Arm::Fused];

    /// The name as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Arm::Grep => "grep",
            Arm::Bm25 => "bm25",
            Arm::Text => "text",
            Arm::Dense => "dense",
            Arm::Fused => "fused",
        }
    }

    /// The arm of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Arm> {
        Arm::ALL.into_iter().find(|arm| arm.name() == name)
    }

    fn searched(self) -> Option<find::Arm> {
        match self {
            Arm::Grep | Arm::Bm25 => None,
            Arm::Text => Some(find::Arm::Text),
            Arm::Dense => Some(find::Arm::Dense),
            Arm::Fused => Some(find::Arm::Fused),
        }
    }
}

/// Answers questions by any arm, over the index as it stands.
pub struct Answerer<'v, 'e> {
    vault: &'v Vault<'e>,
    finder: Finder,
    questions: Vec<String>,
    /// What each reader may see, counted: a baseline knows no filters.
    baselines: HashMap<Option<ActorId>, Baseline>,
}

impl std::fmt::Debug for Answerer<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answerer").field("finder", &self.finder).finish_non_exhaustive()
    }
}

impl<'v, 'e> Answerer<'v, 'e> {
    /// Opens the index. For the baselines, all that a reader may read is counted once for each reader, for these
    /// questions.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn open(vault: &'v Vault<'e>, questions: &[&str]) -> Result<Answerer<'v, 'e>, Fault> {
        let finder = match models::choose(vault.env, Some(&vault.config)) {
            Ok(choice) => Finder::with_model(vault, &choice)?,
            Err(_) => Finder::open(vault)?,
        };
        let questions = questions.iter().map(|question| (*question).to_owned()).collect();
        Ok(Answerer { vault, finder, questions, baselines: HashMap::new() })
    }

    /// Whether an arm can answer here: by meaning only where there are vectors.
    #[must_use]
    pub fn can(&self, arm: Arm) -> bool {
        !matches!(arm, Arm::Dense | Arm::Fused) || self.finder.has_meaning()
    }

    /// The index that is asked, to weigh it otherwise.
    pub fn finder(&mut self) -> &mut Finder {
        &mut self.finder
    }

    /// The paths of the answers, best first, and how long it took.
    ///
    /// # Errors
    /// When a filter cannot be understood, or the arm cannot answer.
    pub fn answer(
        &mut self,
        arm: Arm,
        access: &Access,
        request: &FindRequest,
    ) -> Result<(Vec<String>, Duration), Fault> {
        if let Some(arm) = arm.searched() {
            let watch = Stopwatch::start();
            let answer = self.finder.find(self.vault, access, &FindRequest { arm, ..request.clone() })?;
            let paths = answer.hits.into_iter().map(|hit| hit.path.as_str().to_owned());
            return Ok((paths.collect(), watch.elapsed()));
        }
        let baseline = match self.baselines.entry(access.actor.as_ref().map(|actor| actor.id.clone())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(counted(self.vault, access, &self.questions)?),
        };
        let watch = Stopwatch::start();
        let paths = match arm {
            Arm::Grep => baseline.grep(&request.query, request.limit),
            _ => baseline.bm25(&request.query, request.limit),
        };
        Ok((paths, watch.elapsed()))
    }
}

/// Counts what a reader may see of the vault: the title and the body of each memory.
fn counted(vault: &Vault<'_>, access: &Access, questions: &[String]) -> Result<Baseline, Fault> {
    let catalog = sync::open(vault)?;
    let side = match access.view {
        View::WorkTree => sync::side(vault, &catalog)?,
        _ => Side::Main,
    };
    let mut baseline = Baseline::new(questions.iter().map(String::as_str));
    let reads = access.reads();
    catalog.each_doc(side, |row| {
        let seen = reads.holds(&row.path)
            && access.may_see(row.sensitivity)
            && row.kind != FileKind::Other
            && !matches!(row.status.as_deref(), Some("demoted" | "archived"));
        if seen {
            let text = find::text_of(vault, side, &row);
            let range = row.chunks.first().zip(row.chunks.last());
            let body = range.and_then(|(first, last)| text.get(first.start..last.end)).unwrap_or_default();
            baseline.add(row.path.as_str().to_owned(), &format!("{}\n{body}", row.title));
        }
    })?;
    Ok(baseline)
}
