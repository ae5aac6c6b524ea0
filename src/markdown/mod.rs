//! Reading Markdown: front matter, headings, links, tags, chunks. Pure functions over text.

mod body;
pub mod canvas;
pub mod chunk;
pub mod compose;
pub mod edit;
mod front;
pub mod lines;
mod links;
pub mod noise;
mod other;
pub mod passage;
pub mod place;
pub mod plain;
pub mod prose;
mod read;
pub mod relink;
pub mod renamed;
pub mod sections;
pub mod shown;
pub mod tokens;
mod yaml;

use body::is_block_id;
pub use read::{identity, may_have_head, names, read, sensitivity, utf16};
