//! Models that can be downloaded from a hub.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fastembed::{EmbeddingModel, TextEmbedding};

use crate::model::embedding::{Description, FILES, ModelName, Pooling, Prefixes};

/// A model that can be downloaded.
#[derive(Debug)]
pub struct Catalogued {
    /// Its name here.
    pub name: &'static str,
    /// What it is good for.
    pub about: &'static str,
    model: EmbeddingModel,
    dimensions: usize,
    pooling: Pooling,
    e5: bool,
    languages: &'static [&'static str],
    licence: &'static str,
}

static CATALOGUE: [Catalogued; 4] = [
    Catalogued {
        name: "multilingual-e5-small",
        about: "a hundred languages, English and Chinese among them",
        model: EmbeddingModel::MultilingualE5Small,
        dimensions: 384,
        pooling: Pooling::Mean,
        e5: true,
        languages: &["en", "zh"],
        licence: "MIT",
    },
    Catalogued {
        name: "multilingual-e5-base",
        about: "as the small one, better and three times as slow",
        model: EmbeddingModel::MultilingualE5Base,
        dimensions: 768,
        pooling: Pooling::Mean,
        e5: true,
        languages: &["en", "zh"],
        licence: "MIT",
    },
    Catalogued {
        name: "bge-small-zh-v1.5",
        about: "Chinese",
        model: EmbeddingModel::BGESmallZHV15,
        dimensions: 512,
        pooling: Pooling::Cls,
        e5: false,
        languages: &["zh"],
        licence: "MIT",
    },
    Catalogued {
        name: "all-minilm-l6-v2",
        about: "English, twice as fast",
        model: EmbeddingModel::AllMiniLML6V2,
        dimensions: 384,
        pooling: Pooling::Mean,
        e5: false,
        languages: &["en"],
        licence: "Apache-2.0",
    },
];

/// The models that can be downloaded, the usual one first.
#[must_use]
pub fn catalogue() -> &'static [Catalogued] {
    &CATALOGUE
}

impl Catalogued {
    /// The description, but for the files.
    #[must_use]
    pub fn description(&self, name: &ModelName) -> Description {
        let front = |text: &str| if self.e5 { text.to_owned() } else { String::new() };
        Description {
            name: name.clone(),
            dimensions: self.dimensions,
            pooling: self.pooling,
            prefixes: Prefixes { query: front("query: "), passage: front("passage: ") },
            max_tokens: 512,
            languages: self.languages.iter().map(|language| (*language).to_owned()).collect(),
            source: format!("hub: {}", self.name),
            licence: self.licence.to_owned(),
            files: BTreeMap::new(),
        }
    }
}

impl Catalogued {
    /// The hub's repository, and of each file of a model's directory what it is called there.
    ///
    /// # Errors
    /// When this version of fastembed does not know the model any more.
    pub fn sources(&self) -> Result<(String, BTreeMap<&'static str, String>), String> {
        let info = TextEmbedding::get_model_info(&self.model).map_err(|error| error.to_string())?;
        let source = |name: &'static str| match name {
            "model.onnx" => (name, info.model_file.clone()),
            name => (name, name.to_owned()),
        };
        Ok((info.model_code.clone(), FILES.iter().map(|name| source(name)).collect()))
    }

    /// The files, where another program's cache of the hub has all of them.
    #[must_use]
    pub fn cached(&self, cache: &Path) -> Option<BTreeMap<&'static str, PathBuf>> {
        let (repository, sources) = self.sources().ok()?;
        let name = format!("models--{}", repository.replace('/', "--"));
        [cache.join(&name), cache.join("hub").join(&name)].into_iter().find_map(|repository| {
            let revision = std::fs::read_to_string(repository.join("refs").join("main")).ok()?;
            let snapshot = repository.join("snapshots").join(revision.trim());
            let files: BTreeMap<_, _> =
                sources.iter().map(|(name, source)| (*name, snapshot.join(source))).collect();
            files.values().all(|file| file.is_file()).then_some(files)
        })
    }
}
