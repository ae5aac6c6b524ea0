//! The message of a merge commit: readable with plain git. It proves nothing; the events do.

use crate::flow::branch::Branch;
use crate::flow::proposals::Assessed;
use crate::flow::vault::Vault;
use crate::model::change::mode;
use crate::model::fault::Fault;
use crate::model::id::ActorId;

/// The most evidence that is named.
const MAX_EVIDENCE: usize = 20;

/// The message: a subject, and who and what as trailers.
pub(super) fn of(vault: &Vault<'_>, assessed: &Assessed) -> Result<String, Fault> {
    let (branch, decision) = (&assessed.branch, &assessed.decision);
    let governance = vault.governance(assessed.main)?;
    let person = |id: &ActorId| match governance.actors.get(id) {
        Some(actor) => format!("{id} <{}>", actor.email),
        None => id.to_string(),
    };
    let title: String = decision.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut out = format!("{} ({})\n\n", title.trim(), branch.id);
    let mut trailer = |name: &str, value: &str| {
        out.push_str(&format!("{name}: {value}\n"));
    };
    trailer("Proposal", branch.id.as_str());
    trailer("Revision", &decision.revision.to_string());
    trailer("Digest", &decision.digest.to_string());
    trailer("Proposed-by", &person(&decision.proposer));
    for voice in &decision.approvals {
        trailer("Approved-by", &person(&voice.actor));
    }
    if let Some(merge) = decision.exact_rollback {
        trailer("Rolls-back", &merge.to_string());
    }
    for evidence in evidence(vault, branch)? {
        trailer("Evidence", &evidence);
    }
    Ok(out)
}

/// The URIs of evidence that footnotes of the changed files cite.
fn evidence(vault: &Vault<'_>, branch: &Branch) -> Result<Vec<String>, Fault> {
    let mut out = Vec::new();
    for record in
        branch.records.iter().filter(|record| matches!(record.new_mode, mode::FILE | mode::EXECUTABLE))
    {
        if vault.repo.blob_size(record.new_oid)? > 1 << 20 {
            continue;
        }
        let bytes = vault.repo.blob(record.new_oid)?;
        for cited in crate::flow::evidence::cited(&String::from_utf8_lossy(&bytes)) {
            let uri: String = cited.uri.chars().filter(|c| !c.is_control()).collect();
            if !out.contains(&uri) {
                out.push(uri);
            }
            if out.len() >= MAX_EVIDENCE {
                return Ok(out);
            }
        }
    }
    Ok(out)
}
