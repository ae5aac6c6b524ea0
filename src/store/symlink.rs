//! What is wrong with a symbolic link of a vault, in words that help to mend it.

use std::path::Path;

use crate::model::finding::{Finding, Severity};

/// What is wrong with a symbolic link, if anything is: it leads out of the vault, nowhere (what it will lead to cannot be
/// known then), or back to itself.
pub(super) fn problem(real_root: &Path, link: &Path) -> Option<Finding> {
    let (message, fix) = match link.canonicalize() {
        Ok(target) if target.starts_with(real_root) => return None,
        Ok(_) => (
            "it is a symbolic link that leaves the vault".to_owned(),
            "put the file itself into the vault, or remove the link",
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let target =
                std::fs::read_link(link).map_or_else(|_| String::new(), |to| to.display().to_string());
            (
                format!("it is a symbolic link to {target:?}, which is not there"),
                "mend the link, or remove it",
            )
        }
        // The name of this kind of error is not stable yet, so it is told by what cannot be anything else.
        Err(error) if round(link) => (
            format!("it is a symbolic link that leads back to itself ({error})"),
            "remove the link; nothing is behind it",
        ),
        Err(error) => {
            (format!("it is a symbolic link that cannot be followed: {error}"), "mend the link, or remove it")
        }
    };
    Some(Finding::new("path.symlink", Severity::Warning, message).with_fix(fix))
}

/// Whether links from here on lead from one to the next without an end.
fn round(link: &Path) -> bool {
    let mut at = link.to_owned();
    for _ in 0..64 {
        let Ok(to) = std::fs::read_link(&at) else { return false };
        at = at.parent().map_or(to.clone(), |above| above.join(&to));
    }
    true
}
