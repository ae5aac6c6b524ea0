//! A watched vault: from a save to its being found, idling, the checkout of a branch with 5,000 changed files.
//! `watch VAULT`.
//!
//! The vault is not changed: a clone that shares its objects is watched, by a process as a person starts it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, Result, command};
use runebook::flow::find::{FindRequest, Finder};
use runebook::flow::vault::Vault;
use runebook::flow::watched;
use runebook::model::access::{Access, View};
use runebook::model::clock::Env;

const SAVES: usize = 100;
const CHANGED: usize = 5_000;
const LONG: Duration = Duration::from_secs(600);

/// The watcher, ended when the benchmark is.
struct Watcher(Child);

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures and prints.
pub(crate) fn run(dir: &Path) -> Result<()> {
    let clone = tempfile::tempdir_in(dir.parent().unwrap_or(dir))?;
    let at = clone.path().join("vault");
    command(dir, "git", &["clone", "-q", "--shared", &dir.to_string_lossy(), &at.to_string_lossy()])?;
    command(&at, "git", &["config", "user.name", "Mei"])?;
    command(&at, "git", &["config", "user.email", "mei@example.org"])?;
    let program = env!("CARGO_BIN_EXE_runebook");
    let reindexed = support::timed(|| command(&at, program, &["reindex"]))?;
    let log = clone.path().join("log");
    let started = Instant::now();
    let mut child = Command::new(program);
    child.args(["watch", "--json"]).current_dir(&at).stdout(File::create(&log)?);
    let watcher = Watcher(child.stderr(Stdio::null()).spawn()?);
    let env = support::env(&at);
    let vault = Vault::open(&env, &at)?;
    wait(|| watched::living(&vault).is_some_and(|living| living.ready))?;
    let ready = started.elapsed();

    let before = cpu(watcher.0.id());
    std::thread::sleep(Duration::from_secs(60));
    let (idle_cpu, idle_memory) = (cpu(watcher.0.id()) - before, memory(watcher.0.id()));
    let saves = saves(&env, &at)?;
    let asked = asked(&at, program)?;
    let (checkout, batches) = checkout(&vault, &at, &log)?;
    let after = memory(watcher.0.id());

    let living = watched::living(&vault).ok_or("the watcher died")?;
    support::say(format!("{}: watched, {} directories", dir.display(), living.directories))?;
    support::table(&[
        ("index from nothing", reindexed, String::new()),
        ("start to ready", ready, "everything looked at once".to_owned()),
        ("save to found p50", support::share(&saves, 50), "debounce of 100 ms included".to_owned()),
        ("save to found p95", support::share(&saves, 95), String::new()),
        (
            "find right after a save p50",
            support::share(&asked, 50),
            "a new process, which asks the watcher".to_owned(),
        ),
        ("find right after a save p95", support::share(&asked, 95), String::new()),
        ("checkout of 5,000 to found", checkout, format!("{batches} commits of the index")),
        ("processor in 60 s of idling", idle_cpu, String::new()),
    ])?;
    support::say(format!("memory: {idle_memory} MiB idle, {after} MiB after the checkout"))
}

fn wait(mut holds: impl FnMut() -> bool) -> Result<()> {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > LONG {
            return Err("waited in vain".into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn memories(at: &Path) -> Result<Vec<PathBuf>> {
    let files = command(at, "git", &["ls-files", "-z", "*.md"])?;
    Ok(files.split('\0').filter(|path| !path.is_empty()).map(|path| at.join(path)).collect())
}

/// Saves as editors do, spread over the vault; the watcher is not asked.
fn saves(env: &Env, at: &Path) -> Result<Vec<Duration>> {
    let files = memories(at)?;
    let vault = Vault::open(env, at)?;
    let access = Access { actor: None, view: View::WorkTree };
    let mut times = Vec::new();
    for round in 0..SAVES {
        let file = &files[round * 7919 % files.len()];
        let word = format!("savedword{round}x");
        let text = format!("{}\n{word}\n", std::fs::read_to_string(file)?);
        let beside = file.with_extension("tmp");
        std::fs::write(&beside, text)?;
        let began = Instant::now();
        std::fs::rename(&beside, file)?;
        let request = FindRequest { query: word, limit: 1, ..FindRequest::default() };
        wait(|| {
            let found = Finder::open(&vault).and_then(|finder| finder.find(&vault, &access, &request));
            found.is_ok_and(|answer| !answer.hits.is_empty())
        })?;
        times.push(began.elapsed());
        // Not in step with the watcher.
        std::thread::sleep(Duration::from_millis(150 + (round as u64 * 37) % 200));
    }
    times.sort();
    Ok(times)
}

/// `find` as a new process, right after a save.
fn asked(at: &Path, program: &str) -> Result<Vec<Duration>> {
    let files = memories(at)?;
    let mut times = Vec::new();
    for round in 0..40 {
        let file = &files[round * 6101 % files.len()];
        let word = format!("askedword{round}x");
        let text = format!("{}\n{word}\n", std::fs::read_to_string(file)?);
        std::fs::write(file, text)?;
        times.push(support::timed(|| command(at, program, &["find", &word]))?);
        std::thread::sleep(Duration::from_millis(200));
    }
    times.sort();
    Ok(times)
}

/// From the end of the checkout until the index shows it; with how many commits it took.
fn checkout(vault: &Vault<'_>, at: &Path, log: &Path) -> Result<(Duration, usize)> {
    command(at, "git", &["checkout", "-q", "--force", "-b", "other"])?;
    let files = memories(at)?;
    for file in files.iter().step_by((files.len() / CHANGED).max(1)).take(CHANGED) {
        let text = format!("{}\nOn the other branch.\n", std::fs::read_to_string(file)?);
        std::fs::write(file, text)?;
    }
    command(at, "git", &["commit", "-q", "-am", "Five thousand"])?;
    if !watched::catch_up(vault, LONG) {
        return Err("the watcher does not catch up".into());
    }
    let lines = || std::fs::read_to_string(log).map(|text| text.matches("\"event\":\"changed\"").count());
    let before = lines()?;
    command(at, "git", &["checkout", "-q", "-"])?;
    let began = Instant::now();
    wait(|| lines().is_ok_and(|now| now > before))?;
    let took = began.elapsed();
    // What else may come.
    std::thread::sleep(Duration::from_secs(3));
    Ok((took, lines()? - before))
}

/// The memory that a process has now, in MiB.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}

/// The processor time that a process took, in steps of 10 ms.
fn cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
