//! `runebook merge`.

use super::consent::{ask, is_asked};
use super::output::{Tone, printable};
use super::propose::{access_of, actor_of, findings, meant};
use super::{Done, Output, Session};
use crate::flow::merge::{self, Merged, Request};
use crate::flow::review;
use crate::model::fault::Fault;
use crate::model::proposal::State;

/// The arguments of `runebook merge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Merges one approved proposal into the approved branch and brings every work tree that has it \
checked out up to date. A file of yours that is in the way stops it before anything has changed.

Exit status: 3 when it is stale or a file is in the way, 4 when it is not approved or you may not merge.

Examples:
  runebook merge 7k3qm2xd
  runebook merge 7k3 --yes --json"
)]
pub(crate) struct Args {
    /// The proposal
    id: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let actor = actor_of(session, &vault)?;
    let id = meant(session, &vault, Some(&args.id))?;
    let mut shown = None;
    if !args.yes && is_asked(&vault, &actor)? {
        let review = review::show(&vault, &access_of(session, &vault)?, &id)?;
        // What cannot be merged is refused by the merge itself, with all reasons, and not asked about.
        if review.decision.state == State::Approved {
            let files = review.files.len();
            let s = if files == 1 { "" } else { "s" };
            let question =
                format!("Merge {id} \"{}\" ({files} file{s}) as {}?", review.decision.title, actor.id);
            ask(&question, &format!("the merge of {id}"))?;
            shown = Some(review.decision.digest);
        }
    }
    let merged = merge::merge(&vault, &actor, &Request { id, shown })?;
    if session.out.json {
        session.out.document(&merged);
    } else {
        print(&mut session.out, &merged);
    }
    Ok(Done::Yes)
}

/// What was merged, for people.
pub(crate) fn print(out: &mut Output, merged: &Merged) {
    findings(out, &merged.findings);
    let line = format!(
        "{} {} as {}  {}",
        out.paint(Tone::Good, "merged"),
        out.paint(Tone::Name, merged.proposal.as_str()),
        merged.commit.short(),
        printable(&merged.title)
    );
    out.line(line);
    for file in &merged.files {
        let line = format!("  {}", out.paint(Tone::Path, file));
        out.line(line);
    }
    let approved: Vec<&str> = merged.approved_by.iter().map(|actor| actor.as_str()).collect();
    let by =
        if approved.is_empty() { String::new() } else { format!(", approved by {}", approved.join(", ")) };
    out.line(format!("  proposed by {}{by}", merged.proposer));
    for file in &merged.kept {
        out.warn(format!(
            "{file} was edited in this very moment and was left as it is: an uncommitted edit now"
        ));
    }
}
