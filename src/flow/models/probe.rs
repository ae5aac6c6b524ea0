//! Trying a runtime and a model in a process of its own: what crashes there takes nothing else with it.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choose::LIBRARY_VARIABLE;
use super::error::ModelError;
use crate::index::embed::{Embedder, ModelDir, Runtime};
use crate::model::clock::{Env, Stopwatch};
use crate::model::fault::Fault;

/// How long the process may take. A good one takes a second.
const PATIENCE: Duration = Duration::from_secs(120);
const GLANCE: Duration = Duration::from_millis(10);

/// Sentences that mean different things and have the same length: to a model that does not know the script, they are
/// the same.
const ENGLISH: [&str; 2] = ["The cat sleeps on the warm stone.", "Our tax office raised the rate."];
const CHINESE: [&str; 2] = ["猫在温暖的石头上睡觉。", "税务局今年提高了税率。"];

/// What a runtime and a model can do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probed {
    /// The version of the runtime.
    pub runtime: String,
    /// Whether the model tells English sentences apart.
    pub english: bool,
    /// Whether it tells Chinese sentences apart.
    pub chinese: bool,
}

/// Loads the runtime that the environment names, and a model with it if one is given, in this process.
///
/// # Errors
/// When one of them cannot be used.
pub fn probe(runtime: &Runtime, model: Option<&Path>) -> Result<Probed, Fault> {
    let mut probed = Probed { runtime: runtime.version()?, ..Probed::default() };
    let Some(model) = model else { return Ok(probed) };
    let mut embedder = Embedder::open(&ModelDir::at(model)?, runtime, NonZeroUsize::MIN)?;
    probed.english = tells_apart(&mut embedder, ENGLISH)?;
    probed.chinese = tells_apart(&mut embedder, CHINESE)?;
    Ok(probed)
}

fn tells_apart(embedder: &mut Embedder, texts: [&str; 2]) -> Result<bool, Fault> {
    let vectors = embedder.passages(&texts)?;
    let cosine = vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum::<f32>();
    Ok(cosine < 0.9999)
}

/// The end of what a process prints, to where it closes its output.
fn hear(out: &mut impl std::io::Read) -> String {
    const KEPT: usize = 1 << 16;
    let (mut kept, mut buffer) = (Vec::new(), vec![0; KEPT]);
    while let Ok(read @ 1..) = out.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..read]);
        let extra = kept.len().saturating_sub(KEPT);
        kept.drain(..extra);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// As [`probe`], in a process of its own. After Ctrl-C the error says nothing of the model: ask `env` first.
pub(super) fn probe_apart(
    env: &Env,
    library: Option<&Path>,
    model: Option<&Path>,
) -> Result<Probed, ModelError> {
    let about = model.or(library).unwrap_or(Path::new("the model runtime"));
    let failed = |why: String, hint: Option<String>| ModelError::Probe {
        why: format!("{} cannot be used: {why}", about.display()),
        hint,
    };
    let program = env
        .program
        .as_deref()
        .ok_or_else(|| failed("it cannot be tried, as this program cannot start itself".to_owned(), None))?;
    let mut command = Command::new(program);
    command.args(["--json", "model", "probe"]).args(model);
    command.env_clear().envs(&env.vars).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(library) = library {
        command.env(LIBRARY_VARIABLE, library);
    }
    let mut child = command.spawn().map_err(ModelError::io("starting", program))?;
    // A library that prints much would fill the pipe and wait for ever; only so much of it is kept.
    let heard = child.stdout.take().map(|mut out| std::thread::spawn(move || hear(&mut out)));
    let watch = Stopwatch::start();
    let status = loop {
        match child.try_wait().map_err(ModelError::io("waiting for", program))? {
            Some(status) => break status,
            None if watch.elapsed() > PATIENCE || env.go_on().is_err() => {
                // Already gone, then.
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(
                    format!("it did not answer within {} s", watch.elapsed().as_secs()),
                    None,
                ));
            }
            None => std::thread::sleep(GLANCE),
        }
    };
    let said = heard.and_then(|thread| thread.join().ok()).unwrap_or_default();
    // What a library printed stands before the answer.
    let (printed, said) = said.split_at(said.rfind("\n{").unwrap_or(0));
    if status.success() && !printed.trim().is_empty() {
        let why = "it prints while it is loaded, and that would stand in every answer";
        return Err(failed(why.to_owned(), None));
    }
    if status.success() {
        return serde_json::from_str(said).map_err(|why| failed(why.to_string(), None));
    }
    let said: serde_json::Value = serde_json::from_str(said).unwrap_or_default();
    let text = |name: &str| said["error"][name].as_str().map(str::to_owned);
    Err(match text("message") {
        Some(why) => ModelError::Probe { why, hint: text("hint") },
        None => failed(
            format!("it ended the process that tried it ({status})"),
            Some("it is damaged, or made for another processor; get another one".to_owned()),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_much_that_is_printed_the_end_is_kept() {
        let noise = "loading\n".repeat(1 << 17);
        let said = hear(&mut format!("{noise}{{\n  \"runtime\": \"1\"\n}}\n").as_bytes());
        assert!(said.len() <= 1 << 16 && said.ends_with("loading\n{\n  \"runtime\": \"1\"\n}\n"));
    }
}
