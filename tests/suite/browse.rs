//! Looking around, as a person and as an agent.

use super::support::Sandbox;

/// A vault with an agent that sees a part of it.
pub(super) fn vault() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write(
        "user/memories/Seats.md",
        "---\nsensitivity: normal\n---\n# Seats\n\n## Window\n靠窗座位 ^w1\n\n## Aisle\nno\n",
    );
    s.write("user/memories/health.md", "---\nsensitivity: restricted\n---\nallergy to nuts\n");
    s.write("user/memories/broken.md", "---\n[: {\nsensitivity: restricted\n---\nallergy to milk\n");
    s.write("resources/日记/今天.md", "allergy season\n");
    s.write("resources/face.png", b"\x89PNG\0allergy");
    let actors = s.read(".runebook/actors.yaml");
    s.write(
        ".runebook/actors.yaml",
        format!("{actors}  - {{id: bot, kind: agent, family: claude, email: bot@agents.invalid, roles: [propose]}}\n  - {{id: narrow, kind: agent, family: gpt, email: n@agents.invalid, roles: [propose], reads: [\"resources/**\"]}}\n"),
    );
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "memories"]);
    s
}

#[test]
fn a_person_sees_the_files_and_an_agent_sees_main() {
    let s = vault();
    s.write("user/memories/draft.md", "a draft\n");
    let person = s.run(&["ls", "user/memories"]).ok().out;
    assert!(person.contains("user/memories/draft.md"), "{person}");
    let agent = s.run_as("bot", &["ls", "user/memories"]).ok().out;
    assert!(agent.contains("user/memories/Seats.md") && !agent.contains("draft"), "{agent}");
    s.run_as("bot", &["cat", "user/memories/draft.md"]).fails(1);
    // What is not for it looks as if it were not there.
    s.run_as("bot", &["cat", "user/memories/health.md"]).fails(1);
    s.run_as("bot", &["cat", "user/memories/broken.md"]).fails(1);
    s.run(&["cat", "user/memories/health.md"]).ok();
    let hits = s.run_as("bot", &["grep", "-l", "allergy"]).ok().out;
    assert_eq!(hits, "resources/日记/今天.md\n");
    let tree = s.run_as("narrow", &["tree"]).ok().out;
    assert!(tree.contains("今天.md") && !tree.contains("user/") && !tree.contains("Seats"), "{tree}");
    s.run_as("narrow", &["cat", "user/memories/Seats.md"]).fails(1);
}

