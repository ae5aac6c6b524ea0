//! What a folder of notes holds, by kind: what its owner wants to see confirmed when it has become a vault.

use schemars::JsonSchema;
use serde::Serialize;

use super::check::work_tree;
use super::progress::Progress;
use super::reader;
use super::vault::Vault;
use crate::check::is_attachment;
use crate::model::day;
use crate::model::fault::Fault;
use crate::model::path::VaultPath;
use crate::store::git::Differs;
use crate::store::walk::{WalkOptions, walk};

/// The files of a vault by kind, and what of them is to be looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Found {
    /// Markdown files that are none of the following.
    pub notes: usize,
    /// Markdown files that are the notes of a day, by their name or their folder.
    pub daily: usize,
    /// Markdown files in folders of templates: they are not searched, and their links are no links.
    pub templates: usize,
    /// Pictures, sounds, films and documents that notes show.
    pub attachments: usize,
    /// All other files.
    pub others: usize,
    /// Files that Obsidian is told to leave out: they are not searched and not checked.
    pub left_out: usize,
    /// Symbolic links: no memories of their own.
    pub symlinks: u64,
    /// Copies that programs for synchronising files left beside a note.
    pub copies: u64,
    /// Links that lead to nothing, to a note or to an attachment: what `graph` calls broken.
    pub broken_links: u64,
    /// Those of them that are to a picture or another attachment.
    pub missing_attachments: u64,
    /// Links to a note that is there, and to a heading or block that it does not have.
    pub missing_parts: u64,
    /// Files that are not UTF-8.
    pub not_utf8: u64,
    /// All findings of `check` that are more than a remark.
    pub findings: u64,
    /// Files that git does not hold.
    pub untracked: usize,
    /// The program that keeps the vault, where its settings tell: `Obsidian`, `Logseq`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
    /// Whether the summaries of directories are tracked files, which plain git keeps right with hooks only.
    pub layers_tracked: bool,
}

/// Looks at the files as they stand. Every note is read twice, as by `check`.
///
/// # Errors
/// In a bare repository, when something cannot be read, or on Ctrl-C.
pub fn found(vault: &Vault<'_>, progress: &dyn Progress) -> Result<Found, Fault> {
    let root = vault.root()?.to_owned();
    let cancel = vault.env.cancel.clone();
    let files =
        walk(&root, &WalkOptions { ignore: vault.config.ignore.clone(), cancel, ..WalkOptions::default() });
    let mut out = Found {
        kept_by: kept_by(vault, &root),
        layers_tracked: super::layers::files::tracked(&vault.repo, vault.repo.tree_of(vault.main()?)?)?
            .is_some(),
        ..Found::default()
    };
    for file in &files.files {
        *kind(vault, &file.path, &mut out) += 1;
    }
    let access = reader::access(vault, None, None)?;
    let report = work_tree(vault, &access, &[], progress)?;
    for count in &report.rules {
        match count.rule.as_str() {
            "path.symlink" => out.symlinks += count.findings,
            "copy.conflict" => out.copies = count.findings,
            "format.utf8" => out.not_utf8 = count.findings,
            "link.broken" => out.broken_links += count.findings,
            "link.attachment" => {
                out.broken_links += count.findings;
                out.missing_attachments = count.findings;
            }
            "link.heading" | "link.block" => out.missing_parts += count.findings,
            _ => {}
        }
        if count.severity > crate::model::finding::Severity::Info {
            out.findings += count.findings;
        }
    }
    out.untracked =
        vault.repo.changes(&[])?.iter().filter(|change| change.overall() == Differs::Added).count();
    Ok(out)
}

/// The count that a file belongs to.
fn kind<'f>(vault: &Vault<'_>, path: &VaultPath, out: &'f mut Found) -> &'f mut usize {
    let config = &vault.config;
    if config.foreign.ignores(path).is_some() {
        &mut out.left_out
    } else if is_attachment(path) {
        &mut out.attachments
    } else if !path.is_markdown() {
        &mut out.others
    } else if config.is_template(path) {
        &mut out.templates
    } else if config.is_daily(path) || day::whole(path.stem()).is_some() {
        &mut out.daily
    } else {
        &mut out.notes
    }
}

fn kept_by(vault: &Vault<'_>, root: &std::path::Path) -> Option<String> {
    let name = match () {
        () if vault.config.foreign.logseq => "Logseq",
        () if root.join(".obsidian").is_dir() => "Obsidian",
        () => return None,
    };
    Some(name.to_owned())
}
