//! `viking://` addresses: how a place in the vault is written down.

use std::fmt;

use super::fault::{Explain, Kind};
use super::path::{PathError, VaultPath};

/// The scheme, with its slashes.
pub const SCHEME: &str = "viking://";

/// `viking://<scope>/<segment>/…[?rev=<git revision>][#<fragment>]`.
///
/// Our own parser, since a scope is no host. Printed with Unicode as it is; `%`, `#`, `?` and control characters
/// of names are percent-encoded. Read with or without encoding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Uri {
    /// The place.
    pub path: VaultPath,
    /// Whether it was written as a directory (with a trailing `/`). The root always is.
    pub directory: bool,
    /// The git revision to read it at.
    pub rev: Option<String>,
    /// The part of the file that is meant.
    pub fragment: Option<Fragment>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fragment {
    /// A heading, or a path of nested ones (`#A#B`).
    Heading(Vec<String>),
    /// A block by its id (`#^id`), without the caret.
    Block(String),
    /// Lines, counted from 1, both ends included (`#L10-L20`, `#L10`).
    Lines(u32, u32),
}

/// Why a text is no `viking://` address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// It has another scheme or none.
    #[error("`{0}` does not begin with viking://")]
    Scheme(String),
    /// A percent sign without two hexadecimal digits, or bytes that are no UTF-8.
    #[error("`{0}` has a broken percent-encoding")]
    Encoding(String),
    /// A revision or fragment has a character that no terminal should obey.
    #[error("`{}` has a control character", .0.escape_debug())]
    Control(String),
    /// An encoded slash would make one segment into two.
    #[error("`{0}` has an encoded `/`")]
    EncodedSlash(String),
    /// The query is not `rev=<revision>`.
    #[error("`{0}` has a query other than ?rev=<revision>")]
    Query(String),
    /// The fragment is empty, or its lines run backwards or from 0.
    #[error("`{0}` has a fragment that names nothing")]
    Fragment(String),
    /// The path itself.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Explain for UriError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            UriError::Encoding(_) => "write a literal `%` as `%25`".to_owned(),
            _ => "an address looks like viking://user/memories/seats.md#Heading".to_owned(),
        })
    }
}

impl Uri {
    /// The address of a file.
    #[must_use]
    pub fn file(path: VaultPath) -> Uri {
        Uri { directory: path.is_root(), path, rev: None, fragment: None }
    }

    /// The address of a directory.
    #[must_use]
    pub fn directory(path: VaultPath) -> Uri {
        Uri { directory: true, path, rev: None, fragment: None }
    }

    /// Reads an address.
    ///
    /// The scheme is read in either case. Characters may be percent-encoded or not; a `%` that encodes nothing is
    /// refused, since two readers could take it for two things.
    ///
    /// # Errors
    /// See [`UriError`].
    pub fn parse(text: &str) -> Result<Uri, UriError> {
        let head = text.get(..SCHEME.len()).filter(|head| head.eq_ignore_ascii_case(SCHEME));
        let rest = head.map(|head| &text[head.len()..]).ok_or_else(|| UriError::Scheme(text.to_owned()))?;
        let (rest, fragment) = match rest.split_once('#') {
            Some((rest, raw)) => (rest, Some(parse_fragment(raw, text)?)),
            None => (rest, None),
        };
        let (raw_path, rev) = match rest.split_once('?') {
            Some((path, query)) => {
                let rev = query.strip_prefix("rev=").filter(|rev| !rev.is_empty() && !rev.contains('&'));
                let rev = rev.ok_or_else(|| UriError::Query(text.to_owned()))?;
                (path, Some(shown(decode(rev, text)?, text)?))
            }
            None => (rest, None),
        };
        if raw_path.to_ascii_lowercase().contains("%2f") {
            return Err(UriError::EncodedSlash(text.to_owned()));
        }
        let path = VaultPath::parse(&decode(raw_path, text)?)?;
        Ok(Uri { directory: raw_path.is_empty() || raw_path.ends_with('/'), path, rev, fragment })
    }
}

/// The text with its percent-encoding undone; `None` where a `%` encodes nothing or the bytes are no UTF-8.
#[must_use]
pub fn percent_decoded(raw: &str) -> Option<String> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let mut out = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        out.push(if byte == b'%' { digit(bytes.next()?)? << 4 | digit(bytes.next()?)? } else { byte });
    }
    String::from_utf8(out).ok()
}

/// The bytes of a text with its percent-encoding undone; a `%` that encodes nothing stays.
#[must_use]
pub fn percent_leniently(raw: &str) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = match behind {
            [high, low, ..] if *first == b'%' => digit(high).zip(digit(low)),
            _ => None,
        };
        out.push(code.map_or(*first, |(high, low)| high << 4 | low));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    out
}

fn decode(raw: &str, whole: &str) -> Result<String, UriError> {
    percent_decoded(raw).ok_or_else(|| UriError::Encoding(whole.to_owned()))
}

fn shown(text: String, whole: &str) -> Result<String, UriError> {
    if text.chars().any(char::is_control) { Err(UriError::Control(whole.to_owned())) } else { Ok(text) }
}

