//! `copy`: copies that programs for synchronising files left behind.

use super::runner::{Sink, Subject};
use super::{Case, Check};
use crate::model::finding::Severity;

pub(super) static CHECK: Check = Check {
    name: "copy",
    about: "no copy of a conflict is left",
    cases: &[Case {
        name: "conflict",
        severity: Severity::Warning,
        standing: Severity::Warning,
        about: "a copy that a sync program left beside a note",
    }],
    of_blobs: false,
    run,
};

fn run(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let Some(path) = subject.path.filter(|path| path.is_markdown() && !path.is_hidden()) else { return };
    let Some(found) = subject.copied() else { return };
    let of = &found.of;
    let (message, fix) = if !found.there {
        let message = format!("by its name it is a copy of {of}, which is not there");
        (message, format!("if it is the one to keep: `runebook mv \"{path}\" \"{of}\"`"))
    } else if found.same {
        (format!("it is a copy of {of} and says the same"), "remove it: nothing is lost".to_owned())
    } else {
        let message = format!("it is a copy of {of} that says something else");
        let fix = format!(
            "compare them (`git diff --no-index \"{of}\" \"{path}\"`), keep the better words in {of}, remove this one"
        );
        (message, fix)
    };
    sink.add_naming("conflict", None, message, Some(fix), std::slice::from_ref(of));
}
