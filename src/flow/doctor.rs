//! Examining a vault and this machine: what holds, what is wrong, how to mend it.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::gate::governance::Governances;
use super::sync::SyncError;
use super::vault::{ACTORS, CONFIG, POLICY, Vault};
use super::watched::{self, Hearing};
use super::{acting, reader, remove, root, settings, status, sync};
use crate::check;
use crate::model::actor::{Actors, Role};
use crate::model::clock::Env;
use crate::model::config::Config;
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};
use crate::model::path::VaultPath;
use crate::model::policy::Rules;
use crate::store::git::{Head, WorkTree};
use crate::store::plain;
use crate::store::walk::{WalkOptions, walk};

/// Something that holds, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fact {
    /// What.
    pub name: String,
    /// Its value, in words.
    pub value: String,
    /// Where it comes from.
    pub from: String,
}

/// The answer of `doctor`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Report {
    /// What holds.
    pub facts: Vec<Fact>,
    /// What is wrong, the worst first.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(super) fn fact(&mut self, name: &str, value: impl Into<String>, from: &str) {
        self.facts.push(Fact { name: name.to_owned(), value: value.into(), from: from.to_owned() });
    }

    fn fault(&mut self, rule: &str, fault: &Fault) {
        let finding = Finding::new(rule, Severity::Error, fault.to_string());
        self.findings.push(match fault.hint() {
            Some(hint) => finding.with_fix(hint),
            None => finding,
        });
    }
}

/// Examines everything. A vault that cannot even be opened is a finding too.
///
/// # Errors
/// Only when it was stopped.
pub fn doctor(env: &Env, from: &Path, asked: Option<&str>) -> Result<Report, Fault> {
    let mut report = Report::default();
    report.fact("runebook", env!("CARGO_PKG_VERSION"), "this program");
    match Vault::open(env, from) {
        Ok(vault) => {
            configured(&vault, &mut report);
            branches(&vault, asked, &mut report);
            people(&vault, asked, &mut report);
            locks(&vault, &mut report);
            index(&vault, &mut report);
            watcher(&vault, &mut report);
            super::models::examine(&vault, &mut report);
            super::foreign::hooks(&vault, &mut report);
            files(&vault, &mut report);
            env.go_on()?;
            if let Ok(access) = reader::access(&vault, asked, None) {
                let reads = access.reads();
                let told = |path: &VaultPath| !access.is_agent() && reads.holds(path);
                report.findings.retain(|finding| finding.path.as_ref().is_none_or(told));
            }
        }
        Err(fault) => report.fault("vault.open", &fault),
    }
    report.findings.sort_by(|a, b| {
        (std::cmp::Reverse(a.severity), &a.rule, &a.path).cmp(&(
            std::cmp::Reverse(b.severity),
            &b.rule,
            &b.path,
        ))
    });
    Ok(report)
}

fn configured(vault: &Vault<'_>, report: &mut Report) {
    let place = vault.repo.work_dir().unwrap_or(vault.repo.git_dir());
    report.fact("vault", place.display().to_string(), "the directory where you stand");
    let text = vault.repo.work_dir().and_then(|root| plain::read_text(root.join(CONFIG)).ok());
    let written: Value = text.and_then(|text| serde_yaml::from_str(&text).ok()).unwrap_or_default();
    let known = serde_json::to_value(Config::default()).unwrap_or_default();
    let held = serde_json::to_value(&vault.config).unwrap_or_default();
    if let Some(held) = held.as_object() {
        for (key, value) in held.iter().filter(|(key, _)| known.get(key.as_str()).is_some()) {
            for (below, value) in settings::leaves(value) {
                let name = if below.is_empty() { key.clone() } else { format!("{key}.{below}") };
                // What a map of names holds was all written.
                let given = written.get(key.as_str()).is_some_and(|value| {
                    let named = below.split('.').filter(|key| !key.is_empty());
                    !value.is_object()
                        || known
                            .get(key.as_str())
                            .and_then(Value::as_object)
                            .is_some_and(|map| map.is_empty())
                        || named.into_iter().try_fold(value, |value, key| value.get(key)).is_some()
                });
                report.fact(&name, value, if given { CONFIG } else { "built in" });
            }
        }
    }
    unknown_keys("", &written, &known, report);
    super::foreign::mapping(&vault.config, report);
    super::foreign::others(&vault.config, report);
}

