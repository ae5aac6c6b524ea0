//! Makes a vault of a given size: believable English and Chinese, real directory shapes, front matter, links; the
//! same bytes for the same arguments. `generate DIR COUNT`.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{self, Result, command};
use crate::words::{self, Chance, chinese_sentence, english_sentence, title};

/// Links of one memory, about.
const LINKS: usize = 12;
/// The size that a memory grows to, in bytes.
const SIZE: usize = 4_000;

/// Makes the vault, unless something is there already.
pub(crate) fn run(dir: &Path, count: usize) -> Result<()> {
    if dir.exists() {
        return support::say(format!("{} exists already: nothing done", dir.display()));
    }
    let began = std::time::Instant::now();
    let places: Vec<String> = (0..count).map(place).collect();
    std::fs::create_dir_all(dir)?;
    command(dir, "git", &["init", "-q", "-b", "main"])?;
    command(dir, "git", &["config", "user.name", "Mei"])?;
    command(dir, "git", &["config", "user.email", "mei@example.org"])?;
    command(dir, env!("CARGO_BIN_EXE_runebook"), &["init", "--existing", "--yes"])?;
    // fast-import writes one pack without touching each file twice; the work tree is written beside it.
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(dir)
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stream =
        BufWriter::with_capacity(1 << 20, import.stdin.take().ok_or("git fast-import has no input")?);
    let head = "commit refs/heads/main\ncommitter Mei <mei@example.org> 1764410400 +0000\ndata 15\nGenerated vault\nfrom refs/heads/main^0\n";
    stream.write_all(head.as_bytes())?;
    let mut bytes = 0;
    let mut put = |path: &str, text: &str| -> Result<()> {
        let at = dir.join(path);
        std::fs::create_dir_all(at.parent().unwrap_or(dir))?;
        std::fs::write(&at, text)?;
        write!(stream, "M 100644 inline \"{path}\"\ndata {}\n{text}\n", text.len())?;
        bytes += text.len();
        Ok(())
    };
    for (at, path) in places.iter().enumerate() {
        put(path, &memory(at, &places))?;
    }
    drop(stream);
    if !import.wait()?.success() {
        return Err("git fast-import failed".into());
    }
    command(dir, "git", &["read-tree", "HEAD"])?;
    command(dir, "git", &["update-index", "-q", "--refresh"])?;
    support::say(format!("{count} memories, {} MB in {:.1?}", bytes / 1_000_000, began.elapsed()))
}

/// Where a memory stands: most in dated or topical directories of some tens, some in large flat ones.
fn place(at: usize) -> String {
    let mut chance = Chance::new(at as u64 ^ 0x9A7B);
    let name = title(at, &mut chance).to_lowercase().replace(' ', "-");
    let (month, day) = (1 + at / 28 % 12, 1 + at % 28);
    match at % 10 {
        0..=3 => {
            format!("resources/{}/{}/{name}-{at}.md", words::TOPICS[at / 40 % words::TOPICS.len()], at / 40)
        }
        4 | 5 => format!(
            "user/memories/events/{}/{month:02}/{month:02}-{day:02}-{name}-{at}.md",
            2016 + at / 9000 % 10
        ),
        6 => format!("user/memories/entities/{}/{name}-{at}.md", at / 300),
        7 => format!("agent/skills/{}/{name}-{at}.md", words::TOPICS[at / 50 % words::TOPICS.len()]),
        8 => format!("agent/memories/{}/{name}-{at}.md", at / 600),
        _ => format!("resources/日记/{}/{month:02}月/笔记-{at}.md", 2016 + at / 9000 % 10),
    }
}

fn memory(at: usize, places: &[String]) -> String {
    let mut chance = Chance::new(at as u64);
    let chinese = at % 10 == 9 || at % 10 == 6 && at % 20 > 9;
    let kinds = ["semantic", "episodic", "procedural", "resource", "profile", "skill"];
    let mut text = String::with_capacity(SIZE + 512);
    let name = title(at, &mut chance);
    let day = format!("{}-{:02}-{:02}", 2016 + at / 9000 % 10, 1 + at / 28 % 12, 1 + at % 28);
    let _ = write!(
        text,
        "---\nid: 01JDM{at:021}\ntype: {}\ntitle: {name}\nsummary: {}\ncreated: {day}\nsource: document\nimportance: 0.{}\ntags: [{}, {}]\n",
        kinds[at % kinds.len()],
        english_sentence(&mut chance).trim_end_matches('.'),
        at % 9,
        words::TOPICS[at % words::TOPICS.len()],
        if chinese { "笔记" } else { "notes" },
    );
    if at.is_multiple_of(7) {
        let _ = writeln!(text, "aliases: [{name} {at}]");
    }
    let _ = write!(text, "---\n# {name}\n\n");
    let mut sections = 0;
    while text.len() < SIZE {
        sections += 1;
        if sections > 1 {
            let _ = write!(text, "## {}\n\n", title(at + sections, &mut chance));
        }
        for _ in 0..2 {
            for _ in 0..4 {
                let sentence =
                    if chinese { chinese_sentence(&mut chance) } else { english_sentence(&mut chance) };
                text.push_str(&sentence);
                if !chinese {
                    text.push(' ');
                }
            }
            for _ in 0..LINKS.div_ceil(8) {
                link(&mut text, at, places, &mut chance);
            }
            text.push_str("\n\n");
        }
    }
    text
}

/// A link to a neighbour most of the time, to anywhere sometimes, to nothing rarely.
fn link(text: &mut String, at: usize, places: &[String], chance: &mut Chance) {
    let to = if chance.below(4) == 0 {
        chance.below(places.len())
    } else {
        (at + chance.below(200)) % places.len()
    };
    let path = &places[to];
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
    let _ = match chance.below(20) {
        0 => write!(text, "[[nowhere {to}]] "),
        1..=12 => write!(text, "See [[{name}]]. "),
        13..=16 => write!(text, "[[{}|{name}]] ", path.trim_end_matches(".md")),
        _ => write!(text, "[more](viking://{path}) "),
    };
}
