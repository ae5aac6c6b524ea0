//! Searching and reading the vault as it was, or as a proposal would make it.

use runebook::catalog::{Catalog, Side};
use serde_json::Value;

use super::cast::{self, CLAUDE, GPT};
use super::support::{Run, Sandbox};
use super::sync::env;

/// Commits everything with a date.
fn commit(s: &Sandbox, date: &str) -> String {
    s.git(&["add", "-A"]);
    let mut git = s.command("git");
    git.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    let done = git.args(["commit", "-q", "--allow-empty", "-m", date]).output().expect("git runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    s.git(&["rev-parse", "HEAD"])
}

/// What was found: paths with scores.
#[track_caller]
fn found(run: &Run) -> Vec<(String, f64)> {
    let answer = run.json();
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| (hit["path"].as_str().unwrap().to_owned(), hit["score"].as_f64().unwrap())).collect()
}

#[track_caller]
fn paths(run: &Run) -> Vec<String> {
    found(run).into_iter().map(|(path, _)| path).collect()
}

fn numbers(seed: u64) -> impl FnMut(u64) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % below).unwrap()
    }
}

const WORDS: [&str; 12] =
    ["window", "seat", "tram", "靠窗", "座位", "daylight", "proof", "aisle", "火车", "paper", "lamp", "meal"];

/// A memory of words by chance, some in a row, some of several chunks.
fn text(pick: &mut impl FnMut(u64) -> usize) -> String {
    let mut out = format!("---\ntype: {}\n---\n# {}\n", ["semantic", "episodic"][pick(2)], WORDS[pick(12)]);
    for _ in 0..=pick(3) {
        out.push_str(&format!("\n## {}\n\n", WORDS[pick(12)]));
        for _ in 0..3 + pick(12) {
            out.push_str(WORDS[pick(12)]);
            out.push(' ');
        }
        out.push('\n');
    }
    out
}

/// One change by chance: an edit, a new memory, a removal, a rename.
fn change(s: &Sandbox, pick: &mut impl FnMut(u64) -> usize) {
    let names: Vec<String> = (0..9).map(|n| format!("resources/day-2026-11-{:02}.md", n + 10)).collect();
    let (one, other) = (&names[pick(9)], &names[pick(9)]);
    let at = |name: &str| s.vault().join(name);
    match pick(4) {
        0 if at(one).exists() => std::fs::remove_file(at(one)).unwrap(),
        1 if at(one).exists() && !at(other).exists() => std::fs::rename(at(one), at(other)).unwrap(),
        _ => s.write(one, text(pick)),
    }
}

#[test]
fn an_older_state_is_searched_as_if_it_were_the_only_one() {
    for seed in [3, 11] {
        let mut pick = numbers(seed);
        let s = Sandbox::new();
        s.run(&["init"]).ok();
        let mut commits = Vec::new();
        for round in 0..4 {
            (0..4 + pick(4)).for_each(|_| change(&s, &mut pick));
            commits.push(commit(&s, &format!("2026-11-0{}T10:00:00Z", round + 1)));
        }
        // What is not committed has no part in any of it.
        change(&s, &mut pick);
        // The newest is asked last: every one is a difference to main, and some are there when main is asked.
        for at in &commits {
            let alone = Sandbox::new();
            let origin = s.vault();
            alone.git(&["clone", "-q", origin.to_str().unwrap(), "."]);
            alone.git(&["reset", "-q", "--hard", at]);
            for query in ["window seat", "靠窗 paper lamp", "\"tram\" -meal", "path:resources/ type:episodic"]
            {
                let args = ["find", "--json", "-n", "50", "--explain"];
                let then = s.run(&[&args[..], &["--rev", at, "--", query]].concat());
                let built = alone.run(&[&args[..], &["--main", "--", query]].concat());
                assert_eq!(found(&then), found(&built), "seed {seed}, {at}, {query}");
                assert_eq!(then.status, built.status);
            }
        }
        let main = s.run(&["find", "--json", "--main", "window seat tram"]);
        s.run(&["reindex", "--full"]).ok();
        assert_eq!(found(&main), found(&s.run(&["find", "--json", "--main", "window seat tram"])));
    }
}

