//! Text search.
