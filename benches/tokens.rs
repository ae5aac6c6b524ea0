//! Texts cut into words: how fast, and a sum over all that comes of it, so that two builds can be compared.
//! `tokens DIR…`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::support::{self, Result};
use runebook::index::tokenizer::Analyzer;

/// Reads all files below some directories and cuts them by their paragraphs.
pub(crate) fn run(dirs: &[&str]) -> Result<()> {
    let mut texts = Vec::new();
    let mut open: Vec<PathBuf> = dirs.iter().map(PathBuf::from).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let mut all: Vec<PathBuf> = read_dir(&path)?;
            all.sort();
            open.extend(all);
        } else {
            texts.push(String::from_utf8_lossy(&std::fs::read(&path)?).into_owned());
        }
    }
    let mut analyzer = Analyzer::default();
    let (mut tokens, mut bytes) = (0, 0);
    let mut sum = DefaultHasher::new();
    let mut cut = || {
        for part in texts.iter().flat_map(|text| text.split_inclusive("\n\n")) {
            analyzer.analyze(part);
            tokens += analyzer.tokens().len();
            bytes += part.len();
        }
        Ok(())
    };
    let spent = support::timed(&mut cut)?;
    for part in texts.iter().flat_map(|text| text.split_inclusive("\n\n")) {
        analyzer.analyze(part);
        for token in analyzer.tokens() {
            (analyzer.term(token), token.from, token.to, token.position, token.kind as u8).hash(&mut sum);
        }
    }
    let speed = bytes as f64 / 1e6 / spent.as_secs_f64();
    support::table(&[(
        "cut into words",
        spent,
        format!("{bytes} bytes, {speed:.1} MB/s, {tokens} tokens, sum {:016x}", sum.finish()),
    )])
}

fn read_dir(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
}
