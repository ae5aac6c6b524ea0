//! `runebook commit`.

use super::output::{Tone, one_line};
use super::{Done, Session};
use crate::flow::commit::{self, Request};
use crate::flow::{locate, own};
use crate::model::fault::Fault;
use crate::store::git::Differs;

/// How many files people see at once.
const SHOWN: usize = 20;

/// The arguments of `runebook commit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook commit -m \"What I learned in Lisbon\"
  runebook commit user/memories/seats.md
  runebook commit --all                       attachments too
Commits what changed in Markdown files and in files that git knows already. Other staged work stays staged.
Git's own hooks do not run, and those that would have run are named; `git commit` runs them, and is as good where you
may commit directly.
What cannot be read, or lies too deep, stays as the last commit has it and is named; where it was named, nothing is
committed.
Exit status 1 when there is nothing to commit, or something had to be left that cannot be read.")]
pub(crate) struct Args {
    /// What to commit, with all that stands below; everything if left out
    #[arg(value_name = "URI|PATH")]
    paths: Vec<String>,
    /// The message; made from the changes if left out
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
    /// Add new files that are no Markdown too
    #[arg(short, long)]
    all: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let standing = session.directory();
    own::person(&vault, session.globals.acting.as_deref(), "commit")?;
    vault.root()?;
    let paths = args.paths.iter().map(|text| Ok(locate::changed(&vault, text, &standing)?.path));
    let paths = paths.collect::<Result<_, Fault>>()?;
    let request = Request { message: args.message, paths, all: args.all };
    let answer = commit::commit(&vault, session.globals.acting.as_deref(), &request)?;
    let out = &mut session.out;
    if out.json {
        out.document(&answer);
    } else {
        let limit = if session.globals.verbose { usize::MAX } else { SHOWN };
        for file in answer.files.iter().take(limit) {
            let (letter, tone) = match file.change {
                Differs::Added => ("A", Tone::Good),
                Differs::Modified => ("M", Tone::Warn),
                Differs::Deleted => ("D", Tone::Bad),
                Differs::Unreadable => ("?", Tone::Bad),
            };
            let line = format!(
                "{} {}",
                out.paint(tone, letter),
                out.paint(Tone::Path, one_line(file.path.as_str()))
            );
            out.line(line);
        }
        out.more(answer.files.len().saturating_sub(limit), "-v shows all");
        match answer.summaries {
            0 => {}
            1 => out.line("and 1 summary of a directory"),
            many => out.line(format!("and {many} summaries of directories")),
        }
        match &answer.commit {
            Some(commit) => {
                let line = format!(
                    "{} on {} by {}: {}",
                    out.paint(Tone::Name, commit.short()),
                    out.paint(Tone::Name, &answer.branch),
                    answer.actor,
                    out.plain(&answer.subject)
                );
                out.line(line);
            }
            None => out.line("nothing to commit"),
        }
        if let Some(hooks) = named(&answer.hooks_not_run) {
            out.note(format!("not run: git's {hooks} (`git commit` runs hooks)"));
        }
        if !answer.left.is_empty() {
            let some: Vec<String> = answer.left.iter().take(5).map(|path| one_line(path.as_str())).collect();
            let more = if answer.left.len() > 5 { ", …" } else { "" };
            out.note(format!("not added: {}{more}; name them or add `--all`", some.join(", ")));
        }
        out.unread(&answer.unread);
    }
    Ok(if answer.commit.is_some() && answer.unread.is_empty() { Done::Yes } else { Done::Nothing })
}

/// `hook a`, `hooks a and b`, `hooks a, b and c`.
fn named(hooks: &[String]) -> Option<String> {
    let (last, others) = hooks.split_last()?;
    Some(match others {
        [] => format!("hook {}", one_line(last)),
        others => format!("hooks {} and {}", one_line(&others.join(", ")), one_line(last)),
    })
}
