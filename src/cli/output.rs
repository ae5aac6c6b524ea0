//! The only place that prints. Text for people is buffered and coloured on a terminal; JSON is one document, or one
//! line each for lists; messages go to stderr.

use std::cell::RefCell;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde::Serialize;

use super::Globals;
use crate::flow::unread::Unread;
use crate::model::clock::Env;
pub(crate) use crate::model::clock::moment;
use crate::model::fault::Fault;
use crate::model::finding::Severity;

/// Of how many things that could not be looked at is warned.
const UNREAD: usize = 20;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a piece of text is, and so how it is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A path or URI.
    Path,
    /// A name that matters: an id, a state.
    Name,
    /// Good.
    Good,
    /// Needs attention.
    Warn,
    /// Bad.
    Bad,
    /// Of less interest.
    Dim,
    /// A heading.
    Bold,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Tone::Path => Style::new().fg_color(Some(AnsiColor::Cyan.into())),
            Tone::Name => Style::new().fg_color(Some(AnsiColor::Magenta.into())),
            Tone::Good => Style::new().fg_color(Some(AnsiColor::Green.into())),
            Tone::Warn => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
            Tone::Bad => Style::new().fg_color(Some(AnsiColor::Red.into())).bold(),
            Tone::Dim => Style::new().dimmed(),
            Tone::Bold => Style::new().bold(),
        }
    }
}

impl From<Severity> for Tone {
    fn from(severity: Severity) -> Tone {
        match severity {
            Severity::Info => Tone::Dim,
            Severity::Warning | Severity::Person => Tone::Warn,
            Severity::Error => Tone::Bad,
        }
    }
}

/// Where a verb writes. Write errors are kept and reported once, at the end.
pub(crate) struct Output {
    to: RefCell<BufWriter<io::Stdout>>,
    error: Option<io::Error>,
    color: bool,
    color_errors: bool,
    /// Whether JSON was asked for.
    pub(crate) json: bool,
    quiet: bool,
    verbose: bool,
}

impl Output {
    pub(crate) fn new(env: &Env, globals: &Globals) -> Output {
        let wanted = |terminal: bool| match globals.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && env.var("NO_COLOR").is_none() && env.var("TERM") != Some("dumb"),
        };
        Output {
            color: wanted(io::stdout().is_terminal()),
            color_errors: wanted(io::stderr().is_terminal()),
            to: RefCell::new(BufWriter::new(io::stdout())),
            error: None,
            json: globals.json,
            quiet: globals.quiet,
            verbose: globals.verbose,
        }
    }

    /// A piece of text in its colour, if there are colours.
    pub(crate) fn paint(&self, tone: Tone, text: impl AsRef<str>) -> String {
        let text = match tone {
            Tone::Path => one_line(text.as_ref()),
            _ => printable(text.as_ref()),
        };
        if self.color { format!("{}{text}{:#}", tone.style(), tone.style()) } else { text }
    }

    /// A piece of text without colour, with its control characters shown.
    pub(crate) fn plain(&self, text: impl AsRef<str>) -> String {
        printable(text.as_ref())
    }

    /// Bytes as they are: a file's content.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if self.error.is_none()
            && let Err(error) = self.to.get_mut().write_all(bytes)
        {
            self.error = Some(error);
        }
    }

    /// A file's content: byte for byte where it goes on to a file or a program. On a terminal its control characters
    /// are shown, not obeyed.
    pub(crate) fn content(&mut self, bytes: &[u8]) {
        if io::stdout().is_terminal() {
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
            self.raw(printable(&text).as_bytes());
        } else {
            self.raw(bytes);
        }
    }

    /// One line for people.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.raw(line.as_ref().as_bytes());
        self.raw(b"\n");
    }

    /// How many lines of a list were left out, if any; `how` says where all are shown.
    pub(crate) fn more(&mut self, left_out: usize, how: &str) {
        if left_out > 0 {
            let how = if how.is_empty() { String::new() } else { format!(" ({how})") };
            let line = self.paint(Tone::Dim, format!("… and {left_out} more{how}"));
            self.line(format!("  {line}"));
        }
    }

    /// Warns of what could not be looked at.
    pub(crate) fn unread(&self, unread: &[Unread]) {
        for one in unread.iter().take(UNREAD) {
            self.warn(format!("{}: {}; {}", one.path, one.why, one.hint));
        }
        if unread.len() > UNREAD {
            self.warn(format!("and {} more that could not be looked at", unread.len() - UNREAD));
        }
    }

    /// One JSON document, indented.
    pub(crate) fn document(&mut self, value: &impl Serialize) {
        match serde_json::to_vec_pretty(value) {
            Ok(bytes) => {
                self.raw(&bytes);
                self.raw(b"\n");
            }
            Err(error) => self.error = Some(error.into()),
        }
    }

    /// One line of a list in JSON.
    pub(crate) fn record(&mut self, value: &impl Serialize) {
        match serde_json::to_vec(value) {
            Ok(bytes) => {
                self.raw(&bytes);
                self.raw(b"\n");
            }
            Err(error) => self.error = Some(error.into()),
        }
    }

    /// A message on stderr, unless `--quiet`.
    pub(crate) fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.say(text.as_ref());
        }
    }

    /// A message on stderr with `--verbose`.
    pub(crate) fn detail(&self, text: impl AsRef<str>) {
        if self.verbose {
            self.say(text.as_ref());
        }
    }

    /// A warning on stderr, unless `--quiet`.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        if !self.quiet {
            let label = if self.color_errors {
                format!("{}warning:{:#}", Tone::Warn.style(), Tone::Warn.style())
            } else {
                "warning:".to_owned()
            };
            self.settle();
            err_line(&format!("{label} {}", one_line(text.as_ref())));
        }
    }

    /// An error: as JSON on stdout if JSON was asked for, and always for people on stderr.
    pub(crate) fn fault(&mut self, fault: &Fault) {
        if self.json {
            let mut value = serde_json::json!({ "error": {
                "message": bounded(&fault.to_string()),
                "hint": fault.hint().map(|hint| bounded(&hint).into_owned()),
                "exit_status": fault.kind().exit_status(),
            }});
            if !fault.details().is_empty() {
                value["error"]["details"] = fault.details().into();
            }
            self.document(&value);
        }
        let hint = fault.hint();
        if self.color_errors {
            let style = Tone::Bad.style();
            self.settle();
            err_line(&format!("{style}error:{style:#} {}", one_line(&bounded(&fault.to_string()))));
            if let Some(hint) = hint {
                let style = Tone::Good.style();
                err_line(&format!("{style}hint:{style:#} {}", one_line(&bounded(&hint))));
            }
        } else {
            self.settle();
            complain(&fault.to_string(), hint.as_deref());
        }
        for line in fault.details() {
            err_line(&format!("  {}", one_line(&line)));
        }
    }

    /// What was printed so far comes out before what is said of it, also where both go to one file. A failure stays
    /// in the buffer and is reported by [`Output::finish`].
    fn settle(&self) {
        let _ = self.to.borrow_mut().flush();
    }

    fn say(&self, text: &str) {
        self.settle();
        err_line(&printable(text));
    }

    /// Whether stderr is a terminal that may show a bar.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Whether text for people has colours.
    pub(crate) fn colored(&self) -> bool {
        self.color
    }

    /// Lets out what was written so far, before something else writes to stdout.
    pub(crate) fn flush(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.to.get_mut().flush()
        {
            self.error = Some(error);
        }
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.to.get_mut().flush(),
        }
    }
}

