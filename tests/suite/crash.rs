//! A merge killed at every step, then whatever command comes next: nothing lost, no half state.

use crate::cast::{CLAUDE, approved, in_order, status, vault};
use crate::support::Sandbox;

const STEPS: [&str; 10] = runebook::flow::merge::STEPS;

fn killed(vault: &Sandbox, id: &str, step: &str) {
    let mut command = vault.command(env!("CARGO_BIN_EXE_runebook"));
    command.env("RUNEBOOK_ACTOR", CLAUDE).env("RUNEBOOK_CRASH_AT", step).args(["merge", id]);
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), None, "step {step} is never reached: {output:?}");
}

/// Main is at the old or the new commit, and everything else is as it is there.
fn whole(vault: &Sandbox, id: &str, old: &str) -> bool {
    in_order(vault);
    let merged = vault.git(&["rev-parse", "main"]) != old;
    let branch = if merged { "closed" } else { "proposal" };
    assert_eq!(
        vault.git(&["for-each-ref", "--format=%(refname)", "refs/heads/proposal", "refs/heads/closed"]),
        format!("refs/heads/{branch}/{id}")
    );
    assert_eq!(vault.read("resources/seats.md").contains("three hours"), merged);
    assert_eq!(vault.vault().join("resources/meals.md").exists(), merged);
    assert!(!vault.vault().join(".git/index.lock").exists());
    assert!(!vault.vault().join(".git/runebook/journal.json").exists());
    merged
}

#[test]
fn every_step_ends_in_the_old_state_or_the_new_one() {
    let mut moved = false;
    for step in STEPS {
        let vault = vault();
        let id = approved(&vault);
        let old = vault.git(&["rev-parse", "main"]);
        killed(&vault, &id, step);
        moved |= step == "moved";
        // Any command that opens the vault finishes it, and lets go of what it held.
        vault.run(&["log"]).ok();
        assert!(!vault.vault().join(".git/index.lock").exists(), "{step}");
        in_order(&vault);
        let again = vault.run_as(CLAUDE, &["merge", &id]);
        assert_eq!(again.status, if moved { 3 } else { 0 }, "{step}: {again:?}");
        assert!(whole(&vault, &id, &old), "{step}");
    }
}

#[test]
fn one_reading_command_brings_it_in_order() {
    for step in ["journal", "moved", "placed-one", "placed", "index", "released"] {
        let vault = vault();
        let id = approved(&vault);
        let old = vault.git(&["rev-parse", "main"]);
        killed(&vault, &id, step);
        let run = vault.run(&["propose", "list"]);
        assert!(run.err.contains("interrupted"), "{step}: {}", run.err);
        assert_eq!(whole(&vault, &id, &old), step != "journal", "{step}");
    }
}

#[test]
fn plain_git_commits_no_half_state() {
    let vault = vault();
    let id = approved(&vault);
    killed(&vault, &id, "placed-one");
    let commit = vault.command("git").args(["commit", "-qam", "half"]).output().unwrap();
    assert!(!commit.status.success(), "the index is locked");
    vault.run(&["log"]).ok();
    assert_eq!(status(&vault), "");
}

#[test]
fn an_edit_made_after_the_crash_is_kept() {
    let vault = vault();
    let id = approved(&vault);
    killed(&vault, &id, "moved");
    vault.write("resources/seats.md", "mine\n");
    let run = vault.run(&["log"]).ok();
    assert!(run.err.contains("was edited meanwhile"), "{}", run.err);
    assert_eq!(vault.read("resources/seats.md"), "mine\n");
    assert_eq!(status(&vault), " M resources/seats.md".trim_start_matches('\n'));
    assert!(vault.vault().join("resources/meals.md").exists());
}

#[test]
fn references_that_were_set_in_part_are_completed() {
    // libgit2 sets them one after the other: as if the process had been killed between two.
    let sets: [&[&str]; 3] = [&["closed"], &["main"], &["closed", "seen", "open"]];
    for set in sets {
        let vault = vault();
        let id = approved(&vault);
        let old = vault.git(&["rev-parse", "main"]);
        killed(&vault, &id, "journal");
        let journal: serde_json::Value =
            serde_json::from_str(&vault.read(".git/runebook/journal.json")).unwrap();
        let commit = |key: &str| journal[key].as_str().unwrap().to_owned();
        for one in set {
            match *one {
                "main" => vault.git(&["update-ref", "refs/heads/main", &commit("merge")]),
                "closed" => vault.git(&["update-ref", &format!("refs/heads/closed/{id}"), &commit("decide")]),
                "seen" => vault.git(&["update-ref", &format!("refs/runebook/seen/{id}"), &commit("decide")]),
                _ => vault.git(&["update-ref", "-d", &format!("refs/heads/proposal/{id}")]),
            };
        }
        // And a lock file that nobody removes any more.
        vault.write(".git/refs/heads/main.lock", "");
        vault.run(&["log"]).ok();
        assert!(whole(&vault, &id, &old), "{set:?}");
    }
}

