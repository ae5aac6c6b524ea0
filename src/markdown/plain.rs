//! Markdown without its marks, for snippets and titles.

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// The words of a piece of Markdown as a reader sees them, in one line: no marks, no addresses, no comments, no
/// block ids. Of a link the shown text, of an image its alternative text, of code its text.
#[must_use]
pub fn plain(md: &str) -> String {
    let md = super::noise::blanked(md);
    let md = wiki_words(&without_comments(&md)).into_owned();
    let mut out = String::with_capacity(md.len());
    let mut definition = 0u32;
    for event in Parser::new_ext(&md, super::body::options()) {
        match event {
            Event::Start(Tag::FootnoteDefinition(_)) => definition += 1,
            Event::End(TagEnd::FootnoteDefinition) => definition = definition.saturating_sub(1),
            Event::Text(text) if definition == 0 => out.push_str(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => out.push_str(&text),
            Event::SoftBreak | Event::HardBreak | Event::Rule => out.push(' '),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::CodeBlock
                | TagEnd::Item
                | TagEnd::TableCell
                | TagEnd::TableHead
                | TagEnd::TableRow
                | TagEnd::BlockQuote(_)
                | TagEnd::HtmlBlock,
            ) => out.push(' '),
            _ => {}
        }
    }
    let words = out.split_whitespace().filter(|word| {
        let id = word.strip_prefix('^').is_some_and(super::body::is_block_id);
        let callout =
            word.strip_prefix("[!").is_some_and(|rest| rest.trim_end_matches(['-', '+']).ends_with(']'));
        !id && !callout
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The text with the words of each `[[…]]` in its place: the alias, else what it names.
pub(super) fn wiki_words(text: &str) -> Cow<'_, str> {
    if !text.contains("[[") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find("[[") {
        let open = at + found;
        let Some(end) = super::links::wiki_end(text, open) else {
            out.push_str(&text[at..open + 1]);
            at = open + 1;
            continue;
        };
        out.push_str(text[at..open].strip_suffix('!').unwrap_or(&text[at..open]));
        let link = super::links::wiki(&text[open..end], open..end, false, 0);
        match (&link.text, &link.fragment) {
            (Some(words), _) => out.push_str(words),
            (None, Some(fragment)) if link.target.is_empty() => out.push_str(fragment),
            _ => out.push_str(&link.target),
        }
        at = end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

pub(super) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("%%") {
        return Cow::Borrowed(text);
    }
    let pieces: Vec<&str> = text.split("%%").collect();
    // An unpaired mark hides nothing.
    let paired = pieces.len() - usize::from(pieces.len().is_multiple_of(2));
    let shown = pieces.iter().enumerate().filter(|(i, _)| i % 2 == 0 || *i >= paired);
    Cow::Owned(shown.map(|(_, piece)| *piece).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_only() {
        for (md, words) in [
            ("**Bold** and `code` [text](a.md \"t\") ![alt](b.png)", "Bold and code text alt"),
            (
                "See [[trips/2026|the trips]], [[seats]] and ![[map.png]]. ^id",
                "See the trips, seats and map.png.",
            ),
            ("# Head\n\n- [ ] one\n- two\n\n> [!note] Tip\n> quoted", "Head one two Tip quoted"),
            ("a %%hidden%% b <!-- gone --> c", "a b c"),
            ("100%% sure", "100 sure"),
            ("claim.[^e1]\n\n[^e1]: evidence", "claim."),
            ("| a | b |\n|---|---|\n| [[x\\|y]] | z |", "a b y z"),
            ("靠窗**座位**，见[[旅行]]。", "靠窗座位，见旅行。"),
        ] {
            assert_eq!(plain(md), words, "{md}");
        }
    }
}
