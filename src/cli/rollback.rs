//! `runebook rollback`.

use super::ask::{Answer, confirm};
use super::consent::is_asked;
use super::output::Tone;
use super::propose::{actor_of, findings, meant};
use super::{Done, Session};
use crate::flow::rollback::{RolledBack, merge_at_once, rollback};
use crate::model::actor::Role;
use crate::model::fault::Fault;
use crate::model::proposal::State;

/// The arguments of `runebook rollback`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Proposes the inverse of a merged proposal and submits it. When it takes back exactly what was merged, \
a person may merge it at once without an approval: at a terminal you are asked, elsewhere add --merge. \
Later edits of other lines are kept; where the same lines were edited since, nothing is done, and the \
files and lines are named (exit status 3).

Examples:
  runebook rollback 7k3qm2xd
  runebook rollback 7k3 --merge --yes"
)]
pub(crate) struct Args {
    /// The merged proposal
    id: String,
    /// Merge it at once if that is allowed
    #[arg(short, long)]
    merge: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let actor = actor_of(session, &vault)?;
    let id = meant(session, &vault, Some(&args.id))?;
    let mut rolled = rollback(&vault, &actor, &id)?;
    let allowed = rolled.decision.state == State::Approved && actor.is_person() && actor.has(Role::Merge);
    if allowed && wanted(&args, session, is_asked(&vault, &actor)?, &rolled) {
        rolled = merge_at_once(&vault, &actor, rolled)?;
    }
    if session.out.json {
        session.out.document(&rolled);
        return Ok(Done::Yes);
    }
    if let Some(merged) = &rolled.merged {
        super::merge::print(&mut session.out, merged);
        return Ok(Done::Yes);
    }
    print(session, &rolled, args.merge && !args.yes && allowed);
    Ok(Done::Yes)
}

/// Whether it is merged at once. `--merge` without `--yes` still asks where the policy wants a person asked; nobody to
/// ask means that it stays proposed.
fn wanted(args: &Args, session: &Session<'_>, asked: bool, rolled: &RolledBack) -> bool {
    if args.merge && (args.yes || !asked) {
        return true;
    }
    if args.yes && !args.merge || session.out.json {
        return args.yes && args.merge;
    }
    let files = rolled.files.len();
    let s = if files == 1 { "" } else { "s" };
    let question = format!("Take back {} now ({files} file{s}, exactly as before)?", rolled.of);
    confirm(&question) == Answer::Yes
}

fn print(session: &mut Session<'_>, rolled: &RolledBack, unanswered: bool) {
    let out = &mut session.out;
    findings(out, &rolled.findings);
    let line = format!(
        "{}  proposes to take back {} ({})",
        out.paint(Tone::Name, rolled.id.as_str()),
        rolled.of,
        if rolled.exact { "exactly" } else { "later edits are kept" }
    );
    out.line(line);
    for file in &rolled.files {
        let line = format!("  {}", out.paint(Tone::Path, file));
        out.line(line);
    }
    let next = if unanswered {
        format!("not merged, since nobody said yes: `runebook merge {} --yes` does it", rolled.id)
    } else if rolled.decision.state == State::Approved {
        format!("next: a person merges it with `runebook merge {}`", rolled.id)
    } else {
        format!("next: a reviewer looks at it with `runebook review show {}`", rolled.id)
    };
    out.note(next);
}
