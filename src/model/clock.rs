//! Time, chance and environment: the only door to them. Tests put fixed ones in.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use jiff::{Timestamp, ZonedDateTime, tz::TimeZone};

use super::commit::GitTime;
use super::fault::{Explain, Kind};

/// Where the time comes from, and in which zone it is stored.
#[derive(Debug, Clone)]
pub struct Clock {
    fixed: Option<Timestamp>,
    zone: TimeZone,
}

impl Clock {
    /// The machine's clock, in UTC until [`Clock::in_zone`] says otherwise.
    #[must_use]
    pub fn system() -> Clock {
        Clock { fixed: None, zone: TimeZone::UTC }
    }

    /// A clock that stands still.
    #[must_use]
    pub fn fixed(at: Timestamp) -> Clock {
        Clock { fixed: Some(at), zone: TimeZone::UTC }
    }

    /// The same clock in the vault's zone; the machine's own zone never changes a stored byte.
    #[must_use]
    pub fn in_zone(&self, zone: TimeZone) -> Clock {
        Clock { fixed: self.fixed, zone }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.fixed.unwrap_or_else(Timestamp::now)
    }

    /// Now, in the vault's zone.
    #[must_use]
    pub fn now_zoned(&self) -> ZonedDateTime {
        self.now().to_zoned_datetime(self.zone.clone())
    }

    /// Now as git stores it: whole seconds and an offset in minutes. A clock that stands before 1970 gives that
    /// year's beginning, since git takes no earlier time.
    #[must_use]
    pub fn git_time(&self) -> GitTime {
        let now = self.now_zoned();
        GitTime { seconds: now.timestamp().as_second().max(0), offset_minutes: now.offset().seconds() / 60 }
    }

    /// Now as it is written into front matter: RFC 3339 with the offset, whole seconds.
    #[must_use]
    pub fn stamp(&self) -> String {
        self.now_zoned().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }
}

/// A time (RFC 3339) as people read it: to the minute, with its offset.
#[must_use]
pub fn moment(when: &str) -> String {
    let (Some(date), Some(time), Some(offset)) = (when.get(..10), when.get(11..16), when.get(19..)) else {
        return when.to_owned();
    };
    let offset = if matches!(offset, "+00:00" | "Z") { "UTC" } else { offset };
    format!("{date} {time} {offset}")
}

/// Where chance comes from.
#[derive(Debug)]
pub enum Entropy {
    /// The operating system.
    System,
    /// A counter from a seed: the same sequence every time. For tests.
    Seeded(Mutex<u64>),
}

impl Entropy {
    /// The repeatable sequence that a seed gives.
    #[must_use]
    pub fn seeded(seed: u64) -> Entropy {
        Entropy::Seeded(Mutex::new(seed))
    }

    /// `N` random bytes, or the operating system's error.
    ///
    /// # Errors
    /// When the operating system has none to give.
    pub fn bytes<const N: usize>(&self) -> std::io::Result<[u8; N]> {
        let mut out = [0; N];
        match self {
            Entropy::System => getrandom::fill(&mut out).map_err(std::io::Error::other)?,
            Entropy::Seeded(state) => {
                let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                for byte in &mut out {
                    // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
                    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                    let mut z = *state;
                    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                    *byte = (z ^ (z >> 31)) as u8;
                }
            }
        }
        Ok(out)
    }
}

/// A flag that asks long work to stop. Copies share the flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks everything that polls the flag to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Long work was stopped by Ctrl-C before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped before it was done")]
pub struct Cancelled;

impl Explain for Cancelled {
    fn kind(&self) -> Kind {
        Kind::Failed
    }

    fn hint(&self) -> Option<String> {
        Some("nothing is half done; run the command again to go on".to_owned())
    }
}

/// What the program was started with: the variables it may look at, the clock, the source of chance.
#[derive(Debug)]
pub struct Env {
    /// The environment's variables.
    pub vars: BTreeMap<String, String>,
    /// The time.
    pub clock: Clock,
    /// Chance.
    pub entropy: Entropy,
    /// Where the person stands.
    pub current_dir: std::path::PathBuf,
    /// Whether Ctrl-C was pressed; long loops poll it.
    pub cancel: Cancel,
    /// This program, where it is ours: what may crash is done in a process of its own. None where somebody else's program
    /// uses this library.
    pub program: Option<std::path::PathBuf>,
}

impl Env {
    /// A variable that is set and not empty.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Ends long work when somebody asked to stop: call it in every loop that can take over a tenth of a second.
    ///
    /// # Errors
    /// [`Cancelled`] once Ctrl-C was pressed.
    pub fn go_on(&self) -> Result<(), Cancelled> {
        if self.cancel.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// The IANA name of the machine's time zone, `UTC` where it has none. It is only a proposal for a new vault's
    /// settings: what is stored afterwards follows those alone.
    #[must_use]
    pub fn zone_name(&self) -> String {
        let known = |name: &str| TimeZone::get(name).is_ok().then(|| name.to_owned());
        let set = self.var("TZ").map(|name| known(name.trim_start_matches(':')));
        let found = set.unwrap_or_else(|| TimeZone::try_system().ok()?.iana_name().and_then(known));
        found.filter(|name| name != "Etc/UTC").unwrap_or_else(|| "UTC".to_owned())
    }

    /// The file of the running program, where the system tells.
    #[must_use]
    pub fn program() -> Option<std::path::PathBuf> {
        std::env::current_exe().ok().filter(|at| at.is_absolute())
    }

    /// Reads the process's environment. `RUNEBOOK_NOW` (RFC 3339) fixes the clock and `RUNEBOOK_SEED` (a number)
    /// the source of chance, so that a recorded example comes out the same every time.
    ///
    /// # Errors
    /// When the current directory is gone, one of the two variables cannot be read, or one of ours is not UTF-8.
    pub fn from_process() -> std::io::Result<Env> {
        let mut vars = BTreeMap::new();
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(vars.insert(name, value)),
                // Passed over, `RUNEBOOK_ACTOR` would make its agent into the person.
                Err(_) if name.starts_with("RUNEBOOK_") => {
                    let why = format!("{name} is not UTF-8");
                    return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, why));
                }
                Err(_) => {}
            }
        }
        let wrong = |name: &str, value: &str| {
            std::io::Error::new(std::io::ErrorKind::InvalidInput, format!("{name}={value} cannot be read"))
        };
        let clock = match vars.get("RUNEBOOK_NOW") {
            Some(text) => Clock::fixed(text.parse().map_err(|_| wrong("RUNEBOOK_NOW", text))?),
            None => Clock::system(),
        };
        let entropy = match vars.get("RUNEBOOK_SEED") {
            Some(text) => Entropy::seeded(text.parse().map_err(|_| wrong("RUNEBOOK_SEED", text))?),
            None => Entropy::System,
        };
        let (current_dir, program) = (std::env::current_dir()?, std::env::current_exe().ok());
        Ok(Env { vars, clock, entropy, current_dir, cancel: Cancel::default(), program })
    }
}

/// How long something takes. It measures; it never decides what is stored.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    /// Starts one.
    #[must_use]
    pub fn start() -> Stopwatch {
        Stopwatch(std::time::Instant::now())
    }

    /// The time since it was started.
    #[must_use]
    pub fn elapsed(&self) -> std::time::Duration {
        self.0.elapsed()
    }
}
