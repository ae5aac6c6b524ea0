//! `undo`: the last thing that somebody did is taken back, and nobody's later edit with it.

use crate::cast::{CLAUDE, GPT, SEATS, approve, approved, edit, in_order, new, vault};
use crate::support::Sandbox;

fn plain() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/日记/wifi.md", b"\xEF\xBB\xBF# Wi-Fi\r\n\r\nThe key is long.\r\n");
    s.write("user/ref.md", "See [[wifi]] and [it](../resources/日记/wifi.md).\n");
    s.run(&["commit", "-m", "Start"]).ok();
    s
}

/// Every file that is not git's or generated, with its bytes.
fn files(s: &Sandbox) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut out = std::collections::BTreeMap::new();
    for entry in walkdir::WalkDir::new(s.vault()).into_iter().filter_entry(|e| e.file_name() != ".git") {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let name = entry.path().strip_prefix(s.vault()).unwrap().display().to_string();
            out.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    out
}

#[test]
fn each_verb_on_files_is_undone_and_done_again_byte_for_byte() {
    let s = plain();
    s.write("user/untracked.md", "only here\n");
    let verbs: [&[&str]; 6] = [
        &["new", "user/seat.md", "--body", "A window seat."],
        &["mv", "resources/日记/wifi.md", "resources/net.md"],
        &["mv", "resources/日记", "user/日记"],
        &["rm", "resources/日记/wifi.md"],
        &["rm", "-r", "resources/日记"],
        &["rm", "user/untracked.md"],
    ];
    for verb in verbs {
        let before = files(&s);
        s.run(verb).ok();
        let after = files(&s);
        assert_ne!(before, after, "{verb:?}");
        let shown = s.run(&["undo", "--dry-run", "--json"]).ok().json();
        assert_eq!(shown["dry_run"], true);
        assert_eq!(files(&s), after, "a dry run does nothing");
        s.run(&["undo"]).ok();
        assert_eq!(files(&s), before, "{verb:?} undone");
        s.run(&["undo", "--redo"]).ok();
        assert_eq!(files(&s), after, "{verb:?} done again");
        s.run(&["undo", "--redo"]).fails(1);
        s.run(&["undo"]).ok();
        assert_eq!(files(&s), before, "{verb:?} undone again");
    }
    // All are undone, and the next one back is the commit.
    let list = s.run(&["undo", "--list"]).ok();
    assert!(list.out.contains("(undone)"), "{}", list.out);
    assert_eq!(
        s.run(&["undo", "-n", "--json"]).ok().json()["what"].as_str().unwrap().split(':').nth(1),
        Some(" Start")
    );
}

#[test]
fn several_steps_back_in_turn() {
    let s = plain();
    let start = files(&s);
    s.run(&["new", "user/a.md", "--body", "a"]).ok();
    s.run(&["mv", "user/a.md", "user/b.md"]).ok();
    s.run(&["rm", "user/b.md"]).ok();
    s.run(&["undo"]).ok();
    assert!(s.vault().join("user/b.md").exists());
    s.run(&["undo"]).ok();
    assert!(s.vault().join("user/a.md").exists());
    s.run(&["undo"]).ok();
    assert_eq!(files(&s), start);
    // What is done after an undo cannot be followed by a redo of what was undone before it.
    s.run(&["new", "user/c.md", "--body", "c"]).ok();
    s.run(&["undo", "--redo"]).fails(1);
}

#[test]
fn a_later_edit_stops_it_and_nothing_is_half_done() {
    let s = plain();
    s.run(&["mv", "resources/日记/wifi.md", "resources/net.md"]).ok();
    s.write("user/ref.md", "Mine now.\n");
    let before = files(&s);
    let run = s.run(&["undo"]).fails(3);
    assert!(run.err.contains("user/ref.md was changed since"), "{}", run.err);
    assert_eq!(files(&s), before);
    // Something stands at the old place.
    s.run(&["new", "user/x.md", "--body", "x"]).ok();
    s.run(&["rm", "user/x.md"]).ok();
    s.write("user/x.md", "another");
    assert!(s.run(&["undo"]).fails(3).err.contains("stands there again"));
    assert_eq!(s.read("user/x.md"), "another");
}

