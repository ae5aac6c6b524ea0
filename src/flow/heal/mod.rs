//! Links that follow a file to its new place.
//!
//! A link of a memory led somewhere before; it shall lead to the same file after some files moved. It is changed only
//! where it would not, as little as possible, in the form that it has. What is changed is read again, and kept only
//! if every link of the memory leads where it shall.

mod alias;
mod committed;
mod fix;
pub(super) mod names;
mod outside;
mod parts;
mod standing;
mod target;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::progress::Progress;
use super::undo;
use super::vault::Vault;
use crate::catalog::{Catalog, Side};
use crate::markdown::relink::{self, TextEdit};
use crate::markdown::{self};
use crate::model::config::Config;
use crate::model::fault::Fault;
use crate::model::link::{Link, Names, name_key, resolve};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;
use crate::model::uri::SCHEME;
use crate::store::files;
use crate::store::operations::Effect;
pub use fix::{Fixed, LookedBack, MendedLine, RenamedPart, fix};
use names::Kept;
pub use outside::{Renamed, Sign};
pub(super) use parts::{Part, of_part};
use target::{Place, leads_to};

/// Which files stand elsewhere now.
#[derive(Debug, Clone, Default)]
pub(super) struct Moves {
    /// A file or directory with all that it holds: from where, to where.
    pub(super) whole: Option<(VaultPath, VaultPath)>,
    /// Single files.
    pub(super) files: BTreeMap<VaultPath, VaultPath>,
}

impl Moves {
    /// Where a path stands afterwards.
    pub(super) fn after(&self, path: &VaultPath) -> VaultPath {
        if let Some(to) = self.files.get(path) {
            return to.clone();
        }
        self.whole.as_ref().and_then(|(from, to)| transplant(path, from, to)).unwrap_or_else(|| path.clone())
    }
}

/// The path with the directory `from` at its head replaced.
pub(super) fn transplant(path: &VaultPath, from: &VaultPath, to: &VaultPath) -> Option<VaultPath> {
    if !path.is_within(from) {
        return None;
    }
    let tail = path.as_str()[from.as_str().len()..].trim_start_matches('/');
    if tail.is_empty() { Some(to.clone()) } else { to.join(tail).ok() }
}

/// One link that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HealedLink {
    /// The memory that holds it, where it stands now.
    pub path: VaultPath,
    /// The line, counted from 1.
    pub line: u32,
    /// The link as it was.
    pub old: String,
    /// The link as it is now.
    pub new: String,
}

/// One link that should have been changed and was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftLink {
    /// The memory that holds it, where it stands now.
    pub path: VaultPath,
    /// The line, counted from 1.
    pub line: u32,
    /// The link.
    pub link: String,
    /// Why it stays as it is.
    pub why: String,
}

/// What healing did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Healing {
    /// In how many memories links were changed.
    pub files: u64,
    /// The links that were changed, by memory and line.
    pub healed: Vec<HealedLink>,
    /// The links that a person must look at.
    pub left: Vec<LeftLink>,
}

impl Healing {
    /// Takes in what another step did.
    fn add(&mut self, other: Healing) {
        self.files += other.files;
        self.healed.extend(other.healed);
        self.left.extend(other.left);
        sort(self);
    }
}

/// New bytes for a memory.
#[derive(Debug)]
pub(super) struct Rewrite {
    /// Where it stands when it is written.
    pub(super) path: VaultPath,
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
    pub(super) links: Vec<HealedLink>,
}

impl Rewrite {
    /// The same for a file that stands elsewhere when it is written.
    pub(super) fn placed(self, now: &dyn Fn(&VaultPath) -> VaultPath) -> Rewrite {
        Rewrite { path: now(&self.path), ..self }
    }
}

/// What is to be done.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) rewrites: Vec<Rewrite>,
    pub(super) left: Vec<LeftLink>,
}

