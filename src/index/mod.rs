//! Text search: the words of a text ([`tokenizer`]), what a query says ([`query`]), and the index itself ([`text`]).

pub mod query;
pub mod text;
pub mod tokenizer;
