//! Examining one commit of main.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::governance::{Governances, Standing, is_settings};
use super::history::History;
use super::judge::judge;
use super::people;
use crate::flow::audit::{Report, Submitted, Violation, odd_setting, submitted};
use crate::flow::branch::{Against, Branch};
use crate::flow::check::blob_checks;
use crate::flow::layers::files::Verifier;
use crate::flow::root::settings;
use crate::model::actor::{Actor, Role};
use crate::model::change::{DiffRecord, digest};
use crate::model::commit::Commit;
use crate::model::event::{Data, Decide, Event, Outcome};
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};
use crate::model::id::{Digest, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::policy::Direct;
use crate::model::proposal::State;
use crate::store::git::Repo;

/// What examining needs besides the commit.
pub struct Examiner<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The vault's root commit, which every event must name.
    pub root: Oid,
    /// The settings by commit.
    pub governances: &'a Governances,
    /// The tips of proposals by name.
    pub refs: HashMap<ProposalId, Vec<(String, Oid)>>,
    /// The submitted revisions, found when first needed.
    pub(in crate::flow) submitted: Option<Submitted>,
    /// What compares layer files with generation.
    pub layers: Verifier<'a>,
    /// Trees of settings that were found to hold plain files only.
    pub sound_settings: HashSet<Oid>,
}

/// What is wrong with one commit.
struct Faulty<'r> {
    report: &'r mut Report,
    commit: Oid,
    proposal: Option<ProposalId>,
}

impl Faulty<'_> {
    fn add(&mut self, rule: &str, message: impl Into<String>) {
        let violation = self.violation(rule, message.into());
        self.report.violations.push(violation);
    }

    fn warn(&mut self, rule: &str, message: impl Into<String>) {
        let violation = self.violation(rule, message.into());
        self.report.warnings.push(violation);
    }

    fn violation(&self, rule: &str, message: String) -> Violation {
        Violation { commit: self.commit, rule: rule.to_owned(), proposal: self.proposal.clone(), message }
    }
}

impl<'a> Examiner<'a> {
    /// Examines one commit whose first parent is the tip of `history`. With `over` it is held to those settings
    /// instead of its parent's.
    ///
    /// # Errors
    /// When an object is missing or damaged.
    pub fn examine(
        &mut self,
        oid: Oid,
        history: &mut History<'_>,
        over: Option<&Standing>,
        report: &mut Report,
    ) -> Result<(), Fault> {
        let mut faulty = Faulty { report, commit: oid, proposal: None };
        let commit = match self.repo.commit(oid) {
            Ok(commit) => commit,
            Err(error) => {
                faulty.add("form", error.to_string());
                return Ok(());
            }
        };
        self.settings_hold(oid, &mut faulty)?;
        let standing = match over {
            Some(standing) => standing.clone(),
            None => self.governances.at(self.repo, history.tip())?,
        };
        match commit.parents.as_slice() {
            [_] => {
                faulty.report.direct += u64::from(over.is_none());
                self.direct(oid, &commit, &standing, &mut faulty)
            }
            [_, second] => match self.decide_event(*second) {
                Some((event, decide)) => {
                    faulty.report.merges += u64::from(over.is_none());
                    faulty.proposal = Some(event.proposal.clone());
                    self.merge(&commit, &event, &decide, &standing, history, &mut faulty)
                }
                None => {
                    faulty.report.pulls += u64::from(over.is_none());
                    self.pull(oid, &commit, &standing, history, over.is_some(), faulty.report)
                }
            },
            parents => {
                faulty.add(
                    "shape",
                    format!(
                        "it has {} parents; a commit of the approved branch has one or two",
                        parents.len()
                    ),
                );
                Ok(())
            }
        }
    }

    fn decide_event(&self, oid: Oid) -> Option<(Event, Decide)> {
        let event = Event::parse(&self.repo.commit(oid).ok()?.message).ok()?;
        match &event.data {
            Data::Decide(decide) => Some((event.clone(), decide.clone())),
            _ => None,
        }
    }

