//! The audit of honest vaults, and a proposal verified with plain git.

use runebook::model::id::Oid;

use crate::forge::Forge;
use crate::support::Sandbox;

/// Runs `tests/verify.sh` on a merge.
fn verify(forge: &Forge, merge: Oid) -> Result<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verify.sh");
    let vault = forge.sandbox.vault();
    let out = forge
        .sandbox
        .command("sh")
        .args([script, vault.to_str().unwrap(), &merge.to_string()])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if out.status.success() { Ok(text(&out.stdout)) } else { Err(text(&out.stderr)) }
}

#[test]
fn plain_git_agrees() {
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n")), ("日记/周 'q'.md", Some("q\n"))]);
    forge.approve(&id, "gil");
    let digest = forge.branch(&id).digest;
    let merge = forge.force_merge(&id, "mei");
    let said = verify(&forge, merge).unwrap();
    assert_eq!(said, format!("ok: {id} by ada, {digest}, approved by gil"));
    // After an update.
    let id = forge.proposal("ada", &[("notes/c.md", Some("c\n"))]);
    forge.approve(&id, "kai");
    forge.direct("mei", &[("notes/d.md", Some("d\n"))]);
    let branch = forge.branch(&id);
    let tree = forge.result_tree(&branch);
    forge.advance(&id, forge.commit(&[branch.tip, forge.main()], tree, &forge.ident("ada"), "update\n"));
    let merge = forge.force_merge(&id, "mei");
    assert!(verify(&forge, merge).unwrap().ends_with("approved by kai"));
    assert_eq!(forge.broken_rules(), Vec::<String>::new());
    // Both refuse the same.
    for reviewer in [None, Some("ada")] {
        let forge = Forge::new();
        let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
        if let Some(reviewer) = reviewer {
            forge.approve(&id, reviewer);
        }
        let merge = forge.force_merge(&id, "mei");
        assert!(verify(&forge, merge).unwrap_err().contains("nobody but the proposer"));
    }
    let forge = Forge::new();
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.approve(&id, "gil");
    let branch = forge.branch(&id);
    let tree = forge.tree(forge.result_tree(&branch), &[("notes/evil.md", Some("evil\n"))]);
    let event = forge.decide_event(&branch, "mei", branch.main, tree);
    let merge = forge.commit(&[branch.main, event], tree, &forge.ident("mei"), "merge\n");
    assert!(verify(&forge, merge).unwrap_err().contains("changed something else"));
}

