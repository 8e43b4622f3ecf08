//! Merges what repeats, until it is written. Memory is bounded.

use std::collections::HashMap;
use std::time::Duration;

use plumbline_core::timeline::{TimelineEntry, TimelineKind};

use super::events::Warning;

/// How long something that happens for the first time is held back, to merge a burst of the same.
const SETTLE: Duration = Duration::from_secs(1);

/// How long a repetition is held back after the last entry.
const REPEAT: Duration = Duration::from_secs(60);

/// How long an entry is remembered, to recognize its repetition and events that are listed again.
const REMEMBER: Duration = Duration::from_secs(600);

/// Maximum number of entries that are remembered. Each takes about half a KiB.
const MAX_KNOWN: usize = 10_000;

/// Maximum number of states that wait to be written. An outage of 5,000 nodes has twice as many.
const MAX_READY: usize = 20_000;

/// What makes two entries the same: the kind, the name, the node, the namespace and the pod.
type Key = (TimelineKind, String, Option<String>, Option<String>, Option<String>);

fn key(entry: &TimelineEntry) -> Key {
    let TimelineEntry { kind, name, node, namespace, pod, .. } = entry;
    (*kind, name.clone(), node.clone(), namespace.clone(), pod.clone())
}

#[derive(Debug)]
struct Known {
    /// What happened since the last entry.
    pending: Option<TimelineEntry>,
    due: Duration,
    touched: Duration,
    /// The UID of the event that was seen last, and its count.
    event: Option<(String, u64)>,
}

/// The entries that are not written yet. Times are those since the recording started.
#[derive(Debug, Default)]
pub(super) struct Pending {
    known: HashMap<Key, Known>,
    waiting: usize,
    ready: Vec<TimelineEntry>,
    dropped: u64,
}

