//! What events carry, and its one canonical form in JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EventError, EventKind};
use crate::model::id::{Oid, ProposalId};

/// The data of `open`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The commit of main on which the branch begins.
    pub base: Oid,
    /// The proposal that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ProposalId>,
    /// The merge that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_of: Option<Oid>,
    /// What it is about, in a line.
    pub title: String,
}

/// One comment: on a line, on a file, or in general.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// The URI of evidence that it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The line of the file, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The file, relative to the vault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Remark {
    /// Whether it names a line or evidence, as an agent's veto must.
    #[must_use]
    pub fn is_grounded(&self) -> bool {
        self.evidence.is_some() || (self.path.is_some() && self.line.is_some())
    }
}

/// The data of `review` and `comment`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remarks {
    /// The comments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Remark>,
}

/// The data of `lift`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lift {
    /// The verdict that is lifted.
    pub event: Oid,
}

/// The data of `supersede`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Supersede {
    /// The proposal that takes its place.
    pub by: ProposalId,
}

/// The data of `escalate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Escalate {
    /// Why a person must look.
    pub reason: String,
}

/// How a check went: the worst that it found.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Nothing.
    Ok,
    /// Something to know.
    Info,
    /// A warning.
    Warning,
    /// Something that a person must look at.
    Person,
    /// Something that stops a merge.
    Error,
}

/// The data of `decide`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// The required checks that ran, and the worst that each found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, Outcome>,
    /// The commit of main that it merges into: the first parent of the merge.
    pub main: Oid,
    /// The numbers of the policy's rules that were applied, ascending, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<u32>,
    /// The tree of the merge.
    pub tree: Oid,
}

/// What an event carries besides its common lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Data {
    /// Of `open`.
    Open(Open),
    /// Of `review` and `comment`.
    Remarks(Remarks),
    /// Of `lift`.
    Lift(Lift),
    /// Of `supersede`.
    Supersede(Supersede),
    /// Of `escalate`.
    Escalate(Escalate),
    /// Of `decide`.
    Decide(Decide),
    /// Of all others.
    None {},
}

impl Data {
    pub(super) fn parse(kind: EventKind, json: &str) -> Result<Data, EventError> {
        fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, EventError> {
            serde_json::from_str(json).map_err(|e| EventError::Data(e.to_string()))
        }
        match kind {
            EventKind::Open => read(json).map(Data::Open),
            EventKind::Review | EventKind::Comment => read(json).map(Data::Remarks),
            EventKind::Lift => read(json).map(Data::Lift),
            EventKind::Supersede => read(json).map(Data::Supersede),
            EventKind::Escalate => read(json).map(Data::Escalate),
            EventKind::Decide => read(json).map(Data::Decide),
            _ if json == "{}" => Ok(Data::None {}),
            _ => Err(EventError::Data(format!("`{kind}` carries none, so it is {{}}"))),
        }
    }

    pub(super) fn fits(&self, kind: EventKind) -> bool {
        match self {
            Data::Open(_) => kind == EventKind::Open,
            Data::Remarks(_) => matches!(kind, EventKind::Review | EventKind::Comment),
            Data::Lift(_) => kind == EventKind::Lift,
            Data::Supersede(_) => kind == EventKind::Supersede,
            Data::Escalate(_) => kind == EventKind::Escalate,
            Data::Decide(_) => kind == EventKind::Decide,
            Data::None {} => {
                matches!(kind, EventKind::Submit | EventKind::Check | EventKind::Withdraw)
            }
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        match self {
            Data::Remarks(remarks) => {
                remarks.comments.iter().all(|r| *r != Remark::default() && r.line != Some(0))
            }
            Data::Decide(decide) => {
                decide.rules.is_sorted_by(|a, b| a < b) && decide.rules.first() != Some(&0)
            }
            _ => true,
        }
    }

    /// The canonical line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        // Plain data with text keys always becomes a value.
        canonical(&serde_json::to_value(self).unwrap_or_default(), &mut out);
        out
    }
}

/// Writes JSON with keys sorted by their bytes, whatever order the map has.
fn canonical(value: &serde_json::Value, out: &mut String) {
    use serde_json::Value;
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                canonical(&map[key], out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
