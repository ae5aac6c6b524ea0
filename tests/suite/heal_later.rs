//! Links that follow what was renamed: headings, blocks, and files whose rename is committed already.

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

fn commit(s: &Sandbox, message: &str) {
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", message]);
}

/// `check --fix`: the findings that are left, such as fields that the policy of a path asks for, are no matter here.
#[track_caller]
fn fix(s: &Sandbox, more: &[&str]) {
    let run = s.run(&[&["check", "--fix"], more].concat());
    assert!(run.status < 2, "{}{}", run.out, run.err);
}

const WIFI: &str = "# Wi-Fi\n\n## Key: old\n\nThe key is on the back. ^k1\n\n### Guests\n\nSee [[#Key old]] and [k](#key-old).\n\n## Rest\n\nr\n";
const REFERRER: &str = "---\nsee: \"[[wifi#Key old]]\"\n---\n[[wifi#Key old|k]] ![[wifi#Key old#Guests]] [k](../resources/wifi.md#key-old \"T\")\n\
     [k](../resources/wifi.md#Key:%20old) <viking://resources/wifi.md#Key: old> [[wifi#Rest]] [[wifi#^k1]] `[[wifi#Key old]]`\n\
     |a|\n|-|\n|[[wifi#Key old\\|k]]|\n\n[r]\n\n[r]: ../resources/wifi.md#Key:%20old\n";
const HEALED: &str = "---\nsee: \"[[wifi#Pass word]]\"\n---\n[[wifi#Pass word|k]] ![[wifi#Pass word#Guests]] [k](../resources/wifi.md#pass-word \"T\")\n\
     [k](../resources/wifi.md#Pass%20word) <viking://resources/wifi.md#Pass word> [[wifi#Rest]] [[wifi#^k1]] `[[wifi#Key old]]`\n\
     |a|\n|-|\n|[[wifi#Pass word\\|k]]|\n\n[r]\n\n[r]: ../resources/wifi.md#Pass%20word\n";

#[test]
fn a_heading_and_its_referrers_get_a_new_name_together() {
    let s = vault(&[("resources/wifi.md", WIFI), ("user/ref.md", REFERRER)]);
    let shown = s.run(&["mv", "-n", "resources/wifi.md#Key: old", "#Pass word"]).ok().out;
    assert!(shown.starts_with("resources/wifi.md#Pass word  (would be renamed from #Key: old)\n"), "{shown}");
    assert!(shown.contains("10 links in 2 files would be changed"), "{shown}");
    assert_eq!(s.read("user/ref.md"), REFERRER);
    let json = s.run(&["mv", "resources/wifi.md#Key: old", "#Pass word", "--json"]).ok().json();
    assert_eq!(json["links"]["left"], serde_json::json!([]));
    assert_eq!(s.read("user/ref.md"), HEALED);
    let own = WIFI
        .replace("## Key: old", "## Pass word")
        .replace("[[#Key old]] and [k](#key-old)", "[[#Pass word]] and [k](#pass-word)");
    assert_eq!(s.read("resources/wifi.md"), own);
    // A block.
    s.run(&["mv", "resources/wifi.md#^k1", "resources/wifi.md#^key"]).ok();
    assert!(s.read("resources/wifi.md").contains("on the back. ^key\n"));
    assert!(s.read("user/ref.md").contains("[[wifi#^key]]"));
    // What cannot be done is refused, and nothing changes.
    let before = (s.read("resources/wifi.md"), s.read("user/ref.md"));
    s.run(&["mv", "resources/wifi.md#Pass word", "#Rest"]).fails(3);
    s.run(&["mv", "resources/wifi.md#Nothing", "#N"]).fails(1);
    s.run(&["mv", "resources/wifi.md#Rest", "#^rest"]).fails(2);
    s.run(&["mv", "resources/wifi.md#Rest", "user/other.md"]).fails(2);
    s.run(&["mv", "resources/wifi.md#^key", "#^no id"]).fails(2);
    assert_eq!(before, (s.read("resources/wifi.md"), s.read("user/ref.md")));
    s.run(&["mv", "--keep-links", "resources/wifi.md#Rest", "#Other"]).ok();
    assert!(s.read("user/ref.md").contains("[[wifi#Rest]]"));
}

