//! Who acts: the people and agents of `.runebook/actors.yaml`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::id::ActorId;

/// Whether an actor is a person or a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// A person.
    Person,
    /// An agent.
    Agent,
}

/// What an actor may do, within what the policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Open proposals.
    Propose,
    /// Give verdicts.
    Review,
    /// Merge what is approved.
    Merge,
    /// Change settings, override vetoes.
    Admin,
}

impl Role {
    /// The word in `actors.yaml`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Propose => "propose",
            Role::Review => "review",
            Role::Merge => "merge",
            Role::Admin => "admin",
        }
    }
}

/// How sensitive a memory is, and how sensitive ones an actor may see.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Sensitivity {
    /// For everybody.
    #[default]
    Normal,
    /// About a person.
    Personal,
    /// For those who need it.
    Confidential,
    /// For few.
    Restricted,
}

/// One actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// The name, unique in the vault.
    pub id: ActorId,
    /// Person or agent.
    pub kind: ActorKind,
    /// The model family of an agent (`claude`, `gpt`, `qwen`, …); reviewers of another family see other mistakes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub family: Option<String>,
    /// The address that its commits carry; unique without regard to case.
    pub email: String,
    /// The human or service behind several accounts; absent means that the account is its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub principal: Option<String>,
    /// What it may do.
    #[serde(default)]
    pub roles: Vec<Role>,
    /// Path globs that it may read; absent means all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reads: Option<Vec<String>>,
    /// Path globs that it may propose for; absent means all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proposes: Option<Vec<String>>,
    /// Path globs that it may review; absent means all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reviews: Option<Vec<String>>,
    /// The most sensitive memories that it may see; absent means all for a person, `personal` for an agent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clearance: Option<Sensitivity>,
    /// SSH public keys that its signed commits may carry.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub keys: Vec<String>,
    /// How a review run starts it: a program and its arguments, no shell. Never run before this machine trusts it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub command: Option<Vec<String>>,
    /// When it lost its roles: its past events stay readable, it can add none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub revoked: Option<String>,
}

impl Actor {
    /// Whether it has a role and was not revoked.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.revoked.is_none() && self.roles.contains(&role)
    }

    /// Who is behind it: the principal, or the account itself.
    #[must_use]
    pub fn principal(&self) -> &str {
        self.principal.as_deref().unwrap_or(self.id.as_str())
    }

    /// Whether it is a person.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.kind == ActorKind::Person
    }

    /// The most sensitive memories that it may see.
    #[must_use]
    pub fn clearance(&self) -> Sensitivity {
        self.clearance.unwrap_or(match self.kind {
            ActorKind::Person => Sensitivity::Restricted,
            ActorKind::Agent => Sensitivity::Personal,
        })
    }
}

/// The file `.runebook/actors.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Actors {
    /// All actors.
    #[serde(default)]
    pub actors: Vec<Actor>,
}

/// Why a list of actors cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActorsError {
    /// It is no YAML of the right form.
    #[error("actors.yaml cannot be read: {0}")]
    Form(String),
    /// Two actors share what must be unique.
    #[error("actors.yaml: two actors have the {what} `{value}`")]
    Twice {
        /// `id`, `email` or `key`.
        what: &'static str,
        /// The value that stands twice.
        value: String,
    },
}

impl Actors {
    /// Reads the file's text.
    ///
    /// # Errors
    /// When it is not of the form, or ids, e-mail addresses (case-folded) or keys are not unique.
    pub fn parse(text: &str) -> Result<Actors, ActorsError> {
        let read: Actors = if text.trim().is_empty() {
            Actors::default()
        } else {
            serde_yaml::from_str(text).map_err(|e| ActorsError::Form(e.to_string()))?
        };
        let mut seen = std::collections::HashSet::new();
        for actor in &read.actors {
            let mut once = |what, value: String| {
                if seen.insert((what, value.clone())) {
                    Ok(())
                } else {
                    Err(ActorsError::Twice { what, value })
                }
            };
            once("id", actor.id.to_string())?;
            once("email", actor.email.to_lowercase())?;
            for key in &actor.keys {
                // The comment behind a key does not make it another key.
                once("key", key.split_whitespace().take(2).collect::<Vec<_>>().join(" "))?;
            }
        }
        Ok(read)
    }

    /// The actor of a name.
    #[must_use]
    pub fn get(&self, id: &ActorId) -> Option<&Actor> {
        self.actors.iter().find(|actor| actor.id == *id)
    }

    /// The actor of an e-mail address, without regard to case.
    #[must_use]
    pub fn by_email(&self, email: &str) -> Option<&Actor> {
        let email = email.to_lowercase();
        self.actors.iter().find(|actor| actor.email.to_lowercase() == email)
    }
}
