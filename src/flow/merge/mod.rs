//! Merging: an approved proposal becomes part of main, and the files of every work tree that has main checked out
//! follow, whole or not at all.
//!
//! Before the reference transaction a killed run is taken back, after it finished, by the next command
//! ([`recover`]). `RUNEBOOK_CRASH_AT=<step>` kills the process at a step; it is a test aid and stands in
//! [`STEPS`].

mod error;
mod message;
mod recover;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Branch;
use super::proposals::{Assessed, assess, open_tip};
use super::undo;
use super::vault::Vault;
use super::worktree::{self, Placed, WorkTreeError};
use super::{acting, events};
use crate::model::actor::{Actor, Role};
use crate::model::change::{DiffRecord, Entry, mode};
use crate::model::commit::Commit;
use crate::model::event::{Decide, Outcome};
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::proposal::State;
use crate::store::git::{Checkout, GitError, IndexLock, RefUpdate, WorkTree};
use crate::store::journal::{Journal, Kept, Touched};
use crate::store::lock::{Lock, PATIENCE};
use crate::store::operations::Effect;

pub use error::MergeError;
pub use recover::{Recovered, recover, recover_if_killed};

/// The steps of a merge at which `RUNEBOOK_CRASH_AT` can kill it, in order.
pub const STEPS: [&str; 10] = [
    "decided",
    "locked",
    "prepared",
    "committed",
    "journal",
    "moved",
    "placed-one",
    "placed",
    "index",
    "released",
];

/// How often a merge starts again when somebody moved main or the proposal meanwhile.
const ATTEMPTS: u32 = 5;

/// What to merge.
#[derive(Debug, Clone)]
pub struct Request {
    /// The proposal.
    pub id: ProposalId,
    /// The digest that the person was shown, if one was.
    pub shown: Option<Digest>,
}

/// What was merged.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Merged {
    /// The proposal.
    pub proposal: ProposalId,
    /// What it is about.
    pub title: String,
    /// The merge commit.
    pub commit: Oid,
    /// The commit of main before.
    pub before: Oid,
    /// The digest that was merged.
    pub digest: Digest,
    /// Who proposed it.
    pub proposer: ActorId,
    /// Whose approvals counted.
    pub approved_by: Vec<ActorId>,
    /// The files that changed on main.
    pub files: Vec<String>,
    /// How many files of work trees were brought to the new state.
    pub placed: u32,
    /// Files that were edited in the very moment of the merge: left as they are, now uncommitted edits.
    pub kept: Vec<String>,
    /// What the checks reported and did not stop it.
    pub findings: Vec<Finding>,
}

/// Kills the process at a step when a test asked for it.
fn step(vault: &Vault<'_>, name: &str) {
    if vault.env.var("RUNEBOOK_CRASH_AT") == Some(name) {
        std::process::abort();
    }
}

/// Merges a proposal.
///
/// # Errors
/// [`MergeError`], [`WorkTreeError`] when files are in the way, and whatever git reports. Nothing has changed then,
/// except with [`MergeError::Unfinished`].
pub fn merge(vault: &Vault<'_>, actor: &Actor, request: &Request) -> Result<Merged, Fault> {
    let what = format!("merge {}", request.id);
    let _lock = Lock::take(&vault.derived_dir().join("lock"), &what, PATIENCE)?;
    recover(vault)?;
    for _ in 0..ATTEMPTS {
        let attempted = attempt(vault, actor, request);
        Journal::retract(&vault.derived_dir())?;
        match attempted {
            Err(fault) if moved(&fault) => {}
            other => return other.inspect(|merged| noted(vault, merged)),
        }
    }
    Err(MergeError::Races(request.id.clone()).into())
}

fn noted(vault: &Vault<'_>, merged: &Merged) {
    let effect = Effect::Merged { proposal: merged.proposal.clone() };
    undo::note_done(vault, &format!("merge {}: {}", merged.proposal, merged.title), effect);
}

fn moved(fault: &Fault) -> bool {
    matches!(fault.as_error().downcast_ref::<GitError>(), Some(GitError::RefMoved { .. }))
}

