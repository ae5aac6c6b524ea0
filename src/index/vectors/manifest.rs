//! Which files of vectors hold, and which of their rows: written whole, last.

use std::io::{self, Write as _};
use std::path::Path;

use super::Form;

/// The file's name.
pub(super) const NAME: &str = "manifest";

const MAGIC: &[u8; 8] = b"RBVECMAN";
const VERSION: u32 = 1;

/// A file of vectors in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) rows: u32,
    pub(super) sum: u32,
    /// A bit a row: its text is in no document any more. Empty where all live.
    pub(super) dead: Vec<u64>,
}

/// The state of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) generation: u64,
    pub(super) listed: Vec<Listed>,
}

/// Reads bytes from the front of a slice.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

impl Manifest {
    fn bytes(&self, form: &Form) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(form.dimensions as u32).to_le_bytes());
        out.extend_from_slice(&form.fingerprint);
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.extend_from_slice(&(self.listed.len() as u32).to_le_bytes());
        for listed in &self.listed {
            out.extend_from_slice(&(listed.name.len() as u32).to_le_bytes());
            out.extend_from_slice(listed.name.as_bytes());
            for number in [listed.rows, listed.sum, listed.dead.len() as u32] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.extend(listed.dead.iter().flat_map(|word| word.to_le_bytes()));
        }
        let sum = crc32fast::hash(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// None where it is damaged or of another form.
    fn parse(bytes: &[u8], form: &Form) -> Option<Manifest> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        if crc32fast::hash(body) != u32::from_le_bytes(sum.try_into().ok()?) {
            return None;
        }
        let mut rest = Cursor(body);
        let known = rest.take(8)? == MAGIC
            && rest.u32()? == VERSION
            && rest.u32()? as usize == form.dimensions
            && rest.take(32)? == form.fingerprint;
        if !known {
            return None;
        }
        let mut manifest = Manifest { generation: rest.u64()?, listed: Vec::new() };
        for _ in 0..rest.u32()? {
            let length = rest.u32()? as usize;
            let name = std::str::from_utf8(rest.take(length)?).ok()?.to_owned();
            let (rows, sum, words) = (rest.u32()?, rest.u32()?, rest.u32()?);
            let dead = (0..words).map(|_| rest.u64()).collect::<Option<_>>()?;
            // It names files of this directory and nothing else.
            if !is_segment(&name) {
                return None;
            }
            manifest.listed.push(Listed { name, rows, sum, dead });
        }
        Some(manifest)
    }

    /// Reads the one in a directory: `Ok(None)` where there is none.
    ///
    /// # Errors
    /// When it cannot be read, or (`InvalidData`) is damaged or of another form.
    pub(super) fn read(dir: &Path, form: &Form) -> io::Result<Option<Manifest>> {
        let bytes = match std::fs::read(dir.join(NAME)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
        Manifest::parse(&bytes, form).ok_or_else(damaged).map(Some)
    }

    /// Puts it in the place of the one that is there, whole or not at all.
    pub(super) fn write(&self, dir: &Path, form: &Form) -> io::Result<()> {
        let mut file = temporary(dir)?;
        file.write_all(&self.bytes(form))?;
        file.as_file().sync_all()?;
        file.persist(dir.join(NAME)).map_err(|error| error.error)?;
        sync_dir(dir)
    }
}

/// Whether a name is one that files of vectors have.
pub(super) fn is_segment(name: &str) -> bool {
    name.strip_prefix("rows-")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// An empty file that is to become one of the store's, with the rights that any file of this user's gets.
pub(super) fn temporary(dir: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".new-");
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666))
    };
    builder.tempfile_in(dir)
}

/// Makes the names in a directory durable, where a directory can be opened.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    match std::fs::File::open(dir) {
        Ok(file) => file.sync_all(),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_every_flipped_bit_is_noticed() {
        let form = Form { fingerprint: [7; 32], dimensions: 8 };
        let listed = Listed { name: "rows-12".to_owned(), rows: 3, sum: 9, dead: vec![5] };
        let manifest = Manifest { generation: 4, listed: vec![listed] };
        let bytes = manifest.bytes(&form);
        assert_eq!(Manifest::parse(&bytes, &form), Some(manifest));
        assert_eq!(Manifest::parse(&bytes, &Form { fingerprint: [8; 32], dimensions: 8 }), None);
        assert_eq!(Manifest::parse(&bytes, &Form { fingerprint: [7; 32], dimensions: 9 }), None);
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Manifest::parse(&wrong, &form), None, "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert_eq!(Manifest::parse(&bytes[..cut], &form), None, "cut at {cut}");
        }
    }

    #[test]
    fn it_names_nothing_outside() {
        for name in ["rows-", "rows-a", "../rows-1", "/etc/passwd", "rows-1/../x", ""] {
            assert!(!is_segment(name), "{name}");
        }
        assert!(is_segment("rows-17"));
    }
}
