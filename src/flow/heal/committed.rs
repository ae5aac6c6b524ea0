//! Renames that somebody committed without healing the links: found in the history, from the last commit back.
//!
//! What is looked for is known: the files that broken links name, the memories whose own relative links broke when they
//! moved, the headings and blocks that are gone. The search ends when nothing is left to find, at the beginning of the
//! history, or after [`MOST_COMMITS`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::link_key;
use super::names::Shifted;
use super::outside::{self, Renamed, SIMILAR, Sign, lines, share};
use super::standing::Standing;
use super::target::leads_to;
use crate::catalog::{Catalog, Side};
use crate::flow::progress::Progress;
use crate::flow::vault::Vault;
use crate::markdown;
use crate::markdown::renamed::Renames;
use crate::model::change::{DiffRecord, mode};
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::link::{Link, Names, resolve};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;
use crate::model::uri::Fragment;
use crate::store::files;
use crate::store::git::Head;

/// How many commits are compared at most, along first parents.
const MOST_COMMITS: u64 = 1000;
/// How many entries of one commit are compared at most; a commit of more is an import, not a rename.
const MOST_ENTRIES: usize = 50_000;
/// How many new files of one commit are compared line by line with one that is gone.
const MOST_ALIKE: usize = 400;

/// What the history says.
#[derive(Debug, Default)]
pub(super) struct Back {
    /// Files that stand elsewhere now than links say.
    pub(super) renamed: Vec<Renamed>,
    /// Parts that are called otherwise now, by the file's place.
    pub(super) parts: BTreeMap<VaultPath, Renames>,
    /// Where a memory stood when its own links led somewhere.
    homes: BTreeMap<VaultPath, VaultPath>,
    /// Files that links name and that were taken away, by what links call them.
    gone: BTreeMap<String, VaultPath>,
    /// How many commits were compared.
    pub(super) commits: u64,
    /// Whether the search ended by itself.
    pub(super) complete: bool,
}

impl Back {
    /// Where a memory stood when its links were written.
    ///
    /// `stood` is where it stands in the last commit.
    pub(super) fn home(&self, stood: &VaultPath) -> VaultPath {
        self.homes.get(stood).unwrap_or(stood).clone()
    }

    /// The file of a link's name that was taken away, where the history has one and nothing stands in its place.
    pub(super) fn lost(&self, link: &Link) -> Option<VaultPath> {
        self.gone.get(&link_key(&link.target)).cloned()
    }
}

/// Files that one commit took away and brought.
struct Step {
    gone: BTreeMap<VaultPath, Oid>,
    new: BTreeMap<VaultPath, Oid>,
}

impl Step {
    fn of(records: &[DiffRecord]) -> Step {
        let mut step = Step { gone: BTreeMap::new(), new: BTreeMap::new() };
        for record in records {
            let Some(path) = record.vault_path().filter(|path| !path.is_hidden()) else { continue };
            match (record.old_mode, record.new_mode) {
                (mode::NONE, mode::FILE | mode::EXECUTABLE) => step.new.insert(path, record.new_oid),
                (mode::FILE | mode::EXECUTABLE, mode::NONE) => step.gone.insert(path, record.old_oid),
                _ => None,
            };
        }
        step
    }
}

struct Search<'s, 'v> {
    vault: &'s Vault<'v>,
    catalog: &'s Catalog,
    side: Side,
    names: &'s dyn Names,
    /// The memories with broken links, by where each stood in the commit that is looked at.
    notes: BTreeMap<VaultPath, VaultPath>,
    links: BTreeMap<VaultPath, Vec<&'s Link>>,
    /// The names that broken links give.
    wanted: BTreeSet<String>,
    /// The parts that are gone, by their file.
    parts: BTreeMap<VaultPath, Vec<&'s Fragment>>,
    /// Where what the last commit has stands among the files.
    outside: HashMap<&'s VaultPath, &'s VaultPath>,
    steps: Vec<Step>,
    /// The files whose new places are known.
    found: HashSet<VaultPath>,
    back: Back,
}

