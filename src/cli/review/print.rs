//! A review for people.

use crate::cli::Output;
use crate::cli::output::{Tone, printable};
use crate::cli::propose::{Moves, events, findings, head, patch_of, tone};
use crate::flow::review::{Recorded, Review};
use crate::model::event::EventKind;
use crate::model::proposal::State;

/// Everything that a reviewer needs, the digest last.
pub(super) fn review(out: &mut Output, review: &Review, before: bool) {
    let decision = &review.decision;
    let state = (decision.state, decision.person_merges);
    head(out, decision.proposal.as_str(), state, &decision.title);
    out.line(format!("  by {}, revision {}", decision.proposer, decision.revision));
    for reason in &decision.reasons {
        out.line(format!("  {}", printable(reason)));
    }
    for note in &decision.notes {
        out.line(format!("  note: {}", printable(note)));
    }
    if let Some(merge) = decision.exact_rollback {
        out.line(format!("  takes back {} exactly", merge.short()));
    }
    if !review.findings.is_empty() {
        out.line("");
        findings(out, &review.findings);
    }
    let moves = Moves::of(review.files.iter().map(|file| &file.diff));
    for file in review.files.iter().filter(|file| !moves.took(&file.diff)) {
        out.line("");
        if before && let Some(text) = &file.before {
            let line = out.paint(Tone::Bold, format!("before: {}", file.diff.uri));
            out.line(line);
            for (number, line) in (1..).zip(text.lines()) {
                out.line(format!("{number:>5}  {}", printable(line)));
            }
        }
        patch_of(out, &file.diff, &moves);
        for evidence in &file.evidence {
            let uri = out.paint(Tone::Path, &evidence.uri);
            out.line(format!(
                "  evidence [^{}] line {}: {uri}",
                printable(&evidence.footnote),
                evidence.line
            ));
            match &evidence.excerpt {
                Some(text) => text.lines().for_each(|line| out.line(format!("    | {}", printable(line)))),
                None => {
                    let line = format!("    {}", out.paint(Tone::Warn, "is not in the vault"));
                    out.line(line);
                }
            }
        }
    }
    let said: Vec<_> = review.events.iter().filter(|event| event.kind != EventKind::Open).cloned().collect();
    if !said.is_empty() {
        out.line("");
        events(out, &said);
    }
    out.line("");
    out.line(format!("digest {}", decision.digest));
}

/// What became of a verdict.
pub(super) fn recorded(out: &mut Output, recorded: &Recorded, what: &str) {
    let name = out.paint(Tone::Name, recorded.proposal.as_str());
    let state = match recorded.state {
        State::Approved if what == "approved" => String::new(),
        State::Rejected if what == "rejected" => String::new(),
        state => format!("; it is {} now", out.paint(tone(state), state.as_str())),
    };
    out.line(format!("{what} {name}{state}"));
    if recorded.state == State::Approved {
        out.note(format!("next: runebook merge {}", recorded.proposal));
        return;
    }
    for reason in &recorded.reasons {
        out.line(format!("  {}", printable(reason)));
    }
}
