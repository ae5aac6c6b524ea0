//! Repositories that are none, or only in part: the error says what is wrong and what to do, and nothing is made over it.

use super::support::Sandbox;

fn vault() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/one.md", "# One\n\nwindow\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Start"]);
    s
}

fn away(s: &Sandbox, place: &str) {
    let at = s.vault().join(place);
    if at.is_dir() { std::fs::remove_dir_all(at) } else { std::fs::remove_file(at) }.unwrap();
}

/// Each command fails with what is wrong and what to do.
#[track_caller]
fn told(s: &Sandbox, why: &str, hint: &str) {
    for args in [&["status"][..], &["commit", "-m", "x"], &["init", "--existing", "--yes"]] {
        let run = s.run(args);
        assert!(run.status != 0 && run.status != 101, "{args:?}: {}", run.out);
        assert!(run.err.contains(why) && run.err.contains(hint), "{args:?} {why}: {}", run.err);
    }
}

#[test]
fn a_git_file_that_leads_nowhere_or_is_garbage() {
    let s = vault();
    away(&s, ".git");
    s.write(".git", "gitdir: /nowhere/at/all\n");
    told(&s, "it names /nowhere/at/all, which is not there", "git worktree repair");
    s.write(".git", "garbage\n");
    told(&s, "malformed", "gitdir: PATH");
    assert_eq!(s.read(".git"), "garbage\n");
}

#[test]
fn a_git_directory_that_misses_something() {
    let s = vault();
    let head = s.read(".git/HEAD");
    away(&s, ".git/HEAD");
    told(&s, ".git is no git repository: it has no HEAD", "ref: refs/heads/main");
    assert!(!s.vault().join(".git/HEAD").exists());
    s.write(".git/HEAD", "garbage\n");
    told(&s, "HEAD", "ref: refs/heads/main");
    s.write(".git/HEAD", &head);
    let main = s.read(".git/refs/heads/main");
    s.write(".git/refs/heads/main", "junk\n");
    told(&s, "refs/heads/main", ".git/logs/refs/heads/main");
    s.write(".git/refs/heads/main", &main);
    s.run(&["find", "window"]).ok();
    away(&s, ".git/objects");
    told(&s, "it has no objects", "clone the vault anew");
    away(&s, ".git");
    std::fs::create_dir(s.vault().join(".git")).unwrap();
    told(&s, "it has no HEAD, no objects, no refs", "runebook init --existing");
    assert_eq!(std::fs::read_dir(s.vault().join(".git")).unwrap().count(), 0);
    assert_eq!(s.read("resources/one.md"), "# One\n\nwindow\n");
}

#[test]
fn settings_without_a_repository_are_not_begun_anew() {
    let s = vault();
    away(&s, ".git");
    let refused = s.run(&["init", "--existing", "--yes"]).fails(3);
    assert!(
        refused.err.contains("has the settings of a vault") && refused.err.contains("git init"),
        "{}",
        refused.err
    );
    assert!(!s.vault().join(".git").exists());
    // What the hint says does it.
    s.git(&["init", "-q"]);
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Anew"]);
    assert!(s.run(&["find", "window"]).ok().out.contains("resources/one.md"));
    s.run(&["audit"]).ok();
}

#[test]
fn what_is_broken_further_up_is_no_matter() {
    let s = Sandbox::new();
    std::fs::create_dir(s.home().join(".git")).unwrap();
    s.run(&["init"]).ok();
    s.run(&["status"]).ok();
}

#[test]
fn an_index_of_gits_that_is_damaged() {
    for damage in [&b"garbage\n"[..], b"", b"DIRC\0\0\0\x02\0\0\0\x09"] {
        let s = vault();
        s.write("resources/two.md", "# Two\n\ntable\n");
        s.write(".git/index", damage);
        let status = s.run(&["status"]).fails(1);
        assert!(status.out.contains("approved") && status.err.contains("git reset"), "{}", status.err);
        let refused = s.run(&["commit", "-m", "Two"]).fails(5);
        assert!(
            refused.err.contains("index is damaged") && refused.err.contains("git reset"),
            "{}",
            refused.err
        );
        assert!(s.run(&["find", "table"]).ok().out.contains("resources/two.md"));
        away(&s, ".git/index");
        s.git(&["reset", "-q"]);
        s.run(&["commit", "-m", "Two"]).ok();
    }
}

#[test]
fn settings_of_gits_that_cannot_be_parsed() {
    let s = vault();
    s.write(".git/config", "[broken\n");
    told(&s, ".git/config:1", "git config --list");
}
