//! `generated`: summaries of directories are made from the tree, so nobody proposes them.

use super::runner::{Sink, Subject};
use super::{Case, Check, Occasion};
use crate::model::change::mode;
use crate::model::finding::Severity;

pub(super) static CHECK: Check = Check {
    name: "generated",
    about: "summaries of directories are generated, not written",
    cases: &[
        Case {
            name: "layer",
            severity: Severity::Error,
            standing: Severity::Error,
            about: "a proposal changes a generated summary (.abstract.md, .overview.md)",
        },
        // These are found by who knows what the tree generates, not here.
        Case {
            name: "stale",
            severity: Severity::Warning,
            standing: Severity::Warning,
            about: "a generated summary is behind the committed memories",
        },
        Case {
            name: "edited",
            severity: Severity::Warning,
            standing: Severity::Warning,
            about: "a generated summary was changed by hand",
        },
        Case {
            name: "own",
            severity: Severity::Info,
            standing: Severity::Info,
            about: "a person's file has the name of a generated summary",
        },
    ],
    of_blobs: true,
    run,
};

fn run(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let bytes = subject.item.place.as_bytes();
    let name = bytes.rsplit(|b| *b == b'/').next().unwrap_or_default();
    let is_layer = matches!(name, b".abstract.md" | b".overview.md");
    // A work tree may hold a person's file of that name; it is theirs.
    if !is_layer || subject.settings.occasion == Occasion::WorkTree {
        return;
    }
    let what = if subject.item.mode == mode::NONE { "deletes" } else { "writes" };
    let name = String::from_utf8_lossy(name);
    sink.add(
        "layer",
        None,
        format!("the proposal {what} `{name}`, which is generated from the directory's memories"),
        Some("leave it out; words of your own go into the directory's index.md".to_owned()),
    );
}
