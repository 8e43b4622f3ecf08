//! The keys of `plumbline.reruns` and `plumbline.progress`.

use super::field::{Field, Shape};

/// The name of an environment variable.
const VARIABLE: Shape = Shape::Form { pattern: "^[^=\\x00]+$", longest: 32_767, not: &[] };

/// A regular expression.
const PATTERN: Shape = Shape::Form { pattern: "^[^\\x00]+$", longest: 1_000, not: &[] };

/// The keys of `reruns`.
pub(in crate::definition) const RERUNS: &[Field] = &[
    Field::new(
        "plugin",
        "The other plugin",
        Shape::Form {
            pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            longest: 253,
            not: &["sonobuoy", "plumbline"],
        },
        "The plugin whose failures are run again. It is in the same run, runs once, and has a lower order.",
    )
    .required()
    .examples(&["e2e"]),
    Field::new(
        "focus",
        "Variable for the names",
        VARIABLE,
        "The variable that gets the names of what failed: quoted as regular expressions of Go, joined by a vertical bar.",
    )
    .required()
    .examples(&["E2E_FOCUS"]),
    Field::new(
        "clear",
        "Variables to remove",
        Shape::Few { of: &VARIABLE, least: 0, most: 64 },
        "Variables of the container that are removed, because they would choose otherwise.",
    )
    .examples(&[r#"["E2E_SKIP"]"#]),
    Field::new(
        "strip",
        "Prefix of names",
        Shape::Form { pattern: "^[^\\x00]*$", longest: 200, not: &[] },
        "What names of tests begin with in the results that is not a part of them.",
    )
    .examples(&["[It] "]),
];

/// The keys of `progress`.
pub(in crate::definition) const PROGRESS: &[Field] = &[
    Field::new(
        "file",
        "Log",
        Shape::Form { pattern: "^(\\.{0,2}[^./\\\\\\x00][^/\\\\\\x00]*|\\.{3}[^/\\\\\\x00]*)(/(\\.{0,2}[^./\\\\\\x00][^/\\\\\\x00]*|\\.{3}[^/\\\\\\x00]*))*$", longest: 240, not: &[] },
        "The file, relative to the results directory.",
    )
    .required()
    .examples(&["e2e.log"]),
    Field::new("format", "Format", Shape::Choice(LOG_FORMATS), "What writes the log. Without it, patterns say what counts.")
        .examples(&["ginkgo"]),
    Field::new("total", "How many tests there are", PATTERN, "A regular expression whose first group is how many tests there are. A later match starts the count again.")
        .examples(&[r"(\d+) tests found"]),
    Field::new("completed", "Tests that ended", PATTERN, "A regular expression. Each match in a line is a test that ended, whether it passed or failed.")
        .examples(&["^(ok|not ok) "]),
    Field::new("failed", "Tests that failed", PATTERN, "A regular expression. Each match in a line is a test that ended and failed.")
        .examples(&["^not ok "]),
];

/// The accepted values of `format`.
const LOG_FORMATS: &[&str] = &[GINKGO];

/// The value of `format` for logs that Ginkgo writes.
pub(crate) const GINKGO: &str = "ginkgo";
