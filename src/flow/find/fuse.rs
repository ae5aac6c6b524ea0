//! Fusing what the words find with what the meaning finds: numbers in, an order out.
//!
//! The scores of the two arms are not comparable, so each is told in standard deviations from the mean of its best
//! (z-scores) before they are added. Languages are compared each by itself, since a model puts texts of one language
//! near each other whatever they say. The constants were chosen by measurement; BENCHMARKS.md tells how.

use super::weights::Fusion;
use crate::flow::meaning::unit;
use crate::index::vectors::{Script, dot};

/// How many of the best of each arm are fused.
pub(super) const DEPTH: usize = 500;
/// A language with fewer texts than this is not compared by itself.
pub(super) const FEWEST: usize = 20;
/// How many of the best are smoothed over those that they resemble…
const SMOOTHED: usize = 100;
/// …over how many…
const NEAREST: usize = 4;
/// A translation stays this much behind its original.
const BEHIND: f64 = 0.01;
/// The least cosine at which a memory that has none of the words is an answer.
const LEAST_COSINE: f64 = 0.15;
/// A deviation below that is none.
const LEAST: f64 = 1e-6;

/// A memory that one arm or both found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) doc: u64,
    /// The chunk that is shown.
    pub(super) ord: u64,
    pub(super) script: Script,
    /// Its place and score among those that the words found.
    pub(super) text: Option<(usize, f64)>,
    /// How much of the question stands there as it was typed.
    pub(super) run: f64,
    /// Whether the question is its title.
    pub(super) named: bool,
    /// Its place among those that the meaning found.
    pub(super) rank: Option<usize>,
    /// The cosine of the question and its best chunk, both seen from the mean of their language; none where it has no
    /// vector yet.
    pub(super) cosine: Option<f64>,
    /// Both scores in standard deviations.
    pub(super) z: [f64; 2],
    /// The fused score.
    pub(super) score: f64,
    /// What its likes added to it.
    pub(super) likes: f64,
    /// What the run added to it, and its title.
    pub(super) bonus: [f64; 2],
}

impl Candidate {
    pub(super) fn new(doc: u64, ord: u64, script: Script) -> Candidate {
        let (z, score, likes) = ([0.0; 2], 0.0, 0.0);
        Candidate {
            doc,
            ord,
            script,
            text: None,
            run: 0.0,
            named: false,
            rank: None,
            cosine: None,
            z,
            score,
            likes,
            bonus: [0.0; 2],
        }
    }
}

/// Leaves out what neither words nor meaning speak for: a model puts something nearest to every question. Only where
/// cosines are seen from a mean do they tell that.
pub(super) fn sift(candidates: &mut Vec<Candidate>) {
    candidates.retain(|one| one.text.is_some() || one.cosine.is_none_or(|cosine| cosine >= LEAST_COSINE));
}

/// What is fused, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// The script of the question.
    pub(super) script: Script,
    /// Whether the languages are compared each by itself.
    pub(super) apart: bool,
    /// Whether the words count.
    pub(super) words: bool,
    /// How much each thing counts.
    pub(super) weights: Fusion,
}

impl Plan {
    /// How much the meaning counts for a candidate.
    fn meaning(&self, abroad: bool) -> f64 {
        match (self.words, abroad) {
            (false, _) => 1.0,
            (true, true) => self.weights.meaning_abroad,
            (true, false) if self.script == Script::Cjk => self.weights.meaning_cjk,
            (true, false) => self.weights.meaning,
        }
    }

    fn is_abroad(&self, one: &Candidate) -> bool {
        self.apart && one.script != self.script
    }
}

/// Mean and standard deviation of values and as many zeros as there are fewer than `count`.
fn spread(values: impl Iterator<Item = f64>, count: usize) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let count = values.len().max(count).max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|value| value * value).sum::<f64>() / count;
    (mean, (square - mean * mean).max(0.0).sqrt())
}

fn z(value: f64, (mean, deviation): (f64, f64)) -> f64 {
    if deviation < LEAST { 0.0 } else { (value - mean) / deviation }
}

