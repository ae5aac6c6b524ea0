//! Making a vault: of nothing, of a folder of notes, of a git repository.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::acting;
use super::found::Found;
use super::layers::Generator;
use super::preset::{self, ActorEntry, Preset};
use super::unread::{self, Unread};
use super::vault::{ACTORS, CONFIG, POLICY};
use crate::model::actor::ActorKind;
use crate::model::change::{Change, ChangeSet};
use crate::model::clock::Env;
use crate::model::commit::Ident;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::{ActorId, Oid};
use crate::model::path::VaultPath;
use crate::store::files;
use crate::store::git::{GitError, Head, OwnCommit, Repo};
use crate::store::lock::{self, Lock};
use crate::store::plain;
use crate::store::walk::{WalkOptions, walk};

/// What is asked of `init`.
#[derive(Debug, Clone)]
pub struct Request {
    /// The directory that becomes a vault.
    pub directory: PathBuf,
    /// Whether what is there already may become part of it.
    pub existing: bool,
    /// Files that a new vault begins with.
    pub content: Vec<(VaultPath, Vec<u8>)>,
    /// The policy that it begins with.
    pub preset: Preset,
}

/// What `init` finds at a place, before anything is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// It is a vault already: its root.
    Vault(PathBuf),
    /// Nothing, an empty directory or an empty repository.
    Empty,
    /// A git repository with files or commits.
    Repository,
    /// A folder that no repository holds, with so many Markdown files.
    Folder {
        /// The Markdown files that would be committed.
        notes: Vec<VaultPath>,
    },
}

/// What `init` did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Initialised {
    /// The vault's root.
    pub root: PathBuf,
    /// Whether it was made now; otherwise it was a vault already and nothing changed.
    pub created: bool,
    /// The approved branch.
    pub main_branch: String,
    /// The commit that holds the settings; absent when nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// The person that has every role; absent when nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<ActorId>,
    /// The zone of stored times.
    pub time_zone: String,
    /// How many files the commit holds besides the settings.
    pub files: usize,
    /// Markdown files that the commit goes without, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
    /// What was there, by kind; only where what was there became part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
}

/// Why no vault is made.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The place is inside another vault.
    #[error("{} is inside the vault {}", at.display(), vault.display())]
    InsideVault {
        /// The place.
        at: PathBuf,
        /// The vault around it.
        vault: PathBuf,
    },
    /// The place is inside a repository, not its root.
    #[error("{} is inside the git repository {}", at.display(), repository.display())]
    InsideRepository {
        /// The place.
        at: PathBuf,
        /// The repository around it.
        repository: PathBuf,
    },
    /// Something is there, and `--existing` was not said.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// `--example` was asked for where something is already.
    #[error("the example vault needs an empty directory, and {} has something in it", .0.display())]
    NoRoomForExample(PathBuf),
    /// The repository is bare.
    #[error("{} is a bare repository: it has no files", .0.display())]
    Bare(PathBuf),
    /// No branch is checked out.
    #[error("HEAD of {} is detached: no branch is checked out that could be the approved one", .0.display())]
    Detached(PathBuf),
    /// Git is in the middle of something.
    #[error("a {what} is under way in {}", at.display())]
    UnderWay {
        /// The repository.
        at: PathBuf,
        /// What.
        what: &'static str,
    },
    /// Files of settings are there, uncommitted.
    #[error("{} is there already, but not committed", .0.display())]
    Leftover(PathBuf),
    /// Settings of a vault are there, and no repository.
    #[error("{} has the settings of a vault, and no git repository with what was approved", .0.display())]
    NoHistory(PathBuf),
    /// Git's address of the person cannot stand in a commit.
    #[error("user.name or user.email holds a character that a commit cannot hold: {0:?}")]
    Identity(String),
    /// A directory cannot be read or made.
    #[error("{doing} {}: {why}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
}

