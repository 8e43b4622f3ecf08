//! The monotonic clock of WASI. Its timers end with the call: a sleeping guest is inside the host,
//! where the epoch has no effect.

use std::time::Duration;

use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::clocks::WasiClocksCtxView;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::Host;

use crate::call::clock::Clock;

/// The monotonic clock within a call.
pub(crate) struct Timers<'a> {
    pub(super) clocks: WasiClocksCtxView<'a>,
    pub(super) clock: Clock,
}

/// The type by which the linker refers to [`Timers`].
pub(crate) struct HasTimers;

impl HasData for HasTimers {
    type Data<'a> = Timers<'a>;
}

impl Timers<'_> {
    /// Returns the remaining time of the call in nanoseconds. A timer that is shortened to it fires
    /// when the call's time is over, and the guest ends as soon as it resumes.
    fn left(&self) -> u64 {
        nanoseconds(self.clock.left())
    }
}

fn nanoseconds(left: Option<Duration>) -> u64 {
    left.and_then(|left| u64::try_from(left.as_nanos()).ok()).unwrap_or(u64::MAX)
}

impl Host for Timers<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        self.clocks.now()
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        self.clocks.resolution()
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let duration = when.saturating_sub(self.clocks.now()?);
        self.subscribe_duration(duration)
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let duration = duration.min(self.left());
        self.clocks.subscribe_duration(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_fits_the_clock() {
        assert_eq!(nanoseconds(Some(Duration::from_secs(1))), 1_000_000_000);
        assert_eq!(nanoseconds(Some(Duration::MAX)), u64::MAX);
        assert_eq!(nanoseconds(None), u64::MAX);
    }
}
