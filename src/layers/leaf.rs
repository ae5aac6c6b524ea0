//! What a directory needs to know of a file.

use serde::{Deserialize, Serialize};

use super::extract::{Candidate, budget, choose, cost, join, list};
use super::sentences::sentences;
use super::terms::terms;
use super::{ABSTRACT_TOKENS, INDEX_FILE};
use crate::markdown::plain::plain;
use crate::markdown::prose::{Part, Passage, one_line, passages};
use crate::model::actor::Sensitivity;
use crate::model::link::name_key;
use crate::model::memory::Memory;

/// How much of a body summaries are made from, in bytes.
pub(super) const HEAD: usize = 1 << 20;
/// How many sentences are weighed.
const MOST_CANDIDATES: usize = 120;
/// How many links of one file are counted.
const MOST_LINKS: usize = 1_000;

/// A file as its directory shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    /// Its title.
    pub title: String,
    /// Its abstract.
    pub l0: String,
    /// The day that it is about, as its fields or its name say: `2026-11-28`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub date: Option<String>,
    /// Its importance in thousandths; 500 where nothing is said.
    pub importance: u16,
    /// How sensitive it is. From confidential on everything else here is empty.
    pub sensitivity: Sensitivity,
    /// What its links name, each once: names as they are looked up, without ending.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub links: Vec<String>,
    /// Of an `index.md` its words, as Markdown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub opening: Option<String>,
}

/// What a directory shows of a memory; `None` of a template.
#[must_use]
pub fn leaf(memory: &Memory) -> Option<Leaf> {
    if memory.template {
        return None;
    }
    let sensitivity = memory.front.sensitivity.unwrap_or_default();
    if sensitivity >= Sensitivity::Confidential {
        return Some(Leaf {
            title: String::new(),
            l0: String::new(),
            date: None,
            importance: 0,
            sensitivity,
            links: Vec::new(),
            opening: None,
        });
    }
    let front = &memory.front;
    let retired = matches!(front.status.as_deref(), Some("archived" | "demoted"));
    let importance =
        front.importance.filter(|_| !retired).map(|of| (of.clamp(0.0, 1.0) * 1000.0).round() as u16);
    Some(Leaf {
        title: one_line(&memory.title).chars().take(200).collect(),
        l0: file_abstract(memory),
        date: date(memory),
        importance: importance.unwrap_or(if retired { 0 } else { 500 }),
        sensitivity,
        links: links(memory),
        opening: (memory.path.name() == INDEX_FILE).then(|| super::directory::opening(memory)),
    })
}

/// A text of the front matter as one line, where it fits into an abstract: whole, or its first sentences.
fn fitting(text: &str) -> Option<String> {
    // Of links in it the words are left, as of those in the text.
    let text = if text.contains("[[") || text.contains("](") { plain(text) } else { one_line(text) };
    let mut left = budget(ABSTRACT_TOKENS);
    let mut kept = Vec::new();
    for sentence in sentences(&text) {
        match left.checked_sub(cost(sentence) + 4 * u32::from(!kept.is_empty())) {
            Some(less) => left = less,
            None => break,
        }
        kept.push(sentence);
    }
    (!kept.is_empty()).then(|| join(kept))
}

/// The abstract of a file, one line; empty where it has no words. How sensitive the file is does not matter here.
#[must_use]
pub fn file_abstract(memory: &Memory) -> String {
    let described = || memory.front.all.get("description").and_then(|value| value.as_str());
    if let Some(text) = memory.front.summary.as_deref().and_then(fitting) {
        return text;
    }
    if let Some(text) = described().and_then(fitting) {
        return text;
    }
    let (found, whole) = head(memory);
    let mut all = candidates(&found);
    if !whole {
        // The last one may be cut off.
        all.pop();
    }
    let chosen = choose(&all, &terms(&memory.title), budget(ABSTRACT_TOKENS), 2);
    if !chosen.is_empty() {
        return join(chosen.into_iter().map(|at| all[at].text));
    }
    let headings = found.iter().filter(|p| matches!(p.part, Part::Heading(_)) && p.text != memory.title);
    list(headings.map(|p| p.text.as_str()), " · ", budget(ABSTRACT_TOKENS))
}

/// The passages that summaries are made from, and whether they are all.
pub(super) fn head(memory: &Memory) -> (Vec<Passage>, bool) {
    let body = memory.body();
    let end = body.floor_char_boundary(HEAD.min(body.len()));
    (passages(&body[..end]), end == body.len())
}

