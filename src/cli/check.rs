//! `runebook check`.

use std::collections::BTreeMap;

use super::output::{Tone, one_line};
use super::progress::Bar;
use super::{Done, Output, Session};
use crate::check::size;
use crate::flow::check::{self, Report};
use crate::flow::heal::{self, Fixed, Sign};
use crate::flow::own;
use crate::model::fault::Fault;
use crate::model::finding::{Finding, Severity};

/// The arguments of `runebook check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook check                         every file, five findings of each rule
  runebook check user/memories           what stands below a directory
  runebook check --rule link --all       every finding about links
  runebook check --proposal 7k3qm2xd     what a proposal changes, as its merge would leave it
  runebook check --json | jq '.rules'    the counts
  runebook check --fix --dry-run         what can be mended by itself

Exit status: 0 nothing or warnings, 1 something to mend or to be judged by a person.
The policy sets severities by path: `checks: {link.broken: error, secret.jwt: info}`.")]
pub(crate) struct Args {
    /// Files or directories: paths or viking:// addresses; everything if left out
    #[arg(value_name = "PATH", conflicts_with = "proposal")]
    paths: Vec<String>,
    /// Check what this proposal changes instead of the files here
    #[arg(long, value_name = "ID")]
    proposal: Option<String>,
    /// Report only this check (`link`) or rule (`link.broken`); may be given several times
    #[arg(long, value_name = "RULE")]
    rule: Vec<String>,
    /// Mend what has one exact fix: stale summaries, links after renames that were made outside (of files, headings,
    /// blocks; committed or not), links by an alias, full-width colons
    #[arg(long, conflicts_with = "proposal")]
    fix: bool,
    /// With --fix: show what would be done, and do nothing
    #[arg(short = 'n', long, requires = "fix")]
    dry_run: bool,
    /// Show every finding, also those that are for information only
    #[arg(long)]
    all: bool,
}

/// How many findings of one rule people see at once.
const SHOWN: usize = 5;

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    check::known_rules(&args.rule)?;
    let vault = session.vault()?;
    if args.fix {
        own::person(&vault, session.globals.acting.as_deref(), "check --fix")?;
        let paths = check::places(&vault, &session.directory(), &args.paths)?;
        let fixed = heal::fix(&vault, &paths, args.dry_run, &Bar::new(session))?;
        if session.out.json {
            session.out.document(&fixed);
            return Ok(Done::Yes);
        }
        show_fixed(session, &fixed);
        if args.dry_run {
            return Ok(Done::Yes);
        }
    }
    let access = super::propose::access_of(session, &vault)?;
    let report = match &args.proposal {
        Some(id) => check::proposal(&vault, &access, id)?,
        None => {
            let paths = check::places(&vault, &session.directory(), &args.paths)?;
            check::work_tree(&vault, &access, &paths, &Bar::new(session))?
        }
    };
    let report = report.only(&args.rule);
    if session.out.json {
        session.out.document(&report);
    } else {
        show(session, &report, args.all, !args.rule.is_empty());
    }
    Ok(if report.has_errors() { Done::Nothing } else { Done::Yes })
}

