//! Links that only an alias resolves get the file's name and keep what they show: `[[alias]]` → `[[name|alias]]`.

use std::collections::BTreeSet;

use super::{Doc, HealedLink, LeftLink, Plan, Planned, Rewrite, doc, rewritten, shown};
use crate::flow::vault::Vault;
use crate::markdown::relink;
use crate::model::fault::Fault;
use crate::model::link::{Link, LinkForm, Names, Resolution, name_key, resolve};
use crate::model::path::VaultPath;

/// What must change in the memories with such links, some of which a plan changes before. `lost` says of a link that led
/// to a file which is gone what that was: who has its name as an alias was not meant.
pub(super) fn plan(
    vault: &Vault<'_>,
    names: &dyn Names,
    links: &[(VaultPath, Link)],
    before: &Plan,
    lost: &dyn Fn(&Link, &VaultPath) -> Option<VaultPath>,
) -> Result<Plan, Fault> {
    let (mut plan, planned, root) = (Plan::default(), Planned::by(before), vault.root()?);
    for path in links.iter().map(|(path, _)| path).collect::<BTreeSet<_>>() {
        vault.env.go_on()?;
        if let Ok(bytes) = planned.read(root, path) {
            one(&doc(path, bytes, &vault.config), names, lost, vault, &mut plan);
        }
    }
    Ok(plan)
}

fn one(
    doc: &Doc,
    names: &dyn Names,
    lost: &dyn Fn(&Link, &VaultPath) -> Option<VaultPath>,
    vault: &Vault<'_>,
    plan: &mut Plan,
) {
    let memory = &doc.memory;
    if memory.template || std::str::from_utf8(&doc.bytes).is_err() {
        return;
    }
    let (mut edits, mut changed) = (Vec::new(), Vec::new());
    let left = |link: &Link, why: &str| LeftLink {
        path: doc.path.clone(),
        line: link.line,
        link: shown(memory, link),
        why: why.to_owned(),
    };
    for (index, link) in memory.links.iter().enumerate() {
        let Resolution::Alias(file) = resolve(link, &doc.path, names) else { continue };
        if let Some(gone) = lost(link, &doc.path) {
            let why = format!("it led to {gone}, which is gone; {file} only has that name as an alias");
            plan.left.push(left(link, &why));
            continue;
        }
        let leads = |name: &String| {
            let other = Link { target: name.clone(), ..link.clone() };
            resolve(&other, &doc.path, names) == Resolution::File(file.clone())
        };
        match ways(&file).into_iter().filter(leads).find_map(|name| relink::show_as(memory, link, &name)) {
            Some(written) => {
                edits.extend(written);
                changed.push((index, file));
            }
            None => plan.left.push(left(link, "the name of the file cannot be written in this form")),
        }
    }
    if edits.is_empty() {
        return;
    }
    let same = |read: &crate::model::memory::Memory| {
        read.links.len() == memory.links.len()
            && read.front.all.len() == memory.front.all.len()
            && changed.iter().all(|(index, file)| {
                let (new, old) = (&read.links[*index], &memory.links[*index]);
                let text = old.text.as_deref().unwrap_or(&old.target);
                new.form == LinkForm::Wiki
                    && new.fragment == old.fragment
                    && new.text.as_deref() == Some(text)
                    && resolve(new, &doc.path, names) == Resolution::File(file.clone())
            })
    };
    match rewritten(doc, &edits, &doc.path, &vault.config).filter(|(_, read)| same(read)) {
        Some((new, read)) => {
            let link = |(index, _): &(usize, VaultPath)| HealedLink {
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
            let why = "the file would read otherwise";
            plan.left.extend(changed.iter().map(|(index, _)| left(&memory.links[*index], why)));
        }
    }
}

/// The names by which a link can lead to a file, the shortest first.
fn ways(file: &VaultPath) -> Vec<String> {
    let path = file.as_str();
    let bare = if name_key(path).ends_with(".md") { &path[..path.len() - 3] } else { path };
    let name = bare.rsplit('/').next().unwrap_or(bare);
    vec![name.to_owned(), bare.to_owned(), format!("/{bare}")]
}
