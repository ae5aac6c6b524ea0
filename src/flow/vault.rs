//! Opening a vault: the repository, its settings, its clock, and what stands on main.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::model::actor::{Actors, ActorsError};
use crate::model::clock::{Clock, Env};
use crate::model::config::{Config, ConfigError};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::foreign::Foreign;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::model::policy::{PolicyError, Rules};
use crate::store::git::{Head, Repo};
use crate::store::plain;

/// Where the settings stand in every vault.
pub const CONFIG: &str = ".runebook/config.yaml";
/// Where the actors stand in every vault.
pub const ACTORS: &str = ".runebook/actors.yaml";
/// Where the policy stands in every vault.
pub const POLICY: &str = ".runebook/policy.yaml";

/// Where derived state is kept in the common git directory.
const DERIVED: &str = "runebook";
/// What is there in any number, and is opened by no library.
const NOT_OPENED: [&str; 3] = ["trash", "operations", "scratch"];

/// The most bytes that a file of settings may have.
const MOST: u64 = 4 << 20;

/// Why a vault cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The repository has no `.runebook/`.
    #[error("{} is a git repository, but no vault", .0.display())]
    NoVault(PathBuf),
    /// Its settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its actors cannot be used.
    #[error(transparent)]
    Actors(#[from] ActorsError),
    /// Its policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The approved branch does not exist.
    #[error("the approved branch `{0}` has no commit")]
    NoMain(String),
    /// The operation needs files and there are none.
    #[error("{} is a bare repository: it has no files to edit", .0.display())]
    Bare(PathBuf),
    /// Where this program keeps a file of its own, something else stands.
    #[error("{} is {what}, not a file", path.display())]
    Special {
        /// The place.
        path: PathBuf,
        /// What stands there: `a named pipe`.
        what: &'static str,
    },
    /// A file of the settings cannot be read.
    #[error("reading {}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
}

impl Explain for VaultError {
    fn kind(&self) -> Kind {
        match self {
            VaultError::NoVault(_) | VaultError::Bare(_) => Kind::Usage,
            _ => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            VaultError::NoVault(_) => Some("run `runebook init --existing` to make it one".to_owned()),
            VaultError::Config(_) => Some(format!("mend {CONFIG}, or see `git log -- {CONFIG}`")),
            VaultError::Actors(_) => Some(format!("an admin mends {ACTORS} on the approved branch")),
            VaultError::Policy(_) => Some(format!("an admin mends {POLICY} on the approved branch")),
            VaultError::NoMain(branch) => Some(format!(
                "commit something on `{branch}`, or set main_branch in {CONFIG} to the branch that holds the memories"
            )),
            VaultError::Special { path, .. } => {
                Some(format!("remove it, what is missing is made again: `rm '{}'`", path.display()))
            }
            VaultError::Bare(_) => Some("clone it and work in the clone".to_owned()),
            VaultError::Read { path, why } if why.kind() == std::io::ErrorKind::PermissionDenied => {
                Some(format!("give yourself the right to read it: `chmod u+r '{}'`", path.display()))
            }
            VaultError::Read { .. } => {
                Some(format!("remove what stands there, then put it back: `git restore {CONFIG}`"))
            }
        }
    }
}

/// An open vault.
pub struct Vault<'e> {
    /// The program's environment.
    pub env: &'e Env,
    /// The repository.
    pub repo: Repo,
    /// The settings.
    pub config: Config,
    /// The time, in the vault's zone.
    pub clock: Clock,
    /// What was done about a merge that had been killed, as a sentence for people; none when there was none.
    pub recovery: Option<String>,
    /// The actor that the command line named (`--as`), if it did.
    pub asked: Option<String>,
    /// The entry of the journal of operations that the running command writes, once it has noted something.
    pub(super) operation: Cell<Option<u64>>,
}

/// What decides who may do what: the settings at one commit.
#[derive(Debug, Clone)]
pub struct Governance {
    /// The actors.
    pub actors: Actors,
    /// The policy.
    pub rules: Rules,
    /// The blob of `actors.yaml`, zero where there is none.
    pub actors_oid: Oid,
    /// The blob of `policy.yaml`, zero where there is none.
    pub policy_oid: Oid,
}

