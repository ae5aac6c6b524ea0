//! Reading the vault as somebody: the files for a person, main for an agent, both through an [`Access`].

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use super::acting::{self, ActingError};
use super::asof;
use super::sync;
use super::today::Today;
use super::vault::Vault;
use crate::catalog::Catalog;
use crate::markdown;
use crate::model::access::{Access, Reach, View};
use crate::model::actor::Sensitivity;
use crate::model::change::{ChangeSet, Entry, mode};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::Finding;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::files::{self, FileError};
use crate::store::git::{Head, Repo};
use crate::store::walk::{WalkOptions, walk};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// What stands below a directory.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The files with their sizes in bytes (absent where it costs something to know).
    pub files: Vec<(VaultPath, Option<u64>)>,
    /// The directories.
    pub directories: Vec<VaultPath>,
    /// What could not be listed.
    pub problems: Vec<Finding>,
}

enum State {
    Files(PathBuf),
    Tree(Oid),
}

/// A state of the vault, as one reader may see it.
pub struct Reader<'v, 'e> {
    /// The vault.
    pub vault: &'v Vault<'e>,
    /// Who reads, and what.
    pub access: Access,
    state: State,
    pub(super) reads: Reach,
    /// What main says today of an older state; none where that is nothing to this reader.
    today: Option<Today<'v, 'e>>,
    catalog: OnceCell<Option<Catalog>>,
}

/// Who reads, and what: an agent reads main, a person the files. `asked` is the flag `--as`.
///
/// # Errors
/// When an actor was named that is not known, or an agent asks for what was never approved.
pub fn access(vault: &Vault<'_>, asked: Option<&str>, rev: Option<&str>) -> Result<Access, Fault> {
    let named = asked.is_some() || vault.env.var("RUNEBOOK_ACTOR").is_some();
    let named = named || vault.repo.config("runebook.actor").is_some();
    let who =
        vault.main().and_then(|main| vault.governance(main)).and_then(|g| acting::acting(vault, &g, asked));
    let actor = match who {
        Ok(actor) => Some(actor),
        // A person of whom the vault does not know yet can read the files anyhow; so settings that are broken do
        // not keep a person from mending them.
        Err(error) if named || matches!(error.as_error().downcast_ref(), Some(ActingError::Revoked(_))) => {
            return Err(error);
        }
        Err(_) => None,
    };
    let mut access = Access { actor, view: View::Main };
    access.view = match rev {
        Some(rev) => asof::named(vault, &access, rev)?,
        None if access.is_agent() || vault.repo.work_dir().is_none() => View::Main,
        None => View::WorkTree,
    };
    Ok(access)
}

