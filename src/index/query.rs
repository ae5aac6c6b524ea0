//! What a query says: words, "phrases", `tag:`, `type:`, `path:`, and `-` before any of them for "not".
//!
//! Every text is a query: what is no syntax is words. Full-width forms of the signs count as well (`标签` is found by
//! `tag：标签`), since that is what a Chinese keyboard types.

use std::sync::LazyLock;

/// One part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Words, in any order.
    Words(String),
    /// Words one behind the other.
    Phrase(String),
    /// A tag; nested ones count as well.
    Tag(String),
    /// A type of memory.
    Type(String),
    /// The beginning of a path, or a glob over paths.
    Path(String),
}

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// What is looked for.
    pub wanted: Vec<Item>,
    /// What must not be there.
    pub unwanted: Vec<Item>,
    /// What was done to the query that its writer should know.
    pub notes: Vec<String>,
}

/// What is read of a query, in bytes. Nobody reads or needs more words than that.
pub const MAX_QUERY: usize = 4096;

const QUOTES: [(char, char); 6] =
    [('"', '"'), ('“', '”'), ('”', '”'), ('「', '」'), ('『', '』'), ('＂', '＂')];

/// Reads a query. Never fails; a quote without an end reaches to the end.
#[must_use]
pub fn parse(text: &str) -> Query {
    let mut query = Query::default();
    let mut rest = text;
    if text.len() > MAX_QUERY {
        let mut end = MAX_QUERY;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        rest = &text[..end];
        query.notes.push(format!("the query has {} bytes; only its first {end} were used", text.len()));
    }
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { break };
        let negated = matches!(first, '-' | '－')
            && rest[first.len_utf8()..].starts_with(|c: char| !c.is_whitespace() && c != '-');
        if negated {
            rest = &rest[first.len_utf8()..];
        }
        let (item, behind) = item(rest);
        query.remark(&rest[..rest.len() - behind.len()], item.as_ref());
        rest = behind;
        let Some(item) = item else { continue };
        let list = if negated { &mut query.unwanted } else { &mut query.wanted };
        match (&item, list.last_mut()) {
            (Item::Words(more), Some(Item::Words(words))) if !negated => {
                words.push(' ');
                words.push_str(more);
            }
            _ => list.push(item),
        }
    }
    query
}

fn item(text: &str) -> (Option<Item>, &str) {
    if let Some((inner, rest)) = quoted(text) {
        return (filled(inner).map(Item::Phrase), rest);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let word = &text[..end];
    let colon = word.char_indices().find(|(_, c)| matches!(c, ':' | '：'));
    if let Some((at, colon)) = colon {
        let make: Option<fn(String) -> Item> = match word[..at].to_ascii_lowercase().as_str() {
            "tag" => Some(Item::Tag),
            "type" => Some(Item::Type),
            "path" => Some(Item::Path),
            _ => None,
        };
        if let Some(make) = make {
            let value = &text[at + colon.len_utf8()..];
            let (value, rest) = match quoted(value) {
                Some(pair) => pair,
                None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
            };
            return (filled(value).map(make), rest);
        }
    }
    // A quote in the middle of a word begins a phrase behind it.
    let stop = word.char_indices().skip(1).find(|(_, c)| QUOTES.iter().any(|(open, _)| open == c));
    let end = stop.map_or(end, |(at, _)| at);
    (filled(&text[..end]).map(Item::Words), &text[end..])
}

fn filled(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Whether what begins with a quote ends with its other half.
fn closed(text: &str) -> bool {
    let close = |first: char| QUOTES.iter().find(|(open, _)| *open == first).map(|(_, close)| *close);
    text.chars().next().and_then(close).is_some_and(|close| text.chars().skip(1).any(|c| c == close))
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let first = text.chars().next()?;
    let (_, close) = QUOTES.iter().find(|(open, _)| *open == first)?;
    let inner = &text[first.len_utf8()..];
    Some(match inner.find(*close) {
        Some(end) => (&inner[..end], &inner[end + close.len_utf8()..]),
        None => (inner, ""),
    })
}

/// Words of English that alone say nothing: left out where a query has others. In the order of the alphabet.
const STOP_WORDS: [&str; 156] = [
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "ain",
    "all",
    "am",
    "an",
    "and",
    "any",
    "are",
    "aren",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "could",
    "couldn",
    "d",
    "did",
    "didn",
    "do",
    "does",
    "doesn",
    "doing",
    "don",
    "down",
    "during",
    "each",
    "few",
    "for",
    "from",
    "further",
    "had",
    "hadn",
    "has",
    "hasn",
    "have",
    "haven",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "isn",
    "it",
    "its",
    "itself",
    "just",
    "ll",
    "m",
    "many",
    "may",
    "me",
    "might",
    "more",
    "most",
    "much",
    "must",
    "my",
    "myself",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "re",
    "s",
    "same",
    "shall",
    "she",
    "should",
    "shouldn",
    "so",
    "some",
    "such",
    "t",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "us",
    "ve",
    "very",
    "was",
    "wasn",
    "we",
    "were",
    "weren",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "won",
    "would",
    "wouldn",
    "you",
    "your",
    "yours",
    "yourself",
    "yourselves",
];

/// Chinese characters that alone say nothing.
const STOP_CHARACTERS: &str = "的了和是在有就不也都与及或吗呢吧啊哪谁为会能我你他她它这那该对从到把被让给向以于而之其上下中里后前时并等个一要应几还又再很没得地着过想";

/// Whether a word of English alone says nothing; what stands behind an apostrophe does not count (`don't`).
#[must_use]
pub fn is_stop_word(word: &str) -> bool {
    let bare = word.split_once('\'').map_or(word, |(bare, _)| bare);
    let Some(first) = bare.as_bytes().first().map(|byte| usize::from(*byte)) else { return false };
    STOP_WORDS[usize::from(BY_FIRST[first])..usize::from(BY_FIRST[first + 1])].binary_search(&bare).is_ok()
}

/// Filters that are no part of a query, but options of whoever asks.
const OPTIONS: [&str; 4] = ["since", "until", "status", "rev"];

impl Query {
    /// Says of a part of the query what its writer may take it for, from other search programs, and it is not.
    fn remark(&mut self, typed: &str, item: Option<&Item>) {
        let note = match item {
            Some(Item::Phrase(_)) if !closed(typed) => {
                "a quote is not closed, so everything behind it was sought as it stands there".to_owned()
            }
            Some(Item::Words(word)) if matches!(word.as_str(), "AND" | "OR" | "NOT") => {
                format!("`{word}` is a word like any other; `-word` leaves out what has a word")
            }
            Some(Item::Words(word)) if word.contains('*') && word.contains(char::is_alphanumeric) => {
                "`*` stands for nothing among words: write them whole, or use `runebook grep`".to_owned()
            }
            Some(Item::Words(word)) => match word.split_once([':', '：']) {
                Some((name, value)) if OPTIONS.contains(&name) && !value.is_empty() => {
                    format!("`{name}:` is a word like any other; the filter is an option, `--{name}`")
                }
                _ => return,
            },
            _ => return,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The words and phrases that are looked for, in their order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().filter_map(|item| match item {
            Item::Words(text) | Item::Phrase(text) => Some(text.as_str()),
            Item::Tag(_) | Item::Type(_) | Item::Path(_) => None,
        })
    }

    /// The same as one text.
    #[must_use]
    pub fn text(&self) -> String {
        self.texts().collect::<Vec<_>>().join(" ")
    }
}

/// Where the stop words begin whose first byte is this or a later one: each word of each text is held against the list.
static BY_FIRST: LazyLock<[u8; 257]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        STOP_WORDS.partition_point(|word| word.bytes().next().is_none_or(|first| usize::from(first) < byte))
            as u8
    })
});

