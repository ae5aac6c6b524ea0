//! How sensitive a memory is, also one whose head cannot be read.

use crate::model::actor::Sensitivity;
use crate::model::memory::Memory;

/// What a memory says of its sensitivity; nothing said is [`Sensitivity::Normal`]. Where the head cannot be parsed,
/// or names a degree that there is not, in doubt the stricter word counts.
#[must_use]
pub fn sensitivity(memory: &Memory) -> Sensitivity {
    memory.front.sensitivity.or_else(|| by_eye(&memory.text)).unwrap_or_default()
}

fn by_eye(text: &str) -> Option<Sensitivity> {
    let head = text.strip_prefix("---")?;
    head.lines().take(200).skip(1).take_while(|line| line.trim_end() != "---").find_map(|line| {
        let (key, value) = line.split_once([':', '：'])?;
        if key.trim().trim_matches(['"', '\'']) != "sensitivity" {
            return None;
        }
        Some(match value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']) {
            "normal" => Sensitivity::Normal,
            "personal" => Sensitivity::Personal,
            "confidential" => Sensitivity::Confidential,
            _ => Sensitivity::Restricted,
        })
    })
}
