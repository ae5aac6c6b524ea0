//! Which verdicts count, and whether they are enough.

use std::collections::{BTreeMap, BTreeSet};

use super::governance::is_settings;
use super::people::{Maker, same_principal};
use crate::flow::branch::{Branch, BranchCommit};
use crate::flow::decide::Voice;
use crate::model::access::Reach;
use crate::model::actor::{Actor, ActorKind, Actors, Role};
use crate::model::event::{Event, EventKind, Remark, Verdict};
use crate::model::path::VaultPath;
use crate::model::policy::Held;
use crate::model::proposal::Folded;

/// The verdicts of a proposal, sorted out.
#[derive(Debug, Default)]
pub struct Voices {
    /// Approvals of exactly the present content by somebody who did not make it.
    pub approvals: Vec<Voice>,
    /// Vetoes that stand.
    pub vetoes: Vec<Voice>,
    /// Why other verdicts do not count.
    pub notes: Vec<String>,
}

/// The places of the commits after which an approval must come.
fn content_places(branch: &Branch) -> Vec<usize> {
    branch.commits.iter().enumerate().filter(|(_, c)| c.is_content()).map(|(place, _)| place).collect()
}

/// The places of the `submit` events of exactly the present content.
#[must_use]
pub fn present_submits(branch: &Branch, folded: &Folded) -> Vec<usize> {
    let content = content_places(branch);
    let fits = |place: &usize| {
        let commit = &branch.commits[*place];
        commit.event().is_some_and(|e| e.kind == EventKind::Submit)
            && commit.digest == branch.digest
            && folded.submits.contains(&(commit.oid, commit.digest))
            && content.iter().all(|c| branch.is_ancestor(*c, *place))
    };
    (0..branch.commits.len()).filter(fits).collect()
}

/// Sorts out the verdicts that nobody replaced or lifted.
#[must_use]
pub fn sort_out(
    branch: &Branch,
    folded: &Folded,
    actors: &Actors,
    proposer: Option<&Actor>,
    makers: &[Maker],
) -> Voices {
    let mut out = Voices::default();
    let content = content_places(branch);
    let submits = present_submits(branch, folded);
    for (oid, id, verdict) in &folded.verdicts {
        let Some((place, actor)) = branch.place(*oid).zip(actors.get(id)) else { continue };
        let commit = &branch.commits[place];
        let Some(event) = commit.event() else { continue };
        let why = if verdict.is_veto() {
            veto_is_void(actor, event)
        } else {
            let after = content.iter().all(|c| branch.is_ancestor(*c, place));
            let submitted = submits.iter().any(|s| branch.is_ancestor(*s, place));
            approval_is_void(branch, actor, commit, after, submitted)
                .or_else(|| is_dependent(actor, proposer, makers))
        };
        match why {
            Some(why) => {
                out.notes.push(format!("the {verdict} of `{id}` {} does not count: {why}", oid.short()))
            }
            None => {
                let voice = Voice {
                    event: *oid,
                    actor: id.clone(),
                    principal: actor.principal().to_owned(),
                    verdict: *verdict,
                    revision: commit.revision,
                };
                if *verdict == Verdict::Approve { &mut out.approvals } else { &mut out.vetoes }.push(voice);
            }
        }
    }
    out
}

fn veto_is_void(actor: &Actor, event: &Event) -> Option<String> {
    if !actor.has(Role::Review) {
        return Some("the actor does not have the role review on the approved branch".to_owned());
    }
    (!actor.is_person() && !event.remarks().iter().any(Remark::is_grounded))
        .then(|| "an agent must name lines or evidence".to_owned())
}

fn approval_is_void(
    branch: &Branch,
    actor: &Actor,
    commit: &BranchCommit,
    after: bool,
    submitted: bool,
) -> Option<String> {
    if !actor.has(Role::Review) {
        Some("the actor does not have the role review on the approved branch".to_owned())
    } else if commit.digest != branch.digest {
        Some(format!("it is of {}, and the content is now {}", commit.digest.short(), branch.digest.short()))
    } else if !after {
        Some("content was committed after it or beside it".to_owned())
    } else if !submitted {
        Some("what it approves was not submitted".to_owned())
    } else {
        None
    }
}

