//! Facts that programs of the node print.

use std::time::Duration;

use crate::collector::Collector;
use crate::program::{self, Bounds};

/// Limits for `--version`, which normally answers in a tenth of a second.
const VERSION_BOUNDS: Bounds = Bounds { patience: Duration::from_secs(10), bytes: 16 << 10 };

/// Runs a program below the root and returns its output, or the reason why the facts that no file
/// has are unknown.
pub(super) fn ask(collector: &Collector<'_>, name: &str, arguments: &[&str], bounds: Bounds) -> Result<String, String> {
    let program = program::find(collector.source, name);
    let program = program.ok_or_else(|| format!("no program `{name}` in the usual directories"))?;
    if !collector.options.run_programs {
        return Err(format!("no file tells it, and {program} was not asked: `--run-programs` was not given"));
    }
    program::run(collector.options, &program, arguments, &[], bounds)
}

/// Returns the version that a program prints, or records why it is unknown.
pub(super) fn version(
    collector: &mut Collector<'_>,
    fact: &str,
    name: &str,
    parse: fn(&str) -> String,
) -> Option<String> {
    let answer = ask(collector, name, &["--version"], VERSION_BOUNDS);
    answer
        .map_err(|reason| collector.miss(&format!("plumbline_facts.{fact}.version"), reason))
        .ok()
        .map(|it| parse(&it))
}
