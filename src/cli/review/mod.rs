//! `runebook review`.

mod print;

use super::consent::{ask, is_asked};
use super::propose::{access_of, actor_of, list, meant, patch};
use super::{Done, Session};
use crate::flow::proposals::named_by;
use crate::flow::review::{self, Recorded, Request, ReviewError};
use crate::flow::vault::Vault;
use crate::model::event::{Remark, Verdict};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::{Digest, IdError, Oid, ProposalId};
use crate::model::uri::Uri;

/// The arguments of `runebook review`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Nobody reviews his own work. An approval names the digest of what was looked at, so that it never \
counts for anything else.

Examples:
  runebook review queue
  runebook review show 7k3qm2xd
  runebook review approve 7k3 --digest sha256:5b0c… --message \"The quote stands in the chat\"
  runebook review request-changes 7k3 --comment \"user/memories/seats.md:4:Says who?\""
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List what waits for your review
    Queue,
    /// Show a proposal: diff, findings, evidence, digest
    Show(ShowArgs),
    /// Show only what it changes
    Diff(OneArgs),
    /// Approve exactly what was shown
    Approve(VerdictArgs),
    /// Ask for another revision; the proposal does not merge until you are content or lift it
    RequestChanges(VerdictArgs),
    /// Refuse it; it does not merge unless you lift that
    Reject(VerdictArgs),
    /// Say something without a verdict
    Comment(CommentArgs),
    /// Take back a verdict of yours that keeps it from merging
    Lift(LiftArgs),
}

/// `review show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook review show 7k3qm2xd
  runebook review show 7k3 --before        with the whole text before the change
  runebook review show 7k3 --json")]
struct ShowArgs {
    /// The proposal; the only one that waits for you if left out
    id: Option<String>,
    /// Print the whole text of each file before the change, too
    #[arg(long)]
    before: bool,
}

/// One proposal.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook review diff 7k3qm2xd")]
struct OneArgs {
    /// The proposal; the only one that waits for you if left out
    id: Option<String>,
}

/// A verdict.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "At a terminal a person may leave --digest out: the change is shown and then asked about. Elsewhere an \
approval needs it; `review show` ends with it. Where the policy does not say `confirm: none`, a person \
without a terminal also adds --yes. An agent that does not approve names lines or evidence.

Examples:
  runebook review approve 7k3 --digest sha256:5b0c…
  runebook review request-changes 7k3 --comment \"user/memories/seats.md:4:Says who?\"
  runebook review reject 7k3 --evidence viking://evidence/2026/11/28/chat.jsonl#L12 --message \"He said the opposite\""
)]
struct VerdictArgs {
    /// The proposal
    id: String,
    /// The digest that you were shown
    #[arg(short, long, value_name = "DIGEST")]
    digest: Option<String>,
    #[command(flatten)]
    words: Words,
    /// Do not ask: you have looked at it as it stands
    #[arg(short, long)]
    yes: bool,
}

/// What is said.
#[derive(Debug, clap::Args)]
struct Words {
    /// Words about the whole
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
    /// Words about a line of a file
    #[arg(short, long, value_name = "PATH:LINE:TEXT")]
    comment: Vec<String>,
    /// Evidence that it rests on
    #[arg(short, long, value_name = "URI")]
    evidence: Vec<String>,
}

/// `review comment`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook review comment 7k3 --message \"Which flight was that?\"
  runebook review comment 7k3 --comment \"user/memories/seats.md:4:Typo\"")]
struct CommentArgs {
    /// The proposal
    id: String,
    #[command(flatten)]
    words: Words,
}

/// `review lift`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook review lift 7k3 --message \"Seen the chat now\"
  runebook review lift 7k3 --event 5b0c12ab        another one's verdict, as an admin")]
struct LiftArgs {
    /// The proposal
    id: String,
    /// The verdict's event; your own newest one if left out
    #[arg(long, value_name = "COMMIT")]
    event: Option<String>,
    /// Why
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
}

/// An argument that cannot be read.
#[derive(Debug, thiserror::Error)]
enum WordError {
    #[error(transparent)]
    Digest(IdError),
    #[error("`{0}` is no comment on a line")]
    Comment(String),
    #[error("which proposal? none waits for your review")]
    NoneWaits,
    #[error("which proposal? several wait for your review: {}", .0.iter().map(ProposalId::as_str).collect::<Vec<_>>().join(", "))]
    SeveralWait(Vec<ProposalId>),
}

