//! The checks: one file each, and the runner that reports all.
