//! Walking the files of a vault: in parallel, without leaving it, with what is in the way reported.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::model::clock::Cancel;
use crate::model::finding::{Finding, Severity};
use crate::model::path::VaultPath;
use crate::store::ignored::Ignored;
use crate::store::selection::Selection;
use crate::store::{plain, symlink};

/// What a walk takes in.
#[derive(Debug, Clone, Default)]
pub struct WalkOptions {
    /// Globs of files that are left out, besides what `.gitignore` names (the settings' `ignore`).
    pub ignore: Vec<String>,
    /// Whether names that begin with a dot are taken in. `.git` and `.runebook` never are.
    pub hidden: bool,
    /// Whether what `.gitignore` names is taken in.
    pub git_ignored: bool,
    /// The directory to walk; the root takes in everything.
    pub below: VaultPath,
    /// How many levels below the starting directory are taken in; absent means all.
    pub depth: Option<usize>,
    /// The part of the vault that is looked at, by the same rules as the whole; absent means all.
    pub only: Option<Arc<Selection>>,
    /// Whether files are passed over, so that nothing is asked about them.
    pub directories_only: bool,
    /// Ends the walk early. What was found until then is returned.
    pub cancel: Cancel,
}

/// One file, as the file system describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStat {
    /// Where it stands.
    pub path: VaultPath,
    /// Its size in bytes.
    pub size: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When its entry last changed, in nanoseconds since 1970; 0 where the system does not tell.
    pub ctime_ns: i64,
    /// Its number on the file system; 0 where the system does not tell.
    pub inode: u64,
}

impl FileStat {
    /// What the file system says of a file.
    #[must_use]
    pub fn of(path: VaultPath, data: &Metadata) -> FileStat {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
            FileStat {
                path,
                size: data.len(),
                mtime_ns: ns(data.mtime(), data.mtime_nsec()),
                ctime_ns: ns(data.ctime(), data.ctime_nsec()),
                inode: data.ino(),
            }
        }
        #[cfg(not(unix))]
        {
            let since = data.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
            let mtime_ns = since.and_then(|d| i64::try_from(d.as_nanos()).ok()).unwrap_or(0);
            FileStat { path, size: data.len(), mtime_ns, ctime_ns: 0, inode: 0 }
        }
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walk {
    /// The files, in the order of their paths.
    pub files: Vec<FileStat>,
    /// The directories below the starting one, in the order of their paths; also those in which nothing is.
    pub directories: Vec<VaultPath>,
    /// What could not be walked, and what was left out for a reason that somebody should know.
    pub problems: Vec<Finding>,
    /// Directories and files of which it is not known what they hold, and why: they are there, but cannot be read.
    /// The root among them means that nothing is known.
    pub unread: Vec<(VaultPath, String)>,
}

/// Walks the files below a vault's root.
///
/// Left out: `.git`, `.runebook`, what `.gitignore` and [`WalkOptions::ignore`] name, nested repositories and
/// vaults, symbolic links (those that leave the vault are reported; the target of another is found under its own
/// name). An unreadable directory or a name that is not UTF-8 is reported and does not stop the rest.
#[must_use]
pub fn walk(root: &Path, options: &WalkOptions) -> Walk {
    let mut found = Walk::default();
    let start = if options.below.is_root() { root.to_owned() } else { root.join(options.below.as_str()) };
    let ignored = match excluded(root, &options.ignore) {
        Ok(ignored) => ignored,
        Err(problem) => {
            found.problems.push(*problem);
            Override::empty()
        }
    };
    let shared = Arc::new(Mutex::new(&mut found));
    let nested: Arc<Mutex<Vec<Finding>>> = Arc::default();
    let rules = (!options.git_ignored).then(|| Arc::new(Ignored::new(root, &options.below)));
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(1, 8);
    WalkBuilder::new(&start)
        .hidden(!options.hidden)
        // What stands above the vault has no say in it: a `*` in a home's `.gitignore` must not empty the vault.
        .parents(false)
        .ignore(false)
        .git_global(false)
        // Asked in the filter.
        .git_ignore(false)
        .git_exclude(false)
        .overrides(ignored)
        .max_depth(options.depth)
        .threads(if options.depth == Some(1) || options.only.is_some() { 1 } else { threads })
        .filter_entry(filter(root, options, &nested, rules.clone()))
        .build_parallel()
        .run(|| {
            let mut own = Collector { into: Arc::clone(&shared), found: Walk::default() };
            let (root, real_root, cancel) = (root.to_owned(), real_root.clone(), options.cancel.clone());
            Box::new(move |entry| {
                if cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => own.found.take(&root, &real_root, &entry),
                    Err(error) => own.found.miss(&root, None, &error),
                }
                WalkState::Continue
            })
        });
    found.problems.append(&mut nested.lock().unwrap_or_else(PoisonError::into_inner));
    found.problems.extend(rules.into_iter().flat_map(|rules| rules.problems()));
    found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found.directories.sort_unstable();
    found.problems.sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
    found.unread.sort();
    found
}

