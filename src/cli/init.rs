//! `runebook init`.

use std::path::PathBuf;

use super::ask::{Answer, confirm};
use super::output::{Output, Tone};
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::found::{Found, found};
use crate::flow::init::{self, Ground, Initialised, Request};
use crate::flow::preset::Preset;
use crate::flow::vault::Vault;
use crate::model::fault::{Explain, Fault, Kind};

/// The arguments of `runebook init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook init my-vault                 a new vault
  runebook init --example my-vault       a new vault with example memories
  runebook init --existing               make the notes or the repository here a vault; no note is changed
  runebook init --existing ~/notes --yes without asking
  runebook init --preset team            for several people: signed identities, admins commit directly")]
pub(crate) struct Args {
    /// The directory of the vault; the current one if left out
    #[arg(value_name = "DIR")]
    place: Option<PathBuf>,
    /// Make a vault of what is there: a repository gets one commit of .runebook/, a folder becomes a repository
    #[arg(long)]
    existing: bool,
    /// Begin with the memories of the example vault
    #[arg(long, conflicts_with = "existing")]
    example: bool,
    /// The policy to begin with
    #[arg(long, value_enum, default_value_t = PresetName::Solo, value_name = "PRESET")]
    preset: PresetName,
    /// Do not ask before a folder becomes a repository
    #[arg(short, long)]
    yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PresetName {
    /// One person and their agents; what an actor says of itself is recorded
    Solo,
    /// Several people; admins commit directly, identities are to be signed (this version records them)
    Team,
}

/// Nobody could be asked, or the answer was no.
#[derive(Debug, thiserror::Error)]
enum Consent {
    #[error("making a repository of {0} needs your word, and this is no terminal")]
    Nobody(String),
    #[error("nothing was done")]
    No,
}

impl Explain for Consent {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        matches!(self, Consent::Nobody(_)).then(|| "add `--yes`".to_owned())
    }
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let directory = match &args.place {
        Some(directory) => session.directory().join(directory),
        None => session.directory(),
    };
    let request = Request {
        directory: directory.components().collect(),
        existing: args.existing,
        content: if args.example { example() } else { Vec::new() },
        preset: match args.preset {
            PresetName::Solo => Preset::Solo,
            PresetName::Team => Preset::Team,
        },
    };
    if let Ground::Folder { notes } = init::survey(&request)?
        && !args.yes
    {
        let place = request.directory.display().to_string();
        let question = format!(
            "{place} becomes a git repository with one commit of .runebook/ and its {} Markdown files. No file is changed. Go on?",
            notes.len()
        );
        match confirm(&question) {
            Answer::Yes => {}
            Answer::No => return Err(Consent::No.into()),
            Answer::Nobody => return Err(Consent::Nobody(place).into()),
        }
    }
    let mut done = init::init(session.env, &request)?;
    if done.created && args.existing {
        // The vault is made; not to have looked at all of it is no failure.
        let vault = Vault::open(session.env, &done.root)?;
        done.found = found(&vault, &Bar::new(session)).ok();
    }
    if session.out.json {
        session.out.document(&done);
    } else {
        show(session, &done, args.preset, args.existing);
    }
    Ok(Done::Yes)
}

fn example() -> Vec<(crate::model::path::VaultPath, Vec<u8>)> {
    crate::flow::example::files().into_iter().map(|(path, bytes)| (path, bytes.to_vec())).collect()
}

