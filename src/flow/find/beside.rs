//! What stands beside a hit: the attachments that its place shows, and the original that it is a copy of.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::FindHit;
use super::snippet::holds;
use crate::markdown::shown::attachments;
use crate::model::copy;
use crate::model::link::{Names, Resolution, resolve};
use crate::model::path::VaultPath;
use crate::model::uri::Uri;

/// An attachment that the place of a hit shows, and whose words match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Attachment {
    /// Its address.
    pub uri: String,
    /// Its path.
    pub path: VaultPath,
    /// What the memory says it is: its alternative text and its caption.
    pub words: String,
}

/// The most attachments that are named with one hit.
const MOST: usize = 8;

/// The attachments in a piece of a memory whose alternative text, caption or name has one of the terms.
pub(super) fn shown(
    piece: &str,
    from: &VaultPath,
    names: &dyn Names,
    terms: &HashSet<String>,
) -> Vec<Attachment> {
    let mut out: Vec<Attachment> = Vec::new();
    for shown in attachments(piece) {
        let file = shown.link.target.rsplit('/').next().unwrap_or_default();
        if !holds(&format!("{} {file}", shown.words), terms) {
            continue;
        }
        let path = match resolve(&shown.link, from, names) {
            Resolution::File(path) => path,
            Resolution::Ambiguous(mut paths) if !paths.is_empty() => paths.swap_remove(0),
            _ => continue,
        };
        if out.iter().all(|known| known.path != path) && out.len() < MOST {
            out.push(Attachment { uri: Uri::file(path.clone()).to_string(), path, words: shown.words });
        }
    }
    out
}

/// Puts copies that a sync program left behind what they are copies of: those that say the same are left out, and
/// those that do not come last. Returns how many were left out.
pub(super) fn settle(hits: &mut Vec<FindHit>, read: impl Fn(&FindHit) -> Option<Vec<u8>>) -> usize {
    let bytes =
        |hits: &[FindHit], path: &VaultPath| hits.iter().find(|hit| hit.path == *path).and_then(&read);
    let found: Vec<Option<copy::Copy>> = {
        let is_hit = |path: &VaultPath| hits.iter().any(|hit| hit.path == *path);
        let find = |hit: &FindHit| copy::original(&hit.path, is_hit, |path| bytes(hits, path));
        hits.iter().map(find).map(|found| found.filter(|copy| copy.there)).collect()
    };
    let (mut first, mut last, mut same) = (Vec::new(), Vec::new(), 0);
    for (mut hit, copy) in std::mem::take(hits).into_iter().zip(found) {
        match copy {
            None => first.push(hit),
            Some(copy) if copy.same => same += 1,
            Some(copy) => {
                hit.copy_of = Some(copy.of);
                last.push(hit);
            }
        }
    }
    first.append(&mut last);
    *hits = first;
    same
}
