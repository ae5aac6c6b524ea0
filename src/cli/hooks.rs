//! `runebook hooks` and `runebook merge-driver`.

use std::io::Read as _;
use std::path::PathBuf;

use super::output::Tone;
use super::{Done, Session};
use crate::flow::hooks::{self, Answer, Did, Hook, Side};
use crate::flow::own;
use crate::model::fault::{Explain, Fault, Kind};
use crate::store::plain;

/// The arguments of `runebook hooks`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook hooks install       in this clone: layer files follow what plain git commits, merges and rebases
  runebook hooks uninstall     takes them away; hooks that were there before are back

A clone never has them by itself: each person installs them, or does not.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Install the hooks and the merge driver of layer files in this clone
    #[command(after_help = "Examples:
  runebook hooks install
  runebook hooks install --json

Hooks that are there already stay and run first.")]
    Install,
    /// Take them away; what was there before is back
    #[command(after_help = "Examples:
  runebook hooks uninstall")]
    Uninstall,
    /// What git's hooks call
    #[command(hide = true)]
    Run {
        /// The hook
        name: String,
        /// What git tells it
        args: Vec<String>,
    },
}

/// The arguments of `runebook merge-driver`, as git gives them.
#[derive(Debug, clap::Args)]
pub(crate) struct DriverArgs {
    /// The common ancestor's file
    base: PathBuf,
    /// Our file, which takes the result
    ours: PathBuf,
    /// Their file
    theirs: PathBuf,
    /// The path in the work tree
    path: String,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    if let Command::Run { name, args } = &args.command {
        return Ok(run_hook(name, args, session));
    }
    let vault = session.vault()?;
    let acting = session.globals.acting.as_deref();
    let answer = match args.command {
        Command::Install => {
            own::person(&vault, acting, "hooks install")?;
            hooks::install(&vault)?
        }
        _ => {
            own::person(&vault, acting, "hooks uninstall")?;
            hooks::uninstall(&vault)?
        }
    };
    show(session, &answer);
    Ok(Done::Yes)
}

fn show(session: &mut Session<'_>, answer: &Answer) {
    let out = &mut session.out;
    if out.json {
        out.document(answer);
        return;
    }
    for part in &answer.parts {
        let (words, tone) = match part.did {
            Did::Installed => ("installed", Tone::Good),
            Did::Renewed => ("is up to date", Tone::Good),
            Did::Chained => ("installed; the one that was there still runs, first", Tone::Good),
            Did::Removed => ("removed", Tone::Dim),
            Did::Restored => ("removed; the one that was there before is back", Tone::Dim),
            Did::Nothing => ("was not installed", Tone::Dim),
            Did::Left => ("not installed: another program keeps the hooks", Tone::Warn),
        };
        let words = out.paint(tone, words);
        out.line(format!("{:<14}{words}", part.name));
    }
    if let Some(left) = &answer.left {
        out.warn(left);
    }
}

/// A summary is no reason to stop git: whatever goes wrong is said, and git goes on.
fn run_hook(name: &str, args: &[String], session: &mut Session<'_>) -> Done {
    let mut input = String::new();
    if name == "post-rewrite" {
        let _ = std::io::stdin().take(1 << 24).read_to_string(&mut input);
    }
    let Some(hook) = Hook::of(name, args, &input) else { return Done::Yes };
    match session.vault().and_then(|vault| hooks::run(&vault, &hook)) {
        Ok(settled) if settled.files.is_empty() => {}
        Ok(settled) => {
            let files = match settled.files.len() {
                1 => "1 layer file".to_owned(),
                n => format!("{n} layer files"),
            };
            session.out.note(format!("runebook: {files} made anew"));
        }
        Err(fault) => session.out.warn(format!("the layer files were not made anew: {fault}")),
    }
    Done::Yes
}

/// What stands in the way of merging a layer file.
#[derive(Debug, thiserror::Error)]
enum DriverError {
    #[error("reading {}: {why}", path.display())]
    Read { path: PathBuf, why: std::io::Error },
    #[error("writing {}: {why}", path.display())]
    Write { path: PathBuf, why: std::io::Error },
}

impl Explain for DriverError {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        None
    }
}

pub(crate) fn drive(args: &DriverArgs, session: &mut Session<'_>) -> Result<Done, Fault> {
    let standing = session.directory();
    let read = |path: &PathBuf| {
        let path = standing.join(path);
        plain::read(&path).map_err(|why| DriverError::Read { path, why })
    };
    let merged = hooks::merge_layer(&read(&args.base)?, &read(&args.ours)?, &read(&args.theirs)?)?;
    match merged {
        Side::Ours => Ok(Done::Yes),
        Side::Bytes(bytes) => {
            let path = standing.join(&args.ours);
            std::fs::write(&path, bytes).map_err(|why| DriverError::Write { path, why })?;
            Ok(Done::Yes)
        }
        Side::Conflict => {
            session
                .out
                .warn(format!("{}: two persons changed it; take one side, or write it anew", args.path));
            Ok(Done::Nothing)
        }
    }
}
