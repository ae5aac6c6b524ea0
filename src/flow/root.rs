//! The vault's root commit: the first one of main's first-parent line that added `.runebook/`. It names the vault in
//! every event, so that an approval of one vault is worth nothing in another.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::vault::Vault;
use crate::model::change::{Entry, mode};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::Oid;
use crate::store::git::Repo;
use crate::store::plain;

/// Why the root is not known.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// No commit of main holds `.runebook/`.
    #[error("no commit of the approved branch has a directory .runebook/")]
    None,
    /// What was pinned is not what main's history says.
    #[error(
        "this clone pinned {pinned} as the vault's root, but the approved branch's history begins with {found}"
    )]
    Mismatch {
        /// What the file says.
        pinned: Oid,
        /// What the history says.
        found: Oid,
        /// The file.
        file: PathBuf,
    },
    /// The file with the root holds something else.
    #[error("the vault's root in {}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It cannot be read or written there.
    #[error("the vault's root in {}: {why}", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Explain for RootError {
    fn kind(&self) -> Kind {
        match self {
            RootError::None => Kind::Usage,
            RootError::Mismatch { .. } => Kind::NotAllowed,
            RootError::File { .. } | RootError::Place { .. } => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            RootError::None => Some("commit .runebook/ to the approved branch: `runebook init`".to_owned()),
            RootError::Mismatch { file, .. } => Some(format!(
                "somebody rewrote the approved branch; if that was meant, remove {} and run this again",
                file.display()
            )),
            RootError::File { path, .. } => Some(format!(
                "remove {}; it is made again from the approved branch's history",
                path.display()
            )),
            RootError::Place { path, .. } => Some(format!(
                "see to it that {} is a directory that you may read and write, with space on its disk",
                path.parent().unwrap_or(path).display()
            )),
        }
    }
}

fn file(repo: &Repo) -> PathBuf {
    repo.common_dir().join("runebook").join("root")
}

/// The root as this clone pinned it; computed from main and pinned when it is asked for the first time.
///
/// # Errors
/// When main has no `.runebook/`, or the file cannot be read or written.
pub fn pinned(vault: &Vault<'_>) -> Result<Oid, Fault> {
    pinned_in(&vault.repo, vault.main()?)
}

/// As [`pinned`], for a repository and its main.
///
/// # Errors
/// As [`pinned`].
pub fn pinned_in(repo: &Repo, main: Oid) -> Result<Oid, Fault> {
    let path = file(repo);
    let fail = |why: String| RootError::File { path: path.clone(), why };
    let place = |why: String| RootError::Place { path: path.clone(), why };
    match plain::read_text(&path) {
        Ok(text) => Ok(text.trim().parse().map_err(|_| fail("it holds no commit's name".to_owned()))?),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let root = computed(repo, main)?;
            let directory = path.parent().unwrap_or(&path);
            let written = std::fs::create_dir_all(directory)
                .and_then(|()| tempfile::NamedTempFile::new_in(directory))
                .and_then(|mut file| {
                    std::io::Write::write_all(&mut file, format!("{root}\n").as_bytes())?;
                    Ok(file.persist(&path)?)
                });
            written.map_err(|error| place(error.to_string()))?;
            Ok(root)
        }
        // No file, or no text.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData) => {
            Err(fail(error.to_string()).into())
        }
        Err(error) => Err(place(error.to_string()).into()),
    }
}

/// The root as main's history says: the oldest commit of the first-parent line that has `.runebook/` while its
/// first parent has not. Reads the whole line.
///
/// # Errors
/// When there is none, or an object is missing.
pub fn computed(repo: &Repo, main: Oid) -> Result<Oid, Fault> {
    let mut found = None;
    let mut newer: Option<(Oid, bool)> = None;
    let mut at = Some(main);
    while let Some(commit) = at {
        let has = settings(repo, commit)?.is_some();
        if let Some((newer, true)) = newer
            && !has
        {
            found = Some(newer);
        }
        newer = Some((commit, has));
        at = repo.parents(commit)?.first().copied();
    }
    if let Some((first, true)) = newer {
        found = Some(first);
    }
    Ok(found.ok_or(RootError::None)?)
}

/// The pinned root, verified against main's history.
///
/// # Errors
/// As [`pinned`], and [`RootError::Mismatch`].
pub fn verified(repo: &Repo, main: Oid) -> Result<Oid, Fault> {
    let (pinned, found) = (pinned_in(repo, main)?, computed(repo, main)?);
    if pinned == found {
        Ok(found)
    } else {
        Err(RootError::Mismatch { pinned, found, file: file(repo) }.into())
    }
}

/// The entry of `.runebook/` at a commit, if a directory stands there.
///
/// # Errors
/// When an object is missing or damaged.
pub fn settings(repo: &Repo, commit: Oid) -> Result<Option<Oid>, Fault> {
    let entries = repo.tree(repo.tree_of(commit)?)?;
    let found = entries.into_iter().find(|(name, _)| name == b".runebook");
    Ok(found.map(|(_, entry)| entry).filter(|entry: &Entry| entry.mode == mode::TREE).map(|entry| entry.oid))
}
