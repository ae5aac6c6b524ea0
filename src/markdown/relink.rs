//! Giving a link another target: where the target stands in the link's source, and how a new one is written there.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use super::{canvas, links};
use crate::model::link::{Link, LinkForm};
use crate::model::memory::Memory;
use crate::model::uri::{SCHEME, percent_decoded};

/// One change of a text: these bytes give way to those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes in [`Memory::text`].
    pub range: Range<usize>,
    /// What shall stand there.
    pub new: String,
}

/// In which surroundings a target stands: what must be encoded there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// `[[…]]`: nothing can be encoded.
    Wiki,
    /// `[[viking://…]]`.
    WikiAddress,
    /// `(…)`, or the destination of `[label]: …`.
    Bare,
    /// `<…>`.
    Angle,
    /// A value of the front matter.
    Scalar,
}

/// The longest destination of a reference that is looked for by comparing.
const MAX_SOURCE: usize = 16 << 10;

/// The changes that give a link of a memory the target `new` (a decoded path without fragment), in the form and
/// encoding that it has. Several where the link names a definition that stands more than once; `None` where the target
/// cannot be written in that form, or the link names a revision, which keeps its old names.
#[must_use]
pub fn retarget(memory: &Memory, link: &Link, new: &str) -> Option<Vec<TextEdit>> {
    if memory.path.is_canvas() {
        return canvas::retarget(memory, link, new);
    }
    let change = |spot: Spot| {
        let raw = memory.text.get(spot.path.clone())?;
        let new = written(raw, new, spot.context, link.form)?;
        Some(placed(memory, link, spot.path, spot.context, new))
    };
    places(memory, link)?.into_iter().map(change).collect()
}

/// The changes that give a link of a memory the fragment `new` (without its `#`; names of headings as they read, or
/// `^id`), in the form and encoding that it has. `None` as for [`retarget`], or where it has no fragment now.
#[must_use]
pub fn refragment(memory: &Memory, link: &Link, new: &str) -> Option<Vec<TextEdit>> {
    if memory.path.is_canvas() {
        return canvas::refragment(memory, link, new);
    }
    let change = |spot: Spot| {
        let whole = memory.text.get(spot.path.end..spot.end)?;
        let raw = whole.strip_prefix('#').or_else(|| whole.trim_start().strip_prefix('#'))?;
        let range = spot.end - raw.trim_start().len()..spot.end;
        let new = fragment_written(raw, new, spot.context)?;
        Some(placed(memory, link, range, spot.context, new))
    };
    places(memory, link)?.into_iter().map(change).collect()
}

/// The changes that give a wikilink another target and leave what it shows: `[[alias]]` becomes `[[new|alias]]`, with
/// `\\|` in a table. `None` where the target cannot be written so, or the link has another form.
#[must_use]
pub fn show_as(memory: &Memory, link: &Link, new: &str) -> Option<Vec<TextEdit>> {
    if memory.path.is_canvas() {
        return canvas::show_as(memory, link, new);
    }
    let mut edits = retarget(memory, link, new)?;
    let [edit] = edits.as_mut_slice() else { return None };
    let source = memory.text.get(link.range.clone()).filter(|source| source.ends_with("]]"))?;
    if link.form != LinkForm::Wiki || link.text.is_some() || edit.range == link.range {
        return (link.form == LinkForm::Wiki && link.text.is_some()).then_some(edits);
    }
    let bar = if link.relation.is_none() && in_table(memory, link.range.start) { "\\|" } else { "|" };
    let close = link.range.start + source.len() - 2;
    let shown = format!("{bar}{}", link.target);
    if edit.range.end == close {
        edit.new.push_str(&shown);
    } else {
        edits.push(TextEdit { range: close..close, new: shown });
    }
    Some(edits)
}

/// Whether a place in the text stands in a table, where `|` ends a cell.
fn in_table(memory: &Memory, at: usize) -> bool {
    let events = Parser::new_ext(memory.body(), super::body::options()).into_offset_iter();
    let tables = events.filter(|(event, _)| matches!(event, Event::Start(Tag::Table(_))));
    tables.map(|(_, range)| range).any(|range| (range.start..range.end).contains(&(at - memory.body_start)))
}

