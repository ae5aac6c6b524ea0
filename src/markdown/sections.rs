//! The part of a memory that a fragment names.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use unicode_normalization::UnicodeNormalization as _;

use super::lines::Lines;
use crate::model::link::name_key;
use crate::model::memory::Memory;
use crate::model::near;
use crate::model::uri::Fragment;

/// The bytes of [`Memory::text`] that a fragment names; `None` where the memory has no such part.
///
/// - A heading: from its marks to the next heading of its level or above. `#A#B` is a B below an A, at any depth.
///   Equal text is looked for first, then text that is equal without regard to case, marks and runs of spaces.
/// - A block: the list item or block that has the id at its end; an id on a line of its own names the block above.
/// - Lines: whole ones, counted from 1. Lines behind the end of the file are left out.
#[must_use]
pub fn locate(memory: &Memory, fragment: &Fragment) -> Option<Range<usize>> {
    match fragment {
        Fragment::Lines(from, to) => {
            let lines = Lines::of(&memory.text);
            Some(lines.start(*from)?..lines.end(*to))
        }
        Fragment::Heading(names) => {
            let exact = |name: &str, text: &str| name.nfc().eq(text.nfc());
            let loose = |name: &str, text: &str| loose_key(name) == loose_key(text);
            let found = heading(memory, names, &exact).or_else(|| heading(memory, names, &loose))?;
            Some(section(memory, found))
        }
        Fragment::Block(id) => block(memory, id),
    }
}

/// How many parts a sentence names.
const NAMED: usize = 12;

/// What a memory has in the place of a part that it does not have, as a sentence: the nearest headings or blocks, else
/// the first ones; `None` where it has none.
#[must_use]
pub fn instead(memory: &Memory, missing: &Fragment) -> Option<String> {
    let (wanted, parts): (&str, Vec<String>) = match missing {
        Fragment::Block(id) => (id, memory.blocks.iter().map(|block| format!("^{}", block.id)).collect()),
        Fragment::Heading(names) => {
            (names.last()?, memory.headings.iter().map(|heading| heading.text.clone()).collect())
        }
        Fragment::Lines(..) => return None,
    };
    let near = near::names(wanted, parts.iter().map(String::as_str), super::renamed::heading_key);
    if !near.is_empty() {
        let near: Vec<String> = near.into_iter().map(|at| format!("#{}", parts[at])).collect();
        return Some(near::question(&near));
    }
    let all: Vec<String> = parts.iter().take(NAMED).map(|part| format!("#{part}")).collect();
    let more = parts.len() - all.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(match (all.is_empty(), missing) {
        (true, Fragment::Block(_)) => "no block of it has an id: write ` ^id` behind one".to_owned(),
        (true, _) => "it has no headings".to_owned(),
        (false, _) => format!("it has {}{more}", all.join(", ")),
    })
}

/// The bytes of the section that a heading opens; `index` counts in [`Memory::headings`].
#[must_use]
pub fn section(memory: &Memory, index: usize) -> Range<usize> {
    let Some(heading) = memory.headings.get(index) else { return 0..0 };
    let next = memory.headings[index + 1..].iter().find(|next| next.level <= heading.level);
    heading.range.start..next.map_or(memory.text.len(), |next| next.range.start)
}

/// What is left of a heading's text when case, marks and spaces do not count. Links cannot hold `#`, `^`, `|`, `[`,
/// `]` and `:`, so editors leave them out.
fn loose_key(text: &str) -> String {
    let words: String = text
        .chars()
        .map(
            |c| if matches!(c, '#' | '^' | '|' | '[' | ']' | ':' | '\\' | '*' | '`' | '%') { ' ' } else { c },
        )
        .collect();
    name_key(&words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The heading at the end of a path of names.
fn heading(memory: &Memory, names: &[String], equal: &dyn Fn(&str, &str) -> bool) -> Option<usize> {
    let (last, above) = names.split_last()?;
    // The headings that are open above the present one, with whether they continue the path.
    let mut open: Vec<(u8, usize)> = Vec::new();
    for (index, heading) in memory.headings.iter().enumerate() {
        open.retain(|(level, _)| *level < heading.level);
        let matched = open.last().map_or(0, |(_, matched)| *matched);
        if matched == above.len() && equal(last, &heading.text) {
            return Some(index);
        }
        let goes_on = above.get(matched).is_some_and(|name| equal(name, &heading.text));
        open.push((heading.level, matched + usize::from(goes_on)));
    }
    None
}

/// The block with an id.
fn block(memory: &Memory, id: &str) -> Option<Range<usize>> {
    let named = memory.blocks.iter().find(|block| block.id == id);
    let named = named.or_else(|| memory.blocks.iter().find(|block| block.id.eq_ignore_ascii_case(id)))?;
    let lines = Lines::of(&memory.text);
    let start = lines.start(named.line)?;
    let line = &memory.text[start..lines.end(named.line)];
    let alone = line.trim().strip_prefix('^').is_some_and(|rest| rest.eq_ignore_ascii_case(id));
    let at = start + line.rfind('^')?;
    let mut above: Option<Range<usize>> = None;
    let mut around: Option<Range<usize>> = None;
    let mut depth = 0u32;
    for (event, range) in Parser::new_ext(memory.body(), super::body::options()).into_offset_iter() {
        let range = range.start + memory.body_start..range.end + memory.body_start;
        match event {
            Event::Start(mark) if is_block(&mark) => {
                if range.contains(&at) && !matches!(mark, Tag::List(_) | Tag::BlockQuote(_)) {
                    around = Some(range.clone());
                }
                if depth == 0 && range.end <= start {
                    above = Some(range);
                }
                depth += 1;
            }
            Event::End(end) if is_block_end(end) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if alone {
        // Right below a paragraph the id's line belongs to it; below a table or code it stands alone.
        return around.filter(|range| range.start < start).or(above);
    }
    around
}

fn is_block(mark: &Tag<'_>) -> bool {
    matches!(
        mark,
        Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::BlockQuote(_)
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::List(_)
            | Tag::Item
            | Tag::Table(_)
            | Tag::FootnoteDefinition(_)
    )
}

fn is_block_end(end: TagEnd) -> bool {
    matches!(
        end,
        TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::BlockQuote(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::Table
            | TagEnd::FootnoteDefinition
    )
}
