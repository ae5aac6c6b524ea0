//! Notes with too much of something in their heads or lines: every command does what it does with others. Most of these
//! would not come to an end if anything took time with the square of their size.

use super::support::Sandbox;

const MEGABYTE: usize = 1 << 20;

fn vault(text: &str) -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("resources/target.md", "# Target\n\nhere\n");
    s.write("resources/ref.md", "[[one]] [o](d/one.md)\n");
    s.write("resources/d/one.md", text);
    s
}

/// Takes a note through the commands that read, judge, change, move and take back.
fn through(what: &str, text: &str) {
    let s = vault(text);
    let go = |args: &[&str]| {
        let run = s.run(args);
        let fine = (0..=1).contains(&run.status) && !run.err.contains("panicked");
        assert!(fine, "{what} {args:?}: {} {}", run.status, run.err);
        run
    };
    assert!(go(&["find", "here"]).out.contains("resources/target.md"), "{what}");
    go(&["check"]);
    go(&["commit", "-m", "Begin"]);
    assert_eq!(s.git(&["status", "--short"]), "", "{what}");
    assert_eq!(go(&["cat", "resources/d/one.md"]).out, text, "{what}");
    go(&["overview", "resources"]);
    go(&["links", "resources/d/one.md"]);
    // The links to it follow, and its own.
    go(&["mv", "resources/d/one.md", "resources/two.md"]);
    assert_eq!(s.read("resources/ref.md"), "[[two]] [o](two.md)\n", "{what}");
    go(&["undo"]);
    go(&["mv", "resources/target.md", "resources/aim.md"]);
    go(&["undo"]);
    assert_eq!(s.read("resources/d/one.md"), text, "{what}: taken back to the byte");
    s.write("resources/d/one.md", format!("{text}\nadded\n"));
    go(&["commit", "-m", "Add"]);
    go(&["undo"]);
    assert_eq!(s.read("resources/d/one.md"), text, "{what}");
}

fn head(lines: &str) -> String {
    format!("---\n{lines}---\n# One\n\nword [[target]]\n")
}

#[test]
fn a_head_of_a_megabyte() {
    let many =
        |line: &dyn Fn(usize) -> String| (0..MEGABYTE / line(10_000).len()).map(line).collect::<String>();
    through("keys", &head(&many(&|at| format!("key{at}: value\n"))));
    through("one string", &head(&format!("title: \"{}\"\n", "w ".repeat(MEGABYTE / 2))));
    through("tags", &head(&format!("tags:\n{}", many(&|at| format!("  - t{at}\n")))));
    through("aliases", &head(&format!("aliases:\n{}", many(&|at| format!("  - name {at}\n")))));
    through("relations", &head(&format!("part_of:\n{}", many(&|_| "  - \"[[target]]\"\n".to_owned()))));
    through("TOML", &format!("+++\n{}+++\nword\n", many(&|at| format!("key{at} = \"v\"\n"))));
    through("no end", &format!("---\n{}", many(&|_| "key: value\n".to_owned())));
}

#[test]
fn heads_that_would_grow_or_nest_without_end() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..12 {
        bomb.push_str(&format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 10].join(", ")));
    }
    through("anchors in anchors", &head(&bomb));
    let anchors: String = (0..30_000).map(|at| format!("k{at}: &a{at} v\nl{at}: *a{at}\n")).collect();
    through("many anchors", &head(&anchors));
    through("flow lists", &head(&format!("a: {}\n", "[".repeat(MEGABYTE))));
    through("closed flow lists", &head(&format!("a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000))));
    through("flow maps", &head(&format!("a: {}\n", "{a: ".repeat(MEGABYTE / 4))));
    through("lists in lists", &head(&format!("a:\n  {}x\n", "- ".repeat(MEGABYTE / 2))));
    let blocks: String = (0..1_400).map(|at| format!("{}a:\n", " ".repeat(at))).collect();
    through("blocks", &head(&blocks));
    let entries: String = (0..70_000).map(|at| format!("k{at}: {at}, ")).collect();
    through("a flow map with many keys", &head(&format!("value: {{{entries}}}\n")));
}

#[test]
fn a_line_of_twenty_megabytes() {
    let line = "word [[target]] 词 ".repeat(20 * MEGABYTE / "word [[target]] 词 ".len());
    let s = vault(&format!("# One\n\n{line}\n"));
    assert!(s.run(&["find", "here"]).ok().out.contains("resources/target.md"));
    let found = s.run(&["check", "--json"]);
    assert!(found.status <= 1 && found.out.contains("resources/d/one.md"), "{} {}", found.status, found.err);
    s.run(&["commit", "-m", "Begin"]).ok();
    assert_eq!(s.run(&["cat", "resources/d/one.md"]).ok().out.len(), line.len() + "# One\n\n\n".len());
    assert!(s.run(&["overview", "resources/d"]).ok().out.contains("one.md"));
    s.run(&["mv", "resources/d/one.md", "resources/two.md"]).ok();
    assert_eq!(s.read("resources/ref.md"), "[[two]] [o](two.md)\n");
    s.run(&["undo"]).ok();
    s.write("resources/d/one.md", "# One\n\nshort\n");
    s.run(&["commit", "-m", "Short"]).ok();
    s.run(&["undo"]).ok();
    assert!(s.read("resources/d/one.md").ends_with(&format!("{line}\n")));
}

#[test]
fn a_line_of_marks() {
    // What opens something, again and again, and closes none of it.
    for mark in [
        "[", "[[", "![", "[a](b", "*", "**a ", "`", "<", "<a ", "|a", "> ", "- ", "%% a ", "<!-- ", "[^a] ",
        "\\", "$$",
    ] {
        let text = format!("# One\n\n{}\n", mark.repeat(400_000 / mark.len()));
        let s = vault(&text);
        let found = s.run(&["check"]);
        assert!(found.status <= 1, "{mark}: {} {}", found.status, found.err);
        assert!(s.run(&["find", "here"]).ok().out.contains("resources/target.md"), "{mark}");
        s.run(&["commit", "-m", "Begin"]).ok();
        s.run(&["mv", "resources/d/one.md", "resources/two.md"]).ok();
        assert_eq!(s.read("resources/two.md"), text, "{mark}");
    }
}
