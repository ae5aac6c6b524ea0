//! Where a new memory goes: beside what is near it, else where its type has its place, else an inbox, else the root.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Near, RememberError, Request};
use crate::check;
use crate::flow::belongs;
use crate::flow::naming::{holds_everywhere, portable};
use crate::flow::own::type_of_place;
use crate::flow::propose::may_propose;
use crate::flow::reader::{Reader, Stands};
use crate::model::actor::Actor;
use crate::model::change::{Change, ChangeSet};
use crate::model::fault::Fault;
use crate::model::front_matter::MemoryType;
use crate::model::path::{MAX_SEGMENT, VaultPath};

/// Why a memory stands where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placed {
    /// It was said.
    Asked,
    /// Near memories stand there.
    BesideNear,
    /// Its type has its place there.
    ByType,
    /// It is where new things go.
    Inbox,
    /// There is no better place.
    Root,
}

/// A path for the memory.
pub(super) struct Place {
    pub(super) path: VaultPath,
    pub(super) placed: Placed,
}

/// Directories where people keep what is not sorted yet.
const INBOXES: [&str; 6] = ["inbox", "00 inbox", "0 inbox", "_inbox", "收件箱", "收集箱"];

pub(super) fn find(
    reader: &Reader<'_, '_>,
    actor: &Actor,
    request: &Request,
    title: &str,
    near: &[Near],
) -> Result<Place, Fault> {
    if let Some(at) = &request.at {
        let file = !at.directory && at.path.is_markdown();
        // What stands there already is what it is; only a new name can be another one.
        if file || (!at.path.is_root() && reader.stands(&at.path)?.is_none()) {
            holds_everywhere(&at.path)?;
        }
        let path = if file { at.path.clone() } else { named(reader, &at.path, title)? };
        belongs::storable(&path)?;
        if !path.is_hidden() || actor.is_person() {
            belongs::in_tree(reader.vault, &path)?;
        }
        return Ok(Place { path, placed: Placed::Asked });
    }
    let governance = reader.vault.governance(reader.vault.main()?)?;
    let mut choices: Vec<(VaultPath, Placed)> =
        votes(near, request.kind).into_iter().map(|directory| (directory, Placed::BesideNear)).collect();
    let listing = reader.list(&VaultPath::root(), Some(1), false)?;
    let has = |name: &str| listing.directories.iter().any(|directory| directory.as_str() == name);
    if ["user", "agent", "resources"].into_iter().any(has) {
        let of = type_directory(request.kind.unwrap_or(MemoryType::Semantic));
        let own = actor.proposes.iter().flatten().filter_map(|glob| glob.strip_suffix("/**"));
        choices.extend(VaultPath::parse(of).map(|directory| (directory, Placed::ByType)));
        // An agent with a place of its own: what it may not put elsewhere goes there.
        choices.extend(own.filter_map(|at| Some((VaultPath::parse(at).ok()?, Placed::ByType))));
    }
    let inbox = |directory: &&VaultPath| INBOXES.contains(&directory.name().to_lowercase().as_str());
    choices
        .extend(listing.directories.iter().find(inbox).map(|directory| (directory.clone(), Placed::Inbox)));
    choices.push((VaultPath::root(), Placed::Root));
    for (directory, placed) in choices {
        let path = named(reader, &directory, title)?;
        let mut changes = ChangeSet::default();
        changes.changes.insert(path.clone(), Change::Write(Vec::new()));
        if may_propose(&governance, actor, &changes).is_ok() {
            return Ok(Place { path, placed });
        }
    }
    Err(RememberError::Nowhere { actor: actor.id.to_string() }.into())
}

/// How many of the nearest say where a memory belongs.
const VOTERS: usize = 5;

/// The directories of near memories, the one that holds most of what is near first.
fn votes(near: &[Near], kind: Option<MemoryType>) -> Vec<VaultPath> {
    let mut votes: BTreeMap<VaultPath, f64> = BTreeMap::new();
    for one in near.iter().filter(|one| one.beside).take(VOTERS) {
        let directory = one.path.parent();
        let fits = kind.is_none_or(|kind| type_of_place(&one.path) == kind);
        // Evidence is no place for what was made of it.
        if fits && one.path.scope() != Some("evidence") && !directory.is_hidden() {
            *votes.entry(directory).or_default() += one.weight * one.weight;
        }
    }
    let mut votes: Vec<(VaultPath, f64)> = votes.into_iter().collect();
    votes.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    votes.into_iter().map(|(directory, _)| directory).collect()
}

