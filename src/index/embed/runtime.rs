//! The model runtime: a library that is looked for in a few places and loaded once in a process.
//!
//! ort panics where it is used without its library, so nothing of it is called before the library was loaded here.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::EmbedError;
use super::error::one_line;

/// The oldest version of the runtime that works.
pub const OLDEST: &str = "1.24";

/// The file name of the library on this system.
#[must_use]
pub fn library_name() -> &'static str {
    if cfg!(target_os = "windows") {
        "onnxruntime.dll"
    } else if cfg!(target_os = "macos") {
        "libonnxruntime.dylib"
    } else {
        "libonnxruntime.so"
    }
}

/// Where the library may be, best first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runtime {
    /// Files; the first one that exists is taken, and is it no runtime, that is an error.
    pub files: Vec<PathBuf>,
    /// Names for the system's own search, after the files.
    pub names: Vec<String>,
}

static LOADED: Mutex<Option<(ort::environment::Environment, String)>> = Mutex::new(None);

impl Runtime {
    /// The file that would be loaded, where one of the files exists.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.files.iter().find(|path| path.is_file()).map(PathBuf::as_path)
    }

    /// Loads the library, if this process has none yet, and tells its version.
    ///
    /// # Errors
    /// When it is nowhere, cannot be loaded or is too old.
    pub fn version(&self) -> Result<String, EmbedError> {
        Ok(self.load()?.1)
    }

    pub(super) fn load(&self) -> Result<(ort::environment::Environment, String), EmbedError> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*loaded {
            return Ok(known.clone());
        }
        let found = self.find()?;
        Ok(loaded.insert(found).clone())
    }

    fn find(&self) -> Result<(ort::environment::Environment, String), EmbedError> {
        if let Some(path) = self.file() {
            return load_from(path);
        }
        for name in &self.names {
            match load_from(Path::new(name)) {
                Err(EmbedError::BadRuntime { .. }) => {}
                found => return found,
            }
        }
        let files = self.files.iter().map(|path| path.display().to_string());
        Err(EmbedError::NoRuntime(files.chain(self.names.iter().cloned()).collect()))
    }
}

fn load_from(path: &Path) -> Result<(ort::environment::Environment, String), EmbedError> {
    let bad = |why: &str| EmbedError::BadRuntime { path: path.to_owned(), why: one_line(why) };
    let load = || {
        let builder = ort::init_from(path).map_err(|error| match error {
            ort::LoadDynamicError::BadVersion { version_str, .. } => {
                EmbedError::OldRuntime { path: path.to_owned(), found: version_str }
            }
            ort::LoadDynamicError::Dlopen { error, .. } => bad(&error.to_string()),
            ort::LoadDynamicError::MissingApi { .. } => bad("it does not offer OrtGetApiBase"),
            ort::LoadDynamicError::InvalidVersionString => bad("it tells no version"),
        })?;
        // Nothing is told to anybody.
        let environment = builder.with_name("runebook").with_telemetry(false).build();
        let environment = environment.map_err(|error| bad(&error.to_string()))?;
        Ok((environment, version_in(ort::info())))
    };
    super::super::text::caught(load).unwrap_or_else(|_| Err(bad("it gave up while it was loaded")))
}

/// The version out of what the library tells of itself.
fn version_in(info: &str) -> String {
    let found = info.split("git-branch=rel-").nth(1).and_then(|rest| rest.split(',').next());
    found.unwrap_or("of unknown version").to_owned()
}
