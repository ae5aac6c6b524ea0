//! `runebook actor`.

use super::output::Tone;
use super::{Done, Session};
use crate::flow::actors::{self, Request};
use crate::model::actor::{ActorKind, Role};
use crate::model::fault::Fault;
use crate::model::id::ActorId;

/// The arguments of `runebook actor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runebook actor list
  runebook actor add claude --kind agent --family claude --role propose
  runebook actor add lin --kind person --email lin@example.org --role review --role merge")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add a person or an agent; only an admin may
    #[command(after_help = "Examples:
  runebook actor add claude --kind agent --family claude
  runebook actor add gpt --kind agent --family gpt --role propose --role review
  runebook actor add lin --kind person --email lin@example.org")]
    Add(Add),
    /// List the people and agents
    #[command(after_help = "Examples:
  runebook actor list
  runebook actor list --json")]
    List,
}

#[derive(Debug, clap::Args)]
struct Add {
    /// The name: a-z, 0-9, `.`, `_`, `-`
    id: ActorId,
    /// A person or an agent
    #[arg(long, value_enum)]
    kind: KindName,
    /// The model family of an agent: claude, gpt, deepseek, kimi, qwen, …
    #[arg(long)]
    family: Option<String>,
    /// The address of its commits; ID@agents.invalid for an agent if left out
    #[arg(long)]
    email: Option<String>,
    /// The human or service behind it, if it has several accounts
    #[arg(long)]
    principal: Option<String>,
    /// What it may do; may be given several times. An agent proposes if left out; a person reviews and merges too
    #[arg(long = "role", value_enum, value_name = "ROLE", value_delimiter = ',')]
    roles: Vec<RoleName>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum KindName {
    Person,
    Agent,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RoleName {
    /// Open proposals
    Propose,
    /// Give verdicts
    Review,
    /// Merge what is approved
    Merge,
    /// Change settings
    Admin,
}

pub(crate) fn run(args: Args, session: &mut Session<'_>) -> Result<Done, Fault> {
    match args.command {
        Command::List => list(session),
        Command::Add(add) => {
            let vault = session.vault()?;
            let request = Request {
                id: add.id,
                kind: match add.kind {
                    KindName::Person => ActorKind::Person,
                    KindName::Agent => ActorKind::Agent,
                },
                family: add.family,
                email: add.email,
                principal: add.principal,
                roles: add
                    .roles
                    .iter()
                    .map(|role| match role {
                        RoleName::Propose => Role::Propose,
                        RoleName::Review => Role::Review,
                        RoleName::Merge => Role::Merge,
                        RoleName::Admin => Role::Admin,
                    })
                    .collect(),
            };
            let added = actors::add(&vault, session.globals.acting.as_deref(), &request)?;
            let out = &mut session.out;
            if out.json {
                out.document(&added);
            } else {
                let line = format!(
                    "{} may {} (commit {})",
                    out.paint(Tone::Name, added.actor.id.as_str()),
                    roles(&added.actor.roles),
                    added.commit.short()
                );
                out.line(line);
                if added.actor.kind == ActorKind::Agent {
                    out.note(format!(
                        "the agent acts with RUNEBOOK_ACTOR={} in its environment",
                        added.actor.id
                    ));
                }
            }
            Ok(Done::Yes)
        }
    }
}

fn roles(roles: &[Role]) -> String {
    let names: Vec<&str> = roles
        .iter()
        .map(|role| match role {
            Role::Propose => "propose",
            Role::Review => "review",
            Role::Merge => "merge",
            Role::Admin => "admin",
        })
        .collect();
    if names.is_empty() { "read".to_owned() } else { names.join(", ") }
}

fn list(session: &mut Session<'_>) -> Result<Done, Fault> {
    let vault = session.vault()?;
    let all = actors::list(&vault)?;
    let out = &mut session.out;
    if out.json {
        all.iter().for_each(|actor| out.record(actor));
        return Ok(Done::Yes);
    }
    let width = all.iter().map(|actor| actor.id.as_str().len()).max().unwrap_or(0);
    let wide = all.iter().map(|actor| roles(&actor.roles).len()).max().unwrap_or(0);
    for actor in &all {
        let kind = match actor.kind {
            ActorKind::Person => "person".to_owned(),
            ActorKind::Agent => {
                super::output::one_line(&format!("agent ({})", actor.family.as_deref().unwrap_or("?")))
            }
        };
        let name = out.paint(Tone::Name, format!("{:width$}", actor.id.as_str()));
        let state = if actor.revoked.is_some() {
            out.paint(Tone::Bad, format!("{:wide$}", "revoked"))
        } else {
            format!("{:wide$}", roles(&actor.roles))
        };
        let email = out.paint(Tone::Dim, &actor.email);
        out.line(format!("{name}  {kind:16}  {state}  {email}"));
    }
    Ok(if all.is_empty() { Done::Nothing } else { Done::Yes })
}
