//! `runebook find`.

use clap::ValueEnum;

use super::output::Tone;
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::asof::Revision;
use crate::flow::find::{self, FindAnswer, FindHit, FindRequest, Status};
use crate::flow::locate;
use crate::flow::reader;
use crate::flow::sync::Freshness;
use crate::model::fault::Fault;

/// The states that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AskedStatus {
    /// In use
    Active,
    /// Unsettled
    Pending,
    /// Served on request only
    Demoted,
    /// Put away
    Archived,
    /// Every one
    All,
}

/// The arguments of `runebook find`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Query:
  seats window          words, in any order; other forms of a word are found too
  \"over two hours\"      words one behind the other
  tag:travel  type:episodic  path:user/  path:'user/**/seats*.md'
  -bus  -tag:draft      not this (put the whole query in quotes, or write -- before it)
  靠窗座位               Chinese words; single characters and parts of words are found too

Examples:
  runebook find window seats
  runebook find '\"靠窗\" tag:旅行 -巴士'
  runebook find deploy --type procedural --since 30d -n 5
  runebook find seats --rev yesterday       as the approved branch was at the end of that day; also 7d, a date, a commit
  runebook find seats --rev 7k3qm2xd        what an open proposal changes, on the approved branch
  runebook find --lexical 'error 403'       by words alone, though there is a model
  runebook find HTTP-403 --json | jq -r '.hits[].path'")]
pub(crate) struct Args {
    /// What to look for
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// How many memories to show at most
    #[arg(short = 'n', long = "limit", default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only this type (profile, semantic, episodic, procedural, skill, resource)
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only what has this tag
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only paths that match this glob or begin with it, from where you stand or from the vault's root
    #[arg(long = "path", value_name = "GLOB")]
    paths: Vec<String>,
    /// Only what is dated from then on (2026-11-28, or 7d for the last seven days)
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only what is dated until then, the day included
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// Only this status; active and pending ones if not given
    #[arg(long, value_enum, value_name = "STATUS")]
    status: Vec<AskedStatus>,
    /// Search the approved branch instead of the files here
    #[arg(long)]
    main: bool,
    /// Search as of a commit, a date (2026-11-28, 7d, yesterday) or with what a proposal changes
    #[arg(long, value_name = "REV", conflicts_with = "main")]
    rev: Option<String>,
    /// Go by words alone, though there is a model
    #[arg(long)]
    lexical: bool,
    /// Show what each word adds to the scores, and what words and meaning say
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let access = reader::access(&vault, session.globals.acting.as_deref(), args.rev.as_deref())?;
    let standing = session.directory();
    let paths = args.paths.iter().map(|path| locate::pattern(&vault, path, &standing));
    let paths = paths.collect::<Result<_, _>>()?;
    let request = FindRequest {
        query: args.query.join(" "),
        limit: usize::try_from(args.limit).unwrap_or(10).clamp(1, 1000),
        types: args.types,
        tags: args.tags,
        paths,
        since: args.since,
        until: args.until,
        statuses: args.status.iter().map(|status| status.read()).collect(),
        main: args.main,
        rev: args.rev,
        explain: args.explain,
        arm: if args.lexical { find::Arm::Text } else { find::Arm::Fused },
    };
    let bar = Bar::new(session);
    let answer = find::find(&vault, &access, &request, &bar)?;
    let done = if answer.hits.is_empty() { Done::Nothing } else { Done::Yes };
    if let Some(rev) = &answer.rev {
        session.out.note(as_of(rev, &vault.config.main_branch));
    }
    for note in answer.freshness.notes.iter().chain(&answer.notes) {
        session.out.note(format!("note: {note}"));
    }
    pending(&answer.freshness, session);
    let because = answer.lexical_because.as_deref().filter(|_| !args.lexical);
    if let Some(because) = because {
        session.out.detail(format!("by words alone: {because}"));
    }
    if session.out.json {
        session.out.document(&answer);
    } else if answer.hits.is_empty() {
        nothing(&answer, &request, &vault.config.main_branch, session);
    } else {
        for (at, hit) in answer.hits.iter().enumerate() {
            if at > 0 {
                session.out.line("");
            }
            show(hit, &vault.config.main_branch, session);
        }
    }
    Ok(done)
}

