//! A person's own commit on the approved branch.

use std::collections::HashSet;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::acting;
use super::gate::governance::is_settings;
use super::own::OwnError;
use super::reader::is_git;
use super::undo;
use super::unread::Unread;
use super::vault::{Governance, Vault};
use crate::layers::{Stamped, stamped};
use crate::model::actor::{Actor, Role};
use crate::model::change::{Change, ChangeSet};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::{ActorId, Oid};
use crate::model::path::VaultPath;
use crate::model::policy::Direct;
use crate::store::files;
use crate::store::git::{Differs, Head, OwnCommit, Unseen, WorkChange};
use crate::store::lock::{self, Lock};
use crate::store::operations::Effect;

/// What is asked of `commit`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The message; made from the changes if left out.
    pub message: Option<String>,
    /// What to commit, with what stands below; empty means every change.
    pub paths: Vec<VaultPath>,
    /// Whether files that are no Markdown are added too.
    pub all: bool,
}

/// One file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Committed {
    /// The file.
    pub path: VaultPath,
    /// How it changed.
    pub change: Differs,
}

/// What `commit` did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answer {
    /// The commit; absent when nothing was to be committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// Who made it.
    pub actor: ActorId,
    /// The approved branch.
    pub branch: String,
    /// The first line of its message.
    pub subject: String,
    /// Its files.
    pub files: Vec<Committed>,
    /// How many generated summaries of directories it writes or removes beside them.
    pub summaries: u64,
    /// Git's hooks that did not run and that `git commit` would have run.
    pub hooks_not_run: Vec<String>,
    /// New files that were not asked for: no Markdown, or hidden.
    pub left: Vec<VaultPath>,
    /// What could not be looked at and is as the last commit has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
}

/// Why nothing is committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Another branch is checked out.
    #[error("`{at}` is checked out, and approved memories stand on `{main}`")]
    OtherBranch {
        /// What is checked out.
        at: String,
        /// The approved branch.
        main: String,
    },
    /// Git is in the middle of something.
    #[error("git's {0} is under way")]
    UnderWay(&'static str),
    /// Files are unmerged.
    #[error("`{0}` has an unresolved conflict")]
    Unmerged(VaultPath),
    /// The policy lets others change a path.
    #[error("{} may not commit directly: {}", actor, list(paths))]
    Reserved {
        /// Who acts.
        actor: ActorId,
        /// The paths and who may.
        paths: Vec<(VaultPath, Direct)>,
    },
    /// What was named cannot be looked at.
    #[error("`{}`: {}", .0.path, .0.why)]
    Unread(Unread),
    /// A name is no UTF-8.
    #[error("a changed file has a name that is not UTF-8")]
    Name,
}

fn list(paths: &[(VaultPath, Direct)]) -> String {
    let words = |direct: &Direct| match direct {
        Direct::Person => "persons",
        Direct::Admin => "admins only",
        Direct::Nobody => "by proposal only",
    };
    let mut shown: Vec<String> =
        paths.iter().take(10).map(|(p, direct)| format!("{p} ({})", words(direct))).collect();
    if paths.len() > 10 {
        shown.push(format!("and {} more", paths.len() - 10));
    }
    shown.join(", ")
}

impl Explain for CommitError {
    fn kind(&self) -> Kind {
        match self {
            CommitError::OtherBranch { .. } => Kind::Usage,
            CommitError::UnderWay(_) | CommitError::Unmerged(_) => Kind::Conflict,
            CommitError::Reserved { .. } => Kind::NotAllowed,
            CommitError::Unread(_) | CommitError::Name => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            CommitError::OtherBranch { main, .. } => Some(format!(
                "switch to it with `git switch {main}` and commit there; on another branch use `git commit`"
            )),
            CommitError::UnderWay("bisect") => Some("end it with `git bisect reset`".to_owned()),
            CommitError::UnderWay(what) => Some(format!("finish it, or end it with `git {what} --abort`")),
            CommitError::Unmerged(path) => Some(format!("resolve it in {path}, then `git add {path}`")),
            CommitError::Reserved { .. } => Some(
                "propose them with `runebook propose from-worktree`, or commit other files by naming them; `runebook doctor PATH` explains the rule".to_owned(),
            ),
            CommitError::Unread(unread) => Some(unread.hint.clone()),
            CommitError::Name => Some("rename it; `runebook doctor` names it".to_owned()),
        }
    }
}

/// That main is checked out and nothing of git's is half done.
///
/// # Errors
/// When it is not so.
pub fn on_main(vault: &Vault<'_>) -> Result<(), Fault> {
    vault.root()?;
    let main = vault.config.main_branch.clone();
    match vault.repo.head()? {
        Head::Branch(branch, _) if branch == main => {}
        Head::Branch(at, _) => return Err(CommitError::OtherBranch { at, main }.into()),
        Head::Detached(oid) => return Err(CommitError::OtherBranch { at: oid.short(), main }.into()),
    }
    match vault.repo.under_way() {
        Some(what) => Err(CommitError::UnderWay(what).into()),
        None => Ok(()),
    }
}

