//! Meaning beside everything else: in older states, for those who may not see all, where texts cannot be embedded.

use std::path::PathBuf;

use runebook::flow::meaning::form_of;
use runebook::flow::vault::Vault;
use runebook::flow::{models, sync};
use runebook::index::vectors::Vectors;
use runebook::model::clock::{Cancel, Clock, Entropy, Env};
use runebook::model::id::TextKey;
use runebook::watch::{self, Background as _, Left};

use crate::meaning::{ACTORS, Embedding};
use crate::support::Sandbox;

fn commit(sandbox: &Sandbox, message: &str) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", message]);
}

fn paths_of(answer: &serde_json::Value) -> Vec<&str> {
    answer["hits"].as_array().expect("hits").iter().map(|hit| hit["path"].as_str().expect("a path")).collect()
}

fn cats() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    sandbox.write(".runebook/actors.yaml", ACTORS);
    sandbox.write("resources/pet.md", "# Pet\n\nThe cat sleeps on the warm stone.\n");
    sandbox.write("resources/tax.md", "# Taxes\n\nOur tax office raised the rate.\n");
    sandbox.write("resources/shown.md", "# Shown\n\nLook: ![a kitten asleep](kitten.png)\n");
    sandbox.write("resources/kitten.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    commit(&sandbox, "cats");
    sandbox.write("resources/pet.md", "# Pet\n\nThe dog barks at the mailman.\n");
    sandbox.git(&["rm", "-q", "resources/shown.md", "resources/kitten.png"]);
    commit(&sandbox, "dogs");
    sandbox
}

#[test]
fn an_older_state_is_searched_by_meaning_too() {
    let Some(vault) = Embedding::over(cats) else { return };
    vault.run(&["reindex"]).ok();
    let then = vault.sandbox.git(&["rev-parse", "HEAD~1"]);
    let asked = |rev: &[&str]| vault.run(&[&["find", "kitty dozing", "--json"], rev].concat()).json();
    let old = asked(&["--rev", "HEAD~1"]);
    assert_eq!((&old["mode"], &old["view"]), (&"hybrid".into(), &"rev".into()));
    let hits = paths_of(&old);
    assert!(hits[..2].contains(&"resources/pet.md") && hits[..2].contains(&"resources/shown.md"), "{hits:?}");
    let text = old["hits"].as_array().unwrap().iter().find(|hit| hit["path"] == "resources/pet.md").unwrap();
    assert!(text["snippet"]["text"].as_str().unwrap().contains("The cat sleeps"), "{text}");
    assert_eq!(text["uri"], format!("viking://resources/pet.md?rev={then}"));
    // What stands there now is another, and nothing of the older state is in it.
    let now = asked(&[]);
    assert!(now["hits"].as_array().unwrap().iter().all(|hit| hit["path"] != "resources/shown.md"), "{now}");
    assert!(!now.to_string().contains("cat sleeps"), "{now}");
    // What an older memory shows is shown as of then.
    let shown = vault.run(&["find", "kitten", "--rev", "HEAD~1", "--json"]).ok().json();
    let attachment = &shown["hits"][0]["attachments"][0];
    assert_eq!(attachment["uri"], format!("viking://resources/kitten.png?rev={then}"), "{shown}");
    let similar =
        vault.run(&["similar", &format!("viking://resources/pet.md?rev={then}"), "--json"]).ok().json();
    assert_eq!(
        (&similar["mode"], &similar["hits"][0]["path"]),
        (&"meaning".into(), &"resources/shown.md".into())
    );
}

#[test]
fn an_attachment_that_may_not_be_seen_is_not_shown_in_an_older_state_either() {
    let sandbox = cats();
    sandbox.write("user/shown.md", "# Shown\n\nLook: ![a kitten asleep](../resources/kitten.png)\n");
    commit(&sandbox, "shown");
    let attachments = |actor: &str, rev: &str| {
        let answer = sandbox.run_as(actor, &["find", "kitten", "--rev", rev, "--json"]).json();
        let hits = answer["hits"].as_array().cloned().unwrap_or_default();
        hits.iter().filter(|hit| hit["attachments"].is_array()).count()
    };
    // It links to a file that is not there at that time.
    assert_eq!(attachments("claude", "HEAD"), 0);
    sandbox.git(&["checkout", "-q", "HEAD~2", "--", "resources/kitten.png"]);
    commit(&sandbox, "both");
    sandbox.git(&["rm", "-q", "resources/kitten.png"]);
    commit(&sandbox, "gone");
    assert_eq!((attachments("claude", "HEAD~1"), attachments("claude", "HEAD")), (1, 0));
    // The memory may be read, and what it shows may not.
    assert_eq!(attachments("narrow", "HEAD~1"), 0);
    let answer = sandbox.run_as("narrow", &["find", "kitten", "--rev", "HEAD~1", "--json"]).ok().json();
    assert_eq!(paths_of(&answer), ["user/shown.md"]);
}

