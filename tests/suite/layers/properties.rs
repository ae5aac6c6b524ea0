//! What holds of layers whatever the input is.

use proptest::prelude::*;
use runebook::layers::{
    ABSTRACT_TOKENS, Below, Child, GENERATOR, Leaf, OVERVIEW_TOKENS, directory, file_abstract, leaf, outline,
    sentences,
};
use runebook::markdown::{self, prose::passages, tokens::estimate};
use runebook::model::actor::Sensitivity;
use runebook::model::config::Config;
use runebook::model::id::Digest;
use runebook::model::memory::Memory;
use runebook::model::path::VaultPath;

use super::super::support::Sandbox;

fn memory(path: &str, text: &str) -> Memory {
    markdown::read(&VaultPath::parse(path).expect("a path"), text.as_bytes(), &Config::default())
}

/// Pieces of which texts are put together: both languages, marks, ends and none.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,12}( [a-z]{1,9}){0,14}[.!?:]? ",
        "[\u{4e00}-\u{4e40}]{1,30}[。！？，]?",
        Just("\n\n".to_owned()),
        Just("\n# ".to_owned()),
        Just("\n## ".to_owned()),
        Just("\n- ".to_owned()),
        Just("\n> [!note] ".to_owned()),
        Just("[[a/b|".to_owned()),
        Just("]] ".to_owned()),
        Just("**".to_owned()),
        Just("`".to_owned()),
        Just("\n```\n".to_owned()),
        Just("| a | b |\n|---|---|\n".to_owned()),
        Just("Do not, unless ".to_owned()),
        Just("%%".to_owned()),
        "\\PC{0,20}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

