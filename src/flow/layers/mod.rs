//! The layers of the vault: served live, and as files.

pub mod files;
mod generator;
mod overlay;
pub mod work_tree;

use schemars::JsonSchema;
use serde::Serialize;

pub use generator::{Generator, Rules};

use super::locate::Target;
use super::reader::{Reader, Stands};
use super::unread::Unread;
use crate::layers;
use crate::markdown;
use crate::markdown::tokens::estimate;
use crate::model::access::View;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::path::VaultPath;

/// Which of the two summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The abstract.
    L0,
    /// The overview.
    L1,
}

/// A summary of a file or a directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answer {
    /// What it is of, relative to the vault.
    pub path: VaultPath,
    /// Its address.
    pub uri: String,
    /// Whether that is a directory.
    pub directory: bool,
    /// Which summary.
    pub level: Level,
    /// The summary: one line, or Markdown.
    pub text: String,
    /// How many tokens it has, about.
    pub tokens: u32,
    /// What of the files could not be looked at: it is told of as the last commit has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// Nothing in the directory is a memory.
    #[error("`{0}` holds no memory that could be summarised")]
    Empty(String),
    /// The file is no Markdown.
    #[error("`{0}` is no memory: only Markdown files have summaries")]
    NoMemory(VaultPath),
}

impl Explain for LayerError {
    fn kind(&self) -> Kind {
        Kind::Nothing
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            LayerError::Empty(_) => "`runebook ls` shows what it holds".to_owned(),
            LayerError::NoMemory(path) => format!("`runebook cat {path}` prints it"),
        })
    }
}

/// The summary of what stands at a place, as the reader may see it. Its cost follows what is asked: of a directory the
/// files below are looked at, and those read that are not known yet.
///
/// # Errors
/// When there is nothing to summarise, or something cannot be read.
pub fn of(reader: &Reader<'_, '_>, target: &Target, level: Level) -> Result<Answer, Fault> {
    let path = &target.uri.path;
    let (text, unread) = match target.kind {
        Stands::File => (of_file(reader, path, level)?, Vec::new()),
        Stands::Directory => of_directory(reader, target, level)?,
    };
    Ok(Answer {
        path: path.clone(),
        uri: target.uri.to_string(),
        directory: target.kind == Stands::Directory,
        level,
        tokens: estimate(&text),
        text,
        unread,
    })
}

fn of_file(reader: &Reader<'_, '_>, path: &VaultPath, level: Level) -> Result<String, Fault> {
    let Some(bytes) = reader.read(path)? else {
        return Err(super::locate::missing(reader, path.as_str(), path)?.into());
    };
    if !path.is_markdown() {
        return Err(LayerError::NoMemory(path.clone()).into());
    }
    let memory = markdown::read(path, &bytes, &reader.vault.config);
    Ok(match level {
        Level::L0 => layers::file_abstract(&memory),
        Level::L1 => layers::outline(&memory),
    })
}

fn of_directory(
    reader: &Reader<'_, '_>,
    target: &Target,
    level: Level,
) -> Result<(String, Vec<Unread>), Fault> {
    let vault = reader.vault;
    let path = &target.uri.path;
    let tree = reader.tree()?;
    let rules = match reader.access.view {
        View::WorkTree => Rules::of(&vault.config),
        _ => Rules::of_tree(&vault.repo, tree)?,
    };
    let generator = Generator::for_reader(reader, rules, path)?;
    let found = generator.layers(tree, path)?.ok_or_else(|| LayerError::Empty(target.uri.to_string()))?;
    let text = match level {
        Level::L0 => found.l0,
        Level::L1 => found.l1,
    };
    // Not even the name of what the reader may not see.
    let unread = generator.unread().iter().filter(|one| reader.access.reads().holds(&one.path));
    Ok((text, unread.cloned().collect()))
}
