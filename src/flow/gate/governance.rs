//! The actors and the policy that hold at a commit of main, also when somebody broke them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::flow::vault::{ACTORS, Governance, POLICY, VaultError};
use crate::model::actor::Actors;
use crate::model::change::mode;
use crate::model::fault::Fault;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::model::policy::{PolicyError, Rules};
use crate::store::git::Repo;

/// What holds at a commit of main.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Actors and policy.
    pub governance: Rc<Governance>,
    /// Why what stands there cannot be used, if so: the last good one holds, and only an admin's repair passes.
    pub broken: Option<String>,
}

type Blobs = (Option<Oid>, Option<Oid>);

/// Reads governance, each pair of files once.
#[derive(Debug, Default)]
pub struct Governances {
    read: RefCell<HashMap<Blobs, Result<Rc<Governance>, String>>>,
    settings: RefCell<HashMap<Oid, Blobs>>,
}

impl Governances {
    /// What holds at a commit of main: what stands there, or the last good one of the first-parent line.
    ///
    /// # Errors
    /// When an object is missing, or no commit of the line has settings that can be used.
    pub fn at(&self, repo: &Repo, main: Oid) -> Result<Standing, Fault> {
        let mut broken = None;
        let mut at = Some(main);
        while let Some(commit) = at {
            match self.exactly_at(repo, commit)? {
                Ok(governance) => return Ok(Standing { governance, broken }),
                Err(why) => {
                    broken.get_or_insert(why);
                }
            }
            at = repo.parents(commit)?.first().copied();
        }
        // There never was a policy: the built-in defaults hold, and the first real one is an admin's to write.
        let why = broken.unwrap_or_else(|| format!("{POLICY} is not there"));
        match self.blobs(repo, main)? {
            (None, Some(actors)) => {
                let text = String::from_utf8_lossy(&repo.blob(actors)?).into_owned();
                let governance = Governance {
                    actors: Actors::parse(&text).map_err(VaultError::from)?,
                    rules: Rules::parse("version: 1").map_err(VaultError::from)?,
                    actors_oid: actors,
                    policy_oid: Oid::ZERO,
                };
                Ok(Standing { governance: Rc::new(governance), broken: Some(why) })
            }
            _ => Err(VaultError::Policy(PolicyError::Form(why)).into()),
        }
    }

    fn exactly_at(&self, repo: &Repo, commit: Oid) -> Result<Result<Rc<Governance>, String>, Fault> {
        let blobs = self.blobs(repo, commit)?;
        if let Some(known) = self.read.borrow().get(&blobs) {
            return Ok(known.clone());
        }
        let read = parse(repo, blobs)?.map(Rc::new);
        self.read.borrow_mut().insert(blobs, read.clone());
        Ok(read)
    }

    fn blobs(&self, repo: &Repo, commit: Oid) -> Result<Blobs, Fault> {
        let Some(settings) = crate::flow::root::settings(repo, commit)? else { return Ok((None, None)) };
        if let Some(known) = self.settings.borrow().get(&settings) {
            return Ok(*known);
        }
        let entries = repo.tree(settings)?;
        let file = |path: &str| {
            let name = path.trim_start_matches(".runebook/").as_bytes();
            let found = entries.iter().find(|(n, _)| n == name).map(|(_, e)| *e);
            found.filter(|e| e.mode == mode::FILE).map(|e| e.oid)
        };
        let blobs = (file(POLICY), file(ACTORS));
        self.settings.borrow_mut().insert(settings, blobs);
        Ok(blobs)
    }
}

fn parse(repo: &Repo, (policy, actors): Blobs) -> Result<Result<Governance, String>, Fault> {
    let (Some(policy_oid), Some(actors_oid)) = (policy, actors) else {
        let name = if policy.is_none() { POLICY } else { ACTORS };
        return Ok(Err(format!("{name} is not there")));
    };
    let (Ok(policy), Ok(actors)) =
        (String::from_utf8(repo.blob(policy_oid)?), String::from_utf8(repo.blob(actors_oid)?))
    else {
        return Ok(Err("policy.yaml or actors.yaml is not UTF-8".to_owned()));
    };
    let rules = match Rules::parse(&policy) {
        Ok(rules) => rules,
        Err(why) => return Ok(Err(why.to_string())),
    };
    let actors = match Actors::parse(&actors) {
        Ok(actors) => actors,
        Err(why) => return Ok(Err(why.to_string())),
    };
    Ok(Ok(Governance { actors, rules, actors_oid, policy_oid }))
}

/// The settings' directory, in any spelling that some file system takes for it.
#[must_use]
pub fn is_settings(path: &VaultPath) -> bool {
    let first = path.as_str().split('/').next().unwrap_or_default();
    VaultPath::from_disk(first.as_bytes()).is_some_and(|p| p.collision_key() == ".runebook")
}
