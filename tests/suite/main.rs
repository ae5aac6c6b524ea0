//! The suite: one binary, a module a feature, over vaults made in temporary directories.

mod architecture;
mod attack;
mod audit;
mod browse;
mod check;
mod cli;
mod decide;
mod events;
mod example;
mod find;
mod forge;
mod index;
mod init;
mod memory_format;
mod memory_properties;
mod schemas;
mod support;
mod sync;
mod transcript;
mod uri;
mod write;
