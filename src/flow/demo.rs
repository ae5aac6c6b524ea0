//! The demo's story: what is played over a copy of the example vault.

use std::path::Path;

use super::example;
use super::vault::{ACTORS, POLICY};
use crate::model::clock::{Entropy, Env};
use crate::model::id::Digest;
use crate::model::path::VaultPath;
use crate::store::plain;

/// The person who plays the owner of the vault.
pub const OWNER: &str = "mei";
/// The agent that proposes.
pub const SCRIBE: &str = "scribe-claude";
/// The agent of another model family that reviews.
pub const REVIEWER: &str = "reviewer-gpt";
/// Where the proposed memory is to stand.
pub const TARGET: &str = "user/memories/preferences/no-night-flights.md";

/// The conversation that the proposed memory rests on, and what it quotes from its third line.
const EVIDENCE: &str = "evidence/2026/11/28/chat-trip.jsonl";
const QUOTE: &str = "红眼航班我落地两天都缓不过来,省下的钱不够赔一天的工。";

/// An environment in which the example's owner is at work in `root`, whoever started the program: git needs no name
/// and nothing of the vault in which the person may stand has a say.
///
/// # Errors
/// When the operating system gives no random bytes.
pub fn env(outer: &Env, root: &Path) -> std::io::Result<Env> {
    let mut vars = outer.vars.clone();
    vars.retain(|name, _| !name.starts_with("GIT_") && name != "RUNEBOOK_ACTOR");
    vars.insert("GIT_AUTHOR_NAME".to_owned(), "Mei".to_owned());
    vars.insert("GIT_AUTHOR_EMAIL".to_owned(), "mei@ponteqiao.example".to_owned());
    let entropy = match &outer.entropy {
        Entropy::System => Entropy::System,
        seeded @ Entropy::Seeded(_) => Entropy::seeded(u64::from_le_bytes(seeded.bytes()?)),
    };
    Ok(Env {
        vars,
        clock: outer.clock.clone(),
        entropy,
        current_dir: root.to_owned(),
        cancel: outer.cancel.clone(),
        program: outer.program.clone(),
    })
}

/// Whether a file of the example is a memory.
#[must_use]
pub fn is_memory(path: &VaultPath) -> bool {
    path.is_markdown() && path.scope() != Some("evidence")
}

/// Puts the example's people and agents, and its policy that asks nobody at the terminal, into the vault's settings,
/// as an admin would with an editor.
///
/// # Errors
/// When a file cannot be written.
pub fn settle(root: &Path) -> std::io::Result<()> {
    for name in [ACTORS, POLICY] {
        std::fs::write(root.join(name), example::file(name).unwrap_or_default())?;
    }
    Ok(())
}

/// An edit as a person makes it with an editor.
///
/// # Errors
/// When the file cannot be written.
pub fn edit(root: &Path) -> std::io::Result<()> {
    let path = root.join("resources/travel/hangzhou-lisbon.md");
    let mut text = plain::read_text(&path)?;
    text.push_str("\nPrints travel flat, in hand luggage: 平放,不卷。\n");
    std::fs::write(path, text)
}

/// The memory that the agent proposes.
#[must_use]
pub fn draft(env: &Env) -> String {
    let hash = Digest::of(example::file(EVIDENCE).unwrap_or_default());
    let now = env.clock.stamp();
    format!(
        "---
id: 01M8FXA4QHT2E7C6Z0WJ5RN3VD
type: semantic
title: No night flights
summary: Takes no flight that leaves around midnight, even a cheaper one.
subject: departure times
created: {now}
source: user_message
trust: stated
confidence: 0.9
part_of: \"[[trips]]\"
tags: [travel]
aliases: [红眼航班]
---
# No night flights

Mei takes no flight that leaves around midnight: she needs two days to recover, and the fare that is saved does not
make up for a lost day of work.[^e1] The morning departure in [[hangzhou-lisbon]] is hers.

[^e1]: <viking://{EVIDENCE}#L3> {hash} \"{QUOTE}\"
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quote_stands_in_the_example() {
        let evidence = String::from_utf8(example::file(EVIDENCE).unwrap().to_vec()).unwrap();
        assert!(evidence.lines().nth(2).unwrap().contains(QUOTE));
        assert!(example::file(TARGET).is_none());
    }
}
