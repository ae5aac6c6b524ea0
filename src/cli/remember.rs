//! `runebook remember`.

use super::new::TypeName;
use super::output::{Tone, printable};
use super::progress::Bar;
use super::propose::{actor_of, findings, tone};
use super::{Done, Session, given};
use crate::flow::remember::{Placed, Remembered, Request, remember};
use crate::flow::{locate, own};
use crate::model::fault::Fault;
use crate::model::front_matter::MemoryType;

/// The arguments of `runebook remember`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Finds the place by what is near, writes the text there with links to it, and submits it as a \
proposal; your files stay as they are. What a memory says already is not written again (exit status 1).

Examples:
  runebook remember \"Mei takes the window on flights over two hours; on short ones she does not care.\"
  runebook remember \"靠窗座位,两小时以上\" --tag 旅行
  runebook remember --at resources/travel/ --title \"Tram 28\" \"Full by nine.\"
  runebook remember --dry-run \"The printer needs A3 paper.\"
  runebook remember --write \"The printer needs A3 paper.\"   (where nobody else could approve it)
  pbpaste | runebook remember -"
)]
pub(crate) struct Args {
    /// What to remember; `-` reads it from standard input
    #[arg(value_name = "TEXT", required = true, allow_hyphen_values = true)]
    text: String,
    /// Its title; the first sentence if left out
    #[arg(long)]
    title: Option<String>,
    /// What it is; by its place if left out
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    kind: Option<TypeName>,
    /// Where: a directory or a file; found if left out
    #[arg(long, value_name = "URI|PATH")]
    at: Option<String>,
    /// A tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Where it comes from (person, user_message, document, web …)
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Write it although a memory says it already
    #[arg(long)]
    anyway: bool,
    /// Leave it a draft: `runebook propose submit` hands it in
    #[arg(long, conflicts_with = "dry_run")]
    draft: bool,
    /// Put it among your files instead of proposing it; `runebook commit` records it
    #[arg(short, long, conflicts_with = "draft")]
    write: bool,
    /// Show what would be proposed, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    if args.write {
        own::person(&vault, session.globals.acting.as_deref(), "remember --write")?;
    }
    let actor = actor_of(session, &vault)?;
    let text = if args.text == "-" { given::text(None, session, given::MOST)? } else { args.text };
    let at = match &args.at {
        Some(at) => {
            let mut uri = locate::place(&vault, at, &session.directory())?;
            uri.directory |= at.ends_with('/');
            Some(uri)
        }
        None => None,
    };
    let request = Request {
        text,
        title: args.title,
        kind: args.kind.map(MemoryType::from),
        at,
        tags: args.tags,
        source: args.source,
        anyway: args.anyway,
        draft: args.draft,
        write: args.write,
        dry_run: args.dry_run,
    };
    let done = remember(&vault, &actor, &request, &Bar::new(session))?;
    let stopped = done.submitted.as_ref().is_some_and(|submitted| submitted.stopped);
    if session.out.json {
        session.out.document(&done);
    } else {
        print(session, &done);
    }
    Ok(if stopped { Done::Nothing } else { Done::Yes })
}

fn print(session: &mut Session<'_>, done: &Remembered) {
    let out = &mut session.out;
    let why = match done.placed {
        Placed::Asked => "",
        Placed::BesideNear => "  beside what is near",
        Placed::ByType => "  where such memories stand",
        Placed::Inbox => "  among what is not sorted yet",
        Placed::Root => "  at the root; `--at` names another place",
    };
    let line = format!("{}{}", out.paint(Tone::Path, done.path.as_str()), out.paint(Tone::Dim, why));
    out.line(line);
    for one in &done.near {
        let line =
            format!("  linked to {}  {}", out.paint(Tone::Path, one.path.as_str()), printable(&one.title));
        out.line(line);
    }
    if done.written {
        out.note("it stands among your files; `runebook commit` records it, `runebook undo` takes it away");
        return;
    }
    let Some(id) = &done.id else {
        out.line("");
        for line in done.text.lines() {
            out.line(printable(line));
        }
        return;
    };
    if let Some(submitted) = &done.submitted {
        findings(out, &submitted.findings);
        let state = out.paint(tone(submitted.state), submitted.state.to_string());
        let line = format!("{}  {state}", out.paint(Tone::Name, id.as_str()));
        out.line(line);
        for reason in &submitted.missing {
            out.line(format!("  {}", printable(reason)));
        }
        if done.alone {
            out.note(
                "nobody else here could approve it; `runebook undo` withdraws it, the same with `--write` puts it among \
                 your files, and `runebook actor add` names a reviewer",
            );
        } else {
            out.note(format!(
                "next: a reviewer looks at it with `runebook review show {id}`; `runebook undo` withdraws it"
            ));
        }
    } else {
        let line = format!("{}  draft", out.paint(Tone::Name, id.as_str()));
        out.line(line);
        out.note(format!("`runebook propose submit {id}` hands it in"));
    }
}
