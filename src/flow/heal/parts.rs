//! Links that follow a heading or a block to its new name.

use std::collections::BTreeMap;

use super::target::leads_to;
use super::{Doc, HealedLink, LeftLink, Plan, Rewrite, doc, referrers_by_name, rewritten, shown};
use crate::catalog::{Catalog, Side};
use crate::flow::browse;
use crate::flow::own::OwnError;
use crate::flow::progress::Progress;
use crate::flow::sync;
use crate::flow::vault::Vault;
use crate::markdown::edit;
use crate::markdown::relink::{self, TextEdit};
use crate::markdown::renamed::{Renames, named};
use crate::markdown::{self};
use crate::model::config::Config;
use crate::model::fault::Fault;
use crate::model::link::{Link, LinkForm, Names, resolve};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;
use crate::model::uri::Fragment;
use crate::store::files;

/// Files whose parts have other names now.
pub(super) struct Parts<'p> {
    /// What is called otherwise, by the file's place.
    pub(super) renames: &'p BTreeMap<VaultPath, Renames>,
    /// Whether a link's fragment leads to the same part as before, or to one at all, without being changed.
    pub(super) stays: &'p dyn Fn(&VaultPath, &Fragment) -> bool,
    /// Whether a fragment leads to a part of the file as it is now.
    pub(super) leads: &'p dyn Fn(&VaultPath, &Fragment) -> bool,
}

/// What links say of the part that is meant: names of headings or `^id`, decoded. Lines have no name.
fn said(link: &Link) -> Option<(Fragment, String)> {
    let place = link.place()?;
    let text = match &place {
        Fragment::Heading(names) => names.join("#"),
        Fragment::Block(_) if link.form != LinkForm::Uri => link.fragment.clone()?,
        Fragment::Block(id) => format!("^{id}"),
        Fragment::Lines(..) => return None,
    };
    Some((place, text))
}

/// What must change in one memory so that its links name the parts by their new names.
pub(super) fn one(doc: &Doc, names: &dyn Names, parts: &Parts<'_>, config: &Config, plan: &mut Plan) {
    let memory = &doc.memory;
    let (mut edits, mut changed): (Vec<TextEdit>, Vec<usize>) = (Vec::new(), Vec::new());
    let left = |link: &Link, why: &str| LeftLink {
        path: doc.path.clone(),
        line: link.line,
        link: shown(memory, link),
        why: why.to_owned(),
    };
    for (index, link) in memory.links.iter().enumerate() {
        let Some((place, text)) = said(link) else { continue };
        let Some(to) = leads_to(resolve(link, &doc.path, names)).filter(|to| !to.directory) else { continue };
        let Some(renames) = parts.renames.get(&to.path) else { continue };
        if (parts.stays)(&to.path, &place) {
            continue;
        }
        let Some(new) = renames.fragment(&text, link.form == LinkForm::Markdown) else { continue };
        if memory.template {
            plan.left.push(left(link, super::TEMPLATE));
            continue;
        }
        let there = Link { fragment: Some(new.clone()), form: LinkForm::Wiki, ..link.clone() };
        let leads = there.place().is_some_and(|place| (parts.leads)(&to.path, &place));
        match relink::refragment(memory, link, &new).filter(|_| leads) {
            Some(written) => {
                edits.extend(written);
                changed.push(index);
            }
            None => plan.left.push(left(link, &format!("`{new}` cannot be written in this form"))),
        }
    }
    if edits.is_empty() {
        return;
    }
    match rewritten(doc, &edits, &doc.path, config).filter(|(_, read)| same_but(read, memory, &changed)) {
        Some((new, read)) => {
            let link = |index: &usize| HealedLink {
                path: doc.path.clone(),
                line: memory.links[*index].line,
                old: shown(memory, &memory.links[*index]),
                new: shown(&read, &read.links[*index]),
                otherwise: None,
            };
            let links = changed.iter().map(link).collect();
            plan.rewrites.push(Rewrite { path: doc.path.clone(), old: doc.bytes.clone(), new, links });
        }
        None => {
            let why = if std::str::from_utf8(&doc.bytes).is_err() {
                "the file is not UTF-8"
            } else {
                "the file would read otherwise"
            };
            plan.left.extend(changed.iter().map(|index| left(&memory.links[*index], why)));
        }
    }
}

/// Whether only the fragments of some links differ.
fn same_but(read: &Memory, old: &Memory, changed: &[usize]) -> bool {
    read.links.len() == old.links.len()
        && read.headings.len() == old.headings.len()
        && read.front.all.len() == old.front.all.len()
        && read.links.iter().zip(&old.links).enumerate().all(|(at, (new, old))| {
            let fragment = new.fragment == old.fragment || changed.binary_search(&at).is_ok();
            fragment && new.form == old.form && new.target == old.target && new.relation == old.relation
        })
}

