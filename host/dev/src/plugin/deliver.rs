//! The test plugin: works for a time, delivers results to the worker, and ends in a chosen way.

use std::fs::{self, File};
use std::future::pending;
use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use plumbline_core::duration::parse_duration;
use plumbline_core::size::parse_size;
use plumbline_dev::Result;
use plumbline_kubernetes::names;
use serde_json::json;
use tokio::time::sleep;

use crate::plugin::common::{cannot, done, pack, post, say, until_terminated, write_file};
use crate::plugin::formats::{Content, ResultFormat, file_name, write, write_half};

/// Maximum number of items: more than any suite has, and a file that a disk can hold.
const MAX_ITEMS: i64 = 10_000_000;
/// Maximum number of progress updates: several a second for an hour.
const MAX_UPDATES: i64 = 10_000;

/// Run as a plugin that works for a time, reports items, and ends in a chosen way.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PluginOptions {
    /// How the plugin ends
    #[arg(long, value_enum, default_value_t = Ending::Pass, value_name = "HOW")]
    outcome: Ending,
    /// How long it works before it ends, such as `90s`
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration)]
    after: Duration,
    /// Format of the results; `raw` cannot report a failed item
    #[arg(long, value_enum, default_value_t = ResultFormat::Junit, value_name = "FORMAT")]
    format: ResultFormat,
    /// Number of items; with `--outcome fail` the last one failed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=MAX_ITEMS))]
    items: u32,
    /// Write a second file of this size, such as `64MiB`, and send the directory
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    bytes: Option<u64>,
    /// Number of progress updates to post while it works
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MAX_UPDATES))]
    progress: u32,
    /// Exit code [default: 0, or 1 for `--outcome crash`]
    #[arg(long = "exit", value_name = "N")]
    exit: Option<u8>,
    /// Send an archive (`.tar.gz`) of the results
    #[arg(long)]
    archive: bool,
    /// Stay until SIGTERM after the results are written, as a plugin of a DaemonSet does
    #[arg(long)]
    stay: bool,
    /// Write no done file
    #[arg(long)]
    no_done: bool,
    /// Directory that worker and plugin share
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = names::RESULTS_DIR, value_name = "DIR")]
    results_dir: PathBuf,
    /// Write a result for `plumbline report` instead of results for a worker
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["archive", "bytes"])]
    adapter_result: Option<AdapterResult>,
    /// File of the result for `plumbline report`
    #[arg(long, env = "RESULTS_PATH", default_value = "/results/adapter-result.json", value_name = "FILE")]
    results_path: PathBuf,
    /// Port of the worker for progress updates
    #[arg(long, env = "SONOBUOY_PROGRESS_PORT", default_value_t = 8099, value_name = "PORT")]
    progress_port: u16,
}

/// How the test plugin ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ending {
    /// Every item passed
    Pass,
    /// The last item failed
    Fail,
    /// Exits while it writes results, without a done file
    Crash,
    /// Hangs until SIGTERM
    Hang,
    /// Exits with code 0 and without results
    None,
    /// Names a result that does not exist in its done file
    Missing,
    /// Takes memory until it is killed, or has 2 GiB
    Oom,
}

/// What the test plugin writes for `plumbline report`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AdapterResult {
    /// A result with status `success`
    Success,
    /// A result with status `failure`, and details
    Failure,
    /// A file that is not a result
    Invalid,
    /// The first half of a result
    Half,
}

/// The name of a result that does not exist.
const NO_RESULT: &str = "no-such-result.xml";

/// The default exit code of a crash.
const CRASHED: u8 = 1;

/// Works, writes results, and ends as the options say.
pub(crate) fn run(options: &PluginOptions) -> Result<u8> {
    until_terminated(deliver(options), options.exit.unwrap_or(0))
}

/// Returns the exit code, or `None` to stay.
async fn deliver(options: &PluginOptions) -> Result<Option<u8>> {
    work(options).await;
    match options.outcome {
        Ending::Pass | Ending::Fail => {}
        Ending::Crash => {
            write_results(options, write_half)?;
            say("test-plugin: crashes as configured");
            return Ok(Some(options.exit.unwrap_or(CRASHED)));
        }
        Ending::Hang => {
            say("test-plugin: hangs as configured");
            pending::<()>().await;
        }
        Ending::None => {
            say("test-plugin: ends without a result as configured");
            return Ok(Some(options.exit.unwrap_or(0)));
        }
        Ending::Missing => {
            done(&options.results_dir, &options.results_dir.join(NO_RESULT))?;
            say("test-plugin: names a result that does not exist as configured");
            return Ok(if options.stay { None } else { Some(options.exit.unwrap_or(0)) });
        }
        Ending::Oom => {
            say("test-plugin: takes all memory as configured");
            return Err(take_all_memory().into());
        }
    }
    if let Some(what) = options.adapter_result {
        write_adapter_result(what, &options.results_path)?;
        say(format_args!("test-plugin: `{}` is written", options.results_path.display()));
    } else {
        let sent = results(options)?;
        if options.no_done {
            say(format_args!("test-plugin: `{}` is written, without a done file", sent.display()));
        } else {
            done(&options.results_dir, &sent)?;
            say(format_args!("test-plugin: `{}` is done", sent.display()));
        }
    }
    Ok(if options.stay { None } else { Some(options.exit.unwrap_or(0)) })
}

