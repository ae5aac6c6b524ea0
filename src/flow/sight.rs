//! What a reader is told of a change: files, findings and reasons without what it may not see.
//!
//! Whether something merges never depends on who looks. So the judgement is made over everything, and only its
//! telling is cut here.

use std::collections::BTreeSet;

use super::decide::Decision;
use super::difference::FileDiff;
use super::reader::Reader;
use super::vault::Vault;
use crate::check;
use crate::model::access::{Access, View};
use crate::model::change::{DiffRecord, mode};
use crate::model::fault::Fault;
use crate::model::finding::Finding;
use crate::model::id::Oid;
use crate::model::path::VaultPath;

/// What is said in place of reasons that name what the reader may not see.
const UNSAID: &str = "it touches files that you may not read, so the reasons are not told";

/// One reader's sight of changes.
pub struct Sight<'v, 'e> {
    reader: Reader<'v, 'e>,
}

/// The part of a change that a reader sees.
#[derive(Debug)]
pub struct Seen {
    paths: BTreeSet<VaultPath>,
    /// Whether that is all of it.
    pub whole: bool,
}

impl<'v, 'e> Sight<'v, 'e> {
    /// The sight of a reader, whatever view it has of the vault itself.
    ///
    /// # Errors
    /// When main cannot be read.
    pub fn of(vault: &'v Vault<'e>, access: &Access) -> Result<Sight<'v, 'e>, Fault> {
        let access = Access { actor: access.actor.clone(), view: View::Main };
        Ok(Sight { reader: Reader::new(vault, access)? })
    }

    /// Whether the reader sees a file of a change: by its path, and by what it says of its sensitivity on both sides.
    fn sees(&self, path: &[u8], blobs: impl IntoIterator<Item = Oid>) -> Result<bool, Fault> {
        if !self.reader.access.is_narrow() {
            return Ok(true);
        }
        let Some(path) = VaultPath::from_disk(path).filter(|path| self.reader.reads.holds(path)) else {
            return Ok(false);
        };
        for blob in blobs {
            if !self.reader.is_cleared(&path, blob)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The files that the reader sees.
    ///
    /// # Errors
    /// When a blob cannot be read.
    pub fn files(&self, files: Vec<FileDiff>) -> Result<Vec<FileDiff>, Fault> {
        let mut out = Vec::with_capacity(files.len());
        for file in files {
            if self.sees(file.path.as_bytes(), file.old.into_iter().chain(file.new))? {
                out.push(file);
            }
        }
        Ok(out)
    }

    /// The part of a change that the reader sees.
    ///
    /// # Errors
    /// When a blob cannot be read.
    pub fn seen(&self, records: &[DiffRecord]) -> Result<Seen, Fault> {
        let mut seen = Seen { paths: BTreeSet::new(), whole: true };
        for record in records {
            let is_blob = |of: u32| matches!(of, mode::FILE | mode::EXECUTABLE | mode::LINK);
            let sides = [(record.old_mode, record.old_oid), (record.new_mode, record.new_oid)];
            let blobs = sides.into_iter().filter(|(of, _)| is_blob(*of)).map(|(_, oid)| oid);
            if self.sees(&record.path, blobs)? {
                seen.paths.extend(record.vault_path());
            } else {
                seen.whole = false;
            }
        }
        Ok(seen)
    }

    /// The findings about what the reader sees; where one names another file that it does not see, without that name.
    ///
    /// # Errors
    /// When main cannot be read.
    pub fn findings(&self, seen: &Seen, findings: Vec<Finding>) -> Result<Vec<Finding>, Fault> {
        if !self.reader.access.is_narrow() {
            return Ok(findings);
        }
        let mut out = Vec::new();
        for finding in findings {
            match &finding.path {
                Some(path) if !seen.paths.contains(path) => {}
                _ => out.push(self.without_names(seen, finding)?),
            }
        }
        Ok(out)
    }

    /// The findings about the files of the work tree, for a person who may not see all of them.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn of_files(&self, findings: Vec<Finding>) -> Result<Vec<Finding>, Fault> {
        let access = &self.reader.access;
        if !access.is_narrow() {
            return Ok(findings);
        }
        let files = Access { actor: access.actor.clone(), view: View::WorkTree };
        let files = Reader::new(self.reader.vault, files)?;
        let mut seen = Seen { paths: BTreeSet::new(), whole: false };
        for path in findings.iter().flat_map(|finding| finding.path.iter().chain(&finding.names)) {
            if !seen.paths.contains(path) && files.stands(path)?.is_some() {
                seen.paths.insert(path.clone());
            }
        }
        self.findings(&seen, findings)
    }

    fn without_names(&self, seen: &Seen, mut finding: Finding) -> Result<Finding, Fault> {
        for path in &finding.names {
            if !seen.paths.contains(path) && self.reader.stands(path)?.is_none() {
                let about =
                    check::rules().find(|(rule, _)| *rule == finding.rule).map(|(_, case)| case.about);
                finding.message = about.unwrap_or("something is wrong with it").to_owned();
                finding.fix = None;
                break;
            }
        }
        Ok(finding)
    }

    /// The sentences about a change: all of them for whoever sees all of it.
    #[must_use]
    pub fn reasons(seen: &Seen, reasons: Vec<String>) -> Vec<String> {
        if seen.whole || reasons.is_empty() { reasons } else { vec![UNSAID.to_owned()] }
    }

    /// A decision without what the reader does not see.
    #[must_use]
    pub fn decision(seen: &Seen, mut decision: Decision) -> Decision {
        if seen.whole {
            return decision;
        }
        decision.reasons = Sight::reasons(seen, decision.reasons);
        decision.missing = Sight::reasons(seen, decision.missing);
        decision
            .conflicts
            .retain(|path| VaultPath::from_disk(path.as_bytes()).is_some_and(|p| seen.paths.contains(&p)));
        for paths in decision.rules.values_mut() {
            paths.retain(|path| seen.paths.contains(path));
        }
        decision
    }
}
