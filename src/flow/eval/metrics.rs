//! How good a ranking is, by the usual measures. Pure: paths in, numbers out.
//!
//! Gains are the grades themselves and the discount of rank *i* is log2(*i* + 1), counted from 1: the form of
//! Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (ACM TOIS 20(4), 2002, section 2.2) that
//! `trec_eval` and BEIR use, where the second rank is discounted already. The others are those of Manning, Raghavan and
//! Schütze, "Introduction to Information Retrieval" (2008, sections 8.3 and 8.4), cut at k.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// What is relevant to a question, by path, and how much: 1 and more.
pub type Relevant = BTreeMap<String, u32>;

/// The measures of one ranking, or their means over many: all from 0 to 1, more is better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Measures {
    /// Whether anything relevant is among the first k (a share, as a mean).
    pub hit: f64,
    /// The share of what is relevant that is among the first k.
    pub recall: f64,
    /// The share of the first k that is relevant; fewer answers than k count as k.
    pub precision: f64,
    /// One over the rank of the first relevant one within k; 0 where there is none.
    pub mrr: f64,
    /// The normalised discounted cumulated gain at k.
    pub ndcg: f64,
}

/// Measures a ranking, best first, in which no path stands twice. Where nothing is relevant all is 0.
#[must_use]
pub fn measure(ranking: &[String], relevant: &Relevant, k: usize) -> Measures {
    let grades: Vec<u32> =
        ranking.iter().take(k).map(|path| relevant.get(path).copied().unwrap_or(0)).collect();
    let found = grades.iter().filter(|grade| **grade > 0).count() as f64;
    let wanted = relevant.values().filter(|grade| **grade > 0).count() as f64;
    let first = grades.iter().position(|grade| *grade > 0);
    let mut ideal: Vec<u32> = relevant.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    ideal.truncate(k);
    Measures {
        hit: f64::from(u8::from(first.is_some())),
        recall: ratio(found, wanted),
        precision: ratio(found, k as f64),
        mrr: first.map_or(0.0, |at| 1.0 / (at as f64 + 1.0)),
        ndcg: ratio(gain(&grades), gain(&ideal)),
    }
}

/// The discounted cumulated gain of grades in their order.
fn gain(grades: &[u32]) -> f64 {
    grades.iter().enumerate().map(|(at, grade)| f64::from(*grade) / (at as f64 + 2.0).log2()).sum()
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The mean of each measure; all 0 for none.
#[must_use]
pub fn mean(all: &[Measures]) -> Measures {
    let of = |field: fn(&Measures) -> f64| ratio(all.iter().map(field).sum(), all.len() as f64);
    Measures {
        hit: of(|m| m.hit),
        recall: of(|m| m.recall),
        precision: of(|m| m.precision),
        mrr: of(|m| m.mrr),
        ndcg: of(|m| m.ndcg),
    }
}

/// The smallest value that at least `percent` in a hundred of the values do not exceed (the nearest-rank percentile);
/// 0 for none.
#[must_use]
pub fn percentile(values: &[f64], percent: u32) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent as usize).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    fn relevant(list: &[(&str, u32)]) -> Relevant {
        list.iter().map(|(path, grade)| ((*path).to_owned(), *grade)).collect()
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn a_ranking_by_hand() {
        // d at rank 2 and f at rank 4 of three relevant ones; g is never found.
        let m = measure(&paths("adcfe"), &relevant(&[("d", 1), ("f", 1), ("g", 1)]), 5);
        near(m.hit, 1.0);
        near(m.recall, 2.0 / 3.0);
        near(m.precision, 2.0 / 5.0);
        near(m.mrr, 0.5);
        // DCG = 1/log2(3) + 1/log2(5) = 0.6309297536 + 0.4306765581; ideal = 1 + 0.6309297536 + 0.5.
        near(m.ndcg, (0.630_929_753_571_457_4 + 0.430_676_558_073_393) / 2.130_929_753_571_457_4);
    }

    #[test]
    fn grades_count_and_so_does_the_cut() {
        let wanted = relevant(&[("a", 3), ("b", 2), ("c", 1)]);
        // 2/1 + 3/log2(3) = 2 + 1.8927892607; ideal 3 + 2/log2(3) = 3 + 1.2618595071.
        let m = measure(&paths("bac"), &wanted, 2);
        near(m.ndcg, 3.892_789_260_714_372 / 4.261_859_507_142_915);
        near(m.recall, 2.0 / 3.0);
        near(m.precision, 1.0);
        near(measure(&paths("abc"), &wanted, 3).ndcg, 1.0);
        assert_eq!(measure(&paths("xyzabc"), &wanted, 3), Measures::default());
    }

    #[test]
    fn nothing_found_and_nothing_wanted() {
        assert_eq!(measure(&[], &relevant(&[("a", 1)]), 10), Measures::default());
        assert_eq!(measure(&paths("ab"), &Relevant::new(), 10), Measures::default());
        assert_eq!(mean(&[]), Measures::default());
    }

    #[test]
    fn means_and_percentiles() {
        let one = Measures { hit: 1.0, recall: 0.5, precision: 0.1, mrr: 1.0, ndcg: 0.9 };
        let m = mean(&[one, Measures::default()]);
        near(m.hit, 0.5);
        near(m.recall, 0.25);
        near(m.ndcg, 0.45);
        let times = [4.0, 1.0, 3.0, 2.0];
        near(percentile(&times, 50), 2.0);
        near(percentile(&times, 95), 4.0);
        near(percentile(&times, 75), 3.0);
        near(percentile(&[], 50), 0.0);
    }
}
