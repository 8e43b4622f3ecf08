//! What the suite writes: its log, its JUnit report, and progress (one message at the start, one
//! after each test, and one at the end).

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::plan::{Case, Counts, Fate, SUITE, Settings};
use crate::plugin::common::{post, say};

pub(super) const LOG_FILE: &str = "e2e.log";
/// The marks of skipped tests on one line.
const MARKS: usize = 160;
const RULE: &str = "------------------------------";

/// The log, which goes to a file and to the log of the container.
pub(super) struct Log<'a> {
    file: BufWriter<File>,
    container: &'a mut dyn Write,
    skipped: usize,
}

impl<'a> Log<'a> {
    pub(super) fn create(path: &Path, container: &'a mut dyn Write) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(path)?), container, skipped: 0 })
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        // The log of the container may have no reader.
        let _ = writeln!(self.container, "{text}");
        writeln!(self.file, "{text}")
    }

    pub(super) fn begin(&mut self, settings: &Settings, counts: Counts) -> io::Result<()> {
        self.say("Running Suite: Kubernetes e2e suite - /usr/local/bin")?;
        self.say("====================================================")?;
        self.say("Random Seed: 1 - will randomize all specs\n")?;
        self.say(&format!("Will run {} of {} specs", counts.selected(), counts.total()))?;
        if settings.parallel {
            self.say("Running in parallel across 25 processes")?;
        }
        self.say(RULE)?;
        self.file.flush()
    }

    /// Writes a test that has ended. Unless it was skipped, it is on disk when this returns.
    pub(super) fn case(&mut self, case: &Case, reason: &str) -> io::Result<()> {
        let seconds = case.time.as_secs_f64();
        match case.fate {
            Fate::Skipped => {
                self.skipped += 1;
                return if self.skipped >= MARKS { self.marks() } else { Ok(()) };
            }
            Fate::Passed => {
                self.marks()?;
                self.say(&format!("• [{seconds:.3} seconds]\n{}\n  suite.go:1\n{RULE}", case.name))?;
            }
            Fate::Failed => {
                self.marks()?;
                self.say(&format!(
                    "• [FAILED] [{seconds:.3} seconds]\n{0}\n  suite.go:1\n\n  [FAILED] {reason}\n  In [It] at: suite.go:1\n{RULE}",
                    case.name
                ))?;
            }
        }
        self.file.flush()
    }

    fn marks(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.skipped) {
            0 => Ok(()),
            skipped => self.say(&"S".repeat(skipped)),
        }
    }

    pub(super) fn crash(&mut self) -> io::Result<()> {
        self.marks()?;
        self.say("panic: test-plugin crashes as configured\n\ngoroutine 1 [running]:")?;
        self.file.flush()
    }

    pub(super) fn end(&mut self, cases: &[Case], counts: Counts) -> io::Result<()> {
        self.marks()?;
        let failed = cases.iter().filter(|case| case.fate == Fate::Failed);
        if counts.failed > 0 {
            self.say(&format!("\nSummarizing {} Failures:", counts.failed))?;
            for case in failed {
                self.say(&format!("  [FAIL] {}\n  suite.go:1", case.name))?;
            }
        }
        let seconds = total(cases).as_secs_f64();
        self.say(&format!("\nRan {} of {} Specs in {seconds:.3} seconds", counts.selected(), counts.total()))?;
        let word = if counts.failed > 0 { "FAIL!" } else { "SUCCESS!" };
        self.say(&format!(
            "{word} -- {} Passed | {} Failed | 0 Pending | {} Skipped",
            counts.passed, counts.failed, counts.skipped
        ))?;
        self.say(if counts.failed > 0 { "FAIL" } else { "PASS" })?;
        self.file.flush()
    }
}

pub(super) fn total(cases: &[Case]) -> Duration {
    cases.iter().map(|case| case.time).sum()
}

pub(super) const JUNIT_FILE: &str = "junit_01.xml";

pub(super) fn write_junit(cases: &[Case], settings: &Settings, at: Timestamp, out: &mut impl Write) -> io::Result<()> {
    let of = |fate| cases.iter().filter(|case| case.fate == fate).count();
    let (tests, skipped, failed) = (cases.len(), of(Fate::Skipped), of(Fate::Failed));
    let time = total(cases).as_secs_f64();
    let at = at.strftime("%Y-%m-%dT%H:%M:%S");
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        out,
        r#"  <testsuites tests="{tests}" disabled="{skipped}" errors="0" failures="{failed}" time="{time:.3}">"#
    )?;
    writeln!(
        out,
        r#"      <testsuite name="{SUITE}" package="/usr/local/bin" tests="{tests}" disabled="0" skipped="{skipped}" errors="0" failures="{failed}" time="{time:.3}" timestamp="{at}">"#
    )?;
    writeln!(out, "          <properties>")?;
    let properties = [
        ("SuiteSucceeded", (failed == 0).to_string()),
        ("FocusStrings", escaped(&settings.focus)),
        ("SkipStrings", escaped(&settings.skip)),
        ("DryRun", settings.dry_run.to_string()),
        ("ParallelTotal", if settings.parallel { "25" } else { "1" }.to_owned()),
    ];
    for (name, value) in properties {
        writeln!(out, r#"              <property name="{name}" value="{value}"></property>"#)?;
    }
    writeln!(out, "          </properties>")?;
    cases.iter().try_for_each(|case| write_case(case, &settings.reason, out))?;
    writeln!(out, "      </testsuite>\n  </testsuites>")
}

