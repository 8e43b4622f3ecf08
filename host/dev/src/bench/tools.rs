//! What the benchmarks share: statistics, tables, the program to measure, processes that measure
//! themselves, and calls of a post-processor.

use std::env;
use std::ffi::OsStr;
use std::hint::black_box;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use comfy_table::{Table, presets};
use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_dev::Result;
use plumbline_sandbox::{CallStats, InputFile, ItemSink, Module, NoLog, PluginInfo, PostProcess};

/// Returns the median; 0 without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 50.0)
}

/// Returns the given percentile, by the nearest rank; 0 without values.
pub(crate) fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * (sorted.len() as f64 - 1.0)).round();
    sorted.get(rank.max(0.0) as usize).copied().unwrap_or_default()
}

pub(crate) fn median_by<T>(measured: &[T], value: impl Fn(&T) -> f64) -> f64 {
    median(&measured.iter().map(value).collect::<Vec<_>>())
}

/// Measures `runs` times, at least once, and returns the median.
pub(crate) fn median_of(runs: usize, measure: impl FnMut() -> Result<f64>) -> Result<f64> {
    let measured: Result<Vec<f64>> = iter::repeat_with(measure).take(runs.max(1)).collect();
    Ok(median(&measured?))
}

/// Prints a title and a table in the format of docs/benchmarks.md.
pub(crate) fn print_table<const N: usize>(title: &str, header: [&str; N], rows: &[[String; N]]) {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    println!("\n## {title}\n\n{table}");
}

pub(crate) fn print_values(title: &str, values: &[(&str, String)]) {
    let rows: Vec<_> = values.iter().map(|(what, value)| [(*what).to_owned(), value.clone()]).collect();
    print_table(title, ["what", "value"], &rows);
}

pub(crate) fn mib(kib: f64) -> String {
    format!("{:.0} MiB", kib / 1024.0)
}

/// Returns the path of `plumbline`: the given one, or the one next to this program. Returns `None`
/// if it does not exist, and prints that `what` is skipped.
pub(crate) fn plumbline(what: &str, given: Option<&Path>) -> Result<Option<PathBuf>> {
    let program = match given {
        Some(program) => program.to_owned(),
        None => env::current_exe()?.with_file_name("plumbline"),
    };
    if program.is_file() {
        return Ok(Some(program));
    }
    println!("\nskipped: {what}: `{}` does not exist; build it first", program.display());
    Ok(None)
}

/// Runs one measurement in a new process of this program, so that its memory usage is its own.
/// Returns the numbers that it prints.
pub(crate) fn in_child<const N: usize>(measurement: &str, args: &[&OsStr]) -> Result<[f64; N]> {
    numbers(Command::new(env::current_exe()?).args(["bench", "--child", measurement]).args(args))
}

/// Runs a program that prints numbers, and returns them.
pub(crate) fn numbers<const N: usize>(command: &mut Command) -> Result<[f64; N]> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let failed = |_| format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(<[f64; N]>::try_from(numbers).map_err(failed)?)
}

/// One call of a post-processor, whose items were counted and dropped.
pub(crate) struct Called {
    pub(crate) stats: CallStats,
    pub(crate) items: u64,
    pub(crate) seconds: f64,
}

struct Count(u64);

impl ItemSink for Count {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        black_box(&item);
        self.0 += 1;
        Ok(())
    }
}

/// Makes one call in a fresh instance.
pub(crate) fn call(module: &Module, files: Vec<InputFile>, limits: &ModuleLimits) -> Result<Called> {
    let plugin =
        PluginInfo { name: "bench".into(), driver: "Job".into(), format: "junit".into(), ..PluginInfo::default() };
    let mut count = Count(0);
    let start = Instant::now();
    let stats = module.post_process(PostProcess { plugin: &plugin, files, limits }, &mut count, &mut NoLog)?;
    Ok(Called { stats, items: count.0, seconds: start.elapsed().as_secs_f64() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_values() {
        let values: Vec<f64> = (1..=101).rev().map(f64::from).collect();
        assert_eq!(median(&values), 51.0);
        assert_eq!(percentile(&values, 99.0), 100.0);
        assert_eq!(median(&[]), 0.0);
    }
}