impl AskedStatus {
    fn read(self) -> Status {
        match self {
            AskedStatus::Active => Status::Active,
            AskedStatus::Pending => Status::Pending,
            AskedStatus::Demoted => Status::Demoted,
            AskedStatus::Archived => Status::Archived,
            AskedStatus::All => Status::All,
        }
    }
}

/// The state that was searched, in words.
fn as_of(rev: &Revision, main: &str) -> String {
    let commit = rev.commit.to_string();
    let (short, day) = (&commit[..10], rev.date.get(..16).unwrap_or(&rev.date).replace('T', " "));
    match &rev.proposal {
        Some(id) => {
            format!("{main} with what proposal {id} changes (as of {day}), which nobody approved yet")
        }
        None if rev.approved => format!("as of {day} (commit {short})"),
        None => format!(
            "commit {short} of {day}, which is no state of the approved branch: not reviewed as a whole"
        ),
    }
}

/// What is not in the answer yet.
pub(super) fn pending(freshness: &Freshness, session: &Session<'_>) {
    if freshness.pending > 0 {
        session.out.warn(format!(
            "{} files could not be taken in; `runebook reindex -v` names them",
            freshness.pending
        ));
    }
    if freshness.unembedded > 0 {
        session.out.note(format!(
            "note: pending: {} texts are found by their words alone until `runebook reindex` or a watcher has embedded them",
            freshness.unembedded
        ));
    }
}

/// `main` is the name of the approved branch.
pub(super) fn show(hit: &FindHit, main: &str, session: &mut Session<'_>) {
    show_place(hit, main, session);
    let out = &mut session.out;
    if let Some(of) = &hit.copy_of {
        out.line(format!("  a copy of {} that says something else", out.paint(Tone::Path, of.as_str())));
    }
    for shown in &hit.attachments {
        let path = out.paint(Tone::Path, super::output::one_line(shown.path.as_str()));
        let words = if shown.words.is_empty() {
            String::new()
        } else {
            format!("  {}", super::output::one_line(&shown.words))
        };
        out.line(format!("  shows {path}{words}"));
    }
}

fn show_place(hit: &FindHit, main: &str, session: &mut Session<'_>) {
    let out = &mut session.out;
    let mut head = format!("{}:{}", out.paint(Tone::Path, hit.path.as_str()), hit.line);
    if hit.title != hit.path.stem() {
        head.push_str(&format!("  {}", out.paint(Tone::Bold, &hit.title)));
    }
    let facts =
        [hit.memory_type.as_deref(), hit.date.as_deref(), hit.status.as_deref().filter(|s| *s != "active")];
    for fact in facts.into_iter().flatten() {
        head.push_str(&format!("  {}", out.paint(Tone::Dim, fact)));
    }
    let stands = match (hit.approved, hit.current) {
        (false, _) => Some((Tone::Warn, format!("not on {main}"))),
        (true, Some(false)) => Some((Tone::Dim, format!("no longer so on {main}"))),
        _ => None,
    };
    if let Some((tone, words)) = stands {
        head.push_str(&format!("  {}", out.paint(tone, words)));
    }
    out.line(head);
    let headings: Vec<&str> = hit.headings.iter().map(String::as_str).filter(|h| *h != hit.title).collect();
    if !headings.is_empty() {
        let line = format!("  {}", out.paint(Tone::Dim, headings.join(" › ")));
        out.line(line);
    }
    if !hit.snippet.text.is_empty() {
        let line = format!("  {}", marked(hit, session));
        session.out.line(line);
    }
    if let Some(arms) = &hit.arms {
        for line in arms_of(arms, hit.score) {
            session.out.line(session.out.paint(Tone::Dim, line));
        }
    }
    for part in &hit.explain {
        let line = format!("  {:>9.4}  {:<9} {}", part.score, part.field, part.term);
        session.out.line(session.out.paint(Tone::Dim, line));
    }
}

