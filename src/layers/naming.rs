//! The abstract of a directory.

use std::collections::HashSet;

use super::ABSTRACT_TOKENS;
use super::directory::{Below, Child, ordered};
use super::extract::{Candidate, budget, choose, cost, join, list, manner};
use super::leaf::Leaf;
use super::sentences::sentences;
use super::terms::terms;

/// The most tokens of the sentence in an abstract that is made from the children.
const SENTENCE: u32 = 45;
/// What stands between the sentence and the names in an abstract.
const DASH: &str = " — ";
/// What stands between names.
const DOT: &str = " · ";
/// How many children are looked at for the names: more never fit.
const MOST_NAMES: usize = 200;
/// Names that say of a file only that it leads in.
const INTRODUCES: &str = "introduction intro overview about start here home readme index welcome guide help \
     简介 介绍 概述 概览 关于 从这里开始 首页 入门";
/// What the title of a file that leads into its directory begins or ends with.
const OPENS_WITH: &[&str] = &["introduction to ", "intro to ", "overview of ", "welcome to ", "about "];
const ENDS_WITH: &[&str] = &["简介", "介绍", "概述", "概览", "导论", "总览", " introduction", " overview"];

/// The abstract of a directory.
#[must_use]
pub fn directory_abstract(
    name: &str,
    index: Option<&Leaf>,
    children: &[Child<'_>],
    below: &[Below<'_>],
) -> Option<String> {
    if index.is_none() && children.is_empty() && below.is_empty() {
        return None;
    }
    Some(Parts::of(name, index, children, below).whole())
}

/// An abstract: the words that speak for the directory, and the names of what it holds.
pub(super) struct Parts {
    /// The words; of `index.md`, or a sentence of a file that leads in. May be empty.
    pub(super) words: String,
    names: String,
}

impl Parts {
    pub(super) fn of(name: &str, index: Option<&Leaf>, children: &[Child<'_>], below: &[Below<'_>]) -> Parts {
        if let Some(l0) = index.map(|leaf| &leaf.l0).filter(|l0| !l0.is_empty()) {
            return Parts { words: l0.clone(), names: String::new() };
        }
        let (children, below) = ordered(children, below);
        if let ([], [only]) = (children.as_slice(), below.as_slice())
            && !only.l0.is_empty()
        {
            return Parts { words: String::new(), names: only.l0.to_owned() };
        }
        let words = speaking(name, &children, below.is_empty());
        let room = budget(ABSTRACT_TOKENS).saturating_sub(cost(&words) + cost(DASH));
        let names = contents(&below, &spread(name, &words, &children), room);
        Parts { words, names }
    }

    pub(super) fn whole(&self) -> String {
        match (self.words.is_empty(), self.names.is_empty()) {
            (false, false) => format!("{}{DASH}{}", self.words, self.names),
            (false, true) => self.words.clone(),
            (true, _) => self.names.clone(),
        }
    }
}

/// Whether a title is that of a file that leads in.
fn leads_in(title: &str) -> bool {
    let title = title.to_lowercase();
    OPENS_WITH.iter().any(|words| title.starts_with(words))
        || ENDS_WITH.iter().any(|words| title.ends_with(words))
}

/// The sentence that speaks for the whole directory: of a file that is named like it or leads into it, or is the only
/// one. A sentence about one of many things would mislead.
fn speaking(name: &str, children: &[&Child<'_>], alone: bool) -> String {
    let focus = terms(name);
    let introduces = terms(INTRODUCES);
    let lead = |child: &&&Child<'_>| leads_in(&child.leaf.title) && !child.leaf.l0.is_empty();
    let only_lead = children.iter().filter(lead).count() == 1;
    let mut all: Vec<Candidate<'_>> = Vec::new();
    for child in children {
        let title = terms(&child.leaf.title);
        let says = |term: &u64| introduces.contains(term);
        let other = title.iter().filter(|term| !focus.contains(term) && !says(term)).count() as u64;
        let named = !focus.is_empty() && focus.iter().all(|term| title.contains(term));
        let file = terms(child.name.trim_end_matches(".md"));
        let opens = !file.is_empty() && file.iter().all(says) || only_lead && lead(&child);
        let few = alone && children.len() == 1;
        let close = other == 0 || other == 1 && focus.len() == 1;
        if named && close || opens || few {
            let place = if opens { 400 } else { 400 / (1 + other) };
            // A question or a greeting says nothing about what is there.
            let says = |text: &&str| !text.ends_with(['?', '？', '!', '！']) && manner(text) >= 60;
            let said = sentences(&child.leaf.l0).into_iter().filter(says);
            all.extend(said.map(|text| Candidate { text, place }));
        }
    }
    let chosen = choose(&all, &focus, budget(SENTENCE), 1);
    join(chosen.into_iter().map(|at| all[at].text))
}

/// The names of what a directory holds: its directories, then its files' titles. Where there is room for it, each
/// directory with the first of its own names, `skills (Weekly review · 出差准备)`, or where there are files only, some
/// with their first sentence: those whose sentences say most that no name says.
fn contents(below: &[&Below<'_>], files: &[(&str, &str)], room: u32) -> String {
    let titles = || files.iter().map(|(title, _)| *title);
    let plain = list(below.iter().map(|below| below.name).chain(titles()), DOT, room);
    let left = room.saturating_sub(cost(&plain));
    if below.is_empty() {
        return explained(files, &plain, room, left);
    }
    let each = left / u32::try_from(below.len()).unwrap_or(u32::MAX);
    if each < budget(8) {
        return plain;
    }
    let named: Vec<String> = below
        .iter()
        .map(|below| {
            let inner = list(names_in(below.l0), DOT, each.saturating_sub(cost(" ()")));
            if inner.is_empty() { below.name.to_owned() } else { format!("{} ({inner})", below.name) }
        })
        .collect();
    list(named.iter().map(String::as_str).chain(titles()), DOT, room)
}

/// Titles, some with a sentence behind them, as far as there is room beyond the titles.
fn explained(files: &[(&str, &str)], plain: &str, room: u32, left: u32) -> String {
    if files.len() == 1 || left < budget(8) {
        return plain.to_owned();
    }
    let mut known: HashSet<u64> = files.iter().flat_map(|(title, _)| terms(title)).collect();
    let firsts: Vec<&str> =
        files.iter().map(|(_, l0)| sentences(l0).first().copied().unwrap_or_default()).collect();
    let said: Vec<Vec<u64>> = firsts.iter().map(|sentence| terms(sentence)).collect();
    let mut chosen = vec![false; files.len()];
    let mut left = left;
    loop {
        // New words for what they cost; whole numbers, of equals the first.
        let worth = |at: usize| {
            let new = said[at].iter().filter(|term| !known.contains(term)).count() as u64;
            new * 1_000 / (u64::from(cost(firsts[at])) + 16)
        };
        let fits = |at: &usize| !chosen[*at] && !firsts[*at].is_empty() && cost(firsts[*at]) + 3 <= left;
        let best = (0..files.len()).filter(fits).map(|at| (worth(at), std::cmp::Reverse(at))).max();
        let Some((worth, std::cmp::Reverse(at))) = best else { break };
        if worth == 0 {
            break;
        }
        left -= cost(firsts[at]) + 3;
        known.extend(&said[at]);
        chosen[at] = true;
    }
    let rows: Vec<String> = files
        .iter()
        .enumerate()
        .map(
            |(at, (title, _))| {
                if chosen[at] { format!("{title} ({})", firsts[at]) } else { (*title).to_owned() }
            },
        )
        .collect();
    list(rows.iter().map(String::as_str), DOT, room)
}

/// The names that an abstract lists, without what stands in parentheses behind them; of one that lists none, its
/// sentences.
fn names_in(l0: &str) -> Vec<&str> {
    let names = l0.rsplit_once(DASH).map_or(l0, |(_, names)| names);
    if !names.contains(DOT) {
        return sentences(l0);
    }
    let (mut out, mut depth, mut start) = (Vec::new(), 0u32, 0);
    for (at, c) in names.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '·' if depth == 0 && names[..at].ends_with(' ') && names[at..].starts_with("· ") => {
                out.push(&names[start..at - 1]);
                start = at + "· ".len();
            }
            _ => {}
        }
    }
    out.push(&names[start..]);
    let bare =
        |name: &&str| if name.ends_with(')') { name.find(" (").unwrap_or(name.len()) } else { name.len() };
    out.into_iter().map(|name| &name[..bare(&name)]).collect()
}

/// The titles of the children with their abstracts, those first whose titles bring in new words. Left out are titles
/// that say nothing beside the directory's name and the words that speak for it: `Introduction to Sync` in `Sync`.
fn spread<'a>(name: &str, words: &str, children: &[&Child<'a>]) -> Vec<(&'a str, &'a str)> {
    let of_directory = terms(name);
    let introduces = terms(INTRODUCES);
    let idle = |term: &u64| of_directory.contains(term) || introduces.contains(term);
    let mut seen: HashSet<u64> = HashSet::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for child in children.iter().take(MOST_NAMES) {
        let terms = terms(&child.leaf.title);
        if !words.is_empty() && !terms.is_empty() && terms.iter().all(idle) {
            continue;
        }
        let known = terms.iter().filter(|term| seen.contains(term)).count();
        let into = if known * 2 > terms.len() { &mut later } else { &mut first };
        into.push((child.leaf.title.as_str(), child.leaf.l0.as_str()));
        seen.extend(terms);
    }
    first.extend(later);
    first
}
