//! The index of a vault: built anew, nothing changed, one file changed; beside bare tantivy on the same text with
//! the same analyser. `index VAULT`.

use std::path::Path;
use std::time::Duration;

use crate::support::{self, Result};
use runebook::catalog::FILE;
use runebook::flow::progress::Silent;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::index::text::{Entry, Facts, TextIndex};
use runebook::markdown;
use runebook::model::path::VaultPath;

/// Measures and prints.
pub(crate) fn run(dir: &Path) -> Result<()> {
    let env = support::env(dir);
    let vault = Vault::open(&env, dir)?;

    let walk = support::timed(|| Ok(walked(&vault, dir)))?;
    let full = support::timed(|| Ok(sync::reindex(&vault, true, &Silent)?))?;
    let peak = support::peak_mib();
    let still = support::best_of(5, || Ok(sync::ensure(&vault, &Silent)?))?;
    let one = one_file(&vault, dir)?;
    let (bare, texts, bytes) = bare_tantivy(&vault, dir)?;

    support::say(format!("{}: {texts} memories, {:.0} MB", dir.display(), bytes as f64 / 1e6))?;
    support::table(&[
        ("stat walk", walk, String::new()),
        ("full index", full, format!("{:.1} MB/s, peak {peak} MiB", bytes as f64 / 1e6 / full.as_secs_f64())),
        ("bare tantivy, same analyser", bare, format!("{:.1} MB/s", bytes as f64 / 1e6 / bare.as_secs_f64())),
        ("no change", still, format!("{:.1} stat walks", still.as_secs_f64() / walk.as_secs_f64())),
        ("one file changed", one, String::new()),
    ])?;
    let ratio = bare.as_secs_f64() / full.as_secs_f64();
    support::say(format!("full index at {ratio:.2} of the speed of bare tantivy"))?;
    support::say(format!("catalog {} MB", support::size_of(&vault.derived_dir(), FILE) / 1_000_000))
}

fn walked(vault: &Vault<'_>, dir: &Path) -> Vec<VaultPath> {
    let options =
        runebook::store::walk::WalkOptions { ignore: vault.config.ignore.clone(), ..Default::default() };
    runebook::store::walk::walk(dir, &options).files.into_iter().map(|file| file.path).collect()
}

/// From the save of one file to an index that shows it; the file is as it was afterwards.
fn one_file(vault: &Vault<'_>, dir: &Path) -> Result<Duration> {
    let path = walked(vault, dir).into_iter().find(VaultPath::is_markdown).ok_or("no memory")?;
    let at = dir.join(path.as_str());
    let before = std::fs::read(&at)?;
    let mut times = Vec::new();
    for round in 0..5 {
        let mut text = before.clone();
        text.extend_from_slice(format!("\nRound {round} of the benchmark.\n").as_bytes());
        std::fs::write(&at, text)?;
        times.push(support::timed(|| Ok(sync::ensure(vault, &Silent)?))?);
    }
    std::fs::write(&at, before)?;
    sync::ensure(vault, &Silent)?;
    times.sort();
    Ok(times[2])
}

/// The same chunks into a text index alone: nothing is compared, nothing goes into a catalog. Everything is read and
/// cut before the clock starts, since the index's threads would go on working while the next files are read.
fn bare_tantivy(vault: &Vault<'_>, dir: &Path) -> Result<(Duration, usize, usize)> {
    let at = tempfile::tempdir_in(vault.derived_dir())?;
    let index = TextIndex::create(at.path())?;
    let paths: Vec<VaultPath> = walked(vault, dir).into_iter().filter(VaultPath::is_markdown).collect();
    let mut bytes = 0;
    let memories: Vec<_> = paths
        .iter()
        .map(|path| {
            let raw = std::fs::read(dir.join(path.as_str()))?;
            bytes += raw.len();
            let memory = markdown::read(path, &raw, &vault.config);
            let chunks = markdown::chunk::chunks(&memory, vault.config.index.chunk_tokens);
            Ok((memory, chunks))
        })
        .collect::<Result<_>>()?;
    let spent = support::timed(|| {
        let writer = index.write(true)?;
        for (doc, (memory, chunks)) in memories.iter().enumerate() {
            let tags: Vec<String> = memory.tags.iter().map(|tag| tag.name.clone()).collect();
            for (ord, chunk) in chunks.iter().enumerate() {
                writer.add(&Entry {
                    doc: doc as u64,
                    ord: ord as u64,
                    path: memory.path.as_str(),
                    title: &memory.title,
                    headings: &chunk.headings,
                    tags: &tags,
                    aliases: &memory.front.aliases,
                    body: &memory.text[chunk.range.clone()],
                    facts: &Facts::default(),
                })?;
            }
        }
        Ok(writer.commit(1)?)
    })?;
    Ok((spent, memories.len(), bytes))
}
