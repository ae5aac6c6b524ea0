//! Ways to get unapproved content into main. Each is refused, or found by audit.

use runebook::flow::events::Draft;
use runebook::model::change::mode;
use runebook::model::event::{Event, Verdict};
use runebook::model::id::{Oid, ProposalId};
use runebook::model::proposal::State;

use crate::forge::{Forge, POLICY};

const B: &[(&str, Option<&str>)] = &[("notes/b.md", Some("b\n"))];

/// The event at a commit.
fn event_at(forge: &Forge, oid: Oid) -> Event {
    Event::parse(&forge.repo().commit(oid).unwrap().message).unwrap()
}

/// Puts a commit with this message and the tip's tree on a branch.
fn put_message(forge: &Forge, id: &ProposalId, by: &str, message: &str) -> Oid {
    let tip = forge.tip(id);
    let commit = forge.commit(&[tip], forge.repo().tree_of(tip).unwrap(), &forge.ident(by), message);
    forge.advance(id, commit);
    commit
}

/// An approved proposal by ada.
fn approved(forge: &Forge) -> ProposalId {
    let id = forge.proposal("ada", B);
    forge.approve(&id, "gil");
    id
}

/// Merges with a tree that is not what was approved; `named` says whether the decide event names that tree.
fn merge_with(forge: &Forge, id: &ProposalId, files: &[(&str, Option<&str>)], named: bool) {
    let branch = forge.branch(id);
    let good = forge.result_tree(&branch);
    let evil = forge.tree(good, files);
    let event = forge.decide_event(&branch, "mei", branch.main, if named { evil } else { good });
    let merge = forge.commit(&[branch.main, event], evil, &forge.ident("mei"), "merge\n");
    forge.close(id, event);
    forge.set_main(merge);
}

#[test]
fn evil_merges_are_found() {
    let evil = [("notes/evil.md", Some("evil\n"))];
    let forge = Forge::new();
    merge_with(&forge, &approved(&forge), &evil, false);
    assert_eq!(forge.broken_rules(), ["wrong-tree", "digest"]);
    let forge = Forge::new();
    merge_with(&forge, &approved(&forge), &evil, true);
    assert_eq!(forge.broken_rules(), ["digest"]);
    // Layers are not in the digest, so nothing may hide in them.
    let forge = Forge::new();
    let layer = "notes/.abstract.md";
    let branch_id = approved(&forge);
    let branch = forge.branch(&branch_id);
    let tree = forge.tree_with(forge.result_tree(&branch), layer, mode::FILE, "hidden\n");
    let event = forge.decide_event(&branch, "mei", branch.main, tree);
    forge.close(&branch_id, event);
    forge.set_main(forge.commit(&[branch.main, event], tree, &forge.ident("mei"), "merge\n"));
    assert_eq!(forge.broken_rules(), ["generated"]);
}

#[test]
fn unapproved_merges_are_found() {
    // Nobody; the proposer; a second account of the same principal; the same family; an author of the content.
    for reviewer in [None, Some("ada"), Some("ada-two"), Some("bob")] {
        let forge = Forge::new();
        let id = forge.proposal("ada", B);
        if let Some(reviewer) = reviewer {
            forge.approve(&id, reviewer);
        }
        forge.force_merge(&id, "mei");
        assert_eq!(forge.broken_rules(), ["not-approved"], "{reviewer:?}");
    }
    let forge = Forge::new();
    let id = forge.open("ada");
    forge.put(&id, "gil", B);
    forge.say(&id, "ada", Draft::submit());
    forge.approve(&id, "gil");
    forge.force_merge(&id, "mei");
    assert_eq!(forge.broken_rules(), ["not-approved"]);
    // Content behind the approval.
    let forge = Forge::new();
    let id = approved(&forge);
    forge.put(&id, "ada", &[("notes/b.md", Some("evil\n"))]);
    forge.say(&id, "ada", Draft::submit());
    forge.force_merge(&id, "mei");
    assert_eq!(forge.broken_rules(), ["not-approved"]);
}