impl<'e> Vault<'e> {
    /// Opens the vault that holds `from`, looking upwards.
    ///
    /// # Errors
    /// When there is no repository, it cannot be handled, it is no vault, or its settings cannot be read.
    pub fn open(env: &'e Env, from: &Path) -> Result<Vault<'e>, Fault> {
        let repo = Repo::discover(from)?;
        // Databases and indexes are opened by libraries, which would wait.
        if let Some((path, what)) = plain::special_below(&repo.common_dir().join(DERIVED), 3, &NOT_OPENED) {
            return Err(VaultError::Special { path, what }.into());
        }
        let text = match repo.work_dir() {
            Some(root) => {
                let path = root.join(CONFIG);
                match plain::read_small(&path, MOST) {
                    Ok(text) => Some(text),
                    Err(why) if why.kind() == std::io::ErrorKind::NotFound => None,
                    Err(why) => return Err(VaultError::Read { path, why }.into()),
                }
            }
            None => None,
        };
        let text = match text {
            Some(text) => text,
            // A bare repository, or another branch is checked out that has no settings: HEAD's or main's hold.
            None => settings_in_history(&repo)?,
        };
        let config = Config::parse(&text).map_err(VaultError::from)?.with(foreign(&repo));
        let clock = env.clock.in_zone(config.zone().map_err(VaultError::from)?);
        let mut vault =
            Vault { env, repo, config, clock, recovery: None, asked: None, operation: Cell::new(None) };
        // Reading goes on when it cannot be finished now; what changes something tries again and fails with the reason.
        vault.recovery = match super::merge::recover_if_killed(&vault) {
            Ok(recovered) => recovered.map(|recovered| recovered.to_string()),
            Err(fault) => Some(format!("a merge was interrupted and cannot be finished yet: {fault}")),
        };
        Ok(vault)
    }

    /// The root of the files.
    ///
    /// # Errors
    /// In a bare repository.
    pub fn root(&self) -> Result<&Path, VaultError> {
        self.repo.work_dir().ok_or_else(|| VaultError::Bare(self.repo.git_dir().to_owned()))
    }

    /// Where derived state of the whole vault is kept: `<common git directory>/runebook`.
    #[must_use]
    pub fn derived_dir(&self) -> PathBuf {
        self.repo.common_dir().join(DERIVED)
    }

    /// The full name of the approved branch's reference.
    #[must_use]
    pub fn main_ref(&self) -> String {
        format!("refs/heads/{}", self.config.main_branch)
    }

    /// The commit of main.
    ///
    /// # Errors
    /// When the branch is unborn or missing.
    pub fn main(&self) -> Result<Oid, Fault> {
        let found = self.repo.ref_oid(&self.main_ref())?;
        Ok(found.ok_or_else(|| VaultError::NoMain(self.config.main_branch.clone()))?)
    }

    /// The actors and the policy that hold at a commit: those that stand there, or where they are missing or broken
    /// the last good ones of its first-parent line.
    ///
    /// # Errors
    /// When an object cannot be read, or no commit of the line has actors that can be used.
    pub fn governance(&self, commit: Oid) -> Result<Governance, Fault> {
        let standing = super::gate::governance::Governances::default().at(&self.repo, commit)?;
        Ok((*standing.governance).clone())
    }
}

/// What other programs' settings say of the vault. Every work tree follows those of the first, where people keep them
/// (most often outside git); without files main's hold.
fn foreign(repo: &Repo) -> Foreign {
    let common = repo.common_dir();
    let first = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    if let Some(root) = first.or_else(|| repo.work_dir()) {
        return Foreign::of(|name| plain::read_bounded(root.join(name), MOST).ok());
    }
    let head = match repo.head() {
        Ok(Head::Branch(_, oid)) => oid,
        Ok(Head::Detached(oid)) => Some(oid),
        Err(_) => None,
    };
    let tree = head.and_then(|oid| repo.tree_of(oid).ok());
    Foreign::of(|name| repo.file_at(tree?, &VaultPath::parse(name).ok()?).ok().flatten())
}

fn settings_in_history(repo: &Repo) -> Result<String, Fault> {
    let path = VaultPath::parse(CONFIG)?;
    let head = match repo.head()? {
        Head::Branch(_, oid) => oid,
        Head::Detached(oid) => Some(oid),
    };
    let mains = ["refs/heads/main", "refs/heads/master"].into_iter().map(|name| repo.ref_oid(name));
    for oid in std::iter::once(Ok(head)).chain(mains) {
        if let Some(oid) = oid?
            && let Some(bytes) = repo.file_at(repo.tree_of(oid)?, &path)?
        {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Err(VaultError::NoVault(repo.work_dir().unwrap_or(repo.git_dir()).to_owned()).into())
}
