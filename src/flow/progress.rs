//! How long work tells how far it is.

/// Whoever watches long work. A face shows it; work that nobody watches uses [`Silent`].
///
/// Calls may come from several threads. `advance` is cheap: it can be called for every file.
pub trait Progress: Sync {
    /// A stage begins: what is done (`reading memories`), and how many steps it has where that is known.
    fn begin(&self, what: &str, total: Option<u64>);
    /// So many more steps are done.
    fn advance(&self, steps: u64);
    /// The stage is over.
    fn end(&self);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _what: &str, _total: Option<u64>) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}
