//! The vectors of texts, by a model that runs in this process. The only place that names fastembed and ort.
//!
//! The model runtime is a library of its own (ONNX Runtime), loaded when the first model is opened and kept until the
//! process ends. A model is loaded by [`Embedder::open`] and let go when the [`Embedder`] is dropped; [`Lazy`] does both
//! when it is time. Texts go through the model one at a time: larger batches are slower on a processor and take more
//! memory. The same text gives the same bits, whatever stood beside it, on one machine with one library and one number
//! of threads.

mod address;
mod error;
mod fetch;
mod hub;
mod lazy;
mod model_dir;
mod runtime;
#[cfg(test)]
mod tests;
mod text;
mod verified;

use std::num::NonZeroUsize;

use fastembed::{InitOptionsUserDefined, TextEmbedding, UserDefinedEmbeddingModel};

pub use error::EmbedError;
pub use fetch::{FetchError, Hub, fetch};
pub use hub::{Catalogued, catalogue};
pub use lazy::Lazy;
pub use model_dir::{ModelDir, hash_of};
pub use runtime::{OLDEST, Runtime, library_name};
pub use verified::looks_of;

use crate::model::embedding::{Fingerprint, Pooling, Prefixes};

/// No text is looked at further than so many characters per token that the model takes: what is cut away there could
/// not have reached the model.
const MOST_CHARS_A_TOKEN: usize = 32;

/// A loaded model.
pub struct Embedder {
    model: TextEmbedding,
    directory: ModelDir,
    fingerprint: Fingerprint,
}

impl std::fmt::Debug for Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embedder").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// Loads the runtime and the model's weights. Its tokenizer is a hollow one, to be replaced.
fn session(
    directory: &ModelDir,
    runtime: &Runtime,
    threads: NonZeroUsize,
) -> Result<TextEmbedding, EmbedError> {
    let environment = runtime.load()?;
    let weights = directory.read_one("model.onnx")?;
    let pooling = match directory.description.pooling {
        Pooling::Mean => fastembed::Pooling::Mean,
        Pooling::Cls => fastembed::Pooling::Cls,
    };
    let model = UserDefinedEmbeddingModel::new(weights, text::hollow()).with_pooling(pooling);
    let options = InitOptionsUserDefined::new()
        .with_environment(environment)
        .with_auto_device(fastembed::AutoDevicePolicy::PreferCPU)
        .with_intra_threads(threads.get());
    match crate::index::text::caught(|| TextEmbedding::try_new_from_user_defined(model, options)) {
        Ok(opened) => opened.map_err(|error| EmbedError::open(&directory.path, &error.to_string())),
        Err(_) => Err(EmbedError::open(&directory.path, "the runtime gave up over it")),
    }
}

impl Embedder {
    /// Loads the runtime, if this process has none yet, and the model, whose files must be those of its description.
    ///
    /// # Errors
    /// When there is no runtime that can be used, or the model cannot be: each says what to do next.
    pub fn open(
        directory: &ModelDir,
        runtime: &Runtime,
        threads: NonZeroUsize,
    ) -> Result<Embedder, EmbedError> {
        let description = &directory.description;
        let (tokenizer, session) = std::thread::scope(|scope| {
            // A vocabulary takes as long to read as the rest.
            let tokenizer = scope.spawn(|| text::tokenizer(directory));
            let session = session(directory, runtime, threads);
            (tokenizer.join(), session)
        });
        let mut model = session?;
        model.tokenizer = tokenizer
            .unwrap_or_else(|_| Err(EmbedError::open(&directory.path, "its tokenizer is damaged")))?;
        let fingerprint = description.fingerprint();
        Ok(Embedder { model, directory: directory.clone(), fingerprint })
    }

    /// What decides which vector a text gets.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// How many numbers a vector has.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.directory.description.dimensions
    }

    /// The most tokens of a text, its prefix and the model's own marks among them; what is longer is cut.
    #[must_use]
    pub fn max_tokens(&self) -> usize {
        self.directory.description.max_tokens
    }

    /// How many tokens a text has as a passage, with its prefix and the model's own marks. Of a text that is too long,
    /// what is known is that it has more than the model takes: some number over that.
    ///
    /// # Errors
    /// When the tokenizer does not take it.
    pub fn count_tokens(&self, text: &str) -> Result<usize, EmbedError> {
        let text = format!("{}{text}", self.prefixes().passage);
        let encoded =
            self.model.tokenizer.encode(text, true).map_err(|error| self.failed(&error.to_string()))?;
        // The tokenizer stops soon after what the model takes, and keeps what it cut off.
        Ok(encoded.len() + encoded.get_overflowing().iter().map(|piece| piece.len()).sum::<usize>())
    }

    /// The vectors of what is searched: of length one, in the order of the texts.
    ///
    /// # Errors
    /// When the runtime fails, or gives what is no vector of the model's.
    pub fn passages(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let prefix = self.prefixes().passage.clone();
        texts.iter().map(|text| self.embed(&prefix, text)).collect()
    }

    /// The vector of a question: of length one.
    ///
    /// # Errors
    /// As [`Embedder::passages`].
    pub fn query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let prefix = self.prefixes().query.clone();
        self.embed(&prefix, text)
    }

    fn prefixes(&self) -> &Prefixes {
        &self.directory.description.prefixes
    }

    fn embed(&mut self, prefix: &str, text: &str) -> Result<Vec<f32>, EmbedError> {
        let most = self.directory.description.max_tokens.saturating_mul(MOST_CHARS_A_TOKEN);
        let cut = text.char_indices().nth(most).map_or(text, |(at, _)| &text[..at]);
        let whole = format!("{prefix}{cut}");
        let model = &mut self.model;
        let done = crate::index::text::caught(|| model.embed([whole], Some(1)));
        let vectors = match done {
            Ok(vectors) => vectors.map_err(|error| self.failed(&error.to_string()))?,
            Err(_) => return Err(self.failed("the runtime gave up over it")),
        };
        let vector = vectors.into_iter().next().ok_or_else(|| self.failed("it gave no vector"))?;
        let (said, found) = (self.dimensions(), vector.len());
        if said != found {
            return Err(EmbedError::Dimensions { path: self.directory.path.clone(), said, found });
        }
        let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        // A NaN is in no range.
        if !(0.99..=1.01).contains(&length) {
            return Err(EmbedError::NoVector { path: self.directory.path.clone() });
        }
        Ok(vector)
    }

    fn failed(&self, why: &str) -> EmbedError {
        EmbedError::Run { path: self.directory.path.clone(), why: error::one_line(why) }
    }
}
