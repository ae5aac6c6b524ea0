//! `runebook overview`.

use super::{Done, Session, abstract_};
use crate::flow::layers::Level;
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
    abstract_::show(args.at.as_deref(), args.rev.as_deref(), Level::L1, session)
}
