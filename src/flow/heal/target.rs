//! The ways in which a link can name a file: first the one that is nearest to what it says now.

use crate::model::link::{Link, LinkForm, Resolution, name_key, walk};
use crate::model::path::VaultPath;

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: VaultPath,
    pub(super) directory: bool,
}

/// The file or directory that a link is followed to.
pub(super) fn leads_to(resolution: Resolution) -> Option<Place> {
    match resolution {
        Resolution::Ambiguous(files) => files.into_iter().next().map(|path| Place { path, directory: false }),
        other => only(other),
    }
}

/// The only file or directory that a link can mean.
pub(super) fn only(resolution: Resolution) -> Option<Place> {
    match resolution {
        Resolution::File(path) | Resolution::Alias(path) => Some(Place { path, directory: false }),
        Resolution::Directory(path) => Some(Place { path, directory: true }),
        Resolution::Ambiguous(_) | Resolution::External | Resolution::Broken => None,
    }
}

/// The targets that a link may get so that it leads to `shall`; it led to `was` from the first of `home` and stands
/// at the second now.
pub(super) fn ways(link: &Link, home: (&VaultPath, &VaultPath), was: &Place, shall: &Place) -> Vec<String> {
    let old = link.target.trim();
    let slash = if shall.directory && old.ends_with('/') { "/" } else { "" };
    if link.form == LinkForm::Uri {
        return vec![format!("{}{slash}", shall.path)];
    }
    let bare = old.trim_end_matches('/');
    let short = !name_key(bare).ends_with(".md") && name_key(was.path.as_str()).ends_with(".md");
    let full = shall.path.as_str();
    let full = if short { full.strip_suffix(".md").unwrap_or(full) } else { full };
    let relative = relative(&home.1.parent(), full);
    let from_note = is_from(home.0, bare, &was.path);
    let dotted = bare.split('/').any(|segment| matches!(segment, "." | ".."));
    let here = if bare.starts_with("./") && !relative.starts_with("../") {
        format!("./{relative}")
    } else {
        relative.clone()
    };
    let rooted = format!("/{full}");
    let tail = tail(full, bare.split('/').count());
    let mut ways: Vec<String> = if bare.starts_with('/') {
        vec![rooted.clone()]
    } else if dotted || (link.form == LinkForm::Markdown && from_note) {
        vec![here, full.to_owned()]
    } else if link.form == LinkForm::Markdown {
        if names(bare, &was.path) { vec![full.to_owned(), relative] } else { vec![tail, relative] }
    } else if !bare.contains('/') {
        vec![tail]
    } else if names(bare, &was.path) {
        vec![full.to_owned()]
    } else if from_note && !relative.starts_with("../") {
        vec![relative]
    } else {
        vec![tail]
    };
    ways.extend([full.to_owned(), rooted]);
    ways.into_iter().map(|way| format!("{way}{slash}")).collect()
}

/// Whether a text is the path of a file, with or without its ending.
fn names(text: &str, path: &VaultPath) -> bool {
    let (text, path) = (name_key(text), name_key(path.as_str()));
    text == path || format!("{text}.md") == path
}

/// Whether a text is the way from a note to a file.
fn is_from(note: &VaultPath, text: &str, path: &VaultPath) -> bool {
    walk(&note.parent(), text).is_some_and(|place| names(place.as_str(), path))
}

/// Whether a Markdown link that is the way from its note to the file is so afterwards too: other programs follow no
/// other. A wikilink need not be.
pub(super) fn stays_exact(link: &Link, home: (&VaultPath, &VaultPath), was: &Place, shall: &Place) -> bool {
    let target = link.target.trim();
    link.form != LinkForm::Markdown
        || target.is_empty()
        || !is_from(home.0, target, &was.path)
        || is_from(home.1, target, &shall.path)
}

/// The last `count` segments.
fn tail(path: &str, count: usize) -> String {
    let segments: Vec<&str> = path.split('/').collect();
    segments[segments.len().saturating_sub(count)..].join("/")
}

/// The way from a directory to a path.
fn relative(directory: &VaultPath, path: &str) -> String {
    let from: Vec<&str> = directory.as_str().split('/').filter(|segment| !segment.is_empty()).collect();
    let to: Vec<&str> = path.split('/').collect();
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_way() {
        let from = |directory: &str, path: &str| relative(&VaultPath::parse(directory).unwrap(), path);
        assert_eq!(from("a/b", "a/c.md"), "../c.md");
        assert_eq!(from("a/b", "a/b/c.md"), "c.md");
        assert_eq!(relative(&VaultPath::root(), "a/c.md"), "a/c.md");
        assert_eq!(from("a/b/c", "d.md"), "../../../d.md");
        assert_eq!(from("a/b", "a"), "../../a");
    }
}
