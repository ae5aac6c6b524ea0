//! Applying what was found to catalog and text index: whole or not at all.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::read::{From, Job, Read, read_all};
use super::scan::{self, Looked, Work};
use super::sink::Sink;
use super::{Outcome, Pair, just_scanned, place, revision, stored};
use crate::catalog::{Catalog, DocId, State, TreeId, Writer};
use crate::flow::progress::Progress;
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::walk::FileStat;

/// The newest time of change that can be trusted, in nanoseconds since 1970: a file that was saved within the file
/// system's last tick may be saved once more in the same tick, and would look the same. Such a file is read again
/// next time. The lock file was just written, so its time is the file system's now.
pub(super) fn newest_trusted(vault: &Vault<'_>) -> i64 {
    let lock = vault.derived_dir().join("index.lock");
    let now = lock.symlink_metadata().map(|data| FileStat::of(VaultPath::root(), &data).mtime_ns);
    now.map_or(i64::MAX, |now| now.saturating_sub(20_000_000))
}

pub(super) fn put_known(
    writer: &Writer<'_>,
    tree: TreeId,
    dir: &str,
    files: &[FileStat],
    failed: &HashSet<&VaultPath>,
    newest: i64,
) -> Result<(), Fault> {
    let rows: Vec<_> = files
        .iter()
        .filter(|file| !failed.contains(&file.path))
        .map(|file| {
            let mut row = scan::row_of(file);
            if row.mtime_ns > newest || row.ctime_ns > newest {
                row.mtime_ns = 0;
            }
            (file.path.name(), row)
        })
        .collect();
    writer.put_known(tree, dir, &rows)?;
    Ok(())
}

/// Applies what differs. Leaves everything as it is when `stop` says so before all is read.
pub(super) fn update(
    vault: &Vault<'_>,
    progress: &dyn Progress,
    pair: &Pair,
    looked: Looked,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, Fault> {
    if looked.is_settled() {
        let freshness = just_scanned(vault, &pair.catalog, Vec::new())?;
        return Ok(Outcome { freshness, ..Outcome::default() });
    }
    let catalog = &pair.catalog;
    let work = looked.work.unwrap_or_default();
    let only = looked.only;
    let total = work.changed.len() + looked.in_main.len();
    let writer = catalog.write()?;
    let mut change = Change {
        tree: scan::tree_id(vault, &writer)?,
        in_main: looked.in_main.into_iter().collect(),
        in_work: HashMap::new(),
        pending: Vec::new(),
        made: HashMap::new(),
        sink: Sink {
            writer: &writer,
            index: &pair.text,
            text: None,
            bulk: total > 20_000,
            next: pair.state.next_doc,
            born: pair.state.generation + 1,
            added: 0,
            removed: 0,
        },
    };
    progress.begin("indexing", Some(total as u64));
    let whole = change.read_work(vault, catalog, &work, progress, stop)?
        && change.read_main(vault, catalog, progress, stop)?;
    progress.end();
    vault.env.go_on()?;
    if !whole {
        let note = format!(
            "{} changed files are not indexed yet (index.freshness_ms is over); run `runebook reindex`",
            work.changed.len() + work.gone.len()
        );
        drop(change);
        drop(writer);
        let mut freshness = stored(vault, catalog, vec![note])?;
        freshness.pending += (work.changed.len() + work.gone.len()) as u64;
        return Ok(Outcome { freshness, ..Outcome::default() });
    }
    change.place(vault, catalog, &work)?;
    let paths = change.paths();
    let Change { tree, in_work, mut pending, sink, .. } = change;
    if let Some(tree) = tree {
        if let Some(only) = only {
            // What was not looked at waits as it did.
            let before = catalog.pending(tree)?.into_iter();
            pending.extend(before.filter(|(path, _)| !only.holds(path.as_str())));
        }
        pending.extend(work.unread.iter().cloned());
        let newest = newest_trusted(vault);
        let failed: HashSet<&VaultPath> = pending.iter().map(|(path, _)| path).collect();
        for (dir, files) in &work.dirs {
            put_known(&writer, tree, dir, files, &failed, newest)?;
        }
        writer.stamp(tree, vault.clock.now().as_millisecond(), &pending)?;
    }
    let (added, removed) = (sink.added, sink.removed);
    let changed = in_work.values().filter(|doc| doc.is_some()).count() as u64;
    step(vault, "sync-read");
    let state = sink.commit_text(&pair.state)?;
    step(vault, "sync-text");
    let (commit, tree) = looked.main.unzip();
    writer.commit(&State { commit, tree, ..state })?;
    step(vault, "sync-catalog");
    let freshness = just_scanned(vault, catalog, Vec::new())?;
    Ok(Outcome { rebuilt: false, added, changed, removed, paths, freshness })
}

/// The steps of an update at which `RUNEBOOK_CRASH_AT` can kill it, in order.
pub const STEPS: [&str; 3] = ["sync-read", "sync-text", "sync-catalog"];

/// Kills the process at a step when a test asked for it.
pub(in crate::flow) fn step(vault: &Vault<'_>, name: &str) {
    if vault.env.var("RUNEBOOK_CRASH_AT") == Some(name) {
        std::process::abort();
    }
}

/// An update under way.
struct Change<'a> {
    tree: Option<TreeId>,
    in_main: HashMap<VaultPath, Option<Oid>>,
    /// What the work tree has now at the paths that changed in it.
    in_work: HashMap<VaultPath, Option<DocId>>,
    pending: Vec<(VaultPath, String)>,
    /// New documents by path and blob.
    made: HashMap<(VaultPath, Oid), DocId>,
    sink: Sink<'a>,
}

