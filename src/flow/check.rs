//! Checking: the files as they stand, the change that a proposal makes, and every blob that it introduces.

mod asked;
mod attachments;
mod snapshot;
mod stood;
mod tree;
mod work_tree;

use crate::catalog::Catalog;
use crate::check::{self, Item, Occasion, Place, Settings};
use crate::model::change::{DiffRecord, mode};
use crate::model::config::Config;
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};
use crate::model::foreign::Foreign;
use crate::model::id::Oid;
use crate::store::git::{GitError, Repo};

use super::progress::Silent;
use super::vault::{Governance, Vault};
pub use asked::{known_rules, places, proposal};
pub(super) use tree::GitTree;
pub use work_tree::{Count, Report, work_tree};

/// Runs all checks on what a proposal changes, in the tree that its merge would make, under the policy of main.
///
/// `records` is the difference between the proposal's base and its tip; `result` is main's tree with those paths
/// put into it; `rollback_of` is the merge that it says to take back. Warnings that stood there before are left out: they
/// are no word about the change. The cost follows the change, not the vault. Findings are sorted by path, line and rule; whether
/// one of them stops the proposal is in its severity.
///
/// # Errors
/// When an object or main's policy cannot be read.
pub fn for_proposal(
    vault: &Vault<'_>,
    main: Oid,
    result: Oid,
    records: &[DiffRecord],
    rollback_of: Option<Oid>,
) -> Result<Vec<Finding>, Fault> {
    let governance = vault.governance(main)?;
    // What other programs' settings say is no part of what is governed: they must not switch a check off.
    let config = vault.config.clone().with(Foreign::default());
    let settings = Settings { rules: &governance.rules, config: &config, occasion: Occasion::Proposal };
    let tree = GitTree::new(&vault.repo, result, &config, catalog(vault));
    let items: Vec<Item> = items(&vault.repo, records)?;
    let findings = check::run(&items, &tree, settings);
    tree.finish()?;
    // What stops a proposal is told however long it stood there.
    let stood = stood::stood(vault, main, (records, &items), rollback_of, settings)?;
    let is_new = |finding: &Finding| finding.severity >= Severity::Person || !stood.has(finding);
    Ok(findings.into_iter().filter(is_new).collect())
}

/// The catalog, made now where there is none yet: that costs the vault once, and reading every memory from git would
/// cost it each time. Where it cannot be made (a full disk, another process that indexes) git is read, for the same
/// answers.
pub(super) fn catalog(vault: &Vault<'_>) -> Option<Catalog> {
    use super::sync;
    let open = || sync::open_still(vault);
    open().or_else(|_| sync::ensure(vault, &Silent).and_then(|_| open())).ok()
}

/// Runs the checks that need only a blob and its path (`secret`, `path`, `generated`) on everything that the
/// records introduce. Audit gives the records of each commit of a branch against its parents, so that what was
/// added and taken away again is seen too. The same blob at the same path is looked at once.
///
/// # Errors
/// When an object cannot be read.
pub fn blob_checks(
    repo: &Repo,
    governance: &Governance,
    records: &[DiffRecord],
) -> Result<Vec<Finding>, Fault> {
    let config = Config::default();
    let settings = Settings { rules: &governance.rules, config: &config, occasion: Occasion::Blob };
    let mut seen = std::collections::HashSet::new();
    let mut findings = Vec::new();
    for record in records.iter().filter(|r| seen.insert((&r.path, r.new_mode, r.new_oid))) {
        // One at a time: a branch may have introduced more than fits into memory. What was there before is no matter.
        let item = item(repo, record, false)?;
        findings.extend(check::Run::new(&tree::Nothing, settings).item(&item));
    }
    Ok(check::sorted(findings))
}

/// What stood at a place before is read where it can matter: a file that is only removed could have been moved at most,
/// and nothing is moved where nothing is new.
fn items(repo: &Repo, records: &[DiffRecord]) -> Result<Vec<Item>, GitError> {
    let some_new = records.iter().any(|record| record.old_mode == mode::NONE);
    let with_before = |record: &DiffRecord| some_new || record.new_mode != mode::NONE;
    records.iter().map(|record| item(repo, record, with_before(record))).collect()
}

fn item(repo: &Repo, record: &DiffRecord, with_before: bool) -> Result<Item, GitError> {
    let blob = |of: u32, oid: Oid| match of {
        mode::FILE | mode::EXECUTABLE | mode::LINK => repo.blob(oid).map(Some),
        _ => Ok(None),
    };
    Ok(Item {
        place: Place::of(&record.path),
        mode: record.new_mode,
        new: record.old_mode == mode::NONE,
        before: if with_before { blob(record.old_mode, record.old_oid)? } else { None },
        after: blob(record.new_mode, record.new_oid)?,
    })
}