/// Scores the candidates of both arms.
pub(super) fn fuse(candidates: &mut [Candidate], plan: &Plan) {
    for abroad in [false, true] {
        let mut group: Vec<&mut Candidate> =
            candidates.iter_mut().filter(|one| plan.is_abroad(one) == abroad).collect();
        if !group.is_empty() {
            fuse_group(&mut group, plan, abroad);
        }
    }
}

fn fuse_group(group: &mut [&mut Candidate], plan: &Plan, abroad: bool) {
    // Chinese is scored by characters and pairs, of which a long text has many: the root evens that out.
    let words = |one: &Candidate| {
        let score = one.text.map_or(0.0, |(_, score)| score.max(0.0));
        if plan.script == Script::Cjk { score.sqrt() } else { score }
    };
    let of_words =
        spread(group.iter().filter(|one| one.text.is_some()).map(|one| words(one)), group.len().min(DEPTH));
    let of_meaning = spread(group.iter().filter(|one| one.rank.is_some()).filter_map(|one| one.cosine), 0);
    let weight = plan.meaning(abroad);
    for one in group.iter_mut() {
        one.z[0] = z(words(one), of_words);
        // What waits for its vector is judged by its words alone.
        one.z[1] = one.cosine.map_or(one.z[0], |cosine| z(cosine, of_meaning));
        one.score = (1.0 - weight) * one.z[0] + weight * one.z[1];
    }
    if plan.apart {
        let of_both = spread(group.iter().map(|one| one.score), 0);
        let behind = if abroad { plan.weights.abroad } else { 0.0 };
        group.iter_mut().for_each(|one| one.score = z(one.score, of_both) - behind);
    }
}

/// Best first; equal ones by what `tie` gives.
pub(super) fn sort<K: Ord>(candidates: &mut [Candidate], tie: impl Fn(&Candidate) -> K) {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
    for equal in candidates.chunk_by_mut(|a, b| a.score == b.score).filter(|equal| equal.len() > 1) {
        equal.sort_by_cached_key(&tie);
    }
}

/// Lets the best of a question's own language share their scores with those that they resemble most: where several
/// memories answer, they hold each other up. Not for Chinese questions, whose likes are look-alikes (the next article
/// of a law). The candidates are ordered, and are not afterwards.
pub(super) fn smooth(
    candidates: &mut [Candidate],
    plan: &Plan,
    direction: impl Fn(&Candidate) -> Option<Vec<f32>>,
) {
    if plan.script == Script::Cjk {
        return;
    }
    let chosen: Vec<usize> =
        (0..candidates.len()).filter(|at| !plan.is_abroad(&candidates[*at])).take(SMOOTHED).collect();
    let directions: Vec<Option<Vec<f32>>> = chosen.iter().map(|at| direction(&candidates[*at])).collect();
    let scores: Vec<f64> = chosen.iter().map(|at| candidates[*at].score).collect();
    let mut least = f64::INFINITY;
    for (here, at) in chosen.iter().enumerate() {
        let mut likes: Vec<(f64, f64)> = (0..chosen.len())
            .filter(|there| *there != here)
            .map(|there| (cosine(&directions[here], &directions[there]), scores[there]))
            .collect();
        likes.sort_by(|a, b| b.0.total_cmp(&a.0));
        likes.truncate(NEAREST);
        let weights: f64 = likes.iter().map(|like| like.0).sum();
        if weights > LEAST {
            let mean = likes.iter().map(|(weight, score)| weight * score).sum::<f64>() / weights;
            let one = &mut candidates[*at];
            one.likes = plan.weights.likes * (mean - one.score);
            one.score += one.likes;
        }
        least = least.min(candidates[*at].score);
    }
    // The rest keeps its order behind them.
    let rest =
        |candidates: &[Candidate], at: &usize| !plan.is_abroad(&candidates[*at]) && !chosen.contains(at);
    let behind: Vec<usize> = (0..candidates.len()).filter(|at| rest(candidates, at)).collect();
    if let Some(over) =
        behind.first().map(|first| candidates[*first].score - least).filter(|over| *over > 0.0)
    {
        behind.iter().for_each(|at| candidates[*at].score -= over + BEHIND);
    }
}

