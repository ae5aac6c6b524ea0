//! What is wrong with a git directory that git takes for none, and what to do about it: that there is no repository would
//! be no help, and to make another one over it would be worse.

use std::io::ErrorKind;
use std::path::Path;

use super::GitError;
use crate::store::git_place;

/// What a git directory has at least.
const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];

/// What is wrong with the nearest `.git` at or above a directory; none where there is no such thing.
pub(super) fn broken(from: &Path) -> Option<GitError> {
    let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
    let (root, data) = from.ancestors().find_map(|above| match above.join(".git").symlink_metadata() {
        Err(why) if why.kind() == ErrorKind::NotFound => None,
        found => Some((above, found)),
    })?;
    let at = root.join(".git");
    let tell = |why: String, hint: String| Some(GitError::Broken { path: at.clone(), why, hint });
    let dir = match (data, git_place::git_dir(root)) {
        (Err(why), _) => return tell(format!("it cannot be looked at: {why}"), own(root)),
        (Ok(data), Some(named)) if !data.is_dir() && !named.is_dir() => {
            return tell(
                format!("it names {}, which is not there", named.display()),
                "where the repository was moved, run `git worktree repair` in it; where it is gone, remove this file"
                    .to_owned(),
            );
        }
        (Ok(_), named) => named.unwrap_or_else(|| at.clone()),
    };
    if let Err(why) =
        dir.read_dir().and_then(|_| dir.join("HEAD").symlink_metadata().map(drop).or_else(there))
    {
        return tell(format!("it cannot be read: {why}"), own(&dir));
    }
    let missing: Vec<&str> = PARTS.into_iter().filter(|name| !dir.join(name).exists()).collect();
    let hint = match missing.as_slice() {
        [] => return None,
        ["HEAD"] => format!("write it anew: `echo 'ref: refs/heads/main' > '{}'`", dir.join("HEAD").display()),
        ["refs"] => format!("`mkdir '{}'`, then see with `git fsck` what is lost", dir.join("refs").display()),
        all if all.len() == PARTS.len() => {
            "bring its content back from a copy; if it never had any, remove it and run `runebook init --existing`"
                .to_owned()
        }
        _ => "bring it back from a copy, or clone the vault anew; the notes beside it are untouched".to_owned(),
    };
    tell(format!("it has no {}", missing.join(", no ")), hint)
}

/// That something is not there is no refusal.
fn there(why: std::io::Error) -> std::io::Result<()> {
    if why.kind() == ErrorKind::NotFound { Ok(()) } else { Err(why) }
}

fn own(at: &Path) -> String {
    format!("give yourself the right to read it: `chmod u+rwX '{}'`, or work as its owner", at.display())
}

/// What to do where libgit2 finds something of a repository that it cannot read.
pub(super) fn hint(why: &str) -> Option<String> {
    if let Some((_, name)) = why.split_once("corrupted loose reference file: ") {
        return Some(match name {
            "HEAD" => "write it anew: `echo 'ref: refs/heads/main' > .git/HEAD`".to_owned(),
            name => format!(
                "`.git/{name}` holds no commit's name; the last line of `.git/logs/{name}` has it: write it back"
            ),
        });
    }
    let known = [
        ("failed to parse config file", "mend that line; `git config --list` reads it too"),
        ("is malformed", "it should hold `gitdir: PATH`; where the repository is gone, remove it"),
    ];
    known.iter().find(|(words, _)| why.contains(words)).map(|(_, hint)| (*hint).to_owned())
}
