//! `runebook grep`.

use super::output::{Tone, one_line};
use super::{Done, Output, Session};
use crate::flow::search::{self, Line, Request};
use crate::model::fault::Fault;

/// The arguments of `runebook grep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook grep \"window seats?\"          a regular expression
  runebook grep -i -F \"c++ (draft)\" resources
  runebook grep 靠窗 -C 2                 with two lines around each hit
  runebook grep -l TODO                  only the names of the files
Exit status 1 when nothing matches.")]
pub(crate) struct Args {
    /// A regular expression
    pattern: String,
    /// Where to search: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI|PATH")]
    at: Option<String>,
    /// Upper and lower case are the same
    #[arg(short, long)]
    ignore_case: bool,
    /// Take the pattern as plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Print only the names of the files
    #[arg(short = 'l', long)]
    files_with_matches: bool,
    /// Print so many lines around each hit
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    context: usize,
    /// Search names that begin with a dot too
    #[arg(short, long)]
    all: bool,
    /// Read a commit, a date (2026-11-28, 7d, yesterday) or main with what a proposal changes
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader_at(&vault, args.rev.as_deref(), args.at.as_deref())?;
    let target = session.target_or_root(&reader, args.at.as_deref())?;
    let request = Request {
        pattern: args.pattern,
        plain: args.fixed_strings,
        any_case: args.ignore_case,
        context: if args.files_with_matches { 0 } else { args.context.min(10_000) },
        hidden: args.all,
    };
    let found = search::grep(&reader, &request, &target.uri.path, target.kind)?;
    session.problems(&found.problems);
    let found = found.files;
    let out = &mut session.out;
    let mut last: Option<(usize, u32)> = None;
    for (file, lines) in found.iter().enumerate() {
        if args.files_with_matches {
            let Some(first) = lines.first() else { continue };
            if out.json {
                out.record(&search::File { path: first.path.clone() });
            } else {
                let path = out.paint(Tone::Path, one_line(first.path.as_str()));
                out.line(path);
            }
            continue;
        }
        for line in lines {
            if out.json {
                out.record(line);
                continue;
            }
            if request.context > 0 && last.is_some_and(|(f, n)| f != file || n + 1 != line.line) {
                let gap = out.paint(Tone::Dim, "--");
                out.line(gap);
            }
            last = Some((file, line.line));
            print(out, line);
        }
    }
    Ok(if found.is_empty() { Done::Nothing } else { Done::Yes })
}

fn print(out: &mut Output, line: &Line) {
    let mark = if line.hit { ":" } else { "-" };
    let path = out.paint(Tone::Path, one_line(line.path.as_str()));
    let number = out.paint(Tone::Good, line.line.to_string());
    let mut text = String::new();
    let mut at = 0;
    for (from, to) in &line.matches {
        text.push_str(&out.plain(&line.text[at..*from]));
        text.push_str(&out.paint(Tone::Bad, &line.text[*from..*to]));
        at = *to;
    }
    text.push_str(&out.plain(&line.text[at..]));
    out.line(format!("{path}{mark}{number}{mark}{text}"));
}
