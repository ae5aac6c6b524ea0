//! `runebook demo`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::output::Tone;
use super::{Done, Session};
use crate::flow::{demo, example, init, preset::Preset, proposals, propose, vault::Vault};
use crate::model::clock::Env;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::id::ProposalId;

/// The arguments of `runebook demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  runebook demo                   the whole loop in a temporary directory, which is removed afterwards
  runebook demo --keep my-demo    the same, and the vault stays there to look around in")]
pub(crate) struct Args {
    /// Make the vault in this directory, which must be new or empty, and leave it there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Why the demo stopped.
#[derive(Debug, thiserror::Error)]
enum DemoError {
    /// It shows commands and their output; there is no data to give.
    #[error("demo is for people: it has no JSON to give")]
    Json,
    /// No place for it.
    #[error("making a place for the demo{}: {why}", .at.as_ref().map(|at| format!(" at {}", at.display())).unwrap_or_default())]
    Place { at: Option<PathBuf>, why: std::io::Error },
    /// There is a vault already.
    #[error("{} is a vault already", .0.display())]
    Taken(PathBuf),
    /// A command ended otherwise than it should.
    #[error("`{command}` ended with status {status}")]
    Step { command: String, status: u8 },
}

impl Explain for DemoError {
    fn kind(&self) -> Kind {
        match self {
            DemoError::Json | DemoError::Taken(_) => Kind::Usage,
            _ => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            DemoError::Json => "leave `--json` out".to_owned(),
            DemoError::Place { at: Some(_), .. } | DemoError::Taken(_) => {
                "name another directory with `--keep`".to_owned()
            }
            DemoError::Place { at: None, .. } => "set TMPDIR to a directory that can be written".to_owned(),
            DemoError::Step { .. } => "run it again with `--keep my-demo` and look around there".to_owned(),
        })
    }
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    if session.out.json {
        return Err(DemoError::Json.into());
    }
    let place = |at: Option<&Path>| {
        let at = at.map(Path::to_owned);
        move |why| DemoError::Place { at, why }
    };
    let temporary = tempfile::Builder::new().prefix("runebook-demo-").tempdir().map_err(place(None))?;
    let root = match &args.keep {
        Some(directory) => session.directory().join(directory),
        None => temporary.path().join("vault"),
    };
    let env = demo::env(session.env, &root).map_err(place(None))?;
    let draft = temporary.path().join("night-flights.md");
    std::fs::write(&draft, demo::draft(&env)).map_err(place(Some(&draft)))?;
    Stage { env: &env, session, root: &root }.play(&draft)?;
    let out = &mut session.out;
    out.line("");
    match args.keep {
        Some(_) => out.line(format!(
            "The vault stays in {}. Try `runebook -C {} --as mei log`.",
            out.paint(Tone::Path, root.display().to_string()),
            root.display()
        )),
        None => out.line(
            "The vault was a temporary one and is gone. `runebook demo --keep my-demo` leaves it to you.",
        ),
    }
    Ok(Done::Yes)
}

/// Plays the commands, each as a person would type it, and lets them print.
struct Stage<'s, 'e, 'd> {
    env: &'d Env,
    session: &'s mut Session<'e>,
    root: &'s Path,
}

