//! The time that a memory is about: its fields, else a date in its file's name. Never when the file was saved.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::model::front_matter::FrontMatter;
use crate::model::path::VaultPath;

/// Seconds since 1970, if anything says when.
pub(super) fn date_of(front: &FrontMatter, path: &VaultPath, zone: &TimeZone) -> Option<i64> {
    [&front.occurred, &front.updated, &front.created]
        .into_iter()
        .flatten()
        .find_map(|text| read(text, zone))
        .or_else(|| in_name(path.name()).and_then(|date| start_of(date, zone)))
}

fn start_of(date: Date, zone: &TimeZone) -> Option<i64> {
    zone.to_zoned_datetime(date.at(0, 0, 0, 0)).ok().map(|at| at.timestamp().as_second())
}

/// Reads a date, a time with or without an offset, or the beginning of an interval (`from/to`, `from..to`).
pub(crate) fn read(text: &str, zone: &TimeZone) -> Option<i64> {
    let text = text.trim();
    let text = text.split_once('/').map_or(text, |(from, _)| from);
    let text = text.split_once("..").map_or(text, |(from, _)| from).trim();
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(at.as_second());
    }
    if let Ok(at) = text.parse::<jiff::civil::DateTime>()
        && text.len() > 10
    {
        return zone.to_zoned_datetime(at).ok().map(|at| at.timestamp().as_second());
    }
    text.parse::<Date>().ok().or_else(|| in_name(text)).and_then(|date| start_of(date, zone))
}

/// The first date in a name: `2026-11-28`, `2026_11_28`, `20261128`, `2026年11月28日`.
fn in_name(name: &str) -> Option<Date> {
    let chars: Vec<char> = name.chars().collect();
    let number = |from: usize, count: usize| -> Option<i16> {
        let digits = chars.get(from..from + count)?;
        let all = digits.iter().all(char::is_ascii_digit);
        if !all {
            return None;
        }
        digits.iter().collect::<String>().parse().ok()
    };
    for at in 0..chars.len() {
        if at > 0 && chars[at - 1].is_ascii_digit() {
            continue;
        }
        let Some(year) = number(at, 4).filter(|year| (1800..2200).contains(year)) else { continue };
        let gap = usize::from(chars.get(at + 4).is_some_and(|c| matches!(c, '-' | '_' | '.' | '年')));
        let Some(month) = number(at + 4 + gap, 2) else { continue };
        let behind = at + 6 + gap;
        let again =
            usize::from(gap == 1 && chars.get(behind).is_some_and(|c| matches!(c, '-' | '_' | '.' | '月')));
        if again != gap {
            continue;
        }
        let Some(day) = number(behind + gap, 2) else { continue };
        if chars.get(behind + gap + 2).is_some_and(char::is_ascii_digit) {
            continue;
        }
        let small = |n: i16| i8::try_from(n).unwrap_or(0);
        if let Ok(date) = Date::new(year, small(month), small(day)) {
            return Some(date);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_names() {
        let date = |name| in_name(name).map(|d| d.to_string());
        for name in ["2026-11-28.md", "notes 2026_11_28", "20261128-chat", "2026年11月28日.md", "x2026.11.28"]
        {
            assert_eq!(date(name).as_deref(), Some("2026-11-28"), "{name}");
        }
        for name in ["12026-11-28", "2026-13-01", "2026-1128", "202611281", "2026", "v2026-11-2"] {
            assert_eq!(date(name), None, "{name}");
        }
    }

    #[test]
    fn fields_in_many_forms() {
        let utc = TimeZone::UTC;
        assert_eq!(read("1970-01-02", &utc), Some(86_400));
        assert_eq!(read("1970-01-02T01:00:00+01:00", &utc), Some(86_400));
        assert_eq!(read("1970-01-02T00:00:01", &utc), Some(86_401));
        assert_eq!(read("1970-01-02/1970-01-05", &utc), Some(86_400));
        assert_eq!(read("yesterday", &utc), None);
    }
}
