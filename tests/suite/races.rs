//! Many processes at once.

use std::thread;

use crate::cast::{CLAUDE, GPT, approve, in_order, new, vault, write};
use crate::support::{Run, Sandbox};

/// Tries again as long as somebody else was first.
fn patiently(run: impl Fn() -> Run) -> Run {
    for _ in 0..60 {
        let run = run();
        let busy = run.err.contains("another runebook is at work") || run.err.contains("moved");
        if run.status != 3 || !busy {
            return run;
        }
    }
    run()
}

fn one(vault: &Sandbox, number: usize) -> String {
    let title = format!("Note {number}");
    let id = new(vault, CLAUDE, &title);
    let path = format!("resources/note-{number}.md");
    let body = format!("# Note {number}\n\nSee [[home]] and [[seats]].\n");
    patiently(|| write(vault, CLAUDE, &id, &path, &body)).ok();
    patiently(|| vault.run_as(CLAUDE, &["propose", "submit", &id])).ok();
    patiently(|| approve(vault, GPT, &id)).ok();
    patiently(|| vault.run_as(CLAUDE, &["merge", &id])).ok();
    id
}

#[test]
fn every_acknowledged_change_is_on_main_exactly_once() {
    let vault = vault();
    let ids: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|number| {
                scope.spawn({
                    let vault = &vault;
                    move || one(vault, number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    in_order(&vault);
    let log = vault.git(&["log", "--first-parent", "--format=%s", "main"]);
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(log.matches(id.as_str()).count(), 1, "{id}\n{log}");
        assert!(
            vault.read(&format!("resources/note-{number}.md")).starts_with(&format!("# Note {number}\n"))
        );
    }
    assert_eq!(vault.git(&["for-each-ref", "refs/heads/proposal"]), "");
}

#[test]
fn two_changes_of_one_file_do_not_both_merge() {
    let vault = vault();
    let ids: Vec<String> = ["three hours", "four hours"]
        .iter()
        .map(|text| {
            let id = new(&vault, CLAUDE, text);
            crate::cast::edit(&vault, CLAUDE, &id, "resources/seats.md", "two hours", text);
            vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
            approve(&vault, GPT, &id).ok();
            id
        })
        .collect();
    let vault = &vault;
    let runs: Vec<Run> = thread::scope(|scope| {
        let merge = |id: &String| {
            let id = id.clone();
            scope.spawn(move || patiently(|| vault.run_as(CLAUDE, &["merge", &id])))
        };
        let threads: Vec<_> = ids.iter().map(merge).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    let mut statuses: Vec<i32> = runs.iter().map(|run| run.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [0, 3], "{runs:?}");
    in_order(vault);
}

#[test]
fn events_of_many_reviewers_all_count() {
    let vault = vault();
    let id = crate::cast::proposed(&vault);
    let vault = &vault;
    thread::scope(|scope| {
        for number in 0..8 {
            let id = &id;
            scope.spawn(move || {
                let message = format!("word {number}");
                patiently(|| vault.run_as(GPT, &["review", "comment", id, "--message", &message])).ok();
            });
        }
    });
    let shown = vault.run(&["show", &id]).ok().out;
    for number in 0..8 {
        assert_eq!(shown.matches(&format!("word {number}")).count(), 1, "{shown}");
    }
}
