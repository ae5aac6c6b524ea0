//! Older states in the index: the tree of a commit, or main with what a proposal changes.
//!
//! Most documents of such a state are there already, because main has the same blob at the same path. What differs is
//! read from git's objects and kept as one more view, so that the first question pays for the difference to main and the
//! next ones for nothing. A few views are kept; what only a forgotten one saw is removed.

use std::collections::HashMap;

use super::read::{From, Job, Read, read_all};
use super::sink::Sink;
use super::source::Taken;
use super::{Pair, apply, place, take_lock};
use crate::catalog::{Catalog, DocId, Side, Writer};
use crate::flow::progress::Progress;
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;

/// How many older states are kept.
const KEPT: usize = 8;
/// How many paths may differ from main in all that are kept: every search steps over them.
const PATHS: u64 = 20_000;

/// How long it waits for another process that indexes.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The view of a tree, if the index has it.
///
/// # Errors
/// When the catalog cannot be read.
pub(in crate::flow) fn find(catalog: &Catalog, tree: Oid) -> Result<Option<Side>, Fault> {
    if catalog.state()?.tree == Some(tree) {
        return Ok(Some(Side::Main));
    }
    Ok(catalog.revision(tree)?.map(|(id, _)| Side::Revision(id)))
}

/// Sees to it that the index has a view of a tree. The index must be there.
///
/// # Errors
/// When the tree cannot be read, another process keeps indexing, or the index cannot be written.
pub(in crate::flow) fn ensure(vault: &Vault<'_>, tree: Oid, progress: &dyn Progress) -> Result<(), Fault> {
    let catalog = super::open(vault)?;
    if catalog.state()?.tree == Some(tree) {
        return Ok(());
    }
    if let Some((_, latest)) = catalog.revision(tree)? {
        if !latest {
            touch(vault, &catalog, tree);
        }
        return Ok(());
    }
    drop(catalog);
    let _lock = take_lock(vault, PATIENCE)?;
    let mut pair = place::open_pair_to_write(vault)?;
    apply::heal(vault, &mut pair)?;
    // Another process may have made it while this one waited.
    if find(&pair.catalog, tree)?.is_none() {
        make(vault, &pair, tree, progress)?;
    }
    Ok(())
}

/// Puts down that a view was asked for last. Where that cannot be written now, it is forgotten sooner.
fn touch(vault: &Vault<'_>, catalog: &Catalog, tree: Oid) {
    let Ok(_lock) = take_lock(vault, std::time::Duration::ZERO) else { return };
    let write = || -> Result<(), Fault> {
        let Some((id, _)) = catalog.revision(tree)? else { return Ok(()) };
        let writer = catalog.write()?;
        writer.touch_revision(id)?;
        Ok(writer.commit_aside()?)
    };
    let _ = write();
}

fn make(vault: &Vault<'_>, pair: &Pair, tree: Oid, progress: &dyn Progress) -> Result<(), Fault> {
    let taken = Taken::of(&vault.config);
    let mut then: HashMap<VaultPath, Option<Oid>> = HashMap::new();
    for record in vault.repo.diff(pair.state.tree, Some(tree))? {
        let Some(path) = record.vault_path() else { continue };
        let has = taken.takes(&path, record.new_mode);
        if has || taken.takes(&path, record.old_mode) {
            then.insert(path, has.then_some(record.new_oid));
        }
    }
    let writer = pair.catalog.write()?;
    let mut sink = Sink {
        writer: &writer,
        index: &pair.text,
        text: None,
        bulk: then.len() > 20_000,
        next: pair.state.next_doc,
        born: pair.state.generation + 1,
        added: 0,
        removed: 0,
    };
    let (made, pending) = take_in(vault, &pair.catalog, &then, &mut sink, progress)?;
    let view = writer.new_revision(tree)?;
    for (path, oid) in &then {
        let doc = match oid {
            Some(oid) => match made.get(&(path, *oid)) {
                Some(doc) => Some(*doc),
                None => pair.catalog.doc_of(path, *oid)?,
            },
            None => None,
        };
        writer.set_tree(view, path, doc)?;
    }
    writer.put_pending(view, &pending)?;
    trim(&writer, &mut sink)?;
    apply::step(vault, "sync-read");
    let state = sink.commit_text(&pair.state)?;
    apply::step(vault, "sync-text");
    writer.commit(&state)?;
    apply::step(vault, "sync-catalog");
    Ok(())
}

/// New documents by path and blob, and the files that could not be taken in with the reasons.
type TakenIn<'t> = (HashMap<(&'t VaultPath, Oid), DocId>, Vec<(VaultPath, String)>);

/// Reads what the index does not have.
fn take_in<'t>(
    vault: &Vault<'_>,
    catalog: &Catalog,
    then: &'t HashMap<VaultPath, Option<Oid>>,
    sink: &mut Sink<'_>,
    progress: &dyn Progress,
) -> Result<TakenIn<'t>, Fault> {
    let mut jobs = Vec::new();
    for (path, oid) in then {
        let Some(oid) = *oid else { continue };
        if catalog.doc_of(path, oid)?.is_none() {
            jobs.push(Job { path: path.clone(), from: From::Blob(oid), main: None, known: Vec::new() });
        }
    }
    let (mut made, mut pending) = (HashMap::new(), Vec::new());
    progress.begin("indexing", Some(jobs.len() as u64));
    let whole = read_all(vault, jobs, &|| false, |read| {
        progress.advance(1);
        match read {
            Read::New(parsed) => {
                let doc = sink.add(&parsed, false)?;
                if let Some((path, _)) = then.get_key_value(&parsed.memory.path) {
                    made.insert((path, parsed.oid), doc);
                }
            }
            Read::Failed(path, why) => pending.push((path, why)),
            Read::Same(..) | Read::Gone(_) => {}
        }
        Ok(())
    });
    progress.end();
    vault.env.go_on()?;
    whole?;
    Ok((made, pending))
}

/// Forgets the states that were not asked for lately, with what only they saw.
pub(super) fn trim(writer: &Writer<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    remove(writer.trim_revisions(KEPT, PATHS)?, sink)
}

/// Forgets every older state: for when documents are lost that they may have seen.
pub(super) fn forget_all(writer: &Writer<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    remove(writer.trim_revisions(0, 0)?, sink)
}

fn remove(mut docs: Vec<DocId>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    docs.sort_unstable();
    docs.dedup();
    for doc in docs {
        sink.remove_if_unseen(doc)?;
    }
    Ok(())
}
