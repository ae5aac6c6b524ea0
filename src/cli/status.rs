//! `runebook status`.

use super::output::{Tone, moment, one_line, printable};
use super::propose::{tone as tone_of, word};
use super::{Done, Output, Session};
use crate::flow::meaning::MeaningState;
use crate::flow::status::{self, Status, Waiting};
use crate::flow::watched::Watching;
use crate::model::fault::Fault;
use crate::store::git::Differs;

/// How many changed files are shown before the rest is counted.
const SHOWN: usize = 20;

/// The arguments of `runebook status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook status
  runebook status --json")]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let state = status::status(&vault, session.globals.acting.as_deref())?;
    if session.out.json {
        session.out.document(&state);
    } else {
        show(&mut session.out, &state);
    }
    session.out.unread(&state.unread);
    if let Some(why) = &state.unknown {
        session.out.warn(format!("it is not known what is not committed: {why}"));
        return Ok(Done::Nothing);
    }
    Ok(Done::Yes)
}

fn show(out: &mut Output, state: &Status) {
    let row = |out: &mut Output, name: &str, value: String| {
        let name = out.paint(Tone::Dim, format!("{name:10}"));
        out.line(format!("{name} {value}"));
    };
    let root = out.paint(Tone::Path, state.root.display().to_string());
    row(out, "vault", root);
    let main = match (&state.main, &state.subject) {
        (Some(oid), subject) => format!(
            "{} at {} {}",
            out.paint(Tone::Name, &state.main_branch),
            out.paint(Tone::Name, oid.short()),
            out.plain(subject.as_deref().unwrap_or_default())
        ),
        (None, _) => out.paint(Tone::Warn, format!("{} has no commit yet", state.main_branch)),
    };
    row(out, "approved", main);
    match &state.checked_out {
        Some(branch) if *branch == state.main_branch => {}
        Some(branch) => {
            let shown = out.paint(Tone::Warn, branch);
            row(out, "here", format!("{shown} is checked out"));
        }
        None => {
            let shown = out.paint(Tone::Warn, "HEAD is detached");
            row(out, "here", shown);
        }
    }
    if let Some(what) = &state.under_way {
        let shown = out.paint(Tone::Warn, format!("a {what} is under way"));
        row(out, "git", shown);
    }
    let you = match (&state.actor, &state.nobody) {
        (Some(actor), _) => out.paint(Tone::Name, actor.as_str()),
        (None, why) => out.paint(Tone::Warn, why.as_deref().unwrap_or("nobody")),
    };
    row(out, "you are", you);
    let index = match &state.index {
        Some(index) => {
            let behind = if index.commit == state.main {
                "up to date with the approved branch"
            } else {
                "behind; the next search catches up"
            };
            let notes = index.notes.iter().map(|note| format!("; {note}")).collect::<String>();
            out.plain(format!("{behind}{notes}"))
        }
        None => "none yet; the first search makes it".to_owned(),
    };
    row(out, "index", index);
    if let Some(watching) = &state.watcher {
        let watcher = watcher(out, watching);
        row(out, "watcher", watcher);
    }
    if let Some(meaning) = &state.meaning {
        row(out, "meaning", meaning_of(meaning));
        for failed in &meaning.failed {
            let line = format!("  {} texts could not be embedded: {}", failed.texts, failed.why);
            out.line(out.paint(Tone::Warn, line));
        }
    }
    if state.excluded > 0 {
        let entries =
            if state.excluded == 1 { "1 entry".to_owned() } else { format!("{} entries", state.excluded) };
        let says = format!("{entries} of excluded files (`runebook doctor` says how many each leaves out)");
        row(out, "left out", says);
    }
    proposals(out, state);
    changes(out, state);
}

