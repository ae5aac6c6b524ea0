//! The model runtime: a library that is looked for in a few places and loaded once in a process.
//!
//! ort panics where it is used without its library, so nothing of it is called before the library was loaded here.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;

use super::EmbedError;
use super::error::{chain, one_line};

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

/// The runtime's environment and what it was loaded from, once it was.
static LOADED: Mutex<Option<(Environment, PathBuf)>> = Mutex::new(None);

impl Runtime {
    /// The file that would be loaded, where one of the files exists.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.files.iter().find(|path| path.is_file()).map(PathBuf::as_path)
    }

    /// Whether the library may be there: what the system would have to look for may.
    ///
    /// # Errors
    /// When it is nowhere.
    pub fn seems_there(&self) -> Result<(), EmbedError> {
        if self.file().is_some() || !self.names.is_empty() { Ok(()) } else { Err(self.nowhere()) }
    }

    /// Loads the library, if this process has none yet, and tells its version.
    ///
    /// # Errors
    /// When it is nowhere, cannot be loaded or is too old.
    pub fn version(&self) -> Result<String, EmbedError> {
        self.load()?;
        let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = loaded.as_ref().and_then(|(_, path)| version_in(&std::fs::read(path).ok()?));
        Ok(known.unwrap_or_else(|| format!("{OLDEST} or newer")))
    }

    pub(super) fn load(&self) -> Result<Environment, EmbedError> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((environment, _)) = &*loaded {
            return Ok(environment.clone());
        }
        let found = self.find()?;
        Ok(loaded.insert(found).0.clone())
    }

    fn find(&self) -> Result<(Environment, PathBuf), EmbedError> {
        if let Some(path) = self.file() {
            return Ok((load_from(path)?, path.to_owned()));
        }
        for name in &self.names {
            match load_from(Path::new(name)) {
                Err(EmbedError::BadRuntime { .. }) => {}
                found => return Ok((found?, PathBuf::from(name))),
            }
        }
        Err(self.nowhere())
    }

    fn nowhere(&self) -> EmbedError {
        let files = self.files.iter().map(|path| path.display().to_string());
        EmbedError::NoRuntime(files.chain(self.names.iter().cloned()).collect())
    }
}

fn load_from(path: &Path) -> Result<Environment, EmbedError> {
    let bad = |why: &str| EmbedError::BadRuntime { path: path.to_owned(), why: one_line(why) };
    let load = || {
        let builder = ort::init_from(path).map_err(|error| match error {
            ort::LoadDynamicError::BadVersion { version_str, .. } => {
                EmbedError::OldRuntime { path: path.to_owned(), found: version_str }
            }
            ort::LoadDynamicError::Dlopen { error, .. } => bad(&chain(&error)),
            ort::LoadDynamicError::MissingApi { .. } => bad("it does not offer OrtGetApiBase"),
            ort::LoadDynamicError::InvalidVersionString => bad("it tells no version"),
        })?;
        // Nothing is told to anybody.
        let environment = builder.with_name("runebook").with_telemetry(false).build();
        environment.map_err(|error| bad(&error.to_string()))
    };
    super::super::text::caught(load).unwrap_or_else(|_| Err(bad("it gave up while it was loaded")))
}

/// The version that a library's exported names carry (`VERS_1.32.0`), where its system has such. The library tells its
/// version only to those who may call it unsafely.
fn version_in(library: &[u8]) -> Option<String> {
    let mark = regex::bytes::Regex::new(r"VERS_(\d+\.\d+\.\d+)\x00").ok()?;
    mark.captures(library).map(|found| String::from_utf8_lossy(&found[1]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(runtime: &Runtime) -> String {
        runtime.find().expect_err("no runtime").to_string()
    }

    #[test]
    fn what_is_no_runtime_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = dir.path().join("libonnxruntime.so");
        assert!(
            fails(&Runtime { files: vec![text.clone()], names: Vec::new() }).contains("libonnxruntime.so")
        );
        std::fs::write(&text, "no library").expect("a file");
        let said = fails(&Runtime { files: vec![text], names: Vec::new() });
        assert!(said.contains("is no model runtime"), "{said}");
        let names = vec!["librunebook-has-no-such.so".to_owned()];
        assert!(fails(&Runtime { files: Vec::new(), names }).contains("was not found"));
        assert!(fails(&Runtime::default()).contains("was not found"));
    }

    #[test]
    fn the_version_is_read_out_of_the_exported_names() {
        assert_eq!(version_in(b"..\0VERS_1.32.0\0.."), Some("1.32.0".to_owned()));
        assert_eq!(version_in(b"..\0VERS_1.32\0.."), None);
    }
}
