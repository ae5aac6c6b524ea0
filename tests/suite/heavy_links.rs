//! Links where there is too much of something: they are read, checked and healed all the same.

use super::support::Sandbox;

fn vault(files: &[(&str, &str)]) -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    for (path, text) in files {
        s.write(path, text);
    }
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Start"]);
    s
}

fn healed(answer: &serde_json::Value) -> usize {
    assert_eq!(answer["links"]["left"], serde_json::json!([]));
    answer["links"]["healed"].as_array().unwrap().len()
}

#[test]
fn ten_thousand_links_in_one_note() {
    const FORMS: usize = 5;
    let mut text = String::from("# All\n\n");
    let mut definitions = String::new();
    for at in 0..2_000 {
        text.push_str(&format!(
            "[[target]] [t](target.md#Top) ![[target#^b]] <viking://user/target.md> [x][r{at}]\n\n"
        ));
        definitions.push_str(&format!("[r{at}]: target.md\n"));
    }
    let canvas: Vec<String> =
        (0..2_000).map(|_| "{\"file\":\"user/target.md\",\"text\":\"[[target]]\"}".to_owned()).collect();
    let canvas = format!("{{\"nodes\":[{}]}}", canvas.join(","));
    let long = format!("{{\"nodes\":[{{\"text\":\"{}\"}}]}}", "[[target]] \\n".repeat(5_000));
    let s = vault(&[
        ("user/all.md", &format!("{text}{definitions}")),
        ("user/target.md", "# Target\n\n## Top\n\np ^b\n"),
        ("user/board.canvas", &canvas),
        ("user/long.canvas", &long),
    ]);
    let links = s.run(&["links", "user/all.md", "--json"]).ok().json();
    assert_eq!(links["links"].as_array().unwrap().len(), 2_000 * FORMS);
    let moved = s.run(&["mv", "--json", "user/target.md", "user/aim.md"]).ok().json();
    assert_eq!(healed(&moved), 2_000 * FORMS + 4_000 + 5_000);
    let renamed = s.run(&["mv", "--json", "user/aim.md#Top", "#Head"]).ok().json();
    assert_eq!(healed(&renamed), 2_000);
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Healed"]);
    std::fs::rename(s.vault().join("user/aim.md"), s.vault().join("user/goal.md")).unwrap();
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Moved"]);
    let fixed = s.run(&["check", "--fix", "--json"]).json();
    assert_eq!(healed(&fixed), 2_000 * FORMS + 4_000 + 5_000);
    let report = s.run(&["check", "--json", "--rule", "link"]).json();
    assert_eq!(report["findings"], serde_json::json!([]));
}

#[test]
fn ten_thousand_broken_links_and_missing_headings_in_one_note() {
    let mut text = String::from("# All\n\n");
    for at in 0..5_000 {
        text.push_str(&format!("[[nowhere {at}]] [[target#Part {at}]]\n"));
    }
    let s = vault(&[("user/all.md", &text), ("user/target.md", "# Target\n")]);
    let broken = s.run(&["links", "user/all.md", "--broken", "--json"]).ok().json();
    assert_eq!(broken["links"].as_array().unwrap().len(), 10_000);
    let report = s.run(&["check", "--json", "--rule", "link"]).json();
    assert_eq!(report["findings"].as_array().unwrap().len(), 10_000);
    let fixed = s.run(&["check", "--fix", "--dry-run", "--json"]).json();
    assert_eq!(fixed["links"]["healed"], serde_json::json!([]));
}

#[test]
fn links_in_a_circle() {
    let s = vault(&[
        ("user/a.md", "[[b]] [[a]]\n"),
        ("user/b.md", "[[c]] [[b#x]]\n"),
        ("user/c.md", "[[a]] [[b]]\n"),
        ("user/far.md", "alone\n"),
    ]);
    let graph = s.run(&["graph", "--from", "user/a.md", "--depth", "1000000", "--json"]).ok().json();
    let nodes: Vec<&str> =
        graph["nodes"].as_array().unwrap().iter().map(|n| n["path"].as_str().unwrap()).collect();
    assert_eq!(nodes, ["user/a.md", "user/b.md", "user/c.md"]);
    assert_eq!(graph["edges"].as_array().unwrap().len(), 4);
}

