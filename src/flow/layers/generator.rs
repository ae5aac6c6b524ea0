//! Making the layers of a tree, each directory from what is known of its children.
//!
//! Of each directory a record is kept: its files with what is shown of them, its directories with their abstracts. A
//! record that was made of the same tree is taken as it is; of another tree of the same directory, what stands in it
//! under the same object names is. So after an edit one file is read and the directories above it are put together
//! anew.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rayon::iter::ParallelIterator as _;
use rayon::slice::ParallelSlice as _;
use serde::{Deserialize, Serialize};

use super::overlay::Overlay;
use crate::catalog::LayerCache;
use crate::flow::reader::Reader;
use crate::flow::sync::source::Taken;
use crate::flow::unread::Unread;
use crate::flow::vault::{CONFIG, Vault};
use crate::layers::{self, Below, Child, INDEX_FILE, Layers, Leaf};
use crate::markdown;
use crate::model::access::View;
use crate::model::actor::Sensitivity;
use crate::model::change::mode;
use crate::model::clock::{Cancel, Cancelled};
use crate::model::config::Config;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::foreign::Foreign;
use crate::model::id::{Digest, Oid};
use crate::model::path::VaultPath;
use crate::store::git::Repo;

/// The most directories of one tree: a tree can name the same subtree over and over.
const MOST_DIRECTORIES: usize = 1_000_000;
/// How deep a tree is followed.
const MOST_LEVELS: usize = 200;

/// A tree has more than can be summarised.
#[derive(Debug, thiserror::Error)]
#[error("the tree has more than {MOST_DIRECTORIES} directories, which no vault has in earnest")]
struct TooMany;

impl Explain for TooMany {
    fn kind(&self) -> Kind {
        Kind::Failed
    }
}

/// What decides which files have a say in layers, and how they are read.
#[derive(Debug)]
pub struct Rules {
    /// The settings.
    pub config: Config,
    taken: Taken,
}

impl Rules {
    /// Those of some settings.
    #[must_use]
    pub fn of(config: &Config) -> Rules {
        Rules { config: config.clone(), taken: Taken::of(config) }
    }

    /// Those of a tree: its own settings decide, so that its layers depend on nothing else. Settings that cannot be
    /// read count as none.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn of_tree(repo: &Repo, tree: Oid) -> Result<Rules, Fault> {
        let bytes = repo.file_at(tree, &VaultPath::parse(CONFIG)?)?.unwrap_or_default();
        let config = Config::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
        let at = |name: &str| repo.file_at(tree, &VaultPath::parse(name).ok()?).ok().flatten();
        Ok(Rules::of(&config.with(Foreign::of(at))))
    }

    /// Whether a file is one that layers speak of: Markdown, neither hidden nor ignored, no template, no evidence.
    #[must_use]
    pub fn takes(&self, path: &VaultPath) -> bool {
        path.is_markdown()
            && path.scope() != Some("evidence")
            && self.taken.takes(path, mode::FILE)
            && !self.config.is_template(path)
            && self.config.foreign.ignores(path).is_none()
    }

    /// What a kept record depends on besides its tree.
    fn key(&self) -> String {
        let config = &self.config;
        let settings = (&config.ignore, &config.templates, &config.fields, config.foreign.key());
        let settings = serde_json::to_vec(&settings).unwrap_or_default();
        format!("{} {} {}", layers::GENERATOR, env!("CARGO_PKG_VERSION"), Digest::of(&settings))
    }
}

/// What is known of a directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The tree that it was made of; zero where files differ from it.
    tree: Oid,
    files: Vec<(String, Oid, Option<Leaf>)>,
    /// The directories with their abstracts; `None` where there is no memory below.
    directories: Vec<(String, Oid, Option<String>)>,
}

/// A directory that is looked at.
struct Node {
    path: VaultPath,
    tree: Oid,
    files: Vec<(String, Oid, Slot<Option<Leaf>, VaultPath>)>,
    directories: Vec<(String, Oid, Sub)>,
}

/// A directory below: its abstract, or itself.
type Sub = Slot<Option<String>, Box<Node>>;

/// What is known already, or what has to be made.
enum Slot<K, O> {
    Known(K),
    Open(O),
}

/// What reading gave.
type Read = HashMap<VaultPath, Option<Leaf>>;

/// Fewer files than this are read on one processor.
const FEW: usize = 16;

