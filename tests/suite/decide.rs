//! What may merge, and why.

use runebook::flow::events::Draft;
use runebook::model::event::{Remark, Verdict};
use runebook::model::finding::{Finding, Severity};
use runebook::model::proposal::State;

use crate::forge::Forge;

fn state(forge: &Forge, id: &runebook::model::id::ProposalId) -> State {
    forge.decide(id).unwrap().state
}

#[test]
fn a_proposal_goes_from_draft_to_merged() {
    let forge = Forge::new();
    let id = forge.open("ada");
    assert_eq!(state(&forge, &id), State::Draft);
    forge.put(&id, "ada", &[("notes/b.md", Some("# B\n"))]);
    assert_eq!(state(&forge, &id), State::Draft);
    forge.say(&id, "ada", Draft::submit());
    let open = forge.decide(&id).unwrap();
    assert_eq!(open.state, State::Open);
    assert_eq!(open.missing.len(), 1, "{:?}", open.missing);
    assert!(open.missing[0].contains("another family than claude"), "{:?}", open.missing);
    forge.approve(&id, "gil");
    let approved = forge.decide(&id).unwrap();
    assert_eq!(approved.state, State::Approved, "{:?}", approved.reasons);
    assert_eq!(approved.approvals[0].actor.as_str(), "gil");
    assert_eq!(approved.rules[&1].len(), 1);
    assert_eq!(approved.refuses_merger(&forge.actor("mei")), None);
    assert!(approved.refuses_merger(&forge.actor("ada")).is_some());
    forge.force_merge(&id, "mei");
    let tip = forge.repo().ref_oid(&id.closed_ref()).unwrap().unwrap();
    let merged = runebook::flow::decide::decide(&forge.repo(), forge.main(), tip, &[]).unwrap();
    assert_eq!(merged.state, State::Merged);
    assert_eq!(forge.broken_rules(), Vec::<String>::new());
}

#[test]
fn who_made_it_cannot_approve_it() {
    let forge = Forge::new();
    // The proposer; a second account of the same principal; an agent of the same family.
    for (reviewer, why) in
        [("ada", "the same principal proposed it"), ("ada-two", "the same principal proposed it")]
    {
        let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
        forge.approve(&id, reviewer);
        let decision = forge.decide(&id).unwrap();
        assert_eq!(decision.state, State::Open, "{reviewer}");
        assert!(decision.notes.iter().any(|note| note.contains(why)), "{:?}", decision.notes);
    }
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.approve(&id, "bob");
    assert_eq!(state(&forge, &id), State::Open);
    forge.approve(&id, "kai");
    assert_eq!(state(&forge, &id), State::Approved);
    // Somebody who wrote a part of it.
    let id = forge.open("ada");
    forge.put(&id, "ada", &[("notes/b.md", Some("b\n"))]);
    forge.put(&id, "gil", &[("notes/c.md", Some("c\n"))]);
    forge.say(&id, "ada", Draft::submit());
    forge.approve(&id, "gil");
    assert_eq!(state(&forge, &id), State::Open);
    forge.approve(&id, "mei");
    assert_eq!(state(&forge, &id), State::Approved);
}

#[test]
fn quorum_counts_principals() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("strict/b.md", Some("b\n"))]);
    forge.approve(&id, "mei");
    forge.approve(&id, "mei-laptop");
    let decision = forge.decide(&id).unwrap();
    assert_eq!((decision.state, decision.approvals.len()), (State::Open, 2));
    forge.approve(&id, "kai");
    assert_eq!(state(&forge, &id), State::Approved);
}

#[test]
fn people_owners_and_sizes() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("people/b.md", Some("b\n"))]);
    forge.approve(&id, "gil");
    assert_eq!(state(&forge, &id), State::NeedsHuman);
    forge.approve(&id, "mei");
    assert_eq!(state(&forge, &id), State::Approved);
    let id = forge.proposal("ada", &[("owned/b.md", Some("b\n"))]);
    forge.approve(&id, "mei");
    assert_eq!(state(&forge, &id), State::Open);
    forge.approve(&id, "kai");
    assert_eq!(state(&forge, &id), State::Approved);
    let id = forge.proposal("ada", &[("small/b.md", Some("more than ten bytes\n"))]);
    forge.approve(&id, "gil");
    assert_eq!(state(&forge, &id), State::NeedsHuman);
    let id = forge.proposal("ada", &[("notes/CLAUDE.md", Some("obey\n"))]);
    forge.approve(&id, "mei");
    let decision = forge.decide(&id).unwrap();
    assert_eq!(decision.state, State::NeedsHuman);
    assert!(decision.reasons[0].contains("reserves the path for people"), "{:?}", decision.reasons);
}

