//! What may not be read or written is named with what to do, the rest goes on, and nothing is taken for gone.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::bad_watch::{apart, text};
use super::cast;
use super::support::{Run, Sandbox};

/// A vault of somebody whom permissions hold. The superuser is held by none, so it gives the vault away and works as
/// `nobody`.
struct Held {
    s: Sandbox,
    drop: bool,
}

const NOBODY: u32 = 65534;

impl Held {
    /// `None` where the superuser cannot become somebody else here.
    fn new() -> Option<Held> {
        let s = Sandbox::new();
        std::fs::set_permissions(s.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let root = s.user() == 0;
        if root {
            let mut program = Command::new("setpriv");
            program.args(Held::ARGS).arg(env!("CARGO_BIN_EXE_runebook")).arg("-V");
            if !program.output().is_ok_and(|output| output.status.success()) {
                eprintln!("skipped: the superuser cannot run the program as somebody else here");
                return None;
            }
            give(s.home());
        }
        let held = Held { s, drop: root };
        held.run(&["init"]).ok();
        held.sh("mkdir -p resources/a resources/b; echo '# One\nwindow [[two]]' > resources/a/one.md
             echo '# Two\ntable' > resources/b/two.md; echo '# Three\nchair' > resources/b/three.md");
        held.run(&["commit", "-m", "Three notes"]).ok();
        held.run(&["find", "table"]).ok();
        Some(held)
    }

    const ARGS: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

    fn command(&self, program: &str) -> Command {
        if !self.drop {
            return self.s.command(program);
        }
        let mut command = self.s.command("setpriv");
        command.args(Held::ARGS).arg(program);
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        let output = self.command(env!("CARGO_BIN_EXE_runebook")).args(args).output().unwrap();
        let run = Run::of(output);
        assert!(!run.err.contains("panicked"), "{args:?}: {}", run.err);
        run
    }

    #[track_caller]
    fn sh(&self, script: &str) {
        assert!(self.command("sh").args(["-c", script]).status().unwrap().success(), "{script}");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Or the directory could not be removed.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.s.home()).status();
    }
}

fn give(at: &std::path::Path) {
    std::os::unix::fs::lchown(at, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in at.read_dir().into_iter().flatten() {
        give(&entry.unwrap().path());
    }
}

#[track_caller]
fn named(run: &Run, path: &str) {
    let text = format!("{}{}", run.out, run.err);
    assert!(text.contains(path) && text.contains("ermission denied"), "{path}: {text}");
}

#[test]
fn a_file_that_cannot_be_read() {
    let Some(v) = Held::new() else { return };
    v.sh("chmod 000 resources/b/two.md");
    let path = "resources/b/two.md";
    assert!(v.run(&["find", "window"]).ok().out.contains("resources/a/one.md"));
    assert!(v.run(&["find", "table"]).ok().out.contains(path), "what is known of it stays");
    named(&v.run(&["grep", "table"]).fails(1), path);
    let cat = v.run(&["cat", path]).fails(5);
    named(&cat, path);
    assert!(cat.err.contains("right to read it"), "{}", cat.err);
    assert!(v.run(&["tree"]).ok().out.contains("two.md"));
    let status = v.run(&["status"]).ok();
    named(&status, path);
    assert!(status.out.contains("? resources/b/two.md") && status.err.contains("chmod"), "{}", status.err);
    let nothing = v.run(&["commit", "-m", "All"]).fails(1);
    named(&nothing, path);
    assert!(nothing.out.contains("nothing to commit"), "{}", nothing.out);
    let overview = v.run(&["overview", "resources/b"]).ok();
    named(&overview, path);
    assert!(overview.out.contains("Two") && overview.out.contains("Three"), "{}", overview.out);
    assert!(v.run(&["check", "--json"]).out.contains(path));
    // The rest goes on.
    v.sh("echo more >> resources/a/one.md");
    v.run(&["commit", "resources/a", "-m", "One"]).ok();
    v.run(&["mv", "resources/b/three.md", "resources/b/drei.md"]).ok();
    v.run(&["undo"]).ok();
    // What git cannot be asked about is kept when it is removed, and comes back.
    assert!(v.run(&["rm", "-r", "resources/b"]).ok().out.contains("kept as"));
    let refused = v.run(&["undo"]).fails(5);
    named(&refused, path);
    assert!(refused.err.contains("hint: "), "{}", refused.err);
    v.sh("chmod -R u+r .git/runebook/trash");
    v.run(&["undo"]).ok();
    assert_eq!(v.s.read(path), "# Two\ntable\n");
}

/// What the last commit changed, as git tells it, without summaries.
fn last(v: &Held) -> Vec<String> {
    let output =
        v.command("git").args(["show", "--format=", "--name-status", "--no-renames"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().replace('\t', " ");
    text.lines().filter(|line| !line.contains("/.") && !line.contains(" .")).map(str::to_owned).collect()
}

#[test]
fn a_commit_goes_around_what_cannot_be_read() {
    let Some(v) = Held::new() else { return };
    v.sh("cd resources/b; echo 4 > four.md; echo 5 > five.md; echo 6 > six.md; mkdir two; echo 7 > two/seven.md");
    v.run(&["commit", "-m", "More"]).ok();
    // Beside it and above: new, changed, gone, staged as gone, begun by its name, and another that may not be read.
    v.sh("cd resources/b; echo more >> five.md; rm four.md; git rm -q --cached six.md; rm six.md; echo 8 > two.mdx.md
         echo more >> two/seven.md; echo more >> ../a/one.md; echo new > ../new.md; chmod 000 two.md
         echo secret > nine.md; chmod 000 nine.md");
    let refused = v.run(&["commit", "-m", "It", "resources/b/five.md", "resources/b/two.md"]).fails(5);
    named(&refused, "resources/b/two.md");
    assert!(refused.err.contains("hint: give yourself the right"), "{}", refused.err);
    named(&v.run(&["commit", "-m", "It", "resources/b/nine.md"]).fails(5), "resources/b/nine.md");
    let run = v.run(&["commit", "--json", "-m", "The rest", "resources/b"]).fails(1).json();
    let unread: Vec<&str> =
        run["unread"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(unread, ["resources/b/two.md", "resources/b/nine.md"], "{run}");
    let b = ["M five.md", "D four.md", "D six.md", "A two.mdx.md", "M two/seven.md"];
    assert_eq!(last(&v), b.map(|line| format!("{} resources/b/{}", &line[..1], &line[2..])));
    let run = v.run(&["commit", "-m", "All"]).fails(1);
    assert!(run.err.contains("resources/b/two.md") && run.err.contains("resources/b/nine.md"), "{}", run.err);
    assert_eq!(last(&v), ["M resources/a/one.md", "A resources/new.md"]);
    assert!(v.run(&["commit", "-m", "All"]).fails(1).out.contains("nothing to commit"));
    let overview = v.run(&["overview", "--json", "resources/b"]).ok().json();
    assert_eq!(overview["unread"].as_array().unwrap().len(), 2, "{overview}");
    v.sh("chmod 644 resources/b/*.md");
    v.run(&["commit", "-m", "All"]).ok();
    assert_eq!(last(&v), ["A resources/b/nine.md"]);
    assert!(v.run(&["status"]).ok().out.contains("none"));
}

/// Directories in each other, so many levels of them: more than a path may name, so the innermost is made first.
fn nest(at: &std::path::Path, levels: usize) {
    let (chain, around) = (at.join("d"), at.join("around"));
    std::fs::create_dir(&chain).unwrap();
    for _ in 1..levels {
        std::fs::create_dir(&around).unwrap();
        std::fs::rename(&chain, around.join("d")).unwrap();
        std::fs::rename(&around, &chain).unwrap();
    }
}

/// Takes them apart again: removing them as a whole needs more open directories than a process may have.
fn dismantle(at: &std::path::Path) {
    let (chain, within) = (at.join("d"), at.join("within"));
    while chain.exists() {
        let more = std::fs::rename(chain.join("d"), &within).is_ok();
        std::fs::remove_dir_all(&chain).unwrap();
        if more {
            std::fs::rename(&within, &chain).unwrap();
        }
    }
}

#[test]
fn directories_that_lie_too_deep_are_named_and_the_rest_goes_on() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/one.md", "# One\n");
    s.write(&format!("deep/{}x.md", "d/".repeat(120)), "# Committed by git\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "One, and one that lies deep"]);
    nest(&s.vault().join("resources"), 5_000);
    s.write("resources/one.md", "# One\n\nmore\n");
    s.write(&format!("resources/{}x.md", "d/".repeat(98)), "# The deepest that is seen\n");
    s.write(&format!("resources/{}x.md", "d/".repeat(99)), "# Too deep\n");
    s.write("resources.md", "# Beside\n");
    let (deep, deeper) = (format!("deep{}", "/d".repeat(99)), format!("resources{}", "/d".repeat(99)));
    let status = s.run(&["status", "--json"]).ok().json();
    let unread = serde_json::json!([deep, deeper]);
    let paths = |json: &serde_json::Value| -> serde_json::Value {
        json["unread"].as_array().unwrap().iter().map(|one| one["path"].clone()).collect()
    };
    assert_eq!(paths(&status), unread);
    assert_eq!(status["uncommitted"], 5, "{status}");
    let named = s.run(&["commit", "-m", "It", &format!("{deeper}/x.md")]).fails(5);
    assert!(named.err.contains("100 directories deep") && named.err.contains("move it up"), "{}", named.err);
    let run = s.run(&["commit", "-m", "All", "--json"]).fails(1).json();
    assert_eq!(paths(&run), unread);
    let seen = format!("resources/{}x.md", "d/".repeat(98));
    let changed = s.git(&["diff", "--name-status", "HEAD~", "HEAD", "--", ":!**/.*.md", ":!.*.md"]);
    assert_eq!(changed, format!("A\tresources.md\nA\t{seen}\nM\tresources/one.md"));
    assert!(s.run(&["overview", "resources"]).ok().err.contains("100 directories deep"));
    s.run(&["find", "deepest"]).ok();
    for args in [&["mv", "resources/one.md", "resources/uno.md"][..], &["check"], &["diff"]] {
        let run = s.run(args);
        assert!((0..=5).contains(&run.status) && !run.err.contains("panicked"), "{args:?}: {}", run.err);
    }
    // Of what is ignored nobody is told, but for what git has in it.
    s.write(".gitignore", "/resources/d/d/d\n/deep\n");
    assert_eq!(paths(&s.run(&["status", "--json"]).ok().json()), serde_json::json!([deep]));
    dismantle(&s.vault().join("resources"));
}

#[test]
fn a_directory_that_cannot_be_read_is_not_empty() {
    let Some(v) = Held::new() else { return };
    v.sh("chmod 000 resources/b");
    assert!(v.run(&["find", "table"]).ok().out.contains("resources/b/two.md"));
    let listed = v.run(&["ls", "resources/b"]).fails(1);
    named(&listed, "resources/b");
    assert!(!listed.err.contains("holds no memory"), "{}", listed.err);
    named(&v.run(&["tree"]).ok(), "resources/b");
    named(&v.run(&["grep", "table"]).fails(1), "resources/b");
    for args in [&["cat"][..], &["rm"], &["edit"], &["similar"]] {
        named(&v.run(&[args, &["resources/b/two.md"]].concat()).fails(5), "resources/b/two.md");
    }
    let status = v.run(&["status"]).ok();
    assert!(
        status.out.contains("? resources/b/two.md") && !status.out.contains("D resources"),
        "{}",
        status.out
    );
    named(&v.run(&["commit", "-m", "All"]).fails(1), "resources/b/two.md");
    named(&v.run(&["commit", "resources/b/two.md", "-m", "It"]).fails(5), "resources/b/two.md");
    let found = v.run(&["check", "--json"]).json();
    let rules: Vec<&str> =
        found["rules"].as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap()).collect();
    assert!(rules.contains(&"path.unreadable") && !rules.contains(&"link.broken"), "{rules:?}");
    assert!(v.run(&["overview", "resources"]).ok().out.contains("Two"));
    named(&v.run(&["rm", "-r", "resources/b"]).fails(5), "resources/b");
    v.run(&["reindex"]).ok();
    v.sh("chmod 755 resources/b");
    assert!(v.run(&["find", "table"]).ok().out.contains("resources/b/two.md"));
    assert!(v.run(&["status"]).ok().out.contains("none"));
}

#[test]
fn what_cannot_be_removed_is_not_noted_as_removed() {
    let Some(v) = Held::new() else { return };
    v.sh("chmod 555 resources/b");
    for args in [&["rm", "resources/b/two.md"][..], &["mv", "resources/b/two.md", "resources/b/x.md"]] {
        let refused = v.run(args).fails(5);
        named(&refused, "resources/b/two.md");
        assert!(refused.err.contains("hint: "), "{}", refused.err);
    }
    let list = v.run(&["undo", "--list"]);
    assert!(!list.out.contains("remove") && !list.out.contains("move"), "{}", list.out);
}

#[test]
fn what_cannot_be_moved_is_nowhere_else() {
    let Some(v) = Held::new() else { return };
    v.sh("chmod 555 resources/b");
    named(&v.run(&["mv", "resources/b/two.md", "new/place/x.md"]).fails(5), "resources/b/two.md");
    v.sh("test ! -e new && test -e resources/b/two.md");
    assert!(v.run(&["status"]).ok().out.contains("none"));
}

#[test]
fn what_cannot_be_looked_into_is_not_moved() {
    let Some(v) = Held::new() else { return };
    for (shut, moved) in [
        ("resources/b", "resources/b"),
        ("resources/b", "resources"),
        ("resources/b/two.md", "resources/b"),
        ("resources/b/two.md", "resources/b/two.md"),
    ] {
        v.sh(&format!("chmod 000 {shut}"));
        let to = if moved.ends_with(".md") { "elsewhere.md" } else { "elsewhere" };
        named(&v.run(&["mv", moved, to]).fails(5), shut);
        v.sh(&format!("chmod 755 {shut}; test ! -e {to}"));
    }
    // What git ignores it does not know under either name.
    v.sh("chmod 644 resources/b/*; echo /resources/b/own > .gitignore; mkdir -m 000 resources/b/own");
    v.run(&["mv", "resources/b/two.md", "resources/zwei.md"]).ok();
}

#[test]
fn a_vault_that_cannot_be_written_is_read() {
    let Some(v) = Held::new() else { return };
    v.sh("chmod -R a-w .");
    assert!(v.run(&["find", "table"]).ok().out.contains("resources/b/two.md"));
    for args in
        [&["ls"][..], &["tree"], &["grep", "table"], &["status"], &["overview", "resources"], &["log"]]
    {
        v.run(args).ok();
    }
    assert!(v.run(&["links", "resources/a/one.md"]).ok().out.contains("resources/b/two.md"));
    for args in [
        &["new", "resources/n.md"][..],
        &["rm", "resources/b/two.md"],
        &["propose", "new", "Something"],
        &["hooks", "install"],
        &["watch"],
    ] {
        let refused = v.run(args).fails(5);
        named(&refused, ".git/");
        assert!(refused.err.contains("hint: "), "{args:?}: {}", refused.err);
    }
}

#[test]
fn a_git_directory_that_cannot_be_read_is_no_missing_one() {
    let Some(v) = Held::new() else { return };
    for place in [".git", ".git/config", ".git/index", ".git/objects", ".runebook", ".runebook/config.yaml"] {
        v.sh(&format!("chmod 000 {place}"));
        for args in [&["status"][..], &["commit", "-m", "x"], &["init", "--existing", "--yes"]] {
            let run = v.run(args);
            let told = run.err.contains("hint: ") || run.err.contains("warning: ");
            assert!(run.status < 2 || (run.status != 2 && told), "{place} {args:?}: {} {}", run.out, run.err);
            assert!(!run.err.contains("make a vault here"), "{place} {args:?}: {}", run.err);
        }
        v.sh(&format!("chmod 755 {place}"));
    }
    v.run(&["status"]).ok();
}

#[test]
fn an_undoing_that_is_refused_changes_nothing() {
    let Some(v) = Held::new() else { return };
    v.sh("echo new > new.md; echo more >> resources/a/one.md; mkdir zz; echo r > zz/r.md; chmod +x zz/r.md");
    v.run(&["commit", "-m", "Work"]).ok();
    let commit = |v: &Held| v.s.git(&["-c", "safe.directory=*", "log", "-1", "--format=%s"]);
    v.sh("chmod 555 zz");
    named(&v.run(&["undo", "--yes"]).fails(5), "zz/r.md");
    v.sh("test -z \"$(git status --porcelain)\"; chmod 755 zz");
    assert_eq!(commit(&v), "Work");
    v.run(&["undo", "--yes"]).ok();
    v.sh("test ! -e zz && test ! -e new.md && ! grep more resources/a/one.md");
    v.run(&["undo", "--redo", "--yes"]).ok();
    v.sh("test -z \"$(git status --porcelain)\"; test -x zz/r.md");
    // The same of files alone: a move of which links followed, one of the places not to be written.
    v.run(&["mv", "resources/b/two.md", "user/table.md"]).ok();
    v.sh("git status --porcelain > ../before; chmod 555 resources/a");
    let refused = v.run(&["undo"]).fails(5);
    named(&refused, "resources/a/one.md");
    assert!(refused.err.contains("nothing was changed"), "{}", refused.err);
    v.sh("git status --porcelain | diff ../before -; chmod 755 resources/a");
    v.run(&["undo"]).ok();
    v.sh("test -z \"$(git status --porcelain)\"");
    v.run(&["undo", "--redo"]).ok();
    v.sh("git status --porcelain | diff ../before -");
}

#[test]
fn edits_are_proposed_without_what_cannot_be_read() {
    let Some(v) = Held::new() else { return };
    v.sh("echo more >> resources/a/one.md; echo more >> resources/b/two.md; chmod 000 resources/b/two.md");
    let run = v.run(&["propose", "from-worktree"]).ok();
    named(&run, "resources/b/two.md");
    let id = run.out.split_whitespace().find(|word| word.len() == 8).unwrap_or_default().to_owned();
    let diff = v.run(&["propose", "diff", &id]).ok().out;
    assert!(diff.contains("resources/a/one.md") && !diff.contains("two.md"), "{} {diff}", run.out);
    named(&v.run(&["propose", "from-worktree", "resources/b/two.md"]).fails(5), "resources/b/two.md");
    v.run(&["diff"]).ok();
}

/// A file on which something is mounted can be neither removed nor replaced, and its directory does not tell.
#[test]
fn an_undoing_that_fails_in_the_middle_is_put_back() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("a.md", "a\n");
    s.run(&["commit", "-m", "Start"]).ok();
    for name in ["a.md", "b/new.md", "zz/r.md"] {
        s.write(name, format!("{name} is new\n"));
    }
    s.run(&["commit", "-m", "Work"]).ok();
    let script = "cp -r zz ../same; mount --bind ../same/r.md zz/r.md || exit 9
        $RUNEBOOK undo --yes; echo RC $?; git -c safe.directory=* status --porcelain; ls .git/runebook/trash";
    let Some(output) = apart(&s, script) else { return };
    let told = text(&output);
    assert!(told.contains("RC 5") && told.contains("zz/r.md"), "{told}");
    assert_eq!(s.git(&["status", "--porcelain"]), "", "{told}");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("RC 5\n"), "{told}");
    assert_eq!(s.read("b/new.md"), "b/new.md is new\n");
    s.run(&["undo", "--yes"]).ok();
    assert!(!s.vault().join("b").exists() && !s.vault().join("zz").exists());
}

#[test]
fn a_directory_that_cannot_be_removed_whole_stays_whole() {
    let Some(v) = Held::new() else { return };
    v.sh("mkdir resources/b/c; echo c > resources/b/c/c.md");
    v.run(&["commit", "-m", "More"]).ok();
    v.sh("chmod 555 resources/b");
    named(&v.run(&["rm", "-r", "resources/b"]).fails(5), "resources/b");
    v.sh("test -z \"$(git status --porcelain)\"; chmod 755 resources/b");
}

#[test]
fn a_merge_whose_files_cannot_be_put_in_place_does_not_begin() {
    let s = cast::vault();
    let id = cast::approved(&s);
    let main = s.git(&["rev-parse", "main"]);
    let script = format!(
        "export RUNEBOOK_ACTOR={}; mount --bind resources resources && mount -o remount,ro,bind resources || exit 9
         $RUNEBOOK merge {id}; echo RC $?",
        cast::CLAUDE
    );
    let Some(output) = apart(&s, &script) else { return };
    let told = text(&output);
    assert!(told.contains("RC 5") && told.contains("resources/") && told.contains("Read-only"), "{told}");
    assert_eq!(s.git(&["rev-parse", "main"]), main);
    cast::in_order(&s);
    s.run_as(cast::CLAUDE, &["merge", &id]).ok();
    cast::in_order(&s);
}

#[test]
fn what_is_derived_and_cannot_be_written_is_told_with_the_way_out() {
    let Some(v) = Held::new() else { return };
    v.sh("rm .git/runebook/root; chmod a-w .git/runebook");
    let mended = |run: Run| {
        assert!(!run.out.contains("remove "), "{}", run.out);
        let way_out = "see to it that ";
        assert!(run.out.contains(way_out) && run.out.contains("read and write"), "{}", run.out);
    };
    mended(v.run(&["doctor"]).fails(1));
    v.sh("chmod 000 .git/runebook");
    mended(v.run(&["doctor"]).fails(1));
    v.sh("chmod 755 .git/runebook; echo x > .git/runebook/root");
    let damaged = v.run(&["doctor"]).fails(1);
    assert!(damaged.out.contains("remove ") && damaged.out.contains("runebook/root"), "{}", damaged.out);
    v.sh("rm .git/runebook/root");
    assert!(!v.run(&["doctor"]).out.contains("git.root"));
}

#[test]
fn an_index_that_cannot_be_written_is_no_look_at_the_files() {
    let Some(v) = Held::new() else { return };
    v.sh("echo xylophone > resources/a/new.md; chmod -R a-w .git/runebook");
    let run = v.run(&["find", "xylophone"]).fails(1);
    assert!(run.err.contains("could not be brought up to date"), "{}", run.err);
    assert!(run.err.contains("not the files as they are now"), "{}", run.err);
    assert!(!run.err.contains("searched the files here"), "{}", run.err);
    v.sh("chmod -R u+w .git/runebook; rm resources/a/new.md");
    let run = v.run(&["find", "xylophone"]).fails(1);
    assert!(run.err.contains("searched the files here"), "{}", run.err);
}
