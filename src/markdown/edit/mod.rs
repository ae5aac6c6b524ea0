//! Changing one thing in a file and no other byte of it: a field of the front matter, an item of a list, the text of
//! a section, the words of a heading.
//!
//! Every change is read again before it is handed out. It is handed out only if the new value is there, every other
//! field says what it said, and the rest of the body is the same; otherwise the change is refused. So whatever YAML
//! or Markdown a person wrote, the worst that happens is that a change must be made by hand.

mod append;
mod entries;
mod fields;
mod sections;

use std::ops::Range;

use crate::markdown;
use crate::model::config::Config;
use crate::model::fault::{Explain, Kind};
use crate::model::memory::Memory;
use crate::model::path::VaultPath;

pub use append::append;
pub use fields::{add_item, remove_item, set_field, unset_field, value};
pub use sections::{rename_block, rename_heading, rename_heading_at, set_section};

/// Why a file is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not UTF-8.
    #[error("the file is not UTF-8")]
    Encoding,
    /// What stands at its head cannot be read.
    #[error("the front matter cannot be read (line {0}), so it is not changed")]
    Unreadable(u32),
    /// The front matter is another tool's: TOML, a template.
    #[error("the front matter is {0}, which is not changed here")]
    Foreign(&'static str),
    /// A key stands twice.
    #[error("the key `{key}` stands twice, the second time in line {line}")]
    Twice {
        /// The key.
        key: String,
        /// The line of the second, counted from 1.
        line: u32,
    },
    /// A key cannot be one.
    #[error("`{0}` cannot be the name of a field")]
    Key(String),
    /// There is no such field.
    #[error("there is no field `{0}`")]
    NoField(String),
    /// The value is no list.
    #[error("the field `{0}` is no list")]
    NoList(String),
    /// There is no such item.
    #[error("the field `{key}` has no item `{item}`")]
    NoItem {
        /// The field.
        key: String,
        /// The item.
        item: String,
    },
    /// There is no such heading.
    #[error("there is no heading “{name}”")]
    NoHeading {
        /// What was asked for.
        name: String,
        /// What the file has, as a sentence.
        instead: Option<String>,
    },
    /// There is no such block.
    #[error("there is no block ^{id}")]
    NoBlock {
        /// What was asked for.
        id: String,
        /// What the file has, as a sentence.
        instead: Option<String>,
    },
    /// The name cannot be one of a block.
    #[error("`{0}` cannot be the name of a block")]
    BlockName(String),
    /// The change would change something else too.
    #[error("{0} cannot be changed without changing something else too")]
    NotAlone(String),
}

impl Explain for EditError {
    fn kind(&self) -> Kind {
        match self {
            EditError::NoField(_)
            | EditError::NoItem { .. }
            | EditError::NoHeading { .. }
            | EditError::NoBlock { .. } => Kind::Nothing,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            EditError::Encoding => "save it as UTF-8".to_owned(),
            EditError::Unreadable(_) => {
                "`runebook check` says what is wrong with it; mend that first".to_owned()
            }
            EditError::Twice { .. } => "keep one of them, or give the other another name".to_owned(),
            EditError::BlockName(_) => "a block's name holds Latin letters, digits and hyphens only".to_owned(),
            EditError::Key(_) => "a name is letters, digits, `_` and `-`".to_owned(),
            EditError::Foreign(_) | EditError::NoList(_) | EditError::NotAlone(_) => {
                "change it in an editor (`runebook edit`), or replace its text (`runebook propose edit … --old … --new …`)"
                    .to_owned()
            }
            EditError::NoHeading { instead, .. } | EditError::NoBlock { instead, .. } => {
                return instead.clone();
            }
            EditError::NoField(_) | EditError::NoItem { .. } => return None,
        })
    }
}

/// A file that can be edited: its text, and where its parts are.
struct Page {
    /// How many bytes stand before the text: a BOM.
    mark: usize,
    memory: Memory,
}

impl Page {
    fn read(bytes: &[u8]) -> Result<Page, EditError> {
        if std::str::from_utf8(bytes).is_err() {
            return Err(EditError::Encoding);
        }
        let memory = read(bytes);
        Ok(Page { mark: bytes.len() - memory.text.len(), memory })
    }

    fn text(&self) -> &str {
        &self.memory.text
    }

    /// The bytes with one range of the text replaced.
    fn with(&self, bytes: &[u8], range: Range<usize>, new: &str) -> Vec<u8> {
        let (from, to) = (self.mark + range.start, self.mark + range.end);
        [&bytes[..from], new.as_bytes(), &bytes[to..]].concat()
    }
}

fn read(bytes: &[u8]) -> Memory {
    markdown::read(&VaultPath::root(), bytes, &Config::default())
}

/// The line end that stands at the end of a piece of text, or else at the first line of the whole.
fn line_end<'t>(near: &'t str, whole: &'t str) -> &'static str {
    let of = |text: &str| {
        let at = text.find(['\n', '\r'])?;
        Some(match &text.as_bytes()[at..] {
            [b'\r', b'\n', ..] => "\r\n",
            [b'\r', ..] => "\r",
            _ => "\n",
        })
    };
    of(near).or_else(|| of(whole)).unwrap_or("\n")
}
