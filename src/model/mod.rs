//! The nouns of the field: plain data with the rules that hold by themselves. Nothing here touches a disk, a
//! repository or a clock of its own.

pub mod access;
pub mod actor;
pub mod cases;
pub mod change;
pub mod clock;
pub mod commit;
pub mod config;
pub mod copy;
pub mod day;
pub mod embedding;
pub mod event;
pub mod fault;
pub mod finding;
pub mod foreign;
pub mod front_matter;
pub mod id;
pub mod link;
pub mod memory;
pub mod near;
pub mod path;
pub mod policy;
pub mod proposal;
pub mod uri;
