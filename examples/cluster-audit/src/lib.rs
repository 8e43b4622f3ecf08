//! A check of a cluster: who may do everything, and which images can change under their name.
//!
//! Each rule is an item, and each object that breaks it is a failed item below. A rule that no
//! object breaks has passed, and one that is about none of the objects is skipped.
//!
//! | rule | fails for |
//! |---|---|
//! | no role grants everything | a ClusterRole or Role with `*` in the verbs and in the resources of one rule |
//! | cluster-admin is bound to nobody else | a ClusterRoleBinding of `cluster-admin` to another subject than the group `system:masters` |
//! | images come from known registries | a pod with an image of a registry that is not in the option `registries` |
//! | images have a digest | a pod with an image without a digest, if the option `digests` is true |
//! | images run with an allowed digest | a pod that runs another digest than the option `allowed` has for its image |
//!
//! Kubernetes' own ClusterRole `cluster-admin` is allowed. A rule about images is skipped if its
//! option does not ask for it.
#![forbid(unsafe_code)]

mod images;
mod roles;

use std::collections::BTreeMap;

use plumbline_sdk::{Checker, Context, Item, ObjectQuery, Output, PluginInfo, Status};
use serde::Deserialize;
use serde_json::Value;

/// The maximum number of objects that a rule lists. The rest is counted.
const MAX_LISTED: usize = 200;

/// Why a rule is skipped that none of the objects is about.
const NOTHING: &str = "the cluster has no object that the rule is about";

/// The number of rules.
const RULES: u64 = 5;

/// The check. The documentation of the crate describes its rules.
#[derive(Debug, Clone, Copy)]
pub struct ClusterAudit;

/// The options of the definition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// The registries of images, such as `registry.k8s.io`, optionally with the start of a path.
    registries: Vec<String>,
    /// Whether every image must have a digest.
    digests: bool,
    /// The digests that may run, by the name of the image with its registry, such as
    /// `registry.k8s.io/pause`.
    allowed: BTreeMap<String, Vec<String>>,
}

impl Checker for ClusterAudit {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        let mut rules = Rules { done: 0 };

        let mut wide = Rule::new("no role grants everything");
        for resource in ["clusterroles", "roles"] {
            wide.read(context, &rbac(resource), |role| roles::grants_everything(role).into());
        }
        rules.finish(wide, context, out);

        let mut admins = Rule::new("cluster-admin is bound to nobody else");
        admins.read(context, &rbac("clusterrolebindings"), |binding| roles::other_admins(binding).into());
        rules.finish(admins, context, out);

        let pods = ObjectQuery::new("v1", "pods");
        let mut known = Rule::new("images come from known registries");
        if options.registries.is_empty() {
            known.skip("the option `registries` names none");
        } else {
            known.read(context, &pods, |pod| images::foreign(pod, &options.registries).into());
        }
        rules.finish(known, context, out);

        let mut pinned = Rule::new("images have a digest");
        if options.digests {
            pinned.read(context, &pods, |pod| images::unpinned(pod).into());
        } else {
            pinned.skip("the option `digests` is not set");
        }
        rules.finish(pinned, context, out);

        let mut allowed = Rule::new("images run with an allowed digest");
        if options.allowed.is_empty() {
            allowed.skip("the option `allowed` has none");
        } else {
            let policy = images::policy(&options.allowed);
            allowed.read(context, &pods, |pod| images::other_digests(pod, &policy));
        }
        rules.finish(allowed, context, out);
        Ok(())
    }
}

fn rbac(resource: &str) -> ObjectQuery {
    ObjectQuery::new("rbac.authorization.k8s.io/v1", resource)
}

/// Counts the rules for the progress.
struct Rules {
    done: u64,
}

impl Rules {
    fn finish(&mut self, rule: Rule, context: &mut Context, out: &mut Output) {
        self.done += 1;
        context.progress(self.done, RULES, rule.name);
        rule.emit(out);
    }
}

/// What a rule finds in an object.
pub(crate) enum Found {
    /// The object has nothing that the rule examines.
    Nothing,
    Good,
    /// How the object breaks the rule.
    Bad(String),
}

impl From<Option<String>> for Found {
    fn from(problem: Option<String>) -> Self {
        problem.map_or(Self::Good, Self::Bad)
    }
}

/// A rule with the objects that break it.
struct Rule {
    name: &'static str,
    read: u64,
    examined: u64,
    broken: u64,
    listed: Vec<Item>,
    skipped: Option<&'static str>,
    error: Option<String>,
}

impl Rule {
    fn new(name: &'static str) -> Self {
        Self { name, read: 0, examined: 0, broken: 0, listed: Vec::new(), skipped: None, error: None }
    }

    fn skip(&mut self, why: &'static str) {
        self.skipped = Some(why);
    }

    /// Reads objects, and examines each.
    fn read(&mut self, context: &mut Context, query: &ObjectQuery, examine: impl Fn(&Value) -> Found) {
        let objects = match context.list(query) {
            Ok(objects) => objects,
            Err(error) => return self.error = Some(error),
        };
        for object in objects {
            match object {
                Ok(object) => self.judge(&object, &examine),
                Err(error) => return self.error = Some(error),
            }
        }
    }

    fn judge(&mut self, object: &Value, examine: impl Fn(&Value) -> Found) {
        self.read += 1;
        let found = examine(object);
        self.examined += u64::from(!matches!(found, Found::Nothing));
        let Found::Bad(problem) = found else { return };
        self.broken += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(Item::new(1, name_of(object)).status(Status::Failed).text("failure", problem));
        }
    }

    fn emit(self, out: &mut Output) {
        let mut root = Item::new(0, self.name).meta("objects", self.read.to_string());
        root = match (&self.error, self.skipped, self.broken) {
            // What was not read may break the rule.
            (Some(error), ..) => root.status(Status::Unknown).meta("error", error),
            (None, Some(why), _) => root.status(Status::Skipped).text("skipped", why),
            (None, None, 0) if self.examined == 0 => root.status(Status::Skipped).text("skipped", NOTHING),
            (None, None, 0) => root.status(Status::Passed),
            (None, None, _) => root.status(Status::Failed),
        };
        let more = self.broken - self.listed.len() as u64;
        if more > 0 {
            root = root.text("failure", format!("{more} more objects break the rule"));
        }
        let unread = self.error.filter(|_| !self.listed.is_empty());
        out.emit(root);
        self.listed.into_iter().for_each(|item| out.emit(item));
        // The status of an item with children follows from them.
        if let Some(error) = unread {
            out.emit(Item::new(1, "objects that could not be read").status(Status::Unknown).meta("error", error));
        }
    }
}

/// Returns `NAMESPACE/NAME`, or the name of an object outside namespaces.
fn name_of(object: &Value) -> String {
    let field = |key: &str| object.pointer(&format!("/metadata/{key}")).and_then(Value::as_str);
    let name = field("name").unwrap_or("(no name)");
    field("namespace").map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

plumbline_sdk::module! {
    name: "cluster-audit",
    formats: [],
    default_files: [],
    rights: {
        "kubernetes": [
            { "api-version": "rbac.authorization.k8s.io/v1", "resources": ["clusterroles", "clusterrolebindings", "roles"] },
            { "api-version": "v1", "resources": ["pods"] }
        ]
    },
    check: ClusterAudit,
}
