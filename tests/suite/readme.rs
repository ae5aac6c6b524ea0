//! The README is true: its examples print what it shows, and its two commands are what ci runs.

use super::transcript;

fn file(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_example_prints_what_is_shown() {
    let readme = file("README.md");
    assert!(transcript::steps(&readme).len() >= 20, "the README has lost its examples");
    let found = transcript::differences(&readme);
    if std::env::var_os("RUNEBOOK_REGENERATE").is_some() {
        std::fs::write("README.md", transcript::corrected(&readme, &found)).expect("the README");
    }
    let reports: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "\n{}", reports.join("\n"));
}

#[test]
fn ci_runs_the_two_commands() {
    let (readme, ci) = (file("README.md"), file(".ci/run"));
    for command in ["cargo run --locked -- demo", "cargo test --locked"] {
        assert!(readme.lines().any(|line| line.starts_with(command)), "the README lacks `{command}`");
        assert!(ci.lines().any(|line| line.trim_start().starts_with(command)), ".ci/run lacks `{command}`");
    }
}
