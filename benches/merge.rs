//! The merge of a proposal of three files into a vault, with checks: the cost follows the change, not the vault.
//! `merge VAULT`.
//!
//! The vault is not changed: the proposals are made, approved and merged in a clone that shares its objects.

use std::path::Path;
use std::time::Duration;

use crate::support::{self, Result, command};

/// How often; the median counts.
const ROUNDS: usize = 5;

const ACTORS: &str = "actors:
  - {id: mei, kind: person, email: mei@example.org, roles: [propose, review, merge, admin]}
  - {id: bot, kind: agent, family: claude, email: bot@example.org, roles: [propose]}
";

/// Measures and prints.
pub(crate) fn run(dir: &Path) -> Result<()> {
    let clone = tempfile::tempdir()?;
    let at = clone.path().join("vault");
    let (source, target) = (dir.to_string_lossy(), at.to_string_lossy());
    command(dir, "git", &["clone", "-q", "--shared", &source, &target])?;
    command(&at, "git", &["config", "user.name", "Mei"])?;
    command(&at, "git", &["config", "user.email", "mei@example.org"])?;
    let program = env!("CARGO_BIN_EXE_runebook");
    std::fs::write(at.join(".runebook/actors.yaml"), ACTORS)?;
    std::fs::write(at.join(".runebook/policy.yaml"), "version: 1\n")?;
    command(&at, "git", &["add", ".runebook"])?;
    command(&at, "git", &["commit", "-qm", "Two actors"])?;
    // What a vault in use has; a clone comes without.
    command(&at, program, &["reindex"])?;
    let files = command(&at, "git", &["ls-files", "resources/*.md"])?;
    let linked =
        files.lines().next().and_then(|path| path.strip_suffix(".md")).ok_or("no memory to link to")?;
    let mut merged: Vec<Duration> =
        (0..ROUNDS).map(|round| one(&at, program, linked, round)).collect::<Result<_>>()?;
    merged.sort();
    support::say(format!("{}: a proposal of three files", dir.display()))?;
    support::table(&[("merge, a process each, p50", merged[ROUNDS / 2], String::new())])
}

/// One proposal through the loop; the time of the merge alone.
fn one(at: &Path, program: &str, linked: &str, round: usize) -> Result<Duration> {
    let title = format!("Round {round}");
    let opened = command(at, program, &["--as", "bot", "--json", "propose", "new", &title])?;
    let opened: serde_json::Value = serde_json::from_str(&opened)?;
    let id = opened["id"].as_str().ok_or("no id of the proposal")?.to_owned();
    for name in ["a", "b", "c"] {
        let path = format!("resources/benchmark/{round}-{name}.md");
        let file = at.join("../text.md");
        std::fs::write(&file, format!("# {title} {name}\n\nMade by the benchmark, see [[{linked}]].\n"))?;
        let file = file.to_string_lossy().into_owned();
        command(at, program, &["--as", "bot", "propose", "write", &id, &path, "--file", &file])?;
    }
    command(at, program, &["--as", "bot", "propose", "submit", &id])?;
    command(at, program, &["review", "approve", &id, "--yes"])?;
    support::timed(|| command(at, program, &["merge", &id, "--yes"]))
}
