//! `runebook cat`.

use super::{Done, Session};
use crate::flow::{browse, locate};
use crate::model::fault::Fault;

/// The arguments of `runebook cat`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook cat user/memories/preferences/seats.md
  runebook cat \"viking://agent/skills/weekly-review.md#Steps\"    one section
  runebook cat seats.md --lines 10-20
  runebook cat seats.md --rev HEAD~1                              as it was before
  runebook cat seats.md --rev 2026-11-01                          as it was at the end of that day")]
pub(crate) struct Args {
    /// What to print: a URI, a path from where you stand or from the vault's root, each with #fragment if wanted
    #[arg(value_name = "URI|PATH", required = true)]
    files: Vec<String>,
    /// Only these lines, counted from 1: 10, 10-20 or 10-
    #[arg(long, value_name = "RANGE")]
    lines: Option<String>,
    /// Read a commit, a date (2026-11-28, 7d, yesterday) or main with what a proposal changes
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let lines = args.lines.as_deref().map(browse::range).transpose()?;
    let standing = session.directory();
    for text in &args.files {
        let reader = session.reader_at(&vault, args.rev.as_deref(), Some(text))?;
        let mut uri = locate::find_file(&reader, text, &standing)?;
        uri.rev = reader.rev();
        let content = browse::cat(&reader, &uri, lines)?;
        if session.out.json {
            session.out.record(&content);
        } else {
            session.out.content(&content.bytes);
        }
    }
    Ok(Done::Yes)
}
