//! Asking the person at the terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a person or another program is waited for: Ctrl-C then ends the program at once.
pub(crate) static ASKING: AtomicBool = AtomicBool::new(false);

/// Does what waits for a person or another program.
pub(crate) fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    ASKING.store(true, Ordering::Relaxed);
    let came = wait();
    ASKING.store(false, Ordering::Relaxed);
    came
}

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Yes.
    Yes,
    /// No, or an empty answer.
    No,
    /// Nobody can be asked: this is no terminal.
    Nobody,
}

/// Asks a yes-or-no question on stderr. Everything but `y` and `yes` means no.
pub(crate) fn confirm(question: &str) -> Answer {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Answer::Nobody;
    }
    let mut stderr = io::stderr();
    let asked = write!(stderr, "{} [y/N] ", super::output::printable(question)).and_then(|()| stderr.flush());
    let mut line = String::new();
    let read = waiting(|| io::stdin().read_line(&mut line));
    if asked.is_err() || read.is_err() {
        return Answer::Nobody;
    }
    if matches!(line.trim().to_lowercase().as_str(), "y" | "yes" | "是") { Answer::Yes } else { Answer::No }
}