/// What one thread found; it is handed over when the thread is done, so that the threads do not wait for each
/// other at every file.
struct Collector<'a> {
    into: Arc<Mutex<&'a mut Walk>>,
    found: Walk,
}

impl Drop for Collector<'_> {
    fn drop(&mut self) {
        let mut into = self.into.lock().unwrap_or_else(PoisonError::into_inner);
        into.files.append(&mut self.found.files);
        into.directories.append(&mut self.found.directories);
        into.problems.append(&mut self.found.problems);
        into.unread.append(&mut self.found.unread);
    }
}

impl Walk {
    fn take(&mut self, root: &Path, real_root: &Path, entry: &DirEntry) {
        let Some(kind) = entry.file_type() else { return };
        if kind.is_dir() {
            let path = entry.path().strip_prefix(root).ok().and_then(vault_path);
            self.directories.extend(path.filter(|_| entry.depth() > 0));
            return;
        }
        let Ok(relative) = entry.path().strip_prefix(root) else { return };
        let Some(path) = vault_path(relative) else {
            self.problems.push(
                Finding::new(
                    "path.encoding",
                    Severity::Warning,
                    format!("the name of {relative:?} is not UTF-8"),
                )
                .with_fix("rename the file; until then it is left out"),
            );
            return;
        };
        if kind.is_symlink() {
            self.problems.push(symlink::problem(real_root, entry.path()).in_file(&path));
            return;
        }
        if !kind.is_file() {
            let what =
                entry.metadata().ok().and_then(|data| plain::special(&data)).unwrap_or("something else");
            let finding = Finding::new("path.kind", Severity::Warning, plain::no_file(what)).in_file(&path);
            self.problems.push(finding.with_fix("move it out of the vault, or remove it; it is left out"));
            return;
        }
        match entry.metadata() {
            Ok(data) => self.files.push(FileStat::of(path, &data)),
            Err(error) => self.miss(root, Some(&path), &error),
        }
    }

    /// Puts down what could not be read.
    fn miss(&mut self, root: &Path, path: Option<&VaultPath>, error: &ignore::Error) {
        let at = path.cloned().or_else(|| place_of(root, error));
        let gone = error.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound);
        if gone && at.as_ref().is_some_and(|at| !at.is_root()) {
            // It was removed while we walked: then it is simply not there.
            return;
        }
        self.problems.push(unreadable(at.as_ref(), error));
        // A line of a `.gitignore` that makes no sense hides nothing.
        if let Some(at) = at.filter(|_| error.io_error().is_some()) {
            let why = error.io_error().map_or_else(String::new, std::io::Error::to_string);
            self.unread.push((at, format!("it cannot be read: {why}")));
        }
    }
}

/// Which entries are walked: what is no part of the vault is not, and nothing outside of [`WalkOptions::only`].
fn filter(
    root: &Path,
    options: &WalkOptions,
    nested: &Arc<Mutex<Vec<Finding>>>,
    rules: Option<Arc<Ignored>>,
) -> impl Fn(&DirEntry) -> bool + Send + Sync + 'static {
    let (root, only, directories_only) = (root.to_owned(), options.only.clone(), options.directories_only);
    let nested = Arc::clone(nested);
    move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let path = || entry.path().strip_prefix(&root).ok().and_then(vault_path);
        let wanted = |only: &Arc<Selection>| {
            path().is_some_and(|path| match is_dir {
                true => only.leads_through(path.as_str()),
                false => only.holds(path.as_str()),
            })
        };
        let passed_over = (directories_only && !is_dir)
            || !only.as_ref().is_none_or(wanted)
            || rules.as_ref().is_some_and(|rules| rules.leaves_out(entry.path(), is_dir));
        if passed_over {
            return false;
        }
        match (left_alone(entry), &rules) {
            (Some(Left::Own), _) => return false,
            (Some(Left::Nested(what)), _) => {
                let finding = path().map(|path| left_out(&path, what));
                nested.lock().unwrap_or_else(PoisonError::into_inner).extend(finding);
                return false;
            }
            (None, Some(rules)) if is_dir => rules.enter(entry.path()),
            (None, _) => {}
        }
        true
    }
}

/// Why an entry is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It is ours or git's own.
    Own,
    /// It is a vault or repository within this one.
    Nested(&'static str),
}

