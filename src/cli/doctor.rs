//! `runebook doctor`.

use super::output::{Tone, one_line};
use super::{Done, Output, Session};
use crate::flow::doctor::{self, Explanation, Report};
use crate::flow::locate;
use crate::flow::settings;
use crate::model::fault::Fault;
use crate::model::finding::Severity;

/// The arguments of `runebook doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook doctor                                   examine everything
  runebook doctor user/memories/profile/mei.md      which rules hold for a path, and what you may do there
  runebook --as claude doctor viking://agent/skills/  the same for another actor
Exit status 1 when something should be mended.")]
pub(crate) struct Args {
    /// Explain what the policy says of this URI or path; nothing has to stand there
    #[arg(value_name = "URI|PATH")]
    at: Option<String>,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let acting = session.globals.acting.clone();
    if let Some(text) = &args.at {
        let vault = session.vault()?;
        let uri = locate::named(&vault, text, &session.directory())?;
        let answer = doctor::explain(&vault, &uri.path, acting.as_deref())?;
        if session.out.json {
            session.out.document(&answer);
        } else {
            explain(&mut session.out, &answer);
        }
        return Ok(Done::Yes);
    }
    let report = doctor::doctor(session.env, &session.directory(), acting.as_deref())?;
    if session.out.json {
        session.out.document(&report);
    } else {
        show(&mut session.out, &report);
    }
    let bad = report.findings.iter().any(|finding| finding.severity > Severity::Info);
    Ok(if bad { Done::Nothing } else { Done::Yes })
}

fn show(out: &mut Output, report: &Report) {
    let width = report.facts.iter().map(|fact| fact.name.len()).max().unwrap_or(0);
    for fact in &report.facts {
        let name = out.paint(Tone::Dim, format!("{:width$}", fact.name));
        let from = out.paint(Tone::Dim, format!("({})", fact.from));
        let value = out.plain(one_line(&fact.value));
        out.line(format!("{name}  {value}  {from}"));
    }
    out.line("");
    if report.findings.is_empty() {
        let good = out.paint(Tone::Good, "nothing to mend");
        out.line(good);
        return;
    }
    for finding in &report.findings {
        let tone = Tone::from(finding.severity);
        let place =
            finding.path.as_ref().map(|path| format!("{}: ", one_line(path.as_str()))).unwrap_or_default();
        let line = format!(
            "{}{}  {}",
            out.paint(Tone::Path, place),
            out.paint(tone, &finding.rule),
            out.plain(&finding.message)
        );
        out.line(line);
        if let Some(fix) = &finding.fix {
            let fix = out.plain(fix);
            out.line(format!("    {fix}"));
        }
    }
}

fn explain(out: &mut Output, answer: &Explanation) {
    let path = if answer.path.is_root() { "viking://".to_owned() } else { answer.path.to_string() };
    let line = format!(
        "{} as {}",
        out.paint(Tone::Path, one_line(&path)),
        out.paint(Tone::Name, answer.actor.as_str())
    );
    out.line(line);
    for may in &answer.may {
        let word = if may.may { out.paint(Tone::Good, "may    ") } else { out.paint(Tone::Bad, "may not") };
        out.line(format!("  {word} {:8} {}", may.what, one_line(&may.why)));
    }
    if !answer.held.require.is_empty() {
        out.line(format!("  a memory needs {}", one_line(&answer.held.require.join(", "))));
    }
    let head = out.paint(Tone::Bold, "rules of .runebook/policy.yaml that hold, the last one wins");
    out.line(head);
    for rule in &answer.rules {
        let number = out.paint(Tone::Name, format!("{:>3}", rule.number));
        out.line(format!("{number}  {}", one_line(&rule.paths.join(" "))));
        let sets = settings::leaves(&rule.sets);
        let width = sets.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, value) in sets {
            let name = out.paint(Tone::Dim, format!("{:width$}", one_line(&name)));
            out.line(format!("     {name}  {}", one_line(&value)));
        }
    }
}
