//! `remember`: a sentence or two become a memory. It finds the place and what is near, writes the text with links there,
//! and proposes it.

mod near;
mod place;

use schemars::JsonSchema;
use serde::Serialize;

use super::gate::people::same_principal;
use super::own::{self, NewMemory};
use super::progress::Progress;
use super::propose::{self, ProposeError, Submitted, may_propose};
use super::reader::Reader;
use super::vault::Vault;
use crate::markdown;
use crate::model::access::{Access, View};
use crate::model::actor::{Actor, Role};
use crate::model::change::{Change, ChangeSet};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::front_matter::{MemoryType, SOURCES};
use crate::model::id::ProposalId;
use crate::model::path::VaultPath;
use crate::model::uri::Uri;

pub use near::Near;
pub use place::Placed;

/// The longest text that is one memory, in bytes.
pub const LONGEST: usize = 64 << 10;
/// How many links to near memories are written.
const LINKS: usize = 3;

/// Why nothing is remembered.
#[derive(Debug, thiserror::Error)]
pub enum RememberError {
    /// There is no text.
    #[error("there is nothing to remember: the text is empty")]
    Empty,
    /// It is too long for one memory.
    #[error("the text has {0} bytes, too much for one memory")]
    TooLong(usize),
    /// It is there already.
    #[error("{uri} says that already")]
    Known {
        /// The memory.
        uri: String,
    },
    /// A source that does not exist.
    #[error("`{0}` is no source of a memory")]
    Source(String),
    /// The actor may propose nowhere.
    #[error("`{actor}` may not propose a memory in any place that fits")]
    Nowhere {
        /// Who.
        actor: String,
    },
}

impl Explain for RememberError {
    fn kind(&self) -> Kind {
        match self {
            RememberError::Known { .. } => Kind::Nothing,
            RememberError::Nowhere { .. } => Kind::NotAllowed,
            _ => Kind::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            RememberError::Empty => "say what to remember: `runebook remember \"…\"`".to_owned(),
            RememberError::TooLong(_) => format!(
                "at most {LONGEST} bytes; write a file with `runebook new` or `runebook propose write`"
            ),
            RememberError::Known { uri } => {
                format!(
                    "change it with `runebook propose edit`, or add `--anyway`; `runebook cat {uri}` shows it"
                )
            }
            RememberError::Source(_) => format!("there are {}", SOURCES.join(", ")),
            RememberError::Nowhere { .. } => "name a place with `--at`".to_owned(),
        })
    }
}

/// What is asked of `remember`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The text, Markdown.
    pub text: String,
    /// The title; the first sentence if left out.
    pub title: Option<String>,
    /// What it is; by its place if left out.
    pub kind: Option<MemoryType>,
    /// Where: a directory or a file; found if left out.
    pub at: Option<Uri>,
    /// Tags.
    pub tags: Vec<String>,
    /// Where it comes from, one of [`SOURCES`]; `person` or `user_message` if left out.
    pub source: Option<String>,
    /// Whether it is written although a memory says it already.
    pub anyway: bool,
    /// Whether it stays a draft.
    pub draft: bool,
    /// Whether it is put among the files and not proposed: for who may commit it.
    pub write: bool,
    /// Whether it is only shown what would be proposed.
    pub dry_run: bool,
}

/// What was remembered, so far as a reviewer lets it in.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Remembered {
    /// The proposal; absent when it was only shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<ProposalId>,
    /// The memory.
    pub uri: String,
    /// Its path.
    pub path: VaultPath,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// Why it stands there.
    pub placed: Placed,
    /// The near memories that it links to.
    pub near: Vec<Near>,
    /// The text of the file.
    pub text: String,
    /// Whether it stands among the files, and was not proposed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub written: bool,
    /// Whether nobody but the proposer could approve it, so that it will wait for ever.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// How it was submitted; absent for a draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted: Option<Submitted>,
}