fn left_alone(entry: &DirEntry) -> Option<Left> {
    if entry.depth() == 0 {
        return None;
    }
    if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        // A `.git` file stands in linked work trees and submodules.
        return (entry.file_name() == ".git").then_some(Left::Own);
    }
    if entry.file_name() == ".git" || entry.file_name() == ".runebook" {
        return Some(Left::Own);
    }
    let kind_of = |name: &str| entry.path().join(name).symlink_metadata().ok().map(|data| data.file_type());
    match (kind_of(".runebook"), kind_of(".git")) {
        (Some(_), _) => Some(Left::Nested("a vault of its own")),
        (None, Some(kind)) if kind.is_file() => Some(Left::Nested("a submodule or another work tree")),
        (None, Some(_)) => Some(Left::Nested("a git repository of its own")),
        (None, None) => None,
    }
}

/// That a directory is left alone, which its owner may not have thought of.
fn left_out(path: &VaultPath, what: &str) -> Finding {
    Finding::new("path.nested", Severity::Info, format!("it is {what} and is left alone"))
        .in_file(path)
        .with_fix("open it by itself, or move its notes out of it, or name it under `ignore` in .runebook/config.yaml")
}

fn excluded(root: &Path, globs: &[String]) -> Result<Override, Box<Finding>> {
    let mut builder = OverrideBuilder::new(root);
    let wrong = |glob: &str, error: &ignore::Error| -> Box<Finding> {
        Finding::new(
            "config.ignore",
            Severity::Warning,
            format!("the ignore glob `{glob}` is malformed: {error}"),
        )
        .with_fix("mend it in .runebook/config.yaml")
        .into()
    };
    for glob in globs {
        // In an override a plain glob takes in and `!` leaves out: the reverse of `.gitignore`.
        builder.add(&format!("!{glob}")).map_err(|error| wrong(glob, &error))?;
    }
    builder.build().map_err(|error| wrong(&globs.join(" "), &error))
}

fn vault_path(relative: &Path) -> Option<VaultPath> {
    let text = relative.to_str()?;
    if std::path::MAIN_SEPARATOR == '/' {
        VaultPath::from_disk(text.as_bytes())
    } else {
        VaultPath::from_disk(text.replace(std::path::MAIN_SEPARATOR, "/").as_bytes())
    }
}

/// Where an error of the walk happened, if it tells and that is in the vault.
fn place_of(root: &Path, error: &ignore::Error) -> Option<VaultPath> {
    let mut at: Option<PathBuf> = None;
    let mut inner = error;
    loop {
        match inner {
            ignore::Error::WithPath { path, err } => {
                at = Some(path.clone());
                inner = err;
            }
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => inner = err,
            _ => break,
        }
    }
    vault_path(at?.strip_prefix(root).ok()?)
}

