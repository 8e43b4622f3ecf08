//! Examines what this machine and the cluster offer: what is set up, what is reachable, and in which
//! versions.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plumbline_bundle::user_dir;
use plumbline_core::limits::{COMPILE_CPU_SECONDS, COMPILE_MEMORY};
use plumbline_core::schedule::{KeepLimits, Schedule};
use plumbline_kubernetes::preflight::{Check, Preflight};
use plumbline_kubernetes::schedule::{self, ScheduleInCluster};
use plumbline_kubernetes::{Cluster, ClusterError, has_configuration};
use plumbline_registry::Reference;
use serde::Serialize;

use crate::context::Context;
use crate::error::{AppError, Explain as _, quoted};
use crate::modules::{self, LimitsFile};
use crate::options::{ClusterArgs, DNS_LABELS, DNS_NAMESPACE};
use crate::runtime::runtime;
use crate::sources::registry;
use crate::{local_runs, signing, sources};

/// How long the cluster or a registry may take to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// It works.
    Ok,
    /// It works, and something deserves attention.
    Warning,
    /// It does not work.
    Failed,
    /// It is not set up, so there is nothing to check.
    Skipped,
}

impl fmt::Display for CheckOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        })
    }
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// The name of the check.
    pub name: &'static str,
    /// Its result.
    pub outcome: CheckOutcome,
    /// What was found, in one sentence.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl CheckReport {
    fn new(name: &'static str, outcome: CheckOutcome, what: impl Into<String>) -> Self {
        Self { name, outcome, what: what.into(), hint: None }
    }

    fn ok(name: &'static str, what: impl Into<String>) -> Self {
        Self::new(name, CheckOutcome::Ok, what)
    }

    fn hint(self, hint: Option<impl Into<String>>) -> Self {
        Self { hint: hint.map(Into::into), ..self }
    }

    fn failed(name: &'static str, error: &AppError) -> Self {
        let mut what = error.summary().to_owned();
        for cause in error.causes() {
            what.push_str(": ");
            what.push_str(cause);
        }
        Self::new(name, CheckOutcome::Failed, what).hint(error.hint_text())
    }

    fn of(name: &'static str, result: Result<String, AppError>) -> Self {
        match result {
            Ok(what) => Self::ok(name, what),
            Err(error) => Self::failed(name, &error),
        }
    }
}

/// Examines this machine, then the cluster if one is configured, then the registries of images.
pub fn examine(
    context: &Context,
    images: &[String],
    access: &ClusterArgs,
    limits: &LimitsFile,
) -> Result<Vec<CheckReport>, AppError> {
    let mut reports = vec![
        sandbox(limits),
        directory("cache", modules::cache_root()),
        directory("state", user_dir("XDG_STATE_HOME", ".local/state").map(|dir| dir.join("plumbline"))),
        plugins(),
        policy(),
        local_runs_report(),
    ];
    let runtime = runtime()?;
    reports.extend(runtime.block_on(cluster(access)));
    for image in images {
        reports.push(runtime.block_on(image_report(context, image)));
    }
    Ok(reports)
}

fn sandbox(limits: &LimitsFile) -> CheckReport {
    CheckReport::of(
        "sandbox",
        (|| {
            let limits = limits.load()?;
            let (_, built_in) = modules::sandbox(&limits)?;
            let memory = COMPILE_MEMORY >> 20;
            Ok(format!(
                "{} built-in modules; modules are compiled within {memory} MiB and {COMPILE_CPU_SECONDS} s",
                built_in.len()
            ))
        })(),
    )
}

/// Checks that files can be created in a directory of the user, or in its nearest parent that
/// exists.
fn directory(name: &'static str, path: Option<PathBuf>) -> CheckReport {
    let Some(path) = path else {
        return CheckReport::new(name, CheckOutcome::Warning, "the home directory is unknown, so nothing is cached")
            .hint(Some("set `HOME`"));
    };
    let existing = path.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"));
    match tempfile::tempfile_in(existing) {
        Ok(_) => CheckReport::ok(name, path.display().to_string()),
        Err(error) => {
            let what = format!("failed to write to `{}`: {error}", existing.display());
            let variable = if name == "cache" { "XDG_CACHE_HOME" } else { "XDG_STATE_HOME" };
            CheckReport::new(name, CheckOutcome::Failed, what)
                .hint(Some(format!("make it writable, or name another directory with `{variable}`")))
        }
    }
}

