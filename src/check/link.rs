//! `link`: every link leads somewhere, to one place, in every program that reads the vault.

use std::collections::HashSet;

use super::runner::{Sink, Subject};
use super::{Case, Check, Occasion};
use crate::markdown::renamed::heading_key;
use crate::model::change::mode;
use crate::model::day;
use crate::model::finding::Severity;
use crate::model::link::{Link, LinkForm, Resolution, name_key, resolve};
use crate::model::memory::Memory;
use crate::model::near;
use crate::model::path::VaultPath;
use crate::model::uri::Fragment;

const fn case(name: &'static str, severity: Severity, standing: Severity, about: &'static str) -> Case {
    Case { name, severity, standing, about }
}

pub(super) static CHECK: Check = Check {
    name: "link",
    about: "every link leads to one place",
    cases: &[
        case("broken", Severity::Warning, Severity::Warning, "a link leads to nothing"),
        case(
            "attachment",
            Severity::Warning,
            Severity::Warning,
            "a picture or another attachment is not there",
        ),
        case(
            "ambiguous",
            Severity::Warning,
            Severity::Warning,
            "several files have the name that a link gives",
        ),
        case(
            "alias",
            Severity::Warning,
            Severity::Warning,
            "a link works by an alias only, which Obsidian does not follow",
        ),
        case(
            "heading",
            Severity::Warning,
            Severity::Warning,
            "a link names a heading that its file does not have",
        ),
        case(
            "block",
            Severity::Warning,
            Severity::Warning,
            "a link names a block that its file does not have",
        ),
        case("page", Severity::Info, Severity::Info, "a page of Logseq that is linked and has no file yet"),
        case("lost", Severity::Warning, Severity::Warning, "links lead to a file that the change takes away"),
        case("leaves", Severity::Error, Severity::Warning, "a link leads out of the vault"),
        case("orphan", Severity::Warning, Severity::Info, "a memory has no link from or to another"),
    ],
    of_blobs: false,
    run,
};

fn run(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let canvas = subject.canvas();
    let Some(memory) = subject.memory().or(canvas.as_ref()) else { return lost(subject, sink) };
    if canvas.is_some() {
        memory.problems.iter().for_each(|problem| sink.pass_on(problem));
    }
    if memory.template {
        return;
    }
    let mut leads_to: HashSet<VaultPath> = HashSet::new();
    // Logseq makes a page of every name that is linked: such a link holds pages together too.
    let mut pages = false;
    for link in &memory.links {
        let resolution = resolve(link, &memory.path, subject.tree.names());
        let to = match &resolution {
            Resolution::File(file) | Resolution::Alias(file) | Resolution::Directory(file) => Some(file),
            Resolution::Ambiguous(files) => files.first(),
            Resolution::External | Resolution::Broken => None,
        };
        if let Some(to) = to.filter(|to| **to != memory.path && !leads_to.contains(*to)) {
            leads_to.insert(to.clone());
        }
        pages |= subject.settings.config.foreign.logseq
            && link.form == LinkForm::Wiki
            && resolution == Resolution::Broken;
        judge(link, resolution, memory, subject, sink);
    }
    if subject.settings.occasion == Occasion::WorkTree {
        let alone = leads_to.is_empty() && !pages && canvas.is_none() && wants_links(memory, subject);
        return subject.links_lead_to(leads_to, alone);
    }
    let leads_elsewhere = !leads_to.is_empty();
    let is_new = subject.item.new && subject.settings.occasion == Occasion::Proposal;
    if is_new && !leads_elsewhere && !memory.path.is_hidden() && !subject.tree.has_backlink(&memory.path) {
        let message = "no link leads from this new memory to another, or to it".to_owned();
        let fix = "link what it belongs to: a person, a topic, the memory that it follows from".to_owned();
        sink.add("orphan", None, message, Some(fix));
    }
}

/// Whether a memory without links is worth a word. The note of a day stands by its day, the words on a directory by the
/// directory, and a copy of a conflict has a finding of its own.
fn wants_links(memory: &Memory, subject: &Subject<'_>) -> bool {
    let (path, config) = (&memory.path, subject.settings.config);
    let daily = config.is_daily(path) || day::whole(path.stem()).is_some();
    !path.is_hidden() && !daily && path.name() != "index.md" && subject.copied().is_none()
}

