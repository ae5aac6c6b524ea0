//! What a file's name and place say of it: the day of a daily note, the pages of Logseq.

use jiff::civil::Date;

use crate::model::config::Config;
use crate::model::day;
use crate::model::front_matter::{FrontMatter, MemoryType};
use crate::model::path::VaultPath;
use crate::model::uri::percent_leniently;

/// The title of a file that gives itself none: its name, as the program that keeps it reads it.
#[must_use]
pub fn title(path: &VaultPath, config: &Config) -> String {
    let stem = path.stem();
    match (config.foreign.logseq, day::whole(stem)) {
        (true, Some(date)) => date.to_string(),
        (true, None) => page(stem),
        (false, _) => stem.to_owned(),
    }
}

/// The name of a Logseq page from that of its file: `a___b` and `a%2Fb` are `a/b`.
fn page(stem: &str) -> String {
    let name = stem.replace("___", "/");
    String::from_utf8(percent_leniently(&name)).unwrap_or(name)
}

/// The day whose note a file is by its name: the name is a date, or begins with one in a folder of daily notes.
#[must_use]
pub fn day_of(path: &VaultPath, config: &Config) -> Option<Date> {
    day::whole(path.stem()).or_else(|| day::leading(path.stem()).filter(|_| config.is_daily(path)))
}

/// Adds what the place says where the file itself says nothing.
pub(super) fn read(path: &VaultPath, config: &Config, title: &str, fields: &mut FrontMatter) {
    let stem = path.stem();
    let date = day_of(path, config);
    if config.foreign.logseq {
        names(stem, title, date, fields);
    }
    let Some(date) = date else { return };
    let of_type = config.fields.get("type").map_or("type", String::as_str);
    if !fields.all.contains_key(of_type) {
        fields.kind = Some(MemoryType::Episodic);
        fields.occurred.get_or_insert_with(|| date.to_string());
    }
}

/// The names by which Logseq's links find a page: its title, its decoded name, of a journal the day in words.
fn names(stem: &str, title: &str, date: Option<Date>, fields: &mut FrontMatter) {
    let names = match date {
        Some(date) => vec![in_words(date), date.to_string()],
        None => vec![title.to_owned(), page(stem)],
    };
    for name in names {
        if name != stem && !fields.aliases.contains(&name) {
            fields.aliases.push(name);
        }
    }
}

/// A day as Logseq names its page: `Nov 28th, 2026`.
fn in_words(date: Date) -> String {
    let ending = match date.day() {
        11..=13 => "th",
        day => match day % 10 {
            1 => "st",
            2 => "nd",
            3 => "rd",
            _ => "th",
        },
    };
    format!("{} {}{ending}, {}", date.strftime("%b"), date.day(), date.year())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_days_of_logseq() {
        for (stem, name) in
            [("a___b", "a/b"), ("a%2Fb", "a/b"), ("100%", "100%"), ("%E6%97%85", "旅"), ("%ff", "%ff")]
        {
            assert_eq!(page(stem), name, "{stem}");
        }
        let words = |text: &str| in_words(text.parse().unwrap());
        assert_eq!(words("2026-11-01"), "Nov 1st, 2026");
        assert_eq!(
            (words("2026-11-12"), words("2026-11-23")),
            ("Nov 12th, 2026".into(), "Nov 23rd, 2026".into())
        );
    }
}
