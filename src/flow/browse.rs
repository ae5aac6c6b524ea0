//! Looking around: directories, trees, files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::reader::{Listing, Reader, Stands};
use crate::markdown;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::Finding;
use crate::model::memory::Memory;
use crate::model::path::VaultPath;
use crate::model::uri::{Fragment, Uri};

/// One entry of a directory. `runebook ls --json` prints one a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Item {
    /// Its path, relative to the vault.
    pub path: VaultPath,
    /// Its address.
    pub uri: String,
    /// Whether it is a directory.
    pub directory: bool,
    /// The file's size in bytes, where it is known without reading it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// The entries of a directory, directories first, each group in the order of their names.
#[derive(Debug, Clone)]
pub struct Directory {
    /// The entries.
    pub items: Vec<Item>,
    /// What could not be listed.
    pub problems: Vec<Finding>,
}

fn item(reader: &Reader<'_, '_>, path: VaultPath, directory: bool, size: Option<u64>) -> Item {
    let uri = if directory { Uri::directory(path.clone()) } else { Uri::file(path.clone()) };
    let uri = Uri { rev: reader.rev(), ..uri };
    Item { path, uri: uri.to_string(), directory, size }
}

/// The entries of a directory; of a file the file itself. Names that begin with a dot only when `hidden`.
///
/// # Errors
/// When it cannot be listed.
pub fn ls(reader: &Reader<'_, '_>, at: &VaultPath, kind: Stands, hidden: bool) -> Result<Directory, Fault> {
    if kind == Stands::File {
        return Ok(Directory { items: vec![item(reader, at.clone(), false, None)], problems: Vec::new() });
    }
    let Listing { files, directories, problems } = reader.list(at, Some(1), hidden)?;
    let mut items: Vec<Item> = directories.into_iter().map(|path| item(reader, path, true, None)).collect();
    items.extend(files.into_iter().map(|(path, size)| item(reader, path, false, size)));
    Ok(Directory { items, problems })
}

/// A directory with what stands below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tree {
    /// The directory, relative to the vault.
    pub path: VaultPath,
    /// The directories in it.
    pub directories: Vec<Tree>,
    /// The files in it.
    pub files: Vec<VaultPath>,
    /// How many entries of it are not shown.
    pub more: usize,
    /// How many files stand below it, at any depth that was looked at.
    pub total: usize,
}

/// The tree below a directory, so many levels down; of a directory with more entries only the first `most`.
///
/// # Errors
/// When it cannot be listed.
pub fn tree(
    reader: &Reader<'_, '_>,
    at: &VaultPath,
    levels: Option<usize>,
    most: usize,
    hidden: bool,
) -> Result<(Tree, Vec<Finding>), Fault> {
    let found = reader.list(at, levels, hidden)?;
    let mut nodes: BTreeMap<VaultPath, Tree> = BTreeMap::new();
    let node = |path: &VaultPath| Tree { path: path.clone(), ..Tree::default() };
    nodes.insert(at.clone(), node(at));
    for path in &found.directories {
        nodes.insert(path.clone(), node(path));
    }
    for (path, _) in found.files {
        let parent = path.parent();
        let into = nodes.entry(parent.clone()).or_insert_with(|| node(&parent));
        into.total += 1;
        into.files.push(path);
    }
    // The deepest first, so that every directory is whole when it is put into the one above it.
    let mut order: Vec<VaultPath> = nodes.keys().filter(|path| *path != at).cloned().collect();
    order.sort_by_key(|path| std::cmp::Reverse(path.as_str().matches('/').count()));
    for path in order {
        let Some(mut done) = nodes.remove(&path) else { continue };
        trim(&mut done, most);
        let parent = path.parent();
        let into = nodes.entry(parent.clone()).or_insert_with(|| node(&parent));
        into.total += done.total;
        into.directories.push(done);
    }
    let mut whole = nodes.remove(at).unwrap_or_default();
    trim(&mut whole, most);
    Ok((whole, found.problems))
}

fn trim(tree: &mut Tree, most: usize) {
    tree.directories.sort_by(|a, b| a.path.cmp(&b.path));
    let all = tree.directories.len() + tree.files.len();
    tree.directories.truncate(most);
    tree.files.truncate(most - tree.directories.len());
    tree.more = all - tree.directories.len() - tree.files.len();
}

/// A file's content, or a part of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Content {
    /// The file, relative to the vault.
    pub path: VaultPath,
    /// Its address, with what was asked for.
    pub uri: String,
    /// The first line that is shown, counted from 1.
    pub first_line: u32,
    /// The text; bytes that are not UTF-8 are replaced here, and only here.
    pub text: String,
    /// The bytes as they are.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// Why a part of a file is not shown.
