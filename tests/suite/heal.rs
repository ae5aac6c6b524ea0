//! `mv`: links follow what moves, and nothing else changes.

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

#[track_caller]
fn moved(text: &str, from: &str, to: &str, expected: &str) {
    let s = vault(&[
        ("resources/net/wifi.md", "# Wi-Fi\n\n## Key\n\nThe key. ^k1\n"),
        ("resources/other.md", "---\naliases: [Otherwise]\n---\n# Other\n"),
        ("resources/a b.md", "x\n"),
        ("user/trips/plan.md", "plan\n"),
        ("resources/plan.md", "plan\n"),
        ("user/ref.md", text),
    ]);
    s.run(&["mv", from, to]).ok();
    assert_eq!(s.read("user/ref.md"), expected, "{text:?}: {from} → {to}");
}

#[test]
fn a_link_keeps_its_form_and_changes_only_where_it_must() {
    let wifi = "resources/net/wifi.md";
    for (text, to, expected) in [
        // A bare name leads there still when only the directory changes.
        (
            "[[wifi]] [[wifi#Key|key]] ![[wifi#^k1]]\n",
            "user/wifi.md",
            "[[wifi]] [[wifi#Key|key]] ![[wifi#^k1]]\n",
        ),
        ("[[wifi]], ![[WIFI#Key|k]]\n", "user/net.md", "[[net]], ![[net#Key|k]]\n"),
        // A name that several files would have becomes a path.
        ("[[wifi]]\n", "user/x/other.md", "[[user/x/other]]\n"),
        ("[[resources/net/wifi]]\n", "user/wifi.md", "[[user/wifi]]\n"),
        ("[[resources/net/wifi.md#Key]]\n", "user/wifi.md", "[[user/wifi.md#Key]]\n"),
        ("[[/resources/net/wifi]]\n", "user/wifi.md", "[[/user/wifi]]\n"),
        ("[[net/wifi]]\n", "user/lan/wlan.md", "[[lan/wlan]]\n"),
        ("[[../resources/net/wifi]]\n", "user/x/wifi.md", "[[x/wifi]]\n"),
        ("[t](../resources/net/wifi.md#Key \"T\")\n", "user/w f.md", "[t](w%20f.md#Key \"T\")\n"),
        ("[t](<../resources/net/wifi.md>)\n", "resources/w (f).md", "[t](<../resources/w (f).md>)\n"),
        ("![t](../resources/net/wifi.md)\n", "resources/无线.md", "![t](../resources/无线.md)\n"),
        (
            "[a][w], [w]\n\n[w]: ../resources/net/wifi.md\n",
            "resources/w.md",
            "[a][w], [w]\n\n[w]: ../resources/w.md\n",
        ),
        ("<viking://resources/net/wifi.md#L1>\n", "user/w f.md", "<viking://user/w f.md#L1>\n"),
        ("[t](viking://resources/net/wifi.md)\n", "user/w f.md", "[t](viking://user/w%20f.md)\n"),
        (
            "[t](viking://resources/net/wifi.md?rev=main)\n",
            "user/w.md",
            "[t](viking://resources/net/wifi.md?rev=main)\n",
        ),
        (
            "---\npart_of: \"[[wifi]]\" # c\nsee:\n  - '[[net/wifi|W]]'\n  - viking://resources/net/wifi.md\n---\n",
            "user/lan/wlan.md",
            "---\npart_of: \"[[wlan]]\" # c\nsee:\n  - '[[lan/wlan|W]]'\n  - viking://user/lan/wlan.md\n---\n",
        ),
        (
            "|a|b|\n|-|-|\n|[[resources/net/wifi\\|w]]|x|\n",
            "user/wifi.md",
            "|a|b|\n|-|-|\n|[[user/wifi\\|w]]|x|\n",
        ),
        // What is no link stays.
        (
            "`[[wifi]]` %%[[wifi]]%% <!-- [[wifi]] -->\n\n    [[wifi]]\n",
            "user/n.md",
            "`[[wifi]]` %%[[wifi]]%% <!-- [[wifi]] -->\n\n    [[wifi]]\n",
        ),
        ("\u{FEFF}a\r\n[[wifi]]\nb\r\n[[nothing]]", "user/n.md", "\u{FEFF}a\r\n[[n]]\nb\r\n[[nothing]]"),
    ] {
        moved(text, wifi, to, expected);
    }
    // An alias moves along; a name that is taken by what comes in gives way to a path.
    moved("[[Otherwise]]\n", "resources/other.md", "user/n.md", "[[Otherwise]]\n");
    moved("[[trips/plan]] [[other]]\n", wifi, "user/other.md", "[[trips/plan]] [[resources/other]]\n");
}

