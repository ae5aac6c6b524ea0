//! Words that stand in a memory as they stand in the query: whoever types a sentence looks for the place that says it.
//!
//! Each two neighbouring words of a query are a link, which weighs what its words weigh (D. Metzler and W. B. Croft, "A
//! Markov Random Field Model for Term Dependencies", SIGIR 2005: the sequential dependence model's ordered pairs). A
//! run is a chain of words in the query's order that stand near each other (the spans of R. Song and others, "Viewing
//! Term Proximity from a Different Perspective", ECIR 2008); what stands between them breaks a link and not the run, as
//! a link's target does in its text. The share of the links that the best run of a memory keeps is 1 where the whole
//! query stands there.
//!
//! Only the best are looked at. What the share adds is bounded by what the best of them scores, and grows so late that
//! a few words that happen to meet add next to nothing.

use std::collections::HashMap;

use tantivy::Term;

use super::query::Query;
use super::text::{BODY, Facts};
use super::text_filter::Filter;
use super::text_name::named;
use super::text_near::{Place, chunks as chunks_of};
use super::text_score::{Memories, rarity_of};
use super::text_search::{Hit, Part, Request};
use super::text_terms::in_order;
use super::text_view::{View, stands};

/// How many memories are looked at.
const BEST: usize = 50;
/// How many chunks.
const MOST_CHUNKS: usize = 200;
/// How many words of a query.
const MOST_WORDS: usize = 64;
/// How often a word is looked at in one chunk.
const MOST_TIMES: usize = 256;
/// A run ends where so much of the memory stands between two words…
const GAP: u32 = 12;
/// …or so many words of the query are left out.
const SKIP: usize = 4;

/// The words of a query in their order.
struct Words {
    /// Each with its position.
    words: Vec<(u32, Term)>,
    /// What the link from each word to the next weighs, as a share of all.
    links: Vec<f64>,
}

impl Words {
    fn of(view: &View, query: &Query) -> tantivy::Result<Option<Words>> {
        let mut said = in_order(&query.text(), false);
        said.retain(|(_, _, prefix)| !prefix);
        said.truncate(MOST_WORDS);
        if said.len() < 2 {
            return Ok(None);
        }
        let field = view.fields.searched[BODY];
        let words: Vec<(u32, Term)> =
            said.iter().map(|(position, term, _)| (*position, Term::from_field_text(field, term))).collect();
        let weights: Vec<f64> =
            words.iter().map(|(_, term)| rarity_of(view, term)).collect::<tantivy::Result<_>>()?;
        let links: Vec<f64> = weights.windows(2).map(|pair| pair[0] + pair[1]).collect();
        let all: f64 = links.iter().sum();
        Ok(Some(Words { words, links: links.into_iter().map(|link| link / all.max(1e-9)).collect() }))
    }

    /// The share of the links that the best run of each chunk keeps. The chunks come in no order.
    fn shares(&self, view: &View, mut places: Vec<Place>) -> tantivy::Result<HashMap<Place, f64>> {
        places.sort_unstable();
        places.dedup();
        let mut shares = HashMap::new();
        for group in places.chunk_by(|a, b| a.0 == b.0) {
            let reader = &view.searcher.segment_readers()[group[0].0];
            // Where in each chunk which word stands.
            let mut standing: Vec<Vec<(u32, usize)>> = vec![Vec::new(); group.len()];
            for (number, (_, term)) in self.words.iter().enumerate() {
                stands(reader, term, group, |chunk, at| {
                    standing[chunk].extend(at.iter().take(MOST_TIMES).map(|at| (*at, number)));
                })?;
            }
            for (place, mut standing) in group.iter().zip(standing) {
                standing.sort_unstable();
                shares.insert(*place, self.best_run(&standing));
            }
        }
        Ok(shares)
    }

