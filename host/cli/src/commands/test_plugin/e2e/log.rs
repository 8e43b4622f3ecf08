//! `e2e.log`, in the manner of the suite's runner. Whoever reads progress out of the log depends on these lines.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use super::plan::{Case, Counts, Fate};
use super::settings::Settings;

/// The name of the file.
pub(super) const FILE: &str = "e2e.log";
/// Marks of skipped tests in one line.
const MARKS: usize = 160;
const RULE: &str = "------------------------------";

/// The log: in its file, and on standard output, where the container's log is.
pub(super) struct Log {
    file: BufWriter<File>,
    skipped: usize,
}

impl Log {
    pub(super) fn create(dir: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(dir.join(FILE))?), skipped: 0 })
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        // Nobody reads standard output: then nobody misses it.
        let _ = writeln!(io::stdout(), "{text}");
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

    /// A test that has ended; on disk when this returns, unless it was skipped.
    pub(super) fn case(&mut self, case: &Case) -> io::Result<()> {
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
                    "• [FAILED] [{seconds:.3} seconds]\n{0}\n  suite.go:1\n\n  [FAILED] {REASON}\n  In [It] at: suite.go:1\n{RULE}",
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

    /// The last words of one that breaks off.
    pub(super) fn crash(&mut self) -> io::Result<()> {
        self.marks()?;
        self.say("panic: test-plugin was told to crash\n\ngoroutine 1 [running]:")?;
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

/// What a test that failed says.
pub(super) const REASON: &str = "test-plugin was told that this test fails";

/// How long all of them took, one after the other.
pub(super) fn total(cases: &[Case]) -> Duration {
    cases.iter().map(|case| case.time).sum()
}
