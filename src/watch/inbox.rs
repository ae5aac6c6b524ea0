//! What was heard and not yet taken in: filled by the thread that the operating system talks to, emptied by the watcher.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::path::VaultPath;

/// More paths than this are not kept apart: looking at everything is as good then.
const MOST_PATHS: usize = 200_000;

/// The directories that are listened to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grounds {
    /// The root of the files.
    pub(super) root: PathBuf,
    /// The git directory of the work tree.
    pub(super) git_dir: PathBuf,
    /// The git directory that all work trees share.
    pub(super) common_dir: PathBuf,
    /// Where the watcher is asked.
    pub(super) asks: PathBuf,
}

/// What an event's path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// Nothing that matters.
    Nothing,
    /// This path may be another now, with everything below it.
    Touched(VaultPath),
    /// Anything may be.
    Everything,
    /// A reference may have moved.
    Refs,
    /// Somebody asks.
    Ask(PathBuf),
}

impl Grounds {
    /// What an event's path means.
    pub(super) fn word(&self, path: &Path) -> Word {
        if let Ok(ask) = path.strip_prefix(&self.asks) {
            return if ask.as_os_str().is_empty() { Word::Nothing } else { Word::Ask(path.to_owned()) };
        }
        for git in [&self.git_dir, &self.common_dir] {
            if let Ok(within) = path.strip_prefix(git) {
                return in_git(within);
            }
        }
        path.strip_prefix(&self.root).map_or(Word::Nothing, in_root)
    }
}

fn in_git(path: &Path) -> Word {
    if path.extension().is_some_and(|ending| ending == "lock") {
        return Word::Nothing;
    }
    match path.components().next().and_then(|first| first.as_os_str().to_str()) {
        Some("HEAD" | "refs" | "packed-refs" | "worktrees") => Word::Refs,
        // `info/exclude` names files that are ignored.
        Some("info") => Word::Everything,
        _ => Word::Nothing,
    }
}

fn in_root(path: &Path) -> Word {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            // A name that is not UTF-8 is no file of the vault.
            Component::Normal(name) => match name.to_str() {
                Some(name) => names.push(name),
                None => return Word::Nothing,
            },
            _ => return Word::Nothing,
        }
    }
    let Some((last, above)) = names.split_last() else { return Word::Everything };
    if matches!(names.as_slice(), [".runebook"] | [".runebook", "config.yaml"]) {
        return Word::Everything;
    }
    if above.iter().any(|name| name.starts_with('.')) {
        return Word::Nothing;
    }
    let touched = |path: &str| VaultPath::from_disk(path.as_bytes()).map_or(Word::Nothing, Word::Touched);
    match *last {
        // What it ignores, or whether the directory is a repository of its own.
        ".gitignore" | ".git" | ".runebook" if !above.is_empty() || *last == ".gitignore" => {
            touched(&above.join("/"))
        }
        hidden if hidden.starts_with('.') => Word::Nothing,
        _ => touched(&names.join("/")),
    }
}

/// What was heard since it was last taken.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The paths that were touched.
    pub(super) paths: HashSet<VaultPath>,
    /// Anything may have changed.
    pub(super) everything: bool,
    /// Events were lost, so what is listened to is in doubt too.
    pub(super) lost: bool,
    /// A reference may have moved.
    pub(super) refs: bool,
    /// Who waits for an answer.
    pub(super) asks: Vec<PathBuf>,
    /// When the first and the last of it was heard.
    pub(super) between: Option<(Instant, Instant)>,
}

impl Heard {
    /// Whether something may have changed.
    pub(super) fn is_change(&self) -> bool {
        self.everything || self.lost || self.refs || !self.paths.is_empty()
    }

    fn at(&mut self, now: Instant) {
        let first = self.between.map_or(now, |(first, _)| first);
        self.between = Some((first, now));
    }
}

