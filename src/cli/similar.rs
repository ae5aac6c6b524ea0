//! `runebook similar`.

use super::find::{pending, show};
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::find::{SimilarRequest, similar};
use crate::flow::reader::Stands;
use crate::model::fault::Fault;

/// The arguments of `runebook similar`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Similar is what means the same, also in other words or in another language; for that a model must be
in use (`runebook model list`). Without one, the memory's most telling words are searched, and a note says so.

Examples:
  runebook similar user/memories/preferences/seats.md
  runebook similar viking://resources/deploy.md -n 5
  runebook similar 'seats.md#On trains'          what one section says; also a block (#^id) or lines (#L10-L20)
  runebook similar seats.md --json | jq -r '.hits[].path'
Exit status 1: nothing is similar."
)]
pub(crate) struct Args {
    /// A memory, or a part of one: a URI, a path from where you stand or from the vault's root, each with #fragment if wanted
    #[arg(value_name = "URI")]
    uri: String,
    /// How many memories to show at most
    #[arg(short = 'n', long = "limit", default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Look in the approved branch instead of the files here
    #[arg(long)]
    main: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let reader = session.reader_at(&vault, None, Some(&args.uri))?;
    let target = session.target(&reader, Some(&args.uri))?;
    if target.kind == Stands::Directory {
        return Err(NotAMemory(target.uri.to_string()).into());
    }
    let limit = usize::try_from(args.limit).unwrap_or(10);
    let request = SimilarRequest {
        path: target.uri.path.clone(),
        fragment: target.uri.fragment.clone(),
        limit,
        main: args.main,
    };
    let bar = Bar::new(session);
    let answer = similar(&vault, &reader.access, &request, &bar)?;
    for note in answer.freshness.notes.iter().chain(&answer.notes) {
        session.out.note(format!("note: {note}"));
    }
    pending(&answer.freshness, session);
    let none = answer.hits.is_empty();
    if session.out.json {
        session.out.document(&answer);
    } else {
        for (at, hit) in answer.hits.iter().enumerate() {
            if at > 0 {
                session.out.line("");
            }
            show(hit, &vault.config.main_branch, session);
        }
        if none {
            session.out.note("nothing is similar");
        }
    }
    Ok(if none { Done::Nothing } else { Done::Yes })
}

/// A directory was named where a memory is needed.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is a directory")]
struct NotAMemory(String);

impl crate::model::fault::Explain for NotAMemory {
    fn kind(&self) -> crate::model::fault::Kind {
        crate::model::fault::Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some("name a memory in it; `runebook ls` lists them".to_owned())
    }
}