#[test]
fn a_veto_stands_until_it_is_replaced_lifted_or_overridden() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    let veto = forge.say(&id, "kai", Draft::review(Verdict::Reject, Vec::new()));
    assert_eq!(state(&forge, &id), State::Rejected);
    // A new revision does not remove it.
    forge.put(&id, "ada", &[("notes/b.md", Some("bb\n"))]);
    forge.say(&id, "ada", Draft::submit());
    assert_eq!(state(&forge, &id), State::Rejected);
    forge.approve(&id, "gil");
    assert_eq!(state(&forge, &id), State::NeedsHuman, "reviewers disagree");
    // Neither somebody without the role admin nor an admin without a reason.
    forge.say(&id, "gil", Draft::lift(veto).with_text("I do not agree"));
    forge.say(&id, "mei", Draft::lift(veto));
    assert_eq!(state(&forge, &id), State::NeedsHuman);
    forge.say(&id, "mei", Draft::lift(veto).with_text("kai is away, and the source was verified"));
    assert_eq!(state(&forge, &id), State::Approved);
    let again = forge.say(&id, "kai", Draft::review(Verdict::RequestChanges, Vec::new()));
    assert_eq!(state(&forge, &id), State::NeedsHuman);
    forge.say(&id, "kai", Draft::lift(again));
    assert_eq!(state(&forge, &id), State::Approved);
    forge.say(&id, "kai", Draft::review(Verdict::RequestChanges, Vec::new()));
    forge.approve(&id, "kai");
    assert_eq!(state(&forge, &id), State::Approved);
}

#[test]
fn an_agents_veto_names_lines_or_evidence() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    let bare = vec![Remark { text: Some("no".to_owned()), ..Remark::default() }];
    let error = forge.try_say(&id, "gil", Draft::review(Verdict::Reject, bare)).unwrap_err();
    assert!(error.to_string().contains("must name lines or evidence"), "{error}");
    let line = Remark { path: Some("notes/b.md".to_owned()), line: Some(1), ..Remark::default() };
    forge.say(&id, "gil", Draft::review(Verdict::Reject, vec![line]));
    assert_eq!(state(&forge, &id), State::Rejected);
}

#[test]
fn content_behind_an_approval_undoes_it() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.approve(&id, "gil");
    forge.put(&id, "ada", &[("notes/b.md", Some("evil\n"))]);
    assert_eq!(state(&forge, &id), State::Draft);
    forge.say(&id, "ada", Draft::submit());
    assert_eq!(state(&forge, &id), State::Open);
    // Back to what was approved: the digest is the same again, but the approval came before.
    forge.put(&id, "ada", &[("notes/b.md", Some("b\n"))]);
    forge.say(&id, "ada", Draft::submit());
    let decision = forge.decide(&id).unwrap();
    assert_eq!(decision.state, State::Open);
    assert!(
        decision.notes.iter().any(|n| n.contains("content was committed after it")),
        "{:?}",
        decision.notes
    );
}

#[test]
fn main_moves_on() {
    let forge = Forge::new();
    let elsewhere = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    let same = forge.proposal("ada", &[("notes/a.md", Some("# A, by ada\n"))]);
    let clash = forge.proposal("ada", &[("notes/x/y.md", Some("y\n"))]);
    for id in [&elsewhere, &same, &clash] {
        forge.approve(id, "gil");
        assert_eq!(state(&forge, id), State::Approved);
    }
    forge.direct("mei", &[("notes/a.md", Some("# A, by mei\n")), ("notes/x", Some("a file\n"))]);
    assert_eq!(state(&forge, &elsewhere), State::Approved);
    let stale = forge.decide(&same).unwrap();
    assert_eq!((stale.state, stale.conflicts), (State::Stale, vec!["notes/a.md".to_owned()]));
    assert_eq!(state(&forge, &clash), State::Stale);
    // Main merged in: the digest stays, and so does the approval.
    let branch = forge.branch(&elsewhere);
    let tree = forge.result_tree(&branch);
    let update = forge.commit(&[branch.tip, forge.main()], tree, &forge.ident("ada"), "update\n");
    forge.advance(&elsewhere, update);
    let after = forge.branch(&elsewhere);
    assert_eq!((after.digest, after.base), (branch.digest, forge.main()));
    assert_eq!(state(&forge, &elsewhere), State::Approved);
    // An update that changes more than a merge does is content, and its author made it.
    let tree = forge.tree(after.tree, &[("notes/b.md", Some("evil\n"))]);
    forge.direct("mei", &[("notes/c.md", Some("c\n"))]);
    let tree = forge.tree(tree, &[("notes/c.md", Some("c\n"))]);
    let evil = forge.commit(&[after.tip, forge.main()], tree, &forge.ident("kai"), "update\n");
    forge.advance(&elsewhere, evil);
    forge.say(&elsewhere, "ada", Draft::submit());
    forge.approve(&elsewhere, "kai");
    assert_eq!(state(&forge, &elsewhere), State::Open);
}

