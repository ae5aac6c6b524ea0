//! Reading and writing memories: the forms of the documentation, the slips, hostile input.

use std::collections::BTreeMap;
use std::path::Path;

use runebook::markdown::{chunk, compose, read, sections, tokens};
use runebook::model::actor::Sensitivity;
use runebook::model::config::Config;
use runebook::model::front_matter::MemoryType;
use runebook::model::link::{Link, LinkForm};
use runebook::model::memory::Memory;
use runebook::model::path::VaultPath;
use runebook::model::uri::Fragment;
use serde_json::{Value, json};

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).expect("a path")
}

fn of(text: impl AsRef<[u8]>) -> Memory {
    read(&path("user/note.md"), text.as_ref(), &Config::default())
}

fn problems(memory: &Memory) -> Vec<(&str, Option<u32>)> {
    memory.problems.iter().map(|p| (p.rule.as_str(), p.line)).collect()
}

fn targets(memory: &Memory) -> Vec<&str> {
    memory.links.iter().map(|l| l.target.as_str()).collect()
}

const WINDOW_SEATS: &str = "---
id: 01JDM3Z8Q6W5T9V2R4K7X1B0CE        # given by `runebook new`
type: semantic
title: Prefers window seats
summary: Books window seats.   # L0 by hand
subject: seat preference
created: 2026-11-29T10:00:00+08:00
occurred: 2026-11-28
source: user_message
trust: stated
confidence: 0.92
importance: 0.7
sensitivity: personal
status: active
supersedes: \"[[seats-2024]]\"
conflicts_with: []
part_of: \"[[trips#Plan|the trips]]\"
tags: [travel]
aliases: [靠窗座位]
value: {seat: window}
theirs: no
---
# Prefers window seats
On flights over two hours the user asks for a window seat.[^e1] See [[trips]]. #座位/靠窗

[^e1]: <viking://evidence/2026/11/28/chat-7f3a.jsonl#L12-L14> sha256:9c1e… \"要靠窗\"
";

#[test]
fn the_documented_example_is_read_whole() {
    let memory = of(WINDOW_SEATS);
    assert_eq!(problems(&memory), []);
    let front = &memory.front;
    assert!(front.present);
    assert_eq!(front.id.as_deref(), Some("01JDM3Z8Q6W5T9V2R4K7X1B0CE"));
    assert_eq!(front.kind, Some(MemoryType::Semantic));
    assert_eq!(front.summary.as_deref(), Some("Books window seats."));
    assert_eq!(front.created.as_deref(), Some("2026-11-29T10:00:00+08:00"));
    assert_eq!(front.occurred.as_deref(), Some("2026-11-28"));
    assert_eq!((front.confidence, front.importance), (Some(0.92), Some(0.7)));
    assert_eq!(front.sensitivity, Some(Sensitivity::Personal));
    assert_eq!(front.aliases, ["靠窗座位"]);
    assert_eq!(front.all["value"], json!({"seat": "window"}));
    assert_eq!(front.all["theirs"], json!("no"));
    assert_eq!(front.line_of("title"), Some(4));
    assert_eq!(memory.title, "Prefers window seats");
    let tags: Vec<_> = memory.tags.iter().map(|t| (t.name.as_str(), t.line)).collect();
    assert_eq!(tags, [("travel", 18), ("座位/靠窗", 24)]);
    assert_eq!(memory.footnotes[0].label, "e1");
    assert!(memory.footnotes[0].text.ends_with("\"要靠窗\""));
    let relations: Vec<_> =
        memory.links.iter().filter_map(|l| Some((l.relation.as_deref()?, l.target.as_str()))).collect();
    assert_eq!(relations, [("supersedes", "seats-2024"), ("part_of", "trips")]);
    assert_eq!(memory.links[1].place(), Some(Fragment::Heading(vec!["Plan".into()])));
    assert_eq!(targets(&memory)[2..], ["trips", "evidence/2026/11/28/chat-7f3a.jsonl"]);
    assert_eq!(memory.links[3].place(), Some(Fragment::Lines(12, 14)));
    for link in &memory.links {
        let source = &memory.text[link.range.clone()];
        assert!(source.starts_with("[[") || source.starts_with("<viking://"), "{source}");
    }
}

