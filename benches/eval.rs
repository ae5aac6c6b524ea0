//! How well public collections are searched: each is made into a vault, indexed and asked as a user's vault is.
//! `eval scifact|cranfield|stard|locomo|known|pages DATA_DIR [--arms grep,bm25,text] [--half even|odd] [--dump FILE]`.
//!
//! The first three stand in DATA_DIR as BEIR lays them out (`<name>/corpus.jsonl`, `queries.jsonl`,
//! `qrels/test.tsv`; STARD's is `stard-gold`), LoCoMo as `locomo10.json`. For `known`
//! DATA_DIR is a directory of notes, which are asked for by what they say (see `known.rs`), for `pages` it is what
//! `benches/pages` wrote: manual pages in English and Chinese in one vault. Vaults are kept in the system's directory
//! for temporary files, under a hash of what they were made from. The arms that go by meaning need a model in use
//! (`runebook model list`); texts are embedded once.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runebook::flow::eval::arms::{Answerer, Arm};
use runebook::flow::eval::metrics::{Measures, Relevant, mean, measure, percentile};
use runebook::flow::find::FindRequest;
use runebook::flow::meaning;
use runebook::flow::progress::Silent;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::model::access::{Access, View};
use runebook::model::id::Digest;

use crate::support::{self, Result};
use crate::{beir, known, locomo};

/// The number of answers that are looked at.
const K: usize = 10;

/// One memory of a collection.
pub(crate) struct Memory {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// One question with its answers.
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) relevant: Relevant,
    /// What is taken out of an answer before it is measured.
    pub(crate) ignored: HashSet<String>,
    /// What kind of question it is, where the collection tells.
    pub(crate) kind: Option<String>,
}

/// Memories that belong together, with the questions about them.
pub(crate) struct Collection {
    pub(crate) name: String,
    pub(crate) memories: Vec<Memory>,
    pub(crate) questions: Vec<Question>,
}

/// What was asked for.
struct Options<'a> {
    arms: Vec<Arm>,
    half: Option<bool>,
    dump: Option<&'a Path>,
}

/// The vaults of a collection, from the directory that [`run`] takes.
pub(crate) fn collections(name: &str, data: &Path) -> Result<Vec<Collection>> {
    Ok(match name {
        "scifact" | "cranfield" => vec![beir::read(name, &data.join(name))?],
        "stard" => vec![beir::read(name, &data.join("stard-gold"))?],
        "locomo" => locomo::read(&data.join("locomo10.json"))?,
        "pages" => vec![beir::read_by_kind(name, data)?],
        "known" => vec![known::read(data)?],
        _ => return Err(format!("there is no collection `{name}`").into()),
    })
}

/// The measure that a collection is judged by: its name, and how it is read off.
pub(crate) fn main_measure(name: &str) -> (&'static str, fn(&Measures) -> f64) {
    match name {
        "locomo" => ("recall@10", |measures| measures.recall),
        "known" => ("first", |measures| f64::from(u8::from(measures.mrr >= 1.0))),
        _ => ("nDCG@10", |measures| measures.ndcg),
    }
}

/// Measures and prints.
pub(crate) fn run(name: &str, data: &Path, rest: &[&str]) -> Result<()> {
    let options = options(rest)?;
    let collections = collections(name, data)?;
    let mut results: BTreeMap<Arm, Vec<Asked>> = BTreeMap::new();
    for collection in collections {
        ask(collection, &options, &mut results)?;
    }
    let count = results.values().next().map_or(0, Vec::len);
    support::say(format!("{name}: {count} questions, main measure {}", main_measure(name).0))?;
    support::say(format!(
        "{:<13} {:>6} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "arm", "count", "first", "nDCG@10", "recall@10", "hit", "MRR", "P@10", "p50 ms", "p95 ms"
    ))?;
    for (arm, asked) in &results {
        row(arm.name(), asked)?;
        let mut kinds: BTreeMap<&str, Vec<Asked>> = BTreeMap::new();
        for one in asked {
            if let Some(kind) = &one.kind {
                kinds.entry(kind).or_default().push(one.clone());
            }
        }
        for (kind, asked) in kinds {
            row(&format!("  {kind}"), &asked)?;
        }
    }
    Ok(())
}

