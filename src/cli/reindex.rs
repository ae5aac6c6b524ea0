//! `runebook reindex`.

use std::collections::BTreeMap;

use super::output::Tone;
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::sync::{self, ReindexAnswer};
use crate::model::fault::Fault;

/// The arguments of `runebook reindex`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The index is brought up to date by the commands that need it; this does it now, and says what is
wrong with files. Nothing in the index is lost when it is built anew.

Examples:
  runebook reindex
  runebook reindex --full
  runebook reindex -v        names every file with a problem"
)]
pub(crate) struct Args {
    /// Throw the index away and build it anew
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let bar = Bar::new(session);
    let access = super::propose::access_of(session, &vault)?;
    let answer = sync::reindex(&vault, args.full, &bar)?.told_to(&access);
    if session.out.json {
        session.out.document(&answer);
        return Ok(Done::Yes);
    }
    for note in &answer.freshness.notes {
        session.out.note(format!("note: {note}"));
    }
    summary(&answer, session);
    Ok(Done::Yes)
}

fn summary(answer: &ReindexAnswer, session: &mut Session<'_>) {
    let verbose = session.globals.verbose;
    let out = &mut session.out;
    let did = if answer.rebuilt {
        "built anew".to_owned()
    } else if answer.added + answer.removed + answer.changed == 0 {
        "up to date".to_owned()
    } else {
        format!("{} added, {} removed", answer.added, answer.removed)
    };
    let mut line = format!("{}: {} memories", out.paint(Tone::Good, did), answer.memories);
    if answer.texts > 0 {
        line.push_str(&format!(", {} texts", answer.texts));
    }
    if answer.others > 0 {
        line.push_str(&format!(", {} other files", answer.others));
    }
    if answer.freshness.changed > 0 {
        line.push_str(&format!("; {} not on main", answer.freshness.changed));
    }
    out.line(line);
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for problem in &answer.problems {
        *kinds.entry(problem.rule.as_str()).or_default() += 1;
    }
    if verbose {
        for problem in &answer.problems {
            let place = problem.line.map_or(String::new(), |line| format!(":{line}"));
            let path = out.paint(Tone::Path, problem.path.as_str());
            let rule = out.paint(Tone::Dim, &problem.rule);
            let message = super::output::printable(&problem.message);
            out.line(format!("{path}{place}: {rule}: {message}"));
        }
    } else if !kinds.is_empty() {
        let list: Vec<String> = kinds.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
        let word = out.paint(Tone::Warn, "problems");
        out.line(format!("{word}: {} (-v names the files)", list.join(", ")));
    }
}