#[test]
fn plain_git_agrees_with_what_the_program_merges() {
    let forge = Forge::new();
    let sandbox = &forge.sandbox;
    let id = sandbox.run_as("ada", &["propose", "new", "B", "--json"]).ok().json();
    let id = id["id"].as_str().unwrap().to_owned();
    let mut write = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
    let mut write = write
        .env("RUNEBOOK_ACTOR", "ada")
        .args(["propose", "write", &id, "notes/b.md"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut write.stdin.take().unwrap(), b"# B\n\nSee [A](a.md).\n").unwrap();
    assert!(write.wait().unwrap().success());
    sandbox.run_as("ada", &["propose", "submit", &id]).ok();
    let digest = forge.branch(&id.parse().unwrap()).digest.to_string();
    sandbox.run_as("gil", &["review", "approve", &id, "--digest", &digest]).ok();
    sandbox.run(&["merge", &id]).ok();
    let said = verify(&forge, forge.main()).unwrap();
    assert!(said.starts_with(&format!("ok: {id} by ada, sha256:")), "{said}");
    assert!(said.ends_with(", approved by gil"), "{said}");
    let merge = forge.main();
    let back = sandbox.run(&["rollback", &id, "--json"]).ok().json();
    let back = back["id"].as_str().unwrap().to_owned();
    sandbox.run(&["merge", &back]).ok();
    let said = verify(&forge, forge.main()).unwrap();
    assert!(said.ends_with(&format!("approved by nobody (the exact inverse of {merge})")), "{said}");
    assert_eq!(forge.broken_rules(), Vec::<String>::new());
}

#[test]
fn an_honest_vault_holds() {
    let forge = Forge::new();
    forge.direct("mei", &[("notes/a.md", Some("# A2\n"))]);
    let id = forge.proposal("ada", &[("notes/b.md", Some("b\n"))]);
    forge.approve(&id, "gil");
    forge.force_merge(&id, "mei");
    let run = forge.sandbox.run(&["audit"]).ok();
    assert!(run.out.contains("1 merged proposal, 1 direct, 0 pulled"), "{}", run.out);
    assert!(run.out.ends_with("held (recorded)\n"), "{}", run.out);
    let part = forge.sandbox.run(&["audit", "--from", "HEAD~1", "--json"]).ok().json();
    assert_eq!((part["commits"].as_u64(), part["merges"].as_u64()), (Some(1), Some(1)));
    forge.sandbox.run(&["audit", "--from", "nothing"]).fails(1);
    let side = forge.repo().parents(forge.main()).unwrap()[1].to_string();
    forge.sandbox.run(&["audit", "--from", &side]).fails(2);
    // What is broken is named, with commit, rule and proposal.
    forge.direct("ada", &[("notes/c.md", Some("c\n"))]);
    let broken = forge.sandbox.run(&["audit"]).fails(1);
    assert!(
        broken.out.contains("direct: `ada` committed to the approved branch directly and is an agent"),
        "{}",
        broken.out
    );
}

#[test]
fn a_pull_by_a_person_holds_only_when_all_of_it_does() {
    let build = |by: &str, evil: bool| {
        let forge = Forge::new();
        let base = forge.main();
        let theirs = forge.tree(forge.repo().tree_of(base).unwrap(), &[("notes/b.md", Some("b\n"))]);
        let theirs = forge.commit(&[base], theirs, &forge.ident(by), "theirs\n");
        let ours = forge.direct("mei", &[("notes/c.md", Some("c\n"))]);
        let mut tree = forge.tree(forge.repo().tree_of(ours).unwrap(), &[("notes/b.md", Some("b\n"))]);
        if evil {
            tree = forge.tree(tree, &[("notes/e.md", Some("e\n"))]);
        }
        forge.set_main(forge.commit(&[ours, theirs], tree, &forge.ident("mei"), "pull\n"));
        forge.broken_rules()
    };
    assert_eq!(build("kai", false), Vec::<String>::new());
    assert_eq!(build("ada", false), ["direct"]);
    assert_eq!(build("kai", true), ["evil-merge"]);
}

#[test]
fn history_before_the_vault_is_outside() {
    let sandbox = crate::support::Sandbox::new();
    sandbox.git(&["init", "-q"]);
    for n in 0..3 {
        sandbox.write("old.md", format!("{n}\n"));
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "old", "--author", "nobody <nobody@example.org>"]);
    }
    sandbox.write(".runebook/config.yaml", "version: 1\n");
    sandbox.write(".runebook/actors.yaml", crate::forge::ACTORS);
    sandbox.write(".runebook/policy.yaml", crate::forge::POLICY);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "begin"]);
    let root = sandbox.git(&["rev-parse", "HEAD"]);
    let report = sandbox.run(&["audit", "--json"]).ok().json();
    assert_eq!((report["root"].as_str(), report["commits"].as_u64()), (Some(root.as_str()), Some(0)));
    // Main rewritten after this clone pinned the root.
    sandbox.git(&["commit", "-q", "--amend", "-m", "another beginning"]);
    let report = sandbox.run(&["audit", "--json"]).fails(1).json();
    assert_eq!(report["violations"][0]["rule"], "root");
}

#[test]
fn a_part_of_a_long_history_is_audited_by_itself() {
    let forge = Forge::new();
    for count in [5, 20] {
        for n in 0..count {
            let path = format!("notes/{n}-{count}.md");
            let id = forge.proposal("ada", &[(path.as_str(), Some("b\n"))]);
            forge.approve(&id, "gil");
            forge.force_merge(&id, "mei");
        }
        let from = format!("HEAD~{count}");
        let report = forge.sandbox.run(&["audit", "--json", "--from", &from]).ok().json();
        assert_eq!(report["merges"].as_u64(), Some(count as u64));
        assert_eq!(report["commits"].as_u64(), Some(count as u64));
    }
}

#[test]
fn an_approved_branch_of_another_name_is_called_by_it() {
    let s = Sandbox::new();
    s.git(&["init", "-q", "-b", "notes"]);
    s.write("seats.md", "# Seats\n\nBy the window.\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "One"]);
    s.run(&["init", "--existing", "--yes"]).ok();
    s.write("meals.md", "# Meals\n\nNo fish.\n");
    let found = s.run(&["find", "fish"]).ok();
    assert!(found.out.contains("not on notes"), "{found:?}");
    s.git(&["add", "-A"]);
    s.git(&["-c", "user.email=stranger@example.org", "commit", "-qm", "Two"]);
    let audit = s.run(&["audit"]).fails(1);
    assert!(audit.out.contains("committed to the approved branch directly"), "{audit:?}");
    let short = &s.git(&["rev-parse", "HEAD"])[..8];
    assert!(audit.err.contains(&format!("runebook show {short}")), "{audit:?}");
    for run in [&found, &audit] {
        assert!(!format!("{}{}", run.out, run.err).contains("main"), "{run:?}");
    }
    // What is named as the next step can be run.
    s.run(&["show", short]).ok();
    s.run(&["audit", "--from", short]).ok();
}
