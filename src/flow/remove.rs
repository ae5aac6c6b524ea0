//! Removing files by a person's own hand, without losing what git does not have.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::belongs;
use super::gate::governance::is_settings;
use super::locate::{self, Target};
use super::own::OwnError;
use super::reader::{Reader, Stands};
use super::undo;
use super::vault::Vault;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::model::uri::Uri;
use crate::store::files::{self, FileError};
use crate::store::git::{Head, Repo};
use crate::store::operations::Effect;
use crate::store::plain;
use crate::store::walk::{WalkOptions, walk};

/// What `rm` did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Removed {
    /// What was removed.
    pub path: VaultPath,
    /// Whether it was a directory.
    pub directory: bool,
    /// Where it is kept, because git does not have all of it; absent when git has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<PathBuf>,
}

/// Whether something may be removed at all: asked of everything that is named before anything is removed.
///
/// # Errors
/// When it is the root, settings, a directory without `recursive`, or is reached through a link.
pub fn may_go(vault: &Vault<'_>, target: &Target, recursive: bool) -> Result<(), Fault> {
    let path = &target.uri.path;
    if path.is_root() {
        return Err(OwnError::Root.into());
    }
    belongs::direct(vault.root()?, path)?;
    if is_settings(path) {
        return Err(OwnError::Settings(path.clone()).into());
    }
    if target.kind == Stands::Directory && !recursive {
        return Err(OwnError::Directory(path.clone()).into());
    }
    Ok(())
}

/// What a text names that is to be removed; that may also be a link that leads out of the vault or nowhere, which goes
/// itself.
///
/// # Errors
/// When it names nothing.
pub fn named(reader: &Reader<'_, '_>, text: &str, from: &Path) -> Result<Target, Fault> {
    let fault = match locate::find(reader, text, from) {
        Ok(target) => return Ok(target),
        Err(fault) => fault,
    };
    let Some(FileError::Leaves { path, link }) = fault.as_error().downcast_ref() else { return Err(fault) };
    let itself = reader.files_root().is_some_and(|root| root.join(path.as_str()) == *link);
    if !itself {
        return Err(fault);
    }
    Ok(Target { uri: Uri::file(path.clone()), kind: Stands::File })
}

/// Removes a file or, if `recursive`, a directory. What git does not have is kept in the git directory.
///
/// # Errors
/// As [`may_go`], and when the file system refuses.
pub fn rm(vault: &Vault<'_>, target: &Target, recursive: bool) -> Result<Removed, Fault> {
    may_go(vault, target, recursive)?;
    let path = &target.uri.path;
    let directory = target.kind == Stands::Directory;
    let kept = away(vault, path)?;
    Ok(Removed { path: path.clone(), directory, kept })
}

/// Removes a file or directory, with a note for `undo`. Gives where it is kept, unless git has every byte of it.
pub(super) fn away(vault: &Vault<'_>, path: &VaultPath) -> Result<Option<PathBuf>, Fault> {
    let root = vault.root()?;
    let at = files::place(root, path)?;
    let directory = at.symlink_metadata().is_ok_and(|data| data.is_dir());
    let io = |why| OwnError::Io { doing: "removing", path: path.clone(), why };
    // What the same command removed before stays noted when this fails.
    let first = vault.operation.get().is_none();
    let forget = || {
        if first {
            undo::forget(vault);
        }
    };
    let note = |effect| undo::note(vault, &format!("remove {path}"), vec![effect]);
    let kept = if let Some(commit) = git_has_all(vault, path, directory)? {
        note(Effect::Removed { path: path.clone(), commit })?;
        if directory {
            if let Err(why) = all_at_once(vault, &at) {
                // Of what is half removed the note stays: `undo` brings it back.
                if !why.half {
                    forget();
                }
                return Err(io(why.why).into());
            }
        } else if let Err(why) = std::fs::remove_file(&at) {
            forget();
            return Err(io(why).into());
        }
        None
    } else {
        let stamp = vault.clock.now_zoned().strftime("%Y%m%dT%H%M%S").to_string();
        let place = in_trash(vault, &format!("{stamp}-")).map_err(io)?.keep();
        let kept = place.join(path.as_str());
        std::fs::create_dir_all(kept.parent().unwrap_or(&place)).map_err(io)?;
        note(Effect::PutAway { path: path.clone(), kept: kept.clone() })?;
        if let Err(why) = std::fs::rename(&at, &kept) {
            forget();
            return Err(io(why).into());
        }
        Some(kept)
    };
    remove_empty_parents(root, path);
    Ok(kept)
}