/// A memory among files as they stand that no link leads from or to.
pub(super) fn orphan(sink: &mut Sink<'_>) {
    let message = "no link leads from this memory to another, or to it".to_owned();
    let fix = "link what it belongs to, or leave it: `runebook find` finds it as well".to_owned();
    sink.add("orphan", None, message, Some(fix));
}

/// What links to a memory that the change takes away.
fn lost(subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let Some(path) = subject.path.filter(|path| path.is_markdown() && !path.is_layer()) else { return };
    if subject.item.mode != mode::NONE || subject.settings.occasion != Occasion::Proposal {
        return;
    }
    let message = match subject.tree.lost_links(path) {
        0 => return,
        1 => "1 link leads to this file and would lead to nothing".to_owned(),
        many => format!("{many} links lead to this file and would lead to nothing"),
    };
    let fix = format!("change them too; `runebook backlinks {path}` lists them");
    sink.add("lost", None, message, Some(fix));
}

/// The link as it is written, cut where it is long.
fn shown(link: &Link, memory: &Memory) -> String {
    let text = memory.text.get(link.range.clone()).unwrap_or(&link.target);
    let mut short: String = text.chars().take(120).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.replace(['\n', '\r'], " ")
}

fn judge(link: &Link, resolution: Resolution, memory: &Memory, subject: &Subject<'_>, sink: &mut Sink<'_>) {
    let line = Some(link.line);
    let shown = shown(link, memory);
    match resolution {
        Resolution::External | Resolution::Directory(_) => {}
        // Logseq finds a page by its other names, and makes one of every name that is linked.
        Resolution::Alias(file) if subject.settings.config.foreign.logseq => {
            fragment(link, &file, &shown, memory, subject, sink);
        }
        Resolution::Broken
            if subject.settings.config.foreign.logseq
                && link.form == LinkForm::Wiki
                && !is_attachment(link) =>
        {
            sink.add("page", line, format!("{shown} is a page that nobody has written yet"), None);
        }
        Resolution::File(file) => fragment(link, &file, &shown, memory, subject, sink),
        Resolution::Alias(file) => {
            let message = format!("{shown} is found by an alias of {file} only; Obsidian does not follow it");
            let text = link.text.as_deref().unwrap_or(&link.target);
            let name = target_of(link, &file, subject);
            let fix = Some(instead(link, &shown, &name, text));
            sink.add_naming("alias", line, message, fix, std::slice::from_ref(&file));
            // With the name in the alias's place it would still lead to a part that is not there.
            fragment(link, &file, &shown, memory, subject, sink);
        }
        Resolution::Ambiguous(files) => {
            let (first, others) = match files.split_first() {
                Some((first, others)) if !others.is_empty() => (first, others),
                _ => return,
            };
            let named: Vec<&str> = others.iter().take(3).map(VaultPath::as_str).collect();
            let more = others.len().saturating_sub(named.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let message = format!("{shown} could be {first} (taken), {}{more}", named.join(", "));
            let near = nearest_place(&files, &memory.path).unwrap_or(first);
            let path = near.as_str().strip_suffix(".md").unwrap_or(near.as_str());
            let text = link.text.as_deref().unwrap_or(&link.target);
            sink.add_naming("ambiguous", line, message, Some(instead(link, &shown, path, text)), &files);
        }
        Resolution::Broken if leaves(link, &memory.path) => {
            let message = format!("{shown} leads out of the vault");
            sink.add(
                "leaves",
                line,
                message,
                Some("an address begins at the vault's root, without `..`".to_owned()),
            );
        }
        Resolution::Broken if is_attachment(link) => {
            let near = subject.tree.nearest(&link.target);
            let names: Vec<&str> = near.iter().map(VaultPath::as_str).collect();
            let fix = (!near.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")));
            let message = format!("{shown}: there is no such file in the vault");
            sink.add_naming("attachment", line, message, fix, &near);
        }
        Resolution::Broken => {
            let message = format!("{shown} leads to nothing");
            let near = subject.tree.nearest(&link.target);
            let fix = match near.as_slice() {
                [] => None,
                near => {
                    let names: Vec<&str> = near.iter().map(VaultPath::as_str).collect();
                    Some(format!("did you mean {}?", names.join(" or ")))
                }
            };
            sink.add_naming("broken", line, message, fix, &near);
        }
    }
}

/// Of several files the one that shares most directories with the note: most likely the one that was meant.
fn nearest_place<'f>(files: &'f [VaultPath], from: &VaultPath) -> Option<&'f VaultPath> {
    let shared = |file: &VaultPath| {
        file.as_str().split('/').zip(from.as_str().split('/')).take_while(|(a, b)| a == b).count()
    };
    // The first of the best: files come in the order in which resolution prefers them.
    files.iter().rev().max_by_key(|file| shared(file))
}