    /// What the best run weighs of words that stand somewhere, in the order of their places.
    fn best_run(&self, stands: &[(u32, usize)]) -> f64 {
        let mut best = vec![0f64; stands.len()];
        for (here, (at, word)) in stands.iter().enumerate() {
            for (there, (before, other)) in stands[..here].iter().enumerate().rev() {
                if at - before > GAP {
                    break;
                }
                if before == at || other >= word || word - other > SKIP {
                    continue;
                }
                let linked = other + 1 == *word && at - before == self.words[*word].0 - self.words[*other].0;
                best[here] = best[here].max(best[there] + if linked { self.links[*other] } else { 0.0 });
            }
        }
        best.into_iter().fold(0.0, f64::max)
    }
}

/// Favours, among memories with the place of their best chunk, those in which the query stands as it was typed, and
/// those that are called so.
pub(super) fn favour(
    memories: &Memories<'_>,
    request: &Request<'_>,
    hits: &mut [(Place, Hit)],
    filters: &[Filter<'_>],
) -> tantivy::Result<()> {
    let by = |(place, hit): &(Place, Hit)| (hit.score, std::cmp::Reverse(*place));
    hits.sort_by(|a, b| by(b).0.total_cmp(&by(a).0).then(by(b).1.cmp(&by(a).1)));
    let top = hits.first().map_or(0.0, |(_, hit)| hit.score);
    let count = hits.len().min(BEST);
    let best = &mut hits[..count];
    let places: Vec<Place> = best.iter().map(|(place, _)| *place).collect();
    let named = named(memories.view, request.query, &places)?;
    let runs = runs(memories.view, request.query, best, filters)?;
    for ((place, hit), (run, ord)) in best.iter_mut().zip(runs) {
        hit.run = run;
        hit.ord = ord.unwrap_or(hit.ord);
        hit.named = named.contains(place);
        let weights = memories.weights;
        let named = if hit.named { weights.named } else { 0.0 };
        let strengths = [weights.run * weights.strength(hit.run), named];
        hit.bonus = strengths.iter().sum::<f64>() * top;
        hit.score += hit.bonus;
        if request.explain {
            let terms = [format!("{:.0}%", hit.run * 100.0), request.query.text()];
            let parts = ["run", "name"].into_iter().zip(terms).zip(strengths);
            let parts = parts.filter(|(_, strength)| *strength > 0.0);
            let parts = parts.map(|((field, term), strength)| Part { field, term, score: strength * top });
            hit.parts.splice(..0, parts.collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// How much of the query stands in each memory as it was typed, and in which chunk, if in another one more than in the
/// best.
fn runs(
    view: &View,
    query: &Query,
    best: &[(Place, Hit)],
    filters: &[Filter<'_>],
) -> tantivy::Result<Vec<(f64, Option<u64>)>> {
    let Some(words) = Words::of(view, query)? else { return Ok(vec![(0.0, None); best.len()]) };
    let mut chunks: Vec<Vec<Place>> = Vec::new();
    let mut left = MOST_CHUNKS;
    for (place, hit) in best {
        let facts = filters[place.0].facts.first(place.1).unwrap_or(0);
        let several = Facts::is_one_of_several(facts) && left > 0;
        let mut others = if several { chunks_of(view, hit.doc, *place)? } else { Vec::new() };
        others.truncate(left);
        left -= others.len();
        chunks.push(others);
    }
    let firsts = best.iter().map(|(place, _)| place);
    let shares = words.shares(view, firsts.chain(chunks.iter().flatten()).copied().collect())?;
    let share_of = |place: &Place| shares.get(place).copied().unwrap_or(0.0);
    let of_one = |((place, _), others): (&(Place, Hit), &Vec<Place>)| {
        let mut run = (share_of(place), None);
        for other in others {
            if share_of(other) > run.0 {
                run = (share_of(other), view.ords(other.0).first(other.1));
            }
        }
        run
    };
    Ok(best.iter().zip(&chunks).map(of_one).collect())
}
