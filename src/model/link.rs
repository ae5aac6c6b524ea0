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
    /// The part of the file that the link names. Lines are known in `viking://` addresses alone. `None` where it
    /// names none or a malformed one.
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
    if text.is_ascii() { text.to_owned() } else { text.nfc().collect() }
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
pub(crate) fn walk(directory: &VaultPath, target: &str) -> Option<VaultPath> {
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
    if name.is_ascii() {
        // ASCII is in normal form, and its letters fold to lower case.
        return name.to_ascii_lowercase();
    }
    caseless::default_case_fold_str(&name.nfc().collect::<String>()).nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Files and aliases, given as `path` or `path = alias`.
    struct Listed(Vec<(VaultPath, Option<String>)>);

    impl Names for Listed {
        fn has_file(&self, path: &VaultPath) -> bool {
            self.0.iter().any(|(file, _)| file == path)
        }

        fn has_directory(&self, path: &VaultPath) -> bool {
            self.0.iter().any(|(file, _)| file != path && file.is_within(path))
        }

        fn files_named(&self, key: &str) -> Vec<VaultPath> {
            self.0
                .iter()
                .filter(|(file, _)| name_key(file.name()) == key)
                .map(|(file, _)| file.clone())
                .collect()
        }

        fn files_with_alias(&self, key: &str) -> Vec<VaultPath> {
            let has = |alias: &Option<String>| alias.as_deref().is_some_and(|alias| name_key(alias) == key);
            self.0.iter().filter(|(_, alias)| has(alias)).map(|(file, _)| file.clone()).collect()
        }
    }

    fn listed(files: &[&str]) -> Listed {
        let entry = |line: &&str| match line.split_once(" = ") {
            Some((file, alias)) => (path(file), Some(alias.to_owned())),
            None => (path(line), None),
        };
        let mut files: Vec<_> = files.iter().map(entry).collect();
        files.sort();
        Listed(files)
    }

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    fn link(form: LinkForm, target: &str) -> Link {
        let (target, line, range) = (target.to_owned(), 1, 0..0);
        Link { form, target, fragment: None, text: None, embed: false, relation: None, line, range }
    }

    fn shown(resolution: Resolution) -> String {
        match resolution {
            Resolution::File(file) => file.to_string(),
            Resolution::Ambiguous(files) => {
                format!("? {}", files.iter().map(VaultPath::as_str).collect::<Vec<_>>().join(" | "))
            }
            Resolution::Alias(file) => format!("= {file}"),
            Resolution::Directory(directory) => format!("{directory}/"),
            Resolution::External => "external".to_owned(),
            Resolution::Broken => "broken".to_owned(),
        }
    }

    const VAULT: &[&str] = &[
        "user/trips/a.md",
        "user/trips/plan.md",
        "user/seats.md = 靠窗座位",
        "resources/net/wifi.md = Wireless",
        "resources/net/index.md",
        "resources/index.md",
        "agent/deep/er/index.md",
        "resources/v1.2.md",
        "resources/face.png",
        "resources/notes",
        "resources/Case.md",
        "agent/case.md",
        "Café.md",
        "x/plan.md",
        "user/trips/100%.md",
        "e/same.md = twice",
        "f/same2.md = Twice",
    ];

    #[test]
    fn every_case_of_a_wikilink() {
        let names = listed(VAULT);
        for (target, found) in [
            ("", "user/trips/a.md"),
            ("user/seats", "user/seats.md"),
            ("user/seats.md", "user/seats.md"),
            ("/user/seats", "user/seats.md"),
            ("/seats", "broken"),
            ("../seats", "user/seats.md"),
            ("./plan", "user/trips/plan.md"),
            ("plan", "user/trips/plan.md"),
            ("wifi", "resources/net/wifi.md"),
            ("net/wifi", "resources/net/wifi.md"),
            ("et/wifi", "broken"),
            ("index", "? resources/index.md | resources/net/index.md | agent/deep/er/index.md"),
            ("WIFI", "resources/net/wifi.md"),
            ("USER/Seats", "user/seats.md"),
            ("Case", "resources/Case.md"),
            ("case", "agent/case.md"),
            ("CASE", "? agent/case.md | resources/Case.md"),
            ("v1.2", "resources/v1.2.md"),
            ("face.png", "resources/face.png"),
            ("notes", "resources/notes"),
            ("Cafe\u{301}", "Café.md"),
            ("靠窗座位", "= user/seats.md"),
            ("wireless", "= resources/net/wifi.md"),
            ("TWICE", "? e/same.md | f/same2.md"),
            ("user/trips", "user/trips/"),
            ("resources/", "resources/"),
            ("../../../etc/passwd", "broken"),
            ("a/../b", "broken"),
            ("nothing", "broken"),
            ("https://a.b/c", "external"),
        ] {
            assert_eq!(
                shown(resolve(&link(LinkForm::Wiki, target), &path("user/trips/a.md"), &names)),
                found,
                "{target}"
            );
        }
        let own = resolve(&link(LinkForm::Wiki, "INDEX"), &path("agent/deep/er/b.md"), &names);
        assert_eq!(shown(own), "agent/deep/er/index.md");
    }

    #[test]
    fn every_case_of_the_other_forms() {
        let names = listed(&[VAULT, &["plan.md", "user/trips/user/seats.md"]].concat());
        let from = path("user/trips/a.md");
        for (form, target, found) in [
            (LinkForm::Markdown, "plan.md", "user/trips/plan.md"),
            (LinkForm::Wiki, "plan.md", "plan.md"),
            (LinkForm::Markdown, "user/seats.md", "user/trips/user/seats.md"),
            (LinkForm::Markdown, "../seats.md", "user/seats.md"),
            (LinkForm::Markdown, "resources/face.png", "resources/face.png"),
            (LinkForm::Markdown, "wifi.md", "resources/net/wifi.md"),
            (LinkForm::Markdown, "100%.md", "user/trips/100%.md"),
            (LinkForm::Markdown, "靠窗座位", "broken"),
            (LinkForm::Markdown, "../", "user/"),
            (LinkForm::Markdown, "mailto:a@b.c", "external"),
            (LinkForm::Markdown, "//host/a", "external"),
            (LinkForm::Uri, "user/seats.md", "user/seats.md"),
            (LinkForm::Uri, "user/seats", "broken"),
            (LinkForm::Uri, "USER/seats.md", "broken"),
            (LinkForm::Uri, "Cafe\u{301}.md", "Café.md"),
            (LinkForm::Uri, "user/", "user/"),
            (LinkForm::Uri, "user", "user/"),
            (LinkForm::Uri, "", "/"),
            (LinkForm::Uri, "../x", "broken"),
        ] {
            assert_eq!(shown(resolve(&link(form, target), &from, &names)), found, "{form:?} {target}");
        }
    }

    #[test]
    fn external_destinations() {
        for outside in ["https://a", "obsidian://open?x", "mailto:a@b", "//a/b", "data:image/png;base64,x"] {
            assert!(is_external(outside), "{outside}");
        }
        for inside in ["a.md", "a: b.md", "12:30.md", "日记:x.md", "C:x.md", "a/b://c"] {
            assert!(!is_external(inside), "{inside}");
        }
    }

    fn tree() -> impl Strategy<Value = Vec<String>> {
        let name = prop::sample::select(vec!["a", "A", "b", "é", "e\u{301}", "日", "c.d"]);
        let file = prop::collection::vec(name, 1..4).prop_map(|names| format!("{}.md", names.join("/")));
        prop::collection::btree_set(file, 1..12).prop_map(|files| files.into_iter().collect())
    }

    proptest! {
        #[test]
        fn the_full_path_of_a_file_finds_it(files in tree(), pick in any::<prop::sample::Index>(), from in any::<prop::sample::Index>()) {
            let texts: Vec<&str> = files.iter().map(String::as_str).collect();
            let (names, file, from) = (listed(&texts), path(texts[pick.index(texts.len())]), path(texts[from.index(texts.len())]));
            let nfc_twin = texts.iter().filter(|t| nfc(t) == nfc(file.as_str())).count() > 1;
            prop_assume!(!nfc_twin);
            prop_assert_eq!(resolve(&link(LinkForm::Uri, file.as_str()), &from, &names), Resolution::File(file.clone()));
            prop_assert_eq!(resolve(&link(LinkForm::Wiki, file.as_str()), &from, &names), Resolution::File(file.clone()));
            prop_assert_eq!(resolve(&link(LinkForm::Wiki, &format!("/{file}")), &from, &names), Resolution::File(file));
        }

        #[test]
        fn what_is_found_is_there_and_the_order_of_names_does_not_matter(files in tree(), target in "(a|A|b|\\.\\.|\\.|/|é|日|c\\.d|\\.md){0,4}") {
            let texts: Vec<&str> = files.iter().map(String::as_str).collect();
            let (names, from) = (listed(&texts), path(texts[0]));
            let mut other = listed(&texts);
            other.0.reverse();
            for form in [LinkForm::Wiki, LinkForm::Markdown, LinkForm::Uri] {
                let found = resolve(&link(form, &target), &from, &names);
                let twins = texts.iter().any(|a| texts.iter().any(|b| a != b && name_key(a) == name_key(b)));
                prop_assert!(twins || found == resolve(&link(form, &target), &from, &other));
                match found {
                    Resolution::File(file) | Resolution::Alias(file) => prop_assert!(names.has_file(&file)),
                    Resolution::Ambiguous(files) => {
                        prop_assert!(files.len() > 1 && files.iter().all(|file| names.has_file(file)));
                    }
                    Resolution::Directory(directory) => prop_assert!(directory.is_root() || names.has_directory(&directory)),
                    Resolution::External | Resolution::Broken => {}
                }
            }
        }
    }
}
