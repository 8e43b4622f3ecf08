//! The requirements of the Kubernetes AI Conformance programme, each with its evidence.
//!
//! | status of a requirement | evidence |
//! |---|---|
//! | `passed` | a test of the programme's suite passed, or the API server shows that the requirement is met |
//! | `failed` | such a test failed, the API server shows that something is missing, or the vendor states so |
//! | `stated` | only `PRODUCT.yaml` says that the requirement is met, with links |
//! | `not-applicable` | `PRODUCT.yaml` says `N/A` with a reason, where the programme allows it |
//! | `unknown` | none, for a MUST: nobody evaluated it |
//! | `skipped` | none, for a SHOULD |
//!
//! `PRODUCT.yaml` is compared with the results: a statement that they contradict is a failure of
//! its own.
#![forbid(unsafe_code)]

mod artifacts;
mod checklist;
mod cluster;
mod decide;
mod links;
mod product;
mod queries;

use std::collections::BTreeMap;

use plumbline_sdk::{Checker, Context, Item, Output, PluginInfo, Status};
use serde::Deserialize;

use crate::artifacts::{JUNIT, LOG, Outcome, RESULTS, Report};
use crate::checklist::Checklist;
use crate::cluster::Cluster;
use crate::decide::Known;
use crate::product::{PRODUCT, Product};

/// The check. The documentation of the crate describes it.
#[derive(Debug, Clone, Copy)]
pub struct AiConformance;

/// The options of the definition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Options {
    /// The version of Kubernetes whose checklist applies, such as `1.37`.
    kubernetes: String,
    /// Whether statements of the vendor count where no test and no query does.
    statements: bool,
    /// `PRODUCT.yaml`.
    product: Option<String>,
    /// Output of the programme's test suite.
    junit: Option<String>,
    results: Option<String>,
    e2e_log: Option<String>,
}

impl Checker for AiConformance {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        let checklist = Checklist::of(&options.kubernetes)?;
        let total = checklist.requirements().count() as u64;
        context.progress(0, total, "reading the cluster");
        let cluster = Cluster::read(context);
        version(&checklist, &cluster, out);
        let reports = test_results(&options, out);
        agreement(&checklist, &reports, out);
        let product = options.product.as_deref().map(|text| Product::read(text, &checklist));
        let mut contradictions = Vec::new();
        let mut category = "";
        for (done, (requirement, level)) in (1..).zip(checklist.requirements()) {
            if requirement.category != category {
                category = requirement.category;
                out.emit(Item::new(0, category));
            }
            let known = Known {
                requirement,
                level,
                seen: queries::look(requirement, &checklist, &cluster),
                test: requirement.test.and_then(|test| outcome(test, &reports)),
                statement: product.as_ref().and_then(|product| product.statements.get(requirement.id)),
                statements_count: options.statements,
            };
            let decision = known.decide();
            out.emit(decision.item);
            contradictions.extend(decision.contradiction);
            context.progress(done, total, requirement.id);
        }
        statements(product.as_ref(), &checklist, &reports, &contradictions, out);
        Ok(())
    }
}

/// Returns the worst outcome of a test in all files, and the file that has it.
fn outcome(test: &str, reports: &BTreeMap<&'static str, Report>) -> Option<(Outcome, &'static str)> {
    reports
        .iter()
        .filter_map(|(name, report)| Some((report.outcome_of(test)?, *name)))
        .max_by_key(|(outcome, _)| *outcome)
}

/// Compares the version of the nodes with that of the checklist.
fn version(checklist: &Checklist, cluster: &Cluster, out: &mut Output) {
    let item = Item::new(0, "version of Kubernetes").meta("checklist", checklist.version.as_str());
    let nodes = match &cluster.nodes {
        Ok(nodes) if nodes.is_empty() => {
            return out.emit(item.status(Status::Unknown).meta("error", "the cluster has no nodes"));
        }
        Ok(nodes) => nodes,
        Err(error) => return out.emit(item.status(Status::Unknown).meta("error", error)),
    };
    let other: Vec<String> = nodes
        .iter()
        .filter(|node| !checklist.is(&node.version))
        .map(|node| format!("{} runs {}", node.name, node.version))
        .collect();
    out.emit(match other.first() {
        None => item.status(Status::Passed).meta("nodes", nodes.len().to_string()),
        Some(first) => item.status(Status::Failed).text(
            "failure",
            format!(
                "{} of {} nodes run another version than {}, such as: {first}",
                other.len(),
                nodes.len(),
                checklist.version
            ),
        ),
    });
}

