//! What `find` answers.

use schemars::JsonSchema;
use serde::Serialize;

use super::beside::Attachment;
use super::hybrid::Arms;
use super::missing::Missing;
use super::snippet::Snippet;
use crate::flow::asof::Revision;
use crate::flow::sync::Freshness;
use crate::model::id::Oid;
use crate::model::path::VaultPath;

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
    /// The score, comparable within one answer only: BM25 over all fields where the mode is `lexical`, else what both
    /// arms say together, in standard deviations from the mean of what they found.
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
    /// What words and meaning each say, with `--explain` where the mode is not `lexical`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arms: Option<Arms>,
}

/// One term's part in a score.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TermScore {
    /// The field.
    pub field: String,
    /// The term; `=word` is a word in its exact form, `word*` all that begin with it. Of the field `run`, how much of the
    /// query stands there as it was typed.
    pub term: String,
    /// What it adds.
    pub score: f64,
}

/// What `find` answers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindAnswer {
    /// The query.
    pub query: String,
    /// What was searched instead, since the query found nothing and has words that no memory has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// The words of the query that no memory has, with what may have been meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// What was searched: `main` or `worktree`; with `--rev` `rev` or `proposal`.
    pub view: String,
    /// The older or proposed state that was searched, with `--rev`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rev: Option<Revision>,
    /// How it was searched: `hybrid` by words and meaning, `lexical` by words alone, `dense` by meaning alone.
    pub mode: String,
    /// Why it was searched by words alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical_because: Option<String>,
    /// From which state of the vault.
    pub freshness: Freshness,
    /// The memories, best first.
    pub hits: Vec<FindHit>,
    /// What the asker should know about the query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
