//! What may enter, by whose word: `.runebook/policy.yaml`.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::actor::{ActorKind, Role};
use super::finding::Severity;
use super::id::ActorId;
use super::path::VaultPath;

/// Whether an actor's identity must be proved by a signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Identities {
    /// Every event must be signed by its actor's key.
    Signed,
    /// What an actor says of itself is recorded, and every report says so.
    #[default]
    Recorded,
}

/// Whether a person's verdict, merge or forget asks at the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confirm {
    /// It asks.
    #[default]
    Terminal,
    /// It does not. For demonstrations and tests.
    None,
}

/// Who may commit to main without a proposal, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direct {
    /// Any person of `actors.yaml`.
    Person,
    /// Persons with the role admin.
    Admin,
    /// Nobody.
    Nobody,
}

/// Whose evidence counts, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceBy {
    /// Anybody's.
    Anybody,
    /// Only what somebody else than the proposer added.
    NotProposer,
}

/// How much one proposal may change. An absent limit limits nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The number of files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub files: Option<u32>,
    /// The share of the vault's files that may be deleted, in percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deleted_percent: Option<u32>,
    /// The size of one file in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes: Option<u64>,
    /// The number of events on the branch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub events: Option<u32>,
}

/// One rule: where it holds and what it sets. What it leaves out stays as earlier rules set it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The globs of the paths for which it holds (`*` within a segment, `**` across them).
    pub paths: Vec<String>,
    /// Which kinds of actors may propose.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub propose: Option<Vec<ActorKind>>,
    /// The roles that a proposer must have besides `propose`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub propose_roles: Option<Vec<Role>>,
    /// How many independent principals must approve.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quorum: Option<u32>,
    /// Whether one of them must be a person.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub person: Option<bool>,
    /// Whether an agent's approval of an agent's proposal must come from another model family.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub other_family: Option<bool>,
    /// Of these, at least one must approve. Empty means anyone with the role.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub owners: Option<Vec<ActorId>>,
    /// The roles that a reviewer must have besides `review`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub review_roles: Option<Vec<Role>>,
    /// The front matter that a memory must have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub require: Option<Vec<String>>,
    /// The severity of a check or of one of its cases (`link`, `link.orphan`), where it is not the built-in one;
    /// `off` is written `info`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checks: Option<BTreeMap<String, Severity>>,
    /// How much one proposal may change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limits: Option<Limits>,
    /// Who may commit to main without a proposal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub direct: Option<Direct>,
    /// Whose evidence counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evidence_by: Option<EvidenceBy>,
}

/// The file `.runebook/policy.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The version of the file's form. 1.
    pub version: u32,
    /// Whether identities must be proved.
    #[serde(default)]
    pub identities: Identities,
    /// Whether a person is asked at the terminal.
    #[serde(default)]
    pub confirm: Confirm,
    /// How many revisions a proposal may have before a person must look.
    #[serde(default = "default_rounds")]
    pub max_rounds: u32,
    /// Whether an agent may read and search its own open proposals (`--rev proposal/ID`), which nobody approved yet.
    #[serde(default)]
    pub own_proposals: bool,
    /// The rules in order; of those that match a path the last one sets each key.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

fn default_rounds() -> u32 {
    5
}

/// Why a policy cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It is no YAML of the right form.
    #[error("policy.yaml cannot be read: {0}")]
    Form(String),
    /// Its version is not known.
    #[error("policy.yaml has version {0}; this program knows version 1")]
    Version(u32),
    /// A glob of it is malformed.
    #[error("policy.yaml: the glob `{glob}` is malformed: {why}")]
    Glob {
        /// The glob.
        glob: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What holds for one path, after all rules: every key set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Held {
    /// Which kinds of actors may propose. By default both.
    pub propose: Vec<ActorKind>,
    /// The roles that a proposer must have besides `propose`.
    pub propose_roles: Vec<Role>,
    /// How many independent principals must approve. By default 1.
    pub quorum: u32,
    /// Whether one of them must be a person. By default not.
    pub person: bool,
    /// Whether an agent's approval of an agent's proposal must come from another family. By default yes.
    pub other_family: bool,
    /// Of these, at least one must approve; empty means anyone with the role.
    pub owners: Vec<ActorId>,
    /// The roles that a reviewer must have besides `review`.
    pub review_roles: Vec<Role>,
    /// The front matter that a memory must have.
    pub require: Vec<String>,
    /// Severities that are not the built-in ones.
    pub checks: BTreeMap<String, Severity>,
    /// How much one proposal may change.
    pub limits: Limits,
    /// Who may commit to main without a proposal. By default persons.
    pub direct: Direct,
    /// Whose evidence counts. By default anybody's.
    pub evidence_by: EvidenceBy,
    /// The numbers of the rules that matched, counted from 1, in order.
    pub rules: Vec<u32>,
}

impl Default for Held {
    fn default() -> Self {
        Held {
            propose: vec![ActorKind::Person, ActorKind::Agent],
            propose_roles: Vec::new(),
            quorum: 1,
            person: false,
            other_family: true,
            owners: Vec::new(),
            review_roles: Vec::new(),
            require: Vec::new(),
            checks: BTreeMap::new(),
            limits: Limits::default(),
            direct: Direct::Person,
            evidence_by: EvidenceBy::Anybody,
            rules: Vec::new(),
        }
    }
}

impl Held {
    /// What satisfies both.
    #[must_use]
    fn and(mut self, other: Held) -> Held {
        fn join<T: PartialEq>(into: &mut Vec<T>, from: Vec<T>) {
            for one in from {
                if !into.contains(&one) {
                    into.push(one);
                }
            }
        }
        fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        }
        self.propose.retain(|kind| other.propose.contains(kind));
        join(&mut self.propose_roles, other.propose_roles);
        self.quorum = self.quorum.max(other.quorum);
        self.person |= other.person;
        self.other_family |= other.other_family;
        if self.owners.is_empty() {
            self.owners = other.owners;
        } else if !other.owners.is_empty() {
            self.owners.retain(|owner| other.owners.contains(owner));
        }
        join(&mut self.review_roles, other.review_roles);
        join(&mut self.require, other.require);
        for (check, severity) in other.checks {
            let held = self.checks.entry(check).or_insert(severity);
            *held = severity.max(*held);
        }
        self.limits = Limits {
            files: least(self.limits.files, other.limits.files),
            deleted_percent: least(self.limits.deleted_percent, other.limits.deleted_percent),
            bytes: least(self.limits.bytes, other.limits.bytes),
            events: least(self.limits.events, other.limits.events),
        };
        self.direct = self.direct.max(other.direct);
        self.evidence_by = self.evidence_by.max(other.evidence_by);
        join(&mut self.rules, other.rules);
        self.rules.sort_unstable();
        self
    }
}

