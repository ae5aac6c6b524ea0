//! A memory cut into the pieces that are indexed.
//!
//! A section that fits is one chunk, however short; a heading without words of its own goes with the section below
//! it. A section that does not fit is cut between its blocks (paragraphs, whole code blocks, whole tables), a block
//! that does not fit between its sentences or lines, a sentence that does not fit between its words. Only there do
//! neighbours overlap, by 10 to 20 % of the size. Every chunk is a range of the text, and together they hold all of
//! it that is not blank.

use std::ops::Range;

use super::lines::Lines;
use super::prose::closes_sentence;
use super::tokens::quarters;
use crate::model::memory::{Chunk, Heading, Memory};

/// Cuts a memory's body into chunks of at most `max_tokens` (see [`super::tokens`]; at least 16). Linear in time.
#[must_use]
pub fn chunks(memory: &Memory, max_tokens: u32) -> Vec<Chunk> {
    let text = memory.text.as_str();
    let lines = Lines::of(text);
    let limit = max_tokens.max(16).saturating_mul(4);
    let mut out = Vec::new();
    let mut cutter = Cutter { text, limit, ranges: Vec::new() };
    for section in sections(memory) {
        cutter.section(section.range);
        out.extend(cutter.ranges.drain(..).map(|range| Chunk {
            headings: section.headings.clone(),
            line: lines.line(range.start),
            range,
        }));
    }
    out
}

struct Section {
    headings: Vec<String>,
    range: Range<usize>,
}

/// The sections of the body in order. A heading within a quote or list opens none.
fn sections(memory: &Memory) -> Vec<Section> {
    let text = memory.text.as_str();
    let opens = |heading: &&Heading| {
        let before = text[..heading.range.start].trim_end_matches(' ');
        heading.range.start >= memory.body_start
            && (before.len() == memory.body_start || before.ends_with(['\n', '\r']) || before.is_empty())
    };
    let mut out: Vec<Section> = Vec::new();
    let mut path: Vec<&Heading> = Vec::new();
    let mut start = memory.body_start;
    // Where the words of the present section begin: behind its heading.
    let mut words = memory.body_start;
    let above = |path: &[&Heading]| path.iter().map(|h| h.text.clone()).filter(|t| !t.is_empty()).collect();
    for heading in memory.headings.iter().filter(opens) {
        if !text[words..heading.range.start].trim().is_empty() {
            out.push(Section { headings: above(&path), range: start..heading.range.start });
            start = heading.range.start;
        }
        path.retain(|open| open.level < heading.level);
        path.push(heading);
        words = heading.range.end;
    }
    if !text[start..].trim().is_empty() {
        out.push(Section { headings: above(&path), range: start..text.len() });
    }
    out
}

/// A part of a section that is not cut further, with its weight in quarters of a token.
struct Piece {
    range: Range<usize>,
    weight: u32,
    /// Whether it may be cut for an overlap: words, but no code and no table.
    prose: bool,
}

struct Cutter<'a> {
    text: &'a str,
    limit: u32,
    ranges: Vec<Range<usize>>,
}

fn weigh(text: &str) -> u32 {
    text.chars().fold(0u32, |sum, c| sum.saturating_add(quarters(c)))
}

impl Cutter<'_> {
    fn section(&mut self, range: Range<usize>) {
        let weight = weigh(&self.text[range.clone()]);
        if weight <= self.limit {
            self.emit(range);
            return;
        }
        let mut pieces = Vec::new();
        for block in blocks(self.text, range) {
            self.cut(block, &mut pieces);
        }
        self.pack(&pieces);
    }

    /// Adds a range without the white space at its ends.
    fn emit(&mut self, range: Range<usize>) {
        let text = &self.text[range.clone()];
        let start = range.start + (text.len() - text.trim_start().len());
        let end = range.start + text.trim_end().len();
        if start < end {
            self.ranges.push(start..end);
        }
    }

    /// Adds a range unless all that it has beyond an overlap, from `new` on, is white space.
    fn emit_new(&mut self, range: Range<usize>, new: usize) {
        if !self.text[new..range.end].trim().is_empty() {
            self.emit(range);
        }
    }

    /// Cuts a block into pieces that fit.
    fn cut(&self, block: Block, out: &mut Vec<Piece>) {
        let weight = weigh(&self.text[block.range.clone()]);
        if weight <= self.limit {
            out.push(Piece { range: block.range, weight, prose: block.prose });
            return;
        }
        let ends: Vec<usize> =
            if block.prose { sentences(self.text, &block.range) } else { line_ends(self.text, &block.range) };
        let mut start = block.range.start;
        for end in ends {
            let weight = weigh(&self.text[start..end]);
            if weight <= self.limit {
                out.push(Piece { range: start..end, weight, prose: block.prose });
            } else {
                self.cut_words(start..end, block.prose, out);
            }
            start = end;
        }
    }

    /// Cuts what has no sentences: at white space in the last quarter before the limit, else between characters.
    fn cut_words(&self, range: Range<usize>, prose: bool, out: &mut Vec<Piece>) {
        // Half the limit leaves room for an overlap, which prose without sentences can give at any word.
        let limit = self.limit / 2;
        let mut start = range.start;
        let mut weight = 0;
        // The last place at white space, with the weight up to it.
        let mut place: Option<(usize, u32)> = None;
        for (at, c) in self.text[range.clone()].char_indices() {
            let at = range.start + at;
            let more = quarters(c);
            if weight + more > limit {
                let (end, used) = place.filter(|(_, used)| *used > limit / 4 * 3).unwrap_or((at, weight));
                out.push(Piece { range: start..end, weight: used, prose });
                (start, weight, place) = (end, weight - used, None);
            }
            weight += more;
            if c.is_whitespace() {
                place = Some((at + c.len_utf8(), weight));
            }
        }
        if start < range.end {
            out.push(Piece { range: start..range.end, weight, prose });
        }
    }

    /// Puts pieces together up to the limit, each chunk but the first beginning with the end of the one before.
    fn pack(&mut self, pieces: &[Piece]) {
        let mut first = 0;
        let mut start: Option<usize> = None;
        let mut weight = 0u32;
        for (i, piece) in pieces.iter().enumerate() {
            if i > first && weight + piece.weight > self.limit {
                let begin = start.unwrap_or(pieces[first].range.start);
                self.emit_new(begin..piece.range.start, pieces[first].range.start);
                let room = self.limit.saturating_sub(piece.weight).min(self.limit / 5);
                let (from, used) = self.overlap(&pieces[first..i], room);
                (first, start, weight) = (i, Some(from), used);
            }
            weight += piece.weight;
        }
        if let Some(last) = pieces.last() {
            let begin = start.unwrap_or(pieces[first].range.start);
            self.emit_new(begin..last.range.end, pieces[first].range.start);
        }
    }

    /// Where the overlap with these pieces begins, and its weight: whole pieces from the end up to `room`; if they are
    /// under a tenth of the limit, words of the prose before them too.
    fn overlap(&self, pieces: &[Piece], room: u32) -> (usize, u32) {
        let mut from = pieces.last().map_or(0, |piece| piece.range.end);
        let mut weight = 0;
        for piece in pieces.iter().rev() {
            if weight + piece.weight <= room {
                from = piece.range.start;
                weight += piece.weight;
                continue;
            }
            if weight < self.limit / 10 && piece.prose {
                let (start, used) = tail(self.text, &piece.range, room - weight);
                (from, weight) = (start, weight + used);
            }
            break;
        }
        (from, weight)
    }
}

