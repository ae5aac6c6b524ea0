//! `path`: names that hold on every system, and nothing but plain files.

use unicode_normalization::UnicodeNormalization as _;

use super::runner::{Sink, Subject};
use super::{Case, Check, Occasion, Place};
use crate::model::change::mode;
use crate::model::finding::Severity;
use crate::model::path::{MAX_SEGMENT, VaultPath, bare, is_gits, is_ignorable};

const fn case(name: &'static str, standing: Severity, about: &'static str) -> Case {
    Case { name, severity: Severity::Error, standing, about }
}

pub(super) static CHECK: Check = Check {
    name: "path",
    about: "names that every system can hold, and nothing but plain files",
    cases: &[
        case("encoding", Severity::Error, "a name is not UTF-8"),
        case("mode", Severity::Warning, "an entry is no plain file"),
        case("git", Severity::Error, "a name that git itself uses, in any disguise"),
        case("settings", Severity::Error, "`.runebook` anywhere but at the root, or in another spelling"),
        case("layer", Severity::Error, "a generated summary's name in another spelling, or as a directory"),
        case("twin", Severity::Error, "two names that are one on other systems"),
        case("portable", Severity::Warning, "a name that other systems cannot hold"),
        case("length", Severity::Error, "a name or a path that is too long"),
        case("nfc", Severity::Warning, "a name that is not in normal form C"),
        case("hidden", Severity::Warning, "a name with characters that nobody sees"),
        Case {
            name: "unlinkable",
            severity: Severity::Warning,
            standing: Severity::Info,
            about: "a name that no [[link]] can say",
        },
        case("nested", Severity::Info, "a vault or git repository within this one, which is left alone"),
        case(
            "symlink",
            Severity::Warning,
            "a symbolic link that leads out of the vault, nowhere or back to itself",
        ),
        case("kind", Severity::Warning, "neither a file nor a directory"),
        case("unreadable", Severity::Warning, "a file or directory that cannot be read"),
        case("size", Severity::Warning, "a file larger than the policy allows"),
    ],
    of_blobs: true,
    run,
};

/// The longest path in bytes; longer ones cannot be opened on several systems.
const MAX_PATH: usize = 1024;

fn run(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let item = subject.item;
    if item.mode == mode::NONE {
        return;
    }
    kind_of_entry(subject, sink);
    let limit = subject.held.limits.bytes;
    if let (Some(limit), Some(bytes)) = (limit, &item.after)
        && bytes.len() as u64 > limit
    {
        let message = format!("the file has {} bytes; the policy allows {limit}", bytes.len());
        sink.add("size", None, message, Some("split it, or keep the bulk outside of the vault".to_owned()));
    }
    match (&item.place, subject.path) {
        (Place::Raw(bytes), _) => {
            let message = format!("the name `{}` is not UTF-8", bytes.escape_ascii());
            sink.add("encoding", None, message, Some("rename the file".to_owned()));
        }
        (_, Some(path)) => {
            reserved(path, sink);
            // Names that stand already stay readable; only new ones are asked to be better.
            if item.new || subject.settings.occasion == Occasion::Blob {
                portable(path, sink);
            }
            if item.new || subject.settings.occasion == Occasion::WorkTree {
                twins(path, subject, sink);
            }
        }
        _ => {}
    }
}

fn kind_of_entry(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let kind = match subject.item.mode {
        mode::FILE => return,
        // A disk that knows no modes shows every file so; git decides what is stored.
        mode::EXECUTABLE if subject.settings.occasion == Occasion::WorkTree => return,
        mode::EXECUTABLE => "executable",
        mode::LINK => "a symbolic link",
        mode::SUBMODULE => "a submodule",
        _ => "of a mode that git does not use for files",
    };
    let fix = match subject.item.mode {
        mode::EXECUTABLE => "take the bit away: git update-index --chmod=-x",
        _ => "put a plain file in its place",
    };
    sink.add("mode", None, format!("the entry is {kind}; memories are plain files"), Some(fix.to_owned()));
}

/// Names that mean something to git or to us.
fn reserved(path: &VaultPath, sink: &mut Sink<'_>) {
    let segments: Vec<&str> = path.as_str().split('/').collect();
    for (depth, segment) in segments.iter().enumerate() {
        // `\` separates names on Windows, so what stands between counts too.
        for part in segment.split('\\') {
            let last = depth + 1 == segments.len();
            match bare(part).as_str() {
                _ if is_gits(part) => sink.add(
                    "git",
                    None,
                    format!("`{}` is git's own name, or becomes it on some systems", segment.escape_debug()),
                    Some("give it another name".to_owned()),
                ),
                ".runebook" if depth > 0 || *segment != ".runebook" || last => sink.add(
                    "settings",
                    None,
                    format!("`{}` is the name of the vault's settings", segment.escape_debug()),
                    Some("the settings are one directory, .runebook, at the root".to_owned()),
                ),
                ".abstract.md" | ".overview.md"
                    if !last || !matches!(*segment, ".abstract.md" | ".overview.md") =>
                {
                    sink.add(
                        "layer",
                        None,
                        format!("`{}` is the name of a generated summary", segment.escape_debug()),
                        Some("give it another name".to_owned()),
                    );
                }
                _ => {}
            }
        }
    }
}

