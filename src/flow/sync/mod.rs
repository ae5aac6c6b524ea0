//! Bringing the index to the state of the vault: one function, whoever calls it.
//!
//! What is indexed is compared with what is there (main's tree by object names, the work tree by what the file
//! system says of its files); only what differs is read; everything is applied as one commit, stamped with main's
//! commit and a hash of the work tree's differences.
//!
//! - A work file is known by the hash of the bytes that were read. One whose bytes with `\r\n` turned to `\n` are
//!   main's blob is the same as main's (git's `autocrlf`); other filters (LFS, `ident`) make a file count as changed.
//! - Catalog and text index have no commit in common. The text index commits first, then the catalog with the same
//!   generation; a process that dies between the two leaves a pair that does not match, and the next sync mends it
//!   from files and objects. A whole new index is built beside the old one, and `state.json` names it last.

mod apply;
mod build;
mod compare;
mod date;
mod follow;
mod place;
mod read;
pub(super) mod revision;
mod scan;
mod sink;
pub(super) mod source;

pub use apply::STEPS;
pub(super) use apply::step as kill_at;
pub(super) use date::read as read_date;
pub use follow::{Followed, follow};
pub(super) use place::open_pair;
pub(super) use read::passages_of;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::meaning::Embedded;
use super::progress::Progress;
use super::vault::Vault;
use super::watched;
use crate::catalog::{Catalog, Side, State};
use crate::index::text::TextIndex;
use crate::model::access::Access;
use crate::model::clock::Stopwatch;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::lock::{Lock, LockError};
use crate::store::walk::Walk;
use scan::Scope;

/// From which state of the vault an answer was made. Part of every answer that comes from the index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Freshness {
    /// The commit of main.
    pub commit: Option<Oid>,
    /// The work tree in words: `clean`, `3 changed`, `scanned 40 s ago`, or `none` for a bare repository.
    pub worktree: String,
    /// How many files of the work tree differ from main.
    pub changed: u64,
    /// How many seconds ago the work tree was looked at; 0 for just now.
    pub scanned_seconds: u64,
    /// How many files could not be taken in, or wait to be.
    pub pending: u64,
    /// How many texts wait for their vectors: what is only in them is found by its words alone. 0 where no model is in
    /// use, or where words alone were searched.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub unembedded: u64,
    /// What else a reader should know: that the index was rebuilt and why, that another process is indexing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Freshness {
    /// Whether what was searched is the files as they stand, and not what was known of them some seconds ago.
    #[must_use]
    pub fn is_present(&self) -> bool {
        !self.worktree.starts_with(SCANNED)
    }
}

/// How the state of a work tree begins that was not looked at just now.
const SCANNED: &str = "scanned ";

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What `reindex` did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReindexAnswer {
    /// Whether the index was built anew.
    pub rebuilt: bool,
    /// Documents that the index did not have: a file that is new or was changed.
    pub added: u64,
    /// Files whose content changed (they count as added and removed as well).
    pub changed: u64,
    /// Documents that no view sees any more.
    pub removed: u64,
    /// Memories in the view of the work tree (of main in a bare repository).
    pub memories: u64,
    /// Other text in that view.
    pub texts: u64,
    /// Other files in that view.
    pub others: u64,
    /// What is wrong with files, by the rule.
    pub problems: Vec<FileProblem>,
    /// The vectors; absent where they were left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<Embedded>,
    /// The state.
    pub freshness: Freshness,
}

impl ReindexAnswer {
    /// The answer as a reader is told it: the problems are of the files as they stand, which are no agent's to know.
    #[must_use]
    pub fn told_to(mut self, access: &Access) -> ReindexAnswer {
        let reads = access.reads();
        self.problems.retain(|problem| !access.is_agent() && reads.holds(&problem.path));
        self
    }
}

/// Something that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileProblem {
    /// The file.
    pub path: VaultPath,
    /// The kind of problem.
    pub rule: String,
    /// The line, counted from 1, where one is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
}

/// What can go wrong in a sync besides what the modules below report.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// There is no index, and this command does not build one.
    #[error("this vault is not indexed yet")]
    NoIndex,
    /// The state's file cannot be written.
    #[error("writing {path}: {why}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        why: std::io::Error,
    },
    /// The files cannot be looked at. That is not the same as that there are none.
    #[error("the files of {} cannot be looked at: {why}", root.display())]
    Unread {
        /// The root of the vault.
        root: PathBuf,
        /// Why.
        why: String,
    },
    /// The index stays unusable though it was just built.
    #[error("the index cannot be built: {0}")]
    Broken(String),
}

impl Explain for SyncError {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            SyncError::NoIndex => "run `runebook reindex`".to_owned(),
            SyncError::Write { .. } => {
                "look at the disk's space and rights, then run `runebook reindex`".to_owned()
            }
            SyncError::Unread { .. } => {
                "see that it is mounted and that you may read it; the index stays as it is".to_owned()
            }
            SyncError::Broken(_) => "run `runebook doctor`".to_owned(),
        })
    }
}