#[test]
fn a_heading_of_ten_kilobytes_and_a_line_of_megabytes() {
    let heading = "word 词 ".repeat(1_300);
    let heading = heading.trim_end();
    let line =
        format!("{} [[target#{heading}]] [[target]] {}\n", "long ".repeat(1 << 19), "end ".repeat(1 << 19));
    let s = vault(&[
        ("user/target.md", &format!("# Target\n\n## {heading}\n\nText.\n")),
        ("user/near.md", &format!("[t](target.md#{})\n", heading.replace(' ', "%20"))),
        ("user/wiki.md", "[[target]]\n"),
        ("user/long.md", &line),
    ]);
    let report = s.run(&["check", "--json", "--rule", "link"]).json();
    assert_eq!(report["findings"].as_array().unwrap().len(), 0);
    let moved = s.run(&["mv", "--json", "user/target.md", "resources/aim.md"]).ok().json();
    // Between brackets no more than 4 kB are looked for: that one is no link.
    let new = std::fs::read_to_string(s.vault().join("user/long.md")).unwrap();
    assert_eq!(new.len(), line.len() - "target".len() + "aim".len(), "{}", moved["links"]["left"]);
    assert_eq!(s.read("user/near.md"), format!("[t](../resources/aim.md#{})\n", heading.replace(' ', "%20")));
    let renamed = s.run(&["mv", "--json", &format!("resources/aim.md#{heading}"), "#Short"]).ok().json();
    assert_eq!(s.read("user/near.md"), "[t](../resources/aim.md#Short)\n", "{}", renamed["links"]["left"]);
}

#[test]
fn case_twins_and_decomposed_names_move_apart() {
    let s = vault(&[
        ("user/Plan.md", "upper\n"),
        ("user/plan.md", "lower\n"),
        ("user/cafe\u{301}.md", "decomposed\n"),
        (
            "user/ref.md",
            "[[Plan]] [[plan]] [[user/plan]] [u](Plan.md) [[caf\u{e9}]] [c](caf\u{e9}.md) [[CAF\u{c9}]]\n",
        ),
    ]);
    s.run(&["mv", "user/plan.md", "user/other.md"]).ok();
    assert!(s.read("user/ref.md").starts_with("[[Plan]] [[other]] [[user/other]] [u](Plan.md) "));
    s.run(&["mv", "user/cafe\u{301}.md", "user/bar.md"]).ok();
    assert_eq!(
        s.read("user/ref.md"),
        "[[Plan]] [[other]] [[user/other]] [u](Plan.md) [[bar]] [c](bar.md) [[bar]]\n"
    );
    s.run(&["mv", "user/bar.md", "user/e\u{301}.md"]).ok();
    let links = s.run(&["links", "user/ref.md", "--broken"]);
    assert_eq!(links.status, 1, "{}", links.out);
}

#[test]
fn directories_deeper_than_can_be_compared_are_told_with_the_next_step() {
    let s = vault(&[("user/a.md", "one\n")]);
    let deep = format!("user/{}x.md", "d/".repeat(110));
    s.write(&deep, "window\n");
    assert!(s.run(&["find", "window"]).ok().out.contains("x.md"));
    for (args, status) in [(&["status"][..], 0), (&["commit", "-m", "Deep"], 1)] {
        let told = s.run(args).fails(status);
        assert!(told.err.contains("100 directories deep") && told.err.contains(".gitignore"), "{}", told.err);
    }
    s.write(".gitignore", "user/d/\n");
    assert!(!s.run(&["status"]).ok().err.contains("deep"));
}
