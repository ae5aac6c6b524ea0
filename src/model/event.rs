//! Events of a proposal: the canonical form of their commit messages.
