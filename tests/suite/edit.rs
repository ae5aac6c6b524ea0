//! Lossless edits: what is meant changes, and nothing else.

use proptest::prelude::*;
use runebook::markdown::edit::{
    EditError, add_item, remove_item, rename_heading, set_field, set_section, unset_field,
};
use runebook::markdown::read;
use runebook::model::config::Config;
use runebook::model::memory::Memory;
use runebook::model::path::VaultPath;
use serde_json::{Value, json};

fn memory(bytes: &[u8]) -> Memory {
    read(&VaultPath::parse("a.md").unwrap(), bytes, &Config::default())
}

fn text(result: Result<Vec<u8>, EditError>) -> String {
    result.map_or_else(|error| format!("! {error}"), |bytes| String::from_utf8(bytes).unwrap())
}

#[track_caller]
fn set(before: &str, key: &str, value: Value, after: &str) {
    assert_eq!(text(set_field(before.as_bytes(), key, &value)), after, "{before:?}: {key} = {value}");
}

#[test]
fn a_field_changes_by_itself() {
    for (before, key, value, after) in [
        ("---\na: 1 # c\nb: x\n---\nB\n", "a", json!(2), "---\na: 2 # c\nb: x\n---\nB\n"),
        ("---\n# top\na:   'it''s'\nb: x\n---\n", "a", json!("o'k"), "---\n# top\na:   'o''k'\nb: x\n---\n"),
        ("---\na: \"x\" # c\n---\n", "a", json!("y \"z\""), "---\na: \"y \\\"z\\\"\" # c\n---\n"),
        ("---\na: x\n---\n", "a", json!("no"), "---\na: \"no\"\n---\n"),
        ("---\na: x\n---\n", "a", json!("2026-11-29"), "---\na: 2026-11-29\n---\n"),
        (
            "---\na: 2026-01-01\nb: 0012\n---\n",
            "a",
            json!("2026-11-29T10:00:00+08:00"),
            "---\na: 2026-11-29T10:00:00+08:00\nb: 0012\n---\n",
        ),
        ("---\na:\nb: 1\n---\n", "a", json!("x"), "---\na: x\nb: 1\n---\n"),
        ("---\na:    # why\nb: 1\n---\n", "a", json!("x"), "---\na: x    # why\nb: 1\n---\n"),
        ("---\na: x\n---\n", "b", json!("标签：旅行"), "---\na: x\nb: 标签：旅行\n---\n"),
        ("---\n---\nB", "b", json!(0.5), "---\nb: 0.5\n---\nB"),
        ("B\n", "b", json!(true), "---\nb: true\n---\nB\n"),
        ("", "b", json!("x"), "---\nb: x\n---\n"),
        ("\u{FEFF}B\r\nC\r\n", "b", json!("x"), "\u{FEFF}---\r\nb: x\r\n---\r\nB\r\nC\r\n"),
        (
            "\u{FEFF}---\r\na: 1\r\nb: 2\n---\r\nB\r\n",
            "a",
            json!(3),
            "\u{FEFF}---\r\na: 3\r\nb: 2\n---\r\nB\r\n",
        ),
        ("---\r\na: 1\r\n---\r\n", "b", json!(["x", "z"]), "---\r\na: 1\r\nb:\r\n  - x\r\n  - z\r\n---\r\n"),
        (
            "---\na: |\n  one\n\n  two\nb: 1\n---\n",
            "a",
            json!("three\nfour\n"),
            "---\na: |\n  three\n  four\nb: 1\n---\n",
        ),
        (
            "---\na: >- # c\n  one\n  two\n\n# d\nb: 1\n---\n",
            "a",
            json!("three\nfour"),
            "---\na: |- # c\n  three\n  four\n\n# d\nb: 1\n---\n",
        ),
        ("---\na: |\n  # one\n  two\n---\n", "a", json!("x"), "---\na: |-\n  x\n---\n"),
        ("---\na: one\n  two # c\nb: 1\n---\n", "a", json!("x"), "---\na: x # c\nb: 1\n---\n"),
        ("---\na: [x, y] # c\n---\n", "a", json!(["x", "z, w"]), "---\na: [x, \"z, w\"] # c\n---\n"),
        ("---\na:\n- x # c\n- y\nb: 1\n---\n", "a", json!(["x", "z"]), "---\na:\n- x # c\n- z\nb: 1\n---\n"),
        ("---\na:\n  - x\n---\n", "a", json!("w"), "---\na: w\n---\n"),
        ("---\na: x\n---\n", "a", json!({"k": [1, "v"]}), "---\na: {k: [1, v]}\n---\n"),
        ("---\na: &m x\nb: y\n---\n", "a", json!("z"), "---\na: &m z\nb: y\n---\n"),
        ("---\na: !!str 5\n---\n", "a", json!(6), "---\na: 6\n---\n"),
        ("---\nb: x\n...\nB\n", "c", json!(1), "---\nb: x\nc: 1\n...\nB\n"),
    ] {
        set(before, key, value, after);
    }
    // A value that stands there already changes no byte, whatever its form.
    set("---\na:   [ x,y ]\n---\n", "a", json!(["x", "y"]), "---\na:   [ x,y ]\n---\n");
    // A change of one would change the other.
    assert_eq!(
        text(set_field(b"---\na: &m x\nb: *m\n---\n", "a", &json!("z"))),
        "! the field `a` cannot be changed without changing something else too"
    );
    set("---\na: &m x\nb: *m\n---\n", "b", json!("z"), "---\na: &m x\nb: z\n---\n");
}