/// What words and meaning say of a hit, line by line.
fn arms_of(arms: &find::Arms, score: f64) -> Vec<String> {
    let line = |name: &str, arm: &Option<find::ArmScore>, none: &str| match arm {
        Some(arm) => {
            let rank = arm.rank.map_or_else(|| "-".to_owned(), |rank| format!("#{rank}"));
            format!("  {:>9.4}  {name:<9} {rank}, z {:+.2}", arm.score, arm.z)
        }
        None => format!("  {:>9}  {name:<9} {none}", "-"),
    };
    let mut lines = vec![
        format!("  {score:>9.4}  together"),
        line("words", &arms.text, "did not find it"),
        line("meaning", &arms.dense, "waits for its vector"),
    ];
    if arms.likes != 0.0 {
        lines.push(format!("  {:>9.4}  likes     what resembles it adds", arms.likes));
    }
    if arms.run != 0.0 {
        lines.push(format!(
            "  {:>9.4}  run       the question stands there as it was typed, or much of it",
            arms.run
        ));
    }
    if arms.named != 0.0 {
        lines.push(format!("  {:>9.4}  name      the question is its title", arms.named));
    }
    lines
}

fn marked(hit: &FindHit, session: &Session<'_>) -> String {
    let (text, mut at, mut line) = (&hit.snippet.text, 0, String::new());
    for (from, to) in &hit.snippet.marks {
        line.push_str(&super::output::printable(&text[at..*from]));
        line.push_str(&session.out.paint(Tone::Good, &text[*from..*to]));
        at = *to;
    }
    line.push_str(&super::output::printable(&text[at..]));
    line
}

fn nothing(answer: &FindAnswer, request: &FindRequest, main: &str, session: &mut Session<'_>) {
    let narrow = !request.types.is_empty()
        || !request.tags.is_empty()
        || !request.paths.is_empty()
        || request.since.is_some()
        || request.until.is_some()
        || request.query.contains(':');
    let empty = request.query.trim().is_empty();
    let what = if empty && narrow {
        "nothing passes the filters".to_owned()
    } else if empty {
        "nothing was asked".to_owned()
    } else {
        format!("nothing found for `{}`", shortened(&answer.query))
    };
    session.out.note(format!(
        "{what} ({})",
        match answer.view.as_str() {
            "main" => format!("searched {main}"),
            "rev" => "searched that older state".to_owned(),
            "proposal" => format!("searched {main} with what the proposal changes"),
            _ if !answer.freshness.is_present() => {
                format!(
                    "searched the index of {} s ago, not the files as they are now",
                    answer.freshness.scanned_seconds
                )
            }
            _ => "searched the files here".to_owned(),
        }
    ));
    let hint = if empty && narrow {
        "`runebook ls` and `runebook tree` show what there is"
    } else if empty {
        "say what to look for: `runebook find window seats`"
    } else if narrow {
        "try it without the filters, or `runebook grep` for the exact letters"
    } else if request.statuses.is_empty() {
        "try fewer or other words, `--status all` for what was put away, or `runebook grep` for the exact letters"
    } else {
        "try fewer or other words, or `runebook grep` for the exact letters"
    };
    session.out.note(format!("hint: {hint}"));
    let because = answer.lexical_because.as_deref().filter(|why| why.starts_with("no model"));
    if let Some(because) = because.filter(|_| !answer.notes.iter().any(|note| note.contains("no model"))) {
        session.out.note(format!("by words alone: {because}"));
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() > 60 { text.chars().take(60).chain(['…']).collect() } else { text.to_owned() }
}
