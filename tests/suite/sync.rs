//! The index after any sequence of file operations is the index built anew.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use runebook::catalog::{Catalog, DocRow, Side, StoredLink};
use runebook::flow::find::{FindHit, FindRequest, find};
use runebook::flow::progress::Silent;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::model::access::{Access, View};
use runebook::model::clock::{Cancel, Clock, Entropy, Env};

use crate::support::Sandbox;

/// One thing that somebody does to the files.
#[derive(Debug, Clone)]
enum Act {
    Write(usize, usize),
    Delete(usize),
    Rename(usize, usize),
    Touch(usize),
    Commit,
    Checkout(usize),
    Sync,
}

const PATHS: [&str; 7] =
    ["a.md", "b/b.md", "b/日记 2026-11-28.md", "b/c/d.md", "evidence/log.txt", "b/face.png", "b'q\".md"];

pub(crate) const TEXTS: [&str; 7] = [
    "---\ntitle: Window seats\ntags: [travel]\naliases: [seats]\n---\n# Seats\nBooks window seats. See [[b]].\n",
    "# Meeting\n\nThe meeting about the database migration.\n\n## Later\n\nWindow cleaning is on Monday.\n",
    "# 座位\n\n他喜欢靠窗座位，短途无所谓。\r\n\r\n见 [[a]]。\n",
    "plain text without a heading, window window window",
    "---\nbroken: [yaml\n---\nA window still.\n",
    "\u{FEFF}# With a mark\n\nmigration\n",
    "",
];

const BRANCHES: [&str; 3] = ["main", "one", "two"];

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let path = 0..PATHS.len();
    let act = prop_oneof![
        6 => (path.clone(), 0..TEXTS.len()).prop_map(|(path, text)| Act::Write(path, text)),
        2 => path.clone().prop_map(Act::Delete),
        2 => (path.clone(), path.clone()).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => path.prop_map(Act::Touch),
        3 => Just(Act::Commit),
        2 => (0..BRANCHES.len()).prop_map(Act::Checkout),
        3 => Just(Act::Sync),
    ];
    proptest::collection::vec(act, 1..14)
}

pub(crate) fn env(sandbox: &Sandbox) -> Env {
    Env {
        vars: BTreeMap::new(),
        clock: Clock::fixed("2026-11-29T10:00:00Z".parse().expect("a time")),
        entropy: Entropy::seeded(1),
        current_dir: sandbox.vault(),
        cancel: Cancel::default(),
        program: None,
    }
}

pub(crate) fn prepare() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox.write(".runebook/config.yaml", "version: 1\nmain_branch: main\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "settings"]);
    sandbox
}

fn perform(sandbox: &Sandbox, act: &Act) {
    let at = |path: usize| sandbox.vault().join(PATHS[path]);
    match act {
        Act::Write(path, text) => sandbox.write(PATHS[*path], TEXTS[*text]),
        Act::Delete(path) => drop(std::fs::remove_file(at(*path))),
        Act::Rename(from, to) => {
            if at(*from).exists() {
                std::fs::create_dir_all(at(*to).parent().expect("a parent")).expect("a directory");
                std::fs::rename(at(*from), at(*to)).expect("a rename");
            }
        }
        Act::Touch(path) => {
            if let Ok(bytes) = std::fs::read(at(*path)) {
                std::fs::write(at(*path), bytes).expect("a file");
            }
        }
        Act::Commit => {
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
        }
        Act::Checkout(branch) => {
            // Uncommitted work stays or is stashed away; here it is committed first.
            perform(sandbox, &Act::Commit);
            let branch = BRANCHES[*branch];
            if sandbox.git(&["branch", "--list", branch]).is_empty() {
                sandbox.git(&["branch", branch]);
            }
            sandbox.git(&["checkout", "-q", branch]);
        }
        Act::Sync => {}
    }
}

/// Everything that can be asked of an index, without the numbers that it gives by itself.
#[derive(Debug, PartialEq)]
pub(crate) struct Picture {
    docs: Vec<(String, DocRow)>,
    links: Vec<StoredLink>,
    hits: Vec<FindHit>,
}

