//! The vault's settings: `.runebook/config.yaml`.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::foreign::Foreign;
use super::path::VaultPath;

/// Whether the summaries of directories are files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LayerFiles {
    /// They are not; they are served live.
    #[default]
    Off,
    /// They are tracked files beside the memories.
    Tracked,
}

/// The settings of the layers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Layers {
    /// Whether they are files.
    pub files: LayerFiles,
}

/// The settings of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Index {
    /// The most tokens of one chunk (see [`crate::markdown::tokens`] for the estimate).
    pub chunk_tokens: u32,
    /// Files over this many bytes are indexed by name and head only.
    pub max_file_bytes: u64,
    /// How long a `find` may spend on bringing the index up to date before it answers with what there is, in
    /// milliseconds.
    pub freshness_ms: u64,
    /// With how many threads texts are embedded, at most one for each processor; 0: one for each.
    pub threads: u32,
}

impl Default for Index {
    fn default() -> Self {
        Index { chunk_tokens: 400, max_file_bytes: 64 << 20, freshness_ms: 10_000, threads: 0 }
    }
}

/// The file `.runebook/config.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The version of the file's form. 1.
    pub version: u32,
    /// The branch on which approved memories stand.
    pub main_branch: String,
    /// The IANA zone of every stored time.
    pub time_zone: String,
    /// Globs of files that are no part of the memory, besides what `.gitignore` names.
    pub ignore: Vec<String>,
    /// Folders of templates, left alone.
    pub templates: Vec<String>,
    /// Names of front-matter keys in this vault for ours: `type: memory_type` reads our `type` from `memory_type`.
    pub fields: BTreeMap<String, String>,
    /// The layers.
    pub layers: Layers,
    /// The index.
    pub index: Index,
    /// What other programs' settings say; no part of the file.
    #[serde(skip)]
    pub foreign: Foreign,
    /// The name of the embedding model that this vault is searched with, of those that the person has installed, or
    /// `none`. Never a path or an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Keys that this program does not know: kept, and a finding.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            version: 1,
            main_branch: "main".to_owned(),
            time_zone: "UTC".to_owned(),
            ignore: Vec::new(),
            templates: Vec::new(),
            fields: BTreeMap::new(),
            layers: Layers::default(),
            index: Index::default(),
            foreign: Foreign::default(),
            model: None,
            unknown: BTreeMap::new(),
        }
    }
}

/// Why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("config.yaml cannot be read: {0}")]
pub struct ConfigError(pub String);

/// Whether a name can be that of the approved branch: one that git takes, and none that proposals use.
fn is_branch(name: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    name.split('/').all(part)
        && !name.contains(odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && !name.starts_with('-')
        && name != "HEAD"
        && !["proposal/", "closed/", "refs/"].iter().any(|taken| name.starts_with(taken))
}

impl Config {
    /// Reads the file's text.
    ///
    /// # Errors
    /// When it is not of the form, its version is unknown or its time zone does not exist.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let config: Config = if text.trim().is_empty() {
            Config::default()
        } else {
            serde_yaml::from_str(text).map_err(|e| ConfigError(e.to_string()))?
        };
        if config.version != 1 {
            return Err(ConfigError(format!(
                "version {} is not known; this program knows 1",
                config.version
            )));
        }
        config.zone()?;
        if !is_branch(&config.main_branch) {
            return Err(ConfigError(format!(
                "main_branch `{}` cannot be the name of a branch",
                config.main_branch
            )));
        }
        Ok(config)
    }

    /// The same settings with what other programs' settings say.
    #[must_use]
    pub fn with(self, foreign: Foreign) -> Config {
        Config { foreign, ..self }
    }

    /// Whether a file stands in a folder of templates.
    #[must_use]
    pub fn is_template(&self, path: &VaultPath) -> bool {
        let within = |folder: &VaultPath| !folder.is_root() && path.is_within(folder);
        self.foreign.templates.iter().any(within)
            || self
                .templates
                .iter()
                .any(|folder| VaultPath::parse(folder).is_ok_and(|folder| within(&folder)))
    }

    /// Whether a file is a daily note by where it stands.
    #[must_use]
    pub fn is_daily(&self, path: &VaultPath) -> bool {
        let logseq = self.foreign.logseq && path.scope() == Some("journals");
        logseq || self.foreign.daily.as_ref().is_some_and(|folder| path.is_within(folder))
    }

    /// The zone of stored times.
    ///
    /// # Errors
    /// When there is no zone of that name.
    pub fn zone(&self) -> Result<TimeZone, ConfigError> {
        TimeZone::get(&self.time_zone).map_err(|_| {
            ConfigError(format!("time_zone `{}` is no zone (try Europe/Berlin, UTC)", self.time_zone))
        })
    }
}
