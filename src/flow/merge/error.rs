//! Why a proposal is not merged, and what to do about it.

use super::ATTEMPTS;
use crate::model::fault::{Explain, Kind};
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::proposal::State;

/// Why a proposal is not merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// It is not approved, or something else keeps it.
    #[error("proposal {id} ({state}) was not merged{}", because(reasons))]
    Refused {
        /// The proposal.
        id: ProposalId,
        /// Where it stands.
        state: State,
        /// The exact reasons.
        reasons: Vec<String>,
        /// What to do.
        hint: String,
    },
    /// The actor does not have the role.
    #[error("`{actor}` may not merge {id}: {why}")]
    NotAllowed {
        /// The actor.
        actor: ActorId,
        /// The proposal.
        id: ProposalId,
        /// Why.
        why: String,
    },
    /// It is not what the person was shown.
    #[error("proposal {id} changed since it was shown: it was {}, now it is {}", shown.short(), now.short())]
    Changed {
        /// The proposal.
        id: ProposalId,
        /// The digest that was shown.
        shown: Digest,
        /// The digest now.
        now: Digest,
    },
    /// Others were faster, again and again.
    #[error(
        "the approved branch or proposal {0} moved {ATTEMPTS} times while it was being merged; nothing was changed"
    )]
    Races(ProposalId),
    /// It is merged, but the files are not all in place.
    #[error("proposal {id} is merged as {}, but the files are not all in place yet: {why}", commit.short())]
    Unfinished {
        /// The proposal.
        id: ProposalId,
        /// The merge.
        commit: Oid,
        /// What went wrong.
        why: String,
    },
}

fn because(reasons: &[String]) -> String {
    match reasons {
        [] => String::new(),
        [one] => format!(": {one}"),
        many => format!(", for {} reasons", many.len()),
    }
}

impl Explain for MergeError {
    fn kind(&self) -> Kind {
        match self {
            MergeError::Refused { state: State::Stale, .. } => Kind::Conflict,
            MergeError::Refused { .. } | MergeError::NotAllowed { .. } => Kind::NotAllowed,
            MergeError::Changed { .. } | MergeError::Races(_) => Kind::Conflict,
            MergeError::Unfinished { .. } => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            MergeError::Refused { hint, .. } => hint.clone(),
            MergeError::NotAllowed { id, .. } => {
                format!("ask somebody with the role merge to run `runebook merge {id}`")
            }
            MergeError::Changed { id, .. } => format!("look at it again: `runebook review show {id}`"),
            MergeError::Races(_) => "run the command again".to_owned(),
            MergeError::Unfinished { .. } => {
                "mend that and run any runebook command, such as `runebook status`: it finishes the merge"
                    .to_owned()
            }
        })
    }

    fn details(&self) -> Vec<String> {
        match self {
            MergeError::Refused { reasons, .. } if reasons.len() > 1 => reasons.clone(),
            _ => Vec::new(),
        }
    }
}
