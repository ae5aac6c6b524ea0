//! The events of a proposal, and the text in which they are stored. **The format is frozen.**
//!
//! # The commit
//! An event is a commit on the branch of its proposal with exactly one parent and that parent's tree. Its author
//! line and its committer line are equal byte for byte; the name in them is the actor's id, the address the
//! actor's address in `.runebook/actors.yaml`. The commit is in the strict form of [`super::commit`].
//!
//! # The message
//! ```text
//! <subject> LF
//! LF
//! [<text> LF LF]
//! Runebook-Event: <kind> LF
//! Runebook-Vault: <object name of the vault's root commit> LF
//! Runebook-Proposal: <id> LF
//! Runebook-Revision: <number> LF
//! Runebook-Base: <object name> LF
//! Runebook-Digest: sha256:<64 digits> LF
//! Runebook-Policy: sha256:<64 digits> LF
//! Runebook-Actor: <id> LF
//! Runebook-Prev: none | <object name>[ <object name>…] LF
//! Runebook-Verdict: none | approve | request-changes | reject LF
//! Runebook-Data: <one line of canonical JSON> LF
//! ```
//! Exactly these eleven lines in this order, each once, never folded, one space behind the colon, and nothing
//! behind the last LF. A reader parses a message, writes it again by the rules below and compares: if one byte
//! differs, it is no event.
//!
//! - **subject**: one line, not empty, no control character (Unicode's Cc), no white space (Unicode's White_Space)
//!   at either end.
//! - **text**: optional; no CR, no NUL, no white space at either end. It may hold empty lines.
//! - No line of subject or text begins with `Runebook-`; a writer puts `| ` in front of one that would.
//! - **kind**: `open`, `submit`, `check`, `comment`, `review`, `lift`, `withdraw`, `supersede`, `escalate`,
//!   `decide`.
//! - **Revision**: how many `submit` events there are among the event and its ancestors on the branch; decimal
//!   without leading zeros. It is `0` before the first.
//! - **Base**, **Digest**: BASE and the digest of the difference between BASE and the tree, both at the event's
//!   parent ([`super::change::digest`]). For `open` the base is the one that its data name, unless an update
//!   stands before it.
//! - **Policy**: SHA-256 over `<policy.yaml's object name> LF <actors.yaml's object name> LF` as they stood on
//!   main when the event was written (forty zeros for a file that is not there). Information, never trusted.
//! - **Prev**: the newest events of the same actor among the event's ancestors on the branch, those that no other
//!   one of them descends from: none, one, or after a join several, sorted, one space between.
//! - **Verdict**: not `none` exactly when the kind is `review`.
//!
//! # The data
//! One JSON object on one line without white space between tokens. Keys are sorted by their bytes and unique at
//! every level; numbers are integers without sign, leading zeros, fraction or exponent; strings are escaped as
//! serde_json does it (`\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t`, other characters below U+0020 as `\u00xx` in lower
//! case, all else as it is). What is absent has no key: never `null`, never an empty list or map. No other keys.
//!
//! | kind | data |
//! | --- | --- |
//! | `open` | `base` object name, `title` string; optional: `from` id of the proposal that it continues, `rollback_of` object name of the merge that it takes back |
//! | `review`, `comment` | optional `comments`: a list of objects with the optional keys `evidence` (a URI), `line` (from 1), `path`, `text`, at least one of them |
//! | `lift` | `event`: object name of the verdict that is lifted |
//! | `supersede` | `by`: id of the proposal that takes its place |
//! | `escalate` | `reason`: string |
//! | `decide` | `main` object name of the first parent of the merge, `tree` object name of the merge's tree; optional: `checks` an object from the name of a check to the worst severity that it found (`ok`, `info`, `warning`, `person`, `error`), `rules` a list of the numbers of the policy's rules that were applied, ascending, unique, counted from 1 |
//! | others | `{}` |

mod data;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::{ActorId, Digest, Oid, ProposalId};
pub use data::{Data, Decide, Escalate, Lift, Open, Outcome, Remark, Remarks, Supersede};

