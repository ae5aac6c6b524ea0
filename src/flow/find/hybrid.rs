//! Words and meaning together: each arm finds its best under the same filters, and they are fused.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::fuse::{self, Candidate, DEPTH, FEWEST, Plan};
use super::{Arm, Finder, Fusion};
use crate::catalog::DocId;
use crate::flow::meaning::{Dense, DenseHit, Meaning};
use crate::index::search::{self, Found, Hit};
use crate::index::vectors::{Scores, Script, dot};
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

/// What each arm says of a hit, with `--explain`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Arms {
    /// What the words say; absent where they did not find it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<ArmScore>,
    /// What the meaning says; absent where it waits for its vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense: Option<ArmScore>,
    /// What the memories most like it (or the one of which it is a translation) added to the fused score.
    pub likes: f64,
    /// What was added since the question stands there, or much of it, as it was typed.
    #[serde(skip_serializing_if = "is_nothing")]
    pub run: f64,
    /// What was added since the question is its title.
    #[serde(skip_serializing_if = "is_nothing")]
    pub named: f64,
}

fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}

/// What one arm says of a hit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArmScore {
    /// Its place in the arm, from 1; absent where it is not among the best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// BM25 over the fields, or the cosine of question and best chunk, both seen from the mean of their language.
    pub score: f64,
    /// The same in standard deviations from the mean of the arm's best.
    pub z: f64,
}

/// The means from which vectors are seen, by script.
struct Means {
    by: [Vec<f32>; 2],
    apart: bool,
    /// Whether there are enough texts for a mean.
    tell: bool,
}

impl Means {
    fn of(meaning: &Meaning) -> Means {
        let [(latin, some), (cjk, others)] = Script::ALL.map(|script| meaning.mean(script));
        if some >= FEWEST && others >= FEWEST {
            return Means { by: [latin, cjk], apart: true, tell: true };
        }
        let count = some + others;
        // The mean of a few texts is what they say, not how the model sees the world.
        let share = |part: usize| if count < FEWEST { 0.0 } else { part as f32 / count as f32 };
        let both = latin.iter().zip(&cjk).map(|(a, b)| a * share(some) + b * share(others));
        let both: Vec<f32> = both.collect();
        Means { by: [both.clone(), both], apart: false, tell: count >= FEWEST }
    }

    fn seen(&self, vector: &[f32], script: Script) -> Option<Vec<f32>> {
        self.partly_seen(vector, script, 1.0)
    }

    /// Seen from a share of the mean.
    fn partly_seen(&self, vector: &[f32], script: Script, share: f64) -> Option<Vec<f32>> {
        fuse::seen_from(vector, &self.by[script.index()], share as f32)
    }
}

/// What is asked of the meaning, with what it has in common with every text.
pub(super) struct Meant<'m> {
    meaning: &'m Meaning,
    means: Means,
    script: Script,
    /// The question's vector, seen from the mean of its language; none where it has no direction from there.
    vector: Option<Vec<f32>>,
    scores: Scores,
}

