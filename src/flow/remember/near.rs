//! What is near a text: the memories that share its telling words.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::Side;
use crate::flow::find::{self, FindRequest};
use crate::flow::heal::names::Kept;
use crate::flow::progress::Progress;
use crate::flow::reader::Reader;
use crate::flow::sync;
use crate::index::query::is_stop_word;
use crate::index::tokenizer::{Analyzer, Kind};
use crate::markdown;
use crate::model::actor::Sensitivity;
use crate::model::fault::Fault;
use crate::model::link::{Link, LinkForm, Resolution, resolve};
use crate::model::path::VaultPath;

/// How many memories are looked at.
const LOOKED_AT: usize = 20;
/// How many words of the text the search is for.
const WORDS: usize = 40;
/// A memory that has more than this share of the text's three-word shingles says it already.
const SAME: f64 = 0.9;
/// The least share of the text's words that a near memory has.
const SHARED: f64 = 0.2;
/// What a word in the title weighs, where one in the text weighs 1: a title says what a memory is about.
const TITLE: f64 = 3.0;
/// The least share, counted so, of one beside which the text belongs.
const BESIDE: f64 = 0.5;

/// A memory near the text.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Near {
    /// Its address.
    pub uri: String,
    /// Its path.
    pub path: VaultPath,
    /// Its title.
    pub title: String,
    /// The share of the text's words that it has, 0 to 1; rare words weigh more.
    pub shared: f64,
    /// How near it is: by the words that it has, those of its title before others, and its place in the search.
    #[serde(skip)]
    pub(super) weight: f64,
    /// Whether what is new belongs beside it.
    #[serde(skip)]
    pub(super) beside: bool,
    /// Whether it says the same.
    #[serde(skip)]
    pub(super) same: bool,
    /// Whether a link to it tells nobody what they may not know.
    #[serde(skip)]
    pub(super) linkable: bool,
}

/// A memory that the search found.
struct Candidate {
    path: VaultPath,
    title: String,
    /// The words that it has.
    has: HashSet<String>,
    /// Those of its title.
    about: HashSet<String>,
    /// The share of the text that it says.
    said: f64,
    /// Its place in the search, from 0.
    rank: usize,
    linkable: bool,
}

/// The telling words of a text, in the forms in which the index has them, each once.
fn words(analyzer: &mut Analyzer, text: &str) -> Vec<String> {
    analyzer.analyze(text);
    let mut seen = HashSet::new();
    let telling = |kind: Kind| matches!(kind, Kind::Plain | Kind::Pair);
    let tokens = analyzer.tokens().iter().filter(|token| telling(token.kind));
    let terms = tokens.map(|token| analyzer.term(token).to_owned());
    terms.filter(|term| !is_stop_word(term) && seen.insert(term.clone())).collect()
}

/// The memories of main that are near a text, nearest first, as far as the reader may see them.
pub(super) fn near(reader: &Reader<'_, '_>, text: &str, progress: &dyn Progress) -> Result<Vec<Near>, Fault> {
    let mut analyzer = Analyzer::default();
    let plain = markdown::plain::plain(text);
    let wanted = words(&mut analyzer, &plain);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let rows = candidates(reader, &plain, progress)?;
    let mut found: Vec<Candidate> = Vec::new();
    for (rank, (path, title)) in rows.into_iter().enumerate() {
        let Some(bytes) = reader.read(&path)? else { continue };
        let memory = markdown::read(&path, &bytes, &reader.vault.config);
        let body = markdown::plain::plain(memory.body());
        let has = words(&mut analyzer, &format!("{title}\n{body}")).into_iter().collect();
        let about = words(&mut analyzer, &title).into_iter().collect();
        let open = memory.front.sensitivity.is_none_or(|s| s <= Sensitivity::Personal);
        // Evidence is cited, not seen also.
        let linkable = open && memory.problems.is_empty() && path.scope() != Some("evidence");
        found.push(Candidate { path, said: contained(&plain, &body), title, has, about, rank, linkable });
    }
    // A word that nearly all of them have tells little.
    let weight: HashMap<&String, f64> = wanted
        .iter()
        .map(|word| {
            (word, 1.0 / (1.0 + found.iter().filter(|one| one.has.contains(word)).count() as f64).sqrt())
        })
        .collect();
    let all: f64 = weight.values().sum();
    let mut near: Vec<Near> = found
        .into_iter()
        .map(|one| {
            let Candidate { path, title, has, about, said, rank, linkable } = one;
            let common: Vec<&String> = wanted.iter().filter(|word| has.contains(*word)).collect();
            let named = |word: &String| if about.contains(word) { TITLE } else { 1.0 };
            let shared = common.iter().map(|word| weight[*word]).sum::<f64>() / all;
            let near = common.iter().map(|word| weight[*word] * named(word)).sum::<f64>() / all;
            // One word of many is a chance, unless the memory is about that.
            let few = common.len() < 2 && wanted.len() > 3 && near <= shared;
            let uri = crate::model::uri::Uri::file(path.clone()).to_string();
            let shared = if few { 0.0 } else { (shared * 1000.0).round() / 1000.0 };
            let weight = near * (1.0 + 1.0 / (rank + 1) as f64);
            Near { uri, path, title, shared, weight, beside: near >= BESIDE, same: said > SAME, linkable }
        })
        .filter(|one| one.shared >= SHARED || one.same || (one.shared > 0.0 && one.weight >= TITLE * SHARED))
        .collect();
    near.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.path.cmp(&b.path)));
    Ok(near)
}