impl Explain for InitError {
    fn kind(&self) -> Kind {
        match self {
            InitError::UnderWay { .. } | InitError::Leftover(_) | InitError::NoHistory(_) => Kind::Conflict,
            InitError::Io { .. } => Kind::Failed,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            InitError::InsideVault { vault, .. } => Some(format!(
                "it is part of that vault already; see it with `runebook -C {} status`, or choose a directory outside",
                vault.display()
            )),
            InitError::InsideRepository { at, repository } => Some(format!(
                "make the whole repository a vault with `runebook init --existing {}`, or give the directory a repository of its own with `git init {}` first",
                repository.display(),
                at.display()
            )),
            InitError::NotEmpty(at) => Some(format!(
                "`runebook init --existing {}` makes a vault of what is there and changes none of it",
                at.display()
            )),
            InitError::NoRoomForExample(_) => {
                Some("name a new directory: `runebook init --example my-vault`".to_owned())
            }
            InitError::Bare(at) => {
                Some(format!("clone it and run this in the clone: `git clone {} my-vault`", at.display()))
            }
            InitError::Detached(_) => {
                Some("check a branch out first: `git switch main`, or `git switch -c main`".to_owned())
            }
            InitError::UnderWay { what, .. } => {
                Some(format!("finish it, or end it with `git {what} --abort`"))
            }
            InitError::Leftover(path) => {
                Some(format!("look at it; then commit or remove {} and run this again", path.display()))
            }
            InitError::NoHistory(_) => Some(
                "bring its `.git` back, or clone the vault; to begin anew from what is here: `git init`, `git add -A`, `git commit`"
                    .to_owned(),
            ),
            InitError::Identity(_) => {
                Some("set them with `git config user.name` and `git config user.email`".to_owned())
            }
            InitError::Io { .. } => None,
        }
    }
}

/// Looks at the place and changes nothing.
///
/// # Errors
/// When no vault can be made there.
pub fn survey(request: &Request) -> Result<Ground, Fault> {
    let at = &request.directory;
    let repo = match Repo::discover(existing_part(at)) {
        Ok(repo) => repo,
        Err(GitError::NoRepository(_)) => return survey_folder(request),
        // What is broken further up is no matter of a directory that gets a repository of its own.
        Err(GitError::Broken { path, .. }) if !path.parent().is_some_and(|above| same(above, at)) => {
            return survey_folder(request);
        }
        Err(error) => return Err(error.into()),
    };
    let Some(root) = repo.work_dir().map(Path::to_owned) else {
        return if same(repo.common_dir(), at) || at.starts_with(repo.common_dir()) {
            Err(InitError::Bare(at.clone()).into())
        } else {
            survey_folder(request)
        };
    };
    let is_vault = root.join(CONFIG).exists();
    if !same(&root, at) {
        return Err(if is_vault {
            InitError::InsideVault { at: at.clone(), vault: root }.into()
        } else {
            InitError::InsideRepository { at: at.clone(), repository: root }.into()
        });
    }
    let head = repo.head()?;
    let commit = match &head {
        Head::Branch(_, oid) => *oid,
        Head::Detached(oid) => Some(*oid),
    };
    if let Some(commit) = commit
        && repo.entry_at(repo.tree_of(commit)?, &VaultPath::parse(CONFIG)?)?.is_some()
    {
        return Ok(Ground::Vault(root));
    }
    if root.join(".runebook").symlink_metadata().is_ok() {
        return Err(InitError::Leftover(root.join(".runebook")).into());
    }
    if matches!(head, Head::Detached(_)) {
        return Err(InitError::Detached(root).into());
    }
    if let Some(what) = repo.under_way() {
        return Err(InitError::UnderWay { at: root, what }.into());
    }
    if commit.is_none() && is_empty(&root)? {
        return Ok(Ground::Empty);
    }
    admit(request, Ground::Repository)
}

fn survey_folder(request: &Request) -> Result<Ground, Fault> {
    let at = &request.directory;
    if is_empty(at)? {
        return Ok(Ground::Empty);
    }
    if at.join(".runebook").symlink_metadata().is_ok() {
        return Err(InitError::NoHistory(at.clone()).into());
    }
    let found = walk(at, &WalkOptions::default());
    let notes = found.files.into_iter().map(|file| file.path).filter(VaultPath::is_markdown).collect();
    admit(request, Ground::Folder { notes })
}

fn admit(request: &Request, ground: Ground) -> Result<Ground, Fault> {
    if !request.existing {
        Err(InitError::NotEmpty(request.directory.clone()).into())
    } else if request.content.is_empty() {
        Ok(ground)
    } else {
        Err(InitError::NoRoomForExample(request.directory.clone()).into())
    }
}

