//! Merging: what is refused and why, and what becomes of the files.

use crate::cast::{
    CLAUDE, GPT, SEATS, approve, approved, digest, edit, in_order, merged, new, proposed, status, vault,
    write,
};
use crate::support::Sandbox;

#[test]
fn an_approved_proposal_reaches_main_index_and_files() {
    let vault = vault();
    let id = approved(&vault);
    let run = vault.run_as(CLAUDE, &["merge", &id, "--json"]).ok().json();
    assert_eq!(run["proposal"], id.as_str());
    assert_eq!(run["approved_by"], serde_json::json!([GPT]));
    assert_eq!(run["kept"], serde_json::json!([]));
    in_order(&vault);
    assert_eq!(vault.read("resources/seats.md"), SEATS.replace("two hours", "three hours"));
    // Nothing has to be looked at anew: the index knows the files as they are.
    assert_eq!(vault.git(&["diff-files", "--name-only"]), "");
    let message = vault.git(&["log", "-1", "--format=%B"]);
    for line in [
        "Proposed-by: claude-mei <claude@agents.example.org>",
        "Approved-by: reviewer-gpt <gpt@agents.example.org>",
    ] {
        assert!(message.contains(line), "{message}");
    }
    assert_eq!(
        vault.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]),
        format!("closed/{id}\nmain")
    );
}

#[test]
fn what_is_not_approved_is_refused_with_the_reason() {
    let vault = vault();
    let draft = new(&vault, CLAUDE, "Draft");
    write(&vault, CLAUDE, &draft, "resources/a.md", "# A\n\nSee [[home]].\n").ok();
    let run = vault.run_as(CLAUDE, &["merge", &draft]).fails(4);
    assert!(run.err.contains("not submitted"), "{}", run.err);

    let id = proposed(&vault);
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(4);
    assert!(run.err.contains("needs 1 approval"), "{}", run.err);
    assert!(run.err.contains(&format!("runebook review show {id}")), "{}", run.err);

    approve(&vault, GPT, &id).ok();
    let run = vault.run_as(GPT, &["merge", &id]).fails(4);
    assert!(run.err.contains("does not have the role merge"), "{}", run.err);
    assert!(vault.run(&["merge", "zzzzzzzz"]).fails(1).err.contains("no proposal"));
}

#[test]
fn what_main_changed_meanwhile_is_stale() {
    let vault = vault();
    let id = approved(&vault);
    vault.write("resources/seats.md", "# Seats\n\nOther, see [[home]].\n");
    vault.git(&["commit", "-qam", "Mine"]);
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(3);
    assert!(run.err.contains("resources/seats.md"), "{}", run.err);
    assert!(run.err.contains("propose new --from"), "{}", run.err);
    assert_eq!(vault.read("resources/seats.md"), "# Seats\n\nOther, see [[home]].\n");
}

#[test]
fn other_paths_may_change_meanwhile() {
    let vault = vault();
    let id = approved(&vault);
    vault.write("resources/home.md", "# Home\n\nSee [[seats]], mine.\n");
    vault.git(&["commit", "-qam", "Mine"]);
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
    assert_eq!(vault.read("resources/home.md"), "# Home\n\nSee [[seats]], mine.\n");
}

/// A merge that must be refused with these words, and must leave everything as it is.
#[track_caller]
fn refused(vault: &Sandbox, id: &str, path: &str, words: &str) {
    let before = (vault.git(&["for-each-ref"]), status(vault));
    let file = std::fs::read(vault.vault().join(path)).ok();
    let run = vault.run_as(CLAUDE, &["merge", id]).fails(3);
    assert!(run.err.contains(path) && run.err.contains(words), "{}", run.err);
    assert_eq!((vault.git(&["for-each-ref"]), status(vault)), before);
    assert_eq!(std::fs::read(vault.vault().join(path)).ok(), file);
    assert!(!vault.vault().join(".git/index.lock").exists());
}

