//! A git commit as plain data, read in strict form from its raw bytes.

use std::fmt;

use super::id::Oid;

/// A time as git stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitTime {
    /// Seconds since 1970 in UTC.
    pub seconds: i64,
    /// The zone's offset in minutes, east positive.
    pub offset_minutes: i32,
}

impl fmt::Display for GitTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        let minutes = self.offset_minutes.unsigned_abs();
        write!(f, "{} {sign}{:02}{:02}", self.seconds, minutes / 60, minutes % 60)
    }
}

/// Who wrote a commit, and when: `name <email> seconds zone`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// The name, without `<`, `>`, newline.
    pub name: String,
    /// The e-mail address, as written.
    pub email: String,
    /// When.
    pub time: GitTime,
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <{}> {}", self.name, self.email, self.time)
    }
}

impl Ident {
    fn parse(line: &str) -> Option<Ident> {
        let (name, rest) = line.split_once(" <")?;
        let (email, time) = rest.split_once("> ")?;
        let (seconds, zone) = time.split_once(' ')?;
        if name.contains(['<', '>']) || email.contains(['<', '>']) || zone.len() != 5 {
            return None;
        }
        let sign = match zone.as_bytes()[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let digits: i32 = zone.get(1..).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()?;
        Some(Ident {
            name: name.to_owned(),
            email: email.to_owned(),
            time: GitTime {
                seconds: seconds.parse().ok()?,
                offset_minutes: sign * (digits / 100 * 60 + digits % 100),
            },
        })
    }
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The tree.
    pub tree: Oid,
    /// The parents, in order.
    pub parents: Vec<Oid>,
    /// Who wrote it.
    pub author: Ident,
    /// Who committed it.
    pub committer: Ident,
    /// The signature header's value, its lines unfolded, if there is one.
    pub signature: Option<String>,
    /// The whole message, as it stands.
    pub message: String,
}

/// Why the bytes of a commit are not of the strict form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a commit in strict form: {0}")]
pub struct CommitError(pub &'static str);

impl Commit {
    /// Reads a commit's raw bytes: `tree`, `parent`s, one `author`, one `committer`, at most one `gpgsig`, an empty
    /// line, the message; UTF-8, no NUL, no CR. Any other header is refused, since a reader that skips what it does
    /// not know can be told another story than git tells.
    ///
    /// # Errors
    /// [`CommitError`] with what is wrong.
    pub fn parse(raw: &[u8]) -> Result<Commit, CommitError> {
        let text = std::str::from_utf8(raw).map_err(|_| CommitError("it is not UTF-8"))?;
        if text.contains(['\0', '\r']) {
            return Err(CommitError("it has a NUL or CR"));
        }
        let (head, message) = text.split_once("\n\n").ok_or(CommitError("it has no message"))?;
        let mut lines = head.split('\n').peekable();
        let oid = |text: &str| text.parse::<Oid>().map_err(|_| CommitError("an object name is malformed"));
        let tree = lines.next().and_then(|l| l.strip_prefix("tree ")).ok_or(CommitError("it has no tree"))?;
        let mut parents = Vec::new();
        while let Some(parent) = lines.peek().and_then(|l| l.strip_prefix("parent ")) {
            parents.push(oid(parent)?);
            lines.next();
        }
        let mut ident = |prefix: &str, missing| {
            let line = lines.next().and_then(|l| l.strip_prefix(prefix)).ok_or(CommitError(missing))?;
            let ident = Ident::parse(line).filter(|ident| ident.to_string() == line);
            ident.ok_or(CommitError("an author or committer line is malformed"))
        };
        let author = ident("author ", "it has no author")?;
        let committer = ident("committer ", "it has no committer")?;
        let mut signature = None;
        if let Some(first) = lines.peek().and_then(|l| l.strip_prefix("gpgsig ")) {
            let mut value = first.to_owned();
            lines.next();
            while let Some(more) = lines.peek().and_then(|l| l.strip_prefix(' ')) {
                value.push('\n');
                value.push_str(more);
                lines.next();
            }
            signature = Some(value);
        }
        if lines.next().is_some() {
            return Err(CommitError("it has a header beyond tree, parent, author, committer and one gpgsig"));
        }
        Ok(Commit { tree: oid(tree)?, parents, author, committer, signature, message: message.to_owned() })
    }

    /// The bytes that git stores for it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        use fmt::Write as _;
        let mut out = format!("tree {}\n", self.tree);
        for parent in &self.parents {
            let _ = writeln!(out, "parent {parent}");
        }
        let _ = write!(out, "author {}\ncommitter {}\n", self.author, self.committer);
        if let Some(signature) = &self.signature {
            let _ = writeln!(out, "gpgsig {}", signature.replace('\n', "\n "));
        }
        out.push('\n');
        out.push_str(&self.message);
        out.into_bytes()
    }

    /// The first line of the message.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
        parent 0123456789abcdef0123456789abcdef01234567\n\
        author 美 Mei <mei@example.org> 1764400000 +0800\n\
        committer x <> 0 -0330\n\nsubject\n\nbody\n";

    #[test]
    fn reads_back_byte_for_byte() {
        let commit = Commit::parse(RAW.as_bytes()).unwrap();
        assert_eq!(commit.author.time.offset_minutes, 480);
        assert_eq!(commit.committer.time.offset_minutes, -210);
        assert_eq!(commit.subject(), "subject");
        assert_eq!(commit.to_bytes(), RAW.as_bytes());
        let signed = Commit { signature: Some("-----BEGIN\n\nx\n-----END".to_owned()), ..commit };
        assert_eq!(Commit::parse(&signed.to_bytes()).unwrap(), signed);
    }

    #[test]
    fn refuses_what_is_not_strict() {
        for (from, to) in [
            ("committer x", "encoding latin1\ncommitter x"),
            ("\n\nsubject", "\nmergetag object\n\nsubject"),
            ("body", "bo\rdy"),
            ("body", "bo\0dy"),
            ("tree 4b", "tree 4B"),
            ("+0800", "0800"),
            ("0 -0330", "0 -0000"),
            ("0 -0330", "+0 -0330"),
        ] {
            assert!(Commit::parse(RAW.replace(from, to).as_bytes()).is_err(), "{to}");
        }
    }
}