/// How Ginkgo writes times in its timelines, in UTC.
const TIME: &str = " @ %m/%d/%y %H:%M:%S%.3f";

fn write_case(case: &Case, reason: &str, out: &mut impl Write) -> io::Result<()> {
    let mark = if case.node { "" } else { "[It] " };
    let (status, inside) = match case.fate {
        Fate::Passed => ("passed", String::new()),
        Fate::Skipped => ("skipped", "              <skipped message=\"skipped\"></skipped>\n".to_owned()),
        Fate::Failed => ("failed", failure(case, &escaped(reason))),
    };
    let time = case.time.as_secs_f64();
    write!(
        out,
        r#"          <testcase name="{mark}{}" classname="{SUITE}" status="{status}" time="{time}">"#,
        escaped(&case.name)
    )?;
    if inside.is_empty() {
        return writeln!(out, "</testcase>");
    }
    writeln!(out, "\n{inside}          </testcase>")
}

fn failure(case: &Case, reason: &str) -> String {
    let at = |time: Option<Timestamp>| time.map(|time| time.strftime(TIME).to_string()).unwrap_or_default();
    let entered = at(case.started);
    let left = at(case.started.and_then(|start| start.checked_add(case.time).ok()));
    format!(
        "              <failure message=\"{reason}\" type=\"failed\">[FAILED] {reason}&#xA;In [It] at: suite.go:1{left}</failure>\n              \
         <system-err>&gt; Enter [It] {0}{entered}&#xA;[FAILED] {reason}{left}&#xA;&lt; Exit [It] {0}{left}</system-err>\n",
        escaped(&case.name)
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "&#x{:X};", u32::from(c));
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The number of consecutive failures after which no progress is posted.
const MAX_FAILED: u32 = 3;
/// The most names of failed tests in a message.
const MAX_NAMES: usize = 1_000;

pub(super) struct ProgressReporter {
    /// Host and port, and the path.
    target: Option<(String, String)>,
    total: usize,
    failures: Vec<String>,
    failed: u32,
}

impl ProgressReporter {
    pub(super) fn new(url: Option<&str>, total: usize) -> Self {
        let target = url.and_then(|url| {
            let parts = target(url);
            if parts.is_none() {
                say(format_args!("test-plugin: failed to post progress to `{url}`: expected `http://HOST:PORT/PATH`"));
            }
            parts
        });
        Self { target, total, failures: Vec::new(), failed: 0 }
    }

    pub(super) async fn begin(&mut self) {
        self.send("Test Suite starting", Counts::default()).await;
    }

    pub(super) async fn case(&mut self, case: &Case, so_far: Counts) {
        let word = match case.fate {
            Fate::Failed => {
                if self.failures.len() < MAX_NAMES {
                    self.failures.push(case.name.clone());
                }
                "FAILED"
            }
            _ => "PASSED",
        };
        self.send(&format!("{word} {}", case.name), so_far).await;
    }

    pub(super) async fn end(&mut self, counts: Counts) {
        self.send("Test Suite completed", counts).await;
    }

    async fn send(&mut self, message: &str, counts: Counts) {
        let Some((host, path)) = &self.target else { return };
        let mut body = json!({
            "msg": message,
            "total": self.total,
            "completed": counts.passed,
            "skipped": counts.skipped,
            "failed": counts.failed,
        });
        if !self.failures.is_empty()
            && let Some(body) = body.as_object_mut()
        {
            body.insert("failures".to_owned(), json!(self.failures));
        }
        let Err(error) = post(host, path, &body.to_string()).await else {
            self.failed = 0;
            return;
        };
        self.failed += 1;
        say(format_args!("test-plugin: failed to post progress to `http://{host}{path}`: {error}"));
        if self.failed >= MAX_FAILED {
            say("test-plugin: no more progress is posted");
            self.target = None;
        }
    }
}

/// Splits `http://HOST[:PORT]/PATH` into `HOST:PORT` and the path.
fn target(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    let host = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic());
    (plain(&host) && plain(path) && !host.starts_with(':')).then(|| (host, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_in_attributes() {
        assert_eq!(escaped("a \"b\" <c> & 'd'\n\u{1}"), "a &#34;b&#34; &lt;c&gt; &amp; &#39;d&#39;&#xA;\u{fffd}");
    }

    #[test]
    fn addresses_are_taken_apart() {
        let parts = |url| target(url).map(|(host, path)| format!("{host} {path}"));
        assert_eq!(parts("http://localhost:8099/progress").as_deref(), Some("localhost:8099 /progress"));
        assert_eq!(parts("http://h").as_deref(), Some("h:80 /"));
        for bad in ["https://h/p", "localhost:8099", "http://", "http://:80/", "http://a b/", "http://h/a\r\nX: y"] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }
}