/// What an event says.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The proposal begins.
    Open,
    /// What stands on the branch is a revision, ready for review.
    Submit,
    /// The checks were run. Information only.
    Check,
    /// Somebody says something.
    Comment,
    /// A verdict.
    Review,
    /// A verdict is taken back, by its actor or by an admin who says why.
    Lift,
    /// The proposal ends without a merge.
    Withdraw,
    /// Another proposal takes its place.
    Supersede,
    /// A person must look.
    Escalate,
    /// It merges: the second parent of the merge.
    Decide,
}

impl EventKind {
    const ALL: [(EventKind, &str); 10] = [
        (EventKind::Open, "open"),
        (EventKind::Submit, "submit"),
        (EventKind::Check, "check"),
        (EventKind::Comment, "comment"),
        (EventKind::Review, "review"),
        (EventKind::Lift, "lift"),
        (EventKind::Withdraw, "withdraw"),
        (EventKind::Supersede, "supersede"),
        (EventKind::Escalate, "escalate"),
        (EventKind::Decide, "decide"),
    ];

    /// The word in the message.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    fn parse(word: &str) -> Option<EventKind> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a reviewer says of a revision.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Exactly this change may enter.
    Approve,
    /// Not like this.
    RequestChanges,
    /// Not at all.
    Reject,
}

impl Verdict {
    /// The word in the message.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Approve => "approve",
            Verdict::RequestChanges => "request-changes",
            Verdict::Reject => "reject",
        }
    }

    fn parse(word: &str) -> Option<Verdict> {
        [Verdict::Approve, Verdict::RequestChanges, Verdict::Reject].into_iter().find(|v| v.as_str() == word)
    }

    /// Whether it keeps the proposal from merging.
    #[must_use]
    pub fn is_veto(self) -> bool {
        self != Verdict::Approve
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An event of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What it says.
    pub kind: EventKind,
    /// The vault's root commit.
    pub vault: Oid,
    /// The proposal.
    pub proposal: ProposalId,
    /// How many revisions were submitted, this one included.
    pub revision: u32,
    /// BASE at the parent.
    pub base: Oid,
    /// The digest at the parent.
    pub digest: Digest,
    /// What policy and actors stood on main (information).
    pub policy: Digest,
    /// Who says it.
    pub actor: ActorId,
    /// The same actor's newest events before it.
    pub prev: Vec<Oid>,
    /// The verdict of a review.
    pub verdict: Option<Verdict>,
    /// What it carries.
    pub data: Data,
    /// The message's first line, for people.
    pub subject: String,
    /// Free text; lines that would begin with `Runebook-` have `| ` in front.
    pub text: Option<String>,
}

/// Why a message is no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The eleven lines are not there, or not in their order.
    #[error("its message does not end in the eleven `Runebook-` lines: {0} is missing or out of place")]
    Line(&'static str),
    /// A line's value is malformed.
    #[error("the value of {line} is malformed: `{value}`")]
    Value {
        /// The line's name.
        line: &'static str,
        /// Its value.
        value: String,
    },
    /// The data are not what the kind carries.
    #[error("the value of Runebook-Data cannot be used: {0}")]
    Data(String),
    /// It reads well but is not written in the one allowed way.
    #[error("its message is not in canonical form: written again it differs")]
    NotCanonical,
}

const NAMES: [&str; 11] = [
    "Runebook-Event",
    "Runebook-Vault",
    "Runebook-Proposal",
    "Runebook-Revision",
    "Runebook-Base",
    "Runebook-Digest",
    "Runebook-Policy",
    "Runebook-Actor",
    "Runebook-Prev",
    "Runebook-Verdict",
    "Runebook-Data",
];

/// What `Runebook-Policy` holds for the two files' object names (zero for one that is not there).
#[must_use]
pub fn policy_hash(policy: Oid, actors: Oid) -> Digest {
    Digest::of(format!("{policy}\n{actors}\n").as_bytes())
}

impl Event {
    /// Whether a message looks as if it meant to be an event: some line of it begins with `Runebook-`.
    #[must_use]
    pub fn claims(message: &str) -> bool {
        message.split('\n').any(|line| line.starts_with("Runebook-"))
    }