#[test]
fn how_many_texts_there_are_is_told_to_nobody_who_may_not_see_them() {
    let Some(vault) = Embedding::over(cats) else { return };
    vault.run(&["reindex"]).ok();
    for at in 0..30 {
        vault.sandbox.write(
            &format!("resources/own{at}.md"),
            format!("# Own {at}\n\nNobody approved {at} of this.\n"),
        );
    }
    let counts = ["embedded", "pending", "done", "failed"];
    for actor in ["claude", "narrow"] {
        let told = |args: &[&str]| vault.run_with(&[("RUNEBOOK_ACTOR", actor)], args);
        for args in [
            &["find", "cat", "--json"][..],
            &["status", "--json"],
            &["reindex", "--no-embed", "--json"],
            &["reindex", "--json"],
        ] {
            let answer = told(args).json();
            assert!(answer["freshness"]["unembedded"].is_null(), "{args:?}: {answer}");
            for count in counts {
                assert!(answer["meaning"][count].is_null(), "{args:?} tells {count}: {answer}");
            }
        }
        for args in [&["find", "cat"][..], &["status"], &["similar", "resources/tax.md"], &["reindex"]] {
            let run = told(args);
            let all = format!("{}{}", run.out, run.err);
            assert!(
                !all.contains("texts are found by their words") && !all.contains("embedd"),
                "{args:?}: {all}"
            );
        }
        vault.sandbox.write(
            &format!("resources/more{actor}.md"),
            format!("# More\n\nAnd nobody approved {actor} either.\n"),
        );
    }
    // A person is told.
    vault.run(&["reindex", "--no-embed"]).ok();
    let status = vault.run(&["status", "--json"]).ok().json();
    assert!(
        status["meaning"]["embedded"].as_u64().unwrap() > 30 && status["meaning"]["pending"] == 1,
        "{status}"
    );
}

#[test]
fn texts_that_the_model_could_not_take_keep_nobody_busy() {
    let Some(made) = Embedding::over(cats) else { return };
    made.run(&["reindex"]).ok();
    let of = |name: &str, value: String| (name.to_owned(), value);
    let env = Env {
        vars: [
            of("HOME", made.sandbox.home().to_str().unwrap().to_owned()),
            of("RUNEBOOK_MODEL", "small".to_owned()),
            of("ORT_DYLIB_PATH", made.runtime().to_str().unwrap().to_owned()),
        ]
        .into(),
        clock: Clock::fixed("2026-11-29T10:00:00Z".parse().unwrap()),
        entropy: Entropy::seeded(1),
        current_dir: made.sandbox.vault(),
        cancel: Cancel::default(),
        program: None,
    };
    made.sandbox.write("resources/new.md", "# New\n\nA text that no model takes.\n");
    made.run(&["reindex", "--no-embed"]).ok();
    let vault = Vault::open(&env, &made.sandbox.vault()).unwrap();
    let choice = models::choose(&env, Some(&vault.config)).unwrap();
    let dir: PathBuf = vault.derived_dir().join("vectors").join(form_of(&choice).name());
    let store = Vectors::open(&dir, &form_of(&choice)).unwrap();
    // All that waits could not be taken before.
    let catalog = sync::open(&vault).unwrap();
    let mut waits: Vec<TextKey> = Vec::new();
    catalog.each_passages(|passages| waits.extend(passages.keys().filter(|key| !store.holds(*key)))).unwrap();
    assert!(!waits.is_empty());
    let writer = catalog.write().unwrap();
    for key in waits {
        writer.put_unembedded(choice.fingerprint().as_str(), key, "no model takes it").unwrap();
    }
    writer.commit_aside().unwrap();
    let mut work = watch::Embedding::default();
    let never = || false;
    assert_eq!(work.slice(&vault, &never).unwrap(), Left::Nothing);
    assert!(!work.wants(), "it would look again and again");
    // Whoever asks for it has it tried again.
    let answer = made.run(&["reindex", "--json"]).ok().json();
    assert_eq!(
        (&answer["meaning"]["done"], &answer["meaning"]["pending"]),
        (&1.into(), &0.into()),
        "{answer}"
    );
    assert!(work.wants(), "the vectors changed");
    assert_eq!(work.slice(&vault, &never).unwrap(), Left::Nothing);
    assert!(!work.wants());
}
