//! The description of a model that comes without one.

use std::path::Path;

use serde_json::Value;

use super::error::ModelError;
use crate::model::embedding::{DESCRIPTION, Description, ModelName, Pooling, Prefixes};
use crate::store::plain;

/// No description and no settings of a model are longer.
const MOST_BYTES: u64 = 16 << 20;

/// What a person says of a model instead of its description.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Its name.
    pub name: Option<ModelName>,
    /// How the vectors of tokens become one.
    pub pooling: Option<Pooling>,
    /// What is put in front of a question.
    pub query_prefix: Option<String>,
    /// What is put in front of what is searched.
    pub passage_prefix: Option<String>,
}

/// The description of the model in a directory: its `model.yaml`, or what its other files say; a person's word before
/// both.
pub(super) fn describe(directory: &Path, said: &Said) -> Result<Description, ModelError> {
    let path = directory.join(DESCRIPTION);
    let mut description = match plain::read_small(&path, MOST_BYTES) {
        Ok(text) => serde_yaml::from_str(&text)
            .map_err(|why| ModelError::BadDescription { path: path.clone(), why: why.to_string() })?,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => guess(directory, said)?,
        Err(why) => return Err(ModelError::io("reading", &path)(why)),
    };
    if let Some(name) = &said.name {
        description.name = name.clone();
    }
    if let Some(pooling) = said.pooling {
        description.pooling = pooling;
    }
    if let Some(prefix) = &said.query_prefix {
        description.prefixes.query.clone_from(prefix);
    }
    if let Some(prefix) = &said.passage_prefix {
        description.prefixes.passage.clone_from(prefix);
    }
    Ok(description)
}

fn guess(directory: &Path, said: &Said) -> Result<Description, ModelError> {
    let name = match &said.name {
        Some(name) => name.clone(),
        None => {
            let name = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
            let name = name.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
            name.parse()?
        }
    };
    let config = json(&directory.join("config.json"))?;
    let tokenizer = json(&directory.join("tokenizer_config.json"))?;
    let number = |value: &Value| value.as_f64().filter(|x| (1.0..=1e6).contains(x)).map(|x| x as usize);
    let path = directory.join("config.json");
    let dimensions = number(&config["hidden_size"]).ok_or_else(|| ModelError::BadDescription {
        path,
        why: format!("it has no `hidden_size`; write the model's dimensions into {DESCRIPTION}"),
    })?;
    let places = number(&config["max_position_embeddings"]).unwrap_or(512);
    let max_tokens = number(&tokenizer["model_max_length"]).unwrap_or(512).min(places).clamp(8, 8192);
    // The models of this family were trained with these words in front, and are poor without them.
    let e5 = name.as_str().split(['-', '_', '.']).any(|part| part == "e5");
    let front = |text: &str| if e5 { text.to_owned() } else { String::new() };
    let bge = name.as_str().starts_with("bge-");
    Ok(Description {
        dimensions,
        pooling: if bge { Pooling::Cls } else { Pooling::Mean },
        prefixes: Prefixes { query: front("query: "), passage: front("passage: ") },
        max_tokens,
        languages: Vec::new(),
        source: format!("{}", directory.display()),
        licence: String::new(),
        files: std::collections::BTreeMap::new(),
        name,
    })
}

fn json(path: &Path) -> Result<Value, ModelError> {
    let bytes = plain::read_bounded(path, MOST_BYTES).map_err(ModelError::io("reading", path))?;
    serde_json::from_slice(&bytes)
        .map_err(|why| ModelError::BadDescription { path: path.to_owned(), why: why.to_string() })
}