/// What the watcher is, what it did last, what is in its way.
fn watcher(out: &Output, watching: &Watching) -> String {
    let mut line = format!("process {} since {}, ", watching.pid, moment(&watching.since));
    line.push_str(&match (watching.ready, &watching.last) {
        (false, _) => "looking at everything for the first time".to_owned(),
        (true, None) => format!("{}, nothing changed yet", super::watch::hearing(watching)),
        (true, Some(last)) => {
            let what = match last.files {
                _ if last.rebuilt => "built the index anew".to_owned(),
                1 => "1 file".to_owned(),
                files => format!("{files} files"),
            };
            format!(
                "{}; last {what} in {} ms, {}",
                super::watch::hearing(watching),
                last.millis,
                moment(&last.at)
            )
        }
    });
    if watching.pending > 0 {
        line.push_str(&format!("; {} could not be taken in", watching.pending));
    }
    match &watching.problem {
        Some(problem) => format!("{line}; {}", out.paint(Tone::Bad, problem)),
        None => line,
    }
}

/// How far search by meaning is.
fn meaning_of(state: &MeaningState) -> String {
    let Some(model) = &state.model else {
        let why = state.unavailable.as_deref().unwrap_or("no model");
        let hint = state.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
        return printable(&format!("search is by words alone: {why}{hint}"));
    };
    let embedded = state.embedded.map(|texts| format!(": {texts} texts embedded")).unwrap_or_default();
    let waits = match state.pending.unwrap_or(0) {
        0 => String::new(),
        pending => format!(", {pending} pending (`runebook reindex`)"),
    };
    printable(&format!("{model}{embedded}{waits}"))
}

fn proposals(out: &mut Output, state: &Status) {
    let name = out.paint(Tone::Dim, format!("{:10}", "proposals"));
    let Some(oldest) = state.proposals.first() else {
        out.line(format!("{name} none waits"));
        return;
    };
    let since = oldest
        .since
        .as_deref()
        .map(|since| format!(", the oldest since {}", moment(since)))
        .unwrap_or_default();
    let count = out.paint(Tone::Warn, state.proposals.len().to_string());
    out.line(format!("{name} {count} open{since}"));
    let shown = || state.proposals.iter().take(SHOWN);
    let said = |one: &Waiting| one.state.map(|state| word(state, one.person_merges));
    let width = shown().filter_map(said).map(str::len).max().unwrap_or(0);
    for waiting in shown() {
        let title = waiting.title.clone().or_else(|| waiting.problem.clone()).unwrap_or_default();
        let by = waiting.proposer.as_ref().map(|actor| format!(" ({actor})")).unwrap_or_default();
        let state = match waiting.state {
            Some(state) => {
                out.paint(tone_of(state), format!("{:width$}", word(state, waiting.person_merges)))
            }
            None => format!("{:width$}", ""),
        };
        let id = out.paint(Tone::Name, waiting.id.as_str());
        let line = format!("  {id}  {state}  {}{by}", out.plain(title));
        out.line(line);
    }
    out.more(state.proposals.len().saturating_sub(SHOWN), "`runebook propose list`");
}

fn changes(out: &mut Output, state: &Status) {
    let name = out.paint(Tone::Dim, format!("{:10}", "changes"));
    if state.unknown.is_some() {
        let unknown = out.paint(Tone::Warn, "not known");
        return out.line(format!("{name} {unknown}"));
    }
    if state.uncommitted == 0 {
        out.line(format!("{name} none"));
        return;
    }
    out.line(format!("{name} {} not committed (`runebook commit`)", state.uncommitted));
    for changed in state.changed.iter().take(SHOWN) {
        let (letter, tone) = match changed.change {
            _ if changed.unmerged => ("U", Tone::Bad),
            Differs::Added => ("A", Tone::Good),
            Differs::Modified => ("M", Tone::Warn),
            Differs::Deleted => ("D", Tone::Bad),
            Differs::Unreadable => ("?", Tone::Bad),
        };
        let path = changed.path.as_ref().map_or("(a name that is not UTF-8)", |path| path.as_str());
        let staged = if changed.staged { out.paint(Tone::Dim, "  staged") } else { String::new() };
        let line = format!("  {} {}{staged}", out.paint(tone, letter), out.paint(Tone::Path, one_line(path)));
        out.line(line);
    }
    out.more(state.changed.len().saturating_sub(SHOWN), "");
}