fn attempt(vault: &Vault<'_>, actor: &Actor, request: &Request) -> Result<Merged, Fault> {
    let main = vault.main()?;
    let tip = open_tip(vault, &request.id)?;
    let assessed = assess(vault, main, &request.id, tip)?;
    let result = with_layers(vault, permitted(&assessed, actor, request)?, &assessed.branch)?;
    step(vault, "decided");
    let touched = touched(vault, &assessed.branch, main, result)?;
    let new = touched.iter().filter_map(|one| Some((one.vault_path()?, one.wanted()?)));
    let new: Vec<(VaultPath, Entry)> = new.collect();
    vault.repo.index_takes(new.iter().map(|(path, entry)| (path, *entry)))?;
    Journal::announce(&vault.derived_dir())?;
    let mut trees = Held::take(vault, &touched)?;
    let (decide, commit) = commits(vault, actor, &assessed, result)?;
    step(vault, "committed");
    let journal = Journal {
        version: 1,
        main_ref: vault.main_ref(),
        old_main: main,
        merge: commit,
        proposal: request.id.clone(),
        tip,
        decide,
        seen: vault.repo.ref_oid(&request.id.seen_ref())?,
        work_trees: trees.held.iter().map(|held| held.checkout.work_tree.git_dir.clone()).collect(),
        touched,
    };
    journal.write(&vault.derived_dir())?;
    step(vault, "journal");
    if let Err(error) = vault.repo.update_refs(&transaction(&journal)) {
        Journal::clear(&vault.derived_dir())?;
        return Err(error.into());
    }
    step(vault, "moved");
    let placed = match finish(vault, &journal, &mut trees) {
        Ok(placed) => placed,
        Err(fault) => {
            // The lock stays, so that plain git commits no half state until a command of ours has finished this.
            trees.leave();
            return Err(
                MergeError::Unfinished { id: request.id.clone(), commit, why: fault.to_string() }.into()
            );
        }
    };
    drop(trees);
    step(vault, "released");
    Journal::clear(&vault.derived_dir())?;
    let decision = assessed.decision;
    Ok(Merged {
        proposal: request.id.clone(),
        title: decision.title,
        commit,
        before: main,
        digest: decision.digest,
        proposer: decision.proposer,
        approved_by: decision.approvals.into_iter().map(|voice| voice.actor).collect(),
        files: assessed
            .branch
            .records
            .iter()
            .map(|r| String::from_utf8_lossy(&r.path).into_owned())
            .collect(),
        placed: placed.changed,
        kept: placed.kept.iter().map(|file| file.display().to_string()).collect(),
        findings: assessed.findings,
    })
}

/// Whether the actor may merge it now; the tree of the merge if so.
fn permitted(assessed: &Assessed, actor: &Actor, request: &Request) -> Result<Oid, Fault> {
    let (id, decision) = (request.id.clone(), &assessed.decision);
    let not_allowed =
        |why: &str| MergeError::NotAllowed { actor: actor.id.clone(), id: id.clone(), why: why.to_owned() };
    if let Some(shown) = request.shown
        && shown != decision.digest
    {
        return Err(MergeError::Changed { id, shown, now: decision.digest }.into());
    }
    if decision.state != State::Approved {
        return Err(refusal(decision).into());
    }
    if !actor.has(Role::Merge) {
        return Err(not_allowed("it does not have the role merge").into());
    }
    if decision.person_merges && !actor.is_person() {
        return Err(not_allowed(
            "nobody approved it, and only a person may merge an exact rollback unapproved",
        )
        .into());
    }
    assessed.result.ok_or_else(|| {
        let reasons = vec!["its files and the approved branch's cannot stand together".to_owned()];
        MergeError::Refused { id, state: State::Stale, reasons, hint: stale_hint(&decision.proposal) }.into()
    })
}

fn stale_hint(id: &ProposalId) -> String {
    format!("cut it anew from today's approved branch with `runebook propose new --from {id}`")
}