#[test]
fn what_cannot_be_read_is_never_written_and_gets_no_second_block() {
    for broken in [
        "---\na: [x\n---\nB\n",
        "---\n标签：旅行\n---\n",
        "---\na: b: c\n---\n",
        "---\na: 1\nB\n",
        "---\n- a\n---\n",
        "---\nwords\n---\n",
        "---\n",
        "---\na: {{title}}\n---\n",
        "+++\na = 1\n+++\n",
        "---\n{a: 1}\n---\n",
        "---\n? a\n: 1\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\n<<: *x\na: 1\n---\n",
    ] {
        for result in [
            set_field(broken.as_bytes(), "a", &json!(9)),
            set_field(broken.as_bytes(), "zz", &json!(9)),
            unset_field(broken.as_bytes(), "a"),
            add_item(broken.as_bytes(), "a", &json!(9)),
        ] {
            // The key that stands twice does not forbid another one.
            if broken.contains("a: 2") && result.is_ok() {
                assert_eq!(text(result), "---\na: 1\na: 2\nzz: 9\n---\n");
                continue;
            }
            assert!(result.is_err(), "{broken:?} became {:?}", text(result));
        }
    }
    assert_eq!(set_field(b"\xFF\n", "a", &json!(1)), Err(EditError::Encoding));
    assert!(set_field(b"x\n", "a: b", &json!(1)).is_err());
}

