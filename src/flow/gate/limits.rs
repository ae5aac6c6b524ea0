//! What makes a person look: sizes, counts, findings, disagreement.

use crate::flow::branch::Branch;
use crate::model::change::mode;
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};
use crate::model::id::Oid;
use crate::model::policy::{EvidenceBy, Held, Rules};
use crate::store::git::{GitError, Repo};

/// The reasons for which a proposal needs a person, apart from what its paths ask for.
///
/// # Errors
/// When an object is missing or damaged.
pub fn person_reasons(
    repo: &Repo,
    branch: &Branch,
    rules: &Rules,
    held: &[Held],
    findings: &[Finding],
) -> Result<Vec<String>, Fault> {
    let mut out = Vec::new();
    let rounds = rules.policy.max_rounds;
    if branch.revision > rounds {
        out.push(format!(
            "it has {} revisions, and policy lets {rounds} pass without a person",
            branch.revision
        ));
    }
    let least = |of: fn(&Held) -> Option<u32>| held.iter().filter_map(of).min();
    let events = u32::try_from(branch.events().count()).unwrap_or(u32::MAX);
    if let Some(most) = least(|h| h.limits.events).filter(|most| events > *most) {
        out.push(format!("its branch has {events} events, and policy lets {most} pass without a person"));
    }
    let files = u32::try_from(branch.records.len()).unwrap_or(u32::MAX);
    if let Some(most) = least(|h| h.limits.files).filter(|most| files > *most) {
        out.push(format!("it changes {files} files, and policy lets {most} pass without a person"));
    }
    if let Some(most) = least(|h| h.limits.deleted_percent)
        && deletes_more(repo, branch, u64::from(most))?
    {
        out.push(format!("it deletes more than {most} % of the files"));
    }
    if held.iter().any(|h| h.limits.bytes.is_some()) {
        for (record, held) in branch.records.iter().zip(held) {
            if let Some(most) = held.limits.bytes
                && matches!(record.new_mode, mode::FILE | mode::EXECUTABLE)
                && repo.blob_size(record.new_oid)? > most
            {
                let path = String::from_utf8_lossy(&record.path);
                out.push(format!("{path} is larger than {most} bytes"));
            }
        }
    }
    if held.iter().any(|h| h.evidence_by == EvidenceBy::NotProposer)
        && branch.records.iter().any(|r| r.path.starts_with(b"evidence/") && r.old_mode == mode::NONE)
    {
        out.push("it brings evidence itself, and policy counts only evidence of others".to_owned());
    }
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Person) {
        out.push(format!("a check asks for a person: {}", shown(finding)));
    }
    Ok(out)
}

/// A finding in one line.
#[must_use]
pub fn shown(finding: &Finding) -> String {
    let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    match &finding.path {
        Some(path) => format!("{path}{line}: {} [{}]", finding.message, finding.rule),
        None => format!("{} [{}]", finding.message, finding.rule),
    }
}

/// Whether the deletions are more than that share of BASE's files. Counts no further than it needs to.
fn deletes_more(repo: &Repo, branch: &Branch, percent: u64) -> Result<bool, GitError> {
    let deleted = branch.records.iter().filter(|r| r.new_mode == mode::NONE).count() as u64;
    if deleted == 0 {
        return Ok(false);
    }
    if percent == 0 {
        return Ok(true);
    }
    let enough = (deleted * 100).div_ceil(percent);
    let mut count = 0;
    let mut trees: Vec<Oid> = vec![repo.tree_of(branch.base)?];
    while let Some(tree) = trees.pop() {
        for (_, entry) in repo.tree(tree)? {
            if entry.mode == mode::TREE {
                trees.push(entry.oid);
            } else {
                count += 1;
            }
        }
        if count >= enough {
            return Ok(false);
        }
    }
    Ok(true)
}
