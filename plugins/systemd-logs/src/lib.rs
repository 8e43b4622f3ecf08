//! The built-in module `systemd-logs`: reads the logs of a node's journal, one JSON object per line as `journalctl -o json` prints them, and
//! counts them by unit and priority.
//!
//! The files are read as a stream, line by line. What bounds the memory: [`MAX_LINE`], [`MAX_UNITS_KNOWN`], and the texts of few messages.
//!
//! # The tree
//!
//! * A file becomes an item: name = the file's name; meta `file`, `type: file`, `entries`, and one count for each priority that occurs
//!   (`emerg`, `alert`, `crit`, `err`, `warning`, `notice`, `info`, `debug`; `none` for entries without one).
//! * Each unit with errors (`err` and worse) becomes an item below it: name = the unit; meta `type: unit` and its own counts; detail
//!   `messages`: the first of its errors, with their times. The units with most errors come first.
//! * Units beyond the number that is shown are summed up in a last item, `N further units`.
//! * The unit of an entry is `_SYSTEMD_UNIT`; of what the service manager says about a unit, that unit; of the kernel, `kernel`; else
//!   the identifier that the program gave itself.
//!
//! Statuses are `passed`: errors in a log are not a failure of the node. What is to count as one, an operator says:
//!
//! | option | default | meaning |
//! |---|---|---|
//! | `fail-on` | — | a unit with an entry of this priority or worse is `failed`: `emerg`, `alert`, `crit`, `err`, `warning`, ... |
//! | `units` | all | the units that can fail: names, with `*` for any text |
//! | `max-units` | 50 | units that are shown, at most 1,000 |
//! | `max-messages` | 5 | messages that are shown of each, at most 100 |
//!
//! With `fail-on: warning` or weaker, units that only have such entries are shown too.
//!
//! # What the lines say about themselves
//!
//! Plumbline's worker writes lines of its own (docs/node-logs.md): that older lines are left out, or something odd, becomes the meta
//! key `warning`; a machine without a journal, or with one that has no entries, is `not-read`; logs that could not be read are an item `incomplete`, which has `failed`.
//!
//! # Files that are not as they should be
//!
//! Lines that are no JSON object are counted (`unparsed`), and the first is named (`unparsed-first`). A file of nothing else, and one that
//! cannot be read to its end, has an item `unreadable`, which is `unknown`.
//!
//! # Bounds
//!
//! | what | at most | beyond it |
//! |---|---|---|
//! | a line | 16 MiB | it counts as unparsed |
//! | a message that is shown | 1 KiB | cut |
//! | units that are told apart | 10,000 | later ones are counted together |
//! | the text of a warning | 4 KiB | cut |
#![forbid(unsafe_code)]

mod entry;
mod lines;
mod options;
mod post_processor;
mod priority;
mod report;
mod time;
mod units;

pub use lines::MAX_LINE;
pub use post_processor::SystemdLogs;
pub use units::MAX_UNITS_KNOWN;

plumbline_sdk::module! {
    name: "systemd-logs",
    formats: ["systemd-logs"],
    default_files: ["**/systemd_logs"],
    post_processor: SystemdLogs,
}
