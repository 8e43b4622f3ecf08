//! Runs in a cluster: checks the cluster, makes the objects of the run, and creates them.

use std::path::Path;

use plumbline_bundle::built_in::Environment;
use plumbline_core::config::Config;
use plumbline_kubernetes::manifest::rbac;
use plumbline_kubernetes::preflight::{Finding, Preflight};
use plumbline_kubernetes::{Change, Cluster, ConnectOptions, ServerVersion, create, plan_creation, title};
use serde_json::Value;

use crate::context::Context;
use crate::error::{AppError, Explain as _, SELECT_OTHERS};
use crate::files::{read_input_text, whole};
use crate::judges;
use crate::local::SecretValues;
use crate::manifest::{self, Circumstances, SuiteChecks, not_scheduled};
use crate::options::{RunOptions, SkipPreflight};
use crate::profiles::{self, AppliedProfile, ProfileRun};
use crate::reruns::Retries;
use crate::signing;
use crate::sources::{self, ResolvedPlugin};
use crate::suite::default_plugins;
use crate::telemetry;

const MAX_MANIFEST: u64 = 64 << 20;

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
pub fn find_plugins(context: &Context, options: &RunOptions) -> Result<FoundPlugins, AppError> {
    if options.manifest.is_some() {
        check_manifest_options(options)?;
        return Ok(FoundPlugins::default());
    }
    let mut found = sources::find_all(context, &options.plugins, &default_plugins()?, Environment::Cluster)?;
    let cluster = options.cluster.connect_options();
    let version = options.cluster_run.kubernetes_version.as_deref();
    let by_default = options.plugins.is_empty() && apply_default_profile(context, &mut found, &cluster, version)?;
    let AppliedProfile { secrets, retries } =
        profiles::apply(context, options.profile.as_ref(), &mut found, Some(&cluster))?;
    signing::check(context, &found, &options.requirements)?;
    let limits = options.limits.load()?;
    judges::apply(context, &options.judge, &mut found, by_default || options.profile.is_some(), &limits)?;
    let definitions: Vec<_> = found.iter().map(|plugin| plugin.source.definition.as_ref().clone()).collect();
    plumbline_core::definition::check_set(&definitions).usage_error("invalid set of plugins").hint(SELECT_OTHERS)?;
    let retries = retries.or_else(|| options.suite.retries());
    Ok(FoundPlugins { plugins: found, secrets, retries })
}

/// Applies the first built-in profile to `found`, the plugins of a run that names none: its default mode,
/// and no options. Returns whether there is such a profile. The definition of the suite of Kubernetes has
/// the values of its default mode, and stays as it is.
///
/// # Errors
/// The profile has options that need a value, or the cluster does not tell the version of the suite.
pub fn apply_default_profile(
    context: &Context,
    found: &mut [ResolvedPlugin],
    cluster: &ConnectOptions,
    kubernetes_version: Option<&str>,
) -> Result<bool, AppError> {
    let Some(run) = profiles::default_run()? else { return Ok(false) };
    let run = ProfileRun { kubernetes_version: kubernetes_version.map(str::to_owned), ..run };
    // Without options, there are no secrets and no reruns.
    profiles::apply(context, Some(&run), found, Some(cluster)).map_err(|error| {
        error.hint_more("pass options to `plumbline conformance run`, or select other plugins with `--plugin`")
    })?;
    Ok(true)
}

fn check_manifest_options(options: &RunOptions) -> Result<(), AppError> {
    const HINT: &str = "pass it to `plumbline gen`, which creates the manifest";
    let plugin =
        options.suite.given().map(|option| (option, "changes a plugin, but the manifest already has its plugins"));
    let manifest =
        || options.cluster_run.changes_manifest().map(|option| (option, "changes the manifest, which already exists"));
    if let Some((option, why)) = plugin.or_else(manifest) {
        return Err(AppError::usage(format!("`{option}` {why}")).hint(HINT));
    }
    judges::not_with(&options.judge, "the manifest already has its plugins", HINT)
}

/// Checks the cluster, and makes the objects of a run with these plugins. The aggregator logs at
/// `log_level`.
pub async fn prepare(
    context: &Context,
    options: &RunOptions,
    found: FoundPlugins,
    log_level: String,
) -> Result<PreparedRun, AppError> {
    let mut config = options.cluster_run.config(&options.cluster.namespace, options.timeout)?;
    not_scheduled(&config)?;
    telemetry::take_context(context, &mut config);
    manifest::check_modules(&found.plugins, &config)?;
    let given = options.manifest.as_deref().map(read_manifest).transpose()?;
    let namespace = given.iter().flatten().find_map(|object| object.pointer("/metadata/namespace")?.as_str());
    let namespace = namespace.unwrap_or(&config.namespace).to_owned();
    let cluster = Cluster::connect(&options.cluster.connect_options()).await?;
    let preflight = Preflight {
        namespace: namespace.clone(),
        dns_namespace: options.dns_namespace.clone(),
        dns_labels: options.dns_pod_labels.clone(),
        skip: options.skipped_checks(),
    };
    let (version, findings) = preflight.run(&cluster).await?;
    report_findings(context, findings)?;
    let objects = match given {
        Some(objects) => objects,
        None => make_objects(context, options, &cluster, config, found, version, log_level).await?,
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
    options: &RunOptions,
    cluster: &Cluster,
    config: Config,
    found: FoundPlugins,
    version: ServerVersion,
    log_level: String,
) -> Result<Vec<Value>, AppError> {
    let FoundPlugins { plugins, secrets, retries } = found;
    let serves_rbac = match options.cluster_run.questions(&config, true).rbac {
        true => Some(manifest::serves_rbac(cluster).await?),
        false => None,
    };
    let circumstances = Circumstances { plugins, retries, log_level, server: Some(version), serves_rbac };
    let checks = match options.skip_preflight.contains(&SkipPreflight::All) {
        true => SuiteChecks::None,
        false => SuiteChecks::TestsAndImage,
    };
    let mut manifest =
        Box::pin(manifest::compose(context, &options.cluster_run, &options.suite, config, circumstances, checks))
            .await?;
    manifest.secrets = secrets;
    for line in rbac::why(&manifest).iter().filter(|_| options.dry_run && manifest.rbac) {
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
    let read = read_input_text(path, MAX_MANIFEST + 1).and_then(|text| whole(text, MAX_MANIFEST));
    let text = read.map_err(|error| wrong().because(&error))?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).map_err(|error| wrong().because(&error))?;
    let objects: Vec<Value> = objects.into_iter().filter(|object| !object.is_null()).collect();
    if objects.is_empty() {
        return Err(wrong().cause("the file contains no objects").hint("create a manifest with `plumbline gen`"));
    }
    Ok(objects)
}
