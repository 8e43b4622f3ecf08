//! A plugin that tries to get more than it was given. Each attempt becomes a test that passes when it is refused.

mod api;
mod credentials;
mod phone;
mod report;

use std::fs;

use plumbline_app::AppError;
use report::Attempts;

use crate::args::AttackArgs;

/// Where a pod's DNS configuration is.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Makes every attempt, writes a report and tells the worker.
pub(super) async fn attack(args: &AttackArgs) -> Result<(), AppError> {
    // Another one may be installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let namespace = match &args.namespace {
        Some(namespace) => namespace.clone(),
        None => own_namespace()?,
    };
    let mut attempts = Attempts::default();
    let loot = credentials::search(args, &mut attempts).await;
    api::attack(&namespace, &loot.tokens, &mut attempts).await;
    phone::attack(args, &namespace, &loot.certificates, &mut attempts).await;
    attempts.write(&args.results_dir)
}

/// The first search domain of a pod is `NAMESPACE.svc.DOMAIN`.
fn own_namespace() -> Result<String, AppError> {
    let text = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
    let domain = text.lines().find_map(|line| line.strip_prefix("search ")?.split_whitespace().next());
    let namespace = domain.and_then(|domain| domain.split_once(".svc.")).map(|(namespace, _)| namespace.to_owned());
    namespace.ok_or_else(|| AppError::usage("the namespace of the run is not known").hint("name it with `--namespace`"))
}