    /// The settings are a directory of plain files and are never removed.
    fn settings_hold(&mut self, oid: Oid, faulty: &mut Faulty<'_>) -> Result<(), Fault> {
        match settings(self.repo, oid)? {
            None => faulty.add("settings-removed", "it has no directory .runebook/"),
            Some(tree) if !self.sound_settings.contains(&tree) => match odd_setting(self.repo, tree)? {
                Some(odd) => faulty.add("settings-form", format!("{odd}; the settings are plain files")),
                None => {
                    self.sound_settings.insert(tree);
                }
            },
            Some(_) => {}
        }
        Ok(())
    }

    fn merge(
        &mut self,
        commit: &Rc<Commit>,
        event: &Event,
        decide: &Decide,
        standing: &Standing,
        history: &mut History<'_>,
        faulty: &mut Faulty<'_>,
    ) -> Result<(), Fault> {
        let (first, second) = (commit.parents[0], commit.parents[1]);
        if decide.main != first {
            let says = decide.main.short();
            faulty.add(
                "wrong-main",
                format!("its decide event was made for the approved branch at {says}, not {}", first.short()),
            );
        }
        if decide.tree != commit.tree {
            faulty.add("wrong-tree", "its tree is not the one that its decide event names");
        }
        if decide.checks.is_empty() {
            faulty.add("checks", "its decide event records no check that ran");
        }
        let mut against = Against { history, root: self.root, seen: false };
        let branch = match Branch::read_against(self.repo, None, second, &mut against) {
            Ok(branch) => branch,
            Err(error) => {
                faulty.add("branch", error.to_string());
                return Ok(());
            }
        };
        let records = self.repo.diff(Some(self.repo.tree_of(first)?), Some(commit.tree))?;
        if digest(&records) != branch.digest {
            faulty.add("digest", "what it changes on the approved branch is not what was approved");
        }
        let layers = self.layers.verify(self.repo, commit.tree, &records)?;
        for (paths, what) in [
            (&layers.wrong, "is not what its tree generates"),
            (&layers.behind, "was left behind: its tree generates another"),
            (&layers.own, "is a person's file, and no merge changes that"),
        ] {
            if let Some(shown) = few(paths) {
                faulty.add("generated", format!("the layer {shown} {what}"));
            }
        }
        if let Some(shown) = few(&layers.unverifiable) {
            faulty.add(
                "unverifiable",
                format!("the layer {shown} was made by another version of the generator"),
            );
        }
        let findings = self.findings(&branch, decide, standing)?;
        let decision = judge(self.repo, &branch, standing, history, &findings)?;
        if decision.state != State::Approved {
            faulty.add("not-approved", format!("it is {}: {}", decision.state, decision.reasons.join("; ")));
        }
        match standing.governance.actors.get(&event.actor) {
            None => faulty.add(
                "merger",
                format!("`{}` merged it, whom the approved branch does not know", event.actor),
            ),
            Some(actor) => {
                let void = branch.place(second).and_then(|place| {
                    people::why_not(&branch.commits[place], event, &standing.governance.actors)
                });
                if let Some(why) = void.or_else(|| decision.refuses_merger(actor)) {
                    faulty.add("merger", why);
                }
            }
        }
        self.dropped(&branch, faulty);
        Ok(())
    }

    /// The checks as the decide event records them, and those run again that need only the touched blobs, on
    /// everything that the branch ever introduced.
    fn findings(&self, branch: &Branch, decide: &Decide, standing: &Standing) -> Result<Vec<Finding>, Fault> {
        let mut findings = Vec::new();
        for (name, outcome) in &decide.checks {
            let severity = match outcome {
                Outcome::Person => Severity::Person,
                Outcome::Error => Severity::Error,
                Outcome::Ok | Outcome::Info | Outcome::Warning => continue,
            };
            findings.push(Finding::new(name, severity, "so the decide event records it"));
        }
        let mut seen = HashSet::new();
        let introduced: Vec<DiffRecord> = branch
            .commits
            .iter()
            .flat_map(|commit| commit.changes())
            .filter(|record| seen.insert((record.path.clone(), record.new_mode, record.new_oid)))
            .cloned()
            .collect();
        findings.extend(blob_checks(self.repo, &standing.governance, &introduced)?);
        Ok(findings)
    }

    fn dropped(&self, branch: &Branch, faulty: &mut Faulty<'_>) {
        let Some(tips) = self.refs.get(&branch.id) else { return };
        for (name, tip) in tips {
            let open_base = branch.open().is_some_and(|(_, _, open)| open.base == *tip);
            if branch.place(*tip).is_none() && !open_base {
                let tip = tip.short();
                faulty.add(
                    "events-dropped",
                    format!("{name} is at {tip}, which the merged branch does not hold"),
                );
            }
        }
    }

