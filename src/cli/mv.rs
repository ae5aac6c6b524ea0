//! `runebook mv`.

use super::output::Tone;
use super::{Done, Session};
use crate::flow::reader::Reader;
use crate::flow::{locate, own};
use crate::model::access::{Access, View};
use crate::model::fault::Fault;

/// The arguments of `runebook mv`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook mv user/memories/seats.md user/memories/preferences/
  runebook mv resources/old.md resources/new.md
Edits that were not committed move along; nothing is written over.")]
pub(crate) struct Args {
    /// What to move: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "FROM")]
    from: String,
    /// Where to: a new name, or a directory
    #[arg(value_name = "TO")]
    to: String,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let actor = own::person(&vault, session.globals.acting.as_deref(), "mv")?;
    vault.root()?;
    let reader = Reader::new(&vault, Access { actor, view: View::WorkTree })?;
    let from = locate::find(&reader, &args.from, &session.directory())?;
    let mut to = locate::place(&vault, &args.to, &session.directory())?;
    to.directory |= args.to.ends_with('/');
    let moved = own::mv(&vault, &from, &to)?;
    if session.out.json {
        session.out.document(&moved);
    } else {
        let (from, to) =
            (session.out.plain(moved.from.as_str()), session.out.paint(Tone::Path, moved.to.as_str()));
        session.out.line(format!("{to}  (was {from})"));
        session.out.note("`runebook commit` puts the move on the approved branch");
    }
    Ok(Done::Yes)
}
