//! Taking back what was merged.

use crate::cast::{CLAUDE, GPT, SEATS, approve, edit, in_order, merged, new, vault, write};

#[test]
fn a_person_takes_back_exactly_what_was_merged() {
    let vault = vault();
    let id = merged(&vault);
    let run = vault.run(&["rollback", &id, "--merge", "--json"]).ok().json();
    assert_eq!((&run["exact"], &run["of"]), (&true.into(), &id.as_str().into()));
    assert!(run["merged"]["commit"].is_string());
    in_order(&vault);
    assert_eq!(vault.read("resources/seats.md"), SEATS);
    assert!(!vault.vault().join("resources/meals.md").exists());
    let again = vault.run(&["rollback", &id, "--merge"]).fails(1);
    assert!(again.err.contains("nothing left"), "{}", again.err);
    // And that can be taken back in turn.
    vault.run(&["rollback", run["id"].as_str().unwrap(), "--merge"]).ok();
    assert!(vault.read("resources/seats.md").contains("three hours"));
    in_order(&vault);
}

#[test]
fn an_agent_proposes_it_and_does_not_merge_it_alone() {
    let vault = vault();
    let id = merged(&vault);
    let run = vault.run_as(CLAUDE, &["rollback", &id, "--merge", "--json"]).ok().json();
    assert_eq!(run["merged"], serde_json::Value::Null);
    let back = run["id"].as_str().unwrap();
    // Asking again gives the same one.
    assert_eq!(vault.run_as(CLAUDE, &["rollback", &id, "--json"]).ok().json()["id"], back);
    let refused = vault.run_as(CLAUDE, &["merge", back]).fails(4);
    assert!(refused.err.contains("only a person"), "{}", refused.err);
    vault.run(&["merge", back]).ok();
    in_order(&vault);
    assert_eq!(vault.read("resources/seats.md"), SEATS);
}

#[test]
fn later_edits_of_other_lines_are_kept_and_need_a_review() {
    let vault = vault();
    let id = merged(&vault);
    vault.write("resources/seats.md", vault.read("resources/seats.md").replace("row 13", "row 14"));
    vault.git(&["commit", "-qam", "Another row"]);
    let run = vault.run(&["rollback", &id, "--merge", "--json"]).ok().json();
    assert_eq!(run["exact"], false);
    assert_eq!(run["merged"], serde_json::Value::Null);
    let back = run["id"].as_str().unwrap();
    vault.run(&["merge", back]).fails(4);
    approve(&vault, GPT, back).ok();
    vault.run(&["merge", back]).ok();
    in_order(&vault);
    assert_eq!(vault.read("resources/seats.md"), SEATS.replace("row 13", "row 14"));
}

#[test]
fn later_edits_of_the_same_lines_are_a_conflict_by_file_and_line() {
    let vault = vault();
    let id = merged(&vault);
    vault.write("resources/seats.md", vault.read("resources/seats.md").replace("three hours", "nine hours"));
    std::fs::remove_file(vault.vault().join("resources/meals.md")).unwrap();
    vault.git(&["commit", "-qam", "The same line"]);
    let before = vault.git(&["for-each-ref"]);
    let run = vault.run(&["rollback", &id, "--merge"]).fails(3);
    assert!(run.err.contains("viking://resources/seats.md line 3"), "{}", run.err);
    assert_eq!(vault.git(&["for-each-ref"]), before);
}

#[test]
fn what_is_not_merged_is_not_taken_back() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Open");
    edit(&vault, CLAUDE, &id, "resources/seats.md", "two", "three");
    let run = vault.run(&["rollback", &id]).fails(2);
    assert!(run.err.contains("withdraw"), "{}", run.err);
}