/// Reads the files with results of tests. Each is an item.
fn test_results(options: &Options, out: &mut Output) -> BTreeMap<&'static str, Report> {
    let mut reports = BTreeMap::new();
    for (name, text) in [(JUNIT, &options.junit), (RESULTS, &options.results), (LOG, &options.e2e_log)] {
        let Some(text) = text else { continue };
        let item = Item::new(0, name);
        match artifacts::parse(name, text) {
            Err(error) => out.emit(item.status(Status::Failed).text("failure", format!("{name}: {error}"))),
            Ok(report) => {
                let failures = report.failures();
                let item = item
                    .meta("passed", report.count(Outcome::Passed).to_string())
                    .meta("skipped", report.count(Outcome::Skipped).to_string())
                    .meta("failed", report.count(Outcome::Failed).to_string());
                out.emit(match failures.is_empty() {
                    true => item.status(Status::Passed),
                    false => item.status(Status::Failed).text("failure", failures.join("\n")),
                });
                reports.insert(name, report);
            }
        }
    }
    if reports.is_empty() && options.junit.is_none() && options.results.is_none() && options.e2e_log.is_none() {
        let reason = "the run got no results of the programme's test suite";
        out.emit(Item::new(0, "test results").status(Status::Skipped).text("reason", reason));
    }
    reports
}

/// Checks that all files with results of tests have the same outcomes of the programme's tests.
fn agreement(checklist: &Checklist, reports: &BTreeMap<&'static str, Report>, out: &mut Output) {
    let mut problems = Vec::new();
    for test in checklist.requirements().filter_map(|(of, _)| of.test) {
        let outcomes: Vec<_> = reports.iter().map(|(name, report)| (name, report.outcome_of(test))).collect();
        let first = outcomes.first().map(|(_, outcome)| *outcome);
        if outcomes.iter().any(|(_, outcome)| Some(*outcome) != first) {
            let shown = |(name, outcome): &(&&str, Option<Outcome>)| match outcome {
                None => format!("no result in `{name}`"),
                Some(outcome) => format!("{outcome} in `{name}`"),
            };
            problems.push(format!("`{test}`: {}", outcomes.iter().map(shown).collect::<Vec<_>>().join(", ")));
        }
    }
    if reports.len() > 1 {
        let item = Item::new(0, "files with results of tests agree");
        out.emit(match problems.is_empty() {
            true => item.status(Status::Passed),
            false => item.status(Status::Failed).text("failure", problems.join("\n")),
        });
    }
}

/// Checks `PRODUCT.yaml`. Each rule is an item.
fn statements(
    product: Option<&Product>,
    checklist: &Checklist,
    reports: &BTreeMap<&'static str, Report>,
    contradictions: &[String],
    out: &mut Output,
) {
    let Some(product) = product else {
        let reason = "the run got no statements of the vendor";
        return out.emit(Item::new(0, PRODUCT).status(Status::Skipped).text("reason", reason));
    };
    out.emit(Item::new(0, PRODUCT));
    let mut rule = |name: &str, problems: &[String]| {
        let item = Item::new(1, name);
        out.emit(match problems.is_empty() {
            true => item.status(Status::Passed),
            false => item.status(Status::Failed).text("failure", problems.join("\n")),
        });
    };
    rule("it has the form of the programme", &product.problems);
    let other = (!checklist.is(&product.version))
        .then(|| format!("it is for Kubernetes `{}`, and the checklist is of {}", product.version, checklist.version));
    rule("it is for the version of the checklist", other.as_slice());
    let linked: Vec<String> = checklist
        .requirements()
        .filter_map(|(of, _)| Some(links::problems(of, product.statements.get(of.id)?, reports)))
        .flatten()
        .collect();
    rule("its evidence is in place", &linked);
    rule("no statement contradicts the results", contradictions);
}

plumbline_sdk::module! {
    name: "ai-conformance",
    formats: [],
    default_files: [],
    schema: {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "kubernetes": {
                "type": "string",
                "pattern": "^1\\.[0-9]+$",
                "description": "The version of Kubernetes whose checklist applies, such as 1.37."
            },
            "statements": {
                "type": "boolean",
                "description": "Whether statements of the vendor count where no test and no query does."
            },
            "product": { "type": "string", "description": "The content of PRODUCT.yaml." },
            "junit": { "type": "string", "description": "The content of junit.xml." },
            "results": { "type": "string", "description": "The content of results.json." },
            "e2e-log": { "type": "string", "description": "The content of e2e.log." }
        },
        "required": ["kubernetes"],
        "additionalProperties": false
    },
    rights: {
        "kubernetes": [
            { "api-version": "admissionregistration.k8s.io/v1", "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] },
            { "api-version": "apiextensions.k8s.io/v1", "resources": ["customresourcedefinitions"] },
            { "api-version": "apiregistration.k8s.io/v1", "resources": ["apiservices"] },
            { "api-version": "apps/v1", "resources": ["daemonsets", "deployments"] },
            { "api-version": "gateway.networking.k8s.io/v1", "resources": ["gatewayclasses"] },
            { "api-version": "node.k8s.io/v1", "resources": ["runtimeclasses"] },
            { "api-version": "resource.k8s.io/v1", "resources": ["deviceclasses", "resourceslices"] },
            { "api-version": "v1", "resources": ["nodes"] }
        ]
    },
    check: AiConformance,
}
