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

/// A span of time: `100ms`, `2s`, or a number of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Span", into = "String")]
#[schemars(with = "Span")]
pub struct Millis(pub u64);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Span {
    Number(u64),
    Text(String),
}

impl TryFrom<Span> for Millis {
    type Error = String;

    fn try_from(span: Span) -> Result<Millis, String> {
        match span {
            Span::Number(millis) => Ok(Millis(millis)),
            Span::Text(text) => text.parse(),
        }
    }
}

impl std::str::FromStr for Millis {
    type Err = String;

    fn from_str(text: &str) -> Result<Millis, String> {
        let text = text.trim();
        let (number, factor) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(number), _) => (number, 1),
            (None, Some(number)) => (number, 1000),
            (None, None) => (text, 1),
        };
        let millis = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        millis.map(Millis).ok_or_else(|| format!("`{text}` is no span of time (try 100ms, 2s)"))
    }
}

impl From<Millis> for String {
    fn from(millis: Millis) -> String {
        format!("{}ms", millis.0)
    }
}

/// The settings of the watcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Watch {
    /// How long nothing may change before what changed is taken in.
    pub debounce: Millis,
}

impl Default for Watch {
    fn default() -> Self {
        Watch { debounce: Millis(100) }
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
    /// The watcher.
    pub watch: Watch,
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
            watch: Watch::default(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_and_what_is_none_is_refused() {
        for (text, millis) in [("100ms", 100), ("2s", 2000), ("250", 250), ("\"1 s\"", 1000)] {
            let config = Config::parse(&format!("watch: {{debounce: {text}}}\n")).unwrap();
            assert_eq!(config.watch.debounce, Millis(millis), "{text}");
        }
        for text in ["soon", "-1", "1h", "99999999999999999999s"] {
            assert!(Config::parse(&format!("watch: {{debounce: {text}}}\n")).is_err(), "{text}");
        }
        assert_eq!(Config::default().watch.debounce, Millis(100));
    }
}
