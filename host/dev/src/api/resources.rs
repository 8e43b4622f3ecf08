//! The resources that the server has.

/// The verbs of ordinary resources.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// A resource of a group and version.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    /// Whether objects are only reviewed and never stored.
    pub(crate) review: bool,
    /// Whether the status is a subresource, and only writable there.
    pub(crate) status: bool,
    /// Whether a test has added the resource. Objects in lists of built-in resources have no kind,
    /// and those of others do.
    pub(crate) custom: bool,
}

impl Resource {
    /// Returns the name for messages, such as `pods` or `daemonsets.apps`. It is also the key of
    /// the stored objects, in any version.
    pub(crate) fn id(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Returns the API version, such as `v1` or `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        let offered = |verb: &&str| match self.plural.as_str() {
            _ if self.review => *verb == "create",
            "namespaces" => *verb != "deletecollection",
            _ => true,
        };
        VERBS.into_iter().filter(offered).collect()
    }

    pub(crate) fn subresources(&self) -> Vec<(&'static str, &str, &'static [&'static str])> {
        let mut all: Vec<(_, &str, &'static [_])> = Vec::new();
        if self.status {
            all.push(("status", &self.kind, &["get", "patch", "update"]));
        }
        match self.id().as_str() {
            "pods" => {
                all.push(("exec", "PodExecOptions", &["create", "get"]));
                all.push(("log", "Pod", &["get"]));
            }
            "nodes" => all.push(("proxy", "NodeProxyOptions", &["get"])),
            _ => {}
        }
        all
    }
}

/// All resources, in the order of discovery. The first version of a group is its preferred one.
#[derive(Debug)]
pub(crate) struct Resources(Vec<Resource>);

impl Resources {
    pub(crate) fn usual() -> Self {
        let rbac = "rbac.authorization.k8s.io";
        let mut all = Self(Vec::new());
        for (group, plural, kind, namespaced, status) in [
            ("", "configmaps", "ConfigMap", true, false),
            ("", "endpoints", "Endpoints", true, false),
            ("", "events", "Event", true, false),
            ("", "namespaces", "Namespace", false, true),
            ("", "nodes", "Node", false, true),
            ("", "persistentvolumeclaims", "PersistentVolumeClaim", true, true),
            ("", "pods", "Pod", true, true),
            ("", "secrets", "Secret", true, false),
            ("", "serviceaccounts", "ServiceAccount", true, false),
            ("", "services", "Service", true, true),
            ("apps", "daemonsets", "DaemonSet", true, true),
            ("apps", "deployments", "Deployment", true, true),
            ("apps", "replicasets", "ReplicaSet", true, true),
            ("batch", "jobs", "Job", true, true),
            ("networking.k8s.io", "networkpolicies", "NetworkPolicy", true, false),
            (rbac, "clusterrolebindings", "ClusterRoleBinding", false, false),
            (rbac, "clusterroles", "ClusterRole", false, false),
            (rbac, "rolebindings", "RoleBinding", true, false),
            (rbac, "roles", "Role", true, false),
            ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false, false),
        ] {
            all.0.push(Resource {
                group: group.into(),
                version: "v1".into(),
                plural: plural.into(),
                kind: kind.into(),
                namespaced,
                review: kind.ends_with("Review"),
                status,
                custom: false,
            });
        }
        all
    }

    /// Adds a resource, unless it already exists.
    pub(crate) fn add(&mut self, resource: Resource) {
        if self.at(&resource.group, &resource.version, &resource.plural).is_none() {
            self.0.push(resource);
        }
    }

    pub(crate) fn at(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        self.0.iter().find(|r| r.group == group && r.version == version && r.plural == plural)
    }

    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        self.0.iter().find(|r| r.kind == kind && r.api_version() == api_version)
    }

    /// Returns the resource that a test names: `pods`, or `pods.metrics.k8s.io` if the plural is
    /// ambiguous.
    pub(crate) fn named(&self, name: &str) -> Option<&Resource> {
        self.0.iter().find(|r| r.id() == name).or_else(|| self.0.iter().find(|r| r.plural == name))
    }

    /// Like [`Self::named`], but creates an unknown resource from one of its objects, so that no
    /// object is lost.
    pub(crate) fn named_or_made_up(&mut self, name: &str, object: &serde_json::Value) -> Resource {
        if let Some(resource) = self.named(name) {
            return resource.clone();
        }
        let api_version = Some(crate::api::json::text(object, "/apiVersion")).filter(|v| !v.is_empty()).unwrap_or("v1");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = Some(crate::api::json::text(object, "/kind")).filter(|kind| !kind.is_empty()).unwrap_or(name);
        let made_up = Resource {
            group: group.into(),
            version: version.into(),
            plural: name.into(),
            kind: kind.into(),
            namespaced: object.pointer("/metadata/namespace").is_some(),
            review: false,
            status: false,
            custom: true,
        };
        self.0.push(made_up.clone());
        made_up
    }

    /// Returns the groups except the core one, each with its versions, the preferred one first.
    pub(crate) fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for resource in self.0.iter().filter(|r| !r.group.is_empty()) {
            match groups.iter_mut().find(|(group, _)| *group == resource.group) {
                Some((_, versions)) if versions.contains(&resource.version.as_str()) => {}
                Some((_, versions)) => versions.push(&resource.version),
                None => groups.push((&resource.group, vec![&resource.version])),
            }
        }
        groups
    }

    pub(crate) fn of(&self, group: &str, version: &str) -> Vec<&Resource> {
        self.0.iter().filter(|r| r.group == group && r.version == version).collect()
    }
}
