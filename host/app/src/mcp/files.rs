//! Tools about the files in the archive of a run.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read as _};
use std::ops::ControlFlow;

use plumbline_core::size::Bytes;
use serde_json::{Value, json};

use crate::error::{AppError, Explain as _};
use crate::mcp::answer::{Page, clean, members, text_of};
use crate::mcp::archives::Archives;
use crate::mcp::tools::{FactsArgs, FilesArgs, LogArgs};
use crate::results::open_input;
use crate::trees::{Reprocess, Trees};

/// The file with the facts of a machine.
const FACTS_FILE: &str = "/host-facts.json";

/// The largest file with facts, in bytes.
const MAX_FACTS: u64 = 4 << 20;

/// The most lines of an answer, and the size in bytes of JSON at which it ends.
const MAX_LINES: usize = 400;
const MAX_BYTES: usize = 32 << 10;

/// The most characters of a line, and as many bytes as they can have, and one more.
const MAX_LINE: usize = 1_000;
const MAX_LINE_BYTES: u64 = 4 * MAX_LINE as u64 + 1;

/// The most lines around a match: the default, and the largest number.
const AROUND: usize = 5;
const MAX_AROUND: usize = 20;

/// The most bytes of a file that one call reads.
const MAX_READ: u64 = 1 << 30;

impl Archives {
    /// Lists files.
    pub(super) fn files(&self, args: &FilesArgs) -> Result<Value, AppError> {
        let mut page = Page::new(args.cursor.as_deref())?;
        let mut trees = self.open(&args.run)?;
        let wanted = args.contains.as_deref().unwrap_or_default();
        for (file, bytes) in trees.archive().files().filter(|(file, _)| file.contains(wanted)) {
            page.push(|| json!({"file": file, "bytes": bytes}));
        }
        Ok(page.finish("files", json!({})))
    }

    /// Returns lines of a file.
    pub(super) fn log(&self, args: &LogArgs) -> Result<Value, AppError> {
        let mut trees = self.open(&args.run)?;
        let archive = trees.archive();
        let Some(bytes) = archive.size(&args.file) else {
            return Err(
                AppError::usage("the archive has no file of this name").hint("call `files` for the names of all files")
            );
        };
        let failed = "failed to read the file";
        let reader = archive.file(&args.file).usage_error(failed)?;
        let mut excerpt = Excerpt::new(args);
        read_lines(BufReader::new(reader), |line| excerpt.line(&line)).usage_error(failed)?;
        for note in unread(bytes, excerpt.next).into_iter().chain(excerpt.unsearched()) {
            self.context.reporter.warning(&note);
        }
        Ok(excerpt.answer())
    }

    /// Returns the facts of machines.
    pub(super) fn facts(&self, args: &FactsArgs) -> Result<Value, AppError> {
        let mut page = Page::new(args.cursor.as_deref())?;
        let mut trees = self.open(&args.run)?;
        let archive = trees.archive();
        let found = |(file, bytes): (&str, u64)| {
            let (dir, _) = file.split_once(FACTS_FILE).filter(|(_, rest)| rest.is_empty())?;
            let node = dir.rsplit('/').next()?;
            Some((node.to_owned(), file.to_owned(), bytes))
        };
        let all: Vec<(String, String, u64)> = archive.files().filter_map(found).collect();
        let Some(node) = &args.node else {
            for (node, file, bytes) in &all {
                page.push(|| json!({"node": node, "file": file, "bytes": bytes}));
            }
            return Ok(page.finish("nodes", json!({})));
        };
        let Some((_, file, _)) = all.iter().find(|(name, ..)| name == node) else {
            return Err(AppError::usage("the run has no facts of this node")
                .hint("call `facts` without `node` for the nodes that have facts"));
        };
        let failed = "failed to read the facts";
        let bytes = archive.read(file, MAX_FACTS).usage_error(failed)?;
        let facts: Value = serde_json::from_slice(&bytes).usage_error(failed)?;
        for (path, value) in flat(facts) {
            page.push(|| json!({"fact": path, "value": value}));
        }
        Ok(page.finish("facts", json!({"file": text_of(file, MAX_LINE)})))
    }

    fn open(&self, run: &str) -> Result<Trees, AppError> {
        let reprocess = Reprocess { limits: self.limits.load()?, ..Reprocess::default() };
        open_input(&self.context, &self.sources.run(run)?.path, reprocess, None)
    }
}