/// A fragment as it is written in its surroundings.
fn fragment_written(raw: &str, new: &str, context: Context) -> Option<String> {
    if new.is_empty() || new.chars().any(char::is_control) {
        return None;
    }
    let unable: &[char] = match context {
        Context::Wiki | Context::WikiAddress => &['|', '[', ']'],
        _ => &[],
    };
    if new.contains(unable) {
        return None;
    }
    let encoded = raw.contains('%') && percent_decoded(raw).is_some();
    let all = encoded && raw.is_ascii() && percent_decoded(raw).is_some_and(|raw| !raw.is_ascii());
    let must = |c: char| match context {
        Context::Wiki => false,
        Context::Bare => {
            c == '%'
                || (all && !c.is_ascii())
                || c.is_whitespace()
                || matches!(c, '(' | ')' | '<' | '>' | '\\' | '"')
        }
        Context::Angle => c == '%' || (all && !c.is_ascii()) || matches!(c, '<' | '>' | '\\'),
        Context::WikiAddress | Context::Scalar => c == '%' || (encoded && c == ' ') || (all && !c.is_ascii()),
    };
    Some(encode(new, must))
}

/// A change of a part of a link, in quotes where it needs some.
fn placed(memory: &Memory, link: &Link, range: Range<usize>, context: Context, new: String) -> TextEdit {
    match context {
        Context::Scalar | Context::Wiki | Context::WikiAddress if link.relation.is_some() => {
            in_yaml(memory, link, range, new)
        }
        _ => TextEdit { range, new },
    }
}

/// Where the parts of a link stand in its memory's text.
struct Spot {
    /// The path: behind the scheme, before `#`.
    path: Range<usize>,
    /// Where the whole destination ends, with its fragment.
    end: usize,
    context: Context,
}

/// The text with some changes made, which must not overlap; `None` where they do.
#[must_use]
pub fn apply(text: &str, edits: &[TextEdit]) -> Option<String> {
    let mut edits: Vec<&TextEdit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    edits.dedup();
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.range.start)?);
        out.push_str(&edit.new);
        at = edit.range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Where the target of a link stands.
fn places(memory: &Memory, link: &Link) -> Option<Vec<Spot>> {
    let source = memory.text.get(link.range.clone())?;
    let start = link.range.start;
    let spot = |path: Range<usize>, end: usize, context: Context| {
        Some(vec![Spot { path: start + path.start..start + path.end, end: start + end, context }])
    };
    let marks = source.len() - source.trim_start_matches('!').len();
    if source[marks..].starts_with("[[") && source.ends_with("]]") {
        let inner = marks + 2..source.len() - 2;
        let name = &source[inner.clone()];
        let name = name.split('|').next()?;
        let name = name.strip_suffix('\\').unwrap_or(name);
        let from = inner.start + name.len() - name.trim_start().len();
        let name = name.trim();
        return match name.strip_prefix(SCHEME) {
            Some(_) => {
                let range = address(source, from..from + name.len())?;
                spot(range, from + name.len(), Context::WikiAddress)
            }
            None => {
                let path = name.split('#').next()?.trim_end();
                spot(from..from + path.len(), from + name.len(), Context::Wiki)
            }
        };
    }
    if source.starts_with(SCHEME) {
        let range = address(source, 0..source.len())?;
        return spot(range, source.len(), Context::Scalar);
    }
    if source.starts_with('<') && source.ends_with('>') {
        let range = address(source, 1..source.len() - 1)?;
        return spot(range, source.len() - 1, Context::Angle);
    }
    if source.ends_with(')')
        && let Some((range, angle)) = inline(source, link)
    {
        let end = range.end;
        let range = address(source, range)?;
        return spot(range, end, if angle { Context::Angle } else { Context::Bare });
    }
    definitions(memory, link)
}

