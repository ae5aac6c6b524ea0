//! Git's hooks and merge driver of this clone, which keep the layer files those of the committed tree.
//!
//! Nothing of it comes with a clone: it stands in the clone's own configuration, its `info/attributes` and its hooks,
//! and is put there when somebody asks for it.
//!
//! While git merges, the other files are not all merged yet, so the driver cannot know what a layer will be: it takes
//! one side (`driver`), and what stands then is made anew from the committed tree (`settle`): before a commit by
//! `pre-commit`, after a merge by `post-merge`, after a rebase by `post-rewrite`.

mod driver;
mod settle;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::vault::Vault;
use crate::layers::{ABSTRACT_FILE, OVERVIEW_FILE};
use crate::model::clock::Env;
use crate::model::fault::{Explain, Fault, Kind};
use crate::store::files;

use crate::store::plain;
pub use driver::{Side, merge_layer};
pub use settle::{Hook, Settled, run};

/// The hooks that are installed.
pub const HOOKS: [&str; 4] = ["pre-commit", "post-commit", "post-merge", "post-rewrite"];
/// The line by which our own hook is known.
const MARK: &str = "# Made by `runebook hooks install`; `runebook hooks uninstall` takes it away.";
/// What is put behind the name of a hook that was there before.
const BEFORE: &str = "before-runebook";
/// The name of the merge driver in git's configuration.
const DRIVER: &str = "runebook-layers";
/// The lines around ours in `info/attributes`.
const BEGIN: &str = "# runebook: begin";
const END: &str = "# runebook: end";

/// What was done about one hook, or the merge driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Did {
    /// It was put there.
    Installed,
    /// It was there already and is up to date now.
    Renewed,
    /// It was put in front of one that was there before, which still runs, first.
    Chained,
    /// It was taken away.
    Removed,
    /// It was taken away, and the one that was there before is back.
    Restored,
    /// There was nothing to do.
    Nothing,
    /// Another program has a say there; the person must add a line.
    Left,
}

/// One hook, or the merge driver.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Part {
    /// Its name: `pre-commit`, `merge-driver`.
    pub name: String,
    /// What was done.
    pub did: Did,
}

/// What `hooks install` and `hooks uninstall` did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answer {
    /// The hooks and the merge driver.
    pub parts: Vec<Part>,
    /// Where git looks for hooks.
    pub directory: PathBuf,
    /// What the person must do by hand; absent where nothing is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum HooksError {
    /// Something of ours was kept beside a hook already, and the hook is not ours.
    #[error("{} is there already, and {} is not ours", kept.display(), hook.display())]
    Taken {
        /// The hook.
        hook: PathBuf,
        /// What was kept.
        kept: PathBuf,
    },
    /// A file of git's directory cannot be changed.
    #[error("{doing} {}: {why}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
}

impl Explain for HooksError {
    fn kind(&self) -> Kind {
        match self {
            HooksError::Taken { .. } => Kind::Conflict,
            HooksError::Io { .. } => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            HooksError::Taken { kept, .. } => {
                Some(format!("look at both; then remove {} or give it another name", kept.display()))
            }
            HooksError::Io { .. } => None,
        }
    }
}

fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> HooksError {
    let path = path.to_owned();
    move |why| HooksError::Io { doing, path, why }
}

/// Installs the hooks and the merge driver in this clone. Done again, it renews them. A hook that is there already
/// stays and runs first.
///
/// # Errors
/// When something in git's directory cannot be written, or is in the way.
pub fn install(vault: &Vault<'_>) -> Result<Answer, Fault> {
    let (directory, set) = vault.repo.hooks_dir();
    let program = quoted(&Env::program().unwrap_or_else(|| PathBuf::from("runebook")));
    let mut parts = vec![Part { name: "merge-driver".to_owned(), did: install_driver(vault, &program)? }];
    if set {
        parts.extend(HOOKS.iter().map(|name| Part { name: (*name).to_owned(), did: Did::Left }));
        let lines: Vec<String> =
            HOOKS.iter().map(|name| format!("{name}: runebook hooks run {name} \"$@\"")).collect();
        let left = format!(
            "core.hooksPath says that hooks stand in {}; add a line to each of these: {}",
            directory.display(),
            lines.join("; ")
        );
        return Ok(Answer { parts, directory, left: Some(left) });
    }
    std::fs::create_dir_all(&directory).map_err(io("making", &directory))?;
    for name in HOOKS {
        let did = install_hook(&directory.join(name), &script(name, &program))?;
        parts.push(Part { name: name.to_owned(), did });
    }
    Ok(Answer { parts, directory, left: None })
}

