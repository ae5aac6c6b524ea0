//! The watcher's day: wait, take in, answer, tell.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::ears::Ears;
use super::inbox::{Grounds, Heard, Inbox, Word};
use super::root::{Root, Wrong};
use super::{Company, Left, Options, WatchError, detach, filesystem, look};
use crate::flow::progress::Silent;
use crate::flow::sync::{Followed, SyncError};
use crate::flow::vault::Vault;
use crate::flow::watched::{self, Batch, Hearing, Place, Told, Watching};
use crate::model::clock::{Cancelled, Clock, Env};
use crate::model::fault::Fault;
use crate::store::lock::{Lock, LockError};

/// How long it sleeps when nothing is to do: so soon it notices that it is to end.
const TICK: Duration = Duration::from_millis(250);
/// How often it sees to itself.
const ROUND: Duration = Duration::from_secs(2);
/// A change of so many paths is taken as one, however long it goes on up to [`LONGEST`].
const BURST: usize = 64;
/// The longest that a change is waited for.
const LONGEST: Duration = Duration::from_secs(10);
/// The longest that what can wait is left alone after it went wrong: a disk has room again, a library is there.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// How many paths of a change are told.
const TOLD: usize = 20;
/// A clock that moved by more than this against the time that passed: the machine slept, or somebody set it.
const JUMP_MS: i64 = 5_000;

/// What is in the way, since when, and when to try again.
struct Trouble {
    message: String,
    missing: Option<Instant>,
    next: Instant,
    wait: Duration,
}

/// When what was heard is to be taken in.
enum Due {
    Now,
    In(Duration),
    Nothing,
}

/// A watcher.
pub(super) struct Watcher<'r, 'c> {
    env: &'r Env,
    options: &'r Options,
    company: &'r mut Company<'c>,
    place: Place,
    lock: Lock,
    root: Root,
    inbox: Arc<Inbox>,
    ears: Ears,
    debounce: Duration,
    git_lock: PathBuf,
    /// A lock of git's that was waited for in vain: a dead process left it.
    dead_lock: Option<SystemTime>,
    record: Watching,
    /// What would make it better besides what the system says.
    advice: Option<String>,
    /// Whether others read of it what it says now; not where the disk was full.
    written: bool,
    /// The clock in the vault's zone.
    stamps: Clock,
    trouble: Option<Trouble>,
    work_left: bool,
    /// What went wrong with what can wait, and when it is tried again.
    work_trouble: Option<Trouble>,
    ending: bool,
    rounded: Instant,
    /// When everything was looked at last, and how long that took.
    looked: (Instant, Duration),
    clock: (i64, Instant),
}

impl<'r, 'c> Watcher<'r, 'c> {
    /// Looks at everything once.
    pub(super) fn start(
        env: &'r Env,
        from: &Path,
        options: &'r Options,
        company: &'r mut Company<'c>,
    ) -> Result<Watcher<'r, 'c>, Fault> {
        let vault = Vault::open(env, from)?;
        let root = vault.root()?.to_owned();
        let place = Place::of(&vault);
        let lock = claim(&place)?;
        let grounds = Grounds {
            root: root.clone(),
            git_dir: vault.repo.git_dir().to_owned(),
            common_dir: vault.repo.common_dir().to_owned(),
            asks: place.asks(),
        };
        let remote = filesystem::remote(&root);
        let polls = options.poll || remote.is_some();
        let inbox = Arc::new(Inbox::default());
        let most = if polls { 0 } else { options.most_directories };
        let advice = remote.map(|kind| {
            format!("a file system of the kind `{kind}` does not tell what other machines change")
        });
        let (pid, since) = (std::process::id(), vault.clock.stamp());
        let record = Watching { pid, since, root: root.clone(), ..Watching::default() };
        let now = Instant::now();
        let mut watcher = Watcher {
            env,
            options,
            company,
            lock,
            root: Root::of(&root),
            git_lock: grounds.git_dir.join("index.lock"),
            ears: Ears::open(Arc::new(grounds), Arc::clone(&inbox), most),
            inbox,
            debounce: options.debounce.unwrap_or(Duration::from_millis(vault.config.watch.debounce.0)),
            dead_lock: None,
            place,
            record,
            advice,
            written: false,
            stamps: vault.clock.clone(),
            trouble: None,
            work_left: true,
            work_trouble: None,
            ending: false,
            rounded: now,
            looked: (now, Duration::ZERO),
            clock: (env.clock.now().as_millisecond(), now),
        };
        watcher.write();
        let followed = look::everything(&vault, &mut watcher.ears, watcher.company.progress)?;
        watcher.looked = (Instant::now(), now.elapsed());
        watcher.record.ready = true;
        watcher.took_in(&vault, &followed, now);
        watcher.work_left = watcher.company.background.is_some();
        let ready = Told::Ready { watching: watcher.record.clone() };
        watcher.tell(&ready);
        Ok(watcher)
    }

