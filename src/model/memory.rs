//! A Markdown file as a memory.

use std::ops::Range;

use super::finding::Finding;
use super::front_matter::FrontMatter;
use super::link::Link;
use super::path::VaultPath;

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its words, without marks.
    pub text: String,
    /// The line, counted from 1.
    pub line: u32,
    /// Its bytes in [`Memory::text`], marks included.
    pub range: Range<usize>,
}

/// A block that can be linked to by `^id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockId {
    /// The id without its caret.
    pub id: String,
    /// The line of the id, counted from 1.
    pub line: u32,
}

/// A footnote's definition: what a claim rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footnote {
    /// Its label, without the caret.
    pub label: String,
    /// Its text as written.
    pub text: String,
    /// The line, counted from 1.
    pub line: u32,
}

/// An inline or front-matter tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// Without its `#`.
    pub name: String,
    /// The line, counted from 1.
    pub line: u32,
}

/// What reading a file gives. Reading never fails: what cannot be understood is kept as text and named in
/// [`Memory::problems`].
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Where it stands.
    pub path: VaultPath,
    /// The whole text: without BOM, with invalid UTF-8 replaced (and a problem that says so).
    pub text: String,
    /// Where the body begins in `text`, in bytes; 0 where the front matter cannot be read, since it is then text as
    /// the rest is.
    pub body_start: usize,
    /// The front matter; all fields empty where there is none or it cannot be parsed.
    pub front: FrontMatter,
    /// The title: the front matter's, else the first heading of level 1, else the file's name without ending.
    pub title: String,
    /// The headings in order.
    pub headings: Vec<Heading>,
    /// The links in order, those of properties first.
    pub links: Vec<Link>,
    /// All tags, of the front matter and inline, each name once.
    pub tags: Vec<Tag>,
    /// The blocks that have an id.
    pub blocks: Vec<BlockId>,
    /// The footnotes' definitions.
    pub footnotes: Vec<Footnote>,
    /// What is wrong with the file's form.
    pub problems: Vec<Finding>,
    /// Whether it is a template (`{{title}}`, Templater's `<% … %>`): its fields are no facts, its links no links.
    pub template: bool,
}

impl Memory {
    /// The text behind the front matter.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.text[self.body_start..]
    }
}

/// A piece of a memory that is indexed by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The headings above it, outermost first.
    pub headings: Vec<String>,
    /// Its bytes in [`Memory::text`].
    pub range: Range<usize>,
    /// The first line, counted from 1.
    pub line: u32,
}
