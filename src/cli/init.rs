//! `runebook init`.

use super::{Done, Session};
use crate::model::fault::Fault;

/// The arguments of `runebook init`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args, _session: &mut Session<'_>) -> Result<Done, Fault> {
    Ok(Done::Nothing)
}
