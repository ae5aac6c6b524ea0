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
  runebook cat seats.md --rev HEAD~1                              as it was before")]
pub(crate) struct Args {
    /// What to print: a URI, a path from where you stand or from the vault's root, each with #fragment if wanted
    #[arg(value_name = "URI|PATH", required = true)]
    files: Vec<String>,
    /// Only these lines, counted from 1: 10, 10-20 or 10-
    #[arg(long, value_name = "RANGE")]
    lines: Option<String>,
    /// Read this revision of git's
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let lines = args.lines.as_deref().map(browse::range).transpose()?;
    let standing = session.directory();
    for text in &args.files {
        let rev = args.rev.clone().or_else(|| crate::model::uri::Uri::parse(text).ok()?.rev);
        let reader = session.reader(&vault, rev.as_deref())?;
        let uri = locate::find_file(&reader, text, &standing)?;
        let content = browse::cat(&reader, &uri, lines)?;
        if session.out.json {
            session.out.record(&content);
        } else {
            session.out.content(&content.bytes);
        }
    }
    Ok(Done::Yes)
}
