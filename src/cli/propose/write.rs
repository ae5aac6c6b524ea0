//! The subcommands that change a proposal's files.

use std::path::PathBuf;

use super::actor_of;
use super::print;
use crate::cli::{Done, Session, given};
use crate::flow::proposals::named_by;
use crate::flow::propose::{self, Edit, Parts, Written};
use crate::flow::vault::Vault;
use crate::model::fault::{Fault, Kind};
use crate::model::id::ProposalId;
use crate::model::path::VaultPath;
use crate::model::uri::{SCHEME, Uri};

/// `propose write`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The content comes from --body, from --file, or else from standard input.

Examples:
  runebook propose write 7k3 viking://user/memories/seats.md < seats.md
  runebook propose write 7k3 user/memories/seats.md --file draft.md
  runebook propose write user/memories/seats.md --body \"# Seats\\nBy the window.\"")]
#[command(allow_missing_positional = true)]
pub(super) struct WriteArgs {
    /// The proposal; your only open one if left out
    id: Option<String>,
    /// The file: a URI or a path
    uri: String,
    /// Take the content from this file (`-`: standard input)
    #[arg(short, long, value_name = "FILE", conflicts_with = "body")]
    file: Option<PathBuf>,
    /// The content itself; a line end is added where it has none
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// The commit's subject
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
}

/// `propose edit`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The text must stand in the file exactly, and once unless --all is given. Every other byte stays.

Examples:
  runebook propose edit 7k3 user/memories/seats.md --old \"two hours\" --new \"three hours\"
  runebook propose edit user/memories/seats.md --append \"Likes row 12.\"",
    allow_missing_positional = true
)]
pub(super) struct EditArgs {
    /// The proposal; your only open one if left out
    id: Option<String>,
    /// The file: a URI or a path
    uri: String,
    /// The text that stands there
    #[arg(
        long,
        value_name = "TEXT",
        requires = "new",
        required_unless_present_any = ["append", "set", "unset", "section"],
        allow_hyphen_values = true
    )]
    old: Option<String>,
    /// The text that shall stand there
    #[arg(long, value_name = "TEXT", requires = "old", allow_hyphen_values = true)]
    new: Option<String>,
    /// Wherever the text stands, not only once
    #[arg(long, requires = "old")]
    all: bool,
    /// Add this text to the end, on a line of its own, with an empty line where it would join the block before it
    #[arg(long, value_name = "TEXT", conflicts_with = "old", allow_hyphen_values = true)]
    append: Option<String>,
    /// Give a field of the front matter a value: a word, a number, or `[a, b]`; may be given several times
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["old", "append"], value_parser = field)]
    set: Vec<(String, serde_json::Value)>,
    /// Remove a field of the front matter; may be given several times
    #[arg(long, value_name = "KEY", conflicts_with_all = ["old", "append"])]
    unset: Vec<String>,
    /// Replace the text of the section with this heading (`A#B`: a B below an A), up to the next heading of its level
    #[arg(long, value_name = "HEADING", requires = "body", conflicts_with_all = ["old", "append"])]
    section: Option<String>,
    /// The section's new text
    #[arg(long, value_name = "TEXT", requires = "section", allow_hyphen_values = true)]
    body: Option<String>,
    /// The commit's subject
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
}

/// `KEY=VALUE` as a field.
fn field(text: &str) -> Result<(String, serde_json::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), crate::markdown::edit::value(value)))
}

/// `propose mv`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "runebook propose mv [OPTIONS] [ID] <FROM> <TO>",
    after_help = "FROM is a file or a directory, TO a new name or a directory that is there. Without ID your only open \
proposal is meant. Links that would no longer lead there are changed in the same commit, each in the form that it has.

Examples:
  runebook propose mv 7k3 resources/old.md resources/new.md
  runebook propose mv resources/drafts resources/notes"
)]
pub(super) struct MvArgs {
    /// Proposal, what is moved, where to
    #[arg(value_name = "[ID] FROM TO", num_args = 2..=3, required = true, hide = true)]
    what: Vec<String>,
    /// Leave all links as they are
    #[arg(long)]
    keep_links: bool,
    /// The commit's subject
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
}