#[test]
fn an_edit_in_the_editor_is_undone() {
    let s = plain();
    let before = files(&s);
    let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
    command.env("VISUAL", "sed -i s/long/short/").args(["edit", "resources/日记/wifi.md"]);
    assert!(command.status().unwrap().success());
    assert!(s.read("resources/日记/wifi.md").contains("short"));
    s.run(&["undo"]).ok();
    assert_eq!(files(&s), before);
}

#[test]
fn a_commit_is_followed_by_its_inverse() {
    let s = plain();
    let before = files(&s);
    s.write("user/new.md", "---\ntitle: New\n---\nnew, see [[wifi]]\n");
    s.write("user/ref.md", "Other words, see [[wifi]].\n");
    s.run(&["commit", "-m", "Words"]).ok();
    let after = files(&s);
    s.run(&["undo"]).ok();
    assert_eq!(files(&s), before);
    assert!(s.git(&["log", "-1", "--format=%s"]).starts_with("Take back"));
    assert_eq!(s.git(&["status", "--porcelain"]), "");
    s.run(&["audit"]).ok();
    s.run(&["undo", "--redo"]).ok();
    assert_eq!(files(&s), after);
    s.run(&["audit"]).ok();
    // An uncommitted edit of the same file stops it.
    s.write("user/ref.md", "Not committed.\n");
    assert!(s.run(&["undo"]).fails(3).err.contains("has uncommitted changes"));
    assert_eq!(s.read("user/ref.md"), "Not committed.\n");
}

#[test]
fn a_merge_is_rolled_back() {
    let vault = vault();
    let id = approved(&vault);
    vault.run(&["merge", &id]).ok();
    vault.run(&["undo"]).ok();
    in_order(&vault);
    assert_eq!(vault.read("resources/seats.md"), SEATS);
    vault.run(&["undo", "--redo"]).ok();
    in_order(&vault);
    assert!(vault.read("resources/seats.md").contains("three hours"));
}

#[test]
fn a_merge_that_is_only_proposed_to_be_taken_back_is_not_called_undone() {
    let vault = vault();
    let policy = vault.read(".runebook/policy.yaml").replace("confirm: none", "confirm: terminal");
    vault.write(".runebook/policy.yaml", policy);
    vault.run(&["commit", "-m", "Ask"]).ok();
    let id = approved(&vault);
    vault.run(&["merge", &id, "--yes"]).ok();
    // Nobody is at the terminal.
    let run = vault.run(&["undo"]).ok();
    assert!(run.out.starts_with("proposed to be undone: "), "{}", run.out);
    let words = run.out.lines().nth(1).unwrap_or_default();
    assert!(words.contains("is opened, which takes back"), "{}", run.out);
    let opened = words.split_whitespace().nth(1).unwrap().to_owned();
    assert!(run.err.contains(&format!("`runebook merge {opened}`")), "{}", run.err);
    assert!(vault.read("resources/seats.md").contains("three hours"), "nothing is taken back yet");
    let listed = vault.run(&["undo", "--list"]).ok().out;
    assert!(listed.contains(&format!("(proposal {opened} takes it back)")), "{listed}");
    assert!(listed.contains("  2026-11-29 10:00 UTC  "), "{listed}");
    vault.run(&["merge", &opened, "--yes"]).ok();
    assert_eq!(vault.read("resources/seats.md"), SEATS);
}

#[test]
fn proposals_and_verdicts_are_taken_back_by_those_who_made_them() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Seats");
    edit(&vault, CLAUDE, &id, "resources/seats.md", "two hours", "three hours");
    // Somebody else's work is not "the last thing that I did".
    let none = vault.run_as(GPT, &["undo"]).fails(1);
    assert!(none.err.contains("nothing that"), "{}", none.err);
    vault.run_as(CLAUDE, &["undo"]).ok();
    let shown = vault.run_as(CLAUDE, &["propose", "diff", &id]);
    assert!(!shown.out.contains("three hours"), "{}", shown.out);
    vault.run_as(CLAUDE, &["undo", "--redo"]).ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    let told = vault.run_as(CLAUDE, &["undo"]).fails(2);
    assert!(told.err.contains("propose withdraw"), "{}", told.err);
    approve(&vault, GPT, &id).ok();
    vault.run_as(GPT, &["undo"]).ok();
    vault.run(&["merge", &id, "--yes"]).fails(4);
    vault.run_as(CLAUDE, &["propose", "withdraw", &id]).ok();
    let run = vault.run_as(CLAUDE, &["undo", "--json"]).ok().json();
    assert!(run["also"][0].as_str().unwrap().contains("is proposal"), "{run}");
}