/// Whether a link means a picture, a sound, a document: it embeds a file that is no note, or has such an ending.
fn is_attachment(link: &Link) -> bool {
    const ENDINGS: &[&str] = &[
        "png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "avif", "pdf", "mp3", "wav", "m4a", "ogg", "flac",
        "mp4", "webm", "mov", "mkv", "canvas", "base", "zip", "csv",
    ];
    let name = link.target.rsplit('/').next().unwrap_or_default();
    let Some((_, ending)) = name.rsplit_once('.') else { return false };
    let known = ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known));
    let plain = (1..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    known || (link.embed && plain && !ending.eq_ignore_ascii_case("md"))
}

/// The link as it should be written: in a table the bar keeps its backslash, an embed its mark.
fn instead(link: &Link, shown: &str, target: &str, text: &str) -> String {
    let fragment = link.fragment.as_ref().map_or(String::new(), |fragment| format!("#{fragment}"));
    if fragment.is_empty() && target == text {
        return format!("write {}[[{target}]]", if link.embed { "!" } else { "" });
    }
    let (mark, bar) = (if link.embed { "!" } else { "" }, if shown.contains("\\|") { "\\|" } else { "|" });
    format!("write {mark}[[{target}{fragment}{bar}{text}]]")
}

/// The shortest name that leads to a file: its own, where no other has it.
fn target_of(link: &Link, file: &VaultPath, subject: &Subject<'_>) -> String {
    let alone = subject.tree.names().files_named(&name_key(file.name())).len() == 1;
    let whole = file.as_str().strip_suffix(".md").unwrap_or(file.as_str());
    if alone && name_key(file.stem()) != name_key(&link.target) {
        file.stem().to_owned()
    } else {
        whole.to_owned()
    }
}

/// Whether a link that leads to nothing would leave the vault.
fn leaves(link: &Link, from: &VaultPath) -> bool {
    let mut depth = match link.form {
        LinkForm::Uri | LinkForm::Wiki => 0,
        LinkForm::Markdown if link.target.starts_with('/') => 0,
        LinkForm::Markdown => from.ancestors().count().saturating_sub(1),
    };
    for segment in link.target.split(['/', '\\']) {
        match segment {
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            "" | "." => {}
            _ => depth += 1,
        }
    }
    false
}

/// Whether the heading or block that a link names is there.
fn fragment(
    link: &Link,
    file: &VaultPath,
    shown: &str,
    memory: &Memory,
    subject: &Subject<'_>,
    sink: &mut Sink<'_>,
) {
    let Some(fragment) = link.fragment.as_deref().filter(|f| !f.is_empty()) else { return };
    if !file.is_markdown() || (link.form == LinkForm::Uri && is_lines(fragment)) {
        return;
    }
    let own;
    let kept;
    let anchors = if *file == memory.path {
        own = Anchors::of(memory);
        &own
    } else {
        match subject.anchors(file) {
            Some(there) => {
                kept = there;
                &*kept
            }
            None => return,
        }
    };
    let line = Some(link.line);
    if let Some(Fragment::Block(id)) = link.place() {
        if !anchors.has(&Fragment::Block(id.clone())) {
            let message = format!("{shown}: {file} has no block ^{id}");
            let fix = renamed(link, file, subject);
            sink.add_naming("block", line, message, fix, std::slice::from_ref(file));
        }
    } else if !link.place().map_or_else(|| anchors.has_heading(fragment), |place| anchors.has(&place)) {
        let wanted = heading_key(fragment.rsplit('#').next().unwrap_or(fragment));
        let near = near::word(&wanted, anchors.headings.iter().map(String::as_str));
        let near = near.and_then(|near| anchors.shown.get(anchors.headings.iter().position(|h| h == near)?));
        let fix =
            renamed(link, file, subject).or_else(|| near.map(|near| near::question(&[format!("#{near}")])));
        let message = format!("{shown}: {file} has no heading “{fragment}”");
        sink.add_naming("heading", line, message, fix, std::slice::from_ref(file));
    }
}

