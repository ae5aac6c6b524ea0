//! Proposals for people.

use std::collections::HashMap;

use crate::cli::output::{Tone, moment, printable};
use crate::cli::{Done, Output};
use crate::flow::difference::{FileDiff, FileStatus};
use crate::flow::listed::Listed;
use crate::flow::proposals::Told;
use crate::flow::propose::{Story, Submitted, Written};
use crate::model::event::{EventKind, Verdict};
use crate::model::finding::Finding;
use crate::model::proposal::State;

/// How a state is coloured.
pub(crate) fn tone(state: State) -> Tone {
    match state {
        State::Approved | State::Merged => Tone::Good,
        State::Open | State::NeedsHuman | State::ChangesRequested | State::Stale => Tone::Warn,
        State::Rejected => Tone::Bad,
        State::Draft | State::Withdrawn | State::Superseded => Tone::Dim,
    }
}

/// The state in a word or three. What is merged without an approval was approved by nobody, and is not called so.
pub(crate) fn word(state: State, person_merges: bool) -> &'static str {
    if person_merges && state == State::Approved { "needs no approval" } else { state.as_str() }
}

/// What was written: one line a file, URIs first.
pub(super) fn written(out: &mut Output, written: &Written) {
    for file in &written.files {
        let line = format!(
            "{}  in {} ({})",
            out.paint(Tone::Path, file),
            out.paint(Tone::Name, written.id.as_str()),
            written.commit.short()
        );
        out.line(line);
    }
}

/// One file that moved.
pub(super) fn moved(out: &mut Output, written: &Written, from: &str, to: &str) {
    let line = format!(
        "{}  (was {})  in {} ({})",
        out.paint(Tone::Path, to),
        out.plain(from),
        out.paint(Tone::Name, written.id.as_str()),
        written.commit.short()
    );
    out.line(line);
}

/// Findings: place first.
pub(crate) fn findings(out: &mut Output, findings: &[Finding]) {
    for finding in findings {
        let place = match (&finding.path, finding.line) {
            (Some(path), Some(line)) => format!("{path}:{line}"),
            (Some(path), None) => path.to_string(),
            _ => "the vault".to_owned(),
        };
        let word = match finding.severity {
            crate::model::finding::Severity::Info => "info",
            crate::model::finding::Severity::Warning => "warning",
            crate::model::finding::Severity::Person => "needs a person",
            crate::model::finding::Severity::Error => "error",
        };
        let line = format!(
            "{}  {}  {}  {}",
            out.paint(Tone::Path, place),
            out.paint(finding.severity.into(), word),
            out.paint(Tone::Dim, &finding.rule),
            printable(&finding.message)
        );
        out.line(line);
        if let Some(fix) = &finding.fix {
            let line = format!("    fix: {}", printable(fix));
            out.line(line);
        }
    }
}

/// Sentences under a proposal.
fn sentences(out: &mut Output, label: &str, all: &[String]) {
    for sentence in all {
        let line = format!("  {label}{}", printable(sentence));
        out.line(line);
    }
}

pub(super) fn submitted(out: &mut Output, submitted: &Submitted) -> Done {
    let end = if submitted.stopped { Done::Nothing } else { Done::Yes };
    if out.json {
        out.document(submitted);
        return end;
    }
    findings(out, &submitted.findings);
    let what = if submitted.already { "was submitted already as" } else { "submitted as" };
    let line = format!(
        "{} {what} revision {}, {}",
        out.paint(Tone::Name, submitted.id.as_str()),
        submitted.revision,
        out.paint(tone(submitted.state), submitted.state.as_str())
    );
    out.line(line);
    sentences(out, "", &submitted.reasons);
    let line = format!("  digest {}", out.paint(Tone::Dim, submitted.digest.to_string()));
    out.line(line);
    match submitted.state {
        State::Approved => out.note(format!("next: runebook merge {}", submitted.id)),
        State::Open | State::NeedsHuman => {
            out.note(format!("next: a reviewer runs `runebook review show {}`", submitted.id));
        }
        _ => {}
    }
    end
}

