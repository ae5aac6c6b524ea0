//! What `.gitignore` and git's `info/exclude` leave out of a walk. They are read here, by the rules of the `ignore`
//! crate's matcher, because its walker opens whatever stands under such a name, and waits for a named pipe.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{git_place, plain};
use crate::model::finding::{Finding, Severity};
use crate::model::path::VaultPath;

/// The name of the files with the rules.
const NAME: &str = ".gitignore";

/// The most bytes that such a file may have.
const MOST: u64 = 4 << 20;

/// The rules of the directories that a walk came through.
pub(super) struct Ignored {
    root: PathBuf,
    levels: RwLock<HashMap<PathBuf, Arc<Level>>>,
    /// What holds for the whole repository, after what the directories say.
    exclude: Gitignore,
    problems: Mutex<Vec<Finding>>,
}

/// The rules that hold in a directory: those of the nearest one that has some, then those above.
struct Level {
    own: Gitignore,
    above: Option<Arc<Level>>,
}

impl Ignored {
    /// The rules for a walk that begins at `below`: those on the way to it are read. What stands above the root has no
    /// say.
    pub(super) fn new(root: &Path, below: &VaultPath) -> Ignored {
        let mut rules = Ignored {
            root: root.to_owned(),
            levels: RwLock::default(),
            exclude: Gitignore::empty(),
            problems: Mutex::default(),
        };
        if let Some(at) = git_place::common_dir(root).map(|common| common.join("info").join("exclude"))
            && let Some(exclude) = rules.read(&at, root)
        {
            rules.exclude = exclude;
        }
        let mut way: Vec<VaultPath> = below.ancestors().filter(|above| !above.is_root()).collect();
        way.reverse();
        if !below.is_root() {
            way.push(below.clone());
        }
        rules.enter(root);
        way.iter().for_each(|directory| rules.enter(&root.join(directory.as_str())));
        rules
    }

    /// Reads what a directory says itself. To be called for each before its entries are asked about.
    pub(super) fn enter(&self, directory: &Path) {
        let above = if directory == self.root { None } else { self.level(directory.parent()) };
        let own = self.read(&directory.join(NAME), directory);
        let level = match (own, above) {
            (Some(own), above) => Arc::new(Level { own, above }),
            (None, Some(above)) => above,
            (None, None) => return,
        };
        let mut levels = self.levels.write().unwrap_or_else(PoisonError::into_inner);
        levels.insert(directory.to_owned(), level);
    }

    /// Whether an entry is left out. Those above it are not.
    pub(super) fn leaves_out(&self, at: &Path, is_dir: bool) -> bool {
        let mut level = self.level(at.parent());
        while let Some(now) = level {
            let found = now.own.matched(at, is_dir);
            if !found.is_none() {
                return found.is_ignore();
            }
            level = now.above.clone();
        }
        self.exclude.matched(at, is_dir).is_ignore()
    }

    /// What is wrong with the files that have the rules.
    pub(super) fn problems(&self) -> Vec<Finding> {
        std::mem::take(&mut self.problems.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn level(&self, directory: Option<&Path>) -> Option<Arc<Level>> {
        let levels = self.levels.read().unwrap_or_else(PoisonError::into_inner);
        levels.get(directory?).cloned()
    }

    /// The rules of one file, for what stands below `directory`; none where it has none.
    fn read(&self, at: &Path, directory: &Path) -> Option<Gitignore> {
        let bytes = match plain::read_bounded(at, MOST) {
            Ok(bytes) => bytes,
            Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
            // In a directory that cannot be read nothing is known to stand; the walk tells of it.
            Err(_) if at.symlink_metadata().is_err() => return None,
            Err(why) => {
                self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(self.unused(at, &why));
                return None;
            }
        };
        let mut builder = GitignoreBuilder::new(directory);
        let text = String::from_utf8_lossy(&bytes);
        for line in text.strip_prefix('\u{feff}').unwrap_or(&text).lines() {
            // A line that makes no sense hides nothing, as in git.
            let _ = builder.add_line(None, line);
        }
        builder.build().ok().filter(|rules| !rules.is_empty())
    }

    fn unused(&self, at: &Path, why: &io::Error) -> Finding {
        let rule = if plain::special_at(at).is_some() { "path.kind" } else { "path.unreadable" };
        let path = at.strip_prefix(&self.root).ok().and_then(Path::to_str).map(str::to_owned);
        let path = path.and_then(|path| VaultPath::parse(&path.replace(std::path::MAIN_SEPARATOR, "/")).ok());
        let fix = "mend or remove it; until then what it should leave out is taken in";
        let finding = |message: String| Finding::new(rule, Severity::Warning, message).with_fix(fix);
        match path {
            Some(path) => finding(format!("its rules cannot be read: {why}")).in_file(&path),
            None => finding(format!("{} cannot be read: {why}", at.display())),
        }
    }
}