/// Proposes a text as a memory: finds its place, links it to what is near, opens a proposal and submits it. The files
/// stay as they are, unless it is asked that it be put among them.
///
/// # Errors
/// [`RememberError`], and whatever proposing says.
pub fn remember(
    vault: &Vault<'_>,
    actor: &Actor,
    request: &Request,
    progress: &dyn Progress,
) -> Result<Remembered, Fault> {
    propose::may_propose_at_all(actor)?;
    let text = readable(&request.text)?;
    let source = match &request.source {
        Some(source) if SOURCES.contains(&source.as_str()) => source.as_str(),
        Some(other) => return Err(RememberError::Source(other.clone()).into()),
        None if actor.is_person() => "person",
        None => "user_message",
    };
    let access = Access { actor: Some(actor.clone()), view: View::Main };
    let reader = Reader::new(vault, access)?;
    let near = near::near(&reader, &text, progress)?;
    if let Some(same) = near.iter().find(|one| one.same && !request.anyway) {
        return Err(RememberError::Known { uri: same.uri.clone() }.into());
    }
    let title = request.title.clone().map_or_else(|| title_of(&text), |title| one_line(&title));
    let place = place::find(&reader, actor, request, &title, &near)?;
    // Looked at without the reader: what the actor may not see is not to be replaced either.
    let main = vault.repo.tree_of(vault.main()?)?;
    if vault.repo.entry_at(main, &place.path)?.is_some() {
        let uri = Uri::file(place.path).to_string();
        return Err(ProposeError::Exists { uri }.into());
    }
    let linked: Vec<Near> = near.into_iter().filter(|one| one.linkable).take(LINKS).collect();
    let links = near::links(&reader, &place.path, &linked)?;
    let asked = NewMemory {
        kind: request.kind,
        title: Some(title.clone()),
        tags: request.tags.clone(),
        body: Some(body(&title, &text, &links)),
    };
    let composed = own::compose(vault, &place.path, asked, source)?;
    let mut out = Remembered {
        id: None,
        uri: Uri::file(place.path.clone()).to_string(),
        title,
        kind: composed.kind,
        placed: place.placed,
        near: linked,
        text: composed.text,
        written: false,
        alone: false,
        submitted: None,
        path: place.path,
    };
    let governance = vault.governance(vault.main()?)?;
    let mut changes = ChangeSet::default();
    changes.changes.insert(out.path.clone(), Change::Write(out.text.clone().into_bytes()));
    if !request.write {
        may_propose(&governance, actor, &changes)?;
    }
    if request.dry_run {
        return Ok(out);
    }
    if request.write {
        own::put(vault, &out.path, &out.text)?;
        out.written = true;
        return Ok(out);
    }
    let reviews = |other: &Actor| other.has(Role::Review) && !same_principal(other, actor);
    out.alone = !governance.actors.actors.iter().any(reviews);
    let id = propose::new(vault, actor, &format!("Remember: {}", out.title))?.id;
    propose::write(vault, actor, &id, &Uri::file(out.path.clone()), out.text.as_bytes(), None)?;
    if !request.draft {
        out.submitted = Some(propose::submit(vault, actor, &id, None)?);
    }
    out.id = Some(id);
    Ok(out)
}

