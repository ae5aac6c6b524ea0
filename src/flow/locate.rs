//! From what somebody typed to a place in the vault.

use std::path::{Component, Path, PathBuf};

use rayon::prelude::*;

use super::reader::{Reader, Stands, is_git};
use super::vault::Vault;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::link::name_key;
use crate::model::near;
use crate::model::path::VaultPath;
use crate::model::uri::{SCHEME, Uri};
use crate::store::git::Head;
use crate::store::plain;

/// Why a text leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// Nothing stands there.
    #[error("there is no `{text}` in {place}")]
    Missing {
        /// What was asked for.
        text: String,
        /// Where it was looked for.
        place: String,
        /// What has a name like it.
        near: Vec<String>,
    },
    /// Neither a file nor a directory stands there.
    #[error("`{path}` is {what}, not a file")]
    Special {
        /// The place.
        path: VaultPath,
        /// What stands there: `a named pipe`.
        what: &'static str,
    },
    /// It is outside of the vault.
    #[error("`{text}` is outside the vault {}", root.display())]
    Outside {
        /// What was asked for.
        text: String,
        /// The vault's root.
        root: PathBuf,
    },
    /// It is git's.
    #[error("`{0}` belongs to git and is no part of the vault")]
    Git(String),
    /// It is a directory and a file is needed.
    #[error("`{}` is a directory", if .0.is_root() { SCHEME } else { .0.as_str() })]
    Directory(VaultPath),
    /// It is a file and a directory is needed.
    #[error("`{0}` is a file")]
    File(VaultPath),
}

impl Explain for LocateError {
    fn kind(&self) -> Kind {
        match self {
            LocateError::Missing { .. } => Kind::Nothing,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            LocateError::Missing { near, .. } => Some(did_you_mean(near)),
            LocateError::Special { .. } => {
                Some("nothing reads or moves it; move it out of the vault, or remove it".to_owned())
            }
            LocateError::Outside { .. } => Some("name something below the vault's root".to_owned()),
            LocateError::File(path) => Some(format!("`runebook cat {path}` prints it")),
            LocateError::Git(_) => Some("use git itself for it".to_owned()),
            LocateError::Directory(path) => {
                let shown = if path.is_root() { String::new() } else { format!(" {path}") };
                Some(format!("`runebook ls{shown}` lists it; name a file"))
            }
        }
    }
}

/// The question with the names that are near to a wrong one, or how to find out which there are.
#[must_use]
pub fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => "`runebook tree` shows what there is, `runebook find` searches it".to_owned(),
        near => near::question(near),
    }
}

/// A place that exists.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its address, with revision and fragment as they were asked for.
    pub uri: Uri,
    /// What stands there.
    pub kind: Stands,
}

/// Finds what a URI, a path relative to where the person stands or a path relative to the vault names, in that
/// order of trying. A plain path may carry a `#fragment` too.
///
/// # Errors
/// When it leaves the vault or nothing stands there; then the nearest names are in the hint.
pub fn find(reader: &Reader<'_, '_>, text: &str, standing: &Path) -> Result<Target, Fault> {
    let candidates = candidates(reader.vault, text, standing)?;
    let mut blocked = None;
    for uri in &candidates {
        match reader.stands(&uri.path) {
            Ok(Some(kind)) => {
                let directory = kind == Stands::Directory;
                return Ok(Target { uri: Uri { directory, ..uri.clone() }, kind });
            }
            Ok(None) => {}
            Err(error) => blocked = Some(error),
        }
    }
    if let Some(error) = blocked {
        return Err(error);
    }
    if let Some(root) = reader.files_root() {
        for Uri { path, .. } in &candidates {
            // What a reader may not see is not there.
            let what = plain::special_at(root.join(path.as_str())).filter(|_| reader.reads.holds(path));
            if let Some(what) = what {
                return Err(LocateError::Special { path: path.clone(), what }.into());
            }
        }
    }
    let last = candidates.last();
    let wanted = last.map(|uri| uri.path.clone()).unwrap_or_default();
    let mut error = missing(reader, text, &wanted)?;
    // The part that was asked for is asked for in what was meant, too.
    let part = last.filter(|uri| uri.fragment.is_some()).and_then(|_| text.split_once('#'));
    if let (LocateError::Missing { near, .. }, Some((_, part))) = (&mut error, part) {
        near.iter_mut()
            .filter(|name| name.ends_with(".md"))
            .for_each(|name| *name = format!("{name}#{part}"));
    }
    Err(error.into())
}

