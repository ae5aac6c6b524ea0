//! A person's own hands: new, edit, mv, rm, commit, actor.

use super::support::Sandbox;

fn vault() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s
}

fn files(s: &Sandbox) -> Vec<String> {
    let all = s.git(&["-c", "core.quotepath=false", "ls-tree", "-r", "--name-only", "HEAD"]);
    let layer = |path: &str| path.ends_with(".abstract.md") || path.ends_with(".overview.md");
    all.lines().filter(|l| !l.starts_with(".runebook") && !layer(l)).map(str::to_owned).collect()
}

#[test]
fn a_new_memory_has_a_head_and_is_never_written_over() {
    let s = vault();
    let made = s
        .run(&[
            "new",
            "user/memories/events/搬家",
            "--title",
            "搬家: day # 1",
            "--tag",
            "家",
            "--body",
            "搬了。",
            "--json",
        ])
        .ok()
        .json();
    assert_eq!(made["path"], "user/memories/events/搬家.md");
    assert_eq!(made["type"], "episodic");
    assert_eq!(made["id"].as_str().unwrap().len(), 26);
    let text = s.read("user/memories/events/搬家.md");
    assert!(
        text.contains("搬家: day # 1")
            && text.contains("2026-11-29T10:00:00+00:00")
            && text.ends_with("搬了。\n"),
        "{text}"
    );
    let again = s.run(&["new", "user/memories/events/搬家.md", "--body", "x"]).fails(3);
    assert!(again.err.contains("exists already"), "{}", again.err);
    assert_eq!(s.read("user/memories/events/搬家.md"), text);
    s.write("user/memories/Tea.md", "t\n");
    s.run(&["new", "user/memories/tea.md", "--body", "x"]).fails(3);
    for (bad, better) in
        [("resources/CON.md", "_CON.md"), ("resources/a:b.md", "a-b.md"), ("resources/end./x.md", "end")]
    {
        let run = s.run(&["new", bad, "--body", "x"]).fails(2);
        assert!(run.err.contains(better), "{}", run.err);
    }
    s.run(&["new", "../out.md", "--body", "x"]).fails(2);
    s.run(&["new", ".git/x.md", "--body", "x"]).fails(2);
    s.run(&["new", "viking://.runebook/x.md", "--body", "x"]).fails(2);
    s.run(&["new", "user/memories/Tea.md/below.md", "--body", "x"]).fails(2);
    s.run(&["new", "face.png", "--body", "x"]).fails(2);
}