fn refusal(decision: &super::decide::Decision) -> MergeError {
    let id = decision.proposal.clone();
    let hint = match decision.state {
        State::NeedsHuman if !decision.vetoes.is_empty() => {
            format!(
                "a person looks at it with `runebook review show {id}`; the verdict stands until its reviewer lifts it"
            )
        }
        State::Draft => format!("submit it first: `runebook propose submit {id}`"),
        State::Stale => stale_hint(&id),
        State::ChangesRequested | State::Rejected => format!(
            "change it and submit it anew, or ask the reviewer to lift the verdict; `runebook review show {id}` has the comments"
        ),
        State::NeedsHuman => format!("ask a person to run `runebook review show {id}`"),
        _ => format!("ask a reviewer to run `runebook review show {id}`"),
    };
    MergeError::Refused { id, state: decision.state, reasons: decision.reasons.clone(), hint }
}

/// The result with the layer files of the directories that the proposal touches made anew.
fn with_layers(vault: &Vault<'_>, result: Oid, branch: &Branch) -> Result<Oid, Fault> {
    let paths: Vec<VaultPath> = branch.records.iter().filter_map(DiffRecord::vault_path).collect();
    let layers = super::layers::files::regenerated(vault, result, &paths)?;
    if layers.is_empty() { Ok(result) } else { Ok(vault.repo.write_tree(Some(result), &layers)?) }
}

/// What the merge changes, with what earlier revisions of the proposal had at each path.
fn touched(vault: &Vault<'_>, branch: &Branch, main: Oid, result: Oid) -> Result<Vec<Touched>, Fault> {
    let kept = |of: u32, oid: Oid| (of != mode::NONE).then_some(Kept { mode: of, oid });
    let mut earlier: BTreeMap<&[u8], Vec<Option<Kept>>> = BTreeMap::new();
    for record in branch.commits.iter().flat_map(|commit| commit.changes()) {
        earlier.entry(&record.path).or_default().push(kept(record.new_mode, record.new_oid));
    }
    let of = |record: &DiffRecord| -> Result<Touched, Fault> {
        let (old, new) = (kept(record.old_mode, record.old_oid), kept(record.new_mode, record.new_oid));
        let mut before = earlier.get(record.path.as_slice()).cloned().unwrap_or_default();
        before.retain(|one| *one != new && *one != old);
        before.dedup();
        let path = record.vault_path().ok_or_else(|| GitError::Other {
            doing: format!("merging {}", String::from_utf8_lossy(&record.path)),
            why: "the name is none that a vault can have".to_owned(),
        })?;
        Ok(Touched { path: path.as_str().to_owned(), old, new, earlier: before })
    };
    let changed = vault.repo.diff(Some(vault.repo.tree_of(main)?), Some(result))?;
    let layers = changed.iter().filter(|record| record.is_layer());
    branch.records.iter().filter(|record| !record.is_layer()).chain(layers).map(of).collect()
}

/// A work tree whose index is locked, ready for the new files.
struct HeldTree {
    lock: IndexLock,
    checkout: Checkout,
    forms: std::path::PathBuf,
}

/// All work trees that have main checked out.
struct Held {
    held: Vec<HeldTree>,
}

impl Held {
    /// Locks the index of every work tree that has main checked out, looks at every path, makes the new files ready.
    fn take(vault: &Vault<'_>, touched: &[Touched]) -> Result<Held, Fault> {
        let main = vault.main_ref();
        let trees = vault.repo.work_trees()?;
        for tree in &trees {
            if let Some(what) = tree.busy(&main) {
                return Err(WorkTreeError::Busy { root: tree.root.clone(), what }.into());
            }
        }
        let mut held = Vec::new();
        for tree in trees.iter().filter(|tree| tree.branch.as_deref() == Some(main.as_str())) {
            held.push(Held::one(vault, tree, touched)?);
        }
        step(vault, "prepared");
        Ok(Held { held })
    }

    fn one(vault: &Vault<'_>, tree: &WorkTree, touched: &[Touched]) -> Result<HeldTree, Fault> {
        let lock = IndexLock::hold(tree)?;
        step(vault, "locked");
        let checkout = Checkout::open(tree)?;
        let obstacles = worktree::obstacles(&checkout, touched)?;
        if !obstacles.is_empty() {
            return Err(WorkTreeError::InTheWay(obstacles).into());
        }
        worktree::writable(&checkout, touched)?;
        let forms = worktree::prepare(&checkout, &vault.repo, touched)?;
        Ok(HeldTree { lock, checkout, forms })
    }

