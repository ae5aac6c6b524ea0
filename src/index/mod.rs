//! Text search: the words of a text ([`tokenizer`]), what a query says ([`query`]), and the index itself ([`text`],
//! [`search`]). And search by meaning: the vectors of texts ([`embed`]).

pub mod embed;
pub mod query;
pub mod text;
mod text_filter;
mod text_prefix;
mod text_search;
mod text_terms;
mod text_view;
pub mod tokenizer;

/// Searching the text index.
pub mod search {
    pub use super::text_search::{Found, Hit, Part, Request};
}
