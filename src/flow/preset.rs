//! The settings that a new vault begins with, written out in full so that a person can read and change them.

use serde::{Deserialize, Serialize};

use crate::model::actor::ActorKind;

/// Which policy a vault begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// One person and their agents on one machine: identities are recorded, persons commit directly.
    #[default]
    Solo,
    /// Several people: identities are proved, admins commit directly, a person looks at what steers behaviour.
    Team,
}

/// A text as a YAML scalar that reads back as that text.
#[must_use]
pub fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '@' | '+'))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    // A JSON string is a YAML scalar in double quotes.
    if plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// The text of `config.yaml`; `layers`: whether summaries are files.
#[must_use]
pub fn config(main_branch: &str, time_zone: &str, templates: &[String], layers: bool) -> String {
    let templates: Vec<String> = templates.iter().map(|folder| scalar(folder)).collect();
    format!(
        "# Settings of this vault. `runebook doctor` says what holds, and names keys that it does not know.
version: 1

# The branch on which approved memories stand.
main_branch: {}

# The zone of every stored time (an IANA name); the zone of the machine changes nothing.
time_zone: {}

# Globs of files that are no part of the memory, besides what .gitignore names.
ignore: []

# Folders of templates: they are left alone.
templates: [{}]

# Your names for our front-matter keys. `type: memory_type` reads our `type` from `memory_type`.
fields: {{}}

# Summaries of directories as files (.abstract.md, .overview.md): off or tracked.
# `runebook commit` and merges write them; one that a person changed is the person's from then on.
layers:
  files: {}
",
        scalar(main_branch),
        scalar(time_zone),
        templates.join(", "),
        if layers { "tracked" } else { "off" }
    )
}

/// One actor's entry in `actors.yaml`, as a block of a list.
#[derive(Debug, Clone)]
pub struct ActorEntry<'a> {
    /// The name.
    pub id: &'a str,
    /// Person or agent.
    pub kind: ActorKind,
    /// The model family.
    pub family: Option<&'a str>,
    /// The address of its commits.
    pub email: &'a str,
    /// The account's owner, where it is not the account itself.
    pub principal: Option<&'a str>,
    /// What it may do.
    pub roles: &'a [&'a str],
}

/// The text of an entry, each line behind `indent`.
#[must_use]
pub fn actor_entry(actor: &ActorEntry<'_>, indent: &str) -> String {
    let kind = match actor.kind {
        ActorKind::Person => "person",
        ActorKind::Agent => "agent",
    };
    let mut out = format!("{indent}- id: {}\n{indent}  kind: {kind}\n", scalar(actor.id));
    let mut line = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            out.push_str(&format!("{indent}  {key}: {}\n", scalar(value)));
        }
    };
    line("family", actor.family);
    line("email", Some(actor.email));
    line("principal", actor.principal);
    out.push_str(&format!("{indent}  roles: [{}]\n", actor.roles.join(", ")));
    out
}

/// The text of `actors.yaml` with one actor.
#[must_use]
pub fn actors(first: &ActorEntry<'_>) -> String {
    format!(
        "# Who may do what here: people and agents. `runebook actor add` adds one; only an admin may.
# id: unique. kind: person or agent. family: the model family of an agent (claude, gpt, qwen, ...).
# email: what its commits carry. roles: propose, review, merge, admin. reads, proposes, reviews: path globs.
# principal: the human or service behind several accounts. clearance: normal, personal, confidential, restricted.
actors:
{}",
        actor_entry(first, "  ")
    )
}

