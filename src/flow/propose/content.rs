//! Content commits: a new tree on the branch's tip, by objects alone.

use schemars::JsonSchema;
use serde::Serialize;

use super::moved::below;
use super::{ProposeError, may_change, may_propose, putting, whole_file};
use crate::flow::acting;
use crate::flow::belongs;
use crate::flow::branch::Branch;
use crate::flow::events::advance;
use crate::flow::locate;
use crate::flow::proposals::open_tip;
use crate::flow::reader::Reader;
use crate::flow::review::retried;
use crate::flow::undo;
use crate::flow::vault::Vault;
use crate::markdown::edit;
use crate::model::access::{Access, View};
use crate::model::actor::Actor;
use crate::model::change::{Change, ChangeSet, Entry, mode};
use crate::model::commit::Commit;
use crate::model::event::Event;
use crate::model::fault::Fault;
use crate::model::id::{Digest, Oid, ProposalId};
use crate::model::path::VaultPath;
use crate::model::uri::Uri;
use crate::store::operations::Effect;

/// What was written to a proposal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Written {
    /// The proposal.
    pub id: ProposalId,
    /// The new commit, the tip of its branch.
    pub commit: Oid,
    /// The files that it changes, as URIs.
    pub files: Vec<String>,
    /// The digest of the proposal now.
    pub digest: Digest,
}

/// Puts a change on a proposal as one content commit. `of` gives the change and the commit's subject from the branch
/// as it stands; it is asked again when somebody else's commit came in between.
///
/// # Errors
/// When the policy reserves a path, the proposal is somebody else's, or nothing would change.
pub fn change(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    of: impl Fn(&Branch) -> Result<(ChangeSet, String), Fault>,
) -> Result<Written, Fault> {
    let (main, commit, changes) = retried(|| {
        let main = vault.main()?;
        let tip = open_tip(vault, id)?;
        let branch = Branch::read(&vault.repo, id, tip, main)?;
        let governance = vault.governance(main)?;
        may_change(&governance, actor, &branch)?;
        let (changes, subject) = of(&branch)?;
        may_propose(&governance, actor, &changes)?;
        let tree = vault.repo.write_tree(Some(branch.tree), &changes)?;
        if tree == branch.tree {
            let names: Vec<&str> = changes.changes.keys().map(VaultPath::as_str).collect();
            return Err(ProposeError::Nothing(format!("{} stands so already", names.join(", "))).into());
        }
        let commit = commit(vault, actor, tree, tip, &subject)?;
        let message = format!("runebook: {subject}");
        advance(&vault.repo, id, tip, commit, &message)?;
        let effect = Effect::Wrote { proposal: id.clone(), commit };
        undo::note_done(vault, &format!("change proposal {id}: {subject}"), effect);
        Ok((main, commit, changes))
    })?;
    let digest = Branch::read(&vault.repo, id, commit, main)?.digest;
    let files = changes.changes.keys().map(|path| Uri::file(path.clone()).to_string()).collect();
    Ok(Written { id: id.clone(), commit, files, digest })
}

/// Stores a content commit. Its message never looks like an event's.
pub(super) fn commit(
    vault: &Vault<'_>,
    actor: &Actor,
    tree: Oid,
    parent: Oid,
    subject: &str,
) -> Result<Oid, Fault> {
    let subject: String = subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut message = format!("{}\n", subject.trim());
    if Event::claims(&message) {
        message.insert_str(0, "| ");
    }
    let ident = acting::ident(vault, actor);
    let commit = Commit {
        tree,
        parents: vec![parent],
        author: ident.clone(),
        committer: ident,
        signature: None,
        message,
    };
    Ok(vault.repo.write_commit(&commit)?)
}

/// The entry at a path, which must be one that the actor may read.
pub(super) fn entry(
    vault: &Vault<'_>,
    actor: &Actor,
    branch: &Branch,
    path: &VaultPath,
) -> Result<Option<Entry>, Fault> {
    let reader = Reader::new(vault, Access { actor: Some(actor.clone()), view: View::Main })?;
    entry_for(&reader, actor, branch, path)
}

