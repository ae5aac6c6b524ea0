//! Bringing a model or a runtime: copied, tried, and only then seen by others.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::Registered;
use super::choose::is_model;
use super::error::ModelError;
use super::guess::{Said, describe};
use super::place::Places;
use super::probe::probe_apart;
use crate::flow::Progress;
use crate::index::embed::{self, ModelDir, library_name};
use crate::model::clock::Env;
use crate::model::embedding::{DESCRIPTION, Description, FILES, ModelFile, ModelName};
use crate::model::fault::Fault;
use crate::model::id::hex;
use crate::store::files;
use crate::store::lock::{self, Lock};
use crate::store::plain;

/// A step of the progress of copying, in bytes.
const STEP: usize = 1 << 20;

/// What is to be imported.
#[derive(Debug, Clone, Default)]
pub struct Import {
    /// The model's directory.
    pub directory: PathBuf,
    /// What the person says of it.
    pub said: Said,
    /// Whether it takes the place of another one of that name.
    pub replace: bool,
    /// A runtime library to register first.
    pub runtime: Option<PathBuf>,
}

/// A model that was brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Imported {
    /// Its name.
    pub name: ModelName,
    /// Where it stands.
    pub path: PathBuf,
    /// What decides its vectors.
    pub fingerprint: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
    /// The languages that it is good for.
    pub languages: Vec<String>,
    /// The version of the runtime that it was tried with.
    pub runtime: String,
    /// Whether the very same model was installed under this name before.
    pub unchanged: bool,
    /// Whether it is used now where a vault names none.
    pub is_default: bool,
}

/// Copies a model's directory to the person's models, once it was tried.
///
/// # Errors
/// See [`ModelError`]. What was installed before is as it was.
pub fn import(env: &Env, request: &Import, progress: &dyn Progress) -> Result<Imported, Fault> {
    let places = Places::of(env).ok_or(ModelError::NoHome)?;
    if let Some(library) = &request.runtime {
        register(env, library, progress)?;
    }
    let from = &request.directory;
    if let Some(name) = FILES.iter().find(|name| !from.join(name).is_file()) {
        let at = from.join(name);
        let what = match plain::special_at(&at) {
            Some(what) => format!("is {what}, not a file"),
            None if at.is_dir() => "is a directory, not a file".to_owned(),
            None => "is missing".to_owned(),
        };
        return Err(ModelError::NotAModel { path: from.clone(), name, what }.into());
    }
    let mut description = describe(from, &request.said)?;
    let stage = Stage::new(&places)?;
    let size = FILES.iter().filter_map(|name| Some(from.join(name).metadata().ok()?.len())).sum::<u64>();
    progress.begin("copying megabytes", Some(size.div_ceil(STEP as u64)));
    for name in FILES {
        let source = from.join(name);
        let copied = copy(env, &source, &stage.path().join(name), progress)?;
        if description.files.get(name).is_some_and(|said| *said != copied) {
            return Err(ModelError::Damaged(source).into());
        }
        description.files.insert(name.to_owned(), copied);
    }
    progress.end();
    description.files.retain(|name, _| FILES.contains(&name.as_str()));
    place(env, &places, stage, description, (from, request.replace))
}

/// Registers a runtime library, once it was tried in a process of its own.
///
/// # Errors
/// When it is no library that this program can use. What was registered before is as it was.
pub fn register(env: &Env, library: &Path, progress: &dyn Progress) -> Result<Registered, Fault> {
    let places = Places::of(env).ok_or(ModelError::NoHome)?;
    let library = library.canonicalize().map_err(|_| ModelError::NoFile(library.to_owned()))?;
    if !library.is_file() {
        return Err(ModelError::NoFile(library).into());
    }
    let version = or_cancelled(env, probe_apart(env, Some(&library), None))?.runtime;
    let to = places.runtime();
    let directory = to.parent().unwrap_or(places.root()).to_owned();
    std::fs::create_dir_all(&directory).map_err(ModelError::io("making", &directory))?;
    let stage = tempfile::Builder::new().prefix(".new-").tempdir_in(&directory);
    let stage = stage.map_err(ModelError::io("making a directory in", &directory))?;
    let new = stage.path().join(library_name());
    let copied = copy(env, &library, &new, progress)?;
    let unchanged = plain::read(&to).is_ok_and(|old| embed::hash_of(&old) == copied);
    if !unchanged {
        // A running program keeps the file that it has loaded.
        std::fs::rename(&new, &to).map_err(ModelError::io("writing", &to))?;
    }
    Ok(Registered { path: to, version, unchanged })
}

