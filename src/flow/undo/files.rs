//! Taking back what was done to files of the work tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::whole::{Step, Whole};
use super::{UndoError, kept};
use crate::flow::heal::transplant;
use crate::flow::mv;
use crate::flow::reader::Stands;
use crate::flow::remove;
use crate::flow::vault::Vault;
use crate::model::change::{Entry, mode};
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::files::{self, Replacement};
use crate::store::git::Repo;
use crate::store::operations::{Effect, Patch};

/// The files and directories that effects touch.
pub(super) fn touched(effects: &[Effect]) -> Vec<VaultPath> {
    let mut out = BTreeSet::new();
    for effect in effects {
        match effect {
            Effect::Moved { from, to } => out.extend([from.clone(), to.clone()]),
            Effect::File { path, .. }
            | Effect::Removed { path, .. }
            | Effect::PutAway { path, .. }
            | Effect::Restored { path, .. } => {
                out.insert(path.clone());
            }
            _ => {}
        }
    }
    out.into_iter().collect()
}

/// The files and directories that do not stand yet as they did before: git or an editor may have been there first.
/// Asked after [`possible`].
pub(super) fn left(vault: &Vault<'_>, effects: &[Effect]) -> Result<Vec<VaultPath>, Fault> {
    let mut out = BTreeSet::new();
    if !any(effects) {
        return Ok(Vec::new());
    }
    let root = vault.root()?;
    for effect in effects {
        match effect {
            Effect::Moved { from, to } if is_there(root, to)? => out.extend([from.clone(), to.clone()]),
            Effect::Removed { path, commit }
                if entries(vault, path, *commit)?.iter().any(|(path, entry)| !has(root, path, entry.oid)) =>
            {
                out.insert(path.clone());
            }
            Effect::PutAway { path, kept } if put_away(vault, path, kept).is_some() => {
                out.insert(path.clone());
            }
            Effect::Restored { path, .. } if is_there(root, path)? => {
                out.insert(path.clone());
            }
            _ => {}
        }
    }
    for (path, writes) in writes_of(effects) {
        if !matches!(current(root, &path, &writes)?, Some(Becomes::Done)) {
            out.insert(path);
        }
    }
    Ok(out.into_iter().collect())
}

/// Whether any is one on files.
pub(super) fn any(effects: &[Effect]) -> bool {
    !touched(effects).is_empty()
}

/// Whether all that was done to files can be taken back now.
pub(super) fn possible(vault: &Vault<'_>, what: &str, effects: &[Effect]) -> Result<(), Fault> {
    if !any(effects) {
        return Ok(());
    }
    let root = vault.root()?;
    let changed =
        |path: &VaultPath, why| UndoError::Changed { what: what.to_owned(), path: path.clone(), why };
    let free = |path: &VaultPath| -> Result<(), Fault> {
        let at = files::place(root, path)?;
        if at.symlink_metadata().is_ok() {
            return Err(changed(path, "stands there again").into());
        }
        Ok(())
    };
    for effect in effects {
        match effect {
            Effect::Moved { from, to } => {
                let (source, target) = (files::place(root, from)?, files::place(root, to)?);
                let there = |at: &Path| at.symlink_metadata().is_ok();
                if there(&source) && there(&target) && !files::is_same(&source, &target) {
                    return Err(changed(from, "stands there again").into());
                }
                if !there(&target) && !there(&source) {
                    return Err(changed(to, "is gone").into());
                }
            }
            // The run that noted it was killed before it removed anything.
            Effect::PutAway { path, kept }
                if is_there(root, path)? && put_away(vault, path, kept).is_none() => {}
            // A run that was killed may have removed, or put back, a part of it.
            Effect::Removed { path, commit } => {
                for (path, entry) in entries(vault, path, *commit)? {
                    if !has(root, &path, entry.oid) {
                        free(&path)?;
                    }
                }
            }
            Effect::PutAway { path, kept } => {
                free(path)?;
                if put_away(vault, path, kept).is_none() {
                    return Err(UndoError::Lost { what: what.to_owned(), kept: kept.clone() }.into());
                }
            }
            Effect::Restored { path, commit, content } => {
                if files::place(root, path)?.symlink_metadata().is_err() {
                    return Err(changed(path, "is gone").into());
                }
                if let Some(edited) = edited_since(vault, what, path, *commit, *content)? {
                    return Err(changed(&edited, "was changed since").into());
                }
            }
            _ => {}
        }
    }
    for (path, writes) in writes_of(effects) {
        current(root, &path, &writes)?.ok_or_else(|| changed(&path, "was changed since"))?;
    }
    Ok(())
}

