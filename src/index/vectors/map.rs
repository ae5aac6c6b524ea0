//! A file as memory: the one place in the project that does what the compiler cannot check.

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// The first `length` bytes of a file as memory.
///
/// # Errors
/// When the file is shorter, or the system does not map it.
#[expect(unsafe_code, reason = "no compiler can check what happens to a file: see the comment within")]
pub(super) fn map(file: &File, length: usize) -> io::Result<Mmap> {
    if file.metadata()?.len() < length as u64 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut short"));
    }
    // SAFETY: a mapped file must neither change nor get shorter while it is mapped. The files that are mapped are
    // written whole under another name, made durable, renamed into place and from then on never written, cut or
    // extended: what changes is which files there are. One that is removed keeps its bytes for those who mapped it.
    // They lie in git's private directory; a program that cuts them short while this one reads them could do the
    // same to git's own packs, which git maps as well.
    unsafe { MmapOptions::new().len(length).map(file) }
}
