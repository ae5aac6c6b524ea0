//! Canvases that cannot be read: their links cannot follow, which is said.

use super::{LeftLink, Moves};
use crate::catalog::{Catalog, Side};
use crate::flow::vault::Vault;
use crate::markdown::canvas::UNREAD;
use crate::model::fault::Fault;
use crate::store::files;

/// The unreadable canvases that have the name of what moves somewhere in their bytes.
pub(super) fn unread(
    vault: &Vault<'_>,
    catalog: &Catalog,
    side: Side,
    moves: &Moves,
) -> Result<Vec<LeftLink>, Fault> {
    let Some((old, _)) = &moves.whole else { return Ok(Vec::new()) };
    let root = vault.root()?;
    let mut left = Vec::new();
    for path in catalog.with_problem(side, UNREAD)? {
        let Ok(bytes) = files::read(root, &path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let line = (1_u32..).zip(text.lines()).find(|(_, line)| line.contains(old.stem()));
        left.extend(line.map(|(line, _)| LeftLink {
            path: moves.after(&path),
            line,
            link: old.name().to_owned(),
            why: "the canvas is no JSON, so its links cannot be read".to_owned(),
        }));
    }
    Ok(left)
}
