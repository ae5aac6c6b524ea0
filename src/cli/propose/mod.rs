//! `runebook propose`.

mod print;
mod write;

use super::{Done, Session};
use crate::flow::acting::acting;
use crate::flow::history::{Compare, diff};
use crate::flow::proposals::named_by;
use crate::flow::propose;
use crate::flow::reader::access;
use crate::flow::vault::Vault;
use crate::model::access::Access;
use crate::model::actor::Actor;
use crate::model::fault::Fault;
use crate::model::id::ProposalId;
pub(crate) use print::{Moves, events, findings, head, list, patch, patch_of, story, tone, word};
pub(crate) use write::place;

/// The arguments of `runebook propose`.
#[derive(Debug, clap::Args)]
#[command(after_help = "A proposal is a branch of its own; nothing touches your files until it is merged.
ID is a proposal's name or a beginning of it. Where it is left out, your only open proposal is meant.

Examples:
  runebook propose new \"Seats on long flights\"
  runebook propose write 7k3qm2xd user/memories/preferences/seats.md < seats.md
  runebook propose edit 7k3 user/memories/preferences/seats.md --old \"two hours\" --new \"three hours\"
  runebook propose submit 7k3
  runebook propose from-worktree --submit      what you have edited and not committed")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Begin a proposal and print its name
    New(NewArgs),
    /// Give a file new content
    Write(write::WriteArgs),
    /// Replace or add text in a file
    Edit(write::EditArgs),
    /// Move or rename
    Mv(write::MvArgs),
    /// Remove
    Rm(write::RmArgs),
    /// Take your uncommitted edits as a proposal; your files stay as they are
    FromWorktree(write::FromWorktreeArgs),
    /// Hand it in for review: runs the checks and records a revision
    Submit(SubmitArgs),
    /// List the open proposals
    List(ListArgs),
    /// Show a proposal's state, findings, files and events
    Show(OneArgs),
    /// Show what a proposal changes
    Diff(OneArgs),
    /// End a proposal unmerged; its branch is kept as closed/ID
    Withdraw(WithdrawArgs),
}

/// `propose new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook propose new \"Seats on long flights\"
  ID=$(runebook propose new \"Seats on long flights\")
  runebook propose new --from 7k3qm2xd          its change, cut anew from today's approved branch")]
struct NewArgs {
    /// What it is about, in a line
    title: Option<String>,
    /// Take the change of this proposal, which went stale, was closed or lost its base
    #[arg(long, value_name = "ID")]
    from: Option<String>,
}

/// `propose submit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status 1: it is submitted, but a finding keeps it from merging.

Examples:
  runebook propose submit
  runebook propose submit 7k3 --message \"As the user said in today's chat\"")]
struct SubmitArgs {
    /// The proposal
    id: Option<String>,
    /// Words for the reviewer
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
}

/// `propose list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook propose list
  runebook propose list --all --json")]
struct ListArgs {
    /// Those that ended, too
    #[arg(short, long)]
    all: bool,
}

/// One proposal.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook propose show 7k3qm2xd
  runebook propose diff 7k3")]
struct OneArgs {
    /// The proposal
    id: Option<String>,
}

/// `propose withdraw`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook propose withdraw 7k3 --message \"The user took it back\"")]
struct WithdrawArgs {
    /// The proposal; it must be named
    id: String,
    /// Why
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
}

/// Who acts in an open vault.
pub(crate) fn actor_of(session: &Session<'_>, vault: &Vault<'_>) -> Result<Actor, Fault> {
    let governance = vault.governance(vault.main()?)?;
    acting(vault, &governance, session.globals.acting.as_deref())
}

/// Who reads: the actor that was named, or the person, known to the vault or not.
pub(crate) fn access_of(session: &Session<'_>, vault: &Vault<'_>) -> Result<Access, Fault> {
    access(vault, session.globals.acting.as_deref(), None)
}

