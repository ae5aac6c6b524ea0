//! The cases of links that other programs have tests for (Obsidian, Foam, zk, iwe, marksman), as behaviours of ours.

use super::support::Sandbox;

const NOTE: &str = "# One\n\n## One Two\n\nPara. ^p1\n\n- item ^li\n  - sub ^sub\n\n| a |\n| - |\n| b |\n\n^tab\n\n\
    ## Closed ##\n\n## See [[other|the other]] now\n\n## See [md](other.md)\n\nSetext here\n-----------\n\n\
    ## Dup\n\n## Dup\n\n## C# & `code` *it*\n\n> quote\n\n^quo\n\n## 中文 标题：一\n";

/// What is written, and of each link in it what it names, how it stands and where it leads.
const CASES: &[(&str, &[&str])] = &[
    // Anchors: case, spaces and punctuation do not count; forges' slugs lead there too.
    (
        "[[note#one two]] [[note#One   Two]] [[note#One, Two!]] [t](note.md#one-two) [t](note.md#one%20two)",
        &[
            "note#one two ok a/note.md",
            "note#One   Two ok a/note.md",
            "note#One, Two! ok a/note.md",
            "note.md#one-two ok a/note.md",
            "note.md#one two ok a/note.md",
        ],
    ),
    // The ending may be left out.
    (
        "[[note.md]] [t](note) [t](./note.md)",
        &["note.md ok a/note.md", "note ok a/note.md", "./note.md ok a/note.md"],
    ),
    // Percent-encoding and `<…>` are of Markdown links; a wikilink holds the name itself; a space ends a bare destination.
    (
        "[t](My%20Note.md) [[My%20Note]] [t](<My Note.md#One Two>) [t](My Note.md)",
        &["My Note.md ok a/My Note.md", "My%20Note broken -", "My Note.md#One Two ok a/My Note.md"],
    ),
    // References: full, shortcut and collapsed; one without a definition is no link.
    (
        "[a][b] [b] [b][] [a][nope] [nope]\n\n[b]: note.md \"T\"",
        &["note.md ok a/note.md", "note.md ok a/note.md", "note.md ok a/note.md"],
    ),
    // Of two definitions the first counts, in whatever case.
    (
        "[a][B] [b]\n\n[b]: <My Note.md>\n[b]: other.md",
        &["My Note.md ok a/My Note.md", "My Note.md ok a/My Note.md"],
    ),
    // Autolinks and addresses lead out; a bare address is no link of ours.
    (
        "<https://x.org> https://x.org <me@x.org> [m](mailto:me@x.org)",
        &["https://x.org external -", "mailto:me@x.org external -", "mailto:me@x.org external -"],
    ),
    // Brackets in what a link shows; three brackets; a wikilink with `(…)` behind it is a wikilink.
    (
        "[a [b] c](note.md) [[note|a [b] c]] [[[note]]] [[note]](other.md)",
        &["note.md ok a/note.md", "note ok a/note.md", "note ok a/note.md", "note ok a/note.md"],
    ),
    // In a table, with and without a bar.
    ("|a|\n|-|\n|[[note\\|x]] [[other]]|", &["note ok a/note.md", "other ok a/other.md"]),
    // In a footnote.
    ("Text[^1].\n\n[^1]: See [[note]] and [t](other.md).", &["note ok a/note.md", "other.md ok a/other.md"]),
    // In a callout, in a task.
    ("> [!note] Title [[note]]\n> - [ ] task [[other]]", &["note ok a/note.md", "other ok a/other.md"]),
    // Headings that hold links, closing `#`s, underlined headings, several of one name.
    (
        "[[note#See the other now]] [[note#See md]] [[note#Closed]] [[note#Closed ##]] [[note#Setext here]] [[note#dup]] [t](note.md#dup-1)",
        &[
            "note#See the other now ok a/note.md",
            "note#See md ok a/note.md",
            "note#Closed ok a/note.md",
            "note#Closed ## ok a/note.md",
            "note#Setext here ok a/note.md",
            "note#dup ok a/note.md",
            "note.md#dup-1 ok a/note.md",
        ],
    ),
    // Headings with marks; full-width punctuation.
    (
        "[[note#C# & code it]] [t](note.md#c--code-it) [[note#中文 标题一]] [[note#中文 标题：一]]",
        &[
            "note#C# & code it ok a/note.md",
            "note.md#c--code-it ok a/note.md",
            "note#中文 标题一 ok a/note.md",
            "note#中文 标题：一 ok a/note.md",
        ],
    ),
    // Blocks: of a paragraph, an item, an item of an item, a table, a quotation; a caret without `#` is a part of the name.
    (
        "[[note#^p1]] [[note#^li]] [[note#^sub]] [[note#^tab]] [[note#^quo]] [[note^p1]]",
        &[
            "note#^p1 ok a/note.md",
            "note#^li ok a/note.md",
            "note#^sub ok a/note.md",
            "note#^tab ok a/note.md",
            "note#^quo ok a/note.md",
            "note^p1 broken -",
        ],
    ),
    // Comments and HTML hold no links.
    ("%%\n[[note]]\n%%\n\n<!--\n[[note]]\n-->\n\n<div>[[note]]</div>", &[]),
    // Embeds; a picture that is a link.
    (
        "![alt](note.md) ![[note#One|200]] [![i](p.png)](note.md)",
        &["note.md ok a/note.md", "note#One ok a/note.md", "note.md ok a/note.md", "p.png broken -"],
    ),
    // Empty texts, spaces around, other case, paths from the root.
    (
        "[[note|]] [[ note ]] [[note #One]] [[NOTE]] [[a/note]] [[/a/note]]",
        &[
            "note ok a/note.md",
            "note ok a/note.md",
            "note#One ok a/note.md",
            "NOTE ok a/note.md",
            "a/note ok a/note.md",
            "/a/note ok a/note.md",
        ],
    ),
    // A query is a part of the name; a fragment alone, or nothing, is the note itself.
    (
        "[t](note.md?x=1) [t](/a/note.md) [t](#here) [[#Here]] [t](<>) [t]()",
        &[
            "note.md?x=1 broken -",
            "/a/note.md ok a/note.md",
            "#here ok a/here.md",
            "#Here ok a/here.md",
            " ok a/here.md",
            " ok a/here.md",
        ],
    ),
    // A line break before the title; marks around.
    (
        "[t](note.md\n\"title\") **[[note]]** ~~[[other]]~~ ==[[note]]==",
        &["note.md ok a/note.md", "note ok a/note.md", "other ok a/other.md", "note ok a/note.md"],
    ),
    // Code of all kinds; escaped brackets.
    ("~~~\n[[note]]\n~~~\n\n\t[[note]]\n\n`` [[note]] ` ``\n\n\\[\\[note]] [\\[note]]", &[]),
    // In a heading, in a list.
    ("# [[note]] heading\n\n- [[other]]", &["note ok a/note.md", "other ok a/other.md"]),
    // No line break in a wikilink; of several bars the first counts; doubled and empty `#`.
    (
        "[[note\nother]] [[a|b|c]] [[note##One]] [[note#]]",
        &["a directory a", "note##One ok a/note.md", "note ok a/note.md"],
    ),
];

#[test]
fn every_way_to_write_a_link_leads_where_other_programs_lead() {
    let s = Sandbox::new();
    s.run(&["init"]).ok();
    s.write("a/note.md", NOTE);
    s.write("a/other.md", "o\n");
    s.write("a/My Note.md", "m\n# One Two\n");
    for (at, (text, _)) in CASES.iter().enumerate() {
        s.write(&format!("a/here-{at:02}.md"), format!("# Here\n\n{text}\n"));
    }
    let answer = s.run(&["links", "a", "--json"]).ok().json();
    for (at, (text, expected)) in CASES.iter().enumerate() {
        let from = format!("a/here-{at:02}.md");
        let of = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        let links = answer["links"].as_array().unwrap().iter().filter(|link| link["from"] == *from);
        let shown: Vec<String> = links
            .map(|link| {
                let fragment =
                    link["fragment"].as_str().map_or(String::new(), |fragment| format!("#{fragment}"));
                let to = of(&link["to"]).replace(&from, "a/here.md");
                format!("{}{fragment} {} {to}", of(&link["target"]), of(&link["state"]))
            })
            .collect();
        assert_eq!(shown, *expected, "{text}");
    }
}