    /// Watches until it is asked to end.
    pub(super) fn run(mut self) -> Result<(), Fault> {
        while !self.ending && self.env.go_on().is_ok() {
            if self.rounded.elapsed() >= ROUND {
                self.rounded = Instant::now();
                self.see_to_itself()?;
            }
            match self.due() {
                Due::Now => {
                    let heard = self.inbox.take();
                    self.serve(heard)?;
                }
                Due::In(wait) => self.inbox.rest(wait.min(TICK)),
                Due::Nothing if self.work_left => self.work(),
                Due::Nothing => self.inbox.peek(TICK, |_| ()),
            }
            self.ending |= self.place.stop().symlink_metadata().is_ok();
        }
        let _ = std::fs::remove_file(self.place.record());
        let _ = std::fs::remove_file(self.place.stop());
        self.tell(&Told::Stopped { at: self.now() });
        Ok(())
    }

    fn now(&self) -> String {
        self.stamps.stamp()
    }

    fn tell(&mut self, told: &Told) {
        (self.company.tell)(told);
    }

    /// Puts down what it says of itself. Where it cannot, nobody relies on it, which is right.
    fn write(&mut self) {
        let record = &mut self.record;
        record.hearing = match (self.ears.is_deaf(), self.ears.is_partly_deaf()) {
            (true, _) => Hearing::Polling,
            (false, false) => Hearing::Events,
            (false, true) => Hearing::Partly,
        };
        record.directories = self.ears.count();
        record.polled = self.ears.deaf().len() as u64;
        record.problem = self.trouble.as_ref().map(|trouble| trouble.message.clone());
        record.trusted = record.ready && self.trouble.is_none() && record.hearing == Hearing::Events;
        record.advice = self.ears.why().map(str::to_owned).or_else(|| self.advice.clone());
        self.written = self.place.write(record).is_ok();
    }

    /// When what was heard is to be taken in: after a moment of quiet, or when it has gone on for long; a large change,
    /// or one during which git holds its lock, as one.
    fn due(&mut self) -> Due {
        let (asked, change, lost, size, between) = self.inbox.peek(Duration::ZERO, |heard| {
            let size = if heard.everything { usize::MAX } else { heard.paths.len() };
            (!heard.asks.is_empty(), heard.is_change(), heard.lost, size, heard.between)
        });
        let now = Instant::now();
        if let Some(trouble) = &self.trouble {
            // They look for themselves.
            self.inbox.refuse();
            return if now < trouble.next { Due::In(trouble.next - now) } else { Due::Now };
        }
        if asked {
            return Due::Now;
        }
        let Some((first, last)) = between.filter(|_| change) else { return Due::Nothing };
        let (quiet, age) = (now - last, now - first);
        let longest = if size > BURST { LONGEST } else { self.debounce * 5 };
        if quiet < self.debounce && age < longest {
            return Due::In((self.debounce - quiet).min(longest - age));
        }
        if self.git_works(age) {
            return Due::In(Duration::from_millis(20));
        }
        // However much is lost, looking takes at most half of the time.
        let rest = self.looked.1.max(Duration::from_millis(500)).saturating_sub(self.looked.0.elapsed());
        if lost && !rest.is_zero() { Due::In(rest) } else { Due::Now }
    }

    /// Whether git is in the middle of something. One lock is waited for once only.
    fn git_works(&mut self, age: Duration) -> bool {
        let lock = self.git_lock.symlink_metadata().and_then(|data| data.modified()).ok();
        if lock.is_none() || lock == self.dead_lock {
            return false;
        }
        if age >= LONGEST {
            self.dead_lock = lock;
        }
        age < LONGEST
    }

