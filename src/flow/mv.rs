//! `mv`: a file or directory gets another name, and links follow it.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::belongs;
use super::gate::governance::is_settings;
use super::heal::{self, Healing, Moves, Part};
use super::locate::Target;
use super::own::{OwnError, admit, of_its_kind};
use super::progress::Progress;
use super::reader::Stands;
use super::sync;
use super::undo;
use super::vault::Vault;
use crate::model::fault::Fault;
use crate::model::path::VaultPath;
use crate::model::uri::{Fragment, Uri};
use crate::store::files::{self, FileError};
use crate::store::lock::{self, Lock};
use crate::store::operations::Effect;

/// What `mv` did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Moved {
    /// Where it stood.
    pub from: VaultPath,
    /// Where it stands.
    pub to: VaultPath,
    /// Whether it is a directory.
    pub directory: bool,
    /// Whether nothing was done, only shown.
    pub dry_run: bool,
    /// The links that follow it.
    pub links: Healing,
}

/// How `mv` is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MoveOptions {
    /// Whether links stay as they are.
    pub keep_links: bool,
    /// Whether it is only shown what would be done.
    pub dry_run: bool,
}

/// Moves or renames a file or directory with all edits that were not committed, and changes the links that would no
/// longer lead where they led. Nothing is written over.
///
/// # Errors
/// When something stands at the new place, its name is none that every system holds or makes something else of a memory,
/// it would be left out there, or it is not known which links lead there; nothing has changed then.
pub fn mv(
    vault: &Vault<'_>,
    from: &Target,
    to: &Uri,
    options: MoveOptions,
    progress: &dyn Progress,
) -> Result<Moved, Fault> {
    let root = vault.root()?;
    let old = &from.uri.path;
    if old.is_root() {
        return Err(OwnError::Root.into());
    }
    if is_settings(old) {
        return Err(OwnError::Settings(old.clone()).into());
    }
    let into = files::place_to_read(root, &to.path)?.is_dir() && to.path != *old;
    let new = match from.kind {
        _ if into || to.directory => to.path.join(old.name())?,
        Stands::File => of_its_kind(old, to.path.clone())?,
        Stands::Directory => to.path.clone(),
    };
    // Of two at once both would carry the same links, and each would take the file from under the other.
    let lock = || Lock::take(&vault.derived_dir().join("lock"), &format!("move {old}"), lock::PATIENCE);
    let _lock = if options.dry_run { None } else { Some(lock()?) };
    if from.kind == Stands::Directory && new.is_within(old) {
        return Err(OwnError::IntoItself { from: old.clone(), to: new }.into());
    }
    admit(root, &new, Some(old))?;
    belongs::moved(vault, (old, &new), from.kind == Stands::Directory)?;
    let (source, target) = (files::place(root, old)?, files::place(root, &new)?);
    if source.symlink_metadata().is_err() {
        return Err(OwnError::Gone(old.clone()).into());
    }
    // On a system that ignores case, the new name of the same file is there already: that is no obstacle.
    if target.symlink_metadata().is_ok() && !files::is_same(&source, &target) {
        return Err(FileError::Exists(new).into());
    }
    let moves = Moves { whole: Some((old.clone(), new.clone())), ..Moves::default() };
    let plan = if options.keep_links {
        heal::Plan::default()
    } else {
        sync::reindex(vault, false, progress)?;
        heal::of_move(vault, &sync::open_still(vault)?, &moves, progress)?
    };
    let directory = from.kind == Stands::Directory;
    let moved =
        |links| Moved { from: old.clone(), to: new.clone(), directory, dry_run: options.dry_run, links };
    if options.dry_run {
        return Ok(moved(heal::preview(plan)));
    }
    let now = |path: &VaultPath| moves.after(path);
    let effect = Effect::Moved { from: old.clone(), to: new.clone() };
    undo::note(vault, &format!("move {old} to {new}"), vec![effect])?;
    if let Err(fault) = place_anew(from.kind, (old, &source), (&new, &target)) {
        undo::forget(vault);
        return Err(fault);
    }
    Ok(moved(heal::write(vault, plan, &now)?))
}

/// What renaming a heading or block did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PartRenamed {
    /// The file.
    pub path: VaultPath,
    /// What the heading or block (`^id`) was called.
    pub old: String,
    /// What it is called.
    pub new: String,
    /// Whether nothing was done, only shown.
    pub dry_run: bool,
    /// The links that follow it.
    pub links: Healing,
}