/// As [`entry`], for many paths: what is known of the files is opened once.
pub(super) fn entry_for(
    reader: &Reader<'_, '_>,
    actor: &Actor,
    branch: &Branch,
    path: &VaultPath,
) -> Result<Option<Entry>, Fault> {
    let (vault, access) = (reader.vault, &reader.access);
    let found = vault.repo.entry_at(branch.tree, path)?;
    if let Some(tree) = found.filter(|entry| entry.mode == mode::TREE) {
        // A directory that holds only what the actor may not see is none for them.
        let shows = !access.is_narrow() || !below(vault, actor, path, tree)?.is_empty();
        return Ok(shows.then_some(tree));
    }
    let Some(entry) = found.filter(|_| access.may_read(path)) else { return Ok(None) };
    let is_file = matches!(entry.mode, mode::FILE | mode::EXECUTABLE);
    Ok((!is_file || reader.is_cleared(path, entry.oid)?).then_some(entry))
}

fn file(vault: &Vault<'_>, actor: &Actor, branch: &Branch, uri: &Uri) -> Result<(VaultPath, Entry), Fault> {
    let path = whole_file(uri)?;
    match entry(vault, actor, branch, &path)? {
        Some(entry) if entry.mode == mode::TREE => Err(ProposeError::Directory(uri.to_string()).into()),
        Some(entry) => Ok((path, entry)),
        None => Err(missing(vault, actor, branch, uri)),
    }
}

/// The error for a place of a proposal where nothing stands that the actor may see.
pub(super) fn missing(vault: &Vault<'_>, actor: &Actor, branch: &Branch, uri: &Uri) -> Fault {
    let reader = |view| Reader::new(vault, Access { actor: Some(actor.clone()), view });
    let stood = || {
        let base = vault.repo.tree_of(branch.base)?;
        Ok::<_, Fault>(vault.repo.entry_at(base, &uri.path)?.is_some())
    };
    let on_main = reader(View::Main).and_then(|reader| reader.stands(&uri.path));
    if matches!(on_main, Ok(Some(_))) && matches!(stood(), Ok(false)) {
        return ProposeError::Later { uri: uri.to_string(), id: branch.id.clone() }.into();
    }
    let reader = reader(View::Proposal(branch.id.clone())).or_else(|_| reader(View::Main));
    // The names are a kindness: without them the error is what it is.
    let mut near = reader.and_then(|reader| locate::near(&reader, &uri.path)).unwrap_or_default();
    near.retain(|near| near != uri.path.as_str());
    ProposeError::Missing { uri: uri.to_string(), id: branch.id.clone(), near }.into()
}

/// Gives a file new bytes, whether it is there or not.
///
/// # Errors
/// As [`change`].
pub fn write(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    uri: &Uri,
    bytes: &[u8],
    message: Option<&str>,
) -> Result<Written, Fault> {
    let path = whole_file(uri)?;
    if uri.directory {
        return Err(ProposeError::Directory(uri.to_string()).into());
    }
    change(vault, actor, id, |branch| {
        let before = vault.repo.entry_at(branch.tree, &path)?;
        if before.is_some_and(|entry| entry.mode == mode::TREE) {
            return Err(ProposeError::Directory(uri.to_string()).into());
        }
        if before.is_none() {
            belongs::storable(&path)?;
        }
        // Of hidden places agents are told that these are for people.
        if before.is_none() && path.is_markdown() && (actor.is_person() || !path.is_hidden()) {
            belongs::in_tree(vault, &path)?;
        }
        let verb = if before.is_some() { "Change" } else { "Add" };
        let subject = message.map_or_else(|| format!("{verb} {path}"), str::to_owned);
        Ok((putting(path.clone(), Change::Write(bytes.to_vec())), subject))
    })
}