    /// Takes in what was heard, and answers.
    fn serve(&mut self, heard: Heard) -> Result<(), Fault> {
        let began = Instant::now();
        if heard.is_change() || self.trouble.is_some() {
            heard.asks.iter().for_each(|ask| watched::take_up(ask));
            let result = self.take_in(&heard);
            match result {
                Ok((vault, followed)) => self.took_in(&vault, &followed, began),
                // Who asks gets no answer, and sees that it cannot be relied upon now.
                Err(fault) if fault.as_error().is::<Cancelled>() => return Ok(()),
                Err(fault) => return self.endure(fault),
            }
        }
        for ask in &heard.asks {
            if *ask == self.place.stop() {
                self.ending = true;
            } else {
                // Gone already where whoever asked has given up.
                let _ = std::fs::remove_file(ask);
            }
        }
        Ok(())
    }

    /// What went wrong is trouble that may pass, unless another watcher took this one's place.
    fn endure(&mut self, fault: Fault) -> Result<(), Fault> {
        if matches!(fault.as_error().downcast_ref(), Some(WatchError::Runs(_))) {
            return Err(fault);
        }
        self.trouble(&fault);
        Ok(())
    }

    /// Sees that the lock still stands which says that this watcher lives; where it was thrown away with everything around
    /// it, it is taken anew.
    fn hold(&mut self) -> Result<(), Fault> {
        if !self.lock.stands_at(&self.place.lock()) {
            self.lock = claim(&self.place)?;
            self.write();
            self.inbox.lose();
        }
        Ok(())
    }

    fn take_in(&mut self, heard: &Heard) -> Result<(Vault<'r>, Followed), Fault> {
        let root = self.root.path().to_owned();
        if let Err(wrong) = self.root.check() {
            let why = match wrong {
                Wrong::Missing => "it is gone".to_owned(),
                Wrong::Away(why) => why,
            };
            return Err(SyncError::Unread { root, why }.into());
        }
        if self.trouble.is_some() {
            self.hold()?;
        }
        let vault = Vault::open(self.env, &root)?;
        if Place::of(&vault) != self.place {
            return Err(WatchError::Gone(root).into());
        }
        if self.options.debounce.is_none() {
            self.debounce = Duration::from_millis(vault.config.watch.debounce.0);
        }
        // Where the system refused to listen, somebody may have raised its limit.
        if heard.lost || self.trouble.is_some() || self.ears.is_deaf() {
            self.ears.renew();
        }
        let whole = heard.everything || heard.lost || self.trouble.is_some();
        let began = Instant::now();
        let followed = if whole {
            let followed = look::everything(&vault, &mut self.ears, &Silent);
            self.looked = (Instant::now(), began.elapsed());
            followed?
        } else {
            look::touched(&vault, &mut self.ears, heard, &Silent)?
        };
        Ok((vault, followed))
    }

    fn took_in(&mut self, vault: &Vault<'_>, followed: &Followed, began: Instant) {
        if self.trouble.take().is_some() {
            self.tell(&Told::Recovered { at: self.now() });
        }
        let changed = followed.rebuilt || !followed.paths.is_empty();
        self.work_left = self.company.background.is_some();
        self.record.pending = followed.freshness.pending;
        if changed {
            let batch = Batch {
                at: vault.clock.stamp(),
                files: followed.paths.len() as u64,
                added: followed.added,
                removed: followed.removed,
                rebuilt: followed.rebuilt,
                millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            };
            self.record.last = Some(batch.clone());
            let paths = followed.paths.iter().take(TOLD).cloned().collect();
            self.tell(&Told::Changed { batch, paths });
        }
        self.write();
    }

    /// Something is in the way: it is told once, and tried again after longer and longer times.
    fn trouble(&mut self, fault: &Fault) {
        let message = fault.to_string();
        let before = self.trouble.take();
        let wait = before.as_ref().map_or(TICK, |before| (before.wait * 2).min(Duration::from_secs(30)));
        let missing = matches!(self.root.check(), Err(Wrong::Missing));
        let since = before.as_ref().and_then(|before| before.missing);
        if before.is_none_or(|before| before.message != message) {
            let (at, hint) = (self.now(), fault.hint());
            self.tell(&Told::Trouble { at, message: message.clone(), hint });
        }
        self.trouble = Some(Trouble {
            message,
            missing: missing.then(|| since.unwrap_or_else(Instant::now)),
            next: Instant::now() + wait,
            wait,
        });
        self.write();
    }

