//! The states of a proposal, folded from its events by ancestry; never by dates, never stored.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Data, Event, EventKind, Verdict};
use super::id::{ActorId, Digest, Oid, ProposalId};

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

/// An event with its name, as it is folded.
#[derive(Debug, Clone, Copy)]
pub struct Logged<'e> {
    /// The event's commit.
    pub oid: Oid,
    /// The event.
    pub event: &'e Event,
}

/// What an actor's word can do, as main says.
pub trait Authority {
    /// Whether the actor may override others' verdicts and end others' proposals.
    fn is_admin(&self, actor: &ActorId) -> bool;
    /// Whether two accounts are of one principal.
    fn is_same(&self, one: &ActorId, other: &ActorId) -> bool;
}

/// What the events say together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// The event `open`, and whose it is.
    pub opened: Option<(Oid, ActorId)>,
    /// The `submit` events with their digests, sorted.
    pub submits: BTreeSet<(Oid, Digest)>,
    /// The verdicts that nobody replaced or lifted, sorted by event.
    pub verdicts: Vec<(Oid, ActorId, Verdict)>,
    /// The verdicts that an admin overrode, with the event that did it.
    pub overridden: BTreeSet<(Oid, Oid)>,
    /// Why somebody asked for a person, by event.
    pub escalations: BTreeMap<Oid, String>,
    /// Whether it was withdrawn by its proposer or an admin.
    pub withdrawn: bool,
    /// The proposals that took its place, by word of its proposer or an admin.
    pub superseded_by: BTreeSet<ProposalId>,
}

