//! The state of a vault in a few lines: where it stands, what is not committed, what waits for a word.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Branch;
use super::meaning::{self, MeaningState};
use super::sync::Freshness;
use super::unread::Unread;
use super::vault::Vault;
use super::watched::{self, Watching};
use super::{acting, proposals, sync};
use crate::model::access::{Access, Reach, View};
use crate::model::event::Data;
use crate::model::fault::Fault;
use crate::model::id::{ActorId, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::proposal::State;
use crate::store::git::{Differs, Head, WorkChange};

/// Of how many proposals the state is told.
const JUDGED: usize = 20;

// The form that serde asks for.
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A file that is not as HEAD has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// The file; absent where its name is not UTF-8.
    pub path: Option<VaultPath>,
    /// How it differs.
    pub change: Differs,
    /// Whether some of it is staged.
    pub staged: bool,
    /// Whether a merge left it unresolved.
    pub unmerged: bool,
}

/// A proposal that waits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Waiting {
    /// The proposal.
    pub id: ProposalId,
    /// What it is about; absent where its branch cannot be read.
    pub title: Option<String>,
    /// Where it stands; told of the first twenty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Whether that is without an approval: it takes back a merge exactly, and a person may merge it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub person_merges: bool,
    /// Who opened it.
    pub proposer: Option<ActorId>,
    /// Since when it waits: RFC 3339.
    pub since: Option<String>,
    /// Why its branch cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The answer of `status`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Status {
    /// The vault's root, or the bare repository.
    pub root: PathBuf,
    /// The approved branch.
    pub main_branch: String,
    /// Its commit; absent while it has none.
    pub main: Option<Oid>,
    /// What that commit is about.
    pub subject: Option<String>,
    /// The branch that is checked out; absent when HEAD is detached.
    pub checked_out: Option<String>,
    /// What of git's is half done (`merge`, `rebase`).
    pub under_way: Option<String>,
    /// Who acts.
    pub actor: Option<ActorId>,
    /// Why it is not known who acts.
    pub nobody: Option<String>,
    /// How many files are not as HEAD has them; 0 where that is not known.
    pub uncommitted: u64,
    /// Why it is not known what is not committed, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// Those of them that the reader may see; an agent sees approved states only.
    pub changed: Vec<Changed>,
    /// Why some of these cannot be looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
    /// How many entries of Obsidian's excluded files are followed.
    #[serde(skip_serializing_if = "is_zero")]
    pub excluded: usize,
    /// From which state the index was made; absent while there is none.
    pub index: Option<Freshness>,
    /// The watcher of this work tree; absent while none lives.
    pub watcher: Option<Watching>,
    /// How far search by meaning is; absent while there is no index.
    pub meaning: Option<MeaningState>,
    /// The proposals that are open, the oldest first.
    pub proposals: Vec<Waiting>,
}

/// Looks.
///
/// # Errors
/// When git cannot be read.
pub fn status(vault: &Vault<'_>, asked: Option<&str>) -> Result<Status, Fault> {
    let repo = &vault.repo;
    let main = repo.ref_oid(&vault.main_ref())?;
    let who =
        vault.main().and_then(|main| vault.governance(main)).and_then(|g| acting::acting(vault, &g, asked));
    let (actor, nobody) = match who {
        Ok(actor) => (Some(actor), None),
        Err(why) => (None, Some(why.to_string())),
    };
    let changed = repo.work_dir().map_or(Ok(Vec::new()), |_| repo.changes(&[]));
    let (changed, unknown) = match changed {
        Ok(changed) => (changed, None),
        // The rest is worth to be told all the same.
        Err(why) => {
            let why = Fault::from(why);
            let hint = why.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            (Vec::new(), Some(format!("{why}{hint}")))
        }
    };
    // What nobody approved is no agent's to read, not even its name; that something waits is.
    let uncommitted = changed.len() as u64;
    let access = Access { actor: actor.clone(), view: View::Main };
    let (agent, reads) = match &actor {
        Some(actor) => (!actor.is_person(), Reach::of(actor.reads.as_ref())),
        None => (false, Reach::of(None)),
    };
    let told = |change: &WorkChange| !agent && change.path.as_ref().is_none_or(|path| reads.holds(path));
    let changed: Vec<WorkChange> = changed.into_iter().filter(told).collect();
    let unread = changed.iter().filter_map(Unread::of).collect();
    let changed = changed.into_iter().map(|change| Changed {
        change: change.overall(),
        staged: change.staged.is_some(),
        unmerged: change.unmerged,
        path: change.path,
    });
    Ok(Status {
        root: repo.work_dir().unwrap_or(repo.git_dir()).to_owned(),
        main_branch: vault.config.main_branch.clone(),
        main,
        subject: main.and_then(|oid| repo.commit(oid).ok()).map(|commit| commit.subject().to_owned()),
        checked_out: match repo.head()? {
            Head::Branch(name, _) => Some(name),
            Head::Detached(_) => None,
        },
        under_way: repo.under_way().map(str::to_owned),
        actor: actor.map(|actor| actor.id),
        nobody,
        uncommitted,
        unknown,
        changed: changed.collect(),
        unread,
        excluded: vault.config.foreign.entries(),
        index: sync::freshness(vault).ok().filter(|state| state.commit.is_some()),
        watcher: watched::living(vault),
        meaning: meaning::state(vault).ok().map(|state| state.told_to(&access)),
        proposals: main.map_or(Ok(Vec::new()), |main| waiting(vault, main))?,
    })
}

fn waiting(vault: &Vault<'_>, main: Oid) -> Result<Vec<Waiting>, Fault> {
    let mut out = Vec::new();
    for (id, tip) in proposals::open_ones(&vault.repo)? {
        vault.env.go_on()?;
        let (title, state, proposer, since, problem) = (None, None, None, None, None);
        let mut waiting =
            Waiting { id: id.clone(), title, state, person_merges: false, proposer, since, problem };
        match Branch::read(&vault.repo, &id, tip, main) {
            Ok(branch) => {
                if let Some((_, commit, event)) = branch.events().next() {
                    if let Data::Open(open) = &event.data {
                        waiting.title = Some(open.title.clone());
                    }
                    waiting.proposer = Some(event.actor.clone());
                    waiting.since = Some(proposals::when(commit.commit.author.time));
                }
            }
            Err(why) => waiting.problem = Some(why.to_string()),
        }
        out.push(waiting);
    }
    out.sort_by(|a, b| (&a.since, &a.id).cmp(&(&b.since, &b.id)));
    // Judging runs the checks, so it is done for as many as people look at.
    for waiting in out.iter_mut().take(JUDGED).filter(|waiting| waiting.problem.is_none()) {
        let standing = proposals::standing(vault, main, &waiting.id);
        waiting.state = standing.map(|(state, _)| state);
        waiting.person_merges = standing.is_some_and(|(_, person)| person);
    }
    Ok(out)
}
