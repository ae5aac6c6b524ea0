//! The merge of a proposal of three files into a vault, with checks: the cost follows the change, not the vault.
//! `merge VAULT`.
//!
//! The vault is not changed: the proposals are made, approved and merged in a clone that shares its objects.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support;

/// How often; the median counts.
const ROUNDS: usize = 5;

const ACTORS: &str = "actors:
  - {id: mei, kind: person, email: mei@example.org, roles: [propose, review, merge, admin]}
  - {id: bot, kind: agent, family: claude, email: bot@example.org, roles: [propose]}
";

/// Measures and prints.
pub(crate) fn run(dir: &Path) {
    let clone = tempfile::tempdir().expect("a directory");
    let at = clone.path().join("vault");
    let (source, target) = (dir.to_string_lossy(), at.to_string_lossy());
    command(dir, "git", &["clone", "-q", "--shared", &source, &target]);
    command(&at, "git", &["config", "user.name", "Mei"]);
    command(&at, "git", &["config", "user.email", "mei@example.org"]);
    let program = env!("CARGO_BIN_EXE_runebook");
    std::fs::write(at.join(".runebook/actors.yaml"), ACTORS).expect("a file");
    std::fs::write(at.join(".runebook/policy.yaml"), "version: 1\n").expect("a file");
    command(&at, "git", &["add", ".runebook"]);
    command(&at, "git", &["commit", "-qm", "Two actors"]);
    let mut merged: Vec<Duration> = (0..ROUNDS).map(|round| one(&at, program, round)).collect();
    merged.sort();
    println!("{}: a proposal of three files", dir.display());
    support::table(&[("merge, a process each, p50", merged[ROUNDS / 2], String::new())]);
}

/// One proposal through the loop; the time of the merge alone.
fn one(at: &Path, program: &str, round: usize) -> Duration {
    let title = format!("Round {round}");
    let opened = command(at, program, &["--as", "bot", "--json", "propose", "new", &title]);
    let opened: serde_json::Value = serde_json::from_str(&opened).expect("JSON");
    let id = opened["id"].as_str().expect("the proposal's id").to_owned();
    for name in ["a", "b", "c"] {
        let path = format!("resources/benchmark/{round}-{name}.md");
        let file = at.join("../text.md");
        std::fs::write(&file, format!("# {title} {name}\n\nMade by the benchmark, see [[index]].\n"))
            .expect("a file");
        let file = file.to_string_lossy().into_owned();
        command(at, program, &["--as", "bot", "propose", "write", &id, &path, "--file", &file]);
    }
    command(at, program, &["--as", "bot", "propose", "submit", &id]);
    command(at, program, &["review", "approve", &id, "--yes"]);
    support::timed(|| drop(command(at, program, &["merge", &id, "--yes"])))
}

/// Runs a program that must succeed and gives what it prints.
fn command(dir: &Path, program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(dir).output().expect("the program runs");
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
