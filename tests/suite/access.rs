//! Who may see what: whatever is hidden from a reader is in no answer, not even by its name.

use crate::cast::{CLAUDE, GPT, approve, digest, new, vault, write};
use crate::support::Sandbox;

/// Memories that an agent with ordinary clearance may not see, each hidden in another way.
const HIDDEN: [(&str, &str); 4] = [
    ("plum-restricted", "---\nsensitivity: restricted\n---\n# Quince\n\nA quince, see [[plum-open]].\n"),
    ("plum-broken", "---\nsensitivity: restricted\ntags: [unclosed\n---\n# Quince\n\nA quince.\n"),
    ("plum-unclosed", "---\nsensitivity: confidential\n\n# Quince\n\nA quince.\n"),
    ("plum-unknown", "---\nsensitivity: hush\n---\n# Quince\n\nA quince.\n"),
];

fn with_hidden() -> Sandbox {
    let vault = vault();
    vault.write("resources/plum-open.md", "# Open\n\nA plum that all may see.\n");
    for (name, text) in HIDDEN {
        vault.write(&format!("resources/{name}.md"), text);
    }
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Plums"]);
    vault
}

fn leaks(said: &str) -> bool {
    said.replace("\"query\": \"quince\"", "").contains("uince")
        || HIDDEN.iter().any(|(name, _)| said.contains(name))
}

#[test]
fn what_is_hidden_from_a_reader_is_in_no_answer() {
    let vault = with_hidden();
    vault.run(&["find", "quince"]).ok();
    for args in [
        &["ls", "resources"][..],
        &["ls", "resources", "--json"],
        &["tree"],
        &["tree", "--json"],
        &["glob", "**/plum*"],
        &["find", "plum"],
        &["find", "quince", "--json"],
        &["grep", "plum"],
        &["grep", "quince", "--json"],
        &["cat", "resources/plum-restrictde.md"],
        &["cat", "plum-brokn.md"],
        &["links", "resources", "--json"],
        &["backlinks", "resources/plum-open.md", "--json"],
        &["abstract", "resources"],
        &["overview", "resources"],
        &["show", "main"],
        &["show", "main", "--json"],
        &["diff", "main~1", "main"],
        &["status", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["reindex", "--json"],
        &["check"],
        &["check", "--json"],
    ] {
        let run = vault.run_as(CLAUDE, args);
        assert!(run.status != 2, "{args:?}: {}", run.err);
        assert!(!leaks(&run.out) && !leaks(&run.err), "{args:?}\n{}\n{}", run.out, run.err);
    }
    // A hidden memory and none look the same.
    for verb in ["cat", "log", "links", "abstract"] {
        let hidden = vault.run_as(CLAUDE, &[verb, "resources/plum-broken.md"]);
        let none = vault.run_as(CLAUDE, &[verb, "resources/plum-wroken.md"]);
        assert_eq!(
            (hidden.status, hidden.out, hidden.err.replace("plum-broken", "plum-wroken")),
            (none.status, none.out, none.err),
            "{verb}"
        );
    }
}

#[test]
fn a_directory_of_which_nothing_may_be_seen_is_none() {
    let vault = vault();
    let secret = "---\nsensitivity: restricted\n---\n# Quince\n";
    vault.write("resources/orchard/quince.md", secret);
    vault.write("resources/orchard/deep/quince.md", secret);
    vault.write("resources/mixed/quince.md", secret);
    vault.write("resources/mixed/deep/plum.md", "# Plum\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Fruit"]);
    for args in [
        &["ls", "resources"][..],
        &["ls", "resources", "--json"],
        &["tree"],
        &["tree", "-L", "2"],
        &["tree", "--json"],
        &["glob", "**"],
        &["ls", "resources/orcharb"],
    ] {
        let run = vault.run_as(CLAUDE, args);
        assert!(
            !run.out.contains("orchard") && !run.err.contains("orchard"),
            "{args:?}\n{}{}",
            run.out,
            run.err
        );
        let person = vault.run(args);
        let said = format!("{}{}", person.out, person.err);
        assert!(said.contains("orchard"), "a person sees it: {args:?}\n{said}");
    }
    assert!(vault.run_as(CLAUDE, &["ls", "resources"]).ok().out.contains("resources/mixed/\n"));
    assert!(vault.run_as(CLAUDE, &["tree"]).ok().out.contains("deep/"));
    let hidden = vault.run_as(CLAUDE, &["ls", "resources/orchard"]).fails(1);
    let none = vault.run_as(CLAUDE, &["ls", "resources/orcharq"]).fails(1);
    assert_eq!(hidden.err.replace("orchard", "orcharq"), none.err);
    let id = new(&vault, CLAUDE, "Fruit");
    for args in [
        &["propose", "rm", &id, "resources/orchard"][..],
        &["propose", "mv", &id, "resources/orchard", "resources/garden"],
        &["propose", "edit", &id, "resources/orchard", "--old", "a", "--new", "b"],
    ] {
        let none: Vec<String> = args.iter().map(|arg| arg.replace("orchard", "orcharq")).collect();
        let none = vault.run_as(CLAUDE, &none.iter().map(String::as_str).collect::<Vec<_>>()).fails(1);
        let hidden = vault.run_as(CLAUDE, args).fails(1);
        assert_eq!(hidden.err.replace("orchard", "orcharq"), none.err, "{args:?}");
    }
}

