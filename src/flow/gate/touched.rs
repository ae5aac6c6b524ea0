//! Looking up many paths in a tree at once, each directory read once.

use std::collections::BTreeMap;

use crate::model::change::{Entry, mode};
use crate::model::id::Oid;
use crate::store::git::{GitError, Repo};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// Nothing.
    Nothing,
    /// An entry: a file, a link, a directory.
    Entry(Entry),
    /// A file stands where a directory would have to be: its path.
    Below(Vec<u8>),
}

/// Looks up paths below a tree.
///
/// # Errors
/// When a tree is missing or damaged.
pub fn look_up<'p>(
    repo: &Repo,
    tree: Oid,
    paths: impl IntoIterator<Item = &'p [u8]>,
) -> Result<BTreeMap<&'p [u8], At>, GitError> {
    let mut out = BTreeMap::new();
    let mut work = vec![(tree, 0usize, paths.into_iter().collect::<Vec<_>>())];
    while let Some((tree, start, paths)) = work.pop() {
        let entries: std::collections::HashMap<Vec<u8>, Entry> = repo.tree(tree)?.into_iter().collect();
        let mut deeper: BTreeMap<&[u8], Vec<&'p [u8]>> = BTreeMap::new();
        for path in paths {
            let rest = &path[start..];
            let end = rest.iter().position(|b| *b == b'/');
            let name = &rest[..end.unwrap_or(rest.len())];
            match (entries.get(name), end) {
                (None, _) => {
                    out.insert(path, At::Nothing);
                }
                (Some(entry), None) => {
                    out.insert(path, At::Entry(*entry));
                }
                (Some(entry), Some(_)) if entry.mode == mode::TREE => {
                    deeper.entry(name).or_default().push(path);
                }
                (Some(_), Some(end)) => {
                    out.insert(path, At::Below(path[..start + end].to_vec()));
                }
            }
        }
        for (name, paths) in deeper {
            if let Some(entry) = entries.get(name) {
                work.push((entry.oid, start + name.len() + 1, paths));
            }
        }
    }
    Ok(out)
}
