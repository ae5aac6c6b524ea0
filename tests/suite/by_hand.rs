//! What a person does with files by hand: a slip is told before anything happens, and nothing happens silently.

use std::thread;

use super::support::Sandbox;

fn vault(files: &[(&str, &str)]) -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    for (path, text) in files {
        s.write(path, text);
    }
    s.run(&["commit", "--all"]).ok();
    s
}

fn there(s: &Sandbox, path: &str) -> bool {
    s.vault().join(path).exists()
}

#[test]
fn a_memory_that_moves_stays_one() {
    let s = vault(&[
        ("Canvas.md", "# Canvas\n"),
        ("b.md", "[[Canvas]]\n"),
        ("图.md", "x\n"),
        ("c.canvas", "{}\n"),
    ]);
    // Where the name with the ending is taken, nothing is put beside it.
    let taken = s.run(&["mv", "Canvas.md", "图"]).fails(3);
    assert!(taken.err.contains("图.md"), "{}", taken.err);
    let moved = s.run(&["mv", "Canvas.md", "Board"]).ok();
    assert!(moved.out.starts_with("Board.md  (was Canvas.md)"), "{}", moved.out);
    assert_eq!(s.read("b.md"), "[[Board]]\n");
    s.run(&["mv", "c.canvas", "plan"]).ok();
    assert!(there(&s, "plan.canvas"));
    let refused = s.run(&["mv", "Board.md", "board.txt"]).fails(2);
    assert!(
        refused.err.contains("no Markdown file") && refused.err.contains("end the name in `.md`"),
        "{}",
        refused.err
    );
    assert!(there(&s, "Board.md") && !there(&s, "board.txt"));
    // Directories and attachments are called as one likes.
    s.write("d/x.png", "png");
    s.run(&["mv", "d/x.png", "d/y"]).ok();
    s.run(&["mv", "d", "d.txt"]).ok();
    assert!(there(&s, "d.txt/y"));
}

#[test]
fn a_memory_that_moves_in_a_proposal_stays_one() {
    let s = vault(&[("a.md", "# A\n")]);
    let id = s.run(&["propose", "new", "Move it", "--json"]).ok().json();
    let id = id["id"].as_str().or(id["proposal"].as_str()).unwrap().to_owned();
    s.run(&["propose", "mv", &id, "a.md", "a.txt"]).fails(2);
    let moved = s.run(&["propose", "mv", &id, "a.md", "第二", "--json"]).ok().json();
    assert_eq!(moved["to"], "第二.md");
}

#[test]
fn rm_removes_all_that_is_named_or_nothing() {
    let s = vault(&[("a.md", "a\n"), ("d/b.md", "b\n"), ("d/c.md", "c\n")]);
    s.run(&["rm", "a.md", "nope.md"]).fails(1);
    s.run(&["rm", "a.md", "d"]).fails(2);
    assert!(there(&s, "a.md"));
    // What goes with its directory, or was named before, is no slip.
    let removed = s.run(&["rm", "-r", "d/b.md", "d", "a.md", "./a.md"]).ok();
    assert_eq!(removed.out.matches("removed").count(), 2, "{}", removed.out);
    assert!(!there(&s, "a.md") && !there(&s, "d"));
    s.run(&["undo"]).ok();
    assert!(there(&s, "a.md") && there(&s, "d/b.md"));
}

