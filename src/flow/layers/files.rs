//! Layers as files: what a tree's layer files must be, written into it and compared with it.

use std::collections::BTreeSet;
use std::path::Path;

use super::generator::{Generator, Rules};
use crate::flow::remove;
use crate::flow::vault::{CONFIG, Vault};
use crate::layers::{ABSTRACT_FILE, OVERVIEW_FILE, Stamped, stamp, stamped};
use crate::model::change::{Change, ChangeSet, DiffRecord, Entry, mode};
use crate::model::config::LayerFiles;
use crate::model::fault::{Explain as _, Fault, Kind};
use crate::model::foreign;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::git::{GitError, Repo};

/// The directories whose layers a change of some paths may change: those that hold them, and all above. When the
/// settings change it is every directory of the tree.
///
/// # Errors
/// When an object is missing or damaged.
pub fn touched<'p>(
    repo: &Repo,
    tree: Oid,
    paths: impl IntoIterator<Item = &'p VaultPath>,
) -> Result<BTreeSet<VaultPath>, Fault> {
    let mut out = BTreeSet::new();
    let mut all = false;
    for path in paths {
        all |= path.as_str() == CONFIG || foreign::FILES.contains(&path.as_str());
        out.extend(path.ancestors().filter(|directory| !directory.is_hidden()));
    }
    if all {
        directories(repo, tree, &VaultPath::root(), &mut out)?;
    }
    Ok(out)
}

/// Every directory of a tree that may have layers.
///
/// # Errors
/// When an object is missing or damaged.
pub fn every_directory(repo: &Repo, tree: Oid) -> Result<BTreeSet<VaultPath>, Fault> {
    let mut out = BTreeSet::new();
    directories(repo, tree, &VaultPath::root(), &mut out)?;
    Ok(out)
}

/// Every directory at and below one that may have layers.
fn directories(
    repo: &Repo,
    tree: Oid,
    at: &VaultPath,
    out: &mut BTreeSet<VaultPath>,
) -> Result<(), GitError> {
    out.insert(at.clone());
    if at.as_str().matches('/').count() > 200 || out.len() > 1_000_000 {
        return Ok(());
    }
    for (name, entry) in repo.tree(tree)? {
        let full = if at.is_root() { name } else { [at.as_str().as_bytes(), b"/", &name].concat() };
        let path = VaultPath::from_disk(&full).filter(|path| !path.is_hidden() && entry.mode == mode::TREE);
        if let Some(path) = path {
            directories(repo, entry.oid, &path, out)?;
        }
    }
    Ok(())
}

/// How a layer's file stands against what its tree generates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is what the tree generates (or rightly absent).
    Right,
    /// Somebody's own file: nobody but its owner has a say.
    Own,
    /// A generator of another version made it: this program cannot tell.
    OtherVersion,
    /// It is something else than what the tree generates: absent, outdated, or made of another tree. What it should be;
    /// `None`: absent.
    Wrong(Option<Vec<u8>>),
}

/// How the layer files of some directories of a tree stand.
///
/// # Errors
/// When an object is missing or damaged.
pub fn standing(
    generator: &Generator<'_>,
    repo: &Repo,
    tree: Oid,
    directories: &BTreeSet<VaultPath>,
) -> Result<Vec<(VaultPath, Standing)>, Fault> {
    let mut out = Vec::new();
    for directory in directories {
        let made = generator.layers(tree, directory)?;
        let texts = made.map(|made| [made.l0, made.l1]);
        for (name, at) in [(ABSTRACT_FILE, 0), (OVERVIEW_FILE, 1)] {
            let path = directory.join(name)?;
            let entry = repo.entry_at(tree, &path)?;
            let wanted = texts.as_ref().map(|texts| stamp(&texts[at]));
            out.push((path, one(repo, entry, wanted)?));
        }
    }
    Ok(out)
}

fn one(repo: &Repo, entry: Option<Entry>, wanted: Option<Vec<u8>>) -> Result<Standing, GitError> {
    let Some(entry) = entry else {
        return Ok(wanted.map_or(Standing::Right, |wanted| Standing::Wrong(Some(wanted))));
    };
    if entry.mode != mode::FILE {
        return Ok(Standing::Own);
    }
    if wanted.as_ref().is_some_and(|wanted| Repo::hash_blob(wanted) == entry.oid) {
        return Ok(Standing::Right);
    }
    Ok(match stamped(&repo.blob(entry.oid)?) {
        Stamped::Foreign => Standing::Own,
        Stamped::Other => Standing::OtherVersion,
        Stamped::Ours => Standing::Wrong(wanted),
    })
}

/// Whether the settings of a tree want layers as files; if so, the rules of making them.
///
/// # Errors
/// When an object is missing or damaged.
pub fn tracked(repo: &Repo, tree: Oid) -> Result<Option<Rules>, Fault> {
    let rules = Rules::of_tree(repo, tree)?;
    Ok((rules.config.layers.files == LayerFiles::Tracked).then_some(rules))
}

/// What must change in a tree for its layer files to be those that it generates, where some paths of it changed.
/// Files of people stay as they are; those of other versions are made anew. Nothing where the settings of the tree
/// want no files.
///
/// # Errors
/// When an object is missing or damaged.
pub fn regenerated<'p>(
    vault: &Vault<'_>,
    tree: Oid,
    paths: impl IntoIterator<Item = &'p VaultPath>,
) -> Result<ChangeSet, Fault> {
    match tracked(&vault.repo, tree)? {
        Some(rules) => remade(&vault.repo, &Generator::new(vault, rules), tree, paths),
        None => Ok(ChangeSet::default()),
    }
}

