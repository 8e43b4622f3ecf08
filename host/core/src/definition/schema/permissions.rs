//! The keys of `plumbline.permissions`.

use super::field::{Field, Shape};

/// A list of a rule.
const ENTRIES: Shape = Shape::Few { of: &Shape::Text, least: 0, most: 500 };

/// A list of rules.
const RULES: Shape = Shape::Few { of: &Shape::Section { fields: POLICY_RULE, open: false }, least: 0, most: 100 };

/// The keys of `permissions`.
pub(in crate::definition) const PERMISSIONS: &[Field] = &[
    Field::new("cluster", "In the whole cluster", RULES, "Rules of a ClusterRole."),
    Field::new("namespace", "In the namespace of the run", RULES, "Rules of a Role in the namespace of the run."),
];

/// The keys of a rule (rbac.authorization.k8s.io/v1 `PolicyRule`).
pub(in crate::definition) const POLICY_RULE: &[Field] = &[
    Field::new("apiGroups", "API groups", ENTRIES, "API groups. The core group is an empty text, `*` stands for all."),
    Field::new("resources", "Resources", ENTRIES, "Resources and subresources, such as `pods` and `pods/log`."),
    Field::new("resourceNames", "Names", ENTRIES, "Names of objects. Left out: every object."),
    Field::new("nonResourceURLs", "Paths", ENTRIES, "Paths that are not resources, such as `/metrics`."),
    Field::new(
        "verbs",
        "Verbs",
        Shape::Few { of: &Shape::Text, least: 1, most: 500 },
        "Verbs, such as `get` and `list`.",
    )
    .required(),
];