/// A heading or block that gets another name.
pub(in crate::flow) struct Part {
    /// The file.
    pub(in crate::flow) path: VaultPath,
    /// The heading or block as it is called now.
    pub(in crate::flow) old: Fragment,
    /// Its new words or id.
    pub(in crate::flow) new: String,
}

/// The file with the part renamed, and the links that follow it. The file itself comes first.
pub(in crate::flow) fn of_part(
    vault: &Vault<'_>,
    part: &Part,
    keep_links: bool,
    progress: &dyn Progress,
) -> Result<Plan, Fault> {
    let config = &vault.config;
    let bytes = files::read(vault.root()?, &part.path)?;
    let before = markdown::read(&part.path, &bytes, config);
    let (new, renames) = rename(&before, &bytes, part)?;
    let after = markdown::read(&part.path, &new, config);
    let mut plan = Plan::default();
    let own = Doc { path: part.path.clone(), bytes: new.clone(), memory: after.clone() };
    if !keep_links {
        sync::reindex(vault, false, progress)?;
        let catalog = sync::open_still(vault)?;
        let side = sync::side(vault, &catalog)?;
        let names = super::names::Kept::new(catalog.names(side));
        let renames = BTreeMap::from([(part.path.clone(), renames)]);
        let index = |memory: &Memory, place: &Fragment| match place {
            Fragment::Heading(names) => named(&memory.headings, &names.join("#")),
            Fragment::Block(id) => {
                memory.blocks.iter().position(|b| b.id.eq_ignore_ascii_case(id)).map(|at| vec![at])
            }
            Fragment::Lines(..) => None,
        };
        let stays = |_: &VaultPath, place: &Fragment| index(&before, place) == index(&after, place);
        let leads = |_: &VaultPath, place: &Fragment| index(&after, place).is_some();
        let parts = Parts { renames: &renames, stays: &stays, leads: &leads };
        one(&own, &names, &parts, config, &mut plan);
        for path in referrers_by_name(&catalog, side, &part.path)? {
            vault.env.go_on()?;
            if path != part.path
                && let Some(doc) =
                    files::read(vault.root()?, &path).ok().map(|bytes| doc(&path, bytes, config))
            {
                one(&doc, &names, &parts, config, &mut plan);
            }
        }
    }
    match plan.rewrites.iter_mut().find(|rewrite| rewrite.path == part.path) {
        Some(rewrite) => rewrite.old = bytes,
        None => {
            plan.rewrites.insert(0, Rewrite { path: part.path.clone(), old: bytes, new, links: Vec::new() })
        }
    }
    Ok(plan)
}

/// The bytes with the part renamed, and what that means for fragments.
fn rename(memory: &Memory, bytes: &[u8], part: &Part) -> Result<(Vec<u8>, Renames), Fault> {
    let taken = || OwnError::PartExists { path: part.path.clone(), name: part.new.clone() };
    match &part.old {
        Fragment::Heading(names) => {
            let missing = || browse::no_part(memory, &part.old);
            let found = named(&memory.headings, &names.join("#")).and_then(|found| found.last().copied());
            let index = found.ok_or_else(missing)?;
            if memory.headings.iter().enumerate().any(|(at, heading)| at != index && heading.text == part.new)
            {
                return Err(taken().into());
            }
            let new = edit::rename_heading_at(bytes, index, &part.new)?;
            Ok((new, Renames::heading(memory, index, &part.new)))
        }
        Fragment::Block(id) => {
            if !memory.blocks.iter().any(|block| block.id.eq_ignore_ascii_case(id)) {
                return Err(browse::no_part(memory, &part.old).into());
            }
            if memory.blocks.iter().any(|block| block.id.eq_ignore_ascii_case(&part.new)) {
                return Err(taken().into());
            }
            Ok((edit::rename_block(bytes, id, &part.new)?, Renames::block(id, &part.new)))
        }
        Fragment::Lines(..) => Err(OwnError::NoPart(part.path.clone()).into()),
    }
}

/// The files of a work tree whose headings or blocks are called otherwise than on the approved branch. `before` says
/// where a file stood there.
pub(super) fn changed(
    vault: &Vault<'_>,
    catalog: &Catalog,
    side: Side,
    before: &dyn Fn(&VaultPath) -> VaultPath,
) -> Result<BTreeMap<VaultPath, Renames>, Fault> {
    let Side::Tree(tree) = side else { return Ok(BTreeMap::new()) };
    let mut out = BTreeMap::new();
    for path in catalog.changed_paths(tree)?.into_iter().filter(VaultPath::is_markdown) {
        vault.env.go_on()?;
        let Some(old) = catalog.main_oid(&before(&path))? else { continue };
        let Ok(bytes) = files::read(vault.root()?, &path) else { continue };
        let config = &vault.config;
        let old = markdown::read(&path, &vault.repo.blob(old)?, config);
        let renames = Renames::between(&old, &markdown::read(&path, &bytes, config));
        if !renames.is_empty() {
            out.insert(path, renames);
        }
    }
    Ok(out)
}
