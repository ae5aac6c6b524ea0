//! What the benchmarks share: the environment, the clock, the table.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use runebook::model::clock::{Cancel, Clock, Entropy, Env};

/// An environment that stands in a vault.
pub(crate) fn env(dir: &Path) -> Env {
    Env {
        vars: BTreeMap::new(),
        clock: Clock::system(),
        entropy: Entropy::System,
        current_dir: dir.to_owned(),
        cancel: Cancel::default(),
        program: None,
    }
}

/// An environment that stands in a vault and has the model of whoever runs this, if there is one.
pub(crate) fn env_with_model(dir: &Path) -> Env {
    let mut env = env(dir);
    for name in ["HOME", "XDG_DATA_HOME", "RUNEBOOK_MODEL", "ORT_DYLIB_PATH"] {
        if let Ok(value) = std::env::var(name) {
            env.vars.insert(name.to_owned(), value);
        }
    }
    env
}

/// The time that so many percent of some sorted times do not exceed.
pub(crate) fn share(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

pub(crate) fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let began = Instant::now();
    run()?;
    Ok(began.elapsed())
}

/// The shortest of several runs: what the machine can do when nobody disturbs it.
pub(crate) fn best_of<T>(runs: usize, mut run: impl FnMut() -> Result<T>) -> Result<Duration> {
    let times: Vec<Duration> = (0..runs).map(|_| timed(&mut run)).collect::<Result<_>>()?;
    Ok(times.into_iter().min().unwrap_or_default())
}

/// Why a benchmark ended: the message of whatever failed.
pub(crate) struct Failure(String);

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

// What `main` returns is shown by `Debug`.
impl std::fmt::Debug for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// A line on stdout.
pub(crate) fn say(line: impl std::fmt::Display) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Lines of name, time, remark.
pub(crate) fn table(rows: &[(&str, Duration, String)]) -> Result<()> {
    for (name, time, remark) in rows {
        say(format!("{name:<28} {:>10.1} ms  {remark}", time.as_secs_f64() * 1e3))?;
    }
    Ok(())
}

/// Runs a program that must succeed and gives what it prints.
pub(crate) fn command(dir: &Path, program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).current_dir(dir).output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

/// The most memory that this process ever had, in MiB; 0 where the system does not tell.
pub(crate) fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}

/// The size of the files of a name below a directory, in bytes.
pub(crate) fn size_of(dir: &Path, name: &str) -> u64 {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sum += size_of(&path, name);
        } else if entry.file_name() == name {
            sum += entry.metadata().map_or(0, |data| data.len());
        }
    }
    sum
}