/// The text as it can stand in a file: no control characters, no line ends of other systems, no white space around.
fn readable(text: &str) -> Result<String, RememberError> {
    if text.len() > LONGEST {
        return Err(RememberError::TooLong(text.len()));
    }
    let text = text.replace("\r\n", "\n");
    let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let text = text.trim().to_owned();
    if text.is_empty() { Err(RememberError::Empty) } else { Ok(text) }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The longest title that is made, in columns; a Chinese character takes two.
const TITLE: usize = 72;

/// The first sentence as a title, cut between words where it is long.
fn title_of(text: &str) -> String {
    let first =
        markdown::prose::passages(text).into_iter().map(|passage| passage.text).find(|t| !t.is_empty());
    let plain = one_line(&first.unwrap_or_else(|| markdown::plain::plain(text)));
    let plain = if plain.is_empty() { one_line(text) } else { plain };
    let end = plain
        .char_indices()
        .find(|(at, c)| {
            // A point in the middle of a word or number ends nothing, nor does that of a short word: `Dr.`, `e.g.`, `J.`
            let next = plain[at + c.len_utf8()..].chars().next();
            let ends = markdown::prose::closes_sentence(*c)
                && (!c.is_ascii() || next.is_none_or(char::is_whitespace));
            ends && !(*c == '.' && next.is_some() && is_shortened(&plain[..*at]))
        })
        .map_or(plain.len(), |(at, _)| at);
    let sentence = plain[..end].trim_end_matches([',', ';', ':', '，', '；', '：']).trim();
    let sentence = if sentence.is_empty() { plain.as_str() } else { sentence };
    cut(sentence)
}

/// Words that are written with a point, besides single letters and those with a point within.
const SHORTENED: [&str; 22] = [
    "dr", "mr", "mrs", "ms", "prof", "st", "jr", "sr", "no", "nr", "vs", "etc", "approx", "dept", "est",
    "fig", "inc", "ltd", "tel", "vol", "cf", "hr",
];

/// Whether a text ends in a word whose point belongs to it.
fn is_shortened(text: &str) -> bool {
    let word = text.rsplit(|c: char| c.is_whitespace() || "([\"'“‘".contains(c)).next().unwrap_or_default();
    let one_letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && word != "I";
    one_letter || word.contains('.') || SHORTENED.contains(&word.to_lowercase().as_str())
}

fn cut(text: &str) -> String {
    let mut columns = 0;
    let mut word = 0;
    for (at, c) in text.char_indices() {
        let cjk = crate::index::tokenizer::is_cjk(c);
        if c == ' ' || cjk {
            word = at;
        }
        columns += if cjk { 2 } else { 1 };
        if columns > TITLE {
            let end = if word == 0 { at } else { word };
            return format!("{}…", text[..end].trim_end());
        }
    }
    text.to_owned()
}

/// The body: a heading unless the text is nothing but its title, the text, then where else to look.
fn body(title: &str, text: &str, links: &[String]) -> String {
    let bare = |text: &str| text.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let mut out = String::new();
    if !text.starts_with('#') && bare(title) != bare(&one_line(text)) {
        out.push_str(&format!("# {title}\n\n"));
    }
    out.push_str(text);
    out.push('\n');
    if !links.is_empty() {
        let chinese = text.chars().any(crate::index::tokenizer::is_cjk);
        let line = if chinese {
            format!("参见 {}。", links.join("、"))
        } else {
            format!("See {}.", links.join(", "))
        };
        out.push_str(&format!("\n{line}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_is_the_title() {
        assert_eq!(title_of("Prefers window seats. Also on trains."), "Prefers window seats");
        assert_eq!(
            title_of("Costs 3.5 euros at example.org, always"),
            "Costs 3.5 euros at example.org, always"
        );
        assert_eq!(title_of("现在两小时以上的都要靠窗。短途随便。"), "现在两小时以上的都要靠窗");
        assert_eq!(title_of("# A heading\n\nText."), "A heading");
        assert_eq!(title_of("[[a|The link]] holds"), "The link holds");
        let long = "word ".repeat(40);
        let title = title_of(&long);
        assert!(title.ends_with("word…") && title.len() < 80, "{title}");
        assert!(title_of(&"窗".repeat(80)).chars().count() <= 37);
        assert_eq!(title_of("…"), "…");
        for whole in ["My dentist is Dr. Zhang, phone 555-1234.", "J. R. Smith, e.g. at no. 5, is here"] {
            assert_eq!(title_of(whole), whole.trim_end_matches('.'));
        }
        assert_eq!(title_of("Dr. Zhang is my dentist. He is in Hangzhou."), "Dr. Zhang is my dentist");
        assert_eq!(title_of("So am I. And more."), "So am I");
    }

    #[test]
    fn a_body_says_nothing_twice() {
        assert_eq!(body("Likes tea", "Likes tea.", &[]), "Likes tea.\n");
        assert_eq!(
            body("Likes tea", "Likes tea. Green.", &["[[cups]]".to_owned()]),
            "# Likes tea\n\nLikes tea. Green.\n\nSee [[cups]].\n"
        );
        assert!(body("爱喝茶", "爱喝茶。", &["[[茶]]".to_owned()]).ends_with("参见 [[茶]]。\n"));
    }

    #[test]
    fn what_cannot_be_text_is_refused_or_left_out() {
        assert!(matches!(readable(" \r\n\t"), Err(RememberError::Empty)));
        assert!(matches!(readable(&"a".repeat(LONGEST + 1)), Err(RememberError::TooLong(_))));
        assert_eq!(readable("a\r\nb\u{1b}[31m\0").unwrap(), "a\nb[31m");
    }
}