#[test]
fn what_moves_keeps_its_own_links() {
    let s = vault(&[
        (
            "resources/a/note.md",
            "[b](b.md) [up](../c.md#X) [[b]] [[./b]] [self](#Top) <https://x.org>\n![p](img/p.png)\n",
        ),
        ("resources/a/b.md", "[n](note.md)\n"),
        ("resources/c.md", "[n](a/note.md) [d](a/) [[resources/a]]\n"),
    ]);
    s.write("resources/a/img/p.png", b"\x89PNG");
    s.run(&["mv", "resources/a/note.md", "user/deep/er/note.md"]).ok();
    assert_eq!(
        s.read("user/deep/er/note.md"),
        "[b](../../../resources/a/b.md) [up](../../../resources/c.md#X) [[b]] [[../../../resources/a/b]] [self](#Top) <https://x.org>\n![p](../../../resources/a/img/p.png)\n"
    );
    assert_eq!(s.read("resources/a/b.md"), "[n](../../user/deep/er/note.md)\n");
    assert_eq!(s.read("resources/c.md"), "[n](../user/deep/er/note.md) [d](a/) [[resources/a]]\n");
    // A directory: what stands in it together stays as it is.
    s.run(&["mv", "user/deep/er/note.md", "resources/a/note.md"]).ok();
    let inside = s.read("resources/a/b.md");
    assert_eq!(inside, "[n](note.md)\n");
    let json = s.run(&["mv", "resources/a", "user/z", "--json"]).ok().json();
    assert_eq!(s.read("user/z/b.md"), inside);
    assert_eq!(s.read("resources/c.md"), "[n](../user/z/note.md) [d](../user/z/) [[user/z]]\n");
    assert!(
        s.read("user/z/note.md").starts_with("[b](b.md) [up](../../resources/c.md#X) [[b]] "),
        "{}",
        s.read("user/z/note.md")
    );
    assert!(s.read("user/z/note.md").contains("![p](img/p.png)"));
    assert_eq!(json["links"]["files"], 2);
    assert_eq!(json["links"]["left"], serde_json::json!([]));
}

#[test]
fn a_dry_run_shows_and_edits_are_kept() {
    let s = vault(&[("resources/a.md", "a\n"), ("user/r.md", "[[a]]\n"), ("user/raw.md", "x\n")]);
    s.write("user/r.md", "an edit that was not committed\n[[a]] more\n");
    s.write("resources/a.md", "edited a\n");
    s.write("user/raw.md", b"\xFF [[a]]\n");
    let run = s.run(&["mv", "-n", "resources/a.md", "resources/b.md"]).ok();
    assert!(run.out.contains("user/r.md:2: [[a]] → [[b]]") && run.out.contains("would be"), "{}", run.out);
    assert!(run.err.contains("user/raw.md:1") && run.err.contains("UTF-8"), "{}", run.err);
    assert!(s.vault().join("resources/a.md").exists());
    assert_eq!(s.read("user/r.md"), "an edit that was not committed\n[[a]] more\n");
    s.run(&["mv", "resources/a.md", "resources/b.md"]).ok();
    assert_eq!(s.read("user/r.md"), "an edit that was not committed\n[[b]] more\n");
    assert_eq!(s.read("resources/b.md"), "edited a\n");
    assert_eq!(std::fs::read(s.vault().join("user/raw.md")).unwrap(), b"\xFF [[a]]\n");
    s.run(&["mv", "--keep-links", "resources/b.md", "resources/c.md"]).ok();
    assert_eq!(s.read("user/r.md"), "an edit that was not committed\n[[b]] more\n");
    // A name that a wikilink cannot hold.
    s.run(&["mv", "resources/c.md", "resources/b.md"]).ok();
    s.run(&["mv", "resources/b.md", "resources/C# 1.md"]).fails(2);
    assert!(s.vault().join("resources/b.md").exists());
}