/// Whether a Chinese character alone says nothing.
#[must_use]
pub fn is_stop_character(character: &str) -> bool {
    STOP_CHARACTERS.contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_query() {
        let query =
            parse("window seats \"over two hours\" tag:travel -type:episodic path:user/** -\"red eye\" -bus");
        assert_eq!(
            query.wanted,
            [
                Item::Words("window seats".to_owned()),
                Item::Phrase("over two hours".to_owned()),
                Item::Tag("travel".to_owned()),
                Item::Path("user/**".to_owned()),
            ]
        );
        assert_eq!(
            query.unwanted,
            [
                Item::Type("episodic".to_owned()),
                Item::Phrase("red eye".to_owned()),
                Item::Words("bus".to_owned()),
            ]
        );
    }

    #[test]
    fn signs_of_a_chinese_keyboard() {
        let query = parse("“靠窗座位” tag：旅行 －巴士 他说“你好”");
        assert_eq!(query.wanted[..2], [Item::Phrase("靠窗座位".to_owned()), Item::Tag("旅行".to_owned())]);
        assert_eq!(query.wanted[3], Item::Phrase("你好".to_owned()));
        assert_eq!(query.unwanted, [Item::Words("巴士".to_owned())]);
    }

    #[test]
    fn what_is_no_syntax_is_words() {
        for text in ["-", "--", "\"\"", "tag:", "a:b", "https://x.org/y", "\"open"] {
            let query = parse(text);
            assert!(query.unwanted.is_empty(), "{text}");
            assert!(query.wanted.iter().all(|i| matches!(i, Item::Words(_) | Item::Phrase(_))), "{text}");
        }
        assert_eq!(parse(&"很长".repeat(50_000)).notes.len(), 1);
    }

    #[test]
    fn what_other_programs_would_make_of_it_is_remarked() {
        let notes = |text: &str| parse(text).notes;
        for (text, has) in [
            ("\"window seats", "is not closed"),
            ("seats 「靠窗", "is not closed"),
            ("window AND seats", "`AND` is a word"),
            ("seats NOT window", "`-word`"),
            ("win* seats", "`*` stands for nothing"),
            ("seats since:7d", "`--since`"),
        ] {
            assert!(notes(text).iter().any(|note| note.contains(has)), "{text}: {:?}", notes(text));
        }
        for text in ["\"window seats\"", "seats\"", "and or not", "2 * 3", "*", "title:seats", "since: when"]
        {
            assert_eq!(notes(text), [""; 0], "{text}");
        }
        assert_eq!(notes(&"AND NOT ".repeat(100)).len(), 2);
    }

    #[test]
    fn words_that_say_nothing() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && is_stop_word("don't") && !is_stop_word("seat") && !is_stop_word(""));
        assert!(is_stop_character("的") && !is_stop_character("猫"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,80}|[ \":：“”\\-tagpath*a一]{0,40}") {
            let query = parse(&text);
            proptest::prop_assert!(query.wanted.len() + query.unwanted.len() <= text.len());
        }
    }
}