    fn direct(
        &mut self,
        oid: Oid,
        commit: &Commit,
        standing: &Standing,
        faulty: &mut Faulty<'_>,
    ) -> Result<(), Fault> {
        if let Ok(event) = Event::parse(&commit.message) {
            let what =
                format!("an event of proposal {} stands on the approved branch itself", event.proposal);
            faulty.add(
                "fast-forward",
                format!("{what}: its branch was not merged, the approved branch was moved onto it"),
            );
        }
        let old = self.repo.tree_of(commit.parents[0])?;
        let records = self.repo.diff(Some(old), Some(commit.tree))?;
        let Some(person) = direct_person(commit, standing, faulty) else { return Ok(()) };
        may_commit(&person, &records, standing, faulty);
        let layers = self.layers.verify(self.repo, commit.tree, &records)?;
        if let Some(shown) = few(&layers.wrong) {
            faulty.add("generated", format!("the layer {shown} is not what its tree generates"));
        }
        for (paths, what) in [
            (&layers.behind, "was left behind: its tree generates another"),
            (&layers.unverifiable, "was made by another version of the generator and cannot be verified"),
        ] {
            if let Some(shown) = few(paths) {
                faulty.warn("generated", format!("the layer {shown} {what}"));
            }
        }
        let sum = digest(&records);
        if sum == digest(&[]) {
            return Ok(());
        }
        if let Some(id) = self.squashed(oid, sum)? {
            faulty
                .add("squashed-proposal", format!("it is the change of proposal {id}, without its reviews"));
        }
        Ok(())
    }

    /// The proposal of which a direct commit is the change. A revision that was made on top of that commit is none: it
    /// brings the same change a second time, as a rollback does of a proposal that took the commit's change away. Nor is
    /// one that was merged before: its reviews stand in the commit's history.
    fn squashed(&mut self, direct: Oid, sum: Digest) -> Result<Option<ProposalId>, Fault> {
        let submitted = self.submitted.get_or_insert_with(|| submitted(self.repo, &self.refs));
        for (submit, id) in submitted.get(&sum).into_iter().flatten() {
            let after = History::of(self.repo, *submit).contains(direct)?;
            if !after && !History::of(self.repo, direct).contains(*submit)? {
                return Ok(Some(id.clone()));
            }
        }
        Ok(None)
    }

    /// A merge of another clone's main: the tree that a clean merge gives, and everything that it brings in passes
    /// under the settings of its own parent and under those of the merge's first parent.
    fn pull(
        &mut self,
        oid: Oid,
        commit: &Commit,
        standing: &Standing,
        history: &mut History<'_>,
        nested: bool,
        report: &mut Report,
    ) -> Result<(), Fault> {
        let (first, second) = (commit.parents[0], commit.parents[1]);
        let mut faulty = Faulty { report, commit: oid, proposal: None };
        if nested {
            faulty.add("pull", "it brings in a merge that is itself no merge of a proposal");
            return Ok(());
        }
        // A person answers for having merged; what came in is examined piece by piece below.
        direct_person(commit, standing, &mut faulty);
        let clean = match self.repo.clean_merge(first, second)? {
            // Layer files are made anew, so they alone may differ.
            Some(clean) => self.repo.diff(Some(clean), Some(commit.tree))?.iter().all(DiffRecord::is_layer),
            None => false,
        };
        if !clean {
            faulty.add("evil-merge", "its tree is not the one that a clean merge of its parents gives");
        }
        let brought = self.repo.diff(Some(self.repo.tree_of(first)?), Some(commit.tree))?;
        let layers = self.layers.verify(self.repo, commit.tree, &brought)?;
        // Plain git takes one side's layers, which is left behind; anything else was written into the merge itself.
        let (ours, theirs) = (self.repo.tree_of(first)?, self.repo.tree_of(second)?);
        for path in layers.wrong.iter().chain(&layers.own) {
            let of = |tree| self.repo.entry_at(tree, path);
            let now = of(commit.tree)?;
            if now != of(ours)? && now != of(theirs)? {
                faulty.add(
                    "generated",
                    format!("the layer {path} is neither side's nor what its tree generates"),
                );
            }
        }
        for paths in [&layers.wrong, &layers.behind, &layers.unverifiable] {
            if let Some(shown) = few(paths) {
                faulty.warn(
                    "generated",
                    format!("the layer {shown} was left behind: its tree generates another"),
                );
            }
        }
        let mut line = Vec::new();
        let mut at = Some(second);
        while let Some(next) = at.filter(|_| line.len() <= MAX_PULLED) {
            if history.contains(next)? {
                break;
            }
            line.push(next);
            at = self.repo.parents(next)?.first().copied();
        }
        if at.is_none() || line.len() > MAX_PULLED {
            faulty.add("pull", "what it brings in does not begin on the approved branch");
            return Ok(());
        }
        let before = report.violations.len();
        let (merges, direct, pulls) = (report.merges, report.direct, report.pulls);
        for next in line.into_iter().rev() {
            let parent = self.repo.parents(next)?.first().copied().unwrap_or(Oid::ZERO);
            let mut own = History::of(self.repo, parent);
            self.examine(next, &mut own, Some(&self.governances.at(self.repo, parent)?), report)?;
            self.examine(next, &mut own, Some(standing), report)?;
        }
        (report.merges, report.direct, report.pulls) = (merges, direct, pulls);
        let mut known = HashSet::new();
        let added = report.violations.split_off(before);
        report.violations.extend(
            added.into_iter().filter(|v| known.insert((v.commit, v.rule.clone(), v.message.clone()))),
        );
        Ok(())
    }
}

