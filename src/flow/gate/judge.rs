//! The judgement itself: a branch, what stands on main, the findings; nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::governance::{Standing, is_settings};
use super::history::History;
use super::people::{self, Maker};
use super::voices::{self, Lacking, Voices};
use super::{limits, stale};
use crate::flow::branch::Branch;
use crate::flow::decide::{DecideError, Decision};
use crate::model::access::Reach;
use crate::model::actor::{Actor, Actors};
use crate::model::change::{digest, mode};
use crate::model::event::{Event, EventKind, Open};
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::model::policy::{Held, Identities};
use crate::model::proposal::{Folded, State, fold};
use crate::store::git::Repo;

/// What keeps a proposal from merging, by kind.
#[derive(Default)]
struct Against {
    /// Nothing but another proposal helps.
    blocked: Vec<String>,
    /// A person must look.
    person: Vec<String>,
    /// Checks that fail.
    failing: Vec<String>,
    /// What is still needed.
    missing: Vec<String>,
}

/// Judges a branch that was read against the tip of `history`.
///
/// # Errors
/// When an object is missing or damaged, or no event of the branch counts as `open`.
pub fn judge(
    repo: &Repo,
    branch: &Branch,
    standing: &Standing,
    history: &mut History<'_>,
    findings: &[Finding],
) -> Result<Decision, Fault> {
    let governance = &standing.governance;
    let (actors, rules) = (&governance.actors, &governance.rules);
    let (_, _, open) = branch.open().ok_or_else(|| DecideError::NoOpen(branch.id.clone()))?;
    let (counting, mut notes) = people::counting(branch, actors);
    if rules.policy.identities == Identities::Signed {
        notes.push(
            "policy asks for proved identities; this version verifies no signatures and only records them"
                .to_owned(),
        );
    }
    let by_oid = |a: Oid, b: Oid| match (branch.place(a), branch.place(b)) {
        (Some(a), Some(b)) => branch.is_ancestor(a, b),
        _ => false,
    };
    let folded = fold(&counting, &by_oid, actors);
    let opened_by = branch.open().map(|(_, event, _)| event.actor.clone());
    let opened_by = opened_by.ok_or_else(|| DecideError::NoOpen(branch.id.clone()))?;
    let proposer = folded.opened.as_ref().and_then(|(_, id)| actors.get(id));

    let held: Vec<Held> = branch
        .records
        .iter()
        .map(|record| record.vault_path().map_or_else(Held::default, |path| rules.for_path(&path)))
        .collect();
    let paths: Vec<(VaultPath, Held)> = branch
        .records
        .iter()
        .zip(&held)
        .filter_map(|(record, held)| Some((record.vault_path()?, held.clone())))
        .collect();
    let touched: BTreeSet<VaultPath> = paths.iter().map(|(path, _)| path.clone()).collect();
    let makers = people::makers(branch, actors, &touched);

    let mut against = Against::default();
    let exact_rollback = exact_rollback(repo, branch, open, history)?;
    forms(branch, exact_rollback, &mut against);
    proposers(&paths, proposer, &makers, &mut against);
    repair(standing, &paths, &mut against);
    let Voices { approvals, vetoes, notes: more } =
        voices::sort_out(branch, &folded, actors, proposer, &makers);
    notes.extend(more);
    let lacking = voices::lacking(&paths, &approvals, actors, proposer, &makers);
    let mut wanting = Against::default();
    approvals_needed(&lacking, &mut wanting);
    let a_person = approvals.iter().any(|v| actors.get(&v.actor).is_some_and(Actor::is_person));
    if !a_person {
        wanting.person.extend(limits::person_reasons(repo, branch, rules, &held, findings)?);
        wanting
            .person
            .extend(folded.escalations.values().map(|why| format!("somebody asked for a person: {why}")));
    }
    // What takes back a merge exactly needs nobody's approval, but then a person must merge it.
    let wants = !wanting.missing.is_empty() || !wanting.person.is_empty();
    let person_merges = exact_rollback.is_some() && wants;
    if !person_merges {
        against.missing = wanting.missing;
        against.person = wanting.person;
    }
    if !vetoes.is_empty() && !approvals.is_empty() {
        against.person.push("its reviewers disagree".to_owned());
    }
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Error) {
        against.failing.push(format!("a check fails: {}", limits::shown(finding)));
    }
    let conflicts = stale::conflicts(repo, branch, branch.main)?;

    let mut decision = Decision {
        proposal: branch.id.clone(),
        state: State::Open,
        reasons: Vec::new(),
        notes,
        missing: Vec::new(),
        base: branch.base,
        digest: branch.digest,
        revision: branch.revision,
        proposer: opened_by,
        title: open.title.clone(),
        approvals,
        vetoes,
        rules: rules_of(&paths),
        exact_rollback,
        person_merges,
        identities: Identities::Recorded,
        conflicts,
    };
    settle(&mut decision, branch, &folded, actors, against);
    Ok(decision)
}

