//! `runebook log`.

use super::output::{Tone, printable};
use super::{Done, Session};
use crate::flow::history::{Entered, log};
use crate::flow::locate;
use crate::flow::proposals::named_by;
use crate::flow::vault::Vault;
use crate::model::fault::Fault;
use crate::model::path::VaultPath;

/// The arguments of `runebook log`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Lists the commits of the approved branch, newest first: which proposal each one merged, who proposed \
it and who approved it. A line without a proposal is a direct commit.

Examples:
  runebook log
  runebook log -n 5 user/memories
  runebook log viking://user/memories/seats.md --json"
)]
pub(crate) struct Args {
    /// Only what changed this file, or something in this directory
    uri: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, default_value_t = 50, value_name = "N")]
    number: usize,
}

/// What it is about, without the proposal's name, which stands in a column of its own.
fn subject(entry: &Entered) -> &str {
    let named = entry.proposal.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    entry.subject.strip_suffix(&named).unwrap_or(&entry.subject)
}

/// Why nothing is shown.
fn nothing(session: &mut Session<'_>, vault: &Vault<'_>, named: Option<(&str, &VaultPath)>) {
    let Some((text, path)) = named else { return session.out.note("the approved branch has no commit") };
    let main = &vault.config.main_branch;
    session.out.note(format!("nothing at `{text}` was ever on {main}"));
    if let Ok(id) = named_by(vault, None, Some(text)) {
        return session.out.note(format!("hint: `runebook show {id}` tells of the proposal"));
    }
    let near = session.reader(vault, None).and_then(|reader| match reader.stands(path)? {
        Some(_) => Ok(Vec::new()),
        None => locate::near(&reader, path),
    });
    session.out.note(match near.unwrap_or_default().as_slice() {
        [] => "hint: `runebook tree` shows what there is, `runebook status` what is not committed".to_owned(),
        near => format!("hint: {}", locate::did_you_mean(near)),
    });
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let path = match &args.uri {
        Some(uri) => Some(super::propose::place(session, &vault, uri)?.path),
        None => None,
    };
    let entries = log(&vault, &super::propose::access_of(session, &vault)?, path.as_ref(), args.number)?;
    if entries.is_empty() && args.number > 0 && !session.out.json {
        nothing(session, &vault, args.uri.as_deref().zip(path.as_ref()));
    }
    let out = &mut session.out;
    if out.json {
        entries.iter().for_each(|entry| out.record(entry));
    }
    let nothing = entries.is_empty();
    let for_people = if out.json { &[][..] } else { entries.as_slice() };
    for entry in for_people {
        let who = match (&entry.proposer, entry.approved_by.as_slice()) {
            (Some(proposer), []) => format!("by {proposer}"),
            (Some(proposer), approved) => {
                let approved: Vec<&str> = approved.iter().map(|actor| actor.as_str()).collect();
                format!("by {proposer}, approved by {}", approved.join(", "))
            }
            (None, _) => format!("by {}, directly", entry.by),
        };
        let id = entry.proposal.as_ref().map_or("-       ", |id| id.as_str());
        let line = format!(
            "{}  {}  {}  {}  {}",
            out.paint(Tone::Dim, entry.commit.short()),
            entry.when.get(..10).unwrap_or("-         "),
            out.paint(Tone::Name, id),
            printable(subject(entry)),
            out.paint(Tone::Dim, format!("({who})")),
        );
        out.line(line);
    }
    Ok(if nothing { Done::Nothing } else { Done::Yes })
}