/// Where something that was put away is. Only what is in the trash of this work tree counts, which may have got another
/// name with the vault since: a journal that was edited by hand brings in nothing from elsewhere.
fn put_away(vault: &Vault<'_>, path: &VaultPath, kept: &Path) -> Option<PathBuf> {
    let depth = Path::new(path.as_str()).components().count();
    let directory = kept.ends_with(path.as_str()).then(|| kept.ancestors().nth(depth))??;
    let place = remove::trash(vault).join(directory.file_name()?);
    // Links in between would lead elsewhere.
    let real = place.symlink_metadata().is_ok_and(|data| data.is_dir());
    let kept = files::place(&place, path).ok().filter(|_| real)?;
    kept.symlink_metadata().is_ok().then_some(kept)
}

/// What of something that was put back is no longer as it was then: a file with other bytes, one that came to it. What
/// is gone already is no edit.
fn edited_since(
    vault: &Vault<'_>,
    what: &str,
    path: &VaultPath,
    commit: Option<Oid>,
    content: Option<Oid>,
) -> Result<Option<VaultPath>, Fault> {
    let root = vault.root()?;
    let at = files::place(root, path)?;
    let io = |why| UndoError::Io { what: what.to_owned(), path: path.clone(), why };
    if let Some(content) = content {
        return Ok((kept::content(&at).map_err(io)? != content).then(|| path.clone()));
    }
    let Some(commit) = commit else { return Ok(None) };
    let was: BTreeMap<VaultPath, Oid> =
        entries(vault, path, commit)?.into_iter().map(|(path, entry)| (path, entry.oid)).collect();
    for (tail, found) in kept::below(&at).map_err(io)? {
        vault.env.go_on()?;
        // A name that is none of ours is named by what it stands in.
        let full = if tail.is_empty() { Some(path.clone()) } else { path.join(&tail).ok() };
        let named = full.as_ref().and_then(|full| was.get(full));
        if named.is_none() || named.copied() != found {
            return Ok(Some(full.unwrap_or_else(|| path.clone())));
        }
    }
    Ok(None)
}

/// One writing of a file.
struct Write<'e> {
    before: Option<Oid>,
    after: Option<Oid>,
    patch: &'e Patch,
}

/// What an operation wrote, by the places where the files stand after it, the last writing of each first: one command
/// may write a file several times.
fn writes_of(effects: &[Effect]) -> BTreeMap<VaultPath, Vec<Write<'_>>> {
    let mut out: BTreeMap<VaultPath, Vec<Write<'_>>> = BTreeMap::new();
    // The moves that came later, the last one first.
    let mut moves: Vec<(&VaultPath, &VaultPath)> = Vec::new();
    for effect in effects.iter().rev() {
        match effect {
            Effect::File { path, before, after, patch } => {
                let write = Write { before: *before, after: *after, patch };
                out.entry(moved_on(path, &moves)).or_default().push(write);
            }
            Effect::Moved { from, to } => moves.push((from, to)),
            _ => {}
        }
    }
    out
}

/// Where a file stands after moves, of which the last one stands first.
fn moved_on(path: &VaultPath, moves: &[(&VaultPath, &VaultPath)]) -> VaultPath {
    moves.iter().rev().fold(path.clone(), |path, (from, to)| transplant(&path, from, to).unwrap_or(path))
}

fn is_there(root: &Path, path: &VaultPath) -> Result<bool, Fault> {
    Ok(files::place(root, path)?.symlink_metadata().is_ok())
}

/// Whether a file is there with the bytes of a blob.
pub(super) fn has(root: &Path, path: &VaultPath, blob: Oid) -> bool {
    files::read(root, path).is_ok_and(|bytes| Repo::hash_blob(&bytes) == blob)
}

/// The files that a commit has at or below a path.
fn entries(vault: &Vault<'_>, path: &VaultPath, commit: Oid) -> Result<Vec<(VaultPath, Entry)>, Fault> {
    let repo = &vault.repo;
    let Some(entry) = repo.entry_at(repo.tree_of(commit)?, path)? else { return Ok(Vec::new()) };
    if entry.mode != mode::TREE {
        return Ok(vec![(path.clone(), entry)]);
    }
    let below = repo.files(entry.oid)?.into_iter();
    let named = |tail: Vec<u8>| path.join(std::str::from_utf8(&tail).ok()?).ok();
    Ok(below.filter_map(|(tail, entry)| Some((named(tail)?, entry))).collect())
}

/// What a file that an operation wrote must become.
enum Becomes {
    /// It is there already: the run that wrote it was killed, or a run that took it back was.
    Done,
    /// These bytes, in the place of those.
    Bytes { now: Option<Vec<u8>>, then: Option<Vec<u8>> },
}