/// The groups of a document of facts: members of members, so that long documents become pages.
fn flat(facts: Value) -> Vec<(String, Value)> {
    let Value::Object(members) = facts else { return vec![(String::new(), facts)] };
    let inner = members.into_iter().flat_map(|(key, value)| match value {
        Value::Object(inner) => inner.into_iter().map(|(name, value)| (format!("{key}.{name}"), value)).collect(),
        other => vec![(key, other)],
    });
    inner.collect()
}

/// Says that the end of a file of this size is not read. `next` is the line where the next answer starts.
fn unread(bytes: u64, next: Option<u64>) -> Option<String> {
    let is_cut = next.is_none() && bytes > MAX_READ;
    is_cut.then(|| format!("the file has {}: only the first {} are read", Bytes(bytes), Bytes(MAX_READ)))
}

/// A line of a file.
struct Line<'a> {
    number: u64,
    /// The line, or its start.
    text: &'a [u8],
    is_cut: bool,
}

/// The lines that are wanted, as far as the answer has room.
#[derive(Default)]
struct Excerpt<'a> {
    contains: Option<&'a str>,
    from: u64,
    around: usize,
    /// The last lines that did not match.
    before: VecDeque<(u64, String)>,
    /// How many lines after a match are still wanted.
    after: usize,
    lines: Vec<Value>,
    bytes: usize,
    matches: u64,
    /// The lines that may have the text in a part that is not read.
    unsearched: u64,
    next: Option<u64>,
    last: u64,
}

impl<'a> Excerpt<'a> {
    fn new(args: &'a LogArgs) -> Self {
        Self {
            contains: args.contains.as_deref().filter(|text| !text.is_empty()),
            from: args.from_line.unwrap_or(1).max(1),
            around: args.around.unwrap_or(AROUND).min(MAX_AROUND),
            ..Self::default()
        }
    }

    fn line(&mut self, &Line { number, text, is_cut }: &Line<'_>) -> ControlFlow<()> {
        self.last = number;
        let line = String::from_utf8_lossy(text);
        if number < self.from {
            // The page before may have ended within the lines after a match.
            let gap = usize::try_from(self.from - number - 1).unwrap_or(usize::MAX);
            if gap < self.around && self.contains.is_some_and(|wanted| line.contains(wanted)) {
                self.after = self.around - gap;
            }
            return ControlFlow::Continue(());
        }
        let Some(wanted) = self.contains else { return self.show(number, &line) };
        if line.contains(wanted) {
            for (number, line) in std::mem::take(&mut self.before) {
                self.show(number, &line)?;
            }
            self.show(number, &line)?;
            self.matches += 1;
            self.after = self.around;
            return ControlFlow::Continue(());
        }
        self.unsearched += u64::from(is_cut);
        if self.after > 0 {
            self.after -= 1;
            return self.show(number, &line);
        }
        self.before.push_back((number, line.into_owned()));
        if self.before.len() > self.around {
            self.before.pop_front();
        }
        ControlFlow::Continue(())
    }

    /// Shows a line, or ends the answer before it.
    fn show(&mut self, number: u64, line: &str) -> ControlFlow<()> {
        let entry = json!({"line": number, "text": text_of(line, MAX_LINE)});
        let bytes = entry.to_string().len();
        if self.lines.len() >= MAX_LINES || self.bytes + bytes > MAX_BYTES {
            self.next = Some(number);
            return ControlFlow::Break(());
        }
        self.bytes += bytes;
        self.lines.push(entry);
        ControlFlow::Continue(())
    }

    /// Says that a part of some lines was not searched.
    fn unsearched(&self) -> Option<String> {
        let lines = self.unsearched;
        (lines > 0)
            .then(|| format!("only the first {MAX_LINE_BYTES} bytes of a line are searched; lines with more: {lines}"))
    }

    fn answer(self) -> Value {
        let matches = self.contains.map(|_| self.matches);
        let answer = json!({"matches": matches, "next-line": self.next, "last-line-read": self.last});
        let mut answer = members(clean(answer));
        answer.insert("lines".to_owned(), self.lines.into());
        answer.into()
    }
}

