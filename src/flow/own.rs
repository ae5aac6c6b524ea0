//! What a person does in the work tree with their own hands: new memories.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::belongs;
use super::gate::governance::is_settings;
use super::naming;
use super::reader::{self, is_git};
use super::undo;
use super::vault::Vault;
use crate::markdown;
use crate::model::actor::Actor;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::Finding;
use crate::model::front_matter::MemoryType;
use crate::model::path::VaultPath;
use crate::model::uri::Uri;
use crate::store::files;
use crate::store::operations::Effect;

/// Why something is not done in the work tree.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// An agent tries what is for people.
    #[error("`{verb}` changes the files themselves, which is for people; {actor} is an agent")]
    Agent {
        /// The verb.
        verb: &'static str,
        /// The agent.
        actor: String,
    },
    /// A new name that some system cannot hold.
    #[error("`{name}` cannot be the name of a new file: it {why}")]
    Name {
        /// The segment.
        name: String,
        /// What is wrong with it, as a verb phrase.
        why: String,
    },
    /// A name that differs from another one only in case or form.
    #[error(
        "`{path}` differs from `{twin}` only in case or in the form of its letters; on other systems they are one"
    )]
    Twin {
        /// The new path.
        path: VaultPath,
        /// What is there.
        twin: VaultPath,
    },
    /// The path is the program's or git's.
    #[error("`{0}` holds settings, and is changed with an editor and `runebook commit`")]
    Settings(VaultPath),
    /// Nothing was said where a name was meant.
    #[error("a new memory needs a name")]
    NoName,
    /// A directory's name, where a file was meant.
    #[error("`{0}/` is the name of a directory, and a memory is a file")]
    NoFile(VaultPath),
    /// The root itself.
    #[error("the root of the vault cannot be moved or removed")]
    Root,
    /// A memory is a Markdown file.
    #[error("`{0}` is no Markdown file by its name")]
    NotMarkdown(VaultPath),
    /// A memory or canvas would be something else under its new name.
    #[error(
        "`{to}` is no {} by its name, and would no longer be part of the memory",
        if from.is_canvas() { "canvas" } else { "Markdown file" }
    )]
    OtherKind {
        /// What it is called.
        from: VaultPath,
        /// What it was to be called.
        to: VaultPath,
    },
    /// What was to be moved is gone.
    #[error("`{0}` is no longer there: it was moved or removed meanwhile; nothing was done")]
    Gone(VaultPath),
    /// A file stands where a directory is needed.
    #[error("`{0}` is a file, so nothing can stand below it")]
    BelowFile(VaultPath),
    /// A directory, and `-r` was not said.
    #[error("`{0}` is a directory")]
    Directory(VaultPath),
    /// A directory cannot go into itself.
    #[error("`{from}` cannot be moved into itself (`{to}`)")]
    IntoItself {
        /// What was to be moved.
        from: VaultPath,
        /// Where to.
        to: VaultPath,
    },
    /// Somebody else writes the file.
    #[error("`{0}` was changed by somebody else meanwhile; nothing was done")]
    Changed(VaultPath),
    /// A heading or block of that name is there.
    #[error("`{path}` has a part `{name}` already, so links could mean either")]
    PartExists {
        /// The file.
        path: VaultPath,
        /// The new name.
        name: String,
    },
    /// What was named is no heading and no block.
    #[error(
        "a heading (`#Old`) or a block (`#^old`) of `{0}` gets another name, and the new one begins with `#` too"
    )]
    NoPart(VaultPath),
    /// The file system refuses.
    #[error("{doing} `{path}`: {why}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: VaultPath,
        /// Why.
        why: std::io::Error,
    },
}