/// The proposal that is meant, for somebody who may be nobody: reading asks for no actor.
pub(crate) fn meant(session: &Session<'_>, vault: &Vault<'_>, id: Option<&str>) -> Result<ProposalId, Fault> {
    match id {
        Some(id) => named_by(vault, None, Some(id)),
        None => named_by(vault, Some(&actor_of(session, vault)?), None),
    }
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    match args.what {
        What::New(args) => new(&args, session, &vault),
        What::Write(args) => write::write(&args, session, &vault),
        What::Edit(args) => write::edit(&args, session, &vault),
        What::Mv(args) => write::mv(&args, session, &vault),
        What::Rm(args) => write::rm(&args, session, &vault),
        What::FromWorktree(args) => write::from_worktree(&args, session, &vault),
        What::Submit(args) => {
            let actor = actor_of(session, &vault)?;
            let id = named_by(&vault, Some(&actor), args.id.as_deref())?;
            let submitted = propose::submit(&vault, &actor, &id, args.message.as_deref())?;
            Ok(print::submitted(&mut session.out, &submitted))
        }
        What::List(args) => {
            let all = propose::list(&vault, args.all)?;
            Ok(print::list(&mut session.out, &all, "no proposal is open"))
        }
        What::Show(args) => {
            let id = meant(session, &vault, args.id.as_deref())?;
            let told = propose::story(&vault, &access_of(session, &vault)?, &id)?;
            print::story(&mut session.out, &told);
            Ok(Done::Yes)
        }
        What::Diff(args) => {
            let id = meant(session, &vault, args.id.as_deref())?;
            let story = propose::story(&vault, &access_of(session, &vault)?, &id)?;
            print_files(session, &story.files);
            Ok(Done::Yes)
        }
        What::Withdraw(args) => {
            let actor = actor_of(session, &vault)?;
            let id = named_by(&vault, Some(&actor), Some(&args.id))?;
            let ended = propose::withdraw(&vault, &actor, &id, args.message.as_deref())?;
            if session.out.json {
                session.out.document(&ended);
            } else {
                session.out.line(format!("withdrew {} (kept as {})", ended.id, ended.branch));
            }
            Ok(Done::Yes)
        }
    }
}

/// The files of a change: as a document or as a patch.
fn print_files(session: &mut Session<'_>, files: &[crate::flow::difference::FileDiff]) {
    if session.out.json {
        for file in files {
            session.out.record(file);
        }
    } else {
        patch(&mut session.out, files);
    }
}

fn new(args: &NewArgs, session: &mut Session<'_>, vault: &Vault<'_>) -> Result<Done, Fault> {
    let actor = actor_of(session, vault)?;
    let new = match &args.from {
        Some(from) => {
            let from = named_by(vault, Some(&actor), Some(from))?;
            propose::anew(vault, &actor, &from, args.title.as_deref())?
        }
        None => propose::new(vault, &actor, args.title.as_deref().unwrap_or_default())?,
    };
    if session.out.json {
        session.out.document(&new);
    } else {
        // The name alone, so that a script can take it; the rest is for people.
        session.out.line(new.id.as_str());
        session.out.note(format!(
            "next: runebook propose write {} URI, then runebook propose submit {}",
            new.id, new.id
        ));
    }
    Ok(Done::Yes)
}

/// What two states differ in; shared with `runebook diff`.
pub(crate) fn compared(
    session: &mut Session<'_>,
    vault: &Vault<'_>,
    compare: &Compare,
) -> Result<Done, Fault> {
    let difference = diff(vault, &access_of(session, vault)?, compare)?;
    if session.out.json {
        session.out.document(&difference);
    } else if difference.files.is_empty() {
        session.out.note(format!("{} and {} are the same", difference.from, difference.to));
    } else {
        patch(&mut session.out, &difference.files);
    }
    Ok(if difference.files.is_empty() { Done::Nothing } else { Done::Yes })
}
