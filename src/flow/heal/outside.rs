//! `check --fix`: links heal after a rename that was made outside, and slips with one exact fix are mended.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::names::Kept;
use super::{Between, Healing, Moves, plan, preview, write};
use crate::catalog::{Catalog, DocRow, PathRow, Side};
use crate::flow::progress::Progress;
use crate::flow::sync;
use crate::flow::undo;
use crate::flow::vault::Vault;
use crate::markdown;
use crate::model::fault::Fault;
use crate::model::link::name_key;
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::operations::Effect;

/// How a rename was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// Both have the same `id`.
    Id,
    /// Both have the same bytes.
    Content,
    /// They share most of their lines.
    Similar,
}

/// A rename that was made outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Renamed {
    /// Where it stands on the approved branch.
    pub from: VaultPath,
    /// Where it stands among the files.
    pub to: VaultPath,
    /// How that is known.
    pub by: Sign,
}

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

/// What `check --fix` did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fixed {
    /// Whether nothing was done, only shown.
    pub dry_run: bool,
    /// The renames that were recognised.
    pub renamed: Vec<Renamed>,
    /// The links that follow them.
    pub links: Healing,
    /// The lines that were mended.
    pub lines: Vec<MendedLine>,
}

/// Below this share of common lines two files are two files; git's own limit is the same.
const SIMILAR: f64 = 0.5;
/// The most files that are compared line by line.
const COMPARED: usize = 400;

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
    let catalog = sync::open(vault)?;
    let side = sync::side(vault, &catalog)?;
    let within = |path: &VaultPath| paths.is_empty() || paths.iter().any(|above| path.is_within(above));
    let renamed = renames(vault, &catalog, side)?;
    let moves = Moves {
        files: renamed.iter().map(|one| (one.from.clone(), one.to.clone())).collect(),
        ..Moves::default()
    };
    let back: HashMap<&VaultPath, &VaultPath> = renamed.iter().map(|one| (&one.to, &one.from)).collect();
    let before = Kept::new(catalog.names(Side::Main));
    let after = Kept::new(catalog.names(side));
    let mut docs: BTreeSet<VaultPath> = BTreeSet::new();
    for one in &renamed {
        let key = name_key(one.from.name());
        let key = key.strip_suffix(".md").map_or(key.clone(), str::to_owned);
        docs.extend(catalog.links_named(side, &key)?.into_iter().map(|link| link.from));
        docs.extend(one.to.is_markdown().then(|| one.to.clone()));
    }
    let docs: Vec<VaultPath> = docs.into_iter().filter(|path| within(path)).collect();
    let home = |path: &VaultPath| {
        (back.get(path).map_or_else(|| path.clone(), |from| (*from).clone()), path.clone())
    };
    let between = Between { before: &before, after: &after, moves: &moves, broken_only: true };
    let planned = plan(vault, &docs, &between, &home, progress)?;
    let links = if dry_run { preview(planned) } else { write(vault, planned, &VaultPath::clone)? };
    let mut lines = Vec::new();
    for problem in catalog.problems(side)? {
        let colon = problem.findings.iter().any(|finding| finding.rule == "schema.full-width-colon");
        if colon && within(&problem.path) {
            lines.extend(colons(vault, &problem.path, dry_run)?);
        }
    }
    Ok(Fixed { dry_run, renamed, links, lines })
}