    /// Reads a commit's message.
    ///
    /// # Errors
    /// [`EventError`]; among them when the event, written again, is not this message byte for byte.
    pub fn parse(message: &str) -> Result<Event, EventError> {
        let lines: Vec<&str> = message.strip_suffix('\n').unwrap_or(message).split('\n').collect();
        let start = lines.len().checked_sub(NAMES.len()).ok_or(EventError::Line(NAMES[0]))?;
        let (head, block) = lines.split_at(start);
        let mut values = [""; NAMES.len()];
        for ((value, line), name) in values.iter_mut().zip(block).zip(NAMES) {
            let rest = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
            *value = rest.ok_or(EventError::Line(name))?;
        }
        let (subject, text) = match head {
            [subject, ""] => (*subject, None),
            [subject, "", text @ .., ""] if !text.is_empty() => (*subject, Some(text.join("\n"))),
            _ => return Err(EventError::NotCanonical),
        };
        let kind = EventKind::parse(values[0]).ok_or_else(|| value_error(0, values[0]))?;
        let event = Event {
            kind,
            vault: field(&values, 1)?,
            proposal: field(&values, 2)?,
            revision: field(&values, 3)?,
            base: field(&values, 4)?,
            digest: field(&values, 5)?,
            policy: field(&values, 6)?,
            actor: field(&values, 7)?,
            prev: match values[8] {
                "none" => Vec::new(),
                list => list
                    .split(' ')
                    .map(|oid| oid.parse().map_err(|_| value_error(8, list)))
                    .collect::<Result<_, _>>()?,
            },
            verdict: match values[9] {
                "none" => None,
                word => Some(Verdict::parse(word).ok_or_else(|| value_error(9, word))?),
            },
            data: Data::parse(kind, values[10])?,
            subject: subject.to_owned(),
            text,
        };
        if event.verdict.is_some() != (kind == EventKind::Review) {
            return Err(value_error(9, values[9]));
        }
        if !event.data.is_sound() || !event.prev.is_sorted_by(|a, b| a < b) || event.to_message() != message {
            return Err(EventError::NotCanonical);
        }
        Ok(event)
    }

    /// The commit message. Subject and text are brought into their form: one line without control characters; no
    /// CR or NUL, no white space at the ends, `| ` in front of lines that begin with `Runebook-`.
    #[must_use]
    pub fn to_message(&self) -> String {
        let mut out = clean_subject(&self.subject, self.kind, &self.proposal);
        out.push_str("\n\n");
        if let Some(text) = self.text.as_deref().map(clean_text).filter(|text| !text.is_empty()) {
            out.push_str(&text);
            out.push_str("\n\n");
        }
        let prev: Vec<String> = self.prev.iter().map(Oid::to_string).collect();
        let values = [
            self.kind.to_string(),
            self.vault.to_string(),
            self.proposal.to_string(),
            self.revision.to_string(),
            self.base.to_string(),
            self.digest.to_string(),
            self.policy.to_string(),
            self.actor.to_string(),
            if prev.is_empty() { "none".to_owned() } else { prev.join(" ") },
            self.verdict.map_or("none", Verdict::as_str).to_owned(),
            self.data.to_json(),
        ];
        for (name, value) in NAMES.iter().zip(values) {
            out.push_str(name);
            out.push_str(": ");
            out.push_str(&value);
            out.push('\n');
        }
        out
    }

    /// Whether kind, verdict and data belong together; [`Event::to_message`] of one where they do not is no event.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.data.fits(self.kind)
            && self.data.is_sound()
            && self.verdict.is_some() == (self.kind == EventKind::Review)
    }

    /// The comments of a review or comment.
    #[must_use]
    pub fn remarks(&self) -> &[Remark] {
        match &self.data {
            Data::Remarks(remarks) => &remarks.comments,
            _ => &[],
        }
    }
}

fn value_error(index: usize, value: &str) -> EventError {
    EventError::Value { line: NAMES[index], value: value.to_owned() }
}

fn field<T: std::str::FromStr>(values: &[&str; NAMES.len()], index: usize) -> Result<T, EventError> {
    values[index].parse().map_err(|_| value_error(index, values[index]))
}

fn clean_subject(subject: &str, kind: EventKind, proposal: &ProposalId) -> String {
    let line: String = subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.trim() {
        "" => format!("{kind}: {proposal}"),
        line => guard(line),
    }
}

fn clean_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "");
    text.trim().split('\n').map(guard).collect::<Vec<_>>().join("\n")
}

fn guard(line: &str) -> String {
    if line.starts_with("Runebook-") { format!("| {line}") } else { line.to_owned() }
}
