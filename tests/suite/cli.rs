//! The frame of the command line: help, errors, pipes, status and doctor.

use std::process::Stdio;

use super::support::Sandbox;

/// The names of all commands, as the help lists them.
fn commands(s: &Sandbox) -> Vec<String> {
    let help = s.run(&["--help"]).ok().out;
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<String> = list
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("    "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect();
    assert!(names.len() > 20, "{help}");
    names
}

#[test]
fn every_command_has_help_with_examples() {
    let s = Sandbox::new();
    for name in commands(&s) {
        let help = s.run(&[&name, "--help"]).ok().out;
        assert!(help.contains("Examples:"), "{name}\n{help}");
        // What every verb has stands behind what it has itself.
        let (own, global) = help.split_once("\nGlobal options:\n").unwrap();
        for flag in ["--as <ACTOR>", "--json", "--color <WHEN>", "--quiet", "--verbose"] {
            assert!(
                global.contains(flag) && !own.contains(&format!("      {flag}\n")),
                "{name}: {flag}\n{help}"
            );
        }
        assert!(!global.contains("\nOptions:"), "{name}\n{help}");
    }
}

#[test]
fn slips_get_the_nearest_command_and_status_2() {
    let s = Sandbox::new();
    for (slip, meant) in [("statsu", "status"), ("comit", "commit"), ("reviw", "review")] {
        let run = s.run(&[slip]).fails(2);
        assert!(run.err.contains(&format!("'{meant}'")), "{}", run.err);
    }
    let flag = s.run(&["ls", "--lnog"]).fails(2);
    assert!(flag.err.contains("--long"), "{}", flag.err);
    let none = s.run(&["ls"]).fails(2);
    assert!(none.err.contains("runebook init"), "{}", none.err);
    let json = s.run(&["ls", "--json"]).fails(2).json();
    assert_eq!(json["error"]["exit_status"], 2);
}

#[cfg(unix)]
#[test]
fn no_name_is_obeyed_by_a_terminal_or_takes_two_lines() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    // Named by whoever made it, not by us.
    let odd = "user/a\u{1b}[2J\nerror: b.md";
    s.write(odd, "# Odd\n");
    s.write("user/b.md", "# B\n");
    let typed = "x\u{1b}[2J\nerror: y";
    for args in [
        &["-C", typed, "ls"][..],
        &["--as", typed, "ls"],
        &["ls", "--rev", typed],
        &["cat", typed],
        &["show", typed],
        &["find", "x", "--type", typed],
        &["check", "--rule", typed],
        &["eval", typed],
        &["review", "show", typed],
        &[typed],
        &["ls", &format!("--{typed}")],
        &["tree", "--levels", typed],
        &["commit"],
        &["status"],
        &["check"],
        &["cat", "user/b"],
        &["doctor"],
    ] {
        for color in ["never", "always"] {
            let run = s.run(&[&["--color", color], args].concat());
            let plain = |text: &str| {
                // What the program itself colours.
                let codes = ["0", "1", "2", "31", "32", "33", "35", "36", "1m\u{1b}[31", "4"];
                let text = codes.iter().fold(text.to_owned(), |t, c| t.replace(&format!("\u{1b}[{c}m"), ""));
                assert!(!text.contains('\u{1b}'), "{args:?} {color}: {text:?}");
                text
            };
            let (out, err) = (plain(&run.out), plain(&run.err));
            // An error is a line, and a hint: no name begins another one.
            let errors = err.lines().chain(out.lines()).filter(|line| line.starts_with("error: "));
            assert!(errors.count() <= 1, "{args:?} {color}\n{out}\n{err}");
            assert!(
                !err.contains("\nerror: y") && !out.contains("\nerror: b"),
                "{args:?} {color}\n{out}\n{err}"
            );
            assert!(
                !err.contains("\\u{1b}[3") && !err.contains("\\u{1b}[1m"),
                "our own colours: {args:?}\n{err}"
            );
        }
    }
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let s = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = s.run(&["completions", shell]).ok().out;
        assert!(script.contains("doctor"), "{shell}");
    }
    s.run(&["completions", "nosuch"]).fails(2);
    let page = s.run(&["man"]).ok().out;
    assert!(page.contains(".TH") && page.contains("doctor"), "{page}");
    let commit = s.run(&["man", "commit"]).ok().out;
    assert!(commit.contains("runebook\\-commit") || commit.contains("runebook-commit"), "{commit}");
    s.run(&["man", "--dir", "pages"]).ok();
    for name in commands(&s) {
        assert!(s.vault().join(format!("pages/runebook-{name}.1")).exists(), "{name}");
    }
    assert!(s.vault().join("pages/runebook-actor-add.1").exists());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    for i in 0..2000 {
        s.write(&format!("resources/a-rather-long-name-so-that-the-pipe-fills-{i:05}.md"), "x\n");
    }
    let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
    let mut child =
        command.args(["ls", "resources"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn status_says_where_one_stands() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("a.md", "a\n");
    s.write("b.md", "b\n");
    s.git(&["add", "b.md"]);
    let state = s.run(&["status", "--json"]).ok().json();
    assert_eq!(state["main_branch"], "main");
    assert_eq!(state["actor"], "mei");
    assert_eq!(state["main"], s.git(&["rev-parse", "main"]).as_str());
    let changed: Vec<(&str, bool)> = state["changed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["path"].as_str().unwrap(), c["staged"].as_bool().unwrap()))
        .collect();
    assert_eq!(changed, [("a.md", false), ("b.md", true)]);
    assert_eq!(state["proposals"].as_array().unwrap().len(), 0);
    let text = s.run(&["status"]).ok().out;
    assert!(text.contains("2 not committed") && text.contains("none waits"), "{text}");
    s.git(&["checkout", "-q", "--detach"]);
    assert!(s.run(&["status"]).ok().out.contains("detached"));
}

#[test]
fn doctor_names_what_to_mend() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    let told = s.run(&["doctor"]).ok().out;
    assert!(!told.contains(['{', '[']), "{told}");
    assert!(told.contains("\nindex.chunk_tokens ") && told.contains("  400  (built in)\n"), "{told}");
    let config = s.read(".runebook/config.yaml").replace("time_zone:", "time_zoen:");
    s.write(".runebook/config.yaml", format!("{config}index:\n  chunk_token: 5\n"));
    s.write("Twin.md", "t\n");
    s.write("twin.md", "t\n");
    s.write("a:b.md", "x\n");
    std::fs::write(s.vault().join(".git/index.lock"), "").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", s.vault().join("out.md")).unwrap();
    let report = s.run(&["doctor", "--json"]).fails(1).json();
    let findings = report["findings"].as_array().unwrap();
    let has = |rule: &str, words: &str| {
        findings.iter().any(|f| f["rule"] == rule && f.to_string().contains(words) && f["fix"].is_string())
    };
    assert!(has("config.unknown", "did you mean `time_zone`?"), "{findings:#?}");
    assert!(has("config.unknown", "did you mean `index.chunk_tokens`?"), "{findings:#?}");
    assert!(has("git.lock", "index.lock"));
    assert!(has("path.twin", "Twin.md") && has("path.portable", "a:b.md"));
    #[cfg(unix)]
    assert!(has("path.symlink", "out.md"));
    s.write(".runebook/config.yaml", "version: [\n");
    let broken = s.run(&["doctor", "--json"]).fails(1).json();
    assert_eq!(broken["findings"][0]["rule"], "vault.open");
}

#[test]
fn doctor_explains_which_rule_holds() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.run(&["actor", "add", "bot", "--kind", "agent", "--family", "claude"]).ok();
    let may = |args: &[&str]| {
        let answer = s.run(args).ok().json();
        let list = answer["may"].as_array().unwrap();
        list.iter()
            .filter(|m| m["may"] == true)
            .map(|m| m["what"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(may(&["--as", "bot", "doctor", "user/x.md", "--json"]), ["read", "propose"]);
    assert_eq!(may(&["--as", "bot", "doctor", "CLAUDE.md", "--json"]), ["read"]);
    assert_eq!(
        may(&["doctor", ".runebook/policy.yaml", "--json"]),
        ["read", "propose", "review", "merge", "commit"]
    );
    let text = s.run(&["doctor", "user/x.md"]).ok().out;
    assert!(text.contains("a memory needs id, type"), "{text}");
    assert!(text.contains("     propose ") && text.contains("person, agent\n"), "{text}");
    assert!(!text.contains(['{', '[']), "{text}");
}

#[test]
fn a_repository_of_an_unknown_kind_is_told_in_words() {
    let s = Sandbox::new();
    let made = s.command("git").args(["init", "-q", "--ref-format=reftable"]).status().unwrap();
    if !made.success() {
        eprintln!("this git knows no reftable: not tried");
        return;
    }
    let run = s.run(&["status"]).fails(5);
    assert!(run.err.contains("git refs migrate"), "{}", run.err);
}

#[test]
fn a_name_from_elsewhere_leads_to_the_command() {
    let s = Sandbox::new();
    for (typed, meant) in [("submit", "`runebook propose submit`"), ("search", "`runebook find`")] {
        let err = s.run(&[typed, "x"]).fails(2).err;
        assert!(err.contains(typed) && err.contains(meant), "{err}");
    }
    assert!(s.run(&["fnd"]).fails(2).err.contains("'find'"));
    assert_eq!(s.run(&["help", "find"]).ok().out, s.run(&["find", "--help"]).ok().out);
    assert!(s.run(&["-C", "nowhere", "status"]).fails(2).err.contains("nowhere is no directory"));
}

#[test]
fn repositories_of_other_kinds_are_named_in_words() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/a.md", "# A\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "a"]);
    s.git(&["config", "remote.origin.promisor", "true"]);
    assert!(s.run(&["status"]).fails(5).err.contains("partial clone"));
    s.git(&["config", "--unset", "remote.origin.promisor"]);
    s.git(&["update-index", "--split-index"]);
    for verb in [&["status"][..], &["commit", "-m", "x"], &["propose", "from-worktree"]] {
        // `status` tells the rest.
        let run = s.run(verb).fails(if verb[0] == "status" { 1 } else { 5 });
        assert!(run.err.contains("split") && run.err.contains("--no-split-index"), "{verb:?} {}", run.err);
    }
    s.git(&["update-index", "--no-split-index"]);
    s.run(&["status"]).ok();
}

#[test]
fn files_left_out_and_other_repositories_are_no_changes() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/a.md", "# A\n");
    s.write("user/b.md", "# B\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "a"]);
    s.git(&["init", "-q", "other"]);
    s.write("other/x.md", "# X\n");
    s.git(&["sparse-checkout", "set", "user"]);
    assert!(!s.vault().join("resources/a.md").exists());
    let run = s.run(&["status"]).ok();
    assert!(run.out.contains("changes    none"), "{}", run.out);
}

#[test]
fn broken_settings_on_main_are_reported() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.run(&["doctor"]).ok();
    s.git(&["rm", "-q", ".runebook/policy.yaml"]);
    s.git(&["commit", "-qm", "no policy"]);
    let run = s.run(&["doctor"]).fails(1);
    assert!(run.out.contains("settings.main") && run.out.contains("policy.yaml is not there"), "{}", run.out);
}

#[test]
fn the_approved_branch_is_one_that_can_be() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    let config = s.read(".runebook/config.yaml");
    for name in ["../../x", "proposal/7k3qm2xd", "HEAD", "-x", "a..b", "refs/heads/main"] {
        s.write(
            ".runebook/config.yaml",
            config.replace("main_branch: main", &format!("main_branch: {name}")),
        );
        let run = s.run(&["status"]).fails(5);
        assert!(run.err.contains("cannot be the name of a branch"), "{name}: {}", run.err);
    }
}