#[test]
fn an_approval_of_something_else_is_worth_nothing() {
    let forge = Forge::new();
    let other = approved(&forge);
    let approval = event_at(&forge, forge.tip(&other));
    let id = forge.proposal("ada", &[("notes/c.md", Some("c\n"))]);
    let place = forge.branch(&id);
    // As it stands: it names another proposal.
    let replay = |event: Event| {
        let forge = &forge;
        let before = forge.tip(&id);
        put_message(forge, &id, "gil", &event.to_message());
        let read = forge.read(&id).unwrap_err();
        // Back, behind the program's back.
        forge.sandbox.git(&["update-ref", &id.open_ref(), &before.to_string()]);
        forge.sandbox.git(&["update-ref", &id.seen_ref(), &before.to_string()]);
        read
    };
    assert!(replay(approval.clone()).contains("Runebook-Proposal"));
    // With the right proposal, but the old digest.
    let moved = Event { proposal: id.clone(), base: place.base, ..approval.clone() };
    assert!(replay(moved.clone()).contains("Runebook-Digest"));
    // Of another vault.
    let elsewhere = Event { vault: Oid([7; 20]), digest: place.digest, ..moved.clone() };
    assert!(replay(elsewhere).contains("Runebook-Vault"));
    // With another base, revision or chain.
    let right = Event { digest: place.digest, prev: Vec::new(), ..moved };
    assert!(replay(Event { base: Oid([7; 20]), ..right.clone() }).contains("Runebook-Base"));
    assert!(replay(Event { revision: 2, ..right.clone() }).contains("Runebook-Revision"));
    assert!(replay(Event { prev: vec![place.tip], ..right.clone() }).contains("Runebook-Prev"));
    assert!(replay(Event { actor: "kai".parse().unwrap(), ..right.clone() }).contains("Runebook-Actor"));
    put_message(&forge, &id, "gil", &right.to_message());
    assert_eq!(forge.decide(&id).unwrap().state, State::Approved);
}

#[test]
fn a_name_without_its_address_counts_for_nothing() {
    let forge = Forge::new();
    let id = forge.proposal("ada", B);
    let branch = forge.branch(&id);
    let submit = event_at(&forge, branch.tip);
    let forged = Event {
        kind: runebook::model::event::EventKind::Review,
        actor: "kai".parse().unwrap(),
        prev: Vec::new(),
        verdict: Some(Verdict::Approve),
        data: runebook::model::event::Data::Remarks(Default::default()),
        ..submit
    };
    let ident = runebook::model::commit::Ident { name: "kai".to_owned(), ..forge.ident("ada") };
    let commit = forge.commit(&[branch.tip], branch.tree, &ident, &forged.to_message());
    forge.advance(&id, commit);
    let decision = forge.decide(&id).unwrap();
    assert_eq!(decision.state, State::Open);
    assert!(decision.notes.iter().any(|note| note.contains("counts for nothing")), "{:?}", decision.notes);
}

#[test]
fn a_rewritten_branch_is_not_merged() {
    let forge = Forge::new();
    let id = approved(&forge);
    let branch = forge.branch(&id);
    // The content commit is amended and the events are written again on top, all well formed.
    let open = branch.commits[0].oid;
    forge.sandbox.git(&["update-ref", &id.open_ref(), &open.to_string()]);
    let tree = forge.tree(branch.commits[0].commit.tree, &[("notes/b.md", Some("evil\n"))]);
    let evil = forge.commit(&[open], tree, &forge.ident("ada"), "change\n");
    forge.sandbox.git(&["update-ref", &id.open_ref(), &evil.to_string()]);
    let error = forge.read(&id).unwrap_err();
    assert!(error.contains("was rewritten"), "{error}");
    assert!(forge.decide(&id).is_err());
}