#[test]
fn fields_and_items_go_and_come() {
    for (before, key, after) in [
        ("---\na: 1\n# about b\nb: 2\n---\n", "a", "---\n# about b\nb: 2\n---\n"),
        ("---\na:\n  - x\n  # c\n  - w\nb: 2\n---\n", "a", "---\nb: 2\n---\n"),
        ("---\r\na: |\r\n  x\r\n  y\r\nb: 2\r\n---\r\n", "a", "---\r\nb: 2\r\n---\r\n"),
        ("---\nb: 2\na: {x: 1,\n  y: 2}\n---\n", "a", "---\nb: 2\n---\n"),
        ("---\na: 1\n---\n", "a", "---\n---\n"),
    ] {
        assert_eq!(text(unset_field(before.as_bytes(), key)), after, "{before:?}");
    }
    assert_eq!(unset_field(b"---\na: 1\n---\n", "b"), Err(EditError::NoField("b".to_owned())));
    for (before, item, after) in [
        ("---\na: [x]\n---\n", "w", "---\na: [x, w]\n---\n"),
        ("---\na: []\n---\n", "w", "---\na: [w]\n---\n"),
        ("---\na: [\n  x,\n  z, # c\n]\n---\n", "w", "---\na: [\n  x,\n  z, w, # c\n]\n---\n"),
        (
            "---\na:\n    -   x # c\n# d\nb: 1\n---\n",
            "w",
            "---\na:\n    -   x # c\n    -   w\n# d\nb: 1\n---\n",
        ),
        ("---\r\na:\r\n- x\r\n---\r\n", "[[w]]", "---\r\na:\r\n- x\r\n- \"[[w]]\"\r\n---\r\n"),
        ("---\nb: 1\n---\n", "w", "---\nb: 1\na:\n  - w\n---\n"),
        ("---\na: x\n---\n", "w", "---\na:\n  - x\n  - w\n---\n"),
    ] {
        assert_eq!(text(add_item(before.as_bytes(), "a", &json!(item))), after, "{before:?}");
    }
    for (before, item, after) in [
        ("---\na: [x, w, z] # c\n---\n", "w", "---\na: [x, z] # c\n---\n"),
        ("---\na: [x, w]\n---\n", "w", "---\na: [x]\n---\n"),
        ("---\na: [x, w]\n---\n", "x", "---\na: [w]\n---\n"),
        ("---\na: [x]\n---\n", "x", "---\na: []\n---\n"),
        ("---\na:\n  - x # c\n  - w\nb: 1\n---\n", "x", "---\na:\n  - w\nb: 1\n---\n"),
        ("---\na:\n  - x\nb: 1\n---\n", "x", "---\na: []\nb: 1\n---\n"),
        ("---\na: [x, w, x]\n---\n", "x", "---\na: [w]\n---\n"),
    ] {
        assert_eq!(text(remove_item(before.as_bytes(), "a", &json!(item))), after, "{before:?}");
    }
    assert!(matches!(remove_item(b"---\na: [x]\n---\n", "a", &json!("q")), Err(EditError::NoItem { .. })));
    assert!(matches!(remove_item(b"---\na: x\n---\n", "a", &json!("x")), Err(EditError::NoList(_))));
}

#[test]
fn a_section_and_a_heading_change_by_themselves() {
    let names = |path: &str| -> Vec<String> { path.split('#').map(str::to_owned).collect() };
    let page = "# T\n\nlead\n\n## A\n\nold\n\n### Sub\n\nmore\n\n## B\n\nb[^1]\n\n[^1]: note\n";
    for (path, body, after) in [
        ("A", "new\n", "# T\n\nlead\n\n## A\n\nnew\n\n## B\n\nb[^1]\n\n[^1]: note\n"),
        ("A#Sub", "x\ny", "# T\n\nlead\n\n## A\n\nold\n\n### Sub\n\nx\ny\n\n## B\n\nb[^1]\n\n[^1]: note\n"),
        ("B", "c[^1]", "# T\n\nlead\n\n## A\n\nold\n\n### Sub\n\nmore\n\n## B\n\nc[^1]\n\n[^1]: note\n"),
        (
            "B",
            "c[^1]\n\n[^1]: other",
            "# T\n\nlead\n\n## A\n\nold\n\n### Sub\n\nmore\n\n## B\n\nc[^1]\n\n[^1]: other\n",
        ),
        ("B", "# X", "! the section “B” cannot be changed without changing something else too"),
        ("A", "```\nopen", "! the section “A” cannot be changed without changing something else too"),
        ("C", "x", "! there is no heading “C”"),
    ] {
        assert_eq!(text(set_section(page.as_bytes(), &names(path), body)), after, "{path} {body:?}");
    }
    let crlf = "\u{FEFF}# T\r\n## A\r\n## B\r\nx";
    assert_eq!(
        text(set_section(crlf.as_bytes(), &names("A"), "n\nm\n")),
        "\u{FEFF}# T\r\n## A\r\n\r\nn\r\nm\r\n## B\r\nx"
    );
    assert_eq!(text(set_section(crlf.as_bytes(), &names("B"), "y")), "\u{FEFF}# T\r\n## A\r\n## B\r\ny");
    for (before, path, words, after) in [
        ("# Old ^id\n\nx\n", "Old", "New", "# New ^id\n\nx\n"),
        ("#  Old  ##  \nx\n", "Old", "New *one*", "#  New *one*  ##  \nx\n"),
        ("Old\n===\nx\n", "Old", "新", "新\n===\nx\n"),
        ("## A\n\n### Old\n\n## B\n\n### Old\n", "B#Old", "New", "## A\n\n### Old\n\n## B\n\n### New\n"),
        (
            "# Old\n",
            "Old",
            "a\n# b",
            "! the heading “Old” cannot be changed without changing something else too",
        ),
    ] {
        let done = text(rename_heading(before.as_bytes(), &names(path), words));
        assert_eq!(done, after, "{before:?}");
    }
}

