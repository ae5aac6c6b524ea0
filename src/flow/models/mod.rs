//! Embedding models: where they live, which one is used, and bringing, checking and removing them.
//!
//! Models and the runtime belong to the person, not to a vault: `<data>/runebook/models/<name>/` and
//! `<data>/runebook/runtime/`. A vault's settings can say a model's *name*. They never say a path, a library or an
//! address, and nothing is downloaded or loaded because a vault says so that was not installed before.

mod choose;
mod place;

pub use choose::{Choice, ChosenBy, Unavailable, choose, runtime};
pub use place::Places;