/// Whether the part that a link names got another name since the last commit, as a question with the way out.
fn renamed(link: &Link, file: &VaultPath, subject: &Subject<'_>) -> Option<String> {
    let text = match link.place()? {
        Fragment::Heading(names) => names.join("#"),
        Fragment::Block(id) => format!("^{id}"),
        Fragment::Lines(..) => return None,
    };
    let new = subject.renames(file)?.fragment(&text, link.form == LinkForm::Markdown)?;
    Some(format!("was it renamed to #{new}? `runebook check --fix` lets the links follow"))
}

fn is_lines(fragment: &str) -> bool {
    fragment.strip_prefix('L').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// What links into a file can name.
#[derive(Debug, Default)]
pub struct Anchors {
    /// Headings in order, by [`heading_key`].
    headings: Vec<String>,
    /// The same as they are written.
    shown: Vec<String>,
    blocks: HashSet<String>,
    /// Names that HTML gives (`<a name="…">`, `id="…"`), by [`heading_key`].
    html: HashSet<String>,
}

impl Anchors {
    /// What a memory offers.
    #[must_use]
    pub fn of(memory: &Memory) -> Anchors {
        let mut html = HashSet::new();
        for mark in ["id=\"", "name=\""] {
            for rest in memory.body().split(mark).skip(1) {
                html.extend(rest.split('"').next().filter(|name| name.len() < 200).map(heading_key));
            }
        }
        Anchors {
            headings: memory.headings.iter().map(|h| heading_key(&h.text)).collect(),
            shown: memory.headings.iter().map(|h| h.text.clone()).collect(),
            blocks: memory.blocks.iter().map(|b| b.id.to_lowercase()).collect(),
            html,
        }
    }

    /// Whether the memory has what a link names; lines are always there.
    #[must_use]
    pub fn has(&self, place: &Fragment) -> bool {
        match place {
            Fragment::Block(id) => self.blocks.contains(&id.to_lowercase()),
            Fragment::Heading(names) => self.has_heading(&names.join("#")),
            Fragment::Lines(..) => true,
        }
    }

    /// Whether the headings of a path `A#B` come in that order.
    fn has_heading(&self, fragment: &str) -> bool {
        let mut rest = self.headings.iter();
        let in_order = fragment.split('#').map(heading_key).all(|part| rest.any(|heading| *heading == part));
        // A heading may hold a `#` itself, and forges number headings of one name (`-1`).
        let whole = heading_key(fragment);
        let unnumbered = fragment.rsplit_once('-').filter(|(_, n)| n.bytes().all(|b| b.is_ascii_digit()));
        in_order
            || self.headings.contains(&whole)
            || self.html.contains(&whole)
            || unnumbered.is_some_and(|(name, _)| self.headings.contains(&heading_key(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(form: LinkForm, target: &str) -> Link {
        Link {
            form,
            target: target.to_owned(),
            fragment: None,
            text: None,
            embed: false,
            relation: None,
            line: 1,
            range: 0..0,
        }
    }

    #[test]
    fn what_leaves_the_vault() {
        let from = VaultPath::parse("a/b/note.md").unwrap();
        assert!(!leaves(&link(LinkForm::Markdown, "../../x.md"), &from));
        assert!(leaves(&link(LinkForm::Markdown, "../../../x.md"), &from));
        assert!(leaves(&link(LinkForm::Uri, "user/../../etc/passwd"), &from));
        assert!(!leaves(&link(LinkForm::Uri, "user/../x"), &from));
    }

    #[test]
    fn headings_are_compared_as_links_write_them() {
        let headings = ["Set up `git`", "Part 1: Start", "Details", "C# notes"];
        let anchors =
            Anchors { headings: headings.iter().map(|h| heading_key(h)).collect(), ..Anchors::default() };
        for there in
            ["Set up git", "set-up-git", "Part 1 Start", "Part 1 Start#Details", "details-1", "C# notes"]
        {
            assert!(anchors.has_heading(there), "{there}");
        }
        for gone in ["Details#Part 1 Start", "Nothing", "Part 2"] {
            assert!(!anchors.has_heading(gone), "{gone}");
        }
    }
}