fn plugins() -> CheckReport {
    const NAME: &str = "plugins";
    let built_in = plumbline_bundle::built_in::definitions().len();
    let Ok(store) = sources::store() else { return CheckReport::ok(NAME, format!("{built_in} built-in")) };
    let entries = match store.list() {
        Ok(entries) => entries,
        Err(error) => return CheckReport::failed(NAME, &sources::store_error("failed to list bundles", &error)),
    };
    let damaged = quoted(entries.iter().filter(|entry| entry.state.is_err()).map(|entry| &entry.name));
    let what = format!("{built_in} built-in, {} installed", entries.len());
    match damaged.is_empty() {
        true => CheckReport::ok(NAME, what),
        false => CheckReport::new(NAME, CheckOutcome::Failed, format!("{what}; damaged: {damaged}"))
            .hint(Some("install them again with `plumbline plugin install`")),
    }
}

fn policy() -> CheckReport {
    const NAME: &str = "policy";
    if signing::policy_path(None).is_none() {
        return CheckReport::new(NAME, CheckOutcome::Skipped, "no signature policy (needed for signed runs only)");
    }
    CheckReport::of(NAME, signing::policy(None).map(|trust| trust.name().to_owned()))
}

/// Looks for local runs that were interrupted.
fn local_runs_report() -> CheckReport {
    const NAME: &str = "local runs";
    let runs = match local_runs::list() {
        Ok(runs) => runs,
        Err(error) => {
            return CheckReport::failed(NAME, &AppError::system("failed to list the runs").because(&error));
        }
    };
    let (running, unfinished): (Vec<_>, Vec<_>) =
        runs.iter().filter(|run| run.is_unfinished()).partition(|run| run.is_running());
    let what = format!("{} recorded, {} in progress", runs.len(), running.len());
    match unfinished.first() {
        None => CheckReport::ok(NAME, what),
        Some(run) => {
            let what = format!("{what}, {} interrupted", unfinished.len());
            let hint = format!("`plumbline run --local --continue {}` continues the newest", run.run.short());
            CheckReport::new(NAME, CheckOutcome::Warning, what).hint(Some(hint))
        }
    }
}

async fn cluster(access: &ClusterArgs) -> Vec<CheckReport> {
    const NAME: &str = "cluster";
    if !has_configuration(&access.connect_options()) {
        let what = "no cluster is configured (needed for runs in a cluster only)";
        return vec![
            CheckReport::new(NAME, CheckOutcome::Skipped, what)
                .hint(Some("name a kubeconfig with `--kubeconfig` or the variable `KUBECONFIG`")),
        ];
    }
    let mut preflight = Preflight {
        namespace: access.namespace.clone(),
        dns_namespace: DNS_NAMESPACE.to_owned(),
        dns_labels: DNS_LABELS.split(',').map(str::to_owned).collect(),
        skip: Vec::new(),
    };
    let asked = tokio::time::timeout(TIMEOUT, async {
        let cluster = Cluster::connect(&access.connect_options()).await?;
        let scheduled = schedule::in_cluster(&cluster, &access.namespace).await;
        // The pods of scheduled runs stay, and do not prevent the next one.
        if matches!(scheduled, Ok(Some(_))) {
            preflight.skip.push(Check::ExistingRun);
        }
        let (version, findings) = preflight.run(&cluster).await?;
        Ok::<_, ClusterError>((cluster.name().to_owned(), version, findings, scheduled))
    });
    match asked.await {
        Ok(Ok((name, version, findings, scheduled))) => {
            let mut reports = vec![CheckReport::ok(NAME, format!("`{name}` answers: {}", version.git_version))];
            reports.extend(schedule_report(scheduled, Timestamp::now()));
            reports.extend(findings.into_iter().map(|finding| {
                let outcome = if finding.fatal { CheckOutcome::Failed } else { CheckOutcome::Warning };
                CheckReport::new("preflight", outcome, finding.what).hint(Some(finding.hint))
            }));
            reports
        }
        Ok(Err(error)) => vec![CheckReport::failed(NAME, &AppError::cluster(&error))],
        Err(_) => {
            let what = format!("the API server did not answer within {} s", TIMEOUT.as_secs());
            vec![
                CheckReport::new(NAME, CheckOutcome::Failed, what)
                    .hint(Some("check the network, and the server in the kubeconfig")),
            ]
        }
    }
}

/// How late a run may be before it counts as missed. Kubernetes starts none that are later.
const LATE: SignedDuration = SignedDuration::from_mins(10);

