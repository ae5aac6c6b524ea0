//! Proposals: their states, folded from events.