/// `None`: somebody changed it since. `writes` is what was written to it, the last first.
fn current(root: &Path, path: &VaultPath, writes: &[Write<'_>]) -> Result<Option<Becomes>, Fault> {
    let now = match files::place_to_read(root, path)?.symlink_metadata() {
        Ok(_) => Some(files::read(root, path)?),
        Err(_) => None,
    };
    let mut then = now.clone();
    let mut is = then.as_deref().map(Repo::hash_blob);
    if writes.last().is_none_or(|first| is == first.before) {
        return Ok(Some(Becomes::Done));
    }
    for write in writes {
        // The run that noted it was killed before it wrote.
        if is == write.before {
            continue;
        }
        if is != write.after {
            return Ok(None);
        }
        then = match write.before {
            None => None,
            Some(_) => write.patch.unapply(then.as_deref().unwrap_or_default()),
        };
        is = then.as_deref().map(Repo::hash_blob);
        // The journal was edited by hand.
        if is != write.before {
            return Ok(None);
        }
    }
    Ok(Some(Becomes::Bytes { now, then }))
}

/// The places at which taking back changes something.
fn changing(root: &Path, vault: &Vault<'_>, effects: &[Effect]) -> Result<Vec<VaultPath>, Fault> {
    let mut out = Vec::new();
    for effect in effects {
        match effect {
            Effect::Moved { from, to } if is_there(root, to)? => out.extend([from.clone(), to.clone()]),
            Effect::Removed { path, commit } => {
                let missing = entries(vault, path, *commit)?;
                out.extend(
                    missing
                        .into_iter()
                        .map(|(path, _)| path)
                        .filter(|path| !is_there(root, path).unwrap_or(true)),
                );
            }
            Effect::PutAway { path, .. } | Effect::Restored { path, .. } => out.push(path.clone()),
            _ => {}
        }
    }
    for (path, writes) in writes_of(effects) {
        if matches!(current(root, &path, &writes)?, Some(Becomes::Bytes { .. })) {
            out.push(path);
        }
    }
    Ok(out)
}

/// Takes back what was done to files, the last first. What fails is put back by whoever has the whole.
pub(super) fn take_back(whole: &mut Whole<'_, '_>, effects: &[Effect]) -> Result<(), Fault> {
    if !any(effects) {
        return Ok(());
    }
    let vault = whole.vault;
    let root = vault.root()?;
    whole.ready(changing(root, vault, effects)?)?;
    let is_file = |effect: &Effect| matches!(effect, Effect::File { .. });
    let mut runs: Vec<&[Effect]> = effects.chunk_by(|a, b| is_file(a) && is_file(b)).collect();
    runs.reverse();
    for run in runs {
        match run {
            [Effect::Moved { from, to }] => move_back(whole, from, to)?,
            [Effect::Removed { path, commit }] => bring_again(whole, path, *commit)?,
            [Effect::PutAway { path, kept }] => {
                let Some(kept) = put_away(vault, path, kept) else { continue };
                bring_back(whole, path, kept)?;
            }
            [Effect::Restored { path, .. }] => {
                let was = files::place(root, path)?;
                let head = remove::head(vault)?;
                let path = path.clone();
                match (remove::away(vault, &path)?, head) {
                    (Some(now), _) => whole.did(Step::Renamed { path, was, now }),
                    (None, Some(commit)) => whole.did(Step::Removed { path, commit }),
                    // What no commit has is kept.
                    (None, None) => {}
                }
            }
            files if files.iter().all(is_file) => write_back(whole, files)?,
            _ => {}
        }
    }
    Ok(())
}

/// Brings back what git has, if anything of it is missing.
fn bring_again(whole: &mut Whole<'_, '_>, path: &VaultPath, commit: Oid) -> Result<(), Fault> {
    if !restore(whole, path, commit)? {
        return Ok(());
    }
    let again = Effect::Restored { path: path.clone(), commit: Some(commit), content: None };
    super::note(whole.vault, whole.what, vec![again])
}

/// Brings back what was put away.
fn bring_back(whole: &mut Whole<'_, '_>, path: &VaultPath, kept: PathBuf) -> Result<(), Fault> {
    let (vault, what) = (whole.vault, whole.what);
    let place = files::place(vault.root()?, path)?;
    // A rename would replace it.
    if place.symlink_metadata().is_ok() {
        let why = "stands there again";
        return Err(UndoError::Changed { what: what.to_owned(), path: path.clone(), why }.into());
    }
    let io = whole.io(path);
    if let Some(directory) = place.parent() {
        std::fs::create_dir_all(directory).map_err(&io)?;
    }
    let content = Some(kept::content(&kept).map_err(&io)?);
    std::fs::rename(&kept, &place).map_err(&io)?;
    whole.did(Step::Renamed { path: path.clone(), was: kept, now: place });
    super::note(vault, what, vec![Effect::Restored { path: path.clone(), commit: None, content }])
}

fn move_back(whole: &mut Whole<'_, '_>, from: &VaultPath, to: &VaultPath) -> Result<(), Fault> {
    let root = whole.vault.root()?;
    let (source, target) = (files::place(root, from)?, files::place(root, to)?);
    if target.symlink_metadata().is_err() {
        return Ok(());
    }
    if source.symlink_metadata().is_ok() && !files::is_same(&source, &target) {
        let why = "stands there again";
        return Err(UndoError::Changed { what: whole.what.to_owned(), path: from.clone(), why }.into());
    }
    let kind = if target.is_dir() { Stands::Directory } else { Stands::File };
    mv::place_anew(kind, (to, &target), (from, &source))?;
    whole.did(Step::Renamed { path: to.clone(), was: target, now: source });
    remove::remove_empty_parents(root, to);
    Ok(())
}

/// Gives files their old bytes; those that only have other bytes than before all at once.
fn write_back(whole: &mut Whole<'_, '_>, effects: &[Effect]) -> Result<(), Fault> {
    let root = whole.vault.root()?;
    let what = whole.what;
    let changed = |path: &VaultPath| {
        let why = "was changed in this moment";
        UndoError::Changed { what: what.to_owned(), path: path.clone(), why }
    };
    let mut jobs: Vec<(VaultPath, Vec<u8>, Vec<u8>)> = Vec::new();
    let mut gone: Vec<(VaultPath, Vec<u8>)> = Vec::new();
    for (path, writes) in writes_of(effects) {
        match current(root, &path, &writes)?.ok_or_else(|| changed(&path))? {
            Becomes::Bytes { now: Some(now), then: Some(then) } => jobs.push((path, now, then)),
            Becomes::Bytes { now: None, then: Some(then) } => gone.push((path, then)),
            Becomes::Bytes { now: Some(_), then: None } => whole.take_away(&path)?,
            Becomes::Bytes { now: None, then: None } | Becomes::Done => {}
        }
    }
    // Many at once: each waits for the disk, and all wait as long as one.
    let creations: Vec<(&VaultPath, &[u8])> =
        gone.iter().map(|(path, bytes)| (path, bytes.as_slice())).collect();
    make(whole, &creations)?;
    let replacements: Vec<Replacement<'_>> =
        jobs.iter().map(|(path, old, new)| Replacement { path, old, new }).collect();
    let results = files::replace_all(root, &replacements);
    let mut failed = None;
    for (result, (path, was, now)) in results.into_iter().zip(jobs) {
        match result {
            Ok(true) => whole.did(Step::Wrote { path, was, now }),
            Ok(false) => failed = failed.or_else(|| Some(changed(&path).into())),
            Err(error) => failed = failed.or_else(|| Some(error.into())),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Makes files where nothing stands.
fn make(whole: &mut Whole<'_, '_>, jobs: &[(&VaultPath, &[u8])]) -> Result<(), Fault> {
    let mut failed = None;
    for (result, (path, bytes)) in files::create_all(whole.vault.root()?, jobs).into_iter().zip(jobs) {
        match result {
            Ok(()) => whole.did(Step::Made { path: (*path).clone(), blob: Repo::hash_blob(bytes) }),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Writes again what a commit has at a path, byte for byte: it was removed because it had just these bytes. Whether
/// anything was missing.
pub(super) fn restore(whole: &mut Whole<'_, '_>, path: &VaultPath, commit: Oid) -> Result<bool, Fault> {
    let vault = whole.vault;
    let root = vault.root()?;
    let mut missing = entries(vault, path, commit)?;
    missing.retain(|(path, entry)| !has(root, path, entry.oid));
    for some in missing.chunks(1024) {
        vault.env.go_on()?;
        let mut bytes = Vec::with_capacity(some.len());
        for (_, entry) in some {
            bytes.push(vault.repo.blob(entry.oid)?);
        }
        let jobs: Vec<(&VaultPath, &[u8])> =
            some.iter().zip(&bytes).map(|((path, _), bytes)| (path, bytes.as_slice())).collect();
        make(whole, &jobs)?;
        for (path, _) in some.iter().filter(|(_, entry)| entry.mode == mode::EXECUTABLE) {
            files::set_executable(&files::place(root, path)?, true).map_err(whole.io(path))?;
        }
    }
    Ok(!missing.is_empty())
}
