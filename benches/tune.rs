//! Chooses the weights of search: `tune text|fused DATA_DIR NOTES PAGES`, over the collections of `eval.rs` in DATA_DIR,
//! the known notes of NOTES (see `known.rs`) and the manual pages of PAGES (see the script `pages`).
//!
//! Only the even half of the questions of each collection is looked at (see `eval::is_even`); the odd half is asked
//! once, in the end. The search begins with weights that say nothing: plain BM25 over the body, or both arms alike. One
//! weight after the other takes, of a few round values, the one by which the mean over the collections that judge it of
//! their main measure is highest, if it is higher by more than the standard error of the difference; until none changes. `fused`
//! has the words weighed as they are in the program.

use std::path::Path;
use std::sync::mpsc;

use runebook::flow::eval::arms::{Answerer, Arm};
use runebook::flow::find::{Fusion, Weights};
use runebook::flow::meaning;
use runebook::flow::progress::Silent;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::index::weights as text;

use crate::eval::{Collection, Question, answer, collections, is_even, made, main_measure, plain};
use crate::support::{self, Result};

/// The collections.
const NAMES: [&str; 6] = ["scifact", "cranfield", "stard", "locomo", "known", "pages"];

/// How often all weights are gone through at most: those of the words twice, those of the fusion once.
fn most_rounds(arm: Arm) -> usize {
    if arm == Arm::Text { 2 } else { 1 }
}

/// How many ask at once.
const THREADS: usize = 2;

const COUNTS: &[f64] = &[0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0];

/// What is tried of a weight, and the collections (by their places in [`NAMES`]) that judge it.
type Tried = (&'static str, &'static [f64], &'static [usize]);

const ALL: &[usize] = &[0, 1, 2, 3, 4, 5];
/// Questions that ask for something. A note that is asked for by its name or its words is no judge of meaning.
const QUESTIONS: &[usize] = &[0, 1, 2, 3];
/// Two languages.
const TWO: &[usize] = &[5];

/// What is tried of each weight. Not there are those of which these collections tell nothing (hardly anything there has
/// tags, aliases or a path that says something), and those that keep a promise: that a title, and a sentence as it
/// stands, find what they are of.
fn tried(arm: Arm) -> &'static [Tried] {
    match arm {
        Arm::Text => &[
            ("starts", COUNTS, ALL),
            ("title", COUNTS, ALL),
            ("around", COUNTS, ALL),
            ("k1", &[0.6, 0.9, 1.2, 1.5, 2.0], ALL),
            ("b", &[0.4, 0.6, 0.75, 0.9], ALL),
        ],
        _ => &[
            ("likes", &[0.0, 0.1, 0.2, 0.35, 0.5], QUESTIONS),
            ("meaning", &[0.35, 0.4, 0.45, 0.5, 0.55, 0.6], QUESTIONS),
            ("meaning_cjk", &[0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75], QUESTIONS),
            ("centred", &[0.6, 0.8, 1.0], QUESTIONS),
            ("centred_cjk", &[0.6, 0.8, 1.0], QUESTIONS),
            ("meaning_abroad", &[0.5, 0.7, 0.8, 0.9, 1.0], TWO),
            ("abroad", &[0.0, 0.1, 0.3, 0.5], TWO),
            ("lift", &[0.0, 0.25, 0.5, 0.75, 1.0], TWO),
        ],
    }
}

/// Weights that say nothing.
fn plainest(arm: Arm) -> Weights {
    match arm {
        Arm::Text => Weights {
            text: text::Weights { title: 0.0, starts: 0.0, around: 0.0, ..text::Weights::DEFAULT },
            ..Weights::DEFAULT
        },
        _ => Weights {
            fusion: Fusion {
                meaning: 0.5,
                meaning_cjk: 0.5,
                meaning_abroad: 0.5,
                abroad: 0.0,
                lift: 0.0,
                centred: 1.0,
                centred_cjk: 1.0,
                likes: 0.0,
                ..Fusion::DEFAULT
            },
            ..Weights::DEFAULT
        },
    }
}

