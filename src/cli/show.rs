//! `runebook show`.

use super::output::{Tone, moment, printable};
use super::propose::{access_of, events, patch, story};
use super::{Done, Session};
use crate::flow::history::{OneCommit, OneEvent, Thing, show};
use crate::model::fault::Fault;

/// The arguments of `runebook show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "A proposal is shown with its whole story, also when it is merged or withdrawn.

Examples:
  runebook show 7k3qm2xd          a proposal
  runebook show HEAD~1            a commit and what it changed
  runebook show 5b0c12ab          an event of a proposal, or any other commit")]
pub(crate) struct Args {
    /// A proposal, an event or a revision of git's
    what: String,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let thing = show(&vault, &access_of(session, &vault)?, &args.what)?;
    if session.out.json {
        session.out.document(&thing);
        return Ok(Done::Yes);
    }
    match thing {
        Thing::Proposal(told) => story(&mut session.out, &told),
        Thing::Event(event) => one_event(session, &event),
        Thing::Commit(commit) => one_commit(session, &commit),
    }
    Ok(Done::Yes)
}

fn one_event(session: &mut Session<'_>, event: &OneEvent) {
    let out = &mut session.out;
    let line = format!("event of proposal {}", out.paint(Tone::Name, event.proposal.as_str()));
    out.line(line);
    events(out, std::slice::from_ref(&event.told));
    out.line(format!("  base   {}", event.base));
    out.line(format!("  digest {}", event.digest));
}

fn one_commit(session: &mut Session<'_>, commit: &OneCommit) {
    let out = &mut session.out;
    let entered = &commit.entered;
    let line = format!("commit {}", out.paint(Tone::Name, entered.commit.to_string()));
    out.line(line);
    out.line(format!("  by {}, {}", printable(&entered.by), moment(&entered.when)));
    if let (Some(id), Some(proposer)) = (&entered.proposal, &entered.proposer) {
        let approved: Vec<&str> = entered.approved_by.iter().map(|actor| actor.as_str()).collect();
        let approved = if approved.is_empty() { "nobody".to_owned() } else { approved.join(", ") };
        out.line(format!("  merges proposal {id} of {proposer}, approved by {approved}"));
    }
    out.line("");
    for line in commit.message.lines() {
        out.line(format!("    {}", printable(line)));
    }
    out.line("");
    patch(out, &commit.files);
}