/// The two states between which links are carried.
pub(super) struct Between<'n> {
    pub(super) before: &'n dyn Names,
    pub(super) after: &'n dyn Names,
    pub(super) moves: &'n Moves,
    /// Whether only links are touched that lead to nothing now: what leads somewhere was perhaps written so.
    pub(super) broken_only: bool,
}

/// Why a link of a template stays.
const TEMPLATE: &str = "it stands in a template, which is left alone";

/// A memory whose links are looked at.
struct Doc {
    /// Where it is read now.
    path: VaultPath,
    bytes: Vec<u8>,
    memory: Memory,
}

fn doc(path: &VaultPath, bytes: Vec<u8>, config: &Config) -> Doc {
    let memory = markdown::read(path, &bytes, config);
    Doc { path: path.clone(), bytes, memory }
}

/// A link as it is written.
fn shown(memory: &Memory, link: &Link) -> String {
    memory.text.get(link.range.clone()).unwrap_or(&link.target).to_owned()
}

/// Reads some memories and finds out which of their links must change. `home` says where a file that is read at a
/// path stood before and will stand after.
pub(super) fn plan(
    vault: &Vault<'_>,
    docs: &[VaultPath],
    between: &Between<'_>,
    home: &dyn Fn(&VaultPath) -> (VaultPath, VaultPath),
    progress: &dyn Progress,
) -> Result<Plan, Fault> {
    let root = vault.root()?;
    plan_from(vault, docs, &|path| files::read(root, path).ok(), between, home, progress)
}

/// As [`plan`], with the memories read from anywhere.
pub(super) fn plan_from(
    vault: &Vault<'_>,
    docs: &[VaultPath],
    bytes: &(dyn Fn(&VaultPath) -> Option<Vec<u8>> + Sync),
    between: &Between<'_>,
    home: &dyn Fn(&VaultPath) -> (VaultPath, VaultPath),
    progress: &dyn Progress,
) -> Result<Plan, Fault> {
    let config = &vault.config;
    let mut plan = Plan::default();
    progress.begin("looking at links", Some(docs.len() as u64));
    for chunk in docs.chunks(256) {
        vault.env.go_on()?;
        let read: Vec<Doc> =
            chunk.par_iter().filter_map(|path| Some(doc(path, bytes(path)?, config))).collect();
        for doc in &read {
            let (before, after) = home(&doc.path);
            one(doc, &before, &after, between, config, &mut plan);
        }
        progress.advance(chunk.len() as u64);
    }
    progress.end();
    Ok(plan)
}

/// What must change in one memory.
fn one(
    doc: &Doc,
    before: &VaultPath,
    after: &VaultPath,
    between: &Between<'_>,
    config: &Config,
    plan: &mut Plan,
) {
    let memory = &doc.memory;
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut changed: Vec<(usize, Place)> = Vec::new();
    let left = |link: &Link, why: String| {
        let (path, line) = (after.clone(), link.line);
        LeftLink { path, line, link: shown(memory, link), why }
    };
    for (index, link) in memory.links.iter().enumerate() {
        let Some(was) = leads_to(resolve(link, before, between.before)) else { continue };
        let shall = Place { path: between.moves.after(&was.path), ..was.clone() };
        let now = leads_to(resolve(link, after, between.after));
        if between.broken_only && now.is_some() {
            continue;
        }
        let still = now.as_ref() == Some(&shall);
        if still && target::stays_exact(link, (before, after), &was, &shall) {
            continue;
        }
        // The file itself is gone: nothing to lead to.
        if !exists(&shall, between.after) {
            continue;
        }
        if memory.template {
            if !still {
                plan.left.push(left(link, TEMPLATE.to_owned()));
            }
            continue;
        }
        let written = target::ways(link, (before, after), &was, &shall).into_iter().find_map(|way| {
            let other = Link { target: way.clone(), ..link.clone() };
            let leads = target::only(resolve(&other, after, between.after)) == Some(shall.clone());
            leads.then(|| relink::retarget(memory, link, &way)).flatten()
        });
        match written {
            Some(written) => {
                edits.extend(written);
                changed.push((index, shall));
            }
            None => {
                let why = format!("it leads to {} now, which cannot be written in this form", shall.path);
                plan.left.push(left(link, why));
            }
        }
    }
    if edits.is_empty() {
        return;
    }
    let checked = if std::str::from_utf8(&doc.bytes).is_err() {
        Err("the file is not UTF-8")
    } else {
        rewritten(doc, &edits, after, config).ok_or("the file would read otherwise").and_then(|new| {
            if holds(&new.1, memory, (before, after), between) {
                Ok(new)
            } else {
                Err("the file would read otherwise")
            }
        })
    };
    match checked {
        Ok((new, read)) => {
            let link = |(index, _): &(usize, Place)| {
                let (old, new) = (&memory.links[*index], &read.links[*index]);
                HealedLink {
                    path: after.clone(),
                    line: old.line,
                    old: shown(memory, old),
                    new: shown(&read, new),
                }
            };
            let links = changed.iter().map(link).collect();
            plan.rewrites.push(Rewrite { path: doc.path.clone(), old: doc.bytes.clone(), new, links });
        }
        Err(why) => {
            plan.left.extend(changed.iter().map(|(index, _)| left(&memory.links[*index], why.to_owned())));
        }
    }
}

