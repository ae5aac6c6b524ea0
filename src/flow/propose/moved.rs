//! Moving within a proposal: a file or directory gets another name, and links follow it, all in one commit.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::content::{Written, change, entry, entry_for, missing};
use super::{ProposeError, may_propose, putting, whole_file};
use crate::check::Tree as _;
use crate::flow::belongs;
use crate::flow::branch::Branch;
use crate::flow::check::{GitTree, catalog};
use crate::flow::heal::{self, Between, Healing, LeftLink, Moves, Plan, link_key};
use crate::flow::own::of_its_kind;
use crate::flow::progress::Silent;
use crate::flow::reader::Reader;
use crate::flow::vault::Vault;
use crate::markdown;
use crate::model::access::{Access, View};
use crate::model::actor::Actor;
use crate::model::change::{Change, ChangeSet, Entry, mode};
use crate::model::fault::Fault;
use crate::model::id::ProposalId;
use crate::model::link::name_key;
use crate::model::path::VaultPath;
use crate::model::uri::Uri;
use crate::store::git::GitError;

/// What was moved within a proposal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MovedIn {
    /// What was written, and to which proposal.
    #[serde(flatten)]
    pub written: Written,
    /// Where it stood.
    pub from: VaultPath,
    /// Where it stands.
    pub to: VaultPath,
    /// The links that follow it.
    pub links: Healing,
}

/// Moves a file or a directory within a proposal. Links that would no longer lead there are changed in the same
/// commit, as `mv` does it, unless they shall stay.
///
/// # Errors
/// When there is nothing, or something at the new place already; and as [`change`].
pub fn mv(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    (from, to): (&Uri, &Uri),
    keep_links: bool,
    message: Option<&str>,
) -> Result<MovedIn, Fault> {
    let source = whole_file(from)?;
    let done = RefCell::new((source.clone(), Healing::default()));
    let written = change(vault, actor, id, |branch| {
        let found = entry(vault, actor, branch, &source)?;
        let entry = found.ok_or_else(|| missing(vault, actor, branch, from))?;
        // Into a directory that is there, under the old name.
        let into = vault.repo.entry_at(branch.tree, &to.path)?.is_some_and(|e| e.mode == mode::TREE);
        let target = match entry.mode {
            _ if into || to.directory => to.path.join(source.name())?,
            mode::TREE => whole_file(to)?,
            _ => of_its_kind(&source, whole_file(to)?)?,
        };
        if vault.repo.entry_at(branch.tree, &target)?.is_some() {
            return Err(ProposeError::Exists { uri: Uri::file(target).to_string() }.into());
        }
        if target.is_within(&source) {
            return Err(ProposeError::Exists { uri: from.to_string() }.into());
        }
        let mut changes = ChangeSet::default();
        let mut moved = Vec::new();
        for (tail, entry) in below(vault, actor, &source, entry)? {
            let at = |base: &VaultPath| if tail.is_empty() { Ok(base.clone()) } else { base.join(&tail) };
            changes.delete(at(&source)?);
            changes.changes.insert(at(&target)?, Change::Put(entry));
            moved.push((at(&source)?, at(&target)?));
        }
        belongs::moved_in_tree(vault, &moved)?;
        let moved: Vec<VaultPath> = moved.into_iter().map(|(old, _)| old).collect();
        let mut healing = Healing::default();
        if !keep_links {
            let plan = plan(vault, actor, branch, (&source, &target), &moved)?;
            healing = taken(vault, actor, branch, plan, &mut changes)?;
        }
        done.replace((target.clone(), healing));
        let subject = message.map_or_else(|| format!("Move {source} to {target}"), str::to_owned);
        Ok((changes, subject))
    })?;
    let (to, links) = done.into_inner();
    Ok(MovedIn { written, from: source, to, links })
}

