//! A watcher in the background: started, and ended.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::WatchError;
use super::service::THRIFT;
use crate::flow::vault::Vault;
use crate::flow::watched::{self, Place, Watching};
use crate::model::clock::{Stopwatch, moment};
use crate::model::fault::Fault;
use crate::store::plain;

/// How often to see whether it is so far.
const STEP: Duration = Duration::from_millis(20);

/// Starts `runebook watch` with further arguments in the background, in a process group of its own, and waits until it
/// has looked at everything once.
///
/// # Errors
/// When one runs already, or it ends before it is ready.
pub fn start(vault: &Vault<'_>, program: &std::path::Path, args: &[String]) -> Result<Watching, Fault> {
    let root = vault.root()?.to_owned();
    let place = Place::of(vault);
    if let Some(living) = place.living() {
        return Err(runs(&living).into());
    }
    let log = place.log();
    let io = |why| WatchError::Io { path: log.clone(), why };
    if let Some(dir) = log.parent() {
        std::fs::create_dir_all(dir).map_err(io)?;
    }
    let errors = OpenOptions::new().create(true).append(true).open(&log).map_err(io)?;
    let begins = errors.metadata().map_or(0, |data| data.len());
    let mut command = Command::new(program);
    command.arg("-C").arg(&root).arg("watch").args(args).arg("--log");
    command.current_dir(&root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    command.envs(THRIFT);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|why| WatchError::Io { path: program.to_owned(), why })?;
    loop {
        if let Some(living) = place.living().filter(|living| living.pid == child.id() && living.ready) {
            return Ok(living);
        }
        if let Ok(Some(_)) = child.try_wait() {
            let text = plain::read(&log).unwrap_or_default();
            let said = text.get(usize::try_from(begins).unwrap_or(0)..).unwrap_or_default();
            let said = String::from_utf8_lossy(said);
            let last = said.lines().find(|line| line.starts_with("error:")).unwrap_or_default();
            let last = last.trim_start_matches("error:").trim();
            let why = if last.is_empty() { String::new() } else { format!(": {last}") };
            return Err(match place.living() {
                // Another one was faster.
                Some(living) => runs(&living).into(),
                None => WatchError::Died(why).into(),
            });
        }
        // Whoever stops waiting leaves it running: it says what it does in `runebook status`.
        vault.env.go_on()?;
        std::thread::sleep(STEP);
    }
}

/// That one runs.
pub(super) fn runs(living: &Watching) -> WatchError {
    WatchError::Runs(format!("process {}, since {}", living.pid, moment(&living.since)))
}

/// Ends the watcher of this work tree and gives what it said of itself last.
///
/// # Errors
/// When none runs, or it does not end.
pub fn stop(vault: &Vault<'_>) -> Result<Watching, Fault> {
    let place = Place::of(vault);
    let living = watched::living(vault).ok_or(WatchError::None)?;
    let ask = place.stop();
    std::fs::write(&ask, []).map_err(|why| WatchError::Io { path: ask, why })?;
    let watch = Stopwatch::start();
    // A commit of the index that is under way is ended first.
    while watch.elapsed() < Duration::from_secs(60) {
        if place.living().is_none_or(|now| now.pid != living.pid) {
            return Ok(living);
        }
        vault.env.go_on()?;
        std::thread::sleep(STEP);
    }
    Err(WatchError::Stuck(living.pid).into())
}
