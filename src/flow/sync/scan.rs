//! What differs between the index and what is there.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::source::Taken;
use super::{Pair, place};
use crate::catalog::{Catalog, Known, StatRow, TreeId};
use crate::flow::vault::Vault;
use crate::model::clock::Cancelled;
use crate::model::fault::Fault;
use crate::model::finding::Finding;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::walk::{FileStat, Walk, WalkOptions, walk};

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
    /// The walk, to be used again.
    pub(super) walk: Option<Walk>,
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
    /// What was in the walk's way.
    pub(super) problems: Vec<Finding>,
}

impl Looked {
    /// Whether the index shows what is there.
    pub(super) fn is_settled(&self) -> bool {
        !self.moved
            && !self.dead_trees
            && self.work.as_ref().is_none_or(|work| work.changed.is_empty() && work.dirs.is_empty())
    }
}

/// Compares the index with what is there.
pub(super) fn look(vault: &Vault<'_>, pair: &Pair) -> Result<Looked, Fault> {
    look_again(vault, pair, None)
}

/// The same, with a walk that was made just before.
pub(super) fn look_again(vault: &Vault<'_>, pair: &Pair, walked: Option<Walk>) -> Result<Looked, Fault> {
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
        let walked = match walked {
            Some(walked) => walked,
            None => walk_all(vault, root)?,
        };
        let row = place::tree_key(vault).map(|key| pair.catalog.tree(&key)).transpose()?.flatten();
        let known = match row {
            Some(row) => pair.catalog.known(row.id)?,
            None => Known::default(),
        };
        let mut work = compare(root, &walked, &known, &looked.in_main, &taken, &pair.catalog)?;
        if row.is_none() {
            // A tree that was never taken in: all of main that is not there counts as gone.
            work.gone = missing(&pair.catalog, &work.changed)?;
        }
        work.problems.clone_from(&walked.problems);
        looked.work = Some(work);
        looked.walk = Some(walked);
    }
    Ok(looked)
}

/// Main's commit and tree.
pub(super) fn main_of(vault: &Vault<'_>) -> Result<Option<(Oid, Oid)>, Fault> {
    let commit = vault.repo.ref_oid(&vault.main_ref())?;
    commit.map(|commit| Ok((commit, vault.repo.tree_of(commit)?))).transpose()
}

/// All files of the work tree.
pub(super) fn walk_all(vault: &Vault<'_>, root: &Path) -> Result<Walk, Cancelled> {
    let options = WalkOptions {
        ignore: vault.config.ignore.clone(),
        cancel: vault.env.cancel.clone(),
        ..WalkOptions::default()
    };
    let walked = walk(root, &options);
    vault.env.go_on()?;
    Ok(walked)
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

fn parts(path: &VaultPath) -> (&str, &str) {
    path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()))
}

fn compare(
    root: &Path,
    walked: &Walk,
    known: &Known,
    in_main: &[(VaultPath, Option<Oid>)],
    taken: &Taken,
    catalog: &Catalog,
) -> Result<Work, Fault> {
    let mut dirs: HashMap<&str, Vec<&FileStat>> = HashMap::new();
    for file in &walked.files {
        dirs.entry(parts(&file.path).0).or_default().push(file);
    }
    // Files that the walk leaves out though main has them: `.gitignore` names them, and git tracks them anyway.
    let mut extra: Vec<FileStat> = Vec::new();
    let mut work = Work::default();
    let mut lost: Vec<VaultPath> = Vec::new();
    for dir in known.dirs() {
        let here = dirs.get(dir).map_or(&[][..], Vec::as_slice);
        let mut at = 0;
        for (name, _) in known.files(dir) {
            while at < here.len() && parts(&here[at].path).1 < name {
                at += 1;
            }
            if here.get(at).is_none_or(|file| parts(&file.path).1 != name) {
                let full = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
                lost.extend(VaultPath::from_disk(full.as_bytes()));
            }
        }
    }
    let walked_has = |path: &VaultPath| walked.files.binary_search_by(|file| file.path.cmp(path)).is_ok();
    for path in lost {
        match stat(root, &path).filter(|_| taken.takes_path(&path)) {
            Some(file) if catalog.main_oid(&path)?.is_some() => extra.push(file),
            _ => work.gone.push(path),
        }
    }
    let found: HashSet<VaultPath> = extra.iter().map(|file| file.path.clone()).collect();
    for (path, oid) in in_main {
        if oid.is_some() && !walked_has(path) && !found.contains(path) {
            extra.extend(stat(root, path));
        }
    }
    for file in &extra {
        dirs.entry(parts(&file.path).0).or_default().push(file);
    }
    for (dir, files) in &mut dirs {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut before = known.files(dir).peekable();
        let mut differs = false;
        for file in files.iter() {
            let name = parts(&file.path).1;
            while before.next_if(|(old, _)| *old < name).is_some() {
                differs = true;
            }
            match before.next_if(|(old, _)| *old == name) {
                Some((_, row)) if row == row_of(file) => {}
                _ => {
                    differs = true;
                    work.changed.push((*file).clone());
                }
            }
        }
        if differs || before.next().is_some() {
            work.dirs.insert((*dir).to_owned(), files.iter().map(|file| (*file).clone()).collect());
        }
    }
    for dir in known.dirs() {
        if !dirs.contains_key(dir) {
            work.dirs.insert(dir.to_owned(), Vec::new());
        }
    }
    work.changed.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(work)
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