impl Change<'_> {
    /// The paths at which something else is seen now, in order.
    fn paths(&self) -> Vec<VaultPath> {
        let all: BTreeSet<&VaultPath> = self.in_main.keys().chain(self.in_work.keys()).collect();
        all.into_iter().cloned().collect()
    }

    fn read_work(
        &mut self,
        vault: &Vault<'_>,
        catalog: &Catalog,
        work: &Work,
        progress: &dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, Fault> {
        let mut jobs = Vec::with_capacity(work.changed.len());
        for file in &work.changed {
            let main = match self.in_main.get(&file.path) {
                Some(oid) => *oid,
                None => catalog.main_oid(&file.path)?,
            };
            let known = catalog.oids_at(&file.path)?;
            jobs.push(Job { path: file.path.clone(), from: From::Work, main, known });
        }
        for path in &work.gone {
            self.in_work.insert(path.clone(), None);
        }
        read_all(vault, jobs, stop, |read| {
            progress.advance(1);
            match read {
                Read::New(parsed) => {
                    let doc = self.sink.add(&parsed, false)?;
                    self.made.insert((parsed.memory.path.clone(), parsed.oid), doc);
                    self.in_work.insert(parsed.memory.path, Some(doc));
                }
                Read::Same(path, oid) => {
                    let seen = self.tree.map(|tree| catalog.tree_oid(tree, &path)).transpose()?.flatten();
                    if seen != Some(oid) {
                        let doc = catalog.doc_of(&path, oid)?;
                        self.in_work.insert(path, doc);
                    }
                }
                Read::Gone(path) => {
                    self.in_work.insert(path, None);
                }
                Read::Failed(path, why) => self.pending.push((path, why)),
            }
            Ok(())
        })
    }

    fn read_main(
        &mut self,
        vault: &Vault<'_>,
        catalog: &Catalog,
        progress: &dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, Fault> {
        let mut jobs = Vec::new();
        for (path, oid) in &self.in_main {
            let Some(oid) = *oid else { continue };
            if !self.made.contains_key(&(path.clone(), oid)) && catalog.doc_of(path, oid)?.is_none() {
                jobs.push(Job {
                    path: path.clone(),
                    from: From::Blob(oid),
                    main: Some(oid),
                    known: Vec::new(),
                });
            }
        }
        read_all(vault, jobs, stop, |read| {
            progress.advance(1);
            match read {
                Read::New(parsed) => {
                    let doc = self.sink.add(&parsed, false)?;
                    self.made.insert((parsed.memory.path.clone(), parsed.oid), doc);
                }
                Read::Failed(path, why) => self.pending.push((path, why)),
                Read::Same(..) | Read::Gone(_) => {}
            }
            Ok(())
        })
    }

    /// Puts the documents where main and the work tree have them, and removes what nobody sees any more.
    fn place(&mut self, vault: &Vault<'_>, catalog: &Catalog, work: &Work) -> Result<(), Fault> {
        let writer = self.sink.writer;
        let mut touched: BTreeSet<VaultPath> = work.gone.iter().cloned().collect();
        for (path, oid) in &self.in_main {
            let doc = match oid {
                Some(oid) => match self.made.get(&(path.clone(), *oid)) {
                    Some(doc) => Some(*doc),
                    None => catalog.doc_of(path, *oid)?,
                },
                None => None,
            };
            writer.set_main(path, doc)?;
            touched.insert(path.clone());
        }
        if let Some(tree) = self.tree {
            for (path, doc) in &self.in_work {
                writer.set_tree(tree, path, *doc)?;
                touched.insert(path.clone());
            }
        }
        for (tree, key) in catalog.trees()? {
            if !place::tree_exists(vault, &key) {
                for doc in writer.drop_tree(tree)? {
                    self.sink.remove_if_unseen(doc)?;
                }
            }
        }
        for path in &touched {
            self.sink.remove_unseen(path)?;
        }
        revision::trim(writer, &mut self.sink)
    }
}

/// Mends a pair that a process left between its two commits: what only the text index has is removed from it; what
/// only the catalog has is read again, and what cannot be read again is forgotten, so that the comparison that
/// follows finds it anew.
pub(super) fn heal(vault: &Vault<'_>, pair: &mut Pair) -> Result<(), Fault> {
    if pair.text.generation()? == pair.state.generation {
        return Ok(());
    }
    let (in_text, in_catalog) = (pair.text.docs()?, pair.catalog.searched_docs()?);
    let writer = pair.catalog.write()?;
    let mut sink = Sink {
        writer: &writer,
        index: &pair.text,
        text: None,
        bulk: false,
        // Numbers that the dead process gave are never given again.
        next: pair.state.next_doc.max(in_text.last().map_or(0, |last| last + 1)),
        born: pair.state.generation + 1,
        added: 0,
        removed: 0,
    };
    for doc in in_text.iter().filter(|doc| in_catalog.binary_search(doc).is_err()) {
        sink.text()?.remove(*doc);
    }
    let (mut jobs, mut wanted) = (Vec::new(), HashMap::new());
    for doc in in_catalog.iter().filter(|doc| in_text.binary_search(doc).is_err()) {
        let Some(row) = pair.catalog.doc(DocId(*doc))? else { continue };
        let from = if vault.repo.has_object(row.oid) { From::Blob(row.oid) } else { From::Work };
        jobs.push(Job { path: row.path.clone(), from, main: Some(row.oid), known: Vec::new() });
        wanted.insert((row.path, row.oid), row.id);
    }
    read_all(vault, jobs, &|| false, |read| {
        if let Read::New(parsed) = read
            && let Some(doc) = wanted.remove(&(parsed.memory.path.clone(), parsed.oid))
        {
            sink.add_text(doc, &parsed)?;
        }
        Ok(())
    })?;
    vault.env.go_on()?;
    if !wanted.is_empty() {
        revision::forget_all(&writer, &mut sink)?;
    }
    for ((path, _), doc) in wanted {
        writer.forget(&path, doc)?;
    }
    // Also when nothing had to change: the generations must meet again.
    sink.text()?;
    let mut before = pair.state.clone();
    before.generation = before.generation.max(pair.text.generation()?);
    let state = sink.commit_text(&before)?;
    writer.commit(&state)?;
    pair.state = state;
    Ok(())
}
