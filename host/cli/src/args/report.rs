//! `plumbline report`

use std::path::PathBuf;

use plumbline_kubernetes::ConnectOptions;

use super::LimitsArg;

/// The variables, for `--help`.
const VARIABLES: &str = "\
Environment:
  JOB_NAME                 The Job whose status is written; required
  JOB_NAMESPACE            Its namespace; required
  POD_NAME                 The pod that the adapter runs in; required
  RESULTS_PATH             The file, absolute [default: /results/adapter-result.json]
  POLL_INTERVAL_SECONDS    Between looks at the file [default: 2]
  MAX_WAIT_TIME_SECONDS    Until there must be a result [default: 300]
  CONDITION_TYPE           The type of the condition [default: Available]
  LOG_LEVEL                trace, debug, info, warn or error [default: info]
  ADAPTER_CONTAINER_NAME   The adapter's container [default: the first that is not ours]
  REPORTER_CONTAINER_NAME  Our container [default: found by what it is]
  DETAILS_TO               none, annotation, configmap or event [default: none]
  RESULT_FORMAT            json, junit, gojson, ..., or a module's path [default: json]
  RESULT_SETTLE_SECONDS    Without a change, until a file is judged while the adapter runs
                           [default: 5, or 30 with RESULT_FORMAT]

Exit codes:
  0  the outcome was reported, whatever it is
  2  a variable is missing or wrong
  4  it could not be reported";

/// Run beside a container of a Job (the adapter): wait for its result or its end, and write it as one condition into the Job's status.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = VARIABLES)]
pub(crate) struct ReportArgs {
    /// The kubeconfig file; without it, the service account of this pod, else `$KUBECONFIG` or `~/.kube/config`
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig; without it, the current one
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
