//! The lists of an entry of the chain, and lookups in them.

use std::collections::HashMap;

use plumbline_sdk::InputFile;
use regex::bytes::Regex;
use serde_json::Value;

use crate::date::Date;
use crate::entry::{Entry, Which};
use crate::pattern;
use crate::problems::Problems;
use crate::rules::Leaf;
use crate::yaml;

/// Maximum size of a list in bytes: 8 MiB. Every test of the suite with a reason takes a quarter of
/// that.
pub const MAX_LIST_BYTES: usize = 8 << 20;

/// Maximum number of entries of all lists.
pub const MAX_ENTRIES: usize = 50_000;

/// Maximum number of patterns of all lists: each is tried on every name that is looked up.
pub const MAX_PATTERNS: usize = 1000;

/// The directory of the files of `data`.
pub(crate) const DATA: &str = "data/";

/// The entries of all lists.
#[derive(Debug, Default)]
pub(crate) struct List {
    entries: Vec<Placed>,
    tests: HashMap<String, Vec<usize>>,
    causes: HashMap<String, Vec<usize>>,
    patterns: Vec<(Regex, usize)>,
    today: Option<Date>,
}

/// An entry with its place.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The place, such as `known.yaml, entry 3`.
    pub(crate) place: String,
    pub(crate) reason: String,
    /// The source in the list.
    source: String,
    pub(crate) until: Option<Date>,
    used: bool,
}

impl Placed {
    /// Returns the place of the entry, and its source if it has one.
    pub(crate) fn source(&self) -> String {
        match self.source.as_str() {
            "" => self.place.clone(),
            source => format!("{} ({source})", self.place),
        }
    }
}

/// The result of a lookup.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// The name is listed.
    Listed(&'a Placed),
    /// The name is listed by an entry that expired after this date.
    Expired(&'a Placed, Date),
}

impl List {
    /// Reads the files of `data`; other files are not lists.
    pub(crate) fn read(files: Vec<InputFile>, today: Option<Date>, problems: &mut Problems) -> Self {
        let mut list = Self { today, ..Self::default() };
        for mut file in files {
            let Some(name) = file.path().strip_prefix(DATA).map(str::to_owned) else { continue };
            // An empty file is an empty list, from which all entries were removed.
            match yaml::read::<Option<Value>>(&mut file, MAX_LIST_BYTES) {
                Ok(None | Some(Value::Null)) => {}
                Ok(Some(Value::Array(values))) => list.add(&name, values, problems),
                Ok(Some(_)) => problems.add(&name, "it is not a list of entries, each beginning with `- `"),
                Err(error) => problems.add(&name, &format!("{error} (names that begin with `[` must be quoted)")),
            }
        }
        list
    }

    fn add(&mut self, file: &str, values: Vec<Value>, problems: &mut Problems) {
        for (at, value) in values.into_iter().enumerate() {
            if self.entries.len() == MAX_ENTRIES {
                return problems.add(file, &format!("there are more than {MAX_ENTRIES} entries"));
            }
            let place = format!("{file}, entry {}", at + 1);
            if let Err(what) = Entry::read(value).and_then(|entry| self.place(&place, entry)) {
                problems.add(&place, &what);
            }
        }
    }

    fn place(&mut self, place: &str, entry: Entry) -> Result<(), String> {
        if entry.until.is_some() && self.today.is_none() {
            return Err("it has `until`, but the current date is unknown: set the option `today`".to_owned());
        }
        let at = self.entries.len();
        match entry.which {
            Which::Test(name) => self.tests.entry(name).or_default().push(at),
            Which::Cause(id) => self.causes.entry(id).or_default().push(at),
            Which::Pattern(_) if self.patterns.len() == MAX_PATTERNS => {
                return Err(format!("there are more than {MAX_PATTERNS} patterns"));
            }
            Which::Pattern(pattern) => self.patterns.push((pattern::compile(&pattern)?, at)),
        }
        let Entry { reason, source, until, .. } = entry;
        self.entries.push(Placed { place: place.to_owned(), reason, source, until, used: false });
        Ok(())
    }

    /// Returns the place of an entry with a cause.
    pub(crate) fn first_cause(&self) -> Option<&str> {
        let first = self.causes.values().flatten().min()?;
        self.entries.get(*first).map(|entry| entry.place.as_str())
    }

    /// Returns the entry for a leaf. Names take precedence over causes, causes over patterns, names
    /// with a class over names without one, and valid entries over expired ones.
    pub(crate) fn find(&mut self, leaf: &Leaf<'_>) -> Option<Found<'_>> {
        let Leaf { name, full_name, cause, .. } = leaf;
        let has_class = name != full_name;
        let by_class = self.tests.get(*full_name).filter(|_| has_class).into_iter().flatten().copied();
        let by_name = by_class.chain(self.tests.get(*name).into_iter().flatten().copied());
        let by_cause = cause.and_then(|id| self.causes.get(id)).into_iter().flatten().copied();
        let by_pattern = self.patterns.iter().filter(|(pattern, _)| {
            pattern.is_match(name.as_bytes()) || (has_class && pattern.is_match(full_name.as_bytes()))
        });
        let mut expired = None;
        let mut found = None;
        for at in by_name.chain(by_cause).chain(by_pattern.map(|(_, at)| *at)) {
            let Some(until) = self.entries.get(at).map(|entry| entry.until) else { continue };
            match until.filter(|until| self.today.is_some_and(|today| today > *until)) {
                Some(until) => expired = expired.or(Some((at, until))),
                None => {
                    found = Some(at);
                    break;
                }
            }
        }
        let at = found.or(expired.map(|(at, _)| at))?;
        let entry = self.entries.get_mut(at)?;
        entry.used = true;
        Some(match (found, expired) {
            (None, Some((_, until))) => Found::Expired(entry, until),
            _ => Found::Listed(entry),
        })
    }

    /// Returns the number of entries, and how many of them matched nothing.
    pub(crate) fn unused(&self) -> (usize, usize) {
        (self.entries.len(), self.entries.iter().filter(|entry| !entry.used).count())
    }
}