/// Looks back for what broken links and missing parts name.
pub(super) fn look_back(
    vault: &Vault<'_>,
    catalog: &Catalog,
    side: Side,
    standing: &Standing,
    outside: &[Renamed],
    progress: &dyn Progress,
) -> Result<Back, Fault> {
    let names = catalog.names(side);
    let moved: HashMap<&VaultPath, &VaultPath> = outside.iter().map(|one| (&one.from, &one.to)).collect();
    let came: HashMap<&VaultPath, &VaultPath> = outside.iter().map(|one| (&one.to, &one.from)).collect();
    let mut search = Search {
        vault,
        catalog,
        side,
        names: &names,
        notes: BTreeMap::new(),
        links: BTreeMap::new(),
        wanted: BTreeSet::new(),
        parts: BTreeMap::new(),
        outside: moved,
        steps: Vec::new(),
        found: HashSet::new(),
        back: Back { complete: true, ..Back::default() },
    };
    let files = outside.iter().map(|one| (one.from.clone(), one.to.clone())).collect();
    let directories = outside::directories(&files, &names);
    let known: BTreeSet<String> =
        files.keys().chain(directories.keys()).map(|from| link_key(from.name())).collect();
    for (from, link) in standing.broken.iter().chain(&standing.aliased) {
        let key = link_key(&link.target);
        if key.is_empty() || known.contains(&key) {
            continue;
        }
        let stood = came.get(from).map_or(from, |from| from);
        search.wanted.insert(key);
        search.notes.insert(stood.clone(), stood.clone());
        search.links.entry(stood.clone()).or_default().push(link);
    }
    for (_, to, place) in &standing.parts {
        search.parts.entry(to.clone()).or_default().push(place);
    }
    search.run(progress)?;
    Ok(search.back)
}

impl Search<'_, '_> {
    fn is_over(&self) -> bool {
        self.wanted.is_empty() && self.parts.is_empty()
    }

    fn run(&mut self, progress: &dyn Progress) -> Result<(), Fault> {
        let head = match self.vault.repo.head()? {
            Head::Branch(_, oid) => oid,
            Head::Detached(oid) => Some(oid),
        };
        let Some(mut commit) = head.filter(|_| !self.is_over()) else { return Ok(()) };
        let repo = &self.vault.repo;
        progress.begin("looking back in the history", None);
        let mut tree = repo.tree_of(commit)?;
        while let Some(parent) = repo.parents(commit)?.first().copied() {
            self.vault.env.go_on()?;
            // The history of a shallow clone ends somewhere.
            if self.is_over() || !repo.has_object(parent) {
                break;
            }
            if self.back.commits == MOST_COMMITS {
                self.back.complete = false;
                break;
            }
            let before = repo.tree_of(parent)?;
            if let Some(records) = repo.diff_within(Some(before), Some(tree), MOST_ENTRIES)? {
                self.look(commit, &records)?;
            }
            self.back.commits += 1;
            progress.advance(1);
            (commit, tree) = (parent, before);
        }
        progress.end();
        Ok(())
    }

    fn look(&mut self, commit: Oid, records: &[DiffRecord]) -> Result<(), Fault> {
        self.look_for_parts(records)?;
        let step = Step::of(records);
        if step.gone.is_empty() {
            return Ok(());
        }
        // Links name directories, too: one is where its files are.
        let is_wanted = |path: &VaultPath| self.wanted.contains(&link_key(path.name()));
        let is_below = |path: &VaultPath| path.ancestors().any(|above| is_wanted(&above));
        let gone: Vec<VaultPath> =
            step.gone.keys().filter(|path| is_wanted(path) || is_below(path)).cloned().collect();
        let came: Vec<VaultPath> =
            step.new.keys().filter(|path| self.notes.contains_key(*path)).cloned().collect();
        self.steps.push(step);
        let at = self.steps.len() - 1;
        for path in gone {
            if self.found.contains(&path) || self.names.has_file(&path) {
                continue;
            }
            if let Some((to, by)) = self.now(at, &path)? {
                self.wanted.remove(&link_key(path.name()));
                for above in path.ancestors().filter(|above| !self.names.has_directory(above)) {
                    self.wanted.remove(&link_key(above.name()));
                }
                self.found.insert(path.clone());
                self.back.renamed.push(Renamed { from: path, to, by, commit: Some(commit) });
            } else if self.wanted.contains(&link_key(path.name())) {
                self.back.gone.entry(link_key(path.name())).or_insert(path);
            }
        }
        for path in came {
            self.moved_note(at, &path)?;
        }
        Ok(())
    }

    /// Where a file that a commit took away stands now, and how that is known.
    fn now(&self, mut at: usize, path: &VaultPath) -> Result<Option<(VaultPath, Sign)>, Fault> {
        let mut path = path.clone();
        let mut by = Sign::Id;
        for _ in 0..=self.steps.len() {
            let step = &self.steps[at];
            let Some(oid) = step.gone.get(&path) else { return Ok(None) };
            let memory = self.read(&path, *oid)?;
            if let Some(id) = memory.as_ref().and_then(|memory| memory.front.id.as_deref())
                && let [there] = self.catalog.names(self.side).files_with_id(id).as_slice()
            {
                return Ok(Some((there.clone(), Sign::Id)));
            }
            let Some((next, sign)) = self.pair(&path, *oid, &step.new)? else { return Ok(None) };
            by = if by == Sign::Similar { by } else { sign };
            if self.names.has_file(&next) {
                return Ok(Some((next, by)));
            }
            if let Some(there) = self.outside.get(&next) {
                return Ok(Some(((*there).clone(), by)));
            }
            // A later commit, which was looked at before, took it away again.
            let Some(later) = (0..at).rev().find(|step| self.steps[*step].gone.contains_key(&next)) else {
                return Ok(None);
            };
            (at, path) = (later, next);
        }
        Ok(None)
    }

