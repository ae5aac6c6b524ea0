//! Taking in what was heard: listening to what is new, then looking at what was touched.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ears::Ears;
use super::inbox::Heard;
use crate::flow::progress::Progress;
use crate::flow::sync::{self, Followed};
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::path::VaultPath;
use crate::store::selection::Selection;
use crate::store::walk::{WalkOptions, walk};

/// How often directories are looked for again because new ones appeared meanwhile. What appears later is heard of.
const ROUNDS: usize = 8;

/// Takes everything in that may have changed.
pub(super) fn everything(
    vault: &Vault<'_>,
    ears: &mut Ears,
    progress: &dyn Progress,
) -> Result<Followed, Fault> {
    ears.listen_to_git(&vault.main_ref());
    for round in 0..ROUNDS {
        let mut dirs = directories(vault, None)?;
        dirs.extend(known_directories(vault)?);
        if round == 0 {
            ears.forget(None, &dirs);
        } else {
            dirs.retain(|dir| !ears.hears(dir) && !ears.deaf().contains(dir));
        }
        if ears.listen(&dirs).is_empty() {
            break;
        }
    }
    let followed = sync::follow(vault, None, progress)?;
    also_known(vault, ears, followed)
}

/// Takes in what was touched.
pub(super) fn touched(
    vault: &Vault<'_>,
    ears: &mut Ears,
    heard: &Heard,
    progress: &dyn Progress,
) -> Result<Followed, Fault> {
    if heard.refs {
        ears.listen_to_git(&vault.main_ref());
    }
    let paths: Vec<VaultPath> = heard.paths.iter().cloned().collect();
    listen_within(vault, ears, &paths)?;
    let followed = sync::follow(vault, Some(&paths), progress)?;
    if followed.paths.is_empty() && !followed.rebuilt {
        return Ok(followed);
    }
    also_known(vault, ears, followed)
}

/// Listens to the directories at and below some paths, until no new one is found: what is made in one before it is
/// listened to is seen by the look that follows.
fn listen_within(vault: &Vault<'_>, ears: &mut Ears, paths: &[VaultPath]) -> Result<(), Fault> {
    let root = vault.root()?;
    let is_dir =
        |path: &&VaultPath| root.join(path.as_str()).symlink_metadata().is_ok_and(|data| data.is_dir());
    let below: Selection = paths.iter().filter(is_dir).cloned().collect();
    let below = Arc::new(below);
    for round in 0..ROUNDS {
        let mut dirs = match below.picked().next() {
            Some(_) => directories(vault, Some(Arc::clone(&below)))?,
            None => Vec::new(),
        };
        dirs.retain(|dir| below.holds(dir.as_str()));
        if round == 0 {
            let part: Selection = paths.iter().cloned().collect();
            ears.forget(Some(&part), &dirs);
        } else {
            dirs.retain(|dir| !ears.hears(dir) && !ears.deaf().contains(dir));
        }
        if ears.listen(&dirs).is_empty() {
            break;
        }
    }
    Ok(())
}

/// The directories of the vault, or of a part of it with those above, the root among them.
fn directories(vault: &Vault<'_>, only: Option<Arc<Selection>>) -> Result<Vec<VaultPath>, Fault> {
    let root = vault.root()?;
    let options = WalkOptions {
        ignore: vault.config.ignore.clone(),
        only,
        directories_only: true,
        cancel: vault.env.cancel.clone(),
        ..WalkOptions::default()
    };
    let mut found = walk(root, &options).directories;
    vault.env.go_on()?;
    found.push(VaultPath::root());
    Ok(found)
}

/// The directories in which files were read, and those above them: also ignored ones, where git tracks a file.
fn known_directories(vault: &Vault<'_>) -> Result<BTreeSet<VaultPath>, Fault> {
    let mut all = BTreeSet::new();
    // Without an index nothing is known yet.
    let Ok(catalog) = sync::open(vault) else { return Ok(all) };
    let Ok(crate::catalog::Side::Tree(tree)) = sync::side(vault, &catalog) else { return Ok(all) };
    for dir in catalog.known_dirs(tree)? {
        all.extend(dir.ancestors());
        all.insert(dir);
    }
    let root = vault.root()?;
    all.retain(|dir| root.join(dir.as_str()).is_dir());
    Ok(all)
}

/// Listens to directories that are known only now, and looks at them once more.
fn also_known(vault: &Vault<'_>, ears: &mut Ears, mut followed: Followed) -> Result<Followed, Fault> {
    let mut dirs: Vec<VaultPath> = known_directories(vault)?.into_iter().collect();
    dirs.retain(|dir| !ears.hears(dir) && !ears.deaf().contains(dir));
    if dirs.is_empty() {
        return Ok(followed);
    }
    let new = ears.listen(&dirs);
    let more = sync::follow(vault, Some(&new), &crate::flow::progress::Silent)?;
    followed.added += more.added;
    followed.removed += more.removed;
    followed.paths.extend(more.paths);
    followed.freshness = more.freshness;
    Ok(followed)
}