/// Takes the hooks and the merge driver out of this clone. What was there before is back.
///
/// # Errors
/// When something in git's directory cannot be changed.
pub fn uninstall(vault: &Vault<'_>) -> Result<Answer, Fault> {
    let (directory, _) = vault.repo.hooks_dir();
    let mut parts = vec![Part { name: "merge-driver".to_owned(), did: uninstall_driver(vault)? }];
    for name in HOOKS {
        let hook = directory.join(name);
        let kept = beside(&hook);
        let did = if !is_ours(&hook) {
            Did::Nothing
        } else if kept.exists() {
            std::fs::rename(&kept, &hook).map_err(io("putting back", &hook))?;
            Did::Restored
        } else {
            std::fs::remove_file(&hook).map_err(io("removing", &hook))?;
            Did::Removed
        };
        parts.push(Part { name: name.to_owned(), did });
    }
    Ok(Answer { parts, directory, left: None })
}

/// How much of it is installed in this clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// All of it.
    Installed,
    /// The merge driver or some of the hooks.
    Partly,
    /// Nothing.
    Missing,
}

/// Looks how much of it is installed. Where another program keeps the hooks, a hook that calls this one counts.
#[must_use]
pub fn state(vault: &Vault<'_>) -> State {
    let (directory, set) = vault.repo.hooks_dir();
    let calls = |hook: &Path| plain::read_text(hook).is_ok_and(|text| text.contains("runebook hooks run"));
    let there = |name: &&str| {
        let hook = directory.join(name);
        is_ours(&hook) || (set && calls(&hook))
    };
    let driver = usize::from(vault.repo.config(&format!("merge.{DRIVER}.driver")).is_some());
    match HOOKS.iter().filter(|name| there(name)).count() + driver {
        0 => State::Missing,
        n if n == HOOKS.len() + 1 => State::Installed,
        _ => State::Partly,
    }
}

/// The hooks that `git commit` runs.
const OF_A_COMMIT: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

/// The hooks of somebody else that `git commit` would run here, in the order in which it does; `runebook commit` makes
/// the commit itself and runs none.
#[must_use]
pub fn not_run(vault: &Vault<'_>) -> Vec<String> {
    let (directory, _) = vault.repo.hooks_dir();
    let runs = |name: &str| {
        let hook = directory.join(name);
        match plain::read(&hook) {
            _ if !files::is_executable(&hook) => false,
            // Ours runs the one that was there before it.
            Ok(bytes) if holds_mark(&bytes) => files::is_executable(&beside(&hook)),
            Ok(bytes) => !calls_nothing_else(&String::from_utf8_lossy(&bytes)),
            Err(_) => true,
        }
    };
    OF_A_COMMIT.iter().filter(|name| runs(name)).map(|name| (*name).to_owned()).collect()
}

/// Whether a script does nothing but call us, or nothing at all: `runebook commit` does the same by itself.
fn calls_nothing_else(script: &str) -> bool {
    let mut lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.all(|line| line.starts_with("runebook hooks run"))
}

fn install_hook(hook: &Path, script: &str) -> Result<Did, Fault> {
    let kept = beside(hook);
    let did = if is_ours(hook) {
        Did::Renewed
    } else if hook.symlink_metadata().is_err() {
        if kept.exists() { Did::Chained } else { Did::Installed }
    } else if kept.symlink_metadata().is_ok() {
        return Err(HooksError::Taken { hook: hook.to_owned(), kept }.into());
    } else {
        std::fs::rename(hook, &kept).map_err(io("moving aside", hook))?;
        Did::Chained
    };
    files::write_at(hook, script.as_bytes())?;
    executable(hook).map_err(io("making executable", hook))?;
    Ok(did)
}

