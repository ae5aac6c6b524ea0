//! Everything that changes something or brings the lower modules together. A verb is a function here with a typed
//! request and answer; a face (`cli`) only parses and prints.

pub mod acting;
pub mod actors;
pub mod audit;
pub mod branch;
pub mod browse;
pub mod check;
pub mod commit;
pub mod decide;
pub mod demo;
pub mod difference;
pub mod doctor;
pub mod eval;
pub mod events;
pub mod evidence;
pub mod example;
pub mod find;
pub mod gate;
pub mod heal;
pub mod history;
pub mod init;
pub mod layers;
pub mod links;
pub mod listed;
pub mod locate;
pub mod merge;
pub mod mv;
pub mod own;
pub mod preset;
pub mod progress;
pub mod proposals;
pub mod propose;
pub mod reader;
pub mod remove;
pub mod review;
pub mod rollback;
pub mod root;
pub mod schema;
pub mod search;
pub mod sight;
pub mod status;
pub mod sync;
pub mod vault;
pub mod worktree;

pub use progress::Progress;
