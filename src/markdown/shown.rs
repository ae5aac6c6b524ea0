//! The attachments that a piece of Markdown shows or names, with the words that say what they are.

use super::lines::Lines;
use super::{body, plain};
use crate::model::link::{Link, LinkForm};

/// An attachment as a text shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The link to it.
    pub link: Link,
    /// What it is said to be: the alternative text and the caption right under it.
    pub words: String,
}

/// The longest caption, in bytes.
const MAX_CAPTION: usize = 400;
/// The longest tag of HTML that is read, in bytes.
const MAX_TAG: usize = 4096;

/// What a piece of Markdown shows: pictures, sounds and documents that it embeds or links to, `<img>` too.
#[must_use]
pub fn attachments(text: &str) -> Vec<Shown> {
    if !text.contains(['[', '<']) || body::is_dense(text) {
        return Vec::new();
    }
    let mut links = body::read(text, 0, &Lines::of(text)).links;
    links.retain(is_attachment);
    links.extend(images(text));
    links.sort_by_key(|link| link.range.start);
    let words = |link: Link| {
        let alternative = link.text.as_deref().filter(|text| !is_size(text)).unwrap_or_default();
        let caption = caption(&text[link.range.end..]);
        let words = format!("{alternative} {}", plain::plain(caption)).trim().to_owned();
        Shown { link, words }
    };
    links.into_iter().map(words).collect()
}

/// Whether a link leads to a file that is no note: its name has an ending, and another one than a note's.
fn is_attachment(link: &Link) -> bool {
    let name = link.target.rsplit('/').next().unwrap_or_default();
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let plain = (1..=10).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    plain
        && !stem.is_empty()
        && !ending.eq_ignore_ascii_case("md")
        && !crate::model::link::is_external(&link.target)
}

/// Whether what stands behind the bar of an embed is how large it is shown: `300`, `300x200`.
fn is_size(text: &str) -> bool {
    let text = text.trim();
    text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().all(|b| b.is_ascii_digit() || b == b'x')
}

/// The line right under what ends here, if nothing else stands in its own.
fn caption(rest: &str) -> &str {
    let (own, below) = rest.split_once('\n').unwrap_or((rest, ""));
    if !own.trim().is_empty() {
        return "";
    }
    let line = below.lines().next().unwrap_or_default().trim();
    let other = line.starts_with(['#', '|', '<', '-', '!']) || line.starts_with("```");
    if other { "" } else { &line[..line.floor_char_boundary(MAX_CAPTION)] }
}

/// The pictures that stand there as HTML.
fn images(text: &str) -> Vec<Link> {
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = lower[at..].find("<img").map(|found| at + found) {
        at = open + 4;
        let limit = text.floor_char_boundary((open + MAX_TAG).min(text.len()));
        let Some(end) = text[open..limit].find('>').map(|end| open + end + 1) else { continue };
        let tag = &text[at..end - 1];
        if let Some(target) = attribute(tag, "src").filter(|src| !src.is_empty()) {
            let text = attribute(tag, "alt").or_else(|| attribute(tag, "title")).map(str::to_owned);
            found.push(Link {
                form: LinkForm::Markdown,
                target: target.to_owned(),
                fragment: None,
                text,
                embed: true,
                relation: None,
                line: 0,
                range: open..end,
            });
        }
        at = end;
    }
    found.retain(is_attachment);
    found
}

/// The value of an attribute in quotes.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = tag;
    while let Some((before, behind)) = rest.split_once('=') {
        let key = before.trim().rsplit([' ', '\t', '\n', '"', '\'']).next().unwrap_or_default();
        let behind = behind.trim_start();
        let quote = behind.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, after) = behind[1..].split_once(quote)?;
        if key.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_shows() {
        let md = "![a worm](../img/worm.png)\n*The great worm*\n\n![[map.PNG|300x200]] and ![[Deep sea.pdf#page=3|the report]]\nnext\n\n\
                  [sound](a/b.mp3) [[note]] [x](y.md) [site](https://a.b/c.png)\n\n<img width=\"3\" src='f.png' alt=\"a face\">\n";
        let found = attachments(md);
        let found: Vec<_> = found.iter().map(|s| (s.link.target.as_str(), s.words.as_str())).collect();
        assert_eq!(
            found,
            [
                ("../img/worm.png", "a worm The great worm"),
                ("map.PNG", ""),
                ("Deep sea.pdf", "the report next"),
                ("a/b.mp3", "sound"),
                ("f.png", "a face"),
            ]
        );
        assert_eq!(attachments("<img <img src= > <img src='x"), []);
        assert_eq!(attachments(&"<img ".repeat(20_000)), []);
    }
}
