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