/// Whether the policy lets an actor commit a path without a proposal.
///
/// # Errors
/// Who may instead.
pub fn may_commit(governance: &Governance, actor: &Actor, path: &VaultPath) -> Result<(), Direct> {
    let direct = match governance.rules.for_path(path).direct {
        // Whatever a policy forgot to say: the audit holds to the same.
        Direct::Person if is_settings(path) => Direct::Admin,
        direct => direct,
    };
    let may = actor.is_person()
        && match direct {
            Direct::Person => true,
            Direct::Admin => actor.has(Role::Admin),
            Direct::Nobody => false,
        };
    if may { Ok(()) } else { Err(direct) }
}

/// Commits a person's changes on main as that person. Staged work that is not asked for stays staged; what cannot be
/// looked at stays as the last commit has it.
///
/// # Errors
/// When an agent acts, another branch is checked out, the policy reserves a path, or one that is named cannot be read.
/// Nothing has changed then.
pub fn commit(vault: &Vault<'_>, asked: Option<&str>, request: &Request) -> Result<Answer, Fault> {
    let governance = vault.governance(vault.main()?)?;
    let actor = acting::acting(vault, &governance, asked)?;
    if !actor.is_person() {
        return Err(OwnError::Agent { verb: "commit", actor: actor.id.to_string() }.into());
    }
    on_main(vault)?;
    let _lock = Lock::take(&vault.derived_dir().join("lock"), "commit", lock::PATIENCE)?;
    super::merge::recover(vault)?;
    // Main may have moved while we waited.
    let governance = vault.governance(vault.main()?)?;
    let generated = |path: &VaultPath| {
        let bytes = || files::read(vault.root().ok()?, path).ok();
        path.is_layer() && bytes().is_some_and(|bytes| stamped(&bytes) != Stamped::Foreign)
    };
    let (wanted, left, mut unread) = select(vault.repo.changes(&request.paths)?, request, &generated)?;
    let refused: Vec<(VaultPath, Direct)> = wanted
        .iter()
        .filter_map(|file| may_commit(&governance, &actor, &file.path).err().map(|d| (file.path.clone(), d)))
        .collect();
    if !refused.is_empty() {
        return Err(CommitError::Reserved { actor: actor.id, paths: refused }.into());
    }
    let root = vault.root()?;
    let (wanted, mut changes) = stored(vault, request, wanted, &mut unread)?;
    let message = message(request.message.as_deref(), &wanted);
    let layers = layers(vault, &changes)?;
    let own = |path: &&VaultPath| !changes.changes.contains_key(*path);
    let summaries = layers.changes.keys().filter(own).count() as u64;
    changes.changes.extend(layers.changes.clone());
    let subject = message.lines().next().unwrap_or_default().to_owned();
    let ident = acting::ident(vault, &actor);
    let commit = if changes.is_empty() {
        None
    } else {
        with_layers(root, &layers, || {
            Ok(vault.repo.commit_own(&OwnCommit { changes: &changes, ident, message })?)
        })?
    };
    if let Some(commit) = commit {
        undo::note_done(
            vault,
            &format!("commit {}: {subject}", commit.short()),
            Effect::Committed { commit },
        );
    }
    let (files, summaries, hooks_not_run) = match commit {
        Some(_) => (wanted, summaries, super::hooks::not_run(vault)),
        None => Default::default(),
    };
    let (actor, branch) = (actor.id, vault.config.main_branch.clone());
    Ok(Answer { commit, actor, branch, subject, files, summaries, hooks_not_run, left, unread })
}

/// Stores what is committed. What nobody named and cannot be read is left, and told.
fn stored(
    vault: &Vault<'_>,
    request: &Request,
    wanted: Vec<Committed>,
    unread: &mut Vec<Unread>,
) -> Result<(Vec<Committed>, ChangeSet), Fault> {
    let root = vault.root()?;
    let mut changes = ChangeSet::default();
    let mut taken = Vec::with_capacity(wanted.len());
    for file in wanted {
        vault.env.go_on()?;
        let change = match vault.repo.add_file(root, &file.path) {
            Ok(Some(entry)) => Change::Put(entry),
            Ok(None) => Change::Delete,
            Err(error) => {
                let Some(why) = Unseen::of(root, &file.path) else { return Err(error.into()) };
                leave(Unread::new(file.path, &why), request, unread)?;
                continue;
            }
        };
        changes.changes.insert(file.path.clone(), change);
        taken.push(file);
    }
    Ok((taken, changes))
}