#[test]
fn of_two_headings_of_one_name_the_one_that_is_meant_is_followed() {
    let s = vault(&[
        ("a.md", "# A\n\n## Notes\n\n# B\n\n## Notes\n"),
        ("r.md", "[[a#Notes]] [[a#B#Notes]] [x](a.md#notes-1)\n"),
    ]);
    s.run(&["mv", "a.md#B#Notes", "#Remarks"]).ok();
    assert_eq!(s.read("a.md"), "# A\n\n## Notes\n\n# B\n\n## Remarks\n");
    assert_eq!(s.read("r.md"), "[[a#Notes]] [[a#B#Remarks]] [x](a.md#Remarks)\n");
    // The first of two: what named it follows, although another one has the name now.
    s.write("a.md", "# A\n\n## Notes\n\n# B\n\n## Notes\n");
    s.write("r.md", "[[a#Notes]] [[a#B#Notes]]\n");
    s.run(&["mv", "a.md#A#Notes", "#First"]).ok();
    assert_eq!(s.read("r.md"), "[[a#First]] [[a#B#Notes]]\n");
}

#[test]
fn a_heading_renamed_in_an_editor_is_asked_about_and_healed() {
    let s = vault(&[("resources/wifi.md", WIFI), ("user/ref.md", REFERRER)]);
    s.write("resources/wifi.md", WIFI.replace("## Key: old", "## Pass word").replace("^k1", "^key"));
    let found = s.run(&["check", "--rule", "link", "--all"]).ok().out;
    assert!(
        found.contains("was it renamed to #Pass word? `runebook check --fix` lets the links follow"),
        "{found}"
    );
    assert!(found.contains("was it renamed to #^key?") && found.contains("has no block ^k1"), "{found}");
    let dry = s.run(&["check", "--fix", "-n"]).ok().out;
    assert!(dry.contains("resources/wifi.md#Pass word  (was #Key: old)"), "{dry}");
    assert_eq!(s.read("user/ref.md"), REFERRER);
    fix(&s, &[]);
    assert_eq!(s.read("user/ref.md"), HEALED.replace("#^k1", "#^key"));
    assert!(s.read("resources/wifi.md").contains("[[#Pass word]] and [k](#pass-word)"));
    let again = s.run(&["check", "--fix", "--json"]).ok().json();
    assert_eq!((&again["links"]["files"], &again["parts"]), (&serde_json::json!(0), &serde_json::json!([])));

    // Committed already: the history says it.
    let s = vault(&[("resources/wifi.md", WIFI), ("user/ref.md", REFERRER)]);
    s.write("resources/wifi.md", WIFI.replace("## Key: old", "## Pass word"));
    commit(&s, "By hand");
    s.write("resources/wifi.md", s.read("resources/wifi.md") + "\nMore.\n");
    commit(&s, "More");
    let fixed = s.run(&["check", "--fix", "--json"]).ok().json();
    assert_eq!(fixed["looked_back"], serde_json::json!({"commits": 2, "complete": true}));
    assert_eq!(s.read("user/ref.md"), HEALED);
}