/// `propose rm`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "runebook propose rm [OPTIONS] [ID] <URI>...",
    after_help = "Examples:
  runebook propose rm 7k3 resources/old.md
  runebook propose rm --recursive resources/drafts"
)]
pub(super) struct RmArgs {
    /// The proposal (your only open one if left out) and what is removed
    #[arg(value_name = "[ID] URI", required = true)]
    what: Vec<String>,
    /// Directories too
    #[arg(short, long)]
    recursive: bool,
    /// The commit's subject
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
}

/// `propose from-worktree`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without PATH all edited Markdown files are taken, new ones too. Merging later accepts that your \
files are ahead of the approved branch already.

Examples:
  runebook propose from-worktree --submit
  runebook propose from-worktree user/memories --title \"Tidy preferences\"
  runebook propose from-worktree --into 7k3"
)]
pub(super) struct FromWorktreeArgs {
    /// Only what is at or below these
    paths: Vec<String>,
    /// Put it into this proposal instead of a new one
    #[arg(long, value_name = "ID")]
    into: Option<String>,
    /// What the new proposal is about
    #[arg(short, long, conflicts_with = "into")]
    title: Option<String>,
    /// Submit it at once
    #[arg(short, long)]
    submit: bool,
}

/// Whether a text can be meant as nothing but a proposal: a whole name, or no path.
fn looks_like_id(text: &str) -> bool {
    text.parse::<ProposalId>().is_ok() || !text.contains(['/', '.'])
}

/// The place that somebody typed. In a bare repository nobody stands anywhere, so a path is one of the vault.
pub(crate) fn place(session: &Session<'_>, vault: &Vault<'_>, text: &str) -> Result<Uri, Fault> {
    if text.starts_with(SCHEME) {
        return Ok(Uri::parse(text)?);
    }
    if vault.repo.work_dir().is_none() {
        let path = VaultPath::parse(text)?;
        return Ok(if text.ends_with('/') { Uri::directory(path) } else { Uri::file(path) });
    }
    crate::flow::locate::place(vault, text, &session.directory())
}

fn content(args: &WriteArgs, session: &Session<'_>) -> Result<Vec<u8>, Fault> {
    if let Some(body) = &args.body {
        let end = if body.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{body}{end}").into_bytes());
    }
    given::bytes(args.file.as_deref(), session, given::MOST)
}

fn done(session: &mut Session<'_>, written: &Written) -> Done {
    if session.out.json {
        session.out.document(written);
    } else {
        print::written(&mut session.out, written);
    }
    Done::Yes
}

pub(super) fn write(args: &WriteArgs, session: &mut Session<'_>, vault: &Vault<'_>) -> Result<Done, Fault> {
    let actor = actor_of(session, vault)?;
    let id = named_by(vault, Some(&actor), args.id.as_deref())?;
    let uri = place(session, vault, &args.uri)?;
    let bytes = content(args, session)?;
    let written = propose::write(vault, &actor, &id, &uri, &bytes, args.message.as_deref())?;
    Ok(done(session, &written))
}

pub(super) fn edit(args: &EditArgs, session: &mut Session<'_>, vault: &Vault<'_>) -> Result<Done, Fault> {
    let actor = actor_of(session, vault)?;
    let id = named_by(vault, Some(&actor), args.id.as_deref())?;
    let uri = place(session, vault, &args.uri)?;
    if !args.set.is_empty() || !args.unset.is_empty() || args.section.is_some() {
        let names = |path: &String| path.split('#').map(|name| name.trim().to_owned()).collect();
        let section = args.section.as_ref().map(names).zip(args.body.clone());
        let parts = Parts { set: args.set.clone(), unset: args.unset.clone(), section };
        let written = propose::edit_parts(vault, &actor, &id, &uri, &parts, args.message.as_deref())?;
        return Ok(done(session, &written));
    }
    let edit = match &args.append {
        Some(text) => Edit::Append(text.clone()),
        None => Edit::Replace {
            old: args.old.clone().unwrap_or_default(),
            new: args.new.clone().unwrap_or_default(),
            all: args.all,
        },
    };
    let written = propose::edit(vault, &actor, &id, &uri, &edit, args.message.as_deref())?;
    Ok(done(session, &written))
}