/// Keys of the settings that this program does not know, with the nearest one that it does.
fn unknown_keys(prefix: &str, written: &Value, known: &Value, report: &mut Report) {
    let (Some(written), Some(known)) = (written.as_object(), known.as_object()) else { return };
    // An empty map in the built-in settings takes any key.
    if known.is_empty() {
        return;
    }
    for (key, value) in written {
        let full = format!("{prefix}{key}");
        match known.get(key) {
            Some(below) => unknown_keys(&format!("{full}."), value, below, report),
            None => {
                let near = known.keys().map(|name| (strsim::osa_distance(name, key), name)).min();
                let near = near.filter(|(distance, name)| *distance <= name.len().max(key.len()) / 2);
                let finding = Finding::new(
                    "config.unknown",
                    Severity::Warning,
                    format!("the key `{full}` is not known"),
                );
                let finding = match VaultPath::parse(CONFIG) {
                    Ok(path) => finding.in_file(&path),
                    Err(_) => finding,
                };
                report.findings.push(match near {
                    Some((_, name)) => finding.with_fix(format!("did you mean `{prefix}{name}`?")),
                    None => finding.with_fix("remove it, or update the program"),
                });
            }
        }
    }
}

fn branches(vault: &Vault<'_>, asked: Option<&str>, report: &mut Report) {
    let main = &vault.config.main_branch;
    match vault.main() {
        Ok(oid) => report.fact("main", oid.to_string(), &format!("refs/heads/{main}")),
        Err(fault) => report.fault("git.main", &fault),
    }
    match vault.repo.head() {
        Ok(Head::Branch(name, _)) if name == *main => {}
        Ok(Head::Branch(name, _)) => report.findings.push(
            Finding::new("git.branch", Severity::Info, format!("`{name}` is checked out, not `{main}`"))
                .with_fix(format!("`git switch {main}` shows the approved memories")),
        ),
        Ok(Head::Detached(oid)) => report.findings.push(
            Finding::new("git.branch", Severity::Warning, format!("HEAD is detached at {}", oid.short()))
                .with_fix(format!("`git switch {main}` goes back to the approved branch")),
        ),
        Err(error) => report.fault("git.head", &error.into()),
    }
    if let Some(what) = vault.repo.under_way() {
        report.findings.push(
            Finding::new("git.under-way", Severity::Warning, format!("a {what} is under way"))
                .with_fix(format!("finish it, or end it with `git {what} --abort`")),
        );
    }
    match root::pinned(vault) {
        Ok(oid) => report.fact("root", oid.to_string(), "the first commit with .runebook/"),
        Err(fault) => report.fault("git.root", &fault),
    }
    if let Ok(state) = status::status(vault, asked) {
        report.fact("proposals", format!("{} open", state.proposals.len()), "refs/heads/proposal/");
        for (waiting, why) in state.proposals.iter().filter_map(|w| Some((w, w.problem.as_ref()?))) {
            report.findings.push(
                Finding::new(
                    "proposal.branch",
                    Severity::Warning,
                    format!("proposal {} cannot be read: {why}", waiting.id),
                )
                .with_fix(format!("`git log {}` shows what it holds", waiting.id.open_ref())),
            );
        }
    }
}

fn people(vault: &Vault<'_>, asked: Option<&str>, report: &mut Report) {
    let standing = vault.main().and_then(|main| Governances::default().at(&vault.repo, main));
    if let Ok(why) = standing.map(|standing| standing.broken)
        && let Some(why) = why
    {
        report.findings.push(
            Finding::new(
                "settings.main",
                Severity::Error,
                format!(
                    "the settings on {} are broken, and the last good ones hold: {why}",
                    vault.config.main_branch
                ),
            )
            .with_fix("an admin mends them in an editor and commits them with `runebook commit .runebook`"),
        );
    }
    match vault.main().and_then(|main| vault.governance(main)) {
        Ok(governance) => {
            let policy = &governance.rules.policy;
            report.fact("identities", format!("{:?}", policy.identities).to_lowercase(), POLICY);
            report.fact("policy", format!("{} rules", policy.rules.len()), POLICY);
            report.fact("actors", format!("{} known", governance.actors.actors.len()), ACTORS);
            let admins = governance.actors.actors.iter().any(|a| a.is_person() && a.has(Role::Admin));
            if !admins {
                report.findings.push(
                    Finding::new(
                        "actors.admin",
                        Severity::Error,
                        "no person has the role admin, so nobody can change the settings",
                    )
                    .with_fix(format!(
                        "give a person the role admin in {ACTORS} with an editor and `git commit`"
                    )),
                );
            }
            match acting::acting(vault, &governance, asked) {
                Ok(actor) => {
                    report.fact("you", actor.id.to_string(), "environment, flag or git's configuration")
                }
                Err(fault) => report.fault("actors.you", &fault),
            }
        }
        Err(fault) => report.fault("settings.main", &fault),
    }
    let Some(root) = vault.repo.work_dir() else { return };
    for (name, broken) in [
        (ACTORS, read(root, ACTORS).and_then(|text| Actors::parse(&text).err().map(|e| e.to_string()))),
        (POLICY, read(root, POLICY).and_then(|text| Rules::parse(&text).err().map(|e| e.to_string()))),
    ] {
        if let Some(why) = broken {
            report.findings.push(
                Finding::new(
                    "settings.file",
                    Severity::Error,
                    format!("{name} as it stands here cannot be used: {why}"),
                )
                .with_fix(format!("mend it before you commit it; `git diff {name}` shows what changed")),
            );
        }
    }
}

