//! Finding memories from the command line.

use super::support::{Run, Sandbox};

fn vault() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    sandbox.write(
        "user/memories/preferences/seats.md",
        "---\ntype: semantic\ntitle: Prefers window seats\ntags: [travel/air]\naliases: [靠窗座位]\noccurred: 2026-11-28\n---\n\
         # Prefers window seats\n\nOn flights over two hours the user asks for a window seat.\n\n## Why\n\nHe likes to see mountains.\n",
    );
    sandbox.write(
        "resources/日记/2026-11-20.md",
        "# 周五\n\n他喜欢靠窗的座位，短途航班无所谓。家里有一只猫。\n",
    );
    sandbox.write(
        "resources/errors.md",
        "# Errors\n\nThe proxy answered HTTP-403 and then retry_count was 3.\n",
    );
    sandbox.write(
        "agent/memories/old.md",
        "---\ntype: episodic\nstatus: archived\n---\n# Old seats\n\nA seat in the last row.\n",
    );
    sandbox.write(
        "user/secret.md",
        "---\nsensitivity: restricted\n---\n# Secret seats\n\nThe seat of the safe.\n",
    );
    sandbox
}

#[track_caller]
fn paths(run: Run) -> Vec<String> {
    let answer = run.json();
    let hits = answer["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["path"].as_str().unwrap().to_owned()).collect()
}

const SEATS: &str = "user/memories/preferences/seats.md";
const DIARY: &str = "resources/日记/2026-11-20.md";

#[test]
fn words_in_both_languages_and_in_any_form() {
    let s = vault();
    let found = |query: &str| paths(s.run(&["find", "--json", query]));
    assert_eq!(found("flight mountains")[0], SEATS);
    assert_eq!(found("windows")[0], SEATS);
    assert_eq!(found("靠窗")[0], SEATS, "the alias counts more than the body");
    assert_eq!(found("航班"), [DIARY]);
    assert_eq!(found("猫"), [DIARY]);
    assert_eq!(found("只"), [DIARY], "a single character within a run");
    assert_eq!(found("喜欢 window").len(), 2);
    assert_eq!(found("HTTP-403"), ["resources/errors.md"]);
    assert_eq!(found("ｈｔｔｐ"), ["resources/errors.md"]);
    assert_eq!(found("retry_count"), ["resources/errors.md"]);
    assert_eq!(found("errors.md")[0], "resources/errors.md");
}

#[test]
fn phrases_filters_and_not() {
    let s = vault();
    let found = |args: &[&str]| {
        let mut all = vec!["find", "--json"];
        all.extend(args);
        paths(s.run(&all))
    };
    assert_eq!(found(&["\"over two hours\""]), [SEATS]);
    assert_eq!(found(&["\"hours two over\""]), Vec::<String>::new());
    assert_eq!(found(&["“靠窗的座”"]), [DIARY]);
    assert_eq!(found(&["tag:travel"]), [SEATS]);
    assert_eq!(found(&["seat", "--tag", "travel/air"]), [SEATS]);
    assert_eq!(found(&["--", "seat -mountains"]), ["user/secret.md"]);
    assert_eq!(found(&["seat type:semantic"]), [SEATS]);
    assert_eq!(found(&["seat", "--path", "user/*.md"]), ["user/secret.md"]);
    assert_eq!(found(&["seat path:user/memories/"]), [SEATS]);
    assert_eq!(found(&["--since", "2026-11-21"]), [SEATS]);
    assert_eq!(found(&["--since", "2026-11-20", "--until", "2026-11-20"]), [DIARY]);
    assert_eq!(found(&["seat", "--status", "archived"]), ["agent/memories/old.md"]);
    assert_eq!(found(&["seat", "--status", "all"]).len(), 3);
    assert_eq!(found(&["seat", "-n", "1"]).len(), 1);
}

#[test]
fn what_is_shown() {
    let s = vault();
    let run = s.run(&["find", "mountains"]).ok();
    assert!(run.out.starts_with(&format!("{SEATS}:1")), "{}", run.out);
    assert!(run.out.contains("Prefers window seats  semantic  2026-11-28  not on main"), "{}", run.out);
    assert!(run.out.contains("mountains"), "{}", run.out);
    let hit = &s.run(&["find", "mountains", "--json", "--explain"]).ok().json()["hits"][0];
    assert_eq!(hit["uri"], format!("viking://{SEATS}"));
    assert_eq!(hit["headings"].as_array().unwrap().last().unwrap(), "Why");
    let (text, marks) = (hit["snippet"]["text"].as_str().unwrap(), &hit["snippet"]["marks"][0]);
    let (from, to) = (marks[0].as_u64().unwrap() as usize, marks[1].as_u64().unwrap() as usize);
    assert_eq!(&text[from..to], "mountains");
    let parts: f64 = hit["explain"].as_array().unwrap().iter().map(|p| p["score"].as_f64().unwrap()).sum();
    assert!((parts - hit["score"].as_f64().unwrap()).abs() < 1e-4);
}

#[test]
fn nothing_found_helps_and_odd_queries_do_not_fail() {
    let s = vault();
    let run = s.run(&["find", "xylophone"]).fails(1);
    assert!(run.err.contains("nothing found for `xylophone`") && run.err.contains("hint:"), "{}", run.err);
    s.run(&["find"]).fails(1);
    s.run(&["find", "the of and"]).ok();
    for query in ["🚀", "???", "\"", "tag:", "-", "a-b-c:d", "\u{0}x"].iter().take(6) {
        let run = s.run(&["find", "--", query]);
        assert!(run.status <= 1, "{query}: {} {}", run.status, run.err);
    }
    let long = "靠窗 window ".repeat(100_000 / 16);
    let run = s.run(&["find", "--json", &long]).ok();
    assert!(run.json()["notes"][0].as_str().unwrap().contains("only its first"));
    let wrong = s.run(&["find", "x", "--type", "semantc"]).fails(2);
    assert!(wrong.err.contains("did you mean `semantic`"), "{}", wrong.err);
    s.run(&["find", "x", "--since", "soon"]).fails(2);
}

#[test]
fn an_agent_finds_only_what_is_approved_and_within_its_clearance() {
    let s = vault();
    s.write(
        ".runebook/actors.yaml",
        "actors:\n- id: mei\n  kind: person\n  email: mei@example.org\n  roles: [admin, review, merge, propose]\n\
         - id: bot\n  kind: agent\n  family: claude\n  email: bot@example.org\n  roles: [propose]\n\
         - id: narrow\n  kind: agent\n  family: qwen\n  email: narrow@example.org\n  roles: [propose]\n  reads: ['resources/**']\n",
    );
    s.git(&["add", "-A"]);
    s.git(&["commit", "-q", "-m", "content"]);
    s.write("user/draft.md", "# Draft\n\nA seat that nobody approved.\n");
    s.write(SEATS, "# Changed\n\nNothing about it any more.\n");
    let person = paths(s.run(&["find", "seat", "--json"]));
    assert!(person.contains(&"user/draft.md".to_owned()) && person.contains(&"user/secret.md".to_owned()));
    let agent = s.run_as("bot", &["find", "seat", "--json"]).ok();
    assert_eq!(agent.json()["view"], "main");
    assert_eq!(paths(agent), [SEATS], "neither a draft nor what is restricted");
    assert_eq!(paths(s.run_as("narrow", &["find", "--json", "座位"])), [DIARY]);
    s.run_as("narrow", &["find", "--json", "mountains"]).fails(1);
    assert_eq!(paths(s.run(&["find", "mountains", "--main", "--json"])), [SEATS]);
}

#[test]
fn a_bare_repository_is_searched_as_main() {
    let s = vault();
    s.git(&["add", "-A"]);
    s.git(&["commit", "-q", "-m", "content"]);
    s.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let run = s.run(&["-C", "../bare.git", "find", "mountains", "--json"]).ok();
    assert_eq!(run.json()["freshness"]["worktree"], "none");
    assert_eq!(paths(run), [SEATS]);
}

#[test]
fn a_name_with_a_line_end_stays_on_one_line() {
    let s = Sandbox::new();
    s.write("a.md", "# A\n");
    s.run(&["init", "--existing", "--yes"]).ok();
    s.write("q\"\n.md", "x kiwi\n");
    let found = s.run(&["find", "kiwi"]).ok();
    assert!(found.out.starts_with("q\"\\n.md:1"), "{}", found.out);
}

#[test]
fn queries_without_a_word_in_them_neither_fail_nor_find_everything() {
    let s = vault();
    s.run(&["find", "seats"]).ok();
    let nested = "(".repeat(60_000);
    let quotes = "\"a ".repeat(30_000);
    let nothing = [
        "😀",
        "😀🎉",
        "\u{1}\u{2}\u{7f}",
        "\u{1b}[31m",
        "\"\"",
        "\"",
        "''",
        "(((",
        "*",
        "?",
        "。",
        "\\",
        "--",
    ];
    for query in nothing.into_iter().chain([nested.as_str()]) {
        let run = s.run(&["find", "--", query]);
        assert!(run.status <= 1, "{query:.20}: {run:?}");
        assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{query:.20}: {run:?}");
    }
    for query in
        ["\"unbalanced seats", "the", "a the of", "-seats", "-not", quotes.as_str(), "type:", "tag:\""]
    {
        let run = s.run(&["find", "--", query]);
        assert!(run.status <= 1, "{query:.20}: {run:?}");
    }
    for query in ["", " ", "\t\n"] {
        assert!(s.run(&["find", "--", query]).fails(1).err.contains("nothing was asked"));
    }
    // What is only taken away leaves the rest.
    let without = paths(s.run(&["find", "--json", "--limit", "100", "--", "-seats"]).ok());
    let with = paths(s.run(&["find", "--json", "--limit", "100", "seats"]).ok());
    assert!(!without.is_empty() && without.iter().all(|path| !with.contains(path)), "{without:?} {with:?}");
}

#[test]
fn of_a_query_of_a_hundred_kilobytes_the_beginning_counts() {
    let s = vault();
    for query in ["seats ".repeat(17_000), format!("seats {}", "x".repeat(100_000)), "窗".repeat(33_000)] {
        let run = s.run(&["find", "--", &query]);
        assert!(run.status <= 1 && run.err.contains("only its first"), "{run:?}");
        assert!(run.out.len() + run.err.len() < 20_000);
    }
}

#[test]
fn settings_that_nobody_approved_lay_nothing_open() {
    let s = vault();
    s.run(&["actor", "add", "claude", "--kind", "agent", "--family", "claude", "--role", "propose"]).ok();
    s.run(&["commit", "--all", "-m", "Start"]).ok();
    let config = s.read(".runebook/config.yaml").replace("fields: {}", "fields: {sensitivity: level}");
    assert!(config.contains("level"));
    s.write(".runebook/config.yaml", config);
    for args in [&["find", "safe"] as &[&str], &["cat", "user/secret.md"], &["find", "--rev", "HEAD", "safe"]]
    {
        let run = s.run_as("claude", args);
        assert!(run.status != 0 && !run.out.contains("safe."), "{args:?} {run:?}");
    }
    // The vault's own name for it holds as well.
    s.write("user/other.md", "---\nlevel: confidential\n---\n# Other\n\nThe code of the cellar.\n");
    s.run(&["commit", "--all", "-m", "Own name"]).ok();
    assert!(s.run(&["find", "cellar"]).ok().out.contains("other.md"));
    s.run_as("claude", &["find", "cellar"]).fails(1);
}

#[cfg(unix)]
#[test]
fn settings_that_never_end_are_not_read() {
    let s = vault();
    let config = s.vault().join(".runebook/config.yaml");
    std::fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &config).unwrap();
    let run = s.run(&["find", "seats"]).fails(5);
    assert!(run.err.contains("it is a device, not a file"), "{run:?}");
}

