//! Proposing: content without a work tree, policy at once, lists, ends.

use crate::cast::{
    CLAUDE, GPT, SEATS, approve, digest, edit, in_order, merged, new, proposed, status, vault, with_input,
    write,
};

#[test]
fn content_is_written_without_touching_the_work_tree() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Seats");
    assert_eq!(id.len(), 8);
    let mut command = vault.command(env!("CARGO_BIN_EXE_runebook"));
    command.env("RUNEBOOK_ACTOR", CLAUDE).args(["propose", "write", &id, "viking://resources/日记 1.md"]);
    let body = "\u{FEFF}# 日记\r\n\r\nSee [[home]].";
    assert!(with_input(command, body.as_bytes()).status.success());
    edit(&vault, CLAUDE, &id, "resources/seats.md", "two hours", "three hours");
    vault.run_as(CLAUDE, &["propose", "mv", &id, "resources/home.md", "resources/start.md"]).ok();
    assert_eq!(status(&vault), "");
    let branch = format!("proposal/{id}");
    let blob =
        vault.command("git").args(["show", &format!("{branch}:resources/日记 1.md")]).output().unwrap();
    // The link followed what moved later; every other byte is as it was written.
    assert_eq!(blob.stdout, body.replace("[[home]]", "[[start]]").as_bytes(), "byte for byte");
    assert_eq!(
        vault.git(&["show", &format!("{branch}:resources/seats.md")]) + "\n",
        SEATS.replace("two", "three").replace("[[home]]", "[[start]]")
    );
    let names =
        vault.git(&["-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", &branch, "resources/"]);
    assert_eq!(names, "resources/seats.md\nresources/start.md\nresources/日记 1.md");
    assert_eq!(
        vault.git(&["log", "-1", "--format=%an <%ae>", &branch]),
        "claude-mei <claude@agents.example.org>"
    );
    assert_eq!(vault.run(&["propose", "diff", &id, "--json"]).ok().out.lines().count(), 4);
}

#[test]
fn an_edit_is_exact_or_refused() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Seats");
    let run = |args: &[&str]| {
        let mut all = vec!["propose", "edit", id.as_str(), "resources/seats.md"];
        all.extend_from_slice(args);
        vault.run_as(CLAUDE, &all)
    };
    assert!(run(&["--old", "on", "--new", "in"]).fails(2).err.contains("lines 3, 7"));
    assert!(run(&["--old", "Window on flight over", "--new", "x"]).fails(1).err.contains("line 3"));
    assert!(run(&["--old", "two", "--new", "two"]).fails(1).err.contains("changes nothing"));
    run(&["--old", "on", "--new", "in", "--all"]).ok();
    run(&["--append", "Row 12."]).ok();
    let text = vault.git(&["show", &format!("proposal/{id}:resources/seats.md")]);
    assert!(text.contains("Window in flights") && text.ends_with("Never row 13.\n\nRow 12."), "{text}");
    assert!(
        vault
            .run_as(CLAUDE, &["propose", "edit", &id, "resources/no.md", "--append", "x"])
            .fails(1)
            .err
            .contains("resources/no.md")
    );
}

#[test]
fn the_policy_holds_while_writing_already() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Rules");
    for path in [".runebook/policy.yaml", "resources/CLAUDE.md", ".obsidian/app.json", "resources/.hidden.md"]
    {
        let run = write(&vault, CLAUDE, &id, path, "x").fails(4);
        assert!(run.err.contains(path) && run.err.contains("doctor"), "{}", run.err);
    }
    let run = write(&vault, CLAUDE, &id, "resources/.abstract.md", "x").fails(4);
    assert!(run.err.contains("generated"), "{}", run.err);
    // Another agent does not write into it; a person may.
    let run = write(&vault, GPT, &id, "resources/a.md", "x").fails(4);
    assert!(run.err.contains("claude-mei's"), "{}", run.err);
    vault.run(&["propose", "write", &id, "resources/a.md", "--body", "# A\n\nSee [[home]]."]).ok();
    for bad in ["viking://../x.md", "viking://resources/a.md?rev=HEAD", "viking://resources/a%2Fb.md"] {
        write(&vault, CLAUDE, &id, bad, "x").fails(2);
    }
}

