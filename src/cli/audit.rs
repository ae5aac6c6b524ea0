//! `runebook audit`.

use super::output::Tone;
use super::{Done, Session};
use crate::flow::audit::{Outcome, Report, Violation, audit};
use crate::model::fault::Fault;

/// The arguments of `runebook audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  runebook audit                      every commit of the approved branch since the vault began
  runebook audit --from HEAD~20       only what came after a commit
  runebook audit --json | jq .verdict

Exit status: 0 the rules held, 1 they did not.")]
pub(crate) struct Args {
    /// Begin behind this commit of the approved branch
    #[arg(long, value_name = "REV")]
    from: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let report = audit(&vault, args.from.as_deref(), &super::progress::Bar::new(session))?;
    if session.out.json {
        session.out.document(&report);
    } else {
        print(&report, session);
    }
    Ok(if report.verdict == Outcome::Broken { Done::Nothing } else { Done::Yes })
}

fn print(report: &Report, session: &mut Session<'_>) {
    let out = &mut session.out;
    for (violations, tone) in [(&report.violations, Tone::Bad), (&report.warnings, Tone::Warn)] {
        for Violation { commit, rule, proposal, message } in violations {
            let of = proposal.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
            let line = format!(
                "{} {}{of}: {}",
                out.paint(Tone::Path, commit.short()),
                out.paint(tone, rule),
                super::output::printable(message)
            );
            out.line(line);
        }
    }
    let counts = format!(
        "{} {} since {}: {} merged {}, {} direct, {} pulled",
        report.commits,
        plural(report.commits, "commit", "commits"),
        report.from.short(),
        report.merges,
        plural(report.merges, "proposal", "proposals"),
        report.direct,
        report.pulls
    );
    out.line(counts);
    let verdict = match report.verdict {
        Outcome::HeldProved => out.paint(Tone::Good, "held (proved)"),
        Outcome::HeldRecorded => out.paint(Tone::Good, "held (recorded)"),
        Outcome::Broken => out.paint(Tone::Bad, "broken"),
    };
    out.line(verdict);
    // A rewritten root has a message that says all; every other violation is of a commit that can be looked at.
    if let Some(Violation { commit, .. }) = report.violations.iter().rfind(|one| one.rule != "root") {
        let short = commit.short();
        out.note(format!(
            "next: `runebook show {short}` tells what it did; take back what should not stand (`git revert`), then hold \
             what came later against the rules with `runebook audit --from {short}`"
        ));
    }
    for note in &report.notes {
        out.detail(note);
    }
}

fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
