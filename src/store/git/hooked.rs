//! What hooks need of git: its settings of this clone, and the index that a commit is being made from.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{GitError, Repo, from_git, other};
use crate::model::change::Entry;
use crate::model::id::Oid;
use crate::model::path::VaultPath;
use crate::store::plain;

/// How large a configuration is looked at.
const MOST: u64 = 1 << 20;

impl Repo {
    /// Sets a text in this clone's own configuration.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_config(&self, key: &str, value: &str) -> Result<(), GitError> {
        let local = self.inner.config().and_then(|config| config.open_level(git2::ConfigLevel::Local));
        let set = local.and_then(|mut local| local.set_str(key, value));
        set.map_err(other(format!("setting {key} in git's configuration")))
    }

    /// Takes a key out of this clone's own configuration, if it is there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn unset_config(&self, key: &str) -> Result<(), GitError> {
        let local = self.inner.config().and_then(|config| config.open_level(git2::ConfigLevel::Local));
        match local.and_then(|mut local| local.remove(key)) {
            Err(error) if error.code() != git2::ErrorCode::NotFound => {
                Err(other(format!("removing {key} from git's configuration"))(error))
            }
            _ => Ok(()),
        }
    }

    /// Takes the heads of a section that holds nothing out of this clone's own configuration: libgit2 leaves them when the
    /// last setting goes.
    ///
    /// # Errors
    /// When the file is locked or cannot be written.
    pub fn drop_empty_section(&self, head: &str) -> Result<(), GitError> {
        let file = self.common_dir().join("config");
        let Ok(text) = plain::read_small(&file, MOST) else { return Ok(()) };
        let kept = without_empty(&text, head);
        // A link is somebody's way to keep it elsewhere: it stays one.
        if kept == text || file.is_symlink() {
            return Ok(());
        }
        let lock = self.common_dir().join("config.lock");
        let write = || {
            let mut out = std::fs::OpenOptions::new().write(true).create_new(true).open(&lock)?;
            let written = out
                .write_all(kept.as_bytes())
                .and_then(|()| out.set_permissions(file.metadata()?.permissions()))
                .and_then(|()| std::fs::rename(&lock, &file));
            // It is ours, and nobody else takes it away.
            written.inspect_err(|_| drop(std::fs::remove_file(&lock)))
        };
        write().map_err(|why: std::io::Error| super::checkout::io_error("writing", &file, &why))
    }

    /// Where git looks for the hooks of this clone, and whether a setting (`core.hooksPath`) says so.
    #[must_use]
    pub fn hooks_dir(&self) -> (PathBuf, bool) {
        match self.config("core.hooksPath") {
            Some(path) => (self.work_dir().unwrap_or(self.git_dir()).join(path), true),
            None => (self.common_dir().join("hooks"), false),
        }
    }

    /// The full name of the branch that a rebase under way will move.
    #[must_use]
    pub fn rebased_branch(&self) -> Option<String> {
        let read = |at: &str| plain::read_text(self.git_dir().join(at)).ok();
        let name = read("rebase-merge/head-name").or_else(|| read("rebase-apply/head-name"))?;
        Some(name.trim().to_owned())
    }

    /// What the reflog says of how HEAD came to where it is.
    #[must_use]
    pub fn last_move(&self) -> Option<(Oid, String)> {
        let log = self.inner.reflog("HEAD").ok()?;
        let entry = log.get(0)?;
        Some((from_git(entry.id_old()), entry.message().ok().flatten()?.to_owned()))
    }

    /// The tree of the index that git commits from at this moment, which a hook's environment names. `None`: it has
    /// conflicts.
    ///
    /// # Errors
    /// When git cannot be run.
    pub fn staged_tree(&self) -> Result<Option<Oid>, GitError> {
        let output = self.git(&["write-tree"], &[])?;
        Ok(output.and_then(|text| text.trim().parse().ok()))
    }

    /// Puts entries into that index; `None` takes one out.
    ///
    /// # Errors
    /// When git cannot be run or refuses.
    pub fn stage(&self, entries: &[(VaultPath, Option<Entry>)]) -> Result<(), GitError> {
        let mut lines = Vec::new();
        for (path, entry) in entries {
            let (mode, oid) = entry.map_or((0, Oid::ZERO), |entry| (entry.mode, entry.oid));
            lines.extend_from_slice(format!("{mode:06o} {oid}\t{path}\0").as_bytes());
        }
        match self.git(&["update-index", "-z", "--index-info"], &lines)? {
            Some(_) => Ok(()),
            None => Err(GitError::Other {
                doing: "staging files".to_owned(),
                why: "`git update-index` refused them".to_owned(),
            }),
        }
    }

    /// The entry that the index of this work tree has at a path.
    #[must_use]
    pub fn index_entry(&self, path: &VaultPath) -> Option<Entry> {
        let index = self.inner.index().ok()?;
        let entry = index.get_path(Path::new(path.as_str()), 0)?;
        Some(Entry { mode: entry.mode, oid: from_git(entry.id) })
    }

    /// Runs git in the work tree, with the environment that this program has. `None`: it did not succeed.
    fn git(&self, args: &[&str], input: &[u8]) -> Result<Option<String>, GitError> {
        let fail = |why: std::io::Error| GitError::Other {
            doing: format!("running git {}", args.join(" ")),
            why: why.to_string(),
        };
        let mut child = Command::new("git")
            .args(args)
            .current_dir(self.work_dir().unwrap_or(self.git_dir()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(fail)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input).map_err(fail)?;
        }
        let output = child.wait_with_output().map_err(fail)?;
        Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// A configuration without the sections under this head that hold nothing, not even a comment.
fn without_empty(text: &str, head: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let after = lines[at + 1..].iter().map(|line| line.trim()).find(|line| !line.is_empty());
        if line.trim() != head || after.is_some_and(|next| !next.starts_with('[')) {
            out.push_str(line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_empty_goes() {
        let head = "[merge \"x\"]";
        assert_eq!(
            without_empty("[a]\n\tb = c\n[merge \"x\"]\n[d]\n\te = f\n", head),
            "[a]\n\tb = c\n[d]\n\te = f\n"
        );
        assert_eq!(without_empty("[a]\n\tb = c\n[merge \"x\"]\n", head), "[a]\n\tb = c\n");
        for kept in ["[merge \"x\"]\n\tname = y\n", "[merge \"x\"]\n# mine\n", "[merge \"y\"]\n", ""] {
            assert_eq!(without_empty(kept, head), kept);
        }
    }
}
