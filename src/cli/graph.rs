//! `runebook graph`.

use std::collections::HashMap;

use super::links::{remark, written};
use super::output::{Output, Tone};
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::links::{self, Edge, Graph, GraphRequest};
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

/// The arguments of `runebook graph`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook graph                                      how the links of the vault stand
  runebook graph user/memories/trips.md --depth 2     what is around a memory
  runebook graph resources/lisbon                     what a directory holds, with its links
  runebook graph trips.md --rel part_of               along one relation
  runebook graph --format dot | dot -Tsvg > vault.svg
  runebook graph trips.md --format mermaid

A walk follows links in both directions.")]
pub(crate) struct Args {
    /// Begin at this memory or directory: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI", group = "start")]
    at: Option<String>,
    /// The same
    #[arg(long, value_name = "URI", group = "start")]
    from: Option<String>,
    /// How many links away from there
    #[arg(long, value_name = "N", default_value_t = 1, requires = "start")]
    depth: u32,
    /// Only links that are values of this property
    #[arg(long, value_name = "NAME")]
    rel: Option<String>,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// As --json
    Json,
    /// For Graphviz
    Dot,
    /// For Mermaid
    Mermaid,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader(&vault, None)?;
    let from = match args.at.as_ref().or(args.from.as_ref()) {
        Some(from) => Some(session.target_today(&reader, from)?.uri.path).filter(|path| !path.is_root()),
        None => None,
    };
    let request = GraphRequest { from, depth: args.depth, relation: args.rel };
    let graph = links::graph(&reader, &request, &Bar::new(session))?;
    let verbose = session.globals.verbose;
    let out = &mut session.out;
    match args.format {
        _ if out.json => out.document(&graph),
        Format::Json => out.document(&graph),
        Format::Dot => dot(out, &graph),
        Format::Mermaid => mermaid(out, &graph),
        Format::Text => text(out, &graph, request.from.as_ref(), verbose),
    }
    Ok(Done::Yes)
}

/// How many of a kind people see at once.
const SHOWN: usize = 5;

fn text(out: &mut Output, graph: &Graph, from: Option<&VaultPath>, all: bool) {
    match from {
        Some(_) => walked(out, graph),
        None => {
            let links: u64 = graph.states.values().sum();
            out.line(format!("{} files, {links} links", graph.nodes.len()));
        }
    }
    let limit = if all { usize::MAX } else { SHOWN };
    let finding = |state: &str| !matches!(state, "ok" | "external" | "directory");
    for (state, count) in &graph.states {
        if from.is_some() && !finding(state) {
            continue;
        }
        out.line(format!("{count:>7}  {state}"));
        let of_state = graph.findings.iter().filter(|link| link.state.as_str() == state);
        for link in of_state.take(limit) {
            let place = out.paint(Tone::Path, link.from.as_str());
            out.line(format!("         {place}:{}  {}{}", link.line, written(link), remark(out, link)));
        }
    }
    if !graph.orphans.is_empty() {
        out.line(format!("{:>7}  orphans: no link from or to another memory", graph.orphans.len()));
        for path in graph.orphans.iter().take(limit) {
            let path = out.paint(Tone::Path, path.as_str());
            out.line(format!("         {path}"));
        }
    }
    let most = graph.states.iter().filter(|(s, _)| finding(s)).map(|(_, n)| *n).max().unwrap_or(0);
    if !all && most.max(graph.orphans.len() as u64) > SHOWN as u64 {
        out.line(
            out.paint(Tone::Dim, "-v shows all, --json for programs, `runebook check` with what to mend"),
        );
    }
}

/// A walk: each file with its links to what is further away or as far.
fn walked(out: &mut Output, graph: &Graph) {
    let distance: HashMap<&VaultPath, u32> =
        graph.nodes.iter().map(|node| (&node.path, node.distance.unwrap_or(0))).collect();
    // Each link is shown once: at the end that is nearer, or where it begins.
    let far = |path: &VaultPath| distance.get(path).copied().unwrap_or(u32::MAX);
    let mut shown: HashMap<&VaultPath, Vec<&Edge>> = HashMap::new();
    for edge in &graph.edges {
        let at = if far(&edge.to) >= far(&edge.from) { &edge.from } else { &edge.to };
        shown.entry(at).or_default().push(edge);
    }
    for node in &graph.nodes {
        let edges = shown.remove(&node.path).unwrap_or_default();
        if edges.is_empty() && node.distance != Some(0) {
            continue;
        }
        out.line(out.paint(Tone::Path, node.path.as_str()));
        for edge in edges {
            let (arrow, other) = if edge.from == node.path { ("→", &edge.to) } else { ("←", &edge.from) };
            let other = out.paint(Tone::Path, other.as_str());
            let relation = edge
                .relation
                .as_ref()
                .map_or(String::new(), |name| format!("  {}", out.paint(Tone::Name, name)));
            out.line(format!("  {arrow} {other}{relation}"));
        }
    }
}

fn dot(out: &mut Output, graph: &Graph) {
    let quoted = |text: &str| {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    out.line("digraph vault {");
    out.line("  rankdir=LR; node [shape=box];");
    for node in &graph.nodes {
        out.line(format!("  {};", quoted(node.path.as_str())));
    }
    for edge in &graph.edges {
        let label = edge.relation.as_ref().map(|relation| format!("label={}", quoted(relation)));
        let style = edge.embed.then(|| "style=dashed".to_owned());
        let marks: Vec<String> = label.into_iter().chain(style).collect();
        let marks = if marks.is_empty() { String::new() } else { format!(" [{}]", marks.join(", ")) };
        out.line(format!("  {} -> {}{marks};", quoted(edge.from.as_str()), quoted(edge.to.as_str())));
    }
    out.line("}");
}

fn mermaid(out: &mut Output, graph: &Graph) {
    let quoted = |text: &str| {
        let escape = |c: char| match c {
            '"' => "#quot;".to_owned(),
            '#' => "#35;".to_owned(),
            '<' => "#lt;".to_owned(),
            '>' => "#gt;".to_owned(),
            '`' => "#96;".to_owned(),
            c if c.is_control() => " ".to_owned(),
            c => c.to_string(),
        };
        format!("\"{}\"", text.chars().map(escape).collect::<String>())
    };
    let mut numbers: HashMap<&VaultPath, usize> = HashMap::new();
    out.line("flowchart LR");
    for (number, node) in graph.nodes.iter().enumerate() {
        numbers.insert(&node.path, number);
        out.line(format!("  n{number}[{}]", quoted(node.path.as_str())));
    }
    for edge in &graph.edges {
        let (Some(from), Some(to)) = (numbers.get(&edge.from), numbers.get(&edge.to)) else { continue };
        let line = if edge.embed { "-.->" } else { "-->" };
        let label =
            edge.relation.as_ref().map_or(String::new(), |relation| format!("|{}|", quoted(relation)));
        out.line(format!("  n{from} {line}{label} n{to}"));
    }
}
