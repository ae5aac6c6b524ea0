//! Reading Markdown: front matter, headings, links, tags, chunks. Pure functions over text.

pub mod chunk;
pub mod compose;
pub mod plain;
mod read;
pub mod sections;
pub mod tokens;

pub use read::read;