/// As [`find`], and it must be a file. The ending `.md` may be left out, and so may directories where only one file has
/// the name.
///
/// # Errors
/// As [`find`].
pub fn find_file(reader: &Reader<'_, '_>, text: &str, standing: &Path) -> Result<Uri, Fault> {
    let target = match find(reader, text, standing) {
        Ok(target) => target,
        Err(error) => {
            let found = match with_ending(reader, text, standing)? {
                Some(uri) => Some(uri),
                None => by_name(reader, text, standing)?,
            };
            return found.ok_or(error);
        }
    };
    match target.kind {
        Stands::File => Ok(target.uri),
        Stands::Directory => Err(LocateError::Directory(target.uri.path).into()),
    }
}

/// The file that a text names but for its ending.
fn with_ending(reader: &Reader<'_, '_>, text: &str, standing: &Path) -> Result<Option<Uri>, Fault> {
    for mut uri in candidates(reader.vault, text, standing)? {
        let Ok(path) = VaultPath::parse(&format!("{}.md", uri.path)) else { continue };
        if !uri.path.is_root() && !uri.directory && matches!(reader.stands(&path), Ok(Some(Stands::File))) {
            uri.path = path;
            return Ok(Some(uri));
        }
    }
    Ok(None)
}

/// The only file that has the name, with or without its ending, wherever it is. What says where it is means no other.
fn by_name(reader: &Reader<'_, '_>, text: &str, standing: &Path) -> Result<Option<Uri>, Fault> {
    if text.starts_with(SCHEME) || text.starts_with(['.', '/']) {
        return Ok(None);
    }
    for uri in candidates(reader.vault, text, standing)?.into_iter().rev() {
        let endings = [format!("/{}", uri.path), format!("/{}.md", uri.path)];
        let is_it = |path: &VaultPath| {
            path.is_markdown() && endings.iter().any(|ending| path.as_str().ends_with(ending.as_str()))
        };
        let mut found = reader.all_paths()?.into_iter().filter(is_it);
        if let (Some(path), None) = (found.next(), found.next())
            && matches!(reader.stands(&path), Ok(Some(Stands::File)))
        {
            return Ok(Some(Uri { path, ..uri }));
        }
    }
    Ok(None)
}

/// The error for something that is not there, with the nearest names.
///
/// # Errors
/// When the names cannot be listed.
pub fn missing(reader: &Reader<'_, '_>, text: &str, wanted: &VaultPath) -> Result<LocateError, Fault> {
    let place = match &reader.access.view {
        crate::model::access::View::WorkTree => "the vault".to_owned(),
        crate::model::access::View::Main => format!("`{}`", reader.vault.config.main_branch),
        crate::model::access::View::Revision(rev) => format!("revision {}", rev.get(..8).unwrap_or(rev)),
        crate::model::access::View::Proposal(id) => format!("proposal {id}"),
    };
    Ok(LocateError::Missing { text: text.to_owned(), place, near: near(reader, wanted)? })
}

/// The names nearest to a wanted one, best first, of what the reader may see.
///
/// # Errors
/// When the names cannot be listed.
pub fn near(reader: &Reader<'_, '_>, wanted: &VaultPath) -> Result<Vec<String>, Fault> {
    let paths: Vec<VaultPath> = reader.all_paths()?.into_iter().collect();
    Ok(nearest(wanted, &paths))
}

/// The place that a text names for something new: nothing has to stand there.
///
/// # Errors
/// When it leaves the vault.
pub fn place(vault: &Vault<'_>, text: &str, standing: &Path) -> Result<Uri, Fault> {
    let mut candidates = candidates(vault, text, standing)?;
    // A place for something new has no parts yet: a `#` is one of its name.
    if candidates.iter().any(|uri| uri.fragment.is_none()) {
        candidates.retain(|uri| uri.fragment.is_none());
    }
    let wanted = candidates.last().cloned();
    // What is written as seen from where the person stands is meant so if its directory is there.
    let root = vault.root()?;
    let stands = |uri: &Uri| root.join(uri.path.parent().as_str()).is_dir();
    let first = candidates.drain(..).find(stands);
    first.or(wanted).ok_or_else(|| outside(vault, text).into())
}

/// The place that a text names, whether something stands there or not: for asking what would hold there.
///
/// # Errors
/// When it leaves the vault.
pub fn named(vault: &Vault<'_>, text: &str, standing: &Path) -> Result<Uri, Fault> {
    let candidates = candidates(vault, text, standing)?;
    let root = vault.repo.work_dir();
    let there = |uri: &&Uri| root.is_some_and(|root| root.join(uri.path.as_str()).exists());
    let found = candidates.iter().find(there).or(candidates.last()).cloned();
    found.ok_or_else(|| outside(vault, text).into())
}

