//! `runebook overview`.

use super::{Done, Session};
use crate::flow::layers::{self, Level};
use crate::model::fault::Fault;

/// The arguments of `runebook overview`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook overview                                   of the root, or of the directory where you stand
  runebook overview user/memories                     of a directory
  runebook overview agent/skills/weekly-review.md     of a memory
  runebook overview resources --rev HEAD~3            as it was three commits ago")]
pub(crate) struct Args {
    /// Of what: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI|PATH")]
    at: Option<String>,
    /// Read this revision of git's
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader(&vault, args.rev.as_deref())?;
    let target = session.target(&reader, args.at.as_deref())?;
    let answer = layers::of(&reader, &target, Level::L1)?;
    let out = &mut session.out;
    if out.json {
        out.document(&answer);
    } else {
        out.line(answer.text.trim_end());
    }
    Ok(Done::Yes)
}
