//! What is installed, and what is used.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::choose::{ChosenBy, choose, is_model, runtime};
use super::error::ModelError;
use super::place::Places;
use super::probe::probe_apart;
use crate::index::embed::ModelDir;
use crate::model::clock::Env;
use crate::model::config::Config;
use crate::model::embedding::ModelName;
use crate::model::fault::{Explain as _, Fault};

/// A model that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
    /// The most tokens of a text.
    pub max_tokens: usize,
    /// The languages that it is good for.
    pub languages: Vec<String>,
    /// Under which licence it may be used.
    pub licence: String,
    /// Where it comes from.
    pub source: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What decides its vectors.
    pub fingerprint: String,
    /// Why it cannot be used; absent where it looks whole.
    pub problem: Option<String>,
}

/// The runtime library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuntimeState {
    /// Its file, where it is not the system's.
    pub path: Option<PathBuf>,
    /// Its version, where it can be loaded.
    pub version: Option<String>,
    /// Why it cannot be.
    pub problem: Option<String>,
    /// What to do about that.
    pub hint: Option<String>,
}

/// What is installed, and what is used here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Listed {
    /// The models by name.
    pub models: Vec<Installed>,
    /// The one that is used here.
    pub used: Option<ModelName>,
    /// By whose choice.
    pub chosen_by: Option<ChosenBy>,
    /// Why none is used.
    pub unavailable: Option<String>,
    /// What to do about that.
    pub hint: Option<String>,
    /// The runtime.
    pub runtime: RuntimeState,
    /// Where the models stand.
    pub directory: PathBuf,
}

/// What is installed and what is used in a vault with these settings, or outside of vaults. Tries the runtime in a
/// process of its own.
///
/// # Errors
/// When there is no place for models.
pub fn list(env: &Env, config: Option<&Config>) -> Result<Listed, Fault> {
    let places = Places::of(env).ok_or(ModelError::NoHome)?;
    super::bring::recover(&places);
    let mut models: Vec<Installed> = std::fs::read_dir(places.models())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_model(path))
        .map(|path| installed(&path))
        .collect();
    models.sort_by(|a, b| a.name.cmp(&b.name));
    let chosen = choose(env, config);
    let (unavailable, hint) = match &chosen {
        Ok(_) => (None, None),
        Err(why) => (Some(why.to_string()), why.hint()),
    };
    let used = chosen.as_ref().ok();
    Ok(Listed {
        models,
        used: used.map(|choice| choice.directory.description.name.clone()),
        chosen_by: used.map(|choice| choice.by),
        unavailable,
        hint,
        runtime: state(env),
        directory: places.models(),
    })
}

fn installed(path: &std::path::Path) -> Installed {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match ModelDir::at(path) {
        Ok(found) => {
            let about = &found.description;
            Installed {
                name,
                dimensions: about.dimensions,
                max_tokens: about.max_tokens,
                languages: about.languages.clone(),
                licence: about.licence.clone(),
                source: about.source.clone(),
                bytes: about.files.values().map(|file| file.bytes).sum(),
                fingerprint: about.fingerprint().to_string(),
                problem: found.check_sizes().err().map(|why| why.to_string()),
            }
        }
        Err(why) => Installed {
            name,
            dimensions: 0,
            max_tokens: 0,
            languages: Vec::new(),
            licence: String::new(),
            source: String::new(),
            bytes: 0,
            fingerprint: String::new(),
            problem: Some(why.to_string()),
        },
    }
}

fn state(env: &Env) -> RuntimeState {
    let path = runtime(env).file().map(std::path::Path::to_owned);
    match probe_apart(env, None, None) {
        Ok(probed) => RuntimeState { path, version: Some(probed.runtime), problem: None, hint: None },
        Err(ModelError::Probe { why, hint }) => {
            RuntimeState { path, version: None, problem: Some(why), hint }
        }
        Err(error) => {
            RuntimeState { path, version: None, problem: Some(error.to_string()), hint: error.hint() }
        }
    }
}
