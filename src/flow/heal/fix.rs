//! `check --fix`: links heal after renames that were made outside, of files and of their parts, committed or not;
//! links by an alias get the name; slips with one exact fix are mended.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::committed::{self, Back};
use super::names::{Kept, Shifted};
use super::outside::{self, Renamed};
use super::parts::{self, Parts};
use super::standing::{self, Standing};
use super::target::leads_to;
use super::{Between, Healing, Moves, Plan, Planned, alias, doc, plan, preview, write};
use crate::catalog::Side;
use crate::flow::progress::Progress;
use crate::flow::sync;
use crate::flow::undo;
use crate::flow::vault::Vault;
use crate::markdown;
use crate::markdown::renamed::Renames;
use crate::model::fault::Fault;
use crate::model::link::{Link, Names, resolve};
use crate::model::path::VaultPath;
use crate::model::uri::Fragment;
use crate::store::files;
use crate::store::operations::Effect;

/// A line that was mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MendedLine {
    /// The file.
    pub path: VaultPath,
    /// The line, counted from 1.
    pub line: u32,
    /// The line as it was.
    pub old: String,
    /// The line as it is now.
    pub new: String,
}

/// A heading or block that was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RenamedPart {
    /// The file.
    pub path: VaultPath,
    /// What it was called: a heading's words, or `^id`.
    pub old: String,
    /// What it is called.
    pub new: String,
}

/// A look at the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LookedBack {
    /// How many commits were compared, from the last one back, along first parents.
    pub commits: u64,
    /// Whether nothing was left to look for, or the beginning was reached, before the limit was.
    pub complete: bool,
}

/// What `check --fix` did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fixed {
    /// Whether nothing was done, only shown.
    pub dry_run: bool,
    /// The renames that were recognised.
    pub renamed: Vec<Renamed>,
    /// The headings and blocks that links name and that were renamed.
    pub parts: Vec<RenamedPart>,
    /// How far back the history was searched for files and parts that links still name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked_back: Option<LookedBack>,
    /// The links that follow them.
    pub links: Healing,
    /// The lines that were mended.
    pub lines: Vec<MendedLine>,
    /// The summaries of directories that were made anew.
    pub layers: Vec<VaultPath>,
}

/// Heals what has one exact fix, in the files at or below some paths (all, if there are none).
///
/// # Errors
/// When the index cannot be brought up to date, or a file cannot be read.
pub fn fix(
    vault: &Vault<'_>,
    paths: &[VaultPath],
    dry_run: bool,
    progress: &dyn Progress,
) -> Result<Fixed, Fault> {
    sync::reindex(vault, false, progress)?;
    let catalog = sync::open_still(vault)?;
    let side = sync::side(vault, &catalog)?;
    let within = |path: &VaultPath| paths.is_empty() || paths.iter().any(|above| path.is_within(above));
    let names = Kept::new(catalog.names(side));
    let standing = standing::of(vault, &catalog, side, &names, &within, progress)?;
    let mut standing = standing;
    let mut fixed = Fixed { dry_run, renamed: outside::renames(vault, &catalog, side)?, ..Fixed::default() };
    let mut back = committed::look_back(vault, &catalog, side, &standing, &fixed.renamed, progress)?;
    let done = |plan: Plan| if dry_run { Ok(preview(plan)) } else { write(vault, plan, &VaultPath::clone) };

    let moves = moves(&fixed.renamed, &back, &names);
    let before = Shifted::new(&names, &moves.files);
    let came: HashMap<&VaultPath, &VaultPath> =
        fixed.renamed.iter().map(|one| (&one.to, &one.from)).collect();
    let old_place = |path: &VaultPath| came.get(path).map_or_else(|| path.clone(), |from| (*from).clone());
    let home = |path: &VaultPath| (back.home(&old_place(path)), path.clone());
    let docs: BTreeSet<VaultPath> =
        standing.broken.iter().chain(&standing.aliased).map(|(from, _)| from.clone()).collect();
    let docs: Vec<VaultPath> = docs.into_iter().collect();
    let between = Between { before: &before, after: &names, moves: &moves, broken_only: true };
    let followed = plan(vault, &docs, &between, &home, progress)?;

    // A link that follows its file may name a part that is called otherwise, too.
    standing.take(vault, &names, &followed)?;
    let mut renames = std::mem::take(&mut back.parts);
    renames.extend(parts::changed(vault, &catalog, side, &old_place)?);
    let lacking: BTreeSet<&VaultPath> = standing.parts.iter().map(|(_, to, _)| to).collect();
    renames.retain(|path, _| lacking.contains(path));
    let named = heal_parts(vault, &names, &standing, &renames, &followed)?;
    let followed = followed.then(named);
    let approved = catalog.names(Side::Main);
    // A link that led to what is gone did not mean what happens to have its name as an alias.
    let lost = |link: &Link, from: &VaultPath| {
        let led = leads_to(resolve(link, &old_place(from), &approved)).map(|place| place.path);
        led.filter(|path| !names.has_file(path) && !moves.files.contains_key(path))
            .or_else(|| back.lost(link))
    };
    let named = alias::plan(vault, &names, &standing.aliased, &followed, &lost)?;
    fixed.links = done(followed.then(named))?;
    for (path, names) in &renames {
        let one = |(old, new)| RenamedPart { path: path.clone(), old, new };
        fixed.parts.extend(names.each().map(one));
    }

    fixed.renamed.extend(back.renamed);
    fixed.looked_back =
        (back.commits > 0).then_some(LookedBack { commits: back.commits, complete: back.complete });
    for problem in catalog.problems(side)? {
        let colon = problem.findings.iter().any(|finding| finding.rule == "schema.full-width-colon");
        if colon && within(&problem.path) {
            fixed.lines.extend(colons(vault, &problem.path, dry_run)?);
        }
    }
    fixed.layers = crate::flow::layers::work_tree::mend(vault, paths, dry_run)?;
    Ok(fixed)
}

