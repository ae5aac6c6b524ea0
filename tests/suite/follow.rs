//! An index that follows what was touched is the index built anew.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use runebook::flow::progress::Silent;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::model::path::VaultPath;

use crate::support::Sandbox;
use crate::sync::{TEXTS, env, picture, prepare};

/// One thing that somebody does to files or with git.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Write(usize, usize),
    /// Into a file beside, which then takes the place: as editors save.
    Replace(usize, usize),
    Delete(usize),
    Rename(usize, usize),
    RenameDirectory(usize, usize),
    Ignore(usize),
    Mode(usize),
    /// Into git whatever is there, also what is ignored.
    Track(usize),
    Untrack(usize),
    Commit,
    Checkout(usize),
    Stash,
    Reset,
    /// The index is brought up to date here.
    Sync,
}

const PATHS: [&str; 8] = [
    "a.md",
    "b/b.md",
    "b/日记 2026-11-28.md",
    "b/c/d.md",
    "evidence/log.txt",
    "b/face.png",
    "drafts/x.md",
    "b/a (conflicted copy).md",
];
const DIRECTORIES: [&str; 4] = ["b", "b/c", "drafts", "new/deep"];
const IGNORES: [&str; 4] = ["", "drafts/\n", "*.md\n!a.md\n", "c/\n*.tmp\n"];
const BRANCHES: [&str; 3] = ["main", "one", "two"];

pub(crate) fn acts() -> impl Strategy<Value = Vec<Act>> {
    let path = 0..PATHS.len();
    let act = prop_oneof![
        5 => (path.clone(), 0..TEXTS.len()).prop_map(|(path, text)| Act::Write(path, text)),
        3 => (path.clone(), 0..TEXTS.len()).prop_map(|(path, text)| Act::Replace(path, text)),
        2 => path.clone().prop_map(Act::Delete),
        2 => (path.clone(), path.clone()).prop_map(|(from, to)| Act::Rename(from, to)),
        2 => (0..DIRECTORIES.len(), 0..DIRECTORIES.len()).prop_map(|(a, b)| Act::RenameDirectory(a, b)),
        2 => (0..IGNORES.len()).prop_map(Act::Ignore),
        1 => path.clone().prop_map(Act::Mode),
        1 => path.clone().prop_map(Act::Track),
        1 => path.prop_map(Act::Untrack),
        3 => Just(Act::Commit),
        2 => (0..BRANCHES.len()).prop_map(Act::Checkout),
        1 => Just(Act::Stash),
        1 => Just(Act::Reset),
        3 => Just(Act::Sync),
    ];
    proptest::collection::vec(act, 1..16)
}

fn git(sandbox: &Sandbox, args: &[&str]) {
    // Some have nothing to do, or refuse: that is a state of the files too.
    let _ = sandbox.command("git").args(args).output().expect("git runs");
}

pub(crate) fn perform(sandbox: &Sandbox, act: &Act) {
    let at = |path: &str| sandbox.vault().join(path);
    match act {
        Act::Write(path, text) => sandbox.write(PATHS[*path], TEXTS[*text]),
        Act::Replace(path, text) => {
            let beside = format!("{}~", PATHS[*path]);
            sandbox.write(&beside, TEXTS[*text]);
            std::fs::rename(at(&beside), at(PATHS[*path])).expect("a rename");
        }
        Act::Delete(path) => drop(std::fs::remove_file(at(PATHS[*path]))),
        Act::Rename(from, to) => {
            if at(PATHS[*from]).exists() {
                std::fs::create_dir_all(at(PATHS[*to]).parent().expect("a parent")).expect("a directory");
                std::fs::rename(at(PATHS[*from]), at(PATHS[*to])).expect("a rename");
            }
        }
        Act::RenameDirectory(from, to) => {
            let (from, to) = (at(DIRECTORIES[*from]), at(DIRECTORIES[*to]));
            std::fs::create_dir_all(to.parent().expect("a parent")).expect("a directory");
            // Into itself or onto one that is not empty it cannot go.
            let _ = std::fs::rename(from, to);
        }
        Act::Ignore(rules) => sandbox.write(".gitignore", IGNORES[*rules]),
        Act::Mode(path) => {
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let _ = std::fs::set_permissions(at(PATHS[*path]), std::fs::Permissions::from_mode(0o755));
            }
        }
        Act::Track(path) => git(sandbox, &["add", "-f", PATHS[*path]]),
        Act::Untrack(path) => git(sandbox, &["rm", "-q", "--cached", PATHS[*path]]),
        Act::Commit => {
            git(sandbox, &["add", "-A"]);
            git(sandbox, &["commit", "-q", "--allow-empty", "-m", "work"]);
        }
        Act::Checkout(branch) => {
            git(sandbox, &["branch", BRANCHES[*branch]]);
            git(sandbox, &["checkout", "-q", "--force", BRANCHES[*branch]]);
        }
        Act::Stash => git(sandbox, &["stash", "-q", "-u"]),
        Act::Reset => git(sandbox, &["reset", "-q", "--hard", "HEAD~1"]),
        Act::Sync => {}
    }
}

