//! Holds the map of `lib.rs`: who may use whom, which crate stays in which module, and the rules of style that no
//! lint knows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Crates that one place alone may name.
const PRIVATE_CRATES: &[(&str, &str)] = &[
    ("git2", "src/store/git/"),
    ("tantivy", "src/index/"),
    ("rusqlite", "src/catalog/"),
    ("notify", "src/watch/ears.rs"),
    ("fastembed", "src/index/embed/"),
    ("ureq", "src/index/embed/fetch.rs"),
    ("ort", "src/index/embed/"),
    // With its `::`: tantivy has a method of that name.
    ("tokenizers::", "src/index/embed/"),
];

/// What reads the clock, chance or the environment. `Instant` measures how long something takes and `args_os` is
/// what the program was asked: neither can change what is stored.
const DOORS: &str = r"\b(SystemTime::now|Timestamp::now|Zoned::now|Signature::now|Ulid::(new|generate)|getrandom|fastrand|env::(vars?|vars?_os|args|current_dir|home_dir|temp_dir))\b";

/// Where they stand.
const DOOR_KEEPERS: &[&str] = &["src/model/clock.rs", "src/main.rs"];

/// The one place that may do what the compiler cannot check: it maps a file into memory.
const UNSAFE: &str = "src/index/vectors/map.rs";

/// What opens whatever stands at a place: a named pipe is waited for.
const OPENERS: &str = r"\bfs::read(_to_string)?\(|\bFile::open\(([^d]|d[^i])";

/// Who may: the one that looks first, those who open only what `flow` looked at, and one that reads the system's own
/// file.
const OPENING: &[&str] = &["src/store/plain.rs", "src/catalog/", "src/index/", "src/watch/filesystem.rs"];

/// What reads standard input, which may be without an end.
const HEARERS: &str =
    r"\bstdin\(\)(\.lock\(\))?\.(read|take|bytes|lines|split)|\bread_to_string\(.*\bstdin\(\)";

/// Who may: the one that sets a limit and lets Ctrl-C through, the one that asks, and what git calls.
const HEARING: &[&str] = &["src/cli/given.rs", "src/cli/ask.rs", "src/cli/hooks.rs"];

/// The most lines of a file.
const MOST_LINES: usize = 500;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

/// All Rust files below a directory of the project: path relative to the project, text.
fn sources(directory: &str) -> Vec<(String, String)> {
    walkdir::WalkDir::new(root().join(directory))
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("a readable directory").into_path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .map(|path| (relative(&path), std::fs::read_to_string(&path).expect("a source file")))
        .collect()
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).expect("a path of the project").to_string_lossy().replace('\\', "/")
}

/// The ranks by module, from the table in the documentation of `lib.rs`.
fn ranks(lib: &str) -> BTreeMap<String, u32> {
    let row = pattern(r"(?m)^//! \| (\d+) \| \[`(\w+)`\] \|");
    row.captures_iter(lib).map(|c| (c[2].to_owned(), c[1].parse().expect("a rank"))).collect()
}

/// The code alone: comments and the contents of strings and characters are blanked, lines stay where they are.
fn code(text: &str) -> String {
    let token = pattern(concat!(
        r##"(?s)//[^\n]*|/\*.*?\*/"##,             // comments
        r##"|b?r#"(?:[^"]|"[^#])*"#|b?r"[^"]*""##, // raw strings
        r##"|b?"(?:\\.|[^"\\])*""##,               // strings
        r##"|b?'(?:\\[^\n]{1,10}?|[^\\'\n])'"##,   // characters, but no lifetimes
    ));
    let blank = |c: &regex::Captures<'_>| {
        c[0].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect::<String>()
    };
    token.replace_all(text, blank).into_owned()
}

/// Without the tests at the foot.
fn without_tests(code: &str) -> &str {
    let foot = pattern(r"(?m)^#\[cfg\(test\)\]\s*mod \w+ \{").find(code).map_or(code.len(), |m| m.start());
    &code[..foot]
}

/// The modules below the crate that a file belongs to: `src/flow/a/b.rs` is `[flow, a, b]`.
fn module_of(file: &str) -> Vec<&str> {
    let inner = file.trim_start_matches("src/").trim_end_matches(".rs");
    let mut parts: Vec<&str> = inner.split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    parts
}

/// The top-level modules that code names by `crate::…` or by enough `super::`, with their lines.
fn used_modules(file: &str, code: &str) -> Vec<(usize, String)> {
    let start = pattern(r"\b(?:crate::|(?:super::)+)");
    let depth = module_of(file).len();
    let mut used = Vec::new();
    for found in start.find_iter(code) {
        let climbs = found.as_str().matches("super::").count();
        if climbs != 0 && climbs < depth {
            continue;
        }
        let line = code[..found.start()].matches('\n').count() + 1;
        used.extend(first_names(&code[found.end()..]).into_iter().map(|name| (line, name)));
    }
    used
}