fn options<'a>(rest: &'a [&'a str]) -> Result<Options<'a>> {
    let mut options = Options { arms: Arm::ALL.to_vec(), half: None, dump: None };
    for pair in rest.chunks(2) {
        match pair {
            ["--arms", list] => {
                let arm = |name: &str| Arm::named(name).ok_or(format!("there is no arm `{name}`"));
                options.arms = list.split(',').map(arm).collect::<std::result::Result<_, _>>()?;
            }
            ["--half", half] => options.half = Some(*half == "even"),
            ["--dump", file] => options.dump = Some(Path::new(file)),
            _ => return Err(format!("cannot read `{}`", pair.join(" ")).into()),
        }
    }
    Ok(options)
}

/// How one question was answered.
#[derive(Clone)]
struct Asked {
    measures: Measures,
    ms: f64,
    kind: Option<String>,
}

fn row(name: &str, asked: &[Asked]) -> Result<()> {
    let m = mean(&asked.iter().map(|one| one.measures).collect::<Vec<_>>());
    let times: Vec<f64> = asked.iter().map(|one| one.ms).collect();
    let first = asked.iter().filter(|one| one.measures.mrr >= 1.0).count() as f64 / asked.len().max(1) as f64;
    support::say(format!(
        "{name:<13} {:>6} {first:>8.4} {:>8.4} {:>9.4} {:>8.4} {:>8.4} {:>8.4} {:>8.2} {:>8.2}",
        asked.len(),
        m.ndcg,
        m.recall,
        m.hit,
        m.mrr,
        m.precision,
        percentile(&times, 50),
        percentile(&times, 95)
    ))
}

/// Which half of the questions one belongs to: by the parity of its name's hash, so that it is the same half whatever
/// else changes.
pub(crate) fn is_even(id: &str) -> bool {
    Digest::of(id.as_bytes()).0[0].is_multiple_of(2)
}

fn ask(collection: Collection, options: &Options<'_>, results: &mut BTreeMap<Arm, Vec<Asked>>) -> Result<()> {
    let dir = made(&collection)?;
    let env = support::env_with_model(&dir);
    let vault = Vault::open(&env, &dir)?;
    sync::ensure(&vault, &Silent)?;
    meaning::catch_up(&vault, &Silent)?;
    let questions: Vec<Question> = (collection.questions.into_iter())
        .filter(|question| options.half.is_none_or(|even| is_even(&question.id) == even))
        .collect();
    let texts: Vec<&str> = questions.iter().map(|question| question.text.as_str()).collect();
    let mut answerer = Answerer::open(&vault, &texts)?;
    let mut dump = String::new();
    for arm in options.arms.iter().filter(|arm| answerer.can(**arm)).copied().collect::<Vec<_>>() {
        for question in &questions {
            let (measures, paths, spent) = answer(&mut answerer, arm, question)?;
            writeln!(dump, "{}\t{}\t{:.4}\t{}", arm.name(), question.id, measures.ndcg, paths.join(" "))?;
            let ms = spent.as_secs_f64() * 1e3;
            results.entry(arm).or_default().push(Asked { measures, ms, kind: question.kind.clone() });
        }
    }
    if let Some(file) = options.dump {
        std::fs::write(file, dump)?;
    }
    Ok(())
}

/// Asks a question: how good the answer is, the answer, and how long it took.
pub(crate) fn answer(
    answerer: &mut Answerer<'_, '_>,
    arm: Arm,
    question: &Question,
) -> Result<(Measures, Vec<String>, Duration)> {
    let access = Access { actor: None, view: View::WorkTree };
    let limit = K + question.ignored.len();
    let request = FindRequest { query: plain(&question.text), limit, ..FindRequest::default() };
    let (mut paths, spent) = answerer.answer(arm, &access, &request)?;
    paths.retain(|path| !question.ignored.contains(path));
    paths.truncate(K);
    Ok((measure(&paths, &question.relevant, K), paths, spent))
}

/// A question without what the query syntax would take as a sign.
pub(crate) fn plain(text: &str) -> String {
    text.replace(['"', '“', '”', '「', '」', '『', '』', '＂'], " ").replace(" -", " ").replace(" －", " ")
}

/// The vault of a collection, made if it is not there yet.
pub(crate) fn made(collection: &Collection) -> Result<PathBuf> {
    let mut all = String::from("3\n");
    for memory in &collection.memories {
        writeln!(all, "{}\n{}\n", memory.path, memory.text)?;
    }
    let digest = Digest::of(all.as_bytes()).to_string();
    let name = format!("{}-{}", collection.name, &digest["sha256:".len()..][..16]);
    let root = std::env::temp_dir().join("runebook-eval");
    let dir = root.join(&name);
    if dir.is_dir() {
        return Ok(dir);
    }
    std::fs::create_dir_all(&root)?;
    let fresh = tempfile::Builder::new().prefix("making-").tempdir_in(&root)?;
    for memory in &collection.memories {
        let at = fresh.path().join(&memory.path);
        std::fs::create_dir_all(at.parent().ok_or("a file has a directory")?)?;
        std::fs::write(at, &memory.text)?;
    }
    std::fs::create_dir_all(fresh.path().join(".runebook"))?;
    std::fs::write(fresh.path().join(".runebook/config.yaml"), "version: 1\nmain_branch: main\n")?;
    support::command(fresh.path(), "git", &["init", "-q", "-b", "main"])?;
    std::fs::rename(fresh.keep(), &dir)?;
    Ok(dir)
}