/// Into how many pieces for each processor what must be read is cut.
const PIECES: usize = 8;

/// A file that must be read.
struct Job {
    path: VaultPath,
    oid: Oid,
}

/// Makes layers.
pub struct Generator<'r> {
    repo: &'r Repo,
    cancel: Cancel,
    rules: Rules,
    key: String,
    cache: Option<LayerCache>,
    overlay: Overlay,
    /// Who reads, where that narrows what is shown; what is made then is kept for nobody else.
    narrowed: Option<&'r Reader<'r, 'r>>,
    memo: RefCell<HashMap<VaultPath, Rc<Record>>>,
    fresh: RefCell<Vec<VaultPath>>,
}

impl<'r> Generator<'r> {
    /// One for the trees of a vault under some rules.
    #[must_use]
    pub fn new(vault: &'r Vault<'_>, rules: Rules) -> Generator<'r> {
        Generator {
            repo: &vault.repo,
            cancel: vault.env.cancel.clone(),
            key: rules.key(),
            rules,
            cache: LayerCache::open(&vault.derived_dir()),
            overlay: Overlay::default(),
            narrowed: None,
            memo: RefCell::default(),
            fresh: RefCell::default(),
        }
    }

    /// The same over what differs in the work tree at and below a directory, for one reader.
    ///
    /// # Errors
    /// When the differences cannot be looked for.
    pub fn for_reader(
        reader: &'r Reader<'r, 'r>,
        rules: Rules,
        below: &VaultPath,
    ) -> Result<Generator<'r>, Fault> {
        let access = &reader.access;
        let overlay = match access.view {
            View::WorkTree => Overlay::of(reader.vault, &rules, below)?,
            _ => Overlay::default(),
        };
        let narrow = access
            .actor
            .as_ref()
            .is_some_and(|actor| actor.reads.is_some() || actor.clearance() < Sensitivity::Personal);
        let narrowed = (narrow || reader.is_under_todays_rules()).then_some(reader);
        Ok(Generator { overlay, narrowed, ..Generator::new(reader.vault, rules) })
    }

    /// One for the trees of a repository, which keeps what it makes for itself only.
    #[must_use]
    pub fn alone(repo: &'r Repo, rules: Rules) -> Generator<'r> {
        Generator {
            repo,
            cancel: Cancel::default(),
            key: rules.key(),
            rules,
            cache: None,
            overlay: Overlay::default(),
            narrowed: None,
            memo: RefCell::default(),
            fresh: RefCell::default(),
        }
    }

    /// What of the files could not be looked at; it is shown as the commit has it.
    pub fn unread(&self) -> &[Unread] {
        &self.overlay.unread
    }

    fn go_on(&self) -> Result<(), Cancelled> {
        if self.cancel.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// The rules that it follows.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The layers of a directory of a tree; `None` where there is no memory in or below it, or no such directory.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn layers(&self, root: Oid, directory: &VaultPath) -> Result<Option<Layers>, Fault> {
        let tree = match self.repo.entry_at(root, directory)? {
            Some(entry) if entry.mode == mode::TREE => entry.oid,
            _ if self.overlay.touches(directory) => Oid::ZERO,
            _ => return Ok(None),
        };
        Ok(self.compose(directory, &*self.record(directory, tree)?))
    }

    fn compose(&self, directory: &VaultPath, record: &Record) -> Option<Layers> {
        let (index, children, below) = self.shown(directory, record);
        layers::directory(directory.name(), index, &children, &below)
    }

    fn l0(&self, directory: &VaultPath, record: &Record) -> Option<String> {
        let (index, children, below) = self.shown(directory, record);
        layers::directory_abstract(directory.name(), index, &children, &below)
    }

    /// What of a record is to be seen.
    fn shown<'a>(
        &self,
        directory: &VaultPath,
        record: &'a Record,
    ) -> (Option<&'a Leaf>, Vec<Child<'a>>, Vec<Below<'a>>) {
        let visible = |name: &str, oid: Oid, leaf: &Leaf| {
            leaf.sensitivity < Sensitivity::Confidential
                && self.narrowed.is_none_or(|reader| {
                    child(directory, name).is_some_and(|path| reader.may_show(&path, oid, leaf.sensitivity))
                })
        };
        let mut index = None;
        let mut children = Vec::new();
        for (name, oid, leaf) in &record.files {
            let Some(leaf) = leaf.as_ref().filter(|leaf| visible(name, *oid, leaf)) else { continue };
            if name == INDEX_FILE { index = Some(leaf) } else { children.push(Child { name, leaf }) }
        }
        let below = record.directories.iter();
        let below = below.filter_map(|(name, _, l0)| Some(Below { name, l0: l0.as_deref()? })).collect();
        (index, children, below)
    }

    /// The record of a directory, made as far as it is not known.
    pub(super) fn record(&self, directory: &VaultPath, tree: Oid) -> Result<Rc<Record>, Fault> {
        if let Some(known) = self.known(directory).filter(|known| self.holds(known, directory, tree)) {
            return Ok(known);
        }
        let (mut jobs, mut left) = (Vec::new(), MOST_DIRECTORIES);
        let node = self.scan(directory, tree, &mut jobs, &mut left)?;
        let mut read = self.read(jobs)?;
        let record = self.finish(node, &mut read);
        self.keep();
        Ok(record)
    }

    /// Whether a record is that of this tree, and nothing over the tree differs.
    fn holds(&self, known: &Record, directory: &VaultPath, tree: Oid) -> bool {
        known.tree == tree && tree != Oid::ZERO && !self.overlay.touches(directory) && self.narrowed.is_none()
    }

    /// The last record of a directory, of whatever tree.
    fn known(&self, directory: &VaultPath) -> Option<Rc<Record>> {
        if let Some(known) = self.memo.borrow().get(directory) {
            return Some(Rc::clone(known));
        }
        let data = self.cache.as_ref()?.get(directory.as_str(), &self.key)?;
        let record: Rc<Record> = Rc::new(serde_json::from_slice(&data).ok()?);
        self.memo.borrow_mut().insert(directory.clone(), Rc::clone(&record));
        Some(record)
    }

    /// Looks at a directory: what is known stays, what must be read becomes a job, in order.
    fn scan(
        &self,
        path: &VaultPath,
        tree: Oid,
        jobs: &mut Vec<Job>,
        left: &mut usize,
    ) -> Result<Node, Fault> {
        self.go_on()?;
        *left = left.checked_sub(1).ok_or(TooMany)?;
        let known = self.known(path);
        let known_files: HashMap<(&str, Oid), &Option<Leaf>> = known
            .iter()
            .flat_map(|k| &k.files)
            .map(|(name, oid, leaf)| ((name.as_str(), *oid), leaf))
            .collect();
        let known_directories: HashMap<(&str, Oid), &Option<String>> = known
            .iter()
            .flat_map(|k| &k.directories)
            .map(|(name, oid, l0)| ((name.as_str(), *oid), l0))
            .collect();
        let mut node = Node { path: path.clone(), tree, files: Vec::new(), directories: Vec::new() };
        for (name, oid, directory) in self.entries(path, tree)? {
            let Some(at) = child(path, &name) else { continue };
            if directory {
                if name.starts_with('.')
                    || at.as_str() == "evidence"
                    || at.as_str().matches('/').count() > MOST_LEVELS
                {
                    continue;
                }
                let unchanged = oid != Oid::ZERO && !self.overlay.touches(&at) && self.narrowed.is_none();
                let sub = match known_directories.get(&(name.as_str(), oid)).filter(|_| unchanged) {
                    Some(l0) => Slot::Known((*l0).clone()),
                    None => match self.known(&at).filter(|known| self.holds(known, &at, oid)) {
                        Some(record) => Slot::Known(self.l0(&at, &record)),
                        None => Slot::Open(Box::new(self.scan(&at, oid, jobs, left)?)),
                    },
                };
                node.directories.push((name, oid, sub));
                continue;
            }
            if !self.rules.takes(&at) {
                continue;
            }
            if let Some(now) = self.overlay.file(&at) {
                node.files.push((name, Oid::ZERO, Slot::Known(now.clone())));
            } else if let Some(leaf) = known_files.get(&(name.as_str(), oid)) {
                let leaf = (*leaf).clone();
                node.files.push((name, oid, Slot::Known(leaf)));
            } else {
                node.files.push((name, oid, Slot::Open(at.clone())));
                jobs.push(Job { path: at, oid });
            }
        }
        Ok(node)
    }

    /// The names in a directory with their objects (zero for what stands in the work tree only), and whether they are
    /// directories; sorted, so that nothing depends on git's own order.
    fn entries(&self, path: &VaultPath, tree: Oid) -> Result<Vec<(String, Oid, bool)>, Fault> {
        let mut out: std::collections::BTreeMap<String, (Oid, bool)> = std::collections::BTreeMap::new();
        if tree != Oid::ZERO {
            for (name, entry) in self.repo.tree(tree)? {
                let directory = entry.mode == mode::TREE;
                let file = matches!(entry.mode, mode::FILE | mode::EXECUTABLE);
                if let Some(name) = String::from_utf8(name).ok().filter(|_| directory || file) {
                    out.insert(name, (entry.oid, directory));
                }
            }
        }
        for name in self.overlay.names(path) {
            let Some(at) = child(path, name) else { continue };
            let directory = self.overlay.touches(&at);
            let there = out.entry(name.clone()).or_insert((Oid::ZERO, directory));
            if there.1 != directory {
                *there = (Oid::ZERO, directory);
            }
        }
        Ok(out.into_iter().map(|(name, (oid, directory))| (name, oid, directory)).collect())
    }

    /// Reads files on all processors.
    fn read(&self, jobs: Vec<Job>) -> Result<Read, Fault> {
        let config = &self.rules.config;
        let of = |repo: &Repo, job: &Job| -> Result<Option<Leaf>, Fault> {
            Ok(layers::leaf(&markdown::read(&job.path, &repo.blob(job.oid)?, config)))
        };
        if jobs.len() < FEW {
            return jobs.into_iter().map(|job| Ok((job.path.clone(), of(self.repo, &job)?))).collect();
        }
        let (git_dir, cancel) = (self.repo.git_dir(), &self.cancel);
        // A repository is opened for each piece, which costs more than reading some files: a few large pieces.
        let size = jobs.len().div_ceil(rayon::current_num_threads() * PIECES).max(FEW);
        let read = jobs.par_chunks(size).map(|jobs| -> Result<Vec<(VaultPath, Option<Leaf>)>, Fault> {
            let repo = Repo::discover(git_dir)?;
            let going = jobs.iter().take_while(|_| !cancel.is_cancelled());
            going.map(|job| Ok((job.path.clone(), of(&repo, job)?))).collect()
        });
        let read = read.collect::<Result<Vec<_>, Fault>>();
        self.go_on()?;
        Ok(read?.into_iter().flatten().collect())
    }

    /// Puts a directory together from below.
    fn finish(&self, node: Node, read: &mut Read) -> Rc<Record> {
        let mut record = Record { tree: node.tree, files: Vec::new(), directories: Vec::new() };
        for (name, oid, leaf) in node.files {
            let leaf = match leaf {
                Slot::Known(leaf) => leaf,
                Slot::Open(path) => read.remove(&path).flatten(),
            };
            record.files.push((name, oid, leaf));
        }
        for (name, oid, sub) in node.directories {
            let l0 = match sub {
                Slot::Known(l0) => l0,
                Slot::Open(node) => {
                    let path = node.path.clone();
                    let record = self.finish(*node, read);
                    self.l0(&path, &record)
                }
            };
            record.directories.push((name, oid, l0));
        }
        let record = Rc::new(record);
        if self.narrowed.is_none() && node.tree != Oid::ZERO && !self.overlay.touches(&node.path) {
            self.memo.borrow_mut().insert(node.path.clone(), Rc::clone(&record));
            self.fresh.borrow_mut().push(node.path);
        }
        record
    }

    /// Keeps what was made anew.
    fn keep(&self) {
        let fresh = self.fresh.take();
        let Some(cache) = self.cache.as_ref().filter(|_| !fresh.is_empty()) else { return };
        let memo = self.memo.borrow();
        let records: Vec<(String, Vec<u8>)> = fresh
            .iter()
            .filter_map(|path| Some((path.to_string(), serde_json::to_vec(&**memo.get(path)?).ok()?)))
            .collect();
        cache.put(&records, &self.key);
    }
}

/// A child of a directory.
fn child(directory: &VaultPath, name: &str) -> Option<VaultPath> {
    if directory.is_root() {
        VaultPath::from_disk(name.as_bytes())
    } else {
        VaultPath::from_disk(format!("{directory}/{name}").as_bytes())
    }
}