/// Makes the vault. No file that was there before is changed, and staged work stays staged.
///
/// # Errors
/// See [`InitError`]; also when git does not know who the person is.
pub fn init(env: &Env, request: &Request) -> Result<Initialised, Fault> {
    let ground = survey(request)?;
    if let Ground::Vault(root) = ground {
        let vault = super::vault::Vault::open(env, &root)?;
        return Ok(Initialised {
            root,
            created: false,
            main_branch: vault.config.main_branch.clone(),
            commit: None,
            admin: None,
            time_zone: vault.config.time_zone.clone(),
            files: 0,
            unread: Vec::new(),
            found: None,
        });
    }
    // Everything that can be refused is refused before the first byte is written.
    let there = Repo::discover(existing_part(&request.directory)).ok();
    let there = there.filter(|repo| repo.work_dir().is_some_and(|root| same(root, &request.directory)));
    let (name, email) = acting::person_of(env, there.as_ref())?;
    let admin = actor_id(&name, &email);
    if [&name, &email].iter().any(|text| text.contains(['<', '>', '\n', '\r', '\0'])) {
        return Err(InitError::Identity(format!("{name} <{email}>")).into());
    }
    let repo = match there {
        Some(repo) => repo,
        None => {
            std::fs::create_dir_all(&request.directory).map_err(|why| InitError::Io {
                doing: "making",
                path: request.directory.clone(),
                why,
            })?;
            Repo::init(&request.directory, &Repo::default_branch())?
        }
    };
    let root = repo.work_dir().unwrap_or(&request.directory).to_owned();
    let Head::Branch(main_branch, _) = repo.head()? else { return Err(InitError::Detached(root).into()) };
    let _lock = Lock::take(&repo.common_dir().join("runebook/lock"), "init", lock::PATIENCE)?;
    let settings = Settings { env, root: &root, branch: &main_branch, existing: request.existing };
    let (mut changes, time_zone) = settings.write(request.preset, &admin, &email)?;
    let (mut files, mut left) = (0, Vec::new());
    for (path, bytes) in &request.content {
        // The settings are the new vault's own; questions about its memories come along.
        if !path.as_str().starts_with(".runebook/") || path.name() == "eval.yaml" {
            files::create(&root, path, bytes)?;
            changes.write(path.clone(), bytes.clone());
            files += 1;
        }
    }
    if let Ground::Folder { notes } = &ground {
        let before = changes.changes.len();
        left = unread::take(&repo, &root, notes, &mut changes)?;
        files += changes.changes.len() - before;
    }
    let layers = layers(&repo, &root, &changes)?;
    changes.changes.extend(layers.changes);
    let clock = env.clock.in_zone(jiff::tz::TimeZone::get(&time_zone).unwrap_or(jiff::tz::TimeZone::UTC));
    let ident = Ident { name: admin.to_string(), email, time: clock.git_time() };
    let message = "Make this a Runebook vault\n".to_owned();
    let commit = match repo.commit_own(&OwnCommit { changes: &changes, ident, message }) {
        Ok(commit) => commit,
        Err(error) => {
            // What we wrote a moment ago would stand in the way of the next try.
            for name in [CONFIG, ACTORS, POLICY] {
                let _ = std::fs::remove_file(root.join(name));
            }
            let _ = std::fs::remove_dir(root.join(".runebook"));
            return Err(error.into());
        }
    };
    if let Some(oid) = commit {
        files::write_at(&repo.common_dir().join("runebook/root"), format!("{oid}\n").as_bytes())?;
    }
    Ok(Initialised {
        root,
        created: true,
        main_branch,
        commit,
        admin: Some(admin),
        time_zone,
        files,
        unread: left,
        found: None,
    })
}

/// The layer files of what a new vault begins with, where it has any.
fn layers(repo: &Repo, root: &Path, changes: &ChangeSet) -> Result<ChangeSet, Fault> {
    // Nothing but our own content is there where layers are files.
    let tree = repo.write_tree(None, changes)?;
    let Some(rules) = super::layers::files::tracked(repo, tree)? else { return Ok(ChangeSet::default()) };
    let generator = Generator::alone(repo, rules);
    let made = super::layers::files::remade(repo, &generator, tree, changes.changes.keys())?;
    for (path, change) in &made.changes {
        if let Change::Write(bytes) = change {
            files::create(root, path, bytes)?;
        }
    }
    Ok(made)
}

