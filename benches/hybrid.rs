//! Search by words and meaning in a large vault, apart from embedding the question: `hybrid VAULT`.
//!
//! It takes a day to embed 100,000 memories here, and how long a search takes does not depend on what vectors say. So
//! every text of the vault gets a random vector of the installed model's form, as if it had been embedded; what is
//! found means nothing. Each question is asked twice: the second time its own vector is there already.

use std::path::Path;
use std::time::Duration;

use crate::support::{self, Result};
use crate::vectors::vector;
use crate::words;
use runebook::flow::find::{FindRequest, Finder};
use runebook::flow::meaning::form_of;
use runebook::flow::models::{Choice, choose};
use runebook::flow::progress::Silent;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::index::vectors::{Change, NewRow, Script, Vectors};
use runebook::model::access::{Access, View};

const QUERIES: usize = 200;
/// How many vectors are written at once.
const PART: usize = 50_000;

/// Measures and prints.
pub(crate) fn run(dir: &Path) -> Result<()> {
    let env = support::env_with_model(dir);
    let vault = Vault::open(&env, dir)?;
    sync::ensure(&vault, &Silent)?;
    let choice = choose(&env, Some(&vault.config))?;
    let texts = fill(&vault, &choice)?;
    let finder = Finder::with_model(&vault, &choice)?;
    let access = Access { actor: None, view: View::WorkTree };
    let mut times: Vec<Duration> = Vec::new();
    let mut hybrid = 0;
    for at in 0..QUERIES {
        let request = FindRequest { query: words::query(at), limit: 10, ..FindRequest::default() };
        finder.find(&vault, &access, &request)?;
        times.push(support::timed(|| {
            let answer = finder.find(&vault, &access, &request)?;
            hybrid += usize::from(answer.mode == "hybrid");
            Ok(())
        })?);
    }
    times.sort();
    support::say(format!("{}: {texts} texts, {hybrid} of {QUERIES} searches hybrid", dir.display()))?;
    support::table(&[
        ("warm p50", support::share(&times, 50), String::new()),
        ("warm p99", support::share(&times, 99), format!("{} MiB at most", support::peak_mib())),
    ])
}

/// Gives each text of the vault that has none a vector. How many texts there are.
fn fill(vault: &Vault<'_>, choice: &Choice) -> Result<usize> {
    let form = form_of(choice);
    let mut store = Vectors::open(&vault.derived_dir().join("vectors").join(form.name()), &form)?;
    let mut missing = Vec::new();
    sync::open(vault)?.each_passages(|passages| {
        let script = if passages.doc.0 % 4 == 0 { Script::Cjk } else { Script::Latin };
        missing.extend(passages.keys().filter(|key| !store.holds(*key)).map(|key| (key, script)));
    })?;
    missing.sort_unstable_by_key(|(key, _)| *key);
    missing.dedup_by_key(|(key, _)| *key);
    for (part, rows) in missing.chunks(PART).enumerate() {
        let row = |(at, (key, script)): (usize, &(_, _))| NewRow {
            key: *key,
            script: *script,
            vector: vector((part * PART + at) as u64, None),
        };
        store.change(
            &Change { add: rows.iter().enumerate().map(row).collect(), ..Change::default() },
            &|_| {},
        )?;
    }
    Ok(store.len())
}
