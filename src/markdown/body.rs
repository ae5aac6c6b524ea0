//! The structure of a body: headings, links, tags, block ids, footnotes.
//!
//! pulldown-cmark says where code, raw HTML, mathematics, headings and Markdown links are. What it does not know, or
//! knows otherwise than the editors that people use, is looked for by our own pass over the rest of the text: `[[…]]`
//! (with `\|` in tables), `%%…%%`, `<viking://…>` with spaces, `#tags`, `^ids`, footnotes line by line.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag as Mark, TagEnd};

use super::lines::Lines;
use super::links;
use crate::model::link::Link;
use crate::model::memory::{BlockId, Footnote, Heading, Tag};
use crate::model::uri::SCHEME;

/// What a body holds.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) headings: Vec<Heading>,
    pub(super) links: Vec<Link>,
    pub(super) tags: Vec<Tag>,
    pub(super) blocks: Vec<BlockId>,
    pub(super) footnotes: Vec<Footnote>,
    pub(super) template: bool,
    /// Whether it has too many marks to be read for its structure.
    pub(super) dense: bool,
}

/// The most marks and line ends of a body whose structure is read. The parser keeps some 60 bytes for each, so a file
/// of nothing but brackets would take many times its size; no note comes near.
const MAX_MARKS: usize = 16 << 20;

pub(super) fn is_dense(body: &str) -> bool {
    let mark = |b: &u8| {
        b.is_ascii_punctuation() && !matches!(b, b'.' | b',' | b'-' | b'/' | b'"' | b'\'')
            || matches!(b, b'\n' | b'\r')
    };
    body.len() > MAX_MARKS && body.as_bytes().iter().filter(|b| mark(b)).count() > MAX_MARKS
}

/// The extensions of Markdown that are read.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
}

/// Reads the body that begins at `start`.
pub(super) fn read(text: &str, start: usize, lines: &Lines) -> Body {
    if is_dense(&text[start..]) {
        return Body { dense: true, ..Body::default() };
    }
    let mut outline = outline(text, start, lines);
    let hidden = comments(text, start, &outline.opaque);
    outline.opaque.extend(hidden.iter().cloned());
    tidy(&mut outline.opaque);
    let mut scan = Scan {
        text,
        lines,
        opaque: &outline.opaque,
        addresses: &outline.addresses,
        opaque_at: 0,
        address_at: 0,
        line_start: start,
        found: Body::default(),
    };
    scan.run(start);
    let mut body = scan.found;
    let wiki: Vec<Range<usize>> = body.links.iter().map(|link| link.range.clone()).collect();
    body.links.extend(outline.links.into_iter().filter(|link| {
        // `[[a]](b)` is a link of ours already, and so is what pulldown-cmark sees within one.
        !within(&wiki, link.range.start) && !within(&hidden, link.range.start)
    }));
    body.links.sort_by_key(|link| (link.range.start, std::cmp::Reverse(link.range.end)));
    body.headings = outline.headings.into_iter().filter(|h| !within(&hidden, h.range.start)).collect();
    body
}

/// Whether an offset is in one of some sorted, disjoint ranges.
fn within(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.start <= at)
}

#[derive(Default)]
struct Outline {
    headings: Vec<Heading>,
    links: Vec<Link>,
    /// Code, raw HTML, mathematics: nothing in them is a link or tag.
    opaque: Vec<Range<usize>>,
    /// Where the address of a Markdown link may stand: no tag is in there.
    addresses: Vec<Range<usize>>,
}