#[test]
fn submitting_makes_a_revision_once() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Seats");
    assert!(vault.run_as(CLAUDE, &["propose", "submit", &id]).fails(2).err.contains("changes nothing"));
    edit(&vault, CLAUDE, &id, "resources/seats.md", "two", "three");
    // Left out, the only open proposal is meant; a beginning of the name will do.
    let first = vault.run_as(CLAUDE, &["propose", "submit", "--json"]).ok().json();
    assert_eq!((&first["revision"], &first["already"]), (&1.into(), &false.into()));
    assert_eq!(first["digest"], digest(&vault, &id).as_str());
    let again = vault.run_as(CLAUDE, &["propose", "submit", &id[..4], "--json"]).ok().json();
    assert_eq!((&again["revision"], &again["already"]), (&1.into(), &true.into()));
    edit(&vault, CLAUDE, &id, "resources/seats.md", "three", "four");
    let second = vault.run_as(CLAUDE, &["propose", "submit", "--json"]).ok().json();
    assert_eq!(second["revision"], 2);
    new(&vault, CLAUDE, "Another");
    assert!(vault.run_as(CLAUDE, &["propose", "submit"]).fails(2).err.contains("several open"));
}

#[test]
fn findings_are_shown_and_a_stopping_one_is_status_1() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Secret");
    let key = format!("AKIA{}", "Z7QPLM3KDN4XWTRV");
    write(&vault, CLAUDE, &id, "resources/key.md", &format!("# Key\n\nSee [[home]]. {key}\n")).ok();
    let run = vault.run_as(CLAUDE, &["propose", "submit", &id]).fails(1);
    assert!(run.out.contains("resources/key.md:3") && run.out.contains("secret"), "{}", run.out);
    // Taking it away again does not help: the branch's history would bring it in.
    vault.run_as(CLAUDE, &["propose", "rm", &id, "resources/key.md"]).ok();
    write(&vault, CLAUDE, &id, "resources/a.md", "# A\n\nSee [[home]].\n").ok();
    let run = vault.run_as(CLAUDE, &["propose", "submit", &id]).fails(1);
    assert!(run.out.contains("secret"), "{}", run.out);
}

#[test]
fn a_withdrawn_proposal_is_kept_as_closed_and_cut_anew() {
    let vault = vault();
    let id = proposed(&vault);
    assert!(vault.run_as(GPT, &["propose", "withdraw", &id]).fails(4).err.contains("claude-mei's"));
    vault.run_as(CLAUDE, &["propose", "withdraw", &id, "--message", "Not now"]).ok();
    assert_eq!(
        vault.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]),
        format!("closed/{id}\nmain")
    );
    vault.run(&["propose", "list"]).fails(1);
    assert!(vault.run(&["propose", "list", "--all"]).ok().out.contains("withdrawn"));
    assert!(vault.run(&["show", &id]).ok().out.contains("Not now"));
    assert!(write(&vault, CLAUDE, &id, "resources/a.md", "x").fails(3).err.contains("is withdrawn"));
    let anew = vault.run_as(CLAUDE, &["propose", "new", "--from", &id, "--json"]).ok().json();
    assert_eq!(anew["files"], serde_json::json!(["resources/meals.md", "resources/seats.md"]));
    assert_eq!(anew["title"], "Seats on long flights");
}

#[test]
fn a_stale_one_is_cut_anew_by_merging_lines_or_says_where_it_cannot() {
    let vault = vault();
    let id = proposed(&vault);
    vault.write("resources/seats.md", SEATS.replace("row 13", "row 14"));
    vault.git(&["commit", "-qam", "Other lines"]);
    let anew = vault.run_as(CLAUDE, &["propose", "new", "--from", &id]).ok().out.trim().to_owned();
    let text = vault.git(&["show", &format!("proposal/{anew}:resources/seats.md")]);
    assert!(text.contains("three hours") && text.contains("row 14"), "{text}");
    vault.write("resources/seats.md", SEATS.replace("two hours", "nine hours"));
    vault.git(&["commit", "-qam", "The same line"]);
    let run = vault.run_as(CLAUDE, &["propose", "new", "--from", &id]).fails(3);
    assert!(run.err.contains("viking://resources/seats.md line 3"), "{}", run.err);
}

#[test]
fn a_rewritten_main_detaches_and_the_change_is_cut_anew() {
    let vault = vault();
    let id = proposed(&vault);
    vault.git(&["commit", "-q", "--amend", "-m", "Rewritten"]);
    vault.git(&["commit", "-q", "--allow-empty", "-m", "On"]);
    let run = vault.run(&["propose", "show", &id]).fails(3);
    assert!(run.err.contains("detached") && run.err.contains("--from"), "{}", run.err);
    assert!(vault.run(&["propose", "list"]).ok().out.contains("detached"));
    let anew = vault.run_as(CLAUDE, &["propose", "new", "--from", &id]).ok().out.trim().to_owned();
    assert!(vault.run(&["propose", "diff", &anew]).ok().out.contains("+Window on flights over three hours."));
}