/// The sources of a package as the build fetched them; `None` where they are not kept.
fn package(name: &str, file: &str) -> Option<String> {
    let home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let home = home.or_else(|| Some(std::path::PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    let packages =
        registries.flatten().filter_map(|dir| std::fs::read_dir(dir.path()).ok()).flatten().flatten();
    let mut found: Vec<_> = packages
        .map(|dir| dir.path())
        .filter(|path| path.file_name().is_some_and(|f| f.to_string_lossy().starts_with(name)))
        .collect();
    found.sort();
    let text = found.into_iter().rev().find_map(|path| std::fs::read_to_string(path.join(file)).ok());
    if text.is_none() {
        eprintln!("skipped: the sources of {name} are not there");
    }
    text
}

/// Whatever is done to a file, what is not meant stays; or nothing is done.
fn examine(bytes: &[u8]) -> usize {
    let before = memory(bytes);
    let mut done = 0;
    if let Ok(out) = set_field(bytes, "added_by_test", &json!("新 value")) {
        let after = memory(&out);
        assert_eq!(after.front.all.get("added_by_test"), Some(&json!("新 value")));
        assert_eq!(after.body(), before.body());
        assert_eq!(
            unset_field(&out, "added_by_test").map(|out| memory(&out).front.all),
            Ok(before.front.all.clone())
        );
        done += 1;
    } else {
        // Heads of TOML and JSON are read and never rewritten.
        let head = ["---", "+++", "{"].iter().any(|begin| before.text.starts_with(begin));
        assert!(head, "{:?}", before.text);
    }
    for key in before.front.all.keys() {
        if let Ok(out) = set_field(bytes, key, &json!("changed")) {
            let after = memory(&out);
            let mut wanted = before.front.all.clone();
            wanted.insert(key.clone(), json!("changed"));
            assert_eq!(after.front.all, wanted, "{:?}", before.text);
            assert_eq!(after.body(), before.body());
            done += 1;
        }
    }
    for heading in &before.headings {
        let names = vec![heading.text.clone()];
        if before.headings.iter().filter(|other| other.text.eq_ignore_ascii_case(&heading.text)).count() > 1 {
            continue;
        }
        if let Ok(out) = set_section(bytes, &names, "Only this.") {
            let after = memory(&out);
            assert!(after.text.contains("Only this."));
            assert_eq!(after.text[..heading.range.start], before.text[..heading.range.start]);
            done += 1;
        }
        done += usize::from(rename_heading(bytes, &names, "Other words").is_ok());
    }
    done
}

#[test]
fn the_examples_of_commonmark_keep_their_bytes() {
    let Some(source) = package("pulldown-cmark-0.13", "tests/suite/spec.rs") else { return };
    let example = regex::Regex::new(r###"(?s)let original = r##"(.*?)"##;"###).unwrap();
    let (mut examples, mut done) = (0, 0);
    for found in example.captures_iter(&source) {
        examples += 1;
        let text = &found[1];
        done += examine(text.as_bytes());
        done += examine(
            format!("\u{FEFF}---\r\nkey: [a, b] # c\r\n---\r\n{}", text.replace('\n', "\r\n")).as_bytes(),
        );
    }
    assert!(examples >= 640 && done > examples * 3, "{examples} examples, {done} edits");
}

#[test]
fn the_examples_of_yaml_keep_what_they_say() {
    let Some(source) = package("saphyr-parser-0.3", "tests/specexamples.rs.inc") else { return };
    let example = regex::Regex::new(r#"(?s)const EX\w+\s*:\s*&str\s*=\s*("(?:[^"\\]|\\.)*")"#).unwrap();
    let escape = regex::Regex::new(r#"\\(u\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|\n\s*|.)"#).unwrap();
    let (mut examples, mut done) = (0, 0);
    for found in example.captures_iter(&source) {
        examples += 1;
        let literal = found[1].trim_matches('"').to_owned();
        let yaml = escape.replace_all(&literal, |c: &regex::Captures<'_>| {
            let code = c.get(2).or_else(|| c.get(3)).and_then(|d| u32::from_str_radix(d.as_str(), 16).ok());
            match (&c[1], code.and_then(char::from_u32)) {
                (_, Some(c)) => c.to_string(),
                ("n", _) => "\n".to_owned(),
                ("t", _) => "\t".to_owned(),
                ("r", _) => "\r".to_owned(),
                ("0", _) => "\0".to_owned(),
                (other, _) if other.starts_with('\n') => String::new(),
                (other, _) => other.to_owned(),
            }
        });
        for text in [
            format!("---\n{yaml}\n---\nBody\n"),
            format!("---\nfirst: 1\nnested:\n{}\n---\nBody\n", indent(&yaml)),
        ] {
            done += examine(text.as_bytes());
            done += examine(text.replace('\n', "\r\n").as_bytes());
        }
    }
    assert!(examples >= 100 && done > examples, "{examples} examples, {done} edits");
}

fn indent(yaml: &str) -> String {
    yaml.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "[\\PC\u{4e00}-\u{4e20}：，。#:\"'\\[\\]{}|>&*!%@`\n-]{0,10}",
        Just("no".to_owned()),
        Just("0012".to_owned()),
        Just("2026-11-29".to_owned()),
        Just("[[a b|c]]".to_owned()),
    ]
    .prop_map(Value::String);
    let one = prop_oneof![
        text,
        any::<i32>().prop_map(|n| json!(n)),
        any::<bool>().prop_map(|b| json!(b)),
        Just(Value::Null)
    ];
    prop_oneof![4 => one.clone(), 1 => prop::collection::vec(one, 0..4).prop_map(Value::Array)]
}

/// A front matter line as people write it, each with its own line end.
fn lines() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0usize..16, 0usize..4), 0..8)
}

