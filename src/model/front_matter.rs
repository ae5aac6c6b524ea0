//! The fields at a memory's head.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::actor::Sensitivity;

/// What a memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

impl MemoryType {
    /// All of them, in the order of the documentation.
    pub const ALL: [MemoryType; 6] = [
        MemoryType::Profile,
        MemoryType::Semantic,
        MemoryType::Episodic,
        MemoryType::Procedural,
        MemoryType::Skill,
        MemoryType::Resource,
    ];

    /// The word that stands in a file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MemoryType::Profile => "profile",
            MemoryType::Semantic => "semantic",
            MemoryType::Episodic => "episodic",
            MemoryType::Procedural => "procedural",
            MemoryType::Skill => "skill",
            MemoryType::Resource => "resource",
        }
    }

    /// The type of a word, in lower case.
    #[must_use]
    pub fn parse(text: &str) -> Option<MemoryType> {
        MemoryType::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Fields of other programs that say when, the best first.
pub const DATED: &[&str] = &[
    "date",
    "modified",
    "date modified",
    "updated_at",
    "lastmod",
    "last_modified",
    "created_at",
    "date created",
    "date_created",
    "creation_date",
];

/// What `source` may say.
pub const SOURCES: &[&str] =
    &["user_message", "tool_trace", "episode_summary", "admin_policy", "document", "web", "person"];
/// What `trust` may say.
pub const TRUSTS: &[&str] = &["stated", "observed", "inferred", "external"];
/// What `status` may say.
pub const STATUSES: &[&str] = &["active", "pending", "demoted", "archived"];

/// The fields that Runebook knows, each absent where the file has none or a foreign value under that name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// Whether the file has a block of front matter at all, readable or not.
    pub present: bool,
    /// `id`: a ULID, in upper case.
    pub id: Option<String>,
    /// `type`.
    pub kind: Option<MemoryType>,
    /// `title`.
    pub title: Option<String>,
    /// `summary`: the L0 by hand.
    pub summary: Option<String>,
    /// `subject`: what it is about.
    pub subject: Option<String>,
    /// `created`, as written, where it begins as a date does.
    pub created: Option<String>,
    /// `updated`, as written, where it begins as a date does.
    pub updated: Option<String>,
    /// What another program's field says of the time (`date`, `modified`, `created_at` …), as written: for dating a
    /// memory that has none of the fields above.
    pub dated: Option<String>,
    /// `occurred`, as written, where it begins as a date does.
    pub occurred: Option<String>,
    /// `source`: one of [`SOURCES`].
    pub source: Option<String>,
    /// `trust`: one of [`TRUSTS`].
    pub trust: Option<String>,
    /// `confidence`, 0 to 1.
    pub confidence: Option<f64>,
    /// `importance`, 0 to 1.
    pub importance: Option<f64>,
    /// `sensitivity`.
    pub sensitivity: Option<Sensitivity>,
    /// `status`: one of [`STATUSES`].
    pub status: Option<String>,
    /// `tags`, without `#`. A text is split at commas and spaces, as Obsidian does.
    pub tags: Vec<String>,
    /// `aliases`. A text is split at commas, as Obsidian does.
    pub aliases: Vec<String>,
    /// Every key as it stands in the file, known ones too, as JSON values, sorted by key. Of a key that stands
    /// twice, the first.
    pub all: serde_json::Map<String, Value>,
    /// The keys in the file's order, with their lines, counted from 1.
    pub lines: Vec<(String, u32)>,
}

impl FrontMatter {
    /// The line of a key, counted from 1.
    #[must_use]
    pub fn line_of(&self, key: &str) -> Option<u32> {
        self.lines.iter().find(|(k, _)| k == key).map(|(_, line)| *line)
    }
}

/// What a memory's front matter says, as it stands in the file: the form that `schema/memory.json` describes.
///
/// Every field is optional for reading; what a path requires is policy. Keys that are not named here are kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fields {
    /// A ULID. Given by `runebook new`, survives renames.
    #[schemars(regex(pattern = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"))]
    pub id: Option<String>,
    /// What the memory is.
    #[serde(rename = "type")]
    pub kind: Option<MemoryType>,
    /// Its title; without one, the first heading of level 1, else the file's name.
    pub title: Option<String>,
    /// What it says in about 100 tokens: the L0, written by hand.
    pub summary: Option<String>,
    /// What it is about: the key for conflicts, and for telling two people of one name apart.
    pub subject: Option<String>,
    /// When it was written first: a date, or a time with its offset.
    pub created: Option<When>,
    /// When it was changed last: a date, or a time with its offset.
    pub updated: Option<When>,
    /// When that happened what an episodic memory tells: a date, a time, or an interval `from/to`.
    #[schemars(regex(pattern = r"^\d{4}-\d{2}(-\d{2})?"))]
    pub occurred: Option<String>,
    /// Where it comes from.
    pub source: Option<Source>,
    /// How it came to be known.
    pub trust: Option<Trust>,
    /// How sure it is, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: Option<f64>,
    /// How much it matters, 0 to 1. At 0.8 and over it does not decay.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub importance: Option<f64>,
    /// Who may see it.
    pub sensitivity: Option<Sensitivity>,
    /// From when it holds: a date, inclusive, in the vault's zone.
    pub valid_from: Option<When>,
    /// Until when it holds: a date, inclusive, in the vault's zone.
    pub valid_until: Option<When>,
    /// For how many days after `created` it holds.
    #[schemars(range(min = 0))]
    pub ttl_days: Option<u32>,
    /// When somebody should look at it again: a date.
    pub review_by: Option<When>,
    /// Whether it is used.
    pub status: Option<Status>,
    /// What it replaces: links.
    pub supersedes: Option<OneOrMany>,
    /// What it contradicts: links.
    pub conflicts_with: Option<OneOrMany>,
    /// The condition under which it holds.
    pub applies_to: Option<String>,
    /// What it belongs to: links. Any other property whose value is a link is a relation of its name too.
    pub part_of: Option<OneOrMany>,
    /// Its tags, without `#`.
    pub tags: Option<OneOrMany>,
    /// Other names that it is found by.
    pub aliases: Option<OneOrMany>,
    /// The normalised value of what it says.
    pub value: Option<Value>,
    /// The JSON Schema that `value` follows: a name in `.runebook/schema/`.
    pub schema: Option<String>,
    /// Which footnote each field of `value` rests on.
    pub value_evidence: Option<BTreeMap<String, String>>,
}

/// A date (`2026-11-29`) or a time with its offset (`2026-11-29T10:00:00+08:00`).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct When(
    #[schemars(regex(
        pattern = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
    ))]
    pub String,
);

/// One text or several.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

/// Where a memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The user said it.
    UserMessage,
    /// A tool returned it.
    ToolTrace,
    /// It sums up an episode.
    EpisodeSummary,
    /// An administrator laid it down.
    AdminPolicy,
    /// A document says it.
    Document,
    /// A page of the web says it.
    Web,
    /// A person wrote it.
    Person,
}

/// How something came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Somebody said so.
    Stated,
    /// It was seen.
    Observed,
    /// It was concluded.
    Inferred,
    /// It comes from outside.
    External,
}

/// Whether a memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is.
    Active,
    /// It is not settled: served together with its rival.
    Pending,
    /// Only on request.
    Demoted,
    /// Never in recall.
    Archived,
}
