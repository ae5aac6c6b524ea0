//! Choosing a model and removing one.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::choose::is_model;
use super::error::ModelError;
use super::place::Places;
use crate::flow::reader;
use crate::flow::vault::{CONFIG, Vault, VaultError};
use crate::markdown::edit;
use crate::model::clock::Env;
use crate::model::config::Config;
use crate::model::embedding::{ModelName, NONE};
use crate::model::fault::Fault;
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::lock::{self, Lock};
use crate::store::plain;

/// What is used from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Used {
    /// The model; absent: none, search is by words alone.
    pub model: Option<ModelName>,
    /// The file that says so.
    pub path: PathBuf,
    /// Whether it is a vault's setting, or the person's default.
    pub in_vault: bool,
    /// Whether that model is installed.
    pub installed: bool,
    /// Whether the file said so before.
    pub unchanged: bool,
}

/// A model that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Removed {
    /// Its name.
    pub name: ModelName,
    /// Where it stood.
    pub path: PathBuf,
    /// Whether it was the person's default; there is none now.
    pub was_default: bool,
}

/// Makes an installed model, or none, the person's default: for all vaults that name none.
///
/// # Errors
/// When it is not installed, or the choice cannot be written.
pub fn use_everywhere(env: &Env, model: Option<ModelName>) -> Result<Used, Fault> {
    let places = Places::of(env).ok_or(ModelError::NoHome)?;
    if let Some(name) = model.as_ref().filter(|name| !is_model(&places.model(name))) {
        return Err(ModelError::Unknown(name.clone()).into());
    }
    let path = places.default_model();
    std::fs::create_dir_all(places.root()).map_err(ModelError::io("making", places.root()))?;
    let text = format!("{}\n", model.as_ref().map_or(NONE, ModelName::as_str));
    let unchanged = plain::read_text(&path).is_ok_and(|old| old == text);
    if !unchanged {
        files::write_at(&path, text.as_bytes())?;
    }
    Ok(Used { model, path, in_vault: false, installed: true, unchanged })
}

/// Writes a model's name, or `none`, into the vault's settings: an edit of a tracked file, for a person to commit.
///
/// # Errors
/// When an agent asks, or the settings are in a form that cannot be edited.
pub fn use_in_vault(vault: &Vault<'_>, asked: Option<&str>, model: Option<ModelName>) -> Result<Used, Fault> {
    if reader::access(vault, asked, None)?.is_agent() {
        return Err(ModelError::Agent.into());
    }
    let places = Places::of(vault.env).ok_or(ModelError::NoHome)?;
    let installed = model.as_ref().is_none_or(|name| is_model(&places.model(name)));
    let _lock = Lock::take(&vault.derived_dir().join("lock"), "model use", lock::PATIENCE)?;
    let (root, path) = (vault.root()?, VaultPath::parse(CONFIG)?);
    let word = model.as_ref().map_or(NONE, ModelName::as_str);
    let old = files::read(root, &path)?;
    let new = with_model(&old, word).ok_or_else(|| ModelError::Form(format!("model: {word}")))?;
    let unchanged = new == old;
    if !unchanged {
        let text = String::from_utf8_lossy(&new);
        Config::parse(&text).map_err(VaultError::from)?;
        files::write(root, &path, &new)?;
    }
    Ok(Used { model, path: root.join(CONFIG), in_vault: true, installed, unchanged })
}

/// The settings with the model in them; everything else as it was. None where that cannot be done.
fn with_model(old: &[u8], word: &str) -> Option<Vec<u8>> {
    let before = Config::parse(std::str::from_utf8(old).ok()?).ok()?;
    if before.model.as_deref() == Some(word) {
        return Some(old.to_vec());
    }
    let end: &[u8] = if old.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    // The settings are edited as the front matter that they would be: losslessly.
    let gap: &[u8] = if old.is_empty() || old.ends_with(b"\n") { b"" } else { end };
    let (head, foot) = ([b"---", end].concat(), [b"---", end].concat());
    let page = [&head, old, gap, &foot].concat();
    let page = edit::set_field(&page, "model", &serde_json::Value::String(word.to_owned())).ok()?;
    let new = page.strip_prefix(&head[..])?.strip_suffix(&foot[..])?.to_vec();
    let after = Config::parse(std::str::from_utf8(&new).ok()?).ok()?;
    let expected = Config { model: Some(word.to_owned()), ..before };
    (after == expected).then_some(new)
}

/// Removes an installed model.
///
/// # Errors
/// When it is not installed, or cannot be removed.
pub fn remove(env: &Env, name: &ModelName) -> Result<Removed, Fault> {
    let places = Places::of(env).ok_or(ModelError::NoHome)?;
    let path = places.model(name);
    if !is_model(&path) {
        return Err(ModelError::Unknown(name.clone()).into());
    }
    let _lock = Lock::take(&places.models().join(".lock"), "model remove", lock::PATIENCE)?;
    // Out of sight in one step, so that nobody meets half of it.
    let gone = tempfile::Builder::new().prefix(".old-").tempdir_in(places.models());
    let gone = gone.map_err(ModelError::io("making a directory in", &places.models()))?;
    std::fs::rename(&path, gone.path().join(name.as_str())).map_err(ModelError::io("removing", &path))?;
    gone.close().map_err(ModelError::io("removing", &path))?;
    let default = places.default_model();
    let was_default = plain::read_text(&default).is_ok_and(|text| text.trim() == name.as_str());
    if was_default {
        std::fs::remove_file(&default).map_err(ModelError::io("removing", &default))?;
    }
    Ok(Removed { name: name.clone(), path, was_default })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_settings_stays() {
        let with = |old: &str| String::from_utf8(with_model(old.as_bytes(), "e5-small").unwrap()).unwrap();
        assert_eq!(with("version: 1 # one\n# end\nindex:\n  threads: 1\n").matches("# ").count(), 2);
        assert_eq!(with("model: none # why\nversion: 1\n"), "model: e5-small # why\nversion: 1\n");
        assert_eq!(with("version: 1\r\nmodel: x\r\n"), "version: 1\r\nmodel: e5-small\r\n");
        assert_eq!(with("version: 1\nmodel: e5-small"), "version: 1\nmodel: e5-small");
        assert!(with("version: 1").ends_with("model: e5-small\n"));
        assert!(with_model(b"version: [1\n", "x").is_none());
        assert!(with_model(b"\xff\xfe", "x").is_none());
    }
}
