//! Obsidian's canvases: what they show follows what moves, and nothing else in them changes.

use super::support::Sandbox;

const BOARD: &str = "{\n\t\"nodes\":[\n\t\t{\"id\":\"a\",\"type\":\"file\",\"file\":\"resources\\/net\\/wifi caf\\u00e9.md\",\"subpath\":\"#Key: old\",\"x\":0, \"y\" : 1},\n\
\t\t{\"id\":\"b\",\"type\":\"text\",\"text\":\"See [[wifi café|\\\"the key\\\"]]\\nand [it](resources\\/net\\/wifi%20caf%C3%A9.md), \\u65e5 [[gone]]\"},\n\
\t\t{\"id\":\"c\",\"type\":\"group\",\"background\":\"resources/net/p.png\"},{\"id\":\"d\",\"type\":\"file\",\"file\":\"user/no.md\"}\n\t],\n\
\t\"edges\":[{\"id\":\"e\",\"file\":\"resources/net/p.png\"}]\n}";

fn vault() -> Sandbox {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write(
        "resources/net/wifi café.md",
        "# Wi-Fi\n\n## Key: old\n\nThe key is on the back of the router.\n",
    );
    s.write("resources/net/p.png", b"\x89PNG");
    s.write("board.canvas", BOARD);
    s.write("broken.canvas", "{\"nodes\":[{\"file\":\"resources/net/wifi café.md\"}");
    s.write("empty.canvas", "");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "Start"]);
    s
}

fn left(answer: &serde_json::Value) -> Vec<String> {
    let left = answer["links"]["left"].as_array().unwrap().iter();
    left.map(|left| format!("{}:{}", left["path"].as_str().unwrap(), left["line"])).collect()
}

#[test]
fn a_canvas_follows_and_keeps_every_other_byte() {
    let s = vault();
    let answer =
        s.run(&["mv", "--json", "resources/net/wifi café.md", "resources/net/日记 'w'.md"]).ok().json();
    let new = BOARD
        .replace("wifi caf\\u00e9.md\"", "日记 'w'.md\"")
        .replace("[[wifi café|", "[[日记 'w'|")
        .replace("resources\\/net\\/wifi%20caf%C3%A9.md", "resources/net/%E6%97%A5%E8%AE%B0%20'w'.md");
    assert_eq!(s.read("board.canvas"), new);
    assert_eq!(answer["links"]["healed"].as_array().unwrap().len(), 3, "{answer}");
    assert_eq!(left(&answer), ["broken.canvas:1"], "a canvas that cannot be read is named");
    s.run(&["undo"]).ok();
    assert_eq!(s.read("board.canvas"), BOARD);
}

#[test]
fn a_directory_a_heading_and_the_canvas_itself() {
    let s = vault();
    s.run(&["mv", "resources/net", "resources/networks"]).ok();
    let new = BOARD
        .replace("\"resources\\/net\\/wifi", "\"resources\\/networks\\/wifi")
        .replace("resources\\/net\\/wifi%20caf%C3%A9", "resources/networks/wifi%20caf%C3%A9")
        .replace("\"background\":\"resources/net/", "\"background\":\"resources/networks/");
    assert_eq!(s.read("board.canvas"), new);
    s.run(&["mv", "resources/networks/wifi café.md#Key: old", "#Pass \"word\""]).ok();
    let new = new.replace("#Key: old", "#Pass \\\"word\\\"");
    assert_eq!(s.read("board.canvas"), new);
    s.run(&["mv", "board.canvas", "user/board.canvas"]).ok();
    let new = new.replace("(resources/networks", "(../resources/networks");
    assert_eq!(s.read("user/board.canvas"), new);
}

#[test]
fn renames_made_outside() {
    let s = vault();
    std::fs::rename(s.vault().join("resources/net/wifi café.md"), s.vault().join("resources/wlan.md"))
        .unwrap();
    let run = s.run(&["check", "--fix"]);
    assert!(run.status < 2, "{}{}", run.out, run.err);
    let text = s.read("board.canvas");
    assert!(text.contains("\"file\":\"resources\\/wlan.md\"") && text.contains("[[wlan|"), "{text}");
    assert!(text.contains("(resources/wlan.md)"), "{text}");
}

#[test]
fn canvases_are_named_where_links_are() {
    let s = vault();
    let back = s.run(&["backlinks", "resources/net/wifi café.md"]).ok().out;
    assert_eq!(back.lines().filter(|line| line.starts_with("board.canvas:")).count(), 3, "{back}");
    let links = s.run(&["links", "board.canvas", "--broken"]).ok().out;
    assert!(links.contains("[[gone]]") && links.contains("user/no.md"), "{links}");
    assert!(!links.contains("wifi"), "{links}");
    let report = s.run(&["check", "--json", "--rule", "link", "--rule", "format"]).json();
    let found =
        report["findings"].as_array().unwrap().iter().map(|f| {
            format!("{}:{} {}", f["path"].as_str().unwrap(), f["line"], f["rule"].as_str().unwrap())
        });
    let found: Vec<String> = found.collect();
    assert_eq!(
        found,
        ["board.canvas:4 link.broken", "board.canvas:5 link.broken", "broken.canvas:1 format.canvas"],
        "what is shown by a canvas is no orphan"
    );
}

#[test]
fn a_proposed_move_takes_canvases_along() {
    let s = vault();
    let id = s.run(&["propose", "new", "Move", "--json"]).ok().json()["id"].as_str().unwrap().to_owned();
    s.run(&["propose", "mv", &id, "resources/net/wifi café.md", "resources/wlan.md"]).ok();
    let shown = s.git(&["show", &format!("proposal/{id}:board.canvas")]);
    assert!(shown.contains("\"file\":\"resources\\/wlan.md\""), "{shown}");
}