#[test]
fn forms_of_text_files() {
    let memory = of(b"\xEF\xBB\xBF---\r\ntitle: x\r\n---\r\n# A\r\n\r\n[[b]]\r\n");
    assert_eq!((memory.title.as_str(), memory.links[0].line), ("x", 6));
    assert_eq!(memory.headings[0].line, 4);
    let memory = of("---\rtitle: x\r---\r# A\r[[b]]\r");
    assert_eq!((memory.title.as_str(), memory.links[0].line), ("x", 5));
    let memory = of(b"# A\n\nb\xff\n[[c]]");
    assert_eq!(problems(&memory), [("format.utf8", Some(3))]);
    assert_eq!(targets(&memory), ["c"]);
    assert_eq!(of("").title, "note");
    assert_eq!(of("---\n---\nx").body(), "x");
}

#[test]
fn slips_in_front_matter_are_named_with_their_line() {
    for (yaml, rule, line) in [
        ("title: x\nkey: [a", "schema.yaml", 3),
        ("title: a: b", "schema.yaml", 2),
        ("title: x\n\ttags: y", "schema.yaml", 3),
        ("- a\n- b", "schema.yaml", 2),
        ("title: x\ntype: a\ntitle: y", "schema.duplicate-key", 4),
        ("标签：旅行", "schema.full-width-colon", 2),
        ("title: x\n标签：旅行", "schema.full-width-colon", 3),
        ("x: 1\npart_of: viking://notes/C #1.md", "schema.cut-at-hash", 3),
        ("rel:\n  - C #1.md", "schema.cut-at-hash", 3),
        ("rel: [viking://user/Smith, John.md]", "schema.comma-in-link", 2),
        ("part_of: [[trips]]", "schema.unquoted-link", 2),
    ] {
        let memory = of(format!("---\n{yaml}\n---\nbody"));
        assert!(problems(&memory).contains(&(rule, Some(line))), "{yaml}: {:?}", memory.problems);
        assert!(memory.text.contains(yaml));
    }
    // One reason, one finding, and the fix can be copied.
    let memory = of("---\n标签：旅行\ntitle: x\n---\n");
    assert_eq!(problems(&memory), [("schema.full-width-colon", Some(2))]);
    let memory = of("---\nx: 1\ntitle: Trip: Rome\n---\n");
    assert_eq!(problems(&memory), [("schema.yaml", Some(3))]);
    let fix = memory.problems[0].fix.as_deref().unwrap_or_default();
    assert!(fix.contains("`title: \"Trip: Rome\"`"), "{fix}");
    let memory = of("---\ntitle: x\ntitle: y\n---\n");
    assert_eq!((memory.title.as_str(), &memory.front.all["title"]), ("x", &json!("x")));
    let memory = of("---\ntitle: [\n---\n# Head\n[[a]]");
    assert_eq!((memory.body_start, memory.title.as_str()), (0, "Head"));
    assert_eq!(memory.headings.len(), 1);
    let memory = of("---\npart_of: [[trips]]\n---\n");
    assert_eq!((targets(&memory), memory.links[0].relation.as_deref()), (vec!["trips"], Some("part_of")));
}