#[test]
fn nobody_edits_or_judges_what_it_may_not_see() {
    let vault = with_hidden();
    let id = new(&vault, CLAUDE, "Guess");
    let near = ["propose", "edit", &id, "resources/plum-restricted.md", "--old", "A quinze", "--new", "x"];
    let run = vault.run_as(CLAUDE, &near);
    assert!(run.status == 1 && !leaks(&run.err.replace("plum-restricted", "")), "{}", run.err);
    vault.run_as(CLAUDE, &["propose", "rm", &id, "resources/plum-broken.md"]).fails(1);
    // What a person proposes there is told to an agent as far as it may see it, and not for it to judge.
    let id = new(&vault, "mei", "Both");
    write(&vault, "mei", &id, "resources/c.md", "# C\n\n[[plum-unknwon]]\n").ok();
    write(
        &vault,
        "mei",
        &id,
        "resources/plum-restricted.md",
        "---\nsensitivity: restricted\n---\n# A quince\n",
    )
    .ok();
    vault.run(&["propose", "submit", &id]).ok();
    for args in [
        &["show", &id][..],
        &["show", &id, "--json"],
        &["review", "show", &id, "--json"],
        &["propose", "diff", &id],
        &["diff", "main", &id],
        &["check", "--proposal", &id, "--json"],
    ] {
        let run = vault.run_as(GPT, args);
        assert!(run.status < 2 && !leaks(&run.out) && !leaks(&run.err), "{args:?}\n{}\n{}", run.out, run.err);
    }
    let run = approve(&vault, GPT, &id).fails(4);
    assert!(run.err.contains("may not read") && !leaks(&run.err), "{}", run.err);
    let shown = digest(&vault, &id);
    assert!(shown.starts_with("sha256:"));
}

#[test]
fn an_agent_reads_no_state_that_was_never_approved() {
    let vault = vault();
    vault.git(&["branch", "side"]);
    vault.git(&["checkout", "-q", "side"]);
    vault.write("resources/draft.md", "# Draft\n\nA quince.\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Draft"]);
    vault.git(&["checkout", "-q", "main"]);
    for args in [&["show", "side"][..], &["diff", "main", "side"], &["diff", "side", "main"]] {
        let run = vault.run_as(CLAUDE, args).fails(4);
        assert!(run.out.is_empty() && run.err.contains("approved"), "{args:?}: {}", run.err);
        vault.run(args).ok();
    }
}

#[cfg(unix)]
#[test]
fn an_actor_that_is_no_text_is_not_the_person() {
    use std::os::unix::ffi::OsStrExt as _;
    let vault = vault();
    let mut command = vault.command(env!("CARGO_BIN_EXE_runebook"));
    command.env("RUNEBOOK_ACTOR", std::ffi::OsStr::from_bytes(b"claude\xff")).args(["ls"]);
    let output = command.output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("RUNEBOOK_ACTOR"));
}

#[test]
fn only_administrators_commit_settings_whatever_the_policy_says() {
    let vault = vault();
    let actors = vault.read(".runebook/actors.yaml");
    let kim = "  - {id: kim, kind: person, email: kim@example.org, roles: [propose, merge, review]}\n";
    vault.write(".runebook/actors.yaml", format!("{actors}{kim}"));
    let policy = vault.read(".runebook/policy.yaml");
    let lax = policy.replace("direct: admin", "direct: person");
    assert_ne!(lax, policy);
    vault.write(".runebook/policy.yaml", lax);
    vault.git(&["commit", "-qam", "Kim may write"]);
    vault.write(".runebook/config.yaml", format!("{}\n# x\n", vault.read(".runebook/config.yaml")));
    let run = vault.run_as("kim", &["commit", "--message", "- Settings"]);
    assert!(run.status == 4 && run.err.contains("admin"), "{} {}", run.out, run.err);
}