fn read(root: &Path, name: &str) -> Option<String> {
    plain::read_text(root.join(name)).ok()
}

fn locks(vault: &Vault<'_>, report: &mut Report) {
    let trees = match vault.repo.work_trees() {
        Ok(trees) => trees,
        Err(error) => return report.fault("git.worktrees", &error.into()),
    };
    for WorkTree { git_dir, .. } in &trees {
        for name in ["index.lock", "HEAD.lock"] {
            let lock = git_dir.join(name);
            let Ok(data) = lock.metadata() else { continue };
            let age = data.modified().ok().and_then(|at| at.elapsed().ok()).map_or(0, |age| age.as_secs());
            report.findings.push(
                Finding::new(
                    "git.lock",
                    Severity::Warning,
                    format!("{} is there since {age} s", lock.display()),
                )
                .with_fix(format!(
                    "if no git command is running, a crash left it: `rm '{}'`",
                    lock.display()
                )),
            );
        }
    }
    let bin = remove::trash(vault);
    let kept = std::fs::read_dir(&bin).map_or(0, |entries| entries.flatten().count());
    if kept > 0 {
        report.fact("removed and kept", format!("{kept} in {}", bin.display()), "runebook rm");
    }
}

fn index(vault: &Vault<'_>, report: &mut Report) {
    let none = |report: &mut Report| {
        report.findings.push(
            Finding::new("index.none", Severity::Info, "there is no index yet")
                .with_fix("`runebook find` makes it, or `runebook reindex` now"),
        );
    };
    match sync::freshness(vault) {
        Ok(state) if state.commit.is_some() => {
            let pending =
                if state.pending > 0 { format!(", {} pending", state.pending) } else { String::new() };
            report.fact(
                "index state",
                format!("made from {}{pending}", state.commit.map_or_else(String::new, |oid| oid.short())),
                "<gitdir>/runebook/",
            );
        }
        Ok(_) => none(report),
        Err(fault) if matches!(fault.as_error().downcast_ref(), Some(SyncError::NoIndex)) => none(report),
        Err(fault) => report.findings.push(
            Finding::new("index.unreadable", Severity::Warning, fault.to_string())
                .with_fix("`runebook reindex --full` builds it anew"),
        ),
    }
}

fn watcher(vault: &Vault<'_>, report: &mut Report) {
    let Some(watching) = watched::living(vault) else {
        return report.fact("watcher", "none", "runebook watch");
    };
    report.fact("watcher", format!("process {} since {}", watching.pid, watching.since), "runebook watch");
    if let Some(problem) = watching.problem {
        report.findings.push(
            Finding::new("watch.trouble", Severity::Warning, format!("the watcher waits: {problem}"))
                .with_fix("mend that; it goes on by itself, and `find` looks at the files meanwhile"),
        );
    }
    if watching.hearing != Hearing::Events {
        let what = "the watcher is not told of every change and looks at the files again and again";
        let finding = Finding::new("watch.polling", Severity::Info, what);
        report.findings.push(match watching.advice {
            Some(advice) => finding.with_fix(advice),
            None => finding.with_fix("start it without `--poll`"),
        });
    }
}

fn files(vault: &Vault<'_>, report: &mut Report) {
    let Some(root) = vault.repo.work_dir() else {
        report.fact("files", "none: a bare repository", "git");
        return;
    };
    let options = WalkOptions {
        ignore: vault.config.ignore.clone(),
        cancel: vault.env.cancel.clone(),
        ..WalkOptions::default()
    };
    let found = walk(root, &options);
    report.fact("files", format!("{}", found.files.len()), "the work tree");
    super::foreign::left_out(&vault.config, &found.files, report);
    report.findings.extend(found.problems);
    let mut keys: BTreeMap<String, &VaultPath> = BTreeMap::new();
    let every = found.files.iter().map(|file| &file.path).chain(&found.directories);
    for path in every {
        if let Some(why) = check::unportable(path.name()) {
            report.findings.push(
                Finding::new("path.portable", Severity::Warning, format!("its name {why}"))
                    .in_file(path)
                    .with_fix("rename it with `runebook mv` before you share the vault with such a system"),
            );
        }
        if let Some(twin) = keys.insert(path.collision_key(), path) {
            report.findings.push(
                Finding::new(
                    "path.twin",
                    Severity::Warning,
                    format!("on other systems it is the same file as `{twin}`"),
                )
                .in_file(path)
                .with_fix("rename one of them with `runebook mv`"),
            );
        }
    }
}

