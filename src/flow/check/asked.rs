//! What people ask to have checked.

use std::path::{Component, Path, PathBuf};

use super::Report;
use crate::check;
use crate::flow::proposals;
use crate::flow::sight::Sight;
use crate::flow::vault::Vault;
use crate::model::access::Access;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::path::VaultPath;
use crate::model::uri::{SCHEME, Uri};

/// No check has that name.
#[derive(Debug, thiserror::Error)]
#[error("there is no check and no rule `{0}`")]
struct UnknownRule(String);

impl Explain for UnknownRule {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        let rules: Vec<String> = check::rules().map(|(rule, _)| rule).collect();
        let checks = check::ALL.iter().map(|check| check.name.to_owned());
        let distance = |known: &String| strsim::osa_distance(&self.0, known);
        let near = rules.into_iter().filter(|known| distance(known) <= 3).min_by_key(|known| distance(known));
        Some(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the checks are {}", checks.collect::<Vec<_>>().join(", ")),
        })
    }
}

/// Findings that reading and walking report by themselves carry these names besides the checks'.
const READING: &[&str] = &["format", "config"];

/// Refuses names that no rule has. Behind a check's name and a dot, what reading a file reports is accepted too.
///
/// # Errors
/// When a name is unknown.
pub fn known_rules(asked: &[String]) -> Result<(), Fault> {
    for rule in asked {
        let (name, case) =
            rule.split_once('.').map_or((rule.as_str(), None), |(name, case)| (name, Some(case)));
        let check = check::ALL.iter().find(|check| check.name == name);
        let near_miss = check.is_some_and(|check| {
            case.is_some_and(|case| check.cases.iter().all(|known| known.name != case))
                && check::rules().any(|(known, _)| strsim::osa_distance(&known, rule) <= 2)
        });
        if near_miss || (check.is_none() && !READING.contains(&name)) {
            return Err(UnknownRule(rule.clone()).into());
        }
    }
    Ok(())
}

/// The places in the vault that somebody who stands in `directory` names: addresses, paths from there, or paths
/// from the vault's root.
///
/// # Errors
/// When a text can be none of them.
pub fn places(vault: &Vault<'_>, directory: &Path, texts: &[String]) -> Result<Vec<VaultPath>, Fault> {
    texts.iter().map(|text| place(vault, directory, text)).collect()
}

fn place(vault: &Vault<'_>, directory: &Path, text: &str) -> Result<VaultPath, Fault> {
    if text.starts_with(SCHEME) {
        return Ok(Uri::parse(text)?.path);
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let there = plain(&real(directory).join(text));
    if there.symlink_metadata().is_ok()
        && let Ok(relative) = there.strip_prefix(real(vault.root()?))
        && let Some(relative) = relative.to_str()
    {
        return Ok(VaultPath::parse(&relative.replace(std::path::MAIN_SEPARATOR, "/"))?);
    }
    Ok(VaultPath::parse(text.strip_prefix("./").unwrap_or(text))?)
}

/// A path without `.` and `..`, by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// Checks what an open proposal changes, in the tree that its merge would make, and every blob it introduces.
///
/// # Errors
/// When there is no such open proposal, or it cannot be read.
pub fn proposal(vault: &Vault<'_>, access: &Access, id: &str) -> Result<Report, Fault> {
    let id = proposals::named_by(vault, None, Some(id))?;
    let assessed = proposals::assess(vault, vault.main()?, &id, proposals::open_tip(vault, &id)?)?;
    let sight = Sight::of(vault, access)?;
    let seen = sight.seen(&assessed.branch.records)?;
    let findings = sight.findings(&seen, check::sorted(assessed.findings))?;
    Ok(Report::of(assessed.branch.records.len() as u64, findings))
}
