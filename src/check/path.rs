//! `path`: names that hold on every system, and nothing but plain files.

use super::runner::{Sink, Subject};
use super::{Case, Check, Place};
use crate::model::change::mode;
use crate::model::finding::Severity;

pub(super) static CHECK: Check = Check {
    name: "path",
    about: "names that every system can hold, and nothing but plain files",
    cases: &[
        Case { name: "encoding", severity: Severity::Error, about: "a name is not UTF-8" },
        Case { name: "mode", severity: Severity::Error, about: "an entry is no plain file" },
    ],
    of_blobs: true,
    run,
};

fn run(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    if subject.item.mode == mode::NONE {
        return;
    }
    if let Place::Raw(bytes) = &subject.item.place {
        sink.add(
            "encoding",
            None,
            format!("the name `{}` is not UTF-8", bytes.escape_ascii()),
            Some("rename the file".to_owned()),
        );
    }
    let kind = match subject.item.mode {
        mode::FILE => return,
        mode::EXECUTABLE => "executable",
        mode::LINK => "a symbolic link",
        mode::SUBMODULE => "a submodule",
        _ => "of a mode that git does not use for files",
    };
    sink.add("mode", None, format!("the entry is {kind}; memories are plain files"), None);
}
