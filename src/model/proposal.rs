//! The states of a proposal, folded from its events by ancestry; never by dates, never stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a proposal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// What stands on the branch was not submitted.
    Draft,
    /// Submitted; approvals are missing, or a check fails.
    Open,
    /// It may merge.
    Approved,
    /// A reviewer wants it otherwise.
    ChangesRequested,
    /// Main changed what it touches.
    Stale,
    /// A person must look.
    NeedsHuman,
    /// A reviewer does not want it.
    Rejected,
    /// Ended by its proposer.
    Withdrawn,
    /// Another proposal took its place.
    Superseded,
    /// On main.
    Merged,
}

impl State {
    /// The word for people and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            State::Draft => "draft",
            State::Open => "open",
            State::Approved => "approved",
            State::ChangesRequested => "changes-requested",
            State::Stale => "stale",
            State::NeedsHuman => "needs-human",
            State::Rejected => "rejected",
            State::Withdrawn => "withdrawn",
            State::Superseded => "superseded",
            State::Merged => "merged",
        }
    }

    /// Whether nothing more can happen to it.
    #[must_use]
    pub fn is_closed(self) -> bool {
        matches!(self, State::Withdrawn | State::Superseded | State::Merged)
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