/// What the search finds for the words of a text.
fn candidates(
    reader: &Reader<'_, '_>,
    plain: &str,
    progress: &dyn Progress,
) -> Result<Vec<(VaultPath, String)>, Fault> {
    // Only its words: what looks like a filter or a negation in the text is none.
    let clean: String = plain.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let query: Vec<&str> = clean.split_whitespace().take(WORDS).collect();
    let request =
        FindRequest { query: query.join(" "), limit: LOOKED_AT, main: true, ..FindRequest::default() };
    let answer = find::find(reader.vault, &reader.access, &request, progress)?;
    Ok(answer.hits.into_iter().map(|hit| (hit.path, hit.title)).collect())
}

/// How much of the first text the second one says: the share of its three-word shingles that are there, of its words
/// where it is short (containment, Broder 1997).
fn contained(text: &str, memory: &str) -> f64 {
    let mut analyzer = Analyzer::default();
    let mut terms = |text: &str| -> Vec<String> {
        analyzer.analyze(text);
        let tokens = analyzer.tokens().iter().filter(|t| matches!(t.kind, Kind::Plain | Kind::Pair));
        tokens.map(|token| analyzer.term(token).to_owned()).collect()
    };
    let (text, memory) = (terms(text), terms(memory));
    let size = text.len().clamp(1, 3);
    let shingles = |terms: &[String]| -> HashSet<String> {
        terms.windows(size).map(|window| window.join(" ")).collect()
    };
    let (wanted, has) = (shingles(&text), shingles(&memory));
    wanted.intersection(&has).count() as f64 / wanted.len().max(1) as f64
}

/// A link to each, in the shortest form that leads there from a place. How short that is tells which names there are; so
/// for whoever may not see all of them it is the whole path, and shows the name alone.
pub(super) fn links(reader: &Reader<'_, '_>, from: &VaultPath, near: &[Near]) -> Result<Vec<String>, Fault> {
    let catalog = sync::open(reader.vault)?;
    let names = Kept::new(catalog.names(Side::Main));
    let mut out = Vec::new();
    for one in near {
        let full = one.path.as_str();
        let full = full.strip_suffix(".md").unwrap_or(full);
        let parts: Vec<&str> = full.split('/').collect();
        let leads = |target: &String| {
            let link = Link {
                form: LinkForm::Wiki,
                target: target.clone(),
                fragment: None,
                text: None,
                embed: false,
                relation: None,
                line: 1,
                range: 0..0,
            };
            resolve(&link, from, &names) == Resolution::File(one.path.clone())
        };
        let plain = |target: &String| !target.contains(['[', ']', '|', '#', '^']);
        let narrow = reader.access.is_narrow();
        let from = if narrow { 0 } else { parts.len().saturating_sub(1) };
        let ways = (0..=from).rev().map(|at| parts[at..].join("/"));
        let shown = match parts.as_slice() {
            [_, .., name] if narrow => format!("|{name}"),
            _ => String::new(),
        };
        out.extend(ways.filter(plain).find(leads).map(|target| format!("[[{target}{shown}]]")));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_memory_says_already_is_noticed() {
        let memory = "Seats\n\nprefers Window seats on flights, to lean on. See home.";
        assert!(contained("Prefers window seats on flights.", memory) > SAME);
        assert!(contained("要靠窗的座位", "座位：要靠窗的座位。参见 茶") > SAME);
        assert!(contained("Prefers aisle seats on trains", memory) < SAME);
        assert_eq!(contained("", "words"), 0.0);
    }
}
