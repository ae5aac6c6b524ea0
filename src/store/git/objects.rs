//! Objects: read raw, written whole.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::rc::Rc;

use git2::ObjectType;

use super::{GitError, Repo, from_git, other, to_git};
use crate::model::change::{Change, ChangeSet, DiffRecord, Entry, mode};
use crate::model::commit::Commit;
use crate::model::id::Oid;

/// The longest path that is followed into a tree, in bytes: Linux's PATH_MAX. A tree nested deeper can be on no
/// disk, and following it would only serve to exhaust the stack.
const MAX_PATH: usize = 4096;

impl Repo {
    fn too_deep(&self, tree: Oid) -> GitError {
        let why = format!("a path below it is longer than {MAX_PATH} bytes");
        GitError::Object { path: self.git_dir().to_owned(), oid: tree, why }
    }

    fn raw(&self, oid: Oid, kind: ObjectType) -> Result<Vec<u8>, GitError> {
        let fail = |why: String| GitError::Object { path: self.git_dir().to_owned(), oid, why };
        let odb = self.inner.odb().map_err(other("opening git's object store"))?;
        let object = odb.read(to_git(oid)).map_err(|e| fail(e.message().to_owned()))?;
        if object.kind() != kind {
            return Err(fail(format!("it is a {}, not a {kind}", object.kind())));
        }
        // libgit2 checks the hash of what it reads (GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, on by default).
        Ok(object.data().to_vec())
    }

    /// A commit in strict form.
    ///
    /// # Errors
    /// When it is missing, damaged or not of the strict form.
    pub fn commit(&self, oid: Oid) -> Result<Rc<Commit>, GitError> {
        if let Some(commit) = self.commits.borrow().get(&oid) {
            return Ok(Rc::clone(commit));
        }
        let raw = self.raw(oid, ObjectType::Commit)?;
        let commit = Commit::parse(&raw).map_err(|e| GitError::Object {
            path: self.git_dir().to_owned(),
            oid,
            why: e.to_string(),
        })?;
        let commit = Rc::new(commit);
        self.commits.borrow_mut().insert(oid, Rc::clone(&commit));
        Ok(commit)
    }

    /// The parents of any commit, also one that is not of the strict form (somebody's old history).
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub fn parents(&self, oid: Oid) -> Result<Vec<Oid>, GitError> {
        if let Some(commit) = self.commits.borrow().get(&oid) {
            return Ok(commit.parents.clone());
        }
        let raw = self.raw(oid, ObjectType::Commit)?;
        let head = raw.split(|b| *b == b'\n').take_while(|line| !line.is_empty());
        let parents = head.filter_map(|line| line.strip_prefix(b"parent "));
        Ok(parents.filter_map(|hex| std::str::from_utf8(hex).ok()?.parse().ok()).collect())
    }

    /// The tree of any commit, also one that is not of the strict form.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid, GitError> {
        let raw = self.raw(commit, ObjectType::Commit)?;
        let line = raw.split(|b| *b == b'\n').next().and_then(|line| line.strip_prefix(b"tree "));
        let tree = line.and_then(|hex| std::str::from_utf8(hex).ok()?.parse().ok());
        tree.ok_or_else(|| GitError::Object {
            path: self.git_dir().to_owned(),
            oid: commit,
            why: "it has no tree".to_owned(),
        })
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub fn blob(&self, oid: Oid) -> Result<Vec<u8>, GitError> {
        self.raw(oid, ObjectType::Blob)
    }

    /// The size of a blob in bytes, without reading it.
    ///
    /// # Errors
    /// When it is missing.
    pub fn blob_size(&self, oid: Oid) -> Result<u64, GitError> {
        let odb = self.inner.odb().map_err(other("opening git's object store"))?;
        let (size, _) = odb.read_header(to_git(oid)).map_err(other(format!("reading object {oid}")))?;
        Ok(size as u64)
    }

    /// The name that some bytes have as a blob, without writing them.
    #[must_use]
    pub fn hash_blob(bytes: &[u8]) -> Oid {
        git2::Oid::hash_object(ObjectType::Blob, bytes).map_or(Oid::ZERO, from_git)
    }

