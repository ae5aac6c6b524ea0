//! Named pipes, sockets and devices where files are expected: nothing waits for them, each is named with what it is,
//! and the rest goes on.
#![cfg(unix)]

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::support::Sandbox;

/// What a run may take before it counts as one that waits for ever. Never reached by one that does not.
const PATIENCE: Duration = Duration::from_secs(120);

struct Said {
    status: i32,
    out: String,
    err: String,
}

/// As [`Sandbox::run`], but a run that waits for something is ended, and fails the test.
/// How a program ended, which must not take long; `waits` says what is wrong where it does not.
#[track_caller]
fn ended(child: &mut Child, waits: impl FnOnce() -> String) -> ExitStatus {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if since.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{}", waits());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn run(s: &Sandbox, args: &[&str]) -> Said {
    let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
    command.args(args).stdin(Stdio::null()).env("EDITOR", "true");
    // Files, since a pipe that nobody reads would stop a run that says much.
    let (out, err) = (s.home().join("said.out"), s.home().join("said.err"));
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let status = ended(&mut child, || format!("{args:?} waits: {}", std::fs::read_to_string(&err).unwrap()));
    let text = |at| String::from_utf8_lossy(&std::fs::read(at).unwrap()).into_owned();
    let said = Said { status: status.code().unwrap_or(-1), out: text(out), err: text(err) };
    assert!(!said.err.contains("panicked") && said.status != 101, "{args:?}: {}", said.err);
    said
}

fn pipe(s: &Sandbox, path: &str) {
    let at = s.vault().join(path);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(&at);
    assert!(Command::new("mkfifo").arg(&at).status().unwrap().success());
}

fn vault() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("user/a/one.md", "# One\n\nwindow [[two]]\n");
    s.write("user/b/two.md", "# Two\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Start"]);
    s.run(&["find", "window"]).ok();
    s
}

/// Commands that read, and what they must print however odd the rest of the vault is.
const READING: &[(&[&str], &str)] = &[
    (&["find", "window"], "user/a/one.md"),
    (&["ls", "user/a"], "one.md"),
    (&["tree"], "one.md"),
    (&["cat", "user/a/one.md"], "window"),
    (&["grep", "window"], "user/a/one.md"),
    (&["glob", "**/*.md"], "user/a/one.md"),
    (&["links", "user/a/one.md"], "[[two]]"),
    (&["backlinks", "user/b/two.md"], "user/a/one.md"),
    (&["graph"], "2 files"),
    (&["check"], " checked"),
    (&["reindex"], "memor"),
    (&["status"], "approved"),
    (&["log"], "Start"),
];

/// Commands that change something: they do it, or say why not.
const CHANGING: &[&[&str]] = &[
    &["mv", "user/b/two.md", "user/b/drei.md"],
    &["undo"],
    &["edit", "user/a/one.md"],
    &["check", "--fix"],
    &["commit", "-m", "Changes"],
    &["rm", "user/b/two.md"],
    &["undo"],
    &["new", "user/n.md"],
    &["propose", "from-worktree"],
    &["remember", "Tea is better than coffee"],
    &["hooks", "install"],
    &["overview", "user"],
    &["abstract", "user"],
    &["diff", "HEAD"],
    &["doctor"],
    &["init", "--existing", "--yes"],
    &["audit"],
];

/// Commands that stand for all where none gets further than opening the vault.
const OPENING: &[&[&str]] =
    &[&["find", "window"], &["status"], &["commit", "-m", "Changes"], &["undo"], &["doctor"]];

#[test]
fn a_pipe_in_place_of_the_rules_of_git() {
    for place in
        [".gitignore", "user/a/.gitignore", ".git/info/exclude", ".gitattributes", "user/.gitattributes"]
    {
        let s = vault();
        pipe(&s, place);
        for (args, expected) in READING {
            let said = run(&s, args);
            assert!(said.out.contains(expected), "{place} {args:?}: {} {}", said.out, said.err);
        }
        let named =
            |said: &Said| said.err.contains(place) && said.err.contains("is a named pipe, not a file");
        let status = run(&s, &["status"]);
        assert!(
            status.status == 1 && named(&status) && status.err.contains("rm '"),
            "{place}: {}",
            status.err
        );
        s.write("user/a/one.md", "# One\n\nwindow, edited [[two]]\n");
        let refused = run(&s, &["commit", "-m", "Edit"]);
        assert!(refused.status == 5 && named(&refused), "{place}: {}", refused.err);
        for args in CHANGING {
            let said = run(&s, args);
            assert!(said.status != 5 || named(&said), "{place} {args:?}: {}", said.err);
        }
        std::fs::remove_file(s.vault().join(place)).unwrap();
        s.run(&["status"]).ok();
    }
}

