//! Which state of the vault a search is of, and what today's rules hide of an older one.

use std::collections::HashSet;

use super::{FindHit, Finder};
use crate::catalog::{Catalog, Side};
use crate::flow::asof::{self, Revision};
use crate::flow::progress::Progress;
use crate::flow::sync::{self, Freshness};
use crate::flow::today::Forgotten;
use crate::flow::vault::Vault;
use crate::markdown;
use crate::model::access::{Access, View};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::path::VaultPath;
use crate::model::uri::Uri;

/// Why an older state is not searched.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The index does not have it: it was forgotten meanwhile, or a proposal or main moved.
    #[error("the state that was asked for is not in the index: something moved while it was taken in")]
    Moved,
}

impl Explain for StateError {
    fn kind(&self) -> Kind {
        Kind::Conflict
    }

    fn hint(&self) -> Option<String> {
        Some("run this again".to_owned())
    }
}

/// Sees to it that the index, which is up to date, has the state that is asked for.
pub(super) fn prepare(vault: &Vault<'_>, access: &Access, progress: &dyn Progress) -> Result<(), Fault> {
    match &access.view {
        View::WorkTree | View::Main => Ok(()),
        view => match asof::tree_of(vault, view)? {
            Some(tree) => sync::revision::ensure(vault, tree, progress),
            None => Ok(()),
        },
    }
}

impl Finder {
    /// The part of the index that is searched.
    pub(super) fn side(&self, vault: &Vault<'_>, access: &Access, main: bool) -> Result<Side, Fault> {
        match &access.view {
            View::Main => Ok(Side::Main),
            View::WorkTree if main => Ok(Side::Main),
            View::WorkTree => sync::side(vault, &self.pair.catalog),
            view => {
                let tree = asof::tree_of(vault, view)?.ok_or(StateError::Moved)?;
                Ok(sync::revision::find(&self.pair.catalog, tree)?.ok_or(StateError::Moved)?)
            }
        }
    }
}

impl Finder {
    /// The freshness of an answer from a side: of an older state, what could not be taken in is its own.
    pub(super) fn freshness_of(&self, side: Side, freshness: &Freshness) -> Result<Freshness, Fault> {
        let mut freshness = freshness.clone();
        if let Side::Revision(revision) = side {
            freshness.pending = self.pair.catalog.pending(revision)?.len() as u64;
        }
        Ok(freshness)
    }
}

/// What a side is called in answers.
pub(super) fn name_of(side: Side, access: &Access) -> &'static str {
    match (&access.view, side) {
        (View::Revision(_), _) => "rev",
        (View::Proposal(_), _) => "proposal",
        (_, Side::Main) => "main",
        _ => "worktree",
    }
}

/// The paths of an older state at which it has what main says today that this reader may not see, or that was
/// forgotten. Where it has what main has, main's own rules say all.
pub(super) fn hidden_today(
    vault: &Vault<'_>,
    access: &Access,
    catalog: &Catalog,
    side: Side,
) -> Result<HashSet<String>, Fault> {
    let mut hidden = HashSet::new();
    let Side::Revision(revision) = side else { return Ok(hidden) };
    if access.is_narrow() {
        let reads = access.reads();
        for row in catalog.today(revision)? {
            if !reads.holds(&row.now) || !access.may_see(row.sensitivity) {
                hidden.insert(row.path.as_str().to_owned());
            }
        }
    }
    let forgotten = Forgotten::of(vault, vault.main()?)?;
    if !forgotten.is_empty() {
        for doc in catalog.differing(revision)? {
            let bytes = vault.repo.blob(doc.oid).unwrap_or_default();
            let (_, body) = match doc.path.is_markdown() {
                true => markdown::identity(&bytes, &vault.config),
                false => (None, 0),
            };
            let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
            if forgotten.holds(&doc.path, doc.uid.as_deref(), text.get(body..).unwrap_or_default()) {
                hidden.insert(doc.path.as_str().to_owned());
            }
        }
    }
    Ok(hidden)
}

/// Makes of a hit of the index one of an older state: its address leads there, and it says how main stands to it.
pub(super) fn of_revision(hit: &mut FindHit, access: &Access, revision: &Revision) {
    hit.current = Some(hit.approved);
    hit.approved |= revision.approved;
    let there =
        |path: &VaultPath| Uri { rev: asof::address(&access.view), ..Uri::file(path.clone()) }.to_string();
    hit.uri = there(&hit.path);
    hit.attachments.iter_mut().for_each(|shown| shown.uri = there(&shown.path));
}