/// The hook: what was there before runs first and may refuse; ours runs where the program is.
fn script(name: &str, program: &str) -> String {
    let chained = format!("\"$(dirname \"$0\")/{name}.{BEFORE}\"");
    // `post-rewrite` is told what was rewritten on its input, which both want.
    let (take, give) =
        if name == "post-rewrite" { ("told=$(cat)\n", "printf '%s\\n' \"$told\" | ") } else { ("", "") };
    format!(
        "#!/bin/sh\n{MARK}\n{take}if [ -x {chained} ]; then\n  {give}{chained} \"$@\" || exit $?\nfi\n\
         if [ -x {program} ]; then\n  {give}{program} hooks run {name} \"$@\"\n\
         elif command -v runebook >/dev/null 2>&1; then\n  {give}runebook hooks run {name} \"$@\"\nfi\nexit 0\n"
    )
}

fn beside(hook: &Path) -> PathBuf {
    let mut name = hook.as_os_str().to_owned();
    name.push(format!(".{BEFORE}"));
    PathBuf::from(name)
}

fn is_ours(hook: &Path) -> bool {
    plain::read(hook).is_ok_and(|bytes| holds_mark(&bytes))
}

fn holds_mark(script: &[u8]) -> bool {
    script.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

#[cfg(unix)]
fn executable(at: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable(_at: &Path) -> std::io::Result<()> {
    Ok(())
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

fn install_driver(vault: &Vault<'_>, program: &str) -> Result<Did, Fault> {
    let key = format!("merge.{DRIVER}.driver");
    let before = vault.repo.config(&key);
    let args = "merge-driver %O %A %B %P";
    let run = format!("if [ -x {program} ]; then {program} {args}; else runebook {args}; fi");
    vault.repo.set_config(&format!("merge.{DRIVER}.name"), "Runebook: layer files are made anew")?;
    vault.repo.set_config(&key, &run)?;
    let lines = format!("{ABSTRACT_FILE} merge={DRIVER}\n{OVERVIEW_FILE} merge={DRIVER}\n");
    attributes(vault, Some(&lines))?;
    Ok(if before.is_some() { Did::Renewed } else { Did::Installed })
}

fn uninstall_driver(vault: &Vault<'_>) -> Result<Did, Fault> {
    let key = format!("merge.{DRIVER}.driver");
    let before = vault.repo.config(&key);
    vault.repo.unset_config(&key)?;
    vault.repo.unset_config(&format!("merge.{DRIVER}.name"))?;
    vault.repo.drop_empty_section(&format!("[merge \"{DRIVER}\"]"))?;
    attributes(vault, None)?;
    Ok(if before.is_some() { Did::Removed } else { Did::Nothing })
}

/// Puts lines between our marks in `info/attributes`, or takes them out with the marks.
fn attributes(vault: &Vault<'_>, lines: Option<&str>) -> Result<(), Fault> {
    let at = vault.repo.common_dir().join("info/attributes");
    let old = match plain::read_text(&at) {
        Ok(text) => text,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(why) => return Err(HooksError::Io { doing: "reading", path: at, why }.into()),
    };
    let mut new = without_ours(&old);
    if let Some(lines) = lines {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        new.push_str(&format!("{BEGIN}\n{lines}{END}\n"));
    }
    if new == old {
        return Ok(());
    }
    if new.is_empty() {
        std::fs::remove_file(&at).map_err(io("removing", &at))?;
        return Ok(());
    }
    let directory = vault.repo.common_dir().join("info");
    std::fs::create_dir_all(&directory).map_err(io("making", &directory))?;
    Ok(files::write_at(&at, new.as_bytes())?)
}

fn without_ours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut ours = false;
    for line in text.split_inclusive('\n') {
        match line.trim_end() {
            BEGIN => ours = true,
            END if ours => ours = false,
            _ if !ours => out.push_str(line),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_lines_go() {
        let text = format!("*.png binary\n{BEGIN}\nx merge=y\n{END}\n*.md text");
        assert_eq!(without_ours(&text), "*.png binary\n*.md text");
        assert_eq!(without_ours("a\n"), "a\n");
    }

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
