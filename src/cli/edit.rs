//! `runebook edit`.

use std::process::Command;

use super::output::Tone;
use super::{Done, Session};
use crate::flow::reader::Reader;
use crate::flow::vault::Vault;
use crate::flow::{locate, own};
use crate::markdown;
use crate::model::access::{Access, View};
use crate::model::fault::{Explain, Fault, Kind};
use crate::model::path::VaultPath;
use crate::store::files;

/// The arguments of `runebook edit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook edit user/memories/preferences/seats.md
  VISUAL=\"code --wait\" runebook edit seats.md
The editor is $VISUAL, else $EDITOR, else git's core.editor, else vi. No shell reads it.")]
pub(crate) struct Args {
    /// What to edit: a URI, a path from where you stand or from the vault's root
    #[arg(value_name = "URI|PATH")]
    at: String,
}

#[derive(Debug, thiserror::Error)]
enum EditError {
    #[error("starting the editor `{0}`: {1}")]
    Start(String, std::io::Error),
    #[error("the editor `{0}` ended with {1}")]
    Failed(String, std::process::ExitStatus),
    #[error("the editor `{0}` has an open quotation mark")]
    Quotes(String),
}

impl Explain for EditError {
    fn kind(&self) -> Kind {
        match self {
            EditError::Quotes(_) => Kind::Usage,
            _ => Kind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            EditError::Failed(..) => Some("the file is as the editor left it".to_owned()),
            _ => Some(
                "set VISUAL or EDITOR to your editor, for example `export VISUAL=\"code --wait\"`".to_owned(),
            ),
        }
    }
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let actor = own::person(&vault, session.globals.acting.as_deref(), "edit")?;
    vault.root()?;
    let reader = Reader::new(&vault, Access { actor, view: View::WorkTree })?;
    let uri = locate::find_file(&reader, &args.at, &session.directory())?;
    let changed = open(&vault, &uri.path, session)?;
    if session.out.json {
        session.out.document(&own::Edited { path: uri.path, changed });
    } else {
        let path = session.out.paint(Tone::Path, uri.path.as_str());
        session.out.line(if changed { path } else { format!("{path} was not changed") });
    }
    Ok(Done::Yes)
}

/// Opens a file in the person's editor, waits, and warns of what is wrong with it afterwards. Returns whether it
/// changed.
pub(crate) fn open(vault: &Vault<'_>, path: &VaultPath, session: &Session<'_>) -> Result<bool, Fault> {
    let env = session.env;
    let set = env.var("VISUAL").or_else(|| env.var("EDITOR")).map(str::to_owned);
    let editor = set.or_else(|| vault.repo.config("core.editor")).unwrap_or_else(|| "vi".to_owned());
    let mut argv = split(&editor).ok_or_else(|| EditError::Quotes(editor.clone()))?.into_iter();
    let program = argv.next().unwrap_or_else(|| "vi".to_owned());
    let root = vault.root()?;
    let before = files::read(root, path)?;
    let status = Command::new(&program)
        .args(argv)
        .arg(files::place_to_read(root, path)?)
        .current_dir(session.directory())
        .status()
        .map_err(|why| EditError::Start(editor.clone(), why))?;
    if !status.success() {
        return Err(EditError::Failed(editor, status).into());
    }
    let after = files::read(root, path)?;
    if path.is_markdown() {
        session.problems(&markdown::read(path, &after, &vault.config).problems);
    }
    own::edited(vault, path, &before, &after)?;
    Ok(before != after)
}

/// Splits a command line at spaces, with quotation marks and backslashes as a person expects; nothing is expanded.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn an_editor_is_words_and_no_shell() {
        assert_eq!(split("code --wait").unwrap(), ["code", "--wait"]);
        assert_eq!(
            split("'/My Apps/ed' \"a b\" c\\ d $(x);y").unwrap(),
            ["/My Apps/ed", "a b", "c d", "$(x);y"]
        );
        assert_eq!(split("\"open"), None);
        assert_eq!(split("  ").unwrap(), Vec::<String>::new());
    }
}
