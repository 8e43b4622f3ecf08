//! Measures values in logs.

use std::io;

use plumbline_sdk::InputFile;
use plumbline_sdk::input::{LineEnd, read_line};
use plumbline_sdk::text::{counted, shortened};

use crate::check::{Log, Unit};
use crate::evaluate::{Amount, Found, Gap};
use crate::gaps::{Gaps, is_of_survey};
use crate::quantity::{Kind, Quantity, number, quantity};
use crate::samples::{Measure, Samples};

/// Number of bytes of a line that are examined: 64 KiB. The values of a line are near its start.
pub const MAX_LINE: usize = 64 << 10;

/// Maximum number of bytes of a path or a captured text in a reason.
const MAX_SHOWN: usize = 300;

/// The values of one check from its files.
#[derive(Debug)]
pub(crate) struct Scan {
    log: Box<Log>,
    samples: Samples,
    files: u64,
    /// Whether one of them is a file of the survey.
    surveyed: bool,
    /// Why there is no value, whatever else the files have.
    wrong: Option<String>,
    /// What of the files was not examined, and why.
    unread: Option<String>,
}

impl Scan {
    pub(crate) fn new(log: Box<Log>, samples: Samples) -> Self {
        Self { log, samples, files: 0, surveyed: false, wrong: None, unread: None }
    }

    fn line(&mut self, path: &str, line: &[u8], is_cut: bool) {
        if is_cut && !self.is_settled(line) {
            self.unread.get_or_insert_with(|| {
                let (path, kib) = (shortened(path, MAX_SHOWN), MAX_LINE >> 10);
                format!("a line of `{path}` is longer than {kib} KiB, and the rest of it was not examined")
            });
            return;
        }
        if !self.log.needle.may_be_in(line) {
            return;
        }
        if self.log.measure == Measure::Count {
            if self.log.pattern.is_match(line) {
                self.samples.add(1.0);
            }
            return;
        }
        // Only the first match of a line counts.
        let Some(captured) = self.log.pattern.captures(line) else { return };
        let text = captured.get(1).map(|text| String::from_utf8_lossy(text.as_bytes())).unwrap_or_default();
        let value = match self.log.unit {
            Unit::Duration => {
                quantity(&text).filter(|quantity| quantity.kind == Kind::Seconds).map(|found| found.value)
            }
            Unit::Times(_, factor) => number(&text).map(|value| value * factor).filter(|value| value.is_finite()),
        };
        match value {
            Some(value) => self.samples.add(value),
            None => {
                self.wrong.get_or_insert_with(|| {
                    let what = if self.log.unit == Unit::Duration { "not a duration" } else { "not a number" };
                    format!("`{}` in `{}` is {what}", shortened(&text, MAX_SHOWN), shortened(path, MAX_SHOWN))
                });
            }
        }
    }

    /// Returns whether the match in the start of a line is that of the whole line, whatever the rest
    /// of it is.
    fn is_settled(&self, line: &[u8]) -> bool {
        let pattern = &self.log.pattern;
        // The rest of a line may match, or make a match longer.
        let Some(found) = pattern.find(line).filter(|found| found.end() < line.len()) else { return false };
        // A greedy pattern, such as `.*took (\S+)`, finds the last value of a line.
        self.log.measure == Measure::Count
            || pattern.find(&[line, found.as_bytes()].concat()).is_some_and(|again| again.range() == found.range())
    }

    pub(crate) fn found(self, gaps: &Gaps) -> Result<Found, String> {
        let Self { log, samples, files, surveyed, wrong, unread } = self;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let glob = shortened(&log.glob, MAX_SHOWN);
        if files == 0 {
            return Err(format!(
                "file `{glob}` not found: list the files of the archive that it needs under `evidence`"
            ));
        }
        let missing =
            || gaps.in_files(&log.glob, surveyed).map(|why| format!("files of `{glob}` may be missing, {why}"));
        let missing = unread.or_else(missing);
        let (lines, names) = (counted(samples.count, "line"), counted(files, "file"));
        let Some(value) = samples.measure()? else {
            return Err(missing.unwrap_or_else(|| format!("no line of {names} `{glob}` matches")));
        };
        let kind = match (log.measure, log.unit) {
            (Measure::Count, _) => Kind::Number,
            (_, Unit::Duration) => Kind::Seconds,
            (_, Unit::Times(kind, _)) => kind,
        };
        let note = format!("{lines} of {names} `{glob}`");
        let only_adds = matches!(log.measure, Measure::Count | Measure::Max);
        let gap = missing.map(|why| Gap { why, only_adds });
        Ok(Found { amount: Amount::Measured(Quantity { value, kind }), note, gap })
    }
}

/// Reads each file once, for all checks that use it.
pub(crate) fn read(files: Vec<InputFile>, scans: &mut [&mut Scan]) {
    for file in files {
        let path = file.path().to_owned();
        let mut wanting: Vec<&mut &mut Scan> =
            scans.iter_mut().filter(|scan| scan.log.files.is_match(path.as_bytes())).collect();
        if wanting.is_empty() {
            continue;
        }
        let read = each_line(file, |line, is_cut| wanting.iter_mut().for_each(|scan| scan.line(&path, line, is_cut)));
        for scan in wanting {
            scan.files += 1;
            scan.surveyed |= is_of_survey(&path);
            if let Err(error) = &read {
                scan.unread.get_or_insert_with(|| format!("failed to read `{}`: {error}", shortened(&path, MAX_SHOWN)));
            }
        }
    }
}

/// Passes each line to `tell`, at most [`MAX_LINE`] bytes of it, and whether it has more.
fn each_line(mut file: InputFile, mut tell: impl FnMut(&[u8], bool)) -> io::Result<()> {
    let mut line = Vec::new();
    while let Some(LineEnd { is_cut, .. }) = read_line(&mut file, &mut line, MAX_LINE)? {
        tell(line.strip_suffix(b"\r").filter(|_| !is_cut).unwrap_or(&line), is_cut);
    }
    Ok(())
}