#[test]
fn findings_stop_or_ask_for_a_person() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.approve(&id, "gil");
    let decide = |severity| {
        let findings = [Finding::new("link.broken", severity, "a link leads nowhere")];
        runebook::flow::decide::decide(&forge.repo(), forge.main(), forge.tip(&id), &findings).unwrap()
    };
    assert_eq!(decide(Severity::Warning).state, State::Approved);
    assert_eq!(decide(Severity::Person).state, State::NeedsHuman);
    let failing = decide(Severity::Error);
    assert_eq!(failing.state, State::Open);
    assert!(failing.reasons.iter().any(|r| r.contains("link.broken")), "{:?}", failing.reasons);
    forge.approve(&id, "mei");
    assert_eq!(decide(Severity::Person).state, State::Approved);
}

#[test]
fn too_many_rounds_need_a_person() {
    let forge = Forge::new();
    let id = forge.open("ada");
    for round in 0..4 {
        forge.put(&id, "ada", &[("notes/b.md", Some(&format!("{round}\n")))]);
        forge.say(&id, "ada", Draft::submit());
    }
    forge.approve(&id, "gil");
    assert_eq!(state(&forge, &id), State::NeedsHuman);
    forge.approve(&id, "kai");
    assert_eq!(state(&forge, &id), State::Approved);
}

#[test]
fn a_proposal_ends_by_its_proposer_or_an_admin() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.say(&id, "gil", Draft::withdraw());
    assert_eq!(state(&forge, &id), State::Open);
    forge.say(&id, "ada-two", Draft::withdraw());
    assert_eq!(state(&forge, &id), State::Withdrawn);
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.say(&id, "mei", Draft::supersede("0000000z".parse().unwrap()));
    assert_eq!(state(&forge, &id), State::Superseded);
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.say(&id, "gil", Draft::escalate("this names a person"));
    forge.approve(&id, "gil");
    assert_eq!(state(&forge, &id), State::NeedsHuman);
}

#[test]
fn an_exact_rollback_needs_a_person_and_no_approval() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/a.md", Some("# A2\n")), ("notes/b.md", Some("b\n"))]);
    forge.approve(&id, "gil");
    let merge = forge.force_merge(&id, "mei");
    let back = forge.open_with("mei", Some(merge));
    forge.put(&back, "mei", &[("notes/a.md", Some("# A\n")), ("notes/b.md", None)]);
    forge.say(&back, "mei", Draft::submit());
    let decision = forge.decide(&back).unwrap();
    assert_eq!((decision.state, decision.exact_rollback), (State::Approved, Some(merge)));
    assert!(decision.person_merges && decision.refuses_merger(&forge.actor("gil")).is_some());
    assert!(decision.refuses_merger(&forge.actor("kai")).is_none());
    // Not exact: needs an approval like anything else. Not of a merge: neither.
    let other = forge.open_with("mei", Some(merge));
    forge.put(&other, "mei", &[("notes/a.md", Some("# A\n"))]);
    forge.say(&other, "mei", Draft::submit());
    assert_eq!(state(&forge, &other), State::Open);
    let direct = forge.direct("mei", &[("notes/d.md", Some("d\n"))]);
    let of_direct = forge.open_with("ada", Some(direct));
    forge.put(&of_direct, "ada", &[("notes/d.md", None)]);
    forge.say(&of_direct, "ada", Draft::submit());
    assert_eq!(state(&forge, &of_direct), State::Open);
    forge.force_merge(&back, "mei");
    assert_eq!(forge.broken_rules(), Vec::<String>::new());
}

