//! Places that no commit can hold, that lead elsewhere, or that nobody could name: refused with the reason, gone around,
//! and never a reason for a vault to be stuck.

use super::support::{Run, Sandbox};

fn vault() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/one.md", "# One\n");
    s.write("Plugins/p.md", "# P\n");
    s.run(&["commit", "-m", "One"]).ok();
    s
}

/// That nothing of git's or the program's is locked or half done.
#[track_caller]
fn free(s: &Sandbox) {
    assert!(!s.vault().join(".git/index.lock").exists());
    let plans = std::fs::read_dir(s.vault().join(".git/runebook/refs"));
    assert_eq!(plans.map_or(0, Iterator::count), 0);
    let run = s.run(&["status"]).ok();
    assert!(!run.err.contains("interrupted"), "{}", run.err);
    s.git(&["status"]);
}

/// That git and the program both go on as if nothing had been.
#[track_caller]
fn sound(s: &Sandbox) {
    free(s);
    s.write("resources/sound.md", format!("# Sound\n\n{}\n", s.git(&["rev-parse", "HEAD"])));
    s.git(&["add", "resources/sound.md"]);
    s.git(&["commit", "-qm", "Sound", "--", "resources/sound.md"]);
}

#[track_caller]
fn refused(run: Run, why: &str) {
    let run = run.fails(2);
    assert!(run.err.contains(why) && run.err.contains("hint: "), "{}", run.err);
}

/// The paths of the last commit that are no summaries.
fn tree(s: &Sandbox) -> Vec<String> {
    let all = s.git(&["ls-tree", "-r", "-z", "--name-only", "HEAD"]);
    let own = |path: &&str| !path.is_empty() && !path.rsplit('/').next().unwrap().starts_with('.');
    all.split('\0').filter(own).filter(|path| !path.starts_with(".runebook")).map(str::to_owned).collect()
}

const WHY: &str = "git keeps the name";

#[test]
fn what_git_keeps_for_itself_is_no_place_for_a_memory() {
    let s = vault();
    s.write("sub/note.md", "# Note\n");
    for place in ["git~1/a.md", "resources/GIT~1/a.md"] {
        refused(s.run(&["new", place, "--body", "x"]), WHY);
        refused(s.run(&["mv", "resources/one.md", place]), WHY);
        refused(s.run(&["mv", "sub/note.md", place]), WHY);
        let directory = place.strip_suffix("/a.md").unwrap();
        refused(s.run(&["mv", "sub", directory]), WHY);
        refused(s.run(&["remember", "--write", "--at", place, "Something new to know"]), WHY);
        refused(s.run(&["remember", "--write", "--at", directory, "Something new to know"]), WHY);
        assert!(!s.vault().join(directory).exists());
    }
    let id = s.run(&["propose", "new", "Something", "--json"]).ok().json()["id"].clone();
    let id = id.as_str().unwrap();
    for place in ["git~1/a.md", "git~1/a.png", "sub/.git./a.txt"] {
        refused(s.run(&["propose", "write", id, place, "--body", "x"]), WHY);
    }
    sound(&s);
}

const DISGUISED: [&str; 7] = [
    "git~1/x.md",
    "sub/.git./x.md",
    "sub/.git /x.md",
    ".git::$INDEX_ALLOCATION/x.md",
    ".git:x/x.md",
    "sub/.git\\x.md",
    "sub/git~1",
];