/// What stops a name elsewhere.
fn portable(path: &VaultPath, sink: &mut Sink<'_>) {
    let text = path.as_str();
    if text.len() > MAX_PATH {
        let message = format!("the path has {} bytes; {MAX_PATH} can be opened everywhere", text.len());
        sink.add("length", None, message, Some("use shorter names or fewer directories".to_owned()));
    }
    for segment in text.split('/') {
        let shown = segment.escape_debug();
        if segment.len() > MAX_SEGMENT {
            let message = format!("a name has {} bytes; file systems hold {MAX_SEGMENT}", segment.len());
            sink.add("length", None, message, Some("use a shorter name".to_owned()));
        }
        if let Some(why) = unportable(segment) {
            sink.add("portable", None, format!("`{shown}` {why}"), Some("give it another name".to_owned()));
        }
        if let Some(c) = unlinkable(segment) {
            let message = format!("`{shown}` has a `{c}`, which no [[link]] can name");
            sink.add("unlinkable", None, message, Some("give it another name".to_owned()));
        }
        if !segment.nfc().eq(segment.chars()) {
            let message = format!("`{shown}` is not in normal form C, so it may be typed and not be found");
            sink.add("nfc", None, message, Some("rename it: type the name anew".to_owned()));
        }
        if let Some(c) = hidden(segment) {
            let message = format!("`{shown}` has the invisible character U+{:04X}", u32::from(c));
            sink.add("hidden", None, message, Some("rename it without that character".to_owned()));
        }
    }
}

/// Why some system cannot hold a name.
#[must_use]
pub fn unportable(segment: &str) -> Option<String> {
    if let Some(c) = segment.chars().find(|c| c.is_control()) {
        return Some(format!("has the control character U+{:04X}", u32::from(c)));
    }
    if let Some(c) = segment.chars().find(|c| matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\')) {
        return Some(format!("has a `{c}`, which Windows cannot hold"));
    }
    if segment.ends_with(['.', ' ']) {
        return Some("ends in a dot or a space, which Windows drops".to_owned());
    }
    let stem = segment.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = ["COM", "LPT"].iter().any(|device| {
        stem.strip_prefix(device).is_some_and(|n| {
            let mut chars = n.chars();
            matches!((chars.next(), chars.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
        })
    });
    let device = matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$");
    (numbered || device).then(|| "is the name of a device on Windows".to_owned())
}

/// The first character of a name that a `[[link]]` cannot say: `#` and `^` begin what stands within a file, brackets end the
/// link.
#[must_use]
pub fn unlinkable(segment: &str) -> Option<char> {
    segment.chars().find(|c| matches!(c, '#' | '^' | '[' | ']'))
}

/// The first character that nobody sees. Joiners and variation selectors that belong to emoji or to scripts that
/// need them stand between characters outside of ASCII, and are no trick.
fn hidden(segment: &str) -> Option<char> {
    let chars: Vec<char> = segment.chars().collect();
    let wide = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| !c.is_ascii());
    chars.iter().enumerate().filter(|(_, c)| is_ignorable(**c)).find_map(|(at, c)| {
        let harmless = match c {
            '\u{200C}' | '\u{200D}' => wide(at.checked_sub(1)) && wide(Some(at + 1)),
            '\u{FE0E}' | '\u{FE0F}' => wide(at.checked_sub(1)),
            _ => false,
        };
        (!harmless).then_some(*c)
    })
}

/// Other names that are the same on some system, of the file or of a directory above it.
fn twins(path: &VaultPath, subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let above: Vec<VaultPath> = path.ancestors().filter(|p| !p.is_root()).collect();
    // From the top: below a directory with a twin, everything has one.
    for place in above.iter().rev().chain([path]) {
        let others: Vec<VaultPath> =
            subject.tree.twins(&place.collision_key()).into_iter().filter(|other| other != place).collect();
        let Some(other) = others.first() else { continue };
        // In a whole vault each pair is named once, at the later of the two.
        if subject.settings.occasion == Occasion::WorkTree && others.iter().all(|other| other > place) {
            return;
        }
        let kind = if place == path { "this file" } else { "the directory" };
        let message = format!("{kind} `{place}` and `{other}` are one name on other systems");
        let fix = format!("rename one of them, or use `{other}`");
        sink.add_naming("twin", None, message, Some(fix), std::slice::from_ref(other));
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_some_system_cannot_hold() {
        for bad in
            ["CON", "con.md", "com1.txt", "lpt¹", "a:b", "a?.md", "dot.", "space ", "a\\b", "a\nb", "NUL .md"]
        {
            assert!(unportable(bad).is_some(), "{bad:?}");
        }
        for good in
            ["CONTENTS.md", "com.md", "com10.md", ".hidden", "日记 2026.md", "a.b.md", "(draft) [1].md"]
        {
            assert_eq!(unportable(good), None, "{good:?}");
        }
    }

    #[test]
    fn invisible_characters_but_no_emoji() {
        for bad in ["a\u{200B}b", "\u{202E}cod.md", "no\u{200D}te", "\u{FEFF}x", "x\u{FE0F}"] {
            assert!(hidden(bad).is_some(), "{bad:?}");
        }
        for good in ["❤\u{FE0F}.md", "👩\u{200D}💻.md", "می\u{200C}خواهم.md", "笔记.md"] {
            assert_eq!(hidden(good), None, "{good:?}");
        }
    }

    #[test]
    fn disguises_of_git() {
        for bad in
            [".git", ".GIT", ".g\u{200C}it", ".git.", ".git ", ".git::$INDEX_ALLOCATION", "GIT~1", ".git"]
        {
            assert!(matches!(bare(bad).as_str(), ".git" | "git~1"), "{bad:?}");
        }
        assert_eq!(bare(".gitignore"), ".gitignore");
    }

    proptest! {
        #[test]
        fn any_name_can_be_judged(name in "\\PC{1,40}") {
            let _ = (unportable(&name), hidden(&name), bare(&name));
        }
    }
}
