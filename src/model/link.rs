//! Links between memories, and how a name finds its file.

use std::ops::Range;

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use super::path::VaultPath;
use super::uri::Fragment;

/// In which form a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkForm {
    /// `[[name]]`, `[[path/name#Heading|alias]]`.
    Wiki,
    /// `[text](relative/path.md)`.
    Markdown,
    /// `[text](viking://…)` or `<viking://…>`.
    Uri,
}

/// One link of a memory, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its form.
    pub form: LinkForm,
    /// What it names, decoded and without fragment or alias: `name`, `path/name`, `../a.md`, a URI's path. Empty
    /// for a link within the same file.
    pub target: String,
    /// The fragment without its `#`: a heading, `A#B`, or `^block`; in a `viking://` address as it is written, with
    /// its percent-encoding. [`Link::place`] reads it.
    pub fragment: Option<String>,
    /// The text that is shown in its place.
    pub text: Option<String>,
    /// Whether it embeds (`![[…]]`, `![…](…)`).
    pub embed: bool,
    /// The front-matter property whose value it is: a typed relation of that name.
    pub relation: Option<String>,
    /// The line, counted from 1.
    pub line: u32,
    /// Its bytes in [`super::memory::Memory::text`].
    pub range: Range<usize>,
}

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// One file, by the rules of exact names.
    File(VaultPath),
    /// Several files have the name; the first is taken, the rest are named in the finding.
    Ambiguous(Vec<VaultPath>),
    /// Only an alias has the name.
    Alias(VaultPath),
    /// A directory.
    Directory(VaultPath),
    /// Something outside the vault (`https://…`, `mailto:…`).
    External,
    /// Nothing.
    Broken,
}

/// The names of a state of the vault, as link resolution asks for them. Answers are in the order of their paths.
pub trait Names {
    /// Whether a file stands there.
    fn has_file(&self, path: &VaultPath) -> bool;
    /// Whether a directory stands there.
    fn has_directory(&self, path: &VaultPath) -> bool;
    /// All files whose last segment equals `name` after NFC and case folding ([`name_key`]).
    fn files_named(&self, name_key: &str) -> Vec<VaultPath>;
    /// All memories with this alias, after NFC and case folding ([`name_key`]).
    fn files_with_alias(&self, name_key: &str) -> Vec<VaultPath>;
}

impl Link {
    /// The part of the file that the link names. Lines are known in `viking://` addresses alone. `None` where it names none or a malformed one.
    #[must_use]
    pub fn place(&self) -> Option<Fragment> {
        let raw = self.fragment.as_deref()?;
        if self.form == LinkForm::Uri {
            return Fragment::parse(raw).ok();
        }
        if let Some(id) = raw.strip_prefix('^') {
            return (!id.is_empty()).then(|| Fragment::Block(id.to_owned()));
        }
        // `#A#^id` names a block too; the headings before it do not help to find it.
        if let Some((_, id)) = raw.rsplit_once("#^") {
            return Some(Fragment::Block(id.to_owned()));
        }
        let names: Vec<String> =
            raw.split('#').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect();
        (!names.is_empty()).then_some(Fragment::Heading(names))
    }
}

/// Whether a destination leads out of the vault: a scheme with `//` behind it, `//host`, or one of the schemes that
/// have none (`mailto:`, `tel:`, `data:`). `a: b.md` is a name.
#[must_use]
pub fn is_external(dest: &str) -> bool {
    if dest.starts_with("//") {
        return true;
    }
    let Some((scheme, rest)) = dest.split_once(':') else { return false };
    let well_formed = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'));
    let bare = ["mailto", "tel", "data", "javascript", "sms", "urn", "magnet", "about", "blob"];
    well_formed && (rest.starts_with("//") || bare.contains(&scheme.to_ascii_lowercase().as_str()))
}

/// What a link of the memory at `from` leads to.
///
/// The steps for `[[target]]`; the first that finds something ends the search. Each compares names in NFC.
///
/// | step | `[[target]]` finds | example, from `user/trips/a.md` |
/// | --- | --- | --- |
/// | 0 | the note itself, when only a fragment is given | `[[#Plan]]` → `user/trips/a.md` |
/// | 1 | the exact path from the root | `[[user/seats]]` → `user/seats.md` |
/// | 2 | the path from the note's directory; `./` and `../` only here, a leading `/` only in 1 | `[[../seats]]` → `user/seats.md` |
/// | 3 | the only file whose path ends with the target | `[[wifi]]` → `resources/net/wifi.md`, `[[net/wifi]]` too |
/// | 4 | of several such files the one in the note's own directory, else the one with the fewest directories, then the shortest path, then the first by name: [`Resolution::Ambiguous`] | `[[index]]` |
/// | 5 | steps 1 to 4 without regard to case | `[[WIFI]]` → `resources/net/wifi.md` |
/// | 6 | the memory with that alias, of several as in 4 | `[[靠窗座位]]` → `user/seats.md` |
/// | 7 | the directory of that path, from the root or the note | `[[user/trips]]` → `user/trips/` |
///
/// In each step `target` stands for `target.md` before `target`; where its last name has a dot (`photo.png`, `v1.2`),
/// for `target` before `target.md`.
///
/// `[text](path)` tries 2 before 1, and otherwise the same, without aliases; a `viking://` address is exact: a file
/// or directory of that very path (in NFC), or nothing. A scheme is [`Resolution::External`]. A path that leaves the
/// vault is [`Resolution::Broken`].
#[must_use]
pub fn resolve(link: &Link, from: &VaultPath, names: &dyn Names) -> Resolution {
    let target = link.target.trim();
    if link.form == LinkForm::Uri {
        return exact(target, names);
    }
    if target.is_empty() {
        return Resolution::File(from.clone());
    }
    if is_external(target) {
        return Resolution::External;
    }
    let wanted = Wanted::of(target, from);
    let candidates = wanted.candidates(names);
    let found = [true, false].iter().find_map(|same_case| wanted.find(&candidates, link.form, *same_case));
    if let Some(found) = found {
        return found;
    }
    if link.form == LinkForm::Wiki
        && let Some(found) = by_alias(target, from, names)
    {
        return found;
    }
    let places = [wanted.from_root, wanted.from_note].into_iter().flatten();
    places
        .into_iter()
        .find(|place| names.has_directory(place))
        .map_or(Resolution::Broken, Resolution::Directory)
}

