//! `runebook reindex`.

use std::collections::BTreeMap;

use super::output::Tone;
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::meaning;
use crate::flow::progress::{Progress, Silent};
use crate::flow::sync::{self, ReindexAnswer};
use crate::model::fault::Fault;

/// The arguments of `runebook reindex`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The index is brought up to date by the commands that need it; this does it now, and says what is
wrong with files. Nothing in the index is lost when it is built anew. Where a model is in use, every text that has no vector
yet gets one, the latest edited first; that can be stopped at any time and goes on where it was.

Examples:
  runebook reindex
  runebook reindex --full
  runebook reindex --no-embed
  runebook reindex -v        names every file with a problem"
)]
pub(crate) struct Args {
    /// Throw the index away and build it anew (vectors of texts that stay the same are kept)
    #[arg(long)]
    full: bool,
    /// Leave the vectors for later: search goes by words alone for what is new
    #[arg(long)]
    no_embed: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let access = super::propose::access_of(session, &vault)?;
    // How much there is to do tells how much there is.
    let (bar, silent) = (Bar::new(session), Silent);
    let shows: &dyn Progress = if access.is_agent() || access.is_narrow() { &silent } else { &bar };
    let mut answer = sync::reindex(&vault, args.full, shows)?.told_to(&access);
    // What was indexed is told also when the vectors cannot be made.
    let embedded = if args.no_embed { Ok(None) } else { meaning::catch_up(&vault, shows).map(Some) };
    let failed = match embedded {
        Ok(embedded) => {
            answer.meaning = embedded.map(|embedded| embedded.told_to(&access));
            None
        }
        Err(fault) => Some(fault),
    };
    if failed.is_none() || !session.out.json {
        tell(&answer, session);
    }
    failed.map_or(Ok(Done::Yes), Err)
}

fn tell(answer: &ReindexAnswer, session: &mut Session<'_>) {
    if session.out.json {
        session.out.document(answer);
        return;
    }
    let notes = answer.meaning.iter().flat_map(|meaning| &meaning.notes);
    for note in answer.freshness.notes.iter().chain(notes) {
        session.out.note(format!("note: {note}"));
    }
    summary(answer, session);
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
        line.push_str(&format!("; {} not on the approved branch", answer.freshness.changed));
    }
    if let Some((model, meaning)) = answer.meaning.as_ref().and_then(|m| Some((m.model.as_ref()?, m))) {
        if let Some(done) = meaning.done.filter(|done| *done > 0) {
            line.push_str(&format!("; {done} texts embedded by {}", super::output::printable(model)));
        }
        if let Some(pending) = meaning.pending.filter(|pending| *pending > 0) {
            line.push_str(&format!("; {pending} texts not embedded yet"));
        }
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
