//! The logs of containers.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;

use crate::{failure::Failure, query::Query};

/// Namespace, pod, container.
pub(crate) type LogKey = (String, String, String);

/// One line, with its line break if it has one.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    time: Timestamp,
    text: String,
}

/// The log of the current or last instance of a container.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Incremented when the log is replaced. Streams that follow the previous text then end.
    pub(crate) generation: u64,
    pub(crate) lines: Vec<Line>,
    pub(crate) ended: bool,
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

    /// Replaces a log.
    pub(crate) fn set(&mut self, key: LogKey, text: &str) {
        let lines = self.lines(text, None);
        let generation = self.current.get(&key).map_or(0, |log| log.generation + 1);
        self.current.insert(key, Log { generation, lines, ended: false });
    }

    pub(crate) fn set_previous(&mut self, key: LogKey, text: &str) {
        let lines = self.lines(text, None);
        self.previous.insert(key, lines);
    }

    /// Appends lines. A missing line break at the end is added.
    pub(crate) fn append(&mut self, key: LogKey, text: &str, at: Option<Timestamp>) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let lines = self.lines(&format!("{text}{end}"), at);
        self.current.entry(key).or_default().lines.extend(lines);
    }

    pub(crate) fn end(&mut self, key: LogKey) {
        self.current.entry(key).or_default().ended = true;
    }

    fn lines(&mut self, text: &str, at: Option<Timestamp>) -> Vec<Line> {
        let line = |text: &str| Line { time: at.unwrap_or_else(|| self.tick()), text: text.to_owned() };
        text.split_inclusive('\n').map(line).collect()
    }

    /// Returns the current time, increased if necessary so that no two lines have the same time.
    fn tick(&mut self) -> Timestamp {
        let next = self.latest.checked_add(Duration::from_nanos(1)).unwrap_or(self.latest);
        self.latest = Timestamp::now().max(next);
        self.latest
    }
}

/// The parameters of a request for a log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wish {
    pub(crate) follow: bool,
    pub(crate) previous: bool,
    timestamps: bool,
    tail: Option<usize>,
    since: Option<Timestamp>,
    /// The number of bytes that may still be sent.
    pub(crate) budget: Option<usize>,
}

impl Wish {
    pub(crate) fn of(query: &Query) -> Result<Self, Failure> {
        let ago = query.parsed::<u32>("sinceSeconds")?;
        let ago = ago.and_then(|ago| Timestamp::now().checked_sub(Duration::from_secs(ago.into())).ok());
        Ok(Self {
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            timestamps: query.flag("timestamps"),
            tail: query.parsed("tailLines")?,
            since: query.parsed("sinceTime")?.or(ago),
            budget: query.parsed("limitBytes")?,
        })
    }

    /// Returns the initial text: the lines since the requested time, or the last of them.
    pub(crate) fn first(&mut self, lines: &[Line]) -> String {
        let mut wanted: Vec<&Line> =
            lines.iter().filter(|line| self.since.is_none_or(|since| line.time >= since)).collect();
        if let Some(tail) = self.tail {
            wanted.drain(..wanted.len().saturating_sub(tail));
        }
        self.text(wanted.into_iter())
    }

    /// Returns the text of lines, cut at the limit of bytes.
    pub(crate) fn text<'a>(&mut self, lines: impl Iterator<Item = &'a Line>) -> String {
        let mut out = String::new();
        for line in lines {
            if self.timestamps {
                out.push_str(&line.time.to_string());
                out.push(' ');
            }
            out.push_str(&line.text);
        }
        if let Some(budget) = &mut self.budget {
            out.truncate(out.floor_char_boundary(*budget));
            *budget = budget.saturating_sub(out.len());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(logs: &Logs, key: &LogKey, query: &str) -> String {
        Wish::of(&Query::parse(query)).unwrap().first(&logs.get(key).unwrap().lines)
    }

    #[test]
    fn tail_limit_and_times_choose_lines() {
        let key = ("ns".to_owned(), "p".to_owned(), "c".to_owned());
        let mut logs = Logs::default();
        for (second, text) in [(1, "one"), (2, "two"), (3, "three")] {
            logs.append(key.clone(), text, Some(Timestamp::from_second(second).unwrap()));
        }
        assert_eq!(asked(&logs, &key, ""), "one\ntwo\nthree\n");
        assert_eq!(asked(&logs, &key, "tailLines=2"), "two\nthree\n");
        assert_eq!(asked(&logs, &key, "tailLines=0"), "");
        assert_eq!(asked(&logs, &key, "limitBytes=5"), "one\nt");
        assert_eq!(asked(&logs, &key, "sinceTime=1970-01-01T00:00:02Z"), "two\nthree\n");
        assert_eq!(asked(&logs, &key, "timestamps=true&tailLines=1"), "1970-01-01T00:00:03Z three\n");
        assert!(Wish::of(&Query::parse("tailLines=-1")).is_err());
    }
}