    /// The one among some files that is a given one: the same bytes, or most of its lines.
    fn pair(
        &self,
        path: &VaultPath,
        oid: Oid,
        others: &BTreeMap<VaultPath, Oid>,
    ) -> Result<Option<(VaultPath, Sign)>, Fault> {
        let same: Vec<&VaultPath> =
            others.iter().filter(|(_, other)| **other == oid).map(|(path, _)| path).collect();
        let named: Vec<&VaultPath> =
            same.iter().copied().filter(|other| other.name() == path.name()).collect();
        if let ([one], _) | (_, [one]) = (same.as_slice(), named.as_slice()) {
            return Ok(Some(((*one).clone(), Sign::Content)));
        }
        if !path.is_markdown() || others.len() > MOST_ALIKE {
            return Ok(None);
        }
        let old = lines(&self.vault.repo.blob(oid)?);
        let mut best: Vec<(f64, &VaultPath)> = Vec::new();
        for (other, oid) in others.iter().filter(|(other, _)| other.is_markdown()) {
            let alike = share(&old, &lines(&self.vault.repo.blob(*oid)?));
            if alike >= SIMILAR {
                best.push((alike, other));
            }
        }
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(match best.as_slice() {
            [(first, _), (second, _), ..] if first - second < 0.05 => None,
            [(_, one), ..] => Some(((*one).clone(), Sign::Similar)),
            [] => None,
        })
    }

    fn read(&self, path: &VaultPath, oid: Oid) -> Result<Option<Memory>, Fault> {
        if !path.is_markdown() {
            return Ok(None);
        }
        Ok(Some(markdown::read(path, &self.vault.repo.blob(oid)?, &self.vault.config)))
    }

    /// A memory with broken links came to its place by this commit: did its links lead somewhere where it stood before?
    fn moved_note(&mut self, at: usize, path: &VaultPath) -> Result<(), Fault> {
        let step = &self.steps[at];
        let Some(oid) = step.new.get(path) else { return Ok(()) };
        let id = self.read(path, *oid)?.and_then(|memory| memory.front.id);
        let mut before = None;
        if let Some(id) = id {
            for (gone, oid) in step.gone.iter().filter(|(gone, _)| gone.is_markdown()).take(MOST_ALIKE) {
                if self.read(gone, *oid)?.and_then(|memory| memory.front.id).as_ref() == Some(&id) {
                    before = Some(gone.clone());
                }
            }
        }
        let before = match before {
            Some(before) => Some(before),
            None => self.pair(path, *oid, &step.gone)?.map(|(before, _)| before),
        };
        let (Some(before), Some(note)) = (before, self.notes.remove(path)) else { return Ok(()) };
        let moves = self.back.renamed.iter().map(|one| (one.from.clone(), one.to.clone())).collect();
        let names = Shifted::new(self.names, &moves);
        let links = self.links.get(&note).map(Vec::as_slice).unwrap_or_default();
        if links.iter().any(|link| leads_to(resolve(link, &before, &names)).is_some()) {
            self.back.homes.insert(note, before);
        } else {
            self.notes.insert(before, note);
        }
        Ok(())
    }

    /// Whether a file had a missing part before this commit, and what that is called now.
    fn look_for_parts(&mut self, records: &[DiffRecord]) -> Result<(), Fault> {
        for record in records.iter().filter(|record| record.old_mode != mode::NONE) {
            let Some(path) = record.vault_path() else { continue };
            let Some(missing) = self.parts.get(&path) else { continue };
            let config = &self.vault.config;
            let old = markdown::read(&path, &self.vault.repo.blob(record.old_oid)?, config);
            let there = crate::check::Anchors::of(&old);
            if missing.iter().all(|place| !there.has(place)) {
                continue;
            }
            let now =
                markdown::read(&path, &files::read(self.vault.root()?, &path).unwrap_or_default(), config);
            let renames = Renames::between(&old, &now);
            if !renames.is_empty() {
                self.back.parts.entry(path.clone()).or_insert(renames);
            }
            // What was there is settled: renamed, or taken away.
            self.parts.remove(&path);
        }
        Ok(())
    }
}
