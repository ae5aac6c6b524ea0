//! What differs between the index and what is there.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::compare::Compare;
use super::source::Taken;
use super::{Pair, SyncError, place};
use crate::catalog::{Catalog, Known, StatRow, TreeId};
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::selection::Selection;
use crate::store::walk::{FileStat, Walk, WalkOptions, walk};

/// How much of the work tree is looked at.
#[derive(Debug)]
pub(super) enum Scope<'a> {
    /// All of it, by a walk that was made just before if there is one.
    Whole(Option<Walk>),
    /// These paths, each with everything below it; of the rest it is known that nothing changed.
    Touched(&'a [VaultPath]),
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Main's commit and tree now.
    pub(super) main: Option<(Oid, Oid)>,
    /// Whether that is another commit than the index shows.
    pub(super) moved: bool,
    /// What main has now at the paths where it differs from the index.
    pub(super) in_main: Vec<(VaultPath, Option<Oid>)>,
    /// What differs in the work tree; none in a bare repository.
    pub(super) work: Option<Work>,
    /// The walk of the whole, to be used again.
    pub(super) walk: Option<Walk>,
    /// The part that was looked at, where it was not the whole.
    pub(super) only: Option<Arc<Selection>>,
    /// Whether the index knows work trees that are gone.
    pub(super) dead_trees: bool,
}

/// What differs in the work tree from what was read of it last.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Files that are new or that the file system describes differently.
    pub(super) changed: Vec<FileStat>,
    /// Files that are gone.
    pub(super) gone: Vec<VaultPath>,
    /// For each directory with a difference all its files as they are now.
    pub(super) dirs: HashMap<String, Vec<FileStat>>,
    /// What is there and could not be looked at, and why. What was known of it stays.
    pub(super) unread: Vec<(VaultPath, String)>,
    /// Whether the index does not say yet that this could not be looked at.
    pub(super) news: bool,
}

impl Work {
    fn is_settled(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty() && self.dirs.is_empty() && !self.news
    }
}

impl Looked {
    /// Whether the index shows what is there.
    pub(super) fn is_settled(&self) -> bool {
        !self.moved && !self.dead_trees && self.work.as_ref().is_none_or(Work::is_settled)
    }
}

/// Compares the index with what is there.
pub(super) fn look(vault: &Vault<'_>, pair: &Pair, scope: Scope<'_>) -> Result<Looked, Fault> {
    let taken = Taken::of(&vault.config);
    let main = main_of(vault)?;
    let state = &pair.state;
    let mut looked =
        Looked { main, moved: main.map(|(commit, _)| commit) != state.commit, ..Looked::default() };
    let tree = main.map(|(_, tree)| tree);
    if tree != state.tree {
        for record in vault.repo.diff(state.tree, tree)? {
            let Some(path) = record.vault_path() else { continue };
            let before = taken.takes(&path, record.old_mode);
            let now = taken.takes(&path, record.new_mode);
            if before || now {
                looked.in_main.push((path, now.then_some(record.new_oid)));
            }
        }
    }
    for (_, key) in pair.catalog.trees()? {
        looked.dead_trees |= !place::tree_exists(vault, &key);
    }
    if let Some(root) = vault.repo.work_dir() {
        look_at_work(vault, pair, root, scope, &taken, &mut looked)?;
    }
    Ok(looked)
}