#[test]
fn a_merge_that_somebody_overtook_is_taken_back() {
    let vault = vault();
    let id = approved(&vault);
    killed(&vault, &id, "journal");
    // The lock was removed by hand, and work went on.
    std::fs::remove_file(vault.vault().join(".git/index.lock")).unwrap();
    vault.write("resources/home.md", "# Home\n\nOther words, see [[seats]].\n");
    vault.git(&["commit", "-qam", "Went on"]);
    let old = vault.git(&["rev-parse", "main"]);
    vault.run(&["log"]).ok();
    assert!(!whole(&vault, &id, &old));
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    assert!(whole(&vault, &id, &old));
}

/// Leaves what a killed command leaves: its plan, and the locks of the references in it.
fn left_plan(vault: &Sandbox, updates: &[(&str, &str, &str)], index: bool) {
    let list: Vec<serde_json::Value> = updates
        .iter()
        .map(|(name, old, new)| serde_json::json!({"name": name, "old": old, "new": new, "message": "x"}))
        .collect();
    let index = index.then(|| vault.vault().join(".git"));
    let plan = serde_json::json!({"updates": list, "index": index});
    vault.write(".git/runebook/refs/killed.json", plan.to_string());
    for (name, _, _) in updates {
        vault.write(&format!(".git/{name}.lock"), "");
    }
}

#[test]
fn references_that_a_killed_command_locked_are_free_again() {
    let vault = vault();
    let main = vault.git(&["rev-parse", "main"]);
    left_plan(&vault, &[("refs/heads/main", &main, "0123456789012345678901234567890123456789")], false);
    vault.write("resources/home.md", "# Home\n");
    vault.run(&["commit", "-m", "Home"]).ok();
    assert!(!vault.vault().join(".git/runebook/refs/killed.json").exists());
    in_order(&vault);
}

#[test]
fn a_lock_of_somebody_else_is_named() {
    let vault = vault();
    let lock = vault.vault().join(".git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    vault.write("resources/home.md", "# Home\n");
    let run = vault.run(&["commit", "-m", "Home"]).fails(3);
    assert!(run.err.contains("main.lock is locked") && run.err.contains("remove"), "{}", run.err);
    assert!(lock.exists());
}

#[test]
fn an_event_that_was_killed_between_two_references_is_completed() {
    let vault = vault();
    let id = approved(&vault);
    let branch = format!("refs/heads/proposal/{id}");
    let (new, old) = (vault.git(&["rev-parse", &branch]), vault.git(&["rev-parse", &format!("{branch}~1")]));
    vault.git(&["update-ref", &branch, &old]);
    left_plan(&vault, &[(&branch, &old, &new), (&format!("refs/runebook/seen/{id}"), &old, &new)], false);
    let shown = vault.run(&["propose", "show", &id]).ok();
    assert!(shown.out.contains("approved"), "{}", shown.out);
    assert_eq!(vault.git(&["rev-parse", &branch]), new);
}

#[test]
fn the_index_follows_a_commit_that_was_killed_before_it_was_written() {
    let vault = vault();
    let index = vault.vault().join(".git/index");
    let (old, kept) = (vault.git(&["rev-parse", "main"]), std::fs::read(&index).unwrap());
    vault.write("resources/seats.md", "# Seats\n\nBy the window.\n");
    vault.git(&["rm", "-q", "resources/home.md"]);
    vault.git(&["commit", "-qam", "killed"]);
    let new = vault.git(&["rev-parse", "main"]);
    std::fs::write(&index, kept).unwrap();
    vault.write(".git/index.lock", "runebook 1\n");
    assert_ne!(status(&vault), "", "plain git would take the commit back");
    left_plan(&vault, &[("refs/heads/main", &old, &new)], true);
    vault.run(&["log"]).ok();
    in_order(&vault);
    assert!(!vault.vault().join(".git/index.lock").exists());
}

#[test]
fn work_staged_after_the_kill_stays_staged() {
    let vault = vault();
    let index = vault.vault().join(".git/index");
    let (old, kept) = (vault.git(&["rev-parse", "main"]), std::fs::read(&index).unwrap());
    vault.write("resources/seats.md", "# Seats\n\nBy the window.\n");
    vault.git(&["commit", "-qam", "killed"]);
    let new = vault.git(&["rev-parse", "main"]);
    std::fs::write(&index, kept).unwrap();
    vault.write("resources/seats.md", "# Seats\n\nMine, staged.\n");
    vault.git(&["add", "resources/seats.md"]);
    left_plan(&vault, &[("refs/heads/main", &old, &new)], true);
    vault.run(&["log"]).ok();
    assert_eq!(vault.git(&["show", ":resources/seats.md"]), "# Seats\n\nMine, staged.");
}
