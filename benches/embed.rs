//! Embedding: chunks a second through the program and through the bare runtime on the same chunks, and a cold start.

use std::path::Path;
use std::time::{Duration, Instant};

use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::Tensor;
use runebook::index::embed::{Embedder, ModelDir, Runtime};

use crate::support::{self, Result};
use crate::words::{Chance, chinese_sentence, english_sentence};

/// The size of a chunk in characters: about 230 tokens.
const CHUNK: usize = 900;

/// How often both are measured; the best time counts.
const ROUNDS: usize = 3;

/// `model` is a model's directory with `model.yaml` in it, `library` the runtime.
pub(crate) fn run(model: &Path, library: &Path, count: usize) -> Result<()> {
    let threads = std::thread::available_parallelism()?;
    let directory = ModelDir::at(model)?;
    let runtime = Runtime { files: vec![library.to_owned()], names: Vec::new() };
    let began = Instant::now();
    let mut embedder = Embedder::open(&directory, &runtime, threads)?;
    let opened = began.elapsed();
    embedder.query("What does the user prefer?")?;
    let first = began.elapsed();
    support::table(&[
        ("open the model", opened, String::new()),
        ("first vector", first, format!("{} MiB at most", support::peak_mib())),
    ])?;
    let chunks = chunks(count);
    let texts: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let counted = texts.iter().map(|text| embedder.count_tokens(text));
    let tokens: usize = counted.sum::<std::result::Result<_, _>>()?;
    // In turns, so that whatever else the machine does falls on both. A process has one environment of the runtime: the
    // bare one has a process of its own.
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    let program = std::env::current_exe()?.display().to_string();
    for _ in 0..ROUNDS {
        ours = ours.min(support::timed(|| Ok(embedder.passages(&texts)?))?);
        let (model, library) = (model.display().to_string(), library.display().to_string());
        let args = ["embed-bare", &model, &library, &count.to_string()];
        let said = support::command(Path::new("."), &program, &args)?;
        theirs = theirs.min(Duration::from_secs_f64(said.trim().parse()?));
    }
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    support::say(format!(
        "{count} chunks of {} tokens, {threads} threads: {:.1}/s, the bare runtime {:.1}/s, share {:.3}; {} MiB at most",
        tokens / count.max(1),
        rate(ours),
        rate(theirs),
        rate(ours) / rate(theirs),
        support::peak_mib()
    ))?;
    drop(embedder);
    support::say(format!("{} MiB once the model was let go", resident_mib()))
}

/// The memory that this process has now, in MiB; 0 where the system does not tell.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}

/// The seconds that the bare runtime takes for the same chunks, their tokens given.
pub(crate) fn bare(model: &Path, library: &Path, count: usize) -> Result<()> {
    let environment = ort::init_from(library)?.with_telemetry(false).build()?;
    let threads = std::thread::available_parallelism()?.get();
    let builder = Session::builder(&environment)?;
    let builder = builder.with_optimization_level(GraphOptimizationLevel::Level3)?;
    let mut session = builder.with_intra_threads(threads)?.commit_from_file(model.join("model.onnx"))?;
    let tokenizer = tokenizers::Tokenizer::from_file(model.join("tokenizer.json"))?;
    let mut inputs: Vec<Vec<i64>> = Vec::new();
    for chunk in chunks(count) {
        let encoded = tokenizer.encode(format!("passage: {chunk}"), true)?;
        inputs.push(encoded.get_ids().iter().take(512).map(|id| i64::from(*id)).collect());
    }
    forward(&mut session, &inputs[0])?;
    let took = support::timed(|| inputs.iter().try_for_each(|ids| forward(&mut session, ids)))?;
    support::say(took.as_secs_f64())
}

fn forward(session: &mut Session, ids: &[i64]) -> Result<()> {
    let tensor = |values: Vec<i64>| Tensor::from_array(([1, ids.len()], values));
    let inputs = ort::inputs![
        "input_ids" => tensor(ids.to_vec())?,
        "attention_mask" => tensor(vec![1; ids.len()])?,
        "token_type_ids" => tensor(vec![0; ids.len()])?,
    ];
    session.run(inputs)?;
    Ok(())
}

/// Made-up texts of the usual length.
fn chunks(count: usize) -> Vec<String> {
    let mut chance = Chance::new(7);
    let mut chunk = |at: usize| {
        // Every third one is Chinese, with as many tokens.
        let (size, sentence): (usize, fn(&mut Chance) -> String) =
            if at.is_multiple_of(3) { (CHUNK / 3, chinese_sentence) } else { (CHUNK, english_sentence) };
        let mut text = String::new();
        while text.chars().count() < size {
            text.push_str(&sentence(&mut chance));
            text.push(' ');
        }
        text
    };
    (0..count).map(&mut chunk).collect()
}
