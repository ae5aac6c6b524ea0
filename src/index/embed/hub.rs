//! Models that fastembed can download from a hub.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fastembed::{EmbeddingModel, TextEmbedding, TextInitOptions};

use super::Runtime;
use super::error::chain;
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

/// Downloads a model into a cache and tells where its files are. `shows`: fastembed draws its own progress on stderr.
///
/// # Errors
/// Why it was not had, on one line.
pub fn download(
    model: &Catalogued,
    runtime: &Runtime,
    cache: &Path,
    shows: bool,
) -> Result<BTreeMap<&'static str, PathBuf>, String> {
    let environment = runtime.load().map_err(|error| error.to_string())?;
    let options = TextInitOptions::new(model.model.clone())
        .with_environment(environment)
        .with_cache_dir(cache.to_owned())
        .with_show_download_progress(shows)
        .with_auto_device(fastembed::AutoDevicePolicy::PreferCPU);
    let opened = crate::index::text::caught(|| TextEmbedding::try_new(options));
    match opened {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(chain(&error)),
        Err(_) => return Err("the runtime gave up over it".to_owned()),
    }
    let info = TextEmbedding::get_model_info(&model.model).map_err(|error| error.to_string())?;
    let repository = cache.join(format!("models--{}", info.model_code.replace('/', "--")));
    let revision = std::fs::read_to_string(repository.join("refs").join("main"));
    let revision = revision.map_err(|why| format!("the hub's cache has no refs/main: {why}"))?;
    let snapshot = repository.join("snapshots").join(revision.trim());
    let place = |name| match name {
        "model.onnx" => snapshot.join(&info.model_file),
        name => snapshot.join(name),
    };
    Ok(FILES.iter().map(|name| (*name, place(*name))).collect())
}