impl Explain for OwnError {
    fn kind(&self) -> Kind {
        match self {
            OwnError::Agent { .. } => Kind::NotAllowed,
            OwnError::Twin { .. }
            | OwnError::PartExists { .. }
            | OwnError::Changed(_)
            | OwnError::Gone(_) => Kind::Conflict,
            OwnError::Io { .. } => Kind::Failed,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            OwnError::Agent { verb, .. } => Some(match *verb {
                "mv" => "propose it: `runebook propose new`, then `runebook propose mv`".to_owned(),
                "hooks install" | "hooks uninstall" => "ask a person to run it in this clone".to_owned(),
                "rm" => "propose it: `runebook propose new`, then `runebook propose rm`".to_owned(),
                _ => "propose it: `runebook propose new`, then `runebook propose write`".to_owned(),
            }),
            OwnError::Name { name, .. } => Some(match naming::portable(name) {
                Some(better) => format!("call it `{better}`"),
                None => "choose another name".to_owned(),
            }),
            OwnError::Twin { twin, .. } => Some(format!("choose another name, or change `{twin}`")),
            OwnError::Settings(path) => {
                Some(format!("open {path} in your editor, then `runebook commit {path}`"))
            }
            OwnError::NotMarkdown(path) => Some(format!("call it `{path}.md`")),
            OwnError::OtherKind { from, .. } => Some(format!(
                "end the name in `.{}`; to take it out of the memory, rename it with your system's tools",
                from.extension().unwrap_or("md")
            )),
            OwnError::Gone(_) => Some("`runebook undo --list` shows what was done here".to_owned()),
            OwnError::NoName => Some("for example: runebook new resources/notes.md".to_owned()),
            OwnError::NoFile(path) => Some(format!("name the file: {path}/NAME.md")),
            OwnError::Directory(_) => Some("add `-r` to remove it with all that it holds".to_owned()),
            OwnError::BelowFile(_) | OwnError::Root | OwnError::IntoItself { .. } => {
                Some("choose another place".to_owned())
            }
            OwnError::Changed(_) => Some("look at it and try again".to_owned()),
            OwnError::PartExists { .. } => Some("choose other words".to_owned()),
            OwnError::NoPart(path) => Some(format!("for example: runebook mv '{path}#Old' '#New'")),
            OwnError::Io { why, .. } if why.kind() == std::io::ErrorKind::CrossesDevices => {
                Some("it lies on another file system: move it with your system's tools".to_owned())
            }
            OwnError::Io { .. } => None,
        }
    }
}

/// The person who works with the files; `None` for one of whom the vault does not know.
///
/// # Errors
/// When it is an agent, which works by proposals.
pub fn person(vault: &Vault<'_>, asked: Option<&str>, verb: &'static str) -> Result<Option<Actor>, Fault> {
    let access = reader::access(vault, asked, None)?;
    match access.actor {
        Some(actor) if !actor.is_person() => {
            Err(OwnError::Agent { verb, actor: actor.id.to_string() }.into())
        }
        actor => Ok(actor),
    }
}

/// Whether a path may be given to something new: names that every system holds, no twin, nothing in the way.
pub(super) fn admit(root: &Path, path: &VaultPath, old: Option<&VaultPath>) -> Result<(), Fault> {
    if path.is_root() {
        return Err(OwnError::Root.into());
    }
    if is_git(path) || is_settings(path) {
        return Err(OwnError::Settings(path.clone()).into());
    }
    naming::holds_everywhere(path)?;
    naming::nameable(root, path, old)?;
    let mut chain: Vec<VaultPath> = path.ancestors().filter(|above| !above.is_root()).collect();
    chain.reverse();
    chain.push(path.clone());
    for part in chain {
        let at = files::place(root, &part)?;
        if part != *path && at.is_file() {
            return Err(OwnError::BelowFile(part).into());
        }
        if let Some(twin) = twin(root, &part)
            && Some(&twin) != old
        {
            return Err(OwnError::Twin { path: path.clone(), twin }.into());
        }
    }
    Ok(())
}

/// What stands in the same directory under a name that other systems take for the same one.
fn twin(root: &Path, path: &VaultPath) -> Option<VaultPath> {
    let key = path.collision_key();
    let entries = std::fs::read_dir(root.join(path.parent().as_str())).ok()?;
    entries.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let full = if path.parent().is_root() { name } else { format!("{}/{name}", path.parent()) };
        let other = VaultPath::from_disk(full.as_bytes())?;
        (other != *path && other.collision_key() == key).then_some(other)
    })
}

/// What is asked of `new`.
#[derive(Debug, Clone, Default)]
pub struct NewMemory {
    /// What it is; by its place if left out.
    pub kind: Option<MemoryType>,
    /// Its title; by its name if left out.
    pub title: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its text; a heading with the title if left out.
    pub body: Option<String>,
}

/// What `edit` did. `runebook edit --json` prints it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Edited {
    /// The file, relative to the vault.
    pub path: VaultPath,
    /// Whether the editor left it otherwise than it was.
    pub changed: bool,
}