#[test]
fn rules_hold_beside_a_pipe() {
    let s = vault();
    s.write(".gitignore", "drafts/\n*.tmp\n!keep.tmp\n");
    for path in ["drafts/x.md", "user/a/x.tmp", "user/a/keep.tmp", "user/b/secret.md", "user/b/open.md"] {
        s.write(path, "hidden word\n");
    }
    s.write("user/b/.gitignore", "secret.md\n");
    pipe(&s, "user/a/.gitignore");
    let said = run(&s, &["tree", "--all"]);
    for (name, there) in
        [("x.md", false), ("x.tmp", false), ("keep.tmp", true), ("secret.md", false), ("open.md", true)]
    {
        assert_eq!(said.out.contains(&format!(" {name}\n")), there, "{name}: {}", said.out);
    }
    assert!(
        said.err.contains("user/a/.gitignore: its rules cannot be read: it is a named pipe"),
        "{}",
        said.err
    );
}

#[test]
fn a_pipe_a_socket_or_a_device_in_place_of_a_note() {
    let s = vault();
    pipe(&s, "user/a/pipe.md");
    let _socket = std::os::unix::net::UnixListener::bind(s.vault().join("user/a/socket.md")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", s.vault().join("user/a/endless.md")).unwrap();
    std::os::unix::fs::symlink("/dev", s.vault().join("user/devices")).unwrap();
    // One that was a note, and git and the index know it as such.
    pipe(&s, "user/b/two.md");
    for (args, expected) in READING.iter().filter(|(args, _)| !matches!(args[0], "backlinks" | "graph")) {
        let said = run(&s, args);
        assert!(said.out.contains(expected), "{args:?}: {} {}", said.out, said.err);
    }
    for (path, what) in [
        ("user/a/pipe.md", "is a named pipe, not a file"),
        ("user/a/socket.md", "is a socket, not a file"),
        ("user/a/endless.md", "leaves the vault"),
        ("user/devices/zero", "leaves the vault"),
        ("user/b/two.md", "is a named pipe, not a file"),
    ] {
        for verb in [&["cat"][..], &["mv"], &["rm"], &["edit"], &["check", "--json"], &["similar"], &["ls"]] {
            // A link can be removed itself.
            if (verb[0], path) == ("rm", "user/a/endless.md") {
                continue;
            }
            let mut args = [verb, &[path]].concat();
            args.extend((verb[0] == "mv").then_some("user/c.md"));
            let said = run(&s, &args);
            // `check` finds it; the others cannot do what they are asked.
            let found = verb[0] == "check" && said.out.contains(what);
            assert!(
                found || (said.status != 0 && said.err.contains(what)),
                "{args:?}: {} {}",
                said.out,
                said.err
            );
        }
        if path != "user/devices/zero" {
            let listed = run(&s, &["check", "--json"]).out;
            assert!(listed.contains(path), "{path}: {listed}");
        }
    }
    for args in CHANGING {
        run(&s, args);
    }
    assert!(s.vault().join("user/a/pipe.md").exists());
}

/// `doctor` tells of what is wrong where others end.
fn doctor_names(said: &Said, place: &str) -> bool {
    said.status == 1 && said.out.contains(place) && said.out.contains("is a named pipe, not a file")
}

#[test]
fn a_pipe_in_place_of_what_the_program_keeps() {
    for place in ["lock", "root", "state.json", "layers.db", "index-1/catalog.db", "index-1/text/meta.json"] {
        let s = vault();
        let place = format!(".git/runebook/{place}");
        pipe(&s, &place);
        for args in OPENING {
            let said = run(&s, args);
            let named =
                (said.err.contains(&place) && said.err.contains("named pipe")) || doctor_names(&said, &place);
            assert!(said.status != 0 && named, "{place} {args:?}: {} {}", said.out, said.err);
        }
        std::fs::remove_file(s.vault().join(&place)).unwrap();
        let said = run(&s, &["find", "window"]);
        assert!(said.out.contains("user/a/one.md"), "{place}: {}", said.err);
    }
}

#[test]
fn a_pipe_in_place_of_settings() {
    for place in [
        ".runebook/config.yaml",
        ".git/HEAD",
        ".git/config",
        ".git/index",
        ".git/packed-refs",
        ".git/refs/heads/main",
        ".git",
    ] {
        let s = vault();
        if place == ".git" {
            std::fs::rename(s.vault().join(".git"), s.home().join("gone")).unwrap();
        }
        pipe(&s, place);
        for args in OPENING {
            let said = run(&s, args);
            let named = said.err.contains(place) && said.err.contains("named pipe");
            let named = (said.status == 5 && named) || doctor_names(&said, place);
            assert!(named, "{place} {args:?}: {} {}", said.out, said.err);
        }
    }
    for place in
        [".obsidian/app.json", ".obsidian/templates.json", ".runebook/policy.yaml", ".runebook/actors.yaml"]
    {
        let s = vault();
        pipe(&s, place);
        for (args, expected) in READING {
            let said = run(&s, args);
            assert!(said.out.contains(expected), "{place} {args:?}: {} {}", said.out, said.err);
        }
        for args in CHANGING {
            run(&s, args);
        }
    }
}

#[test]
fn a_folder_of_notes_with_pipes_becomes_a_vault() {
    let s = Sandbox::new();
    s.write("a/one.md", "# One\n\nwindow\n");
    for place in [".obsidian/app.json", "a/pipe.md", "a/.gitignore"] {
        pipe(&s, place);
    }
    let said = run(&s, &["init", "--existing", "--yes"]);
    assert!(said.status == 0 || said.err.contains("named pipe"), "{} {}", said.out, said.err);
    std::fs::remove_file(s.vault().join("a/.gitignore")).unwrap();
    run(&s, &["init", "--existing", "--yes"]);
    let said = run(&s, &["find", "window"]);
    assert!(said.out.contains("a/one.md"), "{} {}", said.out, said.err);
}

/// What a shell line says, ended when it waits.
#[track_caller]
fn shell(s: &Sandbox, line: &str) -> Said {
    let mut command = s.command("timeout");
    let runebook = env!("CARGO_BIN_EXE_runebook");
    command.args(["-s", "KILL", "60", "bash", "-c", line]).env("RUNEBOOK", runebook).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { status: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

#[test]
fn a_pipe_or_a_device_that_is_named_on_the_command_line() {
    let s = vault();
    pipe(&s, "../pipe");
    std::os::unix::fs::symlink("/dev/zero", s.home().join("zero")).unwrap();
    s.run(&["propose", "new", "Seats"]).ok();
    let cases = "cases:\n- id: one\n  query: window\n  relevant: [user/a/one.md]\n";
    std::fs::write(s.home().join("cases.yaml"), cases).unwrap();
    for (at, what) in [("../pipe", "a named pipe"), ("../zero", "a device")] {
        for args in [&["eval", at][..], &["propose", "write", "user/a/new.md", "--file", at]] {
            let said = run(&s, args);
            assert_eq!(said.status, 2, "{args:?}: {}", said.err);
            assert!(said.err.contains(what) && said.err.contains("standard input"), "{args:?}: {}", said.err);
        }
    }
    // What the shell opened is meant, and so is `-`; neither is read without an end.
    for (line, status, says) in [
        ("$RUNEBOOK eval <(cat ../cases.yaml)", 0, ""),
        ("$RUNEBOOK eval - < ../cases.yaml", 0, ""),
        ("cat ../cases.yaml | $RUNEBOOK eval /dev/stdin", 0, ""),
        ("$RUNEBOOK propose write user/a/new.md --file <(echo '# New')", 0, ""),
        ("echo '# Newer' | $RUNEBOOK propose write user/a/new.md --file -", 0, ""),
        ("echo '# Newest' | $RUNEBOOK propose write user/a/new.md", 0, ""),
        ("$RUNEBOOK eval - < /dev/zero", 2, "more than"),
        ("$RUNEBOOK eval <(cat /dev/zero)", 2, "more than"),
        ("$RUNEBOOK propose write user/a/new.md < /dev/zero", 2, "more than"),
        ("$RUNEBOOK new user/a/newer.md < /dev/zero", 2, "more than"),
        ("$RUNEBOOK remember - < /dev/zero", 2, "more than"),
    ] {
        let said = shell(&s, line);
        assert_eq!(said.status, status, "{line}: {}{}", said.out, said.err);
        assert!(said.err.contains(says), "{line}: {}", said.err);
    }
}

#[test]
fn ctrl_c_ends_what_waits_for_its_input() {
    let s = vault();
    s.run(&["propose", "new", "Seats"]).ok();
    for args in [&["eval", "-"][..], &["new", "user/a/x.md"], &["propose", "write", "user/a/x.md"]] {
        let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
        let mut child = command.args(args).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // Once: the second one ends everything.
        std::thread::sleep(Duration::from_secs(1));
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let status = ended(&mut child, || format!("{args:?} waits"));
        assert!(!status.success(), "{args:?}");
    }
}

#[test]
fn links_that_lead_out_or_nowhere_are_taken_away_themselves() {
    use std::os::unix::fs::symlink;
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("note.md", "note\n");
    s.write("dir/in.md", "in\n");
    s.run(&["commit", "-m", "Start"]).ok();
    let outside = s.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("in.md"), "theirs").unwrap();
    let at = |name: &str| s.vault().join(name);
    // New ones, one in a note's place that leads to another note, one in a directory's.
    symlink(s.home().join("nowhere"), at("dangling")).unwrap();
    symlink(&outside, at("out")).unwrap();
    s.write("other.md", "note\n");
    std::fs::remove_file(at("note.md")).unwrap();
    symlink("other.md", at("note.md")).unwrap();
    std::fs::remove_dir_all(at("dir")).unwrap();
    symlink(&outside, at("dir")).unwrap();
    s.run(&["commit", "--all", "-m", "Links"]).ok();
    s.run(&["undo", "--yes"]).ok();
    for name in ["dangling", "out", "other.md"] {
        assert!(at(name).symlink_metadata().is_err(), "{name}");
    }
    assert!(at("note.md").symlink_metadata().unwrap().is_file());
    assert_eq!((s.read("note.md"), s.read("dir/in.md")), ("note\n".to_owned(), "in\n".to_owned()));
    assert!(at("dir").symlink_metadata().unwrap().is_dir());
    assert_eq!(std::fs::read_to_string(outside.join("in.md")).unwrap(), "theirs");
    assert_eq!(s.git(&["status", "--porcelain"]), "");
    // By hand, and back.
    symlink(s.home().join("nowhere"), at("dangling")).unwrap();
    symlink(&outside, at("out")).unwrap();
    for name in ["dangling", "out"] {
        s.run(&["rm", name]).ok();
        assert!(at(name).symlink_metadata().is_err(), "{name}");
        s.run(&["undo"]).ok();
        assert!(at(name).symlink_metadata().unwrap().file_type().is_symlink(), "{name}");
    }
    assert!(s.run(&["rm", "out/in.md"]).fails(2).err.contains("leaves the vault"));
    assert_eq!(std::fs::read_to_string(outside.join("in.md")).unwrap(), "theirs");
}

#[test]
fn a_pipe_in_a_model_is_told_from_a_file_that_is_missing() {
    let s = vault();
    for name in
        ["model.onnx", "tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"]
    {
        std::fs::create_dir_all(s.home().join("model")).unwrap();
        std::fs::write(s.home().join("model").join(name), "{}").unwrap();
    }
    let import = ["model", "import", "../model", "--name", "small"];
    for name in ["tokenizer.json", "model.onnx"] {
        let at = format!("../model/{name}");
        pipe(&s, &at);
        let said = run(&s, &import);
        assert_eq!(said.status, 2, "{}", said.err);
        assert!(said.err.contains(&format!("{name} is a named pipe, not a file")), "{}", said.err);
        std::fs::remove_file(s.vault().join(&at)).unwrap();
        std::os::unix::fs::symlink("/dev/zero", s.vault().join(&at)).unwrap();
        let said = run(&s, &import);
        assert!(said.err.contains(&format!("{name} is a device, not a file")), "{}", said.err);
        std::fs::remove_file(s.vault().join(&at)).unwrap();
        std::fs::create_dir(s.vault().join(&at)).unwrap();
        let said = run(&s, &import);
        assert!(said.err.contains(&format!("{name} is a directory, not a file")), "{}", said.err);
        std::fs::remove_dir(s.vault().join(&at)).unwrap();
        let said = run(&s, &import);
        assert!(said.err.contains(&format!("{name} is missing")), "{}", said.err);
        std::fs::write(s.vault().join(&at), "{}").unwrap();
    }
    // Where the description stands, of one to import and of one that is installed.
    pipe(&s, "../model/model.yaml");
    let said = run(&s, &import);
    assert!(said.status == 5 && said.err.contains("named pipe"), "{}", said.err);
    pipe(&s, "../.local/share/runebook/models/small/model.yaml");
    for args in [&["model", "list"][..], &["status"], &["find", "window"]] {
        assert!(run(&s, args).status <= 1, "{args:?}");
    }
}
