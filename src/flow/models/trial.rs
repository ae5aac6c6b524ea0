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

/// Sees to it that the library was tried as it is now. Where the system tells no time that cannot be set, it is looked
/// for by the system itself, or another program uses this library, that is not asked. One that failed is tried anew each
/// time: it may have been the machine that failed.
///
/// # Errors
/// When it cannot be loaded.
pub(super) fn tried(env: &Env, places: &Places, runtime: &Runtime) -> Result<(), EmbedError> {
    let Some(library) = runtime.file().filter(|_| env.program.is_some()) else { return Ok(()) };
    let Some(looks) = library.canonicalize().ok().and_then(|real| looks_of(&real)) else { return Ok(()) };
    let record = places.tried();
    let good = format!("{looks}\n{GOOD}\n");
    if plain::read_small(&record, MOST_BYTES).is_ok_and(|known| known == good) {
        return Ok(());
    }
    match probe_apart(env, Some(library), None) {
        Ok(_) => put(&record, &good),
        // Ctrl-C ended the trial, which says nothing then.
        Err(_) if env.go_on().is_err() => {}
        Err(error) => return Err(EmbedError::Refused(error.to_string())),
    }
    Ok(())
}

/// Puts down that a library is good. Where that cannot be put down, it is tried again each time.
fn put(record: &Path, text: &str) {
    let made = record.parent().map(std::fs::create_dir_all);
    if matches!(made, Some(Ok(()))) {
        let _ = files::write_at(record, text.as_bytes());
    }
}
