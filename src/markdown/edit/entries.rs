//! Where the keys and values of a block of front matter stand, byte by byte.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::markdown::yaml::Cursor;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// Nothing stands there.
    Empty,
    /// Without quotes.
    Plain,
    /// `'…'`.
    Single,
    /// `"…"`.
    Double,
    /// `|` or `>`.
    Block,
    /// `[…]`.
    FlowList,
    /// `- …` lines.
    BlockList,
    /// A mapping.
    Map,
    /// `*name`.
    Alias,
}

/// A key of the root mapping with its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the line of the key begins.
    pub(super) line: usize,
    /// Behind the colon.
    pub(super) colon: usize,
    /// The value without anchor and tag; empty where nothing stands there.
    pub(super) value: Range<usize>,
    pub(super) written: Written,
    /// The items of a list.
    pub(super) items: Vec<Item>,
}

/// An item of a list.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) range: Range<usize>,
}

/// The entries of a block mapping; `None` where the text is none, or is written in a way that is not edited here (in
/// braces, with `?` keys, with several documents).
pub(super) fn entries(text: &str) -> Option<Vec<Entry>> {
    let mut reader = Reader { text, at: Cursor::default(), out: Vec::new(), open: None, depth: 0 };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        reader.take(&event, span)?;
    }
    Some(reader.out)
}

struct Open {
    entry: Entry,
    /// Whether the value has begun.
    begun: bool,
    /// Where the last content within the value ends.
    end: usize,
}

struct Reader<'t> {
    text: &'t str,
    at: Cursor,
    out: Vec<Entry>,
    open: Option<Open>,
    depth: usize,
}

