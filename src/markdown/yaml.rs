//! YAML as a tree that knows where each value stands. Bounded: no depth, no anchor and no size makes it slow.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value};

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 64;
/// The most values that are read, those that aliases repeat included.
const MAX_NODES: usize = 1 << 20;
/// The most bytes that aliases may repeat.
const MAX_REPEATED: usize = 4 << 20;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Its bytes in the text that was read, quotes included.
    pub(super) range: Range<usize>,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// A scalar: its text, and whether it stands without quotes.
    Scalar(String, bool),
    /// A list.
    List(Vec<Node>),
    /// A mapping in the order of the text; of equal keys the first.
    Map(Vec<Entry>),
}

/// One key of a mapping.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    /// The line of the key, counted from 1.
    pub(super) line: u32,
    pub(super) value: Node,
}

/// Why a text cannot be read.
#[derive(Debug)]
pub(super) struct Broken {
    /// The line, counted from 1.
    pub(super) line: u32,
    pub(super) why: String,
}

/// A key that stands twice in one mapping.
#[derive(Debug)]
pub(super) struct Twice {
    pub(super) key: String,
    /// The line of the one that is not taken, counted from 1.
    pub(super) line: u32,
}

/// Reads one document.
pub(super) fn read(text: &str) -> Result<(Node, Vec<Twice>), Broken> {
    // The parser is lazy: the builder's bounds stop it before depth or repetition costs anything.
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| Broken {
            line: u32::try_from(e.marker().line()).unwrap_or(u32::MAX),
            why: e.info().to_owned(),
        })?;
        builder.take(event, span).map_err(|why| Broken { line: line_of(span), why })?;
    }
    let root = builder.root.unwrap_or(Node { kind: Kind::Scalar(String::new(), true), range: 0..0 });
    Ok((root, builder.twice))
}

fn line_of(span: Span) -> u32 {
    u32::try_from(span.start.line()).unwrap_or(u32::MAX)
}

enum Frame {
    List { items: Vec<Node>, anchor: usize, start: usize },
    Map { entries: Vec<Entry>, seen: HashSet<String>, key: Key, anchor: usize, start: usize },
}

enum Key {
    Awaited,
    Read(String, u32),
    /// A key that stood before: its value is read and dropped.
    Repeated,
}

/// Turns the parser's positions, which count characters, into bytes of the text.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    /// Characters and bytes before the last position.
    at: (usize, usize),
}

impl Cursor {
    /// The byte of a character's index. Positions come nearly in order, so the way is short.
    pub(super) fn byte(&mut self, text: &str, index: usize) -> usize {
        let (mut chars, mut bytes) = self.at;
        while chars > index {
            bytes = text.floor_char_boundary(bytes.saturating_sub(1));
            chars -= 1;
        }
        for c in text[bytes..].chars().take(index - chars) {
            bytes += c.len_utf8();
            chars += 1;
        }
        self.at = (chars, bytes);
        bytes
    }
}

