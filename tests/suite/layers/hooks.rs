//! Layer files under plain git: hooks and the merge driver, with real git.

use runebook::layers::stamp;

use super::super::cast;
use super::super::support::Sandbox;
use super::tracked;

/// Every layer file of HEAD with its bytes.
fn layers(s: &Sandbox) -> Vec<(String, String)> {
    let files = s.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    let layers =
        files.lines().filter(|path| path.ends_with(".abstract.md") || path.ends_with(".overview.md"));
    layers.map(|path| (path.to_owned(), s.git(&["show", &format!("HEAD:{path}")]))).collect()
}

/// That the committed layer files are those that the committed tree generates, and that nothing is left over.
#[track_caller]
fn settled(s: &Sandbox) {
    assert_eq!(s.git(&["status", "--porcelain"]), "");
    for (path, text) in layers(s) {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("viking://", &path));
        let verb = if name == ".abstract.md" { "abstract" } else { "overview" };
        let served = s.run(&[verb, directory, "--rev", "HEAD"]).ok().out;
        let made = String::from_utf8(stamp(&served)).expect("text");
        assert_eq!(text.trim_end(), made.trim_end(), "{path}");
    }
    for directory in ["resources", "user"] {
        let has = |what: &str| layers(s).iter().any(|(path, _)| *path == format!("{directory}/{what}"));
        let memories = s.git(&["ls-tree", "-r", "--name-only", "HEAD", directory]);
        let any = memories.lines().any(|path| !path.contains("/."));
        assert_eq!((has(".abstract.md"), has(".overview.md")), (any, any), "{directory}");
    }
}

fn hooked() -> Sandbox {
    let vault = tracked();
    vault.run(&["hooks", "install"]).ok();
    settled(&vault);
    vault
}

fn note(vault: &Sandbox, name: &str, words: &str) {
    vault.write(&format!("resources/{name}.md"), format!("# {name}\n\n{words}, see [[home]].\n"));
}

#[test]
fn plain_commits_carry_their_layers() {
    let vault = hooked();
    note(&vault, "tea", "Green tea only");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Tea"]);
    settled(&vault);
    assert!(vault.read("resources/.overview.md").contains("Green tea only"));
    // Of all, of some, and changed once more.
    note(&vault, "tea", "Black tea at times");
    vault.git(&["commit", "-qam", "Black"]);
    settled(&vault);
    note(&vault, "tea", "White tea");
    note(&vault, "rice", "Brown rice");
    vault.git(&["commit", "-qm", "One of two", "resources/tea.md"]);
    assert_eq!(vault.git(&["status", "--porcelain"]), "?? resources/rice.md");
    assert!(!vault.read("resources/.overview.md").contains("rice"));
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-q", "--amend", "--no-edit"]);
    settled(&vault);
    vault.git(&["rm", "-q", "resources/rice.md"]);
    vault.git(&["commit", "-qm", "No rice"]);
    settled(&vault);
    cast::in_order(&vault);
    // What stands unstaged in a file stays out of its commit and out of the layers.
    note(&vault, "tea", "Staged tea");
    vault.git(&["add", "-A"]);
    note(&vault, "tea", "Unstaged tea");
    vault.git(&["commit", "-qm", "Half"]);
    let committed = vault.git(&["show", "HEAD:resources/.overview.md"]);
    assert!(committed.contains("Staged tea") && !committed.contains("Unstaged tea"), "{committed}");
    assert!(vault.read("resources/tea.md").contains("Unstaged tea"));
}

#[test]
fn merges_settle_without_a_conflict() {
    let vault = hooked();
    vault.git(&["checkout", "-qb", "theirs"]);
    vault.git(&["checkout", "-q", "-B", "main"]);
    note(&vault, "tea", "Green tea");
    vault.write("user/a.md", "# A\n\nSee [[home]] at once.\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Tea"]);
    let theirs = vault.git(&["rev-parse", "HEAD"]);
    vault.git(&["reset", "-q", "--hard", "HEAD~1"]);
    note(&vault, "rice", "Brown rice");
    vault.write("user/b.md", "# B\n\nSee [[home]] later.\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Rice"]);
    let ours = vault.git(&["rev-parse", "HEAD"]);
    vault.git(&["merge", "-q", "-m", "Both", &theirs]);
    settled(&vault);
    assert_eq!(vault.git(&["rev-parse", "HEAD^1", "HEAD^2"]), format!("{ours}\n{theirs}"));
    let overview = vault.read("resources/.overview.md");
    assert!(overview.contains("Green tea") && overview.contains("Brown rice"), "{overview}");
    let audit = vault.run(&["audit"]).ok().out;
    // The two notes that were there before layers were files.
    assert_eq!(audit.matches("left behind").count(), 1, "{audit}");
    // A merge that conflicts elsewhere carries the layers when the person commits it.
    vault.git(&["reset", "-q", "--hard", &theirs]);
    note(&vault, "rice", "White rice");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "White"]);
    let merge = vault.command("git").args(["merge", "-q", "-m", "Two", &ours]).output().expect("git runs");
    assert!(!merge.status.success());
    assert_eq!(vault.git(&["diff", "--name-only", "--diff-filter=U"]), "resources/rice.md");
    note(&vault, "rice", "Both rices");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Two"]);
    settled(&vault);
    assert!(vault.read("resources/.overview.md").contains("Both rices"));
}

