//! `runebook rm`.

use super::output::Tone;
use super::{Done, Session};
use crate::flow::reader::Reader;
use crate::flow::{locate, own, remove};
use crate::model::access::{Access, View};
use crate::model::fault::Fault;

/// The arguments of `runebook rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook rm user/memories/old.md
  runebook rm -r resources/draft
What git does not have yet is kept in the git directory, and the place is printed.")]
pub(crate) struct Args {
    /// What to remove: URIs, paths from where you stand or from the vault's root
    #[arg(value_name = "URI|PATH", required = true)]
    files: Vec<String>,
    /// Remove directories with all that they hold
    #[arg(short, long)]
    recursive: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let actor = own::person(&vault, session.globals.acting.as_deref(), "rm")?;
    vault.root()?;
    let reader = Reader::new(&vault, Access { actor, view: View::WorkTree })?;
    for text in &args.files {
        let target = locate::find(&reader, text, &session.directory())?;
        let removed = remove::rm(&vault, &target, args.recursive)?;
        let out = &mut session.out;
        if out.json {
            out.record(&removed);
            continue;
        }
        let path = out.paint(Tone::Path, removed.path.as_str());
        match &removed.kept {
            Some(kept) => {
                let kept = out.paint(Tone::Dim, kept.display().to_string());
                out.line(format!("removed {path}; git does not have all of it, so it is kept as {kept}"));
            }
            None => out.line(format!("removed {path}")),
        }
    }
    session.out.note("`runebook commit` puts it on the approved branch");
    Ok(Done::Yes)
}