/// Where what is removed and kept lies, in a directory each.
pub(super) fn trash(vault: &Vault<'_>) -> PathBuf {
    vault.repo.git_dir().join("runebook/trash")
}

/// Makes a directory there, which goes again unless it is kept.
pub(super) fn in_trash(vault: &Vault<'_>, prefix: &str) -> std::io::Result<tempfile::TempDir> {
    let trash = trash(vault);
    std::fs::create_dir_all(&trash)?;
    tempfile::Builder::new().prefix(prefix).tempdir_in(&trash)
}

/// Why a directory is not removed.
struct NotRemoved {
    why: std::io::Error,
    /// Whether a part of it is.
    half: bool,
}

/// Removes a directory that git has: out of the way as a whole first, so that it is removed or is not.
fn all_at_once(vault: &Vault<'_>, at: &Path) -> Result<(), NotRemoved> {
    let whole = |why| NotRemoved { why, half: false };
    let aside = in_trash(vault, "removing-").map_err(whole)?;
    match std::fs::rename(at, aside.path().join("it")) {
        // What cannot be removed there is in nobody's way.
        Ok(()) => Ok(()),
        Err(why) if why.kind() == std::io::ErrorKind::CrossesDevices => {
            std::fs::remove_dir_all(at).map_err(|why| NotRemoved { why, half: true })
        }
        Err(why) => Err(whole(why)),
    }
}

/// Git has no empty directories, so what a removal leaves empty goes too.
pub(super) fn remove_empty_parents(root: &Path, path: &VaultPath) {
    for above in path.ancestors().filter(|above| !above.is_root()) {
        if std::fs::remove_dir(root.join(above.as_str())).is_err() {
            break;
        }
    }
}

/// HEAD's commit.
pub(super) fn head(vault: &Vault<'_>) -> Result<Option<Oid>, Fault> {
    Ok(match vault.repo.head()? {
        Head::Branch(_, oid) => oid,
        Head::Detached(oid) => Some(oid),
    })
}

/// HEAD's commit, if it has everything at a path byte for byte.
fn git_has_all(vault: &Vault<'_>, path: &VaultPath, directory: bool) -> Result<Option<Oid>, Fault> {
    let Some(head) = head(vault)? else { return Ok(None) };
    let root = vault.root()?;
    let tree = vault.repo.tree_of(head)?;
    let files = if directory {
        let options =
            WalkOptions { hidden: true, git_ignored: true, below: path.clone(), ..WalkOptions::default() };
        let found = walk(root, &options);
        // A nested repository, an unreadable directory, an odd name: what the walk cannot see is kept.
        if !found.problems.is_empty() || !only_plain(&root.join(path.as_str())) {
            return Ok(None);
        }
        found.files.into_iter().map(|file| file.path).collect()
    } else {
        vec![path.clone()]
    };
    for file in files {
        vault.env.go_on()?;
        let entry = vault.repo.entry_at(tree, &file)?;
        let bytes = plain::read(root.join(file.as_str()));
        let same = matches!((entry, bytes), (Some(entry), Ok(bytes)) if Repo::hash_blob(&bytes) == entry.oid);
        if !same {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// Whether there are only plain files and directories, and no repository.
fn only_plain(at: &Path) -> bool {
    let mut queue = vec![at.to_owned()];
    while let Some(directory) = queue.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { return false };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            match entry.file_type() {
                Ok(kind)
                    if kind.is_dir() && entry.file_name() != ".git" && entry.file_name() != ".runebook" =>
                {
                    queue.push(entry.path())
                }
                Ok(kind) if kind.is_file() && entry.file_name() != ".git" => {}
                _ => return false,
            }
        }
    }
    true
}
