//! Which memories may have to change when something moves.

use std::collections::BTreeSet;

use crate::catalog::{Catalog, Side, link_key};
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

/// The memories with a link that may lead to a file, by its name or an alias; the file itself is not among them.
pub(super) fn referrers_by_name(
    catalog: &Catalog,
    side: Side,
    path: &VaultPath,
) -> Result<BTreeSet<VaultPath>, Fault> {
    let mut docs = BTreeSet::new();
    for key in std::iter::once(link_key(path.name())).chain(catalog.alias_keys(side, path)?) {
        docs.extend(catalog.links_named(side, &key)?.into_iter().map(|link| link.from));
    }
    docs.remove(path);
    Ok(docs)
}

/// The memories whose links may lead elsewhere after a move: those that moved, and those with a link by a name that
/// something moved from or to.
pub(super) fn referrers(
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
        if path.is_markdown() || path.is_canvas() {
            docs.insert(path.clone());
        }
    }
    for key in &keys {
        docs.extend(catalog.links_named(side, key)?.into_iter().map(|link| link.from));
    }
    Ok(docs.into_iter().collect())
}
