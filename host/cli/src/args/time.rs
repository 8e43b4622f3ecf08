//! Durations on the command line.

use std::str::FromStr;
use std::time::Duration;

use plumbline_core::duration::parse_duration;

/// Seconds as a number, or a duration such as `90m`. Zero stands for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(Duration);

impl Time {
    /// The duration; zero means no limit.
    pub(crate) fn span(self) -> Duration {
        self.0
    }

    /// The span; `None` for no limit.
    pub(crate) fn limit(self) -> Option<Duration> {
        (!self.0.is_zero()).then_some(self.0)
    }
}

/// What each plugin has if nothing else is said: six hours.
impl Default for Time {
    fn default() -> Self {
        Self(Duration::from_secs(6 * 3600))
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse::<u32>() {
            return Ok(Self(Duration::from_secs(seconds.into())));
        }
        parse_duration(text).map(Self).map_err(|error| error.to_string())
    }
}

/// Minutes as a number, or a duration such as `90s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Minutes(Duration);

impl Minutes {
    /// The span.
    pub(crate) fn span(self) -> Duration {
        self.0
    }
}

impl FromStr for Minutes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(minutes) = text.parse::<u32>() {
            return Ok(Self(Duration::from_secs(60 * u64::from(minutes))));
        }
        parse_duration(text).map(Self).map_err(|error| error.to_string())
    }
}
