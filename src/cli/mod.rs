//! The command line: one file a verb. Parses, calls `flow`, prints.

mod abstract_;
mod actor;
mod ask;
mod audit;
mod backlinks;
mod cat;
mod check;
mod commit;
mod completions;
mod consent;
mod demo;
mod diff;
mod doctor;
mod edit;
mod eval;
mod find;
mod given;
mod glob;
mod graph;
mod grep;
mod hooks;
mod init;
mod links;
mod log;
mod ls;
mod man;
mod merge;
mod model;
mod mv;
mod new;
mod output;
mod overview;
mod progress;
mod propose;
mod reindex;
mod remember;
mod review;
mod rm;
mod rollback;
mod show;
mod similar;
mod status;
mod tree;
mod undo;
mod usage;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::flow::locate::{self, Target};
use crate::flow::reader::{Reader, Stands};
use crate::flow::vault::Vault;
use crate::model::clock::Env;
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::finding::{Finding, Severity};
use crate::model::path::VaultPath;
use crate::model::uri::Uri;
pub(crate) use output::Output;

/// The flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Work in this directory instead of the current one
    // Only before the command, as git has it: behind it `-C` is the command's own (`grep -C 2`).
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Act as this actor of .runebook/actors.yaml
    #[arg(long = "as", value_name = "ACTOR", global = true)]
    pub(crate) acting: Option<String>,
    /// Print JSON instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = output::ColorChoice::Auto, value_name = "WHEN", global = true)]
    pub(crate) color: output::ColorChoice,
    /// Print only what was asked for
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more about what is done
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "runebook", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

/// All verbs; each has a file of its own with an `Args` and a `run`.
#[derive(Debug, Subcommand)]
enum Command {
    /// Make a vault here, or make one of what is here
    Init(init::Args),
    /// Show the state of the vault: index, proposals, uncommitted changes
    Status(status::Args),
    /// Examine the vault and this machine, and say what to mend
    Doctor(doctor::Args),
    /// Take a copy of the example vault through the whole loop
    Demo(demo::Args),
    /// Add and list the people and agents of the vault
    Actor(actor::Args),
    /// List a directory
    Ls(ls::Args),
    /// Show the tree below a directory
    Tree(tree::Args),
    /// Print a memory, a section of it or a range of lines
    Cat(cat::Args),
    /// Say in a few lines what a directory or memory holds
    Abstract(abstract_::Args),
    /// Show what a directory holds, or the outline of a memory
    Overview(overview::Args),
    /// Search the files for a pattern
    Grep(grep::Args),
    /// List the files whose paths match a pattern
    Glob(glob::Args),
    /// Search the memories
    Find(find::Args),
    /// Find what says the same as a memory
    Similar(similar::Args),
    /// Measure how well the search answers questions whose answers are known
    Eval(eval::Args),
    /// Show where the links of a memory lead
    Links(links::Args),
    /// Show what links to a memory
    Backlinks(backlinks::Args),
    /// Show the graph of links
    Graph(graph::Args),
    /// Show what changed, by whose word
    Log(log::Args),
    /// Show a proposal, an event or a commit
    Show(show::Args),
    /// Show what differs between states of the vault
    Diff(diff::Args),
    /// Make a new memory
    New(new::Args),
    /// Open a memory in your editor
    Edit(edit::Args),
    /// Move or rename
    Mv(mv::Args),
    /// Remove
    Rm(rm::Args),
    /// Commit your own changes to the approved branch
    Commit(commit::Args),
    /// Check memories and report findings
    Check(check::Args),
    /// Propose a sentence or two as a memory, in the place where it belongs
    Remember(remember::Args),
    /// Propose changes on a branch of their own
    Propose(propose::Args),
    /// Review what was proposed
    Review(review::Args),
    /// Merge an approved proposal
    Merge(merge::Args),
    /// Take back a merged proposal
    Rollback(rollback::Args),
    /// Take back the last thing that you did
    Undo(undo::Args),
    /// Verify that everything on the approved branch was allowed
    Audit(audit::Args),
    /// Bring the index up to date
    Reindex(reindex::Args),
    /// Let git keep the layer files: install hooks and a merge driver in this clone
    Hooks(hooks::Args),
    /// Merge a layer file, for git
    #[command(hide = true)]
    MergeDriver(hooks::DriverArgs),
    /// Bring, choose and remove the model that search by meaning uses
    Model(model::Args),
    /// Keep the index up to date while files change
    Watch(watch::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
}

/// What a verb works with.
pub(crate) struct Session<'e> {
    pub(crate) env: &'e Env,
    pub(crate) globals: Globals,
    pub(crate) out: Output,
}