/// The most commits that one pull may bring in.
const MAX_PULLED: usize = 100_000;

/// The person who made a direct commit, if author and committer are one person of the settings.
fn direct_person(commit: &Commit, standing: &Standing, faulty: &mut Faulty<'_>) -> Option<Actor> {
    let (author, committer) = (&commit.author, &commit.committer);
    if author.name != committer.name || author.email.to_lowercase() != committer.email.to_lowercase() {
        faulty.add(
            "direct-author",
            format!(
                "{} wrote it and {} committed it; a direct commit is one person's",
                author.name, committer.name
            ),
        );
        return None;
    }
    let who = format!("{} <{}>", author.name, author.email);
    let Some(actor) = standing.governance.actors.by_email(&author.email) else {
        faulty.add("direct", format!("{who} committed to the approved branch directly and is no actor"));
        return None;
    };
    if !actor.is_person() || actor.revoked.is_some() {
        let why = if actor.is_person() { "was revoked" } else { "is an agent" };
        faulty.add("direct", format!("`{}` committed to the approved branch directly and {why}", actor.id));
        return None;
    }
    if !actor.keys.is_empty() && commit.signature.is_none() {
        faulty.add("unsigned", format!("`{}` has keys and did not sign it", actor.id));
    }
    Some(actor.clone())
}

/// The first of some paths and how many more there are; `None` of none.
fn few(paths: &[VaultPath]) -> Option<String> {
    let first = paths.first()?;
    Some(if paths.len() > 1 { format!("{first} (and {} more)", paths.len() - 1) } else { first.to_string() })
}

fn may_commit(person: &Actor, records: &[DiffRecord], standing: &Standing, faulty: &mut Faulty<'_>) {
    let rules = &standing.governance.rules;
    let admin = person.has(Role::Admin);
    let mut refused: HashMap<&str, (usize, String)> = HashMap::new();
    for record in records {
        let path = record.vault_path();
        let held = path.as_ref().map(|path| rules.for_path(path)).unwrap_or_default();
        let is_settings = path.as_ref().is_some_and(is_settings);
        let why = if is_settings && !admin {
            "only an admin changes .runebook/"
        } else if standing.broken.is_some() && !is_settings {
            "the settings on the approved branch are broken, and until an admin repairs them nothing else enters"
        } else {
            match held.direct {
                Direct::Nobody => "policy lets nobody commit there directly",
                Direct::Admin if !admin => "policy lets only admins commit there directly",
                Direct::Admin | Direct::Person => continue,
            }
        };
        let entry =
            refused.entry(why).or_insert_with(|| (0, String::from_utf8_lossy(&record.path).into_owned()));
        entry.0 += 1;
    }
    for (why, (count, path)) in refused {
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        faulty.add("direct", format!("`{}` committed {path}{more} directly; {why}", person.id));
    }
}
