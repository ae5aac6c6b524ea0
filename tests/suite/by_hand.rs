//! What a person does with files by hand: a slip is told before anything happens, and nothing happens silently.

use std::thread;

use super::support::Sandbox;

fn vault(files: &[(&str, &str)]) -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    for (path, text) in files {
        s.write(path, text);
    }
    s.run(&["commit", "--all"]).ok();
    s
}

fn there(s: &Sandbox, path: &str) -> bool {
    s.vault().join(path).exists()
}

#[test]
fn a_memory_that_moves_stays_one() {
    let s = vault(&[
        ("Canvas.md", "# Canvas\n"),
        ("b.md", "[[Canvas]]\n"),
        ("图.md", "x\n"),
        ("c.canvas", "{}\n"),
    ]);
    // Where the name with the ending is taken, nothing is put beside it.
    let taken = s.run(&["mv", "Canvas.md", "图"]).fails(3);
    assert!(taken.err.contains("图.md"), "{}", taken.err);
    let moved = s.run(&["mv", "Canvas.md", "Board"]).ok();
    assert!(moved.out.starts_with("Board.md  (was Canvas.md)"), "{}", moved.out);
    assert_eq!(s.read("b.md"), "[[Board]]\n");
    s.run(&["mv", "c.canvas", "plan"]).ok();
    assert!(there(&s, "plan.canvas"));
    let refused = s.run(&["mv", "Board.md", "board.txt"]).fails(2);
    assert!(
        refused.err.contains("no Markdown file") && refused.err.contains("`board.txt.md`"),
        "{}",
        refused.err
    );
    assert!(there(&s, "Board.md") && !there(&s, "board.txt"));
    // Directories and attachments are called as one likes.
    s.write("d/x.png", "png");
    s.run(&["mv", "d/x.png", "d/y"]).ok();
    s.run(&["mv", "d", "d.txt"]).ok();
    assert!(there(&s, "d.txt/y"));
}

#[test]
fn a_memory_that_moves_in_a_proposal_stays_one() {
    let s = vault(&[("a.md", "# A\n")]);
    let id = s.run(&["propose", "new", "Move it", "--json"]).ok().json();
    let id = id["id"].as_str().or(id["proposal"].as_str()).unwrap().to_owned();
    s.run(&["propose", "mv", &id, "a.md", "a.txt"]).fails(2);
    let moved = s.run(&["propose", "mv", &id, "a.md", "第二", "--json"]).ok().json();
    assert_eq!(moved["to"], "第二.md");
}

#[test]
fn rm_removes_all_that_is_named_or_nothing() {
    let s = vault(&[("a.md", "a\n"), ("d/b.md", "b\n"), ("d/c.md", "c\n")]);
    s.run(&["rm", "a.md", "nope.md"]).fails(1);
    s.run(&["rm", "a.md", "d"]).fails(2);
    assert!(there(&s, "a.md"));
    // What goes with its directory, or was named before, is no slip.
    let removed = s.run(&["rm", "-r", "d/b.md", "d", "a.md", "./a.md"]).ok();
    assert_eq!(removed.out.matches("removed").count(), 2, "{}", removed.out);
    assert!(!there(&s, "a.md") && !there(&s, "d"));
    s.run(&["undo"]).ok();
    assert!(there(&s, "a.md") && there(&s, "d/b.md"));
}

#[test]
fn of_many_moves_of_one_file_one_happens_and_the_others_say_so() {
    let s = vault(&[("a.md", "a\n"), ("b.md", "[[a]]\n")]);
    let runs: Vec<_> = thread::scope(|scope| {
        let run = |number: usize| {
            let s = &s;
            scope.spawn(move || s.run(&["mv", "a.md", &format!("to-{number}.md")]))
        };
        let threads: Vec<_> = (0..4).map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert_eq!(runs.iter().filter(|run| run.status == 0).count(), 1, "{runs:?}");
    for run in runs.iter().filter(|run| run.status != 0) {
        // Whoever came when it was over finds nothing there; whoever waited is told that it went.
        assert!(matches!(run.status, 1 | 3) && !run.err.contains("os error"), "{run:?}");
    }
    let there: Vec<usize> = (0..4).filter(|number| there(&s, &format!("to-{number}.md"))).collect();
    assert_eq!(there.len(), 1);
    assert_eq!(s.read("b.md"), format!("[[to-{}]]\n", there[0]));
    s.run(&["undo"]).ok();
    assert_eq!((s.read("a.md"), s.read("b.md")), ("a\n".to_owned(), "[[a]]\n".to_owned()));
}

#[test]
fn the_graph_of_a_directory_is_that_of_what_it_holds() {
    let s = vault(&[
        ("odd/a.md", "[[b]] [[outside]] ![[x.png]] [[nowhere]]\n"),
        ("odd/deep/b.md", "b\n"),
        ("odd/alone.md", "alone\n"),
        ("odd/x.png", "png"),
        ("odd/unused.png", "png"),
        ("outside.md", "[[further]]\n"),
        ("further.md", "f\n"),
        ("leads.md", "[[alone]]\n"),
        ("oddly.md", "no part of it\n"),
    ]);
    let graph = s.run(&["graph", "odd", "--json"]).ok().json();
    let nodes: Vec<String> = graph["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| format!("{} {}", node["path"].as_str().unwrap(), node["distance"]))
        .collect();
    assert_eq!(
        nodes,
        ["odd/a.md 0", "odd/alone.md 0", "odd/deep/b.md 0", "odd/x.png 0", "leads.md 1", "outside.md 1"]
    );
    assert_eq!(graph["edges"].as_array().unwrap().len(), 4);
    assert_eq!(graph["states"]["broken"], 1);
    let text = s.run(&["graph", "odd"]).ok().out;
    assert!(
        text.starts_with(
            "odd/a.md\n  → odd/deep/b.md\n  → odd/x.png\n  → outside.md\nodd/alone.md\n  ← leads.md\n"
        ),
        "{text}"
    );
    for format in ["dot", "mermaid"] {
        let text = s.run(&["graph", "odd", "--format", format]).ok().out;
        assert_eq!(text.matches("->").count(), 4, "{text}");
    }
    // The root is the whole vault.
    assert_eq!(s.run(&["graph", "viking://"]).ok().out, s.run(&["graph"]).ok().out);
}
