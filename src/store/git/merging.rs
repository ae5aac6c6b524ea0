//! What a merge without conflicts would give.

use super::{GitError, Repo, from_git, other, to_git};
use crate::model::id::Oid;
use crate::model::path::VaultPath;

impl Repo {
    /// The tree that a three-way merge of two commits gives; `None` when it has conflicts or their histories do not
    /// meet. Layer files that conflict are left out of it: they are made anew from the rest. Nothing but objects is
    /// written.
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
        let conflicts = index.conflicts().map_err(other("merging two commits"))?;
        let mut paths = Vec::new();
        for conflict in conflicts {
            let conflict = conflict.map_err(other("merging two commits"))?;
            let sides = [conflict.our, conflict.their, conflict.ancestor];
            paths.extend(sides.into_iter().flatten().map(|entry| entry.path));
        }
        for path in paths {
            match VaultPath::from_disk(&path).filter(VaultPath::is_layer) {
                Some(path) => {
                    let gone = index.conflict_remove(std::path::Path::new(path.as_str()));
                    // The second side of the same conflict is gone already.
                    gone.or_else(
                        |error| if error.code() == git2::ErrorCode::NotFound { Ok(()) } else { Err(error) },
                    )
                    .map_err(other("merging two commits"))?;
                }
                None => return Ok(None),
            }
        }
        index
            .write_tree_to(&self.inner)
            .map(|oid| Some(from_git(oid)))
            .map_err(other("writing a merged tree"))
    }
}
