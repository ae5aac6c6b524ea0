//! What checks say of files before a proposal changes, moves or brings them back: no word about the change.

use std::collections::{HashMap, HashSet};

use super::{GitTree, catalog};
use crate::check::{self, Item, Place, Settings};
use crate::flow::vault::Vault;
use crate::model::change::{DiffRecord, mode};
use crate::model::fault::Fault;
use crate::model::finding::Finding;
use crate::model::id::Oid;
use crate::model::path::VaultPath;

/// In how many removed files a line may stand and still tell which of them a new one was.
const MOST_ALIKE: usize = 8;

/// Warnings that stood there, by the path that the file has now, without lines, which every change moves.
#[derive(Debug, Default)]
pub(super) struct Stood(HashSet<(Option<VaultPath>, String, String)>);

impl Stood {
    /// Whether a finding is one of them.
    pub(super) fn has(&self, finding: &Finding) -> bool {
        self.0.contains(&(finding.path.clone(), finding.rule.clone(), finding.message.clone()))
    }

    fn add(&mut self, findings: Vec<Finding>, now: impl Fn(VaultPath) -> Vec<VaultPath>) {
        for Finding { path, rule, message, .. } in findings {
            for path in path.map_or_else(Vec::new, &now) {
                self.0.insert((Some(path), rule.clone(), message.clone()));
            }
        }
    }
}

/// What main's files had already where a proposal changes or moves them, and what those that it brings back had
/// before the merge that it takes back.
///
/// `records` are what `items` were made of, in their order.
///
/// # Errors
/// When an object cannot be read.
pub(super) fn stood(
    vault: &Vault<'_>,
    main: Oid,
    (records, items): (&[DiffRecord], &[Item]),
    rollback_of: Option<Oid>,
    settings: Settings<'_>,
) -> Result<Stood, Fault> {
    let mut out = Stood::default();
    let changed = items.iter().filter(|item| !item.new && item.after.is_some() && item.before.is_some());
    let mut before: Vec<Item> =
        changed.map(|item| Item { after: item.before.clone(), ..item.clone() }).collect();
    let moves = moves(items);
    for at in moves.keys() {
        let (item, record) = (&items[*at], &records[*at]);
        before.push(Item { after: item.before.clone(), mode: record.old_mode, new: true, ..item.clone() });
    }
    let new_paths = |places: &[usize]| places.iter().filter_map(|at| path_of(&items[*at]).cloned()).collect();
    let renamed: HashMap<&VaultPath, Vec<VaultPath>> =
        moves.iter().filter_map(|(from, to)| Some((path_of(&items[*from])?, new_paths(to)))).collect();
    let now = |path: VaultPath| renamed.get(&path).cloned().unwrap_or_else(|| vec![path]);
    out.add(run(vault, vault.repo.tree_of(main)?, &before, settings)?, now);
    if let Some(tree) = rollback_of.map(|merge| before_merge(vault, main, merge)).transpose()?.flatten() {
        let mut back = Vec::new();
        for (item, record) in items.iter().zip(records).filter(|(item, _)| item.new) {
            let Some(path) = path_of(item) else { continue };
            if vault.repo.entry_at(tree, path)?.is_some_and(|entry| entry.oid == record.new_oid) {
                back.push(item.clone());
            }
        }
        out.add(run(vault, tree, &back, settings)?, |path| vec![path]);
    }
    Ok(out)
}

fn run(vault: &Vault<'_>, root: Oid, items: &[Item], settings: Settings<'_>) -> Result<Vec<Finding>, Fault> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let tree = GitTree::new(&vault.repo, root, settings.config, catalog(vault));
    let findings = check::run(items, &tree, settings);
    tree.finish()?;
    Ok(findings)
}

fn path_of(item: &Item) -> Option<&VaultPath> {
    match &item.place {
        Place::Path(path) => Some(path),
        Place::Raw(_) => None,
    }
}

/// The tree that a merge of main's history changed.
fn before_merge(vault: &Vault<'_>, main: Oid, merge: Oid) -> Result<Option<Oid>, Fault> {
    // A proposal can name anything; only what was approved once counts.
    if !vault.repo.is_ancestor(merge, main).unwrap_or(false) {
        return Ok(None);
    }
    let before = vault.repo.parents(merge)?.first().copied();
    Ok(before.map(|before| vault.repo.tree_of(before)).transpose()?)
}

/// Which removed items came back as which new ones: those that have most of the lines of a new one. The cost is that
/// of reading them once.
fn moves(items: &[Item]) -> HashMap<usize, Vec<usize>> {
    let readable = |item: &Item| {
        path_of(item).is_some_and(|path| (path.is_markdown() || path.is_canvas()) && !path.is_layer())
    };
    let mut homes: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let gone = item.mode == mode::NONE && readable(item);
        for line in item.before.iter().filter(|_| gone).flat_map(|bytes| lines(bytes)) {
            let homes = homes.entry(line).or_default();
            if homes.len() <= MOST_ALIKE {
                homes.push(at);
            }
        }
    }
    let mut out: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| item.new && readable(item)) {
        let mut votes: HashMap<usize, usize> = HashMap::new();
        let mut all = 0;
        for line in item.after.iter().flat_map(|bytes| lines(bytes)) {
            all += 1;
            let homes = homes.get(line).filter(|homes| homes.len() <= MOST_ALIKE);
            homes.into_iter().flatten().for_each(|home| *votes.entry(*home).or_default() += 1);
        }
        let best = votes.into_iter().max_by_key(|(home, votes)| (*votes, std::cmp::Reverse(*home)));
        if let Some((home, _)) = best.filter(|(_, votes)| votes * 2 > all) {
            out.entry(home).or_default().push(at);
        }
    }
    out
}

/// The lines of a text that are not empty, each once.
fn lines(bytes: &[u8]) -> HashSet<&[u8]> {
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).collect()
}
