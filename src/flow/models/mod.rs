//! Embedding models: where they live, which one is used, and bringing, checking and removing them.
//!
//! Models and the runtime belong to the person, not to a vault: `<data>/runebook/models/<name>/` and
//! `<data>/runebook/runtime/`. A vault's settings can say a model's *name*. They never say a path, a library or an
//! address, and nothing is downloaded or loaded because a vault says so that was not installed before.

mod bring;
mod choose;
mod error;
mod examine;
mod guess;
mod install;
mod list;
mod place;
mod probe;
mod settle;
mod trial;

pub use bring::{Import, Imported, import, register};
pub use choose::{Choice, ChosenBy, Unavailable, choose, runtime};
pub use error::ModelError;
pub(super) use examine::examine;
pub use guess::Said;
pub use install::install;
pub use list::{Installed, Listed, RuntimeState, list};
pub use place::Places;
pub use probe::{Probed, probe};
pub use settle::{Removed, Used, remove, use_everywhere, use_in_vault};

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// The runtime library that was registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Registered {
    /// Where it stands now.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// Whether the very same one was registered before.
    pub unchanged: bool,
}
