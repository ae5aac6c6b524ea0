//! Addresses: printing and reading lose nothing.

use proptest::prelude::*;
use runebook::model::path::VaultPath;
use runebook::model::uri::{Fragment, Uri};

fn segment() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "%",
        "%41",
        "%2F",
        "#",
        "?",
        "?rev=x",
        "日记 2026",
        "a b",
        "&",
        "L10",
        "^x",
        "é",
        "e\u{301}",
        "\u{200B}",
        ":",
        "...",
        "+",
        "=",
    ]);
    let name = prop_oneof![odd.prop_map(str::to_owned), "\\PC{1,12}"];
    prop::collection::vec(name, 1..3)
        .prop_map(|parts| parts.concat().replace(['/', '\\'], "_"))
        .prop_filter("a name", |s| {
            !matches!(s.as_str(), "." | "..") && s.len() <= 255 && !s.chars().any(char::is_control)
        })
}

fn words() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "L10", "L10-L20", "L0", "^x", "a#b", "%4C10", "?", "50 %", "^", "标题", "L9-L3", "-", " ",
    ]);
    let text = "\\PC{1,16}".prop_filter("no control characters", |s| !s.chars().any(char::is_control));
    prop_oneof![odd.prop_map(str::to_owned), text]
}

fn fragment() -> impl Strategy<Value = Fragment> {
    prop_oneof![
        prop::collection::vec(words(), 1..4).prop_map(Fragment::Heading),
        words().prop_map(Fragment::Block),
        (1u32..5000, 0u32..100).prop_map(|(from, more)| Fragment::Lines(from, from + more)),
    ]
}

fn uri() -> impl Strategy<Value = Uri> {
    let path =
        prop::collection::vec(segment(), 0..4).prop_map(|s| VaultPath::parse(&s.join("/")).expect("a path"));
    let rev = prop_oneof![words(), Just("main@{1&2}~3^{/x y}".to_owned())];
    (path, any::<bool>(), prop::option::of(rev), prop::option::of(fragment())).prop_map(
        |(path, directory, rev, fragment)| Uri {
            directory: directory || path.is_root(),
            path,
            rev,
            fragment,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_reads_back(uri in uri()) {
        prop_assert_eq!(Uri::parse(&uri.to_string()), Ok(uri));
    }

    #[test]
    fn what_is_read_prints_to_a_fixed_point(tail in "[\\PC%#?/^L0-9-]{0,40}") {
        if let Ok(uri) = Uri::parse(&format!("viking://{tail}")) {
            let printed = uri.to_string();
            let again = Uri::parse(&printed);
            prop_assert_eq!(again.as_ref(), Ok(&uri), "{}", printed);
            prop_assert_eq!(uri.path.as_str().split('/').any(|s| matches!(s, "." | "..")), false);
        }
    }

    #[test]
    fn nothing_that_is_read_leaves_the_vault(text in "viking://(\\.|%2e|%2F|%5c|/|\\\\|a|%00|\\PC){0,12}") {
        if let Ok(uri) = Uri::parse(&text) {
            let path = uri.path.as_str();
            prop_assert!(path.is_empty() || path.split('/').all(|s| !matches!(s, "" | "." | "..")), "{text} → {path}");
            prop_assert!(!path.contains(['\\', '\0']));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = Uri::parse(&text);
        let _ = Uri::parse(&format!("viking://{text}"));
        let _ = Fragment::parse(&text);
    }
}
