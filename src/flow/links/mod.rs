//! Where links lead, and what leads here: `links`, `backlinks`, `graph`.
//!
//! All answers come from the index through what the reader may see. A memory that is hidden from the reader is not
//! there: a link to it is broken, as one to nothing is.

mod graph;
mod seen;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::heal::names::Kept;
use super::progress::Progress;
use super::reader::Reader;
use super::sync::{self, Freshness};
use crate::catalog::{Catalog, Side, StoredLink};
use crate::check::Anchors;
use crate::markdown;
use crate::model::access::View;
use crate::model::fault::Fault;
use crate::model::link::{Link, LinkForm, Names, Resolution, name_key, resolve};
use crate::model::path::VaultPath;
use crate::model::uri::Uri;

pub use graph::{Edge, Graph, GraphRequest, Node, graph};
use seen::Seen;

/// How a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// It leads to one file.
    Ok,
    /// It leads to a directory.
    Directory,
    /// It leads out of the vault.
    External,
    /// It leads to a file by an alias only.
    Alias,
    /// Several files have the name; one is taken.
    Ambiguous,
    /// It leads to a file that has no such heading.
    MissingHeading,
    /// It leads to a file that has no such block.
    MissingBlock,
    /// It leads to nothing.
    Broken,
}

impl LinkState {
    /// The word for people and filters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LinkState::Ok => "ok",
            LinkState::Directory => "directory",
            LinkState::External => "external",
            LinkState::Alias => "alias",
            LinkState::Ambiguous => "ambiguous",
            LinkState::MissingHeading => "missing-heading",
            LinkState::MissingBlock => "missing-block",
            LinkState::Broken => "broken",
        }
    }

    /// Whether a person should look at it.
    #[must_use]
    pub fn is_finding(self) -> bool {
        self >= LinkState::Alias
    }
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkRow {
    /// The memory that holds it.
    pub from: VaultPath,
    /// The line, counted from 1.
    pub line: u32,
    /// In which form it is written.
    #[schemars(with = "String")]
    pub form: LinkForm,
    /// What it names.
    pub target: String,
    /// The heading, block or lines that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment: Option<String>,
    /// The property whose value it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,
    /// Whether it embeds.
    pub embed: bool,
    /// How it stands.
    pub state: LinkState,
    /// Where it leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<VaultPath>,
    /// The other files that have the name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<VaultPath>,
}

/// What `links` and `backlinks` answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LinksAnswer {
    /// The memory or directory that was asked about.
    pub uri: String,
    /// `main` or `worktree`.
    pub view: String,
    /// The links, by memory and line.
    pub links: Vec<LinkRow>,
    /// The state of the vault that this was made from.
    pub freshness: Freshness,
}

/// What is at hand for resolving links.
struct Desk<'r, 'v, 'e> {
    reader: &'r Reader<'v, 'e>,
    names: Kept<Seen<'r>>,
    anchors: HashMap<VaultPath, Option<Anchors>>,
}

fn side_of(reader: &Reader<'_, '_>, catalog: &Catalog) -> Result<Side, Fault> {
    match reader.access.view {
        View::WorkTree => sync::side(reader.vault, catalog),
        _ => Ok(Side::Main),
    }
}

fn view_name(side: Side) -> String {
    if side == Side::Main { "main" } else { "worktree" }.to_owned()
}

impl Desk<'_, '_, '_> {
    /// Resolves a link as it stands in the index.
    fn row(&mut self, stored: StoredLink) -> LinkRow {
        let (from, link) = stored.into_link();
        let (state, to, others) = match resolve(&link, &from, &self.names) {
            Resolution::File(file) => (LinkState::Ok, Some(file), Vec::new()),
            Resolution::Alias(file) => (LinkState::Alias, Some(file), Vec::new()),
            Resolution::Directory(directory) => (LinkState::Directory, Some(directory), Vec::new()),
            Resolution::Ambiguous(mut files) => {
                let first = (!files.is_empty()).then(|| files.remove(0));
                (LinkState::Ambiguous, first, files)
            }
            Resolution::External => (LinkState::External, None, Vec::new()),
            Resolution::Broken => (LinkState::Broken, None, Vec::new()),
        };
        let state = match (&to, state) {
            (Some(file), LinkState::Ok) => self.lacks(file, &link).unwrap_or(state),
            _ => state,
        };
        LinkRow {
            from,
            line: link.line,
            form: link.form,
            target: link.target,
            fragment: link.fragment,
            relation: link.relation,
            embed: link.embed,
            state,
            to,
            others,
        }
    }

    /// What the file that a link leads to lacks.
    fn lacks(&mut self, file: &VaultPath, link: &Link) -> Option<LinkState> {
        let place = link.place().filter(|_| file.is_markdown())?;
        let reader = self.reader;
        let anchors = self.anchors.entry(file.clone()).or_insert_with(|| {
            let bytes = reader.read(file).ok().flatten()?;
            Some(Anchors::of(&markdown::read(file, &bytes, &reader.vault.config)))
        });
        let anchors = anchors.as_ref()?;
        if anchors.has(&place) {
            return None;
        }
        let block = matches!(place, crate::model::uri::Fragment::Block(_));
        Some(if block { LinkState::MissingBlock } else { LinkState::MissingHeading })
    }
}

