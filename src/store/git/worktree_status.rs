//! What differs between HEAD, git's index and the files.

use std::collections::HashSet;

use serde::Serialize;

use super::{GitError, Repo, Unseen, index_error};
use crate::model::path::VaultPath;

/// How something differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Differs {
    /// It is new.
    Added,
    /// Its content, mode or type changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It cannot be looked at, so it is not known whether it differs.
    Unreadable,
}

/// One file that is not as HEAD has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkChange {
    /// Its path; `None` where its name is not UTF-8.
    pub path: Option<VaultPath>,
    /// How the index differs from HEAD: what is staged.
    pub staged: Option<Differs>,
    /// How the file differs from the index: what is not staged.
    pub unstaged: Option<Differs>,
    /// Whether git does not know the file at all.
    pub untracked: bool,
    /// Whether a merge left it unresolved.
    pub unmerged: bool,
    /// Why it cannot be looked at, where it cannot. A directory stands for all that it holds.
    pub unseen: Option<Unseen>,
}

impl WorkChange {
    /// How the file differs from HEAD, all in all.
    #[must_use]
    pub fn overall(&self) -> Differs {
        match (self.staged, self.unstaged) {
            (_, Some(Differs::Unreadable)) => Differs::Unreadable,
            (_, Some(Differs::Deleted)) | (Some(Differs::Deleted), None) => Differs::Deleted,
            (Some(Differs::Added), _) => Differs::Added,
            (None, Some(Differs::Added)) => Differs::Added,
            _ => Differs::Modified,
        }
    }
}

impl Repo {
    /// The files that are not as HEAD has them, in the order of their paths; ignored ones are left out. `below`
    /// narrows it to some paths and what stands below them; none of them means everything. What cannot be looked at is
    /// among them and says why; nothing of it is taken for gone.
    ///
    /// # Errors
    /// When there is no work tree, or the index cannot be read.
    pub fn changes(&self, below: &[VaultPath]) -> Result<Vec<WorkChange>, GitError> {
        self.rules_open(below)?;
        let options = || {
            let mut options = git2::StatusOptions::new();
            options
                .include_untracked(true)
                .recurse_untracked_dirs(true)
                .include_ignored(false)
                .exclude_submodules(true)
                .renames_head_to_index(false)
                .renames_index_to_workdir(false)
                .update_index(false);
            options
        };
        let (statuses, unseen) = self.seen(options, below, "looking for changed files")?;
        let left_out = self.left_out()?;
        let entries = statuses.iter().flat_map(|statuses| statuses.iter());
        let mut out: Vec<WorkChange> = entries
            // Another repository in a directory of its own is none of this one's files.
            .filter(|entry| !entry.path_bytes().ends_with(b"/"))
            .filter(|entry| !(entry.status().is_wt_deleted() && left_out.contains(entry.path_bytes())))
            .filter_map(|entry| change_of(&entry))
            .collect();
        for change in out.iter_mut().filter(|change| change.unstaged == Some(Differs::Deleted)) {
            // In a directory that cannot be read nothing seems to stand.
            let at = self.work_dir().zip(change.path.as_ref());
            if let Some((above, why)) = at.and_then(|(root, path)| Unseen::above(root, path)) {
                change.unstaged = Some(Differs::Unreadable);
                change.unseen = Some(why);
                // What is staged is told of each file.
                if change.staged.is_none() {
                    change.path = Some(above);
                }
            }
        }
        for change in out.iter_mut().filter(|change| change.overall() != Differs::Deleted) {
            if change.path.as_ref().is_some_and(|path| path.gits_own().is_some()) {
                (change.unstaged, change.unseen) = (Some(Differs::Unreadable), Some(Unseen::Reserved));
            }
        }
        out.extend(unseen.into_iter().map(|(path, why)| WorkChange {
            path: VaultPath::from_disk(&path),
            staged: None,
            unstaged: Some(Differs::Unreadable),
            untracked: false,
            unmerged: false,
            unseen: Some(why),
        }));
        out.sort_by(|a, b| a.path.cmp(&b.path));
        out.dedup_by(|a, b| a.unseen.is_some() && a == b);
        Ok(out)
    }

    /// The paths that a sparse checkout leaves out of the work tree: not there, and not deleted.
    fn left_out(&self) -> Result<HashSet<Vec<u8>>, GitError> {
        const SKIP_WORKTREE: u16 = 0x4000;
        let sparse = self.config("core.sparsecheckout").is_some_and(|value| value == "true");
        if !sparse {
            return Ok(HashSet::new());
        }
        let index = self.inner.index().map_err(index_error(self.git_dir(), "reading the index"))?;
        let skipped = index.iter().filter(|entry| entry.flags_extended & SKIP_WORKTREE != 0);
        Ok(skipped.map(|entry| entry.path).collect())
    }

    /// Whether git is in the middle of something (`merge`, `rebase`, `cherry-pick`), and of what.
    #[must_use]
    pub fn under_way(&self) -> Option<&'static str> {
        use git2::RepositoryState as S;
        match self.inner.state() {
            S::Clean => None,
            S::Merge => Some("merge"),
            S::Revert | S::RevertSequence => Some("revert"),
            S::CherryPick | S::CherryPickSequence => Some("cherry-pick"),
            S::Bisect => Some("bisect"),
            S::Rebase | S::RebaseInteractive | S::RebaseMerge => Some("rebase"),
            S::ApplyMailbox | S::ApplyMailboxOrRebase => Some("am"),
        }
    }
}

fn change_of(entry: &git2::StatusEntry<'_>) -> Option<WorkChange> {
    use git2::Status as S;
    let status = entry.status();
    let pick = |new: S, modified: S, gone: S| {
        if status.intersects(new) {
            Some(Differs::Added)
        } else if status.intersects(gone) {
            Some(Differs::Deleted)
        } else {
            status.intersects(modified).then_some(Differs::Modified)
        }
    };
    let staged =
        pick(S::INDEX_NEW, S::INDEX_MODIFIED | S::INDEX_TYPECHANGE | S::INDEX_RENAMED, S::INDEX_DELETED);
    let unstaged = pick(S::WT_NEW, S::WT_MODIFIED | S::WT_TYPECHANGE | S::WT_RENAMED, S::WT_DELETED);
    let unmerged = status.intersects(S::CONFLICTED);
    (staged.is_some() || unstaged.is_some() || unmerged).then(|| WorkChange {
        path: VaultPath::from_disk(entry.path_bytes()),
        staged,
        unstaged,
        untracked: status.intersects(S::WT_NEW) && staged.is_none(),
        unmerged,
        unseen: None,
    })
}
