//! Runs in a cluster: checks the cluster, makes the objects of the run, and creates them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbline_bundle::built_in::Environment;
use plumbline_core::config::Config;
use plumbline_kubernetes::manifest::rbac;
use plumbline_kubernetes::preflight::{Check, Finding, Preflight};
use plumbline_kubernetes::{Change, Cluster, ConnectOptions, ServerVersion, create, plan_creation, title};
use plumbline_local::SecretValues;
use serde_json::Value;

use crate::context::Context;
use crate::error::{AppError, SELECT_OTHERS};
use crate::files::read_input_text;
use crate::judges::{self, JudgeOptions};
use crate::manifest::options::{Circumstances, ClusterRunOptions};
use crate::manifest::schedule::not_scheduled;
use crate::manifest::{self, SuiteChecks};
use crate::modules::LimitsFile;
use crate::profiles::{self, AppliedProfile, ProfileRun};
use crate::reruns::Retries;
use crate::signing;
use crate::signing::admission::Requirements;
use crate::sources::{self, ResolvedPlugin};
use crate::suite::{DEFAULT_PLUGINS, SuiteOptions};
use crate::telemetry;

/// The largest manifest, in bytes.
const MAX_MANIFEST: u64 = 64 << 20;

/// What is started in a cluster, and which checks are made before.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// References to plugins. By default, those of [`DEFAULT_PLUGINS`].
    pub plugins: Vec<String>,
    /// The file with a manifest (`-` for standard input), instead of plugins.
    pub manifest: Option<PathBuf>,
    /// What the run requires of its plugins.
    pub requirements: Requirements,
    /// How failures are judged.
    pub judges: JudgeOptions,
    /// The file with limits.
    pub limits: LimitsFile,
    /// The namespace of the run.
    pub namespace: String,
    /// The time limit of plugins whose definition has none; zero for no limit.
    pub timeout: Option<Duration>,
    /// The cluster.
    pub cluster: ConnectOptions,
    /// Options of the run.
    pub run: ClusterRunOptions,
    /// Options of the suite.
    pub suite: SuiteOptions,
    /// The profile of the first plugin, and what the run sets of it.
    pub profile: Option<ProfileRun>,
    /// The namespace of the cluster's DNS pods.
    pub dns_namespace: String,
    /// The labels of the cluster's DNS pods.
    pub dns_labels: Vec<String>,
    /// Checks of the cluster that are not made.
    pub skip: Vec<Check>,
    /// Whether the tests and the image of the suite are not checked.
    pub skip_suite_checks: bool,
    /// Whether the reasons for permissions are reported.
    pub explain_permissions: bool,
    /// The log level of the aggregator.
    pub log_level: String,
}

/// A run that can be created.
pub struct PreparedRun {
    /// The cluster.
    pub cluster: Cluster,
    /// The namespace of the run.
    pub namespace: String,
    /// The objects of the run.
    pub objects: Vec<Value>,
}

/// The plugins of a run, and what their profile keeps out of their definitions.
#[derive(Default)]
pub struct FoundPlugins {
    /// The plugins.
    pub plugins: Vec<ResolvedPlugin>,
    /// Values of secret options.
    secrets: SecretValues,
    /// Reruns of failed tests.
    retries: Option<Retries>,
}

/// Finds the plugins of a run, applies the profile, and checks that they may run together. Without
/// effect if a manifest is given, which has its plugins already.
pub fn find_plugins(context: &Context, options: &StartOptions) -> Result<FoundPlugins, AppError> {
    if options.manifest.is_some() {
        check_manifest_options(options)?;
        return Ok(FoundPlugins::default());
    }
    let mut found = sources::find_all(context, &options.plugins, &DEFAULT_PLUGINS, Environment::Cluster)?;
    let AppliedProfile { secrets, retries } =
        profiles::apply(context, options.profile.as_ref(), &mut found, Some(&options.cluster))?;
    signing::check(context, &found, &options.requirements)?;
    judges::apply(context, &options.judges, &mut found, &options.limits.load()?)?;
    let definitions: Vec<_> = found.iter().map(|plugin| plugin.source.definition.as_ref().clone()).collect();
    plumbline_core::definition::check_set(&definitions)
        .map_err(|error| AppError::usage("invalid set of plugins").because(&error).hint(SELECT_OTHERS))?;
    let retries = retries.or_else(|| options.suite.retries());
    Ok(FoundPlugins { plugins: found, secrets, retries })
}

fn check_manifest_options(options: &StartOptions) -> Result<(), AppError> {
    const HINT: &str = "pass it to `plumbline gen`, which creates the manifest";
    let plugin =
        options.suite.given().map(|option| (option, "changes a plugin, but the manifest already has its plugins"));
    let manifest =
        || options.run.changes_manifest().map(|option| (option, "changes the manifest, which already exists"));
    if let Some((option, why)) = plugin.or_else(manifest) {
        return Err(AppError::usage(format!("`{option}` {why}")).hint(HINT));
    }
    judges::not_with(&options.judges, "the manifest already has its plugins", HINT)
}

