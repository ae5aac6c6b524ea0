//! `runebook undo`.

use super::ask::{Answer, confirm};
use super::consent::is_asked;
use super::output::{Tone, moment, printable};
use super::propose::actor_of;
use super::{Done, Session};
use crate::flow::undo::{self, Request, Undone};
use crate::model::fault::Fault;

/// The arguments of `runebook undo`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Takes back what your last command here changed: new, edit, mv, rm, check --fix, commit, merge, \
propose, review. Run it again to go further back. Files that were edited since are left alone and named (exit status 3). \
On branches nothing is removed: a commit or a merge is followed by its inverse, a new proposal is withdrawn, a verdict \
is lifted.

Examples:
  runebook undo
  runebook undo --dry-run       what would be done
  runebook undo --redo          do again what was undone last
  runebook undo --list          the operations, the newest first"
)]
pub(crate) struct Args {
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do again what was undone last
    #[arg(long, conflicts_with = "list")]
    redo: bool,
    /// List the operations
    #[arg(short, long, conflicts_with = "dry_run")]
    list: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    if args.list {
        return list(session, &undo::list(&vault)?);
    }
    let mut confirmed = args.yes;
    if !args.dry_run
        && !args.yes
        && let Some((what, would)) = undo::question(&vault, args.redo)?
    {
        let asked = actor_of(session, &vault).and_then(|actor| is_asked(&vault, &actor))?;
        let verb = if args.redo { "Do again" } else { "Undo" };
        match if session.out.json {
            Answer::Nobody
        } else {
            for sentence in &would {
                session.out.note(printable(sentence));
            }
            confirm(&format!("{verb}: {}?", printable(&what)))
        } {
            Answer::Yes => confirmed = true,
            Answer::No => {
                session.out.note("nothing was done");
                return Ok(Done::Nothing);
            }
            Answer::Nobody => confirmed = !asked,
        }
    }
    let undone = undo::undo(&vault, Request { redo: args.redo, dry_run: args.dry_run, confirmed })?;
    if session.out.json {
        session.out.document(&undone);
    } else {
        print(session, &undone);
    }
    Ok(Done::Yes)
}

/// How many files people see at once.
const SHOWN: usize = 10;

fn print(session: &mut Session<'_>, undone: &Undone) {
    let all = session.globals.verbose;
    let out = &mut session.out;
    if undone.files.is_empty() && undone.also.is_empty() && undone.proposal.is_none() {
        let verb = if undone.redo { "do again" } else { "undo" };
        let is = if undone.dry_run { "is" } else { "was" };
        let what = printable(&undone.what);
        return out.line(format!("nothing {is} left to {verb}: {what}; its files stand as before"));
    }
    let verb = match (undone.redo, undone.dry_run) {
        _ if undone.proposal.is_some() => "proposed to be undone",
        (false, false) => "undone",
        (true, false) => "done again",
        (false, true) => "would be undone",
        (true, true) => "would be done again",
    };
    out.line(format!("{verb}: {}", printable(&undone.what)));
    let limit = if all { usize::MAX } else { SHOWN };
    for path in undone.files.iter().take(limit) {
        let path = out.paint(Tone::Path, path.as_str());
        out.line(format!("  {path}"));
    }
    out.more(undone.files.len().saturating_sub(limit), "-v shows all");
    for sentence in &undone.also {
        out.line(format!("  {}", printable(sentence)));
    }
    if let Some(id) = &undone.proposal {
        out.note(if undone.approved {
            format!("next: a person merges it with `runebook merge {id}`; until then nothing is taken back")
        } else {
            format!(
                "next: a reviewer looks at it with `runebook review show {id}`; nothing is taken back until it is merged"
            )
        });
    } else if !undone.dry_run {
        let back = if undone.redo {
            "`runebook undo` takes it back"
        } else {
            "`runebook undo --redo` does it again"
        };
        out.note(back);
    }
}

fn list(session: &mut Session<'_>, listed: &[undo::Listed]) -> Result<Done, Fault> {
    let out = &mut session.out;
    for one in listed {
        if out.json {
            out.record(one);
            continue;
        }
        let state = match (&one.proposal, one.undone) {
            (Some(id), _) => format!("  (proposal {id} takes it back)"),
            (None, true) => "  (undone)".to_owned(),
            (None, false) => String::new(),
        };
        let number = out.paint(Tone::Name, format!("{:>4}", one.number));
        let when = out.paint(Tone::Dim, moment(&one.at));
        out.line(format!("{number}  {when}  {}  {}{state}", printable(&one.who), printable(&one.what)));
    }
    if listed.is_empty() {
        out.note("nothing was done here by these commands yet");
        return Ok(Done::Nothing);
    }
    Ok(Done::Yes)
}