#[test]
fn what_only_grew_while_it_was_read_is_a_branch_as_it_stood() {
    let forge = Forge::new();
    let id = forge.proposal("ada", B);
    let before = forge.branch(&id);
    forge.approve(&id, "gil");
    let (repo, main) = (forge.repo(), forge.main());
    let read = |tip| runebook::flow::branch::Branch::read(&repo, &id, tip, main).map_err(|e| e.to_string());
    assert_eq!(read(before.tip).unwrap().digest, before.digest);
    // A sibling of what stands there now is none of its states.
    let commit = &before.commits.last().unwrap().commit;
    let sibling = forge.commit(&commit.parents, before.tree, &forge.ident("ada"), &commit.message);
    let sibling = forge.commit(&[sibling], before.tree, &forge.ident("ada"), &commit.message);
    let error = read(sibling).unwrap_err();
    assert!(error.contains("moved while"), "{error}");
    // Nor is what the branch was cut back to.
    forge.sandbox.git(&["update-ref", &id.open_ref(), &before.tip.to_string()]);
    let error = read(before.tip).unwrap_err();
    assert!(error.contains("was rewritten"), "{error}");
}

#[test]
fn a_base_outside_of_main_is_refused() {
    let forge = Forge::new();
    let id = forge.open("ada");
    // A commit that never was on main is merged in as if it were.
    let main = forge.main();
    let tree = forge.tree(forge.repo().tree_of(main).unwrap(), &[("notes/evil.md", Some("evil\n"))]);
    let fake = forge.commit(&[main], tree, &forge.ident("mei"), "not on main\n");
    let update = forge.commit(&[forge.tip(&id), fake], tree, &forge.ident("ada"), "update\n");
    forge.advance(&id, update);
    let error = forge.read(&id).unwrap_err();
    assert!(error.contains("detached"), "{error}");
    // Main rewritten under an honest proposal.
    let id = approved(&forge);
    forge.sandbox.git(&["commit", "-q", "--amend", "-m", "another beginning"]);
    let error = forge.read(&id).unwrap_err();
    assert!(error.contains("detached"), "{error}");
}

#[test]
fn replaced_objects_have_no_say() {
    let forge = Forge::new();
    let id = forge.proposal("ada", B);
    forge.force_merge(&id, "mei");
    assert_eq!(forge.broken_rules(), ["not-approved"]);
    // A replacement under which the merge looks like an honest direct commit.
    let (main, before) = (forge.main(), forge.repo().parents(forge.main()).unwrap()[0]);
    let tree = forge.repo().tree_of(main).unwrap();
    let clean = forge.commit(&[before], tree, &forge.ident("mei"), "direct\n");
    forge.sandbox.git(&["replace", &main.to_string(), &clean.to_string()]);
    assert_eq!(forge.sandbox.git(&["log", "-1", "--format=%s"]), "direct");
    assert_eq!(forge.broken_rules(), ["not-approved"]);
    // And a graft.
    forge.sandbox.write(".git/info/grafts", format!("{main} {before}\n"));
    assert_eq!(forge.broken_rules(), ["not-approved"]);
}

#[test]
fn trailers_prove_nothing() {
    let forge = Forge::new();
    let id = forge.open("ada");
    let tip = forge.tip(&id);
    let approval = "change\n\nReviewed-by: gil\nRunebook-Event: review\nRunebook-Verdict: approve\n";
    let tree = forge.tree(forge.repo().tree_of(tip).unwrap(), B);
    forge.advance(&id, forge.commit(&[tip], tree, &forge.ident("ada"), approval));
    forge.say(&id, "ada", Draft::submit());
    assert_eq!(forge.decide(&id).unwrap().state, State::Open);
    // A merge whose second parent is no decide event, whatever it says.
    let main = forge.main();
    let merge =
        forge.commit(&[main, forge.tip(&id)], tree, &forge.ident("mei"), "merge\n\nApproved-by: gil\n");
    forge.set_main(merge);
    let rules = forge.broken_rules();
    assert!(rules.contains(&"fast-forward".to_owned()) && rules.contains(&"direct".to_owned()), "{rules:?}");
}