#[test]
fn rebases_pulls_and_picks_settle() {
    let vault = hooked();
    let base = vault.git(&["rev-parse", "HEAD"]);
    note(&vault, "tea", "Green tea");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Tea"]);
    vault.git(&["branch", "upstream"]);
    vault.git(&["reset", "-q", "--hard", &base]);
    for (name, words) in [("rice", "Brown rice"), ("salt", "Sea salt")] {
        note(&vault, name, words);
        vault.git(&["add", "-A"]);
        vault.git(&["commit", "-qm", name]);
    }
    let before = vault.git(&["rev-parse", "HEAD"]);
    vault.git(&["rebase", "-q", "upstream"]);
    settled(&vault);
    let overview = vault.read("resources/.overview.md");
    assert!(
        ["Green tea", "Brown rice", "Sea salt"].iter().all(|words| overview.contains(words)),
        "{overview}"
    );
    assert_eq!(vault.git(&["log", "--format=%s", "upstream..HEAD"]), "Make the layers anew\nsalt\nrice");
    vault.run(&["audit"]).ok();
    // The same from another clone.
    vault.git(&["reset", "-q", "--hard", &before]);
    vault.git(&["pull", "-q", "--rebase", ".", "upstream"]);
    settled(&vault);
    vault.git(&["reset", "-q", "--hard", &before]);
    vault.git(&["pull", "-q", "--no-rebase", "--no-edit", ".", "upstream"]);
    settled(&vault);
    vault.git(&["reset", "-q", "--hard", &before]);
    vault.git(&["cherry-pick", "upstream"]);
    settled(&vault);
    vault.git(&["revert", "--no-edit", "HEAD~1"]);
    settled(&vault);
    // On another branch nothing is made.
    vault.git(&["checkout", "-qb", "draft"]);
    note(&vault, "beer", "No beer");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Beer"]);
    assert!(!vault.read("resources/.overview.md").contains("beer"));
    vault.git(&["checkout", "-q", "main"]);
    vault.git(&["merge", "-q", "--squash", "draft"]);
    vault.git(&["commit", "-qm", "Beer"]);
    settled(&vault);
    vault.git(&["reset", "-q", "--hard", "HEAD~1"]);
    vault.git(&["merge", "-q", "draft"]);
    settled(&vault);
}

#[test]
fn persons_files_are_merged_as_theirs() {
    let vault = hooked();
    vault.write("resources/.abstract.md", "My own words.\n");
    note(&vault, "tea", "Green tea");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Mine"]);
    assert_eq!(vault.git(&["show", "HEAD:resources/.abstract.md"]), "My own words.");
    let mine = vault.git(&["rev-parse", "HEAD"]);
    vault.git(&["reset", "-q", "--hard", "HEAD~1"]);
    note(&vault, "home", "Another home");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Home"]);
    vault.git(&["merge", "-q", "-m", "Both", &mine]);
    assert_eq!(vault.read("resources/.abstract.md"), "My own words.\n");
    assert!(vault.read("resources/.overview.md").contains("Green tea"));
    assert_eq!(vault.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_was_there_before_runs_and_comes_back() {
    let vault = tracked();
    let hook = vault.vault().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().expect("a parent")).expect("a directory");
    std::fs::write(&hook, "#!/bin/sh\n[ ! -e no ] || { echo refused; exit 1; }\n").expect("a hook");
    let mode = |at: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    };
    mode(&hook);
    std::fs::create_dir_all(vault.vault().join(".git/info")).expect("a directory");
    std::fs::write(vault.vault().join(".git/info/attributes"), "*.png binary").expect("attributes");
    let said = vault.run(&["hooks", "install"]).ok().out;
    assert!(said.contains("pre-commit") && said.contains("still runs, first"), "{said}");
    vault.run(&["hooks", "install"]).ok();
    note(&vault, "tea", "Green tea");
    vault.write("no", "");
    vault.git(&["add", "resources"]);
    let refused = vault.command("git").args(["commit", "-qm", "No"]).output().expect("git runs");
    assert!(!refused.status.success());
    std::fs::remove_file(vault.vault().join("no")).expect("it is there");
    vault.git(&["commit", "-qm", "Tea"]);
    settled(&vault);
    let json = vault.run(&["hooks", "uninstall", "--json"]).ok().json();
    assert_eq!(json["parts"][1]["did"], "restored", "{json}");
    assert!(std::fs::read_to_string(&hook).expect("the old one").contains("refused"));
    let left = std::fs::read_to_string(vault.vault().join(".git/info/attributes")).expect("attributes");
    assert_eq!(left.trim_end(), "*.png binary");
    let config = vault.command("git").args(["config", "--get-regexp", "^merge"]).output().expect("git runs");
    assert!(config.stdout.is_empty(), "{config:?}");
    let config = std::fs::read_to_string(vault.vault().join(".git/config")).expect("a configuration");
    assert!(!config.contains("merge"), "{config}");
    // Where another program keeps the hooks, they are left to it.
    vault.git(&["config", "core.hooksPath", ".husky"]);
    let run = vault.run(&["hooks", "install"]).ok();
    assert!(run.err.contains("runebook hooks run pre-commit") && !vault.vault().join(".husky").exists());
}