#[test]
fn an_agent_reads_no_state_that_was_never_approved() {
    let s = vault();
    s.git(&["checkout", "-q", "-b", "side"]);
    s.write("resources/x.md", "side\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "side"]);
    s.git(&["checkout", "-q", "main"]);
    s.run(&["cat", "--rev", "side", "resources/x.md"]).ok();
    s.run_as("bot", &["cat", "--rev", "side", "resources/x.md"]).fails(4);
    s.run_as("bot", &["cat", "viking://resources/x.md?rev=side"]).fails(4);
    s.run_as("bot", &["ls", "--rev", "main~1"]).ok();
}

#[test]
fn a_file_is_printed_as_it_is() {
    let s = vault();
    let bytes = b"\xEF\xBB\xBFone\r\ntwo\xFF\r\nthree";
    s.write("crlf.md", bytes);
    let whole = s.command(env!("CARGO_BIN_EXE_runebook")).args(["cat", "crlf.md"]).output().unwrap();
    assert_eq!(whole.stdout, bytes);
    let part = s
        .command(env!("CARGO_BIN_EXE_runebook"))
        .args(["cat", "crlf.md", "--lines", "2-2"])
        .output()
        .unwrap();
    assert_eq!(part.stdout, b"two\xFF\r\n");
    s.run(&["cat", "crlf.md", "--lines", "9"]).fails(1);
    s.run(&["cat", "crlf.md", "--lines", "3-1"]).fails(2);
    assert_eq!(s.run(&["cat", "viking://crlf.md#L1"]).ok().out, "\u{feff}one\r\n");
    let section = s.run(&["cat", "user/memories/Seats.md#Seats#Window"]).ok().out;
    assert!(
        section.starts_with("## Window") && section.contains("靠窗") && !section.contains("Aisle"),
        "{section}"
    );
    let wrong = s.run(&["cat", "user/memories/Seats.md#Windows"]).fails(1);
    assert!(wrong.err.contains("#Window"), "{}", wrong.err);
}

#[test]
fn places_are_named_in_three_ways_and_slips_get_the_nearest_name() {
    let s = vault();
    let run = |at: &str, args: &[&str]| {
        let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
        let output = command.current_dir(s.vault().join(at)).args(args).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for name in [
        "今天.md",
        "resources/日记/今天.md",
        "viking://resources/日记/今天.md",
        "viking://resources/%E6%97%A5%E8%AE%B0/今天.md",
        "./今天.md",
        "今天",
        "resources/日记/今天",
        "viking://resources/日记/今天",
        "../日记/今天.md",
    ] {
        let (status, out, err) = run("resources/日记", &["cat", name]);
        assert_eq!((status, out.as_str()), (0, "allergy season\n"), "{name}: {err}");
    }
    let absolute = s.vault().join("resources/日记/今天.md");
    assert_eq!(run("user", &["cat", absolute.to_str().unwrap()]).0, 0);
    for (slip, near) in [
        ("user/memories/seats.md", "user/memories/Seats.md"),
        ("Seatz", "did you mean user/memories/Seats.md?"),
        ("user/memories/Saets.md", "user/memories/Seats.md"),
        ("viking://user/helath.md", "user/memories/health.md"),
    ] {
        let (status, _, err) = run(".", &["cat", slip]);
        assert_eq!(status, 1);
        assert!(err.contains(near), "{slip}: {err}");
    }
    for out in [
        "../outside.md",
        "/etc/passwd",
        "viking://a/../b",
        ".git/config",
        "viking://.git/config",
        "viking://a%2Fb",
    ] {
        let (status, stdout, err) = run(".", &["cat", out]);
        assert_eq!((status, stdout.as_str()), (2, ""), "{out}: {err}");
    }
    let (_, _, err) = run(".", &["lss"]);
    assert!(err.contains("'ls'"), "{err}");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_vault_is_not_followed() {
    let s = vault();
    std::fs::write(s.home().join("secret.md"), "secret\n").unwrap();
    std::os::unix::fs::symlink("../secret.md", s.vault().join("link.md")).unwrap();
    std::os::unix::fs::symlink("..", s.vault().join("up")).unwrap();
    std::os::unix::fs::symlink(".", s.vault().join("resources/loop")).unwrap();
    s.run(&["cat", "link.md"]).fails(2);
    s.run(&["cat", "up/secret.md"]).fails(2);
    s.run(&["ls", "up"]).fails(2);
    assert_eq!(s.run(&["grep", "secret"]).fails(1).out, "");
    let ls = s.run(&["ls"]).ok();
    assert!(ls.err.contains("link.md") && !ls.out.contains("link.md"), "{}{}", ls.out, ls.err);
    s.run(&["tree"]).ok();
}

#[test]
fn grep_and_glob() {
    let s = vault();
    s.write("odd'\"\nname.md", "odd needle\n");
    assert_eq!(s.run(&["grep", "靠窗"]).ok().out, "user/memories/Seats.md:7:靠窗座位 ^w1\n");
    assert_eq!(s.run(&["grep", "needle"]).ok().out, "odd'\"\\nname.md:1:odd needle\n");
    assert_eq!(
        s.run(&["grep", "-i", "ALLERGY", "resources"]).ok().out.lines().count(),
        1,
        "the picture is no text"
    );
    let json = s.run(&["grep", "--json", "milk"]).ok().json();
    assert_eq!((json["line"].as_u64(), json["hit"].as_bool()), (Some(5), Some(true)));
    s.run(&["grep", "nowhere to be found"]).fails(1);
    let bad = s.run(&["grep", "("]).fails(2);
    assert!(bad.err.contains("-F"), "{}", bad.err);
    s.run(&["grep", "-F", "("]).fails(1);
    let context = s.run(&["grep", "-C", "1", "靠窗"]).ok().out;
    assert_eq!(context.lines().count(), 3, "{context}");
    assert_eq!(s.run(&["glob", "今*"]).ok().out, "resources/日记/今天.md\n");
    assert_eq!(s.run(&["glob", "user/**/*.md"]).ok().out.lines().count(), 3);
    s.run(&["glob", "user/*.md"]).fails(1);
    s.run(&["glob", "["]).fails(2);
}

#[test]
fn an_empty_vault_says_what_belongs_where() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    let ls = s.run(&["ls"]).ok();
    assert!(ls.out.is_empty() && ls.err.contains("runebook new"), "{}", ls.err);
    for i in 0..60 {
        s.write(&format!("resources/n{i:02}.md"), "x\n");
    }
    let tree = s.run(&["tree"]).ok().out;
    assert!(tree.contains("… and 10 more"), "{tree}");
    s.run(&["tree", "-L", "0"]).fails(2);
    let shallow = s.run(&["tree", "-L", "1"]).ok().out;
    assert!(!shallow.contains("n00.md"), "{shallow}");
}

#[test]
fn a_bare_repository_is_read_from_main() {
    let s = vault();
    s.git(&["clone", "-q", "--bare", ".", "../bare"]);
    let mut command = s.command(env!("CARGO_BIN_EXE_runebook"));
    let out =
        command.current_dir(s.home().join("bare")).args(["cat", "resources/日记/今天.md"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "allergy season\n");
}

#[test]
fn a_name_that_only_one_file_has_needs_no_directory() {
    let s = vault();
    let seats = s.read("user/memories/Seats.md");
    for name in ["Seats", "Seats.md", "memories/Seats"] {
        assert_eq!(s.run(&["cat", name]).ok().out, seats, "{name}");
    }
    assert!(s.run(&["cat", "Seats#Window"]).ok().out.contains("靠窗座位"));
    // What an agent may not see has no name, and what says where it is means no other place.
    s.run_as("bot", &["cat", "health"]).fails(1);
    s.run(&["cat", "./Seats"]).fails(1);
    s.write("resources/Seats.md", "Others\n");
    let told = s.run(&["cat", "Seats#Window"]).fails(1).err;
    assert!(told.contains("resources/Seats.md#Window, or user/memories/Seats.md#Window?"), "{told}");
    let told = s.run(&["cat", "user/memories/Seats.md", "--lines", "99"]).fails(1).err;
    assert!(told.contains("it has 10 lines"), "{told}");
}

#[test]
fn names_and_questions_read_well() {
    let s = vault();
    s.write("resources/q.md", "# 问\n\n## 使用了什么加密方式？\n\nyes ^q1\n");
    let told = s.run(&["cat", "resources/q.md#使用了什么加密方式"]).fails(1).err;
    assert!(told.contains("did you mean “#使用了什么加密方式？”?"), "{told}");
    let told = s.run(&["mv", "resources/q.md#^q1", "#^块2"]).fails(2).err;
    assert!(told.contains("`块2` cannot be the name of a block") && told.contains("Latin letters"), "{told}");
    assert!(s.run(&["mv", "resources/q.md#^q1", "#^q2"]).ok().err.contains("`runebook commit` puts"));
    s.write("resources/seat.md", "---\naliases: [chair]\n---\n# Seat\n\nSee [[l]].\n");
    s.write("resources/l.md", "[[chair|seat]] and [[q]]\n");
    let told = s.run(&["check", "resources/l.md"]).out;
    assert!(told.contains("write [[seat]]"), "{told}");
}