fn type_directory(kind: MemoryType) -> &'static str {
    match kind {
        MemoryType::Profile => "user/memories/profile",
        MemoryType::Episodic => "user/memories/events",
        MemoryType::Procedural => "agent/memories",
        MemoryType::Skill => "agent/skills",
        MemoryType::Resource => "resources",
        MemoryType::Semantic => "user/memories/entities",
    }
}

/// A new file's path in a directory: the title as its name, in the manner of the names that are there.
fn named(reader: &Reader<'_, '_>, directory: &VaultPath, title: &str) -> Result<VaultPath, Fault> {
    let there = match reader.stands(directory)? {
        Some(Stands::Directory) => reader.list(directory, Some(1), true)?,
        _ => Default::default(),
    };
    let names: Vec<&str> = there.files.iter().map(|(path, _)| path.name()).collect();
    let stem = stem(title, dashed(directory, &names));
    let taken: Vec<String> = there.files.iter().map(|(path, _)| path.collision_key()).collect();
    for number in 1u32.. {
        let name = if number == 1 { format!("{stem}.md") } else { format!("{stem}-{number}.md") };
        let path = if directory.is_root() { VaultPath::parse(&name)? } else { directory.join(&name)? };
        if !taken.contains(&path.collision_key()) {
            return Ok(path);
        }
    }
    Ok(directory.join(&format!("{stem}.md"))?)
}

/// Whether names are lower-case words with dashes here: most of those with several words are, or there are none and the
/// directory is one of ours.
fn dashed(directory: &VaultPath, names: &[&str]) -> bool {
    let stems = names.iter().filter_map(|name| name.strip_suffix(".md"));
    let (mut dashes, mut others) = (0, 0);
    for stem in stems {
        if stem.contains(' ') || stem.chars().any(char::is_uppercase) {
            others += 1;
        } else if stem.contains('-') {
            dashes += 1;
        }
    }
    if dashes + others == 0 {
        matches!(directory.scope(), Some("user" | "agent" | "resources"))
    } else {
        dashes > others
    }
}

/// The longest name that is made, in bytes: room is left for a number and the ending.
const LONGEST: usize = 120;

fn stem(title: &str, dashed: bool) -> String {
    let title = title.trim_end_matches('…').trim();
    let kept: String = title
        .chars()
        // What would mean something in a link or on a command line.
        .filter(|c| !matches!(c, '[' | ']' | '#' | '^' | '|' | '`' | '"' | '\'' | '“' | '”' | '‘' | '’'))
        .map(|c| if c.is_control() || matches!(c, '/' | '\\') { ' ' } else { c })
        .collect();
    // A colon is no name on some systems.
    let kept = kept.replace(": ", " - ").replace("：", " - ");
    let mut name = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    if dashed {
        let lower = name.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        name = words.collect::<Vec<_>>().join("-");
    }
    let name = name.trim_start_matches(['.', '-', ' ']).to_owned();
    let mut name =
        if check::unportable(&name).is_some() { portable(&name).unwrap_or_default() } else { name };
    while name.len() > LONGEST.min(MAX_SEGMENT) {
        name.pop();
    }
    let name = name.trim_end_matches(['.', '-', ' ']).to_owned();
    if name.is_empty() { "memory".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_a_name_that_every_system_holds() {
        assert_eq!(stem("Prefers window seats", true), "prefers-window-seats");
        assert_eq!(stem("Prefers window seats", false), "Prefers window seats");
        assert_eq!(stem("两小时以上要靠窗，短途随便", true), "两小时以上要靠窗-短途随便");
        assert_eq!(stem("a/b: [[c]]?", false), "a b - c");
        assert_eq!(stem("Meals: no fish", false), "Meals - no fish");
        assert_eq!(stem("CON", false), "_CON");
        assert_eq!(stem("…", true), "memory");
        assert_eq!(stem("../../etc", false), "etc");
        assert!(stem(&"词".repeat(200), true).len() <= LONGEST);
    }

    #[test]
    fn names_follow_those_that_are_there() {
        let at = |text: &str| VaultPath::parse(text).unwrap();
        assert!(dashed(&at("user/memories"), &[]));
        assert!(!dashed(&at("Notes"), &[]));
        assert!(dashed(&at("Notes"), &["a-b.md", "c-d.md", "E f.md"]));
        assert!(!dashed(&at("user"), &["My note.md"]));
    }
}
