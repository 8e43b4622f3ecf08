//! The results of the test plugin: their formats, how they are delivered to the worker, and the progress
//! that it posts before.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_archive::pack::{PackOptions, pack_directory};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::context::Context;
use crate::error::AppError;
use crate::test_plugin::{AdapterResult, Ending, ResultFormat, TestPluginOptions};

#[derive(Debug, Clone, Copy)]
pub(super) struct Content {
    /// The number of items.
    pub(super) items: u32,
    /// Whether the last one failed.
    pub(super) last_fails: bool,
}

impl Content {
    /// The name of an item, counted from 1. All names have the same length, so they sort by number.
    pub(super) fn name(number: u32) -> String {
        format!("item-{number:07}")
    }

    pub(super) fn fails(self, number: u32) -> bool {
        self.last_fails && number == self.items
    }

    fn failures(self) -> u32 {
        u32::from(self.last_fails && self.items > 0)
    }
}

/// The name of the file, which is a default file of the format's module.
pub(super) fn file_name(format: ResultFormat) -> &'static str {
    match format {
        ResultFormat::Junit => "report.xml",
        ResultFormat::Raw => "report.txt",
        ResultFormat::Gojson => "report.json",
        ResultFormat::Manual => "report.yaml",
    }
}

pub(super) fn write(format: ResultFormat, content: Content, out: &mut impl Write) -> io::Result<()> {
    head(format, content, out)?;
    for number in 1..=content.items {
        item(format, content, number, out)?;
    }
    match format {
        ResultFormat::Junit => out.write_all(b"</testsuite>\n</testsuites>\n"),
        ResultFormat::Gojson => {
            let action = if content.failures() > 0 { "fail" } else { "pass" };
            writeln!(out, r#"{{"Action":"{action}","Package":"test-plugin"}}"#)
        }
        ResultFormat::Raw | ResultFormat::Manual => Ok(()),
    }
}

/// Writes the report of a plugin that crashes: half of the items, without an end.
pub(super) fn write_half(format: ResultFormat, content: Content, out: &mut impl Write) -> io::Result<()> {
    head(format, content, out)?;
    (1..=content.items / 2).try_for_each(|number| item(format, content, number, out))
}

fn head(format: ResultFormat, content: Content, out: &mut impl Write) -> io::Result<()> {
    let (items, failures) = (content.items, content.failures());
    match format {
        ResultFormat::Junit => {
            out.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n")?;
            writeln!(out, r#"<testsuite name="test-plugin" tests="{items}" failures="{failures}">"#)
        }
        ResultFormat::Raw => writeln!(out, "test-plugin: {items} items, {failures} failed"),
        ResultFormat::Gojson => Ok(()),
        // The key has no value, because no items could follow `[]`.
        ResultFormat::Manual => out.write_all(b"name: test-plugin\nitems:\n"),
    }
}

fn item(format: ResultFormat, content: Content, number: u32, out: &mut impl Write) -> io::Result<()> {
    let name = Content::name(number);
    let fails = content.fails(number);
    match (format, fails) {
        (ResultFormat::Junit, false) => writeln!(out, r#"<testcase name="{name}"/>"#),
        (ResultFormat::Junit, true) => {
            writeln!(out, r#"<testcase name="{name}"><failure message="configured to fail"></failure></testcase>"#)
        }
        (ResultFormat::Raw, _) => writeln!(out, "{name} {}", if fails { "failed" } else { "passed" }),
        (ResultFormat::Gojson, _) => {
            let action = if fails { "fail" } else { "pass" };
            writeln!(out, r#"{{"Action":"{action}","Package":"test-plugin","Test":"{name}","Elapsed":0}}"#)
        }
        (ResultFormat::Manual, false) => writeln!(out, "- name: {name}\n  status: passed"),
        (ResultFormat::Manual, true) => {
            writeln!(out, "- name: {name}\n  status: failed\n  details:\n    failure: configured to fail")
        }
    }
}

/// The directory with the results, in the shared directory. It does not contain the done file, so
/// it can be sent.
const OUTPUT_DIR: &str = "test-plugin";
/// The archive of [`OUTPUT_DIR`], next to it.
const ARCHIVE: &str = "test-plugin.tar.gz";
/// The further file.
const EXTRA: &str = "extra.bin";
/// The name of the done file.
const DONE: &str = "done";
/// Its name until it is complete.
const DONE_PARTIAL: &str = ".done.partial";
/// The bytes of the further file that are made at a time.
const PIECE: usize = 64 * 1024;

pub(super) fn results(options: &TestPluginOptions) -> Result<PathBuf, AppError> {
    let dir = options.results_dir.join(OUTPUT_DIR);
    let content = Content { items: options.items, last_fails: options.outcome == Ending::Fail };
    let file = dir.join(file_name(options.format));
    fs::create_dir_all(&dir).map_err(cannot("create", &dir))?;
    write_file(&file, |out| write(options.format, content, out))?;
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

/// Writes half of the results, like a plugin that crashes.
pub(super) fn half(options: &TestPluginOptions) -> Result<(), AppError> {
    let dir = options.results_dir.join(OUTPUT_DIR);
    let content = Content { items: options.items, last_fails: false };
    fs::create_dir_all(&dir).map_err(cannot("create", &dir))?;
    write_file(&dir.join(file_name(options.format)), |out| write_half(options.format, content, out))
}

/// Writes the done file, which names `sent`. It is renamed when it is complete, so that the worker
/// never reads a part of it.
pub(super) fn done(results_dir: &Path, sent: &Path) -> Result<(), AppError> {
    let partial = results_dir.join(DONE_PARTIAL);
    let done = results_dir.join(DONE);
    fs::write(&partial, sent.as_os_str().as_encoded_bytes()).map_err(cannot("write", &partial))?;
    fs::rename(&partial, &done).map_err(cannot("write", &done))
}

fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), AppError> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    });
    written.map_err(cannot("write", path))
}

/// Packs an archive that other users can read, because worker and plugin may have different users.
fn pack(dir: &Path, archive: &Path) -> Result<(), AppError> {
    let file = File::create(archive).map_err(cannot("write", archive))?;
    pack_directory(dir, file, &PackOptions::single_threaded(), &mut || false)
        .map_err(|error| AppError::system(format!("failed to pack `{}`", dir.display())).because(&error))?;
    Ok(())
}

/// Writes bytes that cannot be compressed, the same each time.
fn noise(bytes: u64, out: &mut impl Write) -> io::Result<()> {
    // Xorshift is not secure, but gzip cannot compress it.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut piece = Vec::with_capacity(PIECE);
    let mut left = bytes;
    while left > 0 {
        piece.clear();
        while piece.len() < PIECE {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            piece.extend_from_slice(&state.to_le_bytes());
        }
        let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        piece.truncate(now);
        out.write_all(&piece)?;
        left = left.saturating_sub(now as u64);
    }
    Ok(())
}

/// The error of a file in the shared directory.
pub(super) fn cannot(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AppError {
    let path = path.display().to_string();
    move |error| {
        AppError::system(format!("failed to {action} `{path}`"))
            .because(&error)
            .hint("the directory that plugin and worker share must be writable for the plugin's user")
    }
}

const SUCCESS: &str =
    r#"{"status": "success", "reason": "ToldToSucceed", "message": "test-plugin is configured to succeed"}"#;
const FAILURE: &str = r#"{"status": "failure", "reason": "ToldToFail", "message": "test-plugin is configured to fail", "details": {"checks_run": 5}}"#;
const INVALID: &str = r#"{"status": "passed"}"#;

/// Writes a result for the reporter. A half result is written in place, the others atomically.
pub(super) fn write_adapter_result(what: AdapterResult, path: &Path) -> Result<(), AppError> {
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
        AppError::system(format!("failed to write `{}`", path.display()))
            .because(&error)
            .hint("mount a volume there, and give it a path with `--results-path` or RESULTS_PATH")
    })
}

/// How long posting an update within the pod may take.
const POST_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of an answer that are read, for its status line.
const ANSWER: u64 = 1024;

/// Waits as long as the options say, and posts progress. An update that fails is only reported.
pub(super) async fn work(context: &Context, options: &TestPluginOptions) {
    let Some(step) = options.after.checked_div(options.progress) else { return sleep(options.after).await };
    let host = format!("localhost:{}", options.progress_port);
    for update in 1..=options.progress {
        sleep(step).await;
        let body = update_body(options, update);
        match timeout(POST_TIMEOUT, post(&host, "/progress", &body)).await {
            Ok(Ok(status)) if status == "200" => {
                context.reporter.progress(&format!("test-plugin: progress {update}/{}", options.progress))
            }
            Ok(Ok(status)) => {
                context.reporter.progress(&format!("test-plugin: progress {update} was answered with status {status}"))
            }
            Ok(Err(error)) => {
                context.reporter.progress(&format!("test-plugin: failed to post progress {update}: {error}"))
            }
            Err(_) => context.reporter.progress(&format!("test-plugin: progress {update} was not answered in time")),
        }
    }
}

/// The body of an update. Items complete in equal steps, and the last update has the failed one.
fn update_body(options: &TestPluginOptions, update: u32) -> String {
    let done = u64::from(options.items) * u64::from(update) / u64::from(options.progress.max(1));
    let last = update == options.progress && options.outcome == Ending::Fail && options.items > 0;
    let failures: Vec<String> = last.then(|| Content::name(options.items)).into_iter().collect();
    let completed = done - failures.len() as u64;
    json!({"msg": format!("update {update}"), "total": options.items, "completed": completed, "failures": failures})
        .to_string()
}

/// Posts `body` to `host`, a name and a port, and returns the status of the answer. Needs no HTTP
/// client, like a plugin in a shell script.
pub(super) async fn post(host: &str, path: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(host).await?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split_ascii_whitespace().nth(1);
    status.map(str::to_owned).ok_or_else(|| io::Error::other("the response is not HTTP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format: ResultFormat, items: u32, last_fails: bool) -> String {
        let mut out = Vec::new();
        write(format, Content { items, last_fails }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_last_item_fails_and_no_other() {
        for format in [ResultFormat::Junit, ResultFormat::Gojson, ResultFormat::Manual] {
            let report = text(format, 3, true);
            let told = report.lines().position(|line| {
                line.contains("failure m") || line.contains("fail\"") || line.contains("status: failed")
            });
            let last = report.lines().position(|line| line.contains("item-0000003"));
            assert!(told.zip(last).is_some_and(|(told, last)| told >= last), "{report}");
            assert!(!text(format, 3, false).contains("fail\""), "{format:?}");
        }
    }

    #[test]
    fn nothing_to_report_has_nothing_that_failed() {
        assert!(text(ResultFormat::Junit, 0, true).contains(r#"tests="0" failures="0""#));
    }

    #[test]
    fn half_a_report_has_no_end() {
        let mut out = Vec::new();
        write_half(ResultFormat::Junit, Content { items: 4, last_fails: false }, &mut out).unwrap();
        let half = String::from_utf8(out).unwrap();
        assert!(
            half.contains("item-0000002") && !half.contains("item-0000003") && !half.contains("</testsuite>"),
            "{half}"
        );
    }

    #[test]
    fn noise_has_the_size_that_was_asked_for() {
        for bytes in [0, 1, 65_535, 65_536, 65_537, 200_000] {
            let mut out = Vec::new();
            noise(bytes, &mut out).unwrap();
            assert_eq!(out.len() as u64, bytes);
        }
    }
}
