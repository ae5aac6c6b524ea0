//! `runebook man`.

use std::path::PathBuf;

use clap::CommandFactory as _;

use super::output::Tone;
use super::{Cli, Done, Session};
use crate::model::fault::{Explain, Fault, Kind};
use crate::store::files;

/// The arguments of `runebook man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook man | man -l -                read it now
  runebook man commit | man -l -         the page of one command
  runebook man --dir ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// The command whose page is printed; the program's own page if left out
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
enum ManError {
    #[error("there is no command `{0}`")]
    Unknown(String),
    #[error("making the page of `{0}`: {1}")]
    Page(String, std::io::Error),
    #[error("making the directory {}: {}", .0.display(), .1)]
    Directory(PathBuf, std::io::Error),
}

impl Explain for ManError {
    fn kind(&self) -> Kind {
        match self {
            ManError::Unknown(_) => Kind::Usage,
            _ => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        matches!(self, ManError::Unknown(_)).then(|| "`runebook --help` lists the commands".to_owned())
    }
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let mut root = Cli::command();
    root.build();
    if let Some(dir) = &args.dir {
        let dir = session.directory().join(dir);
        std::fs::create_dir_all(&dir).map_err(|why| ManError::Directory(dir.clone(), why))?;
        return write_all(&root, "runebook", &dir, session).map(|()| Done::Yes);
    }
    let (mut command, mut name) = (&root, "runebook".to_owned());
    for part in &args.command {
        command = command.find_subcommand(part).ok_or_else(|| ManError::Unknown(args.command.join(" ")))?;
        name = format!("{name}-{}", command.get_name());
    }
    let text = page(command, &name)?;
    session.out.raw(&text);
    Ok(Done::Yes)
}

fn page(command: &clap::Command, name: &str) -> Result<Vec<u8>, ManError> {
    let mut text = Vec::new();
    let command = command.clone().name(name.to_owned());
    clap_mangen::Man::new(command).render(&mut text).map_err(|why| ManError::Page(name.to_owned(), why))?;
    Ok(text)
}

fn write_all(
    command: &clap::Command,
    name: &str,
    dir: &std::path::Path,
    session: &mut Session<'_>,
) -> Result<(), Fault> {
    let at = dir.join(format!("{name}.1"));
    files::write_at(&at, &page(command, name)?)?;
    let shown = session.out.paint(Tone::Path, at.display().to_string());
    session.out.line(shown);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        write_all(below, &format!("{name}-{}", below.get_name()), dir, session)?;
    }
    Ok(())
}