#[test]
fn a_clock_before_1970_makes_commits_that_git_takes() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/a.md", "# A\n");
    let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
    command.env("RUNEBOOK_NOW", "1969-12-31T00:00:00Z").args(["commit", "-m", "early"]);
    assert!(command.output().unwrap().status.success());
    s.git(&["fsck", "--strict"]);
}

#[test]
fn a_wrong_command_line_is_told_to_programs_too() {
    let s = Sandbox::new();
    for args in [
        &["find", "--json", "--nope"][..],
        &["--json", "nope"],
        &["submit", "--json"],
        &["grep", "--json", "-C", "/dir", "word"],
        &["cat", "--json"],
    ] {
        let run = s.run(args).fails(2);
        let told = run.json();
        assert_eq!(told["error"]["exit_status"], 2, "{run:?}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(
            !message.is_empty() && !message.contains('\n') && run.err.contains(&message[..10]),
            "{run:?}"
        );
        assert!(told["error"]["hint"].is_string(), "{run:?}");
    }
    assert_eq!(s.run(&["nope", "--", "--json"]).fails(2).out, "");
    assert!(s.run(&["find", "--json", "--help"]).ok().out.contains("Usage"));
}

#[test]
fn an_option_that_stands_in_the_wrong_place_is_answered() {
    let s = Sandbox::new();
    let told = s.run(&["grep", "-C", "/dir", "word"]).fails(2).err;
    assert!(told.contains("runebook -C DIR grep"), "{told}");
    let told = s.run(&["edit", "a.md", "--set", "a=b"]).fails(2).err;
    assert!(told.contains("runebook propose edit") && !told.contains("'-- --set'"), "{told}");
    for word in ["status", "list"] {
        assert!(s.run(&["hooks", word]).fails(2).err.contains("runebook doctor"));
    }
}
