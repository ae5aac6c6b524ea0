//! Embedding models: what a model is called, and what one must know of it to use it. A model is a directory of files;
//! its description stands beside them as `model.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::id::hex;

/// The name of the description in a model's directory.
pub const DESCRIPTION: &str = "model.yaml";

/// The files of a model, besides its description. Each must be there.
pub const FILES: [&str; 5] =
    ["model.onnx", "tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// The name of a model: a vault's settings may say it, so it is never a path, an address or a library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName(String);

/// Why something is no name of a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name of a model (a-z, 0-9, `.`, `_`, `-`, at most 64, the first a letter or digit)")]
pub struct NameError(pub String);

impl ModelName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for ModelName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<ModelName, NameError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let good = text.len() <= 64
            && text.starts_with(plain)
            && text.chars().all(|c| plain(c) || matches!(c, '.' | '_' | '-'))
            && text != NONE;
        if good { Ok(ModelName(text.to_owned())) } else { Err(NameError(text.chars().take(80).collect())) }
    }
}

impl TryFrom<String> for ModelName {
    type Error = NameError;

    fn try_from(text: String) -> Result<ModelName, NameError> {
        text.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> String {
        name.0
    }
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The word that stands where a model's name could and means that there is to be none.
pub const NONE: &str = "none";

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Their mean.
    #[default]
    Mean,
    /// The first one's.
    Cls,
}

/// What is put in front of a text, by what the text is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Prefixes {
    /// In front of a question.
    pub query: String,
    /// In front of what is searched.
    pub passage: String,
}

/// One file of a model, as it was when the model was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFile {
    /// Its SHA-256 in lower-case hexadecimal digits.
    pub sha256: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The description of a model: `model.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// Its name.
    pub name: ModelName,
    /// How many numbers a vector has.
    pub dimensions: usize,
    /// How the vectors of tokens become one.
    #[serde(default)]
    pub pooling: Pooling,
    /// What is put in front of a text.
    #[serde(default)]
    pub prefixes: Prefixes,
    /// The most tokens of a text, its prefix and the model's own marks among them; what is longer is cut.
    pub max_tokens: usize,
    /// The languages that it is good for, as ISO 639 codes.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Where it comes from.
    #[serde(default)]
    pub source: String,
    /// Under which licence it may be used (SPDX).
    #[serde(default)]
    pub licence: String,
    /// Its files by name.
    #[serde(default)]
    pub files: BTreeMap<String, ModelFile>,
}

/// Names everything that decides which vector a text gets: vectors of two models with one fingerprint can be compared,
/// others cannot. SHA-256 in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Description {
    /// The model's fingerprint: over its files, pooling, prefixes and limit, but not its name or what is told of it. A
    /// model that is imported under another name keeps its vectors.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        let mut put = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        put("runebook model 1");
        for (name, file) in &self.files {
            put(name);
            put(&file.sha256);
        }
        put(match self.pooling {
            Pooling::Mean => "mean",
            Pooling::Cls => "cls",
        });
        put(&self.prefixes.query);
        put(&self.prefixes.passage);
        put(&self.max_tokens.to_string());
        put(&self.dimensions.to_string());
        Fingerprint(hex(&hash.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> Description {
        let file = |sha256: &str| ModelFile { sha256: sha256.to_owned(), bytes: 1 };
        Description {
            name: "e5-small".parse().expect("a name"),
            dimensions: 384,
            pooling: Pooling::Mean,
            prefixes: Prefixes { query: "query: ".to_owned(), passage: "passage: ".to_owned() },
            max_tokens: 512,
            languages: vec!["en".to_owned(), "zh".to_owned()],
            source: "here".to_owned(),
            licence: "MIT".to_owned(),
            files: [("model.onnx".to_owned(), file("ab")), ("tokenizer.json".to_owned(), file("cd"))].into(),
        }
    }

    #[test]
    fn a_name_is_never_a_path_an_address_or_a_library() {
        for good in ["e5-small", "a", "multilingual-e5-small", "x.1_2"] {
            assert!(good.parse::<ModelName>().is_ok(), "{good}");
        }
        let long = "a".repeat(65);
        for bad in [
            "", "none", ".", "..", "../x", "/etc", "a/b", "a\\b", "C:x", "E5", "http://x", "é", "-x", " x",
            &long,
        ] {
            assert!(bad.parse::<ModelName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_fingerprint_follows_what_decides_the_vectors_and_nothing_else() {
        let plain = description().fingerprint();
        let with = |change: fn(&mut Description)| {
            let mut changed = description();
            change(&mut changed);
            changed.fingerprint()
        };
        let other = |d: &mut Description| d.name = "other".parse().expect("a name");
        assert_eq!(with(other), plain);
        assert_eq!(with(|d| d.source = "there".to_owned()), plain);
        for changed in [
            with(|d| d.pooling = Pooling::Cls),
            with(|d| d.max_tokens = 256),
            with(|d| d.prefixes.query = String::new()),
            with(|d| d.prefixes.passage.push(' ')),
            with(|d| d.files.values_mut().for_each(|file| file.sha256.push('0'))),
        ] {
            assert_ne!(changed, plain);
        }
        assert_eq!(plain.as_str().len(), 64);
    }

    #[test]
    fn a_description_is_read_as_it_was_written() {
        let text = serde_yaml::to_string(&description()).expect("YAML");
        assert_eq!(serde_yaml::from_str::<Description>(&text).expect("a description"), description());
        assert!(serde_yaml::from_str::<Description>(&text.replace("e5-small", "../x")).is_err());
    }
}
