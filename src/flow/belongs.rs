//! Whether a path is one of the vault's: what is put or moved elsewhere would leave the memory without a word.

use std::collections::HashSet;
use std::path::Path;

use super::commit::CommitError;
use super::sync::source::Taken;
use super::unread::Unread;
use super::vault::Vault;
use crate::model::change::mode;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::path::VaultPath;
use crate::store::git::Unseen;
use crate::store::walk::{WalkOptions, walk};

/// What would be no part of the memory.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` would be no part of the memory: {why}")]
pub(super) struct LeftOut {
    /// Where it would stand.
    path: VaultPath,
    /// Why it is left out there.
    why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Why {
    #[error("git keeps the name `{0}` for itself, on some systems at least, and no commit can hold it")]
    Reserved(String),
    #[error("{}", Unseen::TooDeep)]
    TooDeep,
    #[error("names that begin with a dot are left out")]
    Hidden,
    #[error("`ignore` in .runebook/config.yaml leaves it out")]
    Settings,
    #[error("git ignores it")]
    Ignored,
}

impl Explain for LeftOut {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        let mend = match self.why {
            Why::Reserved(_) => return Some("choose another name".to_owned()),
            Why::TooDeep => return Some("choose a place further up".to_owned()),
            Why::Settings => "or mend `ignore`",
            Why::Ignored => {
                return Some(format!(
                    "choose another place, or mend the rule that `git check-ignore -v --no-index '{}'` names; what shall leave the memory is moved with your system's tools",
                    self.path
                ));
            }
            Why::Hidden => "one without a dot",
        };
        Some(format!(
            "choose another place, {mend}; what shall leave the memory is moved with your system's tools"
        ))
    }
}

/// A place that is reached through a link to a directory of the vault, so that it looks other than it is.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` leads through `{link}`, which is a link to `{to}`")]
pub(super) struct Through {
    path: VaultPath,
    link: VaultPath,
    to: String,
    real: String,
}

impl Explain for Through {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(format!("say `{}`", self.real))
    }
}

/// That no directory on the way to a place is a link to another one of the vault: what is hidden, ignored or settings is
/// judged by the name. (A link that leads out of the vault is refused by `store::files`.)
///
/// # Errors
/// [`Through`].
pub(super) fn direct(root: &Path, path: &VaultPath) -> Result<(), Through> {
    let mut above: Vec<VaultPath> = path.ancestors().filter(|above| !above.is_root()).collect();
    above.reverse();
    for link in above {
        let at = root.join(link.as_str());
        if !at.is_symlink() {
            continue;
        }
        let (Ok(base), Ok(target)) = (root.canonicalize(), at.canonicalize()) else { return Ok(()) };
        let Ok(to) = target.strip_prefix(&base) else { return Ok(()) };
        let tail = &path.as_str()[link.as_str().len() + 1..];
        let real = to.join(tail).display().to_string();
        let to = if to.as_os_str().is_empty() { ".".to_owned() } else { to.display().to_string() };
        return Err(Through { path: path.clone(), link, to, real });
    }
    Ok(())
}

/// Why no commit, or none of ours, can hold a file of that path.
fn barred(path: &VaultPath) -> Option<Why> {
    match path.gits_own() {
        Some(name) => Some(Why::Reserved(name.to_owned())),
        None => Unseen::is_too_deep(path).then_some(Why::TooDeep),
    }
}

fn left_out(taken: &Taken, path: &VaultPath) -> Option<Why> {
    barred(path).or_else(|| match path {
        path if path.is_hidden() => Some(Why::Hidden),
        path => (!taken.takes(path, mode::FILE)).then_some(Why::Settings),
    })
}

/// That a commit can hold a new file, whatever it is.
///
/// # Errors
/// [`LeftOut`].
pub(super) fn storable(path: &VaultPath) -> Result<(), LeftOut> {
    match barred(path) {
        Some(why) => Err(LeftOut { path: path.clone(), why }),
        None => Ok(()),
    }
}

/// That a new memory of a tree is one of the vault's. What git ignores is no matter there: git has it then.
///
/// # Errors
/// [`LeftOut`].
pub(super) fn in_tree(vault: &Vault<'_>, path: &VaultPath) -> Result<(), LeftOut> {
    match left_out(&Taken::of(&vault.config), path) {
        Some(why) => Err(LeftOut { path: path.clone(), why }),
        None => Ok(()),
    }
}

