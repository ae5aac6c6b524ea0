//! The text of a section, and the words of a heading.

use super::{EditError, Page, line_end, read};
use crate::markdown::lines::Lines;
use crate::markdown::sections::{instead, locate, section};
use crate::model::memory::{Heading, Memory};
use crate::model::uri::Fragment;

/// The heading that a path of names leads to.
fn heading(memory: &Memory, names: &[String]) -> Result<usize, EditError> {
    let part = Fragment::Heading(names.to_vec());
    let missing = || EditError::NoHeading { name: names.join("#"), instead: instead(memory, &part) };
    let range = locate(memory, &part).ok_or_else(missing)?;
    memory.headings.iter().position(|heading| heading.range.start == range.start).ok_or_else(missing)
}

fn outline(headings: &[Heading]) -> Vec<(u8, &str)> {
    headings.iter().map(|heading| (heading.level, heading.text.as_str())).collect()
}

/// Gives a section another text: what stands between its heading and the next one of its level or above, the sections
/// below it included. The empty lines around it stay, and so do footnotes at its end that the new text does not
/// define. `names` is the path of headings, as in `#A#B`.
///
/// # Errors
/// When there is no such heading, or the text would change other sections.
pub fn set_section(bytes: &[u8], names: &[String], body: &str) -> Result<Vec<u8>, EditError> {
    let page = Page::read(bytes)?;
    let memory = &page.memory;
    let index = heading(memory, names)?;
    let text = page.text();
    let whole = section(memory, index);
    let head = &memory.headings[index];
    let head_end = head.range.start + text[head.range.clone()].trim_end().len();
    let nl = line_end(&text[head.range.start..], text);
    let body = body.trim_matches(['\n', '\r']).replace("\r\n", "\n");
    let mut old_end = whole.start + text[whole.clone()].trim_end().len();
    old_end = before_footnotes(memory, head_end..old_end, &body).max(head_end);
    let lead = &text[head_end..old_end];
    let start = head_end + lead.len() - lead.trim_start_matches(['\n', '\r', ' ', '\t']).len();
    let fitted = if nl == "\n" { body.clone() } else { body.replace('\n', nl) };
    let (range, new) = if start >= old_end {
        // Nothing stood there.
        let gap = if fitted.is_empty() { String::new() } else { format!("{nl}{nl}{fitted}") };
        (head_end..head_end.max(old_end), gap)
    } else {
        // Indentation of the first line is part of what is replaced.
        let line = text[..start].rfind(['\n', '\r']).map_or(head_end, |at| (at + 1).max(head_end));
        (line..old_end, fitted)
    };
    let out = page.with(bytes, range, &new);
    let after = read(&out);
    let below =
        memory.headings.iter().skip(index + 1).take_while(|next| next.range.start < whole.end).count();
    let rest = memory.headings.len() - index - 1 - below;
    let same = after.headings.len() > index + rest
        && outline(&after.headings[..=index]) == outline(&memory.headings[..=index])
        && outline(&after.headings[after.headings.len() - rest..])
            == outline(&memory.headings[memory.headings.len() - rest..])
        && after.headings[index + 1..after.headings.len() - rest].iter().all(|new| new.level > head.level)
        && after.front == memory.front;
    let ends = |memory: &Memory, end: usize| memory.text[end..].to_owned();
    let tail = after.text.len().checked_sub(text.len() - whole.end);
    if same
        && tail.is_some_and(|end| {
            after.text.is_char_boundary(end) && ends(&after, end) == ends(memory, whole.end)
        })
    {
        Ok(out)
    } else {
        Err(EditError::NotAlone(format!("the section “{}”", names.join("#"))))
    }
}

/// The end of a section's text before the footnotes at its end, if the new text defines none of them.
fn before_footnotes(memory: &Memory, range: std::ops::Range<usize>, body: &str) -> usize {
    let text = &memory.text;
    let mut end = range.end;
    for footnote in memory.footnotes.iter().rev() {
        let label = format!("[^{}]:", footnote.label);
        let Some(at) = text[range.start..end].rfind(&label).map(|at| range.start + at) else { break };
        let starts_line = text[..at].ends_with(['\n', '\r']);
        // Between it and the end stand only its own lines.
        let own =
            text[at..end].lines().skip(1).all(|line| line.trim().is_empty() || line.starts_with([' ', '\t']));
        if !starts_line || !own || body.contains(&label) {
            break;
        }
        end = range.start + text[range.start..at].trim_end().len();
    }
    end
}

