//! `runebook diff`.

use super::propose::{compared, place};
use super::{Done, Session};
use crate::flow::asof;
use crate::flow::history::Compare;
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::uri::SCHEME;

/// The arguments of `runebook diff`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A and B are revisions of git's or proposals. Without them your files are compared with the approved \
branch; with A alone, your files with A. Exit status 1: nothing differs.

Examples:
  runebook diff                        what you have not committed
  runebook diff HEAD~3 HEAD            between two commits
  runebook diff 2026-11-01               what has changed since the end of that day
  runebook diff main 7k3qm2xd user/    what a proposal would change below user/"
)]
pub(crate) struct Args {
    /// [A [B]] [URI]
    #[arg(value_name = "A|B|URI", num_args = 0..=3)]
    what: Vec<String>,
}

/// Whether a text names a state rather than a place.
fn is_state(vault: &Vault<'_>, text: &str) -> bool {
    !text.starts_with(SCHEME) && asof::is_named(vault, text)
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let mut compare = Compare::default();
    for (at, text) in args.what.iter().enumerate() {
        if compare.below.is_none() && at < 2 && is_state(&vault, text) {
            if at == 0 { compare.from = Some(text.clone()) } else { compare.to = Some(text.clone()) }
        } else if compare.below.is_none() && at + 1 == args.what.len() {
            compare.below = Some(place(session, &vault, text)?.path);
        } else {
            // It is meant as a state, and it is none: git says so.
            vault.repo.resolve(text)?;
        }
    }
    compared(session, &vault, &compare)
}