#[test]
fn a_slip_of_the_hand_is_answered() {
    let s = vault();
    let notes = |query: &str| {
        let answer = s.run(&["find", "--json", query]).json();
        (answer["missing"].clone(), answer["instead"].clone(), answer["hits"].as_array().unwrap().len())
    };
    // Two letters changed about, nothing else in the query: what was meant is searched.
    let (missing, instead, hits) = notes("mountians");
    assert_eq!(missing[0]["word"], "mountians");
    assert_eq!(missing[0]["nearest"][0], "mountains");
    assert_eq!((instead.as_str(), hits), (Some("mountains"), 1));
    // Something is found: it is only told.
    let (missing, instead, hits) = notes("flights mountians");
    assert_eq!(missing[0]["nearest"][0], "mountains");
    assert!(instead.is_null() && hits > 0);
    // The beginning of a word.
    assert_eq!(notes("mounta").0[0]["nearest"][0], "mountains");
    // Nothing is near, or all is there.
    assert_eq!(notes("zzzzqqqq"), (serde_json::Value::Null, serde_json::Value::Null, 0));
    assert!(notes("flights window").0.is_null());
    // Numbers and short words are not guessed at.
    assert!(notes("404 sea").0.is_null());
    let shown = s.run(&["find", "mountians"]).ok();
    assert!(
        shown.err.contains("no memory has the word `mountians`; did you mean `mountains`?"),
        "{}",
        shown.err
    );
    assert!(shown.err.contains("these are the answers for `mountains`"), "{}", shown.err);
    assert!(shown.out.contains(SEATS));
}

