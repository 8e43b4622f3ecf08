//! Resources of OpenReports (`openreports.io/v1alpha1`), as `kubectl apply` takes them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plumbline_core::Digest;
use serde_json::{Value, json};

use crate::report::renderers::{ArchiveFacts, Leaf, Outcome, Plugin, Renderer, known};
use crate::report::text::{name, print_yaml, shortened};

/// The most bytes of the results in a resource, as JSON. `kubectl apply` copies a resource into an
/// annotation, and all annotations of a resource have at most 256 KiB.
const MAX_BYTES: usize = 192 << 10;

/// The most characters of a text in a result.
const MAX_TEXT: usize = 1_000;

/// The most characters of a plugin in the name of a resource.
const MAX_NAME: usize = 180;

/// Writes reports of at most [`MAX_BYTES`] for each plugin.
pub(super) struct Openreports<'a> {
    out: &'a mut dyn Write,
    /// The namespace of the reports. Without one, they are reports of the cluster.
    namespace: Option<String>,
    run: Option<String>,
    plugin: String,
    status: String,
    /// The number of reports of this plugin so far.
    number: u64,
    summary: BTreeMap<&'static str, u64>,
    results: Vec<Value>,
    bytes: usize,
}

impl<'a> Openreports<'a> {
    pub(super) fn new(out: &'a mut dyn Write, namespace: Option<String>) -> Self {
        Self {
            out,
            namespace,
            run: None,
            plugin: String::new(),
            status: String::new(),
            number: 0,
            summary: BTreeMap::new(),
            results: Vec::new(),
            bytes: 0,
        }
    }

    /// Writes the report of the results so far.
    fn flush(&mut self) -> io::Result<()> {
        if self.results.is_empty() {
            return Ok(());
        }
        self.number += 1;
        let results = std::mem::take(&mut self.results);
        let summary = std::mem::take(&mut self.summary);
        self.bytes = 0;
        let plugin = resource_name(&self.plugin);
        let report = json!({
            "apiVersion": "openreports.io/v1alpha1",
            "kind": if self.namespace.is_some() { "Report" } else { "ClusterReport" },
            "metadata": {
                "name": format!("plumbline-{plugin}-{}", self.number),
                "namespace": self.namespace,
                "labels": {"app.kubernetes.io/managed-by": "plumbline", "plumbline.dev/run": self.run},
                "annotations": {"plumbline.dev/plugin": shortened(&self.plugin, MAX_TEXT), "plumbline.dev/status": self.status},
            },
            "source": "plumbline",
            "summary": summary,
            "results": results,
        });
        writeln!(self.out, "---")?;
        print_yaml(&known(report), &mut self.out)
    }
}

impl Renderer for Openreports<'_> {
    fn archive(&mut self, facts: &ArchiveFacts) -> io::Result<()> {
        self.flush()?;
        // The value of a label.
        self.run = facts.run.clone().filter(|run| run.len() <= 63 && resource_name(run) == *run);
        Ok(())
    }

    fn plugin(&mut self, plugin: &Plugin<'_>) -> io::Result<()> {
        self.flush()?;
        plugin.title.clone_into(&mut self.plugin);
        self.status = shortened(&plugin.root.status.brief(), MAX_TEXT);
        self.number = 0;
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> io::Result<()> {
        let result = known(result(leaf));
        let bytes = result.to_string().len();
        if self.bytes + bytes > MAX_BYTES {
            self.flush()?;
        }
        self.bytes += bytes;
        *self.summary.entry(word(leaf.outcome())).or_default() += 1;
        self.results.push(result);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// The result in OpenReports. `skip` are results that the verdict does not need.
fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "pass",
        Outcome::Failed => "fail",
        Outcome::Broken => "error",
        Outcome::Custom => "warn",
        Outcome::Skipped | Outcome::Excused | Outcome::NotRead => "skip",
    }
}

fn result(leaf: &Leaf<'_>) -> Value {
    let outcome = leaf.outcome();
    let found = leaf.stop().or(leaf.start()).and_then(|time| jiff::Timestamp::from_millisecond(time).ok());
    let node = leaf.id.node.as_ref().map(|node| json!({"apiVersion": "v1", "kind": "Node", "name": name(node)}));
    let place = leaf.id.place();
    let text = |text: &str| Some(shortened(text, MAX_TEXT)).filter(|text| !text.is_empty());
    let seconds = leaf.duration().map(|duration| (duration as f64 / 1000.0).to_string());
    json!({
        "policy": text(leaf.plugin),
        "rule": text(&leaf.id.name),
        "category": text(&place),
        "result": word(outcome),
        "scored": matches!(outcome, Outcome::Passed | Outcome::Failed | Outcome::Broken),
        "message": leaf.message(),
        "resources": node.into_iter().collect::<Vec<_>>(),
        "timestamp": found.map(|time| json!({"seconds": time.as_second(), "nanos": time.subsec_nanosecond()})),
        "properties": {
            "status": text(leaf.status.as_str()),
            "class": text(&leaf.id.classname),
            "cause": leaf.cause,
            "duration-seconds": seconds,
            "ruling": leaf.ruled.and_then(|ruled| text(&ruled.ruling.class)),
            "ruling-source": leaf.ruled.and_then(|ruled| text(&ruled.ruling.source)),
            "file": text(&leaf.source),
        },
    })
}

/// The text as a part of the name of a resource (DNS-1123). Different texts have different names.
fn resource_name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let shown: String = text.chars().map(|c| if plain(c) { c } else { '-' }).take(MAX_NAME).collect();
    if shown == text && !shown.is_empty() && !shown.starts_with('-') && !shown.ends_with('-') {
        return shown;
    }
    let digest: String = Digest::of(text.as_bytes()).hex().chars().take(8).collect();
    format!("{}-{digest}", shown.trim_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_resources_are_valid_and_differ() {
        assert_eq!(resource_name("e2e"), "e2e");
        let odd = ["systemd_logs", "systemd-logs-", "Systemd_logs", "", "…", &"a".repeat(300)].map(resource_name);
        for (at, name) in odd.iter().enumerate() {
            assert!(
                name.len() <= 253 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
            assert!(!odd.iter().take(at).any(|other| other == name), "{name}");
        }
    }
}