/// The sentences of the passages with what their places are worth: most at the beginning, then below headings.
fn candidates(found: &[Passage]) -> Vec<Candidate<'_>> {
    let mut out = Vec::new();
    let (mut paragraphs, mut below_heading) = (0, false);
    for passage in found {
        let (first, rest) = match passage.part {
            Part::Heading(_) => {
                below_heading = true;
                continue;
            }
            Part::Paragraph => {
                paragraphs += 1;
                match (paragraphs, below_heading) {
                    (1, _) => (240, 160),
                    (2, false) => (150, 110),
                    (_, true) => (100, 70),
                    (_, false) => (80, 60),
                }
            }
            Part::Item => (35, 25),
            Part::Quote => (50, 40),
        };
        below_heading = false;
        for (at, text) in sentences(&passage.text).into_iter().enumerate() {
            let short = terms(text).len() < 3;
            let place = if at == 0 { first } else { rest };
            out.push(Candidate { text, place: if short { place / 3 } else { place } });
            if out.len() == MOST_CANDIDATES {
                return out;
            }
        }
    }
    out
}

/// The day that a memory is about.
fn date(memory: &Memory) -> Option<String> {
    let front = &memory.front;
    let of_field = |text: &String| text.get(..10).and_then(day);
    let fields = [&front.occurred, &front.updated, &front.created];
    fields.into_iter().flatten().find_map(of_field).or_else(|| {
        let name = memory.path.name();
        let starts = name.char_indices().filter(|(at, c)| {
            c.is_ascii_digit() && !name[..*at].ends_with(|before: char| before.is_ascii_digit())
        });
        starts.map(|(at, _)| at).find_map(|at| {
            let ends =
                !name.get(at + 10..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            day(name.get(at..at + 10)?).filter(|_| ends)
        })
    })
}

/// `2026-11-28`, if it is a day of the calendar.
fn day(text: &str) -> Option<String> {
    let parsed: jiff::civil::Date = text.replace(['_', '.'], "-").parse().ok()?;
    Some(parsed.to_string())
}

fn links(memory: &Memory) -> Vec<String> {
    let mut out: Vec<String> = memory
        .links
        .iter()
        .filter(|link| !link.target.is_empty() && !crate::model::link::is_external(&link.target))
        .map(|link| link_name(&link.target))
        .collect();
    out.sort();
    out.dedup();
    out.truncate(MOST_LINKS);
    out
}

/// The last segment of what a link names, as names are looked up, without a Markdown ending.
pub(super) fn link_name(target: &str) -> String {
    let name = target.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".md").unwrap_or(name);
    name_key(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown;
    use crate::model::path::VaultPath;

    fn of(path: &str, text: &str) -> Option<Leaf> {
        let path = VaultPath::parse(path).unwrap();
        leaf(&markdown::read(&path, text.as_bytes(), &crate::model::config::Config::default()))
    }

    #[test]
    fn what_is_shown_of_a_file() {
        let leaf = of(
            "a/2026-11-28 chat.md",
            "---\nimportance: 0.8\n---\n# Chat\n\nSee [[b/Seats.md|the seats]] and [x](https://x.org).\n\nMei books window seats on long flights. It rained.\n",
        )
        .unwrap();
        assert_eq!(
            (leaf.title.as_str(), leaf.date.as_deref(), leaf.importance),
            ("Chat", Some("2026-11-28"), 800)
        );
        assert!(leaf.l0.contains("Mei books window seats on long flights."), "{}", leaf.l0);
        assert_eq!(leaf.links, ["seats"]);
        assert_eq!(of("a.md", "---\nsummary: By hand.\n---\nbody\n").unwrap().l0, "By hand.");
        let linked =
            "---\ndescription: '模板是一个[[核心插件|核心插件]]，见 [[设置]] 和 [a](b.md)。'\n---\nbody\n";
        assert_eq!(of("a.md", linked).unwrap().l0, "模板是一个核心插件，见 设置 和 a。");
        assert_eq!(of("a.md", "# A\n## B\n## C\n").unwrap().l0, "B · C");
        assert_eq!(of("a.md", "").unwrap().l0, "");
        assert!(of("a.md", "---\ntitle: \"{{title}}\"\n---\nx\n").is_none());
    }

    #[test]
    fn nothing_is_kept_of_what_is_sensitive() {
        for head in [
            "sensitivity: confidential",
            "sensitivity: restricted",
            "[: {\nsensitivity: restricted",
            "sensitivity: secret",
        ] {
            let leaf = of("a.md", &format!("---\ntitle: T\n{head}\n---\nnuts\n")).unwrap();
            assert!(leaf.sensitivity >= Sensitivity::Confidential, "{head}");
            assert!(leaf.title.is_empty() && leaf.l0.is_empty());
        }
    }
}
