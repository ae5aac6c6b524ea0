//! The graph of memories and links.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Desk, LinkRow, LinkState, Seen, leading_to, side_of, view_name};
use crate::catalog::{Catalog, FileKind, Side};
use crate::flow::heal::names::Kept;
use crate::flow::progress::Progress;
use crate::flow::reader::Reader;
use crate::flow::sync::{self, Freshness};
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

/// What is asked of `graph`.
#[derive(Debug, Clone, Default)]
pub struct GraphRequest {
    /// Where to begin: a file, or a directory with all that it holds; the whole vault if left out.
    pub from: Option<VaultPath>,
    /// How many links away from there.
    pub depth: u32,
    /// Only links that are values of this property.
    pub relation: Option<String>,
}

/// A memory or another file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Node {
    /// Where it stands.
    pub path: VaultPath,
    /// How many links it is away from where the walk began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
}

/// All links of one kind from one file to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Edge {
    /// The memory that holds the links.
    pub from: VaultPath,
    /// Where they lead.
    pub to: VaultPath,
    /// The property whose value they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,
    /// Whether they embed.
    pub embed: bool,
    /// How many there are.
    pub links: u64,
}

/// What `graph` answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Graph {
    /// `main` or `worktree`.
    pub view: String,
    /// The files, by path; of a walk by distance, then path.
    pub nodes: Vec<Node>,
    /// The links, by where they come from and lead to.
    pub edges: Vec<Edge>,
    /// How many links stand how.
    pub states: BTreeMap<String, u64>,
    /// The links that a person should look at.
    pub findings: Vec<LinkRow>,
    /// The memories without a link from or to another; of the whole vault only.
    pub orphans: Vec<VaultPath>,
    /// The state of the vault that this was made from.
    pub freshness: Freshness,
}

/// From where, to where, by which property, and whether embedded.
type EdgeKey = (VaultPath, VaultPath, Option<String>, bool);

#[derive(Default)]
struct Drawing {
    edges: HashMap<EdgeKey, u64>,
    states: BTreeMap<LinkState, u64>,
    findings: Vec<LinkRow>,
}

impl Drawing {
    fn add(&mut self, row: LinkRow) {
        *self.states.entry(row.state).or_default() += 1;
        if let Some(to) = row.to.as_ref().filter(|to| **to != row.from) {
            let key = (row.from.clone(), to.clone(), row.relation.clone(), row.embed);
            *self.edges.entry(key).or_default() += 1;
        }
        if row.state.is_finding() {
            self.findings.push(row);
        }
    }

    fn finish(self, view: String, nodes: Vec<Node>, orphans: Vec<VaultPath>, freshness: Freshness) -> Graph {
        let edge = |((from, to, relation, embed), links)| Edge { from, to, relation, embed, links };
        let mut edges: Vec<Edge> = self.edges.into_iter().map(edge).collect();
        edges.par_sort_unstable();
        Graph {
            view,
            nodes,
            edges,
            states: self.states.into_iter().map(|(state, n)| (state.as_str().to_owned(), n)).collect(),
            findings: self.findings,
            orphans,
            freshness,
        }
    }
}

/// The links of the vault, or those around a file.
///
/// # Errors
/// When the index cannot be read or built, or on Ctrl-C.
pub fn graph(
    reader: &Reader<'_, '_>,
    request: &GraphRequest,
    progress: &dyn Progress,
) -> Result<Graph, Fault> {
    let freshness = sync::ensure(reader.vault, progress)?;
    let catalog = sync::open_still(reader.vault)?;
    let side = side_of(reader, &catalog)?;
    let seen = Seen::new(&catalog, side, &reader.access);
    match &request.from {
        Some(from) if !from.is_root() => {
            let starts = starts(&catalog, side, &seen, from)?;
            let desk = Desk { reader, names: Kept::new(seen), anchors: HashMap::new() };
            walk(&catalog, side, desk, &starts, request, freshness)
        }
        _ => whole(&catalog, side, seen, reader, request, freshness, progress),
    }
}

fn wanted(request: &GraphRequest, relation: Option<&String>) -> bool {
    request.relation.as_ref().is_none_or(|wanted| relation == Some(wanted))
}

/// Where a walk begins: the file, or the directory with what the reader may see of it. What is no memory counts only if
/// a link leads there.
fn starts(
    catalog: &Catalog,
    side: Side,
    seen: &Seen<'_>,
    from: &VaultPath,
) -> Result<BTreeMap<VaultPath, FileKind>, Fault> {
    let rows = catalog.paths_within(side, from)?.into_iter();
    let mut out: BTreeMap<VaultPath, FileKind> =
        rows.filter(|row| seen.admits(&row.path, row.sensitivity)).map(|row| (row.path, row.kind)).collect();
    let alone = out.is_empty() || out.contains_key(from);
    out.insert(from.clone(), if alone { FileKind::Memory } else { FileKind::Other });
    Ok(out)
}

