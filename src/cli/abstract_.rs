//! `runebook abstract`.

use super::{Done, Session};
use crate::flow::layers::{self, Level};
use crate::model::fault::Fault;

/// The arguments of `runebook abstract`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook abstract                                   of the root, or of the directory where you stand
  runebook abstract user/memories                     of a directory
  runebook abstract agent/skills/weekly-review.md     of a memory
  runebook abstract resources --rev HEAD~3            as it was three commits ago
  runebook abstract user/memories --json              with its address and its size in tokens")]
pub(crate) struct Args {
    #[command(flatten)]
    of: Of,
}

/// Of what a summary is asked for; `overview` takes the same.
#[derive(Debug, clap::Args)]
pub(crate) struct Of {
    /// Of what: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI|PATH")]
    at: Option<String>,
    /// Read a commit, a date (2026-11-28, 7d, yesterday) or main with what a proposal changes
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    show(&args.of, Level::L0, session)
}

/// Prints one level of what a place holds.
pub(super) fn show(of: &Of, level: Level, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader(&vault, of.rev.as_deref())?;
    let target = session.target(&reader, of.at.as_deref())?;
    let answer = layers::of(&reader, &target, level)?;
    let out = &mut session.out;
    if out.json {
        out.document(&answer);
    } else {
        out.line(answer.text.trim_end());
        out.unread(&answer.unread);
    }
    Ok(Done::Yes)
}
