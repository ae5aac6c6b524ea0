//! Where a person's models and runtime are.

use std::path::{Path, PathBuf};

use crate::index::embed::library_name;
use crate::model::clock::Env;
use crate::model::embedding::ModelName;

/// A person's directory of models and runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    root: PathBuf,
}

impl Places {
    /// The directory of this person: `$XDG_DATA_HOME/runebook` (else `~/.local/share/runebook`), on macOS
    /// `~/Library/Application Support/runebook`, on Windows `%LOCALAPPDATA%\runebook`. None where the environment names
    /// no home.
    #[must_use]
    pub fn of(env: &Env) -> Option<Places> {
        let absolute = |name: &str| env.var(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let data = absolute("XDG_DATA_HOME").or_else(|| {
            if cfg!(target_os = "windows") {
                absolute("LOCALAPPDATA")
            } else if cfg!(target_os = "macos") {
                absolute("HOME").map(|home| home.join("Library/Application Support"))
            } else {
                absolute("HOME").map(|home| home.join(".local/share"))
            }
        })?;
        Some(Places { root: data.join("runebook") })
    }

    /// The directory of it all.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory that holds a directory for each model.
    #[must_use]
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// The directory of a model.
    #[must_use]
    pub fn model(&self, name: &ModelName) -> PathBuf {
        self.models().join(name.as_str())
    }

    /// The registered runtime library.
    #[must_use]
    pub fn runtime(&self) -> PathBuf {
        self.root.join("runtime").join(library_name())
    }

    /// The file that says of which library it was tried whether it can be loaded.
    #[must_use]
    pub fn tried(&self) -> PathBuf {
        self.root.join("runtime").join("tried")
    }

    /// The file with the name of the model that is used where a vault names none.
    #[must_use]
    pub fn default_model(&self) -> PathBuf {
        self.root.join("default-model")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::clock::{Cancel, Clock, Entropy};

    fn of(vars: &[(&str, &str)]) -> Option<PathBuf> {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let env = Env {
            vars,
            clock: Clock::system(),
            entropy: Entropy::seeded(1),
            current_dir: PathBuf::new(),
            cancel: Cancel::default(),
            program: None,
        };
        Places::of(&env).map(|places| places.root)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_relative_or_missing_home_is_none() {
        assert_eq!(of(&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")]), Some("/d/runebook".into()));
        assert_eq!(of(&[("XDG_DATA_HOME", "d"), ("HOME", "/h")]), Some("/h/.local/share/runebook".into()));
        assert_eq!(of(&[("HOME", "h")]), None);
        assert_eq!(of(&[]), None);
    }
}