/// Three states of a small vault.
fn history() -> Sandbox {
    let s = cast::vault();
    s.write("resources/plum.md", "---\nid: 01JDM3Z8Q6W5T9V2R4K7X1B0CE\n---\n# Plum\n\nA green plum.\n");
    s.write("resources/pear.md", "# Pear\n\nA yellow pear.\n");
    commit(&s, "2026-11-10T10:00:00Z");
    s.write("resources/plum.md", "---\nid: 01JDM3Z8Q6W5T9V2R4K7X1B0CE\n---\n# Plum\n\nA blue plum.\n");
    s.git(&["mv", "resources/pear.md", "resources/quince.md"]);
    commit(&s, "2026-11-20T10:00:00Z");
    s
}

#[test]
fn what_is_told_of_an_older_state() {
    let s = history();
    let run = s.run(&["find", "plum", "--rev", "HEAD~1"]).ok();
    assert!(run.out.contains("A green plum.") && run.out.contains("no longer so on main"), "{}", run.out);
    assert!(run.err.contains("as of 2026-11-10 10:00 (commit "), "{}", run.err);
    let answer = s.run(&["find", "yellow", "--rev", "HEAD~1", "--json"]).ok().json();
    let then = s.git(&["rev-parse", "HEAD~1"]);
    assert_eq!(answer["view"], "rev");
    assert_eq!(answer["rev"]["commit"], Value::from(then.clone()));
    assert_eq!(answer["rev"]["approved"], true);
    let hit = &answer["hits"][0];
    assert_eq!((&hit["approved"], &hit["current"]), (&Value::from(true), &Value::from(false)));
    // The address leads to that version.
    let uri = hit["uri"].as_str().unwrap();
    assert_eq!(uri, format!("viking://resources/pear.md?rev={then}"));
    assert!(s.run(&["cat", uri]).ok().out.contains("A yellow pear."));
    assert_eq!(s.run(&["cat", uri, "--json"]).ok().json()["uri"], uri);
    let same = s.run(&["find", "aisle", "--rev", "HEAD~1", "--json"]).ok().json();
    assert_eq!(same["hits"][0]["current"], true);
    let listed = s.run(&["ls", &format!("viking://resources/?rev={then}"), "--json"]).ok().out;
    assert!(listed.contains(&format!("viking://resources/pear.md?rev={then}")), "{listed}");
    s.run(&["find", "green", "--main"]).fails(1);
    s.run(&["find", "green", "--main", "--rev", "HEAD~1"]).fails(2);
}

#[test]
fn a_date_means_main_as_of_then() {
    let s = history();
    let plum = |rev: &str| s.run(&["cat", "resources/plum.md", "--rev", rev]);
    for rev in ["2026-11-10", "2026-11-19", "2026年11月10日", "2026-11-20T09:59:59Z", "10d", "2w"] {
        assert!(plum(rev).ok().out.contains("green"), "{rev}");
        assert_eq!(paths(&s.run(&["find", "green", "--json", "--rev", rev])), ["resources/plum.md"], "{rev}");
    }
    for rev in ["2026-11-20", "yesterday", "昨天", "today", "2030-01-01", "main"] {
        assert!(plum(rev).ok().out.contains("blue"), "{rev}");
        s.run(&["find", "green", "--rev", rev]).fails(1);
    }
    // A name that the vault gave itself goes before a date.
    s.git(&["tag", "yesterday", "main~1"]);
    assert!(plum("yesterday").ok().out.contains("green"));
    for verb in [&["ls", "resources"][..], &["tree"], &["glob", "**/*.md"], &["grep", "-l", "yellow"]] {
        let then = s.run(&[verb, &["--rev", "2026-11-12"]].concat()).ok().out;
        assert!(then.contains("pear.md") && !then.contains("quince.md"), "{verb:?}: {then}");
    }
    let diff = s.run(&["diff", "2026-11-12", "main"]).ok().out;
    assert!(diff.contains("green") && diff.contains("blue"), "{diff}");
}