/// What pulldown-cmark knows.
fn outline(text: &str, start: usize, lines: &Lines) -> Outline {
    let mut out = Outline::default();
    let mut heading: Option<Heading> = None;
    let mut open: Vec<Link> = Vec::new();
    let mut code_block = false;
    for (event, range) in Parser::new_ext(&text[start..], options()).into_offset_iter() {
        let range = range.start + start..range.end + start;
        match event {
            Event::Start(Mark::Heading { level, .. }) => {
                let (level, line) = (level as u8, lines.line(range.start));
                heading = Some(Heading { level, text: String::new(), line, range });
            }
            Event::End(TagEnd::Heading(_)) => out.headings.extend(heading.take().map(finish_heading)),
            Event::Start(Mark::CodeBlock(_)) => {
                code_block = true;
                out.opaque.push(range);
            }
            Event::End(TagEnd::CodeBlock) => code_block = false,
            Event::Start(Mark::Link { dest_url, link_type, .. }) => {
                let dest = if link_type == LinkType::Email {
                    format!("mailto:{dest_url}")
                } else {
                    dest_url.to_string()
                };
                open.push(links::destination(&dest, range.clone(), lines.line(range.start)));
            }
            Event::Start(Mark::Image { dest_url, .. }) => {
                let link = links::destination(&dest_url, range.clone(), lines.line(range.start));
                open.push(Link { embed: true, ..link });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(link) = open.pop() {
                    out.addresses.push(link.range.clone());
                    out.links.push(link);
                }
            }
            Event::Code(words) | Event::InlineMath(words) | Event::DisplayMath(words) => {
                if let Some(heading) = &mut heading {
                    heading.text.push_str(&words);
                }
                show(&mut open, &words);
                out.opaque.push(range);
            }
            Event::Html(_) | Event::InlineHtml(_) => out.opaque.push(range),
            Event::Text(words) if !code_block => {
                if let Some(heading) = &mut heading {
                    heading.text.push_str(&words);
                }
                show(&mut open, &words);
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut heading {
                    heading.text.push(' ');
                }
                show(&mut open, " ");
            }
            _ => {}
        }
    }
    tidy(&mut out.opaque);
    tidy(&mut out.addresses);
    out
}

/// Adds words to what the innermost open link shows.
fn show(open: &mut [Link], words: &str) {
    if let Some(link) = open.last_mut() {
        link.text.get_or_insert_default().push_str(words);
    }
}

/// The longest text of a heading, in bytes: it stands in every chunk below it, so a text that is no heading in earnest
/// (a whole page with a row of `=` under it) must not be repeated whole.
pub(super) const MAX_HEADING: usize = 1024;

fn finish_heading(mut heading: Heading) -> Heading {
    heading.text.truncate(heading.text.floor_char_boundary(MAX_HEADING));
    let text = super::plain::wiki_words(&heading.text);
    let text = match text.rsplit_once(" ^") {
        Some((words, id)) if is_block_id(id) => words,
        _ => &text,
    };
    heading.text = text.trim().to_owned();
    heading
}

/// Sorts ranges and joins those that touch.
fn tidy(ranges: &mut Vec<Range<usize>>) {
    ranges.sort_by_key(|range| range.start);
    let mut kept: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges.drain(..) {
        match kept.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => kept.push(range),
        }
    }
    *ranges = kept;
}

pub(super) fn is_block_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Where `%%…%%` hides text. One that begins a line may close anywhere below; one within a line closes before the
/// next empty line, or is no comment.
pub(super) fn comments(text: &str, start: usize, opaque: &[Range<usize>]) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut marks = Vec::new();
    let mut at = start;
    while let Some(found) = text[at..].find("%%") {
        let mark = at + found;
        if !within(opaque, mark) {
            marks.push(mark);
        }
        at = mark + 2;
        while bytes.get(at) == Some(&b'%') {
            at += 1;
        }
    }
    let mut hidden = Vec::new();
    let mut next = 0;
    while let (Some(open), Some(close)) = (marks.get(next), marks.get(next + 1)) {
        let block = begins_line(&text[start..*open]);
        if block || !has_empty_line(&text[*open..*close]) {
            hidden.push(*open..close + 2);
            next += 2;
        } else {
            next += 1;
        }
    }
    hidden
}