/// Which links must change, in the memories that the actor may read.
fn plan(
    vault: &Vault<'_>,
    actor: &Actor,
    branch: &Branch,
    (old, new): (&VaultPath, &VaultPath),
    moved: &[VaultPath],
) -> Result<Plan, Fault> {
    let tree = GitTree::new(&vault.repo, branch.tree, &vault.config, catalog(vault));
    let mut keys: BTreeSet<String> = [link_key(old.name()), link_key(new.name())].into();
    let mut docs: BTreeSet<VaultPath> = moved.iter().filter(|path| path.is_markdown()).cloned().collect();
    for path in moved {
        keys.insert(link_key(path.name()));
        let above = path.ancestors().take_while(|above| above.is_within(old));
        keys.extend(above.map(|above| link_key(above.name())));
        if let Some(bytes) = tree.read(path).filter(|_| path.is_markdown()) {
            let memory = markdown::read(path, &bytes, &vault.config);
            keys.extend(memory.front.aliases.iter().map(|alias| name_key(alias)));
        }
    }
    docs.extend(keys.iter().flat_map(|key| tree.referrers(key)));
    let mut read: BTreeMap<VaultPath, Vec<u8>> = BTreeMap::new();
    let reader = Reader::new(vault, Access { actor: Some(actor.clone()), view: View::Main })?;
    for path in docs {
        vault.env.go_on()?;
        // What the actor may not read is not there for it, and nothing is said of it.
        if entry_for(&reader, actor, branch, &path)?.is_some()
            && let Some(bytes) = tree.read(&path)
        {
            read.insert(path, bytes);
        }
    }
    let docs: Vec<VaultPath> = read.keys().cloned().collect();
    let moves = Moves { whole: Some((old.clone(), new.clone())), ..Moves::default() };
    let before = tree.names();
    let after = heal::names::Moved::new(before, (old, new), moved);
    let between = Between { before, after: &after, moves: &moves, broken_only: false };
    let home = |path: &VaultPath| (path.clone(), moves.after(path));
    let plan = heal::plan_from(vault, &docs, &|path| read.get(path).cloned(), &between, &home, &Silent)?;
    let rewrites = plan.rewrites.into_iter().map(|one| one.placed(&|path| moves.after(path))).collect();
    tree.finish()?;
    Ok(Plan { rewrites, left: plan.left })
}

/// Takes the changed memories into the change, those that the actor may change; links of the others are left.
fn taken(
    vault: &Vault<'_>,
    actor: &Actor,
    branch: &Branch,
    plan: Plan,
    changes: &mut ChangeSet,
) -> Result<Healing, Fault> {
    let governance = vault.governance(vault.main()?)?;
    let mut healing = Healing { left: plan.left, ..Healing::default() };
    for rewrite in plan.rewrites {
        let probe = putting(rewrite.path.clone(), Change::Delete);
        if let Err(why) = may_propose(&governance, actor, &probe) {
            let why = why.to_string();
            let left = |link: heal::HealedLink| {
                let (path, line, link) = (link.path, link.line, link.old);
                LeftLink { path, line, link, why: why.clone() }
            };
            healing.left.extend(rewrite.links.into_iter().map(left));
            continue;
        }
        let entry = match changes.changes.get(&rewrite.path) {
            Some(Change::Put(entry)) => Some(*entry),
            _ => vault.repo.entry_at(branch.tree, &rewrite.path)?,
        };
        let oid = vault.repo.write_blob(&rewrite.new)?;
        let mode = entry.map_or(mode::FILE, |entry| entry.mode);
        changes.changes.insert(rewrite.path, Change::Put(Entry { mode, oid }));
        healing.files += 1;
        healing.healed.extend(rewrite.links);
    }
    Ok(healing)
}

/// The files at or below a place, by their path from there, as far as the actor may read them: what is hidden stays
/// where it is, as if it did not exist. Of a directory the generated summaries are left: a merge makes those that its
/// tree has, and takes the others away.
pub(super) fn below(
    vault: &Vault<'_>,
    actor: &Actor,
    at: &VaultPath,
    entry: Entry,
) -> Result<Vec<(String, Entry)>, Fault> {
    if entry.mode != mode::TREE {
        return Ok(vec![(String::new(), entry)]);
    }
    let name = |path: Vec<u8>| {
        // A name that is only nearly the file's would move or remove another one, or none.
        String::from_utf8(path).map_err(|e| GitError::Other {
            doing: format!("taking {}", String::from_utf8_lossy(e.as_bytes())),
            why: "the name is not UTF-8".to_owned(),
        })
    };
    let reader = Reader::new(vault, Access { actor: Some(actor.clone()), view: View::Main })?;
    let mut out = Vec::new();
    for (tail, entry) in vault.repo.files(entry.oid)? {
        let tail = name(tail)?;
        let path = at.join(&tail)?;
        if path.is_layer() {
            continue;
        }
        let is_file = matches!(entry.mode, mode::FILE | mode::EXECUTABLE);
        if reader.access.may_read(&path) && (!is_file || reader.is_cleared(&path, entry.oid)?) {
            out.push((tail, entry));
        }
    }
    Ok(out)
}
