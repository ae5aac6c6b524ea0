//! The example vault holds what it promises: every link leads somewhere, every quote stands in its evidence.
//! Read with plain means here, so that a fault of our own reader cannot hide one of the vault.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;
use sha2::{Digest as _, Sha256};

/// Path relative to the example vault, text.
fn files() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("example-vault");
    walkdir::WalkDir::new(&root)
        .into_iter()
        .map(|entry| entry.expect("a readable directory").into_path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.strip_prefix(&root).expect("a path below").to_string_lossy().replace('\\', "/");
            (name, std::fs::read_to_string(&path).expect("text"))
        })
        .collect()
}

fn memories(files: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    files
        .iter()
        .filter(|(name, _)| name.ends_with(".md") && !name.starts_with("evidence/"))
        .map(|(name, text)| (name.as_str(), text.as_str()))
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

fn front(text: &str) -> serde_json::Value {
    let block =
        text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("front matter").0;
    serde_yaml::from_str(block).expect("YAML")
}

/// The decoded strings of a JSON value, joined.
fn strings(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        serde_json::Value::Object(fields) => fields.values().for_each(|item| strings(item, out)),
        _ => {}
    }
}

/// What is wrong with a memory's footnotes; the number of those that are right.
fn footnote_faults(files: &BTreeMap<String, String>, name: &str, text: &str) -> (usize, Vec<String>) {
    let definition = pattern(
        r#"(?m)^\[\^(e\d+)\]: <viking://(evidence/[^>#]+)#L(\d+)(?:-L(\d+))?> sha256:([0-9a-f]{64}) "(.+)"$"#,
    );
    let (mut right, mut faults, mut defined) = (0, Vec::new(), BTreeSet::new());
    for c in definition.captures_iter(text) {
        let (label, path, hash, quote) = (&c[1], &c[2], &c[5], &c[6]);
        defined.insert(label.to_owned());
        let Some(evidence) = files.get(path) else {
            faults.push(format!("{name}: {label} cites {path}, which is not there"));
            continue;
        };
        let first: usize = c[3].parse().expect("a line");
        let last: usize = c.get(4).map_or(first, |m| m.as_str().parse().expect("a line"));
        let mut span = String::new();
        for row in evidence.lines().skip(first - 1).take(last + 1 - first) {
            match serde_json::from_str(row) {
                Ok(value) if path.ends_with(".jsonl") => strings(&value, &mut span),
                _ => span.push_str(row),
            }
        }
        let sum: String = Sha256::digest(evidence).iter().map(|b| format!("{b:02x}")).collect();
        if sum != hash {
            faults.push(format!("{name}: {label} has another hash than {path}, {sum}"));
        } else if !span.contains(quote) {
            faults.push(format!("{name}: {label} quotes what does not stand there: {quote}"));
        } else {
            right += 1;
        }
    }
    let all_definitions = pattern(r"(?m)^\[\^").find_iter(text).count();
    if all_definitions != defined.len() {
        faults.push(format!("{name}: a footnote is of another form"));
    }
    let used: BTreeSet<String> =
        pattern(r"\[\^(e\d+)\](?:[^:]|$)").captures_iter(text).map(|c| c[1].to_owned()).collect();
    if used != defined {
        faults.push(format!("{name}: footnotes {defined:?} are defined, {used:?} used"));
    }
    (right, faults)
}

#[test]
fn every_quote_stands_in_its_evidence() {
    let files = files();
    let (mut right, mut faults) = (0, Vec::new());
    for (name, text) in memories(&files) {
        let (good, bad) = footnote_faults(&files, name, text);
        right += good;
        faults.extend(bad);
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(right >= 50, "only {right} footnotes were read");
    for broken in [
        "A.[^e1]\n\n[^e1]: <viking://evidence/2026/03/18/call-yunpo.md#L7> sha256:0 \"x\"\n",
        "A.[^e2]\n",
        "A.[^e1]\n\n[^e1]: <viking://evidence/none.md#L7> sha256:8ca9df183b73b3514254cc53722c7059d7fa16ee56d357a3a5109f70955504c4 \"x\"\n",
    ] {
        assert!(!footnote_faults(&files, "broken", broken).1.is_empty(), "{broken}");
    }
}

#[test]
fn every_link_leads_to_one_memory() {
    let files = files();
    let link = pattern(r"\[\[([^\]|#]+)(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]");
    let mut linked = BTreeSet::new();
    for (name, text) in memories(&files) {
        for target in link.captures_iter(text).map(|c| c[1].to_owned()) {
            let found: Vec<&str> = memories(&files)
                .map(|(other, _)| other)
                .filter(|other| {
                    let stem = other.trim_end_matches(".md");
                    stem == target || stem.rsplit('/').next() == Some(&target)
                })
                .collect();
            assert_eq!(found.len(), 1, "{name}: [[{target}]] leads to {found:?}");
            linked.insert(found[0].to_owned());
        }
        assert!(link.is_match(text), "{name} links to nothing");
    }
    assert!(linked.len() > 40, "only {} memories are linked to", linked.len());
}

#[test]
fn every_memory_says_what_it_is() {
    let files = files();
    let id = pattern("^[0-7][0-9A-HJKMNP-TV-Z]{25}$");
    let (mut ids, mut count, mut chinese) = (BTreeSet::new(), 0, 0);
    for (name, text) in memories(&files) {
        let front = front(text);
        for key in ["id", "type", "title", "summary", "created", "updated", "source"] {
            assert!(front[key].is_string(), "{name} has no {key}");
        }
        if front["type"] == "episodic" {
            assert!(front["occurred"].is_string(), "{name} has no occurred");
        }
        let ulid = front["id"].as_str().expect("an id");
        assert!(id.is_match(ulid), "{name}: {ulid} is no ULID");
        assert!(ids.insert(ulid.to_owned()), "{name}: {ulid} stands twice");
        count += 1;
        let body = text.split_once("\n---\n").expect("front matter").1;
        let prose = body.split("\n[^e").next().expect("a body");
        let han = prose.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count();
        chinese += usize::from(han * 4 > prose.chars().count());
    }
    assert!(count >= 40, "{count} memories");
    assert!((count / 3..=count * 2 / 3).contains(&chinese), "{chinese} of {count} are Chinese");
}

#[test]
fn our_own_checks_find_nothing_in_it() {
    let sandbox = super::support::Sandbox::new();
    for (path, bytes) in runebook::flow::example::files() {
        sandbox.write(path.as_str(), bytes);
    }
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "The example vault"]);
    let run = sandbox.run(&["check", "--all"]).ok();
    assert!(run.out.contains("nothing found"), "{}", run.out);
    sandbox.write("resources/new.md", "See [[nowhere-at-all]].\n");
    assert!(!sandbox.run(&["check", "--all"]).out.contains("nothing found"));
}
