//! Prints the last lines of a plugin's log below an outcome that is not green.

use std::io::{self, Write};

use plumbline_app::local_run::LastOutput;
use plumbline_app::report::text::shortened;
use serde::Deserialize;

/// Maximum lines shown.
const MAX_LINES: usize = 10;
/// Maximum characters of a line.
const MAX_WIDTH: usize = 160;

/// Prints the last lines of the logs of `plugin`, indented by `indent` columns, and the path of the
/// whole logs.
pub(super) fn list_last_output(
    output: &LastOutput,
    plugin: &str,
    indent: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    for (key, text) in output.iter().filter(|(key, _)| key.plugin.as_str() == plugin) {
        let lines: Vec<String> = text.lines().filter_map(for_people).filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            continue;
        }
        let log = format!("podlogs/local/{}/logs/{}.txt", key.plugin, key.node);
        writeln!(out, "{:indent$}last lines of its log ({log} in the archive):", "")?;
        for line in lines.iter().skip(lines.len().saturating_sub(MAX_LINES)) {
            writeln!(out, "{:indent$}  {}", "", shortened(line, MAX_WIDTH))?;
        }
    }
    Ok(())
}

/// An event of `go test -json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    #[serde(rename = "Action")]
    _action: String,
    output: Option<String>,
}

/// Returns the readable part of a line: for an event of `go test -json`, its output. `None` if the
/// event has no output.
fn for_people(line: &str) -> Option<String> {
    if !line.starts_with('{') {
        return Some(line.to_owned());
    }
    match serde_json::from_str::<GoEvent>(line) {
        Ok(event) => event.output,
        Err(_) => Some(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_go_are_shown_as_the_output_in_them() {
        let text = concat!(
            r#"{"Action":"run","Package":"p","Test":"TestBad"}"#,
            "\n",
            r#"{"Action":"output","Package":"p","Test":"TestBad","Output":"    m_test.go:6: want 1\n"}"#,
            "\n{\"level\":\"info\"}\n",
        );
        let output: LastOutput = [("go-test/global".parse().unwrap(), text.to_owned())].into();
        let mut out = Vec::new();
        list_last_output(&output, "go-test", 0, &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = shown.lines().skip(1).map(str::trim).collect();
        assert_eq!(lines, ["m_test.go:6: want 1", r#"{"level":"info"}"#]);
    }

    #[test]
    fn a_log_is_bounded_and_does_not_control_the_terminal() {
        let text: String =
            (0..30).map(|n| format!("line {n}\n\n")).collect::<String>() + "\u{1b}[2Jgone " + &"x".repeat(500);
        let output: LastOutput = [("smoke/global".parse().unwrap(), text)].into();
        let mut out = Vec::new();
        list_last_output(&output, "smoke", 2, &mut out).unwrap();
        list_last_output(&output, "other", 2, &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert!(shown.starts_with(
            "  last lines of its log (podlogs/local/smoke/logs/global.txt in the archive):\n    line 21\n"
        ));
        assert_eq!(shown.lines().count(), 1 + MAX_LINES);
        assert!(!shown.contains('\u{1b}') && shown.contains("[2Jgone x"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= MAX_WIDTH + 5), "{shown}");
    }
}