fn any_leaf() -> impl Strategy<Value = Leaf> {
    (text(), "\\PC{1,30}", 0u16..=1000, proptest::option::of("20[0-2][0-9]-0[1-9]-1[0-9]")).prop_map(
        |(text, title, importance, date)| {
            let made = leaf(&memory("a/x.md", &format!("# {title}\n\n{text}")))
                .filter(|leaf| !leaf.title.is_empty());
            let plain = Leaf {
                title: "T".to_owned(),
                l0: String::new(),
                date: None,
                importance: 500,
                sensitivity: Sensitivity::Normal,
                links: Vec::new(),
                opening: None,
            };
            Leaf { importance, date, ..made.unwrap_or(plain) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_files_layers_fit_and_say_nothing_new(body in text()) {
        let memory = memory("a/x.md", &body);
        let l0 = file_abstract(&memory);
        prop_assert!(estimate(&l0) <= ABSTRACT_TOKENS, "{} tokens: {l0}", estimate(&l0));
        prop_assert!(!l0.contains('\n'), "{l0:?}");
        let l1 = outline(&memory);
        prop_assert!(estimate(&l1) <= OVERVIEW_TOKENS, "{} tokens", estimate(&l1));
        prop_assert_eq!(&outline(&memory), &l1);
        // Every sentence stands in the source as a reader hears it.
        let heard: Vec<String> = passages(memory.body()).into_iter().map(|passage| passage.text).collect();
        let stands = |words: &str| heard.iter().any(|passage| passage.contains(words.trim()));
        let by_sentences = sentences(&l0).into_iter().all(|sentence| {
            // Two sentences of different passages are joined by a space.
            stands(sentence) || (1..sentence.len()).filter(|at| sentence.is_char_boundary(*at))
                .any(|at| stands(&sentence[..at]) && stands(&sentence[at..]))
        });
        prop_assert!(by_sentences || l0.split(" · ").all(stands), "{l0:?} is not in {heard:?}");
    }

    #[test]
    fn a_directorys_layers_fit_whatever_the_order(
        leaves in proptest::collection::vec(any_leaf(), 0..12),
        below in proptest::collection::vec(("[a-z]{1,20}|[\u{4e00}-\u{4e20}]{1,9}", text()), 0..6),
        turn in 0usize..12,
        name in "[a-z]{0,9}|[\u{4e00}-\u{4e20}]{1,4}",
        with_index in any::<bool>(),
    ) {
        let abstracts: Vec<(String, String)> =
            below.into_iter().map(|(name, text)| (name, file_abstract(&memory("x.md", &text)))).collect();
        let names: Vec<String> = (0..leaves.len()).map(|n| format!("{n} note.md")).collect();
        let index = leaves.first().filter(|_| with_index);
        let mut children: Vec<Child<'_>> =
            names.iter().zip(&leaves).map(|(name, leaf)| Child { name, leaf }).collect();
        let mut below: Vec<Below<'_>> = abstracts.iter().map(|(name, l0)| Below { name, l0 }).collect();
        below.sort_by_key(|below| below.name);
        below.dedup_by_key(|below| below.name);
        let made = directory(&name, index, &children, &below);
        if !children.is_empty() {
            let by = turn % children.len();
            children.rotate_left(by);
        }
        below.reverse();
        prop_assert_eq!(&directory(&name, index, &children, &below), &made);
        if let Some(made) = made {
            prop_assert!(estimate(&made.l0) <= ABSTRACT_TOKENS, "{}: {}", estimate(&made.l0), made.l0);
            prop_assert!(estimate(&made.l1) <= OVERVIEW_TOKENS, "{} tokens", estimate(&made.l1));
            prop_assert!(!made.l0.contains('\n'));
        }
    }
}

#[test]
fn hostile_files_fit() {
    let heading = format!("# {}\n\nShort.\n", "wide ".repeat(2_000));
    let one_line = "word ".repeat(4_000_000);
    let chinese = "字".repeat(300_000);
    let many = "## Heading\n\nWords of a section.\n\n".repeat(20_000);
    let titled =
        format!("---\ntitle: \"{}\"\nsummary: \"{}\"\n---\nx\n", "t ".repeat(50_000), "s ".repeat(50_000));
    for text in [&heading, &one_line, &chinese, &many, &titled] {
        let memory = memory("x.md", text);
        let (l0, l1) = (file_abstract(&memory), outline(&memory));
        assert!(estimate(&l0) <= ABSTRACT_TOKENS, "{} tokens", estimate(&l0));
        assert!(estimate(&l1) <= OVERVIEW_TOKENS, "{} tokens of {} bytes", estimate(&l1), text.len());
        let leaf = leaf(&memory).expect("no template");
        let children = [Child { name: "x.md", leaf: &leaf }];
        let made = directory("d", Some(&leaf), &children, &[]).expect("it holds one");
        assert!(estimate(&made.l0) <= ABSTRACT_TOKENS && estimate(&made.l1) <= OVERVIEW_TOKENS);
    }
}

#[test]
fn of_fifty_thousand_the_most_important_are_shown() {
    let of = |n: usize| {
        let text = format!(
            "---\nimportance: 0.{}\ncreated: 2026-01-{:02}\n---\n# Note {n}\n\nWords of note {n}.\n",
            n % 10,
            1 + n % 28
        );
        leaf(&memory("x.md", &text)).expect("no template")
    };
    let leaves: Vec<Leaf> = (0..1_000).map(of).collect();
    let names: Vec<String> = (0..50_000).map(|n| format!("{n:05}.md")).collect();
    let children: Vec<Child<'_>> =
        names.iter().enumerate().map(|(n, name)| Child { name, leaf: &leaves[n % 1_000] }).collect();
    let made = directory("many", None, &children, &[]).expect("it holds some");
    assert!(estimate(&made.l1) <= OVERVIEW_TOKENS && estimate(&made.l0) <= ABSTRACT_TOKENS);
    let rows: Vec<&str> = made.l1.lines().filter(|line| line.starts_with("- [")).collect();
    let left = format!("- … and {} more", 50_000 - rows.len());
    assert!(made.l1.lines().any(|line| line == left), "{}", made.l1);
    // By importance, then the latest, then by name.
    let key = |row: &str| {
        let at: usize =
            row.split_once("](").and_then(|(_, rest)| rest.get(..5)?.parse().ok()).expect("a name");
        let leaf = &leaves[at % 1_000];
        (std::cmp::Reverse(leaf.importance), std::cmp::Reverse(leaf.date.clone()), at)
    };
    assert!(rows.len() > 20 && rows.windows(2).all(|pair| key(pair[0]) < key(pair[1])), "{rows:?}");
    assert_eq!(key(rows[0]).0, std::cmp::Reverse(900));
}

/// All layer files of HEAD, one behind the other.
fn all(s: &Sandbox) -> String {
    let files = s.git(&["ls-tree", "-r", "--name-only", "-z", "HEAD"]);
    let layers = files.split('\0').filter(|at| at.ends_with(".abstract.md") || at.ends_with(".overview.md"));
    layers.map(|path| format!("{path}\n{}\n", s.git(&["show", &format!("HEAD:{path}")]))).collect()
}

/// The layers of the example vault by this version of the generator. Where the output changed, `GENERATOR` in
/// src/layers/mod.rs gets the next number, since a vault's audit compares bytes; where the example vault changed, the
/// hash alone.
const GOLDEN: (&str, &str) =
    ("layers/3", "sha256:c2be8063e628876814a2190e700e3e958943f0e1a723db0d43705bfb4ae07058");

#[test]
fn a_version_of_the_generator_makes_the_same_bytes_for_ever() {
    let s = Sandbox::new();
    s.run(&["init", "--example"]).ok();
    let made = all(&s);
    assert!(made.len() > 5_000, "{made}");
    assert_eq!((GENERATOR, Digest::of(made.as_bytes()).to_string().as_str()), GOLDEN);
    // However many threads read the files.
    let one = Sandbox::new();
    let mut command = one.command(env!("CARGO_BIN_EXE_runebook"));
    let run = command.env("RAYON_NUM_THREADS", "1").args(["init", "--example"]).output().expect("it runs");
    assert!(run.status.success());
    assert_eq!(all(&one), made);
}

#[test]
fn what_is_sensitive_leaves_no_trace_and_what_is_deep_goes_no_further_than_its_abstract() {
    let plain = super::tracked();
    let secret = super::tracked();
    for s in [&plain, &secret] {
        s.write(
            "user/a/one.md",
            "---\nsummary: The first of them all.\n---\n# One\n\nMore below.\n\n## Later\n\nFar behind.\n",
        );
        s.write("user/b.md", "# B\n\nBees see [[one]].\n");
    }
    secret.write("user/a/two.md", "---\nsensitivity: confidential\n---\n# Two\n\nSee [[nowhere]].\n");
    secret.write("user/c/three.md", "---\nsensitivity: restricted\nimportance: 1\n---\n# Three\n\nThree.\n");
    secret.write("user/c/index.md", "---\nsensitivity: confidential\nsummary: Hidden.\n---\nHidden words.\n");
    for s in [&plain, &secret] {
        s.git(&["add", "-A"]);
        s.run(&["commit", "-m", "Some"]).ok();
    }
    assert_eq!(all(&plain), all(&secret));
    let before = plain.git(&["rev-parse", "HEAD"]);
    plain.write(
        "user/a/one.md",
        "---\nsummary: The first of them all.\n---\n# One\n\nMore below.\n\n## Later\n\nNearer now.\n",
    );
    plain.run(&["commit", "-m", "Deep"]).ok();
    assert_eq!(plain.git(&["diff", "--name-only", &before, "HEAD"]), "user/a/one.md");
}