    /// Keeps the locks beyond the end of the process.
    fn leave(self) {
        for one in self.held {
            one.lock.leave();
        }
    }
}

/// The two commits of the merge, unreferenced yet: the `decide` event and the merge itself.
fn commits(vault: &Vault<'_>, actor: &Actor, assessed: &Assessed, tree: Oid) -> Result<(Oid, Oid), Fault> {
    let decision = &assessed.decision;
    let data = Decide {
        checks: outcomes(&assessed.findings),
        main: assessed.main,
        rules: decision.rules.keys().copied().collect(),
        tree,
    };
    let decide = events::prepare(vault, &assessed.branch, actor, events::Draft::decide(data))?;
    let ident = acting::ident(vault, actor);
    let commit = Commit {
        tree,
        parents: vec![assessed.main, decide],
        author: ident.clone(),
        committer: ident,
        signature: None,
        message: message::of(vault, assessed)?,
    };
    Ok((decide, vault.repo.write_commit(&commit)?))
}

/// Every check that ran, with the worst that it found.
fn outcomes(findings: &[Finding]) -> BTreeMap<String, Outcome> {
    let mut out: BTreeMap<String, Outcome> =
        crate::check::ALL.iter().map(|check| (check.name.to_owned(), Outcome::Ok)).collect();
    for finding in findings {
        let outcome = match finding.severity {
            Severity::Info => Outcome::Info,
            Severity::Warning => Outcome::Warning,
            Severity::Person => Outcome::Person,
            Severity::Error => Outcome::Error,
        };
        let worst = out.entry(finding.check().to_owned()).or_insert(outcome);
        *worst = outcome.max(*worst);
    }
    out
}

/// The one reference transaction.
fn transaction(journal: &Journal) -> Vec<RefUpdate> {
    let id = &journal.proposal;
    let update = |name: String, old: Option<Oid>, new: Option<Oid>| RefUpdate {
        name,
        old,
        new,
        message: format!("runebook: merge {id}"),
    };
    vec![
        update(journal.main_ref.clone(), Some(journal.old_main), Some(journal.merge)),
        update(id.closed_ref(), None, Some(journal.decide)),
        update(id.seen_ref(), journal.seen, Some(journal.decide)),
        update(id.open_ref(), Some(journal.tip), None),
    ]
}

/// What follows the transaction: work trees on the proposal's branch go on to the closed one, files are placed.
fn finish(vault: &Vault<'_>, journal: &Journal, trees: &mut Held) -> Result<Placed, Fault> {
    repoint(vault, journal)?;
    let mut all = Placed::default();
    for held in &mut trees.held {
        let placed = place(vault, &mut held.checkout, &held.forms, &journal.touched)?;
        all.changed += placed.changed;
        all.kept.extend(placed.kept);
    }
    step(vault, "index");
    Ok(all)
}

fn place(
    vault: &Vault<'_>,
    checkout: &mut Checkout,
    forms: &Path,
    touched: &[Touched],
) -> Result<Placed, Fault> {
    worktree::place(checkout, forms, touched, &|name| step(vault, name))
}

/// Work trees that have the proposal's branch checked out now have the closed one: same commit below, same files.
fn repoint(vault: &Vault<'_>, journal: &Journal) -> Result<(), Fault> {
    let open = journal.proposal.open_ref();
    for tree in vault.repo.work_trees()? {
        if tree.branch.as_deref() == Some(open.as_str()) {
            tree.point_head_at(&journal.proposal.closed_ref())?;
        }
    }
    Ok(())
}

/// The entry of a touched path on main after the merge.
fn after(vault: &Vault<'_>, tree: Oid, one: &Touched) -> Result<Option<Entry>, Fault> {
    match one.vault_path() {
        Some(path) => Ok(vault.repo.entry_at(tree, &path)?.filter(|entry| entry.mode != mode::TREE)),
        None => Ok(None),
    }
}
