//! Runs all checks over items and reports everything.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use super::link::Anchors;
use super::schema::Schema;
use super::{ALL, Check, Item, Occasion, Place, Settings, Tree};
use crate::markdown;
use crate::markdown::renamed::Renames;
use crate::model::change::mode;
use crate::model::copy;
use crate::model::finding::{Finding, Severity};
use crate::model::memory::Memory;
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
    memory: OnceCell<Option<Memory>>,
    kept: &'a Kept,
}

impl Subject<'_> {
    /// The item as a memory, if it is a Markdown file; read once for all checks.
    pub(super) fn memory(&self) -> Option<&Memory> {
        let read = || {
            let path = self.path.filter(|path| path.is_markdown() && !path.is_layer())?;
            let bytes = self.item.after.as_ref()?;
            let is_file = matches!(self.item.mode, mode::FILE | mode::EXECUTABLE);
            is_file.then(|| markdown::read(path, bytes, self.settings.config))
        };
        self.memory.get_or_init(read).as_ref()
    }

    /// The item as a canvas, if it is one.
    pub(super) fn canvas(&self) -> Option<Memory> {
        let path = self.path.filter(|path| path.is_canvas())?;
        let is_file = matches!(self.item.mode, mode::FILE | mode::EXECUTABLE);
        is_file.then(|| Some(markdown::read(path, self.item.after.as_ref()?, self.settings.config)))?
    }

    /// What the item is a copy of, by its name and its bytes, that a program for synchronising files left.
    pub(super) fn copied(&self) -> Option<copy::Copy> {
        let (path, bytes) = (self.path?, self.item.after.as_ref()?);
        let read = |file: &_| if file == path { Some(bytes.clone()) } else { self.tree.read(file) };
        copy::original(path, |file| self.tree.names().has_file(file), read)
    }

    /// Takes down what the links of the item lead to, and whether nothing but a link from elsewhere can save it from
    /// being an orphan.
    pub(super) fn links_lead_to(&self, files: HashSet<VaultPath>, alone: bool) {
        let mut linked = self.kept.linked.lock().unwrap_or_else(PoisonError::into_inner);
        linked.memories += 1;
        linked.to.extend(files);
        linked.alone.extend(self.path.filter(|_| alone).cloned());
    }

    /// What links into another file can name; read once for all links to it.
    pub(super) fn anchors(&self, file: &VaultPath) -> Option<Arc<Anchors>> {
        self.kept.anchors.get(file, || {
            let bytes = self.tree.read(file)?;
            Some(Anchors::of(&markdown::read(file, &bytes, self.settings.config)))
        })
    }

    /// What the headings and blocks of a file are called otherwise than in the last commit; found out once.
    pub(super) fn renames(&self, file: &VaultPath) -> Option<Arc<Renames>> {
        self.kept.renames.get(file, || {
            let (before, now) = (self.tree.before(file)?, self.tree.read(file)?);
            let read = |bytes: &[u8]| markdown::read(file, bytes, self.settings.config);
            (before != now).then(|| Renames::between(&read(&before), &read(&now)))
        })
    }

    /// A JSON Schema of the vault; read once.
    pub(super) fn schema(&self, file: &VaultPath, compile: fn(&[u8]) -> Schema) -> Option<Arc<Schema>> {
        self.kept.schemas.get(file, || self.tree.read(file).map(|bytes| compile(&bytes)))
    }
}

/// What is read once in a run, whoever asks.
#[derive(Default)]
struct Kept {
    anchors: Once<VaultPath, Anchors>,
    renames: Once<VaultPath, Renames>,
    schemas: Once<VaultPath, Schema>,
    linked: Mutex<Linked>,
}

/// What links of the items lead to.
#[derive(Default)]
struct Linked {
    /// How many memories were looked at.
    memories: usize,
    to: HashSet<VaultPath>,
    /// The memories without a link to another file.
    alone: Vec<VaultPath>,
}

/// Answers that are worked out once each and shared between threads. Two threads that ask at the same time may
/// both work one out; the first one's stays.
struct Once<K, V>(Mutex<HashMap<K, Option<Arc<V>>>>);