    /// The entries of a tree in the order in which they are stored.
    ///
    /// # Errors
    /// When it is missing, damaged, unsorted or names something twice.
    pub fn tree(&self, oid: Oid) -> Result<Vec<(Vec<u8>, Entry)>, GitError> {
        let fail = |why: &str| GitError::Object { path: self.git_dir().to_owned(), oid, why: why.to_owned() };
        let raw = self.raw(oid, ObjectType::Tree)?;
        let mut entries: Vec<(Vec<u8>, Entry)> = Vec::new();
        let mut rest = raw.as_slice();
        while !rest.is_empty() {
            let space = rest.iter().position(|b| *b == b' ').ok_or_else(|| fail("a mode is cut off"))?;
            let digits = std::str::from_utf8(&rest[..space]).ok().filter(|d| !d.starts_with('0'));
            let mode = digits
                .and_then(|d| u32::from_str_radix(d, 8).ok())
                .ok_or_else(|| fail("a mode is malformed"))?;
            rest = &rest[space + 1..];
            let nul = rest.iter().position(|b| *b == 0).ok_or_else(|| fail("a name is cut off"))?;
            let name = rest[..nul].to_vec();
            let hash = rest.get(nul + 1..nul + 21).and_then(|h| h.try_into().ok());
            let hash: [u8; 20] = hash.ok_or_else(|| fail("an object name is cut off"))?;
            rest = &rest[nul + 21..];
            if name.is_empty() || name.contains(&b'/') || matches!(name.as_slice(), b"." | b"..") {
                return Err(fail("a name is malformed"));
            }
            let entry = Entry { mode, oid: Oid(hash) };
            if let Some((before, at)) = entries.last()
                && sort_key(before, *at) >= sort_key(&name, entry)
            {
                return Err(fail("its entries are not sorted"));
            }
            entries.push((name, entry));
        }
        let mut names = HashSet::with_capacity(entries.len());
        let twice = !entries.iter().all(|(name, _)| names.insert(name.as_slice()));
        if twice { Err(fail("it names something twice")) } else { Ok(entries) }
    }

    /// Every entry below a tree that is no tree itself, with its full path, in order.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn files(&self, tree: Oid) -> Result<Vec<(Vec<u8>, Entry)>, GitError> {
        let mut out = Vec::new();
        self.files_below(tree, &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    fn files_below(
        &self,
        tree: Oid,
        prefix: &mut Vec<u8>,
        out: &mut Vec<(Vec<u8>, Entry)>,
    ) -> Result<(), GitError> {
        for (name, entry) in self.tree(tree)? {
            let length = prefix.len();
            prefix.extend_from_slice(&name);
            if prefix.len() > MAX_PATH {
                return Err(self.too_deep(tree));
            }
            if entry.mode == mode::TREE {
                prefix.push(b'/');
                self.files_below(entry.oid, prefix, out)?;
            } else {
                out.push((prefix.clone(), entry));
            }
            prefix.truncate(length);
        }
        Ok(())
    }

    /// What differs between two trees, sorted by path, without rename detection, a change of type as one record.
    /// `None` stands for the empty tree.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn diff(&self, old: Option<Oid>, new: Option<Oid>) -> Result<Vec<DiffRecord>, GitError> {
        Ok(self.diff_within(old, new, usize::MAX)?.unwrap_or_default())
    }

