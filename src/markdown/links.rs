//! The parts of a link as it is written.

use std::ops::Range;

use super::yaml::{Entry, Kind, Node};
use crate::model::finding::{Finding, Severity};
use crate::model::link::{Link, LinkForm};
use crate::model::uri::{SCHEME, percent_decoded};

/// The longest `[[…]]` that is looked for, in bytes: two paths' worth. It bounds the search for the closing brackets.
const MAX_WIKI: usize = 4096;

/// The end of the `[[…]]` that begins at `at`, if one does: on one line, without another `[[` in it.
pub(super) fn wiki_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(at + MAX_WIKI);
    let mut i = at + 2;
    if bytes.get(i) == Some(&b'[') {
        return None;
    }
    while i + 1 < limit {
        match bytes[i] {
            b'\n' | b'\r' => return None,
            b'[' if bytes[i + 1] == b'[' => return None,
            b']' if bytes[i + 1] == b']' => return (i > at + 2).then_some(i + 2),
            _ => i += 1,
        }
    }
    None
}

/// Reads `[[target#fragment|text]]`, brackets included. `\|` stands for `|`, as it must in a table.
pub(super) fn wiki(source: &str, range: Range<usize>, embed: bool, line: u32) -> Link {
    let inner = source.trim_start_matches('!');
    let inner = inner.strip_prefix("[[").and_then(|t| t.strip_suffix("]]")).unwrap_or(inner);
    let (name, text) = match inner.split_once('|') {
        Some((name, text)) => (name.strip_suffix('\\').unwrap_or(name), Some(text.trim().to_owned())),
        None => (inner, None),
    };
    let name = name.trim();
    if name.starts_with(SCHEME) {
        return Link { text, embed, ..uri(name, range, line) };
    }
    let (target, fragment) = match name.split_once('#') {
        Some((target, fragment)) => (target.trim_end(), Some(fragment.trim().to_owned())),
        None => (name, None),
    };
    Link {
        form: LinkForm::Wiki,
        target: target.to_owned(),
        fragment: fragment.filter(|f| !f.is_empty()),
        text: text.filter(|t| !t.is_empty()),
        embed,
        relation: None,
        line,
        range,
    }
}

/// Reads a `viking://` address as a link. One that is malformed keeps its text, and leads nowhere.
pub(super) fn uri(address: &str, range: Range<usize>, line: u32) -> Link {
    let rest = address.strip_prefix(SCHEME).unwrap_or(address);
    let (rest, fragment) = match rest.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment.to_owned())),
        None => (rest, None),
    };
    let path = rest.split_once('?').map_or(rest, |(path, _)| path);
    let slash_hidden = path.to_ascii_lowercase().contains("%2f");
    let decoded = percent_decoded(path).filter(|_| !slash_hidden);
    Link {
        form: LinkForm::Uri,
        target: decoded.unwrap_or_else(|| address.to_owned()),
        fragment: fragment.filter(|f| !f.is_empty()),
        text: None,
        embed: false,
        relation: None,
        line,
        range,
    }
}

/// Reads the destination of `[text](destination)`.
pub(super) fn destination(dest: &str, range: Range<usize>, line: u32) -> Link {
    let dest = dest.trim();
    if dest.get(..SCHEME.len()).is_some_and(|head| head.eq_ignore_ascii_case(SCHEME)) {
        return uri(&format!("{SCHEME}{}", &dest[SCHEME.len()..]), range, line);
    }
    let (form, embed, relation, text) = (LinkForm::Markdown, false, None, None);
    if crate::model::link::is_external(dest) {
        return Link { form, target: dest.to_owned(), fragment: None, text, embed, relation, line, range };
    }
    let decoded = |text: &str| percent_decoded(text).unwrap_or_else(|| text.to_owned());
    let (target, fragment) = match dest.split_once('#') {
        Some((target, fragment)) => (target, Some(decoded(fragment)).filter(|f| !f.is_empty())),
        None => (dest, None),
    };
    Link { form, target: decoded(target), fragment, text, embed, relation, line, range }
}

/// The links that are values of properties, and the slips in them.
pub(super) fn of_properties(
    text: &str,
    start: usize,
    entries: &[Entry],
    lines: &super::lines::Lines,
) -> (Vec<Link>, Vec<Finding>) {
    let mut found = Properties { text, start, lines, links: Vec::new(), slips: Vec::new() };
    for entry in entries {
        found.value(&entry.key, &entry.value);
    }
    (found.links, found.slips)
}

struct Properties<'a> {
    text: &'a str,
    start: usize,
    lines: &'a super::lines::Lines,
    links: Vec<Link>,
    slips: Vec<Finding>,
}