impl<K, V> Default for Once<K, V> {
    fn default() -> Self {
        Once(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V> Once<K, V> {
    fn get(&self, key: &K, make: impl FnOnce() -> Option<V>) -> Option<Arc<V>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        known.unwrap_or_else(|| {
            let made = make().map(Arc::new);
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(key.clone()).or_insert(made).clone()
        })
    }
}

/// Where a check puts what it finds.
pub(super) struct Sink<'a> {
    check: &'static Check,
    held: &'a Held,
    path: Option<&'a VaultPath>,
    standing: bool,
    findings: &'a mut Vec<Finding>,
}

impl Sink<'_> {
    /// Adds a finding of one of the check's cases; a case that is not listed is an error, so that nothing is
    /// lost by a slip of the pen.
    pub(super) fn add(&mut self, case: &str, line: Option<u32>, message: String, fix: Option<String>) {
        self.add_naming(case, line, message, fix, &[]);
    }

    /// As [`Sink::add`], for a finding whose message or fix names other files than the one that is judged.
    pub(super) fn add_naming(
        &mut self,
        case: &str,
        line: Option<u32>,
        message: String,
        fix: Option<String>,
        names: &[VaultPath],
    ) {
        let rule = format!("{}.{case}", self.check.name);
        let built_in = self.check.cases.iter().find(|known| known.name == case);
        debug_assert!(built_in.is_some(), "{rule} is not listed");
        let built_in = built_in.map_or(Severity::Error, |case| match self.standing {
            true => case.standing,
            false => case.severity,
        });
        let severity = self.severity(&rule, built_in);
        let path = self.path.cloned();
        self.findings.push(Finding { rule, severity, path, line, message, fix, names: names.to_vec() });
    }

    /// Passes on what reading the file has found.
    pub(super) fn pass_on(&mut self, finding: &Finding) {
        let severity = self.severity(&finding.rule, finding.severity);
        self.findings.push(Finding { severity, path: self.path.cloned(), ..finding.clone() });
    }

    /// What the policy says of a rule, its own name before its check's.
    fn severity(&self, rule: &str, built_in: Severity) -> Severity {
        let checks = &self.held.checks;
        let check = rule.split('.').next().unwrap_or(rule);
        checks.get(rule).or_else(|| checks.get(check)).copied().unwrap_or(built_in)
    }
}

/// A run of all checks (or of those that need only blobs) over any number of items, one at a time.
///
/// It can be shared between threads when the tree can.
pub struct Run<'a, T: ?Sized> {
    tree: &'a T,
    settings: Settings<'a>,
    kept: Kept,
}

impl<'a, T: Tree> Run<'a, T> {
    /// Begins a run.
    #[must_use]
    pub fn new(tree: &'a T, settings: Settings<'a>) -> Run<'a, T> {
        Run { tree, settings, kept: Kept::default() }
    }

    /// What all checks say about one item, unsorted.
    #[must_use]
    pub fn item(&self, item: &Item) -> Vec<Finding> {
        let path = match &item.place {
            Place::Path(path) => Some(path),
            Place::Raw(_) => None,
        };
        let held = path.map(|path| self.settings.rules.for_path(path)).unwrap_or_default();
        let subject = Subject {
            item,
            path,
            held: &held,
            tree: self.tree,
            settings: &self.settings,
            memory: OnceCell::new(),
            kept: &self.kept,
        };
        let standing = self.settings.occasion == Occasion::WorkTree;
        let mut findings = Vec::new();
        for check in ALL {
            if self.settings.occasion != Occasion::Blob || check.of_blobs {
                let findings = &mut findings;
                (check.run)(&subject, &mut Sink { check, held: &held, path, standing, findings });
            }
        }
        findings
    }
}

impl<T: Tree> Run<'_, T> {
    /// The memories that no link leads from or to, once every file as it stands was an item of this run.
    #[must_use]
    pub fn orphans(&self) -> Vec<Finding> {
        let linked = self.kept.linked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut findings = Vec::new();
        // The only memory of a vault has none to be linked with.
        if linked.memories < 2 {
            return findings;
        }
        for path in linked.alone.iter().filter(|path| !linked.to.contains(*path)) {
            let held = self.settings.rules.for_path(path);
            let check = &super::link::CHECK;
            let findings = &mut findings;
            super::link::orphan(&mut Sink { check, held: &held, path: Some(path), standing: true, findings });
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
