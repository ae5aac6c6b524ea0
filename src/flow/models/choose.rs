//! Which model is used here, by whose choice, and why none is.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::place::Places;
use crate::flow::vault::CONFIG;
use crate::index::embed::{EmbedError, Embedder, Lazy, ModelDir, Runtime};
use crate::model::clock::Env;
use crate::model::config::Config;
use crate::model::embedding::{Fingerprint, ModelName, NONE};
use crate::model::fault::{Explain, Kind};
use crate::store::plain;

/// The variable that names a model, or `none`, for one run.
pub(super) const VARIABLE: &str = "RUNEBOOK_MODEL";
/// The variable that names the runtime library, as other programs have it too.
pub(super) const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

/// Who chose the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChosenBy {
    /// The variable `RUNEBOOK_MODEL`.
    Environment,
    /// The vault's settings.
    Vault,
    /// The person's default.
    Person,
}

impl std::fmt::Display for ChosenBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ChosenBy::Environment => VARIABLE,
            ChosenBy::Vault => CONFIG,
            ChosenBy::Person => "your default",
        })
    }
}

/// Why there is no search by meaning. Search goes on by words, and says this in one line.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The environment names no home.
    #[error("no model (no directory for models: HOME is not set)")]
    NoHome,
    /// Nothing is installed.
    #[error("no model (none is installed)")]
    NoneInstalled,
    /// Some are installed, but nobody chose one.
    #[error("no model (none is chosen)")]
    NoneChosen,
    /// Somebody chose to have none.
    #[error("no model (switched off by {0})")]
    SwitchedOff(ChosenBy),
    /// What was chosen is no name.
    #[error("no model ({by}: {why})")]
    BadName {
        /// Who says it.
        by: ChosenBy,
        /// What is wrong with it.
        why: String,
    },
    /// What was chosen is not installed.
    #[error("no model (`{name}`, chosen by {by}, is not installed)")]
    NotInstalled {
        /// The name.
        name: ModelName,
        /// Who says it.
        by: ChosenBy,
    },
    /// It is installed, but cannot be used.
    #[error("no model ({0})")]
    Broken(#[from] EmbedError),
}

impl Explain for Unavailable {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Unavailable::NoHome => "set HOME, or XDG_DATA_HOME".to_owned(),
            Unavailable::NoneInstalled => {
                "run `runebook model install` or `runebook model import DIR` (or `scripts/fetch-model` in a checkout of the project)"
                    .to_owned()
            }
            Unavailable::NoneChosen => "choose one with `runebook model use NAME --global`".to_owned(),
            Unavailable::SwitchedOff(ChosenBy::Vault) => "`runebook model use NAME` switches it on".to_owned(),
            Unavailable::SwitchedOff(ChosenBy::Person) => {
                "`runebook model use NAME --global` switches it on".to_owned()
            }
            Unavailable::SwitchedOff(ChosenBy::Environment) => format!("unset {VARIABLE}"),
            Unavailable::BadName { by: ChosenBy::Vault, .. } => {
                format!("mend `model` in {CONFIG}, or run `runebook model use NAME`")
            }
            Unavailable::BadName { by: ChosenBy::Person, .. } => {
                "choose one with `runebook model use NAME --global`".to_owned()
            }
            Unavailable::BadName { by: ChosenBy::Environment, .. } => format!("mend or unset {VARIABLE}"),
            Unavailable::NotInstalled { name, .. } => {
                format!(
                    "bring it with `runebook model install {name}` or `runebook model import DIR --name {name}`, or \
                     choose another: `runebook model list`"
                )
            }
            Unavailable::Broken(error) => return error.hint(),
        })
    }
}

/// The model that is used, not loaded yet.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Who chose it.
    pub by: ChosenBy,
    /// The model.
    pub directory: ModelDir,
    /// Where the runtime is looked for.
    pub runtime: Runtime,
    /// With how many threads it runs.
    pub threads: NonZeroUsize,
}