#[test]
fn a_rename_that_is_committed_is_found_in_the_history() {
    let long = "One line that is long enough.\nAnother line that is long enough.\nA third one.\n";
    let s = vault(&[
        ("resources/with-id.md", "---\nid: 01JDM3Z8Q6W5T9V2R4K7X1B0CE\n---\nWords.\n"),
        ("resources/similar.md", long),
        ("resources/note.md", "[s](similar.md) [[resources/similar|t]] [gone](never.md)\n"),
        ("user/ref.md", "[[with-id]] [x](../resources/similar.md#A) <viking://resources/similar.md>\n"),
    ]);
    s.git(&["mv", "resources/with-id.md", "user/named.md"]);
    s.write(
        "user/named.md",
        s.read("user/named.md").replace("Words.", "Other words altogether, many of them."),
    );
    commit(&s, "One");
    s.git(&["mv", "resources/similar.md", "resources/like.md"]);
    s.write("resources/like.md", format!("{long}And one more.\n"));
    commit(&s, "Two");
    std::fs::create_dir_all(s.vault().join("user/deep")).unwrap();
    s.git(&["mv", "resources/like.md", "user/deep/alike.md"]);
    s.git(&["mv", "resources/note.md", "user/deep/note.md"]);
    commit(&s, "Three");
    let shown = s.run(&["check", "--fix", "--dry-run"]).ok();
    assert!(
        shown
            .out
            .contains("user/deep/alike.md  (was resources/similar.md: much the same content, renamed in "),
        "{}",
        shown.out
    );
    assert!(
        shown.out.contains("user/named.md  (was resources/with-id.md: the same id, renamed in "),
        "{}",
        shown.out
    );
    assert!(shown.err.contains("looked back through 4 commits"), "{}", shown.err);
    fix(&s, &[]);
    assert_eq!(s.read("user/ref.md"), "[[named]] [x](deep/alike.md#A) <viking://user/deep/alike.md>\n");
    assert_eq!(s.read("user/deep/note.md"), "[s](alike.md) [[user/deep/alike|t]] [gone](never.md)\n");
    // What was never there is looked for to the end of the history, and left.
    let again = s.run(&["check", "--fix", "--json"]).ok().json();
    assert_eq!(
        (&again["links"]["files"], &again["renamed"]),
        (&serde_json::json!(0), &serde_json::json!([]))
    );
}

#[test]
fn a_link_by_an_alias_gets_the_name() {
    let text = "---\nabout: \"[[靠窗]]\"\n---\n[[靠窗]] [[靠窗#Why|w]] ![[靠窗]] [[twice]] `[[靠窗]]`\n\n|a|b|\n|-|-|\n|[[靠窗]]|x|\n";
    let s = vault(&[
        ("user/seats.md", "---\naliases: [靠窗]\n---\n# Seats\n\n## Why\n"),
        ("user/one.md", "---\naliases: [twice]\n---\n"),
        ("user/two.md", "---\naliases: [twice]\n---\n"),
        ("user/ref.md", text),
    ]);
    let found = s.run(&["check", "--rule", "link.alias", "--all"]).ok().out;
    assert!(found.contains("fix: write [[seats|靠窗]]"), "{found}");
    fix(&s, &["user/seats.md"]);
    assert_eq!(s.read("user/ref.md"), text, "only what was asked for");
    fix(&s, &[]);
    assert_eq!(
        s.read("user/ref.md"),
        "---\nabout: \"[[seats|靠窗]]\"\n---\n[[seats|靠窗]] [[seats#Why|w]] ![[seats|靠窗]] [[twice]] `[[靠窗]]`\n\n|a|b|\n|-|-|\n|[[seats\\|靠窗]]|x|\n"
    );
    // A name that others have too becomes a path.
    s.write("resources/seats.md", "other\n");
    s.write("agent/ref.md", "[[靠窗]]\n");
    fix(&s, &[]);
    assert_eq!(s.read("agent/ref.md"), "[[user/seats|靠窗]]\n");
}

