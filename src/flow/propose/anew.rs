//! The same change on today's main: cutting a proposal anew, and the inverse of one.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::content::commit;
use super::{New, ProposeError, may_propose, may_propose_at_all};
use crate::flow::branch::{Branch, BranchError};
use crate::flow::events::{self, advance};
use crate::flow::vault::Vault;
use crate::model::actor::Actor;
use crate::model::change::{Change, ChangeSet, DiffRecord, Entry, mode};
use crate::model::event::Open;
use crate::model::fault::Fault;
use crate::model::id::{Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::uri::Uri;
use crate::store::git::{Merged, Repo, merge};

/// A file where a change and later edits do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Clash {
    /// The file.
    pub uri: String,
    /// The lines of main that both sides changed, counted from 1, both ends included.
    pub lines: Vec<(u32, u32)>,
    /// Why.
    pub why: String,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.uri)?;
        for (at, (from, to)) in self.lines.iter().enumerate() {
            f.write_str(if at == 0 { " " } else { ", " })?;
            if from == to { write!(f, "line {from}")? } else { write!(f, "lines {from}–{to}")? }
        }
        write!(f, ": {}", self.why)
    }
}

/// A change put on another tree than the one that it was made for.
#[derive(Debug, Default)]
pub struct Combined {
    /// What changes on that tree.
    pub changes: ChangeSet,
    /// Whether later edits had to be merged with it: then it is no longer the same change.
    pub merged: bool,
    /// Where that did not work.
    pub clashes: Vec<Clash>,
}

/// Puts the change that some records describe on a tree: as it is where the tree has what the change began with,
/// merged by lines where both sides changed a text.
///
/// # Errors
/// When an object cannot be read or written.
pub fn combine(repo: &Repo, tree: Oid, records: &[DiffRecord]) -> Result<Combined, Fault> {
    let mut out = Combined::default();
    let entry = |of: u32, oid: Oid| (of != mode::NONE).then_some(Entry { mode: of, oid });
    for record in records {
        let (old, new) = (entry(record.old_mode, record.old_oid), entry(record.new_mode, record.new_oid));
        let Some(path) = record.vault_path() else {
            let uri = format!("viking://{}", String::from_utf8_lossy(&record.path));
            out.clashes.push(Clash {
                uri,
                lines: Vec::new(),
                why: "the name is none that a vault can have".to_owned(),
            });
            continue;
        };
        let now = repo.entry_at(tree, &path)?;
        if now == new {
            continue;
        }
        let change = if now == old { Ok(new) } else { both(repo, old, now, new)? };
        match change {
            Ok(change) => {
                out.merged |= now != old;
                if change != now {
                    out.changes.changes.insert(path, change.map_or(Change::Delete, Change::Put));
                }
            }
            Err((lines, why)) => {
                let uri = Uri::file(path).to_string();
                out.clashes.push(Clash { uri, lines, why: why.to_owned() });
            }
        }
    }
    Ok(out)
}

type Verdict = Result<Option<Entry>, (Vec<(u32, u32)>, &'static str)>;

/// Both sides changed a path.
fn both(repo: &Repo, old: Option<Entry>, now: Option<Entry>, new: Option<Entry>) -> Result<Verdict, Fault> {
    let is_file = |entry: Entry| matches!(entry.mode, mode::FILE | mode::EXECUTABLE);
    let none = |why| Ok(Err((Vec::new(), why)));
    match (old, now, new) {
        (_, None, Some(_)) => none("it was removed since"),
        (None, Some(_), _) => none("something else was put there since"),
        (Some(_), Some(_), None) => none("it was edited since, so it is not removed"),
        (Some(old), Some(now), Some(new)) if [old, now, new].into_iter().all(is_file) => {
            match merge(&repo.blob(old.oid)?, &repo.blob(now.oid)?, &repo.blob(new.oid)?)? {
                Merged::Clean(bytes) => Ok(Ok(Some(Entry { mode: now.mode, oid: repo.write_blob(&bytes)? }))),
                Merged::Conflict(lines) => Ok(Err((lines, "the same lines were edited since"))),
            }
        }
        _ => none("it became something else since"),
    }
}

/// The change of another proposal, cut anew from today's main as a proposal of its own.
///
/// # Errors
/// [`ProposeError::Clash`] where main and the change do not fit together.
pub fn anew(vault: &Vault<'_>, actor: &Actor, from: &ProposalId, title: Option<&str>) -> Result<New, Fault> {
    may_propose_at_all(actor)?;
    let (tip, _) = Branch::find(&vault.repo, from)?;
    let main = vault.main()?;
    let branch = match Branch::read(&vault.repo, from, tip, main) {
        // Its base is no longer on main: what it changes is read against its own history.
        Err(BranchError::Detached { .. }) => Branch::read(&vault.repo, from, tip, tip)?,
        other => other?,
    };
    let old_title = branch.open().map(|(_, _, open)| open.title.clone()).unwrap_or_default();
    let title = super::one_line(title.unwrap_or(&old_title));
    let combined = combine(&vault.repo, vault.repo.tree_of(main)?, &branch.records)?;
    let open = Open { base: main, from: Some(from.clone()), rollback_of: None, title };
    begin(vault, actor, open, combined, &format!("Take over the change of {from}"))
}

/// Opens a proposal with a change in it.
pub(in crate::flow) fn begin(
    vault: &Vault<'_>,
    actor: &Actor,
    open: Open,
    combined: Combined,
    subject: &str,
) -> Result<New, Fault> {
    if !combined.clashes.is_empty() {
        return Err(ProposeError::Clash(combined.clashes).into());
    }
    if combined.changes.is_empty() {
        return Err(ProposeError::Nothing("the approved branch has all of it already".to_owned()).into());
    }
    may_propose(&vault.governance(open.base)?, actor, &combined.changes)?;
    let tree = vault.repo.write_tree(Some(vault.repo.tree_of(open.base)?), &combined.changes)?;
    let (base, from, title) = (open.base, open.from.clone(), open.title.clone());
    let opened = events::open(vault, actor, open)?;
    let commit = commit(vault, actor, tree, opened.tip, subject)?;
    advance(&vault.repo, &opened.id, opened.tip, commit, &format!("runebook: {subject}"))?;
    let files = combined.changes.changes.keys().map(VaultPath::to_string).collect();
    Ok(New { branch: format!("proposal/{}", opened.id), id: opened.id, title, base, from, files })
}
