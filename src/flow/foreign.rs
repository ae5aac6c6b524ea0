//! What `doctor` says of other programs' settings and of names that a vault has for our fields.

use std::collections::BTreeMap;

use super::doctor::Report;
use super::vault::{CONFIG, Vault};
use super::{hooks, layers};
use crate::model::config::Config;
use crate::model::finding::{Finding, Severity};
use crate::model::foreign;
use crate::model::front_matter::Fields;
use crate::model::path::VaultPath;
use crate::store::walk::FileStat;

/// The names of our fields.
fn known() -> Vec<String> {
    let schema = schemars::schema_for!(Fields);
    let properties = schema.get("properties").and_then(|found| found.as_object());
    properties.map(|found| found.keys().cloned().collect()).unwrap_or_default()
}

/// Whether git's hooks keep the layer files of this clone right, where it has such files.
pub(super) fn hooks(vault: &Vault<'_>, report: &mut Report) {
    let state = hooks::state(vault);
    let words = match state {
        hooks::State::Installed => "installed",
        hooks::State::Partly => "installed in part",
        hooks::State::Missing => "not installed",
    };
    report.fact("hooks", words, "runebook hooks install");
    let not_run = hooks::not_run(vault);
    if !not_run.is_empty() {
        let what = format!("{}; `git commit` runs them, `runebook commit` does not", not_run.join(", "));
        report.fact("git's own hooks", what, &vault.repo.hooks_dir().0.display().to_string());
    }
    let tracked =
        vault.main().and_then(|main| layers::files::tracked(&vault.repo, vault.repo.tree_of(main)?));
    let tracked = tracked.is_ok_and(|rules| rules.is_some());
    if (tracked && state == hooks::State::Missing) || state == hooks::State::Partly {
        let what = "the summaries of directories are files here, and plain git (commit, merge, rebase) does not keep them right without hooks";
        let what = if tracked { what } else { "some of the hooks are missing" };
        let finding = Finding::new("git.hooks", Severity::Info, what);
        report.findings.push(finding.with_fix("`runebook hooks install`, once in this clone"));
    }
}

fn in_file(finding: Finding, path: &str) -> Finding {
    match VaultPath::parse(path) {
        Ok(path) => finding.in_file(&path),
        Err(_) => finding,
    }
}

/// Names under `fields` that can mean nothing.
pub(super) fn mapping(config: &Config, report: &mut Report) {
    let known = known();
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    let mut add = |message: String, fix: String| {
        let finding = Finding::new("config.fields", Severity::Warning, message).with_fix(fix);
        report.findings.push(in_file(finding, CONFIG));
    };
    for (ours, theirs) in &config.fields {
        if !known.contains(ours) {
            let near = known.iter().min_by_key(|name| strsim::osa_distance(name, ours));
            let near = near.map_or(String::new(), |name| format!("did you mean `{name}: {theirs}`? "));
            add(
                format!("`fields` maps `{ours}`, which is none of our names"),
                format!("{near}Write our name first, yours behind it"),
            );
        }
        if theirs.trim().is_empty() {
            add(format!("`fields` maps `{ours}` to nothing"), format!("name your key, or remove `{ours}`"));
        } else if let Some(other) = taken.insert(theirs, ours) {
            add(
                format!("`fields` reads both `{other}` and `{ours}` from `{theirs}`"),
                "give each a key of its own".to_owned(),
            );
        }
    }
}

/// What other programs' settings say, and what of it cannot be followed.
pub(super) fn others(config: &Config, report: &mut Report) {
    let foreign = &config.foreign;
    for folder in &foreign.templates {
        report.fact("templates", folder.as_str(), foreign::TEMPLATES);
    }
    if let Some(folder) = &foreign.daily {
        report.fact("daily notes", folder.as_str(), foreign::DAILY);
    }
    if foreign.logseq {
        report.fact("logseq", "its pages, journals and properties are read", foreign::LOGSEQ);
    }
    for (file, why) in &foreign.problems {
        let finding = Finding::new("config.foreign", Severity::Warning, why.clone());
        report.findings.push(in_file(finding, file).with_fix("mend it in the program's own settings"));
    }
}

/// How many files each entry of Obsidian's excluded files leaves out.
pub(super) fn left_out(config: &Config, files: &[FileStat], report: &mut Report) {
    let mut counts: BTreeMap<&str, usize> =
        config.foreign.ignored.iter().map(|filter| (filter.text.as_str(), 0)).collect();
    for filter in files.iter().filter_map(|file| config.foreign.ignores(&file.path)) {
        *counts.entry(filter.text.as_str()).or_default() += 1;
    }
    for (filter, count) in counts {
        // Logseq's own folders, which no settings name, are worth a word only where something is in them.
        let own = config.foreign.logseq && foreign::BACKUPS.contains(&filter);
        if own && count == 0 {
            continue;
        }
        let from = if own { foreign::LOGSEQ } else { foreign::APP };
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        report.fact("left out", format!("{files} by {filter:?}"), from);
    }
}
