//! The commonly used keys of a pod (core/v1 `PodSpec`). Other keys are passed to the cluster
//! unchanged.

use super::field::{Field, Shape};

/// A list of mappings.
const MAPPINGS: Shape = Shape::List(&Shape::Open);

/// The keys of `podSpec`.
pub(super) const POD: &[Field] = &[
    Field::new("nodeSelector", "Nodes", Shape::Open, "Labels that a node must have for the pod to run there.")
        .examples(&[r#"{"kubernetes.io/os": "linux"}"#]),
    Field::new("tolerations", "Tolerations", MAPPINGS, "Taints of nodes that the pod puts up with.")
        .examples(&[r#"[{"operator": "Exists"}]"#]),
    Field::new("affinity", "Affinity", Shape::Open, "Which nodes the pod asks for or prefers."),
    Field::new("serviceAccountName", "Service account", Shape::Text, "As whom the pod speaks to the API server."),
    Field::new("automountServiceAccountToken", "Token", Shape::Truth, "Whether the account's token is mounted."),
    Field::new("imagePullSecrets", "Secrets for images", MAPPINGS, "Secrets with which images are pulled."),
    Field::new(
        "initContainers",
        "Containers before",
        MAPPINGS,
        "Containers that run before the plugin's, one after the other.",
    ),
    Field::new(
        "containers",
        "Further containers",
        MAPPINGS,
        "Containers beside the plugin's own, which stands in spec.",
    ),
    Field::new("volumes", "Volumes", MAPPINGS, "Volumes of the pod."),
    Field::new("securityContext", "Security", Shape::Open, "As whom the containers run."),
    Field::new("hostNetwork", "Network of the node", Shape::Truth, "The pod uses the node's network."),
    Field::new("hostPID", "Processes of the node", Shape::Truth, "The pod sees the node's processes."),
    Field::new("hostIPC", "IPC of the node", Shape::Truth, "The pod shares the node's inter-process communication."),
    Field::new("dnsPolicy", "DNS", Shape::Text, "How names are resolved."),
    Field::new("priorityClassName", "Priority", Shape::Text, "The pod's priority."),
    Field::new("runtimeClassName", "Runtime", Shape::Text, "The runtime that runs the containers."),
    Field::new(
        "restartPolicy",
        "Restarts",
        Shape::Choice(&["Always", "Never", "OnFailure"]),
        "When containers are started again.",
    ),
    Field::new(
        "terminationGracePeriodSeconds",
        "Time to end",
        Shape::Whole { least: 0, most: 1 << 53 },
        "Seconds between the request to end and the end.",
    ),
];
