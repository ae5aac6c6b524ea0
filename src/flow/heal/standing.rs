//! How the links of a vault stand: those that a person or `check --fix` must look at.

use std::collections::BTreeMap;

use super::Plan;
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
    /// Links that only an alias resolves, with the memory that holds each.
    pub(super) aliased: Vec<(VaultPath, Link)>,
    /// Links to a part that is not there: the memory that holds the link, the file that it leads to, the part.
    pub(super) parts: Vec<(VaultPath, VaultPath, Fragment)>,
    /// What links to those files can name.
    pub(super) anchors: BTreeMap<VaultPath, Anchors>,
}

impl Standing {
    /// Takes in the links that would lead to a part that is not there once a plan was followed.
    pub(super) fn take(&mut self, vault: &Vault<'_>, names: &dyn Names, plan: &Plan) -> Result<(), Fault> {
        let mut named = Vec::new();
        for rewrite in &plan.rewrites {
            vault.env.go_on()?;
            let memory = markdown::read(&rewrite.path, &rewrite.new, &vault.config);
            for link in &memory.links {
                if let Resolution::File(to) = resolve(link, &rewrite.path, names)
                    && let Some(place) = link.place().filter(|_| to.is_markdown())
                {
                    named.push((rewrite.path.clone(), to, place));
                }
            }
        }
        self.look_for(vault, named)
    }

    /// Keeps the parts that their files do not have.
    fn look_for(
        &mut self,
        vault: &Vault<'_>,
        mut named: Vec<(VaultPath, VaultPath, Fragment)>,
    ) -> Result<(), Fault> {
        let root = vault.root()?;
        for (_, to, _) in &named {
            if !self.anchors.contains_key(to) {
                vault.env.go_on()?;
                let bytes = files::read(root, to).unwrap_or_default();
                self.anchors.insert(to.clone(), Anchors::of(&markdown::read(to, &bytes, &vault.config)));
            }
        }
        named.retain(|(_, to, place)| self.anchors.get(to).is_some_and(|there| !there.has(place)));
        self.parts.extend(named);
        Ok(())
    }
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
                out.aliased.push((from.clone(), link.clone()));
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
    out.look_for(vault, named)?;
    Ok(out)
}