fn show(session: &mut Session<'_>, done: &Initialised, preset: PresetName, existing: bool) {
    let out = &mut session.out;
    let root = out.paint(Tone::Path, done.root.display().to_string());
    let (Some(commit), Some(admin)) = (&done.commit, &done.admin) else {
        out.line(format!("{root} is a vault already; nothing was changed"));
        out.line("`runebook status` shows its state, `runebook doctor` examines it");
        return;
    };
    let with = match done.files {
        0 => String::new(),
        1 => " with 1 file".to_owned(),
        n => format!(" with {n} files"),
    };
    out.line(format!(
        "{root} is a vault now: commit {} on {}{with}",
        out.paint(Tone::Name, commit.short()),
        out.paint(Tone::Name, &done.main_branch)
    ));
    let policy = match preset {
        PresetName::Solo => "preset solo: you commit directly, agents propose and another one or you approve",
        PresetName::Team => {
            "preset team: admins commit directly, all others propose; identities are recorded, not proved, in this version"
        }
    };
    for (file, says) in [
        (".runebook/config.yaml", format!("settings; times are stored in {}", done.time_zone)),
        (".runebook/actors.yaml", format!("you are {admin}, with every role")),
        (".runebook/policy.yaml", policy.to_owned()),
    ] {
        out.line(format!("  {}  {says}", out.paint(Tone::Path, file)));
    }
    if let Some(found) = &done.found {
        show_found(out, found);
    }
    out.unread(&done.unread);
    out.line(out.paint(Tone::Bold, "Next"));
    for command in next(done, existing) {
        out.line(format!("  {command}"));
    }
}

/// What was found, a kind a line; kinds of which there is nothing are left out.
fn show_found(out: &mut Output, found: &Found) {
    let count = |number: usize| number as u64;
    let pictures = match (found.missing_attachments, found.broken_links) {
        (0, _) => String::new(),
        (some, all) if some == all => "to pictures and other attachments; ".to_owned(),
        (some, _) => format!("{some} of them to pictures and other attachments; "),
    };
    let broken = format!("{pictures}`runebook check --rule link` names them");
    let kinds = [
        (count(found.notes), "note", "notes", ""),
        (count(found.daily), "daily note", "daily notes", "events of their day"),
        (count(found.templates), "template", "templates", "not searched; their links are no links"),
        (count(found.attachments), "attachment", "attachments", ""),
        (count(found.others), "other file", "other files", ""),
        (
            count(found.left_out),
            "excluded file",
            "excluded files",
            "by Obsidian's settings: not searched, not checked",
        ),
        (
            found.symlinks,
            "symbolic link",
            "symbolic links",
            "left out; `runebook check --rule path.symlink` names them",
        ),
        (found.copies, "conflict copy", "conflict copies", "`runebook check --rule copy` compares them"),
        (found.broken_links, "broken link", "broken links", broken.as_str()),
        (
            found.missing_parts,
            "link to a heading or block that is gone",
            "links to headings or blocks that are gone",
            "",
        ),
        (
            found.not_utf8,
            "file that is not UTF-8",
            "files that are not UTF-8",
            "`runebook check --rule format` says what to do",
        ),
    ];
    if kinds.iter().any(|(number, ..)| *number > 0) {
        let by = found.kept_by.as_ref().map_or(String::new(), |name| format!(", kept by {name}"));
        out.line(format!("{}{by}", out.paint(Tone::Bold, "Found")));
    }
    for (number, one, many, says) in kinds {
        if number > 0 {
            let says =
                if says.is_empty() { String::new() } else { format!("  {}", out.paint(Tone::Dim, says)) };
            out.line(format!("  {number:>6} {}{says}", if number == 1 { one } else { many }));
        }
    }
    if found.untracked > 0 {
        let files = if found.untracked == 1 { "file is" } else { "files are" };
        let how = "pictures, other programs' settings and the like: `runebook commit` adds them, `.gitignore` keeps them out";
        out.line(format!("{} {files} not in git yet ({how})", found.untracked));
    }
}

/// The commands that come next.
fn next(done: &Initialised, existing: bool) -> Vec<&'static str> {
    let agent = "runebook actor add claude --kind agent --family claude --role propose";
    let hooks =
        "runebook hooks install      once a clone: plain git keeps the summaries of directories right";
    if !existing {
        let new = "runebook new user/memories/preferences/seats.md --title \"Prefers window seats\" --edit";
        return vec![new, agent, hooks, "runebook find seats"];
    }
    let mut out = vec!["runebook find WORDS"];
    if done.found.as_ref().is_none_or(|found| found.findings > 0) {
        out.push("runebook check              what is broken, by kind; nothing is changed");
    }
    if done.found.as_ref().is_some_and(|found| found.layers_tracked) {
        out.push(hooks);
    }
    out.extend([agent, "runebook status"]);
    out
}