/// Notes that a person's editor changed a file, so that it can be undone.
///
/// # Errors
/// When the journal cannot be written; the file is as the editor left it.
pub fn edited(vault: &Vault<'_>, path: &VaultPath, before: &[u8], after: &[u8]) -> Result<(), Fault> {
    let effect = Effect::file(path, Some(before), Some(after));
    undo::note(vault, &format!("edit {path}"), effect.into_iter().collect())
}

/// What `new` made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Made {
    /// Where it stands.
    pub path: VaultPath,
    /// Its address.
    pub uri: String,
    /// Its name for ever: a ULID.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// Its title.
    pub title: String,
    /// What is wrong with it already.
    pub problems: Vec<Finding>,
}

/// The type that a place suggests.
#[must_use]
pub fn type_of_place(path: &VaultPath) -> MemoryType {
    let within = |name: &str| path.parent().as_str().split('/').any(|segment| segment == name);
    if within("skills") {
        MemoryType::Skill
    } else if within("profile") {
        MemoryType::Profile
    } else if within("events") {
        MemoryType::Episodic
    } else if within("procedures") {
        MemoryType::Procedural
    } else if path.scope() == Some("resources") {
        MemoryType::Resource
    } else {
        MemoryType::Semantic
    }
}

/// Whether a name ends as the name of a file of some other kind does. `2026.11` and `Mr. Ito` end in nothing.
fn has_ending(path: &VaultPath) -> bool {
    path.extension().is_some_and(|ending| {
        ending.len() <= 5
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic())
    })
}

/// The new name of a file that is moved: what is a memory stays one, and a canvas a canvas. A name without an ending of
/// its own gets the one that the file had.
///
/// # Errors
/// When the new name makes something else of it.
pub(super) fn of_its_kind(from: &VaultPath, to: VaultPath) -> Result<VaultPath, Fault> {
    let to = if from.extension().is_some() { naming::trimmed(to)? } else { to };
    let stays = match (from.is_markdown(), from.is_canvas()) {
        (true, _) => to.is_markdown(),
        (_, true) => to.is_canvas(),
        _ => true,
    };
    match from.extension() {
        Some(ending) if !stays && !has_ending(&to) => Ok(VaultPath::parse(&format!("{to}.{ending}"))?),
        Some(_) if !stays => Err(OwnError::OtherKind { from: from.clone(), to }.into()),
        _ => Ok(to),
    }
}

/// A name without an ending of its own gets `.md`.
fn with_ending(path: VaultPath) -> Result<VaultPath, Fault> {
    let path = naming::trimmed(path)?;
    if path.is_markdown() {
        return Ok(path);
    }
    if has_ending(&path) {
        return Err(OwnError::NotMarkdown(path).into());
    }
    Ok(VaultPath::parse(&format!("{path}.md"))?)
}

/// Makes a memory: an id, the time, the source `person`. Never writes over anything.
///
/// # Errors
/// When something stands there, the name is none that every system holds, it would be left out there, or it cannot be
/// written.
pub fn new(vault: &Vault<'_>, at: &Uri, asked: NewMemory) -> Result<Made, Fault> {
    if at.path.is_root() {
        return Err(OwnError::NoName.into());
    }
    if at.directory {
        return Err(OwnError::NoFile(at.path.clone()).into());
    }
    let path = with_ending(at.path.clone())?;
    let composed = compose(vault, &path, asked, "person")?;
    let text = composed.text;
    put(vault, &path, &text)?;
    let problems = markdown::read(&path, text.as_bytes(), &vault.config).problems;
    let (id, kind, title) = (composed.id, composed.kind, composed.title);
    Ok(Made { uri: Uri::file(path.clone()).to_string(), path, id, kind, title, problems })
}

/// Puts a new file among the files. It can be undone.
pub(super) fn put(vault: &Vault<'_>, path: &VaultPath, text: &str) -> Result<(), Fault> {
    let root = vault.root()?;
    admit(root, path, None)?;
    belongs::in_files(vault, path)?;
    let made = Effect::file(path, None, Some(text.as_bytes()));
    undo::note(vault, &format!("make {path}"), made.into_iter().collect())?;
    if let Err(error) = files::create(root, path, text.as_bytes()) {
        undo::forget(vault);
        return Err(error.into());
    }
    Ok(())
}

