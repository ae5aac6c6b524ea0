//! The suite: one binary, a module a feature, over vaults made in temporary directories.

// All of it is test code; the lints that tests are free from ask for this attribute.
#![cfg(test)]

mod access;
mod architecture;
mod asof;
mod attack;
mod audit;
mod browse;
mod canvas;
mod cast;
mod check;
mod cli;
mod crash;
mod decide;
mod demo;
mod edit;
mod eval;
mod events;
mod example;
mod find;
mod follow;
mod foreign;
mod forge;
mod heal;
mod heal_later;
mod heavy_links;
mod hybrid;
mod index;
mod init;
mod layers;
mod link_cases;
mod links;
mod meaning;
mod memory_format;
mod memory_properties;
mod merge;
mod merge_driver;
mod models;
mod moves;
mod near;
mod propose;
mod races;
mod readme;
mod remember;
mod review;
mod rollback;
mod schemas;
mod support;
mod sync;
mod transcript;
mod undo;
mod uri;
mod watch;
mod watch_process;
mod write;
