//! What holds for every memory: any bytes are read, chunks leave nothing out, what is composed reads back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use runebook::markdown::{chunk, compose, plain, read, sections, tokens};
use runebook::model::config::Config;
use runebook::model::memory::Memory;
use runebook::model::path::VaultPath;
use runebook::model::uri::Fragment;
use serde_json::Value;

fn of(text: impl AsRef<[u8]>) -> Memory {
    read(&VaultPath::parse("user/note.md").expect("a path"), text.as_ref(), &Config::default())
}

/// Checks that hold for every memory, whatever was read.
fn sound(memory: &Memory, max: u32) -> Result<(), TestCaseError> {
    let text = &memory.text;
    let lines = u32::try_from(text.split(['\n', '\r']).count()).expect("few lines");
    prop_assert!(text.is_char_boundary(memory.body_start));
    for (range, line) in memory
        .links
        .iter()
        .map(|l| (&l.range, l.line))
        .chain(memory.headings.iter().map(|h| (&h.range, h.line)))
    {
        prop_assert!(text.get(range.clone()).is_some(), "{range:?}");
        prop_assert!((1..=lines).contains(&line), "line {line} of {lines}");
    }
    for line in memory.blocks.iter().map(|b| b.line).chain(memory.footnotes.iter().map(|f| f.line)) {
        prop_assert!((1..=lines).contains(&line));
    }
    for block in &memory.blocks {
        let _ = sections::locate(memory, &Fragment::Block(block.id.clone()));
    }
    let mut covered = memory.body_start;
    for chunk in chunk::chunks(memory, max) {
        let part = text.get(chunk.range.clone());
        prop_assert!(
            part.is_some_and(|p| !p.trim().is_empty() && tokens::estimate(p) <= max.max(16)),
            "{part:?}"
        );
        prop_assert!(chunk.range.start >= memory.body_start);
        if chunk.range.start > covered {
            prop_assert!(text[covered..chunk.range.start].trim().is_empty(), "left out before {chunk:?}");
        }
        prop_assert!(chunk.range.end > covered || covered == 0, "nothing new in {chunk:?}");
        covered = chunk.range.end;
    }
    prop_assert!(text[covered..].trim().is_empty(), "left out at the end: {:?}", &text[covered..]);
    Ok(())
}

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "---\n",
            "# ",
            "## ",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            "[[",
            "]]",
            "|",
            "\\|",
            "`",
            "```\n",
            "~~~\n",
            "%%",
            "<!--",
            "-->",
            "[a](",
            ")",
            "<viking://",
            ">",
            "$",
            "$$",
            "- ",
            "1. ",
            "    ",
            "\t",
            "[^a]: ",
            "[^a]",
            " ^id",
            "#tag",
            "： ",
            ": ",
            "key: ",
            "- \"[[x]]\"\n",
            "&a ",
            "*a",
            "{",
            "}",
            "[",
            "]",
            "'",
            "\"",
            "。",
            "！",
            ". ",
            "===\n",
            "| a | b |\n|---|---|\n",
            "{{title}}",
            "<% tp.",
            "\u{FEFF}",
            "\u{2028}",
            "e\u{301}",
            "👩‍👩‍👧",
            "\0",
            "%zz",
            "!",
            "\\",
        ])
        .prop_map(str::to_owned),
        "[a-z ]{0,12}",
        "[\u{4E00}-\u{4E20}]{0,6}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn text_value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>().prop_filter("YAML cannot hold it", |s| !s.contains('\0')),
        prop::sample::select(vec![
            "no",
            "yes",
            "on",
            "Y",
            "null",
            "~",
            "true",
            "0012",
            "1.5",
            "1e3",
            "0x1f",
            "12:30",
            "2026-11-29",
            ".inf",
            "-",
            "- a",
            "a: b",
            "a #b",
            "#a",
            "[a, b]",
            "{a}",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "'",
            "\"",
            "\\",
            " a",
            "a ",
            "a:",
            ": a",
            "？：",
            "标签：旅行",
            "a\nb",
            "a\r\nb",
            "\t",
            "---",
            "...",
            "| a",
            "> a",
            "[[a]]",
            "viking://user/a b.md#L1",
            "<<",
            "=",
            "?",
            "? a",
            "\u{85}",
            "\u{2028}",
            "\u{FEFF}x",
            "\u{7F}",
            "\u{E000}",
            "😀",
        ])
        .prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text_value().prop_map(Value::String),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_filter("JSON cannot hold it", |f| f.is_finite()).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map(text_value(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400), max in 1u32..80) {
        sound(&of(&bytes), max)?;
    }

    #[test]
    fn any_markdown_is_read(text in markdown(), max in 1u32..80) {
        let memory = of(&text);
        sound(&memory, max)?;
        let _ = plain::plain(&text);
        sound(&of(format!("---\n{text}\n---\n{text}")), max)?;
    }

    #[test]
    fn what_is_composed_reads_back(
        fields in prop::collection::btree_map("[a-z_]{1,8}|标签|no|a b", value(), 0..6),
        body in markdown(),
    ) {
        let body = format!("# x\n{body}\n");
        let fields: Vec<(&str, Value)> = fields.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        let text = compose::memory(&fields, &body);
        let memory = of(&text);
        let read: Vec<(&str, Value)> =
            memory.front.all.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        prop_assert_eq!(read, fields.clone(), "{}", text);
        prop_assert_eq!(memory.body(), body);
        if !fields.is_empty() {
            // Another reader of YAML sees the same.
            let block = text.trim_start_matches("---\n").split("\n---\n").next().unwrap_or_default();
            let theirs: BTreeMap<String, Value> = serde_yaml::from_str(block).map_err(|e| TestCaseError::fail(format!("{e}\n{block}")))?;
            for (key, value) in &fields {
                prop_assert_eq!(&theirs[*key], value, "{}", block);
            }
        }
    }
}