impl Explain for WordError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            WordError::NoneWaits => "`runebook propose list` shows all that are open".to_owned(),
            WordError::SeveralWait(_) => "name one of them".to_owned(),
            WordError::Digest(_) => "copy it whole from the last line of `runebook review show`".to_owned(),
            WordError::Comment(_) => {
                "write PATH:LINE:TEXT, as in `user/memories/seats.md:4:Says who?`".to_owned()
            }
        })
    }
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    match args.what {
        What::Queue => {
            let actor = actor_of(session, &vault)?;
            let waits = review::queue(&vault, &actor)?;
            Ok(list(&mut session.out, &waits, &format!("nothing waits for {}'s review", actor.id)))
        }
        What::Show(args) => {
            let id = waiting(session, &vault, args.id.as_deref())?;
            let shown = review::show(&vault, &access_of(session, &vault)?, &id)?;
            if session.out.json {
                session.out.document(&shown);
            } else {
                print::review(&mut session.out, &shown, args.before);
            }
            Ok(Done::Yes)
        }
        What::Diff(args) => {
            let id = waiting(session, &vault, args.id.as_deref())?;
            let files: Vec<_> = review::show(&vault, &access_of(session, &vault)?, &id)?
                .files
                .into_iter()
                .map(|file| file.diff)
                .collect();
            if session.out.json {
                files.iter().for_each(|file| session.out.record(file));
            } else {
                patch(&mut session.out, &files);
            }
            Ok(Done::Yes)
        }
        What::Approve(args) => verdict(args, Verdict::Approve, session, &vault),
        What::RequestChanges(args) => verdict(args, Verdict::RequestChanges, session, &vault),
        What::Reject(args) => verdict(args, Verdict::Reject, session, &vault),
        What::Comment(args) => {
            let actor = actor_of(session, &vault)?;
            let id = named_by(&vault, Some(&actor), Some(&args.id))?;
            let comments = remarks(session, &vault, &args.words)?;
            let request = Request { id, verdict: None, digest: None, message: args.words.message, comments };
            let recorded = review::say(&vault, &actor, &request)?;
            Ok(done(session, &recorded, "commented on"))
        }
        What::Lift(args) => {
            let actor = actor_of(session, &vault)?;
            let id = named_by(&vault, Some(&actor), Some(&args.id))?;
            let event: Option<Oid> = args.event.as_deref().map(|rev| vault.repo.resolve(rev)).transpose()?;
            let recorded = review::lift(&vault, &actor, &id, event, args.message.as_deref())?;
            Ok(done(session, &recorded, "lifted a verdict on"))
        }
    }
}

/// The proposal that is named, or the only one that waits for the reviewer.
fn waiting(session: &Session<'_>, vault: &Vault<'_>, id: Option<&str>) -> Result<ProposalId, Fault> {
    if id.is_some() {
        return meant(session, vault, id);
    }
    let mut waits = review::queue(vault, &actor_of(session, vault)?)?;
    match waits.len() {
        1 => Ok(waits.remove(0).id),
        0 => Err(WordError::NoneWaits.into()),
        _ => Err(WordError::SeveralWait(waits.into_iter().map(|one| one.id).collect()).into()),
    }
}

fn remarks(session: &Session<'_>, vault: &Vault<'_>, words: &Words) -> Result<Vec<Remark>, Fault> {
    let mut out = Vec::new();
    for comment in &words.comment {
        out.push(on_a_line(session, vault, comment)?);
    }
    for evidence in &words.evidence {
        let uri = Uri::parse(evidence)?;
        out.push(Remark { evidence: Some(uri.to_string()), ..Remark::default() });
    }
    Ok(out)
}

/// `PATH:LINE:TEXT`; a path may hold colons, so the first number between two colons is the line.
fn on_a_line(session: &Session<'_>, vault: &Vault<'_>, comment: &str) -> Result<Remark, Fault> {
    let wrong = || WordError::Comment(comment.to_owned());
    let colons: Vec<usize> = comment.match_indices(':').map(|(at, _)| at).collect();
    for pair in colons.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let Ok(line) = comment[from + 1..to].trim().parse::<u32>() else { continue };
        let (path, text) = (comment[..from].trim(), comment[to + 1..].trim());
        if line == 0 || path.is_empty() || text.is_empty() {
            return Err(wrong().into());
        }
        let path = super::propose::place(session, vault, path)?.path.to_string();
        return Ok(Remark {
            path: Some(path),
            line: Some(line),
            text: Some(text.to_owned()),
            evidence: None,
        });
    }
    Err(wrong().into())
}

fn verdict(
    args: VerdictArgs,
    verdict: Verdict,
    session: &mut Session<'_>,
    vault: &Vault<'_>,
) -> Result<Done, Fault> {
    let actor = actor_of(session, vault)?;
    let id = named_by(vault, Some(&actor), Some(&args.id))?;
    let comments = remarks(session, vault, &args.words)?;
    let mut digest: Option<Digest> =
        args.digest.as_deref().map(|text| text.trim().parse().map_err(WordError::Digest)).transpose()?;
    let asked = is_asked(vault, &actor)? && !args.yes;
    if verdict == Verdict::Approve && digest.is_none() {
        if !actor.is_person() {
            return Err(ReviewError::NoDigest(id).into());
        }
        let shown = review::show(vault, &access_of(session, vault)?, &id)?;
        digest = Some(shown.decision.digest);
        if !args.yes {
            print::review(&mut session.out, &shown, false);
            session.out.flush();
            ask(&format!("Approve exactly this as {}?", actor.id), &format!("the approval of {id}"))?;
        }
    } else if asked {
        let (verb, noun) = match verdict {
            Verdict::Approve => ("Approve", "approval"),
            Verdict::RequestChanges => ("Request changes of", "request for changes"),
            Verdict::Reject => ("Reject", "rejection"),
        };
        ask(&format!("{verb} {id} as {}?", actor.id), &format!("the {noun} of {id}"))?;
    }
    let request = Request { id, verdict: Some(verdict), digest, message: args.words.message, comments };
    let recorded = review::say(vault, &actor, &request)?;
    let word = match verdict {
        Verdict::Approve => "approved",
        Verdict::RequestChanges => "requested changes of",
        Verdict::Reject => "rejected",
    };
    Ok(done(session, &recorded, word))
}

fn done(session: &mut Session<'_>, recorded: &Recorded, what: &str) -> Done {
    if session.out.json {
        session.out.document(recorded);
    } else {
        print::recorded(&mut session.out, recorded, what);
    }
    Done::Yes
}
