//! Days as people write them: in the names of files, and in the fields of other programs.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// What may stand between the numbers of a date.
fn is_gap(c: char) -> bool {
    matches!(c, '-' | '_' | '.' | '/' | '年' | '月')
}

/// The number that begins at `from` in so many digits.
fn number(chars: &[char], from: usize, count: usize) -> Option<i16> {
    let digits = chars.get(from..from + count)?;
    digits.iter().all(char::is_ascii_digit).then(|| digits.iter().collect::<String>().parse().ok())?
}

/// A number of one or two digits that no third follows, and how many it has.
fn short(chars: &[char], from: usize) -> Option<(i16, usize)> {
    let count = chars.get(from..)?.iter().take(3).take_while(|c| c.is_ascii_digit()).count();
    (1..=2).contains(&count).then(|| Some((number(chars, from, count)?, count)))?
}

/// The date that begins at `at`, and where it ends.
fn date_at(chars: &[char], at: usize) -> Option<(Date, usize)> {
    let year = number(chars, at, 4).filter(|year| (1800..2200).contains(year))?;
    let gap = chars.get(at + 4).copied().filter(|c| is_gap(*c));
    let (month, day, end) = match gap {
        None => (number(chars, at + 4, 2)?, number(chars, at + 6, 2)?, at + 8),
        Some(gap) => {
            let (month, digits) = short(chars, at + 5)?;
            let behind = at + 5 + digits;
            let second = *chars.get(behind)?;
            let (day, more) = short(chars, behind + 1)?;
            let end = behind + 1 + more;
            let same = second == gap || (gap == '年' && second == '月');
            // `2026-1-2` is a date as `2026年1月2日` is; `v2026-11-2` is a number of something else, as often as not.
            let padded = digits == 2 && more == 2;
            if !same || !(padded || matches!(gap, '年' | '/')) {
                return None;
            }
            (month, day, end + usize::from(gap == '年' && chars.get(end) == Some(&'日')))
        }
    };
    if chars.get(end).is_some_and(char::is_ascii_digit) {
        return None;
    }
    let small = |n: i16| i8::try_from(n).unwrap_or(0);
    Some((Date::new(year, small(month), small(day)).ok()?, end))
}

/// The first date in a text: `2026-11-28`, `2026_11_28`, `2026/11/28`, `20261128`, `2026年11月28日`.
#[must_use]
pub fn in_text(text: &str) -> Option<Date> {
    let chars: Vec<char> = text.chars().take(512).collect();
    let begins = |at: &usize| *at == 0 || !chars[at - 1].is_ascii_digit();
    (0..chars.len()).filter(begins).find_map(|at| date_at(&chars, at)).map(|(date, _)| date)
}

/// The date that a text is and nothing else, as the name of a daily note is.
#[must_use]
pub fn whole(text: &str) -> Option<Date> {
    let chars: Vec<char> = text.chars().take(16).collect();
    date_at(&chars, 0).filter(|(_, end)| *end == text.chars().count()).map(|(date, _)| date)
}

/// The date that a text begins with, with words of the day's own behind it (`2026-11-28 Saturday`, `2026-11-28-六`).
#[must_use]
pub fn leading(text: &str) -> Option<Date> {
    let chars: Vec<char> = text.chars().take(64).collect();
    date_at(&chars, 0).map(|(date, _)| date)
}

/// A count of days or hours as it is typed: digits alone. One that no number holds is the largest.
#[must_use]
pub fn count(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(i64::MAX))
}

/// When a day begins, in seconds since 1970. The last days of the calendar, which no clock will show, begin when time
/// ends.
#[must_use]
pub fn start(date: Date, zone: &TimeZone) -> i64 {
    let outside = if date.year() > 0 { Timestamp::MAX } else { Timestamp::MIN };
    zone.to_zoned_datetime(date.at(0, 0, 0, 0)).map_or(outside, |at| at.timestamp()).as_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_names() {
        let date = |name| in_text(name).map(|d| d.to_string());
        for name in [
            "2026-11-28.md",
            "notes 2026_11_28",
            "20261128-chat",
            "2026年11月28日.md",
            "x2026.11.28",
            "2026/11/28",
        ] {
            assert_eq!(date(name).as_deref(), Some("2026-11-28"), "{name}");
        }
        assert_eq!(date("日记 2026年1月2日").as_deref(), Some("2026-01-02"));
        for name in
            ["12026-11-28", "2026-13-01", "2026-1128", "202611281", "2026", "v2026-11-2", "2026年11月288日"]
        {
            assert_eq!(date(name), None, "{name}");
        }
    }

    #[test]
    fn counts_and_days_without_end() {
        assert_eq!((count("7"), count("4294967296")), (Some(7), Some(4_294_967_296)));
        assert_eq!(count("99999999999999999999"), Some(i64::MAX));
        assert_eq!(
            (count(""), count("-1"), count("+1"), count("1.5"), count("７")),
            (None, None, None, None, None)
        );
        assert_eq!(start(Date::MAX, &TimeZone::UTC), Timestamp::MAX.as_second());
        assert_eq!(start(Date::MIN, &TimeZone::fixed(jiff::tz::offset(25))), Timestamp::MIN.as_second());
        assert_eq!(start(Date::constant(1970, 1, 2), &TimeZone::UTC), 86_400);
    }

    #[test]
    fn names_that_are_dates() {
        for name in ["2026-11-28", "2026_11_28", "20261128", "2026年11月28日", "2026.11.28"] {
            assert_eq!(whole(name).map(|d| d.to_string()).as_deref(), Some("2026-11-28"), "{name}");
        }
        for name in ["2026-11-28 trip", "plan 2026-11-28", "2026-11", "20261399", ""] {
            assert_eq!(whole(name), None, "{name}");
        }
        assert!(leading("2026-11-28 Saturday").is_some() && leading("on 2026-11-28").is_none());
    }
}
