//! Listening to directories. The only place that names notify.
//!
//! Each directory of the vault is listened to by itself, so that ignored ones cost nothing; of git's only those that
//! tell of references. Where the system takes one request for a whole tree, that is made instead.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode};
use notify::{ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::inbox::{Grounds, Inbox, Word};
use crate::model::path::VaultPath;
use crate::store::selection::Selection;

/// Whether the system listens to a whole tree at once.
const WHOLE_TREES: bool = cfg!(any(target_os = "macos", target_os = "windows"));

/// Who listens.
pub(super) struct Ears {
    watcher: Option<RecommendedWatcher>,
    grounds: Arc<Grounds>,
    inbox: Arc<Inbox>,
    heard: HashSet<VaultPath>,
    deaf: BTreeSet<VaultPath>,
    /// Whether something of git's is not listened to.
    git_deaf: bool,
    /// The most directories that are listened to.
    most: usize,
    /// Why some or all are not listened to.
    why: Option<String>,
}

/// Whether an event can mean that something is another now. Reading is none: one `git status` opens every file.
fn matters(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

impl Ears {
    /// Begins to listen, to nothing yet. Where the system refuses, [`Ears::why`] says so and nothing is heard.
    pub(super) fn open(grounds: Arc<Grounds>, inbox: Arc<Inbox>, most: usize) -> Ears {
        let mut ears = Ears {
            watcher: None,
            grounds,
            inbox,
            heard: HashSet::new(),
            deaf: BTreeSet::new(),
            git_deaf: false,
            most,
            why: None,
        };
        ears.renew();
        ears
    }

    /// Begins anew: what was listened to is in doubt.
    pub(super) fn renew(&mut self) {
        self.watcher = None;
        self.heard.clear();
        self.deaf.clear();
        self.git_deaf = false;
        self.why = None;
        if self.most == 0 {
            return;
        }
        let (grounds, inbox) = (Arc::clone(&self.grounds), Arc::clone(&self.inbox));
        let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| match event {
            Ok(event) if event.need_rescan() => inbox.lose(),
            Ok(event) if matters(event.kind) => {
                for path in &event.paths {
                    match grounds.word(path) {
                        // The rest are our own answers.
                        Word::Ask(_) if !matches!(event.kind, EventKind::Create(_)) => {}
                        word => inbox.put(word),
                    }
                }
            }
            Ok(_) => {}
            Err(_) => inbox.lose(),
        });
        match made {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => self.why = Some(reason(&error, 0)),
        }
    }

    /// Listens to the root and to what git keeps about references. Those that are not there are passed over: they are
    /// asked for again when a directory above them tells of something.
    pub(super) fn listen_to_git(&mut self, main_ref: &str) {
        let Grounds { root, git_dir, common_dir, asks } = &*self.grounds.clone();
        let mut places: Vec<PathBuf> = vec![asks.clone(), root.join(".runebook"), git_dir.clone()];
        places.extend([common_dir.clone(), common_dir.join("info"), common_dir.join("worktrees")]);
        let reference = Path::new(main_ref);
        places.extend(reference.ancestors().skip(1).map(|above| common_dir.join(above)));
        self.git_deaf = false;
        for place in places {
            if place.is_dir() {
                self.git_deaf |= !self.add(&place, RecursiveMode::NonRecursive);
            }
        }
    }

    /// Whether it is told of something in that place.
    fn add(&mut self, place: &Path, mode: RecursiveMode) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        match watcher.watch(place, mode) {
            Ok(()) => true,
            // It is gone again: its parent tells.
            Err(error) if matches!(error.kind, ErrorKind::PathNotFound) || is_gone(&error) => true,
            Err(error) => {
                self.why = Some(reason(&error, self.heard.len()));
                false
            }
        }
    }

    /// Listens to directories, also to those that it listens to already: another may stand under the name. Gives
    /// those that are new.
    pub(super) fn listen(&mut self, dirs: &[VaultPath]) -> Vec<VaultPath> {
        let mut new = Vec::new();
        if WHOLE_TREES {
            let root = self.grounds.root.clone();
            if self.heard.is_empty() && self.add(&root, RecursiveMode::Recursive) {
                self.heard.insert(VaultPath::root());
                new.push(VaultPath::root());
            }
            return new;
        }
        let mut full = self.watcher.is_none();
        for dir in dirs {
            let known = self.heard.contains(dir);
            let room = known || self.heard.len() < self.most;
            let place = self.grounds.root.join(dir.as_str());
            let told = !full && room && self.add(&place, RecursiveMode::NonRecursive);
            // After the first refusal each further one would only cost time.
            full |= !told && room;
            if told {
                self.deaf.remove(dir);
            } else {
                self.heard.remove(dir);
                self.deaf.insert(dir.clone());
            }
            if told && self.heard.insert(dir.clone()) {
                new.push(dir.clone());
            }
        }
        self.forgive();
        // Where nothing was to be listened to, whoever chose that says why.
        if self.most > 0 && !self.deaf.is_empty() && self.why.is_none() {
            self.why = Some(format!("no more than {} directories are to be listened to", self.most));
        }
        new
    }

    /// Forgets directories of a part of the vault that are not among those that are there.
    pub(super) fn forget(&mut self, part: Option<&Selection>, there: &[VaultPath]) {
        let there: HashSet<&VaultPath> = there.iter().collect();
        let stays = |dir: &VaultPath| {
            dir.is_root() || there.contains(dir) || part.is_some_and(|part| !part.holds(dir.as_str()))
        };
        if !WHOLE_TREES {
            let gone: Vec<VaultPath> = self.heard.iter().filter(|dir| !stays(dir)).cloned().collect();
            for dir in gone {
                self.heard.remove(&dir);
                if let Some(watcher) = &mut self.watcher {
                    // It fails where the directory is gone, and then nothing is heard of it anyway.
                    let _ = watcher.unwatch(&self.grounds.root.join(dir.as_str()));
                }
            }
        }
        self.deaf.retain(stays);
        self.forgive();
    }

    /// What was in the way is no more, once all is listened to.
    fn forgive(&mut self) {
        if self.watcher.is_some() && !self.is_partly_deaf() {
            self.why = None;
        }
    }

    /// Whether a directory is listened to.
    pub(super) fn hears(&self, dir: &VaultPath) -> bool {
        WHOLE_TREES || self.heard.contains(dir)
    }

    /// How many directories are listened to.
    pub(super) fn count(&self) -> u64 {
        self.heard.len() as u64
    }

    /// The directories that are not listened to.
    pub(super) fn deaf(&self) -> &BTreeSet<VaultPath> {
        &self.deaf
    }

    /// Whether something is not listened to.
    pub(super) fn is_partly_deaf(&self) -> bool {
        self.git_deaf || !self.deaf.is_empty()
    }

    /// Whether nothing at all is heard.
    pub(super) fn is_deaf(&self) -> bool {
        self.watcher.is_none()
    }

    /// Why some or all are not listened to, with what to do about it.
    pub(super) fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }
}

fn is_gone(error: &notify::Error) -> bool {
    let ErrorKind::Io(io) = &error.kind else { return false };
    matches!(io.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Why the system refuses to listen, and what to do about it.
fn reason(error: &notify::Error, heard: usize) -> String {
    // EMFILE: the system counts inotify instances by user, and calls it as it calls too many open files.
    let instances = matches!(&error.kind, ErrorKind::Io(io) if io.raw_os_error() == Some(24));
    if matches!(error.kind, ErrorKind::MaxFilesWatch) {
        format!(
            "the system listens to no more than these {heard} directories; to raise the limit, run `sudo sysctl \
             fs.inotify.max_user_watches=1048576` and, to keep it, write that into /etc/sysctl.d/40-inotify.conf"
        )
    } else if instances && cfg!(target_os = "linux") {
        "too many programs listen already; to raise the limit, run `sudo sysctl fs.inotify.max_user_instances=1024` \
         and, to keep it, write that into /etc/sysctl.d/40-inotify.conf"
            .to_owned()
    } else {
        format!("the system does not tell of changes here: {error}")
    }
}