#[test]
fn edits_in_the_way_stop_it() {
    let vault = vault();
    let id = approved(&vault);
    vault.write("resources/seats.md", "mine\n");
    refused(&vault, &id, "resources/seats.md", "uncommitted changes");
    vault.git(&["add", "resources/seats.md"]);
    refused(&vault, &id, "resources/seats.md", "staged changes");
    vault.git(&["reset", "-q", "--hard"]);

    vault.write("resources/meals.md", "mine\n");
    refused(&vault, &id, "resources/meals.md", "not tracked");
    vault.write(".git/info/exclude", "meals.md\n");
    refused(&vault, &id, "resources/meals.md", "not tracked");
    std::fs::remove_file(vault.vault().join("resources/meals.md")).unwrap();

    std::fs::remove_file(vault.vault().join("resources/seats.md")).unwrap();
    refused(&vault, &id, "resources/seats.md", "is deleted");
    vault.git(&["checkout", "-q", "resources/seats.md"]);

    std::fs::create_dir(vault.vault().join("resources/meals.md")).unwrap();
    vault.write("resources/meals.md/x", "mine\n");
    refused(&vault, &id, "resources/meals.md", "is a directory");
    std::fs::remove_dir_all(vault.vault().join("resources/meals.md")).unwrap();

    vault.git(&["rm", "-q", "--cached", "resources/seats.md"]);
    refused(&vault, &id, "resources/seats.md", "staged changes");
    vault.git(&["reset", "-q"]);
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
}

#[test]
fn each_reason_stands_on_a_line_of_its_own() {
    let vault = vault();
    let id = approved(&vault);
    vault.write("resources/seats.md", "mine\n");
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(3);
    assert!(run.err.starts_with("error: ") && !run.err.contains("\\n"), "{}", run.err);
    assert!(
        run.err.lines().next().unwrap().ends_with("resources/seats.md has uncommitted changes"),
        "{}",
        run.err
    );
    vault.write("resources/meals.md", "mine\n");
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(3);
    assert!(!run.err.contains("\\n"), "{}", run.err);
    assert!(
        run.err.lines().any(|line| line == "  resources/seats.md has uncommitted changes"),
        "{}",
        run.err
    );
    let told = vault.run_as(CLAUDE, &["merge", &id, "--json"]).fails(3).json();
    assert_eq!(told["error"]["details"].as_array().map(Vec::len), Some(2), "{told}");

    vault.run(&["review", "reject", &id, "-m", "not so", "-y"]).ok();
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(4);
    assert!(!run.err.contains("\\n"), "{}", run.err);
    assert!(run.err.lines().filter(|line| line.starts_with("  ")).count() > 1, "{}", run.err);
}

#[test]
fn a_link_in_place_of_a_directory_is_not_followed() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Far");
    write(&vault, CLAUDE, &id, "resources/far/a.md", "# A\n\nSee [[home]].\n").ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    approve(&vault, GPT, &id).ok();
    let outside = vault.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, vault.vault().join("resources/far")).unwrap();
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(3);
    assert!(run.err.contains("resources/far/a.md"), "{}", run.err);
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn other_work_of_a_person_stays_as_it_is() {
    let vault = vault();
    let id = approved(&vault);
    vault.write("resources/home.md", "edited\n");
    vault.write("resources/new.md", "untracked\n");
    vault.write("resources/staged.md", "staged\n");
    vault.git(&["add", "resources/staged.md"]);
    let before = status(&vault);
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    assert_eq!(status(&vault), before);
    assert_eq!(vault.read("resources/home.md"), "edited\n");
}

#[test]
fn half_done_operations_of_git_stop_it() {
    let vault = vault();
    let id = approved(&vault);
    vault.git(&["branch", "side"]);
    vault.write("resources/home.md", "# Home\n\nOurs, [[seats]].\n");
    vault.git(&["commit", "-qam", "Ours"]);
    vault.git(&["checkout", "-q", "side"]);
    vault.write("resources/home.md", "# Home\n\nTheirs, [[seats]].\n");
    vault.git(&["commit", "-qam", "Theirs"]);
    vault.git(&["checkout", "-q", "main"]);
    for (command, word) in [("merge", "a merge"), ("cherry-pick", "a cherry-pick"), ("rebase", "a rebase")] {
        assert!(!vault.command("git").args([command, "side"]).output().unwrap().status.success());
        let run = vault.run_as(CLAUDE, &["merge", &id]).fails(3);
        assert!(run.err.contains(word), "{command}: {}", run.err);
        vault.git(&[command, "--abort"]);
    }
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
}