/// Calls `each` with the lines of a file, without the part of a line that is longer than any answer
/// shows.
fn read_lines(from: impl BufRead, mut each: impl FnMut(Line<'_>) -> ControlFlow<()>) -> io::Result<()> {
    let (mut from, mut line) = (from.take(MAX_READ), Vec::new());
    for number in 1_u64.. {
        line.clear();
        if from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let rest = match line.pop_if(|last| *last == b'\n') {
            Some(_) => 0,
            None => from.skip_until(b'\n')?,
        };
        // The rest may be the line break alone.
        if each(Line { number, text: &line, is_cut: rest > 1 }).is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str, contains: Option<&str>, from_line: Option<u64>) -> Value {
        log_around(text, contains, 1, from_line)
    }

    fn log_around(text: &str, contains: Option<&str>, around: usize, from_line: Option<u64>) -> Value {
        let args = LogArgs {
            run: String::new(),
            file: String::new(),
            contains: contains.map(str::to_owned),
            around: Some(around),
            from_line,
        };
        let mut excerpt = Excerpt::new(&args);
        read_lines(BufReader::with_capacity(7, text.as_bytes()), |line| excerpt.line(&line)).unwrap();
        excerpt.answer()
    }

    #[test]
    fn an_answer_says_that_the_end_of_a_line_is_not_searched() {
        let unsearched = |text: &str| {
            let args = LogArgs {
                run: String::new(),
                file: String::new(),
                contains: Some("panic".to_owned()),
                around: None,
                from_line: None,
            };
            let mut excerpt = Excerpt::new(&args);
            read_lines(text.as_bytes(), |line| excerpt.line(&line)).unwrap();
            excerpt.unsearched()
        };
        let long = "x".repeat(5_000);
        let said = "only the first 4001 bytes of a line are searched; lines with more: 1";
        assert_eq!(unsearched(&format!("a\n{long} panic\nb\n")).as_deref(), Some(said));
        assert_eq!(unsearched(&format!("panic {long}\n")), None);
        assert_eq!(unsearched("no\nno"), None);
    }

    fn shown(answer: &Value) -> Vec<u64> {
        answer["lines"].as_array().unwrap().iter().map(|line| line["line"].as_u64().unwrap()).collect()
    }

    #[test]
    fn lines_around_a_text_are_shown_once() {
        let text = "a\nb\nbad 1\nc\nbad 2\nd\ne\nf\nbad 3";
        let found = log(text, Some("bad"), None);
        assert_eq!(shown(&found), [2, 3, 4, 5, 6, 8, 9]);
        assert_eq!((&found["matches"], &found["last-line-read"]), (&json!(3), &json!(9)));
        // Line 6 follows a match before the page.
        assert_eq!(shown(&log(text, Some("bad"), Some(6))), [6, 8, 9]);
        assert_eq!(shown(&log(text, Some("bad"), Some(7))), [8, 9]);
        assert_eq!(shown(&log(text, Some("absent"), None)), [] as [u64; 0]);
    }

    #[test]
    fn a_long_file_is_continued_where_the_answer_ended() {
        let text: String = (1..=1_000).map(|n| format!("line {n}\n")).collect();
        let (mut all, mut from) = (Vec::new(), None);
        loop {
            let part = log(&text, None, from);
            assert!(part["lines"].as_array().unwrap().len() <= MAX_LINES);
            all.extend(shown(&part));
            from = part["next-line"].as_u64();
            if from.is_none() {
                break;
            }
        }
        assert_eq!(all, (1..=1_000).collect::<Vec<_>>());
    }

    #[test]
    fn long_lines_after_a_match_are_shown_once_on_all_pages() {
        let line = format!("{}\n", "ü".repeat(MAX_LINE));
        let text = format!("bad\n{}", line.repeat(25));
        let (mut all, mut pages, mut from) = (Vec::new(), 0, None);
        loop {
            let part = log_around(&text, Some("bad"), 20, from);
            pages += 1;
            all.extend(shown(&part));
            from = part["next-line"].as_u64();
            if from.is_none() {
                break;
            }
        }
        assert_eq!(all, (1..=21).collect::<Vec<_>>());
        assert!(pages > 1, "the lines have no room in one answer");
    }

    #[test]
    fn an_endless_line_is_cut() {
        let text = format!("{}\u{1b}[2J\nnext", "x".repeat(1 << 20));
        let answer = log(&text, None, None);
        assert_eq!(shown(&answer), [1, 2]);
        assert!(answer.to_string().len() < 2 * MAX_LINE);
    }

    #[test]
    fn an_answer_says_that_the_end_of_a_file_is_not_read() {
        assert_eq!(unread(MAX_READ, None), None);
        assert_eq!(unread(2 * MAX_READ, Some(7)), None);
        assert_eq!(unread(2 * MAX_READ, None).unwrap(), "the file has 2 GiB: only the first 1 GiB are read");
    }

    #[test]
    fn facts_are_a_list_of_groups() {
        let facts = flat(json!({"kernel": {"release": "6.1", "sysctl": {"a": "1"}}, "version": 1}));
        let want = [("kernel.release", json!("6.1")), ("kernel.sysctl", json!({"a": "1"})), ("version", json!(1))];
        assert_eq!(facts, want.map(|(key, value)| (key.to_owned(), value)));
    }
}
