//! The time that a memory is about: its fields, else a date in its file's name. Never when the file was saved.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::model::day;
use crate::model::front_matter::FrontMatter;
use crate::model::path::VaultPath;

/// Seconds since 1970, if anything says when.
pub(super) fn date_of(front: &FrontMatter, path: &VaultPath, zone: &TimeZone) -> Option<i64> {
    [&front.occurred, &front.updated, &front.created, &front.dated]
        .into_iter()
        .flatten()
        .find_map(|text| read(text, zone))
        .or_else(|| day::in_text(path.stem()).map(|date| day::start(date, zone)))
}

/// Reads a date, a time with or without an offset, or the beginning of an interval (`from/to`, `from..to`).
pub(crate) fn read(text: &str, zone: &TimeZone) -> Option<i64> {
    let text = text.trim();
    // `2026/11/28` is a day and no interval.
    let text = text.split_once('/').filter(|(from, _)| from.len() >= 7).map_or(text, |(from, _)| from);
    let text = text.split_once("..").map_or(text, |(from, _)| from).trim();
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(at.as_second());
    }
    if let Ok(at) = text.parse::<jiff::civil::DateTime>()
        && text.len() > 10
    {
        return zone.to_zoned_datetime(at).ok().map(|at| at.timestamp().as_second());
    }
    text.parse::<Date>().ok().or_else(|| day::in_text(text)).map(|date| day::start(date, zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_many_forms() {
        let utc = TimeZone::UTC;
        assert_eq!(read("1970-01-02", &utc), Some(86_400));
        assert_eq!(read("1970-01-02T01:00:00+01:00", &utc), Some(86_400));
        assert_eq!(read("1970-01-02T00:00:01", &utc), Some(86_401));
        assert_eq!(read("1970-01-02/1970-01-05", &utc), Some(86_400));
        assert_eq!(read("1970/01/02", &utc), Some(86_400));
        assert_eq!(read("1970年1月2日", &utc), Some(86_400));
        assert_eq!(read("yesterday", &utc), None);
    }
}
