//! `runebook links`.

use super::output::{Output, Tone, printable};
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::links::{self, LinkRow, LinkState};
use crate::model::fault::Fault;
use crate::model::link::LinkForm;
use crate::model::uri::SCHEME;

/// The arguments of `runebook links`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook links user/memories/trips.md     where each link leads
  runebook links resources --broken         what to mend below a directory
  runebook links trips.md --json | jq '.links[] | select(.relation)'

Each line: where the link leads, where it stands, how it is written, and what is wrong with it.
Exit status 1: there is no link.")]
pub(crate) struct Args {
    /// A memory or directory: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI")]
    uri: String,
    /// Only links that a person should look at: broken, ambiguous, by alias, to a heading or block that is gone
    #[arg(long)]
    broken: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader(&vault, None)?;
    let of = session.target_today(&reader, &args.uri)?.uri;
    let mut answer = links::links(&reader, &of, &Bar::new(session))?;
    if args.broken {
        answer.links.retain(|link| link.state.is_finding());
    }
    let none = answer.links.is_empty();
    if session.out.json {
        session.out.document(&answer);
    } else {
        for link in &answer.links {
            let to = match &link.to {
                Some(to) if link.state == LinkState::Directory => format!("{to}/"),
                Some(to) => to.to_string(),
                None if link.state == LinkState::External => link.target.clone(),
                None => "-".to_owned(),
            };
            let place = if of.directory {
                format!("{}:{}", link.from, link.line)
            } else {
                format!("line {}", link.line)
            };
            let to = session.out.paint(Tone::Path, to);
            let line =
                format!("{to}  {}  {}{}", printable(&place), written(link), remark(&session.out, link));
            session.out.line(line);
        }
        if none {
            session.out.note("no links");
        }
    }
    Ok(if none { Done::Nothing } else { Done::Yes })
}

/// A link as it is written, as far as the index knows.
pub(super) fn written(link: &LinkRow) -> String {
    let fragment = link.fragment.as_ref().map_or(String::new(), |fragment| format!("#{fragment}"));
    let (target, mark) = (&link.target, if link.embed { "!" } else { "" });
    printable(&match link.form {
        LinkForm::Wiki => format!("{mark}[[{target}{fragment}]]"),
        LinkForm::Uri => format!("{mark}{SCHEME}{target}{fragment}"),
        LinkForm::Markdown => format!("{mark}[…]({target}{fragment})"),
    })
}

/// The property, and what is wrong.
pub(super) fn remark(out: &Output, link: &LinkRow) -> String {
    let mut text = String::new();
    if let Some(relation) = &link.relation {
        text.push_str(&format!("  {}", out.paint(Tone::Name, relation)));
    }
    if link.state.is_finding() {
        text.push_str(&format!("  {}", out.paint(Tone::Warn, link.state.as_str())));
    }
    if !link.others.is_empty() {
        let names: Vec<&str> = link.others.iter().take(3).map(|path| path.as_str()).collect();
        let more = if link.others.len() > 3 { ", …" } else { "" };
        text.push_str(&out.paint(Tone::Dim, format!("  also {}{more}", names.join(", "))));
    }
    text
}
