//! The done-file protocol as a state machine, without files or clocks.

use std::time::Duration;

/// The intervals of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Interval between checks. The default is 1 s, and a check costs one system call.
    pub poll: Duration,
    /// How long the file must exist before it is read.
    pub settle: Duration,
    /// How often an empty file is checked again before it counts as an error.
    ///
    /// The default is 10. A shell creates the file before it writes to it.
    pub empty_looks: u32,
}

impl Timing {
    /// Returns the default intervals with this settle delay.
    #[must_use]
    pub fn with_settle(settle: Duration) -> Self {
        Self { poll: Duration::from_secs(1), settle, empty_looks: 10 }
    }
}

/// What to do after a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AfterLook {
    /// Wait this long, then check again.
    Sleep(Duration),
    /// Read the file at once.
    Read,
}

/// What to do after reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AfterRead {
    /// Wait this long, then check again.
    Sleep(Duration),
    /// The plugin has finished, and wants this path to be sent.
    Submit(String),
    /// The file stays empty, which is an error.
    GiveUp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is no done file yet.
    Waiting,
    /// The file was seen. During the settle delay, a sidecar may remove it.
    Settling,
    /// The file was read and was empty, this many times.
    Empty(u32),
}

/// The state of the protocol.
#[derive(Debug, Clone)]
pub(super) struct Protocol {
    timing: Timing,
    state: State,
}

impl Protocol {
    /// Returns the initial state.
    ///
    /// The first check should happen at once, because the worker may have been restarted after the
    /// plugin ended.
    #[must_use]
    pub(super) fn new(timing: Timing) -> Self {
        Self { timing, state: State::Waiting }
    }

    /// Processes a check: whether the done file exists.
    pub(super) fn looked(&mut self, there: bool) -> AfterLook {
        match (self.state, there) {
            (_, false) => AfterLook::Sleep(self.gone()),
            (State::Waiting, true) => {
                self.state = State::Settling;
                AfterLook::Sleep(self.timing.settle)
            }
            (_, true) => AfterLook::Read,
        }
    }

    /// Processes the text that was read, without surrounding white space, or `None` if the file was
    /// gone by then.
    pub(super) fn read(&mut self, text: Option<String>) -> AfterRead {
        match text {
            None => AfterRead::Sleep(self.gone()),
            Some(text) if text.is_empty() => {
                let looks = if let State::Empty(looks) = self.state { looks.saturating_add(1) } else { 1 };
                self.state = State::Empty(looks);
                if looks > self.timing.empty_looks { AfterRead::GiveUp } else { AfterRead::Sleep(self.timing.poll) }
            }
            Some(text) => AfterRead::Submit(text),
        }
    }

    /// Returns to the initial state, even during the settle delay. A sidecar removed the file to
    /// process the results, and will write it again.
    fn gone(&mut self) -> Duration {
        self.state = State::Waiting;
        self.timing.poll
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIMING: Timing = Timing { poll: Duration::from_secs(1), settle: Duration::from_secs(5), empty_looks: 2 };
    const POLL: AfterLook = AfterLook::Sleep(TIMING.poll);
    const SETTLE: AfterLook = AfterLook::Sleep(TIMING.settle);

    #[test]
    fn a_done_file_is_read_only_after_it_has_settled() {
        let mut protocol = Protocol::new(TIMING);
        assert_eq!([false, true, true].map(|there| protocol.looked(there)), [POLL, SETTLE, AfterLook::Read]);
        assert_eq!(protocol.read(Some("x".to_owned())), AfterRead::Submit("x".to_owned()));
    }

    #[test]
    fn a_done_file_that_was_taken_away_settles_anew() {
        let mut protocol = Protocol::new(TIMING);
        assert_eq!(
            [true, false, true, true].map(|there| protocol.looked(there)),
            [SETTLE, POLL, SETTLE, AfterLook::Read]
        );
        assert_eq!(protocol.read(None), AfterRead::Sleep(TIMING.poll));
        assert_eq!([true, true].map(|there| protocol.looked(there)), [SETTLE, AfterLook::Read]);
    }

    #[test]
    fn an_empty_done_file_is_looked_at_again_and_then_given_up() {
        let mut protocol = Protocol::new(TIMING);
        assert_eq!(protocol.looked(true), SETTLE);
        for _ in 0..TIMING.empty_looks {
            assert_eq!(protocol.looked(true), AfterLook::Read);
            assert_eq!(protocol.read(Some(String::new())), AfterRead::Sleep(TIMING.poll));
        }
        assert_eq!(protocol.looked(true), AfterLook::Read);
        assert_eq!(protocol.read(Some(String::new())), AfterRead::GiveUp);
    }

    proptest! {
        /// For any sequence of events, the file is only read if it also existed at the previous
        /// check. Only non-empty text that was read is submitted.
        #[test]
        fn never_reads_too_early(seen in proptest::collection::vec((any::<bool>(), proptest::option::of("a?")), 1..80)) {
            let mut protocol = Protocol::new(TIMING);
            let mut there_before = false;
            for (there, text) in seen {
                match protocol.looked(there) {
                    AfterLook::Sleep(time) => {
                        prop_assert!(!(there && there_before));
                        prop_assert_eq!(time, if there { TIMING.settle } else { TIMING.poll });
                        there_before = there;
                    }
                    AfterLook::Read => {
                        prop_assert!(there && there_before);
                        there_before = text.is_some();
                        match protocol.read(text.clone()) {
                            AfterRead::Sleep(time) => prop_assert_eq!(time, TIMING.poll),
                            AfterRead::Submit(what) => {
                                prop_assert!(!what.is_empty());
                                prop_assert_eq!(Some(what), text);
                                return Ok(());
                            }
                            AfterRead::GiveUp => {
                                prop_assert_eq!(text.as_deref(), Some(""));
                                return Ok(());
                            }
                        }
                    }
                }
            }
        }
    }
}
