//! The commonly used keys of a container (core/v1 `Container`). Other keys are passed to the
//! cluster unchanged.

use super::field::{Field, Shape};

/// A list of strings.
const TEXTS: Shape = Shape::List(&Shape::Text);

/// A list of mappings.
const MAPPINGS: Shape = Shape::List(&Shape::Open);

/// The keys of an environment variable.
const ENV: &[Field] = &[
    Field::new(
        "name",
        "Name",
        Shape::Form { pattern: "^[^=\\x00]+$", longest: 32_767, not: &[] },
        "The name of the variable.",
    )
    .required(),
    Field::new("value", "Value", Shape::Text, "Its value: text, so put numbers and truth values in quotes."),
    Field::new(
        "valueFrom",
        "Source",
        Shape::Open,
        "Where the value comes from (core/v1 EnvVarSource). Only a cluster can tell it.",
    ),
];

/// The keys of `spec`.
pub(in crate::definition) const CONTAINER: &[Field] = &[
    Field::new("name", "Name", Shape::Text, "The name of the container.").examples(&["plugin"]),
    Field::new(
        "image",
        "Image",
        Shape::Text,
        "The image. $SONOBUOY_K8S_VERSION in it stands for the cluster's version. Left out: a plugin with a command gets the image of the run.",
    )
    .examples(&["registry.example.org/checks/node:1.4"]),
    Field::new(
        "command",
        "Command",
        TEXTS,
        "The entry point. In a run on this machine a relative command is looked for in the bundle.",
    )
    .examples(&[r#"["./check.sh"]"#]),
    Field::new("args", "Arguments", TEXTS, "Arguments to the entry point."),
    Field::new("workingDir", "Working directory", Shape::Text, "Left out: that of the image; in a local run, the current directory of the user. Relative to the directory of the definition there."),
    Field::new("env", "Environment", Shape::List(&Shape::Section { fields: ENV, open: true }), "Variables of the container.")
        .examples(&[r#"[{"name": "LEVEL", "value": "1"}]"#]),
    Field::new("envFrom", "Environment from objects", MAPPINGS, "ConfigMaps and Secrets whose keys become variables."),
    Field::new(
        "imagePullPolicy",
        "When the image is pulled",
        Shape::Choice(&["Always", "IfNotPresent", "Never"]),
        "When the node asks the registry for the image.",
    ),
    Field::new("ports", "Ports", MAPPINGS, "Ports of the container. Plugins seldom need any."),
    Field::new("resources", "Resources", Shape::Open, "What the container asks for and may use: requests and limits.")
        .examples(&[r#"{"requests": {"cpu": "100m", "memory": "64Mi"}}"#]),
    Field::new("securityContext", "Security", Shape::Open, "As whom the container runs, and what it may."),
    Field::new("volumeMounts", "Mounts", MAPPINGS, "Where volumes of the pod appear. The directory for results is mounted in any case.")
        .examples(&[r#"[{"name": "root", "mountPath": "/node", "readOnly": true}]"#]),
    Field::new("livenessProbe", "Liveness", Shape::Open, "When the container is started again."),
    Field::new("readinessProbe", "Readiness", Shape::Open, "When the container counts as ready."),
    Field::new("startupProbe", "Start", Shape::Open, "When the other probes begin."),
    Field::new("lifecycle", "Lifecycle", Shape::Open, "What is done after the start and before the end."),
    Field::new("tty", "Terminal", Shape::Truth, "Whether the container has a terminal."),
    Field::new("volumes", "", Shape::Never, ""),
];