#[test]
fn what_one_command_begins_and_submits_is_withdrawn() {
    let vault = vault();
    vault.write("resources/seats.md", vault.read("resources/seats.md").replace("two hours", "four hours"));
    let taken = vault.run(&["propose", "from-worktree", "--submit", "--json"]).ok();
    let id = taken.json()["id"].as_str().unwrap().to_owned();
    vault.run(&["undo"]).ok();
    let gone = vault.run(&["propose", "list"]);
    assert!(!gone.out.contains(&id), "{}", gone.out);
    assert!(vault.read("resources/seats.md").contains("four hours"), "the files stay as they are");
}

#[test]
fn nothing_to_undo_and_a_damaged_journal_are_said() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    let run = s.run(&["undo", "--list"]);
    assert!(run.status <= 1);
    s.run(&["new", "user/a.md", "--body", "a"]).ok();
    s.run(&["new", "user/b.md", "--body", "b"]).ok();
    let directory = s.vault().join(".git/runebook/operations");
    let mut names: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    std::fs::write(names.last().unwrap(), "{ not json").unwrap();
    // The damaged one hides no other.
    s.run(&["undo"]).ok();
    assert!(!s.vault().join("user/a.md").exists() && s.vault().join("user/b.md").exists());
}

#[test]
fn an_agent_is_told_of_its_own_operations_only() {
    let s = vault();
    s.write("user/memories/divorce plan.md", "# Divorce plan\n\nNobody may know.\n");
    s.run(&["mv", "user/memories/divorce plan.md", "user/memories/lawyer.md"]).ok();
    new(&s, CLAUDE, "Seats");
    assert!(s.run(&["undo", "--list"]).ok().out.contains("divorce plan"));
    for args in [&["undo", "--list"] as &[&str], &["undo", "--list", "--json"]] {
        let told = s.run_as(CLAUDE, args).ok().out;
        assert!(
            told.contains("begin proposal") && !told.contains("divorce") && !told.contains("lawyer"),
            "{told}"
        );
    }
    // Nor does it learn anything by saying that it is somebody who is nobody.
    for args in [&["undo", "--list"] as &[&str], &["undo", "--dry-run"], &["undo"]] {
        let told = s.run_as("nobody-knows", args).fails(4);
        assert!(!format!("{}{}", told.out, told.err).contains("divorce"), "{told:?}");
    }
    assert!(s.vault().join("user/memories/lawyer.md").exists());
}

#[test]
fn what_was_put_away_is_found_in_a_vault_that_was_moved() {
    let s = plain();
    s.write("user/only.md", "only here\n");
    s.run(&["rm", "user/only.md"]).ok();
    let moved = s.home().join("elsewhere");
    std::fs::rename(s.vault(), &moved).unwrap();
    std::fs::create_dir(s.vault()).unwrap();
    s.run(&["-C", moved.to_str().unwrap(), "undo"]).ok();
    assert_eq!(std::fs::read_to_string(moved.join("user/only.md")).unwrap(), "only here\n");
}

#[test]
fn a_journal_that_was_edited_by_hand_brings_nothing_into_the_vault() {
    let s = plain();
    s.write("user/only.md", "only here\n");
    s.run(&["rm", "user/only.md"]).ok();
    let journal = s.vault().join(".git/runebook/operations");
    let last = std::fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let good = std::fs::read_to_string(&last).unwrap();
    let kept = serde_json::from_str::<serde_json::Value>(&good).unwrap()["effects"][0]["kept"].clone();
    let kept = kept.as_str().unwrap();
    std::fs::create_dir_all(s.home().join("mine/user")).unwrap();
    std::fs::write(s.home().join("mine/user/only.md"), "the key\n").unwrap();
    let outside = s.home().join("mine/user/only.md").display().to_string();
    let climbing = kept.replace("/trash/", "/trash/../../../../mine/../trash/");
    let places = [outside.clone(), s.home().join(".gitconfig").display().to_string(), "/".into(), climbing];
    for place in &places[..3] {
        std::fs::write(&last, good.replace(kept, place)).unwrap();
        s.run(&["undo"]).fails(5);
        assert!(!s.vault().join("user/only.md").exists(), "{place}");
        assert!(std::path::Path::new(&outside).exists());
    }
    // Where it leads out of the trash by name, it is still looked for in the trash alone.
    std::fs::write(&last, good.replace(kept, &places[3])).unwrap();
    s.run(&["undo"]).ok();
    assert_eq!(s.read("user/only.md"), "only here\n");
}