/// The place that a text names for committing: something that stands there or stood there in HEAD.
///
/// # Errors
/// When it leaves the vault or nothing is known of it.
pub fn changed(vault: &Vault<'_>, text: &str, standing: &Path) -> Result<Uri, Fault> {
    let reader = Reader::open(vault, None, None)?;
    match find(&reader, text, standing) {
        Ok(target) => Ok(target.uri),
        Err(error) => {
            let head = match vault.repo.head()? {
                Head::Branch(_, oid) => oid,
                Head::Detached(oid) => Some(oid),
            };
            let Some(head) = head else { return Err(error) };
            let tree = vault.repo.tree_of(head)?;
            for uri in candidates(vault, text, standing)? {
                if vault.repo.entry_at(tree, &uri.path)?.is_some() {
                    return Ok(uri);
                }
            }
            Err(error)
        }
    }
}

/// The pattern of paths from the vault's root that one means which was written where the person stands: as seen from
/// there, if its directories are there. `viking://` and `/` begin at the root.
///
/// # Errors
/// When it leaves the vault.
pub fn pattern(vault: &Vault<'_>, text: &str, standing: &Path) -> Result<String, Fault> {
    if let Some(whole) = text.strip_prefix(SCHEME).or_else(|| text.strip_prefix('/')) {
        return Ok(whole.to_owned());
    }
    let (mut rest, mut from_here) = (text, false);
    let here = from_standing(vault, ".", standing).and_then(Result::ok);
    let mut directory = here.clone().unwrap_or_else(VaultPath::root);
    loop {
        if let Some(behind) = rest.strip_prefix("./") {
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix("../") {
            if directory.is_root() {
                return Err(outside(vault, text).into());
            }
            (rest, directory) = (behind, directory.parent());
        } else {
            break;
        }
        from_here = true;
    }
    if directory.is_root() {
        return Ok(rest.to_owned());
    }
    let special = ['*', '?', '[', '{', '\\'];
    // The directories before the first name that is a pattern.
    let fixed = match rest.find(special) {
        Some(at) => rest[..at].rfind('/').map_or("", |slash| &rest[..slash]),
        None => rest.trim_end_matches('/'),
    };
    let at = if fixed.is_empty() { Ok(directory.clone()) } else { directory.join(fixed) };
    let there =
        || at.is_ok_and(|at| vault.repo.work_dir().is_some_and(|root| root.join(at.as_str()).exists()));
    if !from_here && !there() {
        return Ok(rest.to_owned());
    }
    let mut out = String::new();
    for c in directory.as_str().chars() {
        match c {
            '*' | '?' | '[' | ']' | '{' | '}' => out.extend(['[', c, ']']),
            c => out.push(c),
        }
    }
    Ok(format!("{out}/{rest}"))
}

fn outside(vault: &Vault<'_>, text: &str) -> LocateError {
    let root = vault.repo.work_dir().unwrap_or(vault.repo.git_dir()).to_owned();
    LocateError::Outside { text: text.to_owned(), root }
}

/// What a text may mean, most likely first. Never empty.
fn candidates(vault: &Vault<'_>, text: &str, standing: &Path) -> Result<Vec<Uri>, Fault> {
    let mut out = Vec::new();
    if text.starts_with(SCHEME) {
        out.push(Uri::parse(text)?);
    } else {
        let mut error = None;
        let mut take = |path: Result<VaultPath, Fault>, fragment: Option<&str>| match path {
            Ok(path) => {
                let mut uri = Uri::file(path);
                if let Some(fragment) = fragment {
                    match Uri::parse(&format!("{SCHEME}x#{fragment}")) {
                        Ok(parsed) => uri.fragment = parsed.fragment,
                        Err(_) => return,
                    }
                }
                out.push(uri);
            }
            Err(why) => error = error.take().or(Some(why)),
        };
        for (path, fragment) in
            std::iter::once((text, None)).chain(text.split_once('#').map(|(path, rest)| (path, Some(rest))))
        {
            if let Some(path) = from_standing(vault, path, standing) {
                take(path, fragment);
            }
            // `./x`, `../x` and `/x` are meant from where the person stands, never from the vault's root.
            if !path.starts_with(['.', '/'])
                || path.starts_with("..") && !path.starts_with("../")
                || path.len() > 1
                    && path.starts_with('.')
                    && !path.starts_with("./")
                    && !path.starts_with("..")
            {
                take(VaultPath::parse(path).map_err(Fault::from), fragment);
            }
        }
        if out.is_empty() {
            return Err(error.unwrap_or_else(|| outside(vault, text).into()));
        }
    }
    let mut seen = std::collections::HashSet::new();
    out.retain(|uri| seen.insert(uri.clone()));
    if out.iter().all(|uri| is_git(&uri.path)) {
        return Err(LocateError::Git(text.to_owned()).into());
    }
    Ok(out)
}

/// The path as seen from where the person stands; `None` when they stand outside the vault and it is relative.
fn from_standing(vault: &Vault<'_>, text: &str, standing: &Path) -> Option<Result<VaultPath, Fault>> {
    let root = vault.repo.work_dir()?;
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let absolute = Path::new(text).is_absolute();
    let start = standing.canonicalize().unwrap_or_else(|_| standing.to_owned());
    let mut place = if absolute { PathBuf::new() } else { start.strip_prefix(&root).ok()?.to_owned() };
    if absolute {
        let relative = Path::new(text)
            .strip_prefix(&root)
            .or_else(|_| Path::new(text).strip_prefix(vault.repo.work_dir().unwrap_or(&root)));
        match relative {
            Ok(relative) => place.push(relative),
            Err(_) => return Some(Err(outside(vault, text).into())),
        }
    } else {
        for part in Path::new(text).components() {
            match part {
                Component::Normal(name) => place.push(name),
                Component::ParentDir if !place.pop() => return Some(Err(outside(vault, text).into())),
                // `pop` went one up already.
                Component::ParentDir => {}
                _ => {}
            }
        }
    }
    let text = place.to_str()?.replace(std::path::MAIN_SEPARATOR, "/");
    Some(VaultPath::parse(&text).map_err(Fault::from))
}

/// The names nearest to a wanted one, best first, at most three: another case or form, a missing ending, the same
/// name elsewhere, a longer one that begins with it, a slip of the hand.
#[must_use]
pub fn nearest(wanted: &VaultPath, paths: &[VaultPath]) -> Vec<String> {
    let key = name_key(wanted.as_str());
    let name = name_key(wanted.name());
    let with_ending = format!("{name}.md");
    let bare = name.strip_suffix(".md").unwrap_or(&name);
    let length = bare.chars().count();
    let far = length.max(3) / 3;
    let mut scored: Vec<(f64, &VaultPath)> = paths
        .par_iter()
        .filter_map(|path| {
            let other = name_key(path.name());
            let score = if name_key(path.as_str()) == key {
                0.0
            } else if other == name || other == with_ending {
                // The same name elsewhere: the nearer its directory, the better.
                0.1 + 0.1 * (1.0 - strsim::jaro_winkler(wanted.as_str(), path.as_str()))
            } else {
                let stem = other.strip_suffix(".md").unwrap_or(&other);
                let place = || 1.0 - strsim::jaro_winkler(wanted.as_str(), path.as_str());
                if length >= 3 && stem.starts_with(bare) {
                    // Begun and not finished; in the very directory that is hardly chance.
                    return Some((1.2 + if path.parent() == wanted.parent() { 0.0 } else { place() }, path));
                }
                if stem.chars().count().abs_diff(length) > far {
                    return None;
                }
                let distance = strsim::osa_distance(stem, bare);
                if distance > far || distance >= length.max(2) {
                    return None;
                }
                1.0 + distance as f64 / length.max(1) as f64 + place()
            };
            Some((score, path))
        })
        .collect();
    scored.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    // Where the very name stands somewhere, a slip of the hand is the lesser guess.
    if scored.first().is_some_and(|(best, _)| *best < 1.0) {
        scored.retain(|(score, _)| *score < 1.0);
    }
    scored.into_iter().take(3).map(|(_, path)| path.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_what_a_person_meant() {
        let paths: Vec<VaultPath> =
            ["user/memories/Seats.md", "user/memories/trips.md", "resources/a/trips.md", "日记/今天.md"]
                .iter()
                .chain(&["en/Getting started", "en/User interface/Settings.md", "en/Home.md", "en/HTML.md"])
                .map(|p| VaultPath::parse(p).unwrap())
                .collect();
        let near = |text: &str| nearest(&VaultPath::parse(text).unwrap(), &paths);
        assert_eq!(near("user/memories/seats.md"), ["user/memories/Seats.md"]);
        assert_eq!(near("user/memories/seats"), ["user/memories/Seats.md"]);
        assert_eq!(near("user/memories/seast.md")[0], "user/memories/Seats.md");
        assert_eq!(near("resources/trips.md")[0], "resources/a/trips.md");
        assert_eq!(near("日记/今日.md"), ["日记/今天.md"], "one character beside the other");
        assert_eq!(near("en/Getting")[0], "en/Getting started", "begun and not finished");
        assert_eq!(near("en/Hom.md"), ["en/Home.md"]);
        assert!(near("something/else.md").is_empty());
    }
}
