//! Whether the runtime library that would be loaded was tried. What crashes while it is loaded would take the search with
//! it that only wanted an answer: a library that was half copied, damaged or replaced since is tried in a process of its
//! own first, once.

use std::path::Path;

use super::place::Places;
use super::probe::probe_apart;
use crate::index::embed::{EmbedError, Runtime, looks_of};
use crate::model::clock::Env;
use crate::store::{files, plain};

/// No record is longer.
const MOST_BYTES: u64 = 1 << 16;
/// What a library is called that may be loaded.
const GOOD: &str = "good";

/// Sees to it that the library was tried as it is now. Where the system tells no time that cannot be set, or it is looked
/// for by the system itself, that is not asked.
///
/// # Errors
/// When it cannot be loaded.
pub(super) fn tried(env: &Env, places: &Places, runtime: &Runtime) -> Result<(), EmbedError> {
    let Some(library) = runtime.file() else { return Ok(()) };
    let Some(looks) = library.canonicalize().ok().and_then(|real| looks_of(&real)) else { return Ok(()) };
    let record = places.tried();
    let known = plain::read_small(&record, MOST_BYTES).unwrap_or_default();
    let why = match known.strip_prefix(&format!("{looks}\n")) {
        Some(said) => said.trim_end().to_owned(),
        None => {
            let why = match probe_apart(env, Some(library), None) {
                Ok(_) => GOOD.to_owned(),
                // Ctrl-C ended the trial, which says nothing then.
                Err(_) if env.go_on().is_err() => return Ok(()),
                Err(error) => error.to_string(),
            };
            put(&record, &looks, &why);
            why
        }
    };
    if why == GOOD { Ok(()) } else { Err(EmbedError::Refused(why)) }
}

/// Puts down what came of a trial. Where that cannot be put down, it is tried again each time.
fn put(record: &Path, looks: &str, why: &str) {
    let made = record.parent().map(std::fs::create_dir_all);
    if matches!(made, Some(Ok(()))) {
        let _ = files::write_at(record, format!("{looks}\n{}\n", why.replace('\n', " ")).as_bytes());
    }
}