/// The directory with the results, in the shared directory. It does not contain the done file, so
/// it can be sent.
const OUTPUT_DIR: &str = "test-plugin";
/// The archive of [`OUTPUT_DIR`], next to it.
const ARCHIVE: &str = "test-plugin.tar.gz";
const EXTRA: &str = "extra.bin";

/// Writes the results, and returns the path of what to send.
fn results(options: &PluginOptions) -> Result<PathBuf> {
    let (dir, file) = write_results(options, write)?;
    if let Some(bytes) = options.bytes {
        write_file(&dir.join(EXTRA), |out| noise(bytes, out))?;
    }
    if options.archive {
        let archive = options.results_dir.join(ARCHIVE);
        pack(&dir, &archive)?;
        return Ok(archive);
    }
    Ok(if options.bytes.is_some() { dir } else { file })
}

type Writer = fn(ResultFormat, Content, &mut BufWriter<File>) -> io::Result<()>;

/// Writes the items with `writer`, and returns the directory and the file.
fn write_results(options: &PluginOptions, writer: Writer) -> Result<(PathBuf, PathBuf)> {
    let dir = options.results_dir.join(OUTPUT_DIR);
    fs::create_dir_all(&dir).map_err(cannot("create", &dir))?;
    let file = dir.join(file_name(options.format));
    let content = Content { items: options.items, last_fails: options.outcome == Ending::Fail };
    write_file(&file, |out| writer(options.format, content, out))?;
    Ok((dir, file))
}

/// Number of random bytes that are generated at a time.
const NOISE: usize = 64 * 1024;

/// Writes bytes that cannot be compressed, the same each time.
fn noise(bytes: u64, out: &mut impl Write) -> io::Result<()> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut piece = vec![0_u8; NOISE];
    let mut left = bytes;
    while left > 0 {
        piece.truncate(usize::try_from(left).unwrap_or(NOISE));
        random.fill(&mut piece);
        out.write_all(&piece)?;
        left -= piece.len() as u64;
    }
    Ok(())
}

const SUCCESS: &str =
    r#"{"status": "success", "reason": "ConfiguredToSucceed", "message": "test-plugin is configured to succeed"}"#;
const FAILURE: &str = r#"{"status": "failure", "reason": "ConfiguredToFail", "message": "test-plugin is configured to fail", "details": {"checks_run": 5}}"#;
const INVALID: &str = r#"{"status": "passed"}"#;

/// Writes a result for the reporter. A half result is written in place, the others atomically.
fn write_adapter_result(what: AdapterResult, path: &Path) -> Result<()> {
    let text = match what {
        AdapterResult::Success => SUCCESS,
        AdapterResult::Failure => FAILURE,
        AdapterResult::Invalid => INVALID,
        AdapterResult::Half => SUCCESS.split_at(SUCCESS.len() / 2).0,
    };
    let partial = path.with_extension("partial");
    let written = match what {
        AdapterResult::Half => fs::write(path, text),
        _ => fs::write(&partial, text).and_then(|()| fs::rename(&partial, path)),
    };
    written.map_err(|error| {
        format!(
            "failed to write `{}`: {error}\nhint:  mount a volume there, or give another path with `--results-path`",
            path.display()
        )
    })?;
    Ok(())
}

/// Waits as long as the options say, and posts progress. An update that fails is only reported.
async fn work(options: &PluginOptions) {
    let Some(step) = options.after.checked_div(options.progress) else { return sleep(options.after).await };
    let host = format!("localhost:{}", options.progress_port);
    for update in 1..=options.progress {
        sleep(step).await;
        match post(&host, "/progress", &update_body(options, update)).await {
            Ok(()) => say(format_args!("test-plugin: progress {update}/{}", options.progress)),
            Err(error) => say(format_args!("test-plugin: failed to post progress {update}: {error}")),
        }
    }
}

/// Returns the body of an update. Items complete in equal steps, and the last update has the failed
/// one.
fn update_body(options: &PluginOptions, update: u32) -> String {
    let done = u64::from(options.items) * u64::from(update) / u64::from(options.progress.max(1));
    let last = update == options.progress && options.outcome == Ending::Fail && options.items > 0;
    let failures: Vec<String> = last.then(|| Content::name(options.items)).into_iter().collect();
    let completed = done - failures.len() as u64;
    json!({"msg": format!("update {update}"), "total": options.items, "completed": completed, "failures": failures})
        .to_string()
}

/// Number of bytes that are allocated at a time.
const PIECE: usize = 8 << 20;
/// Number of bytes after which allocation stops. Without a limit of the container, the test fails
/// instead of the machine.
const MOST: usize = 2 << 30;

/// Allocates memory and writes to it until this process is killed. Returns only if it is not
/// killed.
fn take_all_memory() -> String {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while taken.len() * PIECE < MOST {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(PIECE).is_err() {
            return format!("no memory is left after {} MiB", (taken.len() * PIECE) >> 20);
        }
        // The kernel only provides memory that is written to.
        piece.resize(PIECE, 1);
        taken.push(black_box(piece));
    }
    format!(
        "used {} MiB without being stopped\nhint:  set `resources.limits.memory` in the plugin's `spec`",
        MOST >> 20
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_size_that_was_asked_for() {
        for bytes in [0, 1, 65_535, 65_536, 65_537, 200_000] {
            let mut out = Vec::new();
            noise(bytes, &mut out).unwrap();
            assert_eq!(out.len() as u64, bytes);
        }
    }
}