fn is_dependent(actor: &Actor, proposer: Option<&Actor>, makers: &[Maker]) -> Option<String> {
    if proposer.is_some_and(|proposer| same_principal(proposer, actor)) {
        return Some("the same principal proposed it".to_owned());
    }
    makers
        .iter()
        .any(|maker| maker.actor.as_ref().is_some_and(|m| same_principal(m, actor)))
        .then(|| "the same principal made some of its content or evidence".to_owned())
}

/// What the paths of a proposal ask of its approvals and do not get.
#[derive(Debug, Default)]
pub struct Lacking {
    /// What is missing, and for which paths.
    pub missing: BTreeMap<String, BTreeSet<VaultPath>>,
    /// The paths that need a person's approval and have none.
    pub person: BTreeSet<VaultPath>,
}

/// Compares the approvals with what holds for each path.
#[must_use]
pub fn lacking(
    paths: &[(VaultPath, Held)],
    approvals: &[Voice],
    actors: &Actors,
    proposer: Option<&Actor>,
    makers: &[Maker],
) -> Lacking {
    let voices: Vec<(&Actor, Reach)> = approvals
        .iter()
        .filter_map(|voice| actors.get(&voice.actor))
        .map(|actor| (actor, Reach::of(actor.reviews.as_ref())))
        .collect();
    let agents: Vec<&Actor> = makers
        .iter()
        .filter_map(|maker| maker.actor.as_ref())
        .chain(proposer)
        .filter(|actor| actor.kind == ActorKind::Agent)
        .collect();
    let mut out = Lacking::default();
    for (path, held) in paths {
        let eligible: Vec<&Actor> = voices
            .iter()
            .filter(|(actor, reach)| reach.holds(path) && suits(actor, &agents, held, path))
            .map(|(actor, _)| *actor)
            .collect();
        let mut lack = |what: String| {
            out.missing.entry(what).or_default().insert(path.clone());
        };
        let principals: BTreeSet<String> =
            eligible.iter().map(|actor| actor.principal().to_lowercase()).collect();
        let (have, quorum) = (principals.len(), held.quorum.max(1) as usize);
        if have < quorum {
            lack(needed(quorum - have, &agents, held, path));
        }
        if !held.owners.is_empty() && !eligible.iter().any(|actor| held.owners.contains(&actor.id)) {
            let owners: Vec<&str> = held.owners.iter().map(|id| id.as_str()).collect();
            lack(format!("an approval by an owner ({})", owners.join(", ")));
        }
        if held.person && !eligible.iter().any(|actor| actor.is_person()) {
            lack("an approval by a person".to_owned());
            out.person.insert(path.clone());
        }
    }
    out
}

/// Whether an independent reviewer's approval counts for a path.
fn suits(actor: &Actor, agents: &[&Actor], held: &Held, path: &VaultPath) -> bool {
    let family = |actor: &Actor| actor.family.as_deref().map(str::to_lowercase);
    let other_family = actor.is_person()
        || !held.other_family
        // An agent whose family is not known cannot be told apart from any other.
        || agents.iter().all(|maker| {
            matches!((family(actor), family(maker)), (Some(one), Some(other)) if one != other)
        });
    let settings = !is_settings(path) || (actor.is_person() && actor.has(Role::Admin));
    other_family && settings && held.review_roles.iter().all(|role| actor.has(*role))
}

fn needed(count: usize, agents: &[&Actor], held: &Held, path: &VaultPath) -> String {
    let noun = if count == 1 { "1 approval".to_owned() } else { format!("{count} approvals") };
    let mut who = if is_settings(path) {
        "an admin who did not make the change".to_owned()
    } else if !agents.is_empty() && held.other_family {
        let families: BTreeSet<&str> = agents.iter().filter_map(|a| a.family.as_deref()).collect();
        let families: Vec<&str> = families.into_iter().collect();
        match families.as_slice() {
            [] => "a person".to_owned(),
            families => format!("a person or an agent of another family than {}", families.join(", ")),
        }
    } else {
        "a reviewer who did not make the change".to_owned()
    };
    if !held.review_roles.is_empty() {
        let roles: Vec<&str> = held.review_roles.iter().map(|role| role.as_str()).collect();
        who.push_str(&format!(" with the role {}", roles.join(" and ")));
    }
    format!("{noun} by {who}")
}