fn look_at_work(
    vault: &Vault<'_>,
    pair: &Pair,
    root: &Path,
    scope: Scope<'_>,
    taken: &Taken,
    looked: &mut Looked,
) -> Result<(), Fault> {
    let catalog = &pair.catalog;
    let row = place::tree_key(vault).map(|key| catalog.tree(&key)).transpose()?.flatten();
    let (mut walked, mut only) = (None, None);
    match (scope, &row) {
        (Scope::Whole(walk), _) => walked = walk,
        // Where main moved, what the work tree has there may be main's now, or no longer.
        (Scope::Touched(paths), Some(_)) => {
            let moved = looked.in_main.iter().map(|(path, _)| path);
            let picked: Selection = paths.iter().chain(moved).cloned().collect();
            only = Some(Arc::new(picked)).filter(|picked| !picked.is_whole());
        }
        // Nothing is known of the rest either.
        (Scope::Touched(_), None) => {}
    }
    let walked = match walked {
        Some(walked) => walked,
        None => walk_part(vault, root, only.clone())?,
    };
    let known = match (&row, &only) {
        (Some(row), None) => catalog.known(row.id)?,
        (Some(row), Some(only)) => catalog.known_around(row.id, only.picked())?,
        (None, _) => Known::default(),
    };
    let in_main = looked.in_main.iter().map(|(path, oid)| (path, *oid)).collect();
    let compare = Compare {
        root,
        walked: &walked,
        only: only.as_deref(),
        known: &known,
        tree: row.as_ref().map(|row| row.id),
        in_main: &in_main,
        taken,
        catalog,
    };
    let mut work = compare.work()?;
    if row.is_none() {
        // A tree that was never taken in: all of main that is not there counts as gone.
        work.gone = missing(catalog, &work.changed)?;
    }
    looked.work = Some(work);
    looked.walk = Some(walked).filter(|_| only.is_none());
    looked.only = only;
    Ok(())
}

/// Main's commit and tree.
pub(super) fn main_of(vault: &Vault<'_>) -> Result<Option<(Oid, Oid)>, Fault> {
    let commit = vault.repo.ref_oid(&vault.main_ref())?;
    commit.map(|commit| Ok((commit, vault.repo.tree_of(commit)?))).transpose()
}

/// All files of the work tree.
pub(super) fn walk_all(vault: &Vault<'_>, root: &Path) -> Result<Walk, Fault> {
    walk_part(vault, root, None)
}

/// The files of a part of the work tree. A root that cannot be read is an error, never an empty vault.
fn walk_part(vault: &Vault<'_>, root: &Path, only: Option<Arc<Selection>>) -> Result<Walk, Fault> {
    let options = WalkOptions {
        ignore: vault.config.ignore.clone(),
        only,
        cancel: vault.env.cancel.clone(),
        ..WalkOptions::default()
    };
    let walked = walk(root, &options);
    vault.env.go_on()?;
    match walked.unread.iter().find(|(path, _)| path.is_root()) {
        Some((_, why)) => Err(SyncError::Unread { root: root.to_owned(), why: why.clone() }.into()),
        None => Ok(walked),
    }
}

/// What the file system says now of a file that the walk left out, if a plain file stands there, and not behind a
/// link that leaves the vault.
pub(super) fn stat(root: &Path, path: &VaultPath) -> Option<FileStat> {
    let data = files::place(root, path).ok()?.symlink_metadata().ok()?;
    data.is_file().then(|| FileStat::of(path.clone(), &data))
}

/// The part of a file's description that tells whether it changed.
pub(super) fn row_of(stat: &FileStat) -> StatRow {
    StatRow { size: stat.size, mtime_ns: stat.mtime_ns, ctime_ns: stat.ctime_ns, inode: stat.inode }
}

/// The paths of main that are not among some files.
fn missing(catalog: &Catalog, files: &[FileStat]) -> Result<Vec<VaultPath>, Fault> {
    let mut gone = Vec::new();
    catalog.each_doc(crate::catalog::Side::Main, |doc| {
        if files.binary_search_by(|file| file.path.cmp(&doc.path)).is_err() {
            gone.push(doc.path);
        }
    })?;
    Ok(gone)
}

/// The work tree's number, which is new where the catalog did not know it.
pub(super) fn tree_id(
    vault: &Vault<'_>,
    writer: &crate::catalog::Writer<'_>,
) -> Result<Option<TreeId>, Fault> {
    Ok(place::tree_key(vault).map(|key| writer.tree_id(&key)).transpose()?)
}
