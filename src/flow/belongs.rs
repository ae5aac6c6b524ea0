//! Whether a path is one of the vault's: what is put or moved elsewhere would leave the memory without a word.

use std::collections::HashSet;

use super::sync::source::Taken;
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

fn not_ignored(vault: &Vault<'_>, paths: &[VaultPath]) -> Result<(), Fault> {
    match vault.repo.ignored(paths)?.into_iter().next() {
        Some(path) => Err(LeftOut { path, why: Why::Ignored }.into()),
        None => Ok(()),
    }
}
