//! The layers: of each file and each directory a short summary (L0, the abstract) and a longer one (L1, the
//! overview), so that a reader finds the way from the root down without reading everything.
//!
//! Both are a pure function of the content: nothing here reads a clock, a file or a setting, and arithmetic is in
//! whole numbers, so that every machine makes the same bytes. They are extractive: a sentence of a layer stands in the
//! source, whole, with what restricts it; titles and headings are joined by ` · `. Nothing is ever cut within a
//! sentence.
//!
//! - A file's L0 is its `summary`, else its `description`, else its central sentences, else its headings.
//! - A file's L1 is its outline with the lead of each section.
//! - A directory's L0 is that of its `index.md`, else a central sentence of its children's and the names of what it
//!   holds.
//! - A directory's L1 opens with the words of `index.md`; then a row for each child, for each directory below with
//!   its L0, and how many links lead out. Of a directory below nothing but the L0 is seen, so a change further down
//!   ends where an L0 stays as it was.
//!
//! A change of the output for any input is a new version of the generator: [`GENERATOR`].

mod directory;
mod extract;
mod leaf;
mod naming;
mod outline;
mod rows;
mod sentences;
mod stamp;
mod terms;

pub use directory::{Below, Child, Layers, directory};
pub use leaf::{Leaf, file_abstract, leaf};
pub use naming::directory_abstract;
pub use outline::outline;
pub use sentences::sentences;
pub use stamp::{Stamped, stamp, stamped};
pub use terms::terms;

/// What made a layer: the name and version that stand in its file.
pub const GENERATOR: &str = "layers/3";
/// The most tokens of an L0 (see [`crate::markdown::tokens`]).
pub const ABSTRACT_TOKENS: u32 = 100;
/// The most tokens of an L1.
pub const OVERVIEW_TOKENS: u32 = 2_000;
/// The file of a directory's L0.
pub const ABSTRACT_FILE: &str = ".abstract.md";
/// The file of a directory's L1.
pub const OVERVIEW_FILE: &str = ".overview.md";
/// The file in a directory that holds words of its own about it.
pub const INDEX_FILE: &str = "index.md";
