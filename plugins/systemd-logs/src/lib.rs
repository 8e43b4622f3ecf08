//! The built-in module `systemd-logs`: reads the logs of a node's journal, and counts them by unit
//! and priority. The input is one JSON object per line, as `journalctl -o json` prints it.
//!
//! Files are read as a stream, line by line. [`MAX_LINE`], [`MAX_UNITS_KNOWN`] and a small number
//! of messages limit the memory.
//!
//! # The tree
//!
//! * A file becomes an item with the file's name. Its metadata are `file`, `type: file`, `entries`,
//!   and one count for each priority that occurs (`emerg`, `alert`, `crit`, `err`, `warning`,
//!   `notice`, `info`, `debug`; `none` for entries without one).
//! * Each unit with errors (`err` and worse) becomes an item below it, with the unit's name. Its
//!   metadata are `type: unit` and its own counts. Its detail `messages` has the first of its
//!   errors, with their times. The units with the most errors come first.
//! * Units beyond the maximum number are counted in a last item, `N further units`.
//! * The unit of an entry is `_SYSTEMD_UNIT`. Messages of the service manager about a unit belong
//!   to that unit, and messages of the kernel to `kernel`. Otherwise it is the identifier of the
//!   program.
//!
//! By default, all items are `passed`: errors in a log are not a failure of the node. Options
//! change that:
//!
//! | option | default | meaning |
//! |---|---|---|
//! | `fail-on` | — | a unit with an entry of this priority or worse is `failed`: `emerg`, `alert`, `crit`, `err`, `warning`, ... |
//! | `units` | all | the units that can fail: names, with `*` for any text |
//! | `max-units` | 50 | number of units to show, at most 1,000 |
//! | `max-messages` | 5 | number of messages to show for each, at most 100 |
//!
//! With `fail-on: warning` or weaker, units that only have such entries are shown too.
//!
//! # Lines of the worker
//!
//! Plumbline's worker adds lines of its own (docs/node-logs.md). Notes, for example that older
//! lines are left out, become the metadata key `warning`. With `fail-on`, there is also an item
//! `missing lines`, which is `unknown`: any of them may be an entry that fails a unit. A machine
//! without a journal, or with an empty one, is `not-read`. But the worker adds a note to an empty one,
//! so with `fail-on` it has that item. Logs that could not be read become an item `incomplete`, which
//! is `failed`.
//!
//! # Invalid files
//!
//! Lines that are not JSON objects are counted (`unparsed`), and the first one is reported
//! (`unparsed-first`). A file with only such lines, or one that cannot be read to its end, has an
//! item `unreadable`, which is `unknown`. With `fail-on`, other files with such lines have an item
//! `unparsed lines`, which is `unknown`: any of them may be an entry that fails a unit.
//!
//! Headers of `journalctl`, which start with `-- `, do not count as such lines. A file that has
//! headers and no entries is `unreadable`, too.
//!
//! # Limits
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a line | 16 MiB | it counts as unparsed |
//! | a message that is shown | 1 KiB | cut |
//! | units that are distinguished | 10,000 | later ones are counted together, and fail together; with `units`, they are `unknown` |
//! | the text of a warning | 4 KiB | cut |
#![forbid(unsafe_code)]

mod entry;
mod options;
mod priority;
mod report;
mod time;
mod units;

use std::io;

use plumbline_sdk::input::read_line;
use plumbline_sdk::{InputFile, Item, Output, PluginInfo, PostProcessor};

use entry::Entry;
use options::Options;
use report::Report;

pub use units::MAX_UNITS_KNOWN;

/// Maximum size of a line in bytes: 16 MiB, twice the worker's maximum.
pub const MAX_LINE: usize = 16 << 20;

/// The start of a line that `journalctl` prints between entries, such as `-- Logs begin …`.
const HEADER: &[u8] = b"-- ";

/// The post-processor for the logs of a journal.
#[derive(Debug, Clone, Copy)]
pub struct SystemdLogs;

impl PostProcessor for SystemdLogs {
    fn process(plugin: &PluginInfo, files: Vec<InputFile>, out: &mut Output) -> Result<(), String> {
        let options = plugin.options::<Options>()?.checked()?;
        for mut file in files {
            let mut report = Report::new(&options);
            let problem = read(&mut file, &mut report).err();
            report.finish(Item::of_file(&file), problem.map(|error| error.to_string()), out);
        }
        Ok(())
    }
}

/// Passes the lines of a file to its report.
fn read(file: &mut InputFile, report: &mut Report<'_>) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        let Some(end) = read_line(file, &mut line, MAX_LINE)? else { break };
        let text = line.trim_ascii();
        if end.is_cut {
            report.unparsed(number, "it exceeds the length limit");
        } else if line.starts_with(HEADER) {
            report.header();
        } else if !text.is_empty() {
            match Entry::read(text) {
                Ok(entry) => report.take(&entry),
                Err(why) => report.unparsed(number, &why),
            }
        }
    }
    Ok(())
}

plumbline_sdk::module! {
    name: "systemd-logs",
    formats: ["systemd-logs"],
    default_files: ["**/systemd_logs"],
    post_processor: SystemdLogs,
}
