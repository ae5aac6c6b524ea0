//! Whatever a vault looks like and whatever moves in it: every link leads where it led, and nothing else changes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use runebook::markdown;
use runebook::model::config::Config;
use runebook::model::link::{Link, LinkForm, Names, Resolution, name_key, resolve};
use runebook::model::memory::Memory;
use runebook::model::path::VaultPath;

use super::support::{Run, Sandbox};

/// Spaces, Chinese, case twins, one name in two normal forms, marks that must be encoded, a dot that begins no ending.
const NAMES: &[&str] =
    &["a", "b", "B", "plan", "Plan", "日记", "note one", "caf\u{e9}", "cafe\u{301}", "v1.2", "x (1)", "100%"];
const DIRECTORIES: &[&str] = &["", "d", "d/e", "d/b", "other", "日 常", "other/e"];
const ALIASES: &[&str] = &["", "", "plan", "别名", "Zed"];

/// How a link is written to a file.
const FORMS: usize = 16;

#[derive(Debug, Clone)]
struct Case {
    files: Vec<(String, &'static str)>,
    /// From which file, to which (each modulo their number), in which form.
    links: Vec<(usize, usize, usize)>,
    what: usize,
    whole_directory: bool,
    to: (&'static str, &'static str),
}

fn case() -> impl Strategy<Value = Case> {
    let name = || prop::sample::select(NAMES);
    let directory = || prop::sample::select(DIRECTORIES);
    let path = (directory(), name()).prop_map(|(directory, name)| joined(directory, &format!("{name}.md")));
    let files = prop::collection::btree_map(path, prop::sample::select(ALIASES), 3..9);
    let link = (0..64_usize, 0..64_usize, 0..FORMS);
    let links = prop::collection::vec(link, 4..24);
    let move_of = (0..64_usize, prop::bool::weighted(0.3), (directory(), name()));
    let random = (files, links, move_of).prop_map(|(files, links, (what, whole_directory, to))| {
        let files = files.into_iter().collect();
        Case { files, links, what, whole_directory, to }
    });
    (random, 0..4).prop_map(|(case, kind)| match kind {
        0 => taken_name(case),
        1 => taken_alias(case),
        _ => case,
    })
}

/// A link from each file to the first one, in one form.
fn to_the_first(case: &mut Case, form: usize) {
    for from in 0..case.files.len() {
        case.links.push((from, 0, form));
    }
    case.what = 1;
    case.whole_directory = false;
}

/// The move gives a file the name that another one has, which links call by its name alone.
fn taken_name(mut case: Case) -> Case {
    let name = case.files[0].0.rsplit('/').next().unwrap_or_default().trim_end_matches(".md").to_owned();
    let name = NAMES.iter().find(|known| **known == name).unwrap_or(&"a");
    case.to = (if case.files[0].0.starts_with("other/e/") { "d/e" } else { "other/e" }, name);
    to_the_first(&mut case, 0);
    case
}

/// The move gives a file the name that is another one's alias.
fn taken_alias(mut case: Case) -> Case {
    for (at, file) in case.files.iter_mut().enumerate() {
        file.1 = if at == 0 { "Zed" } else { "" };
    }
    case.to.1 = "zed";
    to_the_first(&mut case, 11);
    case
}

fn joined(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

fn encoded(path: &str) -> String {
    path.replace('%', "%25").replace(' ', "%20").replace('(', "%28").replace(')', "%29")
}

fn relative(from: &str, to: &str) -> String {
    let up = from.matches('/').count();
    format!("{}{to}", "../".repeat(up))
}

/// A link, on a line of its own or several; what stands in the front matter and what at the end is given apart.
fn written(from: &str, (to, alias): &(String, &str), form: usize, number: usize) -> (String, String, String) {
    let bare = to.strip_suffix(".md").unwrap_or(to);
    let stem = bare.rsplit('/').next().unwrap_or(bare);
    let tail: Vec<&str> = bare.rsplit('/').take(2).collect();
    let tail = tail.into_iter().rev().collect::<Vec<_>>().join("/");
    let directory = to.rsplit_once('/').map_or("", |(directory, _)| directory);
    let body = |text: String| (String::new(), text, String::new());
    match form {
        0 => body(format!("[[{stem}]]")),
        1 => body(format!("[[{bare}|shown]]")),
        2 => body(format!("[[{to}#Top]]")),
        3 => body(format!("[[/{bare}]]")),
        4 => body(format!("![[{tail}]]")),
        5 => body(format!("[[{}]]", relative(from, bare))),
        6 => body(format!("[t]({}#Top \"T\")", encoded(&relative(from, to)))),
        7 => body(format!("[t](<{}>)", relative(from, to).replace('%', "%25"))),
        8 => body(format!("[t]({})", encoded(to))),
        9 => body(format!("<viking://{}#Top>", to.replace('%', "%25"))),
        10 => body(format!("[[{}]]", stem.to_uppercase())),
        11 => body(format!("[[{}]]", if alias.is_empty() { "never there" } else { alias })),
        12 => body(format!("| a |\n| - |\n| [[{bare}\\|t]] |")),
        13 => (format!("p{number}: \"[[{bare}]]\"\n"), String::new(), String::new()),
        14 => body(format!("[d]({}/)", encoded(&relative(from, directory)))),
        _ => {
            let definition = format!("[r{number}]: {}\n", encoded(&relative(from, to)));
            (String::new(), format!("[text][r{number}]"), definition)
        }
    }
}

fn texts(case: &Case) -> BTreeMap<String, String> {
    let mut parts: BTreeMap<&str, (String, String, String)> = BTreeMap::new();
    for (number, (from, to, form)) in case.links.iter().enumerate() {
        let from = &case.files[from % case.files.len()].0;
        let to = &case.files[to % case.files.len()];
        let (front, body, end) = written(from, to, *form, number);
        let text = parts.entry(from).or_default();
        text.0.push_str(&front);
        text.1.push_str(&format!("{body}\n\n"));
        text.2.push_str(&end);
    }
    let text = |(path, alias): &(String, &str)| {
        let (front, body, end) = parts.get(path.as_str()).cloned().unwrap_or_default();
        let alias = if alias.is_empty() { String::new() } else { format!("aliases: [{alias}]\n") };
        (path.clone(), format!("---\n{alias}{front}k: v\n---\n# Top\n\n日 {body}\n{end}"))
    };
    case.files.iter().map(text).collect()
}

/// The names of some files, by a way of its own.
struct Listed(BTreeMap<VaultPath, Memory>);

impl Listed {
    fn of(files: &BTreeMap<String, String>) -> Listed {
        let read = |(path, text): (&String, &String)| {
            let path = VaultPath::parse(path).unwrap();
            let memory = markdown::read(&path, text.as_bytes(), &Config::default());
            (path, memory)
        };
        Listed(files.iter().map(read).collect())
    }
}

impl Names for Listed {
    fn has_file(&self, path: &VaultPath) -> bool {
        self.0.contains_key(path)
    }

    fn has_directory(&self, path: &VaultPath) -> bool {
        path.is_root() || self.0.keys().any(|file| file != path && file.is_within(path))
    }

    fn files_named(&self, key: &str) -> Vec<VaultPath> {
        self.0.keys().filter(|file| name_key(file.name()) == key).cloned().collect()
    }

    fn files_with_alias(&self, key: &str) -> Vec<VaultPath> {
        let has = |memory: &Memory| memory.front.aliases.iter().any(|alias| name_key(alias) == key);
        self.0.iter().filter(|(_, memory)| has(memory)).map(|(path, _)| path.clone()).collect()
    }
}

fn leads_to(resolution: Resolution) -> Option<VaultPath> {
    match resolution {
        Resolution::File(path) | Resolution::Alias(path) | Resolution::Directory(path) => Some(path),
        Resolution::Ambiguous(files) => files.into_iter().next(),
        Resolution::External | Resolution::Broken => None,
    }
}

/// The bytes that belong to no link.
fn outside(memory: &Memory) -> String {
    let mut out = String::new();
    let mut at = 0;
    for link in &memory.links {
        if link.range.start >= at {
            out.push_str(&memory.text[at..link.range.start]);
            at = link.range.end;
        }
    }
    out.push_str(&memory.text[at..]);
    let kept = out.lines().filter(|line| !line.starts_with("[r") || !line.contains("]: "));
    kept.collect::<Vec<_>>().join("\n")
}

fn files_of(s: &Sandbox) -> BTreeMap<String, String> {
    let entries = walkdir::WalkDir::new(s.vault()).into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    let path = |entry: &walkdir::DirEntry| {
        entry.path().strip_prefix(s.vault()).unwrap().to_str().unwrap().to_owned()
    };
    let ours = files.map(|entry| (path(&entry), entry)).filter(|(path, _)| !path.starts_with('.'));
    ours.map(|(path, entry)| (path, std::fs::read_to_string(entry.path()).unwrap())).collect()
}

/// What must occur in a run, or the run says nothing about it.
const KINDS: &[&str] = &[
    "a name that several files have since the move",
    "an alias that is a file's name since the move",
    "a relative link of a file that moved",
    "a link of a directory's file to its neighbour",
    "a link that had to change",
    "a link that stayed as it was",
];

/// Of which kinds a link is: `led` before, `leads` now as it was written before.
fn kinds(old: &Resolution, as_written: &Resolution, link: &Link, moved: [bool; 2]) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    let ambiguous = |resolution: &Resolution| matches!(resolution, Resolution::Ambiguous(_));
    if ambiguous(as_written) && !ambiguous(old) {
        kinds.push(KINDS[0]);
    }
    if matches!(old, Resolution::Alias(_)) && matches!(as_written, Resolution::File(_)) {
        kinds.push(KINDS[1]);
    }
    if moved == [true, false] && link.target.contains("../") && link.form == LinkForm::Markdown {
        kinds.push(KINDS[2]);
    }
    if moved == [true, true] {
        kinds.push(KINDS[3]);
    }
    kinds
}

fn check(case: &Case, seen: &mut BTreeMap<&'static str, u32>) -> Result<(), TestCaseError> {
    let s = Sandbox::new();
    s.run(&["init", "--existing", "--yes"]).ok();
    let before = texts(case);
    for (path, text) in &before {
        s.write(path, text);
    }
    let (what, _) = &case.files[case.what % case.files.len()];
    let (from, name) = match what.rsplit_once('/') {
        Some((directory, _)) if case.whole_directory => (directory, case.to.1.to_owned()),
        _ => (what.as_str(), format!("{}.md", case.to.1)),
    };
    let to = joined(case.to.0, &name);
    let run = s.run(&[
        "mv",
        "--json",
        &format!("viking://{}", from.replace('%', "%25")),
        &format!("viking://{}", to.replace('%', "%25")),
    ]);
    let after = files_of(&s);
    if run.status != 0 {
        prop_assert!(run.status < 5, "{}{}", run.out, run.err);
        prop_assert_eq!(&before, &after, "a move that is refused changes nothing");
        return Ok(());
    }
    let answer = run.json();
    let (from, to) =
        (VaultPath::parse(from).unwrap(), VaultPath::parse(answer["to"].as_str().unwrap()).unwrap());
    let moved = |path: &VaultPath| {
        let tail = path.is_within(&from).then(|| &path.as_str()[from.as_str().len()..]);
        tail.map_or_else(|| path.clone(), |tail| VaultPath::parse(&format!("{to}{tail}")).unwrap())
    };
    let (old, new) = (Listed::of(&before), Listed::of(&after));
    prop_assert_eq!(old.0.len(), new.0.len());
    for (path, was) in &old.0 {
        let place = moved(path);
        let Some(is) = new.0.get(&place) else {
            return Err(TestCaseError::fail(format!("{place} is not there")));
        };
        prop_assert_eq!(was.links.len(), is.links.len(), "{}\n{}\n{}", path, was.text, is.text);
        prop_assert_eq!(outside(was), outside(is), "{}", path);
        for (old_link, new_link) in was.links.iter().zip(&is.links) {
            let (written, rewritten) = (&was.text[old_link.range.clone()], &is.text[new_link.range.clone()]);
            let led = leads_to(resolve(old_link, path, &old));
            let leads = leads_to(resolve(new_link, &place, &new));
            let Some(led) = led else {
                prop_assert_eq!(written, rewritten, "it led to nothing");
                continue;
            };
            // A link that lost its directory, or that cannot be written, is reported.
            let gone = !new.has_file(&moved(&led)) && !new.has_directory(&moved(&led));
            let left =
                answer["left"].as_array().into_iter().chain(answer["links"]["left"].as_array()).flatten();
            let said =
                left.clone().any(|left| left["path"] == place.as_str() && left["line"] == old_link.line);
            prop_assert!(
                gone || said || leads.as_ref() == Some(&moved(&led)),
                "{path}: {written} led to {led}; {place}: {rewritten} leads to {leads:?}"
            );
            let before = resolve(old_link, path, &old);
            let as_written = resolve(old_link, &place, &new);
            let both = [path.is_within(&from), led.is_within(&from)];
            let changed = if written == rewritten { KINDS[5] } else { KINDS[4] };
            for kind in kinds(&before, &as_written, old_link, both).into_iter().chain([changed]) {
                *seen.entry(kind).or_default() += 1;
            }
            prop_assert_eq!(
                (old_link.form, &old_link.fragment, old_link.embed),
                (new_link.form, &new_link.fragment, new_link.embed)
            );
        }
    }
    Ok(())
}

/// Each case is a vault and runs the program: few by default, as many as `PROPTEST_CASES` says.
fn cases() -> u32 {
    if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 48 }
}