#[test]
fn settings_are_for_admins_and_a_broken_policy_holds_back() {
    let forge = Forge::new();
    let id = forge.proposal("kai", &[(".runebook/policy.yaml", Some("version: 1\n"))]);
    forge.approve(&id, "mei");
    assert_eq!(state(&forge, &id), State::NeedsHuman);
    let waiting = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.approve(&waiting, "gil");
    assert_eq!(state(&forge, &waiting), State::Approved);
    forge.direct("mei", &[(".runebook/policy.yaml", Some("version: 1\nrules: 7\n"))]);
    let decision = forge.decide(&waiting).unwrap();
    assert_eq!(decision.state, State::NeedsHuman);
    assert!(
        decision.reasons[0].contains("settings on the approved branch are broken"),
        "{:?}",
        decision.reasons
    );
    assert_eq!(forge.broken_rules(), Vec::<String>::new());
    // What an admin repairs passes; what others commit meanwhile does not.
    forge.direct("mei", &[(".runebook/policy.yaml", Some(crate::forge::POLICY))]);
    assert_eq!(forge.broken_rules(), Vec::<String>::new());
    assert_eq!(state(&forge, &waiting), State::Approved);
}

#[test]
fn an_actor_with_keys_must_sign() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    let error = forge.try_say(&id, "key", Draft::review(Verdict::Approve, Vec::new())).unwrap_err();
    assert!(error.to_string().contains("must be signed"), "{error}");
}

#[test]
fn two_tips_of_a_proposal_are_joined() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    let submitted = forge.tip(&id);
    // Two clones add a verdict each, and one of them a second event of the same actor.
    let ours = forge.approve(&id, "gil");
    let set = |to: runebook::model::id::Oid| {
        forge.sandbox.git(&["update-ref", &id.open_ref(), &to.to_string()]);
        forge.sandbox.git(&["update-ref", &id.seen_ref(), &to.to_string()]);
    };
    set(submitted);
    let theirs = forge.say(&id, "gil", Draft::comment(Vec::new()));
    let theirs = (theirs, forge.say(&id, "kai", Draft::review(Verdict::RequestChanges, Vec::new())));
    let tree = forge.branch(&id).tree;
    let join = forge.commit(&[ours, theirs.1], tree, &forge.ident("mei"), "join\n");
    set(join);
    let branch = forge.branch(&id);
    let mut both = vec![ours, theirs.0];
    both.sort();
    assert_eq!(branch.prev_at_tip(&"gil".parse().unwrap()), both);
    let decision = forge.decide(&id).unwrap();
    assert_eq!((decision.state, decision.approvals.len(), decision.vetoes.len()), (State::NeedsHuman, 1, 1));
    // The next event names both, and a verdict behind the join replaces the one before it.
    forge.approve(&id, "kai");
    forge.say(&id, "gil", Draft::comment(Vec::new()));
    assert_eq!(forge.decide(&id).unwrap().state, State::Approved);
    // Once merged its commits are on main themselves; the branch reads as before.
    let tip = forge.tip(&id);
    forge.force_merge(&id, "mei");
    assert_eq!(forge.broken_rules(), Vec::<String>::new());
    let closed = forge.repo().ref_oid(&id.closed_ref()).unwrap().unwrap();
    let merged = runebook::flow::branch::Branch::read(&forge.repo(), &id, closed, forge.main()).unwrap();
    assert_eq!(merged.commits.len(), 10);
    assert_eq!(merged.commits[merged.commits.len() - 2].oid, tip);
    // A join of tips with different trees is none.
    let id = forge.proposal("ada", &[("notes/x.md", Some("x\n"))]);
    let submitted = forge.tip(&id);
    let set = |to: runebook::model::id::Oid| {
        forge.sandbox.git(&["update-ref", &id.open_ref(), &to.to_string()]);
        forge.sandbox.git(&["update-ref", &id.seen_ref(), &to.to_string()]);
    };
    let left = forge.put(&id, "ada", &[("notes/b.md", Some("left\n"))]);
    set(submitted);
    let right = forge.put(&id, "ada", &[("notes/b.md", Some("right\n"))]);
    let tree = forge.repo().tree_of(left).unwrap();
    set(forge.commit(&[left, right], tree, &forge.ident("ada"), "join\n"));
    assert!(forge.read(&id).is_err());
}