#[test]
fn a_proposal_does_not_bring_its_own_policy() {
    let forge = Forge::new();
    let lax = POLICY.replace("quorum: 1", "quorum: 1, other_family: false");
    let id = forge.proposal("ada", &[(".runebook/policy.yaml", Some(&lax)), ("notes/b.md", Some("b\n"))]);
    forge.approve(&id, "bob");
    let decision = forge.decide(&id).unwrap();
    assert_eq!(decision.state, State::NeedsHuman);
    assert!(decision.reasons.iter().any(|r| r.contains("for admins only")), "{:?}", decision.reasons);
    // Nor does another spelling of the directory help.
    let id = forge.proposal("ada", &[(".Runebook/policy.yaml", Some(&lax))]);
    forge.approve(&id, "kai");
    assert_eq!(forge.decide(&id).unwrap().state, State::NeedsHuman);
}

#[test]
fn only_plain_files_come_in() {
    for (what, path) in [(mode::LINK, "notes/l.md"), (mode::EXECUTABLE, "notes/x.md")] {
        let forge = Forge::new();
        let id = forge.open("ada");
        let tip = forge.tip(&id);
        let tree = forge.tree_with(forge.repo().tree_of(tip).unwrap(), path, what, "/etc/passwd");
        forge.advance(&id, forge.commit(&[tip], tree, &forge.ident("ada"), "change\n"));
        forge.say(&id, "ada", Draft::submit());
        forge.approve(&id, "mei");
        assert_eq!(forge.decide(&id).unwrap().state, State::NeedsHuman, "{path}");
        forge.force_merge(&id, "mei");
        assert_eq!(forge.broken_rules(), ["not-approved"], "{path}");
    }
    // A layer's name hides content from the digest: no other mode, no directory, not even for one commit.
    for (what, path) in [(mode::LINK, "notes/.overview.md"), (mode::FILE, "notes/.abstract.md/b.md")] {
        let forge = Forge::new();
        let id = forge.open("ada");
        let tip = forge.tip(&id);
        let clean = forge.repo().tree_of(tip).unwrap();
        let tree = forge.tree_with(clean, path, what, "hidden");
        let hidden = forge.commit(&[tip], tree, &forge.ident("ada"), "change\n");
        forge.advance(&id, forge.commit(&[hidden], clean, &forge.ident("ada"), "change back\n"));
        let error = forge.read(&id).unwrap_err();
        assert!(error.contains("a layer's name"), "{error}");
    }
}

#[test]
fn other_shapes_are_refused() {
    let forge = Forge::new();
    // An empty commit that says nothing; a second root; three parents; a join of something foreign.
    let id = approved(&forge);
    put_message(&forge, &id, "ada", "nothing\n");
    assert!(forge.read(&id).unwrap_err().contains("changes nothing and is no event"));
    let id = approved(&forge);
    let tip = forge.tip(&id);
    let tree = forge.repo().tree_of(tip).unwrap();
    let orphan = forge.commit(&[], tree, &forge.ident("ada"), "root\n");
    let join = forge.commit(&[tip, orphan], tree, &forge.ident("ada"), "join\n");
    forge.advance(&id, join);
    assert!(forge.read(&id).is_err());
    let id = approved(&forge);
    let tip = forge.tip(&id);
    let octopus = forge.commit(&[tip, forge.main(), orphan], tree, &forge.ident("ada"), "octopus\n");
    forge.advance(&id, octopus);
    assert!(forge.read(&id).unwrap_err().contains("more than two parents"));
    // A second `open`.
    let id = approved(&forge);
    let open = forge.branch(&id);
    let again = Event { digest: open.digest, revision: 1, ..event_at(&forge, open.commits[0].oid) };
    put_message(&forge, &id, "ada", &again.to_message());
    assert!(forge.read(&id).is_err());
}