/// That files of a tree which are of the vault still are under their new names.
///
/// # Errors
/// [`LeftOut`].
pub(super) fn moved_in_tree(vault: &Vault<'_>, moves: &[(VaultPath, VaultPath)]) -> Result<(), LeftOut> {
    let taken = Taken::of(&vault.config);
    for (old, new) in moves {
        if let (None, Some(why)) = (left_out(&taken, old), left_out(&taken, new)) {
            return Err(LeftOut { path: new.clone(), why });
        }
    }
    Ok(())
}

/// That a new memory among the files is one of the vault's.
///
/// # Errors
/// [`LeftOut`], or when git's rules cannot be read.
pub(super) fn in_files(vault: &Vault<'_>, path: &VaultPath) -> Result<(), Fault> {
    direct(vault.root()?, path)?;
    in_tree(vault, path)?;
    not_ignored(vault, std::slice::from_ref(path))
}

/// That what is of the vault at and below a path still is when it stands at and below another one.
///
/// # Errors
/// [`LeftOut`], or when git's rules cannot be read.
pub(super) fn moved(
    vault: &Vault<'_>,
    (old, new): (&VaultPath, &VaultPath),
    directory: bool,
) -> Result<(), Fault> {
    let root = vault.root()?;
    direct(root, old)?;
    direct(root, new)?;
    can_be_read(vault, old)?;
    // Also where it was no part of the memory before: a commit of everything would meet it.
    storable(new)?;
    let files = if !directory {
        vec![old.clone()]
    } else if old.is_hidden() {
        Vec::new()
    } else {
        let ignore = vault.config.ignore.clone();
        let cancel = vault.env.cancel.clone();
        let found = walk(root, &WalkOptions { below: old.clone(), ignore, cancel, ..WalkOptions::default() });
        vault.env.go_on()?;
        found.files.into_iter().map(|file| file.path).collect()
    };
    let taken = Taken::of(&vault.config);
    // What stands outside already may go wherever it likes.
    let outside: HashSet<VaultPath> = vault.repo.ignored(&files)?.into_iter().collect();
    let inside = files.iter().filter(|path| left_out(&taken, path).is_none() && !outside.contains(path));
    let mut after = Vec::with_capacity(files.len());
    for path in inside {
        after.push(match path.as_str().strip_prefix(old.as_str()).and_then(|tail| tail.strip_prefix('/')) {
            Some(tail) => new.join(tail)?,
            None => new.clone(),
        });
    }
    if let Some((path, why)) = after.iter().find_map(|path| Some((path, left_out(&taken, path)?))) {
        return Err(LeftOut { path: path.clone(), why }.into());
    }
    not_ignored(vault, &after)
}

/// That all of a file or directory can be read, but for what git ignores: what cannot would be gone for git under the old
/// name, and not be there under the new one.
fn can_be_read(vault: &Vault<'_>, old: &VaultPath) -> Result<(), Fault> {
    let root = vault.root()?;
    let mut shut = Vec::new();
    let entries = walkdir::WalkDir::new(root.join(old.as_str())).into_iter();
    for entry in entries.filter_entry(|entry| entry.file_name() != ".git") {
        vault.env.go_on()?;
        let at = match &entry {
            Ok(entry) if entry.file_type().is_file() => Some(entry.path()),
            Ok(_) => None,
            Err(error) => error.path(),
        };
        let path = at.and_then(|at| at.strip_prefix(root).ok());
        let path = path.and_then(|path| VaultPath::from_disk(path.as_os_str().as_encoded_bytes()));
        let Some(path) = path else { continue };
        let why = match &entry {
            Ok(_) => Unseen::of(root, &path),
            // What went meanwhile is no matter here: whoever moves it finds that out.
            Err(error) => error
                .io_error()
                .filter(|why| why.kind() != std::io::ErrorKind::NotFound)
                .map(|why| Unseen::Refused(why.to_string())),
        };
        shut.extend(why.map(|why| (path, why)));
    }
    let paths: Vec<VaultPath> = shut.iter().map(|(path, _)| path.clone()).collect();
    let ignored = vault.repo.ignored(&paths)?;
    match shut.into_iter().find(|(path, _)| !ignored.contains(path)) {
        Some((path, why)) => Err(CommitError::Unread(Unread::new(path, &why)).into()),
        None => Ok(()),
    }
}

fn not_ignored(vault: &Vault<'_>, paths: &[VaultPath]) -> Result<(), Fault> {
    match vault.repo.ignored(paths)?.into_iter().next() {
        Some(path) => Err(LeftOut { path, why: Why::Ignored }.into()),
        None => Ok(()),
    }
}
