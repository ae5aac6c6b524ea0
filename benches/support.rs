//! What the benchmarks share: the environment, the clock, the table.

use std::collections::BTreeMap;
use std::path::Path;
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
    }
}

pub(crate) fn timed(run: impl FnOnce()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

/// The shortest of several runs: what the machine can do when nobody disturbs it.
pub(crate) fn best_of(runs: usize, mut run: impl FnMut()) -> Duration {
    (0..runs).map(|_| timed(&mut run)).min().unwrap_or_default()
}

/// Lines of name, time, remark.
pub(crate) fn table(rows: &[(&str, Duration, String)]) {
    for (name, time, remark) in rows {
        println!("{name:<28} {:>10.1} ms  {remark}", time.as_secs_f64() * 1e3);
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