#[test]
fn what_was_wrong_before_is_no_word_about_a_move_or_its_way_back() {
    let vault = vault();
    vault.write("resources/lone.md", "# Lone\n\nOne.\n\nSee [[nowhere]].\n\nTwo.\n");
    vault.write("resources/alone.md", "# Alone\n\nNo link at all.\n");
    vault.write("resources/third.md", "# Third\n\nSee [[home]].\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Two with defects"]);
    let defects = |id: &str| {
        let told = vault.run(&["check", "--proposal", id, "--json"]).json();
        told["findings"].as_array().expect("findings").clone()
    };
    let merge = |id: &str| {
        approve(&vault, GPT, id).ok();
        vault.run_as(CLAUDE, &["merge", id]).ok();
    };
    let take_back = |id: &str| {
        let run = vault.run(&["rollback", id, "--json"]).ok().json();
        assert_eq!(run["findings"], serde_json::json!([]), "{run}");
        vault.run(&["merge", run["id"].as_str().unwrap(), "--yes"]).ok();
    };
    // Moved, with its links taken along: what it says is what it said.
    let id = new(&vault, CLAUDE, "Move");
    vault.run_as(CLAUDE, &["propose", "mv", &id, "resources/lone.md", "resources/far/lonely.md"]).ok();
    vault.run_as(CLAUDE, &["propose", "mv", &id, "resources/alone.md", "resources/far/all-alone.md"]).ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    assert!(defects(&id).is_empty(), "{:?}", defects(&id));
    merge(&id);
    take_back(&id);
    // Removed and brought back.
    let id = new(&vault, CLAUDE, "Remove");
    vault.run_as(CLAUDE, &["propose", "rm", &id, "resources/lone.md"]).ok();
    vault.run_as(CLAUDE, &["propose", "rm", &id, "resources/alone.md"]).ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    merge(&id);
    take_back(&id);
    in_order(&vault);
    // What the change itself brings is told, beside what moved.
    let id = new(&vault, CLAUDE, "Both");
    vault.run_as(CLAUDE, &["propose", "mv", &id, "resources/lone.md", "resources/far/lonely.md"]).ok();
    write(&vault, CLAUDE, &id, "resources/far/other.md", "# Other\n\nSee [[nowhere]].\n").ok();
    edit(&vault, CLAUDE, &id, "resources/far/lonely.md", "Two.", "Two, see [[elsewhere]].");
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    let told: Vec<String> =
        defects(&id).iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect();
    assert!(told.iter().any(|one| one.contains("elsewhere")), "{told:?}");
    assert_eq!(told.iter().filter(|one| one.contains("nowhere")).count(), 1, "{told:?}");
}

#[test]
fn what_nobody_approved_is_not_called_approved() {
    let vault = vault();
    let id = merged(&vault);
    let back = vault.run(&["rollback", &id, "--json"]).ok().json()["id"].as_str().unwrap().to_owned();
    for args in
        [&["propose", "list"][..], &["status"], &["propose", "show", &back], &["review", "show", &back]]
    {
        let run = vault.run(args).ok();
        let line = run.out.lines().find(|line| line.contains(&back)).unwrap_or_else(|| panic!("{run:?}"));
        assert!(line.contains("needs no approval") && !line.contains("approved"), "{args:?}: {line}");
    }
    let listed = vault.run(&["propose", "list", "--json"]).ok().json();
    assert_eq!((&listed["state"], &listed["person_merges"]), (&"approved".into(), &true.into()));
    // Once somebody approved, it is approved.
    approve(&vault, GPT, &back).ok();
    let run = vault.run(&["propose", "list"]).ok();
    assert!(run.out.contains("approved"), "{run:?}");
}

#[test]
fn what_a_person_committed_before_is_no_squash_of_a_way_back_to_it() {
    let vault = vault();
    // A person's own commit, which an approved proposal takes away, and a rollback brings back: the same change twice.
    vault.write("resources/boats.md", "# Boats\n\nA cabin outside.\n");
    vault.run(&["commit", "-m", "Boats"]).ok();
    let id = new(&vault, CLAUDE, "No boats");
    vault.run_as(CLAUDE, &["propose", "rm", &id, "resources/boats.md"]).ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    approve(&vault, GPT, &id).ok();
    vault.run(&["merge", &id]).ok();
    let back = vault.run(&["rollback", &id, "--json"]).ok().json();
    assert!(vault.run(&["audit"]).ok().out.contains("held"));
    vault.run(&["merge", back["id"].as_str().unwrap()]).ok();
    in_order(&vault);
    assert_eq!(vault.read("resources/boats.md"), "# Boats\n\nA cabin outside.\n");
    // A way back that was proposed first is one, whoever takes it in without its reviews.
    let id = new(&vault, CLAUDE, "Again no boats");
    vault.run_as(CLAUDE, &["propose", "rm", &id, "resources/boats.md"]).ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    vault.run(&["rm", "resources/boats.md"]).ok();
    vault.run(&["commit", "-m", "Boats go"]).ok();
    let audit = vault.run(&["audit"]).fails(1);
    assert!(audit.out.contains("squashed-proposal") && audit.out.contains(&id), "{}", audit.out);
}
