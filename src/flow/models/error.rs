//! Why a model or runtime was not brought, chosen or removed.

use std::path::{Path, PathBuf};

use crate::flow::vault::CONFIG;
use crate::index::embed::EmbedError;
use crate::model::embedding::{FILES, ModelName, NameError};
use crate::model::fault::{Explain, Kind};

/// Why nothing was done. What was installed before is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The environment names no home.
    #[error("there is no place for models: HOME is not set")]
    NoHome,
    /// The directory to import holds no model.
    #[error("{} is no model's directory: {name} {what}", path.display())]
    NotAModel {
        /// The directory.
        path: PathBuf,
        /// The file that is none.
        name: &'static str,
        /// What is the matter with it: `is missing`, `is a named pipe, not a file`.
        what: String,
    },
    /// Something was said of the model that cannot be.
    #[error("{}: {why}", path.display())]
    BadDescription {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file is not the one that the description in the same directory names.
    #[error("{} is not the file that model.yaml describes: it is damaged, or only half of it is there", .0.display())]
    Damaged(PathBuf),
    /// The name cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Another model has the name.
    #[error("another model is installed as `{0}`")]
    Taken(ModelName),
    /// No model of that name is installed.
    #[error("no model `{0}` is installed")]
    Unknown(ModelName),
    /// No model of that name can be downloaded.
    #[error("`{name}` is not among the models that can be downloaded: {}", known.join(", "))]
    NotListed {
        /// The name.
        name: ModelName,
        /// Those that can.
        known: Vec<&'static str>,
    },
    /// The hub did not give it.
    #[error("`{name}` could not be downloaded: {why}")]
    Hub {
        /// The model.
        name: ModelName,
        /// Why.
        why: String,
    },
    /// The check in a process of its own failed.
    #[error("{why}")]
    Probe {
        /// What was tried, and what the check says of it.
        why: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The text that comes out tells nothing of the text that went in.
    #[error("{} gives the same vector for different English sentences", .0.display())]
    Blind(PathBuf),
    /// The library is no file.
    #[error("{} is no file", .0.display())]
    NoFile(PathBuf),
    /// An agent wants to change a vault's settings.
    #[error("an agent cannot change the settings of a vault")]
    Agent,
    /// The settings are written in a form that cannot be edited without changing the rest.
    #[error("{CONFIG} is written in a form that this command cannot edit without changing the rest")]
    Form(String),
    /// Input or output failed.
    #[error("{what} {}: {why}", path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// To what.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The runtime or the model cannot be used.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

impl ModelError {
    /// An error of input or output.
    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ModelError {
        move |why| ModelError::Io { what, path: path.to_owned(), why }
    }
}

impl Explain for ModelError {
    fn kind(&self) -> Kind {
        match self {
            ModelError::NotAModel { .. }
            | ModelError::BadDescription { .. }
            | ModelError::Name(_)
            | ModelError::Unknown(_)
            | ModelError::NotListed { .. }
            | ModelError::NoFile(_) => Kind::Usage,
            ModelError::Taken(_) => Kind::Conflict,
            ModelError::Agent => Kind::NotAllowed,
            _ => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            ModelError::NoHome => "set HOME, or XDG_DATA_HOME".to_owned(),
            ModelError::NotAModel { .. } => format!("a model's directory holds {}", FILES.join(", ")),
            ModelError::BadDescription { .. } => "mend it, or take it away and say what it says with flags".to_owned(),
            ModelError::Damaged(_) => "fetch it anew, then import it again".to_owned(),
            ModelError::Name(_) => "choose one with `--name`".to_owned(),
            ModelError::Taken(name) => {
                format!("take its place with `--replace`, or choose another name with `--name` (`{name}` stays)")
            }
            ModelError::Unknown(_) => "`runebook model list` shows what is".to_owned(),
            ModelError::NotListed { .. } | ModelError::Hub { .. } => {
                "without a hub, import a directory: `runebook model import DIR`; a checkout of the project brings one with `scripts/fetch-model`"
                    .to_owned()
            }
            ModelError::Probe { hint, .. } => return hint.clone(),
            ModelError::Blind(_) => "its tokenizer does not belong to it, or its pooling is another: see `--pooling`".to_owned(),
            ModelError::NoFile(_) => "name the library itself (libonnxruntime.so, .dylib or onnxruntime.dll)".to_owned(),
            ModelError::Agent => "ask a person to run `runebook model use NAME`".to_owned(),
            ModelError::Form(line) => format!("write `{line}` into it yourself"),
            ModelError::Io { .. } => return None,
            ModelError::Embed(error) => return error.hint(),
        })
    }
}
