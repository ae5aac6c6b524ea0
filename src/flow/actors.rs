//! The people and agents of a vault: listing them, adding one.

use schemars::JsonSchema;
use serde::Serialize;

use super::acting;
use super::commit::{CommitError, on_main};
use super::preset::{ActorEntry, actor_entry};
use super::vault::{ACTORS, Vault, VaultError};
use crate::model::actor::{Actor, ActorKind, Actors, Role};
use crate::model::change::{Change, ChangeSet};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::{ActorId, Oid};
use crate::model::path::VaultPath;
use crate::model::policy::Direct;
use crate::store::files;
use crate::store::git::OwnCommit;
use crate::store::lock::{self, Lock};

/// What is asked of `actor add`.
#[derive(Debug, Clone)]
pub struct Request {
    /// The name.
    pub id: ActorId,
    /// Person or agent.
    pub kind: ActorKind,
    /// The model family of an agent.
    pub family: Option<String>,
    /// The address of its commits; `<id>@agents.invalid` for an agent if left out.
    pub email: Option<String>,
    /// The human or service behind it.
    pub principal: Option<String>,
    /// What it may do; the usual roles of its kind if empty.
    pub roles: Vec<Role>,
}

/// What `actor add` did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Added {
    /// The new actor.
    pub actor: Actor,
    /// The commit that holds it.
    pub commit: Oid,
}

/// Why no actor is added.
#[derive(Debug, thiserror::Error)]
pub enum ActorError {
    /// Only an admin may.
    #[error("{0} is no admin, and only an admin adds actors")]
    NotAdmin(ActorId),
    /// A person needs an address.
    #[error("a person needs the e-mail address of their commits")]
    NoEmail,
    /// The address cannot stand in a commit.
    #[error("`{0}` cannot be the e-mail address of a commit")]
    Email(String),
    /// An agent has no family.
    #[error("an agent needs its model family, since a reviewer must come from another one")]
    NoFamily,
    /// A role that is for persons.
    #[error("an agent cannot be an admin")]
    AgentAdmin,
    /// The name or address is taken.
    #[error("{0}")]
    Taken(String),
    /// There are edits of the list that nobody committed.
    #[error("{ACTORS} has changes that are not committed")]
    Edited,
    /// The list is written in a form that cannot be added to.
    #[error("{ACTORS} is written in a form that this command cannot add to without changing the rest")]
    Form(String),
}

impl Explain for ActorError {
    fn kind(&self) -> Kind {
        match self {
            ActorError::NotAdmin(_) => Kind::NotAllowed,
            ActorError::Taken(_) | ActorError::Edited => Kind::Conflict,
            ActorError::Form(_) => Kind::Failed,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ActorError::NotAdmin(_) => Some("`runebook actor list` shows who is".to_owned()),
            ActorError::NoEmail | ActorError::Email(_) => Some("add `--email name@example.org`".to_owned()),
            ActorError::NoFamily => {
                Some("add `--family claude` (or gpt, deepseek, kimi, qwen, …)".to_owned())
            }
            ActorError::AgentAdmin => Some("give it propose, review or merge".to_owned()),
            ActorError::Taken(_) => Some("`runebook actor list` shows them; choose another, or change that one in .runebook/actors.yaml and commit it".to_owned()),
            ActorError::Edited => Some(format!("commit them first: `runebook commit {ACTORS}`")),
            ActorError::Form(_) => {
                Some(format!("add this to it yourself, then `runebook commit {ACTORS}`"))
            }
        }
    }