/// A list of proposals: name, state, revision, proposer, title.
pub(crate) fn list(out: &mut Output, all: &[Listed], empty: &str) -> Done {
    if out.json {
        all.iter().for_each(|one| out.record(one));
    } else if all.is_empty() {
        out.note(empty);
    } else {
        let who = |one: &Listed| one.proposer.as_ref().map_or("", |id| id.as_str()).to_owned();
        let width = all.iter().map(|one| who(one).chars().count()).max().unwrap_or(0);
        for one in all {
            let line = match (&one.problem, one.state) {
                (Some(problem), _) => {
                    format!("{}  {}", out.paint(Tone::Name, one.id.as_str()), out.paint(Tone::Bad, problem))
                }
                (None, state) => {
                    let state = state.unwrap_or(State::Draft);
                    let (files, s) = (one.files, if one.files == 1 { " " } else { "s" });
                    format!(
                        "{}  {}  r{:<2} {:>3} file{s}  {:width$}  {}",
                        out.paint(Tone::Name, one.id.as_str()),
                        out.paint(tone(state), format!("{:17}", word(state, one.person_merges))),
                        one.revision,
                        files,
                        who(one),
                        printable(&one.title)
                    )
                }
            };
            out.line(line);
        }
    }
    if all.is_empty() { Done::Nothing } else { Done::Yes }
}

/// The files that only moved: what was removed and what was added with the very same content, each by the other's URI.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    to: HashMap<String, String>,
    from: HashMap<String, String>,
}

impl Moves {
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a FileDiff> + Clone) -> Moves {
        let mut gone: HashMap<_, Vec<&FileDiff>> = HashMap::new();
        for file in files.clone().filter(|file| file.status == FileStatus::Deleted && file.removed > 0) {
            gone.entry(file.old).or_default().push(file);
        }
        let mut moves = Moves::default();
        for file in files.filter(|file| file.status == FileStatus::Added) {
            if let Some(from) = gone.get_mut(&file.new).and_then(Vec::pop) {
                moves.to.insert(from.uri.clone(), file.uri.clone());
                moves.from.insert(file.uri.clone(), from.uri.clone());
            }
        }
        moves
    }

    /// Whether the file is told of under its new name.
    pub(crate) fn took(&self, file: &FileDiff) -> bool {
        file.status == FileStatus::Deleted && self.to.contains_key(&file.uri)
    }

    /// The line of a file that only moved, under its new name.
    pub(crate) fn line(&self, out: &Output, file: &FileDiff) -> Option<String> {
        let from = self.from.get(&file.uri).filter(|_| file.status == FileStatus::Added)?;
        Some(format!(
            "{} {} → {}  unchanged",
            out.paint(Tone::Bold, "R"),
            out.plain(from),
            out.paint(Tone::Path, &file.uri)
        ))
    }
}

/// The files of a change as a patch.
pub(crate) fn patch(out: &mut Output, files: &[FileDiff]) {
    let moves = Moves::of(files.iter());
    for (at, file) in files.iter().filter(|file| !moves.took(file)).enumerate() {
        if at > 0 {
            out.line("");
        }
        patch_of(out, file, &moves);
    }
}

