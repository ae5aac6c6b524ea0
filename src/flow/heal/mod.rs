//! Links that follow a file to its new place.
//!
//! A link of a memory led somewhere before; it shall lead to the same file after some files moved. It is changed only
//! where it would not, as little as possible, in the form that it has. What is changed is read again, and kept only
//! if every link of the memory leads where it shall.

mod alias;
mod canvas;
mod committed;
mod fix;
pub(super) mod names;
mod outside;
mod parts;
mod referrers;
mod standing;
mod target;

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::progress::Progress;
use super::undo;
use super::vault::Vault;
use crate::catalog::Catalog;
pub(super) use crate::catalog::link_key;
use crate::markdown::relink::{self, TextEdit};
use crate::markdown::{self};
use crate::model::config::Config;
use crate::model::fault::Fault;
use crate::model::link::{Link, Names, Resolution, resolve};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;
use crate::model::uri::SCHEME;
use crate::store::files::{self, FileError};
use crate::store::operations::Effect;
pub use fix::{Fixed, LookedBack, MendedLine, RenamedPart, fix};
use names::Kept;
pub use outside::{Renamed, Sign};
pub(super) use parts::{Part, of_part};
use referrers::{referrers, referrers_by_name};
use target::{Place, leads_to};

/// Which files stand elsewhere now.
#[derive(Debug, Clone, Default)]
pub(super) struct Moves {
    /// A file or directory with all that it holds: from where, to where.
    pub(super) whole: Option<(VaultPath, VaultPath)>,
    /// Single files.
    pub(super) files: BTreeMap<VaultPath, VaultPath>,
    /// Directories, as far as links name them.
    pub(super) directories: BTreeMap<VaultPath, VaultPath>,
}

impl Moves {
    /// Where a path stands afterwards.
    pub(super) fn after(&self, path: &VaultPath) -> VaultPath {
        if let Some(to) = self.files.get(path).or_else(|| self.directories.get(path)) {
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
    /// Where it would lead otherwise, though neither its file nor what it leads to moved: something else has the name now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<VaultPath>,
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
    /// Takes in a rewrite of what this one leaves.
    fn follow(&mut self, next: Rewrite) {
        self.new = next.new;
        for link in next.links {
            let same = |one: &&mut HealedLink| one.line == link.line && one.new == link.old;
            match self.links.iter_mut().find(same) {
                Some(first) => first.new = link.new,
                None => self.links.push(link),
            }
        }
    }

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

impl Plan {
    /// This plan and then another one, which was made for what this one leaves: what both change is changed once.
    fn then(mut self, next: Plan) -> Plan {
        let mut at: BTreeMap<VaultPath, usize> =
            self.rewrites.iter().enumerate().map(|(at, rewrite)| (rewrite.path.clone(), at)).collect();
        for rewrite in next.rewrites {
            match at.remove(&rewrite.path).and_then(|at| self.rewrites.get_mut(at)) {
                Some(first) => first.follow(rewrite),
                None => self.rewrites.push(rewrite),
            }
        }
        self.left.extend(next.left);
        self
    }
}

/// Files as a plan leaves them.
struct Planned<'p>(BTreeMap<&'p VaultPath, &'p [u8]>);

impl Planned<'_> {
    fn by(plan: &Plan) -> Planned<'_> {
        Planned(plan.rewrites.iter().map(|one| (&one.path, one.new.as_slice())).collect())
    }

    fn read(&self, root: &Path, path: &VaultPath) -> Result<Vec<u8>, FileError> {
        self.0.get(path).map_or_else(|| files::read(root, path), |bytes| Ok(bytes.to_vec()))
    }
}

/// The two states between which links are carried.
pub(super) struct Between<'n> {
    pub(super) before: &'n dyn Names,
    pub(super) after: &'n dyn Names,
    pub(super) moves: &'n Moves,
    /// Whether only links are touched that lead to nothing now, or by an alias: what leads somewhere was perhaps
    /// written so. An alias has what nothing else is called, so a link that led to a file led there.
    pub(super) broken_only: bool,
}

/// Why a link of a template stays.
const TEMPLATE: &str = "it stands in a template, which is left alone";

