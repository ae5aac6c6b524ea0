//! Whether main moved under a proposal.

use std::collections::HashMap;

use super::touched::{At, look_up};
use crate::flow::branch::Branch;
use crate::model::change::{DiffRecord, Entry, mode};
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::store::git::Repo;

/// The touched paths that differ between BASE and main, or where one side has a file and the other needs a
/// directory; sorted.
///
/// # Errors
/// When an object is missing or damaged.
pub fn conflicts(repo: &Repo, branch: &Branch, main: Oid) -> Result<Vec<String>, Fault> {
    if branch.base == main || branch.records.is_empty() {
        return Ok(Vec::new());
    }
    let (base, main) = (repo.tree_of(branch.base)?, repo.tree_of(main)?);
    if base == main {
        return Ok(Vec::new());
    }
    let by_path: HashMap<&[u8], &DiffRecord> =
        branch.records.iter().map(|r| (r.path.as_slice(), r)).collect();
    let now = look_up(repo, main, by_path.keys().copied())?;
    let before = look_up(repo, base, by_path.keys().copied())?;
    let mut out = Vec::new();
    for (path, at) in now {
        let Some(record) = by_path.get(path) else { continue };
        let same = match &at {
            At::Nothing => record.old_mode == mode::NONE,
            At::Entry(entry) if entry.mode == mode::TREE => {
                // The proposal puts a file where BASE has a directory: its deletions cover the directory as it was.
                record.old_mode == mode::NONE && before.get(path) == Some(&at)
            }
            At::Entry(entry) => *entry == Entry { mode: record.old_mode, oid: record.old_oid },
            // A file stands above. That is fine when the proposal itself deletes it.
            At::Below(above) => {
                record.old_mode == mode::NONE
                    && by_path.get(above.as_slice()).is_some_and(|r| r.new_mode == mode::NONE)
            }
        };
        if !same {
            out.push(String::from_utf8_lossy(path).into_owned());
        }
    }
    Ok(out)
}