impl Properties<'_> {
    fn value(&mut self, relation: &str, node: &Node) {
        match &node.kind {
            Kind::Scalar(text, _) => self.scalar(relation, node, text),
            Kind::List(items) => match bare_wiki(node) {
                Some(name) => self.unquoted(relation, node, name),
                None => {
                    self.comma(items);
                    for item in items {
                        match (&item.kind, bare_wiki(item)) {
                            (_, Some(name)) => self.unquoted(relation, item, name),
                            (Kind::Scalar(text, _), _) => self.scalar(relation, item, text),
                            // Only a value, or a value of a list, is a relation.
                            _ => {}
                        }
                    }
                }
            },
            Kind::Map(_) => {}
        }
    }

    fn place(&self, node: &Node) -> (Range<usize>, u32) {
        let range = self.start + node.range.start..self.start + node.range.end;
        let line = self.lines.line(range.start);
        (range, line)
    }

    fn scalar(&mut self, relation: &str, node: &Node, value: &str) {
        let value = value.trim();
        let (outer, line) = self.place(node);
        // The link's own bytes within the quotes, where they stand there as they are.
        let within = self.text.get(outer.clone()).and_then(|source| source.find(value));
        let range = within.map_or(outer.clone(), |at| outer.start + at..outer.start + at + value.len());
        let link = if value.starts_with("[[") || value.starts_with("![[") {
            let at = value.len() - value.trim_start_matches('!').len();
            (wiki_end(value, at) == Some(value.len())).then(|| wiki(value, range, at > 0, line))
        } else if value.starts_with(SCHEME) {
            Some(uri(value, range, line))
        } else {
            markdown(value).map(|(text, dest)| Link { text, ..destination(dest, range, line) })
        };
        if let Some(link) = link {
            self.links.push(Link { relation: Some(relation.to_owned()), ..link });
        }
    }

    /// `[[name]]` without quotes: YAML reads a list in a list.
    fn unquoted(&mut self, relation: &str, node: &Node, name: &str) {
        let (range, line) = self.place(node);
        let link = wiki(&format!("[[{name}]]"), range, false, line);
        self.links.push(Link { relation: Some(relation.to_owned()), ..link });
        let message = format!("`[[{name}]]` without quotes is a list in a list for YAML");
        let finding = Finding::new("schema.unquoted-link", Severity::Warning, message);
        self.slips.push(finding.at_line(line).with_fix(format!("write \"[[{name}]]\"")));
    }

    /// `[viking://user/Smith, John.md]`: a comma in a name makes two items of one.
    fn comma(&mut self, items: &[Node]) {
        for pair in items.windows(2) {
            let (Kind::Scalar(first, true), Kind::Scalar(second, true)) = (&pair[0].kind, &pair[1].kind)
            else {
                continue;
            };
            let ends = |text: &str| text.ends_with(".md") || text.contains(".md#") || text.ends_with("]]");
            let open =
                (first.starts_with(SCHEME) || first.contains('/')) && !ends(first) && !first.ends_with('/');
            let (_, line) = self.place(&pair[0]);
            // Items on lines of their own are two for certain.
            if open && ends(second) && !second.contains("://") && self.place(&pair[1]).1 == line {
                let whole = format!("{first}, {second}");
                let message = format!("the comma makes two items of `{whole}`");
                let finding = Finding::new("schema.comma-in-link", Severity::Warning, message);
                self.slips.push(finding.at_line(line).with_fix(format!("quote it: \"{whole}\"")));
            }
        }
    }
}

/// The name in an unquoted `[[name]]`.
fn bare_wiki(node: &Node) -> Option<&str> {
    let Kind::List(outer) = &node.kind else { return None };
    let [Node { kind: Kind::List(inner), range }] = outer.as_slice() else { return None };
    let [Node { kind: Kind::Scalar(name, true), .. }] = inner.as_slice() else { return None };
    // Brackets right behind each other; a block list of lists looks different.
    (range.start == node.range.start + 1 && !name.is_empty()).then_some(name)
}

/// The text and destination of a value that is `[text](destination)` as a whole.
fn markdown(value: &str) -> Option<(Option<String>, &str)> {
    let (text, dest) = value.strip_prefix('[')?.strip_suffix(')')?.split_once("](")?;
    let dest = dest.strip_prefix('<').and_then(|d| d.strip_suffix('>')).unwrap_or(dest);
    (!dest.is_empty()).then(|| (Some(text.to_owned()).filter(|t| !t.is_empty()), dest))
}