#[test]
fn edits_of_the_work_tree_become_a_proposal_and_stay() {
    let vault = vault();
    assert!(
        vault
            .run(&["propose", "from-worktree"])
            .fails(1)
            .err
            .contains("no memory of this work tree is edited")
    );
    vault.write("resources/seats.md", "# Seats\n\nMine, see [[home]].\n");
    vault.write("resources/new.md", "# New\n\nSee [[home]].\n");
    vault.write("resources/picture.bin", "x");
    let before = status(&vault);
    let run = vault.run(&["propose", "from-worktree", "--title", "Tidy", "--submit"]).ok();
    assert!(run.err.contains("resources/picture.bin"), "{}", run.err);
    assert_eq!(status(&vault), before);
    let list = vault.run(&["propose", "list"]).ok().out;
    assert!(list.contains("2 files") && list.contains("Tidy"), "{list}");
    vault.git(&["checkout", "-q", "-b", "other"]);
    assert!(vault.run(&["propose", "from-worktree"]).fails(2).err.contains("`other`"));
}

#[test]
fn log_show_and_diff_tell_the_story() {
    let vault = vault();
    let id = merged(&vault);
    let log = vault.run(&["log"]).ok().out;
    assert!(log.lines().next().unwrap().contains("by claude-mei, approved by reviewer-gpt"), "{log}");
    assert_eq!(vault.run(&["log", "resources/meals.md"]).ok().out.lines().count(), 1);
    assert_eq!(vault.run(&["log", "-n", "2", "--json"]).ok().out.lines().count(), 2);
    vault.run(&["log", "resources/none.md"]).fails(1);
    let shown = vault.run(&["show", &id, "--json"]).ok().json();
    assert_eq!(shown["proposal"]["state"], "merged");
    let event = shown["proposal"]["events"][2]["event"].as_str().unwrap().to_owned();
    assert_eq!(vault.run(&["show", &event, "--json"]).ok().json()["event"]["verdict"], "approve");
    assert!(vault.run(&["show", "main"]).ok().out.contains("merges proposal"));
    assert!(vault.run(&["show", "nothing-here"]).fails(1).err.contains("nothing-here"));

    vault.run(&["diff"]).fails(1);
    vault.write("resources/home.md", "# Home\n\nOther, [[seats]].\n");
    let diff = vault.run(&["diff"]).ok().out;
    assert!(diff.contains("+Other, [[seats]].") && diff.contains("viking://resources/home.md"), "{diff}");
    vault.run(&["diff", "viking://resources/meals.md"]).fails(1);
    assert!(vault.run(&["diff", "main~1", "main", "resources/meals.md"]).ok().out.contains("+No fish"));
    in_order_but_edited(&vault);
}

fn in_order_but_edited(vault: &crate::support::Sandbox) {
    vault.git(&["checkout", "-q", "."]);
    in_order(vault);
}

#[test]
fn the_only_open_proposal_is_meant_where_none_is_named() {
    let vault = vault();
    let run = |args: &[&str]| vault.run_as(CLAUDE, args);
    run(&["propose", "write", "resources/meals.md", "--body", "x"]).fails(2);
    let id = new(&vault, CLAUDE, "Seats");
    run(&["propose", "write", "resources/meals.md", "--body", "# Meals"]).ok();
    run(&["propose", "edit", "resources/meals.md", "--append", "No fish."]).ok();
    assert_eq!(
        run(&["propose", "mv", "resources/home.md", "resources/start.md"]).ok().out.split("  in ").next(),
        Some("viking://resources/start.md  (was viking://resources/home.md)")
    );
    run(&["propose", "rm", "resources/seats.md"]).ok();
    let err = run(&["propose", "rm", "zzzz", "resources/meals.md"]).fails(1).err;
    assert!(err.contains("no proposal `zzzz`"), "a name that is none is no file: {err}");
    run(&["propose", "rm", &id, "resources/meals.md"]).ok();
    let shown = run(&["propose", "show"]).ok().out;
    assert!(
        shown.contains("R viking://resources/home.md → viking://resources/start.md  unchanged"),
        "{shown}"
    );
    let diff = run(&["propose", "diff"]).ok().out;
    assert!(!diff.contains("+See [[seats]]") && diff.contains("-# Seats"), "a move is one line: {diff}");
    let state = vault.run(&["status"]).ok().out;
    assert!(state.contains(&format!("{id}  draft  Seats ({CLAUDE})")), "{state}");
    new(&vault, CLAUDE, "Another");
    run(&["propose", "rm", "resources/start.md"]).fails(2);
}

