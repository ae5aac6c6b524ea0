//! A part of a vault: some paths with all that stands below them.

use std::collections::HashSet;

use crate::model::path::VaultPath;

/// Some paths, each a file or a directory with everything below it. Asking costs as many steps as a path has segments,
/// however many were picked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    picked: HashSet<String>,
    above: HashSet<String>,
}

impl FromIterator<VaultPath> for Selection {
    fn from_iter<I: IntoIterator<Item = VaultPath>>(paths: I) -> Selection {
        let mut selection = Selection::default();
        for path in paths {
            for dir in path.ancestors() {
                if !selection.above.insert(dir.as_str().to_owned()) {
                    break;
                }
            }
            selection.picked.insert(path.as_str().to_owned());
        }
        selection
    }
}

/// A path and the directories above it, nearest first, the root last.
fn upwards(path: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(path);
    std::iter::from_fn(move || {
        let now = next?;
        next = match now.rfind('/') {
            Some(at) => Some(&now[..at]),
            None if now.is_empty() => None,
            None => Some(""),
        };
        Some(now)
    })
}

impl Selection {
    /// Whether a path was picked, or stands below one that was.
    #[must_use]
    pub fn holds(&self, path: &str) -> bool {
        !self.picked.is_empty() && upwards(path).any(|at| self.picked.contains(at))
    }

    /// Whether a directory has to be looked into to find all that is held.
    #[must_use]
    pub fn leads_through(&self, dir: &str) -> bool {
        self.above.contains(dir) || self.holds(dir)
    }

    /// Whether it holds the whole vault.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.picked.contains("")
    }

    /// The paths that were picked, in no particular order.
    pub fn picked(&self) -> impl Iterator<Item = &str> {
        self.picked.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_picked_and_what_stands_below() {
        let some = ["a/b", "c.md", "日记/二"].map(|path| VaultPath::parse(path).unwrap());
        let some: Selection = some.into_iter().collect();
        for path in ["a/b", "a/b/x.md", "c.md", "日记/二/x"] {
            assert!(some.holds(path) && some.leads_through(path), "{path}");
        }
        for path in ["", "a", "日记"] {
            assert!(!some.holds(path) && some.leads_through(path), "{path}");
        }
        for path in ["a/bc", "ab", "c.mdx", "日"] {
            assert!(!some.holds(path) && !some.leads_through(path), "{path}");
        }
        assert!(!some.is_whole());
        let whole: Selection = [VaultPath::root()].into_iter().collect();
        assert!(whole.is_whole() && whole.holds("a/b") && whole.leads_through(""));
        assert!(!Selection::default().holds("") && !Selection::default().leads_through(""));
    }
}