impl<'m> Meant<'m> {
    /// Of a question and its vector.
    pub(super) fn of(meaning: &'m Meaning, question: &str, vector: &[f32], weights: &Fusion) -> Meant<'m> {
        let script = Script::of(question);
        let share = if script == Script::Cjk { weights.centred_cjk } else { weights.centred };
        Meant::seen(meaning, script, vector, share)
    }

    /// Of a vector of what is written in a script, seen from a share of what such texts have in common.
    pub(super) fn seen(meaning: &'m Meaning, script: Script, vector: &[f32], share: f64) -> Meant<'m> {
        let means = Means::of(meaning);
        let vector = means.partly_seen(vector, script, share);
        let scores = vector.as_deref().map(|vector| meaning.scores(vector)).unwrap_or_default();
        Meant { meaning, means, script, vector, scores }
    }
}

impl Finder {
    /// The best of both arms (or of the meaning alone), fused, best first.
    pub(super) fn fused(
        &self,
        meant: &Meant<'_>,
        arm: Arm,
        narrowed: &search::Request<'_>,
        found: &Found,
    ) -> Result<Vec<Candidate>, Fault> {
        let Meant { meaning, means, script, vector, scores } = meant;
        let (meaning, script) = (*meaning, *script);
        let plan =
            Plan { script, apart: means.apart, words: arm != Arm::Dense, weights: self.weights.fusion };
        let Some(vector) = vector else { return Ok(Vec::new()) };
        let mut candidates = self.near(meaning, means, (script, vector, scores), narrowed)?;
        if plan.words {
            add(&mut candidates, found, script, meaning, means, vector);
        }
        let path = |one: &Candidate| self.path_of(one);
        let directions = RefCell::new(HashMap::new());
        // The direction of a memory as a whole.
        let direction = |one: &Candidate| {
            let make = || means.seen(&meaning.direction(DocId(one.doc))?, one.script);
            directions.borrow_mut().entry(one.doc).or_insert_with(make).clone()
        };
        fuse::fuse(&mut candidates, &plan);
        fuse::sort(&mut candidates, path);
        if plan.words {
            fuse::smooth(&mut candidates, &plan, direction);
            fuse::sort(&mut candidates, path);
            fuse::lift(&mut candidates, &plan, direction);
            fuse::favour(&mut candidates, &plan, |share| self.weights.text.strength(share));
            fuse::sort(&mut candidates, path);
        }
        if means.tell {
            fuse::sift(&mut candidates);
        }
        Ok(candidates)
    }

    /// By what equal ones are ordered.
    fn path_of(&self, one: &Candidate) -> Option<VaultPath> {
        self.pair.catalog.doc(DocId(one.doc)).ok().flatten().map(|row| row.path)
    }

    /// What is nearest by meaning alone, whatever language it is in, nearest first.
    pub(super) fn alike(
        &self,
        meant: &Meant<'_>,
        narrowed: &search::Request<'_>,
    ) -> Result<Vec<Candidate>, Fault> {
        let Meant { meaning, means, script, vector, scores } = meant;
        let Some(vector) = vector else { return Ok(Vec::new()) };
        let mut found = self.near(meaning, means, (*script, vector, scores), narrowed)?;
        found.iter_mut().for_each(|one| one.score = one.cosine.unwrap_or(-1.0));
        fuse::sort(&mut found, |one| self.path_of(one));
        Ok(found)
    }

    /// What the meaning finds, in each language by itself where there are two.
    fn near(
        &self,
        meaning: &Meaning,
        means: &Means,
        (script, vector, scores): (Script, &[f32], &Scores),
        narrowed: &search::Request<'_>,
    ) -> Result<Vec<Candidate>, Fault> {
        let offsets = [0, 1].map(|at| -dot(vector, &means.by[at]));
        // The question's own language first: a memory that has texts in both stands once, by those.
        let mut groups = if means.apart { Script::ALL.map(Some).to_vec() } else { vec![None] };
        groups.sort_by_key(|only| *only != Some(script));
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut seen = HashSet::new();
        for only in &groups {
            let dense = Dense { vector, scores: Some(scores), only: *only, offsets, count: DEPTH };
            let first = candidates.len();
            let mut hits = meaning.nearest(&self.pair, &dense, narrowed)?;
            hits.retain(|hit| seen.insert(hit.doc));
            let similar = |chunk: &mut Vec<f32>, hit: &DenseHit| {
                let script = hit.script.index();
                let there = meaning.read(hit.doc, hit.ord, chunk);
                there.then(|| fuse::seen_cosine(chunk, &means.by[script], vector)).flatten()
            };
            let cosines: Vec<Option<f64>> =
                hits.par_iter().with_min_len(64).map_init(Vec::new, similar).collect();
            for (hit, cosine) in hits.iter().zip(cosines) {
                candidates.push(Candidate { cosine, ..Candidate::new(hit.doc.0, hit.ord, hit.script) });
            }
            let group: &mut [Candidate] = &mut candidates[first..];
            group.sort_by(|a: &Candidate, b| b.cosine.unwrap_or(-1.0).total_cmp(&a.cosine.unwrap_or(-1.0)));
            group.iter_mut().enumerate().for_each(|(at, one)| one.rank = Some(at + 1));
        }
        Ok(candidates)
    }
}

/// The cosines of a question and the nearest chunk of each memory; those without vectors are left out.
fn nearest_chunks(
    meaning: &Meaning,
    mut docs: Vec<u64>,
    question: &[f32],
    means: &Means,
) -> HashMap<u64, f64> {
    docs.sort_unstable();
    docs.dedup();
    let nearest = |chunk: &mut Vec<f32>, doc: u64| {
        let mean = &means.by[meaning.script_of(DocId(doc))?.index()];
        let mut best = None;
        meaning.each_of(DocId(doc), chunk, |chunk| {
            let cosine = fuse::seen_cosine(chunk, mean, question);
            best = cosine.map_or(best, |cosine| Some(best.map_or(cosine, |best: f64| best.max(cosine))));
        });
        Some((doc, best?))
    };
    docs.into_par_iter().with_min_len(32).map_init(Vec::new, nearest).flatten().collect()
}

/// Adds what the words found.
fn add(
    candidates: &mut Vec<Candidate>,
    found: &Found,
    script: Script,
    meaning: &Meaning,
    means: &Means,
    vector: &[f32],
) {
    let known: HashMap<u64, usize> = candidates.iter().enumerate().map(|(at, one)| (one.doc, at)).collect();
    let new = found.hits.iter().map(|hit| hit.doc).filter(|doc| !known.contains_key(doc)).collect();
    let cosines = nearest_chunks(meaning, new, vector, means);
    for (rank, hit) in found.hits.iter().enumerate() {
        // What a run of the query adds is added anew when everything else is fused.
        let text = Some((rank + 1, hit.score - hit.bonus));
        if let Some(at) = known.get(&hit.doc) {
            // The place where the words stand is shown.
            candidates[*at].ord = hit.ord;
            candidates[*at].text = text;
            (candidates[*at].run, candidates[*at].named) = (hit.run, hit.named);
            continue;
        }
        let doc = DocId(hit.doc);
        let mut one = Candidate::new(hit.doc, hit.ord, meaning.script_of(doc).unwrap_or(script));
        one.cosine = cosines.get(&hit.doc).copied();
        one.text = text;
        (one.run, one.named) = (hit.run, hit.named);
        candidates.push(one);
    }
}

/// A candidate as a hit, with the parts of what its words score.
pub(super) fn hit(one: &Candidate, found: &Found) -> Hit {
    let parts = one.text.and_then(|(rank, _)| found.hits.get(rank - 1)).map(|hit| hit.parts.clone());
    Hit {
        run: one.run,
        named: one.named,
        parts: parts.unwrap_or_default(),
        ..Hit::plain(one.doc, one.ord, one.score)
    }
}

/// What the arms say of a candidate.
pub(super) fn arms(one: &Candidate) -> Arms {
    let round = |value: f64| (value * 1e6).round() / 1e6;
    let score = |rank, score, z| ArmScore { rank, score: round(score), z: round(z) };
    Arms {
        text: one.text.map(|(rank, words)| score(Some(rank), words, one.z[0])),
        dense: one.cosine.map(|cosine| score(one.rank, cosine, one.z[1])),
        likes: round(one.likes),
        run: round(one.bonus[0]),
        named: round(one.bonus[1]),
    }
}
