//! Runs all checks over items and reports everything.

use std::collections::HashSet;

use super::{ALL, Check, Item, Occasion, Place, Settings, Tree};
use crate::model::finding::{Finding, Severity};
use crate::model::path::VaultPath;
use crate::model::policy::Held;

/// What a check sees of an item.
pub(super) struct Subject<'a> {
    /// The item.
    pub(super) item: &'a Item,
    /// Its path, where it has one of a vault.
    pub(super) path: Option<&'a VaultPath>,
    /// What the policy says for the path.
    pub(super) held: &'a Held,
    /// The rest of the state.
    pub(super) tree: &'a dyn Tree,
    /// The occasion and the settings.
    pub(super) settings: &'a Settings<'a>,
}

/// Where a check puts what it finds.
pub(super) struct Sink<'a> {
    check: &'static Check,
    held: &'a Held,
    path: Option<&'a VaultPath>,
    findings: &'a mut Vec<Finding>,
}

impl Sink<'_> {
    /// Adds a finding of one of the check's cases; a case that is not listed is an error, so that nothing is
    /// lost by a slip of the pen.
    pub(super) fn add(&mut self, case: &str, line: Option<u32>, message: String, fix: Option<String>) {
        let rule = format!("{}.{case}", self.check.name);
        let built_in = self.check.cases.iter().find(|known| known.name == case);
        debug_assert!(built_in.is_some(), "{rule} is not listed");
        let severity = self
            .held
            .checks
            .get(&rule)
            .or_else(|| self.held.checks.get(self.check.name))
            .copied()
            .unwrap_or(built_in.map_or(Severity::Error, |case| case.severity));
        let path = self.path.cloned();
        self.findings.push(Finding { rule, severity, path, line, message, fix });
    }
}

/// A run of all checks (or of those that need only blobs) over any number of items, one at a time.
///
/// It can be shared between threads when the tree can.
pub struct Run<'a, T: ?Sized> {
    tree: &'a T,
    settings: Settings<'a>,
}

impl<'a, T: Tree> Run<'a, T> {
    /// Begins a run.
    #[must_use]
    pub fn new(tree: &'a T, settings: Settings<'a>) -> Run<'a, T> {
        Run { tree, settings }
    }

    /// What all checks say about one item, unsorted.
    #[must_use]
    pub fn item(&self, item: &Item) -> Vec<Finding> {
        let path = match &item.place {
            Place::Path(path) => Some(path),
            Place::Raw(_) => None,
        };
        let held = path.map(|path| self.settings.rules.for_path(path)).unwrap_or_default();
        let subject = Subject { item, path, held: &held, tree: self.tree, settings: &self.settings };
        let mut findings = Vec::new();
        for check in ALL {
            if self.settings.occasion != Occasion::Blob || check.of_blobs {
                (check.run)(&subject, &mut Sink { check, held: &held, path, findings: &mut findings });
            }
        }
        findings
    }
}

/// Brings findings into their order (path, line, rule) and drops what is said twice.
#[must_use]
pub fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings
        .sort_by(|a, b| (&a.path, a.line, &a.rule, &a.message).cmp(&(&b.path, b.line, &b.rule, &b.message)));
    let mut said = HashSet::new();
    findings.retain(|f| said.insert((f.rule.clone(), f.path.clone(), f.line, f.message.clone())));
    findings
}

/// Runs all checks over the items and reports everything, sorted by path, line and rule.
#[must_use]
pub fn run<T: Tree>(items: &[Item], tree: &T, settings: Settings<'_>) -> Vec<Finding> {
    let run = Run::new(tree, settings);
    sorted(items.iter().flat_map(|item| run.item(item)).collect())
}