/// Leaves what cannot be looked at, unless it, or something in it, was named.
fn leave(one: Unread, request: &Request, unread: &mut Vec<Unread>) -> Result<(), CommitError> {
    let names = |path: &VaultPath| {
        path.is_within(&one.path) || (path.gits_own().is_some() && one.path.is_within(path))
    };
    if request.paths.iter().any(names) {
        return Err(CommitError::Unread(one));
    }
    unread.push(one);
    Ok(())
}

/// The layer files that go with a change. A file of that name that a person changed stays, and is not part of the commit
/// then.
fn layers(vault: &Vault<'_>, changes: &ChangeSet) -> Result<ChangeSet, Fault> {
    let head = vault.repo.tree_of(vault.main()?)?;
    let tree = vault.repo.write_tree(Some(head), changes)?;
    let mut layers = super::layers::files::regenerated(vault, tree, changes.changes.keys())?;
    let root = vault.root()?;
    layers.changes.retain(|path, _| super::layers::files::is_free(root, path));
    Ok(layers)
}

/// Does something with layer files in their places in the work tree. Where it fails they are as they were.
fn with_layers<T>(
    root: &Path,
    layers: &ChangeSet,
    work: impl FnOnce() -> Result<T, Fault>,
) -> Result<T, Fault> {
    let stood: Vec<(&VaultPath, Option<Vec<u8>>)> =
        layers.changes.keys().map(|path| (path, files::read(root, path).ok())).collect();
    let done = super::layers::files::place(root, layers).and_then(|()| work());
    if done.is_err() {
        let mut back = ChangeSet::default();
        for (path, bytes) in stood {
            back.changes.insert(path.clone(), bytes.map_or(Change::Delete, Change::Write));
        }
        // What failed is told; a layer file that stays behind is generated anew by the next commit.
        let _ = super::layers::files::place(root, &back);
    }
    done
}

/// What is committed, what new files are left alone because nobody asked for them, and what cannot be looked at.
type Selected = (Vec<Committed>, Vec<VaultPath>, Vec<Unread>);

/// Sorts out what changed.
fn select(
    changes: Vec<WorkChange>,
    request: &Request,
    generated: &dyn Fn(&VaultPath) -> bool,
) -> Result<Selected, CommitError> {
    let (mut wanted, mut left, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    let all_named: HashSet<&VaultPath> = request.paths.iter().collect();
    for change in changes {
        if let Some(one) = Unread::of(&change) {
            leave(one, request, &mut unread)?;
            continue;
        }
        let named = change.path.as_ref().is_some_and(|path| all_named.contains(path));
        let Some(path) = change.path.clone() else {
            if change.untracked || change.unseen.is_some() {
                continue;
            }
            return Err(CommitError::Name);
        };
        if change.unmerged {
            return Err(CommitError::Unmerged(path));
        }
        let new = change.overall() == Differs::Added;
        let is_memory = path.is_markdown() && !path.is_hidden();
        let settings = path.as_str().starts_with(".runebook/");
        if is_git(&path) {
            continue;
        }
        if !new || is_memory || settings || named || request.all || generated(&path) {
            wanted.push(Committed { change: change.overall(), path });
        } else if change.staged.is_none() {
            left.push(path);
        }
    }
    Ok((wanted, left, unread))
}

fn message(given: Option<&str>, files: &[Committed]) -> String {
    let text = match given.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => text.to_owned(),
        None => {
            let verb = |change| match change {
                Differs::Added => "Add",
                Differs::Modified => "Change",
                Differs::Deleted | Differs::Unreadable => "Remove",
            };
            let mut verbs: Vec<&str> = files.iter().map(|file| verb(file.change)).collect();
            verbs.dedup();
            let what = match files {
                [file] => file.path.as_str().escape_debug().to_string(),
                files => format!("{} files", files.len()),
            };
            format!("{} {what}", if verbs.len() == 1 { verbs[0] } else { "Change" })
        }
    };
    clean(&text)
}

/// A message in git's strict form that nobody can take for an event of a proposal.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut out = String::new();
    for line in text.replace("\r\n", "\n").replace(['\r', '\0'], " ").lines() {
        if line.starts_with("Runebook-") {
            out.push_str("| ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_plain() {
        assert_eq!(clean("a\r\n\r\nRunebook-Event: review  \0"), "a\n\n| Runebook-Event: review\n");
        let file = |path: &str, change| Committed { path: VaultPath::parse(path).unwrap(), change };
        assert_eq!(message(None, &[file("a.md", Differs::Added)]), "Add a.md\n");
        let two = [file("a.md", Differs::Added), file("b.md", Differs::Deleted)];
        assert_eq!(message(None, &two), "Change 2 files\n");
        assert_eq!(message(Some(" x "), &two), "x\n");
    }
}