pub(super) fn mv(args: &MvArgs, session: &mut Session<'_>, vault: &Vault<'_>) -> Result<Done, Fault> {
    let actor = actor_of(session, vault)?;
    let [before @ .., from, to] = args.what.as_slice() else { return Ok(Done::Nothing) };
    let id = named_by(vault, Some(&actor), before.first().map(String::as_str))?;
    let (from, to) = (place(session, vault, from)?, place(session, vault, to)?);
    let moved = propose::mv(vault, &actor, &id, (&from, &to), args.keep_links, args.message.as_deref())?;
    if session.out.json {
        session.out.document(&moved);
        return Ok(Done::Yes);
    }
    let (from, to) = (Uri::file(moved.from.clone()).to_string(), Uri::file(moved.to.clone()).to_string());
    print::moved(&mut session.out, &moved.written, &from, &to);
    crate::cli::mv::show(&mut session.out, &moved.links, false, session.globals.verbose);
    Ok(Done::Yes)
}

pub(super) fn rm(args: &RmArgs, session: &mut Session<'_>, vault: &Vault<'_>) -> Result<Done, Fault> {
    let actor = actor_of(session, vault)?;
    let (id, uris) = match args.what.split_first() {
        // What is no proposal's name is a file, and with a name alone there is nothing to remove.
        Some((first, rest)) if !rest.is_empty() => match named_by(vault, Some(&actor), Some(first)) {
            Ok(id) => (id, rest),
            Err(error) if error.kind() != Kind::Nothing || looks_like_id(first) => return Err(error),
            Err(_) => (named_by(vault, Some(&actor), None)?, args.what.as_slice()),
        },
        _ => (named_by(vault, Some(&actor), None)?, args.what.as_slice()),
    };
    let uris = uris.iter().map(|uri| place(session, vault, uri)).collect::<Result<Vec<_>, _>>()?;
    let written = propose::rm(vault, &actor, &id, &uris, args.recursive, args.message.as_deref())?;
    Ok(done(session, &written))
}

pub(super) fn from_worktree(
    args: &FromWorktreeArgs,
    session: &mut Session<'_>,
    vault: &Vault<'_>,
) -> Result<Done, Fault> {
    let actor = actor_of(session, vault)?;
    let into = args.into.as_ref().map(|id| named_by(vault, Some(&actor), Some(id))).transpose()?;
    let places = args.paths.iter().map(|path| place(session, vault, path)).collect::<Result<Vec<_>, _>>()?;
    let paths: Vec<VaultPath> = places.into_iter().map(|uri| uri.path).collect();
    let taken = propose::from_worktree(vault, &actor, into.as_ref(), &paths, args.title.as_deref())?;
    if session.out.json && !args.submit {
        session.out.document(&taken);
    } else if !session.out.json {
        print::written(&mut session.out, &taken.written);
    }
    session.out.unread(&taken.unread);
    if !taken.left_out.is_empty() {
        let names: Vec<&str> = taken.left_out.iter().take(5).map(VaultPath::as_str).collect();
        let more = if taken.left_out.len() > 5 { ", …" } else { "" };
        session.out.note(format!("left out, since they are no Markdown: {}{more}", names.join(", ")));
    }
    if !args.submit && !session.out.json {
        session.out.note(format!("next: runebook propose submit {}", taken.written.id));
    }
    if args.submit {
        let submitted = propose::submit(vault, &actor, &taken.written.id, None)?;
        return Ok(print::submitted(&mut session.out, &submitted));
    }
    Ok(Done::Yes)
}
