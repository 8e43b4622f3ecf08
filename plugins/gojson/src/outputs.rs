//! The start, the attributes and the output of unfinished tests and packages.

use std::collections::BTreeMap;

use crate::excerpt::Excerpt;

/// Number of bytes to keep in total: 32 MiB, so that thousands of tests may run at once within a
/// module's memory.
pub const MAX_KEPT: usize = 32 << 20;

/// Approximate memory of an entry without its texts, in bytes.
const ENTRY: usize = 256;

/// Maximum number of attributes to keep of a test.
const MAX_ATTRIBUTES: usize = 20;

/// Names and values of the attributes of a test.
type Attributes = Vec<(String, String)>;

/// The output of each package and of its tests.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    packages: BTreeMap<String, Package>,
    kept: usize,
    /// Number of running tests whose start was not kept for lack of room.
    pub(crate) untracked: u64,
}

/// The state of an unfinished package.
#[derive(Debug, Default)]
struct Package {
    /// The output by test. That of the package itself has an empty name.
    texts: BTreeMap<String, Excerpt>,
    /// The start by running test. It is empty if the event has no time.
    starts: BTreeMap<String, String>,
    /// The attributes by test.
    attributes: BTreeMap<String, Attributes>,
    /// Whether a test of the package has failed, or the build with this import path.
    failed: bool,
    /// Whether an event reported its start, so that another one must report its end.
    started: bool,
}

/// What is left of a package when it ends, or at the end of the file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rest {
    /// Its own output, with an empty name, and the output of tests that have not ended.
    pub(crate) texts: BTreeMap<String, String>,
    /// The tests that began and have not ended.
    pub(crate) running: Vec<String>,
    /// Whether an event reported the start of the package.
    pub(crate) started: bool,
}

impl Outputs {
    /// Appends to the output of `test` in `package`. An empty `test` means the package itself.
    pub(crate) fn push(&mut self, package: &str, test: &str, text: &str) {
        let room = MAX_KEPT.saturating_sub(self.kept);
        let Some(known) = self.package(package) else { return };
        let (excerpt, cost) = match known.texts.get_mut(test) {
            Some(excerpt) if room < text.len() => return excerpt.leave_out(text.len()),
            Some(excerpt) => (excerpt, 0),
            None if room < cost(package) + cost(test) + text.len() => return,
            None => (known.texts.entry(test.to_owned()).or_default(), cost(test)),
        };
        let before = excerpt.len();
        excerpt.push(text);
        let after = excerpt.len();
        self.kept = (self.kept + cost + after).saturating_sub(before);
    }

    /// Records that a test has started. `time` may be empty. Without room for the test, it is only
    /// counted.
    pub(crate) fn start(&mut self, package: &str, test: &str, time: &str) {
        let cost = cost(test) + time.len();
        if MAX_KEPT.saturating_sub(self.kept) < cost + ENTRY + package.len() {
            self.untracked = self.untracked.saturating_add(1);
            return;
        }
        let Some(known) = self.package(package) else { return };
        match known.starts.insert(test.to_owned(), time.to_owned()) {
            None => self.kept += cost,
            Some(old) => self.kept = (self.kept + time.len()).saturating_sub(old.len()),
        }
    }

    /// Records that a test has ended. Returns the time of its start, if it is known.
    pub(crate) fn take_start(&mut self, package: &str, test: &str) -> Option<String> {
        let Some(time) = self.packages.get_mut(package).and_then(|known| known.starts.remove(test)) else {
            self.untracked = self.untracked.saturating_sub(1);
            return None;
        };
        self.kept = self.kept.saturating_sub(cost(test) + time.len());
        Some(time).filter(|time| !time.is_empty())
    }

