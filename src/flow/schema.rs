//! The JSON Schemas of everything that is read or answered as data.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::check::Report;
use crate::model::actor::Actors;
use crate::model::config::Config;
use crate::model::finding::Finding;
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
        ("check", of::<Report>()),
        ("config", of::<Config>()),
        ("finding", of::<Finding>()),
        ("cat", of::<super::browse::Content>()),
        ("grep", of::<super::search::Line>()),
        ("ls", of::<super::browse::Item>()),
        ("tree", of::<super::browse::Tree>()),
        ("init", of::<super::init::Initialised>()),
        ("policy", of::<Policy>()),
    ]
}