/// Why changes are not made.
const OTHERWISE: &str = "the file would read otherwise";

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
        // Names are asked by one thread; reading, before and after, is what takes long.
        let asked: Vec<Wanted<'_>> =
            read.iter().filter_map(|doc| wanted(doc, home(&doc.path), between, &mut plan)).collect();
        let new: Vec<Result<(Vec<u8>, Memory), &str>> =
            asked.par_iter().map(|one| one.rewritten(config)).collect();
        for (one, new) in asked.iter().zip(new) {
            one.settle(new, between, &mut plan);
        }
        progress.advance(chunk.len() as u64);
    }
    progress.end();
    Ok(plan)
}

/// What must change in one memory.
struct Wanted<'d> {
    doc: &'d Doc,
    /// Where it stood, and where it will stand.
    home: (VaultPath, VaultPath),
    edits: Vec<TextEdit>,
    /// The links that change, and what each leads to then.
    changed: Vec<(usize, Place)>,
}

/// Finds out what must change in one memory; what cannot is left.
fn wanted<'d>(
    doc: &'d Doc,
    home: (VaultPath, VaultPath),
    between: &Between<'_>,
    plan: &mut Plan,
) -> Option<Wanted<'d>> {
    let (before, after) = (&home.0, &home.1);
    let memory = &doc.memory;
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut changed: Vec<(usize, Place)> = Vec::new();
    let left = |link: &Link, why: String| left(doc, after, link, why);
    for (index, link) in memory.links.iter().enumerate() {
        let Some(was) = leads_to(resolve(link, before, between.before)) else { continue };
        let shall = Place { path: between.moves.after(&was.path), ..was.clone() };
        let now = resolve(link, after, between.after);
        let by_alias = matches!(now, Resolution::Alias(_));
        let now = leads_to(now);
        if between.broken_only && now.is_some() && !by_alias {
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
    (!edits.is_empty()).then_some(Wanted { doc, home, edits, changed })
}

fn left(doc: &Doc, place: &VaultPath, link: &Link, why: String) -> LeftLink {
    LeftLink { path: place.clone(), line: link.line, link: shown(&doc.memory, link), why }
}

/// Where a link would lead now that need not change for the sake of what moved.
fn otherwise(
    link: &Link,
    (before, after): (&VaultPath, &VaultPath),
    between: &Between<'_>,
    shall: &Place,
) -> Option<VaultPath> {
    let stood = leads_to(resolve(link, before, between.before)).is_some_and(|was| was.path == shall.path);
    let now = leads_to(resolve(link, after, between.after)).map(|now| now.path);
    now.filter(|now| before == after && stood && *now != shall.path)
}

impl Wanted<'_> {
    /// The bytes with the changes, and what they read as; or why there are none.
    fn rewritten(&self, config: &Config) -> Result<(Vec<u8>, Memory), &'static str> {
        if std::str::from_utf8(&self.doc.bytes).is_err() {
            return Err("the file is not UTF-8");
        }
        rewritten(self.doc, &self.edits, &self.home.1, config).ok_or(OTHERWISE)
    }

    /// Takes the new bytes into the plan if every link leads where it shall then.
    fn settle(&self, new: Result<(Vec<u8>, Memory), &str>, between: &Between<'_>, plan: &mut Plan) {
        let (memory, (before, after)) = (&self.doc.memory, (&self.home.0, &self.home.1));
        let new = new.and_then(|new| {
            let holds = holds(&new.1, memory, (before, after), between);
            if holds { Ok(new) } else { Err(OTHERWISE) }
        });
        match new {
            Ok((new, read)) => {
                let link = |(index, shall): &(usize, Place)| HealedLink {
                    otherwise: otherwise(&memory.links[*index], (before, after), between, shall),
                    path: after.clone(),
                    line: memory.links[*index].line,
                    old: shown(memory, &memory.links[*index]),
                    new: shown(&read, &read.links[*index]),
                };
                let links = self.changed.iter().map(link).collect();
                let (path, old) = (self.doc.path.clone(), self.doc.bytes.clone());
                plan.rewrites.push(Rewrite { path, old, new, links });
            }
            Err(why) => {
                let link = |(index, _): &(usize, Place)| &memory.links[*index];
                plan.left
                    .extend(self.changed.iter().map(|one| left(self.doc, after, link(one), why.to_owned())));
            }
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
    let between = Between { before: &before, after: &after, moves, broken_only: false };
    let mut plan = plan(vault, &docs, &between, &home, progress)?;
    plan.left.extend(canvas::unread(vault, catalog, side, moves)?);
    Ok(plan)
}
