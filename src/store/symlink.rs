//! What a symbolic link of a vault is, in words that help: it is left out, and some are broken.

use std::path::Path;

use crate::model::finding::{Finding, Severity};

/// What is to be said of a symbolic link: that it is left out, since what it leads to stands in the vault already; or what
/// is wrong with it: it leads out of the vault, nowhere (what it will lead to cannot be known then), or back to itself.
pub(super) fn problem(real_root: &Path, link: &Path) -> Finding {
    let (message, fix) = match link.canonicalize() {
        Ok(target) if target.starts_with(real_root) => {
            let to = target.strip_prefix(real_root).unwrap_or(&target);
            let to = if to.as_os_str().is_empty() { "the vault itself".into() } else { format!("{to:?}") };
            let message = format!("it is a symbolic link to {to} and is left out: no memory of its own");
            return Finding::new("path.symlink", Severity::Info, message).with_fix(
                "nothing, if that is meant; for another name of a note write it under `aliases` there",
            );
        }
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
    Finding::new("path.symlink", Severity::Warning, message).with_fix(fix)
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
