//! The files as they stand.

use std::collections::{BTreeMap, HashSet};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::attachments::unnamed;
use super::snapshot::{Extra, Snapshot};
use crate::check::{self, Item, Occasion, Place, Settings};
use crate::flow::Progress;
use crate::flow::asof::RevisionError;
use crate::flow::locate;
use crate::flow::reader::Reader;
use crate::flow::sight::Sight;
use crate::flow::vault::Vault;
use crate::markdown;
use crate::model::access::Access;
use crate::model::change::mode;
use crate::model::config::Config;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::{Finding, Severity};
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::git::Head;
use crate::store::walk::{FileStat, WalkOptions, walk};

/// How often one rule was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Count {
    /// The rule.
    pub rule: String,
    /// The worst severity among its findings.
    pub severity: Severity,
    /// How many findings there are.
    pub findings: u64,
    /// In how many files.
    pub files: u64,
    /// What it means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// What `check` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// How many files were looked at.
    pub files: u64,
    /// The rules that were broken, worst first.
    pub rules: Vec<Count>,
    /// The size of all attachments that nothing shows, in bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub unused_bytes: u64,
    /// Every finding, by path, line and rule.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Sums findings up.
    #[must_use]
    pub fn of(files: u64, findings: Vec<Finding>) -> Report {
        let mut by_rule: BTreeMap<&str, (Severity, u64, HashSet<Option<&VaultPath>>)> = BTreeMap::new();
        for finding in &findings {
            let sum = by_rule.entry(&finding.rule).or_insert((Severity::Info, 0, HashSet::new()));
            sum.0 = sum.0.max(finding.severity);
            sum.1 += 1;
            sum.2.insert(finding.path.as_ref());
        }
        let mut known: BTreeMap<String, &str> =
            check::rules().map(|(rule, case)| (rule, case.about)).collect();
        known.extend(BY_READING.iter().map(|(rule, about)| ((*rule).to_owned(), *about)));
        let count = |(rule, (severity, findings, files)): (&str, (Severity, u64, HashSet<_>))| Count {
            rule: rule.to_owned(),
            severity,
            findings,
            files: files.len() as u64,
            about: known.get(rule).map(|about| (*about).to_owned()),
        };
        let mut rules: Vec<Count> = by_rule.into_iter().map(count).collect();
        rules.sort_by(|a, b| (b.severity, b.findings, &a.rule).cmp(&(a.severity, a.findings, &b.rule)));
        Report { files, rules, unused_bytes: 0, findings }
    }

    /// Whether something was found that needs a person or must be mended.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.rules.iter().any(|count| count.severity >= Severity::Person)
    }

    /// The same report with the findings of some rules only: a rule's full name, or a check's for all of its.
    #[must_use]
    pub fn only(self, rules: &[String]) -> Report {
        if rules.is_empty() {
            return self;
        }
        let wanted = |f: &Finding| rules.iter().any(|rule| *rule == f.rule || *rule == f.check());
        let unused_bytes = self.unused_bytes;
        Report { unused_bytes, ..Report::of(self.files, self.findings.into_iter().filter(wanted).collect()) }
    }
}

/// What reading and walking report by themselves, besides the checks.
const BY_READING: [(&str, &str); 9] = [
    ("format.utf8", "a file that is not UTF-8"),
    ("format.dense", "a file with too many marks to be a note"),
    ("config.ignore", "a malformed glob under `ignore`"),
    ("path.encoding", "a name that is not UTF-8"),
    ("path.kind", "neither a file nor a directory"),
    ("path.nested", "a vault or repository within this one, which is left alone"),
    (
        "path.symlink",
        "a symbolic link, which is left out; one that leads out of the vault, nowhere or back to itself",
    ),
    ("path.unreadable", "a file or directory that cannot be read"),
    ("index.encoding", "a text that is not UTF-8"),
];

// The form that serde asks for.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Why nothing was checked.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    /// Nothing stands at a path.
    #[error("there is no file and no directory `{0}` in the vault")]
    NoPath(VaultPath, Vec<String>),
}

impl Explain for CheckError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        let CheckError::NoPath(_, near) = self;
        Some(locate::did_you_mean(near))
    }
}