#[test]
fn every_link_leads_where_it_led() {
    let config = ProptestConfig {
        cases: cases(),
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let seen = RefCell::new(BTreeMap::new());
    let done = TestRunner::new(config).run(&case(), |case| check(&case, &mut seen.borrow_mut()));
    if let Err(error) = done {
        panic!("{error}");
    }
    let seen = seen.into_inner();
    for kind in KINDS {
        assert!(seen.contains_key(kind), "there was not {kind}: {seen:?}");
    }
}

/// Many systems let a process have 1,024 files open, some 256.
#[cfg(unix)]
#[test]
fn more_memories_follow_than_files_may_be_open() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("user/aim.md", "# Aim\n");
    for at in 0..400 {
        s.write(&format!("user/n/{at}.md"), "[aim](../aim.md)\n");
    }
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Start"]);
    let few = |args: &str| {
        let script = format!("ulimit -n 128; exec \"{}\" {args}", env!("CARGO_BIN_EXE_runebook"));
        let out = s.command("sh").args(["-c", &script]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
        text
    };
    let moved: serde_json::Value = serde_json::from_str(&few("mv --json user/n user/deep/n")).unwrap();
    assert_eq!(moved["links"]["left"], serde_json::json!([]));
    assert_eq!(s.read("user/deep/n/399.md"), "[aim](../../aim.md)\n");
    few("undo --yes");
    assert_eq!(s.read("user/n/399.md"), "[aim](../aim.md)\n");
    few("rm -r user/n");
    assert!(!s.vault().join("user/n").exists());
    few("undo --yes");
    assert_eq!(s.git(&["status", "--short"]), "");
}

#[test]
fn nothing_leaves_the_memory_without_a_word() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    let config = s.read(".runebook/config.yaml").replace("ignore: []", "");
    s.write(".runebook/config.yaml", format!("{config}\nignore: ['drafts/**', '*.tmp.md']\n"));
    s.write(".gitignore", "/scratch/\nout/*.md\n");
    s.write("resources/a.md", "# A\n\n[b](b.md)\n");
    s.write("resources/b.md", "# B\n");
    s.write("project/out.md", "# Out\n");
    s.write("project/old/c.md", "# C\n");
    s.write("scratch/s.md", "# S\n");
    s.write(".hidden/h.md", "# H\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Notes"]);
    let at = |refused: Run, words: &str| {
        let refused = refused.fails(2);
        assert!(
            refused.err.contains("no part of the memory") && refused.err.contains(words),
            "{}",
            refused.err
        );
        assert!(refused.err.contains("hint: choose another place"), "{}", refused.err);
    };
    let before = s.git(&["status", "--porcelain"]);
    for (to, why) in [
        (".hidden/", "begin with a dot"),
        ("resources/.a.md", "begin with a dot"),
        ("scratch/", "git ignores it"),
        ("out/a.md", "git ignores it"),
        ("drafts/a", "`ignore` in .runebook/config.yaml"),
        ("resources/a.tmp.md", "`ignore` in .runebook/config.yaml"),
    ] {
        at(s.run(&["mv", "resources/a.md", to]), why);
        at(s.run(&["mv", "-n", "resources/a.md", to]), why);
        let new = if to.ends_with('/') { format!("{to}new.md") } else { to.replace("a.", "new.") };
        at(s.run(&["new", &new, "--body", "x"]), why);
        at(s.run(&["remember", "Something else", "--write", "--at", &new]), why);
    }
    at(s.run(&["mv", "resources", ".resources"]), "begin with a dot");
    at(s.run(&["mv", "project", "scratch/project"]), "scratch/project/");
    at(s.run(&["mv", "project", "out"]), "out/out.md");
    assert_eq!(s.git(&["status", "--porcelain"]), before);
    // What is outside already is not held back, and anything may come in.
    s.run(&["mv", "scratch/s.md", "scratch/t.md"]).ok();
    s.run(&["mv", "scratch/t.md", "resources/t.md"]).ok();
    s.run(&["mv", ".hidden/h.md", ".hidden/i.md"]).ok();
    s.run(&["mv", "project", "resources/project"]).ok();
    // A proposal's files are git's, so git's rules are no matter.
    let id = s.run(&["propose", "new", "Elsewhere"]).ok().out.trim().to_owned();
    for (to, why) in [(".hidden/", "begin with a dot"), ("drafts/a.md", "`ignore`")] {
        at(s.run(&["propose", "mv", &id, "resources/a.md", to]), why);
        let new = if to.ends_with('/') { format!("{to}new.md") } else { to.replace("a.", "new.") };
        at(s.run(&["propose", "write", &id, &new, "--body", "x"]), why);
    }
    at(s.run(&["propose", "mv", &id, "resources", ".resources"]), "begin with a dot");
    s.run(&["propose", "mv", &id, "resources/a.md", "scratch/a.md"]).ok();
    s.run(&["propose", "write", &id, ".hidden/h.md", "--body", "What is there may change."]).ok();
}
