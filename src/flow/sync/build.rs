//! Building the whole index.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::apply::{newest_trusted, put_known};
use super::read::{From, Job, Read, read_all};
use super::sink::Sink;
use super::source::Taken;
use super::{Outcome, SyncError, just_scanned, place, scan};
use crate::catalog::{Catalog, State};
use crate::flow::progress::Progress;
use crate::flow::vault::Vault;
use crate::index::text::TextIndex;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::selection::Selection;
use crate::store::walk::FileStat;

/// Builds the whole index beside the old one and puts it in its place. `reason` says why, if it had to be.
pub(super) fn build(
    vault: &Vault<'_>,
    progress: &dyn Progress,
    reason: Option<String>,
) -> Result<Outcome, Fault> {
    let dir = place::fresh(vault)?;
    let catalog = Catalog::create(&dir)?;
    let text = TextIndex::create(&dir.join("text"))?;
    let outcome = fill(vault, progress, &catalog, &text);
    let added = match outcome {
        Ok(added) => added,
        Err(error) => {
            drop((catalog, text));
            // What is left is removed by the next rebuild.
            let _ = std::fs::remove_dir_all(&dir);
            return Err(error);
        }
    };
    catalog.settle()?;
    place::promote(vault, &dir)?;
    let notes = reason.map(|why| format!("the index was built anew: {why}")).into_iter().collect();
    let catalog = Catalog::open(&dir).map_err(|e| SyncError::Broken(e.to_string()))?;
    let freshness = just_scanned(vault, &catalog, notes)?;
    Ok(Outcome { rebuilt: true, added, freshness, ..Outcome::default() })
}

fn fill(
    vault: &Vault<'_>,
    progress: &dyn Progress,
    catalog: &Catalog,
    text: &TextIndex,
) -> Result<u64, Fault> {
    let taken = Taken::of(&vault.config);
    let main = scan::main_of(vault)?;
    let mut in_main: HashMap<VaultPath, Oid> = HashMap::new();
    if let Some((_, tree)) = main {
        for (path, entry) in vault.repo.files(tree)? {
            if let Some(path) = VaultPath::from_disk(&path).filter(|path| taken.takes(path, entry.mode)) {
                in_main.insert(path, entry.oid);
            }
        }
    }
    let mut pending = Vec::new();
    let files = match vault.repo.work_dir() {
        Some(root) => {
            let walked = scan::walk_all(vault, root)?;
            pending = walked.unread;
            let mut files = walked.files;
            let walked: BTreeSet<&VaultPath> = files.iter().map(|file| &file.path).collect();
            let extra: Vec<FileStat> = (in_main.keys().filter(|path| !walked.contains(path)))
                .filter_map(|path| scan::stat(root, path))
                .collect();
            files.extend(extra);
            files
        }
        None => Vec::new(),
    };
    let writer = catalog.write()?;
    let tree = scan::tree_id(vault, &writer)?;
    let mut sink =
        Sink { writer: &writer, index: text, text: None, bulk: true, next: 1, born: 1, added: 0, removed: 0 };
    sink.text()?;
    let jobs = files.iter().map(|file| Job {
        path: file.path.clone(),
        from: From::Work,
        main: in_main.get(&file.path).copied(),
        known: Vec::new(),
    });
    let mut rest = in_main.clone();
    // Paths of which the work tree has its own content, or a file that could not be read: it is seen as main has
    // it, and is pending.
    let mut covered: HashSet<VaultPath> = HashSet::new();
    let unread: Selection = pending.iter().map(|(path, _)| path.clone()).collect();
    progress.begin("indexing", Some(files.len().max(in_main.len()) as u64));
    read_all(vault, jobs.collect(), &|| false, |read| {
        progress.advance(1);
        match read {
            Read::New(parsed) => {
                let path = parsed.memory.path.clone();
                let doc = sink.add(&parsed, parsed.main)?;
                if parsed.main {
                    rest.remove(&path);
                } else if let Some(tree) = tree {
                    writer.put_difference(tree, &path, Some(doc))?;
                }
                covered.insert(path);
            }
            Read::Failed(path, why) => {
                covered.insert(path.clone());
                pending.push((path, why));
            }
            Read::Same(..) | Read::Gone(_) => {}
        }
        Ok(())
    })?;
    vault.env.go_on()?;
    let jobs = rest.iter().map(|(path, oid)| Job {
        path: path.clone(),
        from: From::Blob(*oid),
        main: Some(*oid),
        known: Vec::new(),
    });
    read_all(vault, jobs.collect(), &|| false, |read| {
        progress.advance(1);
        match read {
            Read::New(parsed) => {
                sink.add(&parsed, true)?;
                let path = &parsed.memory.path;
                if let Some(tree) = tree.filter(|_| !covered.contains(path) && !unread.holds(path.as_str())) {
                    writer.put_difference(tree, path, None)?;
                }
            }
            Read::Failed(path, why) => pending.push((path, why)),
            Read::Same(..) | Read::Gone(_) => {}
        }
        Ok(())
    })?;
    vault.env.go_on()?;
    progress.end();
    progress.begin("committing", None);
    if let Some(tree) = tree {
        let newest = newest_trusted(vault);
        let failed: HashSet<&VaultPath> = pending.iter().map(|(path, _)| path).collect();
        for (dir, files) in by_dir(files) {
            put_known(&writer, tree, &dir, &files, &failed, newest)?;
        }
        writer.stamp(tree, vault.clock.now().as_millisecond(), &pending)?;
    }
    let added = sink.added;
    let before = State { settings: place::settings(vault), ..State::default() };
    let state = sink.commit_text(&before)?;
    let (commit, tree) = main.unzip();
    writer.commit(&State { commit, tree, ..state })?;
    progress.end();
    Ok(added)
}

fn by_dir(files: Vec<FileStat>) -> HashMap<String, Vec<FileStat>> {
    let mut dirs: HashMap<String, Vec<FileStat>> = HashMap::new();
    for file in files {
        dirs.entry(file.path.parent().as_str().to_owned()).or_default().push(file);
    }
    for files in dirs.values_mut() {
        files.sort_by(|a, b| a.path.cmp(&b.path));
    }
    dirs
}
