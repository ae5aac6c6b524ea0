//! Text to tokens. fastembed would read the tokenizer after the weights and then copy it; here it is read beside them.

use fastembed::TokenizerFiles;
use serde_json::Value;
use tokenizers::{AddedToken, Tokenizer, TruncationParams};

use super::{EmbedError, ModelDir};

/// The tokenizer of a model, with the marks that its other files name, and cut at what the model takes.
pub(super) fn tokenizer(directory: &ModelDir) -> Result<Tokenizer, EmbedError> {
    let bytes = directory.read_one("tokenizer.json")?;
    let marks = json(directory, "special_tokens_map.json")?;
    let config = json(directory, "tokenizer_config.json")?;
    // The runtime has its part of it; that it is whole is seen here.
    json(directory, "config.json")?;
    let bad = |why: String| EmbedError::open(&directory.path, &format!("its tokenizer: {why}"));
    let read = crate::index::text::caught(|| Tokenizer::from_bytes(&bytes));
    let mut tokenizer =
        read.map_err(|_| bad("tokenizer.json is damaged".to_owned()))?.map_err(|e| bad(e.to_string()))?;
    let marks = marks.as_object().into_iter().flat_map(serde_json::Map::values);
    tokenizer.add_special_tokens(marks.filter_map(mark)).map_err(|error| bad(error.to_string()))?;
    // Some models name a limit like 1e30 there.
    let limit = config["model_max_length"].as_f64().unwrap_or(f64::MAX) as usize;
    let max_length = directory.description.max_tokens.min(limit);
    let cut = TruncationParams { max_length, ..TruncationParams::default() };
    tokenizer.with_padding(None).with_truncation(Some(cut)).map_err(|error| bad(error.to_string()))?;
    Ok(tokenizer)
}

fn mark(value: &Value) -> Option<AddedToken> {
    let flag = |name: &str| value[name].as_bool().unwrap_or_default();
    let content = value.as_str().or_else(|| value["content"].as_str())?;
    let token = AddedToken::from(content, true).single_word(flag("single_word"));
    Some(token.lstrip(flag("lstrip")).rstrip(flag("rstrip")).normalized(flag("normalized")))
}

fn json(directory: &ModelDir, name: &str) -> Result<Value, EmbedError> {
    let bytes = directory.read_one(name)?;
    serde_json::from_slice(&bytes).map_err(|why| EmbedError::open(&directory.path, &format!("{name}: {why}")))
}

/// The least tokenizer that fastembed takes.
pub(super) fn hollow() -> TokenizerFiles {
    TokenizerFiles {
        tokenizer_file: br#"{"version":"1.0","added_tokens":[],"model":{"type":"WordLevel","unk_token":"x","vocab":{"x":0}}}"#
            .to_vec(),
        config_file: br#"{"pad_token_id":0}"#.to_vec(),
        special_tokens_map_file: b"{}".to_vec(),
        tokenizer_config_file: br#"{"model_max_length":512,"pad_token":"x"}"#.to_vec(),
    }
}