#[test]
fn a_commit_takes_what_is_meant_and_leaves_the_rest() {
    let s = vault();
    s.write("notes.md", b"\xEF\xBB\xBFone\r\n");
    s.write("staged.txt", "staged\n");
    s.write("face.png", b"\x89PNG");
    s.write(".obsidian/app.json", "{}\n");
    s.git(&["add", "staged.txt"]);
    let run = s.run(&["commit", "-m", "First\n\nRunebook-Event: review"]).ok();
    assert!(run.err.contains("face.png") && !run.err.contains("staged.txt"), "{}", run.err);
    assert_eq!(files(&s), ["notes.md"]);
    assert_eq!(s.git(&["status", "--porcelain"]), "A  staged.txt\n?? .obsidian/\n?? face.png");
    assert_eq!(s.git(&["log", "-1", "--format=%an|%ae|%cn|%ce"]), "mei|mei@example.org|mei|mei@example.org");
    assert!(s.git(&["log", "-1", "--format=%B"]).contains("\n| Runebook-Event"));
    s.run(&["commit"]).fails(1);
    s.write("a/one.md", "1\n");
    s.write("b/two.md", "2\n");
    s.run(&["commit", "a"]).ok();
    assert_eq!(files(&s), ["a/one.md", "notes.md"]);
    s.run(&["commit", "face.png", "b/two.md"]).ok();
    assert_eq!(files(&s), ["a/one.md", "b/two.md", "face.png", "notes.md"]);
    std::fs::remove_file(s.vault().join("a/one.md")).unwrap();
    let json = s.run(&["commit", "a/one.md", "--json"]).ok().json();
    assert_eq!(json["files"][0]["change"], "deleted");
    assert_eq!(s.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn line_ends_are_stored_as_git_would() {
    let s = vault();
    s.git(&["config", "core.autocrlf", "true"]);
    s.write("a.md", "one\r\ntwo\r\n");
    s.run(&["commit"]).ok();
    assert_eq!(s.git(&["cat-file", "-s", "HEAD:a.md"]), "8");
    assert_eq!(s.git(&["status", "--porcelain"]), "");
    assert_eq!(s.read("a.md"), "one\r\ntwo\r\n");
    s.write(".gitattributes", "*.md filter=secret\n");
    s.write("b.md", "b\n");
    let run = s.run(&["commit", "b.md"]).fails(5);
    assert!(run.err.contains("git commit"), "{}", run.err);
}

#[test]
fn only_people_whom_the_policy_allows_commit() {
    let s = vault();
    s.run(&["actor", "add", "bot", "--kind", "agent", "--family", "claude"]).ok();
    s.run(&["actor", "add", "lin", "--kind", "person", "--email", "lin@example.org"]).ok();
    s.write("a.md", "a\n");
    let agent = s.run_as("bot", &["commit"]).fails(4);
    assert!(agent.err.contains("runebook propose"), "{}", agent.err);
    for args in [&["new", "x.md"][..], &["mv", "a.md", "b.md"], &["rm", "a.md"], &["edit", "a.md"]] {
        s.run_as("bot", args).fails(4);
    }
    // The environment's actor is not overridden, and settings are for admins.
    s.run_as("bot", &["--as", "mei", "commit"]).fails(2);
    s.write(".runebook/policy.yaml", format!("{}# more\n", s.read(".runebook/policy.yaml")));
    let refused = s.run(&["--as", "lin", "commit"]).fails(4);
    assert!(refused.err.contains(".runebook/policy.yaml (admins only)"), "{}", refused.err);
    assert_eq!(files(&s), Vec::<String>::new(), "nothing at all");
    s.run(&["--as", "lin", "commit", "a.md"]).ok();
    assert_eq!(s.git(&["log", "-1", "--format=%an %ae"]), "lin lin@example.org");
    s.run(&["commit"]).ok();
}

#[test]
fn a_commit_needs_main_and_git_at_rest() {
    let s = vault();
    s.write("a.md", "a\n");
    s.git(&["checkout", "-q", "-b", "side"]);
    let side = s.run(&["commit"]).fails(2);
    assert!(side.err.contains("git switch main"), "{}", side.err);
    s.git(&["checkout", "-q", "--detach", "main"]);
    s.run(&["commit"]).fails(2);
    s.git(&["checkout", "-q", "main"]);
    let before = s.git(&["rev-parse", "main"]);
    std::fs::write(s.vault().join(".git/index.lock"), "").unwrap();
    let locked = s.run(&["commit"]).fails(3);
    assert!(locked.err.contains("index.lock"), "{}", locked.err);
    assert_eq!(s.git(&["rev-parse", "main"]), before);
    std::fs::remove_file(s.vault().join(".git/index.lock")).unwrap();
    s.run(&["commit"]).ok();
}

#[test]
fn mv_and_rm_lose_nothing() {
    let s = vault();
    s.write("a.md", "a\n");
    s.write("d/b.md", "b\n");
    s.run(&["commit"]).ok();
    s.write("a.md", "a, edited\n");
    s.run(&["mv", "a.md", "d/"]).ok();
    assert_eq!(s.read("d/a.md"), "a, edited\n");
    s.run(&["mv", "d/a.md", "d/b.md"]).fails(3);
    assert_eq!(s.read("d/b.md"), "b\n");
    s.run(&["mv", "d", "d/inner"]).fails(2);
    s.run(&["mv", "d/a.md", "new/a?.md"]).fails(2);
    s.run(&["mv", "d/a.md", "d/A.md"]).ok();
    s.run(&["mv", "d", "e/f"]).ok();
    assert_eq!(s.read("e/f/A.md"), "a, edited\n");
    // Git has it: it is gone. Git has it not: it is kept, and the place is told.
    s.write("plain.md", "p\n");
    s.run(&["commit", "plain.md"]).ok();
    let gone = s.run(&["rm", "plain.md", "--json"]).ok().json();
    assert!(gone.get("kept").is_none());
    let kept = s.run(&["rm", "e/f/A.md", "--json"]).ok().json();
    assert_eq!(std::fs::read_to_string(kept["kept"].as_str().unwrap()).unwrap(), "a, edited\n");
    s.run(&["rm", "e"]).fails(2);
    let tree = s.run(&["rm", "-r", "e", "--json"]).ok().json();
    let place = std::path::Path::new(tree["kept"].as_str().unwrap()).join("f/b.md");
    assert_eq!(std::fs::read_to_string(place).unwrap(), "b\n");
    s.run(&["rm", "-r", "viking://"]).fails(2);
    s.run(&["rm", "-r", ".runebook"]).fails(2);
    let missing = s.run(&["rm", "plian.md"]).fails(1);
    assert!(missing.err.contains("there is no"), "{}", missing.err);
}

#[test]
fn a_directory_with_what_git_ignores_is_kept() {
    let s = vault();
    s.write("d/a.md", "a\n");
    s.write(".gitignore", "*.local\n");
    s.run(&["commit", "--all"]).ok();
    s.write("d/x.local", "only here\n");
    let removed = s.run(&["rm", "-r", "d", "--json"]).ok().json();
    let kept = std::path::Path::new(removed["kept"].as_str().unwrap()).join("x.local");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "only here\n");
}

#[test]
fn an_editor_is_started_without_a_shell() {
    let s = vault();
    s.write("a.md", "one\n");
    let editor = s.home().join("my editor.sh");
    std::fs::write(&editor, "#!/bin/sh\necho \"$1\" >> \"$2\"\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
    let run = command
        .env("VISUAL", format!("'{}' '$(touch x);'", editor.display()))
        .args(["edit", "a.md"])
        .output()
        .unwrap();
    assert!(run.status.success());
    assert_eq!(s.read("a.md"), "one\n$(touch x);\n");
    assert!(!s.vault().join("x").exists());
    let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
    let missing = command.env("VISUAL", "no-such-editor").args(["edit", "a.md"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(5));
}

#[test]
fn actors_are_added_without_touching_the_rest() {
    let s = vault();
    let before = s.read(".runebook/actors.yaml");
    s.git(&["config", "user.email", "MEI@example.org"]);
    s.run(&["actor", "add", "gpt", "--kind", "agent", "--family", "gpt", "--role", "propose,review"]).ok();
    let after = s.read(".runebook/actors.yaml");
    assert!(after.starts_with(&before), "{after}");
    assert_eq!(s.git(&["log", "-1", "--format=%an %s"]), "mei Add the actor gpt");
    assert_eq!(s.git(&["status", "--porcelain"]), "");
    s.run(&["actor", "add", "gpt", "--kind", "agent", "--family", "gpt"]).fails(3);
    s.run(&["actor", "add", "x", "--kind", "person", "--email", "mei@EXAMPLE.org"]).fails(3);
    s.run(&["actor", "add", "x", "--kind", "person"]).fails(2);
    s.run(&["actor", "add", "x", "--kind", "agent", "--family", "x", "--role", "admin"]).fails(2);
    s.run(&["actor", "add", "X Y", "--kind", "agent", "--family", "x"]).fails(2);
    s.run_as("gpt", &["actor", "add", "x", "--kind", "agent", "--family", "x"]).fails(4);
    s.write(".runebook/actors.yaml", format!("{after}# a note of mine\n"));
    s.run(&["actor", "add", "x", "--kind", "agent", "--family", "x"]).fails(3);
    let list = s.run(&["actor", "list"]).ok().out;
    assert_eq!(list.lines().count(), 2, "{list}");
}

#[test]
fn a_name_with_quotes_and_a_newline_is_committed_as_it_is() {
    let s = vault();
    s.write("odd'\"\nname.md", "odd\n");
    let out = s.run(&["commit"]).ok().out;
    assert!(out.contains("odd'\"\\nname.md"), "one line for one file: {out}");
    assert!(s.git(&["ls-tree", "-z", "--name-only", "HEAD"]).contains("odd'\"\nname.md\0"));
    assert_eq!(s.git(&["status", "--porcelain"]), "");
    s.write("odd'\"\nname.md", "more\n");
    assert!(s.run(&["status"]).ok().out.contains("M odd'\"\\nname.md"));
}

#[test]
fn rm_tells_of_the_links_that_led_there() {
    let s = Sandbox::new();
    s.run(&["init", "."]).ok();
    s.write("a.md", "# A\n\n[[b]] and [[b]] again.\n");
    s.write("b.md", "# B\n\n[[a]] and [[b]].\n");
    s.run(&["commit"]).ok();
    let run = s.run(&["rm", "b.md"]).ok();
    assert!(run.err.contains("2 links led there"), "{}", run.err);
    assert!(!s.run(&["rm", "a.md"]).ok().err.contains("led there"), "what is gone too leads nowhere");
}

#[cfg(unix)]
#[test]
fn what_stands_behind_a_link_is_not_committed_as_a_file_of_the_vault() {
    let s = vault();
    s.write("resources/sub/a.md", "# Ours\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Ours"]);
    let outside = s.home().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("a.md"), "a secret of the machine\n").unwrap();
    std::fs::remove_dir_all(s.vault().join("resources/sub")).unwrap();
    std::os::unix::fs::symlink(&outside, s.vault().join("resources/sub")).unwrap();
    s.run(&["commit", "--message", "Moved"]);
    let said = s.run(&["propose", "from-worktree", "--json"]);
    let all = s.git(&["cat-file", "--batch-all-objects", "--batch", "--unordered"]);
    assert!(!all.contains("a secret of the machine"), "{} {}", said.out, said.err);
    assert_eq!(std::fs::read_to_string(outside.join("a.md")).unwrap(), "a secret of the machine\n");
}

#[test]
fn a_file_that_an_attribute_gives_to_a_program_is_not_taken_as_it_is() {
    let s = vault();
    s.write(".gitattributes", "big.* filter=lfs diff=lfs merge=lfs -text\nplain.md -filter\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Attributes"]);
    s.write("resources/big.md", "bytes");
    for args in [&["commit", "--all", "--message", "Big"][..], &["propose", "from-worktree"]] {
        let run = s.run(args);
        assert!(
            run.status > 1 && run.err.contains("big.md") && run.err.contains("lfs"),
            "{args:?} {}",
            run.err
        );
    }
    std::fs::rename(s.vault().join("resources/big.md"), s.vault().join("resources/plain.md")).unwrap();
    s.run(&["commit", "--all", "--message", "Plain"]).ok();
}

#[test]
fn a_commit_of_many_files_shows_some_and_counts_the_rest() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    let write = |text: &str| (0..30).for_each(|n| s.write(&format!("resources/n{n:02}.md"), text));
    write("# Note\n");
    let run = s.run(&["commit", "-m", "Thirty"]).ok();
    assert_eq!(run.out.lines().filter(|line| line.starts_with("A ")).count(), 20, "{}", run.out);
    assert!(run.out.contains("n19.md\n  … and 10 more (-v shows all)\n"), "{}", run.out);
    write("# Note\n\nmore\n");
    assert_eq!(s.run(&["commit", "--json", "-m", "x"]).ok().json()["files"].as_array().unwrap().len(), 30);
    write("# Note\n\nyet more\n");
    let all = s.run(&["commit", "-v", "-m", "x"]).ok();
    assert!(all.out.contains("M resources/n29.md") && !all.out.contains("more"), "{}", all.out);
    let listed = s.run(&["ls", "resources"]).ok();
    assert_eq!(listed.out.lines().count(), 30, "a listing lists all: {}", listed.out);
}
