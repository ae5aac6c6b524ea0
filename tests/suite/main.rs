//! The suite: one binary, a module a feature, over vaults made in temporary directories.

mod architecture;
mod example;
mod init;
mod support;
mod transcript;