#[test]
fn no_word_is_proposed_that_only_stands_where_the_asker_may_not_look() {
    let s = vault();
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "memories"]);
    s.run(&["actor", "add", "claude", "--kind", "agent", "--family", "claude", "--role", "propose"]).ok();
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "actors", "--allow-empty"]);
    let asked = |who: &[&str], query: &str| {
        let answer = s.run(&[who, &["find", "--json", query]].concat()).json();
        (answer["missing"].clone(), answer["hits"].as_array().unwrap().len())
    };
    assert!(asked(&[], "safe").0.is_null(), "a person sees it");
    assert_eq!(asked(&[], "saffe").0[0]["nearest"][0], "safe");
    let claude = ["--as", "claude"];
    // For an agent the restricted memory is not there: the same answer as for a word that is nowhere.
    assert_eq!(asked(&claude, "safe"), (serde_json::Value::Null, 0));
    assert_eq!(asked(&claude, "saffe"), (serde_json::Value::Null, 0));
    assert_eq!(asked(&claude, "mountians").0[0]["nearest"][0], "mountains");
}

#[test]
fn a_sentence_is_found_where_it_stands() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    // The first has the words more often and is shorter; the second says it.
    s.write(
        "resources/a.md",
        "# Old maps of the harbour\n\nOld harbour, old maps, harbour maps, the old harbour wall.\n",
    );
    let filler = "Something else was said there at length about boats and weather. ".repeat(12);
    s.write(
        "resources/b.md",
        format!(
            "# Walls\n\n{filler}\n\nThe wall was drawn on [[resources/a|old maps]] of the harbour. {filler}\n"
        ),
    );
    s.write("resources/c.md", "# 座位\n\n座位座位，靠窗靠窗，航班航班，喜欢。\n");
    s.write(
        "resources/d.md",
        format!("# 日记\n\n{}他喜欢航班上靠窗的座位。\n", "今天天气很好，我们去了公园散步。".repeat(12)),
    );
    let found = |query: &str| paths(s.run(&["find", "--json", query]));
    assert_eq!(found("the wall was drawn on old maps of the harbour")[0], "resources/b.md");
    assert_eq!(found("喜欢航班上靠窗的座位")[0], "resources/d.md");
    let answer = s.run(&["find", "--json", "--explain", "drawn on old maps of the harbour"]).json();
    let run = answer["hits"][0]["explain"].as_array().unwrap().iter().find(|part| part["field"] == "run");
    assert!(run.is_some(), "{answer}");
}