#[test]
fn what_is_no_slip_is_not_named() {
    for text in [
        "---\ntitle: x # a comment\n# another\n---\n",
        "---\ntitle: \"C #1\"\n---\n",
        "---\nurl: https://a/b#c\n---\n",
        "---\nnote: |\n  text #1 here\n  - item #2\n  key: value #3\n---\n",
        "---\nnote: 'a: b\n  c: d #4'\n---\n",
        "---\nlist: [a, b.md]\n---\n",
        "---\n\nSome words between rules.\n\n---\nmore",
        "+++\ntitle = 1\n+++\nbody",
        "---\ntitle: {{title}}\ncreated: {{date}}\n---\n",
        "---\ntitle: <% tp.file.title %>\n---\n",
        "no front matter: at all\n---\n",
    ] {
        assert_eq!(problems(&of(text)), [], "{text}");
    }
    assert!(of("---\ntitle: {{title}}\n---\n").template);
    assert!(of("# {{title}}\n").template);
    assert!(!of("# A\n`{{title}}`\n").template);
    assert!(of("+++\n# no heading = 1\n+++\nx").headings.is_empty());
    assert!(of("+++\n# no heading = 1\n+++\nx").headings.is_empty());
}

#[test]
fn values_keep_what_was_written() {
    let memory = of("---
date: 2026-11-28
no: no
yes: yes
zeros: 0012
version: 1.10
title: 2024
phone: +4917012345
hash: 12e999
hex: 0x1f
number: 42
share: 0.5
nothing:
truth: true
text: '0'
---
");
    let all = &memory.front.all;
    for (key, value) in [
        ("date", json!("2026-11-28")),
        ("no", json!("no")),
        ("yes", json!("yes")),
        ("zeros", json!("0012")),
        ("phone", json!("+4917012345")),
        ("hash", json!("12e999")),
        ("hex", json!("0x1f")),
        ("number", json!(42)),
        ("share", json!(0.5)),
        ("nothing", Value::Null),
        ("truth", json!(true)),
        ("text", json!("0")),
    ] {
        assert_eq!(all[key], value, "{key}");
    }
    assert_eq!(memory.title, "2024");
    let keys: Vec<_> = memory.front.lines.iter().map(|(key, _)| key.as_str()).take(3).collect();
    assert_eq!(keys, ["date", "no", "yes"]);
}

#[test]
fn foreign_values_leave_our_fields_empty() {
    let memory = of(
        "---\ntype: book\nstatus: done\nsource: https://a.b\nid: 12\nconfidence: 7\ncreated: '[[2026]]'\ntags: 'a, #b c'\n---\n",
    );
    let front = &memory.front;
    assert_eq!((front.kind, &front.status, &front.source, &front.id), (None, &None, &None, &None));
    assert_eq!((front.confidence, &front.created), (None, &None));
    assert_eq!(front.all["type"], "book");
    assert_eq!(front.all["source"], "https://a.b");
    assert_eq!(front.tags, ["a", "b", "c"]);
    let fields = BTreeMap::from([("type".to_owned(), "memory_type".to_owned())]);
    let config = Config { fields, ..Config::default() };
    let memory = read(&path("a.md"), b"---\ntype: book\nmemory_type: Skill\n---\n", &config);
    assert_eq!(memory.front.kind, Some(MemoryType::Skill));
}

fn link(text: &str) -> Link {
    let mut links = of(text).links;
    assert_eq!(links.len(), 1, "{text}: {links:?}");
    links.remove(0)
}

#[test]
fn every_form_of_link() {
    use LinkForm::{Markdown, Uri, Wiki};
    for (text, form, target, fragment, shown) in [
        ("[[name]]", Wiki, "name", None, None),
        ("[[path/name#Heading|alias]]", Wiki, "path/name", Some("Heading"), Some("alias")),
        ("[[name#^block]]", Wiki, "name", Some("^block"), None),
        ("[[#A#B]]", Wiki, "", Some("A#B"), None),
        ("| a |\n|---|\n| [[b\\|c]] |", Wiki, "b", None, Some("c")),
        ("[t](relative/a%20b.md#He%20ad)", Markdown, "relative/a b.md", Some("He ad"), Some("t")),
        ("[t](<a b.md>)", Markdown, "a b.md", None, Some("t")),
        ("[t](100%.md)", Markdown, "100%.md", None, Some("t")),
        ("[t](viking://user/a%20b.md#L3)", Uri, "user/a b.md", Some("L3"), Some("t")),
        ("<viking://日记 2026/a.md#%4C10>", Uri, "日记 2026/a.md", Some("%4C10"), None),
        ("[[viking://user/a.md|x]]", Uri, "user/a.md", None, Some("x")),
        ("[t][r]\n\n[r]: a.md", Markdown, "a.md", None, Some("t")),
        ("**[[a]]**", Wiki, "a", None, None),
        ("[[[a]]]", Wiki, "a", None, None),
        ("# Head [[a|b]]", Wiki, "a", None, Some("b")),
        ("> [!note]\n> [[a]]", Wiki, "a", None, None),
        ("x[^1]\n\n[^1]: [[a]]", Wiki, "a", None, None),
        ("[[a]](b.md)", Wiki, "a", None, None),
        ("5 $ and [[a]] 6 $", Wiki, "a", None, None),
        ("---\nup: '[t](b.md)'\n---\n", Markdown, "b.md", None, Some("t")),
        ("---\nup: viking://user/b.md\n---\n", Uri, "user/b.md", None, None),
        ("---\nup: [ \"[[b]]\" ]\n---\n", Wiki, "b", None, None),
    ] {
        let link = link(text);
        let read = (link.form, link.target.as_str(), link.fragment.as_deref(), link.text.as_deref());
        assert_eq!(read, (form, target, fragment, shown), "{text}");
    }
    assert!(link("![[a.png|100]]").embed);
    let image = link("![alt text](face.png)");
    assert_eq!((image.embed, image.text.as_deref()), (true, Some("alt text")));
    let lines: Vec<u32> =
        of("---\na:\n  - '[[x]]'\n  - '[[y]]'\n---\n[[z]]").links.iter().map(|l| l.line).collect();
    assert_eq!(lines, [3, 4, 6]);
}

#[test]
fn what_is_no_link() {
    for text in [
        "`[[a]]`",
        "```\n[[a]]\n```",
        "~~~\n[t](a.md)\n~~~",
        "    [[a]]",
        "<!-- [[a]] [t](a.md) -->",
        "x <!-- [[a]]\n[[b]] --> y",
        "%%[[a]] [t](a.md)%%",
        "%%\n[[a]]\n\n[[b]] #tag ^id\n%%",
        "\\[[a]]",
        "$$\n[[1,2]]\n$$",
        "[[]] [[ ]] [[#]]",
        "[[a\nb]]",
        "---\nsummary: see [[x]] there\n---\n",
        "---\nsource: https://a.b\n---\n",
    ] {
        let memory = of(text);
        assert!(memory.links.is_empty() && memory.tags.is_empty(), "{text}: {:?}", memory.links);
    }
    assert_eq!(targets(&of("100%% of [[a]] and\n\n50%% [[b]]")), ["a", "b"]);
}

#[test]
fn tags_and_blocks() {
    let memory = of(
        "#one two#no #标签/子 #2024 #y2024 ## #a/ `#code` [x](#frag) https://a/#b\n\n，#中文。 text ^id-1\n\n- item ^i2\n\n^alone\n",
    );
    let tags: Vec<_> = memory.tags.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(tags, ["one", "标签/子", "y2024", "a", "中文"]);
    let blocks: Vec<_> = memory.blocks.iter().map(|b| (b.id.as_str(), b.line)).collect();
    assert_eq!(blocks, [("id-1", 3), ("i2", 5), ("alone", 7)]);
}

#[test]
fn fragments_are_located() {
    let text =
        "intro\n\n# A\na\n## B\nb1\n# C\n## B\nb2 ^p\n\n- one ^i\n- two\n\n| t |\n|---|\n| x |\n\n^tab\n";
    let memory = of(text);
    let part =
        |fragment: &Fragment| sections::locate(&memory, fragment).map(|r| memory.text[r].trim().to_owned());
    let heading = |names: &[&str]| part(&Fragment::Heading(names.iter().map(|n| (*n).to_owned()).collect()));
    assert_eq!(heading(&["A"]).as_deref(), Some("# A\na\n## B\nb1"));
    assert_eq!(heading(&["B"]).as_deref(), Some("## B\nb1"));
    assert!(heading(&["C", "B"]).is_some_and(|b| b.starts_with("## B\nb2")));
    assert!(heading(&["c", "b"]).is_some());
    assert_eq!(heading(&["B", "A"]), None);
    assert_eq!(part(&Fragment::Block("p".into())).as_deref(), Some("b2 ^p"));
    assert_eq!(part(&Fragment::Block("i".into())).as_deref(), Some("- one ^i"));
    assert_eq!(part(&Fragment::Block("tab".into())).as_deref(), Some("| t |\n|---|\n| x |"));
    assert_eq!(part(&Fragment::Block("no".into())), None);
    assert_eq!(part(&Fragment::Lines(3, 4)).as_deref(), Some("# A\na"));
    assert!(part(&Fragment::Lines(17, 99)).is_some_and(|t| t == "^tab"));
    assert_eq!(part(&Fragment::Lines(99, 100)), None);
}

#[test]
fn traps_of_the_parser() {
    // A heading right under a footnote is no part of it.
    let memory = of("x[^a]\n\n[^a]: evidence\n# Head ##\n\nSet\next\n---\n");
    let headings: Vec<_> = memory.headings.iter().map(|h| (h.text.as_str(), h.level, h.line)).collect();
    assert_eq!(headings, [("Head", 1, 4), ("Set ext", 2, 6)]);
    assert_eq!(memory.footnotes[0].text, "evidence");
    let memory = of("[^a]: one\n[^b]: two\n    more\nnot it\n");
    let notes: Vec<_> =
        memory.footnotes.iter().map(|f| (f.label.as_str(), f.text.as_str(), f.line)).collect();
    assert_eq!(notes, [("a", "one", 1), ("b", "two\n    more", 2)]);
    // Line ends are no part of a heading; marks and links in one are words.
    let memory = of("# **A** `b` [[c|d]] ^id\r\n\r\ntext\r\n");
    assert_eq!(memory.headings[0].text, "A b d");
    assert_eq!(memory.blocks[0].id, "id");
    // A range in the front matter counts bytes, whatever stands before it.
    let memory = of("---\r\n标题: 日本\r\n上级: [\"[[甲]]\", '[[乙]]']\r\n---\r\n");
    let sources: Vec<_> = memory.links.iter().map(|l| (&memory.text[l.range.clone()], l.line)).collect();
    assert_eq!(sources, [("[[甲]]", 3), ("[[乙]]", 3)]);
    let memory = of("- [ ] [[a]]\n  - x\n\n        [[code]]\n\n> ```\n> [[b]]\n> ```\n\n![[e]]");
    assert_eq!(targets(&memory), ["a", "e"]);
    assert_eq!(&memory.text[memory.links[1].range.clone()], "![[e]]");
}

#[test]
fn hostile_front_matter_is_bounded() {
    // Written out, the first of them would not end in anybody's life.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..40 {
        let before = format!("*a{}", i - 1);
        bomb.push_str(&format!("a{i}: &a{i} [{}]\n", vec![before; 10].join(", ")));
    }
    let deep = "a:\n".to_owned() + &(1..500).map(|i| format!("{}a:\n", " ".repeat(i))).collect::<String>();
    for yaml in [
        bomb,
        deep,
        "[".repeat(500_000),
        "- ".repeat(250_000),
        "a: &a *a\n".to_owned(),
        "x: y\n".repeat(300_000),
    ] {
        let memory = of(format!("---\n{yaml}\n---\n# Head\n"));
        let rule = memory.problems.first().map(|p| p.rule.as_str());
        assert_eq!(rule, Some("schema.yaml"), "{:.40}", yaml);
        assert_eq!((memory.body_start, memory.title.as_str()), (0, "Head"));
    }
}

