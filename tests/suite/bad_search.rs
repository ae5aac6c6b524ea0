//! What nobody means to type into a search: each gets a right answer or a clear sentence, at once, with valid JSON.

use std::path::Path;

use crate::support::{Run, Sandbox, real_model};

fn vault() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    sandbox.write(
        "resources/seats.md",
        "---\ntags: [travel]\n---\n# Window seats\n\nBooks window seats on long flights.\n",
    );
    sandbox.write("resources/座位.md", "# 座位\n\n他喜欢靠窗座位，短途无所谓。的了是也在。\n");
    sandbox.write(
        "resources/signs.md",
        "# Signs\n\nA smile 😀 and re\u{301}sume\u{301}, שלום עולם, مرحبا بالعالم.\n",
    );
    sandbox.write("resources/stop.md", "# Hamlet\n\nTo be or not to be.\n");
    sandbox.write("resources/empty.md", "");
    sandbox.write("resources/binary.md", [0xff_u8, 0, 1, 2, 0xfe, b'\n', 0, 9].repeat(300));
    sandbox.write("resources/face.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "notes"]);
    sandbox
}

/// A search, as people see it and as JSON: both end alike.
#[track_caller]
fn asked(sandbox: &Sandbox, args: &[&str]) -> (Run, serde_json::Value) {
    let people = sandbox.run(args);
    let json = sandbox.run(&[&["--json"], args].concat());
    assert_eq!(people.status, json.status, "{args:?}\n{}\n{}", people.err, json.out);
    assert!(
        !people.err.contains("panicked") && !people.out.contains('\u{1b}') && !people.err.contains('\u{1b}')
    );
    let value = if json.status == 2 && json.out.is_empty() { serde_json::Value::Null } else { json.json() };
    (people, value)
}

fn first(answer: &serde_json::Value) -> &str {
    answer["hits"][0]["path"].as_str().unwrap_or_default()
}

#[test]
fn every_text_is_a_query() {
    let sandbox = vault();
    for (query, finds) in [
        ("to be or not to be", "resources/stop.md"),
        ("的了是", "resources/座位.md"),
        ("😀", "resources/signs.md"),
        ("résumé", "resources/signs.md"),
        ("re\u{301}sume\u{301}", "resources/signs.md"),
        ("שלום", "resources/signs.md"),
        ("مرحبا", "resources/signs.md"),
        ("\u{202e}seats\u{202c}", "resources/seats.md"),
        ("se\u{ad}ats", "resources/seats.md"),
        ("seats\u{1}\u{1b}[31m", "resources/seats.md"),
        ("title:window~2^4 AND (seats)", "resources/seats.md"),
        ("\"window seats", "resources/seats.md"),
        ("seats\"\"\"", "resources/seats.md"),
        ("flights -\"red eye\" -", "resources/seats.md"),
    ] {
        let (_, answer) = asked(&sandbox, &["find", query]);
        assert_eq!(first(&answer), finds, "{query}");
    }
    for query in
        ["🙃", "!!! ???", "\u{1}\u{2}\u{1b}[31m", "", "  ", "\"", "\"\"", "tag:", "*", "~", "-", "zebra"]
    {
        let (run, answer) = asked(&sandbox, &["find", "--", query]);
        assert_eq!((run.status, answer["hits"].as_array().map(Vec::len)), (1, Some(0)), "{query}");
        assert!(run.err.contains("hint: "), "{query}: {}", run.err);
    }
}

#[test]
fn what_a_query_is_not_is_said() {
    let sandbox = vault();
    for (args, says) in [
        (&["find", "seats NOT window"][..], "`-word` leaves out"),
        (&["find", "win*"], "`*` stands for nothing"),
        (&["find", "\"window seats"], "a quote is not closed"),
        (&["find", "seats since:7d"], "`--since`"),
        (&["find", "--tag", "nope"], "nothing passes the filters"),
        (&["find", ""], "nothing was asked"),
        (&["find", "seats", "--type", "nope"], "`nope` is no type of memory"),
        (&["find", "seats", "--path", "["], "the glob `[` cannot be read"),
        (&["find", "seats", "--since", "soon"], "`soon` is no date"),
        (&["find", "seats", "--limit", "0"], "0 is not in 1..=1000"),
        (&["find", "seats", "--limit", "99999999999"], "is not in 1..=1000"),
    ] {
        let (run, _) = asked(&sandbox, args);
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
    }
}

#[test]
fn a_hundred_kilobytes_are_a_query_too() {
    let sandbox = vault();
    let many = |word: &str| word.repeat(100_000 / word.len() + 1);
    for long in [
        many("a"),
        (0..13_000).map(|n| format!("word{n} ")).collect(),
        many("靠窗座位"),
        many("座 "),
        many("\""),
        many("-seats "),
        many("tag:a "),
        many("path:**/*a*{b,c}* "),
        many("\"a b\" "),
        many("e\u{301}"),
        format!("\"{}", many("note ")),
    ] {
        let (run, answer) = asked(&sandbox, &["find", "--", &long]);
        let begin: String = long.chars().take(12).collect();
        assert!(matches!(run.status, 0 | 1), "{begin}: {}", run.err);
        assert!(answer["notes"][0].as_str().unwrap().contains("only its first 409"), "{begin}");
        assert!(run.err.len() < 2_000, "{begin}: {} bytes are said of it", run.err.len());
    }
    // What is no query: the error must stay one that can be read.
    let long = many("9");
    for args in
        [["find", "x", "--rev", &long], ["find", "x", "--since", &long], ["find", "x", "--type", &long]]
    {
        let run = sandbox.run(&args);
        assert!(run.status != 0 && run.err.len() < 5_000, "{} bytes", run.err.len());
    }
    let run = sandbox.run(&["cat", &many("a/")]);
    assert!(run.status != 0 && run.err.len() < 5_000, "{} bytes", run.err.len());
}

