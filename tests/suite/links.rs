//! `links`, `backlinks`, `graph`, and how names find their files.

use std::collections::BTreeMap;

use super::support::Sandbox;

fn vault(files: &[(&str, &str)]) -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    for (path, text) in files {
        s.write(path, text);
    }
    s.run(&["commit", "-m", "Start"]).ok();
    s
}

/// Of each link of a memory: what it names, its state and where it leads.
fn shown(s: &Sandbox, path: &str) -> Vec<String> {
    let answer = s.run(&["links", path, "--json"]).ok().json();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    let row = |link: &serde_json::Value| {
        let fragment = link["fragment"].as_str().map_or(String::new(), |fragment| format!("#{fragment}"));
        format!("{}{fragment} {} {}", text(&link["target"]), text(&link["state"]), text(&link["to"]))
    };
    answer["links"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn every_kind_of_link_is_shown_as_it_stands() {
    let s = vault(&[
        (
            "user/trips.md",
            "---\npart_of: \"[[home]]\"\n---\n# Trips\n\n[[seats#Window]] [[seats#Gone]] [[seats#^b1]] [[seats#^b9]]\n\
             [[plan]] ![[face.png]] [[靠窗]] [[nothing]] [x](https://x.org) [d](sub/)\n\n|a|\n|-|\n|[[seats\\|s]]|\n\n\
             `[[code]]` %%[[hidden]]%% <!-- [[html]] -->\n",
        ),
        ("user/seats.md", "---\naliases: [靠窗]\n---\n# Seats\n\n## Window\n\nBy it. ^b1\n"),
        ("user/home.md", "# Home\n"),
        ("user/sub/plan.md", "p\n"),
        ("resources/plan.md", "p\n"),
        ("resources/lonely.md", "Nobody.\n"),
    ]);
    s.write("resources/face.png", b"\x89PNG");
    assert_eq!(
        shown(&s, "user/trips.md"),
        [
            "home ok user/home.md",
            "seats#Window ok user/seats.md",
            "seats#Gone missing-heading user/seats.md",
            "seats#^b1 ok user/seats.md",
            "seats#^b9 missing-block user/seats.md",
            "plan ambiguous resources/plan.md",
            "face.png ok resources/face.png",
            "靠窗 alias user/seats.md",
            "nothing broken -",
            "https://x.org external -",
            "sub/ directory user/sub",
            "seats ok user/seats.md",
        ]
    );
    let text = s.run(&["links", "user/trips.md"]).ok().out;
    assert!(text.starts_with("user/home.md  line 2  [[home]]  part_of\n"), "{text}");
    assert!(text.contains("resources/plan.md  line 7  [[plan]]  ambiguous  also user/sub/plan.md"), "{text}");
    let broken = s.run(&["links", "user", "--broken"]).ok().out;
    assert_eq!(broken.lines().count(), 5, "{broken}");
    assert!(broken.contains("-  user/trips.md:7  [[nothing]]  broken"), "{broken}");
    s.run(&["links", "resources/lonely.md"]).fails(1);

    let back = s.run(&["backlinks", "user/seats.md"]).ok().out;
    assert_eq!(back.lines().count(), 6, "{back}");
    assert!(back.contains("user/trips.md:7  [[靠窗]]  alias"), "{back}");
    let place = s.run(&["backlinks", "viking://user/seats.md#Window"]).ok().out;
    assert_eq!(place, "user/trips.md:6  [[seats#Window]]\n");
    assert_eq!(s.run(&["backlinks", "user/home.md", "--rel", "part_of"]).ok().out.lines().count(), 1);
    s.run(&["backlinks", "resources/lonely.md"]).fails(1);

    let graph = s.run(&["graph", "--json"]).ok().json();
    let orphans: Vec<&str> =
        graph["orphans"].as_array().unwrap().iter().map(|o| o.as_str().unwrap()).collect();
    assert_eq!(orphans, ["resources/lonely.md", "user/sub/plan.md"]);
    assert_eq!(graph["states"]["broken"], 1);
    assert_eq!(graph["states"]["missing-block"], 1);
    let people = s.run(&["graph"]).ok().out;
    assert!(people.contains("orphans") && people.contains("[[nothing]]"), "{people}");
}

#[test]
fn a_walk_goes_by_relation_and_depth() {
    let s = vault(&[
        ("a.md", "---\npart_of: \"[[b]]\"\n---\n[[x]]\n"),
        ("b.md", "---\npart_of: [\"[[c]]\"]\n---\n"),
        ("c.md", "![[q \"q\"]]\n"),
        ("x.md", "x\n"),
        ("y.md", "[[a]] [[a]]\n"),
        ("q \"q\".md", "q\n"),
    ]);
    let nodes = |args: &[&str]| -> Vec<String> {
        let graph = s.run(&[args, &["--json"]].concat()).ok().json();
        let node = |n: &serde_json::Value| format!("{} {}", n["path"].as_str().unwrap(), n["distance"]);
        graph["nodes"].as_array().unwrap().iter().map(node).collect()
    };
    assert_eq!(nodes(&["graph", "--from", "a.md"]), ["a.md 0", "b.md 1", "x.md 1", "y.md 1"]);
    assert_eq!(nodes(&["graph", "a.md"]), nodes(&["graph", "--from", "a.md"]));
    assert_eq!(
        nodes(&["graph", "a.md", "--depth", "2"]),
        nodes(&["graph", "--from", "a.md", "--depth", "2"])
    );
    s.run(&["graph", "a.md", "--from", "b.md"]).fails(2);
    assert_eq!(
        nodes(&["graph", "--from", "a.md", "--depth", "9", "--rel", "part_of"]),
        ["a.md 0", "b.md 1", "c.md 2"]
    );
    let text = s.run(&["graph", "--from", "b.md"]).ok().out;
    assert_eq!(text, "b.md\n  ← a.md  part_of\n  → c.md  part_of\n");
    let dot = s.run(&["graph", "--format", "dot"]).ok().out;
    assert!(dot.starts_with("digraph vault {\n") && dot.ends_with("}\n"), "{dot}");
    assert!(dot.contains("  \"a.md\" -> \"b.md\" [label=\"part_of\"];\n"), "{dot}");
    assert!(dot.contains("  \"c.md\" -> \"q \\\"q\\\".md\" [style=dashed];\n"), "{dot}");
    let mermaid = s.run(&["graph", "--format", "mermaid"]).ok().out;
    assert!(mermaid.starts_with("flowchart LR\n  n0[\"a.md\"]\n"), "{mermaid}");
    assert!(mermaid.contains("  n0 -->|\"part_of\"| n1\n") && mermaid.contains("#quot;q#quot;"), "{mermaid}");
    let json = s.run(&["graph", "--format", "json"]).ok().json();
    let edges = json["edges"].as_array().unwrap();
    assert!(edges.iter().any(|e| e["from"] == "y.md" && e["to"] == "a.md" && e["links"] == 2));
}

#[test]
fn an_agent_sees_what_was_approved_and_what_it_may() {
    let s = vault(&[
        ("resources/a.md", "[[secret]] [[hidden]] [[b]]\n"),
        ("resources/b.md", "b\n"),
        ("user/secret.md", "[[b]]\n"),
        ("resources/hidden.md", "---\nsensitivity: restricted\n---\n[[b]]\n"),
    ]);
    s.run(&["actor", "add", "bot", "--kind", "agent", "--family", "claude"]).ok();
    let actors = s.read(".runebook/actors.yaml");
    let with_reads = actors.replace("kind: agent", "kind: agent\n    reads: [\"resources/**\"]");
    assert_ne!(actors, with_reads);
    s.write(".runebook/actors.yaml", with_reads);
    s.run(&["commit", "-m", "Reads"]).ok();
    s.write("resources/c.md", "[[b]]\n");
    let states = |run: super::support::Run| -> Vec<String> {
        let answer = run.ok().json();
        let links = answer["links"].as_array().unwrap().clone();
        links
            .iter()
            .map(|l| format!("{} {}", l["from"].as_str().unwrap(), l["state"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(
        states(s.run_as("bot", &["links", "resources/a.md", "--json"])),
        ["resources/a.md broken", "resources/a.md broken", "resources/a.md ok"]
    );
    assert_eq!(states(s.run_as("bot", &["backlinks", "resources/b.md", "--json"])), ["resources/a.md ok"]);
    assert_eq!(states(s.run(&["backlinks", "resources/b.md", "--json"])).len(), 4);
    s.run_as("bot", &["backlinks", "user/secret.md"]).fails(1);
    for args in [&["graph", "--json"][..], &["graph", "--from", "resources/b.md", "--depth", "5", "--json"]] {
        let graph = s.run_as("bot", args).ok().out;
        for gone in ["user/secret.md", "resources/hidden.md", "resources/c.md"] {
            assert!(!graph.contains(gone), "{gone} in {graph}");
        }
    }
}

/// The cases of resolution that other programs have tests for, as behaviours.
#[test]
fn names_find_files_as_other_programs_find_them() {
    let s = vault(&[
        ("index.md", "i\n"),
        ("a/index.md", "i\n"),
        ("a/b/note.md", "# One\n\n## Two\n\n### Three: x\n\nPara ^id-1\n\n- item ^li\n"),
        ("a/b/index.md", "i\n"),
        ("a/v1.2.md", "v\n"),
        ("a/Note With Spaces.md", "s\n"),
        ("x/Dup.md", "d\n"),
        ("y/deep/dup.md", "d\n"),
        ("a/日记.md", "日\n"),
    ]);
    s.write("a/pic.png", b"p");
    for (link, found) in [
        ("[[index]]", "index ok index.md"),       // the root's own first
        ("[[a/index]]", "a/index ok a/index.md"), // a path from the root
        ("[[b/note]]", "b/note ok a/b/note.md"),  // the end of a path
        ("[[./index]]", "./index ok a/b/index.md"),
        ("[[../index]]", "../index ok a/index.md"),
        ("[[/index]]", "/index ok index.md"),
        ("[[v1.2]]", "v1.2 ok a/v1.2.md"), // a dot that begins no ending
        ("[[note with spaces]]", "note with spaces ok a/Note With Spaces.md"),
        ("[[dup]]", "dup ok y/deep/dup.md"), // the same case comes before any case
        ("[[Dup]]", "Dup ok x/Dup.md"),
        ("[[DUP]]", "DUP ambiguous x/Dup.md"),
        ("[[日记]]", "日记 ok a/日记.md"),
        ("[[note#Two|`code` shown]]", "note#Two ok a/b/note.md"),
        ("![[pic.png|100]]", "pic.png ok a/pic.png"),
        ("[[#One]]", "#One ok a/b/here.md"),
        ("[[note#One#Two]]", "note#One#Two ok a/b/note.md"),
        ("[[note#Two#One]]", "note#Two#One missing-heading a/b/note.md"),
        ("[[note#Three x]]", "note#Three x ok a/b/note.md"), // without what a link cannot hold
        ("[[note#^id-1]]", "note#^id-1 ok a/b/note.md"),
        ("[[note#Two#^li]]", "note#Two#^li ok a/b/note.md"),
        ("[[note#^gone]]", "note#^gone missing-block a/b/note.md"),
        ("[t](note.md#two)", "note.md#two ok a/b/note.md"),
        ("[t](Note%20With%20Spaces.md)", "Note With Spaces.md ok a/Note With Spaces.md"),
        ("[t](<../Note With Spaces.md>)", "../Note With Spaces.md ok a/Note With Spaces.md"),
        ("[t](../../../out.md)", "../../../out.md broken -"),
        ("[t](viking://a/b/note)", "a/b/note broken -"), // an address is exact
        ("<viking://a/Note With Spaces.md>", "a/Note With Spaces.md ok a/Note With Spaces.md"),
    ] {
        s.write("a/b/here.md", format!("# One\n\n{link}\n"));
        assert_eq!(shown(&s, "a/b/here.md"), [found], "{link}");
    }
    for none in [
        "`[[index]]`",
        "[[in`dex]] and `",
        "```\n[[index]]\n```",
        "    [[index]]",
        "%%[[index]]%%",
        "<!-- [[index]] -->",
        "\\[[index]]",
        "[[]]",
        "$[[index]]$",
    ] {
        s.write("a/b/here.md", format!("# One\n\n{none}\n"));
        s.run(&["links", "a/b/here.md"]).fails(1);
    }
}

/// Compares with the count of a script that shares no code with the program.
#[test]
fn a_real_vault_is_counted_twice() {
    let data = std::env::var_os("RUNEBOOK_DATA")
        .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), Into::into);
    let source = std::path::Path::new(&data).join("vaults/obsidian-help");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/count_links.py");
    let s = Sandbox::new();
    let python = s.command("python3").arg("--version").output().is_ok_and(|out| out.status.success());
    if !source.is_dir() || !python {
        eprintln!("skipped: {} or python3 is not there", source.display());
        return;
    }
    for entry in walkdir::WalkDir::new(&source).into_iter().flatten().filter(|e| e.file_type().is_file()) {
        let path = entry.path().strip_prefix(&source).unwrap().to_str().unwrap().to_owned();
        if !path.starts_with(".git/") && path != ".git" {
            s.write(&path, std::fs::read(entry.path()).unwrap());
        }
    }
    let counted = s.command("python3").arg(script).arg(s.vault()).output().unwrap();
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    let theirs: Vec<serde_json::Value> =
        String::from_utf8_lossy(&counted.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    s.run(&["init", "--existing", "--yes"]).ok();
    let answer = s.run(&["links", "viking://", "--json"]).ok().json();
    let mut ours: BTreeMap<(String, u64, String), Vec<String>> = BTreeMap::new();
    for link in answer["links"].as_array().unwrap() {
        if link["form"] == "wiki"
            && link["relation"].is_null()
            && !link["target"].as_str().unwrap().is_empty()
        {
            let state = match link["state"].as_str().unwrap() {
                "missing-heading" | "missing-block" => "ok",
                state => state,
            };
            let key = (
                link["from"].as_str().unwrap().to_owned(),
                link["line"].as_u64().unwrap(),
                link["target"].as_str().unwrap().to_owned(),
            );
            ours.entry(key).or_default().push(format!("{state} {}", link["to"].as_str().unwrap_or("-")));
        }
    }
    let mut other: BTreeMap<(String, u64, String), Vec<String>> = BTreeMap::new();
    for link in &theirs {
        let key = (
            link["from"].as_str().unwrap().to_owned(),
            link["line"].as_u64().unwrap(),
            link["target"].as_str().unwrap().to_owned(),
        );
        other.entry(key).or_default().push(format!(
            "{} {}",
            link["state"].as_str().unwrap(),
            link["to"].as_str().unwrap_or("-")
        ));
    }
    // Where the two differ, and who is right:
    let explained = [
        // A fence within `<pre>…</pre>` is HTML, not the beginning of code; the script knows no HTML blocks.
        ("Sandbox/Formatting/Diagram.md", 44),
        // Four columns further in than the item's text: indented code for CommonMark; the script knows fences only.
        ("zh/导入笔记/Roam Research.md", 12),
    ];
    let keys: std::collections::BTreeSet<_> = ours.keys().chain(other.keys()).collect();
    let mut different = Vec::new();
    for key in keys {
        if ours.get(key) != other.get(key) && !explained.contains(&(key.0.as_str(), key.1)) {
            different.push(format!("{key:?}: ours {:?}, theirs {:?}", ours.get(key), other.get(key)));
        }
    }
    let sum = |all: &BTreeMap<_, Vec<String>>| {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for state in all.values().flatten() {
            *counts.entry(state.split(' ').next().unwrap().to_owned()).or_default() += 1;
        }
        counts
    };
    // 2,746 of the script's resolve. 65 bare names belong to several files: 27 of them to one at the root or beside
    // the note, which is exact, so 38 are ambiguous. Of what is broken 499 are embedded pictures and films that this
    // copy lacks; the other 31 stand below.
    let script = sum(&other);
    assert_eq!((script["ok"], script["ambiguous"], script["alias"], script["broken"]), (2746, 38, 43, 531));
    let program = sum(&ours);
    assert_eq!(
        (program["ok"], program["ambiguous"], program["alias"], program["broken"]),
        (2747, 38, 43, 530)
    );
    // Another count, by others, found 20 links that resolve not at all where these are 31. Each of the 31 was looked
    // for by hand: no file, alias or directory of the vault has the name. The 11 that the other count lacks:
    // - `[[Example]]`, 8 times, is what the help's page about links (English and Chinese) shows links with;
    // - `[[web-clipper-kde.png]]`, twice, is a link to a picture that is not there, and the other count takes whatever
    //   has an ending for an attachment;
    // - `[[Obsidian Web Clipper/模板#Schema.org 匹配]]`, once: its heading has a dot, and so has an "ending" too.
    let mut nothing: BTreeMap<&str, u64> = BTreeMap::new();
    let links = answer["links"].as_array().unwrap().iter();
    for link in links.filter(|l| l["form"] == "wiki" && l["state"] == "broken" && l["embed"] == false) {
        *nothing.entry(link["target"].as_str().unwrap()).or_default() += 1;
    }
    let expected = [
        ("Airtable", 1),
        ("Example", 8),
        ("Obsidian Web Clipper/模板", 11),
        ("web-clipper-kde.png", 2),
        ("商用许可", 1),
        ("荧光笔", 1),
        ("视图与编辑模式", 2),
        ("解析器", 1),
        ("高亮器", 3),
        ("高亮工具", 1),
    ];
    assert_eq!(nothing.into_iter().collect::<Vec<_>>(), expected);
    let dotted = answer["links"].as_array().unwrap().iter();
    let dotted = dotted.filter(|l| {
        l["state"] == "broken"
            && l["fragment"].as_str().is_some_and(|f| f.contains('.'))
            && l["embed"] == false
    });
    assert_eq!(dotted.filter(|l| l["form"] == "wiki").count(), 1);
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