#[test]
fn what_is_called_as_the_query_says_comes_first() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/a.md", "# Links\n\nWhat leads from one note to another.\n");
    s.write(
        "resources/b.md",
        "# Internal links\n\nLinks to links: links of links, and more links for links.\n",
    );
    s.write("resources/c.md", "# Import notes\n\nFrom another program.\n");
    s.write("resources/d.md", "# Importer\n\nImport notes: import notes, notes to import, import notes.\n");
    s.write("resources/e.md", "# 设置\n\n这里写着怎么做。\n");
    s.write("resources/f.md", "# 设置文件夹\n\n设置文件夹设置，设置里的设置。\n");
    s.write("resources/g.md", "# Link\n\nNothing else of it.\n");
    let found = |query: &str| paths(s.run(&["find", "--json", query]));
    for (query, path) in
        [("links", "a"), ("LINKS", "a"), ("import notes", "c"), ("\"import notes\"", "c"), ("设置", "e")]
    {
        assert_eq!(found(query)[0], format!("resources/{path}.md"), "{query}");
    }
    // The form as it is written, and the whole of it: what is called so is told from what has it in its name.
    assert_eq!(found("link")[0], "resources/g.md");
    let names = |query: &str| {
        let answer = s.run(&["find", "--json", "--explain", query]).json();
        let hits = answer["hits"].as_array().unwrap().clone();
        let named = |hit: &serde_json::Value| {
            hit["explain"].as_array().unwrap().iter().any(|part| part["field"] == "name")
        };
        hits.iter().filter(|hit| named(hit)).map(|hit| hit["path"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("links"), ["resources/a.md"]);
    assert_eq!(names("links notes"), [] as [&str; 0]);
    assert_eq!(names("internal"), [] as [&str; 0]);
}