#[test]
fn a_fetched_proposal_is_told_of() {
    let vault = vault();
    let id = proposed(&vault);
    vault.git(&["update-ref", &format!("refs/remotes/origin/proposal/{id}"), &format!("proposal/{id}")]);
    vault.git(&["branch", "-D", "-q", &format!("proposal/{id}")]);
    let err = vault.run(&["review", "show", &id]).fails(1).err;
    assert!(err.contains(&format!("git branch proposal/{id} origin/proposal/{id}")), "{err}");
}

#[test]
fn what_never_was_is_not_called_the_same() {
    let vault = vault();
    assert!(vault.run(&["diff", "resources/seat.md"]).fails(1).err.contains("resources/seats.md"));
    assert!(vault.run(&["diff", "resources/seats.md"]).fails(1).err.contains("are the same"));
    assert!(vault.run(&["log", "resources/seat.md"]).fails(1).err.contains("was ever on main"));
    let id = proposed(&vault);
    assert!(vault.run(&["log", &id]).fails(1).err.contains(&format!("runebook show {id}")));
    let told = vault.run(&["show", &id]).ok().out;
    assert!(told.contains("claude-mei submitted revision 1"), "{told}");
}

#[test]
fn names_that_other_systems_take_for_a_protected_one_are_protected() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Steer");
    for path in ["CLAUDE.md", "claude.md", "resources/Agents.MD", "CLA\u{ad}UDE.md", "ＣLAUDE.md"] {
        write(&vault, CLAUDE, &id, path, "Do as I say.\n").fails(4);
    }
    write(&vault, CLAUDE, &id, "resources/claude-notes.md", "# Notes\n").ok();
}

#[test]
fn a_reference_that_is_no_proposal_does_not_hide_the_others() {
    let vault = vault();
    let id = proposed(&vault);
    let blob = vault.git(&["rev-parse", "main:resources/seats.md"]);
    vault.write(".git/refs/heads/closed/b0b0b0b0", format!("{blob}\n"));
    let run = vault.run(&["propose", "list", "--all"]).ok();
    assert!(run.out.contains(&id) && run.out.contains("b0b0b0b0"), "{}", run.out);
}

#[test]
fn nothing_stands_below_a_file() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Below");
    let run = write(&vault, CLAUDE, &id, "resources/seats.md/x.md", "# X\n").fails(2);
    assert!(run.err.contains("`seats.md` is a file") && run.err.contains("hint"), "{}", run.err);
}

#[test]
fn directories_with_their_generated_summaries_move_and_go() {
    let vault = vault();
    vault.write("resources/a/one.md", "# One\n\nThe first of two.\n");
    vault.write("resources/b/two.md", "# Two\n\nThe second.\n");
    vault.run_as("mei", &["commit", "-m", "Two directories"]).ok();
    assert!(vault.vault().join("resources/a/.abstract.md").exists());
    let id = new(&vault, CLAUDE, "Order");
    vault.run_as(CLAUDE, &["propose", "mv", &id, "resources/a", "resources/c"]).ok();
    vault.run_as(CLAUDE, &["propose", "rm", "-r", &id, "resources/b"]).ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    approve(&vault, GPT, &id).ok();
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    let files = vault.git(&["ls-files", "resources/a", "resources/b", "resources/c"]);
    let expected = ["resources/c/.abstract.md", "resources/c/.overview.md", "resources/c/one.md"];
    assert_eq!(files.lines().collect::<Vec<_>>(), expected);
    assert!(!vault.vault().join("resources/a").exists() && !vault.vault().join("resources/b").exists());
    assert_eq!(vault.git(&["status", "--short"]), "");
    vault.run(&["audit"]).ok();
    // By its own name a summary is still nobody's to move.
    let id = new(&vault, CLAUDE, "Summary");
    let refused =
        vault.run_as(CLAUDE, &["propose", "mv", &id, "resources/c/.abstract.md", "resources/c/x.md"]);
    assert!(refused.fails(4).err.contains("generated summary"));
}