/// The first segments of what follows `crate::`: one name, or all of a group in braces.
fn first_names(rest: &str) -> Vec<String> {
    let word = |text: &str| {
        let text = text.trim_start();
        text[..text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())].to_owned()
    };
    let Some(group) = rest.strip_prefix('{') else { return vec![word(rest)] };
    let (mut depth, mut names, mut from) = (0, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(word(&group[from..at]));
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// A crate's name as a word.
fn named(name: &str) -> String {
    if name.ends_with(':') { format!(r"\b{name}") } else { format!(r"\b{name}\b") }
}

/// What a file of `src` does that the map forbids.
fn faults(file: &str, text: &str, ranks: &BTreeMap<String, u32>) -> Vec<String> {
    let code = code(text);
    let mut faults = style_faults(file, text, &code);
    let code = if file.ends_with("/tests.rs") { "" } else { without_tests(&code) };
    let mut fault = |line: usize, what: String| faults.push(format!("{file}:{line}: {what}"));
    let modules = module_of(file);
    if let Some(own) = modules.first() {
        match ranks.get(*own) {
            None => fault(1, format!("the module `{own}` has no rank in lib.rs")),
            Some(rank) => {
                for (line, name) in used_modules(file, code) {
                    if name != *own && ranks.get(&name).is_some_and(|other| other >= rank) {
                        fault(line, format!("`{own}` uses `{name}`, which does not stand above it"));
                    }
                }
            }
        }
    }
    for (line, row) in (1..).zip(code.lines()) {
        for (name, home) in PRIVATE_CRATES {
            if !file.starts_with(home) && pattern(&named(name)).is_match(row) {
                fault(line, format!("`{}` is named outside {home}", name.trim_end_matches(':')));
            }
        }
        if !file.starts_with("src/cli/") && pattern(r"\be?print(ln)?!|\bio::std(out|err)\b").is_match(row) {
            fault(line, "prints outside cli".to_owned());
        }
        if !OPENING.iter().any(|home| file.starts_with(home)) && pattern(OPENERS).is_match(row) {
            fault(line, "opens what may be no plain file; `store::plain` looks first".to_owned());
        }
        if !HEARING.contains(&file) && pattern(HEARERS).is_match(row) {
            fault(line, "reads standard input without a limit; `cli::given` sets one".to_owned());
        }
        if !DOOR_KEEPERS.contains(&file) && pattern(DOORS).is_match(row) {
            fault(line, "reads clock, chance or environment outside model::clock".to_owned());
        }
    }
    faults
}

/// The rules that hold in tests too.
fn style_faults(file: &str, text: &str, code: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if lines > MOST_LINES {
        faults.push(format!("{file}: {lines} lines, more than {MOST_LINES}"));
    }
    let silenced = pattern(r"#!?\[(allow|expect|ignore|cfg_attr)\b");
    let mut allowed = usize::from(file == UNSAFE);
    for (line, row) in (1..).zip(code.lines()) {
        if silenced.is_match(row) {
            if allowed > 0 && row.contains("expect(unsafe_code, reason =") {
                allowed -= 1;
                continue;
            }
            faults.push(format!("{file}:{line}: silences a lint or a test"));
        }
    }
    faults
}

#[test]
fn every_module_uses_only_what_stands_above_it() {
    let files = sources("src");
    let lib = &files.iter().find(|(name, _)| name == "src/lib.rs").expect("lib.rs").1;
    let ranks = ranks(lib);
    assert!(ranks.len() >= 8, "the table of lib.rs was not understood: {ranks:?}");
    let mut found: Vec<String> = files.iter().flat_map(|(file, text)| faults(file, text, &ranks)).collect();
    for directory in ["tests", "benches"].into_iter().filter(|directory| root().join(directory).exists()) {
        found
            .extend(sources(directory).iter().flat_map(|(file, text)| style_faults(file, text, &code(text))));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_scanner_sees_what_is_forbidden() {
    let ranks: BTreeMap<String, u32> =
        [("model", 1), ("store", 3), ("index", 3), ("check", 3), ("flow", 4), ("cli", 5)]
            .map(|(n, r)| (n.to_owned(), r))
            .into();
    let finds = |file: &str, text: &str| {
        let found = faults(file, text, &ranks);
        assert_eq!(found.len(), 1, "{file}\n{text}\n{found:?}");
        found[0].clone()
    };
    assert!(finds("src/model/a.rs", "use crate::flow::vault::Vault;").contains("`model` uses `flow`"));
    assert!(
        finds("src/store/a.rs", "use crate::{\n    model::{id::Oid, uri::Uri},\n    check::run,\n};")
            .contains(":1: `store` uses `check`")
    );
    assert!(finds("src/store/git/a.rs", "use super::super::super::flow::x;").contains("`store` uses `flow`"));
    assert!(finds("src/model/a.rs", "fn f() { let x = crate::cli::Output::new(); }").contains("`cli`"));
    assert!(finds("src/news/mod.rs", "").contains("`news` has no rank"));
    assert!(finds("src/flow/a.rs", "use git2::Oid;").contains("`git2`"));
    assert!(finds("src/flow/a.rs", "fn f() {}\nfn g() { println!(\"x\"); }").contains(":2: prints"));
    assert!(finds("src/check/a.rs", "let t = std::time::SystemTime::now();").contains("clock"));
    assert!(finds("src/check/a.rs", "let t = std::env::var(\"HOME\");").contains("environment"));
    assert!(finds("src/flow/a.rs", "let t = std::fs::read(&at);").contains("plain file"));
    assert!(finds("src/store/a.rs", "let t = File::open(at)?;").contains("plain file"));
    // Also where a file is named on the command line.
    for file in ["src/cli/propose/write.rs", "src/flow/eval/mod.rs", "src/cli/a.rs"] {
        assert!(finds(file, "let t = std::fs::read_to_string(&at);").contains("plain file"));
        assert!(finds(file, "let t = std::io::stdin().read_to_end(&mut bytes);").contains("without a limit"));
    }
    assert!(finds("src/flow/a.rs", "#[allow(dead_code)]\nfn f() {}").contains(":1: silences"));
    assert!(finds("src/flow/a.rs", "#[cfg(test)]\nmod tests {\n    #[ignore]\n}").contains(":3: silences"));
    assert!(finds("src/flow/a.rs", &"fn f() {}\n".repeat(501)).contains("501 lines"));
    let mapped = "#[expect(unsafe_code, reason = \"x\")]\n";
    assert!(finds("src/index/a.rs", mapped).contains(":1: silences"));
    assert!(finds(UNSAFE, &mapped.repeat(2)).contains(":2: silences"), "one place, not two");
}

#[test]
fn the_scanner_leaves_alone_what_is_allowed() {
    let ranks: BTreeMap<String, u32> =
        [("model", 1), ("store", 3), ("flow", 4), ("cli", 5)].map(|(n, r)| (n.to_owned(), r)).into();
    for (file, text) in [
        ("src/flow/a.rs", "use crate::{model::id::Oid, store::git::Repo};\nuse super::vault::Vault;"),
        (
            "src/model/a.rs",
            "/// See [`crate::flow::vault`].\n// println!(\"x\")\nconst A: &str = \"crate::flow git2\";",
        ),
        (
            "src/model/a.rs",
            "const A: &str = r#\"use crate::cli; \"quoted\"\"#; const B: char = '\"'; fn f<'a>(x: &'a str) {}",
        ),
        ("src/store/git/mod.rs", "use git2::Oid;"),
        ("src/store/a.rs", "let open = File::open(directory)?; let x = fs::read_dir(at);"),
        ("src/cli/a.rs", "use crate::flow::x; fn f() { eprintln!(\"x\"); }"),
        ("src/model/clock.rs", "fn now() { Timestamp::now() }"),
        ("src/model/a.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::flow::x;\n}"),
        ("src/main.rs", "fn main() { runebook::cli::main() }"),
    ] {
        assert_eq!(faults(file, text, &ranks), Vec::<String>::new(), "{text}");
    }
}

/// The documents that people read.
fn documents() -> Vec<(String, String)> {
    let listed = std::fs::read_dir(root()).expect("the project");
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.sort();
    paths.iter().map(|path| (relative(path), std::fs::read_to_string(path).expect("a document"))).collect()
}

/// What a document names that is not in the project.
fn strangers(name: &str, text: &str) -> Vec<String> {
    let link = pattern(r"\]\(([^)\s#]+)(?:#[^)]*)?\)");
    let outside = pattern(r"(?:^|[\s(`])(\.\./\S*|/(?:home|root|work|tmp|Users)/\S*)");
    let mut found = Vec::new();
    for target in link.captures_iter(text).map(|c| c[1].to_owned()) {
        let elsewhere = ["https://", "http://", "mailto:", "viking://"].iter().any(|s| target.starts_with(s));
        if !elsewhere && !root().join(&target).exists() {
            found.push(format!("{name}: the link `{target}` leads nowhere"));
        }
    }
    found.extend(outside.captures_iter(text).map(|c| format!("{name}: names `{}`", &c[1])));
    found
}

#[test]
fn documents_stand_on_their_own() {
    let found: Vec<String> = documents().iter().flat_map(|(name, text)| strangers(name, text)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    assert_eq!(strangers("a.md", "[x](nowhere.md) and [y](Cargo.toml#a) and `../b`").len(), 2);
}

#[test]
fn every_own_part_is_in_the_suite() {
    let main = std::fs::read_to_string(root().join("tests/suite/main.rs")).expect("main.rs");
    let missing: Vec<String> = sources("tests/suite")
        .iter()
        .map(|(file, _)| file.trim_start_matches("tests/suite/").trim_end_matches(".rs").to_owned())
        .filter(|name| name != "main" && !name.contains('/') && !main.contains(&format!("mod {name};")))
        .collect();
    assert!(missing.is_empty(), "no `mod` in tests/suite/main.rs for {missing:?}");
}
