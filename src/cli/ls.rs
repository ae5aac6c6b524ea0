//! `runebook ls`.

use super::output::{Tone, one_line};
use super::{Done, Session};
use crate::flow::reader::Reader;
use crate::flow::{browse, locate};
use crate::model::fault::Fault;

/// The arguments of `runebook ls`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook ls                            the root of the vault, or the directory where you stand
  runebook ls viking://user/memories/    a directory by its address
  runebook ls user -l                    with sizes
  runebook ls user --rev HEAD~3          as it was three commits ago")]
pub(crate) struct Args {
    /// What to list: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI|PATH")]
    at: Option<String>,
    /// Show sizes
    #[arg(short, long)]
    long: bool,
    /// Show names that begin with a dot too; what belongs to git or to the vault itself (.runebook) is never shown
    #[arg(short, long)]
    all: bool,
    /// Read a commit, a date (2026-11-28, 7d, yesterday) or main with what a proposal changes
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader_at(&vault, args.rev.as_deref(), args.at.as_deref())?;
    let target = session.target(&reader, args.at.as_deref())?;
    let found = browse::ls(&reader, &target.uri.path, target.kind, args.all)?;
    session.problems(&found.problems);
    let out = &mut session.out;
    if out.json {
        found.items.iter().for_each(|item| out.record(item));
        return Ok(Done::Yes);
    }
    let width = found.items.iter().filter_map(|item| item.size).max().map_or(1, |n| n.to_string().len());
    for item in &found.items {
        let slash = if item.directory { "/" } else { "" };
        let shown = format!("{}{slash}", item.path);
        let shown = if item.directory { out.paint(Tone::Path, one_line(&shown)) } else { one_line(&shown) };
        if args.long {
            let size = item.size.map_or_else(|| "-".to_owned(), |size| size.to_string());
            out.line(format!("{size:>width$}  {shown}"));
        } else {
            out.line(shown);
        }
    }
    if found.items.is_empty() && found.problems.iter().any(|problem| problem.rule == "path.unreadable") {
        return Ok(Done::Nothing);
    }
    if found.items.is_empty() {
        explain_emptiness(session, &reader, &target);
    }
    Ok(Done::Yes)
}

fn explain_emptiness(session: &Session<'_>, reader: &Reader<'_, '_>, target: &locate::Target) {
    let agent = reader.access.actor.as_ref().is_some_and(|actor| !actor.is_person());
    let place = if target.uri.path.is_root() { "this vault".to_owned() } else { target.uri.to_string() };
    session.out.note(if agent {
        format!("{place} holds no memory that you may read; propose one with `runebook propose new`")
    } else {
        format!(
            "{place} holds no memory yet. Memories usually stand in user/memories/ (profile, preferences, entities, \
             events), agent/skills/, agent/memories/ and resources/.\n\
             Make one: `runebook new user/memories/preferences/seats.md --title \"Prefers window seats\" --edit`"
        )
    });
}