#[test]
fn what_names_nothing_is_said_with_what_does() {
    let s = history();
    let fails = |rev: &str, status: i32, says: &str| {
        for verb in [&["find", "plum"][..], &["ls"], &["cat", "resources/plum.md"]] {
            let run = s.run(&[verb, &["--rev", rev]].concat()).fails(status);
            assert!(run.err.contains(says), "{rev}: {}", run.err);
        }
    };
    fails("mian", 1, "did you mean main?");
    fails("nothing-like-it", 1, "names no commit, no date and no proposal");
    fails("2020-01-01", 1, "before the first commit of `main`");
    fails("2026-13-40", 1, "names no commit, no date and no proposal");
    fails("abc", 1, "names no commit, no date and no proposal");
    fails("", 1, "names no commit");
    // A short name of two objects.
    let oid = |n: u32| runebook::store::git::Repo::hash_blob(format!("n{n}").as_bytes()).to_string();
    let mut seen = std::collections::HashMap::new();
    let twice = (0..2_000).find_map(|n| seen.insert(oid(n)[..4].to_owned(), n).map(|other| [other, n]));
    let twice = twice.expect("two names with one beginning");
    for n in twice {
        let mut git = s.command("git");
        git.args(["hash-object", "-w", "--stdin"]);
        assert!(cast::with_input(git, format!("n{n}").as_bytes()).status.success());
    }
    let short = oid(twice[0])[..4].to_owned();
    fails(&short, 2, "is the beginning of several objects' names");
}

#[test]
fn an_agent_reads_what_stood_on_main_and_nothing_else() {
    let s = history();
    let id = cast::merged(&s);
    let decided = s.git(&["rev-parse", "main^2~1"]);
    s.git(&["checkout", "-q", "-b", "side"]);
    s.write("resources/side.md", "A draft plum.\n");
    commit(&s, "2026-11-29T10:00:00Z");
    s.git(&["checkout", "-q", "main"]);
    for rev in ["side", decided.as_str()] {
        for verb in [&["find", "plum"][..], &["ls"], &["cat", "resources/seats.md"]] {
            s.run_as(CLAUDE, &[verb, &["--rev", rev]].concat()).fails(4);
        }
    }
    // A person may, and is told.
    let run = s.run(&["find", "draft", "--rev", "side"]).ok();
    assert!(run.err.contains("no state of the approved branch"), "{}", run.err);
    assert!(run.out.contains("not on main"), "{}", run.out);
    assert_eq!(paths(&s.run_as(CLAUDE, &["find", "green", "--json", "--rev", "2026-11-12"])).len(), 1);
    let run = s.run(&["find", "fish", "--rev", &id]).fails(3);
    assert!(run.err.contains("is merged") && run.err.contains("runebook show"), "{}", run.err);
    let unknown = s.run_as(CLAUDE, &["find", "plum", "--rev", "sied"]).fails(1);
    assert!(!unknown.err.contains("side"), "{}", unknown.err);
}

