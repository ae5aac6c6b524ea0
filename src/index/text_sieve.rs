//! The filters of a search for somebody who scores chunks by other means than words: exactly those of the text search.

use super::text::{TextError, TextIndex, guarded};
use super::text_search::Request;
use super::text_view::View;

/// Where in the index each chunk is, by its document and its number within it.
#[derive(Debug, Default)]
pub struct Addresses {
    /// Document, number, segment, number in the segment: in order.
    rows: Vec<(u64, u32, u32, u32)>,
}

/// Where in the index one chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    segment: u32,
    chunk: u32,
}

impl Addresses {
    /// The addresses of chunks that are given in the order of their documents and their numbers within them; none for a
    /// chunk that is not in the index.
    pub fn of(&self, chunks: impl Iterator<Item = (u64, u32)>) -> Vec<Option<Address>> {
        let mut rows = self.rows.iter().peekable();
        chunks
            .map(|wanted| {
                while rows.peek().is_some_and(|row| (row.0, row.1) < wanted) {
                    rows.next();
                }
                let row = rows.peek().filter(|row| (row.0, row.1) == wanted)?;
                Some(Address { segment: row.2, chunk: row.3 })
            })
            .collect()
    }
}

impl TextIndex {
    /// The addresses of all chunks that are alive, as the index stood when it was opened.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn addresses(&self) -> Result<Addresses, TextError> {
        let collect = || {
            let mut rows = Vec::new();
            for (at, segment) in self.reader.searcher().segment_readers().iter().enumerate() {
                let (docs, ords) = (segment.fast_fields().u64("doc")?, segment.fast_fields().u64("ord")?);
                for chunk in segment.doc_ids_alive() {
                    let (Some(doc), Some(ord)) = (docs.first(chunk), ords.first(chunk)) else { continue };
                    rows.push((doc, ord as u32, at as u32, chunk));
                }
            }
            rows.sort_unstable();
            Ok(Addresses { rows })
        };
        guarded(&self.path, collect)
    }

    /// Calls `ask` with a function that says whether a chunk passes the filters of a request: the view, the asker's access, types, states, dates, tags, paths, phrases and whatever
    /// is excluded.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn sieve<T>(
        &self,
        request: &Request<'_>,
        ask: impl FnOnce(&mut dyn FnMut(Address) -> bool) -> T,
    ) -> Result<T, TextError> {
        guarded(&self.path, || {
            let view = View::open(self, request.hidden, request.totals)?;
            let mut filters = self.filters(&view, request)?;
            let mut pass = |at: Address| {
                filters.get_mut(at.segment as usize).is_some_and(|filter| filter.pass(at.chunk).is_some())
            };
            Ok(ask(&mut pass))
        })
    }
}