fn unreadable(at: Option<&VaultPath>, error: &ignore::Error) -> Finding {
    let why = error.io_error().map_or_else(|| error.to_string(), std::io::Error::to_string);
    let refused = error.io_error().is_none_or(|why| why.kind() == std::io::ErrorKind::PermissionDenied);
    let fix = match refused {
        true => "give yourself the right to read it, or add it to `ignore` in .runebook/config.yaml",
        false => "mount it again, or see what `dmesg` says of the disk",
    };
    let finding =
        Finding::new("path.unreadable", Severity::Warning, format!("it cannot be read: {why}")).with_fix(fix);
    match at {
        Some(path) => finding.in_file(path),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }

    fn names(walk: &Walk) -> Vec<&str> {
        walk.files.iter().map(|f| f.path.as_str()).collect()
    }

    #[test]
    fn takes_in_what_is_memory_and_leaves_the_rest_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in
            ["a.md", "日记/二.md", "b/c.md", ".git/HEAD", ".runebook/config.yaml", ".obsidian/app.json"]
        {
            put(root, path);
        }
        for path in ["nested/.git/HEAD", "nested/x.md", "vault/.runebook/config.yaml", "vault/y.md"] {
            put(root, path);
        }
        for path in ["drafts/z.md", "b/skip.tmp", "sub/.git", "sub/s.md"] {
            put(root, path);
        }
        std::fs::write(root.join(".gitignore"), "drafts/\n").unwrap();
        let options = WalkOptions { ignore: vec!["*.tmp".to_owned()], ..WalkOptions::default() };
        let found = walk(root, &options);
        assert_eq!(names(&found), ["a.md", "b/c.md", "日记/二.md"]);
        let told = |walk: &Walk| -> Vec<String> {
            walk.problems
                .iter()
                .map(|p| format!("{} {:?}", p.rule, p.path.as_ref().map(VaultPath::as_str)))
                .collect()
        };
        let nested = ["nested", "sub", "vault"].map(|path| format!("path.nested {:?}", Some(path)));
        assert_eq!(told(&found), nested);
        assert_eq!(found.files[0].size, 1);
        let below = WalkOptions { below: VaultPath::parse("b").unwrap(), ..options };
        assert_eq!(names(&walk(root, &below)), ["b/c.md"]);
    }

    #[test]
    fn what_stands_above_the_vault_has_no_say() {
        let dir = tempfile::tempdir().unwrap();
        let root = &dir.path().join("vault");
        put(root, "a/b.md");
        put(root, "a/c.tmp");
        std::fs::write(dir.path().join(".gitignore"), "*\n").unwrap();
        std::fs::write(root.join(".gitignore"), "*.tmp\n").unwrap();
        for git in [false, true] {
            if git {
                put(root, ".git/HEAD");
            }
            assert_eq!(names(&walk(root, &WalkOptions::default())), ["a/b.md"], "git: {git}");
        }
        let below = WalkOptions { below: VaultPath::parse("a").unwrap(), ..WalkOptions::default() };
        assert_eq!(names(&walk(root, &below)), ["a/b.md"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_odd_names_are_reported_and_do_not_stop_the_rest() {
        use std::os::unix::ffi::OsStrExt as _;
        let dir = tempfile::tempdir().unwrap();
        let root = &dir.path().join("vault");
        put(root, "a.md");
        put(root, "quote'\"\nline.md");
        put(dir.path(), "outside.md");
        std::os::unix::fs::symlink("../outside.md", root.join("out.md")).unwrap();
        std::os::unix::fs::symlink("a.md", root.join("in.md")).unwrap();
        std::os::unix::fs::symlink(".", root.join("loop")).unwrap();
        std::os::unix::fs::symlink("round b", root.join("round a")).unwrap();
        std::os::unix::fs::symlink("round a", root.join("round b")).unwrap();
        std::os::unix::fs::symlink("gone.md", root.join("to nothing")).unwrap();
        std::fs::write(root.join(std::ffi::OsStr::from_bytes(b"bad\xff.md")), "x").unwrap();
        let found = walk(root, &WalkOptions::default());
        assert_eq!(names(&found), ["a.md", "quote'\"\nline.md"]);
        let rules: Vec<&str> = found.problems.iter().map(|p| p.rule.as_str()).collect();
        assert_eq!(rules[0], "path.encoding");
        let said: Vec<String> =
            found.problems[1..].iter().map(|p| format!("{:?} {}", p.path, p.message)).collect();
        for (name, why) in [
            ("out.md", "leaves the vault"),
            ("round a", "back to itself"),
            ("round b", "back to itself"),
            ("to nothing", "\"gone.md\", which is not there"),
            ("in.md", "a symbolic link to \"a.md\" and is left out"),
            ("loop", "a symbolic link to the vault itself and is left out"),
        ] {
            let told = |line: &&String| line.contains(name) && line.contains(why);
            assert_eq!(said.iter().filter(told).count(), 1, "{name}: {said:?}");
        }
        assert_eq!(said.len(), 6, "{said:?}");
    }

    #[test]
    fn a_part_is_walked_by_the_rules_of_the_whole() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in [
            "a.md",
            "b/c.md",
            "b/d.md",
            "b/e/f.md",
            "drafts/z.md",
            "b/e/x.tmp",
            "n/.git/HEAD",
            "n/x.md",
            "o/p.md",
        ] {
            put(root, path);
        }
        put(root, ".git/HEAD");
        std::fs::write(root.join(".gitignore"), "drafts/\n").unwrap();
        std::fs::write(root.join("b/.gitignore"), "*.tmp\n").unwrap();
        let only = |paths: &[&str]| {
            let picked: Selection = paths.iter().map(|path| VaultPath::parse(path).unwrap()).collect();
            let options = WalkOptions { only: Some(Arc::new(picked)), ..WalkOptions::default() };
            walk(root, &options)
        };
        assert_eq!(names(&only(&["b/c.md", "drafts/z.md", "n/x.md", "o", "gone"])), ["b/c.md", "o/p.md"]);
        assert_eq!(names(&only(&["b/e"])), ["b/e/f.md"]);
        assert_eq!(names(&only(&[""])), names(&walk(root, &WalkOptions::default())));
        let options = WalkOptions { directories_only: true, ..WalkOptions::default() };
        let found = walk(root, &options);
        assert_eq!(names(&found), Vec::<&str>::new());
        let directories: Vec<&str> = found.directories.iter().map(VaultPath::as_str).collect();
        assert_eq!(directories, ["b", "b/e", "o"]);
    }

    #[test]
    fn a_root_that_is_gone_is_unread_and_not_empty() {
        let dir = tempfile::tempdir().unwrap();
        let found = walk(&dir.path().join("gone"), &WalkOptions::default());
        assert_eq!(found.unread.len(), 1, "{found:?}");
        assert!(found.unread[0].0.is_root());
    }
}