/// From a file, or all files of a directory, along its links and those that lead to it.
fn walk(
    catalog: &Catalog,
    side: Side,
    mut desk: Desk<'_, '_, '_>,
    starts: &BTreeMap<VaultPath, FileKind>,
    request: &GraphRequest,
    freshness: Freshness,
) -> Result<Graph, Fault> {
    let mut distance: BTreeMap<VaultPath, u32> = starts.keys().map(|path| (path.clone(), 0)).collect();
    let mut drawing = Drawing::default();
    let mut drawn: BTreeSet<(VaultPath, u32, String)> = BTreeSet::new();
    let mut frontier: Vec<VaultPath> = starts.keys().cloned().collect();
    for step in 1..=request.depth {
        let mut next = Vec::new();
        for here in std::mem::take(&mut frontier) {
            desk.reader.vault.env.go_on()?;
            let mut rows: Vec<LinkRow> =
                catalog.links_of(side, &here)?.into_iter().map(|link| desk.row(link)).collect();
            rows.extend(leading_to(catalog, side, &mut desk, &here)?);
            for row in rows.into_iter().filter(|row| wanted(request, row.relation.as_ref())) {
                let other = if row.from == here { row.to.clone() } else { Some(row.from.clone()) };
                if let Some(other) = other
                    && !distance.contains_key(&other)
                {
                    distance.insert(other.clone(), step);
                    next.push(other);
                }
                let name = format!("{}#{}", row.target, row.fragment.as_deref().unwrap_or_default());
                if drawn.insert((row.from.clone(), row.line, name)) {
                    drawing.add(row);
                }
            }
        }
        frontier = next;
    }
    let linked: HashSet<&VaultPath> = drawing.edges.keys().flat_map(|(from, to, ..)| [from, to]).collect();
    distance.retain(|path, _| {
        starts.get(path).is_none_or(|kind| *kind == FileKind::Memory) || linked.contains(path)
    });
    let mut nodes: Vec<Node> =
        distance.into_iter().map(|(path, step)| Node { path, distance: Some(step) }).collect();
    nodes.sort_by(|a, b| (a.distance, &a.path).cmp(&(b.distance, &b.path)));
    Ok(drawing.finish(view_name(side), nodes, Vec::new(), freshness))
}

/// All links of the vault.
fn whole(
    catalog: &Catalog,
    side: Side,
    seen: Seen<'_>,
    reader: &Reader<'_, '_>,
    request: &GraphRequest,
    freshness: Freshness,
    progress: &dyn Progress,
) -> Result<Graph, Fault> {
    let rows = catalog.paths_within(side, &VaultPath::root())?;
    let visible: BTreeMap<VaultPath, FileKind> = rows
        .into_iter()
        .filter(|row| seen.admits(&row.path, row.sensitivity))
        .map(|row| (row.path, row.kind))
        .collect();
    let mut desk = Desk { reader, names: Kept::new(seen), anchors: HashMap::new() };
    let mut drawing = Drawing::default();
    progress.begin("following links", None);
    catalog.each_link(side, |stored| {
        let cancelled = reader.vault.env.cancel.is_cancelled();
        if !cancelled && visible.contains_key(&stored.from) && wanted(request, stored.relation.as_ref()) {
            drawing.add(desk.row(stored));
            progress.advance(1);
        }
    })?;
    progress.end();
    reader.vault.env.go_on()?;
    let linked: HashSet<&VaultPath> = drawing.edges.keys().flat_map(|(from, to, ..)| [from, to]).collect();
    let orphans = match request.relation {
        Some(_) => Vec::new(),
        None => visible
            .iter()
            .filter(|(path, kind)| **kind == FileKind::Memory && !linked.contains(path))
            .map(|(path, _)| path.clone())
            .collect(),
    };
    let in_graph = |path: &VaultPath, kind: FileKind| {
        linked.contains(path) || (kind == FileKind::Memory && request.relation.is_none())
    };
    let mut nodes: BTreeSet<VaultPath> =
        visible.iter().filter(|(path, kind)| in_graph(path, **kind)).map(|(path, _)| path.clone()).collect();
    nodes.extend(linked.into_iter().cloned());
    let nodes = nodes.into_iter().map(|path| Node { path, distance: None }).collect();
    Ok(drawing.finish(view_name(side), nodes, orphans, freshness))
}
