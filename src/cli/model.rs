//! `runebook model`.

use std::path::PathBuf;

use super::output::{Tone, one_line};
use super::progress::Bar;
use super::{Done, Session};
use crate::flow::models::{self, Import, Imported, Listed, ModelError, Said};
use crate::model::embedding::{ModelName, NONE, Pooling};
use crate::model::fault::Fault;

/// The arguments of `runebook model`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Models and the library that runs them are yours, not a vault's. A vault names a model at most.

Examples:
  runebook model list
  runebook model install
  runebook model import ~/Downloads/e5-small --runtime ~/Downloads/libonnxruntime.so
  runebook model use none"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show what is installed, and which model is used here
    #[command(after_help = "Examples:
  runebook model list
  runebook model list --json")]
    List,
    /// Take a model from a directory, once it was tried
    #[command(after_help = "Examples:
  runebook model import ~/Downloads/e5-small
  runebook model import ./minilm --name minilm --pooling mean
  runebook model import ./e5-small --runtime /opt/onnxruntime/lib/libonnxruntime.so")]
    Import(ImportArgs),
    /// Download a model from a hub
    #[command(after_help = "Examples:
  runebook model install
  runebook model install all-minilm-l6-v2")]
    Install {
        /// Its name: multilingual-e5-small, multilingual-e5-base, bge-small-zh-v1.5 or all-minilm-l6-v2
        #[arg(default_value = "multilingual-e5-small")]
        name: String,
        /// Take the place of an installed model of that name
        #[arg(long)]
        replace: bool,
    },
    /// Choose the model of this vault, or of all vaults that name none
    #[command(after_help = "Examples:
  runebook model use e5-small
  runebook model use none
  runebook model use e5-small --global")]
    Use {
        /// An installed model, or `none`: search by words alone
        name: String,
        /// For all vaults that name none
        #[arg(long)]
        global: bool,
    },
    /// Remove an installed model
    #[command(after_help = "Examples:
  runebook model remove e5-small")]
    Remove {
        /// The model
        name: String,
    },
    /// Register the library that runs models: ONNX Runtime, 1.24 or newer
    #[command(after_help = "Examples:
  runebook model runtime /opt/onnxruntime/lib/libonnxruntime.so")]
    Runtime {
        /// The library's file
        path: PathBuf,
    },
    /// Try the runtime and a model in this process
    #[command(hide = true)]
    Probe {
        /// The model's directory
        path: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
struct ImportArgs {
    /// The directory: model.onnx, tokenizer.json, config.json, special_tokens_map.json, tokenizer_config.json
    directory: PathBuf,
    /// What to call it; else what its model.yaml says, or the directory's name
    #[arg(long)]
    name: Option<String>,
    /// Take the place of an installed model of that name
    #[arg(long)]
    replace: bool,
    /// Register this library first: ONNX Runtime, 1.24 or newer
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// How the vectors of tokens become one
    #[arg(long, value_enum)]
    pooling: Option<PoolingName>,
    /// What the model wants in front of a question
    #[arg(long, value_name = "TEXT")]
    query_prefix: Option<String>,
    /// What the model wants in front of what is searched
    #[arg(long, value_name = "TEXT")]
    passage_prefix: Option<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum PoolingName {
    Mean,
    Cls,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    match args.command {
        Command::List => list(session),
        Command::Import(args) => import(args, session),
        Command::Install { name, replace } => {
            let name = named(&name)?;
            let bar = Bar::new(session);
            let imported = models::install(session.env, &name, replace, &bar)?;
            Ok(brought(session, &imported))
        }
        Command::Use { name, global } => choose(&name, global, session),
        Command::Remove { name } => {
            let removed = models::remove(session.env, &named(&name)?)?;
            let out = &mut session.out;
            if out.json {
                out.document(&removed);
            } else {
                let line = format!("removed {}", out.paint(Tone::Name, removed.name.as_str()));
                out.line(line);
                if removed.was_default {
                    out.note("no model is your default now; `runebook model use NAME --global` chooses one");
                }
            }
            Ok(Done::Yes)
        }
        Command::Runtime { path } => {
            let bar = Bar::new(session);
            let path = session.directory().join(path);
            let registered = models::register(session.env, &path, &bar)?;
            let out = &mut session.out;
            if out.json {
                out.document(&registered);
            } else {
                let path = out.paint(Tone::Path, registered.path.display().to_string());
                out.line(format!("{path}  ONNX Runtime {}", out.plain(&registered.version)));
            }
            Ok(Done::Yes)
        }
        Command::Probe { path } => {
            let probed = models::probe(&models::runtime(session.env), path.as_deref())?;
            session.out.document(&probed);
            Ok(Done::Yes)
        }
    }
}

fn named(text: &str) -> Result<ModelName, Fault> {
    Ok(text.parse::<ModelName>().map_err(ModelError::from)?)
}

fn import(args: ImportArgs, session: &mut Session<'_>) -> Result<Done, Fault> {
    let here = session.directory();
    let request = Import {
        directory: here.join(args.directory),
        said: Said {
            name: args.name.as_deref().map(named).transpose()?,
            pooling: args.pooling.map(|pooling| match pooling {
                PoolingName::Mean => Pooling::Mean,
                PoolingName::Cls => Pooling::Cls,
            }),
            query_prefix: args.query_prefix,
            passage_prefix: args.passage_prefix,
        },
        replace: args.replace,
        runtime: args.runtime.map(|path| here.join(path)),
    };
    let bar = Bar::new(session);
    let imported = models::import(session.env, &request, &bar)?;
    Ok(brought(session, &imported))
}

fn brought(session: &mut Session<'_>, imported: &Imported) -> Done {
    let out = &mut session.out;
    if out.json {
        out.document(imported);
        return Done::Yes;
    }
    let line = format!(
        "{}  {} dimensions, {}, ONNX Runtime {}{}",
        out.paint(Tone::Name, imported.name.as_str()),
        imported.dimensions,
        out.plain(imported.languages.join(" ")),
        out.plain(&imported.runtime),
        if imported.unchanged { " (was installed already)" } else { "" },
    );
    out.line(line);
    if imported.is_default {
        out.note("it is used in every vault that names no other; `runebook reindex` embeds what is there");
    } else {
        out.note(format!(
            "`runebook model use {0}` uses it in this vault, `runebook model use {0} --global` in all",
            imported.name
        ));
    }
    Done::Yes
}

fn choose(name: &str, global: bool, session: &mut Session<'_>) -> Result<Done, Fault> {
    let model = if name == NONE { None } else { Some(named(name)?) };
    let used = if global {
        models::use_everywhere(session.env, model)?
    } else {
        let vault = session.vault()?;
        models::use_in_vault(&vault, session.globals.acting.as_deref(), model)?
    };
    let out = &mut session.out;
    if out.json {
        out.document(&used);
        return Ok(Done::Yes);
    }
    let what = match &used.model {
        Some(name) => out.paint(Tone::Name, name.as_str()),
        None => "none: search is by words alone".to_owned(),
    };
    let path = out.paint(Tone::Path, used.path.display().to_string());
    out.line(format!("{path}  model: {what}"));
    if !used.installed {
        out.warn("that model is not installed on this machine; `runebook model list` shows what is");
    }
    if used.in_vault && !used.unchanged {
        out.note("commit it: `runebook commit .runebook/config.yaml`");
    }
    Ok(Done::Yes)
}

fn list(session: &mut Session<'_>) -> Result<Done, Fault> {
    // Outside of vaults, what holds where a vault names no model.
    let vault = session.vault().ok();
    let listed = models::list(session.env, vault.as_ref().map(|vault| &vault.config))?;
    let out = &mut session.out;
    if out.json {
        out.document(&listed);
    } else {
        print(&listed, session);
    }
    Ok(if listed.models.is_empty() { Done::Nothing } else { Done::Yes })
}

fn print(listed: &Listed, session: &mut Session<'_>) {
    let out = &mut session.out;
    let width = listed.models.iter().map(|model| model.name.len()).max().unwrap_or(0);
    for model in &listed.models {
        let used = listed.used.as_ref().is_some_and(|name| name.as_str() == model.name);
        let mark = if used { out.paint(Tone::Good, "*") } else { " ".to_owned() };
        let name = out.paint(Tone::Name, format!("{:width$}", model.name));
        let line = match &model.problem {
            Some(problem) => format!("{mark} {name}  {}", out.paint(Tone::Bad, one_line(problem))),
            None => format!(
                "{mark} {name}  {} dimensions  {:>4} MB  {}  {}",
                model.dimensions,
                model.bytes.div_ceil(1_000_000),
                out.plain(one_line(&model.languages.join(" "))),
                out.paint(Tone::Dim, one_line(&model.source)),
            ),
        };
        out.line(line);
    }
    match (&listed.used, &listed.chosen_by, &listed.unavailable) {
        (Some(name), Some(by), _) => {
            out.line(format!("used here: {} (chosen by {by})", out.paint(Tone::Name, name.as_str())));
        }
        (_, _, Some(why)) => {
            out.line(format!("search is by words alone: {}", out.plain(one_line(why))));
            if let Some(hint) = &listed.hint {
                out.note(format!("hint: {hint}"));
            }
        }
        _ => {}
    }
    let runtime = &listed.runtime;
    let place = match &runtime.path {
        Some(path) => out.paint(Tone::Path, path.display().to_string()),
        None => "the system's".to_owned(),
    };
    match (&runtime.version, &runtime.problem) {
        (Some(version), _) => out.line(format!("runtime: ONNX Runtime {} ({place})", out.plain(version))),
        (_, Some(problem)) => {
            out.line(format!("runtime: {}", out.paint(Tone::Bad, one_line(problem))));
            if let Some(hint) = &runtime.hint {
                out.note(format!("hint: {hint}"));
            }
        }
        _ => {}
    }
}