/// The end of a range up to a weight, beginning with a word if there is white space.
fn tail(text: &str, range: &Range<usize>, room: u32) -> (usize, u32) {
    let mut weight = 0;
    let mut word: Option<(usize, u32)> = None;
    let mut start = range.end;
    for (at, c) in text[range.clone()].char_indices().rev() {
        if weight + quarters(c) > room {
            break;
        }
        if c.is_whitespace() && start < range.end {
            word = Some((start, weight));
        }
        weight += quarters(c);
        start = range.start + at;
    }
    word.filter(|(_, used)| *used > room / 2).unwrap_or((start, weight))
}

/// What stands between empty lines, or a whole fenced block of code.
struct Block {
    range: Range<usize>,
    prose: bool,
}

fn blocks(text: &str, range: Range<usize>) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut fence: Option<(char, usize)> = None;
    let mut at = range.start;
    for end in line_ends(text, &range) {
        let line = text[at..end].trim();
        if let Some((mark, length)) = fence {
            if run(line, mark) >= length && line.chars().all(|c| c == mark) {
                fence = None;
                out.push(Block { range: open.take().map_or(at, |b| b.range.start)..end, prose: false });
            }
        } else if let Some(opening) = opening(line) {
            out.extend(open.take().map(|block| Block { range: block.range.start..at, ..block }));
            fence = Some(opening);
            open = Some(Block { range: at..at, prose: false });
        } else if line.is_empty() {
            // White space goes with what stands before it.
            out.extend(open.take().map(|block| Block { range: block.range.start..end, ..block }));
        } else if open.is_none() {
            open = Some(Block { range: at..at, prose: !is_row(line) });
        }
        at = end;
    }
    out.extend(open.map(|block| Block { range: block.range.start..range.end, ..block }));
    // Blank lines between belong to the block before, so that ranges join.
    let mut start = range.start;
    for block in &mut out {
        block.range.start = start;
        start = block.range.end;
    }
    if let Some(last) = out.last_mut() {
        last.range.end = range.end;
    }
    out
}

fn run(line: &str, mark: char) -> usize {
    line.chars().take_while(|c| *c == mark).count()
}

fn opening(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = run(line, mark);
    (length >= 3 && !(mark == '`' && line[length..].contains('`'))).then_some((mark, length))
}

/// Whether a line is one of a table or list, which are cut between lines.
fn is_row(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with('|')
        || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || (rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") ")))
}

/// The ends of the lines of a range, their line ends included; the last is the range's.
fn line_ends(text: &str, range: &Range<usize>) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut ends: Vec<usize> = (range.start..range.end)
        .filter(|at| match bytes[*at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        })
        .map(|at| at + 1)
        .collect();
    if ends.last() != Some(&range.end) {
        ends.push(range.end);
    }
    ends
}

/// The ends of the sentences of a range, the white space behind them included; the last is the range's.
fn sentences(text: &str, range: &Range<usize>) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = text[range.clone()].char_indices().peekable();
    while let Some((_, c)) = chars.next() {
        let latin = matches!(c, '.' | '!' | '?');
        if !latin && !matches!(c, '。' | '！' | '？' | '…' | '；') {
            continue;
        }
        while chars.next_if(|(_, c)| *c == '…' || closes_sentence(*c)).is_some() {}
        let mut spaced = false;
        while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {
            spaced = true;
        }
        if (!latin || spaced)
            && let Some((at, _)) = chars.peek()
        {
            ends.push(range.start + at);
        }
    }
    ends.push(range.end);
    ends
}