#[test]
fn a_proposal_is_main_with_what_it_changes() {
    let s = history();
    let id = cast::proposed(&s);
    // Main goes on meanwhile.
    s.write("resources/fig.md", "# Fig\n\nFish with figs.\n");
    commit(&s, "2026-11-29T10:00:00Z");
    for rev in [id.clone(), format!("proposal/{id}"), id[..5].to_owned()] {
        let run = s.run(&["find", "fish", "--json", "--rev", &rev]).ok();
        let answer = run.json();
        assert_eq!(answer["view"], "proposal");
        assert_eq!(answer["rev"]["proposal"], Value::from(id.clone()));
        assert_eq!(answer["rev"]["approved"], false);
        let mut hits = found(&run);
        hits.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(hits[0].0, "resources/fig.md");
        assert_eq!(hits[1].0, "resources/meals.md");
        for hit in answer["hits"].as_array().unwrap() {
            assert_eq!(hit["approved"], hit["path"] == "resources/fig.md");
            let cat = s.run(&["cat", hit["uri"].as_str().unwrap()]).ok().out;
            assert!(cat.to_lowercase().contains("fish"), "{cat}");
        }
    }
    let run = s.run(&["find", "three hours", "--rev", &id]).ok();
    assert!(
        run.err.contains("which nobody approved yet") && run.out.contains("not on main"),
        "{}{}",
        run.out,
        run.err
    );
    assert!(s.run(&["ls", "resources", "--rev", &id]).ok().out.contains("meals.md"));
    // Agents see it only where the policy says so, and then only their own.
    for actor in [CLAUDE, GPT] {
        s.run_as(actor, &["find", "fish", "--rev", &id]).fails(4);
        s.run_as(actor, &["cat", "resources/meals.md", "--rev", &id]).fails(4);
    }
    let policy = s.read(".runebook/policy.yaml").replace("own_proposals: false", "own_proposals: true");
    assert!(policy.contains("own_proposals: true"));
    s.write(".runebook/policy.yaml", policy);
    commit(&s, "2026-11-29T11:00:00Z");
    assert_eq!(paths(&s.run_as(CLAUDE, &["find", "fish", "--json", "--rev", &id])).len(), 2);
    s.run_as(GPT, &["find", "fish", "--rev", &id]).fails(4);
    s.run_as(CLAUDE, &["propose", "withdraw", &id]).ok();
    s.run(&["find", "fish", "--rev", &id]).fails(3);
    assert_eq!(paths(&s.run(&["find", "fish", "--json", "--main"])), ["resources/fig.md"]);
}

/// Everything that a reader is told in an older state.
fn all_told(s: &Sandbox, actor: &str, rev: &str, words: &str) -> String {
    let mut all = String::new();
    for verb in [
        &["find", words][..],
        &["find", words, "--json", "--explain"],
        &["find", "path:resources/ -nothing", "--json"],
        &["ls", "resources"],
        &["tree"],
        &["grep", "plum"],
        &["glob", "**/plum*"],
        &["abstract", "resources"],
        &["overview", "resources"],
        &["cat", "resources/plum.md"],
    ] {
        let run = s.run_as(actor, &[verb, &["--rev", rev]].concat());
        all.push_str(&run.out.replace(&format!("\"query\": \"{words}\""), ""));
        all.push_str(&run.err.replace(&format!("`{words}`"), "").replace("`resources/plum.md`", ""));
    }
    all
}

#[test]
fn todays_rules_hold_over_what_was() {
    let told = |s: &Sandbox, actor: &str| {
        let then = s.git(&["log", "--format=%H", "--grep", "2026-11-10", "-1"]);
        all_told(s, actor, &then, "green")
    };
    let s = history();
    assert!(told(&s, CLAUDE).contains("plum.md") && told(&s, CLAUDE).contains("green"));
    let hide = |s: &Sandbox, path: &str| {
        s.write(
            path,
            "---\nid: 01JDM3Z8Q6W5T9V2R4K7X1B0CE\nsensitivity: restricted\n---\n# Plum\n\nA plum.\n",
        );
    };
    // Confidential today, where it stood.
    hide(&s, "resources/plum.md");
    commit(&s, "2026-11-25T10:00:00Z");
    let all = told(&s, CLAUDE);
    assert!(!all.contains("plum") && !all.contains("green"), "{all}");
    assert!(told(&s, "mei").contains("green"), "a person who may see it today sees it as it was");
    // Confidential today, at another place.
    s.git(&["rm", "-q", "resources/plum.md"]);
    hide(&s, "resources/other.md");
    commit(&s, "2026-11-26T10:00:00Z");
    let all = told(&s, CLAUDE);
    assert!(!all.contains("plum") && !all.contains("green"), "{all}");
    // Forgotten: nobody sees it any more.
    s.git(&["rm", "-q", "resources/other.md"]);
    let stone = "id: 01JDM3Z8Q6W5T9V2R4K7X1B0CE\npath: resources/plum.md\nbody: sha256:";
    let stone = format!("{stone}{}\n", "0".repeat(64));
    s.write(".runebook/tombstones/plum.yaml", stone);
    commit(&s, "2026-11-27T10:00:00Z");
    for actor in [CLAUDE, "mei"] {
        let all = told(&s, actor);
        assert!(!all.contains("plum.md") && !all.contains("green"), "{actor}: {all}");
    }
}