#[test]
fn a_rename_is_followed_before_an_alias() {
    let files = [
        ("user/Canvas.md", "# Canvas\n\nInfinite space.\n\n## Cards\n"),
        ("user/白板.md", "---\naliases: [Canvas]\n---\n# 白板\n\n无限画布。\n"),
        ("user/a.md", "See [[Canvas]] and [[Canvas#Cards|cards]].\n"),
    ];
    let healed = "See [[Board]] and [[Board#Cards|cards]].\n";
    // Not committed.
    let s = vault(&files);
    std::fs::rename(s.vault().join("user/Canvas.md"), s.vault().join("user/Board.md")).unwrap();
    let shown = s.run(&["check", "--fix", "-n"]);
    assert!(shown.out.contains("[[Canvas]] → [[Board]]") && !shown.out.contains("[[白板"), "{}", shown.out);
    assert_eq!(s.read("user/a.md"), files[2].1);
    fix(&s, &[]);
    assert_eq!(s.read("user/a.md"), healed);
    // Committed, and changed by it.
    let s = vault(&files);
    s.git(&["mv", "user/Canvas.md", "user/Board.md"]);
    s.write("user/Board.md", format!("{}\nMore.\n", files[0].1));
    commit(&s, "Another name");
    fix(&s, &[]);
    assert_eq!(s.read("user/a.md"), healed);
    // Where the file is gone, nobody else was meant; before and after it is committed.
    let s = vault(&files);
    s.git(&["rm", "-q", "user/Canvas.md"]);
    for _ in 0..2 {
        let run = s.run(&["check", "--fix"]);
        assert!(run.err.contains("it led to user/Canvas.md, which is gone"), "{}{}", run.out, run.err);
        assert_eq!(s.read("user/a.md"), files[2].1);
        s.git(&["commit", "-q", "--allow-empty", "-m", "Away"]);
    }
    // A file that was renamed and has its old name as an alias is what was meant.
    let s = vault(&files[..1]);
    s.git(&["mv", "user/Canvas.md", "user/Board.md"]);
    s.write("user/Board.md", format!("---\naliases: [Canvas]\n---\n{}", files[0].1));
    s.write("user/a.md", "[[Canvas]]\n");
    commit(&s, "Another name");
    fix(&s, &[]);
    assert_eq!(s.read("user/a.md"), "[[Board|Canvas]]\n");
}

#[test]
fn a_move_in_a_proposal_takes_its_links_along() {
    let s = vault(&[
        ("resources/wifi.md", WIFI),
        ("resources/plan.md", "[w](wifi.md) [[other]]\n"),
        ("resources/other.md", "o\n"),
        ("user/ref.md", "[[wifi#Rest]] [k](../resources/wifi.md)\n"),
        ("user/hidden.md", "---\nsensitivity: restricted\n---\n[[resources/wifi]]\n"),
    ]);
    s.run(&["actor", "add", "bot", "--kind", "agent", "--family", "claude"]).ok();
    let new = s.run_as("bot", &["propose", "new", "Order", "--json"]).ok().json();
    let id = new["id"].as_str().unwrap().to_owned();
    let out = s.run_as("bot", &["propose", "mv", &id, "resources/wifi.md", "resources/net/lan.md"]).ok();
    assert!(
        out.out.contains("(was viking://resources/wifi.md)")
            && out.out.contains("3 links in 2 files changed"),
        "{}",
        out.out
    );
    assert!(!out.out.contains("hidden") && !out.err.contains("hidden"), "{}{}", out.out, out.err);
    let at = |path: &str| s.git(&["show", &format!("proposal/{id}:{path}")]);
    assert_eq!(at("user/ref.md"), "[[lan#Rest]] [k](../resources/net/lan.md)");
    assert_eq!(at("resources/plan.md"), "[w](net/lan.md) [[other]]");
    assert_eq!(
        s.git(&["rev-list", "--count", &format!("main..proposal/{id}")]),
        "2",
        "one commit holds it all"
    );
    // What the proposal itself changed follows too, and a directory moves with its links.
    s.run_as(
        "bot",
        &["propose", "write", &id, "user/new.md", "--body", "[[net/lan]] [x](../resources/net/lan.md)"],
    )
    .ok();
    let json =
        s.run_as("bot", &["propose", "mv", &id, "resources/net", "resources/home", "--json"]).ok().json();
    assert_eq!((&json["from"], &json["to"]), (&"resources/net".into(), &"resources/home".into()));
    assert_eq!(at("user/new.md"), "[[home/lan]] [x](../resources/home/lan.md)");
    assert_eq!(at("resources/plan.md"), "[w](home/lan.md) [[other]]");
    s.run_as("bot", &["propose", "mv", "--keep-links", &id, "resources/home/lan.md", "resources/x.md"]).ok();
    assert_eq!(at("user/new.md"), "[[home/lan]] [x](../resources/home/lan.md)");
    // The files themselves stay as they are.
    assert_eq!(s.read("user/ref.md"), "[[wifi#Rest]] [k](../resources/wifi.md)\n");
}