impl<'e> Session<'e> {
    /// Where the person stands, or the directory of `-C`.
    pub(crate) fn directory(&self) -> PathBuf {
        match &self.globals.directory {
            Some(directory) => self.env.current_dir.join(directory),
            None => self.env.current_dir.clone(),
        }
    }

    /// The vault of the directory, as the acting person or agent may see it.
    pub(crate) fn reader<'v>(
        &self,
        vault: &'v Vault<'e>,
        rev: Option<&str>,
    ) -> Result<Reader<'v, 'e>, Fault> {
        Reader::open(vault, self.globals.acting.as_deref(), rev)
    }

    /// The same for a place: without a revision of its own, the one that the place's address names holds.
    pub(crate) fn reader_at<'v>(
        &self,
        vault: &'v Vault<'e>,
        rev: Option<&str>,
        at: Option<&str>,
    ) -> Result<Reader<'v, 'e>, Fault> {
        let named = || at.and_then(|text| Uri::parse(text).ok()?.rev);
        let rev = rev.map(str::to_owned).or_else(named);
        self.reader(vault, rev.as_deref())
    }

    /// What was named, or the directory where the person stands.
    pub(crate) fn target(&self, reader: &Reader<'_, '_>, text: Option<&str>) -> Result<Target, Fault> {
        let standing = self.directory();
        let here = locate::find(reader, text.unwrap_or("."), &standing);
        match text {
            // In a directory that the vault does not show, the root is the next best.
            None => here.or_else(|_| self.target_or_root(reader, None)),
            // A file's name without its ending is understood where a file is.
            Some(text) => here.or_else(|why| match locate::find_file(reader, text, &standing) {
                Ok(uri) => Ok(Target { uri, kind: Stands::File }),
                Err(_) => Err(why),
            }),
        }
    }

    /// What was named, for a verb that knows the vault only as it stands.
    pub(crate) fn target_today(&self, reader: &Reader<'_, '_>, text: &str) -> Result<Target, Fault> {
        let target = self.target(reader, Some(text))?;
        match &target.uri.rev {
            Some(_) => Err(OlderState(target.uri.to_string()).into()),
            None => Ok(target),
        }
    }

    /// What was named, or the root.
    pub(crate) fn target_or_root(
        &self,
        reader: &Reader<'_, '_>,
        text: Option<&str>,
    ) -> Result<Target, Fault> {
        match text {
            Some(text) => locate::find(reader, text, &self.directory()),
            None => Ok(Target { uri: Uri::directory(VaultPath::root()), kind: Stands::Directory }),
        }
    }

    /// Findings on the way, as warnings on stderr.
    pub(crate) fn problems(&self, problems: &[Finding]) {
        for problem in problems.iter().filter(|problem| problem.severity > Severity::Info) {
            let place = problem.path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
            self.out.warn(format!("{place}{}", problem.message));
        }
    }

    /// The vault of the directory.
    pub(crate) fn vault(&self) -> Result<Vault<'e>, Fault> {
        let directory = self.directory();
        if self.globals.directory.is_some() {
            at_directory(&directory)?;
        }
        let mut vault = Vault::open(self.env, &directory)?;
        vault.asked.clone_from(&self.globals.acting);
        if let Some(recovery) = &vault.recovery {
            self.out.warn(recovery);
        }
        Ok(vault)
    }
}

/// `-C` names no directory, or one that the system does not show.
#[derive(Debug, thiserror::Error)]
enum NoDirectory {
    #[error("{} is no directory", .0.display())]
    None(PathBuf),
    #[error("{}: {why}", at.display())]
    Unseen { at: PathBuf, why: std::io::Error },
}

impl Explain for NoDirectory {
    fn kind(&self) -> Kind {
        match self {
            NoDirectory::None(_) => Kind::Usage,
            NoDirectory::Unseen { .. } => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            NoDirectory::None(_) => Some("`-C` takes the directory of a vault, or one in it".to_owned()),
            NoDirectory::Unseen { .. } => None,
        }
    }
}

/// Whether `-C` names a directory.
fn at_directory(at: &Path) -> Result<(), NoDirectory> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match at.metadata() {
        Ok(data) if data.is_dir() => Ok(()),
        Err(why) if !matches!(why.kind(), NotFound | NotADirectory) => {
            Err(NoDirectory::Unseen { at: at.to_owned(), why })
        }
        _ => Err(NoDirectory::None(at.to_owned())),
    }
}

/// An address of an older state, for a verb that knows none.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is an address in an older state, and links are known of the vault as it stands only")]
struct OlderState(String);

impl Explain for OlderState {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        Some("leave `?rev=…` away; `runebook cat` shows what links stood there then".to_owned())
    }
}

/// How a verb that did not fail ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// It did what was asked.
    Yes,
    /// It reports findings, or found nothing. Exit status 1.
    Nothing,
}

