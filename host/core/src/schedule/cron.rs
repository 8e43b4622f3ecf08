//! Cron expressions with the meaning that Kubernetes gives them in `CronJob.spec.schedule`.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use serde::{Serialize, Serializer};

use crate::text::first_chars;

/// The most characters of an expression.
const MAX_TEXT: usize = 200;

/// The names of expressions, with the fields that they stand for. `@every` is missing, because its
/// times depend on when the schedule was created.
const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The longest months. February has a 29th every few years.
const LAST_DAYS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

struct Field {
    name: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { name: "minute", min: 0, max: 59, names: &[] },
    Field { name: "hour", min: 0, max: 23, names: &[] },
    Field { name: "day of the month", min: 1, max: 31, names: &[] },
    Field { name: "month", min: 1, max: 12, names: &MONTHS },
    Field { name: "day of the week", min: 0, max: 6, names: &DAYS },
];

/// A cron expression that is invalid, or never applies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// The expression does not have five fields.
    #[error("invalid schedule `{text}`: it has {fields} fields, and not minute, hour, day, month and day of the week")]
    Fields {
        /// The expression, cut to 200 characters.
        text: String,
        /// The number of its fields.
        fields: usize,
    },
    /// A part of a field is invalid.
    #[error(
        "invalid schedule `{text}`: `{part}` is invalid for the {field}: use {min} to {max}, `*`, ranges, lists and steps"
    )]
    Part {
        /// The expression.
        text: String,
        /// The part.
        part: String,
        /// The name of the field.
        field: &'static str,
        /// The smallest value of the field.
        min: u32,
        /// The largest value of the field.
        max: u32,
    },
    /// The time zone is in the expression. Kubernetes has a field of its own for it.
    #[error("invalid schedule `{0}`: set the time zone with `--time-zone`")]
    Zone(String),
    /// No date matches.
    #[error("invalid schedule `{0}`: no date matches its day and month")]
    Never(String),
}

/// The minutes at which something starts, as a cron expression with five fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    /// The values of each field as bits.
    fields: [u64; 5],
    /// Whether a day must match both its field for the month and that for the week. Otherwise one
    /// of them suffices.
    both_days: bool,
}

impl Cron {
    /// Returns whether the expression matches this minute.
    pub fn matches(&self, time: DateTime) -> bool {
        let [minutes, hours, days, months, weekdays] = self.fields;
        let has = |field: u64, value: i8| field >> u32::from(value.unsigned_abs()) & 1 == 1;
        let day = has(days, time.day());
        // Sunday is 0.
        let weekday = has(weekdays, time.weekday().to_sunday_zero_offset());
        has(minutes, time.minute())
            && has(hours, time.hour())
            && has(months, time.month())
            && if self.both_days { day && weekday } else { day || weekday }
    }

    /// Returns whether no month has the day. A day of the week exists in every month.
    fn never(&self) -> bool {
        let [_, _, days, months, _] = self.fields;
        let has_day = (1..).zip(LAST_DAYS).any(|(month, last)| {
            let of_month = (1_u64 << (last + 1)) - 1;
            months >> month & 1 == 1 && days & of_month != 0
        });
        self.both_days && !has_day
    }
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let text = text.trim();
        let shown = || first_chars(text, MAX_TEXT).to_owned();
        if text.contains("TZ=") {
            return Err(CronError::Zone(shown()));
        }
        let known = MACROS.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
        let parts: Vec<&str> = known.map_or(text, |(_, fields)| fields).split_whitespace().collect();
        if parts.len() != FIELDS.len() || text.len() > MAX_TEXT {
            return Err(CronError::Fields { text: shown(), fields: parts.len() });
        }
        let (mut fields, mut stars) = ([0_u64; 5], [false; 5]);
        for (((field, part), bits), star) in FIELDS.iter().zip(parts).zip(&mut fields).zip(&mut stars) {
            (*bits, *star) = field.read(part).map_err(|part| CronError::Part {
                text: shown(),
                part: first_chars(&part, MAX_TEXT).to_owned(),
                field: field.name,
                min: field.min,
                max: field.max,
            })?;
        }
        let [_, _, any_day, _, any_weekday] = stars;
        let cron = Self { text: text.to_owned(), fields, both_days: any_day || any_weekday };
        if cron.never() { Err(CronError::Never(shown())) } else { Ok(cron) }
    }
}

impl Field {
    /// Returns the values as bits, and whether they are all values without a step. Otherwise returns
    /// the invalid part.
    fn read(&self, text: &str) -> Result<(u64, bool), String> {
        let (mut bits, mut star) = (0, false);
        for part in text.split(',') {
            let (values, any) = self.part(part).ok_or_else(|| part.to_owned())?;
            bits |= values;
            star |= any;
        }
        Ok((bits, star))
    }

    /// Reads `*`, `N`, `N-M`, each with `/STEP`. `N/STEP` ends at the last value.
    fn part(&self, part: &str) -> Option<(u64, bool)> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let any = matches!(range, "*" | "?");
        let (first, last) = match (any, range.split_once('-')) {
            (true, _) => (self.min, self.max),
            (false, Some((first, last))) => (self.value(first)?, self.value(last)?),
            (false, None) => {
                let value = self.value(range)?;
                (value, if step.is_some() { self.max } else { value })
            }
        };
        let step = step.unwrap_or(1);
        let values = (first..=last).step_by(usize::try_from(step).ok()?);
        let bits = values.fold(0_u64, |bits, value| bits | 1 << value);
        (first <= last).then_some((bits, any && step == 1))
    }

    fn value(&self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let value = match named {
            Some(at) => u32::try_from(at).ok()? + self.min,
            None => number(text)?,
        };
        (self.min..=self.max).contains(&value).then_some(value)
    }
}

/// A number of at most four digits, without a sign.
fn number(text: &str) -> Option<u32> {
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Cron {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}
