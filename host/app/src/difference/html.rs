//! Differences as one HTML page without scripts.

use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};

use super::matrix::Matrix;
use super::views::{how, is_about_durations, lists, unknown_items};
use super::{Change, Difference};
use crate::report::html;
use crate::report::text::{name, one_line};

/// The most tests in a list. More make browsers slow.
const MAX_TESTS: usize = 2_000;

/// Prints a page with the differences of two runs, or of more runs if there is a `matrix`.
pub fn diff_html(found: &Difference, matrix: Option<&Matrix>, out: &mut impl Write) -> io::Result<()> {
    let title = matrix
        .map_or("Differences of two runs".to_owned(), |matrix| format!("Differences of {} runs", matrix.runs.len()));
    let page = html! {
        (html::head(&title, None))
        header { h1 { (title) } }
        (PreEscaped("\n<main>\n"))
        @match matrix {
            Some(matrix) => (columns(matrix)),
            None => {
                p { (found.ran_before) " tests ran before, " (found.ran_after) " after" }
                @if let Some(unknown) = unknown_items(found) { p { (unknown) } }
                @for (title, changes) in lists(found) { (list(title, changes)) }
                @if lists(found).iter().all(|(_, changes)| changes.is_empty()) { p { "no test changed" } }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())?;
    writeln!(out, "{}", html::END)
}

fn list(title: &str, changes: &[Change]) -> Markup {
    html! {
        @if !changes.is_empty() {
            h2 { (title) " (" (changes.len()) ")" }
            ul { @for change in changes.iter().take(MAX_TESTS) { li {
                (change.test.prefix()) b { (name(&change.test.with_class())) } span.soft { " (" (how(title, change)) ")" }
                @if let Some(reason) = change.reason.as_ref().filter(|_| !is_about_durations(title)) {
                    br; span.soft { (one_line(reason)) }
                }
            } } }
            @if changes.len() > MAX_TESTS { p.soft { "and " (changes.len() - MAX_TESTS) " more" } }
            "\n"
        }
    }
}

fn columns(found: &Matrix) -> Markup {
    html! {
        ol { @for run in &found.runs { li { (name(&run.archive)) ": " (run.ran) " tests ran, " (run.failed) " failed" } } }
        @if let Some(unknown) = unknown_items(&found.last) { p { (unknown) } }
        @if found.tests.is_empty() { p { "no test failed or changed" } }
        @else {
            div.scroll { table {
                thead { tr { @for number in 1..=found.runs.len() { th scope="col" { (number) } } th scope="col" { "test" } } }
                tbody { @for test in found.tests.iter().take(MAX_TESTS) { tr {
                    @for (letter, status) in test.letters().chars().zip(&test.statuses) {
                        td class=(colour(letter)) { (status.as_ref().map_or("–".to_owned(), |status| name(status.as_str()))) }
                    }
                    td.long { (test.test.label()) }
                } } }
            } }
        }
        @if found.tests.len() > MAX_TESTS { p.soft { "and " (found.tests.len() - MAX_TESTS) " more" } }
        "\n"
    }
}

fn colour(letter: char) -> &'static str {
    match letter {
        '.' => "passed",
        'F' => "failed",
        'f' => "odd",
        _ => "soft",
    }
}
