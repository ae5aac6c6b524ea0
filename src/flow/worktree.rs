//! A merge's part in the files of a work tree: whether they are in the way, and putting the new ones in place.
//!
//! A person's edit is never overwritten. Before main moves everything is looked at and anything that is not known to
//! be old, new or taken from this proposal stops the merge. After main has moved each file is looked at once more;
//! what changed in between stays as it is and shows as an uncommitted edit.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::layers::{Stamped, stamped};
use crate::model::change::Entry;
use crate::model::fault::{Explain, Kind};
use crate::model::path::VaultPath;
use crate::store::git::{Checkout, Found, GitError, Repo, Staged};
use crate::store::journal::Touched;
use crate::store::plain;
use crate::store::writable;

/// How many files in the way are named.
const MOST_NAMED: usize = 20;

/// Why a file stops a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The file, in the work tree it stands in.
    pub file: PathBuf,
    /// The path in the vault.
    pub path: VaultPath,
    /// What is the matter with it.
    pub why: &'static str,
}

/// Why a work tree cannot be brought to the new state.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// Files are in the way.
    #[error("{}", in_the_way(.0))]
    InTheWay(Vec<Obstacle>),
    /// An operation of git's is half done.
    #[error("{what} is under way in {}", root.display())]
    Busy {
        /// The work tree.
        root: PathBuf,
        /// What, with its article.
        what: &'static str,
    },
    /// A file could not be put in its place; asked before anything is changed.
    #[error("{} cannot be changed: {why}; nothing was done", file.display())]
    Refused {
        /// The file.
        file: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A file cannot be put in its place.
    #[error("putting {} in place: {why}", file.display())]
    Place {
        /// The file.
        file: PathBuf,
        /// Why.
        why: io::Error,
    },
}

fn in_the_way(obstacles: &[Obstacle]) -> String {
    match obstacles {
        [one] => {
            format!(
                "a file of yours is in the way of the merge, and nothing was changed: {} {}",
                one.path, one.why
            )
        }
        many => {
            format!("{} files of yours are in the way of the merge, and nothing was changed", many.len())
        }
    }
}

impl Explain for WorkTreeError {
    fn kind(&self) -> Kind {
        match self {
            WorkTreeError::Place { .. } | WorkTreeError::Refused { .. } => Kind::Failed,
            _ => Kind::Conflict,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            WorkTreeError::InTheWay(obstacles) => {
                let root = obstacles.first().map(|o| o.file.display().to_string()).unwrap_or_default();
                Some(format!(
                    "commit it, propose it (`runebook propose from-worktree`), or move it away, then merge again ({root})"
                ))
            }
            WorkTreeError::Busy { what, .. } => Some(format!(
                "finish or abort {} first; `git status` shows how",
                what.replacen("a ", "the ", 1)
            )),
            // What the system says has a hint of its own.
            WorkTreeError::Refused { .. } => None,
            WorkTreeError::Place { .. } => {
                Some("mend that and run any runebook command: it finishes the merge".to_owned())
            }
        }
    }

