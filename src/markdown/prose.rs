//! The passages of a body as a reader hears them: headings, paragraphs, list items and quotes, each in one line.

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::plain::wiki_words;
use super::tokens::is_cjk;

/// What a passage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A heading of a level, 1 to 6.
    Heading(u8),
    /// A paragraph.
    Paragraph,
    /// An item of a list.
    Item,
    /// A paragraph or item within a quote; of a callout without its title.
    Quote,
}

/// Whether a character behind the end of a sentence still belongs to it: a quote or bracket that closes, another mark.
#[must_use]
pub fn closes_sentence(c: char) -> bool {
    "\"')]”’」』）》。！？.!?".contains(c)
}

/// A passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// What it is.
    pub part: Part,
    /// Its words, without marks.
    pub text: String,
}

/// The passages of a piece of Markdown in their order. Code blocks, tables, pictures, embeds, comments, raw HTML and
/// the definitions of footnotes are left out. Linear in time; a text that is too dense with marks has none.
#[must_use]
pub fn passages(md: &str) -> Vec<Passage> {
    if super::body::is_dense(md) {
        return Vec::new();
    }
    let md = super::noise::blanked(md);
    let md = without_comments(&md);
    let md = without_embeds(&md);
    let md = wiki_words(&md);
    let mut found = Found::default();
    for event in Parser::new_ext(&md, super::body::options()) {
        found.take(event);
    }
    found.end();
    found.out
}

#[derive(Default)]
struct Found {
    out: Vec<Passage>,
    open: Option<Part>,
    text: String,
    /// How deep we are in what is left out.
    left_out: u32,
    quotes: u32,
    items: u32,
}

impl Found {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(
                Tag::CodeBlock(_)
                | Tag::Table(_)
                | Tag::FootnoteDefinition(_)
                | Tag::Image { .. }
                | Tag::HtmlBlock,
            ) => self.left_out += 1,
            Event::End(
                TagEnd::CodeBlock
                | TagEnd::Table
                | TagEnd::FootnoteDefinition
                | TagEnd::Image
                | TagEnd::HtmlBlock,
            ) => self.left_out = self.left_out.saturating_sub(1),
            _ if self.left_out > 0 => {}
            Event::Start(Tag::BlockQuote(_)) => {
                self.end();
                self.quotes += 1;
            }
            Event::End(TagEnd::BlockQuote(_)) => {
                self.end();
                self.quotes = self.quotes.saturating_sub(1);
            }
            Event::Start(Tag::Heading { level, .. }) => self.begin(Part::Heading(level as u8)),
            Event::Start(Tag::Item) => {
                self.items += 1;
                self.begin(self.part());
            }
            Event::End(TagEnd::Item) => {
                self.end();
                self.items = self.items.saturating_sub(1);
            }
            Event::Start(Tag::Paragraph) => self.begin(self.part()),
            Event::Start(Tag::List(_)) | Event::End(TagEnd::Heading(_) | TagEnd::Paragraph) => self.end(),
            Event::Text(words) | Event::Code(words) | Event::InlineMath(words) => self.say(&words),
            Event::SoftBreak | Event::HardBreak => self.text.push('\n'),
            _ => {}
        }
    }

    fn part(&self) -> Part {
        match (self.quotes, self.items) {
            (0, 0) => Part::Paragraph,
            (0, _) => Part::Item,
            _ => Part::Quote,
        }
    }

    fn begin(&mut self, part: Part) {
        self.end();
        self.open = Some(part);
    }

    fn say(&mut self, words: &str) {
        if self.open.is_none() {
            self.open = Some(self.part());
        }
        self.text.push_str(words);
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        let Some(part) = self.open.take() else { return };
        let shown = match part {
            Part::Quote if text.trim_start().starts_with("[!") => {
                text.trim_start().split_once('\n').map_or("", |(_, rest)| rest)
            }
            Part::Item => without_mark(text.trim_start()),
            _ => text.as_str(),
        };
        let text = one_line(shown);
        if !text.is_empty() {
            self.out.push(Passage { part, text });
        }
    }
}

/// A text in one line: runs of white space are one space, and none where a line was broken between CJK characters.
/// Control characters count as white space; a block's id at the end goes.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    let mut broken = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = true;
            broken |= c == '\n';
            continue;
        }
        if gap && !out.is_empty() && !(broken && is_cjk(c) && out.chars().next_back().is_some_and(is_cjk)) {
            out.push(' ');
        }
        (gap, broken) = (false, false);
        out.push(c);
    }
    match out.rsplit_once(" ^") {
        Some((words, id)) if super::body::is_block_id(id) => words.to_owned(),
        _ => out,
    }
}

/// The text without `%%…%%`; in code the marks hide nothing.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("%%") {
        return Cow::Borrowed(text);
    }
    let code: Vec<std::ops::Range<usize>> = Parser::new_ext(text, super::body::options())
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))))
        .map(|(_, range)| range)
        .collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for hidden in super::body::comments(text, 0, &code) {
        out.push_str(&text[at..hidden.start]);
        at = hidden.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// A task's own mark at the beginning of an item (`[?] `) is no word of it.
fn without_mark(text: &str) -> &str {
    let mut chars = text.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('['), Some(_), Some(']')) if chars.as_str().starts_with(' ') => chars.as_str(),
        _ => text,
    }
}

/// The text without `![[…]]`.
fn without_embeds(text: &str) -> Cow<'_, str> {
    if !text.contains("![[") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find("![[") {
        let open = at + found;
        out.push_str(&text[at..open]);
        match super::links::wiki_end(text, open + 1) {
            Some(end) => at = end,
            None => {
                out.push_str("![[");
                at = open + 3;
            }
        }
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_hears() {
        let md = "# Head\n\nOne **two**\nthree [[a/b|four]]. ^id\n\n- [?] x\n  - `%%y`%%no%%\n\n> [!note] Title\n> quoted\n\n\
                  ```\ncode\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n![[pic.png]]\n\n![alt](p.png) 靠窗\n座位[^1]\n\n[^1]: gone\n";
        let found: Vec<(Part, String)> = passages(md).into_iter().map(|p| (p.part, p.text)).collect();
        let of = |part, text: &str| (part, text.to_owned());
        assert_eq!(
            found,
            [
                of(Part::Heading(1), "Head"),
                of(Part::Paragraph, "One two three four."),
                of(Part::Item, "x"),
                of(Part::Item, "%%y"),
                of(Part::Quote, "quoted"),
                of(Part::Paragraph, "靠窗座位"),
            ]
        );
    }
}