#[derive(Debug, thiserror::Error)]
pub enum CatError {
    /// The file has no such part.
    #[error("`{path}` has no part `#{fragment}`")]
    NoPart {
        /// The file.
        path: VaultPath,
        /// What was asked for.
        fragment: String,
        /// What it has, as a sentence.
        instead: Option<String>,
    },
    /// A range of lines is malformed.
    #[error("`{0}` is no range of lines")]
    Range(String),
}

impl Explain for CatError {
    fn kind(&self) -> Kind {
        match self {
            CatError::NoPart { .. } => Kind::Nothing,
            CatError::Range(_) => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            CatError::NoPart { instead, .. } => instead.clone(),
            CatError::Range(_) => Some("write 10, 10-20 or 10- (counted from 1)".to_owned()),
        }
    }
}

/// Reads `10`, `10-20` or `10-`.
///
/// # Errors
/// When it is no range, runs backwards or begins at 0.
pub fn range(text: &str) -> Result<(u32, u32), CatError> {
    let wrong = || CatError::Range(text.to_owned());
    let number = |text: &str| text.trim().trim_start_matches(['L', 'l']).parse::<u32>().map_err(|_| wrong());
    let (from, to) = match text.split_once('-') {
        Some((from, "")) => (number(from)?, u32::MAX),
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(text)?, number(text)?),
    };
    if from == 0 || from > to { Err(wrong()) } else { Ok((from, to)) }
}

/// A file's content: whole, the part that the address's fragment names, or some lines.
///
/// # Errors
/// When the file cannot be read or has no such part.
pub fn cat(reader: &Reader<'_, '_>, uri: &Uri, lines: Option<(u32, u32)>) -> Result<Content, Fault> {
    let Some(bytes) = reader.read(&uri.path)? else {
        return Err(super::locate::missing(reader, uri.path.as_str(), &uri.path)?.into());
    };
    let wanted = match (lines, &uri.fragment) {
        (None, Some(Fragment::Lines(from, to))) => Some((*from, *to)),
        (lines, _) => lines,
    };
    let (first_line, bytes) = match (wanted, &uri.fragment) {
        (Some((from, to)), _) => {
            let picked = pick_lines(&bytes, from, to);
            let missing = || CatError::NoPart {
                path: uri.path.clone(),
                fragment: format!("L{from}"),
                instead: Some(format!("it has {}", extent(&bytes))),
            };
            (from, picked.ok_or_else(missing)?)
        }
        (None, Some(fragment)) => part(reader, uri, fragment, &bytes)?,
        (None, None) => (1, bytes),
    };
    Ok(Content {
        path: uri.path.clone(),
        uri: uri.to_string(),
        first_line,
        text: String::from_utf8_lossy(&bytes).into_owned(),
        bytes,
    })
}

/// The error for a part that a memory does not have, with what it has.
pub(super) fn no_part(memory: &Memory, fragment: &Fragment) -> CatError {
    CatError::NoPart {
        path: memory.path.clone(),
        fragment: fragment.to_string(),
        instead: markdown::sections::instead(memory, fragment),
    }
}

/// How many lines a text has, in words.
fn extent(bytes: &[u8]) -> String {
    match bytes.split_inclusive(|byte| *byte == b'\n').count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}

fn pick_lines(bytes: &[u8], from: u32, to: u32) -> Option<Vec<u8>> {
    let (from, to) = (from as usize, to as usize);
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').skip(from - 1).peekable();
    lines.peek()?;
    Some(lines.take(to - from + 1).flatten().copied().collect())
}

fn part(
    reader: &Reader<'_, '_>,
    uri: &Uri,
    fragment: &Fragment,
    bytes: &[u8],
) -> Result<(u32, Vec<u8>), Fault> {
    let memory = markdown::read(&uri.path, bytes, &reader.vault.config);
    match markdown::sections::locate(&memory, fragment) {
        Some(range) => {
            let before = memory.text[..range.start].matches('\n').count();
            Ok((before as u32 + 1, memory.text[range].as_bytes().to_vec()))
        }
        None => Err(no_part(&memory, fragment).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(range("10").unwrap(), (10, 10));
        assert_eq!(range("L10-L20").unwrap(), (10, 20));
        assert_eq!(range("3-").unwrap(), (3, u32::MAX));
        for bad in ["", "0", "5-3", "a", "-3", "1-2-3"] {
            assert!(range(bad).is_err(), "{bad}");
        }
        assert_eq!(pick_lines(b"a\r\nb\nc", 2, 9).unwrap(), b"b\nc");
        assert_eq!(pick_lines(b"a\r\nb\nc", 1, 1).unwrap(), b"a\r\n");
        assert!(pick_lines(b"a\n", 2, 2).is_none());
    }
}
