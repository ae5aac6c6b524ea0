//! `eval`: how well the search answers questions whose answers are known.

pub mod arms;
pub mod baseline;
pub mod metrics;
