//! A model's directory: reading its description, and its files as it describes them.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::EmbedError;
use super::verified::Looks;
use crate::model::embedding::{DESCRIPTION, Description, FILES, ModelFile};
use crate::model::id::hex;

/// No description is longer than so many bytes.
const MOST_DESCRIPTION: u64 = 64 << 10;

/// What is said of a pipe, a device or a directory.
const NO_FILE: &str = "it is no file";

/// A directory that holds a model whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelDir {
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub description: Description,
}

impl ModelDir {
    /// Reads the description of a model's directory; no other file is looked at.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn at(path: &Path) -> Result<ModelDir, EmbedError> {
        let at = path.join(DESCRIPTION);
        let wrong = |why: String| EmbedError::Description { path: at.clone(), why };
        let text = match open(&at) {
            Ok(file) => {
                let mut text = String::new();
                file.take(MOST_DESCRIPTION)
                    .read_to_string(&mut text)
                    .map_err(|why| wrong(why.to_string()))?;
                text
            }
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                return Err(EmbedError::NoModel(path.to_owned()));
            }
            Err(why) => return Err(wrong(why.to_string())),
        };
        let description: Description = serde_yaml::from_str(&text).map_err(|why| wrong(why.to_string()))?;
        if description.dimensions == 0 || description.max_tokens < 8 {
            return Err(wrong("a model has dimensions, and takes 8 tokens or more".to_owned()));
        }
        Ok(ModelDir { path: path.to_owned(), description })
    }

    /// The contents of all files, each hashed and checked against the description.
    ///
    /// # Errors
    /// When one is missing, or is not what was imported.
    pub fn read(&self) -> Result<BTreeMap<&'static str, Vec<u8>>, EmbedError> {
        std::thread::scope(|scope| {
            let read = move |name| {
                self.check_size(name)?;
                let bytes = self.bytes_of(name)?;
                self.check(name, &bytes).map(|()| bytes)
            };
            let jobs: Vec<_> = FILES.map(|name| (name, scope.spawn(move || read(name)))).into();
            jobs.into_iter()
                .map(|(name, job)| {
                    let read =
                        job.join().unwrap_or_else(|_| Err(self.bad(name, "reading it failed".to_owned())));
                    Ok((name, read?))
                })
                .collect()
        })
    }

    /// Whether all files are there and have the size that they had; costs no reading.
    ///
    /// # Errors
    /// When one is missing or has another size.
    pub fn check_sizes(&self) -> Result<(), EmbedError> {
        FILES.iter().try_for_each(|name| self.check_size(name).map(|_| ()))
    }

    fn check_size(&self, name: &str) -> Result<&ModelFile, EmbedError> {
        let Some(said) = self.description.files.get(name) else {
            return Err(self.bad(name, format!("{DESCRIPTION} does not name it")));
        };
        let data = std::fs::metadata(self.path.join(name)).map_err(|why| self.bad(name, why.to_string()))?;
        if !data.is_file() {
            return Err(self.bad(name, NO_FILE.to_owned()));
        }
        let size = data.len();
        if size == said.bytes {
            Ok(said)
        } else {
            Err(self.bad(name, format!("it has {size} bytes instead of {}", said.bytes)))
        }
    }

    /// The contents of one file, checked against the description; a file that was and did not change since is not
    /// hashed again.
    pub(super) fn read_one(&self, name: &str) -> Result<Vec<u8>, EmbedError> {
        let said = self.check_size(name)?;
        let path = self.path.join(name);
        let looks = Looks::of(&path);
        let bytes = self.bytes_of(name)?;
        if looks.verified(&path, said) && bytes.len() as u64 == said.bytes {
            return Ok(bytes);
        }
        self.check(name, &bytes)?;
        looks.put(&path, said);
        Ok(bytes)
    }

    fn bytes_of(&self, name: &str) -> Result<Vec<u8>, EmbedError> {
        std::fs::read(self.path.join(name)).map_err(|why| self.bad(name, why.to_string()))
    }

    fn check(&self, name: &str, bytes: &[u8]) -> Result<(), EmbedError> {
        let said = self.check_size(name)?;
        if hash_of(bytes) == *said {
            return Ok(());
        }
        Err(self.bad(name, "its SHA-256 is not the one that was imported".to_owned()))
    }

    fn bad(&self, name: &str, why: String) -> EmbedError {
        EmbedError::File { path: self.path.join(name), why }
    }
}

/// Opens what is a plain file. A named pipe would be waited for.
fn open(at: &Path) -> std::io::Result<std::fs::File> {
    if std::fs::metadata(at)?.is_file() {
        return std::fs::File::open(at);
    }
    Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, NO_FILE))
}

/// What a description says of a file with these bytes.
#[must_use]
pub fn hash_of(bytes: &[u8]) -> ModelFile {
    ModelFile { sha256: hex(&Sha256::digest(bytes)), bytes: bytes.len() as u64 }
}
