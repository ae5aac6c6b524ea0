//! The JSON Schemas of everything that is read or answered as data.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::Report;
use crate::model::actor::{Actor, Actors};
use crate::model::cases::Cases;
use crate::model::config::Config;
use crate::model::event::Data;
use crate::model::finding::Finding;
use crate::model::front_matter::Fields;
use crate::model::id::Digest;
use crate::model::path::VaultPath;
use crate::model::policy::Policy;

fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// Every schema with its name: `schema/<name>.json` holds it. For answers that are JSON lines it is the schema of
/// one line. A new answer is one line here; then run the tests once with `RUNEBOOK_REGENERATE=1`.
#[must_use]
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("actors", of::<Actors>()),
        ("audit", of::<super::audit::Report>()),
        ("check", of::<Report>()),
        ("check-fix", of::<super::heal::Fixed>()),
        ("config", of::<Config>()),
        ("evaluation-cases", of::<Cases>()),
        ("eval", of::<super::eval::EvalAnswer>()),
        ("event-data", of::<Data>()),
        ("fault", of::<FaultAnswer>()),
        ("edit", of::<super::own::Edited>()),
        ("find", of::<super::find::FindAnswer>()),
        ("similar", of::<super::find::SimilarAnswer>()),
        ("glob", of::<super::search::File>()),
        ("finding", of::<Finding>()),
        ("actor", of::<Actor>()),
        ("actor-add", of::<super::actors::Added>()),
        ("commit", of::<super::commit::Answer>()),
        ("graph", of::<super::links::Graph>()),
        ("links", of::<super::links::LinksAnswer>()),
        ("model", of::<crate::model::embedding::Description>()),
        ("model-import", of::<super::models::Imported>()),
        ("model-list", of::<super::models::Listed>()),
        ("model-remove", of::<super::models::Removed>()),
        ("model-runtime", of::<super::models::Registered>()),
        ("model-use", of::<super::models::Used>()),
        ("mv", of::<super::mv::Moved>()),
        ("mv-part", of::<super::mv::PartRenamed>()),
        ("new", of::<super::own::Made>()),
        ("remember", of::<super::remember::Remembered>()),
        ("rm", of::<super::remove::Removed>()),
        ("doctor", of::<super::doctor::Report>()),
        ("doctor-path", of::<super::doctor::Explanation>()),
        ("status", of::<super::status::Status>()),
        ("cat", of::<super::browse::Content>()),
        ("layer", of::<super::layers::Answer>()),
        ("grep", of::<super::search::Line>()),
        ("ls", of::<super::browse::Item>()),
        ("tree", of::<super::browse::Tree>()),
        ("hooks", of::<super::hooks::Answer>()),
        ("init", of::<super::init::Initialised>()),
        ("memory", of::<Fields>()),
        ("policy", of::<Policy>()),
        ("reindex", of::<super::sync::ReindexAnswer>()),
        ("diff", of::<super::history::Difference>()),
        ("file-diff", of::<super::difference::FileDiff>()),
        ("log", of::<super::history::Entered>()),
        ("merge", of::<super::merge::Merged>()),
        ("propose-from-worktree", of::<super::propose::Taken>()),
        ("propose-mv", of::<super::propose::MovedIn>()),
        ("propose-list", of::<super::listed::Listed>()),
        ("propose-new", of::<super::propose::New>()),
        ("propose-show", of::<super::propose::Story>()),
        ("propose-submit", of::<super::propose::Submitted>()),
        ("propose-withdraw", of::<super::propose::Ended>()),
        ("propose-write", of::<super::propose::Written>()),
        ("review-show", of::<super::review::Review>()),
        ("review-verdict", of::<super::review::Recorded>()),
        ("rollback", of::<super::rollback::RolledBack>()),
        ("undo", of::<super::undo::Undone>()),
        ("undo-list", of::<super::undo::Listed>()),
        ("show", of::<super::history::Thing>()),
        ("watch", of::<super::watched::Told>()),
        ("watch-stop", of::<super::watched::Watching>()),
        ("tombstone", of::<Tombstone>()),
    ]
}

/// A file of `.runebook/tombstones/`: that something was forgotten, without what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tombstone {
    /// The memory's `id`, where it had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// Where it stood.
    pub path: VaultPath,
    /// The SHA-256 of its body, so that the same words do not come back under another name.
    pub body: Digest,
}

/// What `--json` prints when a command fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FaultAnswer {
    /// The error.
    pub error: FaultBody,
}

/// An error as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FaultBody {
    /// What was being done, to what, and why it failed.
    pub message: String,
    /// What to do next, where that is known.
    pub hint: Option<String>,
    /// The exit status.
    #[schemars(range(min = 1, max = 5))]
    pub exit_status: u8,
}