    /// As [`Repo::diff`], but `None` when more than `most` entries differ, directories counted too: a tree can name
    /// the same subtree over and over and so unfold into more than any machine holds.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn diff_within(
        &self,
        old: Option<Oid>,
        new: Option<Oid>,
        most: usize,
    ) -> Result<Option<Vec<DiffRecord>>, GitError> {
        let mut out = Vec::new();
        let mut left = most;
        if !self.diff_below(old, new, &mut Vec::new(), &mut out, &mut left)? {
            return Ok(None);
        }
        out.sort();
        Ok(Some(out))
    }

    fn diff_below(
        &self,
        old: Option<Oid>,
        new: Option<Oid>,
        prefix: &mut Vec<u8>,
        out: &mut Vec<DiffRecord>,
        left: &mut usize,
    ) -> Result<bool, GitError> {
        if old == new {
            return Ok(true);
        }
        let entries = |tree: Option<Oid>| tree.map_or(Ok(Vec::new()), |oid| self.tree(oid));
        let mut names: BTreeMap<Vec<u8>, (Option<Entry>, Option<Entry>)> = BTreeMap::new();
        for (name, entry) in entries(old)? {
            names.entry(name).or_default().0 = Some(entry);
        }
        for (name, entry) in entries(new)? {
            names.entry(name).or_default().1 = Some(entry);
        }
        for (name, (before, after)) in names {
            if before == after {
                continue;
            }
            match left.checked_sub(1) {
                Some(less) => *left = less,
                None => return Ok(false),
            }
            let length = prefix.len();
            prefix.extend_from_slice(&name);
            if prefix.len() > MAX_PATH {
                return Err(self.too_deep(new.or(old).unwrap_or(Oid::ZERO)));
            }
            let (old_tree, old_file) = split(before);
            let (new_tree, new_file) = split(after);
            if old_file.is_some() || new_file.is_some() {
                let of = |entry: Option<Entry>| entry.map_or((mode::NONE, Oid::ZERO), |e| (e.mode, e.oid));
                let ((old_mode, old_oid), (new_mode, new_oid)) = (of(old_file), of(new_file));
                out.push(DiffRecord { path: prefix.clone(), old_mode, new_mode, old_oid, new_oid });
            }
            if old_tree.is_some() || new_tree.is_some() {
                prefix.push(b'/');
                if !self.diff_below(old_tree, new_tree, prefix, out, left)? {
                    return Ok(false);
                }
            }
            prefix.truncate(length);
        }
        Ok(true)
    }

    /// Whether `ancestor` is `of` or can be reached from it. Nearest commits are looked at first.
    ///
    /// # Errors
    /// When a commit is missing or damaged.
    pub fn is_ancestor(&self, ancestor: Oid, of: Oid) -> Result<bool, GitError> {
        let mut seen = HashSet::from([of]);
        let mut queue = VecDeque::from([of]);
        while let Some(oid) = queue.pop_front() {
            if oid == ancestor {
                return Ok(true);
            }
            for parent in self.parents(oid)? {
                if seen.insert(parent) {
                    queue.push_back(parent);
                }
            }
        }
        Ok(false)
    }

    /// The best common ancestor of two commits, if their histories meet.
    ///
    /// # Errors
    /// When a commit is missing or damaged.
    pub fn merge_base(&self, a: Oid, b: Oid) -> Result<Option<Oid>, GitError> {
        match self.inner.merge_base(to_git(a), to_git(b)) {
            Ok(base) => Ok(Some(from_git(base))),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(other("looking for a common ancestor")(error)),
        }
    }

    /// Stores bytes as a blob.
    ///
    /// # Errors
    /// When the object store cannot be written.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid, GitError> {
        self.inner.blob(bytes).map(from_git).map_err(other("writing a blob"))
    }

    /// Stores a tree: `base` with the changes applied. Directories that become empty vanish; a file in the way of
    /// a directory (or the reverse) is replaced only if the changes delete it.
    ///
    /// # Errors
    /// When the object store cannot be written, or two changes contradict each other.
    pub fn write_tree(&self, base: Option<Oid>, changes: &ChangeSet) -> Result<Oid, GitError> {
        let mut updates: Vec<(&str, Option<Entry>)> = Vec::with_capacity(changes.changes.len());
        for (path, change) in &changes.changes {
            let entry = match change {
                Change::Write(bytes) => Some(Entry { mode: mode::FILE, oid: self.write_blob(bytes)? }),
                Change::Put(entry) => Some(*entry),
                Change::Delete => None,
            };
            updates.push((path.as_str(), entry));
        }
        match self.write_subtree(base, &updates)? {
            Some(oid) => Ok(oid),
            None => self.store_tree(&[]),
        }
    }

    /// `updates` are sorted by path, and relative to the tree `base`. `None`: nothing is left of it.
    fn write_subtree(
        &self,
        base: Option<Oid>,
        updates: &[(&str, Option<Entry>)],
    ) -> Result<Option<Oid>, GitError> {
        let mut entries: BTreeMap<Vec<u8>, Entry> = match base {
            Some(oid) => self.tree(oid)?.into_iter().collect(),
            None => BTreeMap::new(),
        };
        let mut here: Vec<(&str, Option<Entry>)> = Vec::new();
        let mut below: BTreeMap<&str, Vec<(&str, Option<Entry>)>> = BTreeMap::new();
        for (path, entry) in updates {
            match path.split_once('/') {
                Some((first, rest)) => below.entry(first).or_default().push((rest, *entry)),
                None => here.push((path, *entry)),
            }
        }
        for (name, entry) in here {
            let before = entries.get(name.as_bytes()).copied();
            let directory = before.filter(|e| e.mode == mode::TREE).map(|e| e.oid);
            match (entry, directory) {
                (Some(entry), Some(old)) if entry.mode != mode::TREE => {
                    let gone = below.get(name).map_or(&[][..], Vec::as_slice);
                    if self.write_subtree(Some(old), gone)?.is_some() {
                        return Err(GitError::Other {
                            doing: "building a tree".to_owned(),
                            why: format!("`{name}` is a directory and would have to be a file"),
                        });
                    }
                    entries.insert(name.as_bytes().to_vec(), entry);
                }
                (Some(entry), _) => {
                    entries.insert(name.as_bytes().to_vec(), entry);
                }
                // A deletion of a file never takes a directory with it.
                (None, Some(_)) => {}
                (None, None) => {
                    entries.remove(name.as_bytes());
                }
            }
        }
        for (name, updates) in below {
            let before = entries.get(name.as_bytes()).copied();
            let old = before.filter(|e| e.mode == mode::TREE).map(|e| e.oid);
            if before.is_some() && old.is_none() {
                if updates.iter().all(|(_, entry)| entry.is_none()) {
                    continue;
                }
                return Err(GitError::BelowFile(name.to_owned()));
            }
            match self.write_subtree(old, &updates)? {
                Some(oid) => entries.insert(name.as_bytes().to_vec(), Entry { mode: mode::TREE, oid }),
                None => entries.remove(name.as_bytes()),
            };
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let entries: Vec<(Vec<u8>, Entry)> = entries.into_iter().collect();
        self.store_tree(&entries).map(Some)
    }

    fn store_tree(&self, entries: &[(Vec<u8>, Entry)]) -> Result<Oid, GitError> {
        let mut sorted: Vec<&(Vec<u8>, Entry)> = entries.iter().collect();
        sorted.sort_by_key(|(name, entry)| sort_key(name, *entry));
        let mut raw = Vec::new();
        for (name, entry) in sorted {
            raw.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
            raw.extend_from_slice(name);
            raw.push(0);
            raw.extend_from_slice(&entry.oid.0);
        }
        let odb = self.inner.odb().map_err(other("opening git's object store"))?;
        odb.write(ObjectType::Tree, &raw).map(from_git).map_err(other("writing a tree"))
    }

    /// Stores a commit. No reference moves.
    ///
    /// # Errors
    /// When the object store cannot be written.
    pub fn write_commit(&self, commit: &Commit) -> Result<Oid, GitError> {
        let odb = self.inner.odb().map_err(other("opening git's object store"))?;
        odb.write(ObjectType::Commit, &commit.to_bytes()).map(from_git).map_err(other("writing a commit"))
    }

    /// Whether an object is in the repository.
    #[must_use]
    pub fn has_object(&self, oid: Oid) -> bool {
        self.inner.odb().is_ok_and(|odb| odb.exists(to_git(oid)))
    }
}

