//! The results of the test plugin, in each format.

use std::io::{self, Write};

use clap::ValueEnum;

/// A format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ResultFormat {
    /// One suite of JUnit XML
    Junit,
    /// A text file
    Raw,
    /// Events of `go test -json`
    Gojson,
    /// A result tree in YAML
    Manual,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Content {
    pub(super) items: u32,
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
            let failure = report.lines().position(|line| {
                line.contains("failure m") || line.contains("fail\"") || line.contains("status: failed")
            });
            let last = report.lines().position(|line| line.contains("item-0000003"));
            assert!(failure.zip(last).is_some_and(|(failure, last)| failure >= last), "{report}");
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
}
