//! The section `plumbline` and its limits.

use super::field::{Field, Shape};
use super::permissions::PERMISSIONS;
use super::runs::{PROGRESS, RERUNS};

/// The pattern of module names.
pub(super) const MODULE_NAME: &str = "^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$";

/// The pattern of durations. It is bounded so that every match fits the number type.
const DURATION: &str = "^(0|([0-9]{1,6}(\\.[0-9]{1,3})?(ns|us|ms|s|m|h)){1,3})$";

/// The pattern of nonzero durations.
const SOME_DURATION: &str =
    "^[1-9][0-9]{0,5}(\\.[0-9]{1,3})?(ns|us|ms|s|m|h)([0-9]{1,6}(\\.[0-9]{1,3})?(ns|us|ms|s|m|h)){0,2}$";

/// The pattern of sizes. It is bounded so that every match fits the number type.
const SIZE: &str = "^([0-9]{1,18}|[0-9]{1,6}(\\.[0-9]{1,3})? ?(B|kB?|[KMGT](B|i|iB)?))$";

/// The pattern of nonzero sizes.
const SOME_SIZE: &str = "^([1-9][0-9]{0,17}|[1-9][0-9]{0,5}(\\.[0-9]{1,3})? ?(B|kB?|[KMGT](B|i|iB)?))$";

/// One component of a file pattern: printable ASCII, so that characters equal bytes, without `/`
/// and `\`, and neither `.` nor `..`.
macro_rules! file_name {
    () => {
        "([ -\\-0-\\[\\]-~][ -.0-\\[\\]-~]*|\\.[ -\\-0-\\[\\]-~][ -.0-\\[\\]-~]*|\\.\\.[ -.0-\\[\\]-~]+)"
    };
}

/// A pattern of files in the plugin's directory.
const FILES: &str = concat!("^(\\./)?", file_name!(), "(/", file_name!(), ")*$");

/// A pattern of files in the archive.
const EVIDENCE: &str = concat!("^", file_name!(), "(/", file_name!(), ")*$");

/// The largest integer that every JSON reader reads exactly: 2^53 - 1.
const MOST: i64 = (1 << 53) - 1;

/// The maximum number of seconds: [`crate::duration::MAX_SECONDS`].
#[expect(clippy::cast_possible_wrap, reason = "far below 2^63")]
const MOST_SECONDS: i64 = crate::duration::MAX_SECONDS as i64;

const fn size(least: i64) -> Shape {
    Shape::Measure { least, most: MOST, pattern: if least > 0 { SOME_SIZE } else { SIZE } }
}

const fn number(least: i64) -> Shape {
    Shape::Whole { least, most: MOST }
}

