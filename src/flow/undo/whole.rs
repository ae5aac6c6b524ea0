//! All or nothing: what was done to files so far, and how they stood, to put it back where a later step fails.

use std::path::{Path, PathBuf};

use super::UndoError;
use super::files::{has, restore};
use crate::flow::mv;
use crate::flow::reader::Stands;
use crate::flow::remove;
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::files::{self, Replacement};
use crate::store::writable;

/// One thing that was done.
pub(super) enum Step {
    /// Something got another place.
    Renamed { path: VaultPath, was: PathBuf, now: PathBuf },
    /// A file got other bytes.
    Wrote { path: VaultPath, was: Vec<u8>, now: Vec<u8> },
    /// A file was made, with the bytes of this blob.
    Made { path: VaultPath, blob: Oid },
    /// What a commit has at a path was removed.
    Removed { path: VaultPath, commit: Oid },
    /// A file may be run that could not, or the other way round.
    Mode { path: VaultPath, was: bool },
}

/// What was done so far. It ends with [`Whole::done`] or [`Whole::failed`].
pub(super) struct Whole<'v, 'r> {
    pub(super) vault: &'v Vault<'r>,
    pub(super) what: &'v str,
    steps: Vec<Step>,
    /// Where what is taken away lies until all is done.
    aside: Option<PathBuf>,
    /// What lies beside its place, where the git directory is on another file system.
    beside: Vec<(VaultPath, PathBuf)>,
}

impl<'v, 'r> Whole<'v, 'r> {
    pub(super) fn new(vault: &'v Vault<'r>, what: &'v str) -> Whole<'v, 'r> {
        Whole { vault, what, steps: Vec::new(), aside: None, beside: Vec::new() }
    }

    pub(super) fn did(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// An error of the file system's at a path.
    pub(super) fn io(&self, path: &VaultPath) -> impl Fn(std::io::Error) -> UndoError + use<> {
        let (what, path) = (self.what.to_owned(), path.clone());
        move |why| UndoError::Io { what: what.clone(), path: path.clone(), why }
    }

    /// Whether what stands at some paths, or shall stand there, can be replaced, made and removed.
    ///
    /// # Errors
    /// [`UndoError::Io`] with the first for which it cannot.
    pub(super) fn ready(&self, paths: impl IntoIterator<Item = VaultPath>) -> Result<(), Fault> {
        let root = self.vault.root()?;
        let mut asked = std::collections::HashSet::new();
        for path in paths {
            let place = files::place(root, &path)?;
            // A link within the vault is written through.
            let place = if place.is_file() { place.canonicalize().map_err(self.io(&path))? } else { place };
            if place.parent().is_some_and(|directory| asked.insert(directory.to_owned())) {
                writable::holds(&place).map_err(self.io(&path))?;
            }
        }
        Ok(())
    }

    /// Takes a file or a link away, never what it leads to, and the directories that it leaves empty.
    pub(super) fn take_away(&mut self, path: &VaultPath) -> Result<(), Fault> {
        let root = self.vault.root()?;
        let place = files::place(root, path)?;
        let aside = match &self.aside {
            Some(aside) => aside.clone(),
            None => {
                let aside = remove::in_trash(self.vault, "undo-").map_err(self.io(path))?.keep();
                self.aside.insert(aside).clone()
            }
        };
        let mut now = aside.join(self.steps.len().to_string());
        match std::fs::rename(&place, &now) {
            Err(why) if why.kind() == std::io::ErrorKind::CrossesDevices => {
                let name = format!(".runebook-{}-{}.tmp", std::process::id(), self.steps.len());
                now = place.with_file_name(name);
                std::fs::rename(&place, &now).map_err(self.io(path))?;
                self.beside.push((path.clone(), now.clone()));
            }
            renamed => renamed.map_err(self.io(path))?,
        }
        self.did(Step::Renamed { path: path.clone(), was: place, now });
        remove::remove_empty_parents(root, path);
        Ok(())
    }

    /// All is done: what was taken away goes.
    pub(super) fn done(self) {
        // What cannot be removed lies in the git directory, or is named by `git status`.
        if let Some(aside) = &self.aside {
            let _ = std::fs::remove_dir_all(aside);
        }
        for (path, now) in &self.beside {
            let _ = std::fs::remove_file(now);
            if let Ok(root) = self.vault.root() {
                remove::remove_empty_parents(root, path);
            }
        }
    }

    /// Something failed: all is put back, the last first. Gives what is to be told of it.
    pub(super) fn failed(mut self, fault: Fault) -> Fault {
        let mut left = Vec::new();
        while let Some(step) = self.steps.pop() {
            if let Err(path) = self.put_back(step) {
                left.push(path);
            }
        }
        if left.is_empty() {
            if let Some(aside) = &self.aside {
                let _ = std::fs::remove_dir(aside);
            }
            return fault;
        }
        left.sort();
        left.dedup();
        let kept = self.aside.filter(|aside| std::fs::remove_dir(aside).is_err());
        UndoError::Half { what: self.what.to_owned(), why: fault.to_string(), left, kept }.into()
    }

    /// Gives the path where it does not go.
    fn put_back(&self, step: Step) -> Result<(), VaultPath> {
        let Ok(root) = self.vault.root() else { return Ok(()) };
        let fit = |path: VaultPath, fits: bool| if fits { Ok(()) } else { Err(path) };
        match step {
            Step::Renamed { path, was, now } => {
                let fits = renamed(&path, &now, &was).is_ok();
                fit(path, fits)
            }
            Step::Wrote { path, was, now } => {
                let job = Replacement { path: &path, old: &now, new: &was };
                let fits = matches!(files::replace_all(root, &[job]).as_slice(), [Ok(true)]);
                fit(path, fits)
            }
            Step::Made { path, blob } => {
                let Ok(place) = files::place(root, &path) else { return Err(path) };
                if place.symlink_metadata().is_err() {
                    return Ok(());
                }
                // Somebody's edit of it stays.
                let fits = has(root, &path, blob) && std::fs::remove_file(&place).is_ok();
                remove::remove_empty_parents(root, &path);
                fit(path, fits)
            }
            Step::Removed { path, commit } => {
                let mut again = Whole::new(self.vault, self.what);
                let fits = restore(&mut again, &path, commit).is_ok();
                again.done();
                fit(path, fits)
            }
            Step::Mode { path, was } => {
                let fits = files::place(root, &path).is_ok_and(|at| files::set_executable(&at, was).is_ok());
                fit(path, fits)
            }
        }
    }
}

fn renamed(path: &VaultPath, now: &Path, was: &Path) -> Result<(), Fault> {
    let data = now.symlink_metadata();
    let kind = if data.is_ok_and(|data| data.is_dir()) { Stands::Directory } else { Stands::File };
    if was.symlink_metadata().is_ok() && !files::is_same(now, was) {
        return Err(files::FileError::Exists(path.clone()).into());
    }
    mv::place_anew(kind, (path, now), (path, was))
}
