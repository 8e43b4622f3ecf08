//! Property tests for the ledger.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::Verdict;
use crate::name::{PluginName, ResultKey};
use crate::progress::ProgressUpdate;
use crate::run_status::{EntryStatus, PluginStatus, TarInfo};

fn plugin() -> impl Strategy<Value = PluginName> {
    // `c` expects no results, and `d` is not planned.
    prop::sample::select(&["a", "b", "b", "c", "d"][..]).prop_map(|name| name.parse().unwrap())
}

fn key() -> impl Strategy<Value = ResultKey> {
    let texts = &["a/global", "a/global", "b/n1", "b/n1", "b/n2", "b/n2", "b/n3", "d/global"][..];
    prop::sample::select(texts).prop_map(|text| text.parse().unwrap())
}

fn keys() -> impl Strategy<Value = Vec<ResultKey>> {
    prop::collection::vec(key(), 0..3)
}

/// A small range of numbers, so that they often match.
fn upload() -> impl Strategy<Value = u64> {
    0u64..3
}

fn event() -> impl Strategy<Value = Event> {
    let error = ("[a-z ]{0,6}", any::<u8>()).prop_map(|(error, n)| ErrorRecord::new(error).with("n", n));
    let counts = || prop::collection::btree_map("[a-z]{1,4}", 0u64..9, 0..3);
    let status = || prop::sample::select(&["passed", "failed", "unknown", "warn: 1"][..]).prop_map(crate::Status::from);
    let stored = any::<u32>().prop_map(|bytes| Stored {
        kind: StoredKind::File,
        files: 1,
        bytes: bytes.into(),
        sha256: "0".repeat(64),
    });
    let update = (0i64..9, 0i64..9, prop::collection::vec("[a-z]{1,3}", 0..3)).prop_map(|(total, append, failing)| {
        ProgressUpdate { total, appendcompleted: append, appendfailing: failing, ..ProgressUpdate::default() }
    });
    prop_oneof![
        1 => (plugin(), keys()).prop_map(|(plugin, keys)| Event::Planned { plugin, keys }),
        1 => (plugin(), "[a-z]{1,4}").prop_map(|(plugin, reason)| Event::NothingExpected { plugin, reason }),
        1 => plugin().prop_map(|plugin| Event::Launched { plugin }),
        1 => (plugin(), "[a-z]{1,4}").prop_map(|(plugin, reason)| Event::LaunchFailed { plugin, reason }),
        1 => (plugin(), "[a-z]{1,4}").prop_map(|(plugin, reason)| Event::Skipped { plugin, reason }),
        1 => key().prop_map(|key| Event::Hello { key }),
        1 => key().prop_map(|key| Event::Heartbeat { key }),
        1 => (key(), prop::option::of("[a-z]{1,4}")).prop_map(|(key, reason)| Event::Problem { key, reason }),
        2 => (key(), update).prop_map(|(key, update)| Event::Progress { key, update }),
        12 => (key(), upload()).prop_map(|(key, upload)| Event::UploadStarted { key, upload }),
        4 => (key(), upload()).prop_map(|(key, upload)| Event::UploadClaimed { key, upload }),
        8 => (key(), upload(), stored).prop_map(|(key, upload, stored)| Event::UploadStored { key, upload, stored }),
        10 => (key(), upload(), "[a-z]{1,4}").prop_map(|(key, upload, reason)| Event::UploadFailed { key, upload, reason }),
        2 => (key(), upload(), "[a-z]{1,4}").prop_map(|(key, upload, reason)| Event::UploadDelayed { key, upload, reason }),
        2 => (key(), "[a-z]{1,4}").prop_map(|(key, reason)| Event::RetryDelayed { key, reason }),
        3 => (key(), error).prop_map(|(key, error)| Event::Failed { key, error }),
        2 => plugin().prop_map(|plugin| Event::TimedOut { plugin }),
        1 => (key(), status(), counts()).prop_map(|(key, status, counts)| Event::PostProcessed { key, status, counts }),
        1 => (plugin(), status(), counts())
            .prop_map(|(plugin, status, counts)| Event::PluginPostProcessed { plugin, status, counts }),
        1 => (plugin(), 0u64..3).prop_map(|(plugin, failures)| Event::PluginJudged {
            plugin,
            summary: crate::judgement::VerdictSummary { failures, ..Default::default() },
        }),
        1 => Just(Event::Archived { tar: TarInfo::default() }),
        1 => Just(Event::Interrupted),
        2 => Just(Event::Restarted),
    ]
}

