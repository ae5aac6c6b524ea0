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
mod forge;
mod init;
mod memory_format;
mod memory_properties;
mod schemas;
mod support;
mod transcript;
mod uri;
mod write;