impl Reader<'_> {
    fn byte(&mut self, index: usize) -> usize {
        self.at.byte(self.text, index)
    }

    fn take(&mut self, event: &Event<'_>, span: Span) -> Option<()> {
        let start = self.byte(span.start.index());
        let end = self.byte(span.end.index()).max(start);
        let start = self.behind_anchor(start, end);
        let trimmed = match event {
            Event::Scalar(_, ScalarStyle::SingleQuoted, ..) => self.quote_end(start, '\'').unwrap_or(end),
            Event::Scalar(_, ScalarStyle::DoubleQuoted, ..) => self.quote_end(start, '"').unwrap_or(end),
            _ => start + self.text[start..end].trim_end().len(),
        };
        match event {
            Event::MappingStart(..) if self.depth == 0 => {
                // A mapping in braces is written otherwise.
                (!self.text[start..].starts_with('{')).then_some(())?;
                self.depth = 1;
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if self.depth == 0 {
                    return None;
                }
                let flow = self.text[start..].starts_with(['[', '{']);
                let list = matches!(event, Event::SequenceStart(..));
                let written = match (list, flow) {
                    (true, true) => Written::FlowList,
                    (true, false) => Written::BlockList,
                    (false, _) => Written::Map,
                };
                self.begin(start, written)?;
                self.depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.depth = self.depth.checked_sub(1)?;
                if self.depth > 0 {
                    // The bracket alone: the parser takes a comment behind it along. The end of a block has none.
                    let flow = self.text[start..].starts_with([']', '}']) && end > start;
                    self.end(if flow { start + 1 } else { 0 });
                }
            }
            Event::Scalar(text, style, ..) => {
                let written = match style {
                    ScalarStyle::Plain if trimmed == start => Written::Empty,
                    ScalarStyle::Plain => Written::Plain,
                    ScalarStyle::SingleQuoted => Written::Single,
                    ScalarStyle::DoubleQuoted => Written::Double,
                    ScalarStyle::Literal | ScalarStyle::Folded => Written::Block,
                };
                if self.depth == 1 && self.open.is_none() {
                    return self.key(text, start, trimmed);
                }
                if written == Written::Block {
                    // The parser tells where the words begin; the value begins with its mark.
                    let from = self.open.as_ref().map_or(0, |open| open.end);
                    let start = from + self.text.get(from..start)?.rfind(['|', '>'])?;
                    self.begin(start, written)?;
                    self.end(self.block_end(start));
                } else {
                    self.begin(start, written)?;
                    self.end(trimmed);
                }
            }
            Event::Alias(..) => {
                if self.depth == 1 && self.open.is_none() {
                    return None;
                }
                self.begin(start, Written::Alias)?;
                self.end(trimmed);
            }
            _ => {}
        }
        Some(())
    }

    /// Where a value begins whose anchor and tag begin at `start`.
    fn behind_anchor(&self, mut start: usize, end: usize) -> usize {
        while start < end && self.text[start..end].starts_with(['&', '!']) {
            let token = self.text[start..end].find([' ', '\t', '\n', '\r']).map_or(end, |at| start + at);
            let rest = &self.text[token..end];
            start = token + rest.len() - rest.trim_start().len();
        }
        start
    }

    /// Behind the closing quote of the text in quotes that begins at `start`.
    fn quote_end(&self, start: usize, quote: char) -> Option<usize> {
        let inner = self.text[start..].strip_prefix(quote)?;
        let mut chars = inner.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' if quote == '"' => drop(chars.next()),
                // `''` stands for one.
                c if c == quote && quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote) => {
                    chars.next();
                }
                c if c == quote => return Some(start + 1 + at + 1),
                _ => {}
            }
        }
        None
    }

    fn key(&mut self, key: &str, start: usize, end: usize) -> Option<()> {
        let line = self.text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let rest = &self.text[end..];
        let colon = end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        // A `?` key, a key in a mapping of another form, an anchor before it.
        let plain = self.text[line..start].trim().is_empty() && self.text[colon..].starts_with(':');
        plain.then_some(())?;
        let entry = Entry {
            key: key.to_owned(),
            line,
            colon: colon + 1,
            value: colon + 1..colon + 1,
            written: Written::Empty,
            items: Vec::new(),
        };
        self.open = Some(Open { entry, begun: false, end: colon + 1 });
        Some(())
    }

    /// A value begins: that of the entry, an item of its list, or something within.
    fn begin(&mut self, start: usize, written: Written) -> Option<()> {
        let depth = self.depth;
        let open = self.open.as_mut()?;
        if depth == 1 && !open.begun {
            open.begun = true;
            open.entry.written = written;
            if written != Written::Empty {
                open.entry.value = start..start;
            }
        } else if depth == 2 && matches!(open.entry.written, Written::FlowList | Written::BlockList) {
            open.entry.items.push(Item { range: start..start });
        }
        Some(())
    }

    /// A value ends; `end` is 0 where it ends with what is within it.
    fn end(&mut self, end: usize) {
        let Some(open) = self.open.as_mut() else { return };
        open.end = open.end.max(end);
        if self.depth == 2
            && let Some(item) = open.entry.items.last_mut()
        {
            item.range.end = open.end.max(item.range.start);
        }
        if self.depth == 1
            && let Some(mut open) = self.open.take()
        {
            open.entry.value.end = open.end.max(open.entry.value.start);
            self.out.push(open.entry);
        }
    }

    /// The end of a `|` or `>` block that begins at `start`: its last line that is indented deeper than the line of
    /// its key.
    fn block_end(&self, start: usize) -> usize {
        let line = self.text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let outer = indent(&self.text[line..]);
        let mut end = start + self.text[start..].find(['\n', '\r']).unwrap_or(self.text.len() - start);
        let mut at = end;
        for line in self.text[end..].split_inclusive('\n') {
            let content = line.trim_end();
            if !content.trim_start().is_empty() {
                if indent(line) <= outer {
                    break;
                }
                end = at + content.len();
            }
            at += line.len();
        }
        start + self.text[start..end].trim_end().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each entry: its key, its value as it is written, how, and its items.
    fn shown(text: &str) -> Vec<String> {
        let one = |entry: Entry| {
            let items: Vec<&str> = entry.items.iter().map(|item| &text[item.range.clone()]).collect();
            format!("{}={:?} {:?} {items:?}", entry.key, &text[entry.value], entry.written)
        };
        entries(text).unwrap().into_iter().map(one).collect()
    }

    #[test]
    fn values_end_where_they_end() {
        for end in ["\n", "\r\n"] {
            let text = "a: x y # c\nb: 'i''t' # c\nc: \"q\\\"\" # c\nd: [1, 'b'] # c\ne: |\n  x\n  y\n\n# c\nf:\n  - x # c\n  # d\n  - 'y'\ng:\nh: last";
            let text = text.replace('\n', end);
            let block = format!("e={:?} Block []", format!("|{end}  x{end}  y"));
            let list = format!("f={:?} BlockList [\"x\", \"'y'\"]", format!("- x # c{end}  # d{end}  - 'y'"));
            assert_eq!(
                shown(&text),
                [
                    "a=\"x y\" Plain []",
                    "b=\"'i''t'\" Single []",
                    "c=\"\\\"q\\\\\\\"\\\"\" Double []",
                    "d=\"[1, 'b']\" FlowList [\"1\", \"'b'\"]",
                    block.as_str(),
                    list.as_str(),
                    "g=\"\" Empty []",
                    "h=\"last\" Plain []",
                ]
            );
        }
        assert!(entries("{a: 1}").is_none() && entries("? a\n: 1").is_none() && entries("- a").is_none());
    }
}
