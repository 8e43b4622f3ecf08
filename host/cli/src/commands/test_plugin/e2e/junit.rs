//! `junit_01.xml`: every test of the list, as the suite reports them.

use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::Timestamp;
use plumbline_conformance::lists::SUITE;

use super::log::{REASON, total};
use super::plan::{Case, Fate};
use super::settings::Settings;

/// The name of the file.
pub(super) const FILE: &str = "junit_01.xml";

/// Writes the report.
pub(super) fn write(cases: &[Case], settings: &Settings, at: Timestamp, out: &mut impl Write) -> io::Result<()> {
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
    cases.iter().try_for_each(|case| write_case(case, out))?;
    writeln!(out, "      </testsuite>\n  </testsuites>")
}

fn write_case(case: &Case, out: &mut impl Write) -> io::Result<()> {
    let mark = if case.node { "" } else { "[It] " };
    let (status, inside) = match case.fate {
        Fate::Passed => ("passed", String::new()),
        Fate::Skipped => ("skipped", "              <skipped message=\"skipped\"></skipped>\n".to_owned()),
        Fate::Failed => (
            "failed",
            format!(
                "              <failure message=\"{REASON}\" type=\"failed\">[FAILED] {REASON}&#xA;In [It] at: suite.go:1</failure>\n              \
                 <system-err>&gt; Enter [It] {0}&#xA;[FAILED] {REASON}&#xA;&lt; Exit [It] {0}</system-err>\n",
                escaped(&case.name)
            ),
        ),
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

/// Fit for an attribute and for text.
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
                // Cannot fail: writing to a String.
                let _ = write!(out, "&#x{:X};", u32::from(c));
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_in_attributes() {
        assert_eq!(escaped("a \"b\" <c> & 'd'\n\u{1}"), "a &#34;b&#34; &lt;c&gt; &amp; &#39;d&#39;&#xA;\u{fffd}");
    }
}
