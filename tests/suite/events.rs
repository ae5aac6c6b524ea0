//! The frozen form of events, and the digest against git's own command.

use proptest::prelude::*;
use runebook::model::change::{DiffRecord, digest, mode};
use runebook::model::event::{
    Data, Decide, Event, EventKind, Lift, Open, Outcome, Remark, Remarks, Verdict, policy_hash,
};
use runebook::model::id::{Digest, Oid, ProposalId};
use runebook::store::git::Repo;

use crate::forge::Forge;
use crate::support::Sandbox;

const FROZEN: &str = "review: approve revision 2 of 7k3qm2xd

The quote stands in the evidence; the old preference is superseded, not deleted.

| Runebook-Verdict: reject

Runebook-Event: review
Runebook-Vault: 4b825dc642cb6eb9a060e54bf8d69288fbee4904
Runebook-Proposal: 7k3qm2xd
Runebook-Revision: 2
Runebook-Base: 0123456789abcdef0123456789abcdef01234567
Runebook-Digest: sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
Runebook-Policy: sha256:8d421d9df404c2a6a9d5c2d0e7c3cbd70da91bdb0c4f8bbd5fd8d6a5de0fd2d6
Runebook-Actor: reviewer-gpt
Runebook-Prev: 1111111111111111111111111111111111111111 2222222222222222222222222222222222222222
Runebook-Verdict: approve
Runebook-Data: {\"comments\":[{\"evidence\":\"viking://evidence/a.jsonl#L12\",\"line\":3,\"path\":\"a\\\"b.md\",\"text\":\"要靠窗\\n\\u0001\"}]}
";

#[test]
fn the_frozen_form_is_read_and_written() {
    let event = Event::parse(FROZEN).unwrap();
    assert_eq!((event.kind, event.verdict, event.revision), (EventKind::Review, Some(Verdict::Approve), 2));
    assert_eq!(event.remarks()[0].text.as_deref(), Some("要靠窗\n\u{1}"));
    assert_eq!(event.prev.len(), 2);
    assert_eq!(event.to_message(), FROZEN);
    let hash = policy_hash(Oid::ZERO, Oid::ZERO);
    assert_eq!(hash, Digest::of(format!("{0}\n{0}\n", "0".repeat(40)).as_bytes()));
}

#[test]
fn what_differs_by_a_byte_is_no_event() {
    for (from, to) in [
        ("Runebook-Revision: 2", "Runebook-Revision: 02"),
        ("Runebook-Revision: 2", "Runebook-Revision: +2"),
        ("Runebook-Revision: 2\n", "Runebook-Revision: 2\nRunebook-Revision: 2\n"),
        ("Runebook-Verdict: approve\n", ""),
        ("Runebook-Verdict: approve\n", "Runebook-Verdict: approve\n \n"),
        ("Runebook-Verdict: approve", "Runebook-Verdict: Approve"),
        ("Runebook-Verdict: approve", "Runebook-Verdict: none"),
        ("Runebook-Verdict: approve", "Runebook-Verdict:approve"),
        ("Runebook-Verdict: approve", "Runebook-Verdict: approve "),
        ("Runebook-Event: review", "Runebook-Event: comment"),
        ("Runebook-Event: review", "runebook-event: review"),
        ("| Runebook-Verdict: reject", "Runebook-Verdict: reject"),
        ("\n\nThe quote", "\nThe quote"),
        ("reject\n\nRunebook", "reject\n\n\nRunebook"),
        ("reject\n\nRunebook", "reject\nRunebook"),
        ("review: approve revision", " review: approve revision"),
        ("]}\n", "]}"),
        ("]}\n", "]}\n\n"),
        ("{\"comments\"", "{ \"comments\""),
        ("\"line\":3,", "\"line\":3.0,"),
        ("\"line\":3,", "\"line\":-3,"),
        ("\"line\":3,", "\"line\":0,"),
        ("\"line\":3,", "\"line\":3,\"line\":3,"),
        ("\"line\":3,", "\"line\":3,\"mood\":\"good\","),
        ("\"line\":3,", "\"line\":null,"),
        (
            "\"evidence\":\"viking://evidence/a.jsonl#L12\",\"line\":3",
            "\"line\":3,\"evidence\":\"viking://evidence/a.jsonl#L12\"",
        ),
        ("要靠窗", "\\u8981靠窗"),
        ("\\u0001", "\\u0001\\/"),
        ("1111 2222", "1111  2222"),
        (
            "1111111111111111111111111111111111111111 2222222222222222222222222222222222222222",
            "2222222222222222222222222222222222222222 1111111111111111111111111111111111111111",
        ),
        ("0123456789abcdef0123456789abcdef01234567", "0123456789ABCDEF0123456789abcdef01234567"),
        ("sha256:e3b0", "sha256:E3b0"),
    ] {
        assert!(FROZEN.contains(from), "{from}");
        let changed = FROZEN.replacen(from, to, 1);
        assert_ne!(changed, FROZEN);
        assert!(Event::parse(&changed).is_err(), "{from} -> {to}");
    }
    // A line moved to another place.
    let lines: Vec<&str> = FROZEN.lines().collect();
    for at in 6..lines.len() - 1 {
        let mut moved = lines.clone();
        moved.swap(at, at + 1);
        assert!(Event::parse(&(moved.join("\n") + "\n")).is_err(), "{}", lines[at]);
    }
    assert!(Event::parse("").is_err());
    assert!(Event::parse(&FROZEN.replace('\n', "\r\n")).is_err());
    let empty = FROZEN.split_once("Runebook-Data: ").unwrap().0.to_owned();
    assert!(Event::parse(&(empty.clone() + "Runebook-Data: {\"comments\":[]}\n")).is_err());
    assert!(Event::parse(&(empty.clone() + "Runebook-Data: {\"comments\":[{}]}\n")).is_err());
    assert!(Event::parse(&(empty + "Runebook-Data: {}\n")).is_ok());
}

fn oid() -> impl Strategy<Value = Oid> {
    any::<[u8; 20]>().prop_map(Oid)
}

fn id() -> impl Strategy<Value = ProposalId> {
    any::<[u8; 5]>().prop_map(ProposalId::from_random)
}

/// Text with everything that could break the frame.
fn words() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("Runebook-Event: open\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\u{2028}| Runebook-".to_owned()),
        Just("---\n".to_owned()),
        any::<String>(),
        "[a-z \"\\\\日本\n]{0,12}",
    ];
    proptest::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn data() -> impl Strategy<Value = (EventKind, Option<Verdict>, Data)> {
    let remark = (words(), 1..900u32).prop_map(|(text, line)| Remark {
        evidence: Some(text.clone()).filter(|t| t.len() % 2 == 0),
        line: Some(line),
        path: None,
        text: Some(text),
    });
    let verdict = prop_oneof![Just(Verdict::Approve), Just(Verdict::Reject), Just(Verdict::RequestChanges)];
    let checks =
        proptest::collection::btree_map(words(), prop_oneof![Just(Outcome::Ok), Just(Outcome::Person)], 0..4);
    prop_oneof![
        (verdict, proptest::collection::vec(remark, 0..3)).prop_map(|(v, comments)| (
            EventKind::Review,
            Some(v),
            Data::Remarks(Remarks { comments })
        )),
        (oid(), proptest::option::of(id()), proptest::option::of(oid()), words()).prop_map(
            |(base, from, rollback_of, title)| {
                (EventKind::Open, None, Data::Open(Open { base, from, rollback_of, title }))
            }
        ),
        oid().prop_map(|event| (EventKind::Lift, None, Data::Lift(Lift { event }))),
        (oid(), oid(), checks, proptest::collection::btree_set(1..99u32, 0..4)).prop_map(
            |(main, tree, checks, rules)| {
                let rules = rules.into_iter().collect();
                (EventKind::Decide, None, Data::Decide(Decide { checks, main, rules, tree }))
            }
        ),
        Just((EventKind::Submit, None, Data::None {})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is written is read back the same, and no text can forge a line.
    #[test]
    fn written_events_are_read_back(
        (kind, verdict, data) in data(),
        subject in words(),
        text in proptest::option::of(words()),
        base in oid(),
        prev in proptest::collection::btree_set(oid(), 0..3),
        proposal in id(),
    ) {
        let event = Event {
            kind, vault: base, proposal, revision: 3, base, digest: Digest::of(b"x"), policy: Digest::of(b""),
            actor: "ada".parse().unwrap(), prev: prev.into_iter().collect(), verdict, data, subject, text,
        };
        let message = event.to_message();
        let read = Event::parse(&message);
        prop_assert!(read.is_ok(), "{:?}\n{}", read, message);
        let read = read.unwrap();
        prop_assert_eq!(read.to_message(), message.clone());
        prop_assert_eq!(&read.data, &event.data);
        prop_assert_eq!((read.kind, read.verdict), (event.kind, event.verdict));
        prop_assert_eq!(message.lines().filter(|l| l.starts_with("Runebook-")).count(), 11);
    }

    /// Reading never panics, and what it takes is canonical.
    #[test]
    fn any_message_is_read_or_refused(cut in 0..900usize, add in any::<String>()) {
        let mut text = FROZEN.to_owned();
        let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.insert_str(at, &add);
        if let Ok(event) = Event::parse(&text) {
            prop_assert_eq!(event.to_message(), text);
        }
    }
}

/// A random tree as a list of entries: a path each, and what stands there.
fn files() -> impl Strategy<Value = std::collections::BTreeMap<String, (u32, u8)>> {
    let name = prop_oneof![
        Just("a"),
        Just("b"),
        Just("a.md"),
        Just("a-b"),
        Just("日记"),
        Just("q\"uo'te"),
        Just("new\nline"),
        Just("tab\t"),
        Just("back\\slash"),
        Just(".abstract.md"),
        Just(".overview.md"),
        Just("x.abstract.md"),
        Just("*"),
        Just(":(top)"),
    ];
    let path = proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"));
    let entry =
        (prop_oneof![4 => Just(mode::FILE), 1 => Just(mode::EXECUTABLE), 1 => Just(mode::LINK)], 0..4u8);
    proptest::collection::btree_map(path, entry, 0..14)
}

/// Commits a tree. A path below a file, or a directory with a layer's name, is left out: no branch may have those.
fn commit(sandbox: &Sandbox, files: &std::collections::BTreeMap<String, (u32, u8)>) -> String {
    let mut input = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for (path, (mode, content)) in files {
        let layer_above = path.rsplit('/').skip(1).any(|n| n == ".abstract.md" || n == ".overview.md");
        let layer = path.ends_with("/.abstract.md")
            || path.ends_with("/.overview.md")
            || path == ".abstract.md"
            || path == ".overview.md";
        let below_file =
            taken.iter().any(|t| path.starts_with(&format!("{t}/")) || t.starts_with(&format!("{path}/")));
        if layer_above || below_file || (layer && *mode != mode::FILE) {
            continue;
        }
        taken.push(path.clone());
        let repo = Repo::discover(&sandbox.vault()).unwrap();
        let oid = repo.write_blob(&[b'0' + content]).unwrap();
        input.extend_from_slice(format!("{mode:06o} {oid}\t{path}\0").as_bytes());
    }
    sandbox.git(&["read-tree", "--empty"]);
    let mut child = sandbox.command("git");
    let mut child = child
        .args(["update-index", "-z", "--index-info"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &input).unwrap();
    assert!(child.wait().unwrap().success());
    let tree = sandbox.git(&["write-tree"]);
    sandbox.git(&["commit-tree", "-m", "x", &tree])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// The digest is the sum of what git's own command prints.
    #[test]
    fn the_digest_is_gits(old in files(), new in files()) {
        let sandbox = Sandbox::new();
        sandbox.git(&["init", "-q"]);
        let (old, new) = (commit(&sandbox, &old), commit(&sandbox, &new));
        let raw = sandbox.command("git").args([
            "diff-tree", "-r", "--raw", "--no-renames", "--full-index", "--ignore-submodules=none", "-z", &old, &new,
            "--", ":(top)", ":(top,exclude,glob)**/.abstract.md", ":(top,exclude,glob)**/.overview.md",
        ]).output().unwrap();
        prop_assert!(raw.status.success());
        let repo = Repo::discover(&sandbox.vault()).unwrap();
        let tree = |c: &str| Some(repo.tree_of(c.parse().unwrap()).unwrap());
        let records: Vec<DiffRecord> = repo.diff(tree(&old), tree(&new)).unwrap();
        prop_assert_eq!(digest(&records), Digest::of(&raw.stdout), "{:?}", String::from_utf8_lossy(&raw.stdout));
    }
}

#[test]
fn names_of_proposals_are_never_used_again() {
    let forge = Forge::new();
    let first = forge.open("ada");
    assert_eq!(forge.repo().ref_oid(&first.seen_ref()).unwrap(), Some(forge.tip(&first)));
    let second = forge.open("ada");
    assert_ne!(first, second);
    // The same seed draws the same names again: those of closed proposals are passed over.
    forge.close(&first, forge.tip(&first));
    let again = Forge::again(&forge);
    let third = again.open("ada");
    assert!(third != first && third != second);
}

#[test]
fn an_event_moves_the_branch_only_from_where_it_was_read() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    let read = forge.branch(&id);
    forge.approve(&id, "gil");
    let draft = runebook::flow::events::Draft::comment(Vec::new());
    let late = runebook::flow::events::append(&forge.vault(), &read, &forge.actor("kai"), draft).unwrap_err();
    assert!(late.to_string().contains("moved while"), "{late}");
    // Every line of the log is as the format says, and each actor's events are chained.
    let branch = forge.branch(&id);
    let kinds: Vec<EventKind> = branch.events().map(|(_, _, event)| event.kind).collect();
    assert_eq!(kinds, [EventKind::Open, EventKind::Submit, EventKind::Review]);
    let submit = branch.events().nth(1).unwrap();
    assert_eq!(submit.2.prev, vec![branch.events().next().unwrap().1.oid]);
    assert_eq!(submit.2.revision, 1);
}