/// Builds the index anew because of damage that an error tells of; other errors are handed back.
pub(super) fn rebuild(vault: &Vault<'_>, progress: &dyn Progress, error: Fault) -> Result<Freshness, Fault> {
    let reason = place::unusable(error)?;
    let _lock = take_lock(vault, Duration::from_secs(60))?;
    Ok(build::build(vault, progress, reason)?.freshness)
}

/// Catalog and text index that belong together.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) catalog: Catalog,
    pub(crate) text: TextIndex,
    pub(crate) state: State,
}

/// How far a sync goes.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Whether everything is built anew.
    full: bool,
    /// When to stop and leave the index as it is; none for as long as it takes.
    deadline: Option<Duration>,
    /// How long to wait for another process that indexes.
    patience: Duration,
}

/// What a sync did.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    rebuilt: bool,
    added: u64,
    changed: u64,
    removed: u64,
    /// The paths at which something else is seen now, in order; empty when everything was built anew.
    paths: Vec<VaultPath>,
    freshness: Freshness,
}

/// Opens the catalog as it stands, without bringing it up to date.
///
/// # Errors
/// When there is none or it cannot be used.
pub fn open(vault: &Vault<'_>) -> Result<Catalog, Fault> {
    let dir = place::current(vault).ok_or(SyncError::NoIndex)?;
    Ok(Catalog::open(&dir)?)
}

/// As [`open`], for many questions: all are answered from one state, and the file is locked once and not at each of
/// them.
///
/// # Errors
/// As [`open`].
pub fn open_still(vault: &Vault<'_>) -> Result<Catalog, Fault> {
    let catalog = open(vault)?;
    catalog.freeze()?;
    Ok(catalog)
}

/// The view that a person searches: this work tree, or main where there is none or it was never looked at.
///
/// # Errors
/// When the catalog cannot be read.
pub fn side(vault: &Vault<'_>, catalog: &Catalog) -> Result<Side, Fault> {
    let Some(key) = place::tree_key(vault) else { return Ok(Side::Main) };
    Ok(catalog.tree(&key)?.map_or(Side::Main, |row| Side::Tree(row.id)))
}

/// Brings the index up to date, within `index.freshness_ms` if there is one already; after that it stays as it was
/// and the answer says so.
///
/// # Errors
/// When there is no index and it cannot be built, or it was stopped by the person.
pub fn ensure(vault: &Vault<'_>, progress: &dyn Progress) -> Result<Freshness, Fault> {
    if let Some(freshness) = kept_fresh(vault) {
        return Ok(freshness);
    }
    let deadline = Duration::from_millis(vault.config.index.freshness_ms);
    let limits = Limits { full: false, deadline: Some(deadline), patience: deadline };
    match run(vault, progress, limits) {
        Ok(outcome) => Ok(outcome.freshness),
        Err(fault) if fault.kind() == Kind::Failed && vault.env.go_on().is_ok() => as_it_stands(vault, fault),
        Err(fault) => Err(fault),
    }
}

/// How long a watcher may take to catch up before the caller looks at the files himself.
const CATCH_UP: Duration = Duration::from_millis(100);

/// The state, where a watcher keeps the index up to date: it is asked to catch up with all that was saved until now, and
/// nothing needs to be walked.
fn kept_fresh(vault: &Vault<'_>) -> Option<Freshness> {
    if !watched::catch_up(vault, CATCH_UP) {
        return None;
    }
    let catalog = place::open_catalog(vault).ok()?;
    let state = catalog.state().ok()?;
    // Main's commits are heard of like files; this only makes sure.
    (vault.repo.ref_oid(&vault.main_ref()).ok()? == state.commit).then_some(())?;
    just_scanned(vault, &catalog, Vec::new()).ok()
}

/// Where the index cannot be written (a full disk, a file system that is read-only), what it holds still answers.
fn as_it_stands(vault: &Vault<'_>, fault: Fault) -> Result<Freshness, Fault> {
    let note =
        format!("the index could not be brought up to date, so this is what was there before: {fault}");
    match place::open_pair(vault) {
        Ok(pair) => stored(vault, &pair.catalog, vec![note]),
        Err(_) => Err(fault),
    }
}

/// Brings the index up to date, however long it takes.
///
/// # Errors
/// When another process keeps indexing, the index cannot be written, or the person stopped it.
pub fn reindex(vault: &Vault<'_>, full: bool, progress: &dyn Progress) -> Result<ReindexAnswer, Fault> {
    let limits = Limits { full, deadline: None, patience: Duration::from_secs(600) };
    let outcome = run(vault, progress, limits)?;
    let catalog = open(vault)?;
    let side = side(vault, &catalog)?;
    let [memories, texts, others] = catalog.counts(side)?;
    let mut problems = Vec::new();
    for problem in catalog.problems(side)? {
        problems.extend(problem.findings.into_iter().map(|finding| FileProblem {
            path: problem.path.clone(),
            rule: finding.rule,
            line: finding.line,
            message: finding.message,
        }));
    }
    if let Side::Tree(tree) = side {
        let pending = catalog.pending(tree)?.into_iter();
        problems.extend(pending.map(|(path, message)| FileProblem {
            path,
            rule: "index.pending".to_owned(),
            line: None,
            message,
        }));
    }
    let Outcome { rebuilt, added, changed, removed, freshness, .. } = outcome;
    let meaning = None;
    Ok(ReindexAnswer {
        rebuilt,
        added,
        changed,
        removed,
        memories,
        texts,
        others,
        problems,
        meaning,
        freshness,
    })
}

