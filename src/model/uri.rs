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
    /// # Errors
    /// See [`UriError`].
    pub fn parse(text: &str) -> Result<Uri, UriError> {
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| UriError::Scheme(text.to_owned()))?;
        let (rest, fragment) = match rest.split_once('#') {
            Some((rest, raw)) => (rest, Some(parse_fragment(raw, text)?)),
            None => (rest, None),
        };
        let (raw_path, rev) = match rest.split_once('?') {
            Some((path, query)) => {
                let rev = query.strip_prefix("rev=").filter(|rev| !rev.is_empty() && !rev.contains('&'));
                let rev = rev.ok_or_else(|| UriError::Query(text.to_owned()))?;
                (path, Some(decode(rev, text)?))
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

fn decode(raw: &str, whole: &str) -> Result<String, UriError> {
    let err = || UriError::Encoding(whole.to_owned());
    let mut out = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let pair = [bytes.next().ok_or_else(err)?, bytes.next().ok_or_else(err)?];
            let digit = |b: u8| char::from(b).to_digit(16).ok_or_else(err);
            out.push((digit(pair[0])? * 16 + digit(pair[1])?) as u8);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).map_err(|_| err())
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
        let id = decode(id, whole)?;
        return if id.is_empty() { Err(err()) } else { Ok(Fragment::Block(id)) };
    }
    let names: Vec<String> = raw.split('#').map(|name| decode(name, whole)).collect::<Result<_, _>>()?;
    if names.iter().any(String::is_empty) { Err(err()) } else { Ok(Fragment::Heading(names)) }
}

fn encode(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for c in text.chars() {
        if matches!(c, '%' | '#' | '?') || c.is_control() {
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
        encode(self.path.as_str(), f)?;
        if self.directory && !self.path.is_root() {
            f.write_str("/")?;
        }
        if let Some(rev) = &self.rev {
            f.write_str("?rev=")?;
            encode(&rev.replace('&', "%26"), f)?;
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
                encode(id, f)
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
                            encode(rest, f)?;
                        }
                        (0, _, Some(rest)) => {
                            f.write_str("%5E")?;
                            encode(rest, f)?;
                        }
                        _ => encode(name, f)?,
                    }
                }
                Ok(())
            }
        }
    }
}
