//! `remember`: a sentence finds its place, is linked to what is near, and waits for a reviewer.

use crate::cast::{CLAUDE, GPT, approve, in_order, vault};
use crate::support::Sandbox;

fn example() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init", "--example", "."]).ok();
    s
}

#[test]
fn a_sentence_goes_beside_what_is_near_and_links_to_it() {
    let s = example();
    let before = s.git(&["status", "--porcelain"]);
    let text = "On night flights Mei takes the aisle instead of the window seat.";
    let run = s.run(&["remember", text, "--json"]).ok().json();
    let path = run["path"].as_str().unwrap();
    assert!(path.starts_with("user/memories/preferences/"), "{run}");
    assert!(path.ends_with("on-night-flights-mei-takes-the-aisle-instead-of-the-window-seat.md"), "{path}");
    let near: Vec<&str> =
        run["near"].as_array().unwrap().iter().map(|n| n["path"].as_str().unwrap()).collect();
    assert!(near.contains(&"user/memories/preferences/window-seats.md"), "{near:?}");
    assert!(run["text"].as_str().unwrap().contains("[[window-seats]]"), "{run}");
    assert_eq!(run["submitted"]["revision"], 1);
    assert_eq!(s.git(&["status", "--porcelain"]), before, "no file is touched");
    assert!(!s.vault().join(path).exists());
    s.run(&["undo"]).ok();
    assert!(!s.run(&["propose", "list"]).out.contains(run["id"].as_str().unwrap()));
}

#[test]
fn a_chinese_sentence_too() {
    let s = example();
    let run =
        s.run(&["remember", "夜里的航班美要靠过道的座位，不要靠窗。", "--dry-run", "--json"]).ok().json();
    assert_eq!(run["title"], "夜里的航班美要靠过道的座位，不要靠窗");
    assert!(run["path"].as_str().unwrap().ends_with("夜里的航班美要靠过道的座位-不要靠窗.md"), "{run}");
    assert!(run.get("id").is_none());
}

#[test]
fn an_agent_remembers_and_another_approves() {
    let vault = vault();
    let run =
        vault.run_as(CLAUDE, &["remember", "Meals on long flights: no fish. See the seats note.", "--json"]);
    let run = run.ok().json();
    let id = run["id"].as_str().unwrap().to_owned();
    assert!(run["text"].as_str().unwrap().contains("source: user_message"), "{run}");
    approve(&vault, GPT, &id).ok();
    vault.run(&["merge", &id, "--yes"]).ok();
    in_order(&vault);
    // It is known now.
    let known =
        vault.run_as(CLAUDE, &["remember", "Meals on long flights: no fish. See the seats note."]).fails(1);
    assert!(known.err.contains("says that already") && known.err.contains("--anyway"), "{}", known.err);
    let again = ["remember", "Meals on long flights: no fish. See the seats note.", "--anyway", "--json"];
    let again = vault.run_as(CLAUDE, &again).ok().json();
    assert_ne!(again["path"], run["path"]);
}

#[test]
fn what_is_asked_for_holds() {
    let vault = vault();
    let args =
        ["remember", "Full by nine.", "--title", "Tram 28", "--at", "resources/travel/", "--tag", "lisbon"];
    let run = vault
        .run(&[&args[..], &["--type", "resource", "--source", "web", "--draft", "--json"]].concat())
        .ok()
        .json();
    assert_eq!(run["path"], "resources/travel/tram-28.md");
    assert_eq!(run["placed"], "asked");
    let text = run["text"].as_str().unwrap();
    assert!(
        text.contains("source: web")
            && text.contains("lisbon")
            && text.contains("# Tram 28\n\nFull by nine."),
        "{text}"
    );
    assert!(run.get("submitted").is_none());
    vault.run(&["remember", " \n "]).fails(2);
    vault.run(&["remember", "x", "--source", "rumour"]).fails(2);
    // Nothing is near and the vault has scopes: where such memories stand.
    let alone = vault.run(&["remember", "Zebras graze quietly", "-n", "--json"]).ok().json();
    assert_eq!((&alone["placed"], &alone["near"]), (&"by-type".into(), &serde_json::json!([])));
}

#[test]
fn a_text_cannot_pose_as_front_matter_or_filters() {
    let vault = vault();
    let text = "---\nsensitivity: normal\ntype: skill\n---\nWindow on flights -tag:x path:../../etc \"";
    let run = vault.run(&["remember", text, "--title", "T\nid: 1", "-n", "--json"]).ok().json();
    let text = run["text"].as_str().unwrap();
    assert_eq!(text.matches("\ntype: ").count(), 2, "the block of the text is text: {text}");
    assert!(text.starts_with("---\nid: ") && !text.contains("\nid: 1"), "{text}");
    let path = run["path"].as_str().unwrap();
    assert!(!path.contains("..") && path.ends_with("t-id-1.md"), "{path}");
}

#[test]
fn notes_of_somebody_without_scopes_get_it_beside_theirs_or_in_the_inbox() {
    let s = Sandbox::new();
    s.write("Trips/Lisbon by tram.md", "# Lisbon by tram\n\nThe tram 28 is full by nine.\n");
    s.write("Trips/Porto by train.md", "# Porto\n\nThe train from Lisbon takes three hours.\n");
    s.write("Inbox/x.md", "sort me\n");
    s.run(&["init", "--existing", "--yes"]).ok();
    let run = s.run(&["remember", "The tram in Lisbon costs three euros.", "-n", "--json"]).ok().json();
    assert_eq!(run["path"], "Trips/The tram in Lisbon costs three euros.md");
    let run = s.run(&["remember", "Zebras graze quietly", "-n", "--json"]).ok().json();
    assert_eq!((&run["path"], &run["placed"]), (&"Inbox/Zebras graze quietly.md".into(), &"inbox".into()));
}

