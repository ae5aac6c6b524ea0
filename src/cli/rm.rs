//! `runebook rm`.

use super::output::Tone;
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::locate::Target;
use crate::flow::reader::Reader;
use crate::flow::{links, own, remove};
use crate::model::access::{Access, View};
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

/// The arguments of `runebook rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook rm user/memories/old.md
  runebook rm -r resources/draft
Nothing is removed unless all of it is there and may go.
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
    let mut led_there = Vec::new();
    let mut targets = Vec::new();
    for text in &args.files {
        let target = remove::named(&reader, text, &session.directory())?;
        remove::may_go(&vault, &target, args.recursive)?;
        targets.push(target);
    }
    let goes_with_another = |at: usize, path: &VaultPath| {
        let above = |(other, target): (usize, &Target)| {
            let holds = path.is_within(&target.uri.path);
            holds && (*path != target.uri.path || other < at)
        };
        targets.iter().enumerate().any(above)
    };
    for (at, target) in targets.iter().enumerate() {
        if goes_with_another(at, &target.uri.path) {
            continue;
        }
        // For a word at the end only: an index that cannot be read keeps nobody from removing.
        let links = links::backlinks(&reader, &target.uri, &Bar::new(session)).map(|answer| answer.links);
        led_there.extend(links.unwrap_or_default().into_iter().map(|link| link.from));
        let removed = remove::rm(&vault, target, args.recursive)?;
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
    led_there.retain(|from| vault.root().is_ok_and(|root| root.join(from.as_str()).exists()));
    match led_there.len() {
        0 => {}
        1 => session.out.note("1 link led there; `runebook check` names it if it leads to nothing now"),
        many => session
            .out
            .note(format!("{many} links led there; `runebook check` names those that lead to nothing now")),
    }
    session.out.note("`runebook commit` puts it on the approved branch");
    Ok(Done::Yes)
}
