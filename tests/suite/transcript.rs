//! Runs the `console` examples of a document as a reader would type them, and compares what they print.
//!
//! Each `##` section has a home of its own. A line after `$ ` is a command for `sh`, lines after `> ` continue it,
//! all others are what it must print, on stdout and stderr together. `[..]` stands for anything within a line, a
//! line `...` for any lines. A command must end with status 0; one that should not ends with `; echo $?`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One command and what it prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) section: String,
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) prints: Vec<String>,
    /// The lines of the document that show it, counted from 0.
    pub(crate) shown: std::ops::Range<usize>,
}

/// The examples of a document, in order.
pub(crate) fn steps(document: &str) -> Vec<Step> {
    let (mut steps, mut section, mut inside) = (Vec::<Step>::new(), String::new(), None);
    for (line, text) in (1..).zip(document.lines()) {
        match inside {
            None => {
                if let Some(title) = text.strip_prefix("## ") {
                    title.clone_into(&mut section);
                }
                if let Some(kind) = text.strip_prefix("```") {
                    inside = Some(kind == "console");
                }
            }
            Some(_) if text.starts_with("```") => inside = None,
            Some(false) => {}
            Some(true) => {
                if let Some(command) = text.strip_prefix("$ ") {
                    let section = section.clone();
                    let command = command.to_owned();
                    steps.push(Step { section, line, command, prints: Vec::new(), shown: line..line });
                } else if let Some(step) = steps.last_mut() {
                    match text.strip_prefix("> ").or(text.strip_prefix('>')) {
                        Some(more) if step.prints.is_empty() => {
                            step.command.push('\n');
                            step.command.push_str(more);
                            step.shown = line..line;
                        }
                        _ => {
                            step.prints.push(text.trim_end().to_owned());
                            step.shown.end = line;
                        }
                    }
                }
            }
        }
    }
    for step in &mut steps {
        while step.prints.last().is_some_and(String::is_empty) {
            step.prints.pop();
        }
    }
    steps
}

/// Whether a line is what the pattern says.
fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether what was printed is what the document shows.
pub(crate) fn matches(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(line, more)| line_matches(first, line) && matches(rest, more))
        }
    }
}

/// The home in which the examples of a section run.
struct Home {
    dir: tempfile::TempDir,
    at: PathBuf,
    count: u32,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let config = "[user]\n\tname = Mei\n\temail = mei@example.org\n[init]\n\tdefaultBranch = main\n";
        std::fs::write(dir.path().join(".gitconfig"), config).expect("git's configuration");
        let at = dir.path().to_owned();
        Home { dir, at, count: 0 }
    }

    /// What the command prints, line by line, and its exit status.
    fn run(&mut self, command: &str) -> (Vec<String>, i32) {
        let program = Path::new(env!("CARGO_BIN_EXE_runebook"));
        let path = format!(
            "{}:{}",
            program.parent().expect("a directory").display(),
            std::env::var("PATH").unwrap_or_default()
        );
        // Another seed for each, or every process would draw the same names.
        self.count += 1;
        let whereabouts = self.dir.path().join(".whereabouts");
        let script = format!("exec 2>&1\n{command}\nstatus=$?\npwd >\"$WHEREABOUTS\"\nexit $status\n");
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&self.at)
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.dir.path())
            .env("WHEREABOUTS", &whereabouts)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("RUNEBOOK_NOW", "2026-11-29T10:00:00Z")
            .env("RUNEBOOK_SEED", self.count.to_string())
            .env("GIT_AUTHOR_DATE", "2026-11-29T10:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-11-29T10:00:00Z")
            .output()
            .expect("a shell");
        if let Ok(at) = std::fs::read_to_string(&whereabouts) {
            self.at = PathBuf::from(at.trim_end());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let home = self.dir.path().to_string_lossy().into_owned();
        // What took over a second on a busy machine says so; that is no part of an example.
        let took = regex::Regex::new(r"^.+: \d+ in \d+\.\d s \(\d+/s\)$").expect("a regular expression");
        let mut lines: Vec<String> = text
            .replace(&home, "~")
            .lines()
            .map(|line| line.trim_end().to_owned())
            .filter(|line| !took.is_match(line))
            .collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        (lines, output.status.code().unwrap_or(-1))
    }
}