/// The keys of `plumbline`.
pub(in crate::definition) const PLUMBLINE: &[Field] = &[
    Field::new(
        "expectations",
        "Who must answer",
        Shape::Form { pattern: MODULE_NAME, longest: 63, not: &[] },
        "The module that names the results that must arrive: job, daemonset, or one of the bundle. Left out: the one named after the driver.",
    )
    .examples(&["daemonset", "zone-spread"]),
    Field::new(
        "summarizer",
        "What all results come to",
        Shape::Form { pattern: MODULE_NAME, longest: 63, not: &[] },
        "The module that says what all results come to, in items beside the nodes: one of the bundle, else a built-in one (host-facts). Left out: the one that reads the results, if it plays this role too.",
    )
    .examples(&["host-facts"]),
    Field::new(
        "options",
        "Options",
        Shape::Open,
        "Free options for the plugin's modules. A module may bring a schema of its own for them.",
    )
    .examples(&[r#"{"fail-on": ["critical", "high"]}"#]),
    Field::new(
        "limits",
        "Limits",
        Shape::Section { fields: LIMITS, open: false },
        "What a call of a module may use, where that is not the default. Less is always granted, more up to the operator's cap.",
    ),
    Field::new(
        "timeout",
        "Time limit",
        Shape::Measure { least: 0, most: MOST_SECONDS, pattern: DURATION },
        "From launch to the last result: a duration, or a number of seconds; 0 for as long as it wants. Left out: what the run says.",
    )
    .examples(&["10m", "1h30m", "600"]),
    Field::new(
        "files",
        "Files of the bundle",
        Shape::Few { of: &Shape::Form { pattern: FILES, longest: 240, not: &[] }, least: 0, most: 64 },
        "Patterns of further files that belong to the plugin's bundle, relative to its directory. Modules, README, licences, schemas, tests and the command are packed in any case.",
    )
    .examples(&[r#"["data/**"]"#]),
    Field::new("reruns", "Runs failures again", Shape::Section { fields: RERUNS, open: false }, "This plugin runs again what failed in another plugin of the same run. With nothing failed it is skipped: neither launched nor expected."),
    Field::new("progress", "Progress from a log", Shape::Section { fields: PROGRESS, open: false }, "The log in which the worker counts how far the plugin is."),
    Field::new(
        "verdict",
        "Judges",
        Shape::Few { of: &Shape::Section { fields: VERDICT, open: false }, least: 0, most: 16 },
        "A chain of judges, in order: modules that say what of the finished tree counts, such as known failures, and which requirements on the whole are met.",
    )
    .examples(&[r#"[{"judge": "known-failures", "data": ["known.yaml"]}]"#]),
    Field::new(
        "allow-empty",
        "Nothing ran is a pass",
        Shape::Truth,
        "The plugin passes although nothing ran: no result, only skipped tests, or only files that no module reads. Left out: there is nothing to judge.",
    )
    .default("false"),
    Field::new(
        "stdout",
        "File for the standard output",
        Shape::Form { pattern: "^[-_a-zA-Z0-9][-_.a-zA-Z0-9]*$", longest: 100, not: &["done"] },
        "The file in the results directory that a local run writes the standard output of the process to. Left out: it is kept in the log only.",
    )
    .examples(&["stdout.txt"]),
    Field::new(
        "no-tests-exit-codes",
        "Exit codes for no tests",
        Shape::Few { of: &Shape::Whole { least: 1, most: 255 }, least: 0, most: 16 },
        "Exit codes by which the process says that it found no test to run. A local run does not count them as a failure, so that there is nothing to judge.",
    )
    .examples(&["[5]"]),
    Field::new(
        "permissions",
        "Permissions in the cluster",
        Shape::Section { fields: PERMISSIONS, open: false },
        "What the plugin may do with the API server. Left out: its pods get no token.",
    )
    .examples(&[r#"{"cluster": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]}"#]),
    Field::new("depends-on", "Reserved", Shape::Few { of: &Shape::Text, least: 0, most: 0 }, "Reserved for a later version: leave it out or empty."),
];

/// The pattern of ConfigMap keys.
const DATA: &str = "^([-_a-zA-Z0-9]|\\.[-_a-zA-Z0-9])[-._a-zA-Z0-9]{0,251}$";

/// The keys of an entry of `plumbline.verdict`.
pub(in crate::definition) const VERDICT: &[Field] = &[
    Field::new(
        "judge",
        "Module",
        Shape::Form { pattern: MODULE_NAME, longest: 63, not: &[] },
        "The module that judges: one of the bundle, else a built-in one.",
    )
    .required()
    .examples(&["known-failures"]),
    Field::new(
        "options",
        "Options",
        Shape::Open,
        "Free options for the judge. It may bring a schema of its own for them.",
    ),
    Field::new(
        "data",
        "Data",
        Shape::Few { of: &Shape::Form { pattern: DATA, longest: 253, not: &[] }, least: 0, most: 64 },
        "Keys of config-map: the judge sees them as files data/KEY.",
    )
    .examples(&[r#"["known.yaml"]"#]),
    Field::new(
        "evidence",
        "Evidence",
        Shape::Few { of: &Shape::Form { pattern: EVIDENCE, longest: 240, not: &[] }, least: 0, most: 64 },
        "Patterns of files of the archive that the judge may read, relative to its root.",
    )
    .examples(&[r#"["meta/clusterhealth.json", "podlogs/kube-system/etcd-*/logs/*.txt"]"#]),
];

/// The keys of `plumbline.limits`. The defaults equal those of [`crate::ModuleLimits`].
pub(in crate::definition) const LIMITS: &[Field] = &[
    Field::new(
        "wall",
        "Wall clock",
        Shape::Measure { least: 1, most: MOST_SECONDS, pattern: SOME_DURATION },
        "Wall clock of one call: a duration, or a number of seconds.",
    )
    .default("300")
    .examples(&["10m"]),
    Field::new(
        "wall-seconds",
        "Wall clock",
        Shape::Measure { least: 1, most: MOST_SECONDS, pattern: SOME_DURATION },
        "The same as wall, under the name that it has in configurations. Write one of the two.",
    ),
    Field::new("memory", "Memory", size(1), "Linear memory of the module: a size, or a number of bytes.")
        .default("268435456")
        .examples(&["512MiB"]),
    Field::new("table-elements", "Tables", number(0), "Elements of all tables of the module together.")
        .default("100000"),
    Field::new(
        "stack",
        "Stack",
        size(1),
        "Stack of the module: a size, or a number of bytes. Never more than the default.",
    )
    .default("1048576"),
    Field::new(
        "input-bytes",
        "Input",
        size(0),
        "What a call may read: all files of a result set, or for a summarizer all items. A size, or a number of bytes.",
    )
    .default("4294967296")
    .examples(&["8GiB"]),
    Field::new("items", "Items", number(0), "Items that a call may emit.").default("5000000"),
    Field::new("output-bytes", "Output", size(0), "Everything that a call may emit: a size, or a number of bytes.")
        .default("2147483648"),
    Field::new("item-bytes", "Size of an item", size(0), "One item: a size, or a number of bytes.").default("16777216"),
    Field::new("depth", "Depth", number(1), "Levels of the tree.").default("64"),
    Field::new(
        "hostcall-bytes",
        "Call of the host",
        size(1),
        "What one call of the host may copy: a size, or a number of bytes.",
    )
    .default("33554432"),
    Field::new(
        "log-bytes",
        "Log",
        size(0),
        "Log lines and standard output: a size, or a number of bytes. The rest is dropped, and said once.",
    )
    .default("65536"),
];