/// The links of a memory, or of all memories below a directory.
///
/// # Errors
/// When the index cannot be read or built.
pub fn links(reader: &Reader<'_, '_>, of: &Uri, progress: &dyn Progress) -> Result<LinksAnswer, Fault> {
    let freshness = sync::ensure(reader.vault, progress)?;
    let catalog = sync::open_still(reader.vault)?;
    let side = side_of(reader, &catalog)?;
    let seen = Seen::new(&catalog, side, &reader.access);
    let mut stored = Vec::new();
    for row in catalog.paths_within(side, &of.path)? {
        if seen.admits(&row.path, row.sensitivity) && (of.directory || row.path == of.path) {
            stored.extend(catalog.links_of(side, &row.path)?);
        }
    }
    let mut desk = Desk { reader, names: Kept::new(seen), anchors: HashMap::new() };
    let links = stored.into_iter().map(|link| desk.row(link)).collect();
    Ok(LinksAnswer { uri: of.to_string(), view: view_name(side), links, freshness })
}

/// The links that lead to a file or directory, or to a place in it if the address names one.
///
/// # Errors
/// When the index cannot be read or built.
pub fn backlinks(reader: &Reader<'_, '_>, of: &Uri, progress: &dyn Progress) -> Result<LinksAnswer, Fault> {
    let freshness = sync::ensure(reader.vault, progress)?;
    let catalog = sync::open_still(reader.vault)?;
    let side = side_of(reader, &catalog)?;
    let seen = Seen::new(&catalog, side, &reader.access);
    let mut desk = Desk { reader, names: Kept::new(seen), anchors: HashMap::new() };
    let mut links = leading_to(&catalog, side, &mut desk, &of.path)?;
    if let Some(fragment) = &of.fragment {
        let wanted = name_key(&fragment.to_string());
        links.retain(|row| {
            let place = Link { range: 0..0, ..link_of(row) }.place();
            place.is_some_and(|place| name_key(&place.to_string()) == wanted)
        });
    }
    Ok(LinksAnswer { uri: of.to_string(), view: view_name(side), links, freshness })
}

fn link_of(row: &LinkRow) -> Link {
    Link {
        form: row.form,
        target: row.target.clone(),
        fragment: row.fragment.clone(),
        text: None,
        embed: row.embed,
        relation: row.relation.clone(),
        line: row.line,
        range: 0..0,
    }
}

/// The links of other memories that lead to a path.
fn leading_to(
    catalog: &Catalog,
    side: Side,
    desk: &mut Desk<'_, '_, '_>,
    path: &VaultPath,
) -> Result<Vec<LinkRow>, Fault> {
    let key = name_key(path.name());
    let key = key.strip_suffix(".md").map_or(key.clone(), str::to_owned);
    let mut keys = vec![key];
    keys.extend(catalog.alias_keys(side, path)?);
    keys.sort();
    keys.dedup();
    let mut rows = Vec::new();
    let mut visible: HashMap<VaultPath, bool> = HashMap::new();
    for key in keys {
        for stored in catalog.links_named(side, &key)? {
            let sees = |from: &VaultPath| desk.names.has_file(from);
            if stored.from == *path || !*visible.entry(stored.from.clone()).or_insert_with_key(sees) {
                continue;
            }
            let row = desk.row(stored);
            if row.to.as_ref() == Some(path) {
                rows.push(row);
            }
        }
    }
    rows.sort_by(|a, b| (&a.from, a.line, &a.target).cmp(&(&b.from, b.line, &b.target)));
    Ok(rows)
}
