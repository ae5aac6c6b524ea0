//! `runebook watch`.

use std::path::PathBuf;
use std::time::Duration;

use super::output::{Tone, moment, one_line};
use super::progress::Bar;
use super::{Done, Output, Session};
use crate::flow::vault::Vault;
use crate::flow::watched::{Hearing, Place, Told, Watching};
use crate::model::config::Millis;
use crate::model::fault::Fault;
use crate::watch::{self, Company, Log, Options, Service, WatchError};

/// The arguments of `runebook watch`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "While it runs, `find` needs not look at the files. It follows editors, other programs and git. It
writes nothing but the index, and ends with Ctrl-C, SIGTERM or `--stop`.

Examples:
  runebook watch                        in this terminal, a line a change
  runebook watch --detach               in the background; `runebook status` shows it
  runebook watch --stop
  runebook watch --print systemd > ~/.config/systemd/user/runebook-watch.service
  runebook watch --poll                 where the system does not tell of changes"
)]
pub(crate) struct Args {
    /// Run in the background and come back when everything was looked at once
    #[arg(long, conflicts_with_all = ["stop", "print"])]
    detach: bool,
    /// End the watcher of this work tree
    #[arg(long, conflicts_with = "print")]
    stop: bool,
    /// Print a file that starts a watcher with your session
    #[arg(long, value_enum, value_name = "SYSTEM")]
    print: Option<System>,
    /// Take in what changed after so long without another change (250ms, 2s) [default: the settings' watch.debounce]
    #[arg(long, value_name = "TIME")]
    debounce: Option<Millis>,
    /// Look again and again instead of waiting to be told
    #[arg(long)]
    poll: bool,
    /// Write to the log instead of the terminal
    #[arg(long, hide = true)]
    log: bool,
}

/// What starts programs with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum System {
    /// A user unit for systemd.
    Systemd,
    /// An agent for launchd (macOS).
    Launchd,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    if let Some(system) = args.print {
        let service = match system {
            System::Systemd => Service::Systemd,
            System::Launchd => Service::Launchd,
        };
        let text = watch::unit(service, &program()?, vault.root()?)?;
        session.out.raw(text.as_bytes());
        return Ok(Done::Yes);
    }
    if args.stop {
        let stopped = watch::stop(&vault)?;
        if session.out.json {
            session.out.document(&stopped);
        } else {
            let since = moment(&stopped.since);
            session.out.line(format!("the watcher ended (process {}, since {since})", stopped.pid));
        }
        return Ok(Done::Yes);
    }
    if args.detach {
        return detach(&args, session, &vault);
    }
    foreground(&args, session, &vault)
}

/// The path of this program.
fn program() -> Result<PathBuf, WatchError> {
    std::env::current_exe().map_err(|why| WatchError::Io { path: PathBuf::from("runebook"), why })
}

fn detach(args: &Args, session: &mut Session<'_>, vault: &Vault<'_>) -> Result<Done, Fault> {
    let mut more = Vec::new();
    if let Some(debounce) = args.debounce {
        more.extend(["--debounce".to_owned(), debounce.into()]);
    }
    if args.poll {
        more.push("--poll".to_owned());
    }
    let watching = watch::start(vault, &program()?, &more)?;
    if session.out.json {
        session.out.document(&Told::Ready { watching });
    } else {
        ready(&mut session.out, &watching);
        let log = session.out.paint(Tone::Path, Place::of(vault).log().display().to_string());
        session.out.line(format!("  process {}, log {log}; `runebook watch --stop` ends it", watching.pid));
    }
    Ok(Done::Yes)
}

fn foreground(args: &Args, session: &mut Session<'_>, vault: &Vault<'_>) -> Result<Done, Fault> {
    let options = Options {
        debounce: args.debounce.map(|debounce| Duration::from_millis(debounce.0.max(1))),
        poll: args.poll,
        ..Options::default()
    };
    // What nobody approved is no agent's to know, not even its name.
    let agent = super::propose::access_of(session, vault)?.is_agent();
    let bar = Bar::new(session);
    let from = vault.root()?.to_owned();
    let mut log = args.log.then(|| Log::at(&Place::of(vault).log()));
    let (env, out) = (session.env, &mut session.out);
    let mut tell = |told: &Told| {
        let mut told = told.clone();
        if let Told::Changed { paths, .. } = &mut told
            && agent
        {
            paths.clear();
        }
        match &mut log {
            Some(log) => log.line(&serde_json::to_string(&told).unwrap_or_default()),
            None if out.json => out.record(&told),
            None => show(out, &told),
        }
        out.flush();
    };
    let mut embedding = watch::Embedding::default();
    let mut company = Company { tell: &mut tell, progress: &bar, background: Some(&mut embedding) };
    watch::watch(env, &from, &options, &mut company)?;
    Ok(Done::Yes)
}

fn show(out: &mut Output, told: &Told) {
    match told {
        Told::Ready { watching } => ready(out, watching),
        Told::Changed { batch, paths } => {
            let time = out.paint(Tone::Dim, batch.at.get(11..19).unwrap_or_default());
            let what = match batch.files {
                _ if batch.rebuilt => "the index was built anew".to_owned(),
                1 => "1 file".to_owned(),
                files => format!("{files} files"),
            };
            let shown: Vec<String> =
                paths.iter().take(3).map(|path| out.paint(Tone::Path, path.as_str())).collect();
            let more = batch.files.saturating_sub(shown.len() as u64);
            let more =
                if more > 0 && !shown.is_empty() { format!(" and {more} more") } else { String::new() };
            let list = if shown.is_empty() { String::new() } else { format!("  {}", shown.join(", ")) };
            out.line(format!("{time} {what} in {} ms{list}{more}", batch.millis));
        }
        Told::Trouble { message, hint, .. } => {
            out.warn(message);
            if let Some(hint) = hint {
                out.note(format!("hint: {}", one_line(hint)));
            }
        }
        Told::Recovered { .. } => out.line("it goes on as before"),
        Told::Stopped { .. } => out.line("stopped"),
    }
}

/// One line: what is watched, and how.
fn ready(out: &mut Output, watching: &Watching) {
    let root = out.paint(Tone::Path, watching.root.display().to_string());
    out.line(format!("watching {root}  {}", hearing(watching)));
    if let Some(advice) = &watching.advice {
        out.warn(advice);
    }
}

/// How a watcher hears of changes, in words.
pub(super) fn hearing(watching: &Watching) -> String {
    let directories =
        |count: u64| if count == 1 { "1 directory".to_owned() } else { format!("{count} directories") };
    match watching.hearing {
        Hearing::Events => directories(watching.directories),
        Hearing::Partly => format!(
            "{}, and looks at {} more every few seconds",
            directories(watching.directories),
            watching.polled
        ),
        Hearing::Polling => "looks every few seconds".to_owned(),
    }
}