struct Builder<'t> {
    text: &'t str,
    cursor: Cursor,
    stack: Vec<Frame>,
    anchors: HashMap<usize, (Node, usize, usize)>,
    nodes: usize,
    repeated: usize,
    root: Option<Node>,
    twice: Vec<Twice>,
    documents: usize,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Builder<'t> {
        Builder {
            text,
            cursor: Cursor::default(),
            stack: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            repeated: 0,
            root: None,
            twice: Vec::new(),
            documents: 0,
        }
    }

    fn byte(&mut self, index: usize) -> usize {
        self.cursor.byte(self.text, index)
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), String> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("a second document begins here".to_owned());
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let range = self.byte(span.start.index())..self.byte(span.end.index());
                let plain = matches!(style, ScalarStyle::Plain) && !is_string(tag.as_ref());
                let node = Node { kind: Kind::Scalar(text.into_owned(), plain), range };
                self.put(node, anchor, line_of(span))?;
            }
            Event::SequenceStart(anchor, _) => {
                let start = self.byte(span.start.index());
                self.push(Frame::List { items: Vec::new(), anchor, start })?;
            }
            Event::MappingStart(anchor, _) => {
                let start = self.byte(span.start.index());
                let (entries, seen, key) = (Vec::new(), HashSet::new(), Key::Awaited);
                self.push(Frame::Map { entries, seen, key, anchor, start })?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                // The bracket alone: the parser takes white space and a comment behind it along.
                let at = self.byte(span.start.index());
                let bracket =
                    self.text[at..].starts_with([']', '}']) && span.end.index() > span.start.index();
                let end = if bracket { at + 1 } else { self.byte(span.end.index()) };
                let (kind, start, anchor) = match self.stack.pop() {
                    Some(Frame::List { items, anchor, start }) => (Kind::List(items), start, anchor),
                    Some(Frame::Map { entries, anchor, start, .. }) => (Kind::Map(entries), start, anchor),
                    None => return Err("a list ends that did not begin".to_owned()),
                };
                self.put(Node { kind, range: start..end.max(start) }, anchor, line_of(span))?;
            }
            Event::Alias(anchor) => {
                let Some((node, nodes, bytes)) = self.anchors.get(&anchor).cloned() else {
                    return Err("it refers to an anchor within itself".to_owned());
                };
                self.nodes += nodes;
                self.repeat(bytes)?;
                self.put(node, 0, line_of(span))?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn push(&mut self, frame: Frame) -> Result<(), String> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(format!("it nests deeper than {MAX_DEPTH} levels"));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn repeat(&mut self, bytes: usize) -> Result<(), String> {
        self.repeated += bytes;
        if self.repeated > MAX_REPEATED || self.nodes > MAX_NODES {
            return Err("its anchors and aliases expand to too much".to_owned());
        }
        Ok(())
    }

    /// Adds a whole value to what is open.
    fn put(&mut self, node: Node, anchor: usize, line: u32) -> Result<(), String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err("it has too many values".to_owned());
        }
        if anchor > 0 {
            let (nodes, bytes) = size(&node);
            self.repeat(bytes)?;
            self.anchors.insert(anchor, (node.clone(), nodes, bytes));
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, seen, key, .. }) => match std::mem::replace(key, Key::Awaited) {
                Key::Read(key, line) => entries.push(Entry { key, line, value: node }),
                Key::Repeated => {}
                Key::Awaited => {
                    let Kind::Scalar(name, _) = node.kind else {
                        return Err("a key is a list or a mapping; write it as text".to_owned());
                    };
                    *key = if !seen.insert(name.clone()) {
                        self.twice.push(Twice { key: name, line });
                        Key::Repeated
                    } else {
                        Key::Read(name, line)
                    };
                }
            },
        }
        Ok(())
    }
}

fn is_string(tag: Option<&Cow<'_, Tag>>) -> bool {
    tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str")
}

/// How many values and bytes a value has. Its depth is bounded, so this may recurse.
fn size(node: &Node) -> (usize, usize) {
    match &node.kind {
        Kind::Scalar(text, _) => (1, text.len() + 32),
        Kind::List(items) => items.iter().map(size).fold((1, 32), |a, b| (a.0 + b.0, a.1 + b.1)),
        Kind::Map(entries) => entries.iter().fold((1, 32), |sum, entry| {
            let (nodes, bytes) = size(&entry.value);
            (sum.0 + nodes, sum.1 + bytes + entry.key.len() + 32)
        }),
    }
}

impl Node {
    /// The value as JSON.
    pub(super) fn json(&self) -> Value {
        match &self.kind {
            Kind::Scalar(text, true) => plain_scalar(text),
            Kind::Scalar(text, false) => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Node::json).collect()),
            Kind::Map(entries) => {
                Value::Object(entries.iter().map(|e| (e.key.clone(), e.value.json())).collect::<Map<_, _>>())
            }
        }
    }

    /// The text of a scalar that is not null, as it was written.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar(text, plain) => (!(*plain && plain_scalar(text).is_null())).then_some(text),
            _ => None,
        }
    }
}

/// What a scalar without quotes means: null, true, false or a decimal number, else a string. Narrower than YAML's
/// core schema where a number would lose what was written: `0012`, `+49170`, `0x1f`, `.inf` and numbers too large
/// stay strings, as do dates, `yes` and `no`.
pub(super) fn plain_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let leading_zero = whole > 1 && digits.starts_with('0');
    let rest = &digits[whole..];
    let looks_like_number = !leading_zero
        && digits.bytes().any(|b| b.is_ascii_digit())
        && (whole > 0 || rest.starts_with('.'))
        && rest.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !looks_like_number {
        return Value::String(text.to_owned());
    }
    let number = if rest.is_empty() {
        text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok()
    } else {
        text.parse::<f64>().ok().and_then(Number::from_f64)
    };
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}
