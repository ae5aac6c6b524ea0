//! Searching the files as they are: `grep` and `glob`. They need no index.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Serialize;

use super::reader::{Listing, Reader, Stands};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::{Finding, Severity};
use crate::model::path::VaultPath;
use crate::model::policy::compile_glob;
use crate::store::files::{self, FileError};

/// Why a search cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The pattern is malformed.
    #[error("the pattern `{pattern}` is malformed: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A pattern for paths is malformed.
    #[error("the pattern `{pattern}` is malformed: {why}")]
    Glob {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Explain for SearchError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            SearchError::Pattern { .. } => "add `-F` to take the pattern as plain text".to_owned(),
            SearchError::Glob { .. } => "write `[[]` for a bracket that stands for itself".to_owned(),
        })
    }
}

/// What is asked of `grep`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The regular expression, or plain text.
    pub pattern: String,
    /// Whether it is plain text.
    pub plain: bool,
    /// Whether case does not count.
    pub any_case: bool,
    /// How many lines around each hit are given.
    pub context: usize,
    /// Whether names that begin with a dot are searched.
    pub hidden: bool,
}

/// One line. `runebook grep --json` prints one a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// The file, relative to the vault.
    pub path: VaultPath,
    /// The line, counted from 1.
    pub line: u32,
    /// Its text without its end; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Whether the pattern is in it; otherwise it stands around a hit.
    pub hit: bool,
    /// Where the pattern matches, in bytes of `text`; empty where the line is not UTF-8.
    pub matches: Vec<(usize, usize)>,
}

/// What `grep` found.
#[derive(Debug, Clone, Default)]
pub struct Hits {
    /// The lines of each file that has some, in the order of paths and lines.
    pub files: Vec<Vec<Line>>,
    /// What could not be searched.
    pub problems: Vec<Finding>,
}

/// Searches the files at or below a place.
///
/// # Errors
/// When the pattern is malformed or the files cannot be listed; a file that cannot be read is among the problems.
pub fn grep(reader: &Reader<'_, '_>, request: &Request, at: &VaultPath, kind: Stands) -> Result<Hits, Fault> {
    let source = if request.plain { regex::escape(&request.pattern) } else { request.pattern.clone() };
    let pattern = compile(&source, request.any_case)
        .map_err(|error| SearchError::Pattern { pattern: request.pattern.clone(), why: last_line(&error) })?;
    let listing = match kind {
        Stands::File => Listing { files: vec![(at.clone(), None)], ..Listing::default() },
        Stands::Directory => reader.list(at, None, request.hidden)?,
    };
    let paths: Vec<VaultPath> = listing.files.into_iter().map(|file| file.0).collect();
    let unread = Mutex::new(listing.problems);
    let miss = |path: &VaultPath, why: &FileError| {
        // It was removed while we looked: then it is simply not there.
        if why.kind() != Kind::Nothing {
            let finding = Finding::new("path.unreadable", Severity::Warning, why.to_string()).in_file(path);
            unread.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
        }
        Vec::new()
    };
    let cancel = &reader.vault.env.cancel;
    let mut found: Vec<Vec<Line>> = match reader.files_root() {
        // Files are searched in parallel; git's objects are read one after another.
        Some(root) => paths
            .par_iter()
            .filter(|_| !cancel.is_cancelled())
            .map(|path| match files::read(root, path) {
                Ok(bytes) => lines(path, &bytes, &pattern, request.context),
                Err(why) => miss(path, &why),
            })
            .collect(),
        None => {
            let mut out = Vec::new();
            for path in &paths {
                reader.vault.env.go_on()?;
                let bytes = reader.read(path)?.unwrap_or_default();
                out.push(lines(path, &bytes, &pattern, request.context));
            }
            out
        }
    };
    reader.vault.env.go_on()?;
    found.retain(|lines| !lines.is_empty());
    if reader.files_root().is_some() && !reader.sees_all() {
        let mut visible = Vec::new();
        for lines in found {
            if reader.read(&lines[0].path)?.is_some() {
                visible.push(lines);
            }
        }
        found = visible;
    }
    let mut problems = unread.into_inner().unwrap_or_else(PoisonError::into_inner);
    problems.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Hits { files: found, problems })
}

fn last_line(error: &regex::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn lines(path: &VaultPath, bytes: &[u8], pattern: &Regex, context: usize) -> Vec<Line> {
    // A NUL near the beginning means that it is no text; git and ripgrep tell by the same sign.
    if bytes[..bytes.len().min(8000)].contains(&0) || !pattern.is_match(bytes) {
        return Vec::new();
    }
    let all: Vec<&[u8]> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect();
    let hits: Vec<usize> = (0..all.len()).filter(|at| pattern.is_match(all[*at])).collect();
    let mut out: Vec<Line> = Vec::new();
    let mut next = 0;
    for hit in &hits {
        let from = hit.saturating_sub(context).max(next);
        let to = (hit + context).min(all.len().saturating_sub(1));
        for (at, raw) in all.iter().enumerate().take(to + 1).skip(from) {
            let is_hit = hits.binary_search(&at).is_ok();
            let text = String::from_utf8_lossy(raw).into_owned();
            let matches = if is_hit && text.as_bytes() == *raw {
                pattern.find_iter(raw).map(|m| (m.start(), m.end())).take(1000).collect()
            } else {
                Vec::new()
            };
            out.push(Line { path: path.clone(), line: at as u32 + 1, text, hit: is_hit, matches });
            next = at + 1;
        }
    }
    out
}

/// A file that was found. `runebook glob --json` and `runebook grep -l --json` print one a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct File {
    /// Its path, relative to the vault.
    pub path: VaultPath,
}

/// The files whose paths match a pattern (`*` within a name, `**` across directories). A pattern without `/` is
/// looked for in every directory.
///
/// # Errors
/// When the pattern is malformed or the files cannot be listed.
pub fn glob(reader: &Reader<'_, '_>, pattern: &str, hidden: bool) -> Result<Vec<VaultPath>, Fault> {
    let bare = pattern.strip_prefix(crate::model::uri::SCHEME).unwrap_or(pattern);
    let whole = if bare.contains('/') { bare.to_owned() } else { format!("**/{bare}") };
    let matcher =
        compile_glob(&whole).map_err(|why| SearchError::Glob { pattern: pattern.to_owned(), why })?;
    let found = reader.list(&VaultPath::root(), None, hidden)?;
    Ok(found.files.into_iter().map(|(path, _)| path).filter(|path| matcher.is_match(path.as_str())).collect())
}

/// `^` and `$` stand at the ends of lines, also of those that end in CRLF.
fn compile(source: &str, any_case: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source)
        .case_insensitive(any_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(10 << 20)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(bytes: &[u8], pattern: &str, context: usize) -> Vec<(u32, bool)> {
        let pattern = compile(pattern, false).unwrap();
        let path = VaultPath::parse("a.md").unwrap();
        lines(&path, bytes, &pattern, context).iter().map(|l| (l.line, l.hit)).collect()
    }

    #[test]
    fn lines_and_their_surroundings() {
        assert_eq!(
            search("一\r\n靠窗座位\r\n三\n".as_bytes(), "座位$", 1),
            [(1, false), (2, true), (3, false)]
        );
        assert_eq!(
            search(b"x\nx\ny\ny\nx\n", "x", 1),
            [(1, true), (2, true), (3, false), (4, false), (5, true)]
        );
        assert_eq!(search(b"\xff bad x\n", "x", 0), [(1, true)]);
        assert!(search(b"x\0x\n", "x", 0).is_empty(), "binary");
        assert_eq!(search(b"x", "x", 9), [(1, true)]);
    }
}