fn exists(place: &Place, names: &dyn Names) -> bool {
    if place.directory { names.has_directory(&place.path) } else { names.has_file(&place.path) }
}

/// The memory's bytes with the changes, and what they read as.
fn rewritten(doc: &Doc, edits: &[TextEdit], after: &VaultPath, config: &Config) -> Option<(Vec<u8>, Memory)> {
    let text = relink::apply(&doc.memory.text, edits)?;
    let mark = doc.bytes.len() - doc.memory.text.len();
    let mut new = doc.bytes[..mark].to_vec();
    new.extend_from_slice(text.as_bytes());
    let read = markdown::read(after, &new, config);
    Some((new, read))
}

/// Whether every link of a rewritten memory leads where it shall, and stands there as it stood.
fn holds(read: &Memory, old: &Memory, home: (&VaultPath, &VaultPath), between: &Between<'_>) -> bool {
    read.links.len() == old.links.len()
        && read.headings.len() == old.headings.len()
        && read.front.all.len() == old.front.all.len()
        && read.links.iter().zip(&old.links).all(|(new, old)| {
            // `<viking://a.md>` shows its address.
            let shows_itself = old.text.as_deref().is_some_and(|text| text.starts_with(SCHEME));
            let same = new.form == old.form
                && new.fragment == old.fragment
                && (new.text == old.text || shows_itself)
                && new.embed == old.embed
                && new.relation == old.relation;
            let was = leads_to(resolve(old, home.0, between.before));
            let shall = was.map(|was| Place { path: between.moves.after(&was.path), ..was });
            let now = leads_to(resolve(new, home.1, between.after));
            same && (new.target == old.target || now == shall)
        })
}

/// Writes what was planned. A memory that somebody changed meanwhile is left as it is. `now` says where a file that
/// was read at a path stands by now.
pub(super) fn write(
    vault: &Vault<'_>,
    plan: Plan,
    now: &dyn Fn(&VaultPath) -> VaultPath,
) -> Result<Healing, Fault> {
    let root = vault.root()?;
    let mut out = Healing { left: plan.left, ..Healing::default() };
    let paths: Vec<VaultPath> = plan.rewrites.iter().map(|rewrite| now(&rewrite.path)).collect();
    let jobs: Vec<files::Replacement<'_>> = paths
        .iter()
        .zip(&plan.rewrites)
        .map(|(path, rewrite)| files::Replacement { path, old: &rewrite.old, new: &rewrite.new })
        .collect();
    let effect = |job: &files::Replacement<'_>| Effect::file(job.path, Some(job.old), Some(job.new));
    undo::note(vault, "heal links", jobs.iter().filter_map(effect).collect())?;
    let results = files::replace_all(root, &jobs);
    for (rewrite, result) in plan.rewrites.into_iter().zip(results) {
        match result {
            Ok(true) => {
                out.files += u64::from(!rewrite.links.is_empty());
                out.healed.extend(rewrite.links);
            }
            Ok(false) => out.left.extend(left_all(rewrite, "somebody changed the file meanwhile")),
            Err(error) => out.left.extend(left_all(rewrite, &error.to_string())),
        }
    }
    sort(&mut out);
    Ok(out)
}