/// How a file's text is changed.
#[derive(Debug, Clone)]
pub enum Edit {
    /// This text, which stands there once, gives way to that one.
    Replace {
        /// What stands there.
        old: String,
        /// What shall stand there.
        new: String,
        /// Wherever it stands, not only once.
        all: bool,
    },
    /// This text is added to the end, on a line of its own.
    Append(String),
}

/// Changes a file by replacing or adding text; every other byte stays.
///
/// # Errors
/// When the text to replace is not there exactly once, and as [`change`].
pub fn edit(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    uri: &Uri,
    edit: &Edit,
    message: Option<&str>,
) -> Result<Written, Fault> {
    change(vault, actor, id, |branch| {
        let (path, entry) = file(vault, actor, branch, uri)?;
        let bytes = edited(&vault.repo.blob(entry.oid)?, edit, &uri.to_string())?;
        let entry = Entry { mode: entry.mode, oid: vault.repo.write_blob(&bytes)? };
        let subject = message.map_or_else(|| format!("Edit {path}"), str::to_owned);
        Ok((putting(path, Change::Put(entry)), subject))
    })
}

/// What of a file changes by itself.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// Fields of the front matter with their new values.
    pub set: Vec<(String, serde_json::Value)>,
    /// Fields that go.
    pub unset: Vec<String>,
    /// A path of headings, and the new text of that section.
    pub section: Option<(Vec<String>, String)>,
}

/// Changes fields of a file's front matter or a section; every other byte stays.
///
/// # Errors
/// When a part is not there or cannot be changed by itself, and as [`change`].
pub fn edit_parts(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    uri: &Uri,
    parts: &Parts,
    message: Option<&str>,
) -> Result<Written, Fault> {
    change(vault, actor, id, |branch| {
        let (path, entry) = file(vault, actor, branch, uri)?;
        let mut bytes = vault.repo.blob(entry.oid)?;
        for (key, value) in &parts.set {
            bytes = edit::set_field(&bytes, key, value)?;
        }
        for key in &parts.unset {
            bytes = edit::unset_field(&bytes, key)?;
        }
        if let Some((names, body)) = &parts.section {
            bytes = edit::set_section(&bytes, names, body)?;
        }
        let entry = Entry { mode: entry.mode, oid: vault.repo.write_blob(&bytes)? };
        let subject = message.map_or_else(|| format!("Edit {path}"), str::to_owned);
        Ok((putting(path, Change::Put(entry)), subject))
    })
}

fn edited(bytes: &[u8], edit: &Edit, uri: &str) -> Result<Vec<u8>, ProposeError> {
    let crlf = bytes.windows(2).any(|pair| pair == b"\r\n");
    // What is typed has plain line ends; a file that has others keeps them.
    let fitted =
        |text: &str| if crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text.to_owned() };
    match edit {
        Edit::Append(text) => Ok(edit::append(bytes, text)),
        Edit::Replace { old, .. } if old.is_empty() => Err(ProposeError::EmptyOld),
        Edit::Replace { old, new, all } => {
            let places = find(bytes, old.as_bytes());
            let (old, new, places) = if places.is_empty() && crlf {
                let old = fitted(old);
                let places = find(bytes, old.as_bytes());
                (old, fitted(new), places)
            } else {
                (old.clone(), new.clone(), places)
            };
            match places.len() {
                0 => Err(ProposeError::NoMatch { uri: uri.to_owned(), nearest: nearest(bytes, &old) }),
                1 => Ok(replaced(bytes, &places, old.len(), new.as_bytes())),
                _ if *all => Ok(replaced(bytes, &places, old.len(), new.as_bytes())),
                _ => {
                    let line = |at: &usize| 1 + bytes[..*at].iter().filter(|b| **b == b'\n').count() as u32;
                    Err(ProposeError::ManyMatches {
                        uri: uri.to_owned(),
                        lines: places.iter().map(line).collect(),
                    })
                }
            }
        }
    }
}