/// Lets a memory that says in the other language what one in the question's says stand next to that. The candidates
/// are ordered, and are not afterwards.
pub(super) fn lift(
    candidates: &mut [Candidate],
    plan: &Plan,
    direction: impl Fn(&Candidate) -> Option<Vec<f32>>,
) {
    if !plan.apart {
        return;
    }
    let best = candidates.len().min(SMOOTHED);
    let (abroad, home): (Vec<usize>, Vec<usize>) = (0..best).partition(|at| plan.is_abroad(&candidates[*at]));
    let directions: Vec<Option<Vec<f32>>> = candidates[..best].iter().map(direction).collect();
    let nearest = |at: usize, among: &[usize]| {
        let score = |other: &usize| cosine(&directions[at], &directions[*other]);
        among
            .iter()
            .copied()
            .max_by(|a, b| score(a).total_cmp(&score(b)).then(b.cmp(a)))
            .filter(|other| score(other) >= plan.weights.translation)
    };
    for at in &abroad {
        let Some(original) = nearest(*at, &home) else { continue };
        if nearest(original, &abroad) == Some(*at) {
            let (own, others) = (candidates[*at].score, candidates[original].score);
            let lifted = ((1.0 - plan.weights.lift) * own + plan.weights.lift * others).min(others - BEHIND);
            if lifted > own {
                candidates[*at].likes += lifted - own;
                candidates[*at].score = lifted;
            }
        }
    }
}

/// Favours what has the question as it was typed or is called so, as the words do among themselves. `strength` tells
/// how much a share of the question counts.
pub(super) fn favour(candidates: &mut [Candidate], plan: &Plan, strength: impl Fn(f64) -> f64) {
    let scores = candidates.iter().map(|one| one.score);
    let (low, top) = scores.fold((0f64, 0f64), |(low, top), score| (low.min(score), top.max(score)));
    for one in candidates {
        let named = if one.named { plan.weights.named } else { 0.0 };
        one.bonus = [plan.weights.run * strength(one.run), named].map(|strength| strength * (top - low));
        one.score += one.bonus.iter().sum::<f64>();
    }
}

/// The cosine of two vectors of length one; 0 where one is missing or they point away from each other.
fn cosine(a: &Option<Vec<f32>>, b: &Option<Vec<f32>>) -> f64 {
    let (Some(a), Some(b)) = (a, b) else { return 0.0 };
    f64::from(dot(a, b)).max(0.0)
}

/// A vector seen from a share of a mean: of length one; none where it has no direction.
pub(super) fn seen_from(vector: &[f32], mean: &[f32], share: f32) -> Option<Vec<f32>> {
    unit(vector.iter().zip(mean).map(|(value, mean)| value - share * mean).collect())
}