#[test]
fn links_heal_after_a_rename_made_outside() {
    let long = "One line that is long enough.\nAnother line that is long enough.\nA third one.\n";
    let s = vault(&[
        ("resources/with-id.md", "---\nid: 01JDM3Z8Q6W5T9V2R4K7X1B0CE\n---\n[r](similar.md)\n"),
        ("resources/same.md", "Exactly this.\n"),
        ("resources/similar.md", long),
        ("resources/stays.md", "s\n"),
        (
            "user/ref.md",
            "[[with-id]] [x](../resources/same.md) [[resources/similar#A|a]] [[stays]] [[never was]]\n",
        ),
        ("user/slip.md", "---\n标签：  旅行\ntitle: t\n---\nBody ：\n"),
    ]);
    s.git(&["mv", "resources/with-id.md", "user/named.md"]);
    s.write(
        "user/named.md",
        s.read("user/named.md").replace("[r]", "Another text altogether, which is longer. [r]"),
    );
    std::fs::rename(s.vault().join("resources/same.md"), s.vault().join("resources/equal.md")).unwrap();
    std::fs::remove_file(s.vault().join("resources/similar.md")).unwrap();
    s.write("resources/like.md", format!("{long}And one more.\n"));
    let before = s.read("user/ref.md");
    let shown = s.run(&["check", "--fix", "--dry-run"]).ok();
    assert!(shown.out.contains("user/named.md  (was resources/with-id.md: the same id)"), "{}", shown.out);
    assert!(
        shown.out.contains("resources/like.md  (was resources/similar.md: much the same content)"),
        "{}",
        shown.out
    );
    assert_eq!(s.read("user/ref.md"), before);
    // What a person must mend is reported still.
    s.run(&["check", "--fix"]).fails(1);
    assert_eq!(
        s.read("user/ref.md"),
        "[[named]] [x](../resources/equal.md) [[resources/like#A|a]] [[stays]] [[never was]]\n"
    );
    assert!(s.read("user/named.md").ends_with("[r](../resources/like.md)\n"), "{}", s.read("user/named.md"));
    assert_eq!(s.read("user/slip.md"), "---\n标签: 旅行\ntitle: t\n---\nBody ：\n");
    let again = s.run(&["check", "--fix", "--json"]).ok().json();
    assert_eq!((&again["links"]["files"], &again["lines"]), (&serde_json::json!(0), &serde_json::json!([])));
    s.run(&["actor", "add", "bot", "--kind", "agent", "--family", "claude"]).ok();
    s.run_as("bot", &["check", "--fix"]).fails(4);
}

#[test]
fn a_link_that_would_lead_elsewhere_says_so() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/b/Sync.md", "# B\n\nSee [[from]].\n");
    s.write("resources/z/Other.md", "# Z\n\nSee [[from]].\n");
    s.write("resources/a/from.md", "See [[Sync]] and [[Other]].\n");
    s.run(&["commit", "--all", "-m", "Three"]).ok();
    let out = s.run(&["mv", "resources/z/Other.md", "resources/a/Sync.md"]).ok().out;
    let line =
        |of: &str| out.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{out}")).to_owned();
    assert!(line("[[Sync]] →").ends_with("(it would lead to resources/a/Sync.md otherwise)"), "{out}");
    assert!(!line("[[Other]] →").contains("otherwise"), "{out}");
}