fn line_number(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('L')?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

fn parse_lines(raw: &str) -> Option<(u32, u32)> {
    match raw.split_once('-') {
        Some((from, to)) => Some((line_number(from)?, line_number(to)?)),
        None => line_number(raw).map(|line| (line, line)),
    }
}

fn parse_fragment(raw: &str, whole: &str) -> Result<Fragment, UriError> {
    let err = || UriError::Fragment(whole.to_owned());
    if let Some((from, to)) = parse_lines(raw) {
        return if from >= 1 && from <= to { Ok(Fragment::Lines(from, to)) } else { Err(err()) };
    }
    if let Some(id) = raw.strip_prefix('^') {
        let id = shown(decode(id, whole)?, whole)?;
        return if id.is_empty() { Err(err()) } else { Ok(Fragment::Block(id)) };
    }
    let names: Vec<String> =
        raw.split('#').map(|name| shown(decode(name, whole)?, whole)).collect::<Result<_, _>>()?;
    if names.iter().any(String::is_empty) { Err(err()) } else { Ok(Fragment::Heading(names)) }
}

impl Fragment {
    /// Reads what stands behind the `#` of an address.
    ///
    /// # Errors
    /// See [`UriError`].
    pub fn parse(raw: &str) -> Result<Fragment, UriError> {
        parse_fragment(raw, raw)
    }
}

fn encode(text: &str, more: &[char], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for c in text.chars() {
        if matches!(c, '%' | '#' | '?') || c.is_control() || more.contains(&c) {
            let mut utf8 = [0; 4];
            for byte in c.encode_utf8(&mut utf8).bytes() {
                write!(f, "%{byte:02X}")?;
            }
        } else {
            write!(f, "{c}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        encode(self.path.as_str(), &[], f)?;
        if self.directory && !self.path.is_root() {
            f.write_str("/")?;
        }
        if let Some(rev) = &self.rev {
            f.write_str("?rev=")?;
            encode(rev, &['&'], f)?;
        }
        if let Some(fragment) = &self.fragment {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fragment::Lines(from, to) if from == to => write!(f, "L{from}"),
            Fragment::Lines(from, to) => write!(f, "L{from}-L{to}"),
            Fragment::Block(id) => {
                f.write_str("^")?;
                encode(id, &[], f)
            }
            Fragment::Heading(names) => {
                for (i, name) in names.iter().enumerate() {
                    if i > 0 {
                        f.write_str("#")?;
                    }
                    // A heading that looks like another kind of fragment is written so that it does not.
                    match (i, name.strip_prefix('L'), name.strip_prefix('^')) {
                        (0, Some(rest), _) if names.len() == 1 && parse_lines(name).is_some() => {
                            f.write_str("%4C")?;
                            encode(rest, &[], f)?;
                        }
                        (0, _, Some(rest)) => {
                            f.write_str("%5E")?;
                            encode(rest, &[], f)?;
                        }
                        _ => encode(name, &[], f)?,
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        for (text, printed) in [
            ("viking://", "viking://"),
            ("VIKING://user/", "viking://user/"),
            ("viking://日记 2026/a.md", "viking://日记 2026/a.md"),
            ("viking://%E6%97%A5/a%20b.md", "viking://日/a b.md"),
            ("viking://a%23b%3Fc%25.md?rev=HEAD~1#A#B", "viking://a%23b%3Fc%25.md?rev=HEAD~1#A#B"),
            ("viking://a.md?rev=main@{1%26%3F%23}", "viking://a.md?rev=main@{1%26%3F%23}"),
            ("viking://a.md#L7-L7", "viking://a.md#L7"),
            ("viking://a.md#L10-L20", "viking://a.md#L10-L20"),
            ("viking://a.md#%4C10", "viking://a.md#%4C10"),
            ("viking://a.md#^id-1", "viking://a.md#^id-1"),
            ("viking://a.md#%5Eid", "viking://a.md#%5Eid"),
            ("viking://a.md#what? why", "viking://a.md#what%3F why"),
        ] {
            assert_eq!(Uri::parse(text).unwrap().to_string(), printed, "{text}");
        }
        let heading = Uri::parse("viking://a.md#%4C10").unwrap().fragment;
        assert_eq!(heading, Some(Fragment::Heading(vec!["L10".to_owned()])));
        assert!(Uri::parse("viking://a").is_ok_and(|uri| !uri.directory));
    }

    #[test]
    fn refuses() {
        for bad in [
            "",
            "a.md",
            "http://a",
            "viking:/a",
            "viking:///a",
            "viking://a//b",
            "viking://./a",
            "viking://a/../b",
            "viking://%2e%2e/a",
            "viking://a%2Fb",
            "viking://a%5Cb",
            "viking://a\\b",
            "viking://a%00b",
            "viking://a\nb",
            "viking://a%0Ab",
            "viking://100%",
            "viking://a%zz",
            "viking://a%ff",
            "viking://a?",
            "viking://a?rev=",
            "viking://a?x=1",
            "viking://a?rev=x&y=1",
            "viking://a?rev=%0A",
            "viking://a#",
            "viking://a#^",
            "viking://a#L0",
            "viking://a#L9-L3",
            "viking://a#A##B",
            "viking://a#%1b[2J",
        ] {
            assert!(Uri::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Uri::parse(&format!("viking://{}", "x".repeat(256))).is_err());
    }
}