impl Choice {
    /// What decides which vector a text gets; known without loading anything.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.directory.description.fingerprint()
    }

    /// Whether it could be loaded, as far as that is seen without loading it: its files have the sizes that they had,
    /// and a runtime that is named alone is there.
    ///
    /// # Errors
    /// When it could not.
    pub fn seems_whole(&self) -> Result<(), Unavailable> {
        self.directory.check_sizes()?;
        Ok(self.runtime.seems_there()?)
    }

    /// Loads it.
    ///
    /// # Errors
    /// When there is no runtime, or the model cannot be used.
    pub fn open(&self) -> Result<Embedder, Unavailable> {
        Ok(Embedder::open(&self.directory, &self.runtime, self.threads)?)
    }

    /// A handle that loads it when it is first needed and can let it go.
    #[must_use]
    pub fn lazy(&self) -> Lazy {
        Lazy::new(self.directory.clone(), self.runtime.clone(), self.threads)
    }
}

/// The model that is used in a vault with these settings, or outside of vaults. It costs reading three small files; a
/// library that is another than before is tried first.
///
/// # Errors
/// When there is none, with the reason.
pub fn choose(env: &Env, config: Option<&Config>) -> Result<Choice, Unavailable> {
    let places = Places::of(env).ok_or(Unavailable::NoHome)?;
    let (text, by) = named(env, config, &places)?;
    if text == NONE {
        return Err(Unavailable::SwitchedOff(by));
    }
    let name: ModelName = text.parse().map_err(|why| Unavailable::BadName { by, why: format!("{why}") })?;
    let at = places.model(&name);
    if !at.exists() {
        super::bring::recover(&places);
    }
    let directory = match ModelDir::at(&at) {
        Err(EmbedError::NoModel(_)) => return Err(Unavailable::NotInstalled { name, by }),
        found => found?,
    };
    let threads = threads(config.map_or(0, |config| config.index.threads));
    let runtime = runtime(env);
    super::trial::tried(env, &places, &runtime)?;
    Ok(Choice { by, directory, runtime, threads })
}

/// What is said of the model, and by whom: the environment before the vault before the person.
fn named(env: &Env, config: Option<&Config>, places: &Places) -> Result<(String, ChosenBy), Unavailable> {
    if let Some(name) = env.var(VARIABLE) {
        return Ok((name.to_owned(), ChosenBy::Environment));
    }
    if let Some(name) = config.and_then(|config| config.model.as_deref()) {
        return Ok((name.trim().to_owned(), ChosenBy::Vault));
    }
    let path = places.default_model();
    match plain::read_text(&path) {
        Ok(text) => Ok((text.trim().to_owned(), ChosenBy::Person)),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            let some = std::fs::read_dir(places.models())
                .is_ok_and(|mut found| found.any(|entry| entry.is_ok_and(|entry| is_model(&entry.path()))));
            Err(if some { Unavailable::NoneChosen } else { Unavailable::NoneInstalled })
        }
        Err(why) => {
            let why = format!("{}: {why}", path.display());
            Err(Unavailable::BadName { by: ChosenBy::Person, why })
        }
    }
}

/// Whether a directory is a model's, and not one that is just being made.
pub(super) fn is_model(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.parse::<ModelName>().is_ok()) && path.is_dir()
}

/// Where the runtime is looked for: the file of `ORT_DYLIB_PATH` alone where that is set, else the registered one, else
/// the system's.
#[must_use]
pub fn runtime(env: &Env) -> Runtime {
    if let Some(path) = env.var(LIBRARY_VARIABLE) {
        return Runtime { files: vec![PathBuf::from(path)], names: Vec::new() };
    }
    let names: &[&str] = if cfg!(target_os = "windows") {
        &["onnxruntime.dll"]
    } else if cfg!(target_os = "macos") {
        &[
            "libonnxruntime.dylib",
            "/opt/homebrew/lib/libonnxruntime.dylib",
            "/usr/local/lib/libonnxruntime.dylib",
        ]
    } else {
        &["libonnxruntime.so.1", "libonnxruntime.so"]
    };
    Runtime {
        files: Places::of(env).iter().map(Places::runtime).collect(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// As many threads as asked for, at most one for each processor; 0: one for each.
fn threads(asked: u32) -> NonZeroUsize {
    let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    NonZeroUsize::new(asked as usize).map_or(processors, |asked| asked.min(processors))
}
