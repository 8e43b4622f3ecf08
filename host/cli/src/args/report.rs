//! `plumbline report`

use std::path::PathBuf;

use plumbline_kubernetes::ConnectOptions;

use super::LimitsArg;

/// The variables, for `--help`.
const VARIABLES: &str = "\
Environment:
  JOB_NAME                 Job to update; required
  JOB_NAMESPACE            Namespace of the Job; required
  POD_NAME                 Pod of the adapter; required
  RESULTS_PATH             Absolute path of the result file [default: /results/adapter-result.json]
  POLL_INTERVAL_SECONDS    Interval between checks for the file [default: 2]
  MAX_WAIT_TIME_SECONDS    Time limit for the result [default: 300]
  CONDITION_TYPE           Type of the condition [default: Available]
  LOG_LEVEL                trace, debug, info, warn or error [default: info]
  ADAPTER_CONTAINER_NAME   Container of the adapter [default: the first other container]
  REPORTER_CONTAINER_NAME  Container of the reporter [default: detected]
  DETAILS_TO               none, annotation, configmap or event [default: none]
  RESULT_FORMAT            json, junit, gojson, ..., or the path of a module [default: json]
  RESULT_SETTLE_SECONDS    Time without a change before the reporter reads a file while the adapter runs
                           [default: 5, or 30 with RESULT_FORMAT]

Exit codes:
  0  the outcome was reported, whether success or failure
  2  a variable is missing or invalid
  4  the outcome could not be reported";

/// Report the result of a Job's container (the adapter) as a condition in the Job's status. Runs in
/// the Job's pod and waits for the result file or the end of the container.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = VARIABLES)]
pub(crate) struct ReportArgs {
    /// Kubeconfig file [default: the service account of this pod, $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
}

impl ReportArgs {
    /// How to reach the cluster.
    pub(crate) fn connect_options(&self) -> ConnectOptions {
        ConnectOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }
}
