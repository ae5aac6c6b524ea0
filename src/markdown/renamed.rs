//! Which parts of a memory got other names: headings with other words, blocks with other ids.
//!
//! Two states of one file are compared. A heading that is gone and one that is new are the same part when what stands
//! below them, their words and their place in the outline say so together, and no other pair says it nearly as well.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::sections::section;
use crate::model::link::name_key;
use crate::model::memory::{Heading, Memory};
use unicode_normalization::UnicodeNormalization as _;

/// The most pairs of headings that are compared.
const COMPARED: usize = 10_000;
/// The least likeness of two headings that are one, from 0 to 1.
const ALIKE: f64 = 0.5;
/// By how much the best pair must be ahead of any other.
const AHEAD: f64 = 0.15;
/// The most names in a path of headings (`#A#B`); Markdown has six levels.
const MAX_NAMES: usize = 32;

/// A heading as links to it are compared: Obsidian writes it without its marks, forges as a slug.
#[must_use]
pub fn heading_key(heading: &str) -> String {
    // Of a heading no more is kept; a link may name all of it.
    let heading = &heading[..heading.floor_char_boundary(super::body::MAX_HEADING)];
    name_key(heading).chars().filter(|c| c.is_alphanumeric()).collect()
}

/// A heading as forges write it in an address: lower case, with `-` for spaces, without other marks.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A heading's words as a link can hold them: without what has a meaning there.
fn linkable(heading: &str) -> String {
    let marks = |c: char| if matches!(c, '#' | '^' | '|' | '[' | ']' | '\\' | ':' | '%') { ' ' } else { c };
    heading.chars().map(marks).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The headings that the names of a fragment (`A`, `A#B`) lead to, one for each name; `None` where one is not there.
///
/// A B below an A comes first, then an A and a B in that order; each time equal words come before words that are equal
/// but for case, and these before words that have the same letters and digits. Then a heading that holds a `#` itself,
/// and at last the number that forges put behind a name that stands several times (`details-1`).
#[must_use]
pub fn named(headings: &[Heading], fragment: &str) -> Option<Vec<usize>> {
    let names: Vec<&str> = fragment.split('#').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() || names.len() > MAX_NAMES {
        return None;
    }
    let ways: [fn(&str) -> String; 3] = [|text| text.nfc().collect(), name_key, heading_key];
    for key in ways {
        let keys: Vec<String> = headings.iter().map(|heading| key(&heading.text)).collect();
        let wanted: Vec<String> = names.iter().map(|name| key(name)).collect();
        if wanted.iter().any(String::is_empty) {
            continue;
        }
        if let Some(found) = nested(headings, &keys, &wanted).or_else(|| in_order(&keys, &wanted)) {
            return Some(found);
        }
    }
    let whole = heading_key(fragment);
    let of = |key: &str| headings.iter().position(|heading| heading_key(&heading.text) == key);
    if let Some(found) = of(&whole).filter(|_| !whole.is_empty()) {
        return Some(vec![found; names.len()]);
    }
    let (name, number) = fragment.rsplit_once('-')?;
    let (key, number) = (heading_key(name), number.parse::<usize>().ok()?);
    let mut all = (0..headings.len()).filter(|at| heading_key(&headings[*at].text) == key);
    let first = all.next()?;
    Some(vec![number.checked_sub(1).and_then(|before| all.nth(before)).unwrap_or(first)])
}

/// A path of names down the outline.
fn nested(headings: &[Heading], keys: &[String], wanted: &[String]) -> Option<Vec<usize>> {
    // The headings that are open above the present one, with those of them that continue the path.
    let mut open: Vec<(u8, Vec<usize>)> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        open.retain(|(level, _)| *level < heading.level);
        let mut path = open.last().map(|(_, path)| path.clone()).unwrap_or_default();
        if wanted.get(path.len()) == Some(&keys[at]) {
            path.push(at);
            if path.len() == wanted.len() {
                return Some(path);
            }
        }
        open.push((heading.level, path));
    }
    None
}

fn in_order(keys: &[String], wanted: &[String]) -> Option<Vec<usize>> {
    let mut rest = keys.iter().enumerate();
    wanted.iter().map(|name| rest.find(|(_, key)| *key == name).map(|(at, _)| at)).collect()
}

