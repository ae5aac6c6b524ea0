//! Watching the files: what is saved is searchable, whatever tool saved it.
//!
//! One thread of the system's puts what it hears into the inbox (`inbox`, `ears`). The watcher waits until nothing has
//! changed for a moment, takes everything out, listens to directories that are new, and has [`crate::flow::sync::follow`]
//! look at what was touched, as one commit of the index (`turn`).
//!
//! - Listening comes first, looking second: what is made between the two is heard of, what was made before is seen.
//! - Lost events cost a look at everything, which asks about every file and reads none that did not change; what that
//!   causes is no event that counts, so it cannot cause another look.
//! - A root that cannot be read is never an empty one: the index stays, the watcher says so and tries again.
//! - Who searches asks it to catch up ([`crate::flow::watched`]) and is served before anything else.

mod detach;
mod ears;
mod embed;
mod filesystem;
mod inbox;
mod log;
mod look;
mod root;
mod service;
mod turn;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::flow::progress::Progress;
use crate::flow::vault::Vault;
use crate::flow::watched::Told;
use crate::model::clock::Env;
use crate::model::fault::{Explain, Fault, Kind};

pub use detach::{start, stop};
pub use embed::Embedding;
pub use log::Log;
pub use service::{Service, unit};

/// What can go wrong with a watcher.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// One runs already.
    #[error("a watcher runs here already: {0}")]
    Runs(String),
    /// None runs.
    #[error("no watcher runs here")]
    None,
    /// The vault is no longer there.
    #[error("the vault at {} is gone", .0.display())]
    Gone(PathBuf),
    /// It was asked to end and goes on.
    #[error("the watcher (process {0}) does not end")]
    Stuck(u32),
    /// It was started and ended at once.
    #[error("the watcher ended at once{0}")]
    Died(String),
    /// A path cannot be written into the file of a service.
    #[error("{} cannot be named in such a file", .0.display())]
    Unprintable(PathBuf),
    /// A file of the watcher's cannot be used.
    #[error("{}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
}

impl Explain for WatchError {
    fn kind(&self) -> Kind {
        match self {
            WatchError::Runs(_) | WatchError::Stuck(_) => Kind::Conflict,
            WatchError::None => Kind::Nothing,
            WatchError::Unprintable(_) => Kind::Usage,
            WatchError::Gone(_) | WatchError::Died(_) | WatchError::Io { .. } => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            WatchError::Runs(_) => {
                "`runebook status` shows what it does, `runebook watch --stop` ends it".to_owned()
            }
            WatchError::None => "`runebook watch --detach` starts one".to_owned(),
            WatchError::Gone(_) => "start a watcher where the vault is now".to_owned(),
            WatchError::Stuck(pid) => {
                format!("it may be in the middle of something; `kill -9 {pid}` loses nothing")
            }
            WatchError::Died(_) => "run `runebook watch` without `--detach` to see why".to_owned(),
            WatchError::Unprintable(_) => "rename the directory, or write the file by hand".to_owned(),
            WatchError::Io { .. } => "see that you may write there and that the disk has room".to_owned(),
        })
    }
}

/// How to watch.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long nothing may change before what changed is taken in; none for what the settings say.
    pub debounce: Option<Duration>,
    /// Whether to look again and again though the system would tell of changes.
    pub poll: bool,
    /// How often to look where the system does not tell. Looking takes at most a twentieth of the time.
    pub poll_every: Duration,
    /// The most directories that are listened to; the rest is looked at.
    pub most_directories: usize,
    /// When to try again what can wait after it went wrong; then less and less often.
    pub retry: Duration,
    /// How long a vault may be gone before the watcher ends.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            debounce: None,
            poll: false,
            poll_every: Duration::from_secs(2),
            most_directories: usize::MAX,
            retry: Duration::from_secs(15),
            grace: Duration::from_secs(60),
        }
    }
}

/// What is left after a slice of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// There is more to do.
    More,
    /// All is done until something changes.
    Nothing,
}

/// Work that can wait until what was saved is searchable: done in small slices while nothing else is to do, after every
/// commit of the index.
pub trait Background {
    /// Does a slice: some tenths of a second at most, and less when `enough` says that somebody waits.
    ///
    /// # Errors
    /// Whatever the work reports; it is told as trouble once, and tried again after the next change and now and then.
    fn slice(&mut self, vault: &Vault<'_>, enough: &dyn Fn() -> bool) -> Result<Left, Fault>;

    /// Whether there may be something to do though no file of the vault changed. Asked every few seconds while nothing is
    /// left, so it costs a few looks at most.
    fn wants(&self) -> bool {
        false
    }
}

/// Who is told and who works beside the watcher.
pub struct Company<'a> {
    /// Is told what happens, in order.
    pub tell: &'a mut dyn FnMut(&Told),
    /// Shows how far the first look is.
    pub progress: &'a dyn Progress,
    /// Works while nothing else is to do.
    pub background: Option<&'a mut dyn Background>,
}

/// Watches the work tree that holds `from` until it is asked to end, by [`Env::cancel`] or [`stop`].
///
/// # Errors
/// [`WatchError::Runs`] when one runs already, [`WatchError::Gone`] when the vault is gone for good, and whatever makes
/// the first look impossible. Later trouble is told, and the watcher goes on.
pub fn watch(env: &Env, from: &Path, options: &Options, company: &mut Company<'_>) -> Result<(), Fault> {
    turn::Watcher::start(env, from, options, company)?.run()
}
