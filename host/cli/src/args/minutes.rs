//! How long to wait, as other tools of the field write it: in minutes.

use std::str::FromStr;
use std::time::Duration;

use plumbline_core::duration::parse_duration;

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
