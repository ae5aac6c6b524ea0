//! The example vault, built into the program.

use crate::model::path::VaultPath;

/// The content of a file below `example-vault`.
macro_rules! files {
    ($($path:literal,)*) => {
        &[$(($path, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/example-vault/", $path)))),*]
    };
}

/// Every file, in the order of the paths. A test holds that none is missing.
const FILES: &[(&str, &[u8])] = files![
    ".runebook/actors.yaml",
    ".runebook/config.yaml",
    ".runebook/eval.yaml",
    ".runebook/policy.yaml",
    "agent/memories/holidays.md",
    "agent/memories/printer-files.md",
    "agent/memories/search-both-languages.md",
    "agent/memories/不要改客户的标点.md",
    "agent/memories/报价写两种货币.md",
    "agent/memories/时差提醒.md",
    "agent/memories/每日备份.md",
    "agent/skills/invoice-run.md",
    "agent/skills/weekly-review.md",
    "agent/skills/出差准备.md",
    "agent/skills/双语校对.md",
    "evidence/2024/09/02/chat-seats.jsonl",
    "evidence/2026/02/10/chat-first-day.jsonl",
    "evidence/2026/03/18/call-yunpo.md",
    "evidence/2026/05/07/lease.txt",
    "evidence/2026/06/21/chat-covers.jsonl",
    "evidence/2026/07/30/pitch-notes.md",
    "evidence/2026/08/19/chat-search.jsonl",
    "evidence/2026/09/12/fair-notes.md",
    "evidence/2026/10/02/trace-laptop.jsonl",
    "evidence/2026/10/26/chat-invoices.jsonl",
    "evidence/2026/11/14/trace-weekly-review.jsonl",
    "evidence/2026/11/20/chat-proofs.jsonl",
    "evidence/2026/11/28/chat-trip.jsonl",
    "index.md",
    "resources/clients/museum-brief.md",
    "resources/clients/云坡茶社-brief.md",
    "resources/print/spot-colours.md",
    "resources/print/纸张.md",
    "resources/travel/hangzhou-lisbon.md",
    "resources/travel/样品过关.md",
    "resources/typography/portuguese-hyphens.md",
    "resources/typography/中西文混排.md",
    "user/memories/entities/clara.md",
    "user/memories/entities/gaivotas.md",
    "user/memories/entities/ines.md",
    "user/memories/entities/livraria-sal.md",
    "user/memories/entities/museum-signs.md",
    "user/memories/entities/shen-yi.md",
    "user/memories/entities/studio.md",
    "user/memories/entities/tea-boxes.md",
    "user/memories/entities/tiago.md",
    "user/memories/entities/trips.md",
    "user/memories/entities/云坡茶社.md",
    "user/memories/entities/潮汐馆.md",
    "user/memories/entities/老周印厂.md",
    "user/memories/events/2026-03-18-签约云坡.md",
    "user/memories/events/2026-05-07-lease.md",
    "user/memories/events/2026-06-21-dark-covers.md",
    "user/memories/events/2026-07-30-museum-pitch.md",
    "user/memories/events/2026-09-12-small-press-fair.md",
    "user/memories/events/2026-10-02-laptop.md",
    "user/memories/events/2026-11-20-茶盒打样.md",
    "user/memories/events/2026-11-28-january-trip.md",
    "user/memories/preferences/invoices.md",
    "user/memories/preferences/proofs-on-paper.md",
    "user/memories/preferences/seats-2024.md",
    "user/memories/preferences/window-seats.md",
    "user/memories/preferences/周五不开会.md",
    "user/memories/preferences/咖啡与茶.md",
    "user/memories/preferences/坏消息打电话.md",
    "user/memories/profile/mei.md",
    "user/memories/profile/working-hours.md",
    "user/memories/profile/语言.md",
    "user/memories/profile/过敏.md",
];

/// All files of the example vault, settings included, in the order of their paths.
#[must_use]
pub fn files() -> Vec<(VaultPath, &'static [u8])> {
    FILES.iter().filter_map(|(path, bytes)| Some((VaultPath::parse(path).ok()?, *bytes))).collect()
}

/// One file of the example vault.
#[must_use]
pub fn file(path: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(name, _)| *name == path).map(|(_, bytes)| *bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_built_in() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("example-vault");
        let mut there: Vec<String> = walkdir::WalkDir::new(&root)
            .into_iter()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| entry.path().strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"))
            .collect();
        there.sort();
        let built_in: Vec<String> = files().iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(built_in, there);
        for (path, bytes) in files() {
            assert_eq!(bytes, std::fs::read(root.join(path.as_str())).unwrap(), "{path}");
        }
    }
}