/// A policy whose globs are compiled.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The policy itself.
    pub policy: Policy,
    globs: Vec<Vec<GlobMatcher>>,
    /// The same globs without regard to case, for the names that other systems take for the same.
    folded: Vec<Vec<GlobMatcher>>,
}

/// Compiles a path glob: `*` stays within a segment, `**` crosses them.
///
/// # Errors
/// The reason, when it is malformed.
pub fn compile_glob(glob: &str) -> Result<GlobMatcher, String> {
    compile(glob, false)
}

fn compile(glob: &str, any_case: bool) -> Result<GlobMatcher, String> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .case_insensitive(any_case)
        .build()
        .map(|g| g.compile_matcher())
        .map_err(|e| e.to_string())
}

impl Rules {
    /// Reads the file's text.
    ///
    /// # Errors
    /// See [`PolicyError`].
    pub fn parse(text: &str) -> Result<Rules, PolicyError> {
        let policy: Policy = serde_yaml::from_str(text).map_err(|e| PolicyError::Form(e.to_string()))?;
        Rules::new(policy)
    }

    /// Compiles a policy.
    ///
    /// # Errors
    /// See [`PolicyError`].
    pub fn new(policy: Policy) -> Result<Rules, PolicyError> {
        if policy.version != 1 {
            return Err(PolicyError::Version(policy.version));
        }
        let compiled = |any_case: bool| -> Result<Vec<Vec<GlobMatcher>>, PolicyError> {
            let one = |glob: &String| {
                compile(glob, any_case).map_err(|why| PolicyError::Glob { glob: glob.clone(), why })
            };
            policy.rules.iter().map(|rule| rule.paths.iter().map(one).collect()).collect()
        };
        let (globs, folded) = (compiled(false)?, compiled(true)?);
        Ok(Rules { policy, globs, folded })
    }

    /// What holds for a path. Where some system takes its name for another one that rules protect (`claude.md` for
    /// `CLAUDE.md`), what holds for that one holds as well.
    #[must_use]
    pub fn for_path(&self, path: &VaultPath) -> Held {
        let held = self.matching(&self.globs, path.as_str());
        let alike = self.matching(&self.folded, &path.collision_key());
        if alike.rules == held.rules { held } else { held.and(alike) }
    }

    fn matching(&self, globs: &[Vec<GlobMatcher>], path: &str) -> Held {
        let mut held = Held::default();
        for (number, (rule, globs)) in (1..).zip(self.policy.rules.iter().zip(globs)) {
            if !globs.iter().any(|glob| glob.is_match(path)) {
                continue;
            }
            held.rules.push(number);
            let rule = rule.clone();
            held.propose = rule.propose.unwrap_or(held.propose);
            held.propose_roles = rule.propose_roles.unwrap_or(held.propose_roles);
            held.quorum = rule.quorum.unwrap_or(held.quorum);
            held.person = rule.person.unwrap_or(held.person);
            held.other_family = rule.other_family.unwrap_or(held.other_family);
            held.owners = rule.owners.unwrap_or(held.owners);
            held.review_roles = rule.review_roles.unwrap_or(held.review_roles);
            held.require = rule.require.unwrap_or(held.require);
            held.limits = rule.limits.unwrap_or(held.limits);
            held.direct = rule.direct.unwrap_or(held.direct);
            held.evidence_by = rule.evidence_by.unwrap_or(held.evidence_by);
            held.checks.extend(rule.checks.unwrap_or_default());
        }
        held
    }
}
