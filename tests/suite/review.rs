//! Reviewing: who may, of what exactly, and what it does.

use crate::cast::{CLAUDE, GPT, approve, approved, digest, edit, new, proposed, vault, write};

#[test]
fn nobody_reviews_his_own_work() {
    let vault = vault();
    let id = proposed(&vault);
    let run = approve(&vault, CLAUDE, &id).fails(4);
    assert!(run.err.contains("its own proposal"), "{}", run.err);
    // Whoever wrote part of it counts as well.
    vault.run(&["propose", "edit", &id, "resources/meals.md", "--old", "fish", "--new", "meat"]).ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    let run = vault.run(&["review", "approve", &id, "--digest", &digest(&vault, &id)]).fails(4);
    assert!(run.err.contains("wrote part of it"), "{}", run.err);
}

#[test]
fn an_approval_names_what_was_shown() {
    let vault = vault();
    let id = proposed(&vault);
    let shown = digest(&vault, &id);
    assert!(vault.run_as(GPT, &["review", "approve", &id]).fails(2).err.contains("--digest"));
    assert!(
        vault
            .run_as(GPT, &["review", "approve", &id, "--digest", "sha256:12"])
            .fails(2)
            .err
            .contains("review show")
    );
    edit(&vault, CLAUDE, &id, "resources/meals.md", "fish", "meat");
    let run = vault.run_as(GPT, &["review", "approve", &id, "--digest", &shown]).fails(3);
    assert!(run.err.contains("was not submitted"), "{}", run.err);
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    let run = vault.run_as(GPT, &["review", "approve", &id, "--digest", &shown]).fails(3);
    assert!(run.err.contains("changed since it was shown"), "{}", run.err);
    assert!(approve(&vault, GPT, &id).ok().out.contains("approved"));
    // A person without a terminal either names the digest or says that he has looked.
    let id = new(&vault, CLAUDE, "Two");
    write(&vault, CLAUDE, &id, "resources/b.md", "# B\n\nSee [[home]].\n").ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    vault.run(&["review", "approve", &id]).fails(2);
    vault.run(&["review", "approve", &id, "--yes"]).ok();
}

#[test]
fn the_queue_shows_what_waits_for_me() {
    let vault = vault();
    let id = proposed(&vault);
    assert!(vault.run_as(GPT, &["review", "queue"]).ok().out.contains(&id));
    vault.run_as(CLAUDE, &["review", "queue"]).fails(1);
    approve(&vault, GPT, &id).ok();
    vault.run_as(GPT, &["review", "queue"]).fails(1);
}

#[test]
fn a_review_shows_diff_state_before_evidence_and_digest() {
    let vault = vault();
    vault.write("evidence/2026/11/28/chat.md", "one\nthe user: three hours, please\nthree\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Evidence"]);
    let id = new(&vault, CLAUDE, "Seats");
    let note = "Three hours.[^e1] See [[home]].\n\n[^e1]: <viking://evidence/2026/11/28/chat.md#L2> \"three hours\"\n[^e2]: <viking://evidence/gone.md>\n";
    write(&vault, CLAUDE, &id, "resources/seats.md", note).ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    let shown = vault.run(&["review", "show", &id, "--json"]).ok().json();
    let file = &shown["files"][0];
    assert_eq!(file["before"], crate::cast::SEATS);
    assert_eq!(file["evidence"][0]["excerpt"], "the user: three hours, please");
    assert_eq!(file["evidence"][1]["excerpt"], serde_json::Value::Null);
    let text = vault.run(&["review", "show", &id, "--before"]).ok().out;
    for part in [
        "| the user: three hours, please",
        "is not in the vault",
        "    3  Window on flights",
        "+Three hours.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(text.lines().last().unwrap(), format!("digest {}", digest(&vault, &id)));
}

#[test]
fn a_veto_stands_until_it_is_lifted_and_an_agents_is_grounded() {
    let vault = vault();
    let id = proposed(&vault);
    let run = vault.run_as(GPT, &["review", "reject", &id, "--message", "No"]).fails(2);
    assert!(run.err.contains("lines or evidence"), "{}", run.err);
    let run = vault.run_as(GPT, &["review", "reject", &id, "--comment", "resources/home.md:1:No"]).fails(2);
    assert!(run.err.contains("does not change"), "{}", run.err);
    vault.run_as(GPT, &["review", "reject", &id, "--comment", "no line"]).fails(2);
    vault
        .run_as(GPT, &["review", "request-changes", &id, "--comment", "resources/seats.md:3:Says who?"])
        .ok();
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(4);
    assert!(run.err.contains("changes-requested") && run.err.contains("lift"), "{}", run.err);
    vault.run(&["review", "approve", &id, "--yes"]).ok();
    let run = vault.run_as(CLAUDE, &["merge", &id]).fails(4);
    assert!(run.err.contains("disagree") && run.err.contains("lift"), "{}", run.err);
    assert!(vault.run(&["review", "show", &id]).ok().out.contains("resources/seats.md:3: Says who?"));
    vault.run_as(CLAUDE, &["review", "lift", &id]).fails(1);
    vault.run_as(GPT, &["review", "lift", &id, "--message", "Seen"]).ok();
    vault.run_as(CLAUDE, &["merge", &id]).ok();
}

#[test]
fn agents_of_one_family_do_not_approve_each_other() {
    let vault = vault();
    let id = proposed(&vault);
    let run = approve(&vault, "claude-two", &id).ok();
    assert!(run.out.contains("another family"), "{}", run.out);
    vault.run_as(CLAUDE, &["merge", &id]).fails(4);
}

#[test]
fn comments_are_open_to_all_and_decide_nothing() {
    let vault = vault();
    let id = approved(&vault);
    vault.run_as(CLAUDE, &["review", "comment", &id, "--message", "Runebook-Event: review\nand more"]).ok();
    assert!(vault.run_as(CLAUDE, &["review", "comment", &id]).fails(2).err.contains("needs words"));
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    assert!(vault.run(&["audit"]).ok().out.contains("held"));
}

#[test]
fn what_an_agent_may_not_read_is_not_shown_to_it() {
    let vault = vault();
    let actors = vault.read(".runebook/actors.yaml");
    vault.write(
        ".runebook/actors.yaml",
        format!("{actors}  - {{id: narrow, kind: agent, family: qwen, email: n@example.org, roles: [review], reads: [\"resources/meals.md\"]}}\n"),
    );
    vault.git(&["commit", "-qam", "A narrow reader"]);
    let id = proposed(&vault);
    for args in
        [&["review", "show", &id][..], &["show", &id], &["propose", "diff", &id], &["diff", "main", &id]]
    {
        let shown = vault.run_as("narrow", args).ok().out;
        assert!(shown.contains("meals.md") && !shown.contains("Window on flights"), "{args:?}\n{shown}");
    }
    vault.write("resources/home.md", "edited\n");
    vault.run_as("narrow", &["diff"]).fails(4);
}

#[test]
fn the_only_proposal_that_waits_is_shown_where_none_is_named() {
    use crate::cast::{GPT, proposed, vault};
    let vault = vault();
    assert!(vault.run_as(GPT, &["review", "show"]).fails(2).err.contains("none waits"));
    let id = proposed(&vault);
    assert!(vault.run_as(GPT, &["review", "show"]).ok().out.starts_with(&id));
    let other = proposed(&vault);
    let err = vault.run_as(GPT, &["review", "diff"]).fails(2).err;
    assert!(err.contains(&id) && err.contains(&other), "{err}");
}
