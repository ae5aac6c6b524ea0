//! Command lines that are none: what is said of them.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Cli, output};
use crate::model::fault::Kind;

/// Says what is wrong with a command line, on stderr, and with `--json` as a document on stdout too. Help and version,
/// which the parser hands over as errors, go to stdout as they are.
pub(super) fn tell(error: clap::Error, typed: Vec<OsString>) {
    let json = error.use_stderr() && typed.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    if let Some((name, meant)) = misnamed(&error, &typed) {
        let message = format!("there is no command `{name}`");
        let hint = format!("it is `runebook {meant}` here; `runebook --help` lists all");
        if json {
            document(&message, &hint);
        }
        return output::complain(&message, Some(&hint));
    }
    let more = elsewhere(&error, &typed);
    let mut error = shown(error, typed);
    if more.is_some() {
        // The parser's own guess would send people elsewhere.
        error.remove(ContextKind::Suggested);
    }
    if json {
        let text = error.render().to_string();
        // The first paragraph says what is wrong; how it is used stands behind it.
        let message = text.split("\n\n").next().unwrap_or_default();
        let message: Vec<&str> = message.lines().map(str::trim).collect();
        let message = message.join(" ");
        let hint = more.unwrap_or("`--help` behind the command shows how it is used");
        document(message.strip_prefix("error: ").unwrap_or(&message), hint);
    }
    // Nothing can be said when stderr itself is gone.
    let _ = error.print();
    if let Some(more) = more {
        output::err_line(&format!("hint: {more}"));
    }
}

/// The error as programs read it.
fn document(message: &str, hint: &str) {
    let status = Kind::Usage.exit_status();
    let error = serde_json::json!({ "error": { "message": message, "hint": hint, "exit_status": status } });
    output::print_document(&error);
}

/// What is known of an option that means something else before the command, or that another command has.
fn elsewhere(error: &clap::Error, args: &[OsString]) -> Option<&'static str> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let has = |command: &str| args.iter().any(|arg| arg == command);
    match error.kind() {
        ErrorKind::ValueValidation if has("grep") && option.starts_with("--context") => Some(
            "behind `grep`, -C is how many lines around a hit are printed; a directory stands before it: `runebook -C DIR grep …`",
        ),
        ErrorKind::UnknownArgument if has("edit") && !has("propose") => {
            const PROPOSED: [&str; 7] =
                ["--set", "--unset", "--section", "--append", "--old", "--new", "--body"];
            PROPOSED
                .iter()
                .any(|known| option.starts_with(known))
                .then_some("`runebook edit` opens an editor; `runebook propose edit` has this option")
        }
        _ => None,
    }
}

/// What other programs call a command, or one that stands below another: what was typed, and what it is here.
fn misnamed(error: &clap::Error, args: &[OsString]) -> Option<(String, &'static str)> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let of_hooks = args.windows(2).any(|two| two[0] == "hooks" && two[1] == typed.as_str());
    let meant = match typed.as_str() {
        // Whether they are installed is one of the things that it examines.
        "status" | "list" | "show" if of_hooks => "doctor",
        "submit" => "propose submit",
        "withdraw" | "close" | "abandon" => "propose withdraw",
        "write" => "propose write",
        "from-worktree" => "propose from-worktree",
        "queue" => "review queue",
        "approve" => "review approve",
        "reject" => "review reject",
        "request-changes" => "review request-changes",
        "comment" => "review comment",
        "lift" => "review lift",
        "search" | "query" => "find",
        "delete" | "remove" | "del" => "rm",
        "move" | "rename" => "mv",
        "add" | "create" | "touch" => "new",
        "open" => "edit",
        "read" | "view" => "cat",
        "list" | "dir" => "ls",
        "revert" => "rollback",
        "redo" => "undo --redo",
        "lint" | "validate" => "check",
        "history" => "log",
        "index" | "rebuild" => "reindex",
        "models" => "model list",
        "verify" => "audit",
        "actors" => "actor list",
        "proposals" => "propose list",
        _ => return None,
    };
    Some((typed.clone(), meant))
}

/// The error about a command line with what was typed in a form that a terminal does not obey and that stays on its
/// line: the parser is asked again with that.
fn shown(error: clap::Error, typed: Vec<OsString>) -> clap::Error {
    let odd = |arg: &OsString| arg.to_string_lossy().chars().any(char::is_control);
    if !typed.iter().any(odd) {
        return error;
    }
    let typed = typed.iter().map(|arg| output::one_line(&arg.to_string_lossy()));
    Cli::command().try_get_matches_from(typed).err().filter(clap::Error::use_stderr).unwrap_or_else(|| {
        Cli::command().error(error.kind(), "the command line holds control characters where none can be")
    })
}