/// Where a text stands, without overlaps.
fn find(bytes: &[u8], text: &[u8]) -> Vec<usize> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(found) = next(&bytes[at..], text) {
        out.push(at + found);
        at += found + text.len();
    }
    out
}

fn next(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let first = *text.first()?;
    let mut at = 0;
    while at + text.len() <= bytes.len() {
        at += bytes[at..].iter().position(|b| *b == first)?;
        if bytes[at..].starts_with(text) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn replaced(bytes: &[u8], places: &[usize], length: usize, new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + places.len() * new.len());
    let mut from = 0;
    for at in places {
        out.extend_from_slice(&bytes[from..*at]);
        out.extend_from_slice(new);
        from = at + length;
    }
    out.extend_from_slice(&bytes[from..]);
    out
}

/// The line of the file that is nearest to the first line of what was sought, with its number.
fn nearest(bytes: &[u8], old: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 20)]);
    let wanted: String =
        old.lines().map(str::trim).find(|line| !line.is_empty())?.chars().take(200).collect();
    let score =
        |line: &str| strsim::normalized_levenshtein(&line.chars().take(200).collect::<String>(), &wanted);
    let lines = text.lines().take(5000).enumerate().map(|(at, line)| (score(line.trim()), at + 1, line));
    let (score, number, line) = lines.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score > 0.6).then(|| format!("line {number}: {}", line.trim().chars().take(80).collect::<String>()))
}

/// Removes files or, with `recursive`, directories within a proposal.
///
/// # Errors
/// When there is nothing, or a directory without `recursive`; and as [`change`].
pub fn rm(
    vault: &Vault<'_>,
    actor: &Actor,
    id: &ProposalId,
    uris: &[Uri],
    recursive: bool,
    message: Option<&str>,
) -> Result<Written, Fault> {
    change(vault, actor, id, |branch| {
        let mut changes = ChangeSet::default();
        for uri in uris {
            let path = whole_file(uri)?;
            let found = entry(vault, actor, branch, &path)?;
            let entry = found.ok_or_else(|| missing(vault, actor, branch, uri))?;
            if entry.mode == mode::TREE && !recursive {
                return Err(ProposeError::Directory(uri.to_string()).into());
            }
            for (tail, _) in below(vault, actor, &path, entry)? {
                changes.delete(if tail.is_empty() { path.clone() } else { path.join(&tail)? });
            }
        }
        let names: Vec<&str> = uris.iter().map(|uri| uri.path.as_str()).collect();
        let subject = message.map_or_else(|| format!("Remove {}", names.join(", ")), str::to_owned);
        Ok((changes, subject))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(bytes: &[u8], old: &str, new: &str, all: bool) -> Result<Vec<u8>, ProposeError> {
        edited(bytes, &Edit::Replace { old: old.to_owned(), new: new.to_owned(), all }, "viking://a.md")
    }

    #[test]
    fn replaces_exactly_what_is_meant() {
        assert_eq!(
            replace(b"\xEF\xBB\xBFa\r\nb\r\n\xFF", "a\nb", "x\ny", false).unwrap(),
            b"\xEF\xBB\xBFx\r\ny\r\n\xFF"
        );
        assert_eq!(replace(b"one two one", "one", "1", true).unwrap(), b"1 two 1");
        assert_eq!(replace("靠窗座位".as_bytes(), "窗", "门", false).unwrap(), "靠门座位".as_bytes());
        let error = replace(b"one\ntwo one\n", "one", "1", false).unwrap_err();
        assert!(error.to_string().contains("in the lines 1, 2"), "{error}");
        let error =
            replace(b"The user asks for a window seat.\n", "The user asks for a windowseat.", "x", false);
        assert!(error.unwrap_err().to_string().contains("line 1: The user"));
        assert!(matches!(replace(b"a", "", "b", true), Err(ProposeError::EmptyOld)));
        // A text that overlaps itself is counted without overlaps.
        assert_eq!(replace(b"aaaa", "aa", "b", true).unwrap(), b"bb");
    }
}
