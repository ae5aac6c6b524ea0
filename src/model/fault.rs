//! What every error of ours can say besides its message: of which kind it is and what to do next.

/// The kinds of outcome that a caller tells apart; each has one exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Findings were reported, or nothing was found. Exit status 1.
    Nothing,
    /// The request itself is wrong: a flag, a URI, a value. Exit status 2.
    Usage,
    /// Somebody else was there first: a conflict, a stale proposal, a held lock. Exit status 3.
    Conflict,
    /// The actor may not do this, or the policy refuses it. Exit status 4.
    NotAllowed,
    /// It could not be done: input or output failed, something is corrupt. Exit status 5.
    Failed,
}

impl Kind {
    /// The exit status of the program for this kind.
    #[must_use]
    pub fn exit_status(self) -> u8 {
        match self {
            Kind::Nothing => 1,
            Kind::Usage => 2,
            Kind::Conflict => 3,
            Kind::NotAllowed => 4,
            Kind::Failed => 5,
        }
    }
}

/// An error that can be explained to a person: its `Display` says what was being done, to what, and why it
/// failed; [`Explain::hint`] says what to do next.
pub trait Explain: std::error::Error + Send + Sync + 'static {
    /// The kind, which gives the exit status.
    fn kind(&self) -> Kind;

    /// What to do next, as a full sentence or a command; `None` where the message says it already.
    fn hint(&self) -> Option<String> {
        None
    }

    /// What is too long for the message or the hint, a line each: message and hint are one line, so that a name with a
    /// line end in it is seen to be one.
    fn details(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Any explained error, as it travels from `flow` to `cli`.
///
/// It is no `std::error::Error` itself, so that `?` turns every error that explains itself into one.
pub struct Fault(Box<dyn Explain>);

impl Fault {
    /// The kind, which gives the exit status.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind()
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.0.hint().or_else(|| by_system(&self.0.to_string()).map(str::to_owned))
    }

    /// What is too long for one line.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        self.0.details()
    }

    /// The error within, for a caller that tells a particular one apart.
    #[must_use]
    pub fn as_error(&self) -> &(dyn std::error::Error + 'static) {
        self.0.as_ref()
    }
}

/// What to do where the operating system refuses, by the words that it has for it: they come through libraries that hand
/// on nothing else.
fn by_system(message: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 7] = [
        (
            "Permission denied",
            "see with `ls -ld` whose it is; give yourself the right (`chmod u+rwX`) or work as its owner, then run this again",
        ),
        (
            "Operation not permitted",
            "it belongs to somebody else, or is protected (`lsattr`): work as its owner, then run this again",
        ),
        (
            "Read-only file system",
            "the file system is read-only: make it writable, or copy the vault to one that is",
        ),
        ("No space left", "the disk is full: make room and run this again; nothing was lost"),
        (
            "Disk quota exceeded",
            "your share of the disk is full: make room and run this again; nothing was lost",
        ),
        ("Transport endpoint is not connected", "a mount died: mount it again, then run this again"),
        ("Stale file handle", "a mount lost what it showed: mount it again, then run this again"),
    ];
    KNOWN.iter().find(|(words, _)| message.contains(words)).map(|(_, hint)| *hint)
}

impl<E: Explain> From<E> for Fault {
    fn from(error: E) -> Self {
        Fault(Box::new(error))
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
