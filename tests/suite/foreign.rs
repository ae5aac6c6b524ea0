//! Vaults that other programs keep: read well or left alone, and never changed.

use serde_json::Value;

use crate::support::Sandbox;

fn vault(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in files {
        sandbox.write(path, text);
    }
    sandbox.run(&["init", "--existing", "--yes"]).ok();
    sandbox
}

fn found(sandbox: &Sandbox, words: &str) -> Vec<String> {
    let answer = sandbox.run(&["find", words, "--json"]).json();
    let hits = answer["hits"].as_array().cloned().unwrap_or_default();
    hits.iter().map(|hit| hit["path"].as_str().unwrap_or_default().to_owned()).collect()
}

fn rules(sandbox: &Sandbox) -> Vec<(String, String)> {
    let answer = sandbox.run(&["check", "--json"]).json();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let mut findings = answer["findings"].as_array().cloned().unwrap_or_default();
    // Most notes here are alone.
    findings.retain(|finding| finding["rule"] != "link.orphan");
    findings.iter().map(|finding| (text(finding, "rule"), text(finding, "path"))).collect()
}

const NOTE: &str = "one line of the note\nanother line of it\nthe third line about pangolins\nand a fourth\n";

#[test]
fn obsidians_settings_are_followed() {
    let sandbox = vault(&[
        (".obsidian/app.json", r#"{"userIgnoreFilters": ["Archive/", "/\\.excalidraw\\.md$/", "/(/"]}"#),
        (".obsidian/templates.json", r#"{"folder": "Extras/T"}"#),
        (".obsidian/daily-notes.json", r#"{"folder": "Daily"}"#),
        ("Archive/old.md", "zebras of old [[gone]]"),
        ("draw.excalidraw.md", "zebras drawn [[gone]]"),
        ("Extras/T/plain.md", "zebras of a template [[gone]]"),
        ("Daily/2026-11-28 Saturday.md", "saw zebras, see [[old]]"),
        ("own.md", "---\ntype: book\n---\nzebras in a book"),
    ]);
    let before = sandbox.git(&["status", "--porcelain"]);
    assert_eq!(found(&sandbox, "zebras").len(), 2);
    assert_eq!(found(&sandbox, "zebras type:episodic"), ["Daily/2026-11-28 Saturday.md"]);
    assert_eq!(rules(&sandbox), [], "a link to an excluded note leads somewhere");
    let doctor = sandbox.run(&["doctor"]);
    assert!(doctor.out.contains("1 file by \"Archive/\""), "{}", doctor.out);
    assert!(doctor.out.contains("config.foreign"), "{}", doctor.out);
    assert!(sandbox.run(&["status"]).ok().out.contains("2 entries of excluded files"));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before);
}

#[test]
fn heads_of_other_forms_are_read_and_never_written() {
    let toml = "+++\ntitle = \"Hugo post\"\ndate = 2024-03-04\ntags = [\"hugo\"]\n+++\nwalrus\n";
    let broken = "+++\ntitle = \"Broken\nx = \n+++\nwalrus too\n";
    let sandbox =
        vault(&[("a.md", toml), ("b.md", broken), ("c.md", "---json\n{\"title\": 1}\n---\nwalrus\n")]);
    let answer = sandbox.run(&["find", "walrus", "--json"]).json();
    let hits = answer["hits"].as_array().cloned().unwrap_or_default();
    assert_eq!(hits.len(), 3);
    let hugo = hits.iter().find(|hit| hit["path"] == "a.md").cloned().unwrap_or_default();
    assert_eq!((hugo["title"].as_str(), hugo["date"].as_str()), (Some("Hugo post"), Some("2024-03-04")));
    assert_eq!(found(&sandbox, "tag:hugo walrus"), ["a.md"]);
    assert_eq!(rules(&sandbox), [("schema.toml".to_owned(), "b.md".to_owned())]);
    for path in ["a.md", "b.md", "c.md"] {
        use runebook::markdown::edit::{EditError, set_field};
        let changed = set_field(sandbox.read(path).as_bytes(), "title", &Value::from("x"));
        assert!(matches!(changed, Err(EditError::Foreign(_))), "{path}: {changed:?}");
    }
}

#[test]
fn a_sensitive_head_hides_in_every_form() {
    let sandbox = vault(&[
        ("a.md", "+++\nsensitivity = \"restricted\"\n+++\nwalrus\n"),
        ("b.md", "sensitivity:: restricted\n\n- walrus\n"),
        ("c.md", "+++\nx = \nsensitivity = \"restricted\"\n+++\nwalrus\n"),
        ("d.md", "walrus\n"),
    ]);
    sandbox
        .run(&["actor", "add", "claude", "--kind", "agent", "--family", "claude", "--role", "propose"])
        .ok();
    let answer = sandbox.run_as("claude", &["find", "walrus", "--json"]).json();
    let paths: Vec<&str> =
        answer["hits"].as_array().into_iter().flatten().filter_map(|h| h["path"].as_str()).collect();
    assert_eq!(paths, ["d.md"]);
    for path in ["a.md", "b.md", "c.md"] {
        assert_ne!(sandbox.run_as("claude", &["cat", path]).status, 0, "{path}");
    }
}

#[test]
fn logseq_is_read() {
    let sandbox = vault(&[
        ("logseq/config.edn", "{}"),
        ("logseq/bak/pages/old.md", "- walrus of old"),
        (
            "journals/2026_11_28.md",
            "- met the walrus\n  collapsed:: true\n- [[proj/plan]] [[Nov 28th, 2026]] [[unwritten]]\n",
        ),
        (
            "pages/proj___plan.md",
            "title:: The Plan\ntags:: [[big ideas]], work\nalias:: scheme\n\n- walrus counting\n",
        ),
    ]);
    let mut all = found(&sandbox, "walrus");
    all.sort();
    assert_eq!(all, ["journals/2026_11_28.md", "pages/proj___plan.md"]);
    assert_eq!(found(&sandbox, "walrus type:episodic"), ["journals/2026_11_28.md"]);
    assert_eq!(found(&sandbox, "scheme"), ["pages/proj___plan.md"]);
    assert_eq!(found(&sandbox, "collapsed"), [] as [String; 0]);
    let told: Vec<String> = rules(&sandbox).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(told, ["link.page", "link.page"], "`[[unwritten]]` and `[[big ideas]]`, for information only");
}

#[test]
fn copies_of_sync_programs_stand_behind_the_original() {
    let changed = NOTE.replace("another", "one more");
    let sandbox = vault(&[
        ("note.md", NOTE),
        ("note (conflicted copy 2024-01-01).md", &changed),
        ("note.sync-conflict-20240101-120000-ABCDEFG.md", NOTE),
        ("chapter 2.md", "pangolins of another book\nwith lines of\nits own here\n"),
        ("chapter.md", "pangolins in brief\nand no more\nthan that, really\n"),
    ]);
    let hits = found(&sandbox, "pangolins");
    assert_eq!(hits.len(), 4, "{hits:?}");
    assert_eq!(hits.last().map(String::as_str), Some("note (conflicted copy 2024-01-01).md"));
    let found: Vec<String> = rules(&sandbox).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(found, ["copy.conflict", "copy.conflict"]);
}

#[test]
fn attachments_are_named_missed_and_counted() {
    let sandbox = vault(&[
        ("img/worm.png", "x"),
        ("img/face (1).png", "x"),
        ("img/unused.jpg", "0123456789"),
        (
            "a.md",
            "![Sandworm rising](img/worm.png)\n*at dusk*\n\n![](img/face%20(1).png)\n\n![[wormm.png]]\n",
        ),
    ]);
    for words in ["sandworm", "dusk"] {
        let answer = sandbox.run(&["find", words, "--json"]).json();
        assert_eq!(answer["hits"][0]["attachments"][0]["path"], "img/worm.png", "{words}");
    }
    let report = sandbox.run(&["check", "--json"]).json();
    assert_eq!(report["unused_bytes"], 10);
    let told = rules(&sandbox);
    assert!(told.contains(&("attachment.unused".to_owned(), "img/unused.jpg".to_owned())), "{told:?}");
    assert!(told.contains(&("link.attachment".to_owned(), "a.md".to_owned())), "{told:?}");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(sandbox.run(&["check", "--rule", "link"]).out.contains("did you mean img/worm.png?"));
}

#[test]
fn names_for_our_fields_are_examined() {
    let sandbox = vault(&[("a.md", "---\nmemory_type: skill\n---\nwalrus\n")]);
    let config = sandbox.read(".runebook/config.yaml");
    sandbox.write(
        ".runebook/config.yaml",
        config.replace("fields: {}", "fields: {type: memory_type, tilte: name}"),
    );
    assert_eq!(found(&sandbox, "walrus type:skill"), ["a.md"]);
    let doctor = sandbox.run(&["doctor"]).out;
    assert!(doctor.contains("did you mean `title: name`?"), "{doctor}");
}

/// Every case of the YAML test suite as front matter: reading is no trouble, and an edit of another field changes that
/// field alone or is refused.
#[test]
fn the_yaml_test_suite_survives_an_edit() {
    use runebook::markdown::edit::set_field;
    let Some(dir) = std::env::var_os("RUNEBOOK_YAML_SUITE") else {
        eprintln!("RUNEBOOK_YAML_SUITE names no directory of the YAML test suite: skipped");
        return;
    };
    // The npm package: each file is a line of JavaScript and an object.
    let (mut seen, mut edited) = (0, 0);
    let mut cases = Vec::new();
    for entry in walkdir::WalkDir::new(dir).into_iter().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let Some((_, object)) = text.split_once("export default ") else { continue };
        let mut values = serde_json::Deserializer::from_str(object).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { continue };
        cases.extend(
            value["cases"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|c| c["yaml"].as_str())
                .map(str::to_owned),
        );
    }
    for yaml in cases {
        seen += 1;
        // A document's own marks would end the front matter: such a text cannot be one.
        if yaml.lines().any(|line| line.starts_with("---") || line.starts_with("...")) {
            continue;
        }
        let file = format!("---\n{}\n---\nbody\n", yaml.trim_end_matches('\n'));
        let Ok(changed) = set_field(file.as_bytes(), "zz_new", &Value::from("v")) else { continue };
        let changed = String::from_utf8(changed).unwrap_or_default();
        edited += 1;
        assert!(changed.ends_with("body\n"), "{yaml}");
        let inner = |text: &str| -> Option<serde_yaml::Mapping> {
            let block = text.strip_prefix("---\n")?.split_once("\n---\n")?.0;
            serde_yaml::from_str(&format!("{block}\n")).ok()
        };
        if let (Some(before), Some(mut after)) = (inner(&file), inner(&changed)) {
            assert!(after.remove("zz_new").is_some(), "{yaml}");
            assert_eq!(after, before, "{yaml}");
        }
    }
    assert!(seen > 300 && edited > 50, "only {edited} of {seen} cases were edited");
}

#[test]
fn the_first_screen_counts_what_was_found_by_kind() {
    let sandbox = Sandbox::new();
    sandbox.write(".obsidian/app.json", r#"{"userIgnoreFilters": ["Archive/"]}"#);
    sandbox.write("Archive/old.md", "old [[nothing of it]]");
    sandbox.write("Templates/day.md", "# {{title}}\n[[{{date}}]]\n");
    sandbox.write("2026-11-28.md", "a day, see [[note]]");
    sandbox.write("note.md", format!("{NOTE}[[gone]] ![[also-gone.png]] [[#no such part]]"));
    sandbox.write("note.sync-conflict-20261120-101010-ABCDEFG.md", "another");
    sandbox.write("attachments/a.png", "x");
    sandbox.write("data.csv", "a,b");
    sandbox.write("wide.md", b"\xFF\xFE#\0 \0a\0\n\0");
    let made = sandbox.run(&["init", "--existing", "--yes", "--json"]).ok().json();
    let found = &made["found"];
    let count = |key: &str| found[key].as_u64().unwrap_or(u64::MAX);
    for (key, number) in [
        ("notes", 3),
        ("daily", 1),
        ("templates", 1),
        ("attachments", 1),
        ("others", 1),
        ("left_out", 1),
        ("copies", 1),
        ("broken_links", 2),
        ("missing_attachments", 1),
        ("missing_parts", 1),
        ("not_utf8", 1),
        ("untracked", 3),
    ] {
        assert_eq!(count(key), number, "{key}: {found}");
    }
    assert_eq!((&found["kept_by"], &found["layers_tracked"]), (&"Obsidian".into(), &false.into()));
    // What it tells to run is there.
    for rule in ["copy", "link", "format"] {
        let run = sandbox.run(&["check", "--rule", rule, "--json"]);
        assert!(!run.json()["findings"].as_array().unwrap().is_empty(), "{rule}");
    }
}

#[test]
fn the_first_screen_names_what_comes_next() {
    let sandbox = Sandbox::new();
    sandbox.write("a.md", "[[gone]]");
    sandbox.write("b.png", "x");
    let screen = sandbox.run(&["init", "--existing", "--yes"]).ok().out;
    for part in ["     1 note\n", "     1 attachment\n", "     1 broken link  `runebook check --rule link`"] {
        assert!(screen.contains(part), "{part:?} in {screen}");
    }
    assert!(screen.contains("1 file is not in git yet"), "{screen}");
    assert!(screen.contains("\n  runebook check "), "{screen}");
    assert!(!screen.contains("hooks install"), "no summaries are files here: {screen}");
    let fresh = Sandbox::new();
    let screen = fresh.run(&["init"]).ok().out;
    assert!(screen.contains("runebook hooks install"), "{screen}");
    let two = Sandbox::new();
    two.write("a.md", "[[gone]] ![[also-gone.png]] [[#no such part]]");
    let screen = two.run(&["init", "--existing", "--yes"]).ok().out;
    let links = "     2 broken links  1 of them to pictures and other attachments; `runebook check";
    assert!(screen.contains(links), "{screen}");
    assert!(screen.contains("     1 link to a heading or block that is gone\n"), "{screen}");
    // Both count the same.
    assert_eq!(two.run(&["graph", "--json"]).ok().json()["states"]["broken"], 2);
    let empty = Sandbox::new();
    let screen = empty.run(&["init", "--existing", "--yes"]).ok().out;
    assert!(!screen.contains("Found"), "{screen}");
}

#[test]
fn doctor_says_whether_the_hooks_are_there() {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    let report = |sandbox: &Sandbox| {
        let answer = sandbox.run(&["doctor", "--json"]).json();
        let facts = answer["facts"].as_array().cloned().unwrap_or_default();
        let fact = facts.iter().find(|fact| fact["name"] == "hooks").cloned().unwrap_or_default();
        let findings = answer["findings"].as_array().cloned().unwrap_or_default();
        let told = findings.iter().any(|finding| finding["rule"] == "git.hooks");
        (fact["value"].as_str().unwrap_or_default().to_owned(), told)
    };
    assert_eq!(report(&sandbox), ("not installed".to_owned(), true));
    sandbox.run(&["hooks", "install"]).ok();
    assert_eq!(report(&sandbox), ("installed".to_owned(), false));
    std::fs::remove_file(sandbox.vault().join(".git/hooks/post-merge")).unwrap();
    assert_eq!(report(&sandbox), ("installed in part".to_owned(), true));
    sandbox.run(&["hooks", "uninstall"]).ok();
    assert_eq!(report(&sandbox), ("not installed".to_owned(), true));
    // Where summaries are no files, hooks are nobody's concern.
    let plain = vault(&[("a.md", "x")]);
    assert_eq!(report(&plain), ("not installed".to_owned(), false));
}

#[test]
fn a_file_of_another_encoding_is_named_with_the_command_that_converts_it() {
    let wide = |text: &str, big: bool| -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    };
    let sandbox = Sandbox::new();
    let marked = [b"\xFF\xFE".to_vec(), wide("# 中文\n四个字的话\n", false)].concat();
    sandbox.write("marked.md", marked);
    sandbox.write("little's.md", wide("# Plain\nwords\n", false));
    sandbox.write("big.md", wide("# Plain\nwords\n", true));
    sandbox.write("latin.md", b"# Caf\xE9 au lait\n");
    sandbox.write("gbk.md", b"# \xD6\xD0\xCE\xC4\n");
    sandbox.write("fine.md", "# 好 \u{0} null\n");
    sandbox.run(&["init", "--existing", "--yes"]).ok();
    let answer = sandbox.run(&["check", "--rule", "format", "--json"]).json();
    let findings = answer["findings"].as_array().cloned().unwrap_or_default();
    let said = |path: &str| {
        let one = findings.iter().find(|finding| finding["path"] == path).cloned().unwrap_or_default();
        format!(
            "{} / {}",
            one["message"].as_str().unwrap_or_default(),
            one["fix"].as_str().unwrap_or_default()
        )
    };
    for (path, message, fix) in [
        ("marked.md", "the file is UTF-16, not UTF-8", "iconv -f UTF-16 -t UTF-8 'marked.md'"),
        ("little's.md", "the file is UTF-16LE", r"iconv -f UTF-16LE -t UTF-8 'little'\''s.md'"),
        ("big.md", "the file is UTF-16BE", "iconv -f UTF-16BE"),
        ("latin.md", "the file is not UTF-8", "iconv -f WINDOWS-1252"),
        ("gbk.md", "the file is not UTF-8", "iconv -f GB18030"),
    ] {
        let said = said(path);
        assert!(said.contains(message) && said.contains(fix), "{path}: {said}");
    }
    assert_eq!(findings.len(), 5, "{findings:?}");
    let about = answer["rules"][0]["about"].as_str().unwrap_or_default();
    assert_eq!(about, "a file that is not UTF-8");
}

#[test]
fn logseqs_own_folders_are_no_entries_of_a_person() {
    let sandbox =
        vault(&[("logseq/config.edn", "{}"), ("pages/a.md", "- x"), ("journals/2026_11_28.md", "- y")]);
    assert!(!sandbox.run(&["status"]).ok().out.contains("excluded files"));
    assert!(!sandbox.run(&["doctor"]).out.contains("left out"));
    sandbox.write("logseq/bak/a.md", "- old");
    let doctor = sandbox.run(&["doctor"]).out;
    assert!(doctor.contains("1 file by \"logseq/bak/\"  (logseq/config.edn)"), "{doctor}");
}
