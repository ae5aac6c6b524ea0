//! The names that a mistyped one is near to.

use std::collections::{BTreeMap, HashSet};

use crate::model::link::name_key;
use crate::model::path::VaultPath;

/// How many names that begin with a target are looked at: with more of them the target is no name cut short.
const BEGINNINGS: usize = 1_000;

/// The names of a vault's files, ready to be compared with a mistyped one. Comparing with 100,000 names takes some tens
/// of microseconds: a count of the letters that differ rules nearly all of them out.
#[derive(Debug, Default)]
pub struct Nearest {
    /// By [`key`], then path.
    names: Vec<Name>,
    /// By the names' length in characters.
    lengths: BTreeMap<usize, OfLength>,
}

#[derive(Debug)]
struct Name {
    key: String,
    length: usize,
    path: VaultPath,
}

/// The names of one length; the two lists go together.
#[derive(Debug, Default)]
struct OfLength {
    letters: Vec<u64>,
    /// Which of the names.
    names: Vec<u32>,
}

/// Which of 64 classes of characters occur.
fn letters(key: &str) -> u64 {
    key.chars().fold(0, |bits, c| bits | 1 << (u32::from(c) % 64))
}

/// The text of a link's target or a file's path that is compared: the last segment, without `.md`, folded.
fn key(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".md").unwrap_or(name);
    name_key(name)
}

impl Nearest {
    /// Takes the files' paths.
    #[must_use]
    pub fn new<'p>(paths: impl Iterator<Item = &'p VaultPath>) -> Nearest {
        let of = |path: &VaultPath| {
            let key = key(path.as_str());
            Name { length: key.chars().count(), key, path: path.clone() }
        };
        let mut names: Vec<Name> = paths.map(of).collect();
        names.sort_by(|a, b| (&a.key, &a.path).cmp(&(&b.key, &b.path)));
        let mut lengths: BTreeMap<usize, OfLength> = BTreeMap::new();
        for (at, name) in (0..).zip(&names) {
            let same = lengths.entry(name.length).or_default();
            same.letters.push(letters(&name.key));
            same.names.push(at);
        }
        Nearest { names, lengths }
    }

    /// At most three files whose names are near to a target's, best first.
    #[must_use]
    pub fn find(&self, target: &str) -> Vec<VaultPath> {
        let wanted = key(target);
        let length = wanted.chars().count();
        if length == 0 || length > 200 {
            return Vec::new();
        }
        // In a name of two characters another one is another word.
        let allowed = if length < 3 { 0 } else { (length / 4).clamp(1, 3) };
        let set = letters(&wanted);
        let mut found: Vec<(usize, &VaultPath)> = Vec::new();
        for same in
            self.lengths.range(length.saturating_sub(allowed)..=length + allowed).map(|(_, same)| same)
        {
            for (letters, at) in same.letters.iter().zip(&same.names) {
                // Each edit changes at most two classes.
                if (letters ^ set).count_ones() as usize > 2 * allowed {
                    continue;
                }
                let Some(name) = self.names.get(*at as usize) else { continue };
                let distance = strsim::osa_distance(&name.key, &wanted);
                if distance <= allowed && distance < length.max(2) {
                    found.push((distance, &name.path));
                }
            }
        }
        if length >= 4 {
            let first = self.names.partition_point(|name| name.key < wanted);
            let longer = self.names.iter().skip(first).take_while(|name| name.key.starts_with(&wanted));
            let longer = longer
                .take(BEGINNINGS)
                .filter(|name| name.length > length + allowed && name.length <= 3 * length);
            found.extend(longer.map(|name| (allowed + 1, &name.path)));
        }
        found.sort();
        // The same name in another directory: nothing that is merely like it can be meant.
        if found.first().is_some_and(|(distance, _)| *distance == 0) {
            found.retain(|(distance, _)| *distance == 0);
        }
        let mut said = HashSet::new();
        found
            .into_iter()
            .filter(|(_, path)| said.insert(*path))
            .take(3)
            .map(|(_, path)| path.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_best_first() {
        let paths: Vec<VaultPath> = ["a/Seats.md", "b/Seat.md", "c/Seats 2024.md", "d/Other.md", "e/日记.md"]
            .iter()
            .map(|p| VaultPath::parse(p).unwrap())
            .collect();
        let nearest = Nearest::new(paths.iter());
        let found: Vec<String> = nearest.find("x/Saets").iter().map(ToString::to_string).collect();
        assert_eq!(found, ["a/Seats.md"]);
        let found: Vec<String> = nearest.find("seats").iter().map(ToString::to_string).collect();
        assert_eq!(found, ["a/Seats.md"]);
        let found: Vec<String> = nearest.find("seatz").iter().map(ToString::to_string).collect();
        assert_eq!(found, ["a/Seats.md", "b/Seat.md"]);
        let found: Vec<String> = nearest.find("Othe").iter().map(ToString::to_string).collect();
        assert_eq!(found, ["d/Other.md"]);
        assert!(nearest.find("完全不同").is_empty());
        assert!(nearest.find("").is_empty());
    }
}