/// The schedule of the namespace, if it has one that this account may read.
fn schedule_report(found: Result<Option<ScheduleInCluster>, ClusterError>, now: Timestamp) -> Option<CheckReport> {
    const NAME: &str = "schedule";
    let found = match found {
        Ok(found) => found?,
        Err(error) if error.is_forbidden() || error.is_not_found() => return None,
        Err(error) => return Some(CheckReport::failed(NAME, &AppError::cluster(&error))),
    };
    let zone = found.zone.clone().unwrap_or_default();
    let what = format!("`{}` in the time zone `{zone}`", found.cron);
    let warning = |why: &str, hint: &str| {
        Some(CheckReport::new(NAME, CheckOutcome::Warning, format!("{what}: {why}")).hint(Some(hint)))
    };
    if found.is_suspended {
        return warning("it is suspended, so no run starts", "resume it: set `spec.suspend` of the CronJob to `false`");
    }
    let (Ok(cron), Ok(zone)) = (found.cron.parse(), zone.parse()) else {
        return warning("this version cannot compute its times", "create the schedule with `plumbline gen --schedule`");
    };
    let schedule = Schedule { cron, zone, keep: KeepLimits::default() };
    let due = now.checked_sub(LATE).unwrap_or(now);
    let missed = found.since.map(|since| schedule.missed(since, due)).unwrap_or_default();
    // While a run is active, the next one waits.
    if missed.count > 0 && found.active == 0 {
        let first = missed.times.first().map(Timestamp::to_string).unwrap_or_default();
        let why = format!("{} runs are missing since {first}", missed.count);
        return warning(&why, "look at the events of the CronJob, and at the controller manager of the cluster");
    }
    let next = schedule.next(now).map_or_else(|| "none within 400 days".to_owned(), |next| next.to_string());
    Some(CheckReport::ok(NAME, format!("{what}; next run: {next}")))
}

async fn image_report(context: &Context, image: &str) -> CheckReport {
    const NAME: &str = "image";
    let asked = async {
        let reference = Reference::of_image(image).usage_error(format_args!("`{image}` is not an image"))?;
        let client = registry::client(context)?;
        let asked = tokio::time::timeout(TIMEOUT, client.manifest(&reference)).await.map_err(|_| {
            AppError::system(format!("the registry of `{image}` did not answer within {} s", TIMEOUT.as_secs()))
        })?;
        let manifest = asked.map_err(AppError::from)?;
        Ok(format!("`{image}` is {}", manifest.digest))
    };
    CheckReport::of(NAME, asked.await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_that_does_not_start_runs_is_a_warning() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let found = ScheduleInCluster {
            cron: "0 3 * * *".to_owned(),
            zone: Some("Etc/UTC".to_owned()),
            is_suspended: false,
            since: Some(time("2026-11-20T03:00:00Z")),
            active: 0,
        };
        let report = |found: &ScheduleInCluster, now| schedule_report(Ok(Some(found.clone())), time(now)).unwrap();
        let fine = report(&found, "2026-11-21T03:05:00Z");
        assert_eq!(fine.outcome, CheckOutcome::Ok, "{fine:?}");
        assert!(fine.what.ends_with("next run: 2026-11-22T03:00:00Z"), "{}", fine.what);
        let late = report(&found, "2026-11-22T04:00:00Z");
        assert_eq!(late.outcome, CheckOutcome::Warning);
        assert!(late.what.contains("2 runs are missing since 2026-11-21T03:00:00Z"), "{}", late.what);
        let active = ScheduleInCluster { active: 1, ..found.clone() };
        assert_eq!(report(&active, "2026-11-22T04:00:00Z").outcome, CheckOutcome::Ok);
        let suspended = ScheduleInCluster { is_suspended: true, ..found.clone() };
        assert_eq!(report(&suspended, "2026-11-20T04:00:00Z").outcome, CheckOutcome::Warning);
        let foreign = ScheduleInCluster { cron: "@every 1h".to_owned(), ..found };
        assert_eq!(report(&foreign, "2026-11-20T04:00:00Z").outcome, CheckOutcome::Warning);
        assert_eq!(schedule_report(Ok(None), time("2026-11-20T04:00:00Z")), None);
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_a_failure_with_a_fix() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(directory("cache", Some(dir.path().join("a/b"))).outcome, CheckOutcome::Ok);
        let found = directory("cache", Some("/proc/none".into()));
        assert_eq!(found.outcome, CheckOutcome::Failed);
        assert!(found.hint.unwrap().contains("XDG_CACHE_HOME"));
        assert_eq!(directory("state", None).outcome, CheckOutcome::Warning);
    }
}