/// As [`regenerated`], by a generator.
///
/// # Errors
/// When an object is missing or damaged.
pub fn remade<'p>(
    repo: &Repo,
    generator: &Generator<'_>,
    tree: Oid,
    paths: impl IntoIterator<Item = &'p VaultPath>,
) -> Result<ChangeSet, Fault> {
    let mut changes = ChangeSet::default();
    for (path, standing) in standing(generator, repo, tree, &touched(repo, tree, paths)?)? {
        let wanted = match standing {
            Standing::Right | Standing::Own => continue,
            Standing::Wrong(wanted) => wanted,
            Standing::OtherVersion => file(generator, tree, &path)?,
        };
        // Beside what no commit can hold none is made; one that stands there goes away with it.
        if wanted.is_none() || path.gits_own().is_none() {
            changes.changes.insert(path, wanted.map_or(Change::Delete, Change::Write));
        }
    }
    Ok(changes)
}

/// The bytes that a tree generates for the layer file at a path; `None`: there is to be none.
///
/// # Errors
/// When an object is missing or damaged.
pub fn file(generator: &Generator<'_>, tree: Oid, path: &VaultPath) -> Result<Option<Vec<u8>>, Fault> {
    let made = generator.layers(tree, &path.parent())?;
    Ok(made.map(|made| stamp(if path.name() == ABSTRACT_FILE { &made.l0 } else { &made.l1 })))
}

/// What is wrong with the layer files that go with a commit's change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Layer files that the change writes or removes and that are not what the tree generates.
    pub wrong: Vec<VaultPath>,
    /// Layer files that the change left as they were although the tree generates others.
    pub behind: Vec<VaultPath>,
    /// Layer files of people that the change writes or removes.
    pub own: Vec<VaultPath>,
    /// Layer files of another version of the generator.
    pub unverifiable: Vec<VaultPath>,
}

/// Compares the layer files of what a change touches with generation, keeping what it makes for the next commit.
#[derive(Default)]
pub struct Verifier<'r> {
    /// The last generator with the settings that it follows.
    last: Option<(Option<Oid>, Option<Generator<'r>>)>,
}

impl<'r> Verifier<'r> {
    /// Compares those of the tree `tree`, to which the records led.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn verify(&mut self, repo: &'r Repo, tree: Oid, records: &[DiffRecord]) -> Result<Verified, Fault> {
        let mut out = Verified::default();
        let mut changed = BTreeSet::new();
        for record in records.iter().filter(|record| record.is_layer()) {
            let Some(path) = record.vault_path() else { continue };
            let foreign = |of: u32, oid: Oid| -> Result<bool, GitError> {
                Ok(of != mode::NONE && (of != mode::FILE || stamped(&repo.blob(oid)?) == Stamped::Foreign))
            };
            if foreign(record.new_mode, record.new_oid)? || foreign(record.old_mode, record.old_oid)? {
                out.own.push(path.clone());
            }
            changed.insert(path);
        }
        let Some(generator) = self.generator(repo, tree)? else {
            // Nobody generates here, so what has a generator's mark was written by hand.
            out.wrong = changed.into_iter().filter(|path| !out.own.contains(path)).collect();
            return Ok(out);
        };
        let paths: Vec<VaultPath> = records.iter().filter_map(DiffRecord::vault_path).collect();
        let directories = touched(repo, tree, &paths)?;
        for (path, standing) in standing(generator, repo, tree, &directories)? {
            match standing {
                Standing::Right | Standing::Own => {}
                Standing::OtherVersion => out.unverifiable.push(path),
                Standing::Wrong(_) if changed.contains(&path) => out.wrong.push(path),
                Standing::Wrong(_) => out.behind.push(path),
            }
        }
        Ok(out)
    }

    fn generator(&mut self, repo: &'r Repo, tree: Oid) -> Result<Option<&Generator<'r>>, Fault> {
        let settings = repo.entry_at(tree, &VaultPath::parse(CONFIG)?)?.map(|entry| entry.oid);
        if self.last.as_ref().is_none_or(|(of, _)| *of != settings) {
            let made = tracked(repo, tree)?.map(|rules| Generator::alone(repo, rules));
            self.last = Some((settings, made));
        }
        Ok(self.last.as_ref().and_then(|(_, generator)| generator.as_ref()))
    }
}

/// Whether nobody's own file stands at a layer's place in the work tree.
#[must_use]
pub fn is_free(root: &Path, path: &VaultPath) -> bool {
    match files::read(root, path) {
        Ok(bytes) => stamped(&bytes) != Stamped::Foreign,
        // What cannot be read may be anybody's.
        Err(error) => error.kind() == Kind::Nothing,
    }
}

/// Puts layer files in their places in the work tree.
///
/// # Errors
/// When one cannot be written.
pub fn place(root: &Path, changes: &ChangeSet) -> Result<(), Fault> {
    for (path, change) in &changes.changes {
        match change {
            Change::Write(bytes) => files::write(root, path, bytes)?,
            Change::Delete => {
                // It is written anew by the next commit should that fail.
                let _ = std::fs::remove_file(files::place(root, path)?);
                remove::remove_empty_parents(root, path);
            }
            Change::Put(_) => {}
        }
    }
    Ok(())
}