/// Whether one may do a thing, and why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct May {
    /// What: `propose`, `review`, `merge`, `commit`, `read`.
    pub what: String,
    /// Whether the actor may.
    pub may: bool,
    /// Why, or why not.
    pub why: String,
}

/// One rule of the policy that holds for a path.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Holding {
    /// Its number in `policy.yaml`, counted from 1.
    pub number: u32,
    /// Its globs.
    pub paths: Vec<String>,
    /// What it sets, as it is written there.
    pub sets: Value,
}

/// The answer of `doctor URI --as ACTOR`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Explanation {
    /// The path.
    pub path: VaultPath,
    /// Who asks.
    pub actor: crate::model::id::ActorId,
    /// The rules that match, in order.
    pub rules: Vec<Holding>,
    /// What holds all in all.
    pub held: crate::model::policy::Held,
    /// What the actor may do there.
    pub may: Vec<May>,
}

/// Explains which rules hold for a path, and what an actor may do there.
///
/// # Errors
/// When it is not known who acts, or main's settings cannot be read.
pub fn explain(vault: &Vault<'_>, path: &VaultPath, asked: Option<&str>) -> Result<Explanation, Fault> {
    use super::gate::people::may_not_propose;
    use crate::model::access::Reach;
    let governance = vault.governance(vault.main()?)?;
    let actor = acting::acting(vault, &governance, asked)?;
    let held = governance.rules.for_path(path);
    let rules = held.rules.iter().filter_map(|number| {
        let rule = governance.rules.policy.rules.get(*number as usize - 1)?;
        let mut sets = serde_json::to_value(rule).unwrap_or_default();
        if let Some(map) = sets.as_object_mut() {
            map.remove("paths");
        }
        Some(Holding { number: *number, paths: rule.paths.clone(), sets })
    });
    let rules = rules.collect();
    let mut may = Vec::new();
    let mut say = |what: &str, refusal: Option<String>, why: String| {
        let allowed = refusal.is_none();
        may.push(May { what: what.to_owned(), may: allowed, why: refusal.unwrap_or(why) });
    };
    let access = reader::access(vault, asked, None)?;
    let clearance = format!("up to {} memories", format!("{:?}", actor.clearance()).to_lowercase());
    say("read", (!access.may_read(path)).then(|| "the path is outside of its `reads`".to_owned()), clearance);
    let refusal = may_not_propose(&actor, &Reach::of(actor.proposes.as_ref()), &held, path);
    say("propose", refusal, "it has the role, and the policy lets it".to_owned());
    let missing = std::iter::once(&Role::Review).chain(&held.review_roles).find(|role| !actor.has(**role));
    let review = match missing {
        Some(role) => Some(format!("it does not have the role {}", role.as_str())),
        None => (!Reach::of(actor.reviews.as_ref()).holds(path))
            .then(|| "the path is outside of its `reviews`".to_owned()),
    };
    let mut needs = vec![format!("{} approval{}", held.quorum, if held.quorum == 1 { "" } else { "s" })];
    needs.extend(held.person.then(|| "one by a person".to_owned()));
    needs.extend(held.other_family.then(|| "between agents by another model family".to_owned()));
    if !held.owners.is_empty() {
        let names: Vec<&str> = held.owners.iter().map(|id| id.as_str()).collect();
        needs.push(format!("one of {}", names.join(", ")));
    }
    say("review", review, format!("a proposal needs {}, never by its proposer", needs.join(", ")));
    let merge = (!actor.has(Role::Merge)).then(|| "it does not have the role merge".to_owned());
    say("merge", merge, "what is approved".to_owned());
    let direct = super::commit::may_commit(&governance, &actor, path).err().map(|direct| {
        if actor.is_person() {
            format!("the policy lets {direct:?} commit there (direct)").to_lowercase()
        } else {
            "agents commit nothing directly".to_owned()
        }
    });
    say("commit", direct, "without a proposal (`runebook commit`)".to_owned());
    Ok(Explanation { path: path.clone(), actor: actor.id, rules, held, may })
}