struct Settings<'a> {
    env: &'a Env,
    root: &'a Path,
    branch: &'a str,
    existing: bool,
}

impl Settings<'_> {
    fn write(&self, preset: Preset, admin: &ActorId, email: &str) -> Result<(ChangeSet, String), Fault> {
        let zone = self.env.zone_name();
        let templates = if self.existing { template_folders(self.root) } else { Vec::new() };
        let person = ActorEntry {
            id: admin.as_str(),
            kind: ActorKind::Person,
            family: None,
            email,
            principal: None,
            roles: &["propose", "review", "merge", "admin"],
        };
        let mut changes = ChangeSet::default();
        for (path, text) in [
            (CONFIG, preset::config(self.branch, &zone, &templates, !self.existing)),
            (ACTORS, preset::actors(&person)),
            (POLICY, preset::policy(preset, self.existing)),
        ] {
            let path = VaultPath::parse(path)?;
            files::create(self.root, &path, text.as_bytes())?;
            changes.write(path, text.into_bytes());
        }
        Ok((changes, zone))
    }
}

/// Folders of templates, by their usual names and by what Obsidian's settings say.
fn template_folders(root: &Path) -> Vec<String> {
    const USUAL: [&str; 6] = ["templates", "Templates", "_templates", "Template", "模板", "templater"];
    let said = |file: &str, key: &str| -> Option<String> {
        let text = plain::read_text(root.join(".obsidian").join(file)).ok()?;
        let value: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(value.get(key)?.as_str()?.trim_matches('/').to_owned())
    };
    let by_settings =
        [said("templates.json", "folder"), said("plugins/templater-obsidian/data.json", "templates_folder")];
    let names = by_settings.into_iter().flatten().chain(USUAL.iter().map(|name| (*name).to_owned()));
    let mut found: Vec<String> = names
        .filter(|name| VaultPath::parse(name).is_ok_and(|path| !path.is_root()) && root.join(name).is_dir())
        .collect();
    found.sort();
    found.dedup();
    // A file system that ignores case finds one folder under several names.
    found.dedup_by(|a, b| same(&root.join(&*a), &root.join(&*b)));
    found
}

/// A legal name for a person: of the name, else of the address, else `owner`.
#[must_use]
pub fn actor_id(name: &str, email: &str) -> ActorId {
    let slug = |text: &str| -> Option<ActorId> {
        let mut out = String::new();
        for c in text.chars().flat_map(char::to_lowercase) {
            match c {
                'a'..='z' | '0'..='9' => out.push(c),
                // A name of which half would vanish is better taken from the address.
                c if c.is_alphanumeric() => return None,
                '\'' | '’' => {}
                _ if out.is_empty() || out.ends_with('-') => {}
                _ => out.push('-'),
            }
        }
        out.truncate(64);
        out.trim_end_matches('-').parse().ok()
    };
    let local = email.split('@').next().unwrap_or_default();
    let owner = || ActorId::owner();
    slug(name).or_else(|| slug(local)).unwrap_or_else(owner)
}

/// The nearest directory that exists, at or above a place.
fn existing_part(at: &Path) -> &Path {
    at.ancestors().find(|part| part.exists()).unwrap_or(at)
}

fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Whether nothing but a git directory and a system's own litter is there.
fn is_empty(at: &Path) -> Result<bool, InitError> {
    let entries = match std::fs::read_dir(at) {
        Ok(entries) => entries,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(why) => return Err(InitError::Io { doing: "reading", path: at.to_owned(), why }),
    };
    let own = |name: &std::ffi::OsStr| name == ".git" || name == ".DS_Store";
    Ok(entries.flatten().all(|entry| own(&entry.file_name())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_people_become_legal() {
        let id = |name: &str, email: &str| actor_id(name, email).to_string();
        assert_eq!(id("Mei Lin", "x@example.org"), "mei-lin");
        assert_eq!(id("Conan O'Brien", ""), "conan-obrien");
        assert_eq!(id("林美", "mei@example.org"), "mei");
        assert_eq!(id("José", "jose.p@example.org"), "jose-p");
        assert_eq!(id("林美", "林@例.cn"), "owner");
        assert_eq!(id(&"a ".repeat(80), "").len(), 64 - 1);
    }
}
