//! A vault with people and agents in it, for the tests of the loop.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::{Run, Sandbox};

/// Who proposes.
pub(crate) const CLAUDE: &str = "claude-mei";
/// Who reviews: an agent of another family.
pub(crate) const GPT: &str = "reviewer-gpt";

const ACTORS: &str = "actors:
  - {id: mei, kind: person, email: mei@example.org, roles: [propose, review, merge, admin]}
  - {id: ada, kind: person, email: ada@example.org, roles: [propose, review, merge]}
  - {id: claude-mei, kind: agent, family: claude, email: claude@agents.example.org, roles: [propose, review, merge]}
  - {id: claude-two, kind: agent, family: claude, email: claude2@agents.example.org, roles: [propose, review]}
  - {id: reviewer-gpt, kind: agent, family: gpt, email: gpt@agents.example.org, roles: [propose, review]}
";

/// A vault with five actors and two notes that link to each other. Persons are not asked at the terminal.
pub(crate) fn vault() -> Sandbox {
    let vault = Sandbox::new();
    vault.run(&["init", "."]).ok();
    let policy = vault.read(".runebook/policy.yaml").replace("confirm: terminal", "confirm: none");
    vault.write(".runebook/policy.yaml", policy);
    vault.write(".runebook/actors.yaml", ACTORS);
    vault.write("resources/home.md", "# Home\n\nSee [[seats]].\n");
    vault.write("resources/seats.md", SEATS);
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Actors and two notes"]);
    vault
}

/// The note that most tests change.
pub(crate) const SEATS: &str =
    "# Seats\n\nWindow on flights over two hours.\n\nSee [[home]].\n\nAisle on trains.\n\nNever row 13.\n";

/// A proposal of Claude's, submitted: `seats.md` with other words, and a new note.
pub(crate) fn proposed(vault: &Sandbox) -> String {
    let id = new(vault, CLAUDE, "Seats on long flights");
    edit(vault, CLAUDE, &id, "resources/seats.md", "two hours", "three hours");
    write(vault, CLAUDE, &id, "resources/meals.md", "# Meals\n\nNo fish. See [[seats]].\n").ok();
    vault.run_as(CLAUDE, &["propose", "submit", &id]).ok();
    id
}

/// The same, approved by the other agent.
pub(crate) fn approved(vault: &Sandbox) -> String {
    let id = proposed(vault);
    approve(vault, GPT, &id).ok();
    id
}

/// The same, merged.
pub(crate) fn merged(vault: &Sandbox) -> String {
    let id = approved(vault);
    vault.run_as(CLAUDE, &["merge", &id]).ok();
    id
}

/// Begins a proposal.
#[track_caller]
pub(crate) fn new(vault: &Sandbox, actor: &str, title: &str) -> String {
    vault.run_as(actor, &["propose", "new", title]).ok().out.trim().to_owned()
}

/// Replaces text in a proposal.
#[track_caller]
pub(crate) fn edit(vault: &Sandbox, actor: &str, id: &str, path: &str, old: &str, new: &str) {
    vault.run_as(actor, &["propose", "edit", id, path, "--old", old, "--new", new]).ok();
}

/// Writes a file in a proposal.
pub(crate) fn write(vault: &Sandbox, actor: &str, id: &str, path: &str, body: &str) -> Run {
    vault.run_as(actor, &["propose", "write", id, path, "--body", body])
}

/// The digest that a reviewer is shown.
#[track_caller]
pub(crate) fn digest(vault: &Sandbox, id: &str) -> String {
    let shown = vault.run(&["review", "show", id, "--json"]).ok().json();
    shown["decision"]["digest"].as_str().expect("a digest").to_owned()
}

/// Looks and approves.
pub(crate) fn approve(vault: &Sandbox, actor: &str, id: &str) -> Run {
    let digest = digest(vault, id);
    vault.run_as(actor, &["review", "approve", id, "--digest", &digest])
}

/// What plain git says of the work tree: nothing, when all is in order.
#[track_caller]
pub(crate) fn status(vault: &Sandbox) -> String {
    vault.git(&["status", "--porcelain"])
}

/// Plain git sees a clean work tree, its objects are whole, and the audit holds.
#[track_caller]
pub(crate) fn in_order(vault: &Sandbox) {
    assert_eq!(status(vault), "");
    vault.git(&["fsck", "--strict", "--no-dangling"]);
    let audit = vault.run(&["audit"]).ok();
    assert!(audit.out.contains("held"), "{}", audit.out);
}

/// Runs the program with bytes on its standard input.
pub(crate) fn with_input(mut command: Command, input: &[u8]) -> std::process::Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    child.wait_with_output().expect("it ends")
}