/// What some weights reach: the main measure of each question, by collection and always in one order.
#[derive(Debug, Clone, Default)]
struct Reached([Vec<f64>; NAMES.len()]);

impl Reached {
    fn take(&mut self, other: Reached) {
        self.0.iter_mut().zip(other.0).for_each(|(all, more)| all.extend(more));
    }

    fn means(&self) -> [f64; NAMES.len()] {
        std::array::from_fn(|at| mean(&self.0[at]))
    }

    fn mean(&self, judges: &[usize]) -> f64 {
        let means = self.means();
        mean(&judges.iter().map(|at| means[*at]).collect::<Vec<_>>())
    }

    /// The standard error of the difference to others of the same questions: of a mean of means.
    fn error(&self, other: &Reached, judges: &[usize]) -> f64 {
        let variances = judges.iter().map(|at| (&self.0[*at], &other.0[*at])).map(|(some, others)| {
            let apart: Vec<f64> = some.iter().zip(others).map(|(a, b)| a - b).collect();
            let middle = mean(&apart);
            let squares: Vec<f64> = apart.iter().map(|value| (value - middle).powi(2)).collect();
            mean(&squares) / squares.len().max(1) as f64
        });
        variances.sum::<f64>().sqrt() / judges.len().max(1) as f64
    }

