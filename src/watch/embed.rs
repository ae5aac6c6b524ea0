//! Embedding what was saved, while nothing else is to do.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Background, Left};
use crate::flow::meaning;
use crate::flow::models::{self, Choice, Places};
use crate::flow::progress::Silent;
use crate::flow::vault::Vault;
use crate::index::embed::Lazy;
use crate::model::fault::Fault;

/// The longest slice. It ends within one text when somebody waits, so it need not be short; and each slice has to look
/// anew at what waits.
const SLICE: Duration = Duration::from_secs(10);

/// How a file or a directory looks from outside, if it is there.
type Looks = Option<(u64, Option<SystemTime>)>;

fn looks(path: &Path) -> Looks {
    path.metadata().ok().map(|data| (data.len(), data.modified().ok()))
}

/// Gives texts their vectors by the model in use. The model is in memory only while texts wait.
#[derive(Debug, Default)]
pub struct Embedding {
    lazy: Option<Lazy>,
    /// What decides whether something waits, besides the files of the vault, as it was when nothing did.
    settled: Vec<(PathBuf, Looks)>,
}

impl Embedding {
    /// When nothing is left, nothing is to do as long as the vectors are those that are there, and the model and its library are: somebody may
    /// throw the vectors away, bring a model or choose another one.
    fn settle(&mut self, vault: &Vault<'_>, choice: Option<&Choice>) {
        let places = Places::of(vault.env);
        let of_person = places.iter().flat_map(|places| [places.default_model(), places.runtime()]);
        let of_model = choice.iter().flat_map(|choice| {
            let form = meaning::form_of(choice);
            [
                choice.directory.path.join(crate::model::embedding::DESCRIPTION),
                meaning::store_of(vault, &form),
            ]
        });
        self.settled = of_person.chain(of_model).map(|path| (path.clone(), looks(&path))).collect();
    }
}

impl Background for Embedding {
    fn slice(&mut self, vault: &Vault<'_>, enough: &dyn Fn() -> bool) -> Result<Left, Fault> {
        // Looked at each time: somebody may choose another one meanwhile.
        let Ok(choice) = models::choose(vault.env, Some(&vault.config)) else {
            self.lazy = None;
            self.settle(vault, None);
            return Ok(Left::Nothing);
        };
        // Before it is done: what changes meanwhile is seen by the next one.
        self.settle(vault, Some(&choice));
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

    fn wants(&self) -> bool {
        self.settled.iter().any(|(path, then)| looks(path) != *then)
    }
}
