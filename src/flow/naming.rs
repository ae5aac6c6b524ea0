//! Names of new files: such as every system holds and links can say.

use std::path::Path;

use super::own::OwnError;
use crate::check;
use crate::model::path::{PathError, VaultPath};

/// A name like this one that every system can hold and links can say.
pub(super) fn portable(name: &str) -> Option<String> {
    let clean: String = name
        .chars()
        .map(|c| match c {
            '[' => '(',
            ']' => ')',
            '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\' | '#' | '^' => '-',
            c if c.is_control() => '-',
            c => c,
        })
        .collect();
    let clean = clean.trim_matches([' ', '.']).to_owned();
    let clean = match clean.rsplit_once('.') {
        Some((stem, ending)) if !stem.trim_end().is_empty() => format!("{}.{ending}", stem.trim_end()),
        _ => clean,
    };
    let clean = if check::unportable(&clean).is_some() { format!("_{clean}") } else { clean };
    (clean != name && !clean.is_empty() && check::unportable(&clean).is_none()).then_some(clean)
}

/// A path without the blanks behind its last name, which would come to stand before an ending that it gets.
pub(super) fn trimmed(path: VaultPath) -> Result<VaultPath, PathError> {
    let blanks = path.name().len() - path.name().trim_end().len();
    match path.name().len() - blanks {
        0 => Ok(path),
        _ if blanks == 0 => Ok(path),
        _ => VaultPath::parse(path.as_str().trim_end()),
    }
}

/// Whether every system can hold the names of a path.
pub(super) fn holds_everywhere(path: &VaultPath) -> Result<(), OwnError> {
    for name in path.as_str().split('/') {
        if let Some(why) = check::unportable(name) {
            return Err(OwnError::Name { name: name.to_owned(), why });
        }
    }
    Ok(())
}

/// Whether links can say the names that are new in a path, and eyes can tell them. What stands there already, or is moved
/// under the name that it has, is no matter.
pub(super) fn nameable(root: &Path, path: &VaultPath, old: Option<&VaultPath>) -> Result<(), OwnError> {
    let has = |name: &str| old.is_some_and(|old| old.as_str().split('/').any(|one| one == name));
    let refuse = |name: &str, why: String| Err(OwnError::Name { name: name.to_owned(), why });
    let above = path.ancestors().filter(|above| !above.is_root());
    for one in std::iter::once(path.clone()).chain(above) {
        let name = one.name();
        if has(name) || (one != *path && root.join(one.as_str()).symlink_metadata().is_ok()) {
            continue;
        }
        if let Some(c) = check::unlinkable(name) {
            return refuse(name, format!("has a `{c}`, which no [[link]] can name"));
        }
        if one == *path && one.is_markdown() && one.stem().ends_with(char::is_whitespace) {
            return refuse(name, "has a blank before its ending, which nobody sees".to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_name_gets_a_better_one() {
        assert_eq!(portable("a: b?.md").as_deref(), Some("a- b-.md"));
        assert_eq!(portable("CON.md").as_deref(), Some("_CON.md"));
        assert_eq!(portable("end. ").as_deref(), Some("end"));
        assert_eq!(portable("C# [1].md").as_deref(), Some("C- (1).md"));
        assert_eq!(portable("a .md").as_deref(), Some("a.md"));
    }

    #[test]
    fn blanks_behind_a_name() {
        let of = |text: &str| trimmed(VaultPath::from_disk(text.as_bytes()).unwrap()).unwrap().to_string();
        assert_eq!(of("a/b.md \u{3000}"), "a/b.md");
        assert_eq!((of("a/b .md"), of("a/ "), of("a /b")), ("a/b .md".into(), "a/ ".into(), "a /b".into()));
    }
}