#[test]
fn what_was_confidential_then_stays_so() {
    let s = history();
    s.write("resources/plum.md", "---\nsensitivity: restricted\n---\n# Plum\n\nA secret plum.\n");
    let then = commit(&s, "2026-11-25T10:00:00Z");
    s.write("resources/plum.md", "# Plum\n\nA plum for all.\n");
    commit(&s, "2026-11-26T10:00:00Z");
    let all = all_told(&s, CLAUDE, &then, "secret");
    assert!(!all.contains("secret") && !all.contains("plum.md"), "{all}");
    s.run(&["find", "secret", "--rev", &then]).ok();
}

fn catalog(s: &Sandbox) -> Catalog {
    let env = env(s);
    let vault = runebook::flow::vault::Vault::open(&env, &s.vault()).unwrap();
    runebook::flow::sync::open(&vault).unwrap()
}

#[test]
fn the_second_question_costs_nothing_and_few_states_are_kept() {
    let s = history();
    let mut commits = Vec::new();
    for day in 1..=12 {
        s.write("resources/plum.md", format!("# Plum\n\nPlum number x{day}x.\n"));
        commits.push(commit(&s, &format!("2026-11-22T10:00:{day:02}Z")));
    }
    s.run(&["find", "plum"]).ok();
    let before = catalog(&s);
    let (first, docs) = (before.state().unwrap(), before.searched_docs().unwrap());
    s.run(&["find", "x3x", "--rev", &commits[2]]).ok();
    let once = catalog(&s);
    assert_eq!(once.searched_docs().unwrap().len(), docs.len() + 1, "only what differs is taken in");
    for _ in 0..2 {
        s.run(&["find", "x3x", "--rev", &commits[2]]).ok();
    }
    assert_eq!(catalog(&s).state().unwrap(), once.state().unwrap(), "nothing was written");
    assert!(once.state().unwrap().generation > first.generation);
    for at in &commits[3..11] {
        s.run(&["find", "plum", "--rev", at, "--json"]).ok();
        // The third is asked for again and again, so it stays.
        s.run(&["find", "x3x", "--rev", &commits[2]]).ok();
    }
    let kept = catalog(&s);
    assert_eq!(kept.revisions().unwrap().len(), 8);
    assert_eq!(kept.searched_docs().unwrap().len(), docs.len() + 8);
    let generation = kept.state().unwrap().generation;
    s.run(&["find", "x3x", "--rev", &commits[2]]).ok();
    assert_eq!(catalog(&s).state().unwrap().generation, generation);
    s.run(&["find", "x4x", "--rev", &commits[3]]).ok();
    assert!(
        catalog(&s).state().unwrap().generation > generation,
        "the oldest was forgotten and is made anew"
    );
    // Main moves and the states go on saying what they said.
    s.write("resources/plum.md", "# Plum\n\nPlum number x13x.\n");
    commit(&s, "2026-11-28T10:00:00Z");
    s.run(&["find", "x13x", "--main"]).ok();
    s.run(&["find", "x3x", "--rev", &commits[2]]).ok();
    s.run(&["find", "x3x", "--main"]).fails(1);
    assert_eq!(catalog(&s).counts(Side::Main).unwrap(), before.counts(Side::Main).unwrap());
}

#[test]
fn a_killed_first_question_leaves_a_sound_index() {
    for step in ["sync-read", "sync-text", "sync-catalog"] {
        let s = history();
        s.run(&["find", "plum"]).ok();
        let mut run = s.command(env!("CARGO_BIN_EXE_runebook"));
        let args = ["find", "green", "--json", "--rev", "HEAD~1"];
        assert!(!run.env("RUNEBOOK_CRASH_AT", step).args(args).output().unwrap().status.success());
        assert_eq!(paths(&s.run(&["find", "plum", "--json", "--main"])), ["resources/plum.md"], "{step}");
        s.run(&["find", "green", "--main"]).fails(1);
        assert_eq!(paths(&s.run(&args)), ["resources/plum.md"], "{step}");
    }
}