fn nfc(text: &str) -> String {
    text.nfc().collect()
}

fn exact(target: &str, names: &dyn Names) -> Resolution {
    let Ok(path) = VaultPath::parse(target) else { return Resolution::Broken };
    if !target.ends_with('/') {
        if names.has_file(&path) {
            return Resolution::File(path);
        }
        let same = |file: &VaultPath| nfc(file.as_str()) == nfc(path.as_str());
        if let Some(file) = names.files_named(&name_key(path.name())).into_iter().find(same) {
            return Resolution::File(file);
        }
    }
    if path.is_root() || names.has_directory(&path) {
        Resolution::Directory(path)
    } else {
        Resolution::Broken
    }
}

/// Where a target may stand.
struct Wanted<'a> {
    from: &'a VaultPath,
    from_root: Option<VaultPath>,
    from_note: Option<VaultPath>,
    /// The target as the end of a path; `None` where it says from where it counts (`./`, `../`, `/`).
    tail: Option<&'a str>,
}

/// One way to read a target: as it is, or with `.md` behind it.
type Ending = &'static str;

impl<'a> Wanted<'a> {
    fn of(target: &'a str, from: &'a VaultPath) -> Wanted<'a> {
        let rooted = target.strip_prefix('/');
        let dotted = target.split('/').any(|segment| matches!(segment, "." | ".."));
        let from_root = if dotted { None } else { VaultPath::parse(rooted.unwrap_or(target)).ok() };
        let from_note = if rooted.is_some() { None } else { walk(&from.parent(), target) };
        let tail = (rooted.is_none() && !dotted && !target.ends_with('/')).then_some(target);
        Wanted { from, from_root, from_note, tail }
    }

    /// Every file that could be meant, by its last name, with the ending that its name needs.
    fn candidates(&self, names: &dyn Names) -> Vec<(Ending, Vec<VaultPath>)> {
        let place = self.from_root.as_ref().or(self.from_note.as_ref()).filter(|place| !place.is_root());
        let Some(name) = place.map(VaultPath::name) else { return Vec::new() };
        let endings: [Ending; 2] = if name.contains('.') { ["", ".md"] } else { [".md", ""] };
        endings
            .into_iter()
            .map(|ending| (ending, names.files_named(&name_key(&format!("{name}{ending}")))))
            .collect()
    }

    fn find(
        &self,
        candidates: &[(Ending, Vec<VaultPath>)],
        form: LinkForm,
        same_case: bool,
    ) -> Option<Resolution> {
        let key = |text: &str| if same_case { nfc(text) } else { name_key(text) };
        let at = |place: &Option<VaultPath>| {
            let place = place.as_ref()?;
            candidates.iter().find_map(|(ending, files)| {
                let wanted = key(&format!("{place}{ending}"));
                files.iter().find(|file| key(file.as_str()) == wanted).cloned()
            })
        };
        let order = match form {
            LinkForm::Markdown => [&self.from_note, &self.from_root],
            _ => [&self.from_root, &self.from_note],
        };
        if let Some(file) = order.into_iter().find_map(at) {
            return Some(Resolution::File(file));
        }
        let tail = self.tail?;
        candidates.iter().find_map(|(ending, files)| {
            let wanted = key(&format!("/{tail}{ending}"));
            let ends = |file: &&VaultPath| key(&format!("/{file}")).ends_with(&wanted);
            choose(files.iter().filter(ends).cloned().collect(), self.from, Resolution::File)
        })
    }
}

/// The path that a relative one leads to from a directory; `None` where it leaves the vault.
fn walk(directory: &VaultPath, target: &str) -> Option<VaultPath> {
    let mut segments: Vec<&str> = directory.as_str().split('/').filter(|s| !s.is_empty()).collect();
    let target = target.strip_suffix('/').unwrap_or(target);
    for segment in target.split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop()?;
            }
            name => segments.push(name),
        }
    }
    VaultPath::parse(&segments.join("/")).ok()
}

/// One file as `only` makes it, or several with the one that is taken first.
fn choose(
    mut files: Vec<VaultPath>,
    from: &VaultPath,
    only: fn(VaultPath) -> Resolution,
) -> Option<Resolution> {
    if files.len() > 1 {
        let own = from.parent();
        files.sort_by_cached_key(|file| {
            let text = file.as_str();
            (file.parent() != own, text.matches('/').count(), text.chars().count(), text.to_owned())
        });
        return Some(Resolution::Ambiguous(files));
    }
    files.pop().map(only)
}

fn by_alias(target: &str, from: &VaultPath, names: &dyn Names) -> Option<Resolution> {
    choose(names.files_with_alias(&name_key(target)), from, Resolution::Alias)
}

/// The text under which names are looked up without regard to case or normal form.
#[must_use]
pub fn name_key(name: &str) -> String {
    caseless::default_case_fold_str(&name.nfc().collect::<String>()).nfc().collect()
}
