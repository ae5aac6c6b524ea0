//! A model that is loaded when it is first asked for and let go when nobody asked for a while.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::{EmbedError, Embedder, ModelDir, Runtime};
use crate::model::clock::Stopwatch;

/// A model that may or may not be in memory.
#[derive(Debug)]
pub struct Lazy {
    directory: ModelDir,
    runtime: Runtime,
    threads: NonZeroUsize,
    loaded: Option<(Embedder, Stopwatch)>,
}

impl Lazy {
    /// One that is not loaded yet.
    #[must_use]
    pub fn new(directory: ModelDir, runtime: Runtime, threads: NonZeroUsize) -> Lazy {
        Lazy { directory, runtime, threads, loaded: None }
    }

    /// The model's directory: name, dimensions and fingerprint are known without loading it.
    #[must_use]
    pub fn directory(&self) -> &ModelDir {
        &self.directory
    }

    /// Whether the model is in memory.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.loaded.is_some()
    }

    /// The model, loaded if it was not.
    ///
    /// # Errors
    /// As [`Embedder::open`].
    pub fn get(&mut self) -> Result<&mut Embedder, EmbedError> {
        let embedder = match self.loaded.take() {
            Some((embedder, _)) => embedder,
            None => Embedder::open(&self.directory, &self.runtime, self.threads)?,
        };
        Ok(&mut self.loaded.insert((embedder, Stopwatch::start())).0)
    }

    /// Lets the model go, if nobody asked for it for so long. Says whether it did.
    pub fn unload_if_idle(&mut self, after: Duration) -> bool {
        let idle = self.loaded.as_ref().is_some_and(|(_, asked)| asked.elapsed() >= after);
        if idle {
            self.loaded = None;
        }
        idle
    }
}