/// What [`write`] would do.
pub(super) fn preview(plan: Plan) -> Healing {
    let files = plan.rewrites.iter().filter(|rewrite| !rewrite.links.is_empty()).count() as u64;
    let mut out = Healing { files, left: plan.left, ..Healing::default() };
    out.healed = plan.rewrites.into_iter().flat_map(|rewrite| rewrite.links).collect();
    sort(&mut out);
    out
}

fn sort(healing: &mut Healing) {
    healing.healed.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    healing.left.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
}

fn left_all(rewrite: Rewrite, why: &str) -> impl Iterator<Item = LeftLink> {
    rewrite.links.into_iter().map(move |link| LeftLink {
        path: link.path,
        line: link.line,
        link: link.old,
        why: why.to_owned(),
    })
}

/// What moving a file or directory would change in the links of the vault: asked before it is moved. The catalog must
/// be up to date.
pub(super) fn of_move(
    vault: &Vault<'_>,
    catalog: &Catalog,
    moves: &Moves,
    progress: &dyn Progress,
) -> Result<Plan, Fault> {
    let Some((old, new)) = &moves.whole else { return Ok(Plan::default()) };
    let side = super::sync::side(vault, catalog)?;
    let before = Kept::new(catalog.names(side));
    let moved: Vec<VaultPath> = catalog.paths_within(side, old)?.into_iter().map(|row| row.path).collect();
    let after = names::Moved::new(&before, (old, new), &moved);
    let docs = referrers(catalog, side, (old, new), &moved)?;
    let home = |path: &VaultPath| (path.clone(), moves.after(path));
    plan(
        vault,
        &docs,
        &Between { before: &before, after: &after, moves, broken_only: false },
        &home,
        progress,
    )
}

/// The memories with a link that may lead to a file, by its name or an alias; the file itself is not among them.
fn referrers_by_name(catalog: &Catalog, side: Side, path: &VaultPath) -> Result<BTreeSet<VaultPath>, Fault> {
    let mut docs = BTreeSet::new();
    for key in std::iter::once(link_key(path.name())).chain(catalog.alias_keys(side, path)?) {
        docs.extend(catalog.links_named(side, &key)?.into_iter().map(|link| link.from));
    }
    docs.remove(path);
    Ok(docs)
}

/// The text under which the catalog keeps the links to a file of this name.
pub(super) fn link_key(name: &str) -> String {
    let key = name_key(name);
    key.strip_suffix(".md").map_or(key.clone(), str::to_owned)
}

/// The memories whose links may lead elsewhere after a move: those that moved, and those with a link by a name that
/// something moved from or to.
fn referrers(
    catalog: &Catalog,
    side: Side,
    (old, new): (&VaultPath, &VaultPath),
    moved: &[VaultPath],
) -> Result<Vec<VaultPath>, Fault> {
    let mut keys: BTreeSet<String> = [link_key(old.name()), link_key(new.name())].into();
    let mut docs: BTreeSet<VaultPath> = BTreeSet::new();
    for path in moved {
        keys.insert(link_key(path.name()));
        keys.extend(catalog.alias_keys(side, path)?);
        keys.extend(
            path.ancestors().take_while(|above| above.is_within(old)).map(|above| link_key(above.name())),
        );
        if path.is_markdown() {
            docs.insert(path.clone());
        }
    }
    for key in &keys {
        docs.extend(catalog.links_named(side, key)?.into_iter().map(|link| link.from));
    }
    Ok(docs.into_iter().collect())
}
