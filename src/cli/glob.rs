//! `runebook glob`.

use std::path::Path;

use super::output::{Tone, one_line};
use super::{Done, Session};
use crate::flow::vault::Vault;
use crate::flow::{locate, search};
use crate::model::fault::Fault;

/// The arguments of `runebook glob`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook glob \"*.md\"                  all Markdown files below (a pattern without / looks in every directory)
  runebook glob \"user/**/events/2026*\"
  runebook glob \"viking://*.md\"         from the vault's root, wherever you stand
A pattern is seen from where you stand, or from the vault's root if its directories are not here.
Exit status 1 when nothing matches.")]
pub(crate) struct Args {
    /// The pattern: * within a name, ** across directories
    pattern: String,
    /// Look at names that begin with a dot too
    #[arg(short, long)]
    all: bool,
    /// Read a commit, a date (2026-11-28, 7d, yesterday) or main with what a proposal changes
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

/// The pattern from the vault's root. A name alone is looked for in every directory below.
fn pattern(vault: &Vault<'_>, text: &str, standing: &Path) -> Result<String, Fault> {
    let seen = locate::pattern(vault, text, standing)?;
    let name = if text.contains('/') { None } else { seen.strip_suffix(text) };
    Ok(match name {
        Some(directory) if !directory.is_empty() => format!("{directory}**/{text}"),
        _ => seen,
    })
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader(&vault, args.rev.as_deref())?;
    let pattern = pattern(&vault, &args.pattern, &session.directory())?;
    let found = search::glob(&reader, &pattern, args.all)?;
    let out = &mut session.out;
    for path in &found {
        if out.json {
            out.record(&search::File { path: path.clone() });
        } else {
            let path = out.paint(Tone::Path, one_line(path.as_str()));
            out.line(path);
        }
    }
    Ok(if found.is_empty() { Done::Nothing } else { Done::Yes })
}
