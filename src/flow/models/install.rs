//! Bringing a model from a hub.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::bring::{Imported, Stage, copy, or_cancelled, place};
use super::error::ModelError;
use super::place::Places;
use super::probe::probe_apart;
use crate::flow::Progress;
use crate::index::embed::{self, Catalogued, FetchError, Hub};
use crate::model::clock::{Cancelled, Env};
use crate::model::embedding::ModelName;
use crate::model::fault::Fault;

/// Where models are, unless `HF_ENDPOINT` names a mirror.
const ENDPOINT: &str = "https://huggingface.co";
/// How long a hub may be silent, unless `RUNEBOOK_HUB_PATIENCE` (seconds) says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a directory is called in which a download grows.
const PART: &str = ".part-";
const MEGABYTE: u64 = 1 << 20;

/// Downloads a model by its name, tries it and puts it among the person's. What came before it was stopped is not
/// fetched again by the next run.
///
/// # Errors
/// See [`ModelError`]. What was installed before is as it was.
pub fn install(
    env: &Env,
    name: &ModelName,
    replace: bool,
    progress: &dyn Progress,
) -> Result<Imported, Fault> {
    let places = Places::of(env).ok_or(ModelError::NoHome)?;
    let known = || embed::catalogue().iter().map(|model| model.name).collect();
    let listed = embed::catalogue().iter().find(|model| model.name == name.as_str());
    let listed = listed.ok_or_else(|| ModelError::NotListed { name: name.clone(), known: known() })?;
    // Without a runtime the download would be for nothing.
    or_cancelled(env, probe_apart(env, None, None))?;
    let stage = Stage::new(&places)?;
    let parts = places.models().join(format!("{PART}{name}"));
    let cache = env.var("HF_HOME").and_then(|home| listed.cached(Path::new(home)));
    let found = match cache {
        Some(found) => found,
        None => download(env, (name, listed), &parts, progress)?,
    };
    let mut description = listed.description(name);
    for (file, source) in found {
        let copied = copy(env, &source, &stage.path().join(file), progress)?;
        description.files.insert(file.to_owned(), copied);
    }
    let brought = place(env, &places, stage, description, (Path::new(name.as_str()), replace));
    // Whatever is wrong with it is wrong with what was fetched; after Ctrl-C nobody knows.
    if brought.is_ok() || env.go_on().is_ok() {
        let _ = std::fs::remove_dir_all(&parts);
    }
    brought
}

/// Downloads the files of a model into a directory of its own, and tells where they are.
fn download(
    env: &Env,
    (model, listed): (&ModelName, &Catalogued),
    parts: &Path,
    progress: &dyn Progress,
) -> Result<BTreeMap<&'static str, PathBuf>, Fault> {
    let patience = env.var("RUNEBOOK_HUB_PATIENCE").and_then(|text| text.parse().ok());
    let hub = Hub {
        endpoint: env.var("HF_ENDPOINT").unwrap_or(ENDPOINT).to_owned(),
        token: env.var("HF_TOKEN").map(|token| token.trim().to_owned()),
        patience: patience.map_or(PATIENCE, Duration::from_secs),
    };
    let failed = |why: String| ModelError::Hub { name: model.clone(), why };
    let (repository, sources) = listed.sources().map_err(failed)?;
    std::fs::create_dir_all(parts).map_err(ModelError::io("making", parts))?;
    let mut found = BTreeMap::new();
    for (name, source) in sources {
        let to = parts.join(name);
        let (mut shown, mut begun) = (0, false);
        let mut tells = |bytes: u64, total: Option<u64>| {
            if !begun && bytes > 0 {
                progress.begin("downloading megabytes", total.map(|total| total.div_ceil(MEGABYTE)));
                begun = true;
            }
            progress.advance((bytes / MEGABYTE).saturating_sub(shown));
            shown = bytes / MEGABYTE;
            env.go_on().is_ok()
        };
        let fetched = embed::fetch(&hub, (&repository, &source), &to, &mut tells);
        if begun {
            progress.end();
        }
        match fetched {
            Ok(()) => found.insert(name, to),
            Err(FetchError::Stopped) => return Err(Cancelled.into()),
            Err(FetchError::Disk { path, why }) => {
                return Err(ModelError::Io { what: "writing", path, why }.into());
            }
            Err(error) => return Err(failed(error.to_string()).into()),
        };
    }
    Ok(found)
}
