//! The logs of containers.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;

/// Namespace, pod, container.
pub(crate) type LogKey = (String, String, String);

/// One line, with its line break if it has one.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) time: Timestamp,
    pub(crate) text: String,
}

/// The log of the current or last instance of a container.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Incremented when the log is replaced. Streams that follow the previous text then end.
    pub(crate) generation: u64,
    pub(crate) lines: Vec<Line>,
}

/// The logs of all containers.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    current: HashMap<LogKey, Log>,
    previous: HashMap<LogKey, Vec<Line>>,
    latest: Timestamp,
}

impl Logs {
    pub(crate) fn get(&self, key: &LogKey) -> Option<&Log> {
        self.current.get(key)
    }

    pub(crate) fn previous(&self, key: &LogKey) -> Option<&[Line]> {
        self.previous.get(key).map(Vec::as_slice)
    }

    pub(crate) fn set(&mut self, key: LogKey, text: &str) {
        let lines = self.lines(text);
        let generation = self.current.get(&key).map_or(0, |log| log.generation + 1);
        self.current.insert(key, Log { generation, lines });
    }

    pub(crate) fn set_previous(&mut self, key: LogKey, text: &str) {
        let lines = self.lines(text);
        self.previous.insert(key, lines);
    }

    /// Appends lines. A missing line break at the end is added.
    pub(crate) fn append(&mut self, key: LogKey, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let lines = self.lines(&format!("{text}{end}"));
        self.current.entry(key).or_default().lines.extend(lines);
    }

    fn lines(&mut self, text: &str) -> Vec<Line> {
        let line = |text: &str| Line { time: self.tick(), text: text.to_owned() };
        text.split_inclusive('\n').map(line).collect()
    }

    /// Returns the current time, increased if necessary so that no two lines have the same time.
    fn tick(&mut self) -> Timestamp {
        let next = self.latest.checked_add(Duration::from_nanos(1)).unwrap_or(self.latest);
        self.latest = Timestamp::now().max(next);
        self.latest
    }
}