/// The other names of the parts of one file.
#[derive(Debug, Default)]
pub struct Renames {
    /// The headings before.
    headings: Vec<Heading>,
    /// New words by the index of the heading before.
    words: BTreeMap<usize, String>,
    /// New ids by the old ones in lower case.
    blocks: HashMap<String, String>,
}

impl Renames {
    /// What one heading of a memory is called from now on.
    #[must_use]
    pub fn heading(memory: &Memory, index: usize, words: &str) -> Renames {
        let words = BTreeMap::from([(index, words.to_owned())]);
        Renames { headings: memory.headings.clone(), words, blocks: HashMap::new() }
    }

    /// What one block is called from now on.
    #[must_use]
    pub fn block(old: &str, new: &str) -> Renames {
        Renames { blocks: HashMap::from([(old.to_lowercase(), new.to_owned())]), ..Renames::default() }
    }

    /// Compares two states of a file.
    #[must_use]
    pub fn between(before: &Memory, now: &Memory) -> Renames {
        let words = headings(before, now).into_iter();
        Renames {
            words: words.map(|(old, new)| (old, now.headings[new].text.clone())).collect(),
            headings: before.headings.clone(),
            blocks: blocks(before, now),
        }
    }

    /// Whether nothing got another name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.blocks.is_empty()
    }

    /// The headings and blocks (`^id`) with their new names.
    pub fn each(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let heading = |(at, new): (&usize, &String)| (self.headings[*at].text.clone(), new.clone());
        let blocks: BTreeMap<&String, &String> = self.blocks.iter().collect();
        let block = |(old, new): (&String, &String)| (format!("^{old}"), format!("^{new}"));
        self.words.iter().map(heading).chain(blocks.into_iter().map(block))
    }

    /// What a fragment (decoded, without its `#`) that named a part before must say now; `None` where no part that it
    /// names got another name. With `slugs`, what was written as forges write headings is written so again.
    #[must_use]
    pub fn fragment(&self, fragment: &str, slugs: bool) -> Option<String> {
        let (path, id) = match fragment.rsplit_once('^') {
            Some((path, id)) if path.is_empty() || path.ends_with('#') => {
                (path.trim_end_matches('#'), Some(id))
            }
            _ => (fragment, None),
        };
        let new_id = id.and_then(|id| self.blocks.get(&id.to_lowercase()));
        let new_path = self.path(path, slugs);
        if new_id.is_none() && new_path.is_none() {
            return None;
        }
        let path = new_path.unwrap_or_else(|| path.to_owned());
        Some(match id {
            Some(id) if path.is_empty() => format!("^{}", new_id.map_or(id, String::as_str)),
            Some(id) => format!("{path}#^{}", new_id.map_or(id, String::as_str)),
            None => path,
        })
    }

    fn path(&self, path: &str, slugs: bool) -> Option<String> {
        let found = named(&self.headings, path)?;
        let mut names: Vec<String> = path.split('#').map(str::to_owned).collect();
        if found.iter().all(|at| !self.words.contains_key(at)) {
            return None;
        }
        if found.iter().collect::<HashSet<_>>().len() < found.len() || names.len() != found.len() {
            // One heading that holds a `#` itself.
            return found.last().and_then(|at| self.words.get(at)).map(|words| linkable(words));
        }
        for (name, at) in names.iter_mut().zip(&found) {
            if let Some(words) = self.words.get(at) {
                let old = &self.headings[*at].text;
                let is_slug = slugs && name != old && *name == slug(old);
                *name = if is_slug { slug(words) } else { linkable(words) };
            }
        }
        let new = names.join("#");
        (!new.is_empty()).then_some(new)
    }
}

/// What stands between a heading and the next one; of one with nothing there, all of its section.
fn below(memory: &Memory, index: usize) -> Range<usize> {
    let heading = &memory.headings[index];
    let next = memory.headings.get(index + 1).map_or(memory.text.len(), |next| next.range.start);
    let own = heading.range.end.min(next)..next;
    if memory.text[own.clone()].trim().is_empty() {
        let whole = section(memory, index);
        return whole.end.min(heading.range.end)..whole.end;
    }
    own
}

/// The bytes of each different word of a text; where words are not set apart, of each character.
fn words(text: &str) -> HashMap<&str, usize> {
    let mut words: HashMap<&str, usize> = HashMap::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        if run.is_ascii() {
            *words.entry(run).or_default() += run.len();
        } else {
            for (at, c) in run.char_indices() {
                *words.entry(&run[at..at + c.len_utf8()]).or_default() += c.len_utf8();
            }
        }
    }
    words
}