    /// Keeps an attribute of a test, if there is room for it. If a name occurs several times, its last
    /// value stays.
    pub(crate) fn attribute(&mut self, package: &str, test: &str, key: &str, value: &str) {
        let cost = cost(test) + key.len() + value.len();
        if MAX_KEPT.saturating_sub(self.kept) < cost + ENTRY + package.len() {
            return;
        }
        let Some(known) = self.package(package) else { return };
        let attributes = known.attributes.entry(test.to_owned()).or_default();
        let before = attributes_cost(test, attributes);
        attributes.retain(|(other, _)| other != key);
        if attributes.len() < MAX_ATTRIBUTES {
            attributes.push((key.to_owned(), value.to_owned()));
        }
        let after = attributes_cost(test, attributes);
        self.kept = (self.kept + after).saturating_sub(before);
    }

    /// Removes and returns the attributes of a test that has ended.
    pub(crate) fn take_attributes(&mut self, package: &str, test: &str) -> Attributes {
        let taken = self.packages.get_mut(package).and_then(|known| known.attributes.remove(test)).unwrap_or_default();
        self.kept = self.kept.saturating_sub(attributes_cost(test, &taken));
        taken
    }

    /// Removes and returns the output of a test that has ended.
    pub(crate) fn take(&mut self, package: &str, test: &str) -> Option<String> {
        let excerpt = self.packages.get_mut(package)?.texts.remove(test)?;
        self.kept = self.kept.saturating_sub(cost(test) + excerpt.len());
        Some(excerpt.into_text())
    }

    /// Records that the package has started.
    pub(crate) fn open(&mut self, package: &str) {
        if let Some(package) = self.package(package) {
            package.started = true;
        }
    }

    /// Returns the packages that have not ended although an event reported their start, or the
    /// start of a test that has not ended either.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        self.names(|package| package.started || !package.starts.is_empty())
    }

    /// Returns the packages with a failure that have not ended.
    pub(crate) fn failed(&self) -> Vec<String> {
        self.names(|package| package.failed)
    }

    fn names(&self, has: impl Fn(&Package) -> bool) -> Vec<String> {
        self.packages.iter().filter(|entry| has(entry.1)).map(|(name, _)| name.clone()).collect()
    }

    /// Records that a test of the package has failed, or the build. Returns `false` if there is no
    /// room for the package.
    pub(crate) fn set_failed(&mut self, package: &str) -> bool {
        let Some(package) = self.package(package) else { return false };
        package.failed = true;
        true
    }

    /// Returns whether a test of the package has failed.
    pub(crate) fn has_failed(&self, package: &str) -> bool {
        self.packages.get(package).is_some_and(|package| package.failed)
    }

    /// Removes a package that has ended, and returns what is left of it.
    pub(crate) fn close(&mut self, package: &str) -> Rest {
        let Some(closed) = self.packages.remove(package) else { return Rest::default() };
        let texts: usize = closed.texts.iter().map(|(test, excerpt)| cost(test) + excerpt.len()).sum();
        let starts: usize = closed.starts.iter().map(|(test, time)| cost(test) + time.len()).sum();
        let attributes: usize = closed.attributes.iter().map(|(test, all)| attributes_cost(test, all)).sum();
        self.kept = self.kept.saturating_sub(cost(package) + texts + starts + attributes);
        Rest {
            texts: closed.texts.into_iter().map(|(test, excerpt)| (test, excerpt.into_text())).collect(),
            running: closed.starts.into_keys().collect(),
            started: closed.started,
        }
    }

    /// Returns the package with this name, and creates it if necessary; `None` if there is no room
    /// for it.
    fn package(&mut self, name: &str) -> Option<&mut Package> {
        if !self.packages.contains_key(name) {
            let kept = self.kept.saturating_add(cost(name));
            if kept > MAX_KEPT {
                return None;
            }
            self.kept = kept;
            self.packages.insert(name.to_owned(), Package::default());
        }
        self.packages.get_mut(name)
    }
}

/// Returns the approximate memory of an entry with this name without its text, in bytes.
fn cost(name: &str) -> usize {
    ENTRY + name.len()
}

