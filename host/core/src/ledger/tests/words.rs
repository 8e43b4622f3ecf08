//! Short helpers for events, and a ledger to apply them to.

use jiff::Timestamp;

use crate::Verdict;
use crate::ledger::{Effect, ErrorRecord, Event, Ledger, RETRY_WINDOW, Refusal, Stored, StoredKind};
use crate::name::{PluginName, ResultKey};

/// Returns the time `seconds` after the start of all tests.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub(super) const WINDOW: i64 = RETRY_WINDOW.as_secs() as i64;

pub(super) fn key(text: &str) -> ResultKey {
    text.parse().unwrap()
}

pub(super) fn plugin(name: &str) -> PluginName {
    name.parse().unwrap()
}

pub(super) fn planned(name: &str, keys: &[&str]) -> Event {
    Event::Planned { plugin: plugin(name), keys: keys.iter().map(|text| key(text)).collect() }
}

pub(super) fn started(text: &str, upload: u64) -> Event {
    Event::UploadStarted { key: key(text), upload }
}

pub(super) fn content() -> Stored {
    Stored { kind: StoredKind::Archive, files: 2, bytes: 10, sha256: "0".repeat(64) }
}

pub(super) fn stored(text: &str, upload: u64) -> Event {
    Event::UploadStored { key: key(text), upload, stored: content() }
}

pub(super) fn broken(text: &str, upload: u64) -> Event {
    Event::UploadFailed { key: key(text), upload, reason: "connection reset".to_owned() }
}

pub(super) fn without_space(text: &str, upload: u64) -> Event {
    Event::UploadDelayed { key: key(text), upload, reason: "the disk is full".to_owned() }
}

pub(super) fn delayed(text: &str) -> Event {
    Event::RetryDelayed { key: key(text), reason: "the disk is full".to_owned() }
}

pub(super) fn failed(text: &str, error: &str) -> Event {
    Event::Failed { key: key(text), error: ErrorRecord::new(error) }
}

pub(super) fn timed_out(name: &str) -> Event {
    Event::TimedOut { plugin: plugin(name) }
}

/// Returns a ledger that expects one result of `a` and two of `b`.
pub(super) fn ledger() -> Ledger {
    let mut ledger = Ledger::default();
    ledger.ok(0, planned("a", &["a/global"]));
    ledger.ok(0, planned("b", &["b/n1", "b/n2"]));
    ledger
}

/// Short helpers for tests.
pub(super) trait Short {
    fn ok(&mut self, seconds: i64, event: Event) -> Vec<Effect>;
    fn refused(&mut self, seconds: i64, event: Event) -> Refusal;
    fn error_of(&self, text: &str) -> String;
    fn verdict(&self, now: Timestamp) -> Verdict;
}

impl Short for Ledger {
    fn ok(&mut self, seconds: i64, event: Event) -> Vec<Effect> {
        let mut effects = self.apply(at(seconds), event).unwrap_or_else(|refusal| panic!("{refusal}"));
        // Almost every event has this effect, so comparing it is pointless.
        effects.retain(|effect| *effect != Effect::StatusChanged);
        effects
    }

    fn refused(&mut self, seconds: i64, event: Event) -> Refusal {
        let before = self.clone();
        let refusal = self.apply(at(seconds), event).unwrap_err();
        assert_eq!(*self, before, "a refused event changes nothing");
        refusal
    }

    fn error_of(&self, text: &str) -> String {
        self.error(&key(text)).unwrap_or_else(|| panic!("`{text}` has no error")).error.clone()
    }

    fn verdict(&self, now: Timestamp) -> Verdict {
        Verdict::from_run(&self.status(now))
    }
}

pub(super) fn received(text: &str) -> Effect {
    Effect::ResultReceived { key: key(text) }
}

pub(super) fn complete(name: &str) -> Effect {
    Effect::PluginComplete { plugin: plugin(name) }
}
