//! Which files of the vault are taken in.

use ignore::overrides::{Override, OverrideBuilder};

use crate::catalog::FileKind;
use crate::model::change::mode;
use crate::model::config::Config;
use crate::model::path::VaultPath;

/// The rules of the walk, for paths of git's trees: what the walk would not find in a work tree is not taken from
/// main either. `.gitignore` has no say over a file that is tracked.
#[derive(Debug)]
pub(in crate::flow) struct Taken {
    ignored: Override,
}

impl Taken {
    pub(in crate::flow) fn of(config: &Config) -> Taken {
        let mut builder = OverrideBuilder::new("");
        for glob in &config.ignore {
            // A malformed one is a finding of the walk; the others hold.
            let _ = builder.add(&format!("!{glob}"));
        }
        Taken { ignored: builder.build().unwrap_or_else(|_| Override::empty()) }
    }

    /// Whether a tree's entry is one of the vault's files.
    pub(in crate::flow) fn takes(&self, path: &VaultPath, entry_mode: u32) -> bool {
        matches!(entry_mode, mode::FILE | mode::EXECUTABLE) && self.takes_path(path)
    }

    pub(super) fn takes_path(&self, path: &VaultPath) -> bool {
        if path.is_hidden() || path.is_root() {
            return false;
        }
        if self.ignored.is_empty() {
            return true;
        }
        !self.ignored.matched(path.as_str(), false).is_ignore()
            && path
                .ancestors()
                .all(|dir| dir.is_root() || !self.ignored.matched(dir.as_str(), true).is_ignore())
    }
}

/// What kind of file a path names.
pub(super) fn kind_of(path: &VaultPath) -> FileKind {
    if path.is_markdown() {
        return FileKind::Memory;
    }
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    let evidence = path.scope() == Some("evidence");
    match ending.as_str() {
        "txt" | "text" | "jsonl" => FileKind::Text,
        "json" | "log" | "csv" | "tsv" | "yaml" | "yml" | "html" | "xml" if evidence => FileKind::Text,
        _ => FileKind::Other,
    }
}