/// Folds events by ancestry alone: the order in which they come does not matter.
///
/// `is_ancestor(a, b)` says whether `b` descends from `a` or is it.
pub fn fold(
    events: &[Logged<'_>],
    is_ancestor: &dyn Fn(Oid, Oid) -> bool,
    authority: &dyn Authority,
) -> Folded {
    let mut out = Folded::default();
    for Logged { oid, event } in events {
        match &event.data {
            Data::Open(_) => {
                let first = out.opened.as_ref().is_none_or(|(known, _)| oid < known);
                if first {
                    out.opened = Some((*oid, event.actor.clone()));
                }
            }
            Data::Escalate(escalate) => {
                out.escalations.insert(*oid, escalate.reason.clone());
            }
            _ if event.kind == EventKind::Submit => {
                out.submits.insert((*oid, event.digest));
            }
            _ => {}
        }
    }
    let proposer = out.opened.as_ref().map(|(_, actor)| actor.clone());
    let may_end = |actor: &ActorId| {
        authority.is_admin(actor) || proposer.as_ref().is_some_and(|p| authority.is_same(p, actor))
    };
    for Logged { event, .. } in events.iter().filter(|logged| may_end(&logged.event.actor)) {
        match &event.data {
            Data::Supersede(supersede) => {
                out.superseded_by.insert(supersede.by.clone());
            }
            _ if event.kind == EventKind::Withdraw => out.withdrawn = true,
            _ => {}
        }
    }
    fold_verdicts(events, is_ancestor, authority, &mut out);
    out
}

fn fold_verdicts(
    events: &[Logged<'_>],
    is_ancestor: &dyn Fn(Oid, Oid) -> bool,
    authority: &dyn Authority,
    out: &mut Folded,
) {
    let given = || events.iter().filter_map(|logged| Some((logged, logged.event.verdict?)));
    for (logged, verdict) in given() {
        let Logged { oid, event } = *logged;
        let after = |other: Oid| other != oid && is_ancestor(oid, other);
        let replaced = given().any(|(other, _)| other.event.actor == event.actor && after(other.oid));
        let mut lifted = false;
        for other in events {
            let Data::Lift(lift) = &other.event.data else { continue };
            if lift.event != oid || !after(other.oid) {
                continue;
            }
            if other.event.actor == event.actor {
                lifted = true;
            } else if authority.is_admin(&other.event.actor) && other.event.text.is_some() {
                lifted = true;
                out.overridden.insert((oid, other.oid));
            }
        }
        if !replaced && !lifted {
            out.verdicts.push((oid, event.actor.clone(), verdict));
        }
    }
    out.verdicts.sort();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::event::{Lift, Open, Remarks};

    /// Actors by their first letter: `a…` is an admin, all of one letter are one principal.
    struct Letters;

    impl Authority for Letters {
        fn is_admin(&self, actor: &ActorId) -> bool {
            actor.as_str().starts_with('a')
        }

        fn is_same(&self, one: &ActorId, other: &ActorId) -> bool {
            one.as_str().as_bytes()[0] == other.as_str().as_bytes()[0]
        }
    }

    fn oid(n: usize) -> Oid {
        let mut bytes = [0; 20];
        // Names say nothing about the order.
        bytes[0] = (n as u8).wrapping_mul(151);
        bytes[1] = n as u8;
        Oid(bytes)
    }

    fn event(kind: EventKind, actor: &str, verdict: Option<Verdict>, data: Data) -> Event {
        Event {
            kind,
            vault: Oid::ZERO,
            proposal: "7k3qm2xd".parse().unwrap(),
            revision: 0,
            base: Oid::ZERO,
            digest: Digest::of(b""),
            policy: Digest::of(b""),
            actor: actor.parse().unwrap(),
            prev: Vec::new(),
            verdict,
            data,
            subject: String::new(),
            text: Some("why".to_owned()),
        }
    }

    fn random_event(n: usize, what: u8, actor: u8, target: usize) -> Event {
        let actor = ["ann", "bob", "ben", "cai"][usize::from(actor % 4)];
        match what % 6 {
            0 | 1 => {
                event(EventKind::Review, actor, Some(Verdict::Approve), Data::Remarks(Remarks::default()))
            }
            2 => event(EventKind::Review, actor, Some(Verdict::Reject), Data::Remarks(Remarks::default())),
            3 => event(EventKind::Lift, actor, None, Data::Lift(Lift { event: oid(target % n.max(1)) })),
            4 => event(EventKind::Submit, actor, None, Data::None {}),
            _ => event(EventKind::Withdraw, actor, None, Data::None {}),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the order in which events arrive, they fold to the same.
        #[test]
        fn the_order_of_arrival_does_not_matter(
            events in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<usize>(), any::<usize>()), 1..14),
            keys in proptest::collection::vec(any::<u32>(), 15),
        ) {
            // A history: each event follows one or two earlier ones; the first is `open`.
            let open = Open { base: Oid::ZERO, from: None, rollback_of: None, title: String::new() };
            let mut made = vec![event(EventKind::Open, "bob", None, Data::Open(open))];
            let mut above = vec![BTreeSet::from([0])];
            for (n, (what, actor, target, parent)) in events.iter().enumerate() {
                made.push(random_event(n + 1, *what, *actor, *target));
                let mut set: BTreeSet<usize> = above[parent % above.len()].clone();
                set.extend(above[target % above.len()].clone());
                set.insert(n + 1);
                above.push(set);
            }
            let place = |wanted: Oid| (0..made.len()).find(|n| oid(*n) == wanted);
            let is_ancestor = |a: Oid, b: Oid| place(a).zip(place(b)).is_some_and(|(a, b)| above[b].contains(&a));
            let logged: Vec<Logged<'_>> =
                made.iter().enumerate().map(|(n, event)| Logged { oid: oid(n), event }).collect();
            let mut shuffled: Vec<(u32, Logged<'_>)> = keys.iter().copied().zip(logged.iter().copied()).collect();
            shuffled.sort_by_key(|(key, _)| *key);
            let shuffled: Vec<Logged<'_>> = shuffled.into_iter().map(|(_, logged)| logged).collect();
            prop_assert_eq!(fold(&logged, &is_ancestor, &Letters), fold(&shuffled, &is_ancestor, &Letters));
        }
    }

    #[test]
    fn concurrent_verdicts_of_one_actor_both_stand() {
        // Two clones, one actor: neither verdict descends from the other, so the veto stands beside the approval.
        let yes = event(EventKind::Review, "cai", Some(Verdict::Approve), Data::Remarks(Remarks::default()));
        let no = event(EventKind::Review, "cai", Some(Verdict::Reject), Data::Remarks(Remarks::default()));
        let logged = [Logged { oid: oid(1), event: &yes }, Logged { oid: oid(2), event: &no }];
        let folded = fold(&logged, &|a, b| a == b, &Letters);
        assert_eq!(folded.verdicts.len(), 2);
        let folded = fold(&logged, &|a, b| a == b || (a, b) == (oid(2), oid(1)), &Letters);
        assert_eq!(folded.verdicts, [(oid(1), "cai".parse().unwrap(), Verdict::Approve)]);
    }
}