#[test]
fn a_name_that_some_system_does_not_hold_is_refused_at_once() {
    let vault = vault();
    for (at, better) in [
        ("CON", "`_CON`"),
        ("CON/x.md", "`_CON`"),
        ("resources/con.md", "`_con.md`"),
        ("resources/a:b/", "`a-b`"),
        ("resources/a?.md", "`a-.md`"),
        ("resources/tr.", "`tr`"),
    ] {
        let run = vault.run(&["remember", "Zebras graze quietly", "--at", at]).fails(2);
        assert!(run.err.contains("cannot be the name of a new file"), "{at}: {}", run.err);
        assert!(run.err.contains(&format!("call it {better}")), "{at}: {}", run.err);
    }
    assert!(vault.run(&["propose", "list"]).out.is_empty(), "nothing was begun");
    // A directory that is there stays what it is.
    vault.write("a:b/x.md", "# Old\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Old"]);
    vault.run(&["remember", "Zebras graze quietly", "--at", "a:b/", "-n"]).ok();
}

#[test]
fn a_link_tells_nobody_of_names_that_they_may_not_see() {
    let vault = vault();
    let text = "A window seat on flights over two hours, an aisle seat on trains.";
    let links = |vault: &Sandbox| {
        let run = vault.run_as(CLAUDE, &["remember", text, "-n", "--anyway", "--json", "--at", "x/"]).ok();
        let run = run.json();
        assert!(run["near"].as_array().unwrap().iter().any(|near| near["path"] == "resources/seats.md"));
        let text = run["text"].as_str().unwrap().to_owned();
        text.lines().find(|line| line.starts_with("See ")).unwrap_or_default().to_owned()
    };
    let before = links(&vault);
    assert!(before.contains("[[resources/seats|seats]]"), "{before}");
    // One that nobody but people may see takes the short name: the answer is the same.
    vault.write("seats.md", "---\nsensitivity: restricted\n---\n# Quince\n");
    vault.git(&["add", "-A"]);
    vault.git(&["commit", "-qm", "Hidden"]);
    assert_eq!(links(&vault), before);
    // It leads to the right one, also for whoever sees both.
    let link = "See [[resources/seats|seats]].\n";
    vault.write("user/x.md", link);
    let to = vault.run(&["links", "user/x.md", "--json"]).ok().json();
    assert_eq!(
        (&to["links"][0]["to"], &to["links"][0]["state"]),
        (&"resources/seats.md".into(), &"ok".into())
    );
}

#[test]
fn a_memory_that_is_there_is_not_replaced() {
    let vault = vault();
    let run = vault.run(&["remember", "Other words entirely", "--at", "resources/seats.md"]).fails(3);
    assert!(run.err.contains("resources/seats.md"), "{}", run.err);
}

#[test]
fn who_is_alone_is_told_and_can_write() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    let text = "Dr. Zhang is my dentist. He is in Hangzhou.";
    let run = s.run(&["remember", text]).ok();
    assert!(
        run.err.contains("nobody else here could approve it") && run.err.contains("--write"),
        "{}",
        run.err
    );
    s.run(&["undo"]).ok();
    let run = s.run(&["remember", text, "--write", "--json"]).ok().json();
    assert_eq!(
        (run["title"].as_str(), run["written"].as_bool()),
        (Some("Dr. Zhang is my dentist"), Some(true))
    );
    assert!(run.get("id").is_none() && s.run(&["propose", "list"]).out.is_empty());
    let path = run["path"].as_str().unwrap();
    assert!(s.read(path).contains("He is in Hangzhou."));
    s.run(&["remember", text, "--write", "--anyway", "--at", path]).fails(3);
    s.run(&["undo"]).ok();
    assert!(!s.vault().join(path).exists());
    s.run(&["actor", "add", "bot", "--kind", "agent", "--family", "claude"]).ok();
    s.run_as("bot", &["remember", text, "--write"]).fails(4);
    // With a reviewer it waits for them.
    s.run(&["actor", "add", "judge", "--kind", "agent", "--family", "gpt", "--role", "review"]).ok();
    let run = s.run(&["remember", text]).ok();
    assert!(run.err.contains("next: a reviewer looks at it"), "{}", run.err);
}

#[test]
fn a_memory_goes_beside_what_is_about_the_same() {
    let s = Sandbox::new();
    s.write("Plugins/Canvas.md", "# Canvas\n\nA board for notes, which can hold cards.\n");
    s.write("Import/Formats.md", "# Formats\n\nFiles can be PNG images, and be exported as files.\n");
    s.write("Import/Images.md", "# Pictures\n\nPNG files are exported from other programs.\n");
    s.run(&["init", "--existing", "--yes"]).ok();
    let run = s.run(&["remember", "A canvas can be exported as PNG.", "-n", "--json"]).ok().json();
    assert_eq!(run["path"], "Plugins/A canvas can be exported as PNG.md");
    assert_eq!(run["near"][0]["path"], "Plugins/Canvas.md");
}
