//! The work tree as the file system describes it, against what was read of it last.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::scan::{self, Work};
use super::source::Taken;
use crate::catalog::{Catalog, Known, StatRow, TreeId};
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::selection::Selection;
use crate::store::walk::{FileStat, Walk};

/// What a comparison looks at.
pub(super) struct Compare<'a> {
    pub(super) root: &'a Path,
    pub(super) walked: &'a Walk,
    /// The part of the vault that was walked; none for all.
    pub(super) only: Option<&'a Selection>,
    pub(super) known: &'a Known,
    /// The work tree's number, where it was taken in before.
    pub(super) tree: Option<TreeId>,
    /// What main has now at the paths where it differs from the index.
    pub(super) in_main: &'a HashMap<&'a VaultPath, Option<Oid>>,
    pub(super) taken: &'a Taken,
    pub(super) catalog: &'a Catalog,
}

fn parts(path: &VaultPath) -> (&str, &str) {
    path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()))
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

impl Compare<'_> {
    /// Compares. Where nothing could be read, what was known stays.
    pub(super) fn work(&self) -> Result<Work, Fault> {
        let mut work = Work::default();
        let mut dirs: HashMap<&str, Vec<&FileStat>> = HashMap::new();
        for file in &self.walked.files {
            dirs.entry(parts(&file.path).0).or_default().push(file);
        }
        for dir in self.known.dirs() {
            dirs.entry(dir).or_default();
        }
        let extra = self.beyond_the_walk(&dirs, &mut work)?;
        for file in &extra {
            dirs.entry(parts(&file.path).0).or_default().push(file);
        }
        let again = self.moved_under()?;
        for (dir, mut files) in dirs {
            files.sort_by(|a, b| a.path.cmp(&b.path));
            if self.directory(dir, &files, &again, &mut work.changed) {
                work.dirs.insert(dir.to_owned(), self.listing(dir, &files));
            }
        }
        work.changed.sort_by(|a, b| a.path.cmp(&b.path));
        self.missed(&mut work)?;
        Ok(work)
    }

    fn main_has(&self, path: &VaultPath) -> Result<bool, Fault> {
        Ok(match self.in_main.get(path) {
            Some(oid) => oid.is_some(),
            None => self.catalog.main_oid(path)?.is_some(),
        })
    }

    fn walked_has(&self, path: &VaultPath) -> bool {
        self.walked.files.binary_search_by(|file| file.path.cmp(path)).is_ok()
    }

    /// Whether nothing was learned of a path, so that what was known of it stays.
    fn keeps(&self, path: &str) -> bool {
        self.only.is_some_and(|only| !only.holds(path)) || self.is_unread(path)
    }

    fn is_unread(&self, path: &str) -> bool {
        self.walked.unread.iter().any(|(at, _)| {
            path.strip_prefix(at.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The files that the walk left out though main has them (`.gitignore` names them, and git tracks them anyway).
    /// What is there no longer goes into `work.gone`.
    fn beyond_the_walk(
        &self,
        dirs: &HashMap<&str, Vec<&FileStat>>,
        work: &mut Work,
    ) -> Result<Vec<FileStat>, Fault> {
        let mut lost: BTreeSet<VaultPath> = self.lost(dirs).into_iter().collect();
        let mut asked: Vec<VaultPath> = Vec::new();
        if let Some(tree) = self.tree {
            lost.extend(self.catalog.pending(tree)?.into_iter().map(|(path, _)| path));
            asked.extend(self.catalog.absent_paths(tree)?);
        }
        lost.retain(|path| !self.walked_has(path) && !self.keeps(path.as_str()));
        asked.extend(self.in_main.iter().filter(|(_, oid)| oid.is_some()).map(|(path, _)| (*path).clone()));
        asked.retain(|path| !self.walked_has(path) && !self.keeps(path.as_str()) && !lost.contains(path));
        let mut extra = Vec::new();
        for (path, was_there) in
            lost.iter().map(|path| (path, true)).chain(asked.iter().map(|path| (path, false)))
        {
            let there = scan::stat(self.root, path).filter(|_| self.taken.takes_path(path));
            match there {
                Some(file) if self.main_has(path)? => extra.push(file),
                _ if was_there => work.gone.push(path.clone()),
                _ => {}
            }
        }
        extra.sort_by(|a, b| a.path.cmp(&b.path));
        extra.dedup_by(|a, b| a.path == b.path);
        Ok(extra)
    }

    /// The files that were read once and that the walk did not find.
    fn lost(&self, dirs: &HashMap<&str, Vec<&FileStat>>) -> Vec<VaultPath> {
        let mut lost = Vec::new();
        for dir in self.known.dirs() {
            let mut here = dirs.get(dir).map_or(&[][..], Vec::as_slice).iter().peekable();
            for (name, _) in self.known.files(dir) {
                while here.next_if(|file| parts(&file.path).1 < name).is_some() {}
                if here.next_if(|file| parts(&file.path).1 == name).is_none() {
                    lost.extend(VaultPath::from_disk(join(dir, name).as_bytes()));
                }
            }
        }
        lost
    }

    /// The paths at which main moved and the work tree has something else: whether a file is main's depends on main,
    /// where the two differ in the ends of lines only.
    fn moved_under(&self) -> Result<HashSet<VaultPath>, Fault> {
        let mut again = HashSet::new();
        let Some(tree) = self.tree else { return Ok(again) };
        for (path, oid) in self.in_main {
            let seen = self.catalog.tree_oid(tree, path)?;
            if seen.is_some() && seen != *oid {
                again.insert((*path).clone());
            }
        }
        Ok(again)
    }

    /// Whether a directory differs from what is known of it. The files to read are added to `changed`.
    fn directory(
        &self,
        dir: &str,
        files: &[&FileStat],
        again: &HashSet<VaultPath>,
        changed: &mut Vec<FileStat>,
    ) -> bool {
        let mut differs = false;
        let mut before = self.known.files(dir).peekable();
        for file in files {
            let name = parts(&file.path).1;
            while let Some((old, _)) = before.next_if(|(old, _)| *old < name) {
                differs |= !self.keeps(&join(dir, old));
            }
            let same =
                before.next_if(|(old, _)| *old == name).is_some_and(|(_, row)| row == scan::row_of(file));
            if !same {
                differs = true;
            }
            if !same || (!again.is_empty() && again.contains(&file.path)) {
                changed.push((*file).clone());
            }
        }
        before.fold(differs, |differs, (old, _)| differs || !self.keeps(&join(dir, old)))
    }

    /// All files of a directory as they are now, as far as that is known.
    fn listing(&self, dir: &str, files: &[&FileStat]) -> Vec<FileStat> {
        let found: HashSet<&str> = files.iter().map(|file| parts(&file.path).1).collect();
        let kept = self.known.files(dir).filter_map(|(name, row)| {
            let path = join(dir, name);
            let kept = !found.contains(name) && self.keeps(&path);
            VaultPath::from_disk(path.as_bytes()).filter(|_| kept).map(|path| stat_of(path, row))
        });
        let mut all: Vec<FileStat> = kept.chain(files.iter().map(|file| (*file).clone())).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// Puts down what could not be read, and whether that is news.
    fn missed(&self, work: &mut Work) -> Result<(), Fault> {
        work.unread.clone_from(&self.walked.unread);
        if let Some(tree) = self.tree.filter(|_| !work.unread.is_empty()) {
            let pending = self.catalog.pending(tree)?;
            work.news = work.unread.iter().any(|unread| !pending.contains(unread));
        }
        Ok(())
    }
}

fn stat_of(path: VaultPath, row: StatRow) -> FileStat {
    let StatRow { size, mtime_ns, ctime_ns, inode } = row;
    FileStat { path, size, mtime_ns, ctime_ns, inode }
}