/// Checks the files as they stand, committed or not: all, or those at and below some paths.
///
/// Everything is read twice, first for the names, then to be judged, so that no more than a few files are in memory
/// at a time. All processors are used.
///
/// # Errors
/// In a bare repository, for an agent, when the policy cannot be read, when a path names nothing, or on Ctrl-C.
pub fn work_tree(
    vault: &Vault<'_>,
    access: &Access,
    paths: &[VaultPath],
    progress: &dyn Progress,
) -> Result<Report, Fault> {
    let root = vault.root()?.to_owned();
    if access.is_agent() {
        return Err(RevisionError::Unapproved("the work tree".to_owned()).into());
    }
    let options = WalkOptions {
        ignore: vault.config.ignore.clone(),
        cancel: vault.env.cancel.clone(),
        ..WalkOptions::default()
    };
    progress.begin("looking for files", None);
    let found = walk(&root, &options);
    progress.end();
    vault.env.go_on()?;

    progress.begin("reading names", Some(found.files.len() as u64));
    let (config, cancel) = (&vault.config, &vault.env.cancel);
    let named = found.files.par_iter().map(|file| {
        let extra = names_of(config, &root, file, cancel.is_cancelled());
        progress.advance(1);
        (file.path.clone(), extra)
    });
    let head = match vault.repo.head()? {
        Head::Branch(_, oid) => oid,
        Head::Detached(oid) => Some(oid),
    };
    let head = head.map(|oid| vault.repo.tree_of(oid)).transpose()?;
    // What a directory that cannot be read had in the last commit is taken for there, so that links to it are not broken.
    let mut named: Vec<(VaultPath, Extra)> = named.collect();
    if let Some(head) = head.filter(|_| !found.unread.is_empty()) {
        let hidden = |path: &VaultPath| found.unread.iter().any(|(above, _)| path.is_within(above));
        let known = vault.repo.files(head)?.into_iter().filter_map(|(path, _)| VaultPath::from_disk(&path));
        named.extend(known.filter(hidden).map(|path| (path, Extra::default())));
        named.sort_by(|a, b| a.0.cmp(&b.0));
        named.dedup_by(|a, b| a.0 == b.0);
    }
    let unnamed = unnamed(&root, &found.files, cancel);
    let snapshot = Snapshot::new(root.clone(), named).since(head).with_unnamed(unnamed);
    progress.end();
    vault.env.go_on()?;

    let within = |path: &VaultPath| paths.is_empty() || paths.iter().any(|above| path.is_within(above));
    for path in paths {
        // What is wrong with it is told where no file of it can be.
        let known = found.files.iter().any(|file| file.path.is_within(path))
            || found
                .problems
                .iter()
                .any(|problem| problem.path.as_ref().is_some_and(|at| at.is_within(path)));
        if !known && !path.is_root() {
            files::place_to_read(&root, path)?;
            let near = locate::near(&Reader::new(vault, access.clone())?, path)?;
            return Err(CheckError::NoPath(path.clone(), near).into());
        }
    }
    let (governance, known) = standing(vault)?;
    let settings = Settings { rules: &governance.rules, config: &vault.config, occasion: Occasion::WorkTree };
    let run = check::Run::new(&snapshot, settings);
    // What Obsidian is told to leave out is left out here too; links to it lead somewhere still.
    let judged = |path: &VaultPath| within(path) && config.foreign.ignores(path).is_none();
    let chosen: Vec<&FileStat> = found.files.iter().filter(|file| judged(&file.path)).collect();
    progress.begin("checking", Some(chosen.len() as u64));
    let judged = chosen.par_iter().flat_map_iter(|file| {
        let findings = if cancel.is_cancelled() { Vec::new() } else { judge(&run, &root, file, &known) };
        progress.advance(1);
        findings
    });
    let mut findings: Vec<Finding> = judged.collect();
    progress.end();
    vault.env.go_on()?;
    // Which memories nothing leads to is known only once all were looked at.
    if paths.is_empty() {
        findings.extend(run.orphans());
    }
    findings.extend(found.problems.into_iter().filter(|f| f.path.as_ref().is_none_or(within)));
    findings.extend(crate::flow::layers::work_tree::findings(vault, &governance, paths)?);
    let findings = Sight::of(vault, access)?.of_files(check::sorted(findings))?;
    let sizes: BTreeMap<&VaultPath, u64> = chosen.iter().map(|file| (&file.path, file.size)).collect();
    let unused = findings.iter().filter(|finding| finding.rule == "attachment.unused");
    let unused_bytes = unused.filter_map(|finding| sizes.get(finding.path.as_ref()?)).sum();
    Ok(Report { unused_bytes, ..Report::of(chosen.len() as u64, findings) })
}

/// The policy and the files of main.
fn standing(vault: &Vault<'_>) -> Result<(crate::flow::vault::Governance, HashSet<VaultPath>), Fault> {
    let main = vault.main()?;
    let governance = vault.governance(main)?;
    let files = vault.repo.files(vault.repo.tree_of(main)?)?;
    let known = files.into_iter().filter_map(|(path, _)| VaultPath::from_disk(&path)).collect();
    Ok((governance, known))
}

fn names_of(config: &Config, root: &std::path::Path, file: &FileStat, skip: bool) -> Extra {
    if skip || !file.path.is_markdown() {
        return Extra::default();
    }
    let bytes = files::read(root, &file.path).unwrap_or_default();
    // Without a head there is neither alias nor id, and nothing needs to be read further.
    if config.foreign.logseq || markdown::may_have_head(&bytes) {
        Extra::of(&markdown::names(&file.path, &bytes, config))
    } else {
        Extra::default()
    }
}

fn judge(
    run: &check::Run<'_, Snapshot>,
    root: &std::path::Path,
    file: &FileStat,
    known: &HashSet<VaultPath>,
) -> Vec<Finding> {
    match files::read(root, &file.path) {
        Ok(bytes) => run.item(&Item {
            place: Place::Path(file.path.clone()),
            mode: mode::FILE,
            new: !known.contains(&file.path),
            before: None,
            after: Some(bytes),
        }),
        Err(error) => {
            let finding = Finding::new("path.unreadable", Severity::Warning, error.to_string());
            vec![finding.in_file(&file.path)]
        }
    }
}