#[test]
#[cfg(unix)]
fn a_commit_goes_around_what_git_keeps_for_itself() {
    let s = vault();
    for path in DISGUISED {
        s.write(path, "# X\n");
    }
    s.write("resources/two.md", "# Two\n");
    let status = s.run(&["status"]).ok();
    assert!(status.err.contains("git~1/x.md: git keeps this name"), "{}", status.err);
    let head = s.git(&["rev-parse", "HEAD"]);
    for path in ["git~1/x.md", "git~1", "sub/.git./x.md", "sub/git~1"] {
        let run = s.run(&["commit", "-m", "It", path]).fails(5);
        assert!(run.err.contains("git keeps this name") && run.err.contains("another name"), "{}", run.err);
    }
    assert_eq!(s.git(&["rev-parse", "HEAD"]), head);
    let run = s.run(&["commit", "--all", "--json", "-m", "All"]).fails(1).json();
    let mut unread: Vec<&str> =
        run["unread"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    let mut all = DISGUISED;
    unread.sort_unstable();
    all.sort_unstable();
    assert_eq!(unread, all);
    assert_eq!(tree(&s), ["Plugins/p.md", "resources/one.md", "resources/two.md"]);
    let taken = s.run(&["propose", "from-worktree", "git~1/x.md"]).fails(2);
    assert!(taken.err.contains(WHY), "{}", taken.err);
    sound(&s);
    s.run(&["mv", "git~1/x.md", "resources/x.md"]).ok();
    s.run(&["commit", "-m", "Named otherwise"]).fails(1);
    assert!(tree(&s).contains(&"resources/x.md".to_owned()));
    sound(&s);
}

#[test]
fn a_folder_with_a_name_of_gits_becomes_a_vault_without_it() {
    let s = Sandbox::new();
    s.write("git~1/x.md", "# X\n");
    s.write("a.md", "# A\n");
    let run = s.run(&["init", "--existing", "--yes", "--json"]).ok().json();
    assert_eq!(run["files"], 1);
    assert_eq!(run["unread"][0]["path"], "git~1/x.md", "{run}");
    assert_eq!(tree(&s), ["a.md"]);
    sound(&s);
    let s = Sandbox::new();
    s.write("git~1/x.md", "# X\n");
    let run = s.run(&["init", "--existing", "--yes"]).ok();
    assert!(run.err.contains("git~1/x.md: git keeps this name"), "{}", run.err);
}

/// A commit with a path that only plumbing makes, of main and what `path` says.
fn forged(s: &Sandbox, path: &str) -> String {
    let blob = s.git(&["rev-parse", "HEAD:resources/one.md"]);
    let (directory, name) = path.split_once('/').unwrap();
    let script = format!(
        "below=$(printf '100644 blob {blob}\\t{name}\\n' | git mktree)
         tree=$( (git ls-tree HEAD; printf '040000 tree %s\\t{directory}\\n' $below) | git mktree)
         git commit-tree -p HEAD -m Forged $tree"
    );
    let output = s.command("sh").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// As earlier versions left it: main has moved, the index has not, its lock and the plan stand.
fn stuck(s: &Sandbox) {
    let (old, new) = (s.git(&["rev-parse", "HEAD"]), forged(s, "git~1/x.md"));
    s.write("git~1/x.md", "# One\n");
    s.git(&["update-ref", "refs/heads/main", &new]);
    let git = s.vault().canonicalize().unwrap().join(".git");
    let update =
        serde_json::json!({"name": "refs/heads/main", "old": old, "new": new, "message": "commit: x"});
    let plan = serde_json::json!({"updates": [update], "index": git});
    std::fs::create_dir_all(git.join("runebook/refs")).unwrap();
    std::fs::write(git.join("runebook/refs/new-1.json"), plan.to_string()).unwrap();
    std::fs::write(git.join("index.lock"), "runebook 1\n").unwrap();
}

#[test]
fn a_vault_that_got_stuck_comes_free() {
    let s = vault();
    stuck(&s);
    let run = s.run(&["find", "one"]).ok();
    assert!(
        run.err.contains("git~1/x.md") && run.err.contains("rename the file") && run.err.contains("commit"),
        "{}",
        run.err
    );
    free(&s);
    let run = s.run(&["commit", "-m", "As it is"]);
    assert!(run.err.contains("git~1/x.md: git keeps this name"), "{}", run.err);
    // What it says to do works.
    s.run(&["mv", "git~1/x.md", "resources/x.md"]).ok();
    s.run(&["commit", "-m", "Named otherwise"]).ok();
    let now = tree(&s);
    assert!(
        now.contains(&"resources/x.md".to_owned()) && !now.iter().any(|path| path.contains('~')),
        "{now:?}"
    );
    assert_eq!(s.read("resources/x.md"), "# One\n");
    sound(&s);
    assert!(s.run(&["status"]).ok().out.contains("none"));
}

#[test]
fn a_stuck_vault_comes_free_by_a_commit_too() {
    let s = vault();
    stuck(&s);
    std::fs::rename(s.vault().join("git~1"), s.vault().join("git")).unwrap();
    let run = s.run(&["commit", "-m", "Named otherwise"]).ok();
    assert!(run.err.contains("rename the file"), "{}", run.err);
    let now = tree(&s);
    assert!(now.contains(&"git/x.md".to_owned()) && !now.iter().any(|path| path.contains('~')), "{now:?}");
    sound(&s);
}

#[test]
#[cfg(unix)]
fn a_link_to_a_directory_is_no_way_around_what_is_left_out() {
    let s = vault();
    s.write(".gitignore", "/ignored\n");
    s.write("note.md", "# Note\n");
    s.write("open/o.md", "# O\n");
    for directory in [".hidden", "ignored"] {
        std::fs::create_dir_all(s.vault().join(directory)).unwrap();
    }
    for (link, to) in
        [("h", ".hidden"), ("ign", "ignored"), ("rbk", ".runebook"), ("o", "open"), ("all", ".")]
    {
        std::os::unix::fs::symlink(to, s.vault().join(link)).unwrap();
    }
    let through = |args: &[&str], link: &str, real: &str| {
        let run = s.run(args).fails(2);
        let says = format!("hint: say `{real}`");
        assert!(run.err.contains(&format!("`{link}`, which is a link to")), "{args:?}: {}", run.err);
        assert!(run.err.contains(&says), "{args:?}: {}", run.err);
    };
    through(&["new", "h/a.md", "--body", "x"], "h", ".hidden/a.md");
    through(&["new", "ign/a.md", "--body", "x"], "ign", "ignored/a.md");
    through(&["new", "all/h/a.md", "--body", "x"], "all", "h/a.md");
    through(&["mv", "note.md", "h/m.md"], "h", ".hidden/m.md");
    through(&["mv", "note.md", "h/"], "h", ".hidden/note.md");
    through(&["mv", "Plugins", "h"], "h", ".hidden/Plugins");
    through(&["rm", "rbk/policy.yaml"], "rbk", ".runebook/policy.yaml");
    through(&["mv", "rbk/config.yaml", "zz.md"], "rbk", ".runebook/config.yaml");
    through(&["mv", "o/o.md", "p.md"], "o", "open/o.md");
    through(&["rm", "o/o.md"], "o", "open/o.md");
    let run = s.run(&["remember", "--write", "--at", "h", "Something new to know"]).fails(2);
    assert!(run.err.contains("hint: say `.hidden/"), "{}", run.err);
    assert_eq!(std::fs::read_dir(s.vault().join(".hidden")).unwrap().count(), 0);
    // The link itself may go.
    s.run(&["rm", "-r", "h"]).ok();
    assert!(!s.vault().join("h").is_symlink() && s.vault().join(".hidden").is_dir());
    // In whatever case: elsewhere it is the same place.
    s.write(".RUNEBOOK/policy.yaml", "x\n");
    for args in [&["rm", ".RUNEBOOK/policy.yaml"][..], &["mv", ".RUNEBOOK/policy.yaml", "p.yaml"]] {
        assert!(s.run(args).fails(2).err.contains("holds settings"), "{args:?}");
    }
}

#[test]
fn no_memory_goes_deeper_than_commit_looks() {
    let s = vault();
    let at = |levels: usize| format!("deep/{}x.md", "d/".repeat(levels));
    refused(s.run(&["new", &at(99), "--body", "x"]), "100 directories deep");
    refused(s.run(&["mv", "resources/one.md", &at(99)]), "100 directories deep");
    refused(s.run(&["remember", "--write", "--at", &at(99), "Something new"]), "100 directories deep");
    let directory = format!("deep{}", "/d".repeat(98));
    s.run(&["mv", "Plugins", &directory]).ok();
    let deeper = format!("e{}", "/d".repeat(99));
    refused(s.run(&["mv", "resources", &deeper]), "100 directories deep");
    s.run(&["new", &at(98), "--body", "x"]).ok();
    s.run(&["commit", "-m", "Deep"]).ok();
    assert_eq!(tree(&s), [format!("{directory}/p.md"), at(98), "resources/one.md".to_owned()]);
}

#[test]
fn names_that_links_cannot_say() {
    let s = vault();
    let run = s.run(&["new", "", "--body", "x"]).fails(2);
    assert!(run.err.contains("needs a name") && run.err.contains("hint: for example"), "{}", run.err);
    let run = s.run(&["new", "resources/", "--body", "x"]).fails(2);
    assert!(run.err.contains("name of a directory") && !run.err.contains("-r"), "{}", run.err);
    assert_eq!(s.run(&["new", "a.md ", "--body", "x"]).ok().out, "a.md\n");
    assert_eq!(s.run(&["new", "b ", "--body", "x"]).ok().out, "b.md\n");
    refused(s.run(&["new", "c .md", "--body", "x"]), "a blank before its ending");
    s.run(&["mv", "b.md", "c.md "]).ok();
    assert!(s.vault().join("c.md").exists());
    for name in ["C#", "a^b", "a [1]", "a]", "a[.md", "C#/x", "a|b"] {
        refused(s.run(&["new", name, "--body", "x"]), "cannot be the name of a new file");
        refused(s.run(&["mv", "a.md", name]), "cannot be the name of a new file");
    }
    assert!(s.run(&["new", "C# [1]", "--body", "x"]).fails(2).err.contains("call it `C- (1).md`"));
    // What is called so already stays usable.
    s.write("C#/x [1].md", "# X\n");
    s.run(&["mv", "C#/x [1].md", "C#/y.md"]).ok();
    s.run(&["mv", "C#", "resources/"]).ok();
    s.write("x [1].md", "# X\n");
    let found = s.run(&["check", "--json", "x [1].md"]).json().to_string();
    assert!(found.contains("path.unlinkable"), "{found}");
}
