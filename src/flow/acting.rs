//! Who acts.

use super::vault::{Governance, Vault};
use crate::model::actor::{Actor, ActorKind};
use crate::model::clock::Env;
use crate::model::commit::Ident;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::ActorId;
use crate::store::git::Repo;

/// Why it is not known who acts.
#[derive(Debug, thiserror::Error)]
pub enum ActingError {
    /// `--as` contradicts the environment.
    #[error("RUNEBOOK_ACTOR says `{env}`, so `--as {asked}` cannot be used")]
    Fixed {
        /// The environment's actor.
        env: String,
        /// The flag's.
        asked: String,
    },
    /// No actor of that name is in `actors.yaml`.
    #[error("no actor `{0}` in .runebook/actors.yaml on the approved branch")]
    Unknown(String),
    /// The actor was revoked.
    #[error("the actor `{0}` was revoked")]
    Revoked(ActorId),
    /// Git knows no person.
    #[error("git does not know who you are: user.name and user.email are not set")]
    Nobody,
    /// The person is not among the actors.
    #[error("{name} <{email}> is not in .runebook/actors.yaml on the approved branch")]
    Stranger {
        /// `user.name`.
        name: String,
        /// `user.email`.
        email: String,
    },
}

impl Explain for ActingError {
    fn kind(&self) -> Kind {
        match self {
            ActingError::Fixed { .. } | ActingError::Nobody => Kind::Usage,
            _ => Kind::NotAllowed,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            ActingError::Fixed { .. } => "leave `--as` out, or unset RUNEBOOK_ACTOR".to_owned(),
            ActingError::Unknown(_) => "`runebook actor list` shows them; an admin adds one with `runebook actor add`".to_owned(),
            ActingError::Revoked(_) => "act as another actor with `--as`".to_owned(),
            ActingError::Nobody => {
                "run `git config --global user.name \"Your Name\"` and `git config --global user.email you@example.org`".to_owned()
            }
            ActingError::Stranger { .. } => {
                "an admin adds you with `runebook actor add ID --kind person --email …`, or say who acts with `--as`".to_owned()
            }
        })
    }
}

/// The person of git's configuration: name and address.
///
/// # Errors
/// When git does not know them.
pub fn git_person(vault: &Vault<'_>) -> Result<(String, String), ActingError> {
    person_of(vault.env, Some(&vault.repo))
}

/// The person of git's configuration, in a repository or before there is one.
///
/// # Errors
/// When git does not know them.
pub fn person_of(env: &Env, repo: Option<&Repo>) -> Result<(String, String), ActingError> {
    let configured = |key: &str| match repo {
        Some(repo) => repo.config(key),
        None => Repo::personal_config(key),
    };
    let of = |variable: &str, key: &str| env.var(variable).map(str::to_owned).or_else(|| configured(key));
    match (of("GIT_AUTHOR_NAME", "user.name"), of("GIT_AUTHOR_EMAIL", "user.email")) {
        (Some(name), Some(email)) => Ok((name, email)),
        _ => Err(ActingError::Nobody),
    }
}

/// Who acts: `RUNEBOOK_ACTOR` (nothing overrides it), `--as`, git's `runebook.actor`, else git's person, looked up
/// in `actors.yaml` as it stands on main.
///
/// # Errors
/// See [`ActingError`].
pub fn acting(vault: &Vault<'_>, governance: &Governance, asked: Option<&str>) -> Result<Actor, Fault> {
    let named = match (vault.env.var("RUNEBOOK_ACTOR"), asked) {
        (Some(env), Some(asked)) if env != asked => {
            return Err(ActingError::Fixed { env: env.to_owned(), asked: asked.to_owned() }.into());
        }
        (Some(env), _) => Some(env.to_owned()),
        (None, Some(asked)) => Some(asked.to_owned()),
        (None, None) => vault.repo.config("runebook.actor"),
    };
    let actor = match named {
        Some(name) => {
            let id = name.parse::<ActorId>().ok();
            let found = id.and_then(|id| governance.actors.get(&id).cloned());
            found.ok_or(ActingError::Unknown(name))?
        }
        None => {
            let (name, email) = git_person(vault)?;
            let found =
                governance.actors.by_email(&email).filter(|actor| actor.kind == ActorKind::Person).cloned();
            found.ok_or(ActingError::Stranger { name, email })?
        }
    };
    if actor.revoked.is_some() {
        return Err(ActingError::Revoked(actor.id).into());
    }
    Ok(actor)
}

/// The author and committer line of an actor's commits: its id as the name, its address, now.
#[must_use]
pub fn ident(vault: &Vault<'_>, actor: &Actor) -> Ident {
    Ident { name: actor.id.to_string(), email: actor.email.clone(), time: vault.clock.git_time() }
}