fn texts(memory: &Memory, max: u32) -> Vec<String> {
    chunk::chunks(memory, max).into_iter().map(|c| memory.text[c.range].to_owned()).collect()
}

#[test]
fn sections_are_chunks_and_long_ones_are_cut() {
    let memory = of("---\ntitle: x\n---\nlead\n\n# A\n\n## B\nshort\n\n## C\nalso\n");
    let chunks = chunk::chunks(&memory, 400);
    assert_eq!(texts(&memory, 400), ["lead", "# A\n\n## B\nshort", "## C\nalso"]);
    assert_eq!(chunks[1].headings, ["A", "B"]);
    assert_eq!((chunks[1].line, chunks[2].line), (6, 11));

    let code = format!("```\n{}```", "let x = 1;\n\n".repeat(8));
    let long =
        format!("{}\n\n{code}\n\n{}", "One sentence here. ".repeat(20), "Another one there. ".repeat(20));
    let cut = texts(&of(&long), 60);
    assert!(cut.iter().any(|c| c.contains(&code)), "the code stays whole: {cut:#?}");
    assert!(cut.iter().all(|c| tokens::estimate(c) <= 60));

    let chinese = "他喜欢靠窗的座位。他不喜欢过道！".repeat(30);
    let cut = texts(&of(&chinese), 100);
    assert!(cut.iter().all(|c| c.ends_with(['。', '！'])), "cut between sentences: {cut:?}");
    let total: usize = cut.iter().map(|c| c.chars().count()).sum();
    let repeated = total - chinese.chars().count();
    let share = repeated as f64 / (cut.len() - 1) as f64 / 100.0;
    assert!((0.05..=0.2).contains(&share), "an overlap of {share}");
}

