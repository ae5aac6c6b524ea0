//! Embedding what was saved, while nothing else is to do.

use std::time::Duration;

use super::{Background, Left};
use crate::flow::meaning;
use crate::flow::models;
use crate::flow::progress::Silent;
use crate::flow::vault::Vault;
use crate::index::embed::Lazy;
use crate::model::fault::Fault;

/// The longest slice. It ends within one text when somebody waits, so it need not be short; and each slice has to look
/// anew at what waits.
const SLICE: Duration = Duration::from_secs(10);

/// Gives texts their vectors by the model in use. The model is in memory only while texts wait.
#[derive(Debug, Default)]
pub struct Embedding {
    lazy: Option<Lazy>,
}

impl Background for Embedding {
    fn slice(&mut self, vault: &Vault<'_>, enough: &dyn Fn() -> bool) -> Result<Left, Fault> {
        // Looked at each time: somebody may choose another one meanwhile.
        let Ok(choice) = models::choose(vault.env, Some(&vault.config)) else {
            self.lazy = None;
            return Ok(Left::Nothing);
        };
        let same = |lazy: &Lazy| lazy.directory().description.fingerprint() == choice.fingerprint();
        let mut lazy = self.lazy.take().filter(same).unwrap_or_else(|| choice.lazy());
        let step = meaning::embed_some(vault, &mut lazy, SLICE, enough, &Silent)?;
        // With nothing done, what is left is not this process's to do now.
        if step.left == 0 || step.done == 0 && !enough() {
            return Ok(Left::Nothing);
        }
        self.lazy = Some(lazy);
        Ok(Left::More)
    }
}