    fn details(&self) -> Vec<String> {
        match self {
            WorkTreeError::InTheWay(obstacles) if obstacles.len() > 1 => {
                let named = obstacles.iter().map(|one| format!("{} {}", one.path, one.why));
                let more = obstacles.len().saturating_sub(MOST_NAMED);
                named.take(MOST_NAMED).chain((more > 0).then(|| format!("… and {more} more"))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Looks at every path that a merge changes and says which ones are in the way.
///
/// # Errors
/// When a file cannot be read.
pub fn obstacles(checkout: &Checkout, touched: &[Touched]) -> Result<Vec<Obstacle>, GitError> {
    let gone: HashSet<VaultPath> =
        touched.iter().filter(|t| t.new.is_none()).filter_map(Touched::vault_path).collect();
    let mut out = Vec::new();
    for one in touched {
        let Some(path) = one.vault_path() else { continue };
        let found = checkout.found(&path, &likely(one))?;
        let staged = checkout.staged(&path);
        if let Some(why) = verdict(checkout, one, staged, &found, &gone) {
            out.push(Obstacle { file: checkout.file(&path), path, why });
        }
    }
    Ok(out)
}

/// Whether files can be made, replaced and removed where a merge does it.
///
/// # Errors
/// [`WorkTreeError::Refused`] with the first where they cannot.
pub fn writable(checkout: &Checkout, touched: &[Touched]) -> Result<(), WorkTreeError> {
    let mut asked = HashSet::new();
    for path in touched.iter().filter_map(Touched::vault_path) {
        let file = checkout.file(&path);
        if asked.insert(path.parent()) {
            writable::holds(&file).map_err(|why| WorkTreeError::Refused { file, why })?;
        }
    }
    Ok(())
}

fn likely(one: &Touched) -> Vec<Entry> {
    let earlier = one.earlier.iter().flatten().map(|kept| Entry::from(*kept));
    one.old().into_iter().chain(one.wanted()).chain(earlier).collect()
}

/// Why a path stops the merge, or `None` if it is in one of the states from which the new one can be reached.
fn verdict(
    checkout: &Checkout,
    one: &Touched,
    staged: Staged,
    found: &Found,
    gone: &HashSet<VaultPath>,
) -> Option<&'static str> {
    let (old, new) = (one.old(), one.wanted());
    match found {
        Found::Directory
            if !holds_only(&checkout.work_tree.root, &checkout.file(&one.vault_path()?), gone) =>
        {
            return Some("is a directory with files that the merge does not know");
        }
        Found::Directory if !staged.is(old) => return Some("has staged changes"),
        Found::Directory => return None,
        Found::Other => return Some("is neither a file nor a directory"),
        // What is above it goes away in the same merge, or it is to be absent anyway.
        Found::Blocked(above) if new.is_some() && !gone.contains(above) => {
            return Some("would have to stand in a directory, and there is a file or link of that name");
        }
        _ => {}
    }
    let is_new = found.is(new);
    if is_new && (staged.is(old) || staged.is(new)) {
        return None;
    }
    let taken = |kept: &Option<_>| found.is(kept.map(Entry::from));
    let known = found.is(old) || one.earlier.iter().any(taken) || is_our_layer(checkout, one, found);
    if staged.is(old) && known {
        return None;
    }
    Some(match (staged, found) {
        (Staged::Absent, Found::Entry(_)) if old.is_none() => "is not tracked, and the merge would make it",
        _ if !staged.is(old) => "has staged changes",
        (_, Found::Absent | Found::Blocked(_)) => "is deleted and the deletion is not committed",
        _ => "has uncommitted changes",
    })
}

/// Whether a layer's file stands there that a generator made and nobody changed since.
fn is_our_layer(checkout: &Checkout, one: &Touched, found: &Found) -> bool {
    let Some(path) = one.vault_path().filter(VaultPath::is_layer) else { return false };
    matches!(found, Found::Entry(_))
        && plain::read(checkout.file(&path)).is_ok_and(|bytes| stamped(&bytes) != Stamped::Foreign)
}

/// Whether a directory holds nothing but files that go away in the same merge.
fn holds_only(root: &Path, directory: &Path, gone: &HashSet<VaultPath>) -> bool {
    walkdir::WalkDir::new(directory).min_depth(1).into_iter().all(|entry| {
        let Ok(entry) = entry else { return false };
        if entry.file_type().is_dir() {
            return true;
        }
        let relative = entry.path().strip_prefix(root).ok();
        let path = relative.and_then(|p| VaultPath::from_disk(p.as_os_str().as_encoded_bytes()));
        path.is_some_and(|path| gone.contains(&path))
    })
}

/// What came of putting the files of a merge in place.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The files that were written or removed.
    pub changed: u32,
    /// The files that a person changed in the very moment of the merge: left as they are.
    pub kept: Vec<PathBuf>,
}

/// Puts the new files in place and makes the new index the work tree's. The forms are made by [`prepare`] before.
/// `step` is called after each file.
///
/// # Errors
/// When the file system refuses. What is done stays done, and the call can be repeated.
pub fn place(
    checkout: &mut Checkout,
    forms: &Path,
    touched: &[Touched],
    step: &dyn Fn(&str),
) -> Result<Placed, crate::model::fault::Fault> {
    let mut placed = Placed::default();
    let mut updates = Vec::with_capacity(touched.len());
    // Deletions first: a directory may have to become a file, or a file a directory.
    let (gone, there): (Vec<&Touched>, Vec<&Touched>) = touched.iter().partition(|t| t.new.is_none());
    for one in gone.into_iter().chain(there) {
        let Some(path) = one.vault_path() else { continue };
        let staged = checkout.staged(&path);
        let unlike_ours = !staged.is(one.old()) && !staged.is(one.wanted());
        let fits = place_one(checkout, forms, one, &path, &mut placed)?;
        if !unlike_ours {
            let meta = if fits { fs::symlink_metadata(checkout.file(&path)).ok() } else { None };
            updates.push((path, one.wanted().map(|entry| (entry, meta))));
        }
        step("placed-one");
    }
    step("placed");
    checkout.write_index(&updates)?;
    Ok(placed)
}

/// Brings one file to its new state after a last look. Whether it is in it afterwards.
fn place_one(
    checkout: &Checkout,
    forms: &Path,
    one: &Touched,
    path: &VaultPath,
    placed: &mut Placed,
) -> Result<bool, crate::model::fault::Fault> {
    let file = checkout.file(path);
    let found = checkout.found(path, &likely(one))?;
    if found.is(one.wanted()) {
        return Ok(true);
    }
    let known = found.is(one.old())
        || one.earlier.iter().any(|kept| found.is(kept.map(Entry::from)))
        || is_our_layer(checkout, one, &found);
    if !known && found != Found::Directory {
        placed.kept.push(file);
        return Ok(false);
    }
    let failed = |why| WorkTreeError::Place { file: file.clone(), why };
    if one.new.is_none() {
        if found == Found::Directory {
            return Ok(true);
        }
        fs::remove_file(&file).map_err(failed)?;
        remove_empty_parents(&checkout.work_tree.root, &file);
    } else {
        if found == Found::Directory && fs::remove_dir(&file).is_err() {
            placed.kept.push(file);
            return Ok(false);
        }
        move_into(&forms.join(path.as_str()), &file).map_err(failed)?;
    }
    placed.changed += 1;
    Ok(true)
}

fn remove_empty_parents(root: &Path, file: &Path) {
    let mut above = file.parent();
    while let Some(directory) = above.filter(|directory| *directory != root) {
        // It refuses when something is left in it, and that is where it ends.
        if fs::remove_dir(directory).is_err() {
            return;
        }
        above = directory.parent();
    }
}

/// Renames the form to its place; across file systems it is copied beside the place first, so that nobody ever sees
/// half a file.
fn move_into(form: &Path, file: &Path) -> io::Result<()> {
    let directory = file.parent().unwrap_or(file);
    fs::create_dir_all(directory)?;
    match fs::rename(form, file) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let beside = tempfile::Builder::new().prefix(".runebook-placing-").tempfile_in(directory)?;
            fs::copy(form, beside.path())?;
            beside.persist(file).map(|_| ()).map_err(|e| e.error)
        }
        other => other,
    }
}

/// Makes the checked-out forms of what the merge writes and reserves room for the index: everything that may fail for
/// lack of room fails here, before anything has changed.
///
/// # Errors
/// When it does.
pub fn prepare(checkout: &Checkout, repo: &Repo, touched: &[Touched]) -> Result<PathBuf, GitError> {
    let written: Vec<(VaultPath, Entry)> =
        touched.iter().filter_map(|one| Some((one.vault_path()?, one.wanted()?))).collect();
    let forms = checkout.make_forms(repo, &written)?;
    checkout.reserve()?;
    Ok(forms)
}