/// One file of a change.
pub(crate) fn patch_of(out: &mut Output, file: &FileDiff, moves: &Moves) {
    if let Some(line) = moves.line(out, file) {
        out.line(line);
        return;
    }
    let line = format!(
        "{} {}  +{} -{}",
        out.paint(Tone::Bold, file.status.letter().to_string()),
        out.paint(Tone::Path, &file.uri),
        file.added,
        file.removed
    );
    out.line(line);
    if let Some(omitted) = &file.omitted {
        let line = format!("  {}", out.paint(Tone::Dim, omitted));
        out.line(line);
    }
    for hunk in &file.hunks {
        let head =
            format!("@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
        let head = out.paint(Tone::Dim, head);
        out.line(head);
        for line in &hunk.lines {
            let line = match line.as_bytes().first() {
                Some(b'+') => out.paint(Tone::Good, line),
                Some(b'-') => out.paint(Tone::Bad, line),
                Some(b'\\') => out.paint(Tone::Dim, line),
                _ => printable(line),
            };
            out.line(line);
        }
    }
}

/// The events, one a line with their words below.
pub(crate) fn events(out: &mut Output, events: &[Told]) {
    for event in events {
        let revision = format!("revision {}", event.revision);
        let what = match (event.kind, event.verdict) {
            (EventKind::Review, Some(Verdict::Approve)) => format!("approved {revision}"),
            (EventKind::Review, Some(Verdict::RequestChanges)) => format!("requested changes of {revision}"),
            (EventKind::Review, Some(Verdict::Reject)) => format!("rejected {revision}"),
            (EventKind::Review, None) => format!("reviewed {revision}"),
            (EventKind::Open, _) => "opened it".to_owned(),
            (EventKind::Submit, _) => format!("submitted {revision}"),
            (EventKind::Check, _) => format!("checked {revision}"),
            (EventKind::Comment, _) => format!("commented on {revision}"),
            (EventKind::Lift, _) => "lifted a verdict".to_owned(),
            (EventKind::Withdraw, _) => "withdrew it".to_owned(),
            (EventKind::Supersede, _) => "put another in its place".to_owned(),
            (EventKind::Escalate, _) => "asked for a person".to_owned(),
            (EventKind::Decide, _) => format!("merged {revision}"),
        };
        let tone = match event.verdict {
            Some(Verdict::Approve) => Tone::Good,
            Some(_) => Tone::Bad,
            None => Tone::Bold,
        };
        let line = format!(
            "  {}  {}  {} {}",
            event.event.short(),
            out.paint(Tone::Dim, moment(&event.when)),
            out.paint(Tone::Name, event.actor.as_str()),
            out.paint(tone, what),
        );
        out.line(line);
        for text in event.text.iter().flat_map(|text| text.lines()) {
            let line = format!("      {}", printable(text));
            out.line(line);
        }
        for remark in &event.comments {
            let place = match (&remark.path, remark.line) {
                (Some(path), Some(line)) => format!("{path}:{line}: "),
                (Some(path), None) => format!("{path}: "),
                _ => String::new(),
            };
            let words = remark.text.clone().unwrap_or_default();
            let evidence = remark.evidence.as_ref().map(|uri| format!(" <{uri}>")).unwrap_or_default();
            let line = format!("      {}", printable(&format!("{place}{words}{evidence}")));
            out.line(line);
        }
    }
}

/// A proposal's whole story.
pub(crate) fn story(out: &mut Output, story: &Story) {
    if out.json {
        out.document(story);
        return;
    }
    head(out, story.id.as_str(), (story.state, story.person_merges), &story.title);
    let revision = match story.revision {
        0 => "not submitted yet".to_owned(),
        revision => format!("revision {revision}"),
    };
    out.line(format!("  by {}, opened {}, {revision}", story.proposer, moment(&story.opened)));
    if let Some(merge) = story.merge {
        out.line(format!("  merged as {}", merge.short()));
    }
    sentences(out, "", &story.reasons);
    sentences(out, "note: ", &story.notes);
    findings(out, &story.findings);
    out.line("files");
    let moves = Moves::of(story.files.iter());
    for file in story.files.iter().filter(|file| !moves.took(file)) {
        if let Some(line) = moves.line(out, file) {
            out.line(format!("  {line}"));
            continue;
        }
        let letter = file.status.letter();
        let counts = match file.status {
            FileStatus::Retyped => String::new(),
            _ => format!("  +{} -{}", file.added, file.removed),
        };
        let line = format!("  {letter} {}{counts}", out.paint(Tone::Path, &file.uri));
        out.line(line);
    }
    out.line("events");
    events(out, &story.events);
    let line = format!("digest {}", out.paint(Tone::Dim, story.digest.to_string()));
    out.line(line);
}

/// A proposal's first line.
pub(crate) fn head(out: &mut Output, id: &str, (state, person_merges): (State, bool), title: &str) {
    let line = format!(
        "{}  {}  {}",
        out.paint(Tone::Name, id),
        out.paint(tone(state), word(state, person_merges)),
        out.paint(Tone::Bold, title)
    );
    out.line(line);
}