/// The inbox itself.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    heard: Mutex<Heard>,
    bell: Condvar,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a word in.
    pub(super) fn put(&self, word: Word) {
        let mut heard = self.lock();
        match word {
            Word::Nothing => return,
            Word::Touched(path) if path.is_root() => heard.everything = true,
            Word::Touched(_) if heard.everything => {}
            Word::Touched(path) => {
                heard.paths.insert(path);
            }
            Word::Everything => heard.everything = true,
            Word::Refs => heard.refs = true,
            Word::Ask(path) => {
                heard.asks.push(path);
                self.bell.notify_all();
                return;
            }
        }
        if heard.paths.len() > MOST_PATHS {
            heard.everything = true;
            heard.paths.clear();
        }
        let first = heard.between.is_none();
        heard.at(Instant::now());
        if first {
            self.bell.notify_all();
        }
    }

    /// Events were lost.
    pub(super) fn lose(&self) {
        self.lock().lost = true;
        self.put(Word::Everything);
    }

    /// Looks at what is there, after waiting for the bell for so long if there is nothing.
    pub(super) fn peek<T>(&self, wait: Duration, look: impl FnOnce(&Heard) -> T) -> T {
        let mut heard = self.lock();
        if !heard.is_change() && heard.asks.is_empty() && !wait.is_zero() {
            heard = self.bell.wait_timeout(heard, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        look(&heard)
    }

    /// Waits for the bell, which rings when somebody asks, for so long.
    pub(super) fn rest(&self, wait: Duration) {
        let heard = self.lock();
        if heard.asks.is_empty() {
            drop(self.bell.wait_timeout(heard, wait));
        }
    }

    /// Sends away who asks.
    pub(super) fn refuse(&self) {
        self.lock().asks.clear();
    }

    /// Takes everything out.
    pub(super) fn take(&self) -> Heard {
        std::mem::take(&mut *self.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_means_what_git_and_the_vault_make_of_it() {
        let grounds = Grounds {
            root: "/v".into(),
            git_dir: "/v/.git/worktrees/side".into(),
            common_dir: "/v/.git".into(),
            asks: "/v/.git/worktrees/side/runebook/watch/asks".into(),
        };
        let path = |text: &str| VaultPath::parse(text).unwrap();
        for (at, word) in [
            ("/v/a/b.md", Word::Touched(path("a/b.md"))),
            ("/v/a", Word::Touched(path("a"))),
            ("/v", Word::Everything),
            ("/v/.gitignore", Word::Touched(VaultPath::root())),
            ("/v/a/.gitignore", Word::Touched(path("a"))),
            ("/v/a/.git", Word::Touched(path("a"))),
            ("/v/a/.runebook", Word::Touched(path("a"))),
            ("/v/.runebook/config.yaml", Word::Everything),
            ("/v/.runebook/actors.yaml", Word::Nothing),
            ("/v/a/.b.md.swp", Word::Nothing),
            ("/v/.obsidian/app.json", Word::Nothing),
            ("/v/.git", Word::Nothing),
            ("/v/.git/refs/heads/main", Word::Refs),
            ("/v/.git/refs/heads/main.lock", Word::Nothing),
            ("/v/.git/packed-refs", Word::Refs),
            ("/v/.git/index", Word::Nothing),
            ("/v/.git/info/exclude", Word::Everything),
            ("/v/.git/runebook/index-1/catalog.db", Word::Nothing),
            ("/v/.git/worktrees/side/HEAD", Word::Refs),
            ("/v/.git/worktrees/side/runebook/watch/asks/7-1", {
                Word::Ask("/v/.git/worktrees/side/runebook/watch/asks/7-1".into())
            }),
            ("/w/a.md", Word::Nothing),
        ] {
            assert_eq!(grounds.word(Path::new(at)), word, "{at}");
        }
    }

    #[test]
    fn lost_events_mean_everything_and_nothing_is_taken_twice() {
        let inbox = Inbox::default();
        inbox.put(Word::Touched(VaultPath::parse("a").unwrap()));
        assert!(inbox.take().is_change() && !inbox.peek(Duration::ZERO, Heard::is_change));
        inbox.lose();
        inbox.put(Word::Ask("/a".into()));
        let heard = inbox.take();
        assert!(heard.lost && heard.everything && heard.asks.len() == 1);
    }
}