/// Gives a heading other words. Its marks, its place and an id behind it stay.
///
/// # Errors
/// When there is no such heading, or the words would not be read as that heading.
pub fn rename_heading(bytes: &[u8], names: &[String], words: &str) -> Result<Vec<u8>, EditError> {
    rename_heading_at(bytes, heading(&Page::read(bytes)?.memory, names)?, words)
}

/// As [`rename_heading`], by the heading's number among all headings, counted from 0.
///
/// # Errors
/// As [`rename_heading`].
pub fn rename_heading_at(bytes: &[u8], index: usize, words: &str) -> Result<Vec<u8>, EditError> {
    let page = Page::read(bytes)?;
    let memory = &page.memory;
    let missing = || EditError::NoHeading { name: format!("number {}", index + 1), instead: None };
    let old = memory.headings.get(index).ok_or_else(missing)?;
    let source = &page.text()[old.range.clone()];
    let line = source.trim_start_matches([' ', '\t']);
    let marks = line.len() - line.trim_start_matches('#').len();
    let not_alone = || EditError::NotAlone(format!("the heading “{}”", old.text));
    let from = source.len() - line.len() + marks;
    let from = from + source[from..].len() - source[from..].trim_start_matches([' ', '\t']).len();
    let mut to = if marks > 0 {
        source.find(['\n', '\r']).unwrap_or(source.len())
    } else {
        // A row of `=` or `-` below: the last line.
        let content = source.trim_end();
        source[..content.rfind(['\n', '\r']).ok_or_else(not_alone)?].trim_end().len()
    };
    to = from + source[from..to].trim_end().len();
    if marks > 0 {
        let closed = source[from..to].trim_end_matches('#');
        if closed.len() < to - from && closed.ends_with([' ', '\t']) {
            to = from + closed.trim_end().len();
        }
    }
    if let Some((before, id)) = source[from..to].rsplit_once(" ^")
        && crate::markdown::is_block_id(id)
    {
        to = from + before.trim_end().len();
    }
    let range = old.range.start + from..old.range.start + to;
    let out = page.with(bytes, range, words.trim());
    let after = read(&out);
    let mut expected = outline(&memory.headings);
    expected[index].1 = words.trim();
    let plain = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    let same = after.headings.len() == expected.len()
        && outline(&after.headings).iter().zip(&expected).enumerate().all(|(at, (new, old))| {
            new.0 == old.0 && (new.1 == old.1 || (at == index && plain(new.1) == plain(old.1)))
        });
    if same && after.front == memory.front && !words.trim().is_empty() { Ok(out) } else { Err(not_alone()) }
}

/// Gives a block another id.
///
/// # Errors
/// When there is no such block, or the new one cannot be an id: letters, digits and `-`.
pub fn rename_block(bytes: &[u8], id: &str, new: &str) -> Result<Vec<u8>, EditError> {
    if !crate::markdown::is_block_id(new) {
        return Err(EditError::BlockName(new.to_owned()));
    }
    let page = Page::read(bytes)?;
    let blocks = &page.memory.blocks;
    let found = blocks.iter().position(|block| block.id.eq_ignore_ascii_case(id));
    let missing = || {
        let instead = instead(&page.memory, &Fragment::Block(id.to_owned()));
        EditError::NoBlock { id: id.to_owned(), instead }
    };
    let index = found.ok_or_else(missing)?;
    let lines = Lines::of(page.text());
    let line = blocks[index].line;
    let start = lines.start(line).unwrap_or_default();
    let mark = page.text()[start..lines.end(line)].rfind(&format!("^{}", blocks[index].id));
    let not_alone = || EditError::NotAlone(format!("the block ^{id}"));
    let from = start + mark.ok_or_else(not_alone)? + 1;
    let out = page.with(bytes, from..from + blocks[index].id.len(), new);
    let after = read(&out);
    let same = after.blocks.len() == blocks.len()
        && after.blocks.iter().zip(blocks).enumerate().all(|(at, (now, was))| {
            now.line == was.line && now.id == if at == index { new } else { was.id.as_str() }
        });
    if same { Ok(out) } else { Err(not_alone()) }
}