impl<'v, 'e> Reader<'v, 'e> {
    /// Opens the state that an access names.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn new(vault: &'v Vault<'e>, access: Access) -> Result<Reader<'v, 'e>, Fault> {
        let state = match asof::tree_of(vault, &access.view)? {
            Some(tree) => State::Tree(tree),
            None => State::Files(vault.root()?.to_owned()),
        };
        let today = Today::over(vault, &access)?;
        Ok(Reader { vault, reads: access.reads(), access, state, today, catalog: OnceCell::new() })
    }

    /// The reader that the command line asks for: see [`access`].
    ///
    /// # Errors
    /// As [`access`] and [`Reader::new`].
    pub fn open(
        vault: &'v Vault<'e>,
        asked: Option<&str>,
        rev: Option<&str>,
    ) -> Result<Reader<'v, 'e>, Fault> {
        Reader::new(vault, access(vault, asked, rev)?)
    }

    /// The root of the files, where files are read.
    #[must_use]
    pub fn files_root(&self) -> Option<&std::path::Path> {
        match &self.state {
            State::Files(root) => Some(root),
            State::Tree(_) => None,
        }
    }

    /// The tree that is read; for the files the one of the commit that is checked out (the empty one's name where
    /// nothing is committed yet).
    ///
    /// # Errors
    /// When git cannot be read.
    pub fn tree(&self) -> Result<Oid, Fault> {
        let head = match &self.state {
            State::Tree(tree) => return Ok(*tree),
            State::Files(_) => match self.vault.repo.head()? {
                Head::Branch(_, oid) => oid,
                Head::Detached(oid) => Some(oid),
            },
        };
        Ok(match head {
            Some(oid) => self.vault.repo.tree_of(oid)?,
            None => self.vault.repo.write_tree(None, &ChangeSet::default())?,
        })
    }

    /// What stands at a path, if the reader may see that it does.
    ///
    /// # Errors
    /// When a link on the way leaves the vault, or an object is damaged.
    pub fn stands(&self, path: &VaultPath) -> Result<Option<Stands>, Fault> {
        if is_git(path) {
            return Ok(None);
        }
        let found = match &self.state {
            State::Files(root) => {
                let at = files::place_to_read(root, path)?;
                let data = match at.metadata() {
                    Ok(data) => Some(data),
                    // What cannot be looked at may be there or not.
                    Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => {
                        return Err(FileError::Io { doing: "looking at", path: at, why }.into());
                    }
                    Err(_) => None,
                };
                data.and_then(|data| match (data.is_dir(), data.is_file()) {
                    (true, _) => Some(Stands::Directory),
                    (_, true) => Some(Stands::File),
                    _ => None,
                })
            }
            State::Tree(tree) => self.vault.repo.entry_at(*tree, path)?.and_then(stands),
        };
        Ok(match found {
            Some(Stands::File) if !self.reads.holds(path) => None,
            Some(Stands::File) if !self.sees_all() => self.read(path)?.map(|_| Stands::File),
            Some(Stands::Directory) if !self.shows(path)? => None,
            found => found,
        })
    }

    /// Whether anything below a directory may be read; a reader without `reads` sees all directories.
    fn may_enter(&self, directory: &VaultPath) -> bool {
        let Some(globs) = self.access.actor.as_ref().and_then(|actor| actor.reads.as_ref()) else {
            return true;
        };
        directory.is_root()
            || globs.iter().any(|glob| {
                // The fixed beginning of the glob and the directory must lie on one line.
                let fixed: Vec<&str> =
                    glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
                let ours: Vec<&str> = directory.as_str().split('/').collect();
                let shorter = fixed.len().min(ours.len());
                fixed[..shorter] == ours[..shorter]
            })
    }

    /// Whether the reader sees that a directory is there: to whoever may not see all, one that holds only what they may
    /// not see is as good as none.
    fn shows(&self, directory: &VaultPath) -> Result<bool, Fault> {
        if !self.may_enter(directory) {
            return Ok(false);
        }
        if directory.is_root() || !self.access.is_narrow() && self.today.is_none() {
            return Ok(true);
        }
        match &self.state {
            State::Files(_) => Ok(!self.list(directory, None, false)?.files.is_empty()),
            State::Tree(tree) => match self.vault.repo.entry_at(*tree, directory)? {
                Some(entry) if entry.mode == mode::TREE => self.tree_shows(entry.oid, directory),
                _ => Ok(false),
            },
        }
    }

    /// Whether the reader sees any file below a directory of a tree; looks no further than to the first.
    fn tree_shows(&self, tree: Oid, at: &VaultPath) -> Result<bool, Fault> {
        self.vault.env.go_on()?;
        let mut below = Vec::new();
        for (name, entry) in self.vault.repo.tree(tree)? {
            let full = [at.as_str().as_bytes(), b"/", &name].concat();
            let Some(path) = VaultPath::from_disk(&full).filter(|path| !path.name().starts_with('.')) else {
                continue;
            };
            match stands(entry) {
                Some(Stands::File) if self.reads.holds(&path) && self.is_cleared(&path, entry.oid)? => {
                    return Ok(true);
                }
                Some(Stands::Directory) if path.as_str().matches('/').count() < 200 => {
                    below.push((entry.oid, path));
                }
                _ => {}
            }
        }
        for (tree, path) in below.iter().filter(|(_, path)| self.may_enter(path)) {
            if self.tree_shows(*tree, path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The directories of a listing that the reader sees.
    fn shown(&self, listing: &Listing, depth: Option<usize>) -> Result<Vec<VaultPath>, Fault> {
        let directories = listing.directories.iter().filter(|path| self.may_enter(path));
        if !self.access.is_narrow() && self.today.is_none() {
            return Ok(directories.cloned().collect());
        }
        let holding: HashSet<VaultPath> =
            listing.files.iter().flat_map(|(path, _)| path.ancestors().collect::<Vec<_>>()).collect();
        let mut out = Vec::new();
        for path in directories {
            // What lies deeper than was listed is not known from the listing.
            if holding.contains(path) || (depth.is_some() && self.shows(path)?) {
                out.push(path.clone());
            }
        }
        Ok(out)
    }

    /// The bytes of a file. `None`: there is none, or the reader may not see it (the two look the same).
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &VaultPath) -> Result<Option<Vec<u8>>, Fault> {
        if is_git(path) || !self.reads.holds(path) {
            return Ok(None);
        }
        let bytes = match &self.state {
            State::Files(root) => match files::read(root, path) {
                Ok(bytes) => Some(bytes),
                Err(error) if error.kind() == Kind::Nothing => None,
                Err(error) => return Err(error.into()),
            },
            State::Tree(tree) => self.vault.repo.file_at(*tree, path)?,
        };
        let Some(bytes) = bytes.filter(|bytes| self.may_see(path, bytes)) else { return Ok(None) };
        Ok((!self.is_hidden_today(path, Repo::hash_blob(&bytes), &bytes)?).then_some(bytes))
    }

    /// Whether the reader is cleared for what the file's front matter says of its sensitivity.
    #[must_use]
    pub fn may_see(&self, path: &VaultPath, bytes: &[u8]) -> bool {
        if self.access.may_see(Sensitivity::Restricted) || !path.is_markdown() {
            return true;
        }
        let said = markdown::sensitivity(bytes, &self.vault.config);
        self.access.may_see(said.unwrap_or_default())
    }

    fn is_hidden_today(&self, path: &VaultPath, blob: Oid, bytes: &[u8]) -> Result<bool, Fault> {
        match &self.today {
            Some(today) => today.hides(path, blob, bytes),
            None => Ok(false),
        }
    }

    /// Whether the reader is cleared for everything that it may read.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        self.access.may_see(Sensitivity::Restricted) && self.today.is_none()
    }

    /// Whether what main says today hides something of the older state that is read.
    #[must_use]
    pub fn is_under_todays_rules(&self) -> bool {
        self.today.is_some()
    }

    /// Whether something may be told of a file of this state whose sensitivity is known. What cannot be read is not.
    #[must_use]
    pub fn may_show(&self, path: &VaultPath, blob: Oid, sensitivity: Sensitivity) -> bool {
        self.reads.holds(path)
            && self.access.may_see(sensitivity)
            && (self.today.is_none() || self.is_cleared(path, blob).unwrap_or(false))
    }

    /// The revision of an address that leads to this state again; none for main as it stands and for the files.
    #[must_use]
    pub fn rev(&self) -> Option<String> {
        asof::address(&self.access.view)
    }

    /// What stands below a directory, so many levels down; names that begin with a dot only when `hidden`.
    ///
    /// # Errors
    /// When an object is damaged.
    pub fn list(&self, below: &VaultPath, depth: Option<usize>, hidden: bool) -> Result<Listing, Fault> {
        let mut out = match &self.state {
            State::Files(root) => {
                let options = WalkOptions {
                    ignore: self.vault.config.ignore.clone(),
                    hidden,
                    below: below.clone(),
                    depth,
                    cancel: self.vault.env.cancel.clone(),
                    ..WalkOptions::default()
                };
                let found = walk(root, &options);
                self.vault.env.go_on()?;
                let mut files = Vec::with_capacity(found.files.len());
                for file in found.files.into_iter().filter(|file| self.reads.holds(&file.path)) {
                    if self.sees_all() || self.read(&file.path)?.is_some() {
                        files.push((file.path, Some(file.size)));
                    }
                }
                let may_read = |finding: &Finding| finding.path.as_ref().is_none_or(|p| self.reads.holds(p));
                let problems = found.problems.into_iter().filter(may_read).collect();
                Listing { files, directories: found.directories, problems }
            }
            State::Tree(tree) => {
                let (mut out, mut files) = (Listing::default(), Vec::new());
                if let Some(entry) = self.vault.repo.entry_at(*tree, below)?.filter(|e| e.mode == mode::TREE)
                {
                    let depth = depth.unwrap_or(usize::MAX);
                    self.list_tree(entry.oid, below, depth, hidden, &mut (&mut files, &mut out.directories))?;
                }
                for (path, oid) in files.into_iter().filter(|(path, _)| self.reads.holds(path)) {
                    if self.is_cleared(&path, oid)? {
                        out.files.push((path, None));
                    }
                }
                out.files.sort();
                out.directories.sort();
                out
            }
        };
        out.directories = self.shown(&out, depth)?;
        Ok(out)
    }

    /// As [`Reader::may_see`], for a blob: the catalog knows most of them without reading them.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_cleared(&self, path: &VaultPath, blob: Oid) -> Result<bool, Fault> {
        if let Some(today) = &self.today
            && !today.has(path, blob)?
        {
            let bytes = self.vault.repo.blob(blob)?;
            return Ok(self.may_see(path, &bytes) && !today.hides(path, blob, &bytes)?);
        }
        if self.access.may_see(Sensitivity::Restricted) || !path.is_markdown() {
            return Ok(true);
        }
        let catalog = self.catalog.get_or_init(|| sync::open(self.vault).ok());
        // A catalog that cannot be read knows nothing.
        let known = catalog.as_ref().and_then(|catalog| catalog.sensitivity_of(path, blob).ok().flatten());
        match known {
            Some(sensitivity) => Ok(self.access.may_see(sensitivity)),
            None => Ok(self.may_see(path, &self.vault.repo.blob(blob)?)),
        }
    }

    fn list_tree(
        &self,
        tree: Oid,
        at: &VaultPath,
        depth: usize,
        hidden: bool,
        out: &mut (&mut Vec<(VaultPath, Oid)>, &mut Vec<VaultPath>),
    ) -> Result<(), Fault> {
        self.vault.env.go_on()?;
        for (name, entry) in self.vault.repo.tree(tree)? {
            let full = if at.is_root() { name } else { [at.as_str().as_bytes(), b"/", &name].concat() };
            let Some(path) = VaultPath::from_disk(&full) else { continue };
            if path.as_str() == ".runebook" || (!hidden && path.name().starts_with('.')) {
                continue;
            }
            match stands(entry) {
                Some(Stands::File) => out.0.push((path, entry.oid)),
                Some(Stands::Directory) => {
                    out.1.push(path.clone());
                    if depth > 1 && path.as_str().matches('/').count() < 200 {
                        self.list_tree(entry.oid, &path, depth - 1, hidden, out)?;
                    }
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Every path that the reader can name, files and directories.
    ///
    /// # Errors
    /// As [`Reader::list`].
    pub fn all_paths(&self) -> Result<BTreeSet<VaultPath>, Fault> {
        let found = self.list(&VaultPath::root(), None, false)?;
        Ok(found.files.into_iter().map(|(path, _)| path).chain(found.directories).collect())
    }
}

fn stands(entry: Entry) -> Option<Stands> {
    match entry.mode {
        mode::TREE => Some(Stands::Directory),
        mode::FILE | mode::EXECUTABLE => Some(Stands::File),
        _ => None,
    }
}

/// Git's own directory is no part of the vault, however it is written.
#[must_use]
pub fn is_git(path: &VaultPath) -> bool {
    path.as_str().split('/').next().is_some_and(|first| first.eq_ignore_ascii_case(".git"))
}
