//! Where the index stands: `<git directory>/runebook/index-<n>/`, of which `state.json` names the present one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Pair, SyncError};
use crate::catalog::{Catalog, CatalogError, is_revision};
use crate::flow::vault::Vault;
use crate::index::text::{TextError, TextIndex};
use crate::model::fault::Fault;
use crate::model::id::Digest;
use crate::store::files;
use crate::store::plain;

/// The form of everything below the directory, the words of the analyser included. Another one in a state file
/// means that the index is built anew.
const FORM: u32 = 10;

#[derive(Debug, Serialize, Deserialize)]
struct StateFile {
    form: u32,
    index: String,
}

fn state_file(vault: &Vault<'_>) -> PathBuf {
    vault.derived_dir().join("state.json")
}

/// The directory of the present index, if there is one of our form.
pub(super) fn current(vault: &Vault<'_>) -> Option<PathBuf> {
    let state: StateFile = serde_json::from_slice(&plain::read(state_file(vault)).ok()?).ok()?;
    let plain = state.index.strip_prefix("index-")?.bytes().all(|b| b.is_ascii_digit());
    (state.form == FORM && plain).then(|| vault.derived_dir().join(state.index))
}

/// An empty directory for a new index.
pub(super) fn fresh(vault: &Vault<'_>) -> Result<PathBuf, SyncError> {
    let used = |n: &u32| vault.derived_dir().join(format!("index-{n}"));
    let now = current(vault);
    let number = (1..=u32::MAX).find(|n| now.as_ref() != Some(&used(n))).unwrap_or(1);
    let dir = used(&number);
    let fail = |why| SyncError::Write { path: dir.display().to_string(), why };
    if dir.exists() {
        // What a killed run left.
        std::fs::remove_dir_all(&dir).map_err(fail)?;
    }
    std::fs::create_dir_all(dir.join("text")).map_err(fail)?;
    Ok(dir)
}

/// Makes a directory the present index, and removes every other one.
pub(super) fn promote(vault: &Vault<'_>, dir: &Path) -> Result<(), SyncError> {
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let at = state_file(vault);
    let text = serde_json::json!({ "form": FORM, "index": name }).to_string();
    files::write_at(&at, text.as_bytes()).map_err(|e| SyncError::Write {
        path: at.display().to_string(),
        why: std::io::Error::other(e.to_string()),
    })?;
    for entry in std::fs::read_dir(vault.derived_dir()).into_iter().flatten().flatten() {
        let other = entry.file_name().to_string_lossy().into_owned();
        if other.starts_with("index-") && other != name {
            // Left behind at worst; the next rebuild tries again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// The name of this work tree within the catalog; none in a bare repository.
pub(super) fn tree_key(vault: &Vault<'_>) -> Option<String> {
    vault.repo.work_dir()?;
    let key = vault.repo.git_dir().strip_prefix(vault.repo.common_dir()).ok();
    Some(match key.map(|key| key.to_string_lossy().trim_end_matches('/').to_owned()) {
        Some(key) if !key.is_empty() => key,
        _ => ".".to_owned(),
    })
}

/// Whether the work tree of a key is still there. Older states are no work trees, and are forgotten in another way.
pub(super) fn tree_exists(vault: &Vault<'_>, key: &str) -> bool {
    key == "." || is_revision(key) || vault.repo.common_dir().join(key).is_dir()
}

/// The settings that the content of the index depends on.
pub(super) fn settings(vault: &Vault<'_>) -> String {
    let config = &vault.config;
    let parts = serde_json::json!([
        env!("CARGO_PKG_VERSION"),
        config.main_branch,
        config.time_zone,
        config.ignore,
        config.templates,
        config.fields,
        config.foreign.key(),
        config.index.chunk_tokens,
        config.index.max_file_bytes
    ]);
    Digest::of(parts.to_string().as_bytes()).to_string()
}

/// Opens catalog and text index, frozen at one state that belongs together.
pub(crate) fn open_pair(vault: &Vault<'_>) -> Result<Pair, Fault> {
    let dir = current(vault).ok_or(SyncError::NoIndex)?;
    let catalog = Catalog::open(&dir)?;
    for _ in 0..50 {
        let state = catalog.freeze()?;
        let text = TextIndex::open(&dir.join("text"))?;
        if text.generation()? == state.generation {
            expect_settings(vault, &state.settings, &dir)?;
            return Ok(Pair { catalog, text, state });
        }
        // Between the two commits of another process, or that process died there.
        catalog.thaw();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let state = catalog.freeze()?;
    let text = TextIndex::open(&dir.join("text"))?;
    Ok(Pair { catalog, text, state })
}

/// Opens the catalog alone, if it is one for the settings that hold.
pub(super) fn open_catalog(vault: &Vault<'_>) -> Result<Catalog, Fault> {
    let dir = current(vault).ok_or(SyncError::NoIndex)?;
    let catalog = Catalog::open(&dir)?;
    expect_settings(vault, &catalog.state()?.settings, &dir)?;
    Ok(catalog)
}

/// Opens catalog and text index under the lock, matching or not.
pub(super) fn open_pair_to_write(vault: &Vault<'_>) -> Result<Pair, Fault> {
    let dir = current(vault).ok_or(SyncError::NoIndex)?;
    let catalog = Catalog::open(&dir)?;
    let state = catalog.state()?;
    expect_settings(vault, &state.settings, &dir)?;
    let text = TextIndex::open(&dir.join("text"))?;
    Ok(Pair { catalog, text, state })
}

fn expect_settings(vault: &Vault<'_>, stored: &str, dir: &Path) -> Result<(), CatalogError> {
    if stored == settings(vault) {
        return Ok(());
    }
    let why = "the settings that it depends on have changed".to_owned();
    Err(CatalogError::Unusable { path: dir.to_owned(), why })
}

/// The reason why an index must be built anew (none where there was none), or the error that a rebuild would not
/// help against.
pub(super) fn unusable(error: Fault) -> Result<Option<String>, Fault> {
    let inner = error.as_error();
    if let Some(SyncError::NoIndex) = inner.downcast_ref() {
        return Ok(None);
    }
    let catalog = inner.downcast_ref::<CatalogError>().is_some_and(CatalogError::is_unusable);
    let text = inner.downcast_ref::<TextError>().is_some_and(TextError::is_unusable);
    if catalog || text { Ok(Some(error.to_string())) } else { Err(error) }
}
