//! `runebook eval`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::output::{Output, Tone};
use super::progress::Bar;
use super::{Done, Session, given};
use crate::flow::eval::arms::Arm;
use crate::flow::eval::{self, EvalAnswer, EvalRequest, Summary};
use crate::model::fault::Fault;

/// The arms that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AskedArm {
    /// Words alone
    Text,
    /// Meaning alone
    Dense,
    /// Both, as `find` does it
    Fused,
    /// Each of them
    All,
}

/// The arguments of `runebook eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = "A file of cases:
  cases:
  - id: seats
    query: where does she like to sit on a plane
    relevant:
    - user/memories/preferences/window-seats.md
    - {uri: 'viking://user/memories/entities/trips.md', grade: 1}
    tier: 1                        # 1 direct, 2 across sessions, 3 proactive
    tags: [travel]                 # cases with a tag are summed up together
    filters: {types: [semantic]}   # types, tags, paths, since, until, as `find` has them
  - id: nothing
    query: the cluster's autoscaler
    empty: true                    # nothing should be found

Measures, each from 0 to 1 over the first k answers:
  nDCG       the gain of what is found, less the lower it stands, by that of the best order
  recall     the share of what is relevant that is found
  hit        the share of cases with anything relevant
  MRR        one over the rank of the first relevant one
  P          the share of the k that is relevant
  empty      of the cases in which nothing is to be found, the share in which something was (0 is best)
`grep` (how many words of the question a memory has) and `bm25` (plain BM25) are held beside.

Examples:
  runebook eval .runebook/eval.yaml
  runebook eval cases.yaml --arm text --k 5 -v
  runebook eval cases.yaml --json | jq '.arms[] | {arm, ndcg: .all.measures.ndcg}'")]
pub(crate) struct Args {
    /// The file of cases (YAML); `-`: standard input
    #[arg(value_name = "CASES")]
    file: PathBuf,
    /// How many answers are looked at
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    k: u32,
    /// Which arm to measure
    #[arg(long, value_enum, default_value_t = AskedArm::All, value_name = "ARM")]
    arm: AskedArm,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let mut arms = vec![Arm::Grep, Arm::Bm25];
    arms.extend(match args.arm {
        AskedArm::Text => vec![Arm::Text],
        AskedArm::Dense => vec![Arm::Dense],
        AskedArm::Fused => vec![Arm::Fused],
        AskedArm::All => vec![Arm::Text, Arm::Dense, Arm::Fused],
    });
    // The file stands where the person stands, and may be no part of the vault.
    let text = given::text(Some(&args.file), session, eval::MOST_BYTES)?;
    let at = session.directory().join(&args.file);
    let file = at.strip_prefix(&session.env.current_dir).map_or(at.clone(), PathBuf::from);
    let file =
        if args.file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
    let k = usize::try_from(args.k).unwrap_or(10);
    let request =
        EvalRequest { file: &file, text: &text, k, arms, acting: session.globals.acting.as_deref() };
    let bar = Bar::new(session);
    let answer = eval::eval(&vault, &request, &bar)?;
    for note in answer.freshness.notes.iter().chain(&answer.notes) {
        session.out.note(format!("note: {note}"));
    }
    if session.out.json {
        session.out.document(&answer);
    } else {
        show(&answer, &mut session.out);
    }
    Ok(Done::Yes)
}

fn show(answer: &EvalAnswer, out: &mut Output) {
    let cases = |count: usize| if count == 1 { "1 case".to_owned() } else { format!("{count} cases") };
    let empty = match answer.empty_cases {
        0 => String::new(),
        count => format!(", and {count} in which nothing is to be found"),
    };
    out.line(format!("{} with answers{empty}; the first {} of each", cases(answer.cases), answer.k));
    out.line("");
    let head = format!(
        "{:<12} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>9} {:>9}",
        "arm", "nDCG", "recall", "hit", "MRR", "P", "empty", "p50", "p95"
    );
    out.line(out.paint(Tone::Dim, head));
    for report in &answer.arms {
        let line = row(report.arm.name(), &report.all);
        out.line(line);
    }
    let grouped = |groups: &[eval::Group], what: &str, out: &mut Output| {
        for group in groups {
            out.line(row(&format!("  {what}{}", group.name), &group.summary));
        }
    };
    if let Some(last) = answer.arms.last() {
        let shown = !last.tiers.is_empty() || !last.tags.is_empty();
        if shown {
            out.line("");
            out.line(out.paint(Tone::Bold, last.arm.name()));
        }
        grouped(&last.tiers, "tier ", out);
        grouped(&last.tags, "", out);
        if !last.missed.is_empty() {
            out.line("");
            out.line(format!("not found by {}: {}", last.arm.name(), last.missed.join(", ")));
        }
    }
}

fn row(name: &str, summary: &Summary) -> String {
    let m = &summary.measures;
    let empty = summary.answered_empty.map_or("-".to_owned(), |share| format!("{share:.2}"));
    let name = if name.chars().count() > 12 {
        name.chars().take(11).chain(['…']).collect()
    } else {
        name.to_owned()
    };
    format!(
        "{name:<12} {:>6.3} {:>6.3} {:>6.3} {:>6.3} {:>6.3} {empty:>6} {:>6.1} ms {:>6.1} ms",
        m.ndcg, m.recall, m.hit, m.mrr, m.precision, summary.p50_ms, summary.p95_ms
    )
}