impl Pending {
    /// Adds the start or end of a state, or a note. These are not merged.
    pub(super) fn add_state(&mut self, entry: TimelineEntry) {
        if self.ready.len() < MAX_READY {
            self.ready.push(entry);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Adds something that happened.
    pub(super) fn add(&mut self, entry: TimelineEntry, now: Duration) {
        self.merge(entry, None, now);
    }

    /// Adds an event, unless it was seen already. Of one that was updated, the repetitions count.
    pub(super) fn add_warning(&mut self, warning: Warning, since: jiff::Timestamp, now: Duration) {
        let Warning { mut entry, first, uid } = warning;
        let total = entry.count;
        let seen = self.known.get(&key(&entry)).and_then(|known| known.event.as_ref());
        entry.count = match seen {
            Some((known, count)) if *known == uid => match total.checked_sub(*count) {
                None | Some(0) => return,
                Some(more) => more,
            },
            _ if first >= since => total,
            // The earlier repetitions of an event that was not seen before are older than this recording.
            _ => 1,
        };
        self.merge(entry, Some((uid, total)), now);
    }

    fn merge(&mut self, entry: TimelineEntry, event: Option<(String, u64)>, now: Duration) {
        let key = key(&entry);
        if !self.known.contains_key(&key) && self.known.len() >= MAX_KNOWN {
            self.dropped = self.dropped.saturating_add(1);
            return;
        }
        let new = || Known { pending: None, due: Duration::ZERO, touched: now, event: None };
        let known = self.known.entry(key).or_insert_with(new);
        known.touched = now;
        known.event = event.or(known.event.take());
        if let Some(pending) = &mut known.pending {
            let last = pending.last().max(entry.last());
            pending.time = pending.time.min(entry.time);
            pending.until = (last > pending.time).then_some(last);
            pending.count = pending.count.saturating_add(entry.count);
            pending.text = entry.text;
        } else {
            known.pending = Some(entry);
            known.due = known.due.max(now.saturating_add(SETTLE));
            self.waiting += 1;
        }
    }

    /// Returns the entries to write now, ordered by time.
    pub(super) fn take(&mut self, now: Duration) -> Vec<TimelineEntry> {
        self.take_due(now, |due| due <= now)
    }

    /// Returns everything, at the end of the recording.
    pub(super) fn take_all(&mut self, now: Duration) -> Vec<TimelineEntry> {
        self.take_due(now, |_| true)
    }

    fn take_due(&mut self, now: Duration, is_due: impl Fn(Duration) -> bool) -> Vec<TimelineEntry> {
        let mut taken = std::mem::take(&mut self.ready);
        if self.waiting > 0 {
            for known in self.known.values_mut().filter(|known| known.pending.is_some() && is_due(known.due)) {
                taken.extend(known.pending.take());
                known.due = now.saturating_add(REPEAT);
                self.waiting -= 1;
            }
        }
        self.known.retain(|_, known| known.pending.is_some() || now.saturating_sub(known.touched) < REMEMBER);
        taken.sort_by_key(|entry| entry.time);
        taken
    }

    /// Returns how many entries were dropped since the last call.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(second).unwrap()
    }

    fn entry(pod: usize, second: i64) -> TimelineEntry {
        TimelineEntry::new(at(second), TimelineKind::Restart, "BackOff", &format!("at {second}"))
            .of_pod("ns", &format!("p{pod}"))
    }

    fn warning(uid: &str, first: i64, last: i64, count: u64) -> Warning {
        Warning { entry: entry(0, last).times(count), first: at(first), uid: uid.into() }
    }

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn lines(entries: &[TimelineEntry]) -> Vec<String> {
        let line = |entry: &TimelineEntry| {
            format!(
                "{} {}-{} ×{}",
                entry.pod.as_deref().unwrap_or("-"),
                entry.time.as_second(),
                entry.last().as_second(),
                entry.count
            )
        };
        entries.iter().map(line).collect()
    }

    #[test]
    fn a_burst_is_one_entry_and_repetitions_are_counted() {
        let mut pending = Pending::default();
        pending.add(entry(1, 100), s(0));
        pending.add(entry(1, 101), s(0));
        pending.add(entry(2, 90), s(0));
        assert!(pending.take(Duration::from_millis(500)).is_empty());
        assert_eq!(lines(&pending.take(s(1))), ["p2 90-90 ×1", "p1 100-101 ×2"]);
        for second in 0..50 {
            pending.add(entry(1, 110 + second), s(2));
        }
        assert!(pending.take(s(60)).is_empty());
        let repeated = pending.take(s(61));
        assert_eq!((lines(&repeated), repeated[0].text.as_str()), (vec!["p1 110-159 ×50".to_owned()], "at 159"));
    }

    #[test]
    fn the_rest_is_written_at_the_end() {
        let mut pending = Pending::default();
        pending.add(entry(1, 100), s(0));
        pending.take(s(1));
        pending.add(entry(1, 102), s(2));
        assert_eq!(lines(&pending.take_all(s(3))), ["p1 102-102 ×1"]);
        assert!(pending.take_all(s(4)).is_empty());
    }

    #[test]
    fn an_event_counts_its_repetitions_once() {
        let mut pending = Pending::default();
        pending.add_warning(warning("u", 100, 105, 3), at(100), s(0));
        // A list after an interruption has it again.
        pending.add_warning(warning("u", 100, 105, 3), at(100), s(0));
        pending.add_warning(warning("u", 100, 108, 5), at(100), s(0));
        assert_eq!(lines(&pending.take(s(1))), ["p0 105-108 ×5"]);
        pending.add_warning(warning("u", 100, 108, 5), at(100), s(30));
        pending.add_warning(warning("v", 300, 300, 1), at(100), s(30));
        assert_eq!(lines(&pending.take_all(s(31))), ["p0 300-300 ×1"]);
        // The first repetitions happened before the recording started.
        pending.add_warning(warning("w", 50, 301, 900), at(100), s(32));
        assert_eq!(lines(&pending.take_all(s(33))), ["p0 301-301 ×1"]);
    }

    #[test]
    fn memory_is_bounded_and_what_is_dropped_is_counted() {
        let mut pending = Pending::default();
        for n in 0..MAX_KNOWN + 7 {
            pending.add(entry(n, 100), s(0));
        }
        for _ in 0..MAX_READY + 5 {
            pending.add_state(entry(0, 100));
        }
        assert_eq!((pending.take_dropped(), pending.take_dropped()), (12, 0));
        assert_eq!(pending.take(s(1)).len(), MAX_KNOWN + MAX_READY);
        // What is forgotten makes room.
        pending.take(s(601));
        pending.add(entry(MAX_KNOWN + 1, 100), s(601));
        assert_eq!((pending.known.len(), pending.take_dropped()), (1, 0));
    }
}