    /// What nothing tells of: that the root is gone, that the machine slept, that its own files were thrown away.
    fn see_to_itself(&mut self) -> Result<(), Fault> {
        let missing = self.trouble.as_ref().and_then(|trouble| trouble.missing);
        if missing.is_some_and(|since| since.elapsed() >= self.options.grace) {
            return Err(WatchError::Gone(self.root.path().to_owned()).into());
        }
        if self.trouble.is_some() {
            return Ok(());
        }
        if !self.root.is_there() {
            self.inbox.put(Word::Everything);
        } else if let Err(fault) = self.hold() {
            // A mount that died answers from what it remembers for a while, so that the root seems to be there.
            return self.endure(fault);
        } else if !self.written || self.place.record().symlink_metadata().is_err() {
            self.write();
        }
        let (wall, at) = self.clock;
        self.clock = (self.env.clock.now().as_millisecond(), Instant::now());
        let passed = i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX);
        let jumped = self.clock.0 - wall - passed > JUMP_MS || wall - self.clock.0 > JUMP_MS;
        if jumped {
            self.inbox.put(Word::Everything);
        }
        let again = self.work_trouble.as_ref().is_some_and(|trouble| trouble.next <= Instant::now());
        self.work_left |= again || self.company.background.as_ref().is_some_and(|work| work.wants());
        let pause = self.options.poll_every.max(self.looked.1 * 20);
        if self.looked.0.elapsed() >= pause {
            if self.ears.is_deaf() {
                self.inbox.put(Word::Everything);
            } else if self.ears.is_partly_deaf() {
                self.inbox.put(Word::Refs);
                for dir in self.ears.deaf() {
                    self.inbox.put(Word::Touched(dir.clone()));
                }
                self.looked.0 = Instant::now();
            }
        }
        Ok(())
    }

    /// Does a slice of what can wait.
    fn work(&mut self) {
        let Some(background) = self.company.background.as_deref_mut() else {
            self.work_left = false;
            return;
        };
        let (inbox, env) = (&self.inbox, self.env);
        let enough =
            || env.go_on().is_err() || inbox.peek(Duration::ZERO, |h| h.is_change() || !h.asks.is_empty());
        let slice = Vault::open(env, self.root.path()).and_then(|vault| background.slice(&vault, &enough));
        self.work_left = matches!(slice, Ok(Left::More));
        let before = self.work_trouble.take();
        let Err(fault) = slice else { return };
        let message = fault.to_string();
        let wait = before.as_ref().map_or(self.options.retry, |before| (before.wait * 2).min(LONGEST_WAIT));
        if before.is_none_or(|before| before.message != message) {
            let (at, hint) = (self.now(), fault.hint());
            self.tell(&Told::Trouble { at, message: message.clone(), hint });
        }
        self.work_trouble = Some(Trouble { message, missing: None, next: Instant::now() + wait, wait });
    }
}

/// Takes the lock that says that a watcher lives, and clears what a dead one left.
fn claim(place: &Place) -> Result<Lock, Fault> {
    let asks = place.asks();
    std::fs::create_dir_all(&asks).map_err(|why| WatchError::Io { path: asks.clone(), why })?;
    let lock = match Lock::take(&place.lock(), "watching", Duration::from_millis(200)) {
        Ok(lock) => lock,
        Err(LockError::Held { holder }) => {
            let runs = place.living().map_or(WatchError::Runs(holder), |living| detach::runs(&living));
            return Err(runs.into());
        }
        Err(error) => return Err(error.into()),
    };
    // First what the dead one said of itself: who asked it takes a question that is gone for an answered one, as long
    // as the record says that it can be relied upon.
    if let Err(why) = std::fs::remove_file(place.record())
        && why.kind() != std::io::ErrorKind::NotFound
    {
        return Err(WatchError::Io { path: place.record(), why }.into());
    }
    for ask in std::fs::read_dir(&asks).into_iter().flatten().flatten() {
        let _ = std::fs::remove_file(ask.path());
    }
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_one_left_is_gone_before_the_next_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::in_derived(dir.path());
        std::fs::create_dir_all(place.asks()).unwrap();
        // A killed one could be relied upon, and somebody waited for its answer.
        place.write(&Watching { ready: true, trusted: true, ..Watching::default() }).unwrap();
        let ask = place.asks().join("1-0");
        std::fs::write(&ask, []).unwrap();
        assert_eq!(place.living(), None);
        let lock = claim(&place).unwrap();
        assert_eq!(place.living(), None, "what the dead one said is taken for what this one says");
        assert!(!ask.exists());
        assert!(claim(&place).unwrap_err().as_error().is::<WatchError>());
        drop(lock);
        claim(&place).unwrap();
    }
}