#[test]
fn five_thousand_links_follow() {
    let s = Sandbox::new();
    let forms = ["[[hub]]", "[the hub](../hub.md#Key)", "[[resources/hub|h]]", "<viking://resources/hub.md>"];
    for at in 0..5_000 {
        s.write(&format!("resources/{:02}/n{at}.md", at % 50), format!("See {}.\n", forms[at % 4]));
    }
    s.write("resources/hub.md", "# Hub\n\n## Key\n");
    s.run(&["init", "--existing", "--yes"]).ok();
    let json = s.run(&["mv", "resources/hub.md", "user/centre.md", "--json"]).ok().json();
    assert_eq!(json["links"]["files"], 5_000);
    assert_eq!(json["links"]["healed"].as_array().map(Vec::len), Some(5_000));
    let back = s.run(&["backlinks", "user/centre.md", "--json"]).ok().json();
    assert_eq!(back["links"].as_array().map(Vec::len), Some(5_000));
}

#[test]
fn a_template_is_left_alone_and_said() {
    let s = vault(&[
        ("resources/a.md", "a\n"),
        ("user/t.md", "# {{title}}\n\n[[a]]\n"),
        ("user/r.md", "[[a]]\n"),
    ]);
    let run = s.run(&["mv", "resources/a.md", "resources/b.md"]).ok();
    assert!(
        run.err.contains("user/t.md:3: [[a]] stays: it stands in a template, which is left alone"),
        "{}",
        run.err
    );
    assert_eq!(
        (s.read("user/t.md").as_str(), s.read("user/r.md").as_str()),
        ("# {{title}}\n\n[[a]]\n", "[[b]]\n")
    );
}

#[test]
fn a_file_and_its_heading_renamed_outside_change_a_link_once() {
    let s = vault(&[
        (
            "resources/wifi.md",
            "# Wi-Fi\n\n## Key: old\n\nThe key is on the back of the router.\n\nMore of it.\n",
        ),
        ("user/ref.md", "[[wifi#Key old|k]] [[wifi]] [k](../resources/wifi.md#key-old)\n"),
    ]);
    std::fs::remove_file(s.vault().join("resources/wifi.md")).unwrap();
    s.write(
        "resources/wlan.md",
        "# Wi-Fi\n\n## Pass word\n\nThe key is on the back of the router.\n\nMore of it.\n",
    );
    let shown = s.run(&["check", "--fix", "--dry-run", "--json"]).ok().json();
    let links: Vec<(&str, &str)> = shown["links"]["healed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| (link["old"].as_str().unwrap(), link["new"].as_str().unwrap()))
        .collect();
    let expected = [
        ("[[wifi#Key old|k]]", "[[wlan#Pass word|k]]"),
        ("[[wifi]]", "[[wlan]]"),
        ("[k](../resources/wifi.md#key-old)", "[k](../resources/wlan.md#pass-word)"),
    ];
    assert_eq!(links, expected);
    fix(&s, &[]);
    assert_eq!(s.read("user/ref.md"), "[[wlan#Pass word|k]] [[wlan]] [k](../resources/wlan.md#pass-word)\n");
}

#[test]
fn links_to_a_directory_follow_it() {
    for committed in [false, true] {
        let s = vault(&[
            ("resources/net/a.md", "# A\n\nThe first one.\n"),
            ("resources/net/deep/b.md", "# B\n\nThe second one.\n"),
            (
                "user/ref.md",
                "[d](../resources/net/) [[resources/net/deep]] [n](../resources/net/a.md) [[b]]\n",
            ),
        ]);
        std::fs::rename(s.vault().join("resources/net"), s.vault().join("resources/home")).unwrap();
        if committed {
            commit(&s, "Rename it");
        }
        fix(&s, &[]);
        let healed = "[d](../resources/home/) [[resources/home/deep]] [n](../resources/home/a.md) [[b]]\n";
        assert_eq!(s.read("user/ref.md"), healed, "committed: {committed}");
    }
}
