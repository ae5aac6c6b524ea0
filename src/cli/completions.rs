//! `runebook completions`.

use clap::CommandFactory as _;

use super::{Cli, Done, Session};
use crate::model::fault::Fault;

/// The arguments of `runebook completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook completions bash > ~/.local/share/bash-completion/completions/runebook
  runebook completions zsh > ~/.zfunc/_runebook
  runebook completions fish > ~/.config/fish/completions/runebook.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "runebook", &mut script);
    session.out.raw(&script);
    Ok(Done::Yes)
}