pub(crate) fn picture(vault: &Vault<'_>) -> Picture {
    let mut picture = Picture { docs: Vec::new(), links: Vec::new(), hits: Vec::new() };
    for view in [View::WorkTree, View::Main] {
        let access = Access { actor: None, view: view.clone() };
        for query in
            ["window seats", "migration", "靠窗", "位", "\"window seats\"", "tag:travel", "-meeting window"]
        {
            let request = FindRequest { query: query.to_owned(), limit: 20, ..FindRequest::default() };
            picture.hits.extend(find(vault, &access, &request, &Silent).expect("an answer").hits);
        }
    }
    let catalog: Catalog = sync::open(vault).expect("a catalog");
    for side in [Side::Main, sync::side(vault, &catalog).expect("a view")] {
        let mut paths = Vec::new();
        catalog
            .each_doc(side, |mut row| {
                row.id = runebook::catalog::DocId(0);
                paths.push(row.path.clone());
                picture.docs.push((format!("{side:?}"), row));
            })
            .expect("documents");
        for path in paths {
            picture.links.extend(catalog.links_of(side, &path).expect("links"));
        }
    }
    picture
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]
    #[test]
    fn any_sequence_of_operations_gives_the_index_built_anew(acts in acts()) {
        let sandbox = prepare();
        let env = env(&sandbox);
        for act in &acts {
            perform(&sandbox, act);
            if matches!(act, Act::Sync) {
                let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
                sync::ensure(&vault, &Silent).expect("an index");
            }
        }
        let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
        sync::ensure(&vault, &Silent).expect("an index");
        let grown = picture(&vault);
        sync::reindex(&vault, true, &Silent).expect("an index");
        prop_assert_eq!(grown, picture(&vault));
    }
}

#[test]
fn a_run_killed_between_its_two_commits_is_mended() {
    let sandbox = prepare();
    let env = env(&sandbox);
    sandbox.write("a.md", TEXTS[0]);
    sandbox.write("b/b.md", TEXTS[1]);
    let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
    sync::reindex(&vault, false, &Silent).expect("an index");
    let index = only_index(&sandbox);
    let before = std::fs::read(index.join("catalog.db")).expect("the catalog");

    sandbox.write("b/b.md", "# Meeting\n\nAnother text about seats.\n");
    std::fs::remove_file(sandbox.vault().join("a.md")).expect("a removal");
    sandbox.write("b/c/d.md", TEXTS[2]);
    sync::reindex(&vault, false, &Silent).expect("an index");
    // The text index has committed, the catalog has not: as if the process had died just there.
    for name in ["catalog.db-wal", "catalog.db-shm"] {
        let _ = std::fs::remove_file(index.join(name));
    }
    std::fs::write(index.join("catalog.db"), before).expect("the catalog");

    let answer = sync::reindex(&vault, false, &Silent).expect("an index");
    assert!(!answer.rebuilt, "it is mended, not built anew: {answer:?}");
    let mended = picture(&vault);
    sync::reindex(&vault, true, &Silent).expect("an index");
    assert_eq!(mended, picture(&vault));
}

fn only_index(sandbox: &Sandbox) -> std::path::PathBuf {
    let derived = sandbox.vault().join(".git/runebook");
    let mut found = std::fs::read_dir(derived).expect("the derived state").flatten();
    let index = found.find(|entry| entry.file_name().to_string_lossy().starts_with("index-"));
    index.expect("an index").path()
}

fn damage(at: &Path) {
    let bytes = std::fs::read(at).expect("a file");
    std::fs::write(at, vec![0x5A; bytes.len()]).expect("a file");
}