    fn shown(&self) -> String {
        let each = NAMES.iter().zip(self.means()).map(|(name, mean)| format!("{name} {mean:.4}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Tunes and prints.
pub(crate) fn run(arm: &str, [data, notes, pages]: [&Path; 3]) -> Result<()> {
    let arm = match arm {
        "text" => Arm::Text,
        "fused" => Arm::Fused,
        _ => return Err(format!("`{arm}` has no weights to tune: say text or fused").into()),
    };
    let all = all_collections(data, notes, pages)?;
    let (answers, some) = mpsc::channel::<Answer>();
    std::thread::scope(|scope| {
        let workers: Vec<mpsc::Sender<Task>> = (0..THREADS)
            .map(|share| {
                let (tasks, asked) = mpsc::channel();
                let (answers, all) = (answers.clone(), &all);
                scope.spawn(move || {
                    if let Err(error) = work(all, share, arm, &asked, &answers) {
                        // Nobody listens any more where another one failed first.
                        let _ = answers.send((share, Err(format!("{error:?}"))));
                    }
                });
                tasks
            })
            .collect();
        let reached = |weights: Weights, even: bool, judges: &'static [usize]| -> Result<Reached> {
            for worker in &workers {
                worker.send((weights, even, judges))?;
            }
            let mut shares: Vec<(usize, Reached)> = Vec::new();
            for _ in &workers {
                let (share, reached) = some.recv()?;
                shares.push((share, reached?));
            }
            shares.sort_by_key(|(share, _)| *share);
            let mut all = Reached::default();
            shares.into_iter().for_each(|(_, some)| all.take(some));
            Ok(all)
        };
        tune(arm, &reached)
    })
}

fn tune(arm: Arm, reached: &dyn Fn(Weights, bool, &'static [usize]) -> Result<Reached>) -> Result<()> {
    let mut chosen = plainest(arm);
    let mut best = reached(chosen, true, ALL)?;
    support::say(format!("{:<20} {}", "plain", best.shown()))?;
    for round in 1..=most_rounds(arm) {
        let mut changed = false;
        for (name, values, judges) in tried(arm) {
            let now = *place(arm, &mut chosen, name)?;
            let mut all = Vec::new();
            for value in *values {
                let mut weights = chosen;
                *place(arm, &mut weights, name)? = *value;
                if now != *value {
                    all.push((*value, weights, reached(weights, true, judges)?));
                }
            }
            let Some(top) = all.into_iter().max_by(|a, b| a.2.mean(judges).total_cmp(&b.2.mean(judges)))
            else {
                continue;
            };
            if top.2.mean(judges) - best.mean(judges) <= top.2.error(&best, judges) {
                continue;
            }
            chosen = top.1;
            best = reached(chosen, true, ALL)?;
            changed = true;
            support::say(format!("{round} {:<18} {}", format!("{name} {}", top.0), best.shown()))?;
        }
        if !changed {
            break;
        }
    }
    support::say(format!("chosen: {chosen:?}"))?;
    for (name, weights) in [("plain", plainest(arm)), ("chosen", chosen), ("the program's", Weights::DEFAULT)]
    {
        support::say(format!("even, {name:<14} {}", reached(weights, true, ALL)?.shown()))?;
        support::say(format!("odd,  {name:<14} {}", reached(weights, false, ALL)?.shown()))?;
    }
    Ok(())
}

/// Where a weight is kept.
fn place<'a>(arm: Arm, weights: &'a mut Weights, name: &str) -> Result<&'a mut f64> {
    let all: Vec<(&str, &mut f64)> = match arm {
        Arm::Text => weights.text.each().into(),
        _ => weights.fusion.each().into(),
    };
    let held = all.into_iter().find(|(known, _)| *known == name);
    Ok(held.ok_or(format!("there is no weight `{name}`"))?.1)
}

fn all_collections(data: &Path, notes: &Path, pages: &Path) -> Result<Vec<(usize, Collection)>> {
    let mut all = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        let data = match *name {
            "known" => notes,
            "pages" => pages,
            _ => data,
        };
        all.extend(collections(name, data)?.into_iter().map(|collection| (at, collection)));
    }
    Ok(all)
}

/// Weights, whether the even half is asked, and of which collections.
type Task = (Weights, bool, &'static [usize]);

/// What one who asks reached with its share of the questions.
type Answer = (usize, std::result::Result<Reached, String>);

/// Asks a share of the questions with whatever weights come.
fn work(
    all: &[(usize, Collection)],
    share: usize,
    arm: Arm,
    tasks: &mpsc::Receiver<Task>,
    answers: &mpsc::Sender<Answer>,
) -> Result<()> {
    let dirs = all.iter().map(|(_, collection)| made(collection)).collect::<Result<Vec<_>>>()?;
    let envs: Vec<_> = dirs.iter().map(|dir| support::env_with_model(dir)).collect();
    let vaults = envs.iter().zip(&dirs).map(|(env, dir)| Vault::open(env, dir));
    let vaults = vaults.collect::<std::result::Result<Vec<_>, _>>()?;
    let mut asked: Vec<(usize, Vec<&Question>, Answerer<'_, '_>)> = Vec::new();
    for ((at, collection), vault) in all.iter().zip(&vaults) {
        sync::ensure(vault, &Silent)?;
        if arm != Arm::Text {
            meaning::catch_up(vault, &Silent)?;
        }
        let questions = collection.questions.iter().skip(share).step_by(THREADS);
        let questions: Vec<&Question> = questions.collect();
        let mut answerer = Answerer::open(vault, &[])?;
        if arm != Arm::Text {
            if !answerer.can(arm) {
                return Err("there is no model in use (`runebook model list`)".into());
            }
            let texts: Vec<String> = questions.iter().map(|question| plain(&question.text)).collect();
            answerer.finder().embed_ahead(&texts)?;
        }
        asked.push((*at, questions, answerer));
    }
    for (weights, even, judges) in tasks {
        let mut reached = Reached::default();
        for (at, questions, answerer) in asked.iter_mut().filter(|(at, ..)| judges.contains(at)) {
            answerer.finder().weigh(weights);
            for question in questions.iter().filter(|question| is_even(&question.id) == even) {
                let (measures, ..) = answer(answerer, arm, question)?;
                reached.0[*at].push(main_measure(NAMES[*at]).1(&measures));
            }
        }
        answers.send((share, Ok(reached)))?;
    }
    Ok(())
}
