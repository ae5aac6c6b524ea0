//! Reading Markdown: front matter, headings, links, tags, chunks. Pure functions over text.

mod body;
pub mod chunk;
pub mod compose;
mod front;
pub mod lines;
mod links;
pub mod plain;
mod read;
pub mod relink;
pub mod sections;
pub mod tokens;
mod yaml;

pub use read::read;
