//! Following the files: for somebody who watches them and knows what was touched.

use std::time::Duration;

use super::scan::{self, Scope};
use super::{Freshness, Limits, Outcome, apply, place, run, take_lock};
use crate::flow::progress::Progress;
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

/// What following the files did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Followed {
    /// Whether the index was built anew.
    pub rebuilt: bool,
    /// Documents that the index did not have.
    pub added: u64,
    /// Documents that no view sees any more.
    pub removed: u64,
    /// The paths at which something else is seen now, in order; empty when everything was built anew.
    pub paths: Vec<VaultPath>,
    /// The state.
    pub freshness: Freshness,
}

/// How long it waits for another process that indexes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Brings the index up to date where these paths are all that was touched since it was up to date before: each a file
/// or a directory with everything below it, whether it is still there or not. What it costs follows the change, not the
/// vault. `None`: it is not known what was touched, and everything is looked at. Main's commits are followed either way.
///
/// # Errors
/// When another process keeps indexing, the files cannot be looked at, the index cannot be written, or the person
/// stopped it. The index is as it was before then, and the same call mends it.
pub fn follow(
    vault: &Vault<'_>,
    touched: Option<&[VaultPath]>,
    progress: &dyn Progress,
) -> Result<Followed, Fault> {
    let whole = || run(vault, progress, Limits { full: false, deadline: None, patience: PATIENCE });
    let outcome = match touched {
        None => whole()?,
        Some(paths) => match apply_touched(vault, paths, progress) {
            Ok(outcome) => outcome,
            Err(error) => {
                place::unusable(error)?;
                whole()?
            }
        },
    };
    let Outcome { rebuilt, added, removed, paths, freshness, .. } = outcome;
    Ok(Followed { rebuilt, added, removed, paths, freshness })
}

/// Looks under the lock: nobody else writes what this look does not know.
fn apply_touched(vault: &Vault<'_>, paths: &[VaultPath], progress: &dyn Progress) -> Result<Outcome, Fault> {
    let _lock = take_lock(vault, PATIENCE)?;
    let mut pair = place::open_pair_to_write(vault)?;
    apply::heal(vault, &mut pair)?;
    let looked = scan::look(vault, &pair, Scope::Touched(paths))?;
    apply::update(vault, progress, &pair, looked, &|| false)
}