/// The state and its reasons from all that was found. What ends a proposal stands before what stops it.
fn settle(decision: &mut Decision, branch: &Branch, folded: &Folded, actors: &Actors, against: Against) {
    let submitted = !voices::present_submits(branch, folded).is_empty();
    let mut reasons = Vec::new();
    if folded.withdrawn {
        reasons.push("it was withdrawn".to_owned());
    }
    reasons.extend(folded.superseded_by.iter().map(|by| format!("{by} took its place")));
    if branch.is_empty() {
        reasons.push("it changes nothing".to_owned());
    } else if !submitted {
        reasons.push("what stands on the branch was not submitted".to_owned());
    }
    for veto in &decision.vetoes {
        let shown = actors.get(&veto.actor).map_or("?", |actor| actor.id.as_str());
        reasons.push(format!("`{shown}` says {} (event {})", veto.verdict, veto.event.short()));
    }
    let is_blocked = !against.blocked.is_empty() || !against.person.is_empty();
    reasons.extend(against.blocked);
    reasons.extend(against.person);
    if !decision.conflicts.is_empty() {
        reasons.push(format!(
            "the approved branch changed what it touches: {}",
            some(decision.conflicts.iter())
        ));
    }
    let fails = !against.failing.is_empty() || !against.missing.is_empty();
    reasons.extend(against.failing);
    decision.missing = against.missing;
    reasons.extend(decision.missing.iter().map(|what| format!("it needs {what}")));
    let vetoed = |reject: bool| {
        decision.vetoes.iter().any(|v| (v.verdict == crate::model::event::Verdict::Reject) == reject)
    };
    let disagree = !decision.vetoes.is_empty() && !decision.approvals.is_empty();
    decision.state = if folded.withdrawn {
        State::Withdrawn
    } else if !folded.superseded_by.is_empty() {
        State::Superseded
    } else if branch.is_empty() || !submitted {
        State::Draft
    } else if disagree {
        State::NeedsHuman
    } else if vetoed(true) {
        State::Rejected
    } else if vetoed(false) {
        State::ChangesRequested
    } else if !decision.conflicts.is_empty() {
        State::Stale
    } else if is_blocked {
        State::NeedsHuman
    } else if fails {
        State::Open
    } else {
        State::Approved
    };
    if reasons.is_empty() {
        reasons.push(match decision.exact_rollback.filter(|_| decision.person_merges) {
            Some(merge) => format!(
                "it is the exact inverse of {}, so a person may merge it without an approval",
                merge.short()
            ),
            None => {
                let who: Vec<&str> = decision.approvals.iter().map(|voice| voice.actor.as_str()).collect();
                format!("{} approved exactly this change", who.join(", "))
            }
        });
    }
    decision.reasons = reasons;
}

/// Paths and modes that no approval lets in.
fn forms(branch: &Branch, exact_rollback: Option<Oid>, against: &mut Against) {
    for record in &branch.records {
        let path = String::from_utf8_lossy(&record.path);
        if record.vault_path().is_none() {
            against.blocked.push(format!("the path `{path}` is not UTF-8, so no rule can be read for it"));
        }
        if exact_rollback.is_none() && !matches!(record.new_mode, mode::NONE | mode::FILE) {
            against.blocked.push(format!(
                "`{path}` has the mode {:06o}; only plain files are memories",
                record.new_mode
            ));
        }
    }
}

