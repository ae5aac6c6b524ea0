//! Checking files and proposals.

use std::path::Path;

use super::support::Sandbox;

fn vault() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s
}

/// The findings of a run with `--json`, each as `path:line rule`.
fn findings(json: &serde_json::Value) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    let of = |f: &serde_json::Value| format!("{}:{} {}", text(&f["path"]), f["line"], text(&f["rule"]));
    json["findings"].as_array().expect("a list").iter().map(of).collect()
}

/// The same without the memories that stand alone.
fn but_orphans(json: &serde_json::Value) -> Vec<String> {
    let mut json = json.clone();
    json["findings"].as_array_mut().expect("a list").retain(|finding| finding["rule"] != "link.orphan");
    findings(&json)
}

/// A key of GitHub's form, made at run time.
fn token() -> String {
    let random: String = ('a'..='z').chain('0'..='9').collect();
    format!("{}{random}", ["gh", "p_"].concat())
}

const COMPLETE: &str = "id: 01JDM3Z8Q6W5T9V2R4K7X1B0CE\ntype: semantic\ntitle: Seats\ncreated: 2026-11-29\nsource: user_message\n";

#[test]
fn nothing_wrong_is_said_and_is_success() {
    let s = vault();
    s.write("resources/a.md", "# A\nSee [[b]].\n");
    s.write("resources/b.md", "# B\n## Part\nSee [[a]] and [[#Part]] and [x](https://example.org).\n");
    let run = s.run(&["check"]).ok();
    assert_eq!(run.out, "2 files checked, nothing found\n");
}

