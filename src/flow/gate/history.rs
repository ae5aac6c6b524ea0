//! What can be reached from main, found out as far as it is asked for.

use std::collections::{HashSet, VecDeque};

use crate::model::id::Oid;
use crate::store::git::{GitError, Repo};

/// The ancestors of a commit, itself included. Nearest commits are looked at first and nothing is looked at twice,
/// so a question about something near costs little, and a walk along main pays for each commit once.
#[derive(Debug)]
pub struct History<'r> {
    repo: &'r Repo,
    tip: Oid,
    seen: HashSet<Oid>,
    queue: VecDeque<Oid>,
}

impl<'r> History<'r> {
    /// The ancestors of `tip`.
    #[must_use]
    pub fn of(repo: &'r Repo, tip: Oid) -> History<'r> {
        History { repo, tip, seen: HashSet::from([tip]), queue: VecDeque::from([tip]) }
    }

    /// The commit whose ancestors these are.
    #[must_use]
    pub fn tip(&self) -> Oid {
        self.tip
    }

    /// Goes on to a commit that descends from the tip: its ancestors are added.
    pub fn advance(&mut self, tip: Oid) {
        self.tip = tip;
        if self.seen.insert(tip) {
            self.queue.push_front(tip);
        }
    }

    /// Whether `oid` is the tip or an ancestor of it.
    ///
    /// # Errors
    /// When a commit is missing or damaged.
    pub fn contains(&mut self, oid: Oid) -> Result<bool, GitError> {
        while !self.seen.contains(&oid) {
            let Some(next) = self.queue.pop_front() else { return Ok(false) };
            for parent in self.repo.parents(next)? {
                if self.seen.insert(parent) {
                    self.queue.push_back(parent);
                }
            }
        }
        Ok(true)
    }

    /// Whether `oid` stands on the first-parent line of the tip. The walk ends early when it is no ancestor at all.
    ///
    /// # Errors
    /// When a commit is missing or damaged.
    pub fn on_first_parent_line(&mut self, oid: Oid) -> Result<bool, GitError> {
        if !self.contains(oid)? {
            return Ok(false);
        }
        let mut at = Some(self.tip);
        while let Some(commit) = at {
            if commit == oid {
                return Ok(true);
            }
            at = self.repo.parents(commit)?.first().copied();
        }
        Ok(false)
    }
}