/// An example that came out otherwise.
#[derive(Debug)]
pub(crate) struct Difference {
    step: Step,
    printed: Vec<String>,
    status: i32,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Difference { step, printed, status } = self;
        writeln!(f, "line {} ({}): `{}` ended with {status}", step.line, step.section, step.command)?;
        writeln!(f, "--- shown\n{}\n--- printed\n{}", step.prints.join("\n"), printed.join("\n"))
    }
}

/// Runs all examples of a document and returns those that came out otherwise.
pub(crate) fn differences(document: &str) -> Vec<Difference> {
    let (mut home, mut section, mut found) = (Home::new(), None, Vec::new());
    for step in steps(document) {
        if section.as_ref() != Some(&step.section) {
            home = Home::new();
            section = Some(step.section.clone());
        }
        let (printed, status) = home.run(&step.command);
        if status != 0 || !matches(&step.prints, &printed) {
            found.push(Difference { step, printed, status });
        }
    }
    found
}

/// The document with what its examples print now. A name that was drawn by chance in a command stays as it is.
pub(crate) fn corrected(document: &str, found: &[Difference]) -> String {
    let mut lines: Vec<String> = document.lines().map(str::to_owned).collect();
    for Difference { step, printed, .. } in found.iter().rev() {
        // An empty line before the next command is not part of what is shown.
        let gap = step.shown.len() - step.prints.len();
        lines.splice(step.shown.start..step.shown.end - gap, printed.iter().cloned());
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_document_is_taken_apart() {
    let text = "## One\n```console\n$ a\nx\n\n$ cat <<E\n> b\n>\n> E\n> y\n```\n```sh\n$ no\n```\n## Two\n```console\n$ c\n```\n";
    let found = steps(text);
    assert_eq!(
        found.iter().map(|s| s.command.as_str()).collect::<Vec<_>>(),
        ["a", "cat <<E\nb\n\nE\ny", "c"]
    );
    assert_eq!(found[0].prints, ["x"]);
    assert_eq!((found[2].section.as_str(), found[2].line), ("Two", 17));
}

#[test]
fn wildcards_stand_for_what_they_say() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let fits = |shown: &str, printed: &str| matches(&lines(shown), &lines(printed));
    assert!(fits("a\n...\nz", "a\nz") && fits("a\n...\nz", "a\nb\nc\nz") && fits("...", ""));
    assert!(fits("a [..] c", "a b c") && !fits("[..]", "") && fits("[..]x[..]y", "1x2xy"));
    assert!(!fits("a", "b") && !fits("a", "a\nb") && !fits("a\nb", "a") && !fits("a [..] c", "a c"));
    assert!(!fits("a\n...\nz", "a\nb"));
}

#[test]
fn a_wrong_example_is_reported() {
    let text = |shown: &str| format!("## One\n```console\n$ echo a; false || echo b\n{shown}\n```\n");
    assert!(differences(&text("a\nb")).is_empty());
    let found = differences(&text("a\nc\n\n$ echo d\nd"));
    assert_eq!(found.len(), 1);
    assert_eq!(corrected(&text("a\nc\n\n$ echo d\nd"), &found), text("a\nb\n\n$ echo d\nd"));
    assert!(
        differences(&text("a\nb").replace("false", "echo 'reading: 65 in 1.2 s (54/s)'; false")).is_empty()
    );
    assert_eq!(differences("```console\n$ false\n```\n").len(), 1);
    let moved =
        "## One\n```console\n$ mkdir x && cd x && touch y\n$ ls\ny\n```\n## Two\n```console\n$ ls\n```\n";
    assert!(differences(moved).is_empty());
}
