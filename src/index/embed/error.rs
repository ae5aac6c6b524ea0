//! Why there are no vectors, and what to do about it.

use std::path::{Path, PathBuf};

use crate::model::fault::{Explain, Kind};

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The runtime library is nowhere.
    #[error("the model runtime (ONNX Runtime) was not found: looked for {}", .0.join(", "))]
    NoRuntime(Vec<String>),
    /// A file is there, but it is no runtime library.
    #[error("{} is no model runtime (ONNX Runtime) that this program can load: {why}", path.display())]
    BadRuntime {
        /// The library.
        path: PathBuf,
        /// What the system says of it.
        why: String,
    },
    /// The library is older than what this program needs.
    #[error("{} is ONNX Runtime {found}; {} or newer is needed", path.display(), super::OLDEST)]
    OldRuntime {
        /// The library.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// The library was tried, and cannot be used: the sentence says which and why.
    #[error("{0}")]
    Refused(String),
    /// The model's directory has no description, so it was never imported whole.
    #[error("{} holds no model", .0.display())]
    NoModel(PathBuf),
    /// The description cannot be read.
    #[error("reading {}: {why}", path.display())]
    Description {
        /// The description.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file of the model is not what it was when the model was imported.
    #[error("the model's file {} cannot be used: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The runtime does not take the model.
    #[error("opening the model {}: {why}", path.display())]
    Open {
        /// The model's directory.
        path: PathBuf,
        /// What the runtime says.
        why: String,
    },
    /// The vectors have another length than the description says.
    #[error("the model {} gives vectors of {found} dimensions, but its description says {said}", path.display())]
    Dimensions {
        /// The model's directory.
        path: PathBuf,
        /// What the description says.
        said: usize,
        /// What came out.
        found: usize,
    },
    /// What came out is no direction: zeros, or no numbers.
    #[error("the model {} gives no usable vector", path.display())]
    NoVector {
        /// The model's directory.
        path: PathBuf,
    },
    /// The runtime failed over a text.
    #[error("the model {} failed: {why}", path.display())]
    Run {
        /// The model's directory.
        path: PathBuf,
        /// What the runtime says.
        why: String,
    },
}

impl EmbedError {
    pub(super) fn open(path: &Path, why: &str) -> EmbedError {
        EmbedError::Open { path: path.to_owned(), why: one_line(why) }
    }
}

/// A library's message on one line, without what follows the first 300 characters.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// An error with what caused it, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    one_line(&text)
}

impl Explain for EmbedError {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        Some(
            match self {
                EmbedError::NoRuntime(_) => {
                    "register a library with `runebook model runtime PATH`; a checkout of the project brings one with `scripts/fetch-model`"
                }
                EmbedError::BadRuntime { .. } | EmbedError::OldRuntime { .. } | EmbedError::Refused(_) => {
                    "register another library with `runebook model runtime PATH`; a checkout of the project brings one with `scripts/fetch-model`"
                }
                EmbedError::NoModel(_) | EmbedError::Description { .. } | EmbedError::File { .. } => {
                    "import it again: `runebook model import DIR --name NAME --replace`; a checkout of the project brings one with `scripts/fetch-model`"
                }
                EmbedError::Open { .. } | EmbedError::NoVector { .. } | EmbedError::Run { .. } => {
                    "`runebook model list` shows what is installed; import a model that this runtime takes"
                }
                EmbedError::Dimensions { .. } => {
                    "mend `dimensions` in its model.yaml, or where it has none `hidden_size` in its config.json; then import it: `runebook model import DIR --name NAME`"
                }
            }
            .to_owned(),
        )
    }
}
