//! The top-level keys of a definition, and those of `sonobuoy-config`.

use super::container::CONTAINER;
use super::field::{Field, Shape};
use super::own::{MODULE_NAME, PLUMBLINE};
use super::pod::POD;

/// The top-level keys of a definition.
pub(in crate::definition) const TOP: &[Field] = &[
    Field::new("apiVersion", "Ignored", Shape::Text, "Seen in older definitions. It means nothing."),
    Field::new("kind", "Ignored", Shape::Text, "Seen in older definitions. It means nothing."),
    Field::new(
        "sonobuoy-config",
        "The plugin",
        Shape::Section { fields: CONFIG, open: false },
        "What the plugin is called, how it is executed, and how its results are read.",
    )
    .required(),
    Field::new(
        "spec",
        "Container",
        Shape::Section { fields: CONTAINER, open: true },
        "The plugin's container (core/v1 Container). A run on this machine uses command, args, workingDir and env of it.",
    )
    .required(),
    Field::new(
        "podSpec",
        "Pod",
        Shape::Section { fields: POD, open: true },
        "The pod around the container (core/v1 PodSpec), in a cluster. Left out: the driver's default, which tolerates every taint.",
    ),
    Field::new(
        "extra-volumes",
        "Volumes",
        Shape::List(&Shape::Open),
        "Further volumes of the pod (core/v1 Volume), in a cluster.",
    )
    .examples(&[r#"[{"name": "root", "hostPath": {"path": "/"}}]"#]),
    Field::new(
        "config-map",
        "Files",
        // The keys that Kubernetes accepts in a ConfigMap.
        Shape::Texts { keys: "^([-_a-zA-Z0-9]|\\.[-_a-zA-Z0-9])[-._a-zA-Z0-9]*$", longest: 253 },
        "Files for the plugin, name to content: it finds them in $SONOBUOY_CONFIG_DIR. A name that ends in .yaml or .json holds such a document.",
    )
    .examples(&[r#"{"checks.txt": "swap\nclock\n"}"#]),
    Field::new(
        "plumbline",
        "Our own keys",
        Shape::Section { fields: PLUMBLINE, open: false },
        "What this tool alone knows; others ignore it.",
    ),
];

/// The keys of `sonobuoy-config`.
pub(in crate::definition) const CONFIG: &[Field] = &[
    Field::new(
        "driver",
        "Driver",
        Shape::Choice(&["Job", "DaemonSet", "Process"]),
        "How the plugin is executed: Job (once per cluster), DaemonSet (once per node), Process (a process of this machine).",
    )
    .required(),
    Field::new(
        "plugin-name",
        "Name",
        Shape::Form {
            pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            longest: 253,
            not: &["sonobuoy", "plumbline"],
        },
        "The plugin's name: a DNS-1123 subdomain, unique in a run.",
    )
    .required()
    .examples(&["node-check"]),
    Field::new(
        "result-format",
        "Format of the results",
        Shape::Form { pattern: MODULE_NAME, longest: 63, not: &[] },
        "The module that reads the results: one of the bundle, else a built-in one (junit, gojson, tap, sarif, ctrf, raw, manual, host-facts, systemd-logs). `auto` detects the format of each file. An unknown name is an error before the run starts.",
    )
    .default("raw")
    .examples(&["junit", "gojson", "manual"]),
    Field::new(
        "result-files",
        "Files that are read",
        Shape::List(&Shape::Form { pattern: "^[^/\\\\]+$", longest: 255, not: &[] }),
        "Exact names, without directories, of the files that count as results. Left out: those that the module takes.",
    )
    .examples(&[r#"["junit_01.xml"]"#]),
    Field::new(
        "skip-cleanup",
        "Leave what was started",
        Shape::Truth,
        "In a cluster: the pods stay after the run.",
    )
    .default("false"),
    Field::new("description", "Description", Shape::Text, "One line for a person."),
    Field::new("source-url", "Source", Shape::Text, "Where the definition comes from.")
        .examples(&["https://example.org/plugins/node-check.yaml"]),
    Field::new(
        "order",
        "Order",
        Shape::Whole { least: i32::MIN as i64, most: i32::MAX as i64 },
        "Plugins of one number run at once; groups one after the other, the smallest number first.",
    )
    .default("0"),
];
