//! Exact search over random vectors of 384 numbers, beside a search with full precision: `vectors [COUNT…]`.

use std::time::Duration;

use crate::support::{self, Result};
use runebook::index::vectors::{Change, Form, NewRow, Question, Script, Vectors};
use runebook::model::id::TextKey;

const DIMENSIONS: usize = 384;
const WANTED: usize = 50;
const QUESTIONS: u64 = 40;
/// Vectors whose scores differ by less than this may change places: 16-bit floats do not tell them apart.
const EDGE: f32 = 5e-5;

/// A vector of length 1 that a number gives: near one of many centres, as texts are near their subjects, or anywhere.
pub(crate) fn vector(number: u64, centre: Option<&[f32]>) -> Vec<f32> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let mut raw: Vec<f32> = (0..DIMENSIONS).map(|_| next() + next()).collect();
    if let Some(centre) = centre {
        raw.iter_mut().zip(centre).for_each(|(value, middle)| *value = *value * 0.05 + middle);
    }
    let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.iter_mut().for_each(|value| *value /= length);
    raw
}

/// Measures and prints.
pub(crate) fn run(counts: &[usize]) -> Result<()> {
    for count in counts {
        for clustered in [false, true] {
            one(*count, clustered)?;
        }
    }
    Ok(())
}

fn one(count: usize, clustered: bool) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let form = Form::of("random vectors", DIMENSIONS);
    let centres: Vec<Vec<f32>> = (0..1000u64).map(|number| vector(1 << 40 | number, None)).collect();
    let made = |number: u64| vector(number, clustered.then(|| centres[number as usize % 1000].as_slice()));
    let mut store = Vectors::open(dir.path(), &form)?;
    let mut exact: Vec<Vec<(f32, u64)>> = vec![Vec::new(); QUESTIONS as usize];
    let questions: Vec<Vec<f32>> = (0..QUESTIONS).map(|number| made(1 << 30 | number)).collect();
    let (mut numbers, mut writing) = (0..count as u64, Duration::ZERO);
    loop {
        let part: Vec<(u64, Vec<f32>)> = numbers.by_ref().take(50_000).map(|n| (n, made(n))).collect();
        if part.is_empty() {
            break;
        }
        for (best, question) in exact.iter_mut().zip(&questions) {
            best.extend(part.iter().map(|(n, vector)| (dot(question, vector), *n)));
            best.sort_by(|a, b| b.0.total_cmp(&a.0));
            best.truncate(WANTED);
        }
        let new = part.into_iter().map(|(number, vector)| {
            let script = if number % 3 == 0 { Script::Cjk } else { Script::Latin };
            NewRow { key: key(number), script, vector }
        });
        let change = Change { add: new.collect(), ..Change::default() };
        writing += support::timed(|| Ok(store.change(&change, &|_| {})?))?;
    }
    let compacting = support::timed(|| Ok(store.compact(&|_| {})?))?;
    let opening = support::best_of(3, || Ok(Vectors::open(dir.path(), &form)?))?;
    let store = Vectors::open(dir.path(), &form)?;
    let (mut times, mut hits, mut near) = (Vec::new(), 0, 0);
    for round in 0..5 {
        for (question, best) in questions.iter().zip(&exact) {
            let mut found = Vec::new();
            times.push(support::timed(|| {
                found = store.scan(&Question::nearest(question, WANTED), |_| true);
                Ok(())
            })?);
            if round == 0 {
                let rows: Vec<_> = found.iter().map(|found| Some(found.row)).collect();
                hits += best.iter().filter(|(_, number)| rows.contains(&store.row(key(*number)))).count();
                let last = best.last().map_or(0.0, |(score, _)| score - EDGE);
                near += found.iter().filter(|found| found.score >= last).count();
            }
        }
    }
    times.sort();
    let share = |hits: usize| hits as f64 / (QUESTIONS as usize * WANTED) as f64;
    let kind = if clustered { "a thousand clusters" } else { "anywhere" };
    support::say(format!(
        "{count} vectors of {DIMENSIONS}, {kind}; the nearest {WANTED}: recall {:.4}; within {EDGE} of the last {:.4}",
        share(hits),
        share(near)
    ))?;
    support::table(&[
        ("scan p50", times[times.len() / 2], String::new()),
        ("scan p99", times[times.len() * 99 / 100], String::new()),
        ("open, sums looked at", opening, String::new()),
        ("written in parts of 50,000", writing, String::new()),
        ("rewritten as a whole", compacting, String::new()),
    ])?;
    support::say(format!("peak {} MiB, mapped pages included", support::peak_mib()))
}

fn key(number: u64) -> TextKey {
    TextKey::of(&number.to_string())
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