impl Stage<'_, '_, '_> {
    fn play(&mut self, draft: &Path) -> Result<(), Fault> {
        self.prepare()?;
        self.say("Mei writes in any editor. She finds what she knows, in either language.");
        demo::edit(self.root).map_err(|why| DemoError::Place { at: Some(self.root.to_owned()), why })?;
        self.command(None, &["commit", "-m", "Note how prints travel"], 0)?;
        self.command(None, &["find", "window seat", "-n", "1"], 0)?;
        self.command(None, &["find", "靠窗", "-n", "1"], 0)?;

        self.say(
            "An agent read in a conversation that she takes no night flights, and proposes to remember it.",
        );
        self.command(Some(demo::SCRIBE), &["propose", "new", "No night flights"], 0)?;
        let id = self.proposal()?;
        let id = id.as_str();
        // Shown as it is typed where the draft lies.
        let write = |draft| ["propose", "write", id, demo::TARGET, "--file", draft];
        let path = draft.display().to_string();
        self.shown_as(Some(demo::SCRIBE), &write("no-night-flights.md"), &write(&path), 0)?;
        self.command(Some(demo::SCRIBE), &["propose", "submit", id], 0)?;
        self.command(None, &["check", "--proposal", id], 0)?;

        self.say("Nothing enters unreviewed, not even for Mei.");
        self.command(None, &["merge", id], Kind::NotAllowed.exit_status())?;

        self.say(
            "An agent of another model family approves exactly that change, by its digest; it merges and is found.",
        );
        let digest = self.digest(id)?;
        let approve = ["review", "approve", id, "-m", "The quote stands there", "--digest", &digest];
        self.command(Some(demo::REVIEWER), &approve, 0)?;
        self.command(None, &["merge", id], 0)?;
        self.command(None, &["find", "红眼航班", "-n", "1"], 0)?;

        self.say("Mei takes it back, and the audit walks every commit since the beginning.");
        self.command(None, &["rollback", id, "--merge"], 0)?;
        self.command(None, &["find", "红眼航班", "-n", "1"], 0)?;
        self.command(None, &["audit"], 0)
    }

    /// A copy of the example, with its people and agents.
    fn prepare(&mut self) -> Result<(), Fault> {
        let content = example::files();
        let memories = content.iter().filter(|(path, _)| demo::is_memory(path)).count();
        let request = init::Request {
            directory: self.root.to_owned(),
            existing: false,
            content: content.into_iter().map(|(path, bytes)| (path, bytes.to_vec())).collect(),
            preset: Preset::Solo,
        };
        // What is there already is somebody's: nothing of it is touched.
        if !init::init(self.env, &request)?.created {
            return Err(DemoError::Taken(self.root.to_owned()).into());
        }
        demo::settle(self.root).map_err(|why| DemoError::Place { at: Some(self.root.to_owned()), why })?;
        let out = &mut self.session.out;
        let place = out.paint(Tone::Path, self.root.display().to_string());
        out.line(format!("A copy of the example vault, {memories} memories in English and Chinese: {place}"));
        self.command(None, &["commit", "-m", "Let one agent propose and another review"], 0)
    }

    /// The one proposal that is open.
    fn proposal(&self) -> Result<ProposalId, Fault> {
        let vault = Vault::open(self.env, self.root)?;
        let open = proposals::open_ones(&vault.repo)?;
        let step = || DemoError::Step { command: "runebook propose new".to_owned(), status: 0 };
        Ok(open.into_iter().next().map(|(id, _)| id).ok_or_else(step)?)
    }

    /// The digest of the change, as `review show` ends with it.
    fn digest(&self, id: &str) -> Result<String, Fault> {
        let vault = Vault::open(self.env, self.root)?;
        let id = proposals::named_by(&vault, None, Some(id))?;
        Ok(propose::story(&vault, &super::propose::access_of(self.session, &vault)?, &id)?.digest.to_string())
    }

    fn say(&mut self, text: &str) {
        let out = &mut self.session.out;
        out.line("");
        let text = out.paint(Tone::Bold, format!("# {text}"));
        out.line(text);
    }

    /// Shows a command, runs it as if it had been typed, and holds it to its exit status.
    fn command(&mut self, actor: Option<&str>, words: &[&str], expected: u8) -> Result<(), Fault> {
        self.shown_as(actor, words, words, expected)
    }

    fn shown_as(
        &mut self,
        actor: Option<&str>,
        shown_words: &[&str],
        words: &[&str],
        expected: u8,
    ) -> Result<(), Fault> {
        let mut shown = vec!["runebook".to_owned()];
        if let Some(actor) = actor {
            shown.extend(["--as".to_owned(), actor.to_owned()]);
        }
        shown.extend(shown_words.iter().map(|word| quoted(word)));
        let shown = shown.join(" ");
        let out = &mut self.session.out;
        let line = out.paint(Tone::Dim, format!("$ {shown}"));
        out.line(line);
        out.flush();
        let color = if out.colored() { "--color=always" } else { "--color=never" };
        let mut args: Vec<OsString> = vec!["runebook".into(), color.into(), "-q".into()];
        if let Some(actor) = actor {
            args.extend(["--as".into(), actor.into()]);
        }
        args.extend(words.iter().map(OsString::from));
        let status = super::run(self.env, args);
        if status == expected { Ok(()) } else { Err(DemoError::Step { command: shown, status }.into()) }
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
