//! How the links of a vault stand: those that a person or `check --fix` must look at.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::{Catalog, Side};
use crate::check::Anchors;
use crate::flow::progress::Progress;
use crate::flow::vault::Vault;
use crate::markdown;
use crate::model::fault::Fault;
use crate::model::link::{Link, Names, Resolution, resolve};
use crate::model::path::VaultPath;
use crate::model::uri::Fragment;
use crate::store::files;

/// The links that do not lead where they should.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Links that lead to nothing, with the memory that holds each.
    pub(super) broken: Vec<(VaultPath, Link)>,
    /// Memories with links that only an alias resolves.
    pub(super) aliased: BTreeSet<VaultPath>,
    /// Links to a part that is not there: the memory that holds the link, the file that it leads to, the part.
    pub(super) parts: Vec<(VaultPath, VaultPath, Fragment)>,
    /// What links to those files can name.
    pub(super) anchors: BTreeMap<VaultPath, Anchors>,
}

/// Looks at every link of the memories that `within` admits.
pub(super) fn of(
    vault: &Vault<'_>,
    catalog: &Catalog,
    side: Side,
    names: &dyn Names,
    within: &dyn Fn(&VaultPath) -> bool,
    progress: &dyn Progress,
) -> Result<Standing, Fault> {
    let mut out = Standing::default();
    let mut named: Vec<(VaultPath, VaultPath, Fragment)> = Vec::new();
    progress.begin("following links", None);
    catalog.each_link(side, |stored| {
        if vault.env.cancel.is_cancelled() || !within(&stored.from) {
            return;
        }
        progress.advance(1);
        let (from, link) = stored.into_link();
        let to = match resolve(&link, &from, names) {
            Resolution::Broken => return out.broken.push((from, link)),
            Resolution::Alias(file) => {
                out.aliased.insert(from.clone());
                file
            }
            Resolution::File(file) => file,
            _ => return,
        };
        if let Some(place) = link.place().filter(|_| to.is_markdown()) {
            named.push((from, to, place));
        }
    })?;
    progress.end();
    vault.env.go_on()?;
    let root = vault.root()?;
    for (_, to, _) in &named {
        if !out.anchors.contains_key(to) {
            vault.env.go_on()?;
            let bytes = files::read(root, to).unwrap_or_default();
            out.anchors.insert(to.clone(), Anchors::of(&markdown::read(to, &bytes, &vault.config)));
        }
    }
    named.retain(|(_, to, place)| out.anchors.get(to).is_some_and(|there| !there.has(place)));
    out.parts = named;
    Ok(out)
}
