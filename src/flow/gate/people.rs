//! Who stands behind a branch: which events count, who made its content, who may say what about which path.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::governance::is_settings;
use crate::flow::branch::{Branch, BranchCommit};
use crate::model::access::Reach;
use crate::model::actor::{Actor, Actors, Role};
use crate::model::commit::Ident;
use crate::model::event::Event;
use crate::model::id::{ActorId, Oid};
use crate::model::path::VaultPath;
use crate::model::policy::Held;
use crate::model::proposal::{Authority, Logged};

/// Someone who made content of the proposal.
#[derive(Debug, Clone)]
pub struct Maker {
    /// The account, where `actors.yaml` knows it.
    pub actor: Option<Actor>,
    /// As the commit names it.
    pub shown: String,
    /// The commits and the paths that they change.
    pub touched: BTreeMap<VaultPath, Oid>,
}

impl Authority for Actors {
    fn is_admin(&self, actor: &ActorId) -> bool {
        self.get(actor).is_some_and(|actor| actor.has(Role::Admin))
    }

    fn is_same(&self, one: &ActorId, other: &ActorId) -> bool {
        match (self.get(one), self.get(other)) {
            (Some(one), Some(other)) => same_principal(one, other),
            _ => one == other,
        }
    }
}

/// Whether one human or service stands behind both accounts.
#[must_use]
pub fn same_principal(one: &Actor, other: &Actor) -> bool {
    one.principal().to_lowercase() == other.principal().to_lowercase()
}

/// The events that count, and for each that does not the reason.
#[must_use]
pub fn counting<'b>(branch: &'b Branch, actors: &Actors) -> (Vec<Logged<'b>>, Vec<String>) {
    let mut counts = Vec::new();
    let mut notes = Vec::new();
    for (_, commit, event) in branch.events() {
        match why_not(commit, event, actors) {
            None => counts.push(Logged { oid: commit.oid, event }),
            Some(why) => {
                notes.push(format!(
                    "the event {} {} counts for nothing: {why}",
                    event.kind,
                    commit.oid.short()
                ));
            }
        }
        let keys = actors.get(&event.actor).is_some_and(|actor| !actor.keys.is_empty());
        if keys && commit.commit.signature.is_some() {
            notes.push(format!(
                "the event {} {} is signed; this version does not verify signatures, so it is recorded, not proved",
                event.kind,
                commit.oid.short()
            ));
        }
    }
    (counts, notes)
}

/// Why an event counts for nothing; `None` when it counts.
#[must_use]
pub fn why_not(commit: &BranchCommit, event: &Event, actors: &Actors) -> Option<String> {
    let Some(actor) = actors.get(&event.actor) else {
        return Some(format!("the approved branch knows no actor `{}`", event.actor));
    };
    let ident = &commit.commit.author;
    if !ident.email.eq_ignore_ascii_case(&actor.email)
        && ident.email.to_lowercase() != actor.email.to_lowercase()
    {
        return Some(format!("it carries <{}>, but `{}` is <{}>", ident.email, actor.id, actor.email));
    }
    (!actor.keys.is_empty() && commit.commit.signature.is_none())
        .then(|| format!("`{}` has keys and did not sign it", actor.id))
}

/// Who made the content: the author and the committer of every commit that adds to it, with the paths among
/// `touched` that they changed.
#[must_use]
pub fn makers(branch: &Branch, actors: &Actors, touched: &BTreeSet<VaultPath>) -> Vec<Maker> {
    let mut found: HashMap<String, Maker> = HashMap::new();
    for commit in branch.commits.iter().filter(|commit| commit.is_content()) {
        let paths: Vec<VaultPath> = commit
            .changes()
            .iter()
            .filter_map(|record| record.vault_path())
            .filter(|path| touched.contains(path))
            .collect();
        for ident in [&commit.commit.author, &commit.commit.committer] {
            let maker = found.entry(ident.email.to_lowercase()).or_insert_with(|| maker(ident, actors));
            maker.touched.extend(paths.iter().map(|path| (path.clone(), commit.oid)));
        }
    }
    let mut makers: Vec<Maker> = found.into_values().collect();
    makers.sort_by(|a, b| a.shown.cmp(&b.shown));
    makers
}

fn maker(ident: &Ident, actors: &Actors) -> Maker {
    Maker {
        actor: actors.by_email(&ident.email).cloned(),
        shown: format!("{} <{}>", ident.name, ident.email),
        touched: BTreeMap::new(),
    }
}

/// Why an actor may not propose a change to a path; `None` when it may.
#[must_use]
pub fn may_not_propose(actor: &Actor, reach: &Reach, held: &Held, path: &VaultPath) -> Option<String> {
    let id = &actor.id;
    if !actor.has(Role::Propose) {
        return Some(format!("`{id}` does not have the role propose"));
    }
    if is_settings(path) && !(actor.is_person() && actor.has(Role::Admin)) {
        return Some(format!("`{id}` is no admin, and .runebook/ is for admins only"));
    }
    if !held.propose.contains(&actor.kind) {
        return Some(if actor.is_person() {
            format!("policy lets no person propose there, and `{id}` is one")
        } else {
            format!("policy reserves the path for people, and `{id}` is an agent")
        });
    }
    if let Some(role) = held.propose_roles.iter().find(|role| !actor.has(**role)) {
        return Some(format!("policy asks for the role {}, which `{id}` has not", role.as_str()));
    }
    (!reach.holds(path)).then(|| format!("the path is outside of what `{id}` may propose"))
}