/// The cosine of a question and a vector that is seen from a mean; none where it has no direction from there.
pub(super) fn seen_cosine(vector: &[f32], mean: &[f32], question: &[f32]) -> Option<f64> {
    let (mut product, mut square) = ([0f32; 8], [0f32; 8]);
    let whole = vector.len() - vector.len() % 8;
    let mut add = |lane: usize, at: usize| {
        let seen = vector[at] - mean[at];
        product[lane] += seen * question[at];
        square[lane] += seen * seen;
    };
    for at in (0..whole).step_by(8) {
        (0..8).for_each(|lane| add(lane, at + lane));
    }
    (whole..vector.len()).for_each(|at| add(0, at));
    let length = f64::from(square.iter().sum::<f32>()).sqrt();
    (length >= 1e-6).then(|| f64::from(product.iter().sum::<f32>()) / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(doc: u64, script: Script, text: Option<f64>, cosine: Option<f64>) -> Candidate {
        let mut one = Candidate::new(doc, 0, script);
        one.text = text.map(|score| (1, score));
        one.cosine = cosine;
        one.rank = cosine.map(|_| 1);
        one
    }

    fn order(candidates: &[Candidate]) -> Vec<u64> {
        candidates.iter().map(|one| one.doc).collect()
    }

    const LATIN: Plan = Plan { script: Script::Latin, apart: false, words: true, weights: Fusion::DEFAULT };

    #[test]
    fn what_both_arms_find_is_before_what_one_finds() {
        let latin = Script::Latin;
        let mut all = vec![
            one(1, latin, Some(9.0), Some(0.1)),
            one(2, latin, Some(8.0), Some(0.5)),
            one(3, latin, None, Some(0.55)),
            one(4, latin, None, Some(0.1)),
        ];
        fuse(&mut all, &LATIN);
        sort(&mut all, |one| one.doc);
        assert_eq!(order(&all), [2, 1, 3, 4]);
        // Without words it is the order of the cosines.
        fuse(&mut all, &Plan { words: false, ..LATIN });
        sort(&mut all, |one| one.doc);
        assert_eq!(order(&all), [3, 2, 1, 4]);
    }

    #[test]
    fn equal_scores_are_ordered_by_what_is_given_and_one_alone_has_a_score() {
        let mut all: Vec<Candidate> = (1..4).map(|doc| one(doc, Script::Latin, None, Some(0.5))).collect();
        fuse(&mut all, &LATIN);
        assert!(all.iter().all(|one| one.score == 0.0));
        sort(&mut all, |one| std::cmp::Reverse(one.doc));
        assert_eq!(order(&all), [3, 2, 1]);
        fuse(&mut [], &LATIN);
    }

    #[test]
    fn what_waits_for_its_vector_is_judged_by_its_words() {
        let mut all =
            vec![one(1, Script::Latin, Some(9.0), None), one(2, Script::Latin, Some(1.0), Some(0.9))];
        all.push(one(3, Script::Latin, None, Some(0.1)));
        fuse(&mut all, &LATIN);
        assert_eq!(all[0].z[0], all[0].z[1]);
        assert!((all[0].score - all[0].z[0]).abs() < 1e-9);
    }

    #[test]
    fn a_translation_rises_to_its_original_and_stays_behind_it() {
        let plan = Plan { apart: true, ..LATIN };
        let mut all: Vec<Candidate> = (0..6)
            .map(|n| one(n, Script::Latin, Some(10.0 - n as f64), Some(0.9 - n as f64 / 10.0)))
            .collect();
        all.extend((10..16).map(|n| one(n, Script::Cjk, None, Some(0.1 + n as f64 / 100.0))));
        fuse(&mut all, &plan);
        sort(&mut all, |one| one.doc);
        let axis = |one: &Candidate| {
            let mut vector = vec![0.0; 20];
            // 10 says what 0 says; the others are alone.
            vector[if one.doc == 10 { 0 } else { one.doc as usize }] = 1.0;
            Some(vector)
        };
        let place = |all: &[Candidate], doc| order(all).iter().position(|other| *other == doc).unwrap();
        let before = place(&all, 10);
        lift(&mut all, &plan, axis);
        sort(&mut all, |one| one.doc);
        let (original, translation) = (place(&all, 0), place(&all, 10));
        assert!(original == 0 && translation > original && translation < before, "{:?}", order(&all));
    }

    #[test]
    fn a_cosine_seen_from_a_mean_is_that_of_the_vector_seen_from_it() {
        for length in [3, 8, 21] {
            let part = |n: usize, by: usize| ((n * by + 3) % 17) as f32 / 17.0 - 0.4;
            let vectors = [5, 7, 11].map(|by| (0..length).map(|n| part(n, by)).collect::<Vec<f32>>());
            let [vector, mean, question] = &vectors;
            let slow = f64::from(dot(&seen_from(vector, mean, 1.0).unwrap(), question));
            let fast = seen_cosine(vector, mean, question).unwrap();
            assert!((slow - fast).abs() < 1e-6, "{slow} {fast}");
            assert_eq!(seen_cosine(vector, vector, question), None);
        }
    }

    #[test]
    fn likes_hold_each_other_up() {
        let mut all: Vec<Candidate> =
            (0..8).map(|n| one(n, Script::Latin, Some(8.0 - n as f64), Some(0.5))).collect();
        fuse(&mut all, &LATIN);
        sort(&mut all, |one| one.doc);
        // 0 and 6 point one way, everything else each its own.
        let axis = |one: &Candidate| {
            let mut vector = vec![0.0; 8];
            vector[if one.doc == 6 { 0 } else { one.doc as usize }] = 1.0;
            Some(vector)
        };
        smooth(&mut all, &LATIN, axis);
        let by = |doc: u64| all.iter().find(|one| one.doc == doc).unwrap().likes;
        assert!(by(6) > 0.0 && by(0) < 0.0 && by(3) == 0.0);
    }
}
