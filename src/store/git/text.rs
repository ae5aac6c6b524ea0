//! Texts compared and merged: what differs as hunks of lines, and the three-way merge.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::{GitError, Repo, Unseen, index_error, other};
use crate::model::change::{Entry, mode};
use crate::model::path::VaultPath;

/// A run of lines that differ, with context around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hunk {
    /// The first line before, counted from 1.
    pub old_start: u32,
    /// How many lines before.
    pub old_lines: u32,
    /// The first line afterwards, counted from 1.
    pub new_start: u32,
    /// How many lines afterwards.
    pub new_lines: u32,
    /// The lines: a first character (`+`, `-`, space, `\` for a missing line end) and the text without line end.
    pub lines: Vec<String>,
}

/// What differs between two texts; `None` when one of them is no text.
///
/// # Errors
/// When libgit2 fails.
pub fn hunks(old: &[u8], new: &[u8]) -> Result<Option<Vec<Hunk>>, GitError> {
    let doing = || other("comparing two texts");
    let mut options = git2::DiffOptions::new();
    options.context_lines(3).indent_heuristic(true);
    let patch = git2::Patch::from_buffers(old, None, new, None, Some(&mut options)).map_err(doing())?;
    if patch.delta().flags().is_binary() {
        return Ok(None);
    }
    let mut out = Vec::new();
    for index in 0..patch.num_hunks() {
        let (hunk, count) = patch.hunk(index).map_err(doing())?;
        let mut lines = Vec::with_capacity(count);
        for line in 0..count {
            let line = patch.line_in_hunk(index, line).map_err(doing())?;
            let origin = match line.origin() {
                origin @ ('+' | '-' | ' ') => origin,
                _ => '\\',
            };
            let text = String::from_utf8_lossy(line.content());
            let text = text.trim_start_matches(|c| origin == '\\' && c == '\n').trim_end_matches('\n');
            lines.push(format!(
                "{origin}{}",
                text.trim_start_matches(if origin == '\\' { "\\ " } else { "" })
            ));
        }
        out.push(Hunk {
            old_start: hunk.old_start(),
            old_lines: hunk.old_lines(),
            new_start: hunk.new_start(),
            new_lines: hunk.new_lines(),
            lines,
        });
    }
    Ok(Some(out))
}

/// What came of a three-way merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// Both changes fit together.
    Clean(Vec<u8>),
    /// They do not: the lines of `ours` (counted from 1, both ends included) that both sides changed.
    Conflict(Vec<(u32, u32)>),
}

/// Merges two changes of one text by lines.
///
/// # Errors
/// When libgit2 fails.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Merged, GitError> {
    if [base, ours, theirs].iter().any(|text| text.contains(&0)) {
        return Ok(Merged::Conflict(vec![(1, 1)]));
    }
    // What merges files does not start libgit2 by itself, and without that it fails; making a buffer does.
    drop(git2::Buf::new());
    let input = |text| {
        let mut input = git2::MergeFileInput::new();
        input.content(text);
        input
    };
    let mut options = git2::MergeFileOptions::new();
    // Markers of a length that no text has, so that they are told from the text.
    options.style_standard(true).marker_size(MARKER);
    let merged = git2::merge_file(&input(base), &input(ours), &input(theirs), Some(&mut options))
        .map_err(other("merging two changes of a file"))?;
    if merged.is_automergeable() {
        return Ok(Merged::Clean(merged.content().to_vec()));
    }
    Ok(Merged::Conflict(conflicts(merged.content())))
}

const MARKER: u16 = 63;

fn conflicts(text: &[u8]) -> Vec<(u32, u32)> {
    let is = |line: &[u8], sign: u8| line.iter().take_while(|b| **b == sign).count() >= usize::from(MARKER);
    let mut out = Vec::new();
    let (mut line, mut start, mut theirs) = (0, None, false);
    for text in text.split(|b| *b == b'\n') {
        if is(text, b'<') {
            start = Some(line + 1);
        } else if is(text, b'=') && start.is_some() {
            theirs = true;
        } else if is(text, b'>')
            && let Some(from) = start.take()
        {
            theirs = false;
            out.push((from, line.max(from)));
        } else if !theirs {
            line += 1;
        }
    }
    out
}

