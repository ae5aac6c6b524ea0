//! The layer files that stand in a work tree, against what the commit under it generates.

use std::collections::BTreeSet;
use std::path::Path;

use super::files::{every_directory, tracked};
use super::generator::Generator;
use crate::flow::vault::{Governance, Vault};
use crate::layers::{ABSTRACT_FILE, OVERVIEW_FILE, Stamped, stamp, stamped};
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::git::Head;

/// How a layer's file in the work tree stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stands {
    /// It is behind the commit, missing, of another version, or not to be there at all. What it should be; `None`:
    /// absent.
    Stale(Option<Vec<u8>>),
    /// A generator made it and somebody changed it since.
    Edited,
    /// A person's own file.
    Own,
}

/// The layer files at and below some paths (all, if there are none) that are not what the checked-out commit of main
/// generates. Nothing where the commit wants no layer files, or where another branch is checked out: there, they are
/// left to the merge.
///
/// # Errors
/// When an object is missing or damaged.
pub fn wrong(vault: &Vault<'_>, paths: &[VaultPath]) -> Result<Vec<(VaultPath, Stands)>, Fault> {
    let (root, main) = (vault.root()?, &vault.config.main_branch);
    let Head::Branch(branch, Some(commit)) = vault.repo.head()? else { return Ok(Vec::new()) };
    let tree = vault.repo.tree_of(commit)?;
    let Some(rules) = tracked(&vault.repo, tree)?.filter(|_| branch == *main) else { return Ok(Vec::new()) };
    let generator = Generator::new(vault, rules);
    let within = |directory: &VaultPath| {
        paths.is_empty() || paths.iter().any(|path| directory.is_within(path) || path.parent() == *directory)
    };
    let mut out = Vec::new();
    let directories: BTreeSet<VaultPath> = every_directory(&vault.repo, tree)?;
    // From the top: what is made for the root is there for all below.
    for directory in directories.into_iter().filter(within) {
        vault.env.go_on()?;
        let made = generator.layers(tree, &directory)?.map(|made| [made.l0, made.l1]);
        for (name, at) in [(ABSTRACT_FILE, 0), (OVERVIEW_FILE, 1)] {
            let path = directory.join(name)?;
            let wanted = made.as_ref().map(|texts| stamp(&texts[at]));
            out.extend(one(root, &path, wanted).map(|stands| (path, stands)));
        }
    }
    Ok(out)
}

fn one(root: &Path, path: &VaultPath, wanted: Option<Vec<u8>>) -> Option<Stands> {
    let Ok(bytes) = files::read(root, path) else {
        let there = root.join(path.as_str()).symlink_metadata().is_ok();
        return if there { Some(Stands::Own) } else { wanted.map(|wanted| Stands::Stale(Some(wanted))) };
    };
    if wanted.as_ref() == Some(&bytes) {
        return None;
    }
    match stamped(&bytes) {
        Stamped::Foreign if bytes.starts_with(b"---\ngenerated: layers/") => Some(Stands::Edited),
        Stamped::Foreign => Some(Stands::Own),
        // Line ends as git writes them on other systems make no difference.
        _ if wanted.as_ref().is_some_and(|wanted| same_lines(wanted, &bytes)) => None,
        _ => Some(Stands::Stale(wanted)),
    }
}

fn same_lines(a: &[u8], b: &[u8]) -> bool {
    a.split(|byte| *byte == b'\n')
        .eq(b.split(|byte| *byte == b'\n').map(|l| l.strip_suffix(b"\r").unwrap_or(l)))
}

/// What is wrong with the layer files as findings, with the severities that the policy gives them.
///
/// # Errors
/// As [`wrong`].
pub fn findings(
    vault: &Vault<'_>,
    governance: &Governance,
    paths: &[VaultPath],
) -> Result<Vec<Finding>, Fault> {
    let finding = |(path, stands): (VaultPath, Stands)| {
        let (rule, built_in, message, fix) = match stands {
            Stands::Stale(Some(_)) => (
                "generated.stale",
                Severity::Warning,
                "this summary is not what the committed memories generate",
                "`runebook check --fix` makes it anew, `runebook commit` commits it",
            ),
            Stands::Stale(None) => (
                "generated.stale",
                Severity::Warning,
                "this summary is of a directory that holds no memory any more",
                "`runebook check --fix` removes it, `runebook commit` commits that",
            ),
            Stands::Edited => (
                "generated.edited",
                Severity::Warning,
                "this summary was generated and changed by hand since; it is not generated any more",
                "words of your own go into the directory's index.md; remove this file and run `runebook check --fix`",
            ),
            Stands::Own => (
                "generated.own",
                Severity::Info,
                "a file of your own has a summary's name; it is left alone, and no summary is written here",
                "give it another name if you want a summary here",
            ),
        };
        let checks = governance.rules.for_path(&path).checks;
        let severity = checks.get(rule).or_else(|| checks.get("generated")).copied().unwrap_or(built_in);
        Finding { fix: Some(fix.to_owned()), ..Finding::new(rule, severity, message) }.in_file(&path)
    };
    Ok(wrong(vault, paths)?.into_iter().map(finding).collect())
}

/// Makes the stale layer files at and below some paths anew in the work tree, and gives their paths; with `dry_run` it
/// only says which. What a person wrote is not touched.
///
/// # Errors
/// As [`wrong`], and when a file cannot be written.
pub fn mend(vault: &Vault<'_>, paths: &[VaultPath], dry_run: bool) -> Result<Vec<VaultPath>, Fault> {
    let root = vault.root()?;
    let mut out = Vec::new();
    for (path, stands) in wrong(vault, paths)? {
        let Stands::Stale(wanted) = stands else { continue };
        // Somebody may have put words of their own there while the others were looked at.
        if !dry_run && !matches!(one(root, &path, wanted.clone()), Some(Stands::Stale(_))) {
            continue;
        }
        match wanted {
            _ if dry_run => {}
            Some(bytes) => files::write(root, &path, &bytes)?,
            None => {
                // What cannot be removed is named again by the next check.
                let _ = std::fs::remove_file(files::place(root, &path)?);
            }
        }
        out.push(path);
    }
    Ok(out)
}
