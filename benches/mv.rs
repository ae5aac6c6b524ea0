//! Links of a vault at work: a move that 5,000 links follow, and the whole link graph. `mv VAULT`, `graph VAULT`.
//!
//! `mv` works in a vault of its own that it makes beside: VAULT names a directory that does not exist yet, or one that
//! an earlier run made.

use std::path::Path;
use std::process::Command;

use crate::support::{self, Result, command};
use crate::words::{Chance, english_sentence};
use runebook::flow::check;
use runebook::flow::links::{self, GraphRequest};
use runebook::flow::progress::Silent;
use runebook::flow::reader::Reader;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::model::access::{Access, View};
use runebook::model::path::VaultPath;
use runebook::model::uri::Uri;

/// Memories with a link to the one that is moved.
const REFERRERS: usize = 5_000;
/// Memories without.
const OTHERS: usize = 5_000;

/// Moves a note back and forth and prints how long it takes, each time as a new process.
pub(crate) fn run(dir: &Path) -> Result<()> {
    if !dir.exists() {
        make(dir)?;
    }
    let program = env!("CARGO_BIN_EXE_runebook");
    command(dir, program, &["reindex"])?;
    let names =
        ["resources/hub.md", "user/centre.md", "resources/hub.md", "agent/middle.md", "resources/hub.md"];
    let mut rows = Vec::new();
    for pair in names.windows(2) {
        // The move before changed 5,000 memories; what that means for the index is not this move's.
        command(dir, program, &["reindex"])?;
        let mut healed = 0;
        let spent = support::timed(|| {
            let out = command(dir, program, &["mv", "--json", pair[0], pair[1]])?;
            let answer: serde_json::Value = serde_json::from_str(&out)?;
            healed = answer["links"]["healed"].as_array().map_or(0, Vec::len);
            Ok(())
        })?;
        rows.push((pair[1], spent, format!("{healed} links changed")));
    }
    command(dir, program, &["reindex"])?;
    let dry =
        support::timed(|| command(dir, program, &["mv", "-n", "--json", "resources/hub.md", "user/x.md"]))?;
    rows.push(("--dry-run", dry, String::new()));
    support::say(format!("{}: `mv` of a note with {REFERRERS} referrers, as a new process", dir.display()))?;
    support::table(&rows)
}

fn make(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    let program = env!("CARGO_BIN_EXE_runebook");
    command(dir, "git", &["init", "-q", "-b", "main"])?;
    command(dir, "git", &["config", "user.name", "Mei"])?;
    command(dir, "git", &["config", "user.email", "mei@example.org"])?;
    let mut chance = Chance::new(5);
    let forms = ["[[hub]]", "[the hub](../hub.md#Key)", "[[resources/hub|h]]", "<viking://resources/hub.md>"];
    for at in 0..REFERRERS + OTHERS {
        let mut text = format!("# Note {at}\n\n");
        for line in 0..30 {
            text.push_str(&english_sentence(&mut chance));
            if line % 6 == 0 {
                text.push_str(&format!(" [[note-{}]]", (at * 7 + line) % (REFERRERS + OTHERS)));
            }
            if line == 10 && at < REFERRERS {
                text.push_str(&format!(" See {}.", forms[at % forms.len()]));
            }
            text.push('\n');
        }
        let place = dir.join(format!("resources/{:02}/note-{at}.md", at % 50));
        std::fs::create_dir_all(place.parent().unwrap_or(dir))?;
        std::fs::write(place, text)?;
    }
    std::fs::write(dir.join("resources/hub.md"), "# Hub\n\n## Key\n\nThe middle of it all.\n")?;
    command(dir, program, &["init", "--existing", "--yes"])?;
    let git = |args: &[&str]| Command::new("git").args(args).current_dir(dir).status();
    git(&["add", "-A"])?;
    git(&["commit", "-qm", "Notes"])?;
    Ok(())
}

/// All links of a vault, and its check.
pub(crate) fn graph(dir: &Path) -> Result<()> {
    let env = support::env(dir);
    let vault = Vault::open(&env, dir)?;
    sync::ensure(&vault, &Silent)?;
    let access = || Access { actor: None, view: View::WorkTree };
    let reader = Reader::new(&vault, access())?;
    let (mut count, mut findings) = (0, 0);
    let graph = support::timed(|| {
        let graph = links::graph(&reader, &GraphRequest::default(), &Silent)?;
        count = graph.states.values().sum::<u64>();
        Ok(())
    })?;
    let all = Uri::directory(VaultPath::root());
    let links = support::timed(|| Ok(links::links(&reader, &all, &Silent)?))?;
    let check = support::timed(|| {
        findings = check::work_tree(&vault, &access(), &[], &Silent)?.findings.len();
        Ok(())
    })?;
    support::say(format!("{}: {count} links", dir.display()))?;
    support::table(&[
        ("graph", graph, String::new()),
        ("links of everything", links, String::new()),
        ("check of everything", check, format!("{findings} findings")),
    ])?;
    support::say(format!("peak memory {} MiB", support::peak_mib()))
}
