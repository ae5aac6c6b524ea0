//! The fields at a memory's head.

use serde::{Deserialize, Serialize};

use super::actor::Sensitivity;

/// What a memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryType {
    /// Who somebody is.
    Profile,
    /// What holds in general.
    Semantic,
    /// What happened.
    Episodic,
    /// How something is done.
    Procedural,
    /// A procedure that an agent can follow.
    Skill,
    /// Outside knowledge.
    Resource,
}

/// The fields that Runebook knows, each absent where the file has none or a foreign value under that name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// Whether the file has a block of front matter at all, readable or not.
    pub present: bool,
    /// `id`: a ULID.
    pub id: Option<String>,
    /// `type`.
    pub kind: Option<MemoryType>,
    /// `title`.
    pub title: Option<String>,
    /// `summary`: the L0 by hand.
    pub summary: Option<String>,
    /// `subject`: what it is about.
    pub subject: Option<String>,
    /// `created`, as written.
    pub created: Option<String>,
    /// `updated`, as written.
    pub updated: Option<String>,
    /// `occurred`, as written.
    pub occurred: Option<String>,
    /// `source`.
    pub source: Option<String>,
    /// `trust`.
    pub trust: Option<String>,
    /// `confidence`, 0 to 1.
    pub confidence: Option<f64>,
    /// `importance`, 0 to 1.
    pub importance: Option<f64>,
    /// `sensitivity`.
    pub sensitivity: Option<Sensitivity>,
    /// `status`: active, pending, demoted, archived.
    pub status: Option<String>,
    /// `tags`.
    pub tags: Vec<String>,
    /// `aliases`.
    pub aliases: Vec<String>,
    /// Every key as it stands, known ones too, in the file's order, as JSON values.
    pub all: serde_json::Map<String, serde_json::Value>,
}
