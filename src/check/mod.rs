//! The checks: one file each, and the runner that reports all.
//!
//! A check looks at one file of a state of the vault ([`Item`]) and asks about the rest of that state through
//! [`Tree`]. It reads nothing else and changes nothing. A new check is a new file and a line in [`ALL`].

mod attachment;
mod copy;
mod generated;
mod link;
mod nearest;
mod path;
mod runner;
mod schema;
mod secret;

use crate::model::config::Config;
use crate::model::finding::Severity;
use crate::model::link::Names;
use crate::model::path::VaultPath;
use crate::model::policy::Rules;

pub use attachment::{is_attachment, size};
pub use link::Anchors;
pub use nearest::Nearest;
pub use path::{unlinkable, unportable};
pub use runner::{Run, run, sorted};

/// What a check may ask about the state of the vault that it judges.
pub trait Tree {
    /// The names, for resolving links.
    fn names(&self) -> &dyn Names;
    /// The bytes of a file; `None` where there is none.
    fn read(&self, path: &VaultPath) -> Option<Vec<u8>>;
    /// All files and directories whose [`VaultPath::collision_key`] is this one.
    fn twins(&self, collision_key: &str) -> Vec<VaultPath>;
    /// All memories that have this `id`.
    fn files_with_id(&self, id: &str) -> Vec<VaultPath>;
    /// Whether a link of another file leads to this one.
    fn has_backlink(&self, path: &VaultPath) -> bool;
    /// How many links of other files led to this one, which is gone, and lead to nothing without it.
    fn lost_links(&self, path: &VaultPath) -> usize;
    /// The bytes that a file had in the last commit, where a person's edits are judged.
    fn before(&self, _path: &VaultPath) -> Option<Vec<u8>> {
        None
    }
    /// Whether a text of the vault names this attachment. Only asked about files as they stand.
    fn is_named(&self, _path: &VaultPath) -> bool {
        true
    }
    /// Files whose names are like this one (a link's target that leads nowhere), best first, at most three.
    fn nearest(&self, name: &str) -> Vec<VaultPath>;
}

/// Where an item stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At a path.
    Path(VaultPath),
    /// Under a name that is not UTF-8 or could leave the vault.
    Raw(Vec<u8>),
}

impl Place {
    /// The place that a path of a git tree or a directory walk names.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Place {
        match VaultPath::from_disk(bytes) {
            Some(path) if !path.is_root() => Place::Path(path),
            _ => Place::Raw(bytes.to_vec()),
        }
    }

    /// The place as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Place::Path(path) => path.as_str().as_bytes(),
            Place::Raw(bytes) => bytes,
        }
    }
}

/// One file that is judged.
#[derive(Debug, Clone)]
pub struct Item {
    /// Where it stands.
    pub place: Place,
    /// Its mode ([`crate::model::change::mode`]); [`crate::model::change::mode::NONE`] when it is deleted.
    pub mode: u32,
    /// Whether it comes into being by the change that is judged.
    pub new: bool,
    /// Its bytes before the change, where they are known.
    pub before: Option<Vec<u8>>,
    /// Its bytes; `None` when it is deleted, or is no file (a submodule).
    pub after: Option<Vec<u8>>,
}

/// On what occasion checks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A person asks about the files as they stand.
    WorkTree,
    /// A proposal is judged: the files that it changes, in the tree that the merge would make.
    Proposal,
    /// A blob of a proposal's history is judged by itself: only what needs nothing but its bytes and its path.
    Blob,
}

/// By what rules checks run.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// The policy that holds.
    pub rules: &'a Rules,
    /// The vault's settings.
    pub config: &'a Config,
    /// The occasion.
    pub occasion: Occasion,
}

/// One case that a check can report; its rule's name is the check's, a dot, and `name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The name within the check.
    pub name: &'static str,
    /// The severity in a proposal, where the policy sets no other.
    pub severity: Severity,
    /// The severity among the files as they stand, where the policy sets no other: an owner's old names and
    /// habits are no failure.
    pub standing: Severity,
    /// What it means, in one line for people.
    pub about: &'static str,
}

/// A check.
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What it looks for, in one line for people.
    pub about: &'static str,
    /// All that it can report.
    pub cases: &'static [Case],
    /// Whether it needs nothing but a blob and its path, and so runs on every blob that a branch introduces.
    pub of_blobs: bool,
    /// What it does with one item.
    run: fn(&runner::Subject<'_>, &mut runner::Sink<'_>),
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Check").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every check there is, in the order in which they run.
pub static ALL: &[&Check] = &[
    &schema::CHECK,
    &link::CHECK,
    &path::CHECK,
    &generated::CHECK,
    &copy::CHECK,
    &attachment::CHECK,
    &secret::CHECK,
];

/// All rules by their full names (`link.broken`), with their cases.
pub fn rules() -> impl Iterator<Item = (String, &'static Case)> {
    ALL.iter()
        .flat_map(|check| check.cases.iter().map(|case| (format!("{}.{}", check.name, case.name), case)))
}