/// A directory beside the models where one is put together; gone when it was not put in its place. One at a time.
pub(super) struct Stage {
    directory: tempfile::TempDir,
    _lock: Lock,
}

impl Stage {
    pub(super) fn new(places: &Places) -> Result<Stage, Fault> {
        let models = places.models();
        std::fs::create_dir_all(&models).map_err(ModelError::io("making", &models))?;
        let lock = Lock::take(&models.join(".lock"), "model import", lock::PATIENCE)?;
        bring_back(&models);
        // Whoever left these was killed. A name with a dot in front is no model's.
        let old = std::fs::read_dir(&models).into_iter().flatten().flatten();
        for path in old.map(|entry| entry.path()).filter(|path| path.is_dir() && !is_model(path)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(".new-") || name.starts_with(AWAY) {
                std::fs::remove_dir_all(&path).map_err(ModelError::io("removing", &path))?;
            }
        }
        let made = tempfile::Builder::new().prefix(".new-").tempdir_in(&models);
        let directory = made.map_err(ModelError::io("making a directory in", &models))?;
        Ok(Stage { directory, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// A trial that Ctrl-C ended says nothing of the model.
pub(super) fn or_cancelled<T>(env: &Env, tried: Result<T, ModelError>) -> Result<T, Fault> {
    if tried.is_err() {
        env.go_on()?;
    }
    Ok(tried?)
}

/// What the directory is called to which a model is moved while another one takes its place.
const AWAY: &str = ".old-";

/// Brings back the models whose place was empty when the process that was replacing them died. The lock of the models
/// is held, so nobody is replacing one now.
fn bring_back(models: &Path) {
    for path in std::fs::read_dir(models).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(AWAY));
        let Some(to) = name.map(|name| models.join(name)).filter(|to| !to.exists()) else {
            continue;
        };
        // What cannot be moved is as it was.
        let _ = std::fs::rename(&path, to);
    }
}

/// As [`bring_back`], unless somebody brings a model just now.
pub(super) fn recover(places: &Places) {
    let models = places.models();
    if models.is_dir()
        && let Ok(_lock) = Lock::take(&models.join(".lock"), "model import", std::time::Duration::ZERO)
    {
        bring_back(&models);
    }
}

/// Describes, tries and places what stands in the stage.
pub(super) fn place(
    env: &Env,
    places: &Places,
    stage: Stage,
    mut description: Description,
    (from, replace): (&Path, bool),
) -> Result<Imported, Fault> {
    let to = places.model(&description.name);
    let fingerprint = description.fingerprint();
    let old = ModelDir::at(&to).ok();
    let same = old.as_ref().filter(|old| old.description.fingerprint() == fingerprint && old.read().is_ok());
    let unchanged = same.is_some();
    if to.exists() && !unchanged && !replace {
        return Err(ModelError::Taken(description.name).into());
    }
    let path = stage.path().join(DESCRIPTION);
    let write = |description: &Description| {
        let bad =
            |why: serde_yaml::Error| ModelError::BadDescription { path: path.clone(), why: why.to_string() };
        let text = serde_yaml::to_string(description).map_err(bad)?;
        Ok::<(), Fault>(files::write_at(&path, text.as_bytes())?)
    };
    write(&description)?;
    // The stage is of no interest to anybody.
    let staged = stage.path().display().to_string();
    let probed = or_cancelled(
        env,
        probe_apart(env, None, Some(stage.path())).map_err(|error| match error {
            ModelError::Probe { why, hint } => {
                ModelError::Probe { why: why.replace(&staged, &from.display().to_string()), hint }
            }
            error => error,
        }),
    )?;
    if !probed.english {
        return Err(ModelError::Blind(from.to_owned()).into());
    }
    if description.languages.is_empty() {
        description.languages.push("en".to_owned());
        description.languages.extend(probed.chinese.then(|| "zh".to_owned()));
        write(&description)?;
    }
    if !unchanged {
        put(stage, &to)?;
    }
    let is_default = settle_default(places, &description.name)?;
    Ok(Imported {
        name: description.name,
        path: to,
        fingerprint: fingerprint.to_string(),
        dimensions: description.dimensions,
        languages: description.languages,
        runtime: probed.runtime,
        unchanged,
        is_default,
    })
}

/// Moves the stage to its place in one step. An old model gives way to it, and comes back if that fails.
fn put(stage: Stage, to: &Path) -> Result<(), ModelError> {
    // Beside its place, under a name that says whose it is, for whoever finds that this process was killed.
    let old = to.with_file_name(format!("{AWAY}{}", to.file_name().unwrap_or_default().to_string_lossy()));
    let new = stage.directory.keep();
    let replaced = to.exists();
    if replaced {
        std::fs::rename(to, &old).map_err(ModelError::io("moving away", to))?;
    }
    let moved = std::fs::rename(&new, to).map_err(ModelError::io("writing", to));
    match (&moved, replaced) {
        (Err(_), true) => std::fs::rename(&old, to).map_err(ModelError::io("putting back", to))?,
        // What is left of it takes space until the next import, and is no model to anybody.
        (Ok(()), true) => drop(std::fs::remove_dir_all(&old)),
        _ => {}
    }
    moved
}

/// The first model that is brought is the person's default.
fn settle_default(places: &Places, name: &ModelName) -> Result<bool, Fault> {
    let path = places.default_model();
    match plain::read_text(&path) {
        Ok(text) => Ok(text.trim() == name.as_str()),
        Err(_) => {
            files::write_at(&path, format!("{name}\n").as_bytes())?;
            Ok(true)
        }
    }
}

/// Copies a file in steps and tells what it is.
pub(super) fn copy(env: &Env, from: &Path, to: &Path, progress: &dyn Progress) -> Result<ModelFile, Fault> {
    let mut source = plain::open(from).map_err(ModelError::io("reading", from))?;
    let mut target = std::fs::File::create(to).map_err(ModelError::io("writing", to))?;
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; STEP]);
    loop {
        env.go_on()?;
        let read = source.read(&mut buffer).map_err(ModelError::io("reading", from))?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        target.write_all(&buffer[..read]).map_err(ModelError::io("writing", to))?;
        bytes += read as u64;
        progress.advance(1);
    }
    target.sync_all().map_err(ModelError::io("writing", to))?;
    Ok(ModelFile { sha256: hex(&hash.finalize()), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_comes_back_when_the_one_that_replaced_it_was_never_placed() {
        let dir = tempfile::tempdir().unwrap();
        let away = |name: &str| dir.path().join(format!("{AWAY}{name}"));
        for at in [away("lost"), away("replaced"), dir.path().join("replaced")] {
            std::fs::create_dir(&at).unwrap();
            std::fs::write(at.join("said"), at.file_name().unwrap().to_str().unwrap()).unwrap();
        }
        bring_back(dir.path());
        let said = |name: &str| std::fs::read_to_string(dir.path().join(name).join("said")).unwrap();
        assert_eq!(said("lost"), ".old-lost");
        assert_eq!(said("replaced"), "replaced");
        assert!(!away("lost").exists());
    }
}
