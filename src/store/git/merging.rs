//! What a merge without conflicts would give.

use super::{GitError, Repo, from_git, other, to_git};
use crate::model::id::Oid;

impl Repo {
    /// The tree that a three-way merge of two commits gives; `None` when it has conflicts or their histories do not
    /// meet. Nothing but objects is written.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn clean_merge(&self, ours: Oid, theirs: Oid) -> Result<Option<Oid>, GitError> {
        let commit =
            |oid| self.inner.find_commit(to_git(oid)).map_err(other(format!("reading commit {oid}")));
        if self.merge_base(ours, theirs)?.is_none() {
            return Ok(None);
        }
        let mut index = self
            .inner
            .merge_commits(&commit(ours)?, &commit(theirs)?, None)
            .map_err(other("merging two commits"))?;
        if index.has_conflicts() {
            return Ok(None);
        }
        index
            .write_tree_to(&self.inner)
            .map(|oid| Some(from_git(oid)))
            .map_err(other("writing a merged tree"))
    }
}
