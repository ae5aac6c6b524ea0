//! `runebook new`.

use std::io::IsTerminal as _;

use super::output::Tone;
use super::{Done, Session, edit, given};
use crate::flow::{locate, own};
use crate::model::fault::Fault;
use crate::model::front_matter::MemoryType;

/// The arguments of `runebook new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook new user/memories/preferences/seats.md --title \"Prefers window seats\" --edit
  runebook new viking://resources/trains --tag travel --body \"Book two weeks ahead.\"
  pbpaste | runebook new resources/article.md --title \"An article\"
The type follows from the place (profile, events, skills, resources) unless you give one; a name that is a date makes an
event of that day. Nothing is written over.")]
pub(crate) struct Args {
    /// Where: a URI, a path from where you stand or from the vault's root; .md is added
    #[arg(value_name = "URI|PATH")]
    at: String,
    /// What it is
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    kind: Option<TypeName>,
    /// Its title; by its name if left out
    #[arg(long)]
    title: Option<String>,
    /// A tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Its text; read from standard input if that is no terminal
    #[arg(long)]
    body: Option<String>,
    /// Open it in your editor
    #[arg(long)]
    edit: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum TypeName {
    /// Who somebody is
    Profile,
    /// What holds in general
    Semantic,
    /// What happened
    Episodic,
    /// How something is done
    Procedural,
    /// A procedure that an agent can follow
    Skill,
    /// Outside knowledge
    Resource,
}

impl From<TypeName> for MemoryType {
    fn from(name: TypeName) -> MemoryType {
        match name {
            TypeName::Profile => MemoryType::Profile,
            TypeName::Semantic => MemoryType::Semantic,
            TypeName::Episodic => MemoryType::Episodic,
            TypeName::Procedural => MemoryType::Procedural,
            TypeName::Skill => MemoryType::Skill,
            TypeName::Resource => MemoryType::Resource,
        }
    }
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    own::person(&vault, session.globals.acting.as_deref(), "new")?;
    if args.at.trim().is_empty() {
        return Err(own::OwnError::NoName.into());
    }
    let mut at = locate::place(&vault, &args.at, &session.directory())?;
    at.directory |= args.at.ends_with('/');
    let body = match args.body {
        Some(body) => Some(body),
        None if args.edit || std::io::stdin().is_terminal() => None,
        None => {
            let text = given::text(None, session, given::MOST)?;
            Some(text).filter(|text| !text.trim().is_empty())
        }
    };
    let asked =
        own::NewMemory { kind: args.kind.map(MemoryType::from), title: args.title, tags: args.tags, body };
    let made = own::new(&vault, &at, asked)?;
    if args.edit {
        edit::open(&vault, &made.path, session)?;
    }
    if session.out.json {
        session.out.document(&made);
    } else {
        let path = session.out.paint(Tone::Path, made.path.as_str());
        session.out.line(path);
        session.problems(&made.problems);
        session.out.note("`runebook commit` puts it on the approved branch");
    }
    Ok(Done::Yes)
}