/// The state that the index is in, without looking at the work tree.
///
/// # Errors
/// When there is no index or it cannot be read.
pub fn freshness(vault: &Vault<'_>) -> Result<Freshness, Fault> {
    let catalog = open(vault)?;
    stored(vault, &catalog, Vec::new())
}

/// The state as the catalog has it.
pub(super) fn stored(vault: &Vault<'_>, catalog: &Catalog, notes: Vec<String>) -> Result<Freshness, Fault> {
    let state = catalog.state()?;
    let tree = place::tree_key(vault).map(|key| catalog.tree(&key)).transpose()?.flatten();
    let mut answer = Freshness { commit: state.commit, notes, ..Freshness::default() };
    match tree {
        Some(row) => {
            let now = vault.clock.now().as_millisecond();
            answer.changed = row.changed;
            answer.pending = row.pending;
            answer.scanned_seconds = u64::try_from((now - row.scanned_ms) / 1000).unwrap_or(0);
            answer.worktree = format!("{SCANNED}{} s ago", answer.scanned_seconds);
        }
        None => answer.worktree = "none".to_owned(),
    }
    let main = vault.repo.ref_oid(&vault.main_ref())?;
    if main != state.commit {
        answer.notes.push(format!("{} has moved since the index was made", vault.config.main_branch));
    }
    Ok(answer)
}

/// The state just after a look at the work tree.
fn just_scanned(vault: &Vault<'_>, catalog: &Catalog, notes: Vec<String>) -> Result<Freshness, Fault> {
    let mut answer = stored(vault, catalog, notes)?;
    if answer.worktree != "none" {
        answer.scanned_seconds = 0;
        answer.worktree =
            if answer.changed == 0 { "clean".to_owned() } else { format!("{} changed", answer.changed) };
    }
    Ok(answer)
}

/// The sync.
fn run(vault: &Vault<'_>, progress: &dyn Progress, limits: Limits) -> Result<Outcome, Fault> {
    let watch = Stopwatch::start();
    let reason = if limits.full {
        None
    } else {
        match try_update(vault, progress, limits, &watch) {
            Ok(outcome) => return Ok(outcome),
            Err(error) => place::unusable(error)?,
        }
    };
    let _lock = take_lock(vault, limits.patience.max(Duration::from_secs(60)))?;
    // Another process may have built it while this one waited.
    if !limits.full && reason.is_none() && place::open_pair_to_write(vault).is_ok() {
        return update(vault, progress, limits, &watch, None);
    }
    build::build(vault, progress, reason)
}

/// Brings an index that is there up to date.
fn try_update(
    vault: &Vault<'_>,
    progress: &dyn Progress,
    limits: Limits,
    watch: &Stopwatch,
) -> Result<Outcome, Fault> {
    let pair = place::open_pair(vault)?;
    let looked = scan::look(vault, &pair, Scope::Whole(None))?;
    if looked.is_settled() {
        let freshness = just_scanned(vault, &pair.catalog, Vec::new())?;
        return Ok(Outcome { freshness, ..Outcome::default() });
    }
    let _lock = match take_lock(vault, limits.patience) {
        Ok(lock) => lock,
        Err(LockError::Held { holder }) if limits.deadline.is_some() => {
            let note = format!("another runebook is indexing ({holder}); this is what was there before");
            let freshness = stored(vault, &pair.catalog, vec![note])?;
            return Ok(Outcome { freshness, ..Outcome::default() });
        }
        Err(error) => return Err(error.into()),
    };
    let seen = looked.walk.map(|walk| (pair.state.clone(), walk));
    drop(pair);
    update(vault, progress, limits, watch, seen)
}

fn take_lock(vault: &Vault<'_>, patience: Duration) -> Result<Lock, LockError> {
    Lock::take(&vault.derived_dir().join("index.lock"), "indexing", patience)
}

/// Brings the index up to date under its lock. `seen` is a walk with the state that the index was in before it: where
/// somebody else wrote meanwhile, the walk may be older than what the index has, and is made again.
fn update(
    vault: &Vault<'_>,
    progress: &dyn Progress,
    limits: Limits,
    watch: &Stopwatch,
    seen: Option<(State, Walk)>,
) -> Result<Outcome, Fault> {
    let mut pair = place::open_pair_to_write(vault)?;
    let walk = seen.filter(|(state, _)| *state == pair.state).map(|(_, walk)| walk);
    apply::heal(vault, &mut pair)?;
    let looked = scan::look(vault, &pair, Scope::Whole(walk))?;
    apply::update(vault, progress, &pair, looked, &|| {
        limits.deadline.is_some_and(|limit| watch.elapsed() > limit)
    })
}
