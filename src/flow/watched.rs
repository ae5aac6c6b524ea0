//! Whoever watches the files, as others see it: whether one lives, what it says of itself, asking it to catch up.
//!
//! A watcher holds a lock for as long as it lives; the operating system lets go of it however the process dies, so a
//! dead watcher is never taken for a living one. To ask it to catch up, a file is made in a directory that it watches
//! too: what it hears comes in order, so when it comes to that file it has heard of everything that was saved before.
//! It says in the file that it is at it, brings the index up to date and then removes the file.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::vault::Vault;
use crate::model::clock::Stopwatch;
use crate::model::path::VaultPath;
use crate::store::lock::Lock;
use crate::store::plain;

/// How a watcher hears of changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hearing {
    /// The operating system tells it.
    #[default]
    Events,
    /// It is told of a part; at the rest it looks again and again.
    Partly,
    /// It looks again and again.
    Polling,
}

/// What was done at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Batch {
    /// When: RFC 3339.
    pub at: String,
    /// At how many paths something else is seen now.
    pub files: u64,
    /// Documents that the index did not have.
    pub added: u64,
    /// Documents that nobody sees any more.
    pub removed: u64,
    /// Whether everything was built anew.
    pub rebuilt: bool,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// What a watcher says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Watching {
    /// The process.
    pub pid: u32,
    /// Since when it watches: RFC 3339.
    pub since: String,
    /// The root of the files that it watches.
    pub root: PathBuf,
    /// How it hears of changes.
    pub hearing: Hearing,
    /// Whether it has looked at everything once.
    pub ready: bool,
    /// Whether it hears of every change and could take in all that it heard, so that who asks need not look himself.
    pub trusted: bool,
    /// How many directories it is told of.
    pub directories: u64,
    /// How many it looks at again and again.
    pub polled: u64,
    /// How many files could not be taken in.
    pub pending: u64,
    /// What it did last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last: Option<Batch>,
    /// What it cannot do at the moment, and why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub problem: Option<String>,
    /// What would make it better.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub advice: Option<String>,
}

/// What a watcher tells while it runs: one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Told {
    /// It has looked at everything once and hears of what comes.
    Ready {
        /// What it says of itself.
        watching: Watching,
    },
    /// Changes were taken in.
    Changed {
        /// What was done.
        batch: Batch,
        /// The first of the paths.
        paths: Vec<VaultPath>,
    },
    /// Something is in its way. The index stays as it is, and it tries again.
    Trouble {
        /// When: RFC 3339.
        at: String,
        /// What.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// It goes on as before.
    Recovered {
        /// When: RFC 3339.
        at: String,
    },
    /// It ended as it was asked to.
    Stopped {
        /// When: RFC 3339.
        at: String,
    },
}

/// Where a watcher of a work tree leaves word: each work tree has its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    dir: PathBuf,
}

impl Place {
    /// The place of a vault's work tree.
    #[must_use]
    pub fn of(vault: &Vault<'_>) -> Place {
        Place::in_derived(&vault.repo.git_dir().join("runebook"))
    }

    /// The place in a directory of derived state.
    #[must_use]
    pub fn in_derived(derived: &Path) -> Place {
        Place { dir: derived.join("watch") }
    }

    /// The lock that a watcher holds as long as it lives.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// What it says of itself.
    #[must_use]
    pub fn record(&self) -> PathBuf {
        self.dir.join("record.json")
    }

    /// The directory in which it is asked.
    #[must_use]
    pub fn asks(&self) -> PathBuf {
        self.dir.join("asks")
    }

    /// The file that asks it to end.
    #[must_use]
    pub fn stop(&self) -> PathBuf {
        self.asks().join("stop")
    }

    /// What it writes when nobody sees its output.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.dir.with_file_name("watch.log")
    }

    /// Puts down what a watcher says of itself, whole or not at all. It need not outlast the machine.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, watching: &Watching) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&serde_json::to_vec(watching)?)?;
        file.persist(self.record()).map(drop).map_err(|error| error.error)
    }

    /// What the living watcher says of itself; none where none lives, or it does not say anything yet.
    #[must_use]
    pub fn living(&self) -> Option<Watching> {
        if !Lock::is_held(&self.lock()) {
            return None;
        }
        serde_json::from_slice(&plain::read(self.record()).ok()?).ok()
    }
}

/// The living watcher of a vault's work tree.
#[must_use]
pub fn living(vault: &Vault<'_>) -> Option<Watching> {
    vault.repo.work_dir()?;
    Place::of(vault).living()
}

/// Asks the watcher to take in everything that was saved until now, and waits for it. `false`: there is none that can
/// be relied upon, it does not take the question up within `patience`, or it cannot do it; whoever asks looks for
/// himself then. One that is at it is waited for as long as `index.freshness_ms` allows: a look would take longer.
#[must_use]
pub fn catch_up(vault: &Vault<'_>, patience: Duration) -> bool {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let place = Place::of(vault);
    let relied_upon = || living(vault).is_some_and(|watching| watching.ready && watching.trusted);
    if !relied_upon() {
        return false;
    }
    let ask = place.asks().join(format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    if std::fs::OpenOptions::new().write(true).create_new(true).open(&ask).is_err() {
        return false;
    }
    let (watch, mut step) = (Stopwatch::start(), Duration::from_micros(200));
    let longer = patience.max(Duration::from_millis(vault.config.index.freshness_ms));
    while vault.env.go_on().is_ok() {
        let Ok(data) = ask.symlink_metadata() else { return relied_upon() };
        let taken_up = data.len() > 0;
        let enough = watch.elapsed() >= if taken_up { longer } else { patience };
        if enough || (taken_up && !relied_upon()) {
            break;
        }
        std::thread::sleep(step);
        step = (step * 2).min(Duration::from_millis(4));
    }
    // Taken back; if the answer came just now, the look that follows is only superfluous.
    let _ = std::fs::remove_file(&ask);
    false
}

/// Says that a question was taken up. Where whoever asked has given up, it stays away.
pub fn take_up(ask: &Path) {
    if plain::special_at(ask).is_some() {
        return;
    }
    if let Ok(mut file) = std::fs::OpenOptions::new().write(true).open(ask) {
        let _ = file.write_all(b"1");
    }
}