/// The memories that a check says are alone.
fn alone(s: &Sandbox, args: &[&str]) -> Vec<String> {
    let answer = s.run(&[&["check", "--json"], args].concat()).json();
    let findings = answer["findings"].as_array().cloned().unwrap_or_default();
    let alone = findings.iter().filter(|finding| finding["rule"] == "link.orphan");
    alone.map(|finding| finding["path"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn memories_that_stand_alone_are_named_when_the_whole_vault_is_looked_at() {
    let s = vault();
    s.write("resources/b.md", "# B\n");
    assert!(alone(&s, &[]).is_empty(), "the only memory has none to be linked with");
    s.write("resources/a.md", "# A\nSee [[b]].\n");
    s.write("resources/alone.md", "# Alone\nSee [x](https://example.org) and [[alone]].\n");
    s.write("resources/shown.md", "# On a board\n");
    let node = r#"{"id": "1", "type": "file", "file": "resources/shown.md", "x": 0, "y": 0, "width": 9, "height": 9}"#;
    s.write("resources/board.canvas", format!(r#"{{"nodes": [{node}], "edges": []}}"#));
    s.write("resources/2026-11-28.md", "A day.\n");
    s.write("resources/index.md", "What stands here.\n");
    s.write("resources/form.md", "# {{title}}\n");
    s.write("resources/.hidden.md", "Hidden.\n");
    s.write("resources/a.sync-conflict-20261120-101010-ABCDEFG.md", "# A\nSee\n");
    assert_eq!(alone(&s, &[]), ["resources/alone.md"]);
    assert!(alone(&s, &["resources"]).is_empty(), "what leads there may stand elsewhere");
    assert!(alone(&s, &["resources/alone.md"]).is_empty());
    std::fs::remove_file(s.vault().join("resources/a.sync-conflict-20261120-101010-ABCDEFG.md")).unwrap();
    let told = s.run(&["check"]).ok().out;
    assert!(!told.contains("resources/alone.md"), "a remark is only counted: {told}");
    assert!(told.contains("\nremarks are only counted here: runebook check --rule link.orphan\n"), "{told}");
    let told = s.run(&["check", "--rule", "link.orphan"]).ok().out;
    assert!(told.contains("resources/alone.md: info link.orphan: no link leads from this memory"), "{told}");
    // Of many they are one line first.
    for number in 0..60 {
        s.write(&format!("resources/lone {number}.md"), "# Lone\n");
    }
    let told = s.run(&["check"]).ok().out;
    assert!(told.contains("     61  info     link.orphan  "), "{told}");
    assert!(told.lines().count() < 40, "{told}");
    // A page of Logseq that links pages to be is not alone.
    let logseq = Sandbox::new();
    logseq.write("logseq/config.edn", "{}");
    logseq.write("pages/ideas.md", "- [[big ideas]]\n");
    logseq.write("pages/alone.md", "- nothing\n");
    logseq.write("journals/2024_01_02.md", "- nothing\n");
    logseq.run(&["init", "--existing", "--yes"]).ok();
    assert_eq!(alone(&logseq, &[]), ["pages/alone.md"]);
}

#[test]
fn a_link_by_an_alias_hides_no_part_that_is_not_there() {
    let s = vault();
    s.write("resources/seat.md", "---\naliases: [chair]\n---\n# Seat\n\n## Window\n\nSee [[note]].\n");
    s.write("resources/note.md", "[[chair#Window]]\n\n[[chair#Gone]]\n\n[[chair#^gone]]\n");
    let listed = || findings(&s.run(&["check", "--json"]).json());
    assert_eq!(
        listed(),
        [
            "resources/note.md:1 link.alias",
            "resources/note.md:3 link.alias",
            "resources/note.md:3 link.heading",
            "resources/note.md:5 link.alias",
            "resources/note.md:5 link.block",
        ]
    );
    // What is left once the names stand there was said before.
    s.run(&["check", "--fix"]);
    assert!(s.read("resources/note.md").contains("[[seat#Gone|chair]]"), "{}", s.read("resources/note.md"));
    assert_eq!(listed(), ["resources/note.md:3 link.heading", "resources/note.md:5 link.block"]);
}

#[test]
fn links_are_judged_with_the_fix_beside() {
    let s = vault();
    s.write("resources/one/Seat.md", "---\naliases: [chair]\n---\n# Seat\n");
    s.write("resources/two/Twin.md", "# Twin\n");
    s.write("resources/one/Twin.md", "# Twin\n## Deep\n");
    s.write(
        "resources/note.md",
        "[[Saet]]\n[[Twin]]\n[[chair]]\n[[Seat#Gone]]\n[[Seat#^gone]]\n![[face.png]]\n[x](viking://../../etc/passwd)\n`[[code]]`\n",
    );
    let run = s.run(&["check", "--json"]).ok();
    assert_eq!(
        but_orphans(&run.json()),
        [
            "resources/note.md:1 link.broken",
            "resources/note.md:2 link.ambiguous",
            "resources/note.md:3 link.alias",
            "resources/note.md:4 link.heading",
            "resources/note.md:5 link.block",
            "resources/note.md:6 link.attachment",
            "resources/note.md:7 link.leaves",
        ]
    );
    let shown = s.run(&["check", "resources/note.md"]).ok().out;
    assert!(
        shown.contains("resources/note.md:1: warning link.broken: [[Saet]] leads to nothing\n"),
        "{shown}"
    );
    assert!(shown.contains("    fix: did you mean resources/one/Seat.md?\n"), "{shown}");
    assert!(shown.contains("    fix: write [[Seat|chair]]\n"), "{shown}");
}

#[test]
fn a_flood_is_cut_for_people_and_whole_when_asked() {
    let s = vault();
    let many: String = (0..20).map(|i| format!("[[nowhere {i}]]\n")).collect();
    s.write("resources/many.md", many);
    let lines = |run: &str| {
        run.lines().filter(|line| line.contains(" leads to nothing") && line.starts_with("res")).count()
    };
    let short = s.run(&["check"]).ok().out;
    assert_eq!(lines(&short), 5, "{short}");
    assert!(short.contains("     20  warning  link.broken"), "{short}");
    assert!(short.contains("15 more of link.broken: runebook check --all --rule link.broken"), "{short}");
    assert_eq!(lines(&s.run(&["check", "--all"]).ok().out), 20);
    let only = s.run(&["check", "--rule", "schema"]).ok().out;
    assert!(only.contains("nothing found"), "{only}");
}

#[test]
fn front_matter_is_strict_where_the_policy_asks() {
    let s = vault();
    s.write("user/memories/bare.md", "# No front matter\n");
    s.write("user/memories/good.md", format!("---\n{COMPLETE}---\n# Seats\n"));
    s.write(
        "user/memories/bad.md",
        "---\nid: nonsense\ntype: semantc\ntitle: Bad\ncreated: 2026-13-01\nsource: gossip\nconfidence: 7\nsumary: x\n---\n",
    );
    s.write("user/memories/twin.md", format!("---\n{COMPLETE}---\n# The same id\n"));
    // Another program's words are no error where nothing is asked for.
    s.write(
        "resources/foreign.md",
        "---\ntype: book\nstatus: done\nsource: https://example.org\ncreated: soon\n---\n# Book\n",
    );
    s.write("resources/broken.md", "---\ntitle: [unclosed\n---\n# Broken\n");
    let run = s.run(&["check", "--json"]).fails(1);
    let json = run.json();
    let all = but_orphans(&json);
    let of = |path: &str| -> Vec<&str> {
        all.iter().filter_map(|f| f.strip_prefix(path)).map(|f| f.split(' ').next_back().unwrap()).collect()
    };
    assert_eq!(of("user/memories/bare.md"), ["schema.required"]);
    assert_eq!(
        of("user/memories/bad.md"),
        ["schema.id", "schema.value", "schema.date", "schema.value", "schema.value", "schema.near-key"]
    );
    assert_eq!(of("user/memories/good.md"), ["schema.duplicate-id"]);
    assert_eq!(of("user/memories/twin.md"), ["schema.duplicate-id"]);
    assert_eq!(of("resources/foreign.md"), [""; 0]);
    assert_eq!(of("resources/broken.md").len(), 1, "{all:?}");
    let mut found = json["findings"].as_array().unwrap().iter();
    let broken = found.find(|f| f["path"] == "resources/broken.md" && f["rule"] != "link.orphan").unwrap();
    assert_eq!(broken["severity"], "error");
    assert!(broken["line"].is_u64() && broken["fix"].is_string(), "{broken}");
}

#[test]
fn a_value_is_held_against_its_schema() {
    let s = vault();
    s.write(
        ".runebook/schema/seat.json",
        r#"{"type":"object","properties":{"seat":{"enum":["window","aisle"]}},"required":["seat"]}"#,
    );
    s.write(".runebook/schema/loop.json", r##"{"$ref":"#"}"##);
    s.write("resources/good.md", "---\nvalue: {seat: window}\nschema: seat\n---\n");
    s.write("resources/bad.md", "---\nvalue: {seat: roof}\nschema: seat\n---\n");
    s.write("resources/loop.md", "---\nvalue: {seat: roof}\nschema: loop\n---\n");
    s.write("resources/none.md", "---\nvalue: {seat: roof}\nschema: none\n---\n");
    let run = s.run(&["check", "--json"]).fails(1);
    assert_eq!(
        but_orphans(&run.json()),
        [
            "resources/bad.md:2 schema.shape",
            "resources/loop.md:3 schema.broken-schema",
            "resources/none.md:3 schema.broken-schema",
        ]
    );
}

#[test]
fn a_secret_is_named_and_never_shown() {
    let s = vault();
    s.write("resources/key.md", format!("# Setup\n\ntoken = {}\n", token()));
    for args in [&["check"][..], &["check", "--json"], &["check", "--all"]] {
        let run = s.run(args).fails(1);
        assert!(run.out.contains("secret.github-token"), "{}", run.out);
        assert!(run.out.contains("resources/key.md"), "{}", run.out);
        assert!(!run.out.contains(&token()[4..12]), "{}", run.out);
    }
}

#[test]
fn names_are_judged_when_they_are_new() {
    let s = vault();
    s.write("resources/a: b.md", "# Old\n");
    s.git(&["add", "."]);
    s.git(&["commit", "-qm", "old names"]);
    s.write("resources/CON.md", "# New\n");
    s.write("resources/Note.md", "# One\n");
    s.write("resources/note.md", "# Two\n");
    let run = s.run(&["check", "--json", "--rule", "path"]).fails(1);
    assert_eq!(
        findings(&run.json()),
        ["resources/CON.md:null path.portable", "resources/note.md:null path.twin"]
    );
}

#[test]
fn severities_are_the_policys() {
    let s = vault();
    s.write("resources/a.md", "[[nowhere]]\n");
    s.run(&["check"]).ok();
    let policy = s.read(".runebook/policy.yaml");
    s.write(
        ".runebook/policy.yaml",
        format!("{}\n  - paths: ['**']\n    checks: {{link.broken: error}}\n", policy.trim_end()),
    );
    s.git(&["commit", "-qam", "broken links are errors"]);
    let run = s.run(&["check"]).fails(1);
    assert!(run.out.contains("resources/a.md:1: error link.broken"), "{}", run.out);
}

#[test]
fn what_is_asked_for_wrongly_is_explained() {
    let s = vault();
    s.write("resources/seats.md", "# Seats\n");
    let run = s.run(&["check", "resources/saets.md"]).fails(2);
    assert!(run.err.contains("did you mean resources/seats.md?"), "{}", run.err);
    let run = s.run(&["check", "--rule", "link.brokn"]).fails(2);
    assert!(run.err.contains("did you mean `link.broken`?"), "{}", run.err);
    s.run(&["check", "viking://resources/seats.md"]).ok();
    s.run(&["-C", "resources", "check", "seats.md"]).ok();
}

#[test]
fn hostile_files_stop_nothing() {
    let s = vault();
    s.write("resources/bytes.md", [0xFF, 0xFE, 0x00, 0x80, b'\n', b'[', b'[', 0xC3]);
    s.write("resources/deep.md", format!("---\na: {}\n---\n", "[".repeat(5000)));
    s.write("resources/links.md", "[[".repeat(20_000));
    s.write("resources/line\nbreak.md", "[[nowhere]]\n");
    let run = s.run(&["check"]);
    assert!(run.status == 0 || run.status == 1, "{}", run.err);
    assert!(run.out.contains("resources/line\\nbreak.md:1: warning link.broken"), "{}", run.out);
    assert!(run.err.is_empty(), "{}", run.err);
}

#[test]
fn an_old_vault_gets_findings_that_help_and_no_flood() {
    let data = std::env::var("RUNEBOOK_DATA")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data").to_owned());
    let from = Path::new(&data).join("vaults/obsidian-help");
    if !from.is_dir() {
        eprintln!("skipped: {} is not there (set RUNEBOOK_DATA)", from.display());
        return;
    }
    let s = Sandbox::new();
    let copied = s.command("cp").arg("-r").arg(from.join(".")).arg(".").status().unwrap();
    assert!(copied.success());
    s.run(&["init", "--existing", "--yes"]).ok();
    let run = s.run(&["check"]).ok();
    assert!(run.out.lines().count() < 80, "{}", run.out);
    let json = s.run(&["check", "--json"]).ok().json();
    let count = |rule: &str| {
        let rules = json["rules"].as_array().unwrap();
        rules.iter().find(|r| r["rule"] == rule).map_or(0, |r| r["findings"].as_u64().unwrap())
    };
    // An independent count finds 43 links that only an alias answers.
    assert_eq!(count("link.alias"), 43);
    assert!(count("link.broken") < 60, "{}", run.out);
    assert!(json["findings"].as_array().unwrap().iter().all(|f| f["severity"] != "error"), "{}", run.out);
}

/// A vault with an agent that may propose, and a proposal of it that writes these files.
fn proposed(files: &[(&str, &str)]) -> (Sandbox, String) {
    let s = vault();
    s.write("resources/seats.md", "---\naliases: [chairs]\n---\n# Seats\n## Windows\n");
    let actors = s.read(".runebook/actors.yaml");
    let agent = "  - id: claude\n    kind: agent\n    family: claude\n    email: claude@agents.example.org\n    roles: [propose]\n";
    s.write(".runebook/actors.yaml", format!("{}\n{agent}", actors.trim_end()));
    s.git(&["add", "."]);
    s.git(&["commit", "-qm", "an agent, and seats"]);
    let made = s.run_as("claude", &["propose", "new", "Notes", "--json"]).ok().json();
    let id = made["id"].as_str().expect("an id").to_owned();
    for (path, text) in files {
        s.write("../text", text);
        let file = std::fs::File::open(s.home().join("text")).unwrap();
        let run = s
            .command(env!("CARGO_BIN_EXE_runebook"))
            .env("RUNEBOOK_ACTOR", "claude")
            .args(["propose", "write", &id, path])
            .stdin(file)
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    (s, id)
}

#[test]
fn a_proposal_is_judged_in_the_tree_that_its_merge_would_make() {
    let secret = format!("the token is {}\n", token());
    let (s, id) = proposed(&[
        ("resources/good.md", "# Good\nSee [[seats#Windows]] and [[new]].\n"),
        ("resources/new.md", "# New\nNobody links on from here.\n"),
        ("resources/orphan.md", "# Alone\n"),
        ("resources/alias.md", "[[chairs]]\n"),
        ("resources/SEATS.md", "[[good]]\n"),
        ("user/memories/bare.md", "[[good]]\n"),
        ("resources/secret.md", &format!("[[good]] {secret}")),
    ]);
    // With an index and where none can be made the answer is the same.
    let lock = s.vault().join(".git/runebook/index.lock");
    for indexed in [false, true] {
        if indexed {
            std::fs::remove_dir(&lock).unwrap();
        } else {
            std::fs::create_dir_all(&lock).unwrap();
            s.run(&["reindex"]).fails(5);
        }
        let run = s.run(&["check", "--proposal", &id, "--json"]).fails(1);
        assert_eq!(
            findings(&run.json()),
            [
                "resources/SEATS.md:null path.twin",
                "resources/alias.md:1 link.alias",
                "resources/orphan.md:null link.orphan",
                "resources/secret.md:1 secret.github-token",
                "user/memories/bare.md:null schema.required",
            ],
            "indexed: {indexed}"
        );
        assert_eq!(s.vault().join(".git/runebook/state.json").exists(), indexed);
    }
}

#[test]
fn a_secret_stays_found_after_it_was_taken_out_again() {
    let secret = format!("the token is {}\n", token());
    let (s, id) = proposed(&[("resources/a.md", &secret), ("resources/a.md", "[[seats]]\n")]);
    let run = s.run(&["check", "--proposal", &id, "--json"]).fails(1);
    assert_eq!(findings(&run.json()), ["resources/a.md:1 secret.github-token"]);
}

#[test]
fn a_proposal_is_told_of_what_it_breaks_and_not_of_what_was_broken() {
    use crate::cast::{CLAUDE, new, vault};
    let vault = vault();
    vault.write("resources/old.md", "# Old\n\nSee [[home]], [[seats]] and [[nowhere]].\n");
    vault.run(&["commit", "-m", "An old note"]).ok();
    let id = new(&vault, CLAUDE, "Away with seats");
    let run = |args: &[&str]| vault.run_as(CLAUDE, args).ok().out;
    run(&["propose", "edit", &id, "resources/old.md", "--append", "And [[noplace]]."]);
    let shown = run(&["propose", "show", &id]);
    assert!(shown.contains("[[noplace]] leads to nothing") && !shown.contains("[[nowhere]]"), "{shown}");
    run(&["propose", "rm", &id, "resources/seats.md"]);
    let shown = run(&["propose", "show", &id]);
    assert!(shown.contains("[[seats]] leads to nothing"), "a changed note says so itself: {shown}");
    assert!(shown.contains("resources/seats.md  warning  link.lost  2 links lead to this file"), "{shown}");
    run(&["propose", "edit", &id, "resources/home.md", "--old", "[[seats]]", "--new", "[[old]]"]);
    let shown = run(&["propose", "show", &id]);
    assert!(shown.contains("link.lost  1 link leads to this file"), "{shown}");
}