#[test]
fn tokens_are_estimated() {
    assert_eq!(tokens::estimate(""), 0);
    assert_eq!(tokens::estimate("four"), 1);
    assert_eq!(tokens::estimate("靠窗座位"), 4);
    assert_eq!(tokens::estimate("窗 seat"), 3);
}

#[test]
fn composed_front_matter_looks_as_a_person_writes_it() {
    let text = compose::memory(
        &[
            ("type", json!("semantic")),
            ("title", json!("Prefers: window")),
            ("created", json!("2026-11-29T10:00:00+08:00")),
            ("confidence", json!(0.92)),
            ("part_of", json!("[[trips]]")),
            ("tags", json!(["travel", "no", "旅行"])),
            ("aliases", json!([])),
            ("value", json!({"seat": "window"})),
        ],
        "# Body",
    );
    assert_eq!(
        text,
        "---\ntype: semantic\ntitle: \"Prefers: window\"\ncreated: 2026-11-29T10:00:00+08:00\nconfidence: 0.92\n\
         part_of: \"[[trips]]\"\ntags:\n  - travel\n  - \"no\"\n  - 旅行\naliases: []\nvalue: {seat: window}\n---\n# Body\n"
    );
}

#[test]
fn a_real_vault_is_read_without_a_wrong_finding() {
    let data = std::env::var("RUNEBOOK_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(data).join("vaults/obsidian-help");
    if !root.is_dir() {
        eprintln!("skipped: {} is not there", root.display());
        return;
    }
    let mut links = 0;
    for entry in
        walkdir::WalkDir::new(&root).into_iter().filter_map(Result::ok).filter(|e| e.file_type().is_file())
    {
        let name = entry.path().strip_prefix(&root).expect("below").to_str().expect("UTF-8").to_owned();
        let memory = read(&path(&name), &std::fs::read(entry.path()).expect("a file"), &Config::default());
        assert_eq!(problems(&memory), [], "{name}");
        links += memory.links.iter().filter(|l| l.form == LinkForm::Wiki).count();
    }
    assert!((3_500..3_800).contains(&links), "{links} wikilinks");
}