/// What the file system says of everything below the vault, as a watcher would be told of it.
fn snapshot(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let root = sandbox.vault();
    let entries =
        walkdir::WalkDir::new(&root).min_depth(1).into_iter().filter_entry(|e| e.file_name() != ".git");
    for entry in entries.flatten() {
        let path = entry.path().strip_prefix(&root).expect("a path").to_str().expect("UTF-8").to_owned();
        let data = entry.metadata().expect("a file");
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&data);
        #[cfg(not(unix))]
        let number = 0;
        let content = if data.is_file() { std::fs::read(entry.path()).expect("bytes") } else { Vec::new() };
        all.insert(path, format!("{number} {:?} {:?} {content:?}", data.modified(), data.permissions()));
    }
    all
}

fn touched(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<VaultPath> {
    let mut paths: Vec<VaultPath> = Vec::new();
    for path in before.keys().chain(after.keys()) {
        if before.get(path) != after.get(path) {
            let rules = Path::new(path).file_name().is_some_and(|name| name == ".gitignore");
            let path = VaultPath::parse(path).expect("a path");
            paths.push(if rules { path.parent() } else { path });
        }
    }
    paths
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 60, ..ProptestConfig::default() })]
    #[test]
    fn following_what_was_touched_gives_the_index_built_anew(acts in acts(), settings in any::<bool>()) {
        let sandbox = prepare();
        if settings {
            sandbox.write(".runebook/config.yaml", "version: 1\nmain_branch: main\nignore: [\"*.png\", \"drafts/**\"]\n");
        }
        let env = env(&sandbox);
        let mut before = snapshot(&sandbox);
        let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
        sync::follow(&vault, None, &Silent).expect("an index");
        for act in acts.iter().chain([&Act::Sync]) {
            perform(&sandbox, act);
            if matches!(act, Act::Sync) {
                let after = snapshot(&sandbox);
                let touched = touched(&before, &after);
                before = after;
                let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
                sync::follow(&vault, Some(&touched), &Silent).expect("an index");
            }
        }
        let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
        let catalog = sync::open(&vault).expect("a catalog").state().expect("a state");
        let grown = picture(&vault);
        let looked = sync::open(&vault).expect("a catalog").state().expect("a state");
        prop_assert_eq!(catalog.generation, looked.generation, "a look at everything found what following missed");
        sync::reindex(&vault, true, &Silent).expect("an index");
        prop_assert_eq!(grown, picture(&vault));
    }
}

#[test]
fn only_what_was_touched_is_looked_at() {
    let sandbox = prepare();
    sandbox.write("a.md", TEXTS[0]);
    sandbox.write("b/b.md", TEXTS[1]);
    let env = env(&sandbox);
    let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
    sync::follow(&vault, None, &Silent).expect("an index");
    sandbox.write("a.md", "# Other\n\nzebra\n");
    sandbox.write("b/b.md", "# Other\n\ngiraffe\n");
    let path = |text: &str| VaultPath::parse(text).expect("a path");
    let did = sync::follow(&vault, Some(&[path("b/b.md")]), &Silent).expect("an index");
    assert_eq!(did.paths, [path("b/b.md")]);
    let did = sync::follow(&vault, Some(&[path("b/b.md"), path("nowhere")]), &Silent).expect("an index");
    assert_eq!(did.paths, []);
    let did = sync::follow(&vault, Some(&[VaultPath::root()]), &Silent).expect("an index");
    assert_eq!(did.paths, [path("a.md")]);
}

#[cfg(unix)]
#[test]
fn a_root_that_cannot_be_read_is_not_empty() {
    let sandbox = prepare();
    sandbox.write("a.md", "# A\n\nzebra\n");
    sandbox.run(&["find", "zebra"]).ok();
    let env = env(&sandbox);
    let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
    // Git's directory is elsewhere, as with a work tree on a disk that is not mounted.
    let git = sandbox.home().join("git");
    std::fs::rename(sandbox.vault().join(".git"), &git).expect("a rename");
    std::fs::write(sandbox.vault().join(".git"), format!("gitdir: {}\n", git.display())).expect("a file");
    sandbox.git(&["config", "core.worktree", &sandbox.vault().to_string_lossy()]);
    drop(vault);
    let vault = Vault::open(&env, &sandbox.vault()).expect("a vault");
    let away = sandbox.home().join("away");
    std::fs::rename(sandbox.vault(), &away).expect("a rename");
    let fault = sync::follow(&vault, None, &Silent).expect_err("nothing can be looked at");
    assert!(fault.to_string().contains("cannot be looked at"), "{fault}");
    sync::follow(&vault, Some(&[VaultPath::parse("a.md").expect("a path")]), &Silent)
        .expect_err("nothing can be looked at");
    std::fs::rename(&away, sandbox.vault()).expect("a rename");
    let did = sync::follow(&vault, None, &Silent).expect("an index");
    assert_eq!((did.added, did.removed), (0, 0));
}