/// All renames as one step: what was renamed by a commit and again since stands where it stands now.
fn moves(outside: &[Renamed], back: &Back, names: &dyn Names) -> Moves {
    let mut files: BTreeMap<VaultPath, VaultPath> =
        back.renamed.iter().map(|one| (one.from.clone(), one.to.clone())).collect();
    files.extend(outside.iter().map(|one| (one.from.clone(), one.to.clone())));
    let directories = outside::directories(&files, names);
    Moves { files, directories, ..Moves::default() }
}

/// The links that name a part of a file that is called otherwise now.
fn heal_parts(
    vault: &Vault<'_>,
    names: &Kept<crate::catalog::ViewNames<'_>>,
    standing: &Standing,
    renames: &BTreeMap<VaultPath, Renames>,
    before: &Plan,
) -> Result<Plan, Fault> {
    let (config, root) = (&vault.config, vault.root()?);
    let anchors =
        |path: &VaultPath, place: &Fragment| standing.anchors.get(path).is_some_and(|there| there.has(place));
    let parts = Parts { renames, stays: &anchors, leads: &anchors };
    let mut plan = Plan::default();
    let docs: BTreeSet<&VaultPath> =
        standing.parts.iter().filter(|(_, to, _)| renames.contains_key(to)).map(|(from, ..)| from).collect();
    let planned = Planned::by(before);
    for path in docs {
        vault.env.go_on()?;
        if let Ok(bytes) = planned.read(root, path) {
            parts::one(&doc(path, bytes, config), names, &parts, config, &mut plan);
        }
    }
    Ok(plan)
}

/// Gives the full-width colons of a file's front matter their narrow form, if all of it can be read then.
fn colons(vault: &Vault<'_>, path: &VaultPath, dry_run: bool) -> Result<Vec<MendedLine>, Fault> {
    let root = vault.root()?;
    let bytes = files::read(root, path)?;
    let config = &vault.config;
    let before = markdown::read(path, &bytes, config);
    let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(Vec::new()) };
    let slip = |finding: &&crate::model::finding::Finding| finding.rule == "schema.full-width-colon";
    let wrong: BTreeSet<u32> = before.problems.iter().filter(slip).filter_map(|f| f.line).collect();
    let mut mended = Vec::new();
    let mut out = String::with_capacity(text.len());
    for (number, line) in (1u32..).zip(text.split_inclusive('\n')) {
        match line.split_once('：').filter(|_| wrong.contains(&number)) {
            Some((key, value)) => {
                let content = value.trim_start_matches([' ', '\t']);
                let space = if content.trim().is_empty() { "" } else { " " };
                let new = format!("{key}:{space}{content}");
                let shown = |line: &str| line.trim_end().to_owned();
                mended.push(MendedLine {
                    path: path.clone(),
                    line: number,
                    old: shown(line),
                    new: shown(&new),
                });
                out.push_str(&new);
            }
            None => out.push_str(line),
        }
    }
    let after = markdown::read(path, out.as_bytes(), config);
    let unread =
        |rule: &str| matches!(rule, "schema.yaml" | "schema.full-width-colon" | "schema.duplicate-key");
    let clean = !after.problems.iter().any(|finding| unread(&finding.rule)) && !after.front.all.is_empty();
    if mended.is_empty() || !clean {
        return Ok(Vec::new());
    }
    if !dry_run {
        let job = files::Replacement { path, old: &bytes, new: out.as_bytes() };
        let effect = Effect::file(path, Some(&bytes), Some(out.as_bytes()));
        undo::note(vault, "mend full-width colons", effect.into_iter().collect())?;
        let written = files::replace_all(root, &[job]).into_iter().next();
        if !matches!(written.transpose()?, Some(true)) {
            return Ok(Vec::new());
        }
    }
    Ok(mended)
}