fn proposers(paths: &[(VaultPath, Held)], proposer: Option<&Actor>, makers: &[Maker], against: &mut Against) {
    let mut refused: BTreeMap<String, BTreeSet<&VaultPath>> = BTreeMap::new();
    match proposer {
        None => against.blocked.push("its event `open` counts for nothing, so nobody proposed it".to_owned()),
        Some(proposer) => {
            let reach = Reach::of(proposer.proposes.as_ref());
            for (path, held) in paths {
                if let Some(why) = people::may_not_propose(proposer, &reach, held, path) {
                    refused.entry(why).or_default().insert(path);
                }
            }
        }
    }
    for maker in makers {
        let Some(actor) = &maker.actor else {
            against.blocked.push(format!(
                "content is by {}, whom .runebook/actors.yaml on the approved branch does not know",
                maker.shown
            ));
            continue;
        };
        let reach = Reach::of(actor.proposes.as_ref());
        for (path, held) in paths.iter().filter(|(path, _)| maker.touched.contains_key(path)) {
            if let Some(why) = people::may_not_propose(actor, &reach, held, path) {
                refused.entry(why).or_default().insert(path);
            }
        }
    }
    against
        .blocked
        .extend(refused.into_iter().map(|(why, paths)| format!("{why}: {}", some(paths.into_iter()))));
}

/// With a broken policy only an admin's repair passes: a change of the settings and of nothing else.
fn repair(standing: &Standing, paths: &[(VaultPath, Held)], against: &mut Against) {
    if let Some(why) = &standing.broken
        && !paths.iter().all(|(path, _)| is_settings(path))
    {
        against.blocked.push(format!(
            "the settings on the approved branch are broken ({why}); until an admin repairs them nothing else merges"
        ));
    }
}

fn approvals_needed(lacking: &Lacking, against: &mut Against) {
    for (what, paths) in &lacking.missing {
        against.missing.push(format!("{what}, for {}", some(paths.iter())));
    }
    if !lacking.person.is_empty() {
        against.person.push(format!("policy reserves for people: {}", some(lacking.person.iter())));
    }
}

/// The merge that the proposal takes back exactly.
fn exact_rollback(
    repo: &Repo,
    branch: &Branch,
    open: &Open,
    history: &mut History<'_>,
) -> Result<Option<Oid>, Fault> {
    let Some(merge) = open.rollback_of else { return Ok(None) };
    if branch.records.iter().any(|r| r.vault_path().is_none_or(|path| is_settings(&path)))
        || !history.on_first_parent_line(merge)?
    {
        return Ok(None);
    }
    let [before, decide] = repo.parents(merge)?[..] else { return Ok(None) };
    let is_decide = repo.commit(decide).ok().and_then(|c| Event::parse(&c.message).ok());
    if is_decide.is_none_or(|event| event.kind != EventKind::Decide) {
        return Ok(None);
    }
    let inverse = repo.diff(Some(repo.tree_of(merge)?), Some(repo.tree_of(before)?))?;
    Ok((digest(&inverse) == branch.digest).then_some(merge))
}

fn rules_of(paths: &[(VaultPath, Held)]) -> BTreeMap<u32, Vec<VaultPath>> {
    let mut rules: BTreeMap<u32, Vec<VaultPath>> = BTreeMap::new();
    for (path, held) in paths {
        for number in &held.rules {
            rules.entry(*number).or_default().push(path.clone());
        }
    }
    rules
}

/// The first three of a list and how many more there are.
fn some(all: impl Iterator<Item = impl ToString>) -> String {
    let all: Vec<String> = all.map(|item| item.to_string()).collect();
    let shown = all.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > 3 { format!("{shown} and {} more", all.len() - 3) } else { shown }
}
