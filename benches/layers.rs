//! The layers of a vault: from nothing, when nothing changed, after one edit. `layers VAULT`.
//!
//! The vault's files and branches are not changed: what is known of its layers is thrown away first, and the edits are
//! made in trees that nothing refers to.

use std::path::Path;
use std::time::Duration;

use runebook::flow::layers::files::remade;
use runebook::flow::layers::{Generator, Rules};
use runebook::flow::vault::Vault;
use runebook::model::change::ChangeSet;
use runebook::model::path::VaultPath;

use crate::support::{self, Result, timed};

/// How many edits; the median counts.
const EDITS: usize = 21;

/// Measures and prints.
pub(crate) fn run(dir: &Path) -> Result<()> {
    let env = support::env(dir);
    let vault = Vault::open(&env, dir)?;
    let tree = vault.repo.tree_of(vault.main()?)?;
    let rules = || Rules::of_tree(&vault.repo, tree);
    for name in ["layers.db", "layers.db-wal", "layers.db-shm"] {
        match std::fs::remove_file(vault.derived_dir().join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let all = || Ok(Generator::new(&vault, rules()?).layers(tree, &VaultPath::root())?);
    let cold = timed(all)?;
    let warm = timed(all)?;
    let files = vault.repo.files(tree)?;
    let memories: Vec<VaultPath> = files
        .iter()
        .filter_map(|(path, _)| VaultPath::from_disk(path))
        .filter(VaultPath::is_markdown)
        .collect();
    let mut edits: Vec<Duration> = (0..EDITS)
        .map(|round| {
            let path = memories.get(round * memories.len() / EDITS).ok_or("the vault holds no memory")?;
            let mut text = vault.repo.file_at(tree, path)?.ok_or("a memory is gone")?;
            text.extend_from_slice(format!("\nAn edit of round {round} is in here.\n").as_bytes());
            let mut changes = ChangeSet::default();
            changes.write(path.clone(), text);
            let edited = vault.repo.write_tree(Some(tree), &changes)?;
            timed(|| Ok(remade(&vault.repo, &Generator::new(&vault, rules()?), edited, [path])?))
        })
        .collect::<Result<_>>()?;
    edits.sort();
    support::say(format!("{}: {} memories", dir.display(), memories.len()))?;
    support::table(&[
        ("layers from nothing", cold, String::new()),
        ("nothing changed", warm, String::new()),
        ("after one edit, p50", edits[EDITS / 2], "every layer file above it".to_owned()),
        ("after one edit, worst", edits[EDITS - 1], String::new()),
        (
            "kept",
            Duration::ZERO,
            format!("{} MB", support::size_of(&vault.derived_dir(), "layers.db") / 1_000_000),
        ),
    ])
}