#[test]
fn objects_that_git_would_not_write_are_refused() {
    let forge = Forge::new();
    let write = |kind: &str, bytes: &[u8]| {
        let mut command = forge.sandbox.command("git");
        let args = ["hash-object", "-t", kind, "-w", "--stdin", "--literally"];
        let mut child = command
            .args(args)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), bytes).unwrap();
        let out = child.wait_with_output().unwrap();
        String::from_utf8(out.stdout).unwrap().trim().parse::<Oid>().unwrap()
    };
    let blob = forge.repo().write_blob(b"x").unwrap();
    let entry = |name: &str| [format!("100644 {name}\0").as_bytes(), &blob.0].concat();
    for tree in [
        [entry("b"), entry("a")].concat(),
        [entry("a"), entry("a")].concat(),
        [b"0100644 a\0".as_slice(), &blob.0].concat(),
        [b"100664 a\0".as_slice(), &blob.0].concat(),
        entry("a/b"),
        entry(".."),
    ] {
        let id = forge.open("ada");
        let tree = write("tree", &tree);
        forge.advance(&id, forge.commit(&[forge.tip(&id)], tree, &forge.ident("ada"), "change\n"));
        assert!(forge.read(&id).is_err(), "{tree}");
    }
    let head = |tip: Oid, id: &str| {
        let tree = forge.tree(forge.repo().tree_of(tip).unwrap(), B);
        format!("tree {tree}\nparent {tip}\nauthor {id} <ada@agents.example> 1 +0000\n")
    };
    for (rest, message) in [
        ("committer ada <ada@agents.example> 1 +0000\n\n", "a\r\nb\n"),
        ("committer ada <ada@agents.example> 1 +0000\n\n", "a\0b\n"),
        ("committer ada <ada@agents.example> 1 +0000\nencoding latin1\n\n", "a\n"),
        ("committer ada <ada@agents.example> 1 -0000\n\n", "a\n"),
        ("author mei <mei@example.org> 1 +0000\ncommitter ada <ada@agents.example> 1 +0000\n\n", "a\n"),
        ("committer ada <ada@agents.example> 1 +0000\ngpgsig a\ngpgsig b\n\n", "a\n"),
    ] {
        let id = forge.open("ada");
        let commit = write("commit", format!("{}{rest}{message}", head(forge.tip(&id), "ada")).as_bytes());
        forge.advance(&id, commit);
        assert!(forge.read(&id).is_err(), "{rest}{message}");
    }
}

#[test]
fn malformed_events_refuse_the_branch() {
    let forge = Forge::new();
    let id = forge.proposal("ada", B);
    let tip = forge.tip(&id);
    forge.approve(&id, "gil");
    let good = forge.repo().commit(forge.tip(&id)).unwrap().message.clone();
    for bad in [
        good.replace("Runebook-Verdict: approve\n", "Runebook-Verdict: approve\nRunebook-Verdict: reject\n"),
        good.replace("review: ", "Runebook-Verdict: approve\nreview: "),
        good.trim_end().to_owned(),
        format!("{good}\nSigned-off-by: gil\n"),
    ] {
        forge.sandbox.git(&["update-ref", &id.open_ref(), &tip.to_string()]);
        forge.sandbox.git(&["update-ref", &id.seen_ref(), &tip.to_string()]);
        put_message(&forge, &id, "gil", &bad);
        assert!(forge.read(&id).unwrap_err().contains("is no event"), "{bad}");
    }
}

#[test]
fn main_moved_onto_a_branch_is_found() {
    let forge = Forge::new();
    let id = forge.proposal("mei", B);
    forge.set_main(forge.tip(&id));
    let rules = forge.broken_rules();
    assert_eq!(rules.iter().filter(|rule| *rule == "fast-forward").count(), 2, "{rules:?}");
}

