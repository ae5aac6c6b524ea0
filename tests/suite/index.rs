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