/// An error for people, without colours: a line, and one for the hint. Whatever names stand in them, they stay that.
pub(crate) fn complain(message: &str, hint: Option<&str>) {
    err_line(&format!("error: {}", one_line(&bounded(message))));
    if let Some(hint) = hint {
        err_line(&format!("hint: {}", one_line(&bounded(hint))));
    }
}

/// A sentence without the middle of what is far too long to be read in it: a name of 100 kB that was typed.
fn bounded(text: &str) -> std::borrow::Cow<'_, str> {
    const MOST: usize = 2_000;
    const END: usize = 200;
    if text.len() <= MOST {
        return text.into();
    }
    let (begin, end) = (text.floor_char_boundary(MOST - END), text.ceil_char_boundary(text.len() - END));
    format!("{}… ({} bytes more) …{}", &text[..begin], end - begin, &text[end..]).into()
}

/// One JSON document on stdout, where there is no [`Output`] yet.
pub(crate) fn print_document(value: &serde_json::Value) {
    let _ = writeln!(io::stdout(), "{value:#}");
}

/// A line on stderr.
pub(crate) fn err_line(text: &str) {
    // Nothing can be said when stderr itself is gone.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Text of the vault for a terminal: control characters are shown, not obeyed. So are the marks of direction that let a
/// line read otherwise than it is: a reviewer must see what is there.
pub(crate) fn printable(text: &str) -> String {
    let odd = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    if !text.chars().any(odd) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if odd(c) { c.escape_unicode().collect::<Vec<_>>() } else { vec![c] }).collect()
}

/// As [`printable`], on one line: a name with a line end in it must not look like two names.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_stays_one_that_can_be_read() {
        assert_eq!(bounded("short"), "short");
        let long = bounded(&format!("`{}` is no date", "座".repeat(40_000))).into_owned();
        assert!(long.starts_with("`座座") && long.ends_with("座` is no date"), "{long}");
        assert!(long.len() < 2_100 && long.contains("bytes more"), "{long}");
    }

    #[test]
    fn nothing_of_a_vault_is_obeyed_by_a_terminal() {
        assert_eq!(printable("a\u{1b}[2J\r\u{9b}b\n\t日"), "a\\u{1b}[2J\\u{d}\\u{9b}b\n\t日");
        assert_eq!(printable("\u{202e}txt.exe\u{2069}"), "\\u{202e}txt.exe\\u{2069}");
        assert_eq!(one_line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(printable("👩\u{200D}💻 می\u{200C}خواهم"), "👩\u{200D}💻 می\u{200C}خواهم");
    }
}