#[cfg(unix)]
#[test]
fn of_many_that_undo_at_once_each_takes_back_another_operation() {
    let s = plain();
    let text = |n: u32| s.read(&format!("user/n{n}.md"));
    for n in 0..6 {
        s.write(&format!("user/n{n}.md"), format!("text {n}\n"));
        s.run(&["mv", &format!("user/n{n}.md"), &format!("user/m{n}.md")]).ok();
    }
    let ran: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(|| s.run(&["undo"]))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for run in ran {
        run.ok();
    }
    for n in 0..6 {
        assert_eq!(text(n), format!("text {n}\n"));
        assert!(!s.vault().join(format!("user/m{n}.md")).exists());
    }
}

#[test]
fn a_note_with_two_kinds_of_mended_links_is_undone() {
    let s = plain();
    s.write("user/ref.md", "See [[wifi]] and [[home#Old words]].\n");
    s.write("user/home.md", "# Home\n\n## Old words\n\nThe house has a green door and two windows.\n");
    s.run(&["commit", "-m", "Links"]).ok();
    std::fs::rename(s.vault().join("resources/日记/wifi.md"), s.vault().join("resources/net.md")).unwrap();
    s.write("user/home.md", "# Home\n\n## New words\n\nThe house has a green door and two windows.\n");
    let before = files(&s);
    // It ends with 1, for what it cannot mend.
    s.run(&["check", "--fix"]);
    let after = files(&s);
    assert!(s.read("user/ref.md").contains("[[net]] and [[home#New words]]"), "{}", s.read("user/ref.md"));
    s.run(&["undo"]).ok();
    assert_eq!(files(&s), before);
    s.run(&["undo", "--redo"]).ok();
    assert_eq!(files(&s), after);
}

#[test]
fn a_commit_that_cannot_be_taken_back_leaves_the_files_as_they_are() {
    let s = plain();
    s.write("user/ref.md", "Other words, see [[wifi]].\n");
    s.run(&["commit", "-m", "Words"]).ok();
    let before = s.read("user/ref.md");
    std::fs::write(s.vault().join(".git/index.lock"), "").unwrap();
    let run = s.run(&["undo"]);
    assert_ne!(run.status, 0);
    std::fs::remove_file(s.vault().join(".git/index.lock")).unwrap();
    assert_eq!(s.read("user/ref.md"), before);
    s.run(&["undo"]).ok();
    assert!(s.read("user/ref.md").starts_with("See"));
}

#[test]
fn what_was_edited_since_it_came_back_is_not_removed_again() {
    let s = plain();
    s.write("user/dir/a.md", "a, committed\n");
    s.write("user/dir/b.md", "b, committed\n");
    s.run(&["commit", "-m", "Two more"]).ok();
    s.write("kept/a.md", "only here\n");
    s.write("kept/deep/b.md", "only here too\n");
    let removals: [(&[&str], &str, &str); 5] = [
        (&["rm", "resources/日记/wifi.md"], "resources/日记/wifi.md", "resources/日记/wifi.md"),
        (&["rm", "-r", "user/dir"], "user/dir/a.md", "user/dir/a.md"),
        (&["rm", "-r", "user/dir"], "user/dir/new.md", "user/dir/new.md"),
        (&["rm", "-r", "kept"], "kept/deep/b.md", "kept"),
        (&["rm", "-r", "kept"], "kept/new.md", "kept"),
    ];
    for (removal, edited, named) in removals {
        s.run(removal).ok();
        s.run(&["undo"]).ok();
        let stood = std::fs::read(s.vault().join(edited)).ok();
        s.write(edited, "an edit since\n");
        let before = files(&s);
        let run = s.run(&["undo", "--redo"]).fails(3);
        assert!(run.err.contains(&format!("{named} was changed since")), "{removal:?}: {}", run.err);
        assert_eq!(files(&s), before, "{removal:?}");
        match stood {
            Some(bytes) => s.write(edited, bytes),
            None => std::fs::remove_file(s.vault().join(edited)).unwrap(),
        }
        // As it was it can be done again, and undone.
        s.run(&["undo", "--redo"]).ok();
        assert!(!s.vault().join(named).exists(), "{removal:?}");
        s.run(&["undo"]).ok();
    }
}

