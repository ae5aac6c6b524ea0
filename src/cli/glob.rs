//! `runebook glob`.

use super::output::{Tone, one_line};
use super::{Done, Session};
use crate::flow::search;
use crate::model::fault::Fault;

/// The arguments of `runebook glob`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook glob \"*.md\"                  all Markdown files (a pattern without / looks everywhere)
  runebook glob \"user/**/events/2026*\"
Exit status 1 when nothing matches.")]
pub(crate) struct Args {
    /// The pattern: * within a name, ** across directories
    pattern: String,
    /// Look at names that begin with a dot too
    #[arg(short, long)]
    all: bool,
    /// Read a commit, a date (2026-11-28, 7d, yesterday) or main with what a proposal changes
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader(&vault, args.rev.as_deref())?;
    let found = search::glob(&reader, &args.pattern, args.all)?;
    let out = &mut session.out;
    for path in &found {
        if out.json {
            out.record(&search::File { path: path.clone() });
        } else {
            let path = out.paint(Tone::Path, one_line(path.as_str()));
            out.line(path);
        }
    }
    Ok(if found.is_empty() { Done::Nothing } else { Done::Yes })
}
