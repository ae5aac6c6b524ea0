//! What may not be read or written is named with what to do, the rest goes on, and nothing is taken for gone.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

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
    let status = v.run(&["status"]).fails(1);
    named(&status, path);
    assert!(status.out.contains("approved") && status.err.contains("chmod"), "{}", status.err);
    named(&v.run(&["commit", "-m", "All"]).fails(5), path);
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
    named(&v.run(&["commit", "-m", "All"]).fails(5), "resources/b/");
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
