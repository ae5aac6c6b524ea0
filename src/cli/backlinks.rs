//! `runebook backlinks`.

use super::links::{remark, written};
use super::output::Tone;
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::links;
use crate::model::fault::Fault;

/// The arguments of `runebook backlinks`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook backlinks user/memories/trips.md
  runebook backlinks 'viking://user/memories/trips.md#Plan'     only links to that heading
  runebook backlinks user/memories/trips.md --rel part_of       what is part of it
Exit status 1: nothing links there.")]
pub(crate) struct Args {
    /// A memory, another file or a directory: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI")]
    uri: String,
    /// Only links that are values of this property
    #[arg(long, value_name = "NAME")]
    rel: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader(&vault, None)?;
    let of = session.target_today(&reader, &args.uri)?.uri;
    let mut answer = links::backlinks(&reader, &of, &Bar::new(session))?;
    if args.rel.is_some() {
        answer.links.retain(|link| link.relation == args.rel);
    }
    let none = answer.links.is_empty();
    if session.out.json {
        session.out.document(&answer);
    } else {
        for link in &answer.links {
            let from = session.out.paint(Tone::Path, link.from.as_str());
            let line = format!("{from}:{}  {}{}", link.line, written(link), remark(&session.out, link));
            session.out.line(line);
        }
        if none {
            session.out.note("nothing links there");
        }
    }
    Ok(if none { Done::Nothing } else { Done::Yes })
}
