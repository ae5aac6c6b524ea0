//! `attachment`: pictures, sounds and documents that nothing shows.

use super::runner::{Sink, Subject};
use super::{Case, Check, Occasion};
use crate::model::finding::Severity;
use crate::model::path::VaultPath;

pub(super) static CHECK: Check = Check {
    name: "attachment",
    about: "every attachment is shown somewhere",
    cases: &[Case {
        name: "unused",
        severity: Severity::Info,
        standing: Severity::Info,
        about: "an attachment that no note shows or names",
    }],
    of_blobs: false,
    run,
};

/// The endings of attachments.
const ENDINGS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "avif", "heic", "tif", "tiff", "pdf", "mp3", "wav",
    "m4a", "ogg", "opus", "flac", "mp4", "webm", "mov", "mkv", "docx", "xlsx", "pptx", "odt", "epub",
];

/// Whether a file is a picture, a sound, a film or a document that notes show. Evidence is kept for its own sake.
#[must_use]
pub fn is_attachment(path: &VaultPath) -> bool {
    let ending = path.extension().unwrap_or_default();
    path.scope() != Some("evidence")
        && !path.is_hidden()
        && ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// A size as people read it.
#[must_use]
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

fn run(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let Some(path) = subject.path.filter(|path| is_attachment(path)) else { return };
    let Some(bytes) = &subject.item.after else { return };
    if subject.settings.occasion == Occasion::WorkTree && !subject.tree.is_named(path) {
        let message = format!("no note shows it or names it ({})", size(bytes.len() as u64));
        let fix = "link it where it belongs, or remove it yourself; nothing is removed for you".to_owned();
        sink.add("unused", None, message, Some(fix));
    }
}
