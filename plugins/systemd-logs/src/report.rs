//! Converts entries to items.

use plumbline_sdk::text::shortened;
use plumbline_sdk::{Item, Output, Status};

use crate::entry::{Entry, Kind};
use crate::options::Checked;
use crate::priority::{Counts, NAMES, NONE};
use crate::time::rfc3339;
use crate::units::{Unit, Units};

/// The status of a file without any readable entry. The host treats it as neutral in a verdict.
const NOT_READ: &str = "not-read";

/// Maximum number of bytes of a message to show.
const MAX_MESSAGE: usize = 1 << 10;

/// Maximum size in bytes of the text of all warnings, and of each other sentence.
const MAX_TEXT: usize = 4 << 10;

/// The report of one file. Counts are in the items above what they count, so all items are emitted
/// at the end.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    options: &'a Checked,
    entries: Counts,
    units: Units,
    unparsed: u64,
    first_unparsed: Option<String>,
    has_header: bool,
    warning: String,
    failures: String,
    no_journal: Option<String>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(options: &'a Checked) -> Self {
        Self {
            options,
            entries: Counts::default(),
            units: Units::default(),
            unparsed: 0,
            first_unparsed: None,
            has_header: false,
            warning: String::new(),
            failures: String::new(),
            no_journal: None,
        }
    }

    /// Processes a line.
    pub(crate) fn take(&mut self, entry: &Entry) {
        match entry.kind() {
            Kind::Entry => self.entry(entry),
            Kind::Warning => join(&mut self.warning, entry.message()),
            Kind::Failed => join(&mut self.failures, entry.message()),
            Kind::NoJournal => self.no_journal = Some(shortened(entry.message(), MAX_TEXT)),
        }
    }

    /// Records a line that `journalctl` prints between entries, such as `-- Boot …`.
    pub(crate) fn header(&mut self) {
        self.has_header = true;
    }

    /// Records a line that is not an entry, with the reason.
    pub(crate) fn unparsed(&mut self, number: u64, why: &str) {
        self.unparsed += 1;
        self.first_unparsed.get_or_insert_with(|| format!("line {number}: {}", shortened(why, MAX_MESSAGE)));
    }

    /// Emits `file`, and the items below it. `problem` says why the file could not be read to its end.
    pub(crate) fn finish(self, mut file: Item, problem: Option<String>, out: &mut Output) {
        let Self { options, entries, units, unparsed, first_unparsed, has_header, warning, failures, no_journal } =
            self;
        let has_others = unparsed > 0 || has_header;
        if let Some(reason) = no_journal {
            out.emit(file.status(Status::from(NOT_READ)).meta("reason", reason));
            return;
        }
        // Any of the lines that are missing may be an entry that fails a unit.
        let missing = options.fail_on.is_some() && !warning.is_empty();
        if entries.total() == 0 && !has_others && failures.is_empty() && problem.is_none() && !missing {
            out.emit(file.status(Status::from(NOT_READ)).meta("reason", "the journal has no entries"));
            return;
        }
        file = counted(file.meta("entries", entries.total().to_string()), &entries);
        if unparsed > 0 {
            file = file.meta("unparsed", unparsed.to_string());
        }
        if let Some(first) = &first_unparsed {
            file = file.meta("unparsed-first", first.as_str());
        }
        if !warning.is_empty() {
            file = file.meta("warning", warning.as_str());
        }
        let nothing = entries.total() == 0 && has_others;
        let problem = problem.or_else(|| nothing.then(|| "none of its lines is a journal entry".to_owned()));
        let mut below = below(options, units, failures, problem);
        if let Some(first) = first_unparsed.filter(|_| options.fail_on.is_some() && !nothing) {
            below.insert(0, unparsed_lines(unparsed, &first));
        }
        if missing {
            below.insert(0, Item::new(1, "missing lines").status(Status::Unknown).meta("error", warning));
        }
        // Without items below it, there is no status to roll up.
        out.emit(if below.is_empty() { file.status(Status::Passed) } else { file });
        for item in below {
            out.emit(item);
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let priority = entry.priority();
        self.entries.add(priority);
        let Some(unit) = self.units.count(entry.unit(), priority) else { return };
        if unit.messages.len() < self.options.max_messages
            && let Some(priority) = priority.filter(|&priority| priority <= self.options.shown())
        {
            let time = entry.time().map_or_else(|| "-".to_owned(), rfc3339);
            let name = NAMES.get(priority).unwrap_or(&NONE);
            unit.messages.push(format!("{time} {name}: {}", shortened(entry.message(), MAX_MESSAGE)));
        }
    }
}

/// Returns the item for lines that are not entries, any of which may be one that fails a unit.
fn unparsed_lines(count: u64, first: &str) -> Item {
    let lines = if count == 1 {
        "1 line is not a journal entry".to_owned()
    } else {
        format!("{count} lines are not journal entries")
    };
    Item::new(1, "unparsed lines").status(Status::Unknown).meta("error", format!("{lines}: {first}"))
}

/// Returns the items below a file.
fn below(options: &Checked, units: Units, failures: String, problem: Option<String>) -> Vec<Item> {
    let mut items = Vec::new();
    if !failures.is_empty() {
        items.push(Item::new(1, "incomplete").status(Status::Failed).meta("error", failures));
    }
    if let Some(problem) = problem {
        items.push(Item::new(1, "unreadable").status(Status::Unknown).meta("error", shortened(&problem, MAX_TEXT)));
    }
    let (units, unknown) = units.into_sorted(options.shown());
    let mut further = unknown;
    let mut count = 0_usize;
    let mut failed = false;
    for (at, (name, unit)) in units.into_iter().enumerate() {
        let fails = options.fails(&name).is_some_and(|priority| unit.counts.at_least(priority) > 0);
        if at < options.max_units {
            items.push(shown(&name, unit, fails));
        } else {
            count += 1;
            failed |= fails;
            further.merge(&unit.counts);
        }
    }
    let several = unknown.total() > 0;
    if count > 0 || several {
        let name = if several { format!("more than {count} further units") } else { format!("{count} further units") };
        let status = match options.undistinguished(&unknown) {
            _ if failed => Status::Failed,
            Some(status) => status,
            None => Status::Passed,
        };
        items.push(counted(Item::new(1, name).meta("type", "units"), &further).status(status));
    }
    items
}

fn shown(name: &str, unit: Unit, fails: bool) -> Item {
    let status = if fails { Status::Failed } else { Status::Passed };
    let item = counted(Item::new(1, name).meta("type", "unit"), &unit.counts).status(status);
    if unit.messages.is_empty() { item } else { item.text("messages", unit.messages.join("\n")) }
}

fn counted(item: Item, counts: &Counts) -> Item {
    counts.named().fold(item, |item, (name, count)| item.meta(name, count.to_string()))
}

fn join(text: &mut String, more: &str) {
    if text.len() >= MAX_TEXT {
        return;
    }
    if !text.is_empty() {
        text.push_str("; ");
    }
    text.push_str(&shortened(more, MAX_TEXT - text.len().min(MAX_TEXT)));
}