#[test]
fn forged_decide_events_are_found() {
    // By somebody without the role merge.
    let forge = Forge::new();
    forge.force_merge(&approved(&forge), "ada");
    assert_eq!(forge.broken_rules(), ["merger"]);
    // Made for another main, and used a second time.
    let forge = Forge::new();
    let id = approved(&forge);
    let merge = forge.force_merge(&id, "mei");
    let decide = forge.repo().parents(merge).unwrap()[1];
    let undone = forge.direct("mei", &[("notes/b.md", None)]);
    let tree = forge.repo().tree_of(merge).unwrap();
    forge.set_main(forge.commit(&[undone, decide], tree, &forge.ident("mei"), "merge again\n"));
    assert!(forge.broken_rules().contains(&"wrong-main".to_owned()));
    // An exact rollback merged by an agent, without an approval.
    let forge = Forge::new();
    let merge = forge.force_merge(&approved(&forge), "mei");
    let back = forge.open_with("ada", Some(merge));
    forge.put(&back, "ada", &[("notes/b.md", None)]);
    forge.say(&back, "ada", Draft::submit());
    forge.force_merge(&back, "gil");
    assert_eq!(forge.broken_rules(), ["merger"]);
}

#[test]
fn a_dropped_veto_is_found() {
    let forge = Forge::new();
    let id = approved(&forge);
    let without = forge.branch(&id);
    let veto = forge.say(&id, "kai", Draft::review(Verdict::Reject, Vec::new()));
    let tree = forge.result_tree(&without);
    let event = forge.decide_event(&without, "mei", without.main, tree);
    forge.set_main(forge.commit(&[without.main, event], tree, &forge.ident("mei"), "merge\n"));
    assert_eq!(forge.repo().ref_oid(&id.seen_ref()).unwrap(), Some(veto));
    assert_eq!(forge.broken_rules(), ["events-dropped", "events-dropped"]);
}

#[test]
fn direct_commits_are_a_persons_own() {
    let forge = Forge::new();
    forge.direct("ada", B);
    assert_eq!(forge.broken_rules(), ["direct"]);
    let forge = Forge::new();
    forge.direct("kai", &[("admins/a.md", Some("a\n")), (".runebook/policy.yaml", Some("version: 1\n"))]);
    assert_eq!(forge.broken_rules(), ["direct", "direct"]);
    let forge = Forge::new();
    forge.direct("key", B);
    assert_eq!(forge.broken_rules(), ["unsigned"]);
    // What an agent proposed, taken in by a person without its reviews.
    let forge = Forge::new();
    forge.proposal("ada", B);
    forge.direct("mei", B);
    assert_eq!(forge.broken_rules(), ["squashed-proposal"]);
    // Committed by another than its author.
    let forge = Forge::new();
    forge.sandbox.write("notes/b.md", "b\n");
    forge.sandbox.git(&["add", "-A"]);
    forge.sandbox.git(&["commit", "-qm", "x", "--author", "ada <ada@agents.example>"]);
    assert_eq!(forge.broken_rules(), ["direct-author"]);
    let forge = Forge::new();
    let files = [".runebook/config.yaml", ".runebook/actors.yaml", ".runebook/policy.yaml"];
    let gone: Vec<(&str, Option<&str>)> = files.iter().map(|file| (*file, None)).collect();
    let repo = forge.repo();
    let tree = forge.tree(repo.tree_of(forge.main()).unwrap(), &gone);
    forge.set_main(forge.commit(&[forge.main()], tree, &forge.ident("mei"), "direct\n"));
    assert!(forge.broken_rules().contains(&"settings-removed".to_owned()));
}

#[test]
fn a_tree_that_unfolds_without_end_is_refused() {
    use runebook::model::change::{Change, ChangeSet, Entry};
    let forge = Forge::new();
    let repo = forge.repo();
    let mut tree =
        forge.tree_with(repo.write_tree(None, &ChangeSet::default()).unwrap(), "a.md", mode::FILE, "x");
    for _ in 0..9 {
        let mut level = ChangeSet::default();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            let path = runebook::model::path::VaultPath::parse(name).unwrap();
            level.changes.insert(path, Change::Put(Entry { mode: mode::TREE, oid: tree }));
        }
        tree = repo.write_tree(None, &level).unwrap();
    }
    let id = forge.open("ada");
    forge.advance(&id, forge.commit(&[forge.tip(&id)], tree, &forge.ident("ada"), "change\n"));
    assert!(forge.read(&id).unwrap_err().contains("differences"));
}
