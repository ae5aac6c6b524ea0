//! Markdown without its marks, for snippets.

/// The words of a piece of Markdown, as a reader sees them.
#[must_use]
pub fn plain(md: &str) -> String {
    md.to_owned()
}
