//! Questions whose answers are known, by which the search is measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file of cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// The cases.
    pub cases: Vec<Case>,
}

/// One question with what a good answer holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name of the case, each once.
    pub id: String,
    /// What is asked, as it would be typed behind `find`.
    pub query: String,
    /// Who asks, by their id; whoever runs the measurement if absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub actor: Option<String>,
    /// The memories that answer it: addresses, or paths from the root.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub relevant: Vec<Relevant>,
    /// Whether a good answer is empty, since the vault knows nothing of it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub empty: bool,
    /// The memories that must not be among the answers.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub forbidden: Vec<String>,
    /// 1 direct, 2 across sessions, 3 proactive.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(range(min = 1, max = 3))]
    pub tier: Option<u8>,
    /// Words by which cases are grouped.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tags: Vec<String>,
    /// Filters, as `find` has them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub filters: Option<Filters>,
}

/// A memory that answers a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Relevant {
    /// One that answers it.
    Plain(String),
    /// One that answers it more or less well.
    Graded(Graded),
}

/// A memory with how well it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graded {
    /// Its address, or its path from the root.
    pub uri: String,
    /// How well: 1 a little, 3 fully.
    #[schemars(range(min = 1, max = 3))]
    pub grade: u32,
}

impl Relevant {
    /// The address, and the grade: 1 where none is given.
    #[must_use]
    pub fn parts(&self) -> (&str, u32) {
        match self {
            Relevant::Plain(uri) => (uri, 1),
            Relevant::Graded(graded) => (&graded.uri, graded.grade),
        }
    }
}

/// What narrows a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Filters {
    /// Only these types.
    pub types: Vec<String>,
    /// Only what has all these tags.
    pub tags: Vec<String>,
    /// Only paths that match one of these globs or begin with one.
    pub paths: Vec<String>,
    /// Only what is dated from then on.
    pub since: Option<String>,
    /// Only what is dated until then.
    pub until: Option<String>,
}