/// The files that stand elsewhere than on the approved branch.
fn renames(vault: &Vault<'_>, catalog: &Catalog, side: Side) -> Result<Vec<Renamed>, Fault> {
    let root = VaultPath::root();
    let (main, tree) = (catalog.paths_within(Side::Main, &root)?, catalog.paths_within(side, &root)?);
    let names =
        |rows: &[PathRow]| -> BTreeSet<VaultPath> { rows.iter().map(|row| row.path.clone()).collect() };
    let (in_main, in_tree) = (names(&main), names(&tree));
    let docs = |rows: Vec<PathRow>, side: Side, others: &BTreeSet<VaultPath>| -> Result<Vec<DocRow>, Fault> {
        let mut found = Vec::new();
        for row in rows.into_iter().filter(|row| !others.contains(&row.path)) {
            found.extend(catalog.doc_at(side, &row.path)?);
        }
        Ok(found)
    };
    let mut gone = docs(main, Side::Main, &in_tree)?;
    let mut new = docs(tree, side, &in_main)?;
    let mut out = Vec::new();
    let mut pair = |by: Sign, key: &dyn Fn(&DocRow) -> Option<String>| {
        let found = pairs(&gone, &new, key);
        gone.retain(|row| !found.iter().any(|(from, _)| *from == row.path));
        new.retain(|row| !found.iter().any(|(_, to)| *to == row.path));
        out.extend(found.into_iter().map(|(from, to)| Renamed { from, to, by }));
    };
    pair(Sign::Id, &|row| row.uid.clone());
    // Of equal files those of one name belong together; then what is left alone.
    pair(Sign::Content, &|row| (row.size > 0).then(|| format!("{} {}", row.oid, name_key(row.path.name()))));
    pair(Sign::Content, &|row| (row.size > 0).then(|| row.oid.to_string()));
    if gone.len() <= COMPARED && new.len() <= COMPARED {
        out.extend(similar(vault, &gone, &new)?);
    }
    out.sort_by(|a, b| a.from.cmp(&b.from));
    Ok(out)
}

/// Those of which one on each side has a key.
fn pairs(
    gone: &[DocRow],
    new: &[DocRow],
    key: &dyn Fn(&DocRow) -> Option<String>,
) -> Vec<(VaultPath, VaultPath)> {
    let group = |rows: &[DocRow]| {
        let mut all: BTreeMap<String, Vec<VaultPath>> = BTreeMap::new();
        for row in rows {
            if let Some(key) = key(row) {
                all.entry(key).or_default().push(row.path.clone());
            }
        }
        all
    };
    let there = group(new);
    let alone = |(key, from): (String, Vec<VaultPath>)| match (from.as_slice(), there.get(&key)?.as_slice()) {
        ([from], [to]) => Some((from.clone(), to.clone())),
        _ => None,
    };
    group(gone).into_iter().filter_map(alone).collect()
}

/// The pairs that share most of their lines, where each is the other's best.
fn similar(vault: &Vault<'_>, gone: &[DocRow], new: &[DocRow]) -> Result<Vec<Renamed>, Fault> {
    let root = vault.root()?;
    let memories = |rows: &[DocRow]| -> Vec<DocRow> {
        rows.iter().filter(|row| row.path.is_markdown() && row.size > 0).cloned().collect()
    };
    let (gone, new) = (memories(gone), memories(new));
    let mut old_lines = Vec::new();
    for row in &gone {
        old_lines.push(lines(&vault.repo.blob(row.oid)?));
    }
    let new_lines: Vec<_> =
        new.iter().map(|row| lines(&files::read(root, &row.path).unwrap_or_default())).collect();
    let mut best: Vec<(f64, usize, usize)> = Vec::new();
    for (at, old) in old_lines.iter().enumerate() {
        for (other, new) in new_lines.iter().enumerate() {
            let share = share(old, new);
            if share >= SIMILAR {
                best.push((share, at, other));
            }
        }
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let (mut used, mut taken, mut out) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (_, at, other) in best {
        if !used.contains(&at) && !taken.contains(&other) {
            used.insert(at);
            taken.insert(other);
            out.push(Renamed { from: gone[at].path.clone(), to: new[other].path.clone(), by: Sign::Similar });
        }
    }
    Ok(out)
}

/// The bytes of each different line, and of all.
fn lines(bytes: &[u8]) -> (HashMap<Vec<u8>, usize>, usize) {
    let mut all = HashMap::new();
    let mut sum = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        *all.entry(line.to_vec()).or_default() += line.len();
        sum += line.len();
    }
    (all, sum)
}

/// The share of common bytes in the longer one, line by line.
fn share(a: &(HashMap<Vec<u8>, usize>, usize), b: &(HashMap<Vec<u8>, usize>, usize)) -> f64 {
    let longer = a.1.max(b.1).max(1);
    let common: usize = a.0.iter().filter_map(|(line, n)| b.0.get(line).map(|m| *n.min(m))).sum();
    common as f64 / longer as f64
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