/// The share of common bytes of two texts, word by word; `None` where both are empty.
fn common(a: &HashMap<&str, usize>, b: &HashMap<&str, usize>) -> Option<f64> {
    let longer = a.values().sum::<usize>().max(b.values().sum());
    let shared: usize = a.iter().filter_map(|(word, n)| b.get(word).map(|m| *n.min(m))).sum();
    (longer > 0).then(|| shared as f64 / longer as f64)
}

/// The place of each of some headings: the kept ones around it, and its number among those between them.
fn places(keys: &[String], gone: &[usize]) -> HashMap<usize, (Option<String>, Option<String>, usize, usize)> {
    let mut out = HashMap::new();
    let is_gone: HashSet<usize> = gone.iter().copied().collect();
    let mut at = 0;
    while at < keys.len() {
        let end = (at..keys.len()).find(|i| !is_gone.contains(i)).unwrap_or(keys.len());
        for (number, i) in (at..end).enumerate() {
            let before = at.checked_sub(1).map(|i| keys[i].clone());
            out.insert(i, (before, keys.get(end).cloned(), number, end - at));
        }
        at = end + 1;
    }
    out
}

/// The headings that got other words: the index before, the index now.
fn headings(before: &Memory, now: &Memory) -> Vec<(usize, usize)> {
    let keys = |memory: &Memory| -> Vec<String> {
        memory.headings.iter().map(|heading| heading_key(&heading.text)).collect()
    };
    let (old_keys, new_keys) = (keys(before), keys(now));
    let (old_set, new_set): (HashSet<&String>, HashSet<&String>) =
        (old_keys.iter().collect(), new_keys.iter().collect());
    let gone: Vec<usize> = (0..old_keys.len()).filter(|at| !new_set.contains(&old_keys[*at])).collect();
    let new: Vec<usize> = (0..new_keys.len()).filter(|at| !old_set.contains(&new_keys[*at])).collect();
    if gone.is_empty() || new.is_empty() || gone.len() * new.len() > COMPARED {
        return Vec::new();
    }
    let (old_places, new_places) = (places(&old_keys, &gone), places(&new_keys, &new));
    let new_words: Vec<_> = new.iter().map(|at| words(&now.text[below(now, *at)])).collect();
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for &from in &gone {
        let old_words = words(&before.text[below(before, from)]);
        for (&to, new_words) in new.iter().zip(&new_words) {
            let alike = strsim::normalized_levenshtein(&short(&old_keys[from]), &short(&new_keys[to]));
            let place = f64::from(u8::from(old_places.get(&from) == new_places.get(&to)));
            let sum = match common(&old_words, new_words) {
                Some(rest) => 0.5 * rest + 0.3 * alike + 0.2 * place,
                None => 0.6 * alike + 0.4 * place,
            };
            pairs.push((sum, from, to));
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut found = Vec::new();
    for &(alike, from, to) in pairs.iter().take_while(|(alike, ..)| *alike >= ALIKE) {
        let rival = |(other, a, b): &&(f64, usize, usize)| {
            (*a == from) != (*b == to)
                && *other > alike - AHEAD
                && !found.iter().any(|(f, t)| f == a || t == b)
        };
        let taken = found.iter().any(|(f, t)| *f == from || *t == to);
        if !taken && pairs.iter().find(rival).is_none() {
            found.push((from, to));
        }
    }
    found.sort_unstable();
    found
}

fn short(key: &str) -> String {
    key.chars().take(120).collect()
}

/// The blocks that got other ids, by what stands before the id.
fn blocks(before: &Memory, now: &Memory) -> HashMap<String, String> {
    let ids = |memory: &Memory| -> HashSet<String> {
        memory.blocks.iter().map(|block| block.id.to_lowercase()).collect()
    };
    let (old, new) = (ids(before), ids(now));
    let texts = |memory: &Memory, others: &HashSet<String>| {
        let lines: Vec<&str> = memory.text.lines().collect();
        let mut found: HashMap<String, Vec<String>> = HashMap::new();
        for block in memory.blocks.iter().filter(|block| !others.contains(&block.id.to_lowercase())) {
            let at = (block.line as usize).saturating_sub(1).min(lines.len());
            let line = lines.get(at).and_then(|line| line.rfind('^').map(|mark| line[..mark].trim()));
            let above = || lines[..at].iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
            if let Some(text) = line.filter(|text| !text.is_empty()).or_else(above) {
                found.entry(text.to_owned()).or_default().push(block.id.clone());
            }
        }
        found
    };
    let there = texts(now, &old);
    let pair = |(text, ids): (String, Vec<String>)| match (ids.as_slice(), there.get(&text)?.as_slice()) {
        ([from], [to]) => Some((from.to_lowercase(), to.clone())),
        _ => None,
    };
    texts(before, &new).into_iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config::Config;
    use crate::model::path::VaultPath;

    fn memory(text: &str) -> Memory {
        crate::markdown::read(&VaultPath::parse("a.md").unwrap(), text.as_bytes(), &Config::default())
    }

    #[track_caller]
    fn renamed(before: &str, now: &str) -> Vec<(String, String)> {
        Renames::between(&memory(before), &memory(now)).each().collect()
    }

    #[test]
    fn a_renamed_heading_is_known_by_what_stays() {
        let pair = |old: &str, new: &str| vec![(old.to_owned(), new.to_owned())];
        // The same text below, the same place.
        assert_eq!(
            renamed("# A\n\n## Old\n\nText.\n\n## Z\n", "# A\n\n## New name\n\nText.\n\n## Z\n"),
            pair("Old", "New name")
        );
        // Nothing below: like words in the same place.
        assert_eq!(renamed("# A\n## Option\n## Z\n", "# A\n## Options\n## Z\n"), pair("Option", "Options"));
        // Moved to another place with its text.
        assert_eq!(
            renamed("## Old\n\nOne.\n\n## Z\n\nTwo.\n", "## Z\n\nTwo.\n\n## New\n\nOne.\n"),
            pair("Old", "New")
        );
        assert_eq!(renamed("x ^a1\n\n- y ^b\n", "x ^a2\n\n- y ^b\n"), pair("^a1", "^a2"));
        assert_eq!(renamed("|a|\n|-|\n\n^t1\n", "|a|\n|-|\n\n^t2\n"), pair("^t1", "^t2"));
        assert_eq!(renamed("# 旧标题\n\n正文。\n", "# 新标题\n\n正文。\n"), pair("旧标题", "新标题"));
    }

    #[test]
    fn what_could_be_two_is_none() {
        assert_eq!(renamed("## Old\n\nSame.\n", "## One\n\nSame.\n\n## Two\n\nSame.\n"), []);
        assert_eq!(renamed("## Old\n\nText.\n", "## Wholly other\n\nAnd other words.\n"), []);
        assert_eq!(renamed("# A\n## Old\n", "# A\n## Old\n## New\n"), []);
        assert_eq!(renamed("x ^a\n\nx ^b\n", "x ^c\n\nx ^d\n"), []);
    }

    #[test]
    fn a_fragment_changes_only_where_the_name_does() {
        let text = "# A\n\n## Old: it\n\n### C\n\n## C# notes\n\n## Details\n\n## Details\n";
        let memory = memory(text);
        let of = |index: usize, words: &str| Renames::heading(&memory, index, words);
        for (index, words, fragment, new) in [
            (1, "New", "Old it", Some("New")),
            (1, "New: [x]", "A#Old: it", Some("A#New x")),
            (1, "New", "Old it#C", Some("New#C")),
            (1, "New", "old it#^b", Some("New#^b")),
            (1, "New One", "old-it", Some("new-one")),
            (2, "D", "A#C", Some("A#D")),
            (3, "D", "C# notes", Some("D")),
            (5, "Other", "details-1", Some("Other")),
            (4, "Other", "details-1", None),
            (4, "Other", "Details", Some("Other")),
            (1, "New", "A", None),
            (1, "New", "gone", None),
            (1, "New", "", None),
        ] {
            assert_eq!(of(index, words).fragment(fragment, true).as_deref(), new, "{fragment}");
        }
        assert_eq!(of(1, "New One").fragment("old-it", false).as_deref(), Some("New One"));
        let block = Renames::block("Id-1", "id-2");
        assert_eq!(block.fragment("^id-1", true).as_deref(), Some("^id-2"));
        assert_eq!(block.fragment("A#^ID-1", true).as_deref(), Some("A#^id-2"));
        assert_eq!(block.fragment("id-1", true), None);
    }
}
