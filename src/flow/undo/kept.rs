//! What a file or a directory holds, to know it again.

use std::io;
use std::path::Path;

use crate::model::id::Oid;
use crate::store::git::Repo;
use crate::store::plain;

/// What stands at a place and below it, by the names from there (an empty one for the place itself if it is no
/// directory), in their order. A file comes with its bytes' name as a blob; for anything else there is none.
pub(super) fn below(at: &Path) -> io::Result<Vec<(String, Option<Oid>)>> {
    let mut out = Vec::new();
    let mut queue = vec![(at.to_owned(), String::new())];
    while let Some((place, name)) = queue.pop() {
        let named = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", place.display()));
        let data = place.symlink_metadata().map_err(named)?;
        if !data.is_dir() {
            let blob = if data.is_file() {
                Some(Repo::hash_blob(&plain::read(&place).map_err(named)?))
            } else {
                None
            };
            out.push((name, blob));
            continue;
        }
        for entry in std::fs::read_dir(&place).map_err(named)? {
            let entry = entry?;
            let tail = entry.file_name().to_string_lossy().into_owned();
            let name = if name.is_empty() { tail } else { format!("{name}/{tail}") };
            queue.push((entry.path(), name));
        }
    }
    out.sort();
    Ok(out)
}

/// What names and bytes come to, as one hash.
pub(super) fn content(at: &Path) -> io::Result<Oid> {
    let mut list = Vec::new();
    for (name, blob) in below(at)? {
        list.extend(name.as_bytes());
        list.push(0);
        list.extend(blob.map_or(String::new(), |blob| blob.to_string()).as_bytes());
        list.push(b'\n');
    }
    Ok(Repo::hash_blob(&list))
}
