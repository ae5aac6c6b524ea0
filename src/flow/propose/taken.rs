//! A person's uncommitted edits as a proposal. The work tree stays as it is.

use schemars::JsonSchema;
use serde::Serialize;

use super::content::{Written, change};
use super::{ProposeError, may_propose, new};
use crate::flow::belongs;
use crate::flow::commit::CommitError;
use crate::flow::unread::Unread;
use crate::flow::vault::Vault;
use crate::model::actor::Actor;
use crate::model::change::{Change, ChangeSet, mode};
use crate::model::fault::Fault;
use crate::model::id::ProposalId;
use crate::model::path::VaultPath;
use crate::store::git::{Edited, Head};

/// What was taken.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Taken {
    /// What was written, and to which proposal.
    #[serde(flatten)]
    pub written: Written,
    /// Edited files that were left out, since they are no Markdown; naming them takes them.
    pub left_out: Vec<VaultPath>,
    /// What could not be looked at, and is not part of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// Takes the uncommitted edits of this work tree, all Markdown or what stands below `paths`, as a new proposal or into
/// the one that is named.
///
/// # Errors
/// When nothing is edited, the work tree is not on main, or the policy reserves a path.
pub fn from_worktree(
    vault: &Vault<'_>,
    actor: &Actor,
    into: Option<&ProposalId>,
    paths: &[VaultPath],
    title: Option<&str>,
) -> Result<Taken, Fault> {
    vault.root()?;
    match vault.repo.head()? {
        Head::Branch(name, _) if name == vault.config.main_branch => {}
        Head::Branch(name, _) => return Err(ProposeError::NotOnMain(format!("`{name}`")).into()),
        Head::Detached(oid) => {
            return Err(ProposeError::NotOnMain(format!("the commit {}", oid.short())).into());
        }
    }
    let mut edited = vault.repo.edited(paths)?;
    let mut unread = Vec::new();
    for one in &edited {
        let Some(why) = &one.unseen else { continue };
        let told = Unread::new(one.path.clone(), why);
        if paths.iter().any(|path| path.is_within(&told.path)) {
            return Err(CommitError::Unread(told).into());
        }
        unread.push(told);
    }
    edited.retain(|one| one.unseen.is_none());
    if let Some(one) = paths.iter().find(|path| path.gits_own().is_some()) {
        belongs::storable(one)?;
    }
    edited.retain(|one| one.new.is_none() || one.path.gits_own().is_none());
    // Without names only memories are meant: an editor's own files change by themselves.
    let meant = |one: &Edited| !paths.is_empty() || (one.path.is_markdown() && !one.path.is_hidden());
    let (taken, left): (Vec<Edited>, Vec<Edited>) = edited.into_iter().partition(meant);
    let left_out: Vec<VaultPath> = left.into_iter().map(|one| one.path).collect();
    if taken.is_empty() {
        let also = if left_out.is_empty() {
            String::new()
        } else {
            format!(" ({} other files are)", left_out.len())
        };
        return Err(ProposeError::Nothing(format!("no memory of this work tree is edited{also}")).into());
    }
    let mut changes = ChangeSet::default();
    for one in &taken {
        if one.new.is_some_and(|entry| entry.mode != mode::LINK) {
            vault.repo.own_form(&one.path)?;
        }
        changes.changes.insert(one.path.clone(), one.new.map_or(Change::Delete, Change::Put));
    }
    may_propose(&vault.governance(vault.main()?)?, actor, &changes)?;
    let subject = match taken.as_slice() {
        [one] => format!("Take the edits of {}", one.path),
        many => format!("Take the edits of {} files", many.len()),
    };
    let id = match into {
        Some(id) => id.clone(),
        None => new(vault, actor, title.unwrap_or(&subject))?.id,
    };
    let written = change(vault, actor, &id, |_| Ok((changes.clone(), subject.clone())))?;
    Ok(Taken { written, left_out, unread })
}