/// Gives a heading other words, or a block another id, and the links to it the new name. `new` is what stands behind
/// the `#`.
///
/// # Errors
/// When there is no such part, another one has the name, or the file cannot be written; nothing has changed then.
pub fn rename_part(
    vault: &Vault<'_>,
    of: &Uri,
    new: &str,
    options: MoveOptions,
    progress: &dyn Progress,
) -> Result<PartRenamed, Fault> {
    let no_part = || OwnError::NoPart(of.path.clone());
    let old = of.fragment.clone().ok_or_else(no_part)?;
    let is_block = matches!(old, Fragment::Block(_));
    let new = match (new.strip_prefix('^'), is_block) {
        (Some(id), true) => id.trim().to_owned(),
        (None, false) => new.trim().to_owned(),
        _ => return Err(no_part().into()),
    };
    if new.is_empty() {
        return Err(no_part().into());
    }
    let part = Part { path: of.path.clone(), old, new };
    let mut plan = heal::of_part(vault, &part, options.keep_links, progress)?;
    let mark = if is_block { "^" } else { "" };
    let (old, new) = (part.old.to_string(), format!("{mark}{}", part.new));
    let done = |links| {
        let (path, dry_run) = (part.path.clone(), options.dry_run);
        PartRenamed { path, old: old.clone(), new: new.clone(), dry_run, links }
    };
    if options.dry_run {
        return Ok(done(heal::preview(plan)));
    }
    // Without the name itself no link may follow it.
    let own = plan.rewrites.remove(0);
    let job = files::Replacement { path: &own.path, old: &own.old, new: &own.new };
    let effect = Effect::file(&own.path, Some(&own.old), Some(&own.new));
    undo::note(vault, &format!("rename #{old} of {} to #{new}", own.path), effect.into_iter().collect())?;
    let written = files::replace_all(vault.root()?, &[job]).into_iter().next();
    if written.transpose()? != Some(true) {
        undo::forget(vault);
        return Err(OwnError::Changed(part.path.clone()).into());
    }
    let mut links = heal::write(vault, plan, &VaultPath::clone)?;
    links.files += u64::from(!own.links.is_empty());
    links.healed.splice(0..0, own.links);
    Ok(done(links))
}

/// Gives a file or directory its new name.
pub(super) fn place_anew(
    kind: Stands,
    (old, source): (&VaultPath, &Path),
    (new, target): (&VaultPath, &Path),
) -> Result<(), Fault> {
    let io = |why: std::io::Error| match why.kind() {
        std::io::ErrorKind::NotFound if source.symlink_metadata().is_err() => OwnError::Gone(old.clone()),
        _ => OwnError::Io { doing: "moving", path: old.clone(), why },
    };
    let made = Made::above(target).map_err(io)?;
    if kind == Stands::File && files::are_two_names(source, target) {
        // A rename of one name of a file to another one of it does nothing.
        std::fs::remove_file(source).map_err(io)?;
    } else if kind == Stands::File && !files::is_same(source, target) {
        // A second name first: unlike a rename it never replaces what appeared there a moment ago.
        match std::fs::hard_link(source, target) {
            Ok(()) => match std::fs::remove_file(source) {
                // Somebody took the old name away, as was about to be done.
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
                Err(why) => {
                    // It keeps the old name, so the new one goes again.
                    let _ = std::fs::remove_file(target);
                    return Err(io(why).into());
                }
                Ok(()) => {}
            },
            Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(FileError::Exists(new.clone()).into());
            }
            Err(_) => std::fs::rename(source, target).map_err(io)?,
        }
    } else {
        std::fs::rename(source, target).map_err(io)?;
    }
    made.stay();
    Ok(())
}

/// Directories that were made for something to stand in. Dropped, they go again if nothing does.
struct Made(Vec<PathBuf>);

impl Made {
    fn above(target: &Path) -> std::io::Result<Made> {
        let missing = target.ancestors().skip(1).take_while(|above| above.symlink_metadata().is_err());
        let made = Made(missing.map(Path::to_owned).collect());
        target.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        Ok(made)
    }

    fn stay(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for directory in &self.0 {
            // One that is not empty is somebody else's by now.
            let _ = std::fs::remove_dir(directory);
        }
    }
}