    fn details(&self) -> Vec<String> {
        match self {
            ActorError::Form(entry) => entry.lines().map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }
}

/// The actors as they stand on main.
///
/// # Errors
/// When main's settings cannot be read.
pub fn list(vault: &Vault<'_>) -> Result<Vec<Actor>, Fault> {
    Ok(vault.governance(vault.main()?)?.actors.actors)
}

/// Adds an actor as one commit of an admin. The rest of the file stays as it is, comments too.
///
/// # Errors
/// See [`ActorError`]. Nothing has changed then.
pub fn add(vault: &Vault<'_>, asked: Option<&str>, request: &Request) -> Result<Added, Fault> {
    let admin = acting::acting(vault, &vault.governance(vault.main()?)?, asked)?;
    if !admin.is_person() || !admin.has(Role::Admin) {
        return Err(ActorError::NotAdmin(admin.id).into());
    }
    on_main(vault)?;
    let _lock = Lock::take(&vault.derived_dir().join("lock"), "actor add", lock::PATIENCE)?;
    super::merge::recover(vault)?;
    let governance = vault.governance(vault.main()?)?;
    let (root, path) = (vault.root()?, VaultPath::parse(ACTORS)?);
    if governance.rules.for_path(&path).direct == Direct::Nobody {
        return Err(CommitError::Reserved { actor: admin.id, paths: vec![(path, Direct::Nobody)] }.into());
    }
    if !vault.repo.changes(std::slice::from_ref(&path))?.is_empty() {
        return Err(ActorError::Edited.into());
    }
    let email = email(request)?;
    let roles = roles(request)?;
    if let Some(other) = governance.actors.get(&request.id) {
        return Err(ActorError::Taken(format!("there is an actor `{}` already", other.id)).into());
    }
    if let Some(other) = governance.actors.by_email(&email) {
        return Err(ActorError::Taken(format!("`{}` has the address {email} already", other.id)).into());
    }
    let names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    let entry = ActorEntry {
        id: request.id.as_str(),
        kind: request.kind,
        family: request.family.as_deref(),
        email: &email,
        principal: request.principal.as_deref(),
        roles: &names,
    };
    let old = files::read(root, &path)?;
    let text = String::from_utf8(old.clone()).map_err(|_| ActorError::Form(actor_entry(&entry, "  ")))?;
    let new = append(&text, &entry).ok_or_else(|| ActorError::Form(actor_entry(&entry, "  ")))?;
    let read = Actors::parse(&new).map_err(VaultError::from)?;
    let (Some(actor), true) =
        (read.get(&request.id).cloned(), read.actors.len() == governance.actors.actors.len() + 1)
    else {
        return Err(ActorError::Form(actor_entry(&entry, "  ")).into());
    };
    files::write(root, &path, new.as_bytes())?;
    let committed = (|| -> Result<Option<Oid>, Fault> {
        let mut changes = ChangeSet::default();
        if let Some(entry) = vault.repo.add_file(root, &path)? {
            changes.changes.insert(path.clone(), Change::Put(entry));
        }
        let ident = acting::ident(vault, &admin);
        let message = format!("Add the actor {}\n", request.id);
        Ok(vault.repo.commit_own(&OwnCommit { changes: &changes, ident, message })?)
    })();
    match committed {
        Ok(Some(commit)) => Ok(Added { actor, commit }),
        Ok(None) => Err(ActorError::Edited.into()),
        Err(error) => {
            files::write(root, &path, &old)?;
            Err(error)
        }
    }
}

fn email(request: &Request) -> Result<String, ActorError> {
    let email = match (&request.email, request.kind) {
        (Some(email), _) => email.trim().to_owned(),
        (None, ActorKind::Agent) => format!("{}@agents.invalid", request.id),
        (None, ActorKind::Person) => return Err(ActorError::NoEmail),
    };
    if email.is_empty() || email.contains(['<', '>', ' ']) || email.chars().any(char::is_control) {
        return Err(ActorError::Email(email));
    }
    Ok(email)
}

fn roles(request: &Request) -> Result<Vec<Role>, ActorError> {
    let mut roles = request.roles.clone();
    if request.kind == ActorKind::Agent {
        if request.family.as_deref().is_none_or(|family| family.trim().is_empty()) {
            return Err(ActorError::NoFamily);
        }
        if roles.contains(&Role::Admin) {
            return Err(ActorError::AgentAdmin);
        }
        if roles.is_empty() {
            roles = vec![Role::Propose];
        }
    } else if roles.is_empty() {
        roles = vec![Role::Propose, Role::Review, Role::Merge];
    }
    roles.sort();
    roles.dedup();
    Ok(roles)
}

/// The text with an entry behind the last one; `None` where the list is no block of `- ` items at the file's end.
fn append(text: &str, entry: &ActorEntry<'_>) -> Option<String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let fix = |block: String| if end == "\n" { block } else { block.replace('\n', "\r\n") };
    let mut lines: Vec<&str> = text.lines().collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let plain = |line: &str| line.split(" #").next().unwrap_or_default().trim_end().to_owned();
    let head = lines.iter().position(|line| line.starts_with("actors:"))?;
    let rest = plain(&lines[head]["actors:".len()..]);
    let items: Vec<&&str> =
        lines[head + 1..].iter().filter(|line| line.trim_start().starts_with("- ")).collect();
    let indent = match (rest.trim(), items.first()) {
        ("[]", None) | ("", None) => "  ".to_owned(),
        ("", Some(first)) => first.chars().take_while(|c| *c == ' ').collect(),
        _ => return None,
    };
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    if rest.trim() == "[]" {
        out[head] = out[head].replacen("[]", "", 1).trim_end().to_owned();
    }
    Some(format!("{}{end}{}", out.join(end), fix(actor_entry(entry, &indent))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> ActorEntry<'static> {
        ActorEntry {
            id: "bot",
            kind: ActorKind::Agent,
            family: Some("claude"),
            email: "bot@agents.invalid",
            principal: None,
            roles: &["propose"],
        }
    }

    #[test]
    fn the_rest_of_the_file_stays() {
        for text in [
            "# who\nactors:\n  - id: mei # me\n    kind: person\n    email: m@example.org\n    # last\n",
            "actors:\n- {id: mei, kind: person, email: m@example.org}\n\n",
            "actors:\r\n  - {id: mei, kind: person, email: m@example.org}\r\n",
            "actors: [] # none yet\n",
            "actors:\n",
        ] {
            let new = append(text, &entry()).unwrap();
            let read = Actors::parse(&new).unwrap_or_else(|e| panic!("{e}\n{new}"));
            assert_eq!(read.actors.last().unwrap().id.as_str(), "bot", "{new}");
            assert!(
                new.starts_with(text.trim_end().replace(" [] # none yet", "").as_str())
                    || text.contains("[]"),
                "{new}"
            );
            assert_eq!(new.contains("\r\n"), text.contains("\r\n"));
        }
        assert!(append("actors: [{id: a, kind: person, email: x}]\n", &entry()).is_none());
        assert!(append("other: 1\n", &entry()).is_none());
    }
}
