//! Renames that were made outside and are not committed: what stands elsewhere than on the approved branch.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::{Catalog, DocRow, PathRow, Side};
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::link::{Names, name_key};
use crate::model::path::VaultPath;
use crate::store::files;

/// How a rename was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// Both have the same `id`.
    Id,
    /// Both have the same bytes.
    Content,
    /// They share most of their lines.
    Similar,
}

/// A rename that was made outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Renamed {
    /// Where it stands on the approved branch, or stood before.
    pub from: VaultPath,
    /// Where it stands among the files.
    pub to: VaultPath,
    /// How that is known.
    pub by: Sign,
    /// The commit that renamed it; none where it is not committed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
}

/// Below this share of common lines two files are two files; git's own limit is the same.
pub(super) const SIMILAR: f64 = 0.5;
/// The most files that are compared line by line.
const COMPARED: usize = 400;

/// The files that stand elsewhere than on the approved branch.
pub(super) fn renames(vault: &Vault<'_>, catalog: &Catalog, side: Side) -> Result<Vec<Renamed>, Fault> {
    let root = VaultPath::root();
    let (main, tree) = (catalog.paths_within(Side::Main, &root)?, catalog.paths_within(side, &root)?);
    let names =
        |rows: &[PathRow]| -> BTreeSet<VaultPath> { rows.iter().map(|row| row.path.clone()).collect() };
    let (in_main, in_tree) = (names(&main), names(&tree));
    let docs = |rows: Vec<PathRow>, side: Side, others: &BTreeSet<VaultPath>| -> Result<Vec<DocRow>, Fault> {
        let mut found = Vec::new();
        for row in rows.into_iter().filter(|row| !others.contains(&row.path)) {
            found.extend(catalog.doc_at(side, &row.path)?);
        }
        Ok(found)
    };
    let mut gone = docs(main, Side::Main, &in_tree)?;
    let mut new = docs(tree, side, &in_main)?;
    let mut out = Vec::new();
    let mut pair = |by: Sign, key: &dyn Fn(&DocRow) -> Option<String>| {
        let found = pairs(&gone, &new, key);
        let (from, to): (HashSet<&VaultPath>, HashSet<&VaultPath>) =
            found.iter().map(|(from, to)| (from, to)).unzip();
        gone.retain(|row| !from.contains(&row.path));
        new.retain(|row| !to.contains(&row.path));
        out.extend(found.into_iter().map(|(from, to)| Renamed { from, to, by, commit: None }));
    };
    pair(Sign::Id, &|row| row.uid.clone());
    // Of equal files those of one name belong together; then what is left alone.
    pair(Sign::Content, &|row| (row.size > 0).then(|| format!("{} {}", row.oid, name_key(row.path.name()))));
    pair(Sign::Content, &|row| (row.size > 0).then(|| row.oid.to_string()));
    if gone.len() <= COMPARED && new.len() <= COMPARED {
        out.extend(similar(vault, &gone, &new)?);
    }
    out.sort_by(|a, b| a.from.cmp(&b.from));
    Ok(out)
}

/// The directories that are gone and stand where most of their files stand now.
pub(super) fn directories(
    files: &BTreeMap<VaultPath, VaultPath>,
    names: &dyn Names,
) -> BTreeMap<VaultPath, VaultPath> {
    let mut votes: BTreeMap<VaultPath, BTreeMap<VaultPath, usize>> = BTreeMap::new();
    for (from, to) in files {
        let (mut old, mut new) = (from.parent(), to.parent());
        while !old.is_root() && !new.is_root() && old != new {
            *votes.entry(old.clone()).or_default().entry(new.clone()).or_default() += 1;
            // `a/x` → `b/x` says that `a` is `b`; `a/x` → `b/y` does not.
            if old.name() != new.name() {
                break;
            }
            (old, new) = (old.parent(), new.parent());
        }
    }
    let mut out = BTreeMap::new();
    for (old, places) in votes {
        let all: usize = places.values().sum();
        let most = places.into_iter().find(|(_, votes)| votes * 2 > all);
        if let Some((new, _)) = most.filter(|_| !names.has_directory(&old)) {
            out.insert(old, new);
        }
    }
    out
}

/// Those of which one on each side has a key.
fn pairs(
    gone: &[DocRow],
    new: &[DocRow],
    key: &dyn Fn(&DocRow) -> Option<String>,
) -> Vec<(VaultPath, VaultPath)> {
    let group = |rows: &[DocRow]| {
        let mut all: BTreeMap<String, Vec<VaultPath>> = BTreeMap::new();
        for row in rows {
            if let Some(key) = key(row) {
                all.entry(key).or_default().push(row.path.clone());
            }
        }
        all
    };
    let there = group(new);
    let alone = |(key, from): (String, Vec<VaultPath>)| match (from.as_slice(), there.get(&key)?.as_slice()) {
        ([from], [to]) => Some((from.clone(), to.clone())),
        _ => None,
    };
    group(gone).into_iter().filter_map(alone).collect()
}

/// The pairs that share most of their lines, where each is the other's best.
fn similar(vault: &Vault<'_>, gone: &[DocRow], new: &[DocRow]) -> Result<Vec<Renamed>, Fault> {
    let root = vault.root()?;
    let memories = |rows: &[DocRow]| -> Vec<DocRow> {
        rows.iter().filter(|row| row.path.is_markdown() && row.size > 0).cloned().collect()
    };
    let (gone, new) = (memories(gone), memories(new));
    let mut old_lines = Vec::new();
    for row in &gone {
        old_lines.push(lines(&vault.repo.blob(row.oid)?));
    }
    let new_lines: Vec<_> =
        new.iter().map(|row| lines(&files::read(root, &row.path).unwrap_or_default())).collect();
    let mut best: Vec<(f64, usize, usize)> = Vec::new();
    for (at, old) in old_lines.iter().enumerate() {
        for (other, new) in new_lines.iter().enumerate() {
            let share = share(old, new);
            if share >= SIMILAR {
                best.push((share, at, other));
            }
        }
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let (mut used, mut taken, mut out) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (_, at, other) in best {
        if !used.contains(&at) && !taken.contains(&other) {
            used.insert(at);
            taken.insert(other);
            out.push(Renamed {
                from: gone[at].path.clone(),
                to: new[other].path.clone(),
                by: Sign::Similar,
                commit: None,
            });
        }
    }
    Ok(out)
}

/// The bytes of each different line, and of all.
pub(super) type Lines = (HashMap<Vec<u8>, usize>, usize);

/// The lines of a file.
pub(super) fn lines(bytes: &[u8]) -> Lines {
    let mut all = HashMap::new();
    let mut sum = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        *all.entry(line.to_vec()).or_default() += line.len();
        sum += line.len();
    }
    (all, sum)
}

/// The share of common bytes in the longer one, line by line.
pub(super) fn share(a: &Lines, b: &Lines) -> f64 {
    let longer = a.1.max(b.1).max(1);
    let common: usize = a.0.iter().filter_map(|(line, n)| b.0.get(line).map(|m| *n.min(m))).sum();
    common as f64 / longer as f64
}