/// The text of a new memory, and what was filled in.
pub(super) struct Composed {
    pub(super) text: String,
    pub(super) id: String,
    pub(super) kind: MemoryType,
    pub(super) title: String,
}

/// Writes the text of a new memory for a place: front matter in the names that the vault has for its fields, then the
/// body.
pub(super) fn compose(
    vault: &Vault<'_>,
    path: &VaultPath,
    asked: NewMemory,
    source: &str,
) -> Result<Composed, Fault> {
    let milliseconds = u64::try_from(vault.clock.now().as_millisecond()).unwrap_or(0);
    let random = vault.env.entropy.bytes::<16>().map_err(|why| OwnError::Io {
        doing: "making an id for",
        path: path.clone(),
        why,
    })?;
    let id = ulid::Ulid::from_parts(milliseconds, u128::from_be_bytes(random)).to_string();
    // A note whose name is a date is an event of its day.
    let day = markdown::place::day_of(path, &vault.config);
    let of_place = || day.map_or_else(|| type_of_place(path), |_| MemoryType::Episodic);
    let kind = asked.kind.unwrap_or_else(of_place);
    let of_name = || match day {
        Some(_) => markdown::place::title(path, &vault.config),
        None => path.stem().replace(['-', '_'], " "),
    };
    let title = asked.title.unwrap_or_else(of_name);
    let mut fields: Vec<(&str, serde_json::Value)> = vec![
        ("id", id.clone().into()),
        ("type", serde_json::to_value(kind).unwrap_or_default()),
        ("title", title.clone().into()),
        ("created", vault.clock.stamp().into()),
        ("source", source.into()),
    ];
    if let Some(day) = day.filter(|_| kind == MemoryType::Episodic) {
        fields.push(("occurred", day.to_string().into()));
    }
    if !asked.tags.is_empty() {
        fields.push(("tags", asked.tags.into()));
    }
    // The vault may have names of its own for our fields.
    let names = &vault.config.fields;
    let named: Vec<(&str, serde_json::Value)> = fields
        .into_iter()
        .map(|(name, value)| (names.get(name).map_or(name, String::as_str), value))
        .collect();
    let mut body = asked.body.unwrap_or_else(|| format!("# {title}\n"));
    if !body.is_empty() && !body.ends_with('\n') {
        body.push('\n');
    }
    Ok(Composed { text: markdown::compose::memory(&named, &body), id, kind, title })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_an_ending_and_a_type() {
        let of = |text: &str| with_ending(VaultPath::parse(text).unwrap()).map(|p| p.to_string()).ok();
        assert_eq!(of("user/seats").as_deref(), Some("user/seats.md"));
        assert_eq!(of("user/2026.11").as_deref(), Some("user/2026.11.md"));
        assert_eq!(of("a.markdown").as_deref(), Some("a.markdown"));
        assert_eq!(of("face.png"), None);
        assert_eq!(of("user/a.md ").as_deref(), Some("user/a.md"));
        let path = |text: &str| VaultPath::parse(text).unwrap();
        let moved = |from, to| of_its_kind(&path(from), path(to)).map(|p| p.to_string()).ok();
        assert_eq!(moved("Canvas.md", "白板").as_deref(), Some("白板.md"));
        assert_eq!(moved("a.MARKDOWN", "v1.2").as_deref(), Some("v1.2.MARKDOWN"));
        assert_eq!(moved("a.md", "b.markdown").as_deref(), Some("b.markdown"));
        assert_eq!(moved("a.canvas", "Mr. Ito").as_deref(), Some("Mr. Ito.canvas"));
        assert_eq!(moved("a.md", "a.txt").or(moved("a.canvas", "a.md")), None);
        assert_eq!(moved("face.png", "face").as_deref(), Some("face"));
        let kind = |text: &str| type_of_place(&VaultPath::parse(text).unwrap());
        assert_eq!(kind("agent/skills/a.md"), MemoryType::Skill);
        assert_eq!(kind("user/mei/memories/events/a.md"), MemoryType::Episodic);
        assert_eq!(kind("resources/a.md"), MemoryType::Resource);
        assert_eq!(kind("user/memories/preferences/a.md"), MemoryType::Semantic);
        assert_eq!(kind("profile.md"), MemoryType::Semantic);
    }
}