/// What was mended, for people.
fn show_fixed(session: &mut Session<'_>, fixed: &Fixed) {
    let verbose = session.globals.verbose;
    let out = &mut session.out;
    for one in &fixed.renamed {
        let by = match one.by {
            Sign::Id => "the same id",
            Sign::Content => "the same content",
            Sign::Similar => "much the same content",
        };
        let (from, to) = (out.plain(one.from.as_str()), out.paint(Tone::Path, one.to.as_str()));
        let commit = one.commit.map_or(String::new(), |commit| format!(", renamed in {}", commit.short()));
        out.line(format!("{to}  (was {from}: {by}{commit})"));
    }
    for part in &fixed.parts {
        let (old, new) = (out.plain(&part.old), format!("{}#{}", part.path, part.new));
        let new = out.paint(Tone::Path, new);
        out.line(format!("{new}  (was #{old})"));
    }
    super::mv::show(out, &fixed.links, fixed.dry_run, verbose);
    for line in &fixed.lines {
        let path = out.paint(Tone::Path, line.path.as_str());
        out.line(format!("{path}:{}: {} → {}", line.line, one_line(&line.old), one_line(&line.new)));
    }
    for path in &fixed.layers {
        let path = out.paint(Tone::Path, path.as_str());
        out.line(format!("{path}  (made anew)"));
    }
    let nothing = fixed.renamed.is_empty()
        && fixed.lines.is_empty()
        && fixed.links.healed.is_empty()
        && fixed.layers.is_empty();
    if nothing {
        out.note("nothing that can be mended without a person");
    }
    if let Some(back) = &fixed.looked_back {
        let commits = if back.commits == 1 { "commit" } else { "commits" };
        let rest = if back.complete { "" } else { "; older ones were not looked at" };
        out.note(format!("looked back through {} {commits} for what links still name{rest}", back.commits));
    }
}

fn show(session: &mut Session<'_>, report: &Report, all: bool, asked: bool) {
    let out = &mut session.out;
    let files = match report.files {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    if report.rules.is_empty() {
        out.line(format!("{files} checked, {}", out.paint(Tone::Good, "nothing found")));
        return;
    }
    out.line(format!("{files} checked"));
    let widest = report.rules.iter().map(|count| count.rule.len()).max().unwrap_or_default();
    for count in &report.rules {
        let severity = out.paint(count.severity.into(), format!("{:<7}", count.severity.as_str()));
        let mut about = count.about.clone().unwrap_or_default();
        if count.rule == "attachment.unused" && report.unused_bytes > 0 {
            about.push_str(&format!(" ({} in all)", size(report.unused_bytes)));
        }
        let line = format!("{:>7}  {severity}  {:<widest$}  {about}", count.findings, count.rule);
        out.line(line.trim_end());
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut first = true;
    for finding in &report.findings {
        if finding.severity == Severity::Info && !all && !asked {
            continue;
        }
        let count = seen.entry(&finding.rule).or_default();
        *count += 1;
        if all || *count <= SHOWN {
            if std::mem::take(&mut first) {
                out.line("");
            }
            finding_lines(out, finding);
        }
    }
    let remarks: Vec<&str> = report
        .rules
        .iter()
        .filter(|count| count.severity == Severity::Info && !all && !asked)
        .map(|count| count.rule.as_str())
        .collect();
    let hidden: Vec<_> = seen.iter().filter(|(_, count)| !all && **count > SHOWN).collect();
    if !hidden.is_empty() || !remarks.is_empty() {
        out.line("");
    }
    for (rule, count) in hidden {
        let more = format!("{} more of {rule}: runebook check --all --rule {rule}", *count - SHOWN);
        out.line(out.paint(Tone::Dim, more));
    }
    let how = match remarks.as_slice() {
        [] => return,
        [one] => format!("--rule {one}"),
        _ => "--all".to_owned(),
    };
    out.line(out.paint(Tone::Dim, format!("remarks are only counted here: runebook check {how}")));
}

fn finding_lines(out: &mut Output, finding: &Finding) {
    let place = match (&finding.path, finding.line) {
        (Some(path), Some(line)) => format!("{}:{line}: ", out.paint(Tone::Path, one_line(path.as_str()))),
        (Some(path), None) => format!("{}: ", out.paint(Tone::Path, one_line(path.as_str()))),
        (None, _) => String::new(),
    };
    let severity = out.paint(finding.severity.into(), finding.severity.as_str());
    let message = one_line(&finding.message);
    out.line(format!("{place}{severity} {}: {message}", finding.rule));
    if let Some(fix) = &finding.fix {
        out.line(format!("    fix: {}", one_line(fix)));
    }
}