/// The text of `policy.yaml`.
#[must_use]
pub fn policy(preset: Preset, existing: bool) -> String {
    let mut out = head(preset);
    if existing {
        out.push_str(
            "  # Notes that were here before need no front matter. To ask it of new memories, add a rule:
  # - paths: [\"user/**\", \"agent/**\"]
  #   require: [id, type, title, created, source]

",
        );
    } else {
        out.push_str(
            "  # Memories about people and of agents say what they are and where they come from.
  # resources/ is outside knowledge and needs nothing.
  - paths: [\"user/**\", \"agent/**\"]
    require: [id, type, title, created, source]

",
        );
    }
    if preset == Preset::Team {
        out.push_str(
            "  # What steers how agents see people and what they do needs a person's approval.
  - paths: [\"user/**/profile/**\", \"agent/**/skills/**\", \"agent/**/procedures/**\"]
    person: true

",
        );
    }
    out.push_str(
        "  # Evidence never changes; who brings it and who relies on it should be two.
  - paths: [\"evidence/**\"]
    limits: {files: 200, deleted_percent: 0, bytes: 10485760, events: 500}

  # Files that steer tools, and everything that begins with a dot, are for people only.
  - paths:
      - \".*\"
      - \".*/**\"
      - \"**/.*\"
      - \"**/.*/**\"
      - \"**/CLAUDE.md\"
      - \"**/AGENTS.md\"
      - \"**/.gitattributes\"
      - \".obsidian/**\"
      - \".github/**\"
    propose: [person]
    person: true

  # The rules themselves are for admins only.
  - paths: [\".runebook/**\"]
    propose: [person]
    propose_roles: [admin]
    review_roles: [admin]
    person: true
    direct: admin
",
    );
    out
}

fn head(preset: Preset) -> String {
    let (name, identities, says, direct) = match preset {
        Preset::Solo => (
            "solo",
            "recorded",
            "# recorded: what an actor says of itself is written down, and every report says so. signed: it must sign.",
            "person",
        ),
        Preset::Team => (
            "team",
            "signed",
            "# signed: every event must be signed by its actor's key. recorded: what it says of itself is written down.",
            "admin",
        ),
    };
    format!(
        "# What may enter the approved branch, by whose word. Made from the preset `{name}`; change it as you like (admins only).
# It is read from the approved branch as it stands before a merge, never from the proposal.
version: 1

{says}
identities: {identities}

# A person's verdict and merge ask at the terminal (terminal) or not (none, for demonstrations and tests).
confirm: terminal

# Whether an agent may read and search its own open proposals, which nobody approved yet (`find --rev proposal/ID`).
own_proposals: false

# After so many revisions of a proposal a person must look.
max_rounds: 5

# Rules by path glob (* within a name, ** across directories). All that match count, in this order: the last one
# that sets a key wins, and a proposal satisfies the rules of all its paths.
# `runebook doctor URI --as ACTOR` explains which rule holds for a path.
rules:
  # Everywhere: one approval by somebody else, and between agents by another model family.
  # direct: who may commit to the approved branch without a proposal (person, admin, nobody).
  - paths: [\"**\"]
    propose: [person, agent]
    quorum: 1
    person: false
    other_family: true
    owners: []
    evidence_by: anybody
    direct: {direct}
    limits: {{files: 200, deleted_percent: 50, bytes: 10485760, events: 500}}

"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::actor::{Actors, Role};
    use crate::model::config::Config;
    use crate::model::path::VaultPath;
    use crate::model::policy::{Direct, Identities, Rules};

    #[test]
    fn what_is_written_is_read_back() {
        let text = config("no", "Asia/Shanghai", &["模板".to_owned(), "a: b".to_owned()], false);
        let read = Config::parse(&text).unwrap();
        assert_eq!((read.main_branch.as_str(), read.time_zone.as_str()), ("no", "Asia/Shanghai"));
        assert_eq!(read.templates, ["模板", "a: b"]);
        assert!(read.unknown.is_empty());
        let entry = ActorEntry {
            id: "0012",
            kind: ActorKind::Person,
            family: None,
            email: "o'neil \"x\"@example.org",
            principal: Some("no"),
            roles: &["propose", "admin"],
        };
        let read = Actors::parse(&actors(&entry)).unwrap();
        assert_eq!(read.actors[0].id.as_str(), "0012");
        assert_eq!(read.actors[0].email, entry.email);
        assert_eq!(read.actors[0].principal(), "no");
        assert_eq!(read.actors[0].roles, [Role::Propose, Role::Admin]);
    }

    #[test]
    fn presets_say_what_they_promise() {
        let held = |preset, existing, path: &str| {
            Rules::parse(&policy(preset, existing)).unwrap().for_path(&VaultPath::parse(path).unwrap())
        };
        let solo = held(Preset::Solo, false, "user/memories/preferences/seats.md");
        assert_eq!(
            (solo.quorum, solo.person, solo.other_family, solo.direct),
            (1, false, true, Direct::Person)
        );
        assert_eq!(solo.require, ["id", "type", "title", "created", "source"]);
        assert!(held(Preset::Solo, false, "resources/a.md").require.is_empty());
        assert!(held(Preset::Solo, true, "user/memories/a.md").require.is_empty());
        for path in [
            "CLAUDE.md",
            "a/AGENTS.md",
            ".obsidian/app.json",
            "a/.gitattributes",
            ".github/x/y.yml",
            "a/.b/c.md",
        ] {
            assert_eq!(held(Preset::Solo, false, path).propose, [ActorKind::Person], "{path}");
        }
        let own = held(Preset::Solo, false, ".runebook/policy.yaml");
        assert_eq!(
            (own.direct, own.propose_roles, own.review_roles),
            (Direct::Admin, vec![Role::Admin], vec![Role::Admin])
        );
        for path in [
            "user/memories/profile/a.md",
            "user/mei/memories/profile/a.md",
            "agent/skills/a.md",
            "agent/x/skills/b/c.md",
        ] {
            assert!(held(Preset::Team, false, path).person, "{path}");
            assert!(!held(Preset::Solo, false, path).person, "{path}");
        }
        let team = Rules::parse(&policy(Preset::Team, false)).unwrap();
        assert_eq!(team.policy.identities, Identities::Signed);
        assert_eq!(team.for_path(&VaultPath::parse("resources/a.md").unwrap()).direct, Direct::Admin);
    }
}