#[test]
fn a_lock_of_gits_is_named() {
    let vault = vault();
    let id = approved(&vault);
    vault.write(".git/index.lock", "");
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(3);
    assert!(run.err.contains("index.lock"), "{}", run.err);
    assert!(vault.vault().join(".git/index.lock").exists(), "it is not ours to remove");
    std::fs::remove_file(vault.vault().join(".git/index.lock")).unwrap();
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
}

#[test]
fn split_and_sparse_indexes_are_refused_in_words() {
    let vault = vault();
    let id = approved(&vault);
    vault.git(&["update-index", "--split-index"]);
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(5);
    assert!(run.err.contains("split"), "{}", run.err);
    vault.git(&["update-index", "--no-split-index"]);
    vault.git(&["sparse-checkout", "set", "resources"]);
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(5);
    assert!(run.err.contains("sparse"), "{}", run.err);
    vault.git(&["sparse-checkout", "disable"]);
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
}

#[test]
fn every_work_tree_with_main_follows_and_one_on_the_proposal_goes_on() {
    let vault = vault();
    let id = approved(&vault);
    let (second, third) = (vault.home().join("second"), vault.home().join("third"));
    vault.git(&["worktree", "add", "-qf", second.to_str().unwrap(), "main"]);
    vault.git(&["worktree", "add", "-q", third.to_str().unwrap(), &format!("proposal/{id}")]);
    // An edit in the other work tree counts as much.
    std::fs::write(second.join("resources/seats.md"), "mine\n").unwrap();
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(3);
    assert!(run.err.contains("second"), "{}", run.err);
    std::fs::write(second.join("resources/seats.md"), SEATS).unwrap();
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
    let git = |at: &std::path::Path, args: &[&str]| {
        let output = vault.command("git").current_dir(at).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(git(&second, &["status", "--porcelain"]), "");
    assert!(std::fs::read_to_string(second.join("resources/seats.md")).unwrap().contains("three hours"));
    assert_eq!(git(&third, &["status", "--porcelain"]), "");
    assert_eq!(git(&third, &["symbolic-ref", "HEAD"]).trim(), format!("refs/heads/closed/{id}"));
}

#[test]
fn line_ends_follow_the_attributes() {
    let vault = vault();
    vault.write(".gitattributes", "*.md text eol=crlf\n");
    vault.git(&["add", ".gitattributes"]);
    vault.git(&["commit", "-qm", "Line ends"]);
    vault.git(&["rm", "-rq", "--cached", "resources"]);
    vault.git(&["reset", "-q", "--hard"]);
    std::fs::remove_file(vault.vault().join("resources/seats.md")).unwrap();
    vault.git(&["checkout", "-q", "--", "resources/seats.md"]);
    assert!(vault.read("resources/seats.md").contains("\r\n"));
    let id = approved(&vault);
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
    assert!(vault.read("resources/seats.md").contains("three hours.\r\n"));
    assert!(vault.read("resources/meals.md").contains("\r\n"));
}

#[test]
fn files_and_directories_change_places() {
    let vault = vault();
    vault.write("resources/a.md", "# A\n\nSee [[home]].\n");
    vault.write("resources/dir/b.md", "# B\n\nSee [[home]].\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "More"]);
    let id = new(&vault, CLAUDE, "Change places");
    vault.run_as(CLAUDE, &["propose", "rm", &id, "resources/a.md"]).ok();
    vault.run_as(CLAUDE, &["propose", "rm", &id, "-r", "resources/dir"]).ok();
    write(&vault, CLAUDE, &id, "resources/a.md/c.md", "# C\n\nSee [[home]].\n").ok();
    write(&vault, CLAUDE, &id, "resources/dir", "# Dir\n\nSee [[home]].\n").ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    approve(&vault, GPT, &id).ok();
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
    assert!(vault.read("resources/a.md/c.md").starts_with("# C"));
    assert!(vault.read("resources/dir").starts_with("# Dir"));
}

#[test]
fn a_bare_repository_merges_too() {
    let vault = vault();
    let bare = vault.home().join("bare.git");
    vault.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let run = |actor: &str, args: &[&str]| {
        let mut command = vault.command(env!("CARGO_BIN_EXE_runebook"));
        let output = command.current_dir(&bare).env("RUNEBOOK_ACTOR", actor).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?} {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let id = run(CLAUDE, &["propose", "new", "In a bare repository"]).trim().to_owned();
    run(CLAUDE, &["propose", "write", &id, "resources/x.md", "--body", "# X\n\nSee [[home]]."]);
    run(CLAUDE, &["propose", "submit"]);
    let shown: serde_json::Value =
        serde_json::from_str(&run(GPT, &["review", "show", &id, "--json"])).unwrap();
    run(GPT, &["review", "approve", &id, "--digest", shown["decision"]["digest"].as_str().unwrap()]);
    run(CLAUDE, &["merge", &id]);
    assert!(run(CLAUDE, &["audit"]).contains("held"));
    assert!(run(CLAUDE, &["log"]).contains(&id));
}

#[test]
fn a_full_disk_is_named_and_changes_nothing() {
    let vault = vault();
    // An index larger than the limit under which the merge runs.
    for number in 0..1500 {
        vault.write(&format!("resources/many/note-with-a-long-name-{number}.md"), "See [[home]].\n");
    }
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Many"]);
    let id = approved(&vault);
    let before = vault.git(&["for-each-ref"]);
    let script = format!("trap '' XFSZ; ulimit -f 64; exec {} merge {id}", env!("CARGO_BIN_EXE_runebook"));
    let output = vault.command("bash").env("RUNEBOOK_ACTOR", CLAUDE).args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert_eq!(vault.git(&["for-each-ref"]), before);
    assert_eq!(status(&vault), "");
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
}

#[test]
fn edits_that_were_taken_are_no_obstacle() {
    let vault = vault();
    vault.write("resources/seats.md", SEATS.replace("two hours", "four hours"));
    vault.write("resources/meals.md", "# Meals\n\nNo fish. See [[seats]].\n");
    let taken = vault.run(&["propose", "from-worktree", "--json"]).ok().json();
    let id = taken["id"].as_str().unwrap().to_owned();
    assert_eq!(vault.read("resources/seats.md"), SEATS.replace("two hours", "four hours"));
    // The files are an earlier revision by the time it merges.
    vault
        .run(&["propose", "edit", &id, "resources/seats.md", "--old", "four hours", "--new", "five hours"])
        .ok();
    vault.run(&["propose", "submit", &id]).ok();
    let shown = digest(&vault, &id);
    vault.run_as(GPT, &["review", "approve", &id, "--digest", &shown]).ok();
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    in_order(&vault);
    assert!(vault.read("resources/seats.md").contains("five hours"));
}

#[test]
fn a_merged_proposal_is_not_merged_again() {
    let vault = vault();
    let id = merged(&vault);
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(3);
    assert!(run.err.contains("is merged") && run.err.contains("rollback"), "{}", run.err);
}

#[test]
fn a_person_without_a_terminal_says_yes() {
    let vault = vault();
    let policy = vault.read(".runebook/policy.yaml").replace("confirm: none", "confirm: terminal");
    vault.write(".runebook/policy.yaml", policy);
    vault.git(&["commit", "-qam", "Ask"]);
    let id = approved(&vault);
    let run = vault.run(&["merge", &id]).fails(2);
    assert!(run.err.contains("--yes"), "{}", run.err);
    vault.run(&["merge", &id, "--yes"]).ok();
    in_order(&vault);
}

#[test]
fn an_edit_of_what_was_approved_needs_another_approval() {
    let vault = vault();
    let id = approved(&vault);
    edit(&vault, CLAUDE, &id, "resources/seats.md", "three hours", "one hour");
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    vault.run_as(CLAUDE, &["merge", &id]).fails(4);
}