#[test]
fn dates_beyond_every_calendar() {
    let sandbox = vault();
    for (rev, says) in [
        ("4294967295d", "is before the first commit"),
        ("99999999999999999999999w", "is before the first commit"),
        ("0001-01-01", "is before the first commit"),
        ("2026-02-30", "names no commit"),
        ("", "names no commit"),
        ("nonsense", "names no commit"),
        ("-1d", "names no commit"),
        ("main:resources", "names no commit"),
        ("HEAD~9999", "names no commit"),
        ("\u{1}", "`\\u{1}` names no commit"),
    ] {
        let (run, answer) = asked(&sandbox, &["find", "seats", &format!("--rev={rev}")]);
        assert_eq!(run.status, 1, "{rev}");
        assert!(run.err.contains(says) && run.err.contains("hint: "), "{rev}: {}", run.err);
        assert_eq!(answer["error"]["exit_status"], 1, "{rev}");
    }
    for rev in ["9999-12-31", "2030-01-01", "0d"] {
        let (_, answer) = asked(&sandbox, &["find", "seats", &format!("--rev={rev}")]);
        assert_eq!(first(&answer), "resources/seats.md", "{rev}");
    }
    sandbox.write("resources/dated.md", "---\ncreated: 2026-11-20\n---\n# Dated\n\nseats\n");
    for (args, finds) in [
        (["--since", "4294967296d"], true),
        (["--since", "99999999999999999999999d"], true),
        (["--since", "9999-12-31"], false),
        (["--until", "9999-12-31"], true),
        (["--until", "2026-11-20"], true),
        (["--until", "0001-01-01"], false),
    ] {
        let (_, answer) = asked(&sandbox, &["find", "seats", args[0], args[1]]);
        assert_eq!(first(&answer) == "resources/dated.md", finds, "{args:?}: {answer}");
    }
}

#[test]
fn what_similar_is_asked_of_need_not_be_a_memory() {
    let sandbox = vault();
    for (at, status, says) in [
        ("resources/missing.md", 1, "there is no `resources/missing.md`"),
        ("resources/empty.md", 1, "nothing is similar"),
        ("resources/binary.md", 2, "has no text that is searched"),
        ("resources/face.png", 2, "has no text that is searched"),
        ("resources/", 2, "is a directory"),
        ("viking://", 2, "is a directory"),
        ("", 2, "is a directory"),
        ("../../etc/passwd", 2, "is outside the vault"),
        (".runebook/config.yaml", 2, "has no text that is searched"),
        ("viking://resources/seats.md?rev=nonsense", 1, "names no commit"),
    ] {
        let (run, _) = asked(&sandbox, &["similar", at]);
        assert_eq!(run.status, status, "{at}: {}", run.err);
        assert!(run.err.contains(says), "{at}: {}", run.err);
    }
    // An older state is that, and what links to a file was never known of one.
    sandbox.write("resources/twin.md", "# Window seats\n\nBooks window seats on long flights.\n");
    let now = asked(&sandbox, &["similar", "resources/seats.md"]).1;
    assert_eq!(first(&now), "resources/twin.md");
    let then = asked(&sandbox, &["similar", "viking://resources/seats.md?rev=HEAD"]).1;
    assert_eq!((first(&then), &then["view"]), ("", &"rev".into()));
    for verb in ["links", "backlinks"] {
        let (run, _) = asked(&sandbox, &[verb, "viking://resources/seats.md?rev=HEAD"]);
        assert!(run.status == 2 && run.err.contains("older state"), "{verb}: {}", run.err);
    }
}

#[test]
fn with_a_model_every_text_is_a_query_too() {
    let Some((model, runtime)) = real_model() else { return };
    let sandbox = vault();
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    sandbox.run(&["model", "import", &text(&model), "--runtime", &text(&runtime)]).ok();
    sandbox.run(&["reindex"]).ok();
    let many = |word: &str| word.repeat(100_000 / word.len() + 1);
    for query in [
        many("a"),
        many("word "),
        many("靠窗座位"),
        many("e\u{301}"),
        many("\u{202e}ש"),
        "the and of".to_owned(),
        "的 了 是".to_owned(),
        "\u{1}\u{2}x".to_owned(),
        "\u{10ffff}a".to_owned(),
    ] {
        let (run, answer) = asked(&sandbox, &["find", "--", &query]);
        assert_eq!((run.status, &answer["mode"]), (0, &"hybrid".into()), "{}", run.err);
    }
    // Signs alone ask nothing of a model.
    for query in ["😀", "!!!"] {
        assert_eq!(asked(&sandbox, &["find", query]).1["mode"], "lexical", "{query}");
    }
    // A word that stands nowhere is no news where meaning answers, unless it looks like a slip.
    let (run, answer) = asked(&sandbox, &["find", "where does he like to sit in planes"]);
    assert!(!run.err.contains("no memory has the word"), "{}", run.err);
    assert!(matches!(first(&answer), "resources/seats.md" | "resources/座位.md"), "{answer}");
    let (run, _) = asked(&sandbox, &["find", "windwo seats"]);
    assert!(run.err.contains("did you mean `window`"), "{}", run.err);
}
