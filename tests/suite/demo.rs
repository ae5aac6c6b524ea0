//! The demo goes through the whole loop by itself, on a machine where git knows nobody, and leaves nothing behind.

use std::path::Path;
use std::process::Command;

use super::support::{Run, Sandbox};

/// The demo in a home without git's configuration; temporary files go to `tmp` there.
fn demo(sandbox: &Sandbox, args: &[&str]) -> Run {
    let tmp = sandbox.home().join("tmp");
    std::fs::create_dir_all(&tmp).expect("a directory");
    let _ = std::fs::remove_file(sandbox.home().join(".gitconfig"));
    let mut command: Command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
    let output = command
        .env("TMPDIR", &tmp)
        .env("RUNEBOOK_SEED", "7")
        .env_remove("GIT_AUTHOR_DATE")
        .arg("demo")
        .args(args)
        .output()
        .expect("the program runs");
    Run {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn left_in(directory: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(directory).expect("a directory");
    listed.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn it_goes_through_the_whole_loop_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let first = demo(&sandbox, &[]).ok();
    for shown in
        ["find 靠窗", "window-seats.md", "propose submit", "review approve", "no-night-flights.md", "held"]
    {
        assert!(first.out.contains(shown), "`{shown}` is missing in\n{}", first.out);
    }
    assert!(first.out.lines().count() < 90, "it is too long to read:\n{}", first.out);
    assert_eq!(left_in(&sandbox.home().join("tmp")), Vec::<String>::new());
    assert_eq!(left_in(&sandbox.vault()), Vec::<String>::new());

    let again = demo(&sandbox, &[]).ok();
    let without_place = |run: &Run| {
        let place = regex::Regex::new(r"runebook-demo-\w+").expect("a regular expression");
        place.replace_all(&run.out, "runebook-demo").into_owned()
    };
    assert_eq!(without_place(&first), without_place(&again));
}

#[test]
fn the_kept_vault_is_one_to_look_around_in() {
    let sandbox = Sandbox::new();
    let run = demo(&sandbox, &["--keep", "mine"]).ok();
    assert!(run.out.contains("mine"), "{}", run.out);
    let kept = sandbox.vault().join("mine");
    assert!(kept.join("user/memories/profile/mei.md").is_file());
    assert!(!kept.join("user/memories/preferences/no-night-flights.md").exists(), "it was taken back");
    let log = sandbox.git(&["-C", "mine", "log", "--first-parent", "--format=%s"]);
    assert!(log.lines().count() >= 5, "{log}");
    assert_eq!(sandbox.git(&["-C", "mine", "status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["-C", "mine", "fsck", "--no-dangling"]), "");
    // It does not take a place where something is already.
    let before = sandbox.read("mine/.runebook/actors.yaml") + "# mine\n";
    sandbox.write("mine/.runebook/actors.yaml", &before);
    assert!(demo(&sandbox, &["--keep", "mine"]).fails(2).err.contains("vault already"));
    assert_eq!(sandbox.read("mine/.runebook/actors.yaml"), before);
    sandbox.write("notes/a.md", "mine");
    assert!(demo(&sandbox, &["--keep", "notes"]).fails(2).err.contains("not empty"));
}

#[test]
fn it_has_no_data_to_give() {
    let sandbox = Sandbox::new();
    demo(&sandbox, &["--json"]).fails(2);
}