/// Git sorts a tree's entries by name, a directory's as if it ended in `/`.
fn sort_key(name: &[u8], entry: Entry) -> Vec<u8> {
    let mut key = name.to_vec();
    if entry.mode == mode::TREE {
        key.push(b'/');
    }
    key
}

fn split(entry: Option<Entry>) -> (Option<Oid>, Option<Entry>) {
    match entry {
        Some(entry) if entry.mode == mode::TREE => (Some(entry.oid), None),
        entry => (None, entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::path::VaultPath;

    #[test]
    fn a_file_takes_a_directorys_place_only_when_all_in_it_goes() {
        let at = tempfile::tempdir().unwrap();
        let repo = Repo::init(at.path(), "main").unwrap();
        let path = |text: &str| VaultPath::parse(text).unwrap();
        let mut changes = ChangeSet::default();
        for name in ["a/one.md", "a/two.md", "b.md"] {
            changes.write(path(name), name.into());
        }
        let base = repo.write_tree(None, &changes).unwrap();
        let mut over = ChangeSet::default();
        over.write(path("a"), b"file".to_vec());
        over.delete(path("a/one.md"));
        let why = repo.write_tree(Some(base), &over).unwrap_err().to_string();
        assert!(why.contains("`a` is a directory"), "{why}");
        over.delete(path("a/two.md"));
        let tree = repo.write_tree(Some(base), &over).unwrap();
        assert_eq!(repo.file_at(tree, &path("a")).unwrap().as_deref(), Some(&b"file"[..]));
        // The other way round, and a deletion of a file takes no directory with it.
        let mut below = ChangeSet::default();
        below.write(path("b.md/x.md"), b"x".to_vec());
        assert!(repo.write_tree(Some(base), &below).is_err());
        below.delete(path("b.md"));
        below.delete(path("a"));
        let tree = repo.write_tree(Some(base), &below).unwrap();
        assert!(repo.file_at(tree, &path("b.md/x.md")).unwrap().is_some());
        assert!(repo.file_at(tree, &path("a/two.md")).unwrap().is_some());
    }
}
