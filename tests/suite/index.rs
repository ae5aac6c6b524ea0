//! Scores do not depend on what was once in the index.

use super::support::Sandbox;

#[test]
fn deleted_documents_do_not_count() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("a.md", "# Window\n\nA seat at the window of the train.\n");
    s.write("b.md", "# Aisle\n\nA seat at the aisle.\n");
    let score = |s: &Sandbox| s.run(&["find", "window seat", "--json"]).ok().json()["hits"].clone();
    let before = score(&s);
    for at in 0..40 {
        s.write(&format!("more/{at}.md"), format!("# Window {at}\n\nwindow window window {at}\n"));
    }
    let with = score(&s);
    assert_ne!(before[0]["score"], with[0]["score"]);
    std::fs::remove_dir_all(s.vault().join("more")).unwrap();
    assert_eq!(before, score(&s));
    // What only the work tree has does not change what main answers.
    s.git(&["add", "-A"]);
    s.git(&["commit", "-q", "-m", "two"]);
    let main = |s: &Sandbox| s.run(&["find", "window seat", "--main", "--json"]).ok().json()["hits"].clone();
    let alone = main(&s);
    for at in 0..40 {
        s.write(&format!("more/{at}.md"), format!("# Window {at}\n\nwindow window window {at}\n"));
    }
    assert_eq!(alone, main(&s));
}

#[test]
fn each_work_tree_has_its_own_view() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("a.md", "# Window\n\nThe window.\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-q", "-m", "a"]);
    s.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    std::fs::write(s.home().join("side/b.md"), "# Other window\n").unwrap();
    let hits = |dir: &str| {
        let answer = s.run(&["-C", dir, "find", "window", "--json"]).ok().json();
        answer["hits"].as_array().unwrap().iter().map(|h| h["path"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(hits("../side").len(), 2);
    assert_eq!(hits("."), ["\"a.md\""]);
    // Main moves: the other tree goes on seeing what its files are.
    s.write("a.md", "# Door\n\nThe door.\n");
    s.git(&["commit", "-q", "-am", "door"]);
    s.run(&["find", "window", "--json"]).fails(1);
    assert_eq!(hits("../side").len(), 2);
    s.git(&["worktree", "remove", "--force", "../side"]);
    s.run(&["find", "window"]).fails(1);
}

/// Damages every file of the text index in turn; the next search builds it anew and finds what there is.
#[test]
fn a_damaged_text_index_is_built_anew() {
    type Damage = fn(&std::path::Path);
    let damages: [(&str, Damage); 4] = [
        ("emptied", |file| std::fs::write(file, "").unwrap()),
        ("cut", |file| {
            let bytes = std::fs::read(file).unwrap();
            std::fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }),
        // The footer stays, so that nothing but what is read can show it.
        ("scribbled over", |file| {
            let mut bytes = std::fs::read(file).unwrap();
            let end = bytes.len().saturating_sub(120);
            bytes[..end].fill(0xA5);
            std::fs::write(file, bytes).unwrap();
        }),
        ("a directory", |file| {
            std::fs::remove_file(file).unwrap();
            std::fs::create_dir(file).unwrap();
        }),
    ];
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    for number in 0..20 {
        s.write(&format!("resources/{number}.md"), format!("# Note {number}\n\ncommon word{number}\n"));
    }
    for ending in ["term", "idx", "store", "fast", "pos", "json"] {
        for (how, damage) in damages {
            s.run(&["find", "common"]).ok();
            let text = text_dir(&s);
            let files = std::fs::read_dir(&text).unwrap().flatten().map(|entry| entry.path());
            let file = files.filter(|f| f.extension().is_some_and(|e| e == ending)).max().unwrap();
            damage(&file);
            let run = s.run(&["find", "common", "-n", "30", "--json"]);
            assert!(!run.err.contains("bug"), "{ending} {how}: {}", run.err);
            // Wrong values in a column of numbers are nothing that a search can see.
            if !(ending == "fast" && how == "scribbled over") {
                let hits = run.ok().json()["hits"].as_array().unwrap().len();
                assert_eq!(hits, 20, "{ending} {how}");
            }
            s.run(&["reindex", "--full"]).ok();
        }
    }
}

/// Where the text index is.
fn text_dir(s: &Sandbox) -> std::path::PathBuf {
    let derived = s.vault().join(".git/runebook");
    let found = std::fs::read_dir(derived).unwrap().flatten().map(|entry| entry.path().join("text"));
    found.filter(|dir| dir.is_dir()).max().unwrap()
}