/// A file of the work tree that is not as in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// Its path.
    pub path: VaultPath,
    /// What the commit has.
    pub old: Option<Entry>,
    /// What the work tree has, stored as a blob; `None` when it is deleted.
    pub new: Option<Entry>,
    /// Whether git tracks it.
    pub tracked: bool,
    /// Why it cannot be looked at, where it cannot: it is as in the commit then, or a directory with all that it holds.
    pub unseen: Option<Unseen>,
}

impl Repo {
    /// The files below some paths (all when there are none) whose content in this work tree is not HEAD's, staged or
    /// not, untracked ones among them and ignored ones not. Their content is stored as blobs, as `git add` would.
    ///
    /// # Errors
    /// When there is no work tree, or a file cannot be read.
    pub fn edited(&self, below: &[VaultPath]) -> Result<Vec<Edited>, GitError> {
        let Some(root) = self.work_dir().map(Path::to_owned) else { return Ok(Vec::new()) };
        self.rules_open(below)?;
        let mut options = git2::StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).exclude_submodules(true);
        options.disable_pathspec_match(true).include_ignored(false);
        for path in below.iter().filter(|path| !path.is_root()) {
            options.pathspec(path.as_str());
        }
        let statuses = self
            .inner
            .statuses(Some(&mut options))
            .map_err(index_error(self.git_dir(), "looking for edited files"))?;
        let head = match self.head()? {
            super::Head::Branch(_, oid) => oid,
            super::Head::Detached(oid) => Some(oid),
        };
        let tree = head.map(|head| self.tree_of(head)).transpose()?;
        let mut out = Vec::new();
        for status in statuses.iter() {
            let Some(path) = VaultPath::from_disk(status.path_bytes()) else { continue };
            let old = match tree {
                Some(tree) => self.entry_at(tree, &path)?.filter(|entry| entry.mode != mode::TREE),
                None => None,
            };
            let tracked = !status.status().is_wt_new();
            match self.stored(&root, &path) {
                Ok(new) if old == new => {}
                Ok(new) => out.push(Edited { path, old, new, tracked, unseen: None }),
                Err(error) => {
                    let Some((path, why)) = Unseen::above(&root, &path) else { return Err(error) };
                    out.push(Edited { path, old: None, new: None, tracked, unseen: Some(why) });
                }
            }
        }
        out.dedup_by(|a, b| a.unseen.is_some() && b.unseen.is_some() && a.path == b.path);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_lines_and_numbers() {
        let found = hunks(b"a\nb\nc\n", b"a\nB\nc").unwrap().unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].old_start, found[0].old_lines, found[0].new_lines), (1, 3, 3));
        assert_eq!(found[0].lines[..3], [" a", "-b", "-c"]);
        assert!(found[0].lines.iter().any(|line| line.starts_with('\\')), "{:?}", found[0].lines);
        assert_eq!(hunks(b"a\0b", b"c").unwrap(), None);
        assert_eq!(hunks(b"same", b"same").unwrap(), Some(Vec::new()));
    }

    #[test]
    fn merges_by_lines_and_names_the_lines_in_conflict() {
        let base = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
        let ours = b"ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n";
        let theirs = b"one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n";
        let both = b"ONE\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n".to_vec();
        assert_eq!(merge(base, ours, theirs).unwrap(), Merged::Clean(both));
        let ours = b"zero\none\ntwo\nTHREE\nfour\nfive\nsix\nseven\n";
        let theirs = b"one\ntwo\ndrei\nfour\nfive\nsix\nseven\n";
        assert_eq!(merge(base, ours, theirs).unwrap(), Merged::Conflict(vec![(4, 4)]));
    }
}