impl Command {
    fn run(self, session: &mut Session<'_>) -> Result<Done, Fault> {
        match self {
            Command::Init(args) => init::run(args, session),
            Command::Status(args) => status::run(args, session),
            Command::Doctor(args) => doctor::run(args, session),
            Command::Demo(args) => demo::run(args, session),
            Command::Actor(args) => actor::run(args, session),
            Command::Ls(args) => ls::run(args, session),
            Command::Tree(args) => tree::run(args, session),
            Command::Cat(args) => cat::run(args, session),
            Command::Abstract(args) => abstract_::run(args, session),
            Command::Overview(args) => overview::run(args, session),
            Command::Grep(args) => grep::run(args, session),
            Command::Glob(args) => glob::run(args, session),
            Command::Find(args) => find::run(args, session),
            Command::Similar(args) => similar::run(args, session),
            Command::Eval(args) => eval::run(args, session),
            Command::Links(args) => links::run(args, session),
            Command::Backlinks(args) => backlinks::run(args, session),
            Command::Graph(args) => graph::run(args, session),
            Command::Log(args) => log::run(args, session),
            Command::Show(args) => show::run(args, session),
            Command::Diff(args) => diff::run(args, session),
            Command::New(args) => new::run(args, session),
            Command::Edit(args) => edit::run(args, session),
            Command::Mv(args) => mv::run(args, session),
            Command::Rm(args) => rm::run(args, session),
            Command::Commit(args) => commit::run(args, session),
            Command::Check(args) => check::run(args, session),
            Command::Remember(args) => remember::run(args, session),
            Command::Propose(args) => propose::run(args, session),
            Command::Review(args) => review::run(args, session),
            Command::Merge(args) => merge::run(args, session),
            Command::Rollback(args) => rollback::run(args, session),
            Command::Undo(args) => undo::run(args, session),
            Command::Audit(args) => audit::run(args, session),
            Command::Reindex(args) => reindex::run(args, session),
            Command::Hooks(args) => hooks::run(args, session),
            Command::MergeDriver(args) => hooks::drive(&args, session),
            Command::Model(args) => model::run(args, session),
            Command::Watch(args) => watch::run(args, session),
            Command::Completions(args) => completions::run(args, session),
            Command::Man(args) => man::run(args, session),
        }
    }
}

/// Runs the program with the process's arguments and environment.
#[must_use]
pub fn main() -> ExitCode {
    let env = match Env::from_process() {
        Ok(env) => env,
        Err(error) => {
            output::complain(&format!("reading the environment: {error}"), None);
            return ExitCode::from(Kind::Failed.exit_status());
        }
    };
    let cancel = env.cancel.clone();
    // The first Ctrl-C asks the work to stop where nothing is half done, the second ends it as it is: everything
    // is written whole or not at all. Without a handler Ctrl-C ends the program at once, which is as safe.
    let _ = ctrlc::set_handler(move || {
        if cancel.is_cancelled() || ask::ASKING.load(std::sync::atomic::Ordering::Relaxed) {
            std::process::exit(130);
        }
        cancel.cancel();
    });
    std::panic::set_hook(Box::new(|info| {
        if crate::index::text::is_guarded() {
            return;
        }
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        let why = info.payload().downcast_ref::<&str>().map(|text| (*text).to_owned());
        let why = why.or_else(|| info.payload().downcast_ref::<String>().cloned()).unwrap_or_default();
        output::complain(
            &format!("this is a bug in runebook{place}: {why}"),
            Some("no file was left half written; please report it with the command that you ran"),
        );
    }));
    let args = std::env::args_os().collect();
    let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&env, args)));
    ExitCode::from(status.unwrap_or(Kind::Failed.exit_status()))
}

/// Runs one command line and returns the exit status.
fn run(env: &Env, args: Vec<OsString>) -> u8 {
    let typed = args.clone();
    let parsed = Cli::command().try_get_matches_from(args).and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to stdout with status 0, a wrong command line to stderr with 2.
            let status = if error.use_stderr() { Kind::Usage.exit_status() } else { 0 };
            usage::tell(error, typed);
            return status;
        }
    };
    let out = Output::new(env, &cli.globals);
    let mut session = Session { env, globals: cli.globals, out };
    let result = cli.command.run(&mut session);
    let status = match result {
        Ok(Done::Yes) => 0,
        Ok(Done::Nothing) => 1,
        Err(fault) => {
            session.out.fault(&fault);
            fault.kind().exit_status()
        }
    };
    match session.out.finish() {
        Ok(()) => status,
        // Nobody reads any more: `runebook ls | head` is no error. What failed otherwise has failed all the same.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => status,
        Err(error) => {
            output::complain(&format!("writing the output: {error}"), None);
            Kind::Failed.exit_status()
        }
    }
}
