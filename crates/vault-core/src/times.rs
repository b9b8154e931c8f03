//! Times as callers see them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};

/// Writes a time as RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    time.round(Unit::Millisecond).unwrap_or(time).to_string()
}

/// Reads a date as people write them into frontmatter: a day, a day with a time, with or without an offset. What has no
/// offset counts as UTC.
pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let local = |time: DateTime| time.to_zoned_datetime(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    if text.len() == 10 {
        return local(text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()));
    }
    local(text.parse::<DateTime>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_every_common_form_are_read() {
        let cases = [
            ("2024-01-05", "2024-01-05T00:00:00Z"),
            ("2024-01-05 10:30", "2024-01-05T10:30:00Z"),
            ("2024-01-05T10:30:15", "2024-01-05T10:30:15Z"),
            ("2026-05-13T20:00:00-04:00", "2026-05-14T00:00:00Z"),
            ("2024-01-01T00:00:00.120Z", "2024-01-01T00:00:00.12Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_date(text).map(rfc3339).as_deref(), Some(expected), "{text}");
        }
        for text in ["soon", "2024-02-30", "12:30", ""] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