fn page(lines: &[(usize, usize)], bom: bool) -> String {
    let forms = [
        "K: plain words # why",
        "K: 'single'",
        "K: \"dou\\\"ble\"",
        "K: 2026-11-29",
        "K: 0012",
        "K: [a, b c] # list",
        "K:@  - a@  - \"b\" # c",
        "K:@- a@# between@- b",
        "K: |@  one@  # two",
        "K: >-@  folded@  more",
        "# a comment",
        "",
        "K: {x: 1, y: [2]}",
        "K:",
        "K: &KA anchored",
        "K: \"标签：旅行\"",
    ];
    let ends = ["\n", "\r\n", "\n", "\n"];
    let mut out = String::from(if bom { "\u{FEFF}---\n" } else { "---\n" });
    for (number, (form, end)) in lines.iter().enumerate() {
        let line = forms[*form].replace('K', &format!("k{number}"));
        out.push_str(&line.replace('@', ends[*end]));
        out.push_str(ends[*end]);
    }
    out + "---\n# Heading\n\nBody ：text\r\n[[link]]\n"
}

/// Whether a value in front matter makes the file look as if an engine had to fill it in.
fn is_template(value: &Value) -> bool {
    let text = value.to_string();
    text.contains("<%") || (text.contains("{{") && text.contains("}}"))
}

