//! Text search: the words of a text ([`tokenizer`]), what a query says ([`query`]), and the index itself ([`text`],
//! [`search`]). And search by meaning: texts become vectors ([`embed`]), which are kept and searched ([`vectors`]).

pub mod embed;
pub mod query;
pub mod text;
mod text_filter;
mod text_guess;
mod text_name;
mod text_near;
mod text_prefix;
mod text_run;
mod text_score;
mod text_search;
mod text_sieve;
mod text_still;
mod text_telling;
mod text_terms;
mod text_view;
mod text_words;
pub mod tokenizer;
pub mod vectors;
pub mod weights;

/// Searching the text index.
pub mod search {
    pub use super::text_guess::Missing;
    pub use super::text_search::{Found, Hit, Part, Request};
    pub use super::text_sieve::{Address, Addresses};
}
