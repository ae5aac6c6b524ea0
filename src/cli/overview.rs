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
  runebook overview resources --rev HEAD~3            as it was three commits ago
  runebook overview user/memories --json              with its address and its size in tokens")]
pub(crate) struct Args {
    #[command(flatten)]
    of: abstract_::Of,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    abstract_::show(&args.of, Level::L1, session)
}
