//! `runebook mv`.

use super::output::{Output, Tone, printable};
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::heal::Healing;
use crate::flow::mv::{self, MoveOptions};
use crate::flow::reader::Reader;
use crate::flow::vault::Vault;
use crate::flow::{locate, own};
use crate::model::access::{Access, View};
use crate::model::fault::Fault;
use crate::model::uri::Uri;

/// The arguments of `runebook mv`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook mv user/memories/seats.md user/memories/preferences/
  runebook mv resources/old.md resources/new.md
  runebook mv --dry-run resources/drafts resources/notes
  runebook mv 'resources/wifi.md#Key' '#Password'     a heading, with the links to it
  runebook mv 'resources/wifi.md#^k1' '#^key'         the id of a block
A memory stays one: a new name without an ending gets `.md`; one that ends otherwise is refused, and so is a place that is
left out: hidden, ignored by git or by the vault's settings.
Edits that were not committed move along; nothing is written over. Links that would no longer lead there are
changed, each in the form that it has; all others stay as they are.")]
pub(crate) struct Args {
    /// What to move: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "FROM")]
    from: String,
    /// Where to: a new name, or a directory; for a heading or block its new name behind a `#`
    #[arg(value_name = "TO")]
    to: String,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Leave all links as they are
    #[arg(long)]
    keep_links: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let actor = own::person(&vault, session.globals.acting.as_deref(), "mv")?;
    vault.root()?;
    let reader = Reader::new(&vault, Access { actor, view: View::WorkTree })?;
    let from = locate::find(&reader, &args.from, &session.directory())?;
    let options = MoveOptions { keep_links: args.keep_links, dry_run: args.dry_run };
    if from.uri.fragment.is_some() || args.to.starts_with('#') {
        return rename_part(&from.uri, &args.to, options, &vault, session);
    }
    let mut to = locate::place(&vault, &args.to, &session.directory())?;
    to.directory |= args.to.ends_with('/');
    let moved = mv::mv(&vault, &from, &to, options, &Bar::new(session))?;
    if session.out.json {
        session.out.document(&moved);
        return Ok(Done::Yes);
    }
    let (from, to) =
        (session.out.plain(moved.from.as_str()), session.out.paint(Tone::Path, moved.to.as_str()));
    let was = if moved.dry_run { "would be moved from" } else { "was" };
    session.out.line(format!("{to}  ({was} {from})"));
    show(&mut session.out, &moved.links, moved.dry_run, session.globals.verbose);
    if !moved.dry_run {
        session.out.note("`runebook commit` puts the move on the approved branch");
    }
    Ok(Done::Yes)
}

/// A heading or block gets another name. The new one may be written with the file before it, as the old one is.
fn rename_part(
    of: &Uri,
    to: &str,
    options: MoveOptions,
    vault: &Vault<'_>,
    session: &mut Session<'_>,
) -> Result<Done, Fault> {
    let (file, new) = to.split_once('#').unwrap_or((to, ""));
    let same = file.is_empty() || locate::place(vault, file, &session.directory())?.path == of.path;
    let new = if same { new } else { "" };
    let renamed = mv::rename_part(vault, of, new, options, &Bar::new(session))?;
    if session.out.json {
        session.out.document(&renamed);
        return Ok(Done::Yes);
    }
    let new = format!("{}#{}", renamed.path, renamed.new);
    let (old, new) = (session.out.plain(&renamed.old), session.out.paint(Tone::Path, new));
    let was = if renamed.dry_run { "would be renamed from" } else { "was" };
    session.out.line(format!("{new}  ({was} #{old})"));
    show(&mut session.out, &renamed.links, renamed.dry_run, session.globals.verbose);
    if !renamed.dry_run {
        session.out.note("`runebook commit` puts the new name on the approved branch");
    }
    Ok(Done::Yes)
}

/// How many links people see at once.
const SHOWN: usize = 10;

/// What happened to links, for people.
pub(super) fn show(out: &mut Output, links: &Healing, dry_run: bool, all: bool) {
    if !links.healed.is_empty() {
        let count = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let changed = count(links.healed.len() as u64, "link", "links");
        let files = count(links.files, "file", "files");
        let verb = if dry_run { "would be changed" } else { "changed" };
        out.line(format!("{changed} in {files} {verb}"));
    }
    let limit = if all { usize::MAX } else { SHOWN };
    for link in links.healed.iter().take(limit) {
        let path = out.paint(Tone::Path, link.path.as_str());
        let why = match &link.otherwise {
            Some(other) => format!("  (it would lead to {} otherwise)", out.plain(other.as_str())),
            None => String::new(),
        };
        out.line(format!("  {path}:{}: {} → {}{why}", link.line, short(&link.old), short(&link.new)));
    }
    out.more(links.healed.len().saturating_sub(limit), "-v shows all");
    for link in links.left.iter().take(limit) {
        out.warn(format!("{}:{}: {} stays: {}", link.path, link.line, short(&link.link), link.why));
    }
    if links.left.len() > limit {
        out.warn(format!("and {} more links stay as they are (-v shows all)", links.left.len() - limit));
    }
}

fn short(link: &str) -> String {
    let mut text: String = link.chars().take(100).collect();
    if text.len() < link.len() {
        text.push('…');
    }
    printable(&text.replace(['\n', '\r'], " "))
}
