//! Every way in which a plugin can end, and its verdict. `endings/table.rs` has a row for each, and
//! docs/exit-codes.md has the same table.

mod table;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plumbline_core::Verdict;

use crate::bed::Bed;
use table::ENDINGS;

/// One way in which a plugin can end.
pub(super) struct Ending {
    name: &'static str,
    process: Process,
    /// What the done file names.
    done: &'static str,
    /// The files that the plugin writes.
    files: &'static str,
    /// The result format. For JUnit, also the outcome in the report.
    format: &'static str,
    /// The statuses of the items.
    items: &'static str,
    script: &'static str,
    code: i32,
    extra: Extra,
}

/// How the process of the plugin ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    Exits(u8),
    /// A signal terminates it.
    Signal,
    /// It still runs when its time limit is reached.
    Timeout,
    /// It still runs after its results were sent.
    RunsOn,
    /// It cannot be started, or it is not started.
    NotStarted,
}

/// A further setting of the definition or the run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extra {
    Nothing,
    ShortTimeout,
    NoSuchProgram,
    AllowEmpty,
    /// A further line in the section `plumbline` of the definition.
    Plumbline(&'static str),
    /// The run has another plugin, which passes.
    NextToPassed,
    /// The module `misbehave` reads the results, and behaves like this.
    Module(&'static str),
}

impl Ending {
    /// The name of the result format. `None` if the definition has none.
    fn format_name(&self) -> Option<&str> {
        self.format.split(' ').next().filter(|name| *name != "none")
    }

    fn definition(&self) -> String {
        let mut format = self.format_name().map(|name| format!("  result-format: {name}\n")).unwrap_or_default();
        if matches!(self.extra, Extra::Module(_)) {
            format += "  result-files: [r.xml]\n";
        }
        let command = match self.extra {
            Extra::NoSuchProgram => "command: [/no/such/program]".to_owned(),
            _ => {
                let script: String =
                    format!("{FUNCTIONS}{}", self.script).lines().fold(String::new(), |mut text, line| {
                        let _ = writeln!(text, "    {line}");
                        text
                    });
                format!("command: [sh, -uc]\n  args:\n  - |\n{script}")
            }
        };
        let plumbline = match self.extra {
            Extra::ShortTimeout => "plumbline: {timeout: 1s}\n".to_owned(),
            Extra::AllowEmpty => "plumbline: {allow-empty: true}\n".to_owned(),
            Extra::Plumbline(line) => format!("plumbline:\n  {line}\n"),
            Extra::Module(behaviour) => {
                format!("plumbline: {{options: {{behaviour: {behaviour}}}, limits: {{wall: 1s}}}}\n")
            }
            Extra::Nothing | Extra::NoSuchProgram | Extra::NextToPassed => String::new(),
        };
        format!(
            "sonobuoy-config:\n  plugin-name: p\n  driver: Process\n{format}spec:\n  name: plugin\n  {command}\n{plumbline}"
        )
    }

    /// Runs the plugin. Checks that the exit code is that of the row, and that the text and the
    /// archive agree with it.
    fn check(&self) {
        let bed = Bed::new();
        let mut args = vec!["run", "--local", "--dir", "out", "--wait-output", "silent", "-p"];
        if let Extra::Module(_) = self.extra {
            bed.write("bundle/plugin.yaml", &self.definition());
            std::fs::copy(guest(), bed.path("bundle/misbehave.wasm")).unwrap();
            args.push("bundle");
        } else {
            bed.write("p.yaml", &self.definition());
            args.push("p.yaml");
        }
        if self.extra == Extra::NextToPassed {
            bed.plugin(
                "good",
                "result-format: junit",
                "echo '<testsuite name=\"s\"><testcase name=\"t\"/></testsuite>' > $SONOBUOY_RESULTS_DIR/r.xml",
            );
            args.extend(["-p", "good.yaml"]);
        }
        let done = bed.plumbline(&args);
        let context = format!("{}\n{}\n{}", self.name, done.out, done.err);
        assert_eq!(done.code, self.code, "{context}");
        if self.code == 2 {
            assert!(bed.archives().is_empty(), "{context}");
            return;
        }
        assert_eq!(done.out.contains("passed: "), self.code == 0, "{context}");
        // The archive passes or fails in the same way when it is read later, because missing
        // results are missing there, too.
        let read = bed.plumbline(&["results", &bed.archive()]);
        match self.code {
            0 => assert_eq!(read.code, 0, "{context}\n{}\n{}", read.out, read.err),
            3 if self.items == "none" => assert_eq!(read.code, 3, "{context}\n{}\n{}", read.out, read.err),
            _ => assert_ne!(read.code, 0, "{context}\n{}\n{}", read.out, read.err),
        }
        if self.files == "none" {
            // An archive has no empty directories, so a plugin without files looks like one without
            // results.
            return;
        }
        let again = bed.plumbline(&["results", &bed.archive(), "--reprocess"]);
        assert_eq!(again.code == 0, self.code == 0, "{context}\n{}\n{}", again.out, again.err);
    }

    fn row(&self) -> String {
        let process = match self.process {
            Process::Exits(code) => format!("exit code {code}"),
            Process::Signal => "a signal".to_owned(),
            Process::Timeout => "still running at the timeout".to_owned(),
            Process::RunsOn => "still running after its results".to_owned(),
            Process::NotStarted => "not started".to_owned(),
        };
        let more = match self.extra {
            Extra::AllowEmpty => "`allow-empty`".to_owned(),
            Extra::Plumbline(line) => format!("`{line}`"),
            Extra::NextToPassed => "next to a plugin that passed".to_owned(),
            Extra::Module("endless-loop") => "the module never returns".to_owned(),
            Extra::Module("panic-halfway") => "the module crashes".to_owned(),
            Extra::Module(_) => "the module returns an error".to_owned(),
            Extra::Nothing | Extra::ShortTimeout | Extra::NoSuchProgram => String::new(),
        };
        let format = self.format_name().map_or_else(|| "none".to_owned(), |name| format!("`{name}`"));
        let verdict = [Verdict::Passed, Verdict::Failed, Verdict::Incomplete, Verdict::NothingToJudge]
            .into_iter()
            .find(|verdict| i32::from(verdict.exit_code()) == self.code)
            .map_or("an error before the run", Verdict::as_str);
        let cells = [&process, self.done, self.files, &format, self.items, &more, verdict];
        format!("| {} | {} |", cells.join(" | "), self.code)
    }
}

/// Returns the path of a module that breaks the rules of the sandbox.
fn guest() -> PathBuf {
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    modules.join("guests/misbehave.wasm")
}

/// Shell functions that write reports, for the scripts.
const FUNCTIONS: &str = r#"R=$SONOBUOY_RESULTS_DIR
finish() { echo "$R/$1" > $R/.done; mv $R/.done $R/done; }
report() { mkdir -p "$(dirname "$1")"; echo "<testsuite name=\"s\">$2</testsuite>" > "$1"; }
passed() { report "$1" '<testcase name="a"/>'; }
failed() { report "$1" '<testcase name="a"/><testcase name="b"><failure message="no"/></testcase>'; }
skipped() { report "$1" '<testcase name="a"><skipped/></testcase><testcase name="b"><skipped/></testcase>'; }
mixed() { report "$1" '<testcase name="a"/><testcase name="b"><skipped/></testcase>'; }
none() { echo '<testsuites/>' > "$1"; }
zero() { echo '<testsuites tests="0"/>' > "$1"; }
rubbish() { echo 'no report' > "$1"; }
empty() { : > "$1"; }
"#;

/// The number of rows that run in parallel, because many of them wait for a time limit.
const AT_ONCE: usize = 4;

#[test]
fn every_ending_has_the_verdict_of_its_row() {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let only = std::env::var("ENDING").ok();
    let failed: std::sync::Mutex<Vec<String>> = std::sync::Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(ending) = ENDINGS.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if only.as_ref().is_some_and(|only| only != ending.name) {
                        continue;
                    }
                    if let Err(cause) = std::panic::catch_unwind(|| ending.check()) {
                        let cause = cause.downcast_ref::<String>().cloned().unwrap_or_default();
                        failed.lock().unwrap().push(format!("{}: {cause}", ending.name));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} endings:\n{}", failed.len(), failed.join("\n\n"));
}

#[test]
fn no_failure_crash_or_absence_is_green() {
    for ending in ENDINGS.iter().filter(|ending| ending.code == 0) {
        let allowed = ending.extra == Extra::AllowEmpty;
        assert!(!["failed", "unknown"].iter().any(|bad| ending.items.contains(bad)), "{}", ending.name);
        assert!(matches!(ending.process, Process::Exits(0) | Process::RunsOn), "{}", ending.name);
        assert!(allowed || !matches!(ending.items, "none" | "skipped only"), "{}", ending.name);
    }
}

const BEGIN: &str = "<!-- endings: written by the test `endings`, with BLESS=1 -->\n";
const END: &str = "<!-- end of endings -->\n";

#[test]
fn the_manual_shows_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exit-codes.md");
    let manual = std::fs::read_to_string(&path).unwrap();
    let rows: String = ENDINGS.iter().map(|ending| ending.row() + "\n").collect();
    let table = format!(
        "| process | done file names | files | format | items | more | verdict | code |\n|---|---|---|---|---|---|---|---:|\n{rows}"
    );
    let (before, rest) = manual.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(shown, table, "run this test with BLESS=1");
    }
}
