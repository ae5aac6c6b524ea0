//! Whoever names what is not there is told what is near to it: files and directories, headings and blocks.

use crate::cast::{CLAUDE, new, vault};
use crate::support::Sandbox;

fn notes() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("en/Home.md", "# Home\n\n## Set up sync\n\nWords. ^first\n\n## Install\n\nSee [[Sync]].\n");
    s.write("en/Getting started/Sync.md", "# Sync\n\nSee [[Home]].\n");
    s.run(&["commit", "-am", "Notes"]);
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Notes", "--allow-empty"]);
    s
}

#[test]
fn a_path_that_is_not_there_has_near_ones_in_every_verb() {
    let s = notes();
    for args in [
        &["cat", "en/Hom.md"][..],
        &["ls", "en/Hom.md"],
        &["tree", "en/Hom.md"],
        &["abstract", "en/Hom.md"],
        &["overview", "en/Hom.md"],
        &["edit", "en/Hom.md"],
        &["links", "en/Hom.md"],
        &["backlinks", "en/Hom.md"],
        &["similar", "en/Hom.md"],
        &["graph", "en/Hom.md"],
        &["graph", "--from", "en/Hom.md"],
        &["grep", "words", "en/Hom.md"],
        &["log", "en/Hom.md"],
        &["diff", "--", "en/Hom.md"],
        &["mv", "en/Hom.md", "en/House.md"],
        &["rm", "en/Hom.md"],
        &["check", "en/Hom.md"],
        &["commit", "en/Hom.md"],
    ] {
        let run = s.run(args);
        assert!(run.status == 1 || run.status == 2, "{args:?}: {}", run.err);
        assert!(run.err.contains("did you mean en/Home.md?"), "{args:?}: {}", run.err);
    }
    for (slip, meant) in [("en/Getting", "en/Getting started"), ("en/getting started", "en/Getting started")]
    {
        let run = s.run(&["ls", slip]).fails(1);
        assert!(run.err.contains(&format!("did you mean {meant}?")), "{}", run.err);
    }
    let far = s.run(&["cat", "nothing-like-it.md"]).fails(1);
    assert!(far.err.contains("runebook tree"), "{}", far.err);
}

#[test]
fn a_path_that_a_proposal_does_not_have_has_near_ones() {
    let vault = vault();
    let id = new(&vault, CLAUDE, "Meals");
    vault.run_as(CLAUDE, &["propose", "write", &id, "resources/meals.md", "--body", "# Meals\n"]).ok();
    for (slip, meant) in
        [("resources/seat.md", "resources/seats.md"), ("resources/meal.md", "resources/meals.md")]
    {
        for args in [
            &["propose", "edit", &id, slip, "--old", "a", "--new", "b"][..],
            &["propose", "mv", &id, slip, "resources/x.md"],
            &["propose", "rm", &id, slip],
        ] {
            let run = vault.run_as(CLAUDE, args).fails(1);
            assert!(run.err.contains(&format!("did you mean {meant}")), "{args:?}: {}", run.err);
        }
    }
}

#[test]
fn a_heading_or_block_that_is_not_there_has_near_ones() {
    let s = notes();
    let said = |args: &[&str], hint: &str| {
        let run = s.run(args).fails(1);
        assert!(run.err.contains("`en/Home.md` has no part"), "{args:?}: {}", run.err);
        assert!(run.err.contains(hint), "{args:?}: {}", run.err);
    };
    for verb in [&["cat"][..], &["mv"], &["similar"]] {
        let with = |part: &str| -> Vec<String> {
            let mut args: Vec<String> = verb.iter().map(|word| (*word).to_owned()).collect();
            args.push(format!("en/Home.md{part}"));
            if verb == ["mv"] {
                args.push(if part.starts_with("#^") { "#^new" } else { "#New" }.to_owned());
            }
            args
        };
        for (part, hint) in [
            ("#Instal", "did you mean #Install?"),
            ("#sync", "did you mean #Set up sync?"),
            ("#Home#Instal", "did you mean #Install?"),
            ("#Wrong", "it has #Home, #Set up sync, #Install"),
            ("#^frist", "did you mean #^first?"),
            ("#^other", "it has #^first"),
        ] {
            let args = with(part);
            said(&args.iter().map(String::as_str).collect::<Vec<_>>(), hint);
        }
    }
    let vault = vault();
    let id = new(&vault, CLAUDE, "Words");
    let args = ["propose", "edit", &id, "resources/seats.md", "--section", "Seat", "--body", "x"];
    let run = vault.run_as(CLAUDE, &args).fails(1);
    assert!(run.err.contains("did you mean #Seats?"), "{}", run.err);
}