#[test]
fn many_removals_of_one_command_are_one_operation() {
    let s = plain();
    let names: Vec<String> = (0..40).map(|number| format!("user/many/{number}.md")).collect();
    names.iter().for_each(|name| s.write(name, "committed\n"));
    s.run(&["commit", "-m", "Many"]).ok();
    s.write("user/many/0.md", "not committed\n");
    let before = files(&s);
    let mut args = vec!["rm"];
    args.extend(names.iter().map(String::as_str));
    s.run(&args).ok();
    // Each was noted by a line of its own, before it was done.
    let directory = s.vault().join(".git/runebook/operations");
    let last = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).max().unwrap();
    assert_eq!(std::fs::read_to_string(&last).unwrap().lines().count(), names.len());
    s.run(&["undo"]).ok();
    assert_eq!(files(&s), before);
    s.run(&["undo", "--redo"]).ok();
    assert!(names.iter().all(|name| !s.vault().join(name).exists()));
}

#[cfg(unix)]
#[test]
fn a_move_that_was_killed_with_both_names_is_taken_back() {
    let s = plain();
    let before = files(&s);
    s.run(&["mv", "resources/日记/wifi.md", "resources/net.md"]).ok();
    let old = s.vault().join("resources/日记/wifi.md");
    std::fs::create_dir_all(old.parent().unwrap()).unwrap();
    std::fs::hard_link(s.vault().join("resources/net.md"), &old).unwrap();
    s.run(&["undo"]).ok();
    assert_eq!(files(&s), before, "one name is left, the old one");
    // Moving it once more ends with one name too.
    std::fs::hard_link(&old, s.vault().join("resources/net.md")).unwrap();
    s.run(&["mv", "resources/日记/wifi.md", "resources/net.md"]).ok();
    assert!(!old.exists() && s.vault().join("resources/net.md").exists());
}

#[cfg(unix)]
#[test]
fn whether_a_file_can_be_run_is_taken_back_too() {
    use std::os::unix::fs::PermissionsExt as _;
    let s = plain();
    s.write("resources/tidy.sh", "#!/bin/sh\n");
    s.run(&["commit", "-m", "A script", "resources/tidy.sh"]).ok();
    let at = s.vault().join("resources/tidy.sh");
    let runs = || std::fs::metadata(&at).unwrap().permissions().mode() & 0o111 != 0;
    for bytes in ["#!/bin/sh\n", "#!/bin/sh\necho\n"] {
        s.write("resources/tidy.sh", bytes);
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o755)).unwrap();
        s.run(&["commit", "-m", "It can be run"]).ok();
        std::fs::write(s.vault().join(".git/index.lock"), "").unwrap();
        assert_ne!(s.run(&["undo"]).status, 0);
        assert!(runs(), "what failed left it as it was");
        std::fs::remove_file(s.vault().join(".git/index.lock")).unwrap();
        s.run(&["undo"]).ok();
        assert!(!runs());
        assert_eq!(s.git(&["status", "--porcelain"]), "");
        s.run(&["undo", "--redo"]).ok();
        assert!(runs());
        s.run(&["undo"]).ok();
    }
}

#[test]
fn a_failed_commit_leaves_the_layer_files_and_the_rest_as_they_were() {
    let s = plain();
    s.write("user/ref.md", "Other words, see [[wifi]].\n");
    s.write("user/deep/new.md", "# New\n\nWords of a new directory.\n");
    let lock = s.vault().join(".git/index.lock");
    let blocked = |args: &[&str]| {
        let before = files(&s);
        std::fs::write(&lock, "").unwrap();
        assert_ne!(s.run(args).status, 0, "{args:?}");
        std::fs::remove_file(&lock).unwrap();
        assert_eq!(files(&s), before, "{args:?}");
    };
    blocked(&["commit", "-m", "Words"]);
    s.run(&["commit", "-m", "Words"]).ok();
    assert!(s.vault().join("user/deep/.abstract.md").exists(), "there are layer files");
    blocked(&["undo"]);
    // A run that was killed after it wrote the files is finished.
    std::fs::write(s.vault().join("user/ref.md"), s.git(&["show", "HEAD~1:user/ref.md"]) + "\n").unwrap();
    s.run(&["undo"]).ok();
    assert!(s.read("user/ref.md").starts_with("See") && !s.vault().join("user/deep").exists());
    assert_eq!(s.git(&["status", "--porcelain"]), "");
}