#[test]
fn a_value_that_would_make_a_template_of_the_file_is_refused() {
    let text = b"---\nk0: a\n---\nbody\n";
    for value in ["<% now %>", "{{title}}"] {
        assert!(set_field(text, "k0", &Value::from(value)).is_err(), "{value}");
        assert!(set_field(b"body\n", "k0", &Value::from(value)).is_err(), "{value}");
    }
    assert!(set_field(text, "k0", &Value::from("{{ or <")).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_set_value_reads_back_and_the_rest_stays(lines in lines(), bom: bool, at in 0usize..9, value in value()) {
        let text = page(&lines, bom);
        let before = memory(text.as_bytes());
        let key = format!("k{at}");
        match set_field(text.as_bytes(), &key, &value) {
            Ok(out) => {
                let after = memory(&out);
                let mut wanted = before.front.all.clone();
                wanted.insert(key.clone(), value.clone());
                prop_assert_eq!(&after.front.all, &wanted);
                prop_assert_eq!(after.body(), before.body());
                // Every line of another field or comment is there still, with its own end.
                let out = String::from_utf8(out).unwrap();
                for line in text.split_inclusive('\n').filter(|l| l.starts_with("# a comment") || (l.starts_with('k') && !l.starts_with(&key))) {
                    prop_assert!(out.contains(line), "{:?} is gone from {:?}", line, out);
                }
                let again = set_field(out.as_bytes(), &key, &value).unwrap();
                prop_assert_eq!(again, out.into_bytes());
            }
            Err(error) => prop_assert!(!before.problems.is_empty() || value.to_string().contains(r"\u") || is_template(&value), "{} {:?} {}", error, text, value),
        }
    }

    #[test]
    fn items_come_and_go(lines in lines(), bom: bool, at in 0usize..9, item in "[a-z：# ,\\[]{1,6}") {
        let text = page(&lines, bom);
        let key = format!("k{at}");
        let before = memory(text.as_bytes());
        if let Ok(out) = add_item(text.as_bytes(), &key, &json!(item)) {
            let list = memory(&out).front.all[&key].as_array().unwrap().clone();
            prop_assert_eq!(list.last(), Some(&json!(item)));
            if matches!(before.front.all.get(&key), Some(Value::Array(old)) if !old.is_empty() && !old.contains(&json!(item))) {
                prop_assert_eq!(String::from_utf8(remove_item(&out, &key, &json!(item)).unwrap()).unwrap(), text);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "(---\n)?[a: \n\\[\\]{}|>\"'#*&\r-]{0,60}(\n---\n)?[# \nxyz]{0,40}") {
        let _ = set_field(&bytes, "a", &json!("x"));
        examine(text.as_bytes());
    }
}

#[test]
fn a_proposal_changes_a_field_and_a_section() {
    let s = super::support::Sandbox::new();
    s.run(&["init"]).ok();
    let page = "\u{FEFF}---\r\ntitle: 'T' # c\r\nconfidence: 0.5\r\ntags: [a]\r\nold: x\r\n---\r\n# T\r\n\r\n## A\r\n\r\nold\r\n\r\n## B\r\n";
    s.write("resources/p.md", page);
    s.run(&["commit", "-m", "Start"]).ok();
    s.run(&["propose", "new", "Edit"]).ok();
    let id = s.git(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/proposal"]);
    s.run(&[
        "propose",
        "edit",
        &id,
        "resources/p.md",
        "--set",
        "confidence=0.9",
        "--set",
        "tags=[a, b c]",
        "--unset",
        "old",
        "--section",
        "A",
        "--body",
        "new",
    ])
    .ok();
    let out = s.git(&["show", &format!("proposal/{id}:resources/p.md")]);
    assert_eq!(
        format!("{out}\n").replace("\r\n\n", "\r\n"),
        "\u{FEFF}---\r\ntitle: 'T' # c\r\nconfidence: 0.9\r\ntags: [a, b c]\r\n---\r\n# T\r\n\r\n## A\r\n\r\nnew\r\n\r\n## B\r\n"
            .trim_end().to_owned() + "\n"
    );
    let missing = s.run(&["propose", "edit", &id, "resources/p.md", "--unset", "nothing"]).fails(1);
    assert!(missing.err.contains("no field `nothing`"), "{}", missing.err);
    s.run(&["propose", "edit", &id, "resources/p.md", "--set", "x"]).fails(2);
}