/// The path's part of an address: behind the scheme, before `#`. `None` where it names a revision.
fn address(source: &str, range: Range<usize>) -> Option<Range<usize>> {
    let raw = &source[range.clone()];
    let scheme = raw.get(..SCHEME.len()).is_some_and(|head| head.eq_ignore_ascii_case(SCHEME));
    let from = range.start + if scheme { SCHEME.len() } else { 0 };
    let path = source[from..range.end].split('#').next()?;
    if scheme && path.contains('?') {
        return None;
    }
    Some(from..from + path.len())
}

/// The destination of `[text](destination "title")`, and whether it has `<…>` around it: looked for from the end, and
/// taken where it is what the link was read as.
fn inline(source: &str, link: &Link) -> Option<(Range<usize>, bool)> {
    let mut before = source.len();
    // A text or title may hold `](` itself; a source with very many of them is not one that somebody wrote.
    for _ in 0..64 {
        let at = source[..before].rfind("](")?;
        if let Some(found) = destination(source, at + 2)
            && is_target(&source[found.0.clone()], link)
        {
            return Some(found);
        }
        before = at;
    }
    None
}

/// The destination that begins at `at`, white space left out.
fn destination(source: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let rest = &source[at..];
    let at = at + rest.len() - rest.trim_start().len();
    let rest = &source[at..];
    if let Some(inner) = rest.strip_prefix('<') {
        let mut escaped = false;
        for (index, c) in inner.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '>' => return Some((at + 1..at + 1 + index, true)),
                '\n' | '<' => return None,
                _ => {}
            }
        }
        return None;
    }
    let (mut depth, mut escaped) = (0u32, false);
    for (index, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' if depth == 0 => return Some((at..at + index, false)),
            ')' => depth -= 1,
            c if c.is_whitespace() => return Some((at..at + index, false)),
            _ => {}
        }
    }
    Some((at..source.len(), false))
}

/// Whether a destination as it is written is that of a link.
fn is_target(raw: &str, link: &Link) -> bool {
    let read = links::destination(&unescaped(raw), 0..0, 0);
    read.form == link.form && read.target == link.target && read.fragment == link.fragment
}