#[test]
fn a_damaged_index_is_built_anew_and_said() {
    let sandbox = prepare();
    sandbox.write("a.md", TEXTS[0]);
    sandbox.run(&["reindex"]).ok();
    let whole = sandbox.run(&["find", "window", "--json"]).ok().json()["hits"].clone();
    for name in ["catalog.db", "text/meta.json"] {
        let at = only_index(&sandbox).join(name);
        damage(&at);
        let _ = std::fs::remove_file(only_index(&sandbox).join("catalog.db-wal"));
        let run = sandbox.run(&["find", "window", "--json"]).ok();
        assert_eq!(run.json()["hits"], whole, "{name}");
        assert!(
            run.json()["freshness"]["notes"][0].as_str().is_some_and(|n| n.contains("built anew")),
            "{}",
            run.out
        );
    }
    // Segments that are gone.
    for entry in std::fs::read_dir(only_index(&sandbox).join("text")).expect("the index").flatten() {
        if entry.path().extension().is_some_and(|e| e == "idx" || e == "term") {
            std::fs::remove_file(entry.path()).expect("a removal");
        }
    }
    assert_eq!(sandbox.run(&["find", "window", "--json"]).ok().json()["hits"], whole);
}

#[test]
fn another_schema_is_thrown_away() {
    let sandbox = prepare();
    sandbox.write("a.md", TEXTS[0]);
    sandbox.run(&["reindex"]).ok();
    let state = sandbox.vault().join(".git/runebook/state.json");
    let text = std::fs::read_to_string(&state).expect("the state");
    std::fs::write(&state, text.replace("\"form\":2", "\"form\":0")).expect("the state");
    assert_eq!(sandbox.run(&["find", "window", "--json"]).ok().json()["hits"][0]["path"], "a.md");
}

#[test]
fn several_processes_index_at_once() {
    let sandbox = prepare();
    for at in 0..60 {
        sandbox.write(&format!("notes/{at}.md"), format!("# Note {at}\n\nwindow number{at}\n"));
    }
    let mut running = Vec::new();
    for _ in 0..4 {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
        running.push(command.args(["find", "window", "-n", "100", "--json"]).output_later());
    }
    for run in running {
        let output = run.wait_with_output().expect("the program runs");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(answer["hits"].as_array().map(Vec::len), Some(60));
    }
}

trait Later {
    fn output_later(&mut self) -> std::process::Child;
}

impl Later for std::process::Command {
    fn output_later(&mut self) -> std::process::Child {
        self.stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it starts")
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_pending_and_stops_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = prepare();
    sandbox.write("a.md", TEXTS[0]);
    sandbox.write("locked.md", "# Locked\n\nwindow\n");
    let locked = sandbox.vault().join("locked.md");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).expect("rights");
    if std::fs::read(&locked).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let answer = sandbox.run(&["find", "window", "--json"]).ok().json();
    assert_eq!(answer["freshness"]["pending"], 1);
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o644)).expect("rights");
    let answer = sandbox.run(&["find", "window", "--json"]).ok().json();
    assert_eq!(answer["freshness"]["pending"], 0);
    assert_eq!(answer["hits"].as_array().map(Vec::len), Some(2));
}

#[test]
fn line_ends_of_a_checkout_are_no_difference() {
    let sandbox = prepare();
    sandbox.write("a.md", "# A\n\nwindow\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "a"]);
    sandbox.write("a.md", "# A\r\n\r\nwindow\r\n");
    let answer = sandbox.run(&["find", "window", "--json"]).ok().json();
    assert_eq!(answer["freshness"]["worktree"], "clean");
    assert_eq!(answer["hits"][0]["approved"], true);
}

#[test]
fn odd_files_are_taken_in_or_named() {
    let sandbox = prepare();
    sandbox.write("invalid.md", b"# Caf\xE9\n\nwindow \xFF\n");
    sandbox.write("binary.md", b"\x00\x01\x02window");
    sandbox.write("large.md", format!("# Large\n\n{}", "window and more words\n".repeat(200_000)));
    sandbox.write("line\nbreak \"quoted\".md", "# Odd name\n\nwindow\n");
    let answer = sandbox.run(&["reindex", "--json"]).ok().json();
    assert_eq!(answer["memories"], 3);
    let rules: Vec<&str> =
        answer["problems"].as_array().expect("problems").iter().filter_map(|p| p["rule"].as_str()).collect();
    assert!(rules.contains(&"index.binary"), "{rules:?}");
    let hits = sandbox.run(&["find", "window", "--json"]).ok().json();
    assert_eq!(hits["hits"].as_array().map(Vec::len), Some(3));
}
