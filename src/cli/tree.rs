//! `runebook tree`.

use super::output::{Tone, one_line};
use super::{Done, Output, Session};
use crate::flow::browse::{self, Tree};
use crate::flow::locate::LocateError;
use crate::flow::reader::Stands;
use crate::model::fault::Fault;

/// The arguments of `runebook tree`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook tree                    the whole vault
  runebook tree user -L 2          two levels of a directory
  runebook tree --most 1000        up to 1000 entries of each directory")]
pub(crate) struct Args {
    /// Where to begin: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI|PATH")]
    at: Option<String>,
    /// How many levels to show
    #[arg(short = 'L', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    levels: Option<u32>,
    /// How many entries of one directory to show
    #[arg(long, value_name = "N", default_value_t = 50)]
    most: usize,
    /// Show names that begin with a dot too; what belongs to git or to the vault itself (.runebook) is never shown
    #[arg(short, long)]
    all: bool,
    /// Read a commit, a date (2026-11-28, 7d, yesterday) or main with what a proposal changes
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader_at(&vault, args.rev.as_deref(), args.at.as_deref())?;
    let target = session.target(&reader, args.at.as_deref())?;
    if target.kind == Stands::File {
        return Err(LocateError::File(target.uri.path).into());
    }
    let levels = args.levels.map(|levels| levels as usize);
    let (tree, problems) = browse::tree(&reader, &target.uri.path, levels, args.most, args.all)?;
    session.problems(&problems);
    let out = &mut session.out;
    if out.json {
        out.document(&tree);
        return Ok(Done::Yes);
    }
    let top = out.paint(Tone::Path, target.uri.to_string());
    out.line(top);
    draw(out, &tree, "");
    let files = if tree.total == 1 { "1 file".to_owned() } else { format!("{} files", tree.total) };
    let files = if levels.is_some() { format!("{files} to this depth") } else { files };
    let shown = out.paint(Tone::Dim, files);
    out.line(shown);
    Ok(Done::Yes)
}

fn draw(out: &mut Output, tree: &Tree, indent: &str) {
    let mut left = tree.directories.len() + tree.files.len() + usize::from(tree.more > 0);
    let branch = |left: &mut usize| {
        *left -= 1;
        if *left == 0 { ("└── ", "    ") } else { ("├── ", "│   ") }
    };
    for below in &tree.directories {
        let (here, further) = branch(&mut left);
        let name = out.paint(Tone::Path, format!("{}/", one_line(below.path.name())));
        out.line(format!("{indent}{here}{name}"));
        draw(out, below, &format!("{indent}{further}"));
    }
    for file in &tree.files {
        let (here, _) = branch(&mut left);
        let name = out.plain(one_line(file.name()));
        out.line(format!("{indent}{here}{name}"));
    }
    if tree.more > 0 {
        let (here, _) = branch(&mut left);
        let more = out.paint(Tone::Dim, format!("… and {} more", tree.more));
        out.line(format!("{indent}{here}{more}"));
    }
}