/// A destination without its backslashes. Character references are not undone: such a link is left as it is.
fn unescaped(raw: &str) -> String {
    if !raw.contains('\\') {
        return raw.to_owned();
    }
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => {
                out.push(*next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// The destinations of the definitions that could be those of `[text][label]`.
fn definitions(memory: &Memory, link: &Link) -> Option<Vec<Spot>> {
    let body = memory.body();
    let parser = Parser::new_ext(body, super::body::options());
    let mut found = Vec::new();
    for (_, definition) in parser.reference_definitions().iter() {
        let span = definition.span.clone();
        let source = body.get(span.clone()).filter(|source| source.len() < MAX_SOURCE);
        let Some(at) = source.and_then(|source| source.find("]:")) else { continue };
        let Some((range, angle)) = source.and_then(|source| destination(source, at + 2)) else { continue };
        let Some(source) = source else { continue };
        if is_target(&source[range.clone()], link) {
            let from = memory.body_start + span.start;
            let end = from + range.end;
            let range = address(source, range)?;
            let context = if angle { Context::Angle } else { Context::Bare };
            found.push(Spot { path: from + range.start..from + range.end, end, context });
        }
    }
    (!found.is_empty()).then_some(found)
}

/// A target as it is written in its surroundings. Segments that stay keep the bytes that they had.
fn written(raw: &str, new: &str, context: Context, form: LinkForm) -> Option<String> {
    if new.chars().any(char::is_control) {
        return None;
    }
    match context {
        Context::Wiki if new.contains(['#', '|', '[', ']']) || new.ends_with('\\') => return None,
        Context::Wiki => return Some(new.to_owned()),
        Context::WikiAddress if new.contains(['|', '[', ']']) => return None,
        _ => {}
    }
    let read = |raw: &str| {
        let plain = if context == Context::Scalar { raw.to_owned() } else { unescaped(raw) };
        percent_decoded(&plain).unwrap_or(plain)
    };
    let kept: Vec<(String, &str)> = raw.split('/').map(|raw| (read(raw), raw)).collect();
    let encoded = raw.contains('%') && percent_decoded(raw).is_some();
    let all = encoded && raw.is_ascii() && !read(raw).is_ascii();
    let spaces = encoded && !raw.contains(' ') && read(raw).contains(' ');
    let must = |c: char| {
        matches!(c, '%' | '#' | '?')
            || (all && !c.is_ascii())
            || (spaces && c == ' ')
            || match context {
                Context::Bare => c.is_whitespace() || matches!(c, '(' | ')' | '<' | '>' | '\\' | '"'),
                Context::Angle => matches!(c, '<' | '>' | '\\'),
                _ => false,
            }
    };
    let segments = new.split('/').map(|segment| {
        let same = kept.iter().find(|(name, _)| name == segment && !segment.is_empty());
        same.map_or_else(|| encode(segment, must), |(_, raw)| (*raw).to_owned())
    });
    let joined = segments.collect::<Vec<_>>().join("/");
    // `a:b` at the head of a relative path would be read as a scheme.
    let scheme = form == LinkForm::Markdown && crate::model::link::is_external(&joined);
    Some(if scheme { format!("./{joined}") } else { joined })
}

fn encode(segment: &str, must: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(segment.len());
    for c in segment.chars() {
        if must(c) {
            let mut utf8 = [0; 4];
            c.encode_utf8(&mut utf8).bytes().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// A change within a value of the front matter, which may need other quotes for what comes in.
fn in_yaml(memory: &Memory, link: &Link, range: Range<usize>, new: String) -> TextEdit {
    let before = memory.text[..link.range.start].chars().next_back();
    match before {
        Some('"') => TextEdit { range, new: new.replace('\\', "\\\\").replace('"', "\\\"") },
        Some('\'') => TextEdit { range, new: new.replace('\'', "''") },
        _ => {
            let old = &memory.text[link.range.clone()];
            let (from, to) = (range.start - link.range.start, range.end - link.range.start);
            let whole = format!("{}{new}{}", &old[..from], &old[to..]);
            let inner = whole.trim_start_matches("[[").trim_end_matches("]]");
            let risky = inner.contains([',', '[', ']', '{', '}', '"'])
                || inner.contains(": ")
                || inner.contains(" #")
                || inner.ends_with(':');
            if risky {
                let quoted = whole.replace('\\', "\\\\").replace('"', "\\\"");
                TextEdit { range: link.range.clone(), new: format!("\"{quoted}\"") }
            } else {
                TextEdit { range, new }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config::Config;
    use crate::model::path::VaultPath;

    /// The text after its first link got another target.
    fn changed(text: &str, new: &str) -> Option<String> {
        let memory = crate::markdown::read(
            &VaultPath::parse("a/b.md").unwrap(),
            text.as_bytes(),
            &crate::model::config::Config::default(),
        );
        apply(&memory.text, &retarget(&memory, &memory.links[0], new)?)
    }

    #[test]
    fn a_link_keeps_its_form() {
        for (text, new, result) in [
            ("see [[old]].", "new", "see [[new]]."),
            ("![[ old#A#B|图 ]]", "x/新", "![[ x/新#A#B|图 ]]"),
            ("|a|b|\n|-|-|\n|[[old\\|t]]|c|\n", "n", "|a|b|\n|-|-|\n|[[n\\|t]]|c|\n"),
            ("[[old#^id]]", "n", "[[n#^id]]"),
            ("[t](old.md#A%20B \"a](old.md\")", "../n m.md", "[t](../n%20m.md#A%20B \"a](old.md\")"),
            ("[t](<old a.md>)", "n (1).md", "[t](<n (1).md>)"),
            ("[t](x/old.md)", "x/n (1).md", "[t](x/n%20%281%29.md)"),
            ("[t](%E6%97%A7.md)", "新.md", "[t](%E6%96%B0.md)"),
            ("[t](旧.md)", "新.md", "[t](新.md)"),
            ("[t](a%20b/%E6%97%A7.md)", "c/a b/旧.md", "[t](c/a%20b/%E6%97%A7.md)"),
            ("[t](o\\(1\\)/x.md)", "o(1)/y.md", "[t](o\\(1\\)/y.md)"),
            ("[![i](p.png)](old.md)", "n.md", "[![i](p.png)](n.md)"),
            ("[`](old.md)`](old.md)", "n.md", "[`](old.md)`](n.md)"),
            ("<viking://a/old b.md#A>", "n c.md", "<viking://n c.md#A>"),
            ("[t](viking://a/old%20b.md)", "a/n c.md", "[t](viking://a/n%20c.md)"),
            ("[[viking://a/old.md|t]]", "n 100%.md", "[[viking://n 100%25.md|t]]"),
            ("[t][r] and [r]\n\n[r]: <old.md> \"x\"\n", "n.md", "[t][r] and [r]\n\n[r]: <n.md> \"x\"\n"),
            ("[r]\n\n[r]: old.md\n", "n m.md", "[r]\n\n[r]: n%20m.md\n"),
            ("---\na: \"[[old|x]]\"\n---\n", "n", "---\na: \"[[n|x]]\"\n---\n"),
            ("---\na: '[[old]]'\n---\n", "it's", "---\na: '[[it''s]]'\n---\n"),
            ("---\na: [[old]]\n---\n", "n", "---\na: [[n]]\n---\n"),
            ("---\na: [[old]] # c\n---\n", "n", "---\na: [[n]] # c\n---\n"),
            (
                "---\na:\n  - viking://o.md # c\n---\n",
                "n, m.md",
                "---\na:\n  - \"viking://n, m.md\" # c\n---\n",
            ),
            ("---\na: [viking://o.md, b]\n---\n", "n.md", "---\na: [viking://n.md, b]\n---\n"),
        ] {
            assert_eq!(changed(text, new).as_deref(), Some(result), "{text}");
        }
    }

    #[test]
    fn a_fragment_keeps_its_form() {
        let renamed = |text: &str, new: &str| {
            let path = VaultPath::parse("a/b.md").unwrap();
            let memory = crate::markdown::read(&path, text.as_bytes(), &Config::default());
            apply(&memory.text, &refragment(&memory, &memory.links[0], new)?)
        };
        for (text, new, result) in [
            ("see [[old#A b]].", "C d", "see [[old#C d]]."),
            ("![[ old # A | t ]]", "B", "![[ old # B | t ]]"),
            ("[[#A\\|t]]", "B", "[[#B\\|t]]"),
            ("[[old#^a]]", "^b", "[[old#^b]]"),
            ("[t](old.md#A%20b \"T\")", "C (d)", "[t](old.md#C%20%28d%29 \"T\")"),
            ("[t](<old.md#A b>)", "C d", "[t](<old.md#C d>)"),
            ("[t](#a)", "新", "[t](#新)"),
            ("[t](#%E6%97%A7)", "新", "[t](#%E6%96%B0)"),
            ("<viking://old.md#A b>", "C d", "<viking://old.md#C d>"),
            ("[[viking://old.md#A%20b]]", "C d", "[[viking://old.md#C%20d]]"),
            ("[t][r]\n\n[r]: old.md#A 'x'\n", "B", "[t][r]\n\n[r]: old.md#B 'x'\n"),
            ("---\na: viking://old.md#A\n---\n", "B: c", "---\na: \"viking://old.md#B: c\"\n---\n"),
        ] {
            assert_eq!(renamed(text, new).as_deref(), Some(result), "{text}");
        }
        assert_eq!(renamed("[[old]]", "A"), None);
        assert_eq!(renamed("[[old#A]]", "a|b"), None);
        assert_eq!(renamed("<viking://a.md?rev=main#A>", "B"), None);
    }

    #[test]
    fn what_cannot_be_written_is_not() {
        assert_eq!(changed("[[old]]", "C#1"), None);
        assert_eq!(changed("[[old]]", "a|b"), None);
        assert_eq!(changed("<viking://a.md?rev=main>", "b.md"), None, "a revision keeps its names");
    }
}