/// Whether only white space stands between the last line end and the end of a text; it looks back a little only.
fn begins_line(before: &str) -> bool {
    let spaces = before.bytes().rev().take(64).take_while(|b| matches!(b, b' ' | b'\t')).count();
    matches!(before.as_bytes().get(..before.len() - spaces), Some([] | [.., b'\n' | b'\r']))
}

fn has_empty_line(text: &str) -> bool {
    let mut lines = text.split('\n');
    lines.next();
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() && lines.peek().is_some() {
            return true;
        }
    }
    false
}

/// Our own pass over the bytes.
struct Scan<'a> {
    text: &'a str,
    lines: &'a Lines,
    opaque: &'a [Range<usize>],
    addresses: &'a [Range<usize>],
    opaque_at: usize,
    address_at: usize,
    line_start: usize,
    found: Body,
}

impl Scan<'_> {
    fn run(&mut self, start: usize) {
        let bytes = self.text.as_bytes();
        let mut at = start;
        while at < bytes.len() {
            if let Some(end) = self.opaque_end(at) {
                at = end;
                continue;
            }
            at = match bytes[at] {
                b'[' if bytes.get(at + 1) == Some(&b'[') => self.wiki(at),
                b'[' if bytes.get(at + 1) == Some(&b'^') => self.footnote(at),
                b'<' => self.angle(at),
                b'#' => self.tag(at),
                b'^' => self.block_id(at),
                b'{' if bytes.get(at + 1) == Some(&b'{') => self.placeholder(at),
                b'\n' | b'\r' => {
                    self.line_start = at + 1;
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    /// The end of the opaque range that holds `at`, if one does.
    fn opaque_end(&mut self, at: usize) -> Option<usize> {
        while self.opaque.get(self.opaque_at).is_some_and(|range| range.end <= at) {
            self.opaque_at += 1;
        }
        let range = self.opaque.get(self.opaque_at).filter(|range| range.start <= at)?;
        // A range may end behind a line end.
        if let Some(line) = self.text[at..range.end].rfind(['\n', '\r']) {
            self.line_start = at + line + 1;
        }
        Some(range.end)
    }

    fn in_address(&mut self, at: usize) -> bool {
        while self.addresses.get(self.address_at).is_some_and(|range| range.end <= at) {
            self.address_at += 1;
        }
        self.addresses.get(self.address_at).is_some_and(|range| range.start <= at)
    }

    fn wiki(&mut self, at: usize) -> usize {
        let Some(end) = links::wiki_end(self.text, at) else { return at + 1 };
        // Code in what the link shows is part of it; code that begins in its name, or goes on behind it, is not a link.
        let shows = self.text[at..end].find(['|', '#']).map_or(end, |mark| at + mark);
        let is_code = |range: &Range<usize>| range.start < shows || range.end > end;
        let inner = self.opaque[self.opaque_at.min(self.opaque.len())..].iter();
        let code = inner.take_while(|range| range.start < end).any(is_code);
        let escaped = self.text[..at].ends_with('\\');
        if code || escaped {
            return at + 2;
        }
        let embed = self.text[..at].ends_with('!');
        let range = at - usize::from(embed)..end;
        let link = links::wiki(&self.text[at..end], range, embed, self.lines.line(at));
        if link.target.is_empty() && link.fragment.is_none() {
            return at + 2;
        }
        self.found.links.push(link);
        end
    }

    /// `[^label]:` at the beginning of a line.
    fn footnote(&mut self, at: usize) -> usize {
        let before = &self.text[self.line_start..at];
        if before.len() > 3 || !before.bytes().all(|b| b == b' ') {
            return at + 1;
        }
        let line = self.lines.line(at);
        let end = self.lines.end(line);
        let Some((label, first)) = self.text[at + 2..end].split_once("]:") else { return at + 1 };
        if label.is_empty() || label.contains(['[', ']', ' ']) {
            return at + 1;
        }
        let text_start = end - first.len();
        let text = self.text[text_start..self.footnote_end(line)].trim().to_owned();
        self.found.footnotes.push(Footnote { label: label.to_owned(), text, line });
        text_start
    }

    /// Where a footnote ends: with its line, and the indented ones that follow.
    fn footnote_end(&self, first: u32) -> usize {
        let mut line = first;
        while let Some(start) = self.lines.start(line + 1) {
            let next = &self.text[start..self.lines.end(line + 1)];
            if !(next.starts_with("    ") || next.starts_with('\t')) || next.trim().is_empty() {
                break;
            }
            line += 1;
        }
        self.lines.end(line)
    }

    /// `<viking://…>`, spaces and all, and Templater's `<%`.
    fn angle(&mut self, at: usize) -> usize {
        let rest = &self.text[at + 1..];
        if ["%* ", "% tp.", "%- tp.", "%_ tp.", "%+ tp."].iter().any(|mark| rest.starts_with(mark)) {
            self.found.template = true;
            return at + 1;
        }
        if !rest.starts_with(SCHEME) || self.in_address(at) {
            return at + 1;
        }
        let limit = rest.floor_char_boundary(4096);
        let close = rest[..limit].find(['>', '<', '\n', '\r']).filter(|end| rest.as_bytes()[*end] == b'>');
        let Some(close) = close else { return at + 1 };
        let end = at + 1 + close + 1;
        self.found.links.push(links::uri(&rest[..close], at..end, self.lines.line(at)));
        end
    }

    fn tag(&mut self, at: usize) -> usize {
        let before = self.text[self.line_start..at].chars().next_back();
        let apart = before.is_none_or(|c| c.is_whitespace() || "，。、；：！？（【「『《".contains(c));
        if !apart || self.in_address(at) {
            return at + 1;
        }
        let rest = &self.text[at + 1..];
        let end = rest.find(|c| !in_tag(c)).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches('/');
        if !name.is_empty() && !name.chars().all(|c| c.is_ascii_digit()) {
            self.found.tags.push(Tag { name: name.to_owned(), line: self.lines.line(at) });
        }
        at + 1 + end
    }

    /// `^id` at the end of a line, with white space before.
    fn block_id(&mut self, at: usize) -> usize {
        let before = self.text[self.line_start..at].chars().next_back();
        let rest = &self.text[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
        let trailing = rest[end..].trim_start_matches([' ', '\t']);
        let last = trailing.is_empty() || trailing.starts_with(['\n', '\r']);
        if end > 0 && last && before.is_none_or(char::is_whitespace) {
            self.found.blocks.push(BlockId { id: rest[..end].to_owned(), line: self.lines.line(at) });
        }
        at + 1 + end
    }

    /// `{{title}}`, `{{date:YYYY}}`: what a template's engine fills in.
    fn placeholder(&mut self, at: usize) -> usize {
        let rest = &self.text[at + 2..];
        let known = ["title", "date", "time"].iter().any(|word| {
            rest.strip_prefix(word).is_some_and(|rest| rest.starts_with("}}") || rest.starts_with(':'))
        });
        self.found.template |= known;
        at + 2
    }
}

/// Whether a character may stand in a tag: letters and digits of all scripts, `_`, `-`, `/`, signs beyond ASCII that
/// are no punctuation.
fn in_tag(c: char) -> bool {
    if c.is_alphanumeric() || matches!(c, '_' | '-' | '/') {
        return true;
    }
    !c.is_ascii()
        && !c.is_whitespace()
        && !c.is_control()
        && !matches!(c, '\u{80}'..='\u{BF}' | '\u{2000}'..='\u{206F}' | '\u{3000}'..='\u{303F}' | '\u{FE10}'..='\u{FE1F}'
            | '\u{FE30}'..='\u{FE6F}' | '\u{FF00}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' | '\u{FF3B}'..='\u{FF40}'
            | '\u{FF5B}'..='\u{FF65}')
}