/// Checks the cluster, and makes the objects of a run with these plugins.
pub async fn prepare(context: &Context, options: &StartOptions, found: FoundPlugins) -> Result<PreparedRun, AppError> {
    let mut config = options.run.config(&options.namespace, options.timeout)?;
    not_scheduled(&config)?;
    telemetry::take_context(context, &mut config);
    manifest::check_modules(&found.plugins, &config)?;
    let given = options.manifest.as_deref().map(read_manifest).transpose()?;
    let namespace = match &given {
        Some(objects) => namespace_of(objects).unwrap_or_else(|| config.namespace.clone()),
        None => config.namespace.clone(),
    };
    let cluster = Cluster::connect(&options.cluster).await?;
    let preflight = Preflight {
        namespace: namespace.clone(),
        dns_namespace: options.dns_namespace.clone(),
        dns_labels: options.dns_labels.clone(),
        skip: options.skip.clone(),
    };
    let (version, findings) = preflight.run(&cluster).await?;
    report_findings(context, findings)?;
    let objects = match given {
        Some(objects) => objects,
        None => make_objects(context, options, &cluster, config, found, version).await?,
    };
    report_findings(context, preflight.permissions(&cluster, &objects).await)?;
    report_findings(context, preflight.leftovers(&cluster, &objects).await?)?;
    Ok(PreparedRun { cluster, namespace, objects })
}

impl PreparedRun {
    /// Creates the objects of the run.
    pub async fn create(&self) -> Result<(), AppError> {
        create(&self.cluster, &self.objects, |object, change| tracing::info!("{object}: {change:?}")).await?;
        Ok(())
    }

    /// How [`PreparedRun::create`] would change the cluster: the titles of objects, and their
    /// changes.
    pub async fn changes(&self) -> Result<Vec<(String, Change)>, AppError> {
        let mut changes = Vec::new();
        for object in &self.objects {
            let change = plan_creation(&self.cluster, object).await?;
            changes.push((title(object), change));
        }
        Ok(changes)
    }
}

async fn make_objects(
    context: &Context,
    options: &StartOptions,
    cluster: &Cluster,
    config: Config,
    found: FoundPlugins,
    version: ServerVersion,
) -> Result<Vec<Value>, AppError> {
    let FoundPlugins { plugins, secrets, retries } = found;
    let serves_rbac = match options.run.questions(&config, true).rbac {
        true => Some(manifest::serves_rbac(cluster).await?),
        false => None,
    };
    let log_level = options.log_level.clone();
    let circumstances = Circumstances { plugins, retries, log_level, server: Some(version), serves_rbac };
    let checks = if options.skip_suite_checks { SuiteChecks::None } else { SuiteChecks::TestsAndImage };
    let mut manifest =
        Box::pin(manifest::compose(context, &options.run, &options.suite, config, circumstances, checks)).await?;
    manifest.secrets = secrets;
    for line in rbac::why(&manifest).iter().filter(|_| options.explain_permissions && manifest.rbac) {
        context.reporter.progress(&format!("permission: {line}"));
    }
    rbac::notices(&manifest).iter().for_each(|line| context.reporter.note(line));
    manifest::objects(&manifest)
}

/// Reports findings. The first fatal one is the error.
fn report_findings(context: &Context, findings: Vec<Finding>) -> Result<(), AppError> {
    let (fatal, warnings): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(|finding| finding.fatal);
    for finding in warnings {
        context.reporter.warning(&finding.what);
        context.reporter.hint(&finding.hint);
    }
    let mut fatal = fatal.into_iter();
    let Some(first) = fatal.next() else { return Ok(()) };
    for finding in fatal {
        context.reporter.error(&AppError::system(finding.what).hint(finding.hint));
    }
    Err(AppError::system(first.what).hint(first.hint))
}

fn read_manifest(path: &Path) -> Result<Vec<Value>, AppError> {
    let shown = path.display();
    let wrong = || AppError::usage(format!("invalid manifest `{shown}`"));
    let text = read_input_text(path, MAX_MANIFEST).map_err(|error| wrong().because(&error))?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).map_err(|error| wrong().because(&error))?;
    let objects: Vec<Value> = objects.into_iter().filter(|object| !object.is_null()).collect();
    if objects.is_empty() {
        return Err(wrong().cause("the file contains no objects").hint("create a manifest with `plumbline gen`"));
    }
    Ok(objects)
}

fn namespace_of(objects: &[Value]) -> Option<String> {
    objects.iter().find_map(|object| object.pointer("/metadata/namespace")?.as_str().map(str::to_owned))
}