#[test]
fn of_many_moves_of_one_file_one_happens_and_the_others_say_so() {
    let s = vault(&[("a.md", "a\n"), ("b.md", "[[a]]\n")]);
    let runs: Vec<_> = thread::scope(|scope| {
        let run = |number: usize| {
            let s = &s;
            scope.spawn(move || s.run(&["mv", "a.md", &format!("to-{number}.md")]))
        };
        let threads: Vec<_> = (0..4).map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert_eq!(runs.iter().filter(|run| run.status == 0).count(), 1, "{runs:?}");
    for run in runs.iter().filter(|run| run.status != 0) {
        // Whoever came when it was over finds nothing there; whoever waited is told that it went.
        assert!(matches!(run.status, 1 | 3) && !run.err.contains("os error"), "{run:?}");
    }
    let there: Vec<usize> = (0..4).filter(|number| there(&s, &format!("to-{number}.md"))).collect();
    assert_eq!(there.len(), 1);
    assert_eq!(s.read("b.md"), format!("[[to-{}]]\n", there[0]));
    s.run(&["undo"]).ok();
    assert_eq!((s.read("a.md"), s.read("b.md")), ("a\n".to_owned(), "[[a]]\n".to_owned()));
}

#[test]
fn the_graph_of_a_directory_is_that_of_what_it_holds() {
    let s = vault(&[
        ("odd/a.md", "[[b]] [[outside]] ![[x.png]] [[nowhere]]\n"),
        ("odd/deep/b.md", "b\n"),
        ("odd/alone.md", "alone\n"),
        ("odd/x.png", "png"),
        ("odd/unused.png", "png"),
        ("outside.md", "[[further]]\n"),
        ("further.md", "f\n"),
        ("leads.md", "[[alone]]\n"),
        ("oddly.md", "no part of it\n"),
    ]);
    let graph = s.run(&["graph", "odd", "--json"]).ok().json();
    let nodes: Vec<String> = graph["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| format!("{} {}", node["path"].as_str().unwrap(), node["distance"]))
        .collect();
    assert_eq!(
        nodes,
        ["odd/a.md 0", "odd/alone.md 0", "odd/deep/b.md 0", "odd/x.png 0", "leads.md 1", "outside.md 1"]
    );
    assert_eq!(graph["edges"].as_array().unwrap().len(), 4);
    assert_eq!(graph["states"]["broken"], 1);
    let text = s.run(&["graph", "odd"]).ok().out;
    assert!(
        text.starts_with(
            "odd/a.md\n  → odd/deep/b.md\n  → odd/x.png\n  → outside.md\nodd/alone.md\n  ← leads.md\n"
        ),
        "{text}"
    );
    for format in ["dot", "mermaid"] {
        let text = s.run(&["graph", "odd", "--format", format]).ok().out;
        assert_eq!(text.matches("->").count(), 4, "{text}");
    }
    // The root is the whole vault.
    assert_eq!(s.run(&["graph", "viking://"]).ok().out, s.run(&["graph"]).ok().out);
}

#[test]
fn a_commit_tells_of_its_summaries() {
    let s = vault(&[("d/a.md", "# A\n\nWords.\n")]);
    s.write("d/a.md", "# A\n\nOther words.\n");
    let before = s.git(&["rev-parse", "main"]);
    let told = s.run(&["commit"]).ok();
    let changed = s.git(&["diff", "--name-only", &before, "main"]);
    let summaries =
        changed.lines().filter(|path| path.contains(".abstract.md") || path.contains(".overview.md"));
    let count = summaries.count();
    assert!(count > 1, "{changed}");
    assert!(told.out.contains(&format!("M d/a.md\nand {count} summaries of directories\n")), "{}", told.out);
    s.write("d/a.md", "# A\n\nYet other words.\n");
    let told = s.run(&["commit", "--json"]).ok().json();
    assert_eq!(told["summaries"], count);
}

#[cfg(unix)]
#[test]
fn a_commit_names_the_hooks_that_did_not_run() {
    use std::os::unix::fs::PermissionsExt as _;

    let s = vault(&[("b.md", "b\n")]);
    let hook = |name: &str, mode: u32| {
        let at = s.vault().join(".git/hooks").join(name);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(&at, "#!/bin/sh\nexit 1\n").unwrap();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let commit = |text: &str| {
        s.write("a.md", text);
        s.run(&["commit", "--json"]).ok().json()["hooks_not_run"].clone()
    };
    // What git would not run either is not named, nor are ours.
    hook("commit-msg", 0o644);
    hook("pre-push", 0o755);
    s.run(&["hooks", "install"]).ok();
    assert_eq!(commit("1"), serde_json::json!([]));
    s.run(&["hooks", "uninstall"]).ok();
    hook("pre-commit", 0o755);
    hook("commit-msg", 0o755);
    s.write("a.md", "2");
    let told = s.run(&["commit"]).ok();
    assert!(told.err.contains("not run: git's hooks pre-commit and commit-msg ("), "{}", told.err);
    let doctor = s.run(&["doctor"]);
    assert!(doctor.out.contains("pre-commit, commit-msg; `git commit` runs them"), "{}", doctor.out);
    // Behind ours it is still somebody's.
    s.run(&["hooks", "install"]).ok();
    assert_eq!(commit("3"), serde_json::json!(["pre-commit", "commit-msg"]));
}

#[test]
fn undoing_a_commit_says_what_becomes_of_the_text() {
    let s = vault(&[("a.md", "one\n"), ("z.md", "z\n")]);
    s.write("a.md", "two\n");
    s.write("new.md", "new\n");
    s.run(&["commit", "a.md", "new.md"]).ok();
    let commit = s.git(&["rev-parse", "--short=8", "main"]);
    let would = s.run(&["undo", "-n"]).ok().out;
    assert!(would.contains("a.md would be as before the commit, new.md would be removed"), "{would}");
    assert!(would.contains(&format!("the text is kept in commit {commit}")), "{would}");
    assert!(would.contains("`runebook undo --redo` brings it back"), "{would}");
    let undone = s.run(&["undo", "--yes"]).ok().out;
    assert!(undone.contains("a.md again as before the commit, new.md removed; the text is kept"), "{undone}");
    assert_eq!(s.read("a.md"), "one\n");
    s.run(&["undo", "--redo", "--yes"]).ok();
    assert_eq!(s.read("a.md"), "two\n");
}

#[test]
fn where_nothing_is_left_to_undo_it_says_so() {
    let s = vault(&[("a.md", "# Old words\n"), ("b.md", "[[a#Old words]]\n")]);
    s.run(&["mv", "a.md#Old words", "#New"]).ok();
    s.git(&["checkout", "-q", "."]);
    for args in [&["undo", "-n"][..], &["undo"]] {
        let undone = s.run(args).ok().out;
        assert!(
            undone.contains("left to undo: rename #Old words of a.md to #New; its files stand as before"),
            "{undone}"
        );
        assert!(!undone.contains("b.md"), "{undone}");
    }
    // Half of it is left: only that is named.
    s.run(&["mv", "a.md", "c.md"]).ok();
    s.git(&["checkout", "-q", "b.md"]);
    let undone = s.run(&["undo", "--json"]).ok().json();
    assert_eq!(undone["files"], serde_json::json!(["a.md", "c.md"]));
    assert_eq!(
        (s.read("a.md"), s.read("b.md")),
        ("# Old words\n".to_owned(), "[[a#Old words]]\n".to_owned())
    );
}

#[test]
fn what_is_appended_in_a_proposal_stands_apart() {
    let s = vault(&[("a.md", "# A\n\n> [!note] Mind\n> the gap\n")]);
    s.run(&["propose", "new", "More"]).ok();
    s.run(&["propose", "edit", "a.md", "--append", "text"]).ok();
    let branch = s.git(&["for-each-ref", "--format=%(refname)", "refs/heads/proposal"]);
    let text = s.git(&["show", &format!("{branch}:a.md")]);
    assert_eq!(text, "# A\n\n> [!note] Mind\n> the gap\n\ntext");
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_named_as_left_out() {
    let s = Sandbox::new();
    s.write("Ana.md", "# Ana\n");
    std::os::unix::fs::symlink("Ana.md", s.vault().join("link.md")).unwrap();
    let init = s.run(&["init", "--existing", "--yes"]).ok();
    assert!(init.out.contains("     1 symbolic link  left out"), "{}", init.out);
    let check = s.run(&["check", "--rule", "path.symlink"]).ok();
    assert!(
        check.out.contains("link.md") && check.out.contains("\"Ana.md\" and is left out"),
        "{}",
        check.out
    );
}

#[test]
fn patterns_are_seen_from_where_one_stands() {
    let s = vault(&[
        ("zh/组织/许可.md", "许可证\n"),
        ("zh/首页.md", "许可证\n"),
        ("en/a.md", "许可证 here\n"),
        ("a[1]/b.md", "b\n"),
    ]);
    let lines = |directory: &str, args: &[&str]| {
        let directory = s.vault().join(directory);
        let run = s.run(&[&["-C", directory.to_str().unwrap()], args].concat());
        run.out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines("zh", &["glob", "组织/*"]), ["zh/组织/许可.md"]);
    assert_eq!(lines("zh", &["glob", "*"]), ["zh/组织/许可.md", "zh/首页.md"]);
    assert_eq!(lines("zh/组织", &["glob", "../*.md"]), ["zh/首页.md"]);
    assert_eq!(lines("a[1]", &["glob", "*.md"]), ["a[1]/b.md"]);
    // Otherwise from the root; `viking://` always.
    assert_eq!(lines("zh", &["glob", "en/*"]), ["en/a.md"]);
    assert_eq!(lines("zh", &["glob", "viking://en/**"]), ["en/a.md"]);
    assert_eq!(lines("zh", &["glob", "viking://*.md"]).len(), 4);
    s.run(&["-C", s.vault().to_str().unwrap(), "glob", "../*"]).fails(2);
    let found = |directory: &str, path: &str| {
        let hits = lines(directory, &["find", "许可证", "--path", path, "--json"]);
        let hits: serde_json::Value = serde_json::from_str(&hits.join("\n")).unwrap();
        let mut out: Vec<String> = hits["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["path"].as_str().unwrap().to_owned())
            .collect();
        out.sort();
        out
    };
    assert_eq!(found("zh", "组织/*"), ["zh/组织/许可.md"]);
    assert_eq!(found("zh", "组织"), ["zh/组织/许可.md"]);
    assert_eq!(found("zh", "*"), ["zh/首页.md"]);
    assert_eq!(found("zh", "en/"), ["en/a.md"]);
}

#[test]
fn a_new_note_of_a_day_is_an_event_of_it() {
    let s = vault(&[("a.md", "a\n")]);
    let made = s.run(&["new", "日记/2026-11-30.md", "--json"]).ok().json();
    assert_eq!((made["type"].as_str(), made["title"].as_str()), (Some("episodic"), Some("2026-11-30")));
    let text = s.read("日记/2026-11-30.md");
    assert!(text.contains("\noccurred: ") && text.contains("2026-11-30\n"), "{text}");
    // Whoever says what it is has the last word.
    let made = s.run(&["new", "2026-12-01", "--type", "semantic", "--title", "Plan", "--json"]).ok().json();
    assert_eq!((made["type"].as_str(), made["title"].as_str()), (Some("semantic"), Some("Plan")));
    assert!(!s.read("2026-12-01.md").contains("occurred"));
    let made = s.run(&["new", "seats-2026-11", "--json"]).ok().json();
    assert_eq!((made["type"].as_str(), made["title"].as_str()), (Some("semantic"), Some("seats 2026 11")));
}

#[test]
fn what_came_after_a_proposal_began_is_not_there_and_it_says_so() {
    let s = vault(&[("a.md", "a\n")]);
    s.run(&["propose", "new", "P"]).ok();
    s.write("c.md", "c\n");
    s.run(&["commit"]).ok();
    let later = s.run(&["propose", "edit", "c.md", "--append", "x"]).fails(3);
    assert!(later.err.contains("began before viking://c.md"), "{}", later.err);
    assert!(later.err.contains("propose new --from") && !later.err.contains("did you mean"), "{}", later.err);
    // What the proposal itself removed is gone there, and was there before.
    s.run(&["propose", "rm", "a.md"]).ok();
    let gone = s.run(&["propose", "edit", "a.md", "--append", "x"]).fails(1);
    assert!(gone.err.contains("there is nothing at viking://a.md"), "{}", gone.err);
    assert!(!gone.err.contains("mean a.md"), "{}", gone.err);
}