/// Returns the approximate memory of the attributes of a test, in bytes.
fn attributes_cost(test: &str, all: &Attributes) -> usize {
    all.iter().map(|(key, value)| cost(test) + key.len() + value.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_apart_and_taken_once() {
        let mut outputs = Outputs::default();
        outputs.push("p", "A", "1");
        outputs.push("q", "A", "2");
        outputs.push("p", "A", "3");
        outputs.push("p", "", "own");
        assert_eq!(outputs.take("p", "A").as_deref(), Some("13"));
        assert_eq!(outputs.take("p", "A"), None);
        assert_eq!(outputs.close("p").texts, BTreeMap::from([(String::new(), "own".to_owned())]));
        assert_eq!(outputs.close("q").texts, BTreeMap::from([("A".to_owned(), "2".to_owned())]));
        assert_eq!(outputs.close("q"), Rest::default());
    }

    #[test]
    fn all_together_stay_within_the_bound_and_room_comes_back() {
        let mut outputs = Outputs::default();
        let text = "x".repeat(1000);
        for number in 0..100_000 {
            outputs.push("p", &number.to_string(), &text);
        }
        assert!(outputs.kept <= MAX_KEPT);
        let held = outputs.close("p").texts.len();
        assert!(held > 20_000 && held < 100_000, "{held}");
        assert_eq!(outputs.kept, 0);
        for number in 0..1_000_000 {
            outputs.start("p", &number.to_string(), "2026-07-30T13:22:20.123Z");
        }
        assert!(outputs.kept <= MAX_KEPT);
        assert_eq!(outputs.take_start("p", "7").as_deref(), Some("2026-07-30T13:22:20.123Z"));
        let rest = outputs.close("p");
        assert!(rest.texts.is_empty() && rest.running.len() > 20_000);
        // The test 7 has ended, so each of the others is either kept or counted.
        assert_eq!(rest.running.len() as u64 + outputs.untracked, 999_999);
        assert_eq!(outputs.kept, 0);
        outputs.push("p", "again", &text);
        assert_eq!(outputs.take("p", "again").unwrap().len(), 1000);
    }

    #[test]
    fn attributes_are_bounded_and_the_last_value_stays() {
        let mut outputs = Outputs::default();
        outputs.attribute("p", "A", "k", "1");
        outputs.attribute("p", "A", "k", "2");
        assert_eq!(outputs.take_attributes("p", "A"), [("k".to_owned(), "2".to_owned())]);
        assert!(outputs.take_attributes("p", "A").is_empty());
        for number in 0..100_000 {
            outputs.attribute("p", &(number % 50_000).to_string(), &number.to_string(), &"x".repeat(500));
        }
        assert!(outputs.kept <= MAX_KEPT);
        for number in 0..1000 {
            outputs.attribute("q", "A", &number.to_string(), "");
        }
        assert!(outputs.take_attributes("q", "A").len() <= MAX_ATTRIBUTES);
        assert!(outputs.close("p").texts.is_empty() && outputs.close("q").texts.is_empty());
        assert_eq!(outputs.kept, 0);
    }

    #[test]
    fn running_tests_and_started_packages_are_unfinished() {
        let mut outputs = Outputs::default();
        outputs.open("started");
        outputs.start("running", "A", "");
        outputs.start("running", "A", "10:00");
        outputs.start("ended", "A", "");
        outputs.push("output", "A", "text");
        assert_eq!(outputs.take_start("ended", "A"), None);
        assert_eq!(outputs.unfinished(), ["running", "started"]);
        assert_eq!(outputs.close("running"), Rest { running: vec!["A".to_owned()], ..Rest::default() });
        assert_eq!(outputs.close("started"), Rest { started: true, ..Rest::default() });
        assert_eq!(outputs.untracked, 0);
        assert!(outputs.close("ended").running.is_empty() && !outputs.close("output").texts.is_empty());
        assert_eq!(outputs.kept, 0);
    }

    #[test]
    fn endless_package_names_do_not_gather() {
        let mut outputs = Outputs::default();
        for number in 0..1_000_000 {
            outputs.set_failed(&number.to_string());
        }
        assert!(outputs.packages.len() < MAX_KEPT / ENTRY);
        assert!(outputs.has_failed("7"));
    }
}