/// Generates events (`None` is a tick) and the pause in seconds before each. Most pauses are short,
/// and some are longer than a window.
fn steps() -> impl Strategy<Value = Vec<(i64, Option<Event>)>> {
    let step = prop_oneof![6 => event().prop_map(Some), 1 => Just(None)];
    let pause = prop_oneof![6 => 0i64..10, 2 => 30i64..119, 1 => Just(120i64), 1 => 121i64..400];
    prop::collection::vec((pause, step), 0..60)
}

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn after(at: Timestamp, seconds: i64) -> Timestamp {
    at.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

/// The plan at the start of every run.
fn plan() -> Vec<Event> {
    [("a", &["a/global"][..]), ("b", &["b/n1", "b/n2"]), ("c", &[])]
        .map(|(plugin, keys)| Event::Planned {
            plugin: plugin.parse().unwrap(),
            keys: keys.iter().map(|key| key.parse().unwrap()).collect(),
        })
        .to_vec()
}

/// A run: the ledger, its journal, all effects, and the current time.
#[derive(Debug, Clone)]
struct Harness {
    ledger: Ledger,
    journal: Vec<Record>,
    effects: Vec<Effect>,
    now: Timestamp,
}

impl Harness {
    fn new() -> Self {
        let mut desk = Self { ledger: Ledger::default(), journal: Vec::new(), effects: Vec::new(), now: start() };
        for event in plan() {
            assert!(desk.take(event));
        }
        desk
    }

    /// Applies an event and returns whether it was accepted.
    fn take(&mut self, event: Event) -> bool {
        match self.ledger.apply(self.now, event.clone()) {
            Ok(effects) => {
                self.effects.extend(effects);
                self.journal.push(Record { at: self.now, event });
                true
            }
            Err(_) => false,
        }
    }

    fn tick(&mut self) {
        let effects = self.ledger.tick(self.now);
        self.effects.extend(effects);
    }

    fn run(steps: Vec<(i64, Option<Event>)>) -> Self {
        let mut desk = Self::new();
        for (pause, step) in steps {
            desk.now = after(desk.now, pause);
            match step {
                Some(event) => drop(desk.take(event)),
                None => desk.tick(),
            }
        }
        desk
    }
}

fn is_final(state: &KeyState) -> bool {
    matches!(state, KeyState::Received { .. } | KeyState::Failed { .. })
}

fn states(ledger: &Ledger) -> BTreeMap<ResultKey, KeyState> {
    ledger.keys().map(|key| (key.clone(), ledger.state(key).unwrap())).collect()
}

proptest! {
    #[test]
    fn no_event_at_any_time_does_harm(steps in prop::collection::vec((any::<i64>(), event()), 0..60)) {
        let mut ledger = Ledger::default();
        for (time, event) in steps {
            // Clocks may also be set back.
            let at = Timestamp::from_second(time % Timestamp::MAX.as_second()).unwrap();
            let before = ledger.clone();
            match ledger.apply(at, event) {
                Err(_) => prop_assert_eq!(&ledger, &before, "a refused event changes nothing"),
                Ok(_) => {
                    for (key, state) in states(&before).into_iter().filter(|(_, state)| is_final(state)) {
                        prop_assert_eq!(ledger.state(&key), Some(state), "what is final stays");
                    }
                }
            }
            let _ = (ledger.next_deadline(at), Verdict::from_run(&ledger.status(at)));
        }
        ledger.tick(Timestamp::MIN);
        ledger.tick(Timestamp::MAX);
    }

    #[test]
    fn final_states_do_not_change(steps in steps()) {
        let mut desk = Harness::new();
        for (pause, step) in steps {
            let before = states(&desk.ledger);
            desk.now = after(desk.now, pause);
            match step {
                Some(event) => drop(desk.take(event)),
                None => desk.tick(),
            }
            for (key, state) in before.into_iter().filter(|(_, state)| is_final(state)) {
                prop_assert_eq!(desk.ledger.state(&key), Some(state));
            }
        }
    }

    #[test]
    fn a_plugin_is_complete_when_each_of_its_results_is_in_or_has_failed(steps in steps()) {
        let mut desk = Harness::run(steps);
        let said: Vec<bool> = desk.ledger.plugins().map(|plugin| desk.ledger.is_plugin_complete(plugin, desk.now)).collect();
        let run = desk.ledger.is_complete(desk.now);
        desk.tick();
        let ledger = &desk.ledger;
        for (plugin, said) in ledger.plugins().zip(said) {
            prop_assert_eq!(said, ledger.missing(plugin).is_empty(), "{}", plugin);
            let all = ledger.keys_of(plugin).all(|key| is_final(&ledger.state(key).unwrap()));
            prop_assert_eq!(said, all);
        }
        prop_assert_eq!(run, states(ledger).values().all(is_final));
    }

    #[test]
    fn effects_tell_of_each_end_once(steps in steps()) {
        let mut desk = Harness::run(steps);
        desk.tick();
        let count = |wanted: &dyn Fn(&Effect) -> bool| desk.effects.iter().filter(|effect| wanted(effect)).count();
        for (key, state) in states(&desk.ledger) {
            let received = count(&|effect| matches!(effect, Effect::ResultReceived { key: k } if *k == key));
            let failed = count(&|effect| matches!(effect, Effect::ResultFailed { key: k, .. } if *k == key));
            prop_assert_eq!(received, usize::from(matches!(state, KeyState::Received { .. })));
            prop_assert_eq!(failed, usize::from(matches!(state, KeyState::Failed { .. })));
        }
        for plugin in desk.ledger.plugins() {
            let complete = count(&|effect| matches!(effect,
                Effect::PluginComplete { plugin: p } | Effect::PluginSkipped { plugin: p } if p == plugin));
            prop_assert_eq!(complete, usize::from(desk.ledger.is_plugin_complete(plugin, desk.now)));
        }
        prop_assert_eq!(count(&|effect| *effect == Effect::RunComplete), usize::from(desk.ledger.is_complete(desk.now)));
    }

    #[test]
    fn the_journal_gives_the_same_ledger(steps in steps()) {
        let mut desk = Harness::run(steps);
        let lines: Vec<String> = desk.journal.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
        let records: Vec<Record> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(&records, &desk.journal);
        let replayed = Ledger::replay(records.into_iter().map(|record| (record.at, record.event)));
        prop_assert!(replayed.is_ok(), "{:?}", replayed);
        let mut replayed = replayed.unwrap();
        // Ticks are not journaled, so the new process ticks as the old one would have done.
        desk.tick();
        replayed.tick(desk.now);
        prop_assert_eq!(replayed, desk.ledger);
    }

    #[test]
    fn a_journal_without_signs_of_life_gives_the_same_results(steps in steps()) {
        let mut desk = Harness::run(steps);
        let kept = desk.journal.clone().into_iter()
            .filter(|record| record.event.is_journalled());
        let mut replayed = Ledger::replay(kept.map(|record| (record.at, record.event))).unwrap();
        desk.tick();
        replayed.tick(desk.now);
        prop_assert_eq!(states(&replayed), states(&desk.ledger));
        prop_assert_eq!(replayed.is_complete(desk.now), desk.ledger.is_complete(desk.now));
        prop_assert_eq!(replayed.next_deadline(desk.now), desk.ledger.next_deadline(desk.now));
    }

    #[test]
    fn whether_somebody_ticks_makes_no_difference(steps in steps()) {
        let mut with = Harness::new();
        let mut without = Harness::new();
        for (pause, step) in steps {
            with.now = after(with.now, pause);
            without.now = with.now;
            with.tick();
            if let Some(event) = step {
                prop_assert_eq!(with.take(event.clone()), without.take(event));
            }
        }
        with.tick();
        without.tick();
        prop_assert_eq!(with.ledger, without.ledger);
    }

    #[test]
    fn the_deadline_is_when_something_happens(steps in steps()) {
        let mut desk = Harness::run(steps);
        desk.tick();
        prop_assert_eq!(desk.ledger.tick(desk.now), vec![], "a second tick finds nothing to do");
        match desk.ledger.next_deadline(desk.now) {
            Some(deadline) => {
                prop_assert!(deadline > desk.now);
                let just_before = deadline.checked_sub(SignedDuration::from_nanos(1)).unwrap();
                prop_assert_eq!(desk.ledger.clone().tick(just_before), vec![]);
                prop_assert!(!desk.ledger.tick(deadline).is_empty());
            }
            None => prop_assert_eq!(desk.ledger.tick(after(desk.now, 1_000_000_000)), vec![]),
        }
    }

    #[test]
    fn the_status_agrees_with_the_ledger(steps in steps()) {
        let mut desk = Harness::run(steps);
        // The status shows windows that are over before any tick.
        let early = desk.ledger.status(desk.now).plugins.unwrap();
        desk.tick();
        let entries = desk.ledger.status(desk.now).plugins.unwrap();
        let words = |entries: &[PluginStatus]| -> Vec<EntryStatus> {
            entries.iter().map(|entry| entry.status.clone()).collect()
        };
        prop_assert_eq!(words(&early), words(&entries));
        prop_assert_eq!(entries.len(), desk.ledger.keys().len());
        for (entry, key) in entries.iter().zip(desk.ledger.keys()) {
            prop_assert_eq!((entry.plugin.as_str(), entry.node.as_str()), (key.plugin.as_str(), key.node.as_str()));
            let expected = match desk.ledger.state(key).unwrap() {
                KeyState::Received { .. } => EntryStatus::Complete,
                KeyState::Failed { error, .. } if error.is_timeout() => EntryStatus::TimedOut,
                KeyState::Failed { .. } => EntryStatus::Failed,
                _ => EntryStatus::Running,
            };
            prop_assert_eq!(&entry.status, &expected);
            let is_lost = matches!(expected, EntryStatus::Failed | EntryStatus::TimedOut);
            prop_assert_eq!(desk.ledger.error(key).is_some(), is_lost);
            prop_assert!(!is_lost || entry.reason.is_some());
            prop_assert!(expected != EntryStatus::Complete || entry.reason.is_none());
        }
    }

    #[test]
    fn an_admitted_upload_can_start(steps in steps(), key in key()) {
        let mut desk = Harness::run(steps);
        desk.tick();
        let admitted = desk.ledger.admit(&key);
        let begun = desk.ledger.apply(desk.now, Event::UploadStarted { key, upload: 99 });
        prop_assert_eq!(begun.map(drop), admitted);
    }
}
